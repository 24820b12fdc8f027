//! What the connections over one path leave for later ones: an opaque note that a keeper outside of
//! this crate (a simulated host, a real one's cache) carries from connection to connection.
//!
//! The keeper has one [`PathMemory`] for each path. It gives every connection what
//! [`PathMemory::lend`] returns, and lets the connection write into the kept one when it closes
//! ([`CongestionControl::on_close`](crate::CongestionControl::on_close)). Which entries there are
//! is the business of the start-ups that write them: `stateful` and `careful-resume`.
//!
//! ## Deviations
//!
//! A saved set of `careful-resume` counts as in use from the opening to the closing of a connection
//! that was lent it; RFC 9959 means the time in which that connection jumps.

use units::{Bytes, Duration, Instant, Rate};

/// What S-CUBIC's cache holds of a destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Measured {
    pub rate: Rate,
    pub min_rtt: Duration,
    /// When it was stored; `None` for one that is given and never ages.
    pub at: Option<Instant>,
}

/// The saved parameters of Careful Resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Saved {
    pub cwnd: Bytes,
    pub rtt: Duration,
    /// When it was stored; `None` for one that is given and never ages.
    pub at: Option<Instant>,
}

/// What a connection made of what earlier ones had saved: the phases of RFC 9959, as evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumption {
    /// The saved window and RTT.
    pub saved_cwnd: Bytes,
    /// See [`Self::saved_cwnd`].
    pub saved_rtt: Duration,
    /// How long they had been stored; `None` for those that are given.
    pub age: Option<Duration>,
    /// When each phase began; `None` if it did not.
    pub reconnaissance: Option<Instant>,
    /// See [`Self::reconnaissance`].
    pub unvalidated: Option<Instant>,
    /// See [`Self::reconnaissance`].
    pub validating: Option<Instant>,
    /// See [`Self::reconnaissance`].
    pub safe_retreat: Option<Instant>,
    /// The window of the jump.
    pub jump: Option<Bytes>,
    /// When it ended, and how.
    pub end: Option<(Instant, ResumeEnd)>,
}

impl Resumption {
    /// A connection that may use `saved` from `now` on.
    pub(crate) fn of(saved: &Saved, now: Instant) -> Self {
        Self {
            saved_cwnd: saved.cwnd,
            saved_rtt: saved.rtt,
            age: saved.at.map(|at| now.saturating_since(at)),
            reconnaissance: Some(now),
            unvalidated: None,
            validating: None,
            safe_retreat: None,
            jump: None,
            end: None,
        }
    }

    /// It ends now, unless it has before.
    pub(crate) fn end(&mut self, now: Instant, how: ResumeEnd) {
        self.end.get_or_insert((now, how));
    }
}

/// How the use of saved parameters ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResumeEnd {
    /// All that the jump sent was acknowledged.
    Validated,
    /// The application did not use the jump.
    Unused,
    /// Congestion: the safe retreat is over.
    Retreated,
    /// The RTT is not that of the saved path.
    OtherRtt,
    /// The jump would not have raised the window.
    NoGain,
    /// Congestion before the jump.
    Congested,
}

impl ResumeEnd {
    /// The word for it in results.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Validated => "validated",
            Self::Unused => "unused",
            Self::Retreated => "retreated",
            Self::OtherRtt => "other-rtt",
            Self::NoGain => "no-gain",
            Self::Congested => "congested",
        }
    }
}

/// What earlier connections over a path left.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathMemory {
    pub(crate) measured: Option<Measured>,
    pub(crate) saved: Option<Saved>,
    /// Connections that were lent `saved` and are open.
    users: u32,
    /// This one was lent to a connection that counts as one of them.
    counted: bool,
}

impl PathMemory {
    /// A copy for a connection that opens now.
    #[must_use]
    pub fn lend(&mut self) -> Self {
        let lent = Self {
            counted: self.saved.is_some(),
            ..*self
        };
        self.users += u32::from(lent.counted);
        lent
    }

    /// The connection that `lent` was given to has closed and written what it had to write.
    pub fn give_back(&mut self, lent: &Self) {
        self.users = self.users.saturating_sub(u32::from(lent.counted));
    }

    /// Whether another open connection was lent the saved parameters.
    #[must_use]
    pub const fn is_in_use(&self) -> bool {
        self.users > 0
    }
}
