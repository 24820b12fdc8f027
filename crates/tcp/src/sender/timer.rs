//! The timers: retransmission, reordering, tail loss probe, window probe (Linux `tcp_timer.c`).

use congestion::{Congestion, CongestionControl, CongestionKind, Phase};
use units::{Duration, Instant};

use super::Sender;
use crate::repair::{Forced, Retransmit};
use crate::retransmission_timer::Timer;
use crate::tlp::{probe_timeout, rto_left};

impl Sender {
    /// When to call [`Self::handle_timeout`], unless something happens earlier.
    #[inline]
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let timer = self.timer.expires_at();
        match self.pacer.waits_until() {
            None => timer,
            Some(next) => Some(timer.map_or(next, |at| at.min(next))),
        }
    }

    /// Advances time. Call it when [`Self::poll_timeout`] is not later than `now`.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.pass.begin();
        self.pacer.on_timeout(now);
        match self.timer.expire(now) {
            None => {}
            Some(Timer::Retransmission) if self.handshake.is_under_way() => {
                self.on_syn_timeout(now)
            }
            Some(Timer::Retransmission) => self.on_retransmission_timeout(now),
            Some(Timer::Reordering) => self.on_reordering_timeout(now),
            Some(Timer::LossProbe) => self.on_probe_timeout(now),
            Some(Timer::WindowProbe) => self.on_window_probe_timeout(now),
        }
    }

    /// Linux `tcp_reset_xmit_timer`: the delay counts from when the pacer permits the next burst.
    #[inline(always)]
    pub(super) fn arm_after_pacing(&mut self, now: Instant, delay: Duration, timer: Timer) {
        self.timer.arm(now, self.pacer.earliest(now), delay, timer);
    }

    /// Linux `tcp_rearm_rto`: from `now`, less the time that passed under another timer.
    pub(super) fn rearm_rto(&mut self, now: Instant) {
        let Some(head) = self.board.head() else {
            // RFC6298-5a
            self.timer.disarm();
            return;
        };
        let delay = self.timer.rto_from(now, head.sent);
        self.arm_after_pacing(now, delay, Timer::Retransmission);
    }

    /// Linux `tcp_set_xmit_timer`.
    #[inline(never)]
    pub(super) fn set_timer(&mut self, now: Instant) {
        if !self.schedule_probe(now, true) {
            self.rearm_rto(now);
        }
    }

    /// Linux `tcp_schedule_loss_probe`; `restarts` if the RTO would restart.
    #[inline(always)]
    pub(super) fn schedule_probe(&mut self, now: Instant, restarts: bool) -> bool {
        // RFC8985-7.2d
        if !self.config.sack || !matches!(self.phase, Phase::Open | Phase::Cwr) || self.is_fack() {
            return false;
        }
        let Some(head) = self.board.head() else {
            return false;
        };
        let rto_in = if restarts {
            Some(self.timer.rto())
        } else {
            rto_left(head.sent, self.timer.rto(), now)
        };
        let delay = probe_timeout(
            self.rtt.srtt(),
            self.board.packets_out(),
            self.rtt.rto_min(),
            rto_in,
        );
        self.arm_after_pacing(now, delay, Timer::LossProbe);
        true
    }

    fn on_syn_timeout(&mut self, now: Instant) {
        self.stats.syn_retransmitted += 1;
        self.handshake.on_timeout();
        self.timer.on_syn_timeout(now, self.stats.syn_retransmitted);
    }

    /// Linux `tcp_retransmit_timer`.
    fn on_retransmission_timeout(&mut self, now: Instant) {
        if self.board.is_empty() {
            return;
        }
        if self.is_fack() {
            self.suspect_timeout(now);
        } else {
            self.enter_loss(now);
        }
        // RFC6298-5b
        self.repair.force(Forced::Head);
        self.pass.ask_nothing();
        self.timer.on_timeout(now);
    }

    /// Linux `tcp_enter_loss`.
    fn enter_loss(&mut self, now: Instant) {
        let before = self.phase;
        let is_open = matches!(before, Phase::Open | Phase::Disorder);
        let new_recovery = !matches!(before, Phase::Recovery | Phase::Loss);
        if self
            .board
            .head()
            .is_some_and(|head| head.has(crate::scoreboard::SACKED))
        {
            self.board.forget_sacks();
        }
        self.forget_duplicates();
        let lost = self.board.mark_timed_out(&self.rack, now);
        self.count_losses(now, lost);
        let first_of_window = is_open
            || self.high_seq <= self.snd_una
            || before == Phase::Loss && self.timer.is_first_timeout();
        if first_of_window {
            self.begin_undo();
        }
        self.stats.timeouts += 1;
        self.cc.on_congestion(&Congestion {
            now,
            kind: CongestionKind::Timeout,
            phase: before,
            in_flight: self.bytes_in_flight(),
            snd_nxt: self.snd_nxt,
            first_of_window,
        });
        self.read_window();
        self.validation.on_window_change(now);
        if is_open {
            self.reordering
                .on_timeout_while_open(self.board.sacked_out());
        }
        self.phase = Phase::Loss;
        self.high_seq = self.snd_nxt;
        self.tlp.forget();
        self.ecn.on_reduction();
        self.frto
            .on_timeout(new_recovery || !self.timer.is_first_timeout());
        // Only the head leaves immediately. Other lost segments wait for ACKs to open the window.
        self.repair.allow(Retransmit::Lost);
    }

    /// Linux `tcp_rack_reo_timeout`.
    fn on_reordering_timeout(&mut self, now: Instant) {
        let before = self.board.in_flight();
        let found = self
            .board
            .detect_losses(&self.rack, self.reordering_window(), now);
        self.count_losses(now, found.lost);
        if self.board.in_flight() != before {
            if self.phase != Phase::Recovery {
                self.enter_recovery(now, false);
                // Deliveries clock a reduction, and there is none: Linux grants one segment.
                if self.cc.reduces_by_deliveries() {
                    self.grant_one(now, found.lost);
                }
            }
            self.repair.allow(Retransmit::Lost);
        }
        self.pass.ask_nothing();
        // The next ACK checks the remaining segments; the RTO continues as before.
        self.timer.was_for(now, Timer::Reordering);
        self.rearm_rto(now);
    }

    /// Linux `tcp_send_loss_probe`.
    fn on_probe_timeout(&mut self, now: Instant) {
        // RFC8985-7.3b
        if self.tlp.is_in_flight() || self.board.is_empty() {
            self.timer.was_for(now, Timer::LossProbe);
            self.rearm_rto(now);
            return;
        }
        self.repair.force(Forced::LossProbe);
        // The RTO restarts with the probe.
        self.rearm_rto(now);
    }

    /// Linux `tcp_probe_timer`, `tcp_send_probe0`.
    fn on_window_probe_timeout(&mut self, now: Instant) {
        if !self.board.is_empty() || self.unsent() == 0 {
            return;
        }
        self.stats.window_probes += 1;
        self.repair.force(Forced::WindowProbe);
        self.timer.on_window_probe(now);
    }
}
