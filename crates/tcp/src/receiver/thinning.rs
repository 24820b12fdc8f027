//! Fewer ACKs for the data that leaves at a rate approved by routers (RFC 4782, section 4.5).
//!
//! The data of an approved Quick-Start request causes a burst of ACKs on the reverse path. The
//! receiver sends at most 100 ACKs per round trip: it acknowledges the first data packet, and then
//! one packet in `K = max(2, R * RTT / (100 * 8 * MSS))`, for the approved rate `R` in bit/s. The
//! sender's report contains `R`, the receiver measures the RTT from its SYN-ACK to the first data
//! packet, and takes the size of that packet as MSS. `K` is halved each round trip until it is two.
//!
//! ## Deviations
//!
//! - A hole, a duplicate, or a congestion mark ends the thinning, because the sender's recovery needs
//!   the ACKs.
//! - The delayed-ACK timer, the pushed flag and a window that opens by half cause ACKs as ever.
//! - An ACK of each segment ([`AckPolicy::EverySegment`](crate::AckPolicy::EverySegment)) is not
//!   thinned.

use alloc::boxed::Box;

use units::{Duration, Instant, Rate};

use super::Receiver;

/// The most ACKs per round trip.
const ACKS_PER_RTT: u128 = 100;
/// The least ratio (RFC 5681, section 4.2).
const LEAST: u64 = 2;

/// One ACK for so many data packets: `K` of RFC 4782, section 4.5.
#[must_use]
pub fn quick_start_ack_ratio(approved: Rate, rtt: Duration, mss: u32) -> u64 {
    let bits = u128::from(approved.bits_per_sec()) * u128::from(rtt.as_nanos()) / 1_000_000_000;
    let ratio = bits / (ACKS_PER_RTT * 8 * u128::from(mss.max(1)));
    u64::try_from(ratio).unwrap_or(u64::MAX).max(LEAST)
}

/// How far the thinning is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Thinning {
    /// For a sender that will report an approved rate.
    Ready,
    /// That rate; the first data packet is due.
    Approved(Rate),
    /// One ACK for so many packets, halved at this instant and each RTT after it.
    On {
        ratio: u64,
        halved_at: Instant,
        rtt: Duration,
    },
}

impl Receiver {
    /// Thins the ACKs of data that leaves at a rate approved by routers (RFC 4782, section 4.5).
    pub fn thin_acks(&mut self) {
        self.thinning = Some(Box::new(Thinning::Ready));
    }

    /// The sender reports the rate that the routers approved.
    pub(super) fn note_approval(&mut self, approved: Rate) {
        if let Some(thinning) = self.thinning.as_deref_mut()
            && *thinning == Thinning::Ready
            && approved > Rate::ZERO
        {
            *thinning = Thinning::Approved(approved);
        }
    }

    /// A data packet of `len` bytes arrived in order at `now`.
    pub(super) fn thin(&mut self, now: Instant, len: u32) {
        let Some(thinning) = self.thinning.as_deref_mut() else {
            return;
        };
        match thinning {
            Thinning::Ready => {}
            Thinning::Approved(rate) => {
                if let Some(rtt) = self.rtt.srtt().filter(|rtt| !rtt.is_zero()) {
                    *thinning = Thinning::On {
                        ratio: quick_start_ack_ratio(*rate, rtt, len),
                        halved_at: now + rtt,
                        rtt,
                    };
                } else {
                    self.thinning = None;
                }
                self.pending.now = true;
            }
            Thinning::On {
                ratio,
                halved_at,
                rtt,
            } => {
                while now >= *halved_at && *ratio > LEAST {
                    *ratio /= 2;
                    *halved_at += *rtt;
                }
                if *ratio <= LEAST {
                    self.thinning = None;
                }
            }
        }
    }

