//! Hybla as in Linux (`tcp_hybla.c`): `hybla_recalc_param`, `hybla_cong_avoid`.
//!
//! Makes a flow over a long path as fast as Reno over a path of 25 ms: with `rho` the ratio of the
//! two round-trip times, slow start adds `2^rho - 1` segments per ACK, and avoidance `rho^2 / cwnd`.
//! Caini and Firrincieli, "TCP Hybla: a TCP enhancement for heterogeneous networks", International
//! Journal of Satellite Communications and Networking 22(5), 2004. `rho` in eighths and windows in
//! 1/128 segment, as in Linux 6.12.
//!
//! Over long paths slow start is an explosion (250 ms: 1023 segments per ACK; from 400 ms on 65535),
//! bounded by the threshold, the receive window, and a window of 65535 segments alone.
//!
//! ## Deviations
//!
//! - As in Linux, and not as in the paper, the first threshold is not scaled by `rho`, and the flow
//!   is not paced by the algorithm.
//! - As in Linux, the connection begins with a window of `rho` segments (1 below 50 ms) instead of
//!   its initial window; `initial_window=flow` keeps that. Without a round-trip time of the
//!   handshake the initial window stays.
//! - As in Linux, `rho` is rounded down to eighths (28 ms: 1, where the paper has 1.12) and its power
//!   of two is taken from a table.
//! - An ACK that lifts slow start to the threshold leaves nothing to avoidance, as in Linux.
//! - How fast the overshoot is repaired depends on the transport's loss detection. 5 MB over
//!   50 Mbit/s, 100 ms and 413 packets of buffer take 1.37 s in Linux 6.1 and 1.36 s in 6.12 (in
//!   virtual time), with 1,734 and 1,720 retransmissions. Simulated they take 1.39 s with 1,718;
//!   rates within 1 % give 1.35 to 1.40 s. `loss_detection = "fack"`, the model of Linux 2.6.24,
//!   waits for a timeout to find lost retransmissions, and takes 2.50 s. Test: `first_overshoot.rs`.

use units::{Bytes, Duration};

use super::AdditiveIncrease;
use crate::options::{self, OptionError};
use crate::settings;
use crate::{Ack, Avoidance, BuildContext, Congestion, Phase, Window};

/// `128 * 2^(eighths / 8)`, rounded: the fraction of an exponent.
const FRACTIONS: [u64; 8] = [128, 139, 152, 165, 181, 197, 215, 234];
/// One segment in the unit that growth is counted in.
const ONE: u64 = 128;
/// The largest exponent of slow start.
const EXPONENT_MAX: u64 = 16;
/// `snd_cwnd_clamp`, in segments.
const CLAMP: u64 = 65_535;

settings! {
    /// Settings of [`Hybla`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct HyblaConfig {
        /// Round-trip time of the path that every flow shall be as fast as (`rtt0`).
        rtt0: Duration {
            name: "rtt0",
            default: "25ms",
            help: "round-trip time of the path that every flow shall be as fast as",
            read: |value| {
                const SPAN: &str = "a time from 1 ms to 10 s, such as 25ms";
                let span = options::duration(value, Duration::from_secs(10), SPAN)?;
                if span < Duration::from_millis(1) {
                    return Err(OptionError::Invalid { expected: SPAN });
                }
                Ok(span)
            },
        }

        /// Whether the first window is `rho` segments, as in Linux.
        begins_with_rho: bool {
            name: "initial_window",
            default: "rho",
            help: "rho: the first window is the ratio of the round-trip times, as in Linux; flow: \
                   the flow's",
            read: |value| {
                let words = [("rho", true), ("flow", false)];
                options::choice(value, &words, "rho or flow")
            },
        }
    }
}

/// Linux's Hybla.
#[derive(Clone, Debug)]
pub struct Hybla {
    config: HyblaConfig,
    /// `rho` in eighths, at least 8 (`rho_3ls`).
    rho: u64,
    /// Smallest smoothed round-trip time; none before the first.
    min_srtt: Option<Duration>,
    /// Growth below a segment, in 1/128 (`snd_cwnd_cents`).
    cents: u64,
    /// ACKs since the window last grew by less than a segment each (`snd_cwnd_cnt`).
    acks: u64,
    /// Where neither `rho` nor Open applies: Reno's growth.
    reno: AdditiveIncrease,
    /// The ACK that slow start has already used up.
    spent: Option<u64>,
}

impl Hybla {
    /// A new connection.
    #[must_use]
    pub fn new(config: HyblaConfig) -> Self {
        Self {
            config,
            rho: 8,
            min_srtt: None,
            cents: 0,
            acks: 0,
            reno: AdditiveIncrease::default(),
            spent: None,
        }
    }

