//! Start-ups implemented outside of this crate, for example in Python.
//!
//! A [`ForeignKind`] creates start-ups and identifies each by a number; [`Foreign`] adapts one of
//! them to [`Startup`]. A kind lives as long as the program.
//!
//! The name of an algorithm cannot refer to code outside of the registry, so a foreign start-up is
//! added with [`Algorithm::with_foreign`](crate::Algorithm::with_foreign).

use core::fmt;

use units::Rate;

use crate::{Ack, BuildContext, Congestion, Pace, Sent, Startup, Step, Window};

/// Start-ups of one kind, by number.
pub trait ForeignKind: Sync {
    /// The start-up's part of an algorithm's name.
    fn name(&self) -> &str;

    /// Creates a start-up for a new connection.
    fn begin(&self, context: &BuildContext) -> u64;

    /// Copies a start-up.
    fn copy(&self, number: u64) -> u64;

    /// Releases a start-up.
    fn end(&self, number: u64);

    /// See [`Startup::on_sent`].
    fn on_sent(&self, number: u64, sent: &Sent);

    /// See [`Startup::on_delivery`].
    fn on_delivery(&self, number: u64, ack: &Ack, window: &Window) -> Option<Step>;

    /// See [`Startup::on_ack`].
    fn on_ack(&self, number: u64, ack: &Ack, window: &Window) -> Step;

    /// See [`Startup::on_congestion`].
    fn on_congestion(&self, number: u64, congestion: &Congestion);

    /// The pacing rate that a start-up requests at this time; `None` leaves pacing to the
    /// transport.
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

/// A start-up implemented outside of this crate.
#[derive(Debug)]
pub struct Foreign {
    kind: ForeignRef,
    number: u64,
    /// The last requested rate.
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

    fn read_pacing(&mut self) {
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
        self.read_pacing();
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let step = self.kind.0.on_delivery(self.number, ack, window);
        self.read_pacing();
        step
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let step = self.kind.0.on_ack(self.number, ack, window);
        self.read_pacing();
        step
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.kind.0.on_congestion(self.number, congestion);
        self.read_pacing();
    }

    fn pacing(&self) -> Option<Pace> {
        self.pacing_rate.map(Pace::at)
    }
}
