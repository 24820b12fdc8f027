//! Use of the window: whether the application limits the sender, and the effect of idle time or of
//! an unused window (RFC 2861; see `validation` for its rules).

use congestion::{CongestionControl, Phase};
use units::Instant;

use super::Sender;
use crate::validation::Usage;

impl Sender {
    pub(super) fn is_app_limited(&self) -> bool {
        self.unsent() < self.smss() && self.has_cwnd_left()
    }

    /// Linux `tcp_rate_check_app_limited`, which runs when the application writes again.
    pub(super) fn check_app_limited(&mut self) {
        if self.is_app_limited() && !self.board.has_pending() {
            self.rate.on_app_limited(self.bytes_in_flight());
        }
    }

    /// Linux `tcp_slow_start_after_idle_check`.
    pub(super) fn restart_after_idle(&mut self, now: Instant) {
        if !self.config.restart_after_idle || !self.board.is_empty() {
            return;
        }
        let Some(idle) = self.validation.take_pause(now, self.timer.rto()) else {
            return;
        };
        let initial_window = self.size(self.config.initial_window);
        self.cc
            .on_idle_restart(now, idle, self.timer.rto(), initial_window, self.snd_nxt);
        self.read_window();
        self.validation.on_restart(now);
    }

    /// Linux `tcp_cwnd_validate`.
    #[inline]
    pub(super) fn validate_window(&mut self, now: Instant, is_limited: bool) {
        let usage = Usage {
            now,
            is_limited,
            packets_out: self.board.packets_out(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
        };
        if self.validation.on_pass(&usage, &self.cwnd) || !self.config.restart_after_idle {
            return;
        }
        // If data is left unsent, the receiver limits the flow, not the application.
        if let Some(used) = self.validation.take_unused(now, self.timer.rto())
            && self.phase == Phase::Open
            && self.unsent() == 0
        {
            let initial_window = self.size(self.config.initial_window);
            self.cc
                .on_window_unused(now, self.size(used), initial_window);
            self.read_window();
        }
    }
}
