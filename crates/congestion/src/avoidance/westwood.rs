//! Westwood+ as in Linux (`tcp_westwood.c`): `westwood_filter`, `westwood_update_window`,
//! `westwood_acked_count`, `tcp_westwood_bw_rttmin`, `tcp_westwood_event`.
//!
//! Grows like Reno, and measures how many bytes are acknowledged per round trip. When a reduction
//! ends, window and threshold become what that bandwidth needs at the smallest round-trip time; a
//! timeout takes it as its threshold. Dell'Aera, Grieco and Mascolo, "Linux 2.4 implementation of
//! Westwood+ TCP with rate-halving", 2004. Integer arithmetic on bytes and jiffies, as in Linux 6.12.
//!
//! ## Deviations
//!
//! - As in Linux, and not as in the paper, the reduction itself goes to half of the window; the
//!   estimate is applied when it ends.
//! - Every ACK is counted as on Linux's slow path (duplicate ACKs count as a segment, and the
//!   cumulative ACK that follows is relieved of them). Linux skips that on its fast path, where
//!   nothing is outstanding to be relieved of unless a recovery has just ended.
//! - An ACK that delivers nothing new is not seen; Linux counts a segment for it.
//! - After an undo Linux sets the window to the estimate nevertheless, if the episode then ends;
//!   here an episode that was undone does not end a second time.
//! - The product of bandwidth and time does not wrap at 32 bits.

use units::{Bytes, Duration, Instant};

use super::{AdditiveIncrease, HZ, Jiffies, read_hz};
use crate::settings;
use crate::{Ack, Avoidance, BuildContext, Congestion, CongestionKind, Window};

/// `TCP_WESTWOOD_RTT_MIN`: the shortest span of a bandwidth sample.
const SHORTEST_SAMPLE: Duration = Duration::from_millis(50);
/// `TCP_WESTWOOD_INIT_RTT`: the round-trip time before there is a sample.
const INITIAL_RTT: Duration = Duration::from_secs(20);

settings! {
    /// Settings of [`Westwood`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct WestwoodConfig {
        /// Ticks per second of the kernel (`HZ`): 250 on Debian.
        hz: u32 {
            name: "hz",
            default: HZ.default,
            help: HZ.help,
            read: read_hz,
        }
    }
}

/// Linux's Westwood+. Times are jiffies.
#[derive(Clone, Debug)]
pub struct Westwood {
    jiffies: Jiffies,
    increase: AdditiveIncrease,
    /// Bandwidth after one and after both filters, in bytes per jiffy.
    bw_ns_est: u64,
    bw_est: u64,
    /// When the sample at hand began (`rtt_win_sx`).
    sample_start: u64,
    /// Acknowledged since then (`bk`).
    acked: u64,
    /// First unacknowledged offset at the last ACK; none before the first.
    snd_una: Option<u64>,
    /// Counted for duplicate ACKs and not yet acknowledged cumulatively (`accounted`).
    accounted: u64,
    /// Round-trip time of the ACK before (`rtt`).
    rtt: u64,
    rtt_min: u64,
    /// The smallest round-trip time is taken anew (`reset_rtt_min`).
    renews_rtt_min: bool,
}

impl Westwood {
    /// A new connection.
    #[must_use]
    pub fn new(config: WestwoodConfig) -> Self {
        let jiffies = Jiffies::new(config.hz);
        let rtt = jiffies.up(INITIAL_RTT);
        Self {
            jiffies,
            increase: AdditiveIncrease::default(),
            bw_ns_est: 0,
            bw_est: 0,
            sample_start: 0,
            acked: 0,
            snd_una: None,
            accounted: 0,
            rtt,
            rtt_min: rtt,
            renews_rtt_min: true,
        }
    }

    /// Two low-pass filters of 7/8, the first sample unfiltered.
    fn filter(&mut self, delta: u64) {
        let sample = self.acked / delta;
        if self.bw_ns_est == 0 && self.bw_est == 0 {
            (self.bw_ns_est, self.bw_est) = (sample, sample);
        } else {
            self.bw_ns_est = (7 * self.bw_ns_est + sample) >> 3;
            self.bw_est = (7 * self.bw_est + self.bw_ns_est) >> 3;
        }
    }

