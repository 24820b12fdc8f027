//! When the server of a link was busy: has a packet in service, or (a trace) one that waits for
//! its opportunity.
//!
//! A packet that arrives in the nanosecond in which the last one leaves continues the period.

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
    /// A packet is accepted at `now` and leaves the server at `until`.
    pub(crate) fn extend(&mut self, now: Instant, until: Instant) {
        if now > self.until || self.periods == 0 {
            self.previous = (self.since, self.until);
            self.finished += self.until.saturating_since(self.since);
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
