//! Pacing rate and pacing (Linux 6.12 `tcp_update_pacing_rate`, `tcp_update_skb_after_send`; no RFC
//! requires TCP to pace).
//!
//! Assumes that the caller reports a burst before its segments, and returns when the burst may
//! leave.

use congestion::Window;
use units::{Bytes, Duration, Instant, Rate};

/// The number of segments that leave at once at the start. The last of them is the first one
/// charged (`TCP_INIT_CWND`).
const UNPACED_SEGMENTS: u64 = 10;
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;

/// A rate that is divided when somebody reads it. Each ACK changes the rate, and few read it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quotient {
    bits: u64,
    /// At most 2^50.
    per: u64,
}

impl Quotient {
    /// A rate that is known.
    #[inline]
    pub(crate) const fn of(rate: Rate) -> Self {
        Self {
            bits: rate.bits_per_sec(),
            per: 1,
        }
    }

    /// The rate, rounded down.
    #[inline]
    pub(crate) const fn rate(self) -> Rate {
        Rate::from_bits_per_sec(self.bits / self.per)
    }

    /// Whether [`Self::rate`] is at least `least` and below `beyond`, in units of 2^13 bits per
    /// second, rounded down. Products of 128 bits cannot overflow, and cost no more than others.
    #[inline]
    pub(crate) fn is_within(self, least: u64, beyond: u64) -> bool {
        let bits = u128::from(self.bits);
        let unit = u128::from(self.per << 13);
        unit * u128::from(least) <= bits && bits < unit * u128::from(beyond)
    }
}

/// The rate that sends the window in one smoothed round trip of `micros`, times 2 in the first half
/// of slow start and 1.2 afterwards. Unlimited before the first RTT sample, when `micros` is zero.
#[inline]
pub(crate) fn window_rate(window: &Window, packets_out: u32, micros: u64) -> Quotient {
    if micros == 0 {
        return Quotient::of(Rate::MAX);
    }
    let percent = if window.cwnd < window.ssthresh / 2 {
        SLOW_START_PERCENT
    } else {
        AVOIDANCE_PERCENT
    };
    let bytes = window.cwnd.max(window.smss * u64::from(packets_out)).get();
    // bits per second = bytes * 8 * percent / 100 * 1e6 / microseconds
    let factor = 8 * percent * 10_000;
    match bytes.checked_mul(factor) {
        Some(bits) => Quotient { bits, per: micros },
        None => Quotient::of(Rate::from_bits_per_sec(bytes).mul_div(factor, micros)),
    }
}

/// Spaces bursts at the pacing rate. The rate exists even if the sender does not pace, because it
/// determines the burst size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    rate: Quotient,
    is_on: bool,
    /// The first segments are paced too, because a start-up requires it.
    is_spread: bool,
    /// A burst waits for `next`.
    blocked: bool,
    /// Nothing may leave before this time (`tcp_wstamp_ns`).
    next: Instant,
    /// When the current burst began, its delay beyond its due time, and the bytes that it has sent.
    began: Instant,
    credit: Duration,
    sent: u64,
}

impl Pacer {
    /// A pacer without a rate.
    pub(crate) fn new(is_on: bool) -> Self {
        Self {
            rate: Quotient::of(Rate::MAX),
            is_on,
            is_spread: false,
            blocked: false,
            next: Instant::ZERO,
            began: Instant::ZERO,
            credit: Duration::ZERO,
            sent: 0,
        }
    }

    #[inline]
    pub(crate) const fn rate(&self) -> Rate {
        self.rate.rate()
    }

    /// The same, undivided.
    #[inline]
    pub(crate) const fn quotient(&self) -> Quotient {
        self.rate
    }

    /// Whether bursts are paced.
    #[inline]
    pub(crate) const fn is_on(&self) -> bool {
        self.is_on
    }

    /// Whether the first segments are paced too.
    #[inline]
    pub(crate) const fn is_spread(&self) -> bool {
        self.is_spread
    }

    /// Changes the rate from the next burst on.
    #[inline]
    pub(crate) const fn set_rate(&mut self, rate: Quotient) {
        self.rate = rate;
    }

    /// Changes rate and mode from the next burst on.
    #[inline]
    pub(crate) const fn set(&mut self, rate: Quotient, is_on: bool, is_spread: bool) {
        self.rate = rate;
        self.is_on = is_on;
        self.is_spread = is_spread;
    }