    /// The packets that one ACK acknowledges, while the ACKs are thinned.
    #[inline]
    pub(super) fn thinned_to(&self) -> Option<u64> {
        match self.thinning.as_deref()? {
            Thinning::On { ratio, .. } => Some(*ratio),
            Thinning::Ready | Thinning::Approved(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use units::Bytes;
    use units::feedback::{Feedback, Nonce, RateCode};

    use super::*;
    use crate::segment::DataSegment;
    use crate::{AckPolicy, Autotuning, ReceiverConfig, Tick};

    const MSS: u64 = 1_448;
    const RTT: Duration = Duration::from_millis(200);

    /// The RFC's example is 1.3 Gbit/s, 0.2 s and 1500 bytes: 216. Rate code 15 is exactly 1.31072.
    #[test]
    fn ratios() {
        for (bits, millis, mss, ratio) in [
            (10_240_000, 100, 1_500, 2),
            (81_920_000, 200, 1_500, 13),
            (1_300_000_000, 200, 1_500, 216),
            (1_310_720_000, 200, 1_500, 218),
            (80_000, 1, 536, 2),
        ] {
            let rate = Rate::from_bits_per_sec(bits);
            let found = quick_start_ack_ratio(rate, Duration::from_millis(millis), mss);
            assert_eq!(found, ratio, "{bits} bit/s, {millis} ms");
        }
        let most = quick_start_ack_ratio(Rate::MAX, Duration::from_secs(1 << 30), 0);
        assert!(most > 1 << 32);
    }

    fn segment(seq: u64, len: u64) -> DataSegment {
        DataSegment {
            seq,
            len: len as u32,
            ts_val: 1,
            ts_ecr: 0,
            syn: len == 0,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: false,
        }
    }

    /// A connection whose first data packet, 200 ms after the SYN-ACK, reports 81.92 Mbit/s.
    struct Bench {
        receiver: Receiver,
        now: Instant,
        next: u64,
    }

    impl Bench {
        fn new(thin: bool) -> Self {
            let size = Bytes::new(1 << 30);
            let mut receiver = Receiver::new(ReceiverConfig {
                receive_buffer: size,
                initial_window: size,
                mss: 1448,
                merged: 1448,
                // A window that does not grow.
                truesize: 2 * 1448,
                autotuning: Autotuning::Off,
                ack_policy: AckPolicy::Delayed,
                sack: true,
                tick: Tick::NONE,
            });
            if thin {
                receiver.thin_acks();
            }
            let mut now = Instant::from_secs(1);
            receiver.handle_data(now, &segment(0, 0), false);
            assert!(receiver.poll_ack(now).is_some());
            now += RTT;
            let report = Feedback::RateReport {
                rate: RateCode::new(11),
                nonce: Nonce::new(0),
            };
            receiver.handle_feedback(&report, 64);
            Self {
                receiver,
                now,
                next: 0,
            }
        }

        /// The segments of this round trip, evenly spaced: the places of those acknowledged.
        fn round(&mut self, count: u64) -> Vec<u64> {
            let mut acknowledged = Vec::new();
            for index in 0..count {
                let data = segment(self.next, MSS);
                self.next += MSS;
                self.receiver.handle_data(self.now, &data, false);
                if self.receiver.poll_ack(self.now).is_some() {
                    acknowledged.push(index);
                }
                self.now += RTT / count;
            }
            acknowledged
        }
    }

    /// The first packet, then one in 14 (81.92 Mbit/s * 0.2 s / 100 / 8 / 1448 bytes), 7, 3, and at
    /// last two, which is a ratio of every receiver.
    #[test]
    fn one_ack_in_fourteen_seven_and_three() {
        let mut bench = Bench::new(true);
        let first = bench.round(140);
        let expected: Vec<u64> = (0..140).step_by(14).collect();
        assert_eq!(first, expected);
        for (ratio, total) in [(7, 20), (3, 47)] {
            let places = bench.round(140);
            assert!(places.len().abs_diff(total) <= 1, "{places:?}");
            assert!(
                places
                    .windows(2)
                    .skip(1)
                    .all(|two| two[1] - two[0] == ratio)
            );
        }
        // The quick ACKs of a new connection are used up.
        assert_eq!(bench.round(140).len(), 70);
        assert_eq!(bench.receiver.thinning, None);

        let mut bench = Bench::new(false);
        assert_eq!(bench.round(140).len(), 16 + 62);
    }

    /// A hole is reported at once, and every ACK after it leaves.
    #[test]
    fn a_hole_ends_the_thinning() {
        let mut bench = Bench::new(true);
        bench.round(10);
        bench.next += MSS;
        assert_eq!(bench.round(3), [0, 1, 2]);
        assert_eq!(bench.receiver.thinning, None);
    }
}
