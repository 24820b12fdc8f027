//! PIE: drops arriving packets with a probability that a controller adjusts to bring the queueing
//! delay near its target (RFC 8033, sections 4 and 5).
//!
//! Updates are due at multiples of `T_UPDATE` from the start of the run. Their inputs do not change
//! between two packets, so missed updates are made up when a packet arrives or leaves.
//!
//! ## Deviations
//!
//! - The delay is that of the last packet that left, zero with an empty queue: the timestamps of
//!   section 5.2, as Linux measures by default.
//! - The probability does not depend on a packet's size.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use crate::PieConfig;
use crate::random::unit;

/// Per second of delay beyond the target, and of its growth (section 4.2).
const ALPHA: f64 = 0.125;
const BETA: f64 = 1.25;
/// `MEAN_PKTSIZE`; up to two of these are never dropped (section 4.1).
const MEAN_PACKET: u64 = 1500;
/// Below this probability, with less than half the target delay, nothing is dropped (section 4.1).
const SAFE: f64 = 0.2;
/// Bounds of the accumulated probability between which a drop is drawn (section 5.4).
const ACCUMULATED: (f64, f64) = (0.85, 8.5);
/// Below this probability a capable packet is marked (section 5.1).
const MARKS_BELOW: f64 = 0.1;
/// Largest step of the probability, once it is high (section 5.5).
const STEP: f64 = 0.02;
/// The delay in seconds above which the probability rises by [`STEP`] more (section 5.5).
const LONG_WAIT: f64 = 0.25;
/// Decay of the probability at each update with an empty queue (section 4.2).
const DECAY: f64 = 0.98;

#[derive(Clone, Debug)]
pub(crate) struct Pie {
    config: PieConfig,
    probability: f64,
    accumulated: f64,
    /// The delay in seconds, now and at the last update.
    wait: f64,
    old: f64,
    burst: Duration,
    next: Instant,
    rng: ChaCha8Rng,
}

impl Pie {
    pub(crate) fn new(config: PieConfig, rng: ChaCha8Rng) -> Self {
        Self {
            config,
            probability: 0.0,
            accumulated: 0.0,
            wait: 0.0,
            old: 0.0,
            burst: config.burst,
            next: Instant::ZERO + config.update,
            rng,
        }
    }

    /// Makes the updates that were due by `now`.
    pub(crate) fn advance(&mut self, now: Instant) {
        let step = self.config.update.max(Duration::from_nanos(1));
        while self.next <= now {
            let rests = self.probability == 0.0
                && self.wait == 0.0
                && self.old == 0.0
                && self.burst == self.config.burst;
            if rests {
                let steps = (now - self.next).as_nanos() / step.as_nanos();
                self.next += step * steps;
            } else {
                self.update();
            }
            self.next += step;
        }
    }

