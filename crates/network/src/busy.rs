//! When the server of a link was busy: has a packet in service, or (a trace, a frame) one that
//! waits for its opportunity.
//!
//! A period goes on as long as no service is wasted for want of packets. With a rate that is as
//! long as somebody is there (a packet that arrives in the nanosecond in which the last one leaves
//! continues the period); where service comes in opportunities, as long as none goes by that the
//! next packet could have used: whoever sends at half the rate keeps no such link busy, though
//! somebody always waits.
//!
//! Several periods can end between two calls. [`Busy::keep`] sets the shortest period of interest;
//! each such period is then queued when it ends, and [`Busy::take`] returns them one by one. The
//! periods returned do not depend on how often the caller asks.

use alloc::collections::VecDeque;

use units::{Duration, Instant};

/// Beginning and end of a busy period.
pub type Period = (Instant, Instant);

/// The busy time of a server up to the last packet that it accepted.
#[derive(Clone, Copy, Debug, Default)]
pub struct BusyTime {
    /// Periods begun.
    pub periods: u64,
    since: Instant,
    /// When the last packet that was accepted leaves the server.
    pub until: Instant,
    /// Total length of the periods before the last.
    finished: Duration,
}

impl BusyTime {
    /// When the period that lasts at `now` began.
    #[must_use]
    pub fn since(&self, now: Instant) -> Option<Instant> {
        (self.until > now).then_some(self.since)
    }

    /// The last period that began, cut at `now`.
    #[must_use]
    pub fn last(&self, now: Instant) -> Option<Period> {
        (self.periods > 0).then_some((self.since, self.until.min(now)))
    }

    /// Busy time from the beginning of the run to `now`.
    #[must_use]
    pub fn total(&self, now: Instant) -> Duration {
        self.finished + self.until.min(now).saturating_since(self.since)
    }
}

/// The busy periods of a server.
#[derive(Clone, Debug, Default)]
pub struct Busy {
    time: BusyTime,
    /// Periods at least as long are kept.
    shortest: Option<Duration>,
    ended: VecDeque<Period>,
}

impl Busy {
    /// The busy time up to the last packet.
    #[inline]
    #[must_use]
    pub const fn time(&self) -> &BusyTime {
        &self.time
    }

    /// A packet is accepted at `now` and leaves the server at `until`; `after_gap` where service was wasted
    /// before it.
    #[inline]
    pub fn extend(&mut self, now: Instant, until: Instant, after_gap: bool) {
        if after_gap || self.time.periods == 0 {
            self.begin(now);
        }
        self.time.until = until;
    }

    #[inline]
    fn begin(&mut self, now: Instant) {
        let BusyTime { since, until, .. } = self.time;
        // A packet that came too late for what is left of a block ends the period within the block.
        let until = until.min(now);
        let span = until.saturating_since(since);
        if let Some(shortest) = self.shortest
            && self.time.periods > 0
            && span >= shortest
        {
            self.ended.push_back((since, until));
        }
        self.time.finished += span;
        self.time.since = now;
        self.time.periods += 1;
    }

    /// Keeps each period that ends from now on and lasted at least `shortest`.
    pub fn keep(&mut self, shortest: Duration) {
        self.shortest = Some(shortest);
    }

    /// The oldest kept period that was not taken yet.
    #[inline]
    pub fn take(&mut self) -> Option<Period> {
        self.ended.pop_front()
    }
}
