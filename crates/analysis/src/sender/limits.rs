//! Which cause limits the sender, from one data segment to the next.
//!
//! The segment that ends a wait tells its cause. If the receive window had no place for a segment,
//! the receiver was the limit. If it left at once when an ACK came, the congestion window was. If it
//! left at another time, the segment before tells: was it short, the application had no
//! more data; otherwise a timer paced the segments, if the wait was short, and the application was
//! the limit, if it was long.

use crate::report::Limits;

/// A host answers an ACK within this time, in nanoseconds.
const AT_ONCE: i64 = 500_000;

/// The cause of a wait, for one connection.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    pub limits: Limits,
    since: Option<i64>,
    last_ack: Option<i64>,
    was_short: bool,
    was_blocked: bool,
    /// ACKs since the last new data.
    acks_since: u32,
    /// The last ACK passed a capture elsewhere long before the data that follows it.
    is_late: bool,
}

impl Clock {
    /// The first data leaves.
    pub const fn begin(&mut self, at: i64) {
        self.since = Some(at);
    }

    /// An ACK arrives. `is_late` says that it has been at the sender for some time, as far as a
    /// capture elsewhere tells.
    pub const fn ack(&mut self, at: i64, is_late: bool) {
        self.is_late = is_late;
        self.last_ack = Some(at);
        self.acks_since += 1;
    }

    /// Data leaves: ends the wait.
    pub fn data(&mut self, at: i64, in_recovery: bool) {
        let Some(since) = self.since else { return };
        let wait = at - since;
        if wait <= 0 {
            return;
        }
        let seconds = wait as f64 / 1e9;
        let answers = self.last_ack.is_some_and(|ack| at - ack <= AT_ONCE);
        let limits = &mut self.limits;
        if in_recovery {
            limits.recovery_s += seconds;
        } else if self.was_blocked {
            limits.receive_window_s += seconds;
        } else if answers && !(self.was_short && (self.acks_since > 2 || self.is_late)) {
            limits.congestion_window_s += seconds;
        } else if self.was_short || wait > 100_000_000 {
            limits.application_s += seconds;
        } else {
            limits.pacing_s += seconds;
        }
        self.since = Some(at);
    }

    /// New data has left: what the next wait begins with.
    pub const fn sent(&mut self, at: i64, is_short: bool, is_blocked: bool) {
        self.since = Some(at);
        self.was_short = is_short;
        self.was_blocked = is_blocked;
        self.acks_since = 0;
    }

    /// The last ACK arrives: nothing was left to send.
    pub fn finish(&mut self, at: i64) {
        if let Some(since) = self.since
            && at > since
        {
            self.limits.application_s += (at - since) as f64 / 1e9;
        }
    }
}
