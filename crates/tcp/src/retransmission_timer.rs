//! The single timer of a connection (`icsk_retransmit_timer`), and the retransmission timeout
//! (RTO), its most frequent use: RFC 6298, section 5, as in Linux 6.12 (`tcp_retransmit_timer`,
//! `tcp_rearm_rto`, `tcp_probe0_when`).
//!
//! The timer serves one purpose at a time. Arming it for another purpose replaces the first.
//!
//! Assumes that the caller reports what was acknowledged, and acts on an expiry.

use units::{Duration, Instant};

use crate::Tick;
use crate::rtt::{RTO_FALLBACK, RTO_INITIAL, RTO_MIN, back_off};
use crate::tlp::rto_left;

/// Number of SYN timeouts before they double (`tcp_syn_linear_timeouts`).
const LINEAR_SYN_TIMEOUTS: u64 = 4;
/// Shortest time for which the timer is armed.
const SOONEST: Duration = Duration::from_micros(1);

/// What the timer is armed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Timer {
    Retransmission,
    Reordering,
    LossProbe,
    WindowProbe,
}

/// The timer and the RTO.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RetransmissionTimer {
    /// When it expires; [`Instant::MAX`] if it is not armed.
    expires_at: Instant,
    /// The timeout, back-off included.
    rto: Duration,
    tick: Tick,
    /// Timeouts since the last RTT sample (`icsk_backoff`).
    backoff: u16,
    /// Timeouts since `SND.UNA` advanced (`icsk_retransmits`).
    retransmits: u16,
    /// What it was armed for last.
    purpose: Timer,
    /// It has fired, and has not been armed since at any time but that one.
    has_fired: bool,
}

impl RetransmissionTimer {
    pub(crate) const fn new(tick: Tick) -> Self {
        Self {
            expires_at: Instant::MAX,
            rto: RTO_INITIAL,
            tick,
            backoff: 0,
            retransmits: 0,
            purpose: Timer::Retransmission,
            has_fired: false,
        }
    }

    /// The retransmission timeout, back-off included.
    #[inline]
    pub(crate) const fn rto(&self) -> Duration {
        self.rto
    }

