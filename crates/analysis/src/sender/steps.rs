//! The steps of a sender that a replay needs, until the first sign of congestion.

use super::{MOST_STEPS, Sender};
use crate::series::Step;

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

    /// Where the receive window ends.
    pub(super) fn edge(&self) -> i64 {
        self.window_edge.unwrap_or(i64::MAX)
    }

    pub(super) fn window_left(&self) -> i64 {
        self.window_edge.map_or(i64::MAX, |edge| edge - self.next)
    }
}
