//! Busy periods of a link's server: a packet is in service, or waits for its opportunity (a trace,
//! a frame).
//!
//! A busy period lasts as long as no service is wasted for lack of packets. With a rate, it lasts
//! while packets are present; a packet that arrives in the nanosecond in which the last one leaves
//! continues it. With service in opportunities, it lasts while no opportunity passes that the next
//! packet could have used: a source at half the rate does not keep such a link busy, although a
//! packet always waits.
//!
//! Several periods can end between two calls. [`Busy::keep`] sets the shortest period of interest;
//! each such period is then queued when it ends, and [`Busy::take`] returns them one by one. The
//! periods returned do not depend on how often the caller asks.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use units::{Duration, Instant};

/// Beginning and end of a busy period.
pub type Period = (Instant, Instant);

/// The busy time of a server up to the last packet that it accepted.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyTime {
    /// Number of periods that started.
    pub periods: u64,
    since: Instant,
    /// When the last accepted packet leaves the server.
    pub until: Instant,
    /// Total length of the periods before the last.
    finished: Duration,
}

impl BusyTime {
    /// When the period in progress at `now` started.
    #[must_use]
    pub fn since(&self, now: Instant) -> Option<Instant> {
        (self.until > now).then_some(self.since)
    }

    /// The last period that started, cut at `now`.
    #[must_use]
    pub fn last(&self, now: Instant) -> Option<Period> {
        (self.periods > 0).then_some((self.since, self.until.min(now)))
    }

    /// Busy time from the start of the run to `now`.
    #[must_use]
    pub fn total(&self, now: Instant) -> Duration {
        self.finished + self.until.min(now).saturating_since(self.since)
    }
}

/// The busy periods of a server.
#[derive(Clone, Debug)]
pub struct Busy {
    time: BusyTime,
    /// Periods at least as long are kept; [`Duration::MAX`] for none.
    shortest: Duration,
    #[allow(clippy::box_collection, reason = "an idle link is small")]
    ended: Option<Box<VecDeque<Period>>>,
}

impl Default for Busy {
    fn default() -> Self {
        Self {
            time: BusyTime::default(),
            shortest: Duration::MAX,
            ended: None,
        }
    }
}

impl Busy {
    /// The busy time up to the last packet.
    #[inline]
    #[must_use]
    pub const fn time(&self) -> &BusyTime {
        &self.time
    }

    /// A packet is accepted at `now` and leaves the server at `until`; `after_gap` if service was
    /// wasted before it.
    #[inline]
    pub fn extend(&mut self, now: Instant, until: Instant, after_gap: bool) {
        if after_gap || self.time.periods == 0 {
            self.begin(now);
        }
        self.time.until = until;
    }

    /// A packet that has to wait is accepted: the period in progress lasts until `until`.
    #[inline]
    pub(crate) const fn prolong(&mut self, until: Instant) {
        self.time.until = until;
    }

    #[inline]
    fn begin(&mut self, now: Instant) {
        let BusyTime { since, until, .. } = self.time;
        // A packet that arrives too late for the rest of a block ends the period within the block.
        let until = until.min(now);
        let span = until.saturating_since(since);
        if self.time.periods > 0 && span >= self.shortest {
            self.ended.get_or_insert_default().push_back((since, until));
        }
        self.time.finished += span;
        self.time.since = now;
        self.time.periods += 1;
    }

    /// Keeps each period that ends after this call and lasted at least `shortest`.
    pub fn keep(&mut self, shortest: Duration) {
        self.shortest = shortest;
    }

    /// The oldest kept period not yet taken.
    #[inline]
    pub fn take(&mut self) -> Option<Period> {
        self.ended.as_mut()?.pop_front()
    }
}
