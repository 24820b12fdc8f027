//! Start-ups that live outside of this crate: in Python, say.
//!
//! A [`ForeignKind`] makes them and is asked for every one by its number; [`Foreign`] is one of them,
//! as the rest of the crate knows start-ups. A kind lives as long as the program.
//!
//! The name of an algorithm cannot tell what it does not know, so a foreign start-up enters by
//! [`Algorithm::with_foreign`](crate::Algorithm::with_foreign).

use core::fmt;

use units::Rate;

use crate::{Ack, BuildContext, Congestion, Pace, Sent, Startup, Step, Window};

/// Start-ups of one kind, by number.
pub trait ForeignKind: Sync {
    /// What stands in the name of an algorithm.
    fn name(&self) -> &str;

    /// A new one, for a connection that begins.
    fn begin(&self, context: &BuildContext) -> u64;

    /// A copy of one.
    fn copy(&self, number: u64) -> u64;

    /// One is used no more.
    fn end(&self, number: u64);

    /// See [`Startup::on_sent`].
    fn on_sent(&self, number: u64, sent: &Sent);

    /// See [`Startup::on_delivery`].
    fn on_delivery(&self, number: u64, ack: &Ack, window: &Window) -> Option<Step>;

    /// See [`Startup::on_ack`].
    fn on_ack(&self, number: u64, ack: &Ack, window: &Window) -> Step;

    /// See [`Startup::on_congestion`].
    fn on_congestion(&self, number: u64, congestion: &Congestion);

    /// The pacing rate that one wants, at this time; `None` leaves pacing to the transport.
    fn pacing_rate(&self, number: u64) -> Option<Rate>;
}

/// A kind, compared by identity.
#[derive(Clone, Copy)]
pub struct ForeignRef(pub &'static dyn ForeignKind);

impl PartialEq for ForeignRef {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self.0, other.0)
    }
}

impl fmt::Debug for ForeignRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// A start-up that lives elsewhere.
#[derive(Debug)]
pub struct Foreign {
    kind: ForeignRef,
    number: u64,
    /// What it said last.
    pacing_rate: Option<Rate>,
}

impl Foreign {
    /// A start-up for a new connection.
    pub(crate) fn new(kind: ForeignRef, context: &BuildContext) -> Self {
        let number = kind.0.begin(context);
        Self {
            kind,
            number,
            pacing_rate: kind.0.pacing_rate(number),
        }
    }

    fn look(&mut self) {
        self.pacing_rate = self.kind.0.pacing_rate(self.number);
    }
}

impl Clone for Foreign {
    fn clone(&self) -> Self {
        Self {
            number: self.kind.0.copy(self.number),
            ..*self
        }
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.kind.0.end(self.number);
    }
}

impl Startup for Foreign {
    fn on_sent(&mut self, sent: &Sent) {
        self.kind.0.on_sent(self.number, sent);
        self.look();
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let step = self.kind.0.on_delivery(self.number, ack, window);
        self.look();
        step
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let step = self.kind.0.on_ack(self.number, ack, window);
        self.look();
        step
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.kind.0.on_congestion(self.number, congestion);
        self.look();
    }

    fn pacing(&self) -> Option<Pace> {
        self.pacing_rate.map(Pace::at)
    }
}
