//! The size of a burst, and when a partial burst is deferred (Linux 6.12 `tcp_tso_autosize`,
//! `tcp_cwnd_test`, `tcp_tso_should_defer`).
//!
//! The segments of a burst share a send time, as the segments of one TSO packet do.

use units::{Duration, Instant, Rate};

use crate::pacing::Quotient;

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

/// The segments of a full burst by rate and path, without the limits of [`segments`]. They are
/// computed again only when the rate leaves the span in which they hold.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct FullBurst {
    /// The span of the rate, in units of 2^13 bits per second.
    least: u64,
    beyond: u64,
    /// The path ([`Duration::MAX`] if unknown), and the number.
    min_rtt: Duration,
    count: u32,
}

impl FullBurst {
    /// [`segments`] of [`autosize`].
    #[inline(always)]
    pub(crate) fn segments(
        &mut self,
        rate: Quotient,
        min_rtt: Option<Duration>,
        smss: u64,
        limits: (u32, u32),
    ) -> u32 {
        let min_rtt = min_rtt.unwrap_or(Duration::MAX);
        if min_rtt != self.min_rtt || !rate.is_within(self.least, self.beyond) {
            *self = Self::at(rate.rate(), min_rtt, smss);
        }
        let (least, most) = limits;
        self.count.max(least).min(most)
    }

    #[inline(never)]
    fn at(rate: Rate, min_rtt: Duration, smss: u64) -> Self {
        // So long a path has no bonus either.
        let bonus = autosize(Rate::ZERO, Some(min_rtt));
        let count = segments(autosize(rate, Some(min_rtt)), smss, 0, u32::MAX);
        let bytes = u64::from(count) * smss;
        Self {
            least: bytes.saturating_sub(bonus),
            beyond: if bytes + smss > LARGEST {
                u64::MAX
            } else {
                bytes + smss - bonus
            },
            min_rtt,
            count,
        }
    }
}

/// Inputs of the decision to defer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deferral {
    pub(crate) now: Instant,
    /// When the sender last sent, on the pacing clock.
    pub(crate) last_sent: Instant,
    /// Bytes that both windows permit, whether or not there is so much data, and the full size of
    /// the smaller window.
    pub(crate) limit: u64,
    pub(crate) window: u64,
    /// A full burst in bytes.
    pub(crate) full: u64,
    /// Bytes of the first packet of the queue, whether it is the last, and whether a FIN ends it.
    pub(crate) unsent: u64,
    pub(crate) is_last: bool,
    pub(crate) has_fin: bool,
    /// When the lowest segment in flight was sent, if there is one.
    pub(crate) head_sent: Option<Instant>,
    pub(crate) srtt: Duration,
}

impl Deferral {
    /// Whether a partial burst waits for the next ACK (outside recovery).
    #[inline(always)]
    pub(crate) fn should_wait(&self) -> bool {
        if self.now.saturating_since(self.last_sent) > PATIENCE {
            return false;
        }
        if self.limit >= self.full || !self.is_last && self.limit >= self.unsent {
            return false;
        }
        if self.limit >= self.window / WINDOW_DIVISOR {
            return false;
        }
        let Some(head_sent) = self.head_sent else {
            return false;
        };
        let expected_in = (head_sent + self.srtt).saturating_since(self.now);
        // The end of what the application has written waits too, because more may follow, unless
        // the windows permit all of it and a FIN.
        expected_in <= PATIENCE.min(self.srtt / 2) && (self.limit <= self.unsent || !self.has_fin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use congestion::Window;
    use proptest::prelude::*;
    use units::Bytes;

    use crate::pacing::window_rate;

    /// One segment of 1,000 bytes in flight, whose ACK is due now, and a full burst of four.
    const DEFERRAL: Deferral = Deferral {
        now: Instant::from_millis(100),
        last_sent: Instant::from_millis(100),
        limit: 2_000,
        window: 20_000,
        full: 4_000,
        unsent: 9_000,
        head_sent: Some(Instant::ZERO),
        srtt: Duration::from_millis(100),
        is_last: true,
        has_fin: false,
    };

    #[test]
    fn the_windows_decide_and_not_the_data() {
        let waits = |limit, unsent, has_fin| {
            let deferral = Deferral {
                limit,
                unsent,
                has_fin,
                ..DEFERRAL
            };
            deferral.should_wait()
        };
        // 1,627 bytes: a full burst that the windows permit does not wait for more data.
        assert!(!waits(4_000, 1_627, false) && waits(3_999, 1_627, false));
        // Exactly what the windows permit waits. With less data, a FIN ends the wait.
        assert!(waits(2_000, 2_000, false) && waits(2_000, 2_000, true));
        assert!(waits(2_000, 1_999, false) && !waits(2_000, 1_999, true));
        assert!(waits(2_000, 9_000, true));
    }

    #[test]
    fn a_packet_with_more_behind_it_leaves_if_the_windows_permit_all_of_it() {
        let waits = |unsent| {
            let deferral = Deferral {
                unsent,
                is_last: false,
                ..DEFERRAL
            };
            deferral.should_wait()
        };
        assert!(!waits(2_000) && waits(2_001));
    }

    proptest! {
        /// A full burst that is remembered is the one that would be computed.
        #[test]
        fn a_full_burst_is_that_of_the_rate(
            smss in prop_oneof![Just(1_448_u64), 1_u64..65_536],
            limits in (1_u32..4, 1_u32..50),
            steps in prop::collection::vec(
                (
                    prop_oneof![1_u64..2_000, 1_u64..1 << 40],
                    prop_oneof![0_u64..200_000, 0_u64..1 << 40],
                    prop::option::of(prop_oneof![Just(40_000_u64), 0_u64..30_000]),
                    any::<bool>(),
                    0_u64..3,
                ),
                1..60,
            ),
        ) {
            let mut burst = FullBurst::default();
            let mut rate = Quotient::of(Rate::MAX);
            let mut min_rtt = None;
            let mut micros = 40_000;
            for (segments_out, span, path, known, changes) in steps {
                if changes > 0 {
                    min_rtt = path.map(Duration::from_micros);
                    micros = span;
                }
                let window = Window {
                    cwnd: Bytes::new(segments_out.saturating_mul(smss)),
                    ssthresh: if known { Bytes::MAX } else { Bytes::new(1) },
                    smss: Bytes::new(smss),
                };
                rate = if changes == 2 && known {
                    Quotient::of(rate.rate())
                } else {
                    window_rate(&window, 0, micros)
                };
                let expected = segments(
                    autosize(rate.rate(), min_rtt), smss, limits.0, limits.1,
                );
                prop_assert_eq!(burst.segments(rate, min_rtt, smss, limits), expected);
            }
        }
    }
}