    /// Ends the sample at hand if it is long enough.
    fn update_window(&mut self, now: Instant) {
        let now = self.jiffies.at(now);
        let delta = now.saturating_sub(self.sample_start);
        if delta > self.rtt.max(self.jiffies.up(SHORTEST_SAMPLE)) {
            self.filter(delta);
            self.acked = 0;
            self.sample_start = now;
        }
    }

    /// What this ACK acknowledges, in bytes: a segment for a duplicate ACK, which later cumulative
    /// ACKs do not count again.
    fn count(&mut self, snd_una: u64, smss: u64) -> u64 {
        let before = self.snd_una.replace(snd_una).unwrap_or(snd_una);
        let advance = snd_una.saturating_sub(before);
        if advance == 0 {
            self.accounted += smss;
            return smss;
        }
        if advance <= smss {
            return advance;
        }
        if self.accounted >= advance {
            self.accounted -= advance;
            smss
        } else {
            advance - core::mem::take(&mut self.accounted)
        }
    }

    /// `tcp_westwood_bw_rttmin`: the estimated bandwidth-delay product, at least two segments.
    fn product(&self, smss: Bytes) -> Bytes {
        let bytes = u128::from(self.bw_est) * u128::from(self.rtt_min);
        let segments = bytes / u128::from(smss.get().max(1));
        // No window in use is near this bound.
        let segments = u64::try_from(segments).unwrap_or(u64::MAX);
        smss * segments.clamp(2, 1 << 31)
    }
}

impl Avoidance for Westwood {
    fn begin(&mut self, context: &BuildContext) -> Option<Bytes> {
        self.sample_start = self.jiffies.at(context.now);
        None
    }

    #[inline]
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        let first = self.snd_una.is_none();
        if first {
            self.snd_una = Some(ack.snd_una);
        }
        self.update_window(ack.now);
        if !first {
            self.acked += self.count(ack.snd_una, window.smss.get());
        }
        // Linux runs this before it takes the RTT sample of the same ACK.
        self.rtt_min = if core::mem::take(&mut self.renews_rtt_min) {
            self.rtt
        } else {
            self.rtt.min(self.rtt_min)
        };
        if let Some(rtt) = ack.latest_rtt {
            self.rtt = self.jiffies.up(rtt);
        }
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, _ack: &Ack, window: &Window) -> Bytes {
        self.increase.on_acked(acked, window.cwnd, window.smss)
    }

    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
        self.increase.reset();
        if congestion.kind == CongestionKind::Timeout {
            self.renews_rtt_min = true;
            return self.product(window.smss);
        }
        window.smss * (window.cwnd_segments() / 2).max(2)
    }

    fn on_recovery_exit(&mut self, window: &Window) -> Option<Bytes> {
        Some(self.product(window.smss))
    }

    fn on_timeout(&mut self) {
        self.increase.reset();
    }

    /// `min_cwnd` of Linux 2.6: the estimate.
    fn recovery_floor(&self, window: &Window) -> Bytes {
        self.product(window.smss)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// HZ 1000, a smallest round trip of 50 ms, segments of 1448 bytes.
    #[test]
    fn the_filter() {
        let mut westwood = Westwood::new(WestwoodConfig { hz: 1_000 });
        westwood.rtt_min = 50;
        let rows = [10_000, 12_000, 8_000, 9_090, 0].map(|sample| {
            westwood.acked = sample * 60;
            westwood.filter(60);
            let product = westwood.product(Bytes::new(1_448));
            (westwood.bw_ns_est, westwood.bw_est, product.get() / 1_448)
        });
        assert_eq!(
            rows,
            [
                (10_000, 10_000, 345),
                (10_250, 10_031, 346),
                (9_968, 10_023, 346),
                (9_858, 10_002, 345),
                (8_625, 9_829, 339)
            ]
        );
    }

    #[test]
    fn a_cumulative_ack_counts_duplicates_once() {
        let mut westwood = Westwood::new(WestwoodConfig::default());
        westwood.snd_una = Some(0);
        let counted = [0, 0, 0, 5_000, 6_000, 12_000].map(|una| westwood.count(una, 1_000));
        assert_eq!(counted, [1_000, 1_000, 1_000, 2_000, 1_000, 6_000]);
        // More duplicates than the ACK covers: it still counts as one segment.
        let counted =
            [12_000, 12_000, 12_000, 14_000, 17_000].map(|una| westwood.count(una, 1_000));
        assert_eq!(counted, [1_000, 1_000, 1_000, 1_000, 2_000]);
    }
}