    /// When the timer expires, if it is armed.
    #[inline]
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        self.is_armed().then_some(self.expires_at)
    }

    #[inline]
    pub(crate) fn is_armed(&self) -> bool {
        self.expires_at != Instant::MAX
    }

    #[inline]
    pub(crate) fn is_armed_for(&self, wanted: Timer) -> bool {
        self.is_armed() && self.purpose == wanted
    }

    /// Arms the timer for `delay` after `start` or, if that has passed, after `now`.
    #[inline]
    pub(crate) fn arm(&mut self, now: Instant, start: Instant, delay: Duration, timer: Timer) {
        self.expires_at = if self.tick.is_exact() {
            start.max(now) + delay
        } else {
            self.on_wheel(now, start, delay)
        };
        self.purpose = timer;
    }

    /// As [`Tick::expiry_from`]. A timer fires at the beginning of a tick, so what arms it at that very
    /// moment is its callback. (Out of line, so that exact timers do not pay for it.)
    #[cold]
    #[inline(never)]
    fn on_wheel(&mut self, now: Instant, start: Instant, delay: Duration) -> Instant {
        self.has_fired &= self.tick.begins(now);
        self.tick.expiry_from(now, start, delay, self.has_fired)
    }

    /// Another use of the timer has just ended, so that [`Self::rto_from`] counts from the head.
    pub(crate) const fn was_for(&mut self, now: Instant, timer: Timer) {
        self.expires_at = now;
        self.purpose = timer;
    }

    #[inline]
    pub(crate) const fn disarm(&mut self) {
        self.expires_at = Instant::MAX;
    }

    /// What the timer was armed for, if it has expired at `now`. Disarms it.
    pub(crate) fn expire(&mut self, now: Instant) -> Option<Timer> {
        if self.expires_at > now {
            return None;
        }
        self.disarm();
        self.has_fired = true;
        Some(self.purpose)
    }

    /// Sets the timeout to `rto`, and starts it.
    pub(crate) fn start(&mut self, now: Instant, rto: Duration) {
        self.rto = rto;
        self.arm(now, now, rto, Timer::Retransmission);
    }

    /// The handshake is over. The timeout is [`RTO_FALLBACK`] until there is an RTT sample.
    pub(crate) const fn on_established(&mut self) {
        self.expires_at = Instant::MAX;
        // RFC6298-5d
        self.rto = RTO_FALLBACK;
        self.backoff = 0;
        self.retransmits = 0;
    }

    /// An RTT sample gives the timeout `rto` and ends the back-off (RFC 6298, section 5). Linux counts
    /// it in ticks (`icsk_rto`).
    #[inline]
    pub(crate) const fn on_sample(&mut self, rto: Duration) {
        self.rto = self.tick.round_up(rto);
        self.backoff = 0;
    }

    /// `SND.UNA` has advanced, or an undo shows that the timeouts were spurious.
    #[inline]
    pub(crate) const fn on_progress(&mut self) {
        self.retransmits = 0;
    }

    /// Whether no timeout has occurred since `SND.UNA` advanced.
    pub(crate) const fn is_first_timeout(&self) -> bool {
        self.retransmits == 0
    }

    /// A SYN timed out for the `count`-th time and is retransmitted at `now`.
    pub(crate) fn on_syn_timeout(&mut self, now: Instant, count: u64) {
        if count > LINEAR_SYN_TIMEOUTS {
            self.rto = back_off(self.rto, 1);
        }
        self.start(now, self.rto);
    }

    /// Data timed out and is retransmitted at `now`: the timeout doubles (RFC 6298, rules 5.5 and
    /// 5.6).
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        self.retransmits = self.retransmits.saturating_add(1);
        self.backoff = self.backoff.saturating_add(1);
        // RFC6298-5c
        self.start(now, back_off(self.rto, 1));
    }

    /// The delay of the RTO from `now` on (Linux `tcp_rearm_rto`). The RTO restarts, unless the
    /// timer serves another purpose. In that case it counts from `head_sent`, the last transmission
    /// of the lowest segment in flight.
    #[inline]
    pub(crate) fn rto_from(&self, now: Instant, head_sent: Instant) -> Duration {
        if self.is_armed_for(Timer::Reordering) || self.is_armed_for(Timer::LossProbe) {
            rto_left(head_sent, self.rto, now).unwrap_or(SOONEST)
        } else {
            self.rto
        }
    }

    /// Linux `tcp_probe0_when`: arms the timer for the next probe of a closed window.
    pub(crate) fn arm_window_probe(&mut self, now: Instant) {
        let delay = back_off(self.rto.max(RTO_MIN), self.backoff.into());
        self.arm(now, now, delay, Timer::WindowProbe);
    }

    /// A window probe leaves: the next one waits twice as long.
    pub(crate) fn on_window_probe(&mut self, now: Instant) {
        self.backoff = self.backoff.saturating_add(1);
        self.arm_window_probe(now);
    }

    /// The window has opened, so no probe is needed.
    pub(crate) fn on_window_open(&mut self) {
        self.backoff = 0;
        if self.is_armed_for(Timer::WindowProbe) {
            self.expires_at = Instant::MAX;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rtt::RTO_MAX;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    // Tests RFC6298-5c
    #[test]
    fn timeouts_double_until_a_sample_and_stop_at_the_largest() {
        let mut timer = RetransmissionTimer::new(Tick::NONE);
        timer.on_established();
        timer.on_sample(Duration::from_millis(300));
        timer.on_timeout(at(0));
        assert_eq!(timer.expires_at(), Some(at(600)));
        timer.on_timeout(at(600));
        assert_eq!(timer.expires_at(), Some(at(1_800)));
        assert!(!timer.is_first_timeout());
        // Progress without a sample (Karn's rule) keeps the back-off.
        timer.on_progress();
        assert!(timer.is_first_timeout());
        assert_eq!(timer.rto(), Duration::from_millis(1_200));
        timer.on_sample(Duration::from_millis(300));
        assert_eq!(timer.rto(), Duration::from_millis(300));
        for _ in 0..40 {
            timer.on_timeout(at(0));
        }
        assert_eq!(timer.rto(), RTO_MAX);
    }

    #[test]
    fn syn_timeouts_double_after_the_fourth() {
        let mut timer = RetransmissionTimer::new(Tick::NONE);
        for (count, seconds) in [(1, 1), (4, 1), (5, 2), (6, 4)] {
            timer.on_syn_timeout(at(0), count);
            assert_eq!(timer.expires_at(), Some(at(seconds * 1_000)));
        }
    }

    #[test]
    fn the_rto_counts_from_the_head_after_another_timer() {
        let mut timer = RetransmissionTimer::new(Tick::NONE);
        timer.on_sample(Duration::from_millis(300));
        assert_eq!(timer.rto_from(at(100), at(0)), Duration::from_millis(300));
        timer.arm(
            at(100),
            at(100),
            Duration::from_millis(50),
            Timer::LossProbe,
        );
        assert_eq!(timer.rto_from(at(100), at(0)), Duration::from_millis(200));
        assert_eq!(timer.rto_from(at(400), at(0)), SOONEST);
    }

    #[test]
    fn window_probes_back_off_until_the_window_opens() {
        let mut timer = RetransmissionTimer::new(Tick::NONE);
        timer.on_sample(Duration::from_millis(300));
        timer.arm_window_probe(at(0));
        assert_eq!(timer.expire(at(299)), None);
        assert_eq!(timer.expire(at(300)), Some(Timer::WindowProbe));
        assert!(!timer.is_armed());
        timer.on_window_probe(at(300));
        assert_eq!(timer.expires_at(), Some(at(900)));
        timer.on_window_open();
        assert!(!timer.is_armed());
        // The opening of the window leaves a timer with another purpose armed.
        timer.start(at(300), Duration::from_millis(700));
        timer.on_window_open();
        assert!(timer.is_armed_for(Timer::Retransmission));
    }

    #[test]
    fn with_ticks_the_timeout_is_rounded_and_each_expiry_is_that_of_the_wheel() {
        let tick = Tick::new(Duration::from_millis(4), 3);
        let mut timer = RetransmissionTimer::new(tick);
        timer.on_sample(Duration::from_micros(229_500));
        assert_eq!(timer.rto(), Duration::from_millis(232));
        timer.on_timeout(at(0));
        let twice = Duration::from_millis(464);
        assert_eq!(timer.rto(), twice);
        assert_eq!(timer.expires_at(), Some(tick.expiry(at(0), twice)));
        // 464 ms are 116 ticks, so the timer fires up to 8 ticks late.
        let late = timer.expires_at().unwrap().saturating_since(at(464));
        assert!(late > Duration::ZERO && late <= Duration::from_millis(36));
    }

    /// `__run_timers` advances the wheel's clock before it calls. 252 ms are 63 ticks of 4 ms, which are 62
    /// from that clock, and are not rounded to a group: the timer fires after tick 257 + 63.
    #[test]
    fn in_its_own_callback_the_timer_is_armed_from_the_next_tick() {
        let tick = Tick::with_phase(Duration::from_millis(4), Duration::ZERO);
        let rto = Duration::from_millis(252);
        let mut timer = RetransmissionTimer::new(tick);
        timer.arm(
            at(945),
            at(945),
            Duration::from_millis(80),
            Timer::LossProbe,
        );
        let fires = timer.expires_at().unwrap();
        assert_eq!(fires, at(1_028));
        assert_eq!(timer.expire(fires), Some(Timer::LossProbe));
        timer.start(fires, rto);
        assert_eq!(timer.expires_at(), Some(at(4 * (257 + 63 + 1))));
        // An ACK later in the same tick arms it in a group of eight ticks: after 40 * 8.
        timer.start(fires + Duration::from_millis(1), rto);
        assert_eq!(timer.expires_at(), Some(at(4 * 41 * 8)));
        // So does an ACK that comes when some tick begins.
        timer.start(at(1_032), rto);
        assert_eq!(timer.expires_at(), Some(at(4 * 41 * 8)));
    }
}
