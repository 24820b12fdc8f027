//! When the server of a link was busy: has a packet in service, or (a trace, a frame) one that waits
//! for its opportunity.
//!
//! A period goes on as long as no service is wasted for want of packets. With a rate that is as long as
//! somebody is there (a packet that arrives in the nanosecond in which the last one leaves continues the
//! period); where service comes in opportunities, as long as none goes by that the next packet
//! could have used: whoever sends at half the rate keeps no such link busy, though somebody always waits.

use units::{Duration, Instant};

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Busy {
    /// Periods begun.
    pub(crate) periods: u64,
    since: Instant,
    /// When the last packet that was accepted leaves the server.
    pub(crate) until: Instant,
    pub(crate) previous: (Instant, Instant),
    /// In the periods before the last.
    finished: Duration,
}

impl Busy {
    /// A packet is accepted at `now` and leaves the server at `until`; `after_gap` where service was wasted
    /// before it.
    #[inline]
    pub(crate) fn extend(&mut self, now: Instant, until: Instant, after_gap: bool) {
        if after_gap || self.periods == 0 {
            // A packet that came too late for what is left of a block ends the period within the block.
            let until = self.until.min(now);
            self.previous = (self.since, until);
            self.finished += until.saturating_since(self.since);
            self.since = now;
            self.periods += 1;
        }
        self.until = until;
    }

    pub(crate) fn since(&self, now: Instant) -> Option<Instant> {
        (self.until > now).then_some(self.since)
    }

    pub(crate) fn last(&self, now: Instant) -> Option<(Instant, Instant)> {
        (self.periods > 0).then_some((self.since, self.until.min(now)))
    }

    /// Busy time from the beginning of the run to `now`.
    pub(crate) fn time(&self, now: Instant) -> Duration {
        self.finished + self.until.min(now).saturating_since(self.since)
    }
}
