//! The steps of a sender that a replay needs, until the first sign of congestion.

use super::{MOST_STEPS, Sender};
use crate::series::Step;

/// A tick of TCP's timestamps, in nanoseconds.
const TICK: i64 = 1_000_000;

impl Sender {
    pub(super) fn keep(&mut self, step: Step) {
        let is_over = self.first_hole.is_some()
            || self.first_retransmission.is_some()
            || self.first_echo.is_some();
        if let Some(steps) = &mut self.steps
            && !is_over
            && steps.len() < MOST_STEPS
        {
            steps.push(step);
        }
    }

    /// When an ACK was at the sender, by its clock. Away from it, the handshake shows how long it
    /// took, and the next data shows that it had come: its timestamp is at most a tick old.
    pub(super) fn arrived(&self, at: i64, seen: i64) -> i64 {
        let latest = at - self.lag;
        if !self.is_elsewhere() || self.to_sender == 0 || self.lag == 0 {
            return latest;
        }
        (seen + self.to_sender).min(latest + TICK)
    }

    /// Where the receive window ends.
    pub(super) fn edge(&self) -> i64 {
        self.window_edge.unwrap_or(i64::MAX)
    }

    pub(super) fn window_left(&self) -> i64 {
        self.window_edge.map_or(i64::MAX, |edge| edge - self.next)
    }
}
