//! Which cause limits the sender, from one data segment to the next.
//!
//! The segment that ends a wait shows its cause. If the receive window had no place for a segment,
//! the receiver was the limit. If it left at once when an ACK came, the congestion window was. If it
//! left at another time, the segment before it decides: if it was short, the application had no
//! more data; otherwise a timer paced the segments, if the wait was short, and the application was
//! the limit, if it was long.

use measure::Limit;

use crate::report::{Limits, Wait};

/// A wait through ACKs that no burst and no pacing of a large window explains, in nanoseconds.
const LONG: i64 = 20_000_000;

/// A host answers an ACK within this time, in nanoseconds.
const AT_ONCE: i64 = 500_000;

/// The cause of a wait, for one connection.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    pub limits: Limits,
    /// The waits one by one, if they are kept.
    pub waits: Option<Vec<Wait>>,
    since: Option<i64>,
    last_ack: Option<i64>,
    was_short: bool,
    was_blocked: bool,
    /// ACKs since the last new data.
    acks_since: u32,
    /// Bytes acknowledged since the last new data.
    delivered: i64,
    /// The last ACK passed a capture elsewhere long before the data that follows it.
    is_late: bool,
}

impl Clock {
    /// The first data leaves.
    pub const fn begin(&mut self, at: i64) {
        self.since = Some(at);
    }

    /// An ACK arrives. `is_late` says that it has been at the sender for some time, as far as a
    /// capture elsewhere shows.
    pub const fn ack(&mut self, at: i64, is_late: bool) {
        self.is_late = is_late;
        self.last_ack = Some(at);
        self.acks_since += 1;
    }

    /// The cumulative ACK advances by this many bytes.
    pub const fn delivered(&mut self, bytes: i64) {
        self.delivered += bytes;
    }

    /// Whether the application or the receive window may cause the wait.
    pub const fn is_held(&self) -> bool {
        self.was_short || self.was_blocked
    }

    /// Data leaves: ends the wait. `lag` is how much later than the sender's clock it was seen. A host
    /// that waits for more than `burst` bytes of ACKs does not wait for its congestion window.
    pub fn data(&mut self, at: i64, lag: i64, in_recovery: bool, burst: i64) {
        let Some(since) = self.since else { return };
        let wait = at - since;
        if wait <= 0 {
            return;
        }
        let answers = self.last_ack.is_some_and(|ack| at - ack <= AT_ONCE);
        let cause = if in_recovery {
            Limit::Recovery
        } else if self.was_blocked {
            Limit::ReceiveWindow
        } else if self.delivered > burst && wait > LONG {
            Limit::Application
        } else if answers && !(self.was_short && (self.acks_since > 2 || self.is_late)) {
            Limit::CongestionWindow
        } else if self.was_short || wait > 100_000_000 {
            Limit::Application
        } else {
            Limit::Pacing
        };
        self.add(cause, since, at, lag);
        self.since = Some(at);
    }

    fn add(&mut self, cause: Limit, since: i64, at: i64, lag: i64) {
        *self.limits.of(cause) += (at - since) as f64 / 1e9;
        if let Some(waits) = &mut self.waits {
            let (since, until) = (since - lag, at - lag);
            match waits.last_mut() {
                Some(last) if last.cause == cause && last.until >= since => last.until = until,
                _ => waits.push(Wait {
                    since,
                    until,
                    cause,
                }),
            }
        }
    }

    /// New data has left: what the next wait begins with.
    pub const fn sent(&mut self, at: i64, is_short: bool, is_blocked: bool) {
        self.since = Some(at);
        self.was_short = is_short;
        self.was_blocked = is_blocked;
        self.acks_since = 0;
        self.delivered = 0;
    }

    /// The last ACK arrives: nothing was left to send.
    pub fn finish(&mut self, at: i64) {
        if let Some(since) = self.since
            && at > since
        {
            self.add(Limit::Application, since, at, 0);
        }
    }
}
