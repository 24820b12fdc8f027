//! Pacing rate and pacing (Linux 6.12 `tcp_update_pacing_rate`, `tcp_update_skb_after_send`).

use congestion::Window;
use units::{Bytes, Duration, Instant, Rate};

/// So many segments leave at once at the start; the last is the first that is charged
/// (`TCP_INIT_CWND`).
const UNPACED_SEGMENTS: u64 = 10;
/// `tcp_pacing_ss_ratio` and `tcp_pacing_ca_ratio`, in per cent.
const SLOW_START_PERCENT: u64 = 200;
const AVOIDANCE_PERCENT: u64 = 120;

/// The rate at which the window would leave in one smoothed round trip, times 2 in the first half
/// of slow start and 1.2 afterwards. Unlimited before the first RTT sample.
pub(crate) fn window_rate(window: &Window, packets_out: u32, srtt: Option<Duration>) -> Rate {
    let Some(srtt) = srtt.filter(|srtt| !srtt.is_zero()) else {
        return Rate::MAX;
    };
    let percent = if window.cwnd < window.ssthresh / 2 {
        SLOW_START_PERCENT
    } else {
        AVOIDANCE_PERCENT
    };
    let bytes = window.cwnd.max(window.smss * u64::from(packets_out)).get();
    let micros = srtt.as_micros().max(1);
    // bits per second = bytes * 8 * percent / 100 * 1e6 / microseconds
    let factor = 8 * percent * 10_000;
    match bytes.checked_mul(factor) {
        Some(scaled) => Rate::from_bits_per_sec(scaled / micros),
        None => Rate::from_bits_per_sec(bytes).mul_div(factor, micros),
    }
}

/// Spaces bursts at the pacing rate.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pacer {
    /// Nothing may leave before (`tcp_wstamp_ns`).
    pub(crate) next: Instant,
    /// A burst waits for that.
    pub(crate) blocked: bool,
    /// When the burst under way began, what it had waited beyond its time, and what it has sent.
    began: Instant,
    credit: Duration,
    sent: u64,
}

impl Pacer {
    /// Whether a burst may begin.
    pub(crate) fn may_begin(&mut self, now: Instant) -> bool {
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

    /// A segment of the burst left, the `count`-th of the connection. What the burst was late is
    /// credited, up to half of its length.
    pub(crate) fn on_sent(&mut self, bytes: u64, count: u64, rate: Rate) {
        if count < UNPACED_SEGMENTS || rate == Rate::MAX || rate == Rate::ZERO {
            return;
        }
        self.sent += bytes;
        let length = rate.time_for(Bytes::new(self.sent));
        self.next = self.began + length.saturating_sub(self.credit.min(length / 2));
    }
}
