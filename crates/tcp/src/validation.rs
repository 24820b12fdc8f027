//! Congestion window validation: whether the sender uses its window, and how much of the window
//! remains after idle time. RFC 2861 in Linux 6.12's form (`tcp_cwnd_validate`,
//! `tcp_is_cwnd_limited`, `tcp_slow_start_after_idle_check`).
//!
//! Assumes that the caller reports each data segment, and each pass that sent segments or was
//! limited by the window.

use units::{Duration, Instant};

use crate::cwnd::CongestionWindow;

/// The used part of the window, and the time of the last data segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Validation {
    is_cwnd_limited: bool,
    max_packets_out: u32,
    /// The two fields above are valid until this offset is acknowledged (`cwnd_usage_seq`).
    usage_end: u64,
    /// Largest flight while not limited (`snd_cwnd_used`), since `stamp`.
    used: u32,
    /// When the window was last used fully, or changed (`snd_cwnd_stamp`).
    stamp: Instant,
    /// When a data segment was last sent (`lsndtime`).
    last_sent: Instant,
    /// The `last_sent` of the last idle time that reduced the window.
    restarted_after: Option<Instant>,
}

/// The state of the connection at the end of a pass.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usage {
    pub(crate) now: Instant,
    /// The congestion window prevented segments from leaving.
    pub(crate) is_limited: bool,
    pub(crate) packets_out: u32,
    pub(crate) snd_una: u64,
    pub(crate) snd_nxt: u64,
}

impl Validation {
    pub(crate) const fn on_established(&mut self, now: Instant) {
        self.stamp = now;
        self.last_sent = now;
    }

    /// The window was changed or asked to grow, so it counts as in use.
    #[inline]
    pub(crate) const fn on_window_change(&mut self, now: Instant) {
        self.stamp = now;
    }

    #[inline]
    pub(crate) const fn on_sent(&mut self, now: Instant) {
        self.last_sent = now;
    }

    /// When a data segment was last sent.
    #[inline]
    pub(crate) const fn last_sent(&self) -> Instant {
        self.last_sent
    }

    /// Linux `tcp_is_cwnd_limited`: whether the window may grow. In slow start, use of more than
    /// half of it suffices.
    #[inline]
    pub(crate) fn is_cwnd_limited(&self, cwnd: &CongestionWindow) -> bool {
        self.is_cwnd_limited
            || cwnd.get().in_slow_start()
                && cwnd.segments() < self.max_packets_out.saturating_mul(2)
    }

    /// Ends a pass. Returns whether the window was limited.
    #[inline]
    pub(crate) fn on_pass(&mut self, usage: &Usage, cwnd: &CongestionWindow) -> bool {
        if usage.snd_una >= self.usage_end
            || usage.is_limited
            || !self.is_cwnd_limited && usage.packets_out > self.max_packets_out
        {
            self.is_cwnd_limited = usage.is_limited;
            self.max_packets_out = usage.packets_out;
            self.usage_end = usage.snd_nxt;
        }
        let is_limited = self.is_cwnd_limited(cwnd);
        if is_limited {
            self.used = 0;
            self.stamp = usage.now;
        } else {
            self.used = self.used.max(usage.packets_out);
        }
        is_limited
    }

    /// The largest flight, if the window was not fully used for a whole `rto`. Starts the next
    /// measurement.
    pub(crate) fn take_unused(&mut self, now: Instant, rto: Duration) -> Option<u32> {
        if now.saturating_since(self.stamp) < rto {
            return None;
        }
        self.stamp = now;
        Some(core::mem::take(&mut self.used))
    }

    /// The idle time, if longer than `rto`. Each idle time counts once, however many writes end it.
    pub(crate) fn take_pause(&mut self, now: Instant, rto: Duration) -> Option<Duration> {
        let idle = now.saturating_since(self.last_sent);
        if idle <= rto || self.restarted_after == Some(self.last_sent) {
            return None;
        }
        self.restarted_after = Some(self.last_sent);
        Some(idle)
    }

    /// Idle time has reduced the window.
    pub(crate) const fn on_restart(&mut self, now: Instant) {
        self.stamp = now;
        self.used = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use congestion::Window;
    use units::Bytes;

    const RTO: Duration = Duration::from_millis(200);

    fn cwnd(segments: u64, ssthresh: Bytes) -> CongestionWindow {
        CongestionWindow::new(Window {
            cwnd: Bytes::new(segments * 1_000),
            ssthresh,
            smss: Bytes::new(1_000),
        })
    }

    const fn usage(millis: u64, is_limited: bool, packets_out: u32) -> Usage {
        Usage {
            now: Instant::from_millis(millis),
            is_limited,
            packets_out,
            snd_una: 0,
            snd_nxt: 10_000,
        }
    }

    #[test]
    fn half_of_the_window_is_enough_in_slow_start_only() {
        let mut validation = Validation::default();
        let slow_start = cwnd(10, Bytes::MAX);
        assert!(!validation.on_pass(&usage(0, false, 5), &slow_start));
        assert!(validation.on_pass(&usage(0, false, 6), &slow_start));
        assert!(!validation.is_cwnd_limited(&cwnd(10, Bytes::new(1_000))));
        assert!(validation.on_pass(&usage(0, true, 6), &cwnd(10, Bytes::new(1_000))));
        // A limit remains in force until the data sent at that time is acknowledged.
        assert!(validation.on_pass(&usage(0, false, 3), &cwnd(10, Bytes::new(1_000))));
    }

    #[test]
    fn an_rto_below_the_window_reports_the_most_that_was_used() {
        let mut validation = Validation::default();
        validation.on_established(Instant::ZERO);
        let avoidance = cwnd(10, Bytes::new(1_000));
        validation.on_pass(&usage(50, false, 4), &avoidance);
        validation.on_pass(&usage(100, false, 3), &avoidance);
        assert_eq!(validation.take_unused(Instant::from_millis(199), RTO), None);
        let end = Instant::from_millis(200);
        assert_eq!(validation.take_unused(end, RTO), Some(4));
        assert_eq!(validation.take_unused(end, RTO), None);
    }

    #[test]
    fn a_pause_counts_once() {
        let mut validation = Validation::default();
        validation.on_sent(Instant::from_millis(100));
        assert_eq!(validation.take_pause(Instant::from_millis(300), RTO), None);
        let later = Instant::from_millis(301);
        let idle = Some(Duration::from_millis(201));
        assert_eq!(validation.take_pause(later, RTO), idle);
        assert_eq!(validation.take_pause(later, RTO), None);
        validation.on_sent(later);
        assert!(validation.take_pause(Instant::from_secs(9), RTO).is_some());
    }
}
