//! The size of a burst, and when a partial burst is deferred (Linux 6.12 `tcp_tso_autosize`,
//! `tcp_cwnd_test`, `tcp_tso_should_defer`).
//!
//! The segments of a burst share a send time, as the segments of one TSO packet do.

use units::{Duration, Instant, Rate};

/// Largest TSO packet (`gso_max_size`).
const LARGEST: u64 = 65_536;
/// Smallest burst of an unpaced flow, in segments (`tcp_min_tso_segs`).
pub(crate) const LEAST_SEGMENTS: u32 = 2;
/// A burst carries 2^-10 s of the pacing rate (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// The bonus for short paths halves with each 2^9 us of `min_rtt` (`tcp_tso_rtt_log`).
const RTT_LOG: u32 = 9;
/// A third of the window is enough to send a partial burst (`tcp_tso_win_divisor`).
const WINDOW_DIVISOR: u64 = 3;
/// The longest wait for the next ACK.
const PATIENCE: Duration = Duration::from_millis(1);

/// Burst size in bytes: about a millisecond of the pacing rate, and more on short paths.
#[inline]
pub(crate) fn autosize(rate: Rate, min_rtt: Option<Duration>) -> u64 {
    let by_rate = rate.bytes_per_sec() >> PACING_SHIFT;
    let halvings = min_rtt.map_or(u64::MAX, Duration::as_micros) >> RTT_LOG;
    let bonus = if halvings < 32 {
        LARGEST >> halvings
    } else {
        0
    };
    (by_rate + bonus).min(LARGEST)
}

/// Converts a burst size to segments: at least `least`, and at most `most` (the device's limit).
#[inline]
pub(crate) fn segments(bytes: u64, smss: u64, least: u32, most: u32) -> u32 {
    // At most 64 KB, so the faster 32-bit division suffices.
    let count = bytes.min(LARGEST) as u32 / smss.max(1) as u32;
    count.max(least).min(most)
}

/// Inputs of the decision to defer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deferral {
    pub(crate) now: Instant,
    /// When the sender last sent, on the pacing clock.
    pub(crate) last_sent: Instant,
    /// Bytes that both windows permit, and the full size of the smaller window.
    pub(crate) limit: u64,
    pub(crate) window: u64,
    /// A full burst in bytes.
    pub(crate) full: u64,
    /// Bytes that wait to be sent.
    pub(crate) unsent: u64,
    /// When the lowest segment in flight was sent, if there is one.
    pub(crate) head_sent: Option<Instant>,
    pub(crate) srtt: Duration,
}

impl Deferral {
    /// Whether a partial burst waits for the next ACK (outside recovery).
    #[inline]
    pub(crate) fn should_wait(&self) -> bool {
        if self.now.saturating_since(self.last_sent) > PATIENCE {
            return false;
        }
        // The windows permit a full burst, or everything that the application has written.
        if self.limit >= self.full || self.limit >= self.unsent {
            return false;
        }
        if self.limit >= self.window / WINDOW_DIVISOR {
            return false;
        }
        let Some(head_sent) = self.head_sent else {
            return false;
        };
        let expected_in = (head_sent + self.srtt).saturating_since(self.now);
        expected_in <= PATIENCE.min(self.srtt / 2)
    }
}