    /// `hybla_recalc_param`: `rho` follows the smallest smoothed round-trip time.
    fn measure(&mut self, srtt: Duration) {
        if srtt.is_zero() || self.min_srtt.is_some_and(|least| srtt >= least) {
            return;
        }
        self.min_srtt = Some(srtt);
        let rtt0 = (self.config.rtt0.as_nanos() / 1_000).max(1);
        self.rho = (srtt.as_nanos() / 125 / rtt0).max(8);
    }

    /// The increment of one ACK in slow start, in 1/128 segment.
    fn slow_start_increment(&self) -> u64 {
        let fraction = FRACTIONS[(self.rho % 8) as usize];
        (fraction << (self.rho / 8).min(EXPONENT_MAX)) - ONE
    }

    /// The increment of one ACK in avoidance, in 1/128 segment.
    fn avoidance_increment(&self, cwnd: u64) -> u64 {
        2 * self.rho * self.rho / cwnd.max(1)
    }

    /// Whole segments of an increment, the rest carried.
    fn earn(&mut self, increment: u64) -> u64 {
        self.cents += increment % ONE;
        let carried = self.cents / ONE;
        if carried > 0 {
            self.cents %= ONE;
            self.acks = 0;
        }
        increment / ONE + carried
    }
}

impl Avoidance for Hybla {
    fn begin(&mut self, context: &BuildContext) -> Option<Bytes> {
        let rtt = context.handshake_rtt?;
        self.measure(rtt);
        (self.config.begins_with_rho && !rtt.is_zero())
            .then(|| context.smss * (self.rho / 8).min(CLAMP))
    }

    fn decide(&mut self, ack: &Ack, _window: &Window) -> Option<crate::Decision> {
        // Linux does this whether or not the window may grow.
        self.measure(ack.srtt);
        None
    }

    fn on_slow_start(&mut self, growth: Bytes, ack: &Ack, window: &Window) -> Bytes {
        if ack.phase != Phase::Open {
            return growth;
        }
        self.spent = Some(ack.snd_una);
        let segments = self.earn(self.slow_start_increment());
        let room = CLAMP.saturating_sub(window.cwnd_segments());
        window.smss * segments.min(room)
    }

    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        if self.spent.take() == Some(ack.snd_una) {
            return Bytes::ZERO;
        }
        if ack.phase != Phase::Open {
            return self.reno.on_acked(acked, window.cwnd, window.smss);
        }
        let cwnd = window.cwnd_segments();
        let increment = self.avoidance_increment(cwnd);
        if increment < ONE {
            self.acks += 1;
        }
        let mut segments = self.earn(increment);
        if increment == 0 && self.acks >= cwnd {
            segments += 1;
            self.acks = 0;
        }
        window.smss * segments.min(CLAMP.saturating_sub(cwnd))
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        self.reno.reset();
        self.acks = 0;
        window.smss * (window.cwnd_segments() / 2).max(2)
    }

    fn on_timeout(&mut self) {
        self.reno.reset();
        self.acks = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn over(millis: u64) -> Hybla {
        let mut hybla = Hybla::new(HyblaConfig::default());
        hybla.measure(Duration::from_millis(millis));
        hybla
    }

    /// `rho` in eighths, and the increments per ACK in 1/128 segment, the second at 100 segments.
    #[test]
    fn increments() {
        for (millis, rho, slow_start, avoidance) in [
            (10, 8, 128, 1),
            (25, 8, 128, 1),
            (50, 16, 3 * 128, 5),
            (60, 19, 532, 7),
            (100, 32, 15 * 128, 20),
            (250, 80, 1_023 * 128, 128),
            (600, 192, 65_535 * 128, 737),
        ] {
            let hybla = over(millis);
            let found = (
                hybla.rho,
                hybla.slow_start_increment(),
                hybla.avoidance_increment(100),
            );
            assert_eq!(found, (rho, slow_start, avoidance), "{millis} ms");
        }
    }

    /// Growth per round trip in avoidance is `rho^2`, up to the eighths of `rho`.
    #[test]
    fn a_round_trip_adds_rho_squared() {
        for (millis, squared) in [(25, 1), (100, 16), (150, 36), (200, 64), (600, 576)] {
            let mut hybla = over(millis);
            let increment = hybla.avoidance_increment(64);
            let grown: u64 = (0..64).map(|_| hybla.earn(increment)).sum();
            assert_eq!(grown, squared, "{millis} ms");
        }
    }

    #[test]
    fn only_a_smaller_round_trip_counts() {
        let mut hybla = over(100);
        hybla.measure(Duration::from_millis(300));
        assert_eq!(hybla.rho, 32);
        hybla.measure(Duration::from_millis(50));
        assert_eq!(hybla.rho, 16);
    }
}