    /// Lets nothing leave before `start`.
    pub(crate) fn hold_until(&mut self, start: Instant) {
        self.next = self.next.max(start);
    }

    /// When the waiting burst may leave; `None` if no burst waits.
    #[inline]
    pub(crate) fn waits_until(&self) -> Option<Instant> {
        self.blocked.then_some(self.next)
    }

    /// Whether a burst waits.
    pub(crate) const fn is_blocked(&self) -> bool {
        self.blocked
    }

    /// No burst waits until another one is refused.
    #[inline]
    pub(crate) const fn unblock(&mut self) {
        self.blocked = false;
    }

    /// Time has passed.
    pub(crate) fn on_timeout(&mut self, now: Instant) {
        if self.next <= now {
            self.blocked = false;
        }
    }

    /// The earliest time at which the next burst may leave.
    #[inline]
    pub(crate) fn earliest(&self, now: Instant) -> Instant {
        if self.is_on { now.max(self.next) } else { now }
    }

    /// When the last segment left on the pacing clock; without pacing, `last_sent`.
    pub(crate) const fn clock(&self, last_sent: Instant) -> Instant {
        if self.is_on { self.next } else { last_sent }
    }

    /// Whether a burst may begin.
    #[inline]
    pub(crate) fn may_begin(&mut self, now: Instant) -> bool {
        if !self.is_on {
            return true;
        }
        self.blocked = self.next > now;
        !self.blocked
    }

    /// A burst begins.
    pub(crate) fn begin(&mut self, now: Instant) {
        self.began = now.max(self.next);
        self.credit = self.began.saturating_since(self.next);
        self.sent = 0;
        self.next = self.began;
    }

    /// The `count`-th segment of the connection left, as part of the burst. The delay of the burst
    /// is credited, up to half of the burst's length.
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: u64, count: u64) {
        if self.is_on && (self.is_spread || count >= UNPACED_SEGMENTS) {
            self.charge(bytes);
        }
    }

    /// `count` segments of `bytes` each left as part of the burst, after `sent` segments of the
    /// connection, as by [`Self::on_sent`].
    #[inline]
    pub(crate) fn on_sent_burst(&mut self, bytes: u64, sent: u64, count: u32) {
        if !self.is_on {
            return;
        }
        let count = u64::from(count);
        let free = if self.is_spread {
            0
        } else {
            (UNPACED_SEGMENTS - 1).saturating_sub(sent)
        };
        if count > free {
            self.charge(bytes * (count - free));
        }
    }

    fn charge(&mut self, bytes: u64) {
        let rate = self.rate.rate();
        if rate == Rate::MAX || rate == Rate::ZERO {
            return;
        }
        self.sent += bytes;
        let length = rate.time_for(Bytes::new(self.sent));
        self.next = self.began + length.saturating_sub(self.credit.min(length / 2));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    /// 1,000 bytes in a millisecond.
    fn paced(is_spread: bool) -> Pacer {
        let mut pacer = Pacer::new(true);
        let rate = Quotient::of(Rate::from_bytes_per_sec(1_000_000));
        pacer.set(rate, true, is_spread);
        pacer
    }

    #[test]
    fn nine_segments_are_free_unless_a_start_up_requires_pacing() {
        let mut pacer = paced(false);
        pacer.begin(at(5));
        pacer.on_sent(1_000, 9);
        assert!(pacer.may_begin(at(5)));
        pacer.begin(at(5));
        pacer.on_sent(1_000, 10);
        assert!(!pacer.may_begin(at(5)));
        assert_eq!(pacer.waits_until(), Some(at(6)));
        let mut pacer = paced(true);
        pacer.begin(at(5));
        pacer.on_sent(4_000, 1);
        // The burst began 5 ms late; half of its length is credited.
        assert_eq!(pacer.earliest(at(5)), at(7));
    }

    #[test]
    fn a_pacer_that_is_off_never_blocks() {
        let mut pacer = Pacer::new(false);
        pacer.hold_until(at(9));
        assert!(pacer.may_begin(at(1)));
        assert_eq!((pacer.waits_until(), pacer.earliest(at(1))), (None, at(1)));
    }
}
