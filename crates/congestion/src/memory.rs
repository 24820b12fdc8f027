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