    fn update(&mut self) {
        let target = self.config.target.as_secs_f64();
        let scale = match self.probability {
            p if p < 1e-6 => 2048.0,
            p if p < 1e-5 => 512.0,
            p if p < 1e-4 => 128.0,
            p if p < 1e-3 => 32.0,
            p if p < 1e-2 => 8.0,
            p if p < 1e-1 => 2.0,
            _ => 1.0,
        };
        let change = ALPHA * (self.wait - target) + BETA * (self.wait - self.old);
        let mut change = self.config.gain * change / scale;
        if self.probability >= 0.1 {
            change = change.min(STEP);
        }
        if self.wait > LONG_WAIT {
            change += STEP;
        }
        self.probability += change;
        if self.wait == 0.0 && self.old == 0.0 {
            self.probability *= DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        let short = target / 2.0;
        self.burst = if self.probability == 0.0 && self.wait < short && self.old < short {
            self.config.burst
        } else {
            self.burst.saturating_sub(self.config.update)
        };
        self.old = self.wait;
    }

    /// A packet leaves after `wait`, with `backlog` bytes still queued.
    pub(crate) fn departs(&mut self, wait: Duration, backlog: u64) {
        self.wait = if backlog == 0 {
            0.0
        } else {
            wait.as_secs_f64()
        };
    }

    /// Whether the arriving packet is to be dropped or marked, with `backlog` bytes queued.
    pub(crate) fn strikes(&mut self, backlog: u64) -> bool {
        let target = self.config.target.as_secs_f64();
        if !self.burst.is_zero()
            || self.old < target / 2.0 && self.probability < SAFE
            || backlog <= 2 * MEAN_PACKET
        {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += self.probability;
        let (least, most) = ACCUMULATED;
        let strikes = self.accumulated >= least
            && (self.accumulated >= most || unit(&mut self.rng) < self.probability);
        if strikes {
            self.accumulated = 0.0;
        }
        strikes
    }

    /// Whether a capable packet is marked rather than dropped.
    pub(crate) fn marks(&self) -> bool {
        self.config.ecn && self.probability < MARKS_BELOW
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn pie() -> Pie {
        Pie::new(PieConfig::default(), ChaCha8Rng::seed_from_u64(1))
    }

    /// When the probability crosses 1e-4, 1e-3, 1e-2 and 0.1 at constant delay.
    #[test]
    fn a_constant_delay_moves_the_probability_as_in_the_reference() {
        for (wait, crossings) in [(30, [105, 345, 930, 2370]), (100, [30, 75, 180, 435])] {
            let mut pie = pie();
            pie.departs(Duration::from_millis(wait), 1);
            for (bound, at) in [1e-4, 1e-3, 1e-2, 0.1].into_iter().zip(crossings) {
                pie.advance(Instant::from_millis(at - 1));
                assert!(pie.probability < bound, "{wait} ms: {bound} before {at} ms");
                pie.advance(Instant::from_millis(at));
                assert!(
                    pie.probability >= bound,
                    "{wait} ms: {bound} after {at} ms: {}",
                    pie.probability
                );
            }
        }
    }

    /// RFC 8034 has twice the gains: until the steps are bounded, a probability that starts at zero
    /// is above each bound no later, and the first update moves it twice as far.
    #[test]
    fn the_gain_of_docsis_is_twice_as_strong() {
        let mut docsis = Pie::new(
            PieConfig {
                gain: 2.0,
                ..PieConfig::default()
            },
            ChaCha8Rng::seed_from_u64(1),
        );
        let mut plain = pie();
        for pie in [&mut docsis, &mut plain] {
            pie.departs(Duration::from_millis(30), 1);
            pie.update();
        }
        // (0.125 * 15 ms + 1.25 * 30 ms) / 2048.
        let first = (0.125 * 0.015 + 1.25 * 0.030) / 2048.0;
        assert!((plain.probability - first).abs() < 1e-15);
        assert!((docsis.probability - 2.0 * first).abs() < 1e-15);
    }

    #[test]
    fn a_high_probability_moves_in_steps_and_decays_when_the_queue_is_empty() {
        let mut pie = pie();
        pie.departs(Duration::from_millis(240), 1);
        pie.probability = 0.5;
        pie.old = 0.0;
        pie.update();
        assert_eq!(pie.probability, 0.52);
        pie.departs(Duration::from_millis(251), 1);
        pie.update();
        assert!((pie.probability - 0.56).abs() < 1e-12);
        pie.departs(Duration::from_millis(1), 0);
        pie.old = 0.0;
        pie.update();
        let expected = (0.56 - 0.125 * 0.015) * 0.98;
        assert!((pie.probability - expected).abs() < 1e-12);
    }

    #[test]
    fn a_burst_passes_and_the_allowance_comes_back() {
        let mut pie = pie();
        pie.departs(Duration::from_millis(400), 1);
        for _ in 0..9 {
            pie.update();
        }
        assert_eq!(pie.burst, Duration::from_millis(15));
        pie.probability = 1.0;
        assert!(!pie.strikes(1_000_000));
        pie.update();
        pie.probability = 1.0;
        assert!(pie.strikes(1_000_000));
        assert!(!pie.strikes(3000), "two packets are left alone");
        pie.departs(Duration::ZERO, 0);
        pie.advance(Instant::from_secs(100));
        assert_eq!(
            (pie.probability, pie.burst),
            (0.0, Duration::from_millis(150))
        );
        let rest = pie.next;
        pie.advance(Instant::from_secs(100_000));
        assert_eq!(
            (pie.next - rest).as_nanos() % Duration::from_millis(15).as_nanos(),
            0
        );
        assert!(pie.next > Instant::from_secs(100_000));
    }

    /// Section 5.4: with a probability of 0.1, drops are at least nine and at most 85 packets
    /// apart.
    #[test]
    fn drops_keep_their_distance() {
        let mut pie = pie();
        pie.burst = Duration::ZERO;
        pie.old = 1.0;
        pie.probability = 0.1;
        let mut last = 0;
        let mut gaps = alloc::vec::Vec::new();
        for number in 1..200_000 {
            if pie.strikes(1_000_000) {
                gaps.push(number - last);
                last = number;
            }
        }
        let (least, most) = (gaps.iter().min().unwrap(), gaps.iter().max().unwrap());
        assert!(*least >= 9 && *most <= 86, "{least} {most}");
        assert_eq!(*least, 9);
    }
}
