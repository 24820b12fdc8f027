//! Random processes in steps of equal time, whose state at any step is found in bounded time.
//!
//! The random numbers of a step have their own place in the stream, so the state depends only on
//! the stream and the step, never on earlier calls. Time is divided into epochs. The state at the
//! start of an epoch is computed by warming up over enough earlier steps that the initial state no
//! longer matters, and always in the same way. A link that was idle for hours therefore makes at
//! most the steps of one epoch and one warm-up.
//!
//! ## Deviations
//!
//! - The start of an epoch does not depend on what came before the warm-up: for an
//!   Ornstein-Uhlenbeck process a fraction of e^-14, a millionth, is lost.

use rand_chacha::ChaCha8Rng;
use units::Duration;

use crate::random::{Chance, normal, unit};

/// A warm-up leaves e to the minus this of the initial state.
const FORGET: f64 = 14.0;
/// Limits of a warm-up, in steps.
const WARM_UP: (f64, f64) = (16.0, 65_536.0);
/// Length of an epoch in warm-ups.
const EPOCH: u64 = 4;

/// A process in steps.
pub(crate) trait Chain: Clone {
    /// The exact number of 32-bit words that a step takes from the stream.
    const WORDS: u128;
    /// An initial state.
    fn begin(&mut self, rng: &mut ChaCha8Rng);
    /// Advances by one step.
    fn step(&mut self, rng: &mut ChaCha8Rng);
    /// Number of steps after which the difference of two states with the same random numbers has
    /// fallen to 1/e.
    fn memory(&self) -> f64;
}

/// A process, and the step of its present state.
#[derive(Clone, Debug)]
pub(crate) struct Timeline<C> {
    chain: C,
    /// In nanoseconds, at least one.
    step: u64,
    warm_up: u64,
    rng: ChaCha8Rng,
    current: u64,
    /// Whether there is a current step.
    begun: bool,
}

impl<C: Chain> Timeline<C> {
    pub(crate) fn new(chain: C, step: Duration, rng: ChaCha8Rng) -> Self {
        let warm_up = (FORGET * chain.memory()).clamp(WARM_UP.0, WARM_UP.1);
        Self {
            chain,
            step: step.as_nanos().max(1),
            warm_up: warm_up as u64,
            rng,
            current: 0,
            begun: false,
        }
    }

    /// The state at `nanos`.
    pub(crate) fn at(&mut self, nanos: u64) -> &C {
        let step = nanos / self.step;
        if !self.begun || step != self.current {
            self.go(step);
        }
        &self.chain
    }

    fn go(&mut self, step: u64) {
        let length = EPOCH * self.warm_up;
        let epoch = step / length;
        if !self.begun || step < self.current || epoch != self.current / length {
            self.current = (epoch * length).saturating_sub(self.warm_up);
            self.begun = true;
            self.rng.set_word_pos(u128::from(self.current) * C::WORDS);
            self.chain.begin(&mut self.rng);
        }
        while self.current < step {
            self.chain.step(&mut self.rng);
            self.current += 1;
        }
    }
}

/// An Ornstein-Uhlenbeck process with mean zero and variance one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OrnsteinUhlenbeck {
    /// Correlation of one step with the next.
    memory: f64,
    fresh: f64,
    pub(crate) value: f64,
}

impl OrnsteinUhlenbeck {
    /// The process whose correlation falls to 1/e after `correlation`, in steps of at least `grid`
    /// and of at least a thirty-second of that.
    pub(crate) fn timeline(
        correlation: Duration,
        grid: Duration,
        rng: ChaCha8Rng,
    ) -> Timeline<Self> {
        let step = grid.max(correlation / 32);
        let memory = match correlation.as_nanos() {
            0 => 0.0,
            nanos => libm::exp(-(step.as_nanos() as f64) / nanos as f64),
        };
        let chain = Self {
            memory,
            fresh: libm::sqrt(1.0 - memory * memory),
            value: 0.0,
        };
        Timeline::new(chain, step, rng)
    }
}

impl Chain for OrnsteinUhlenbeck {
    const WORDS: u128 = 4;

    fn begin(&mut self, rng: &mut ChaCha8Rng) {
        self.value = normal(rng);
    }

    fn step(&mut self, rng: &mut ChaCha8Rng) {
        self.value = self.memory * self.value + self.fresh * normal(rng);
    }

    fn memory(&self) -> f64 {
        if self.memory > 0.0 {
            -1.0 / libm::log(self.memory)
        } else {
            0.0
        }
    }
}

/// A switch with exponentially distributed ON and OFF times.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Switch {
    /// Probabilities that the next step is on, after one that is off and after one that is on. The
    /// same random number decides both, so that two histories merge.
    on_after: [Chance; 2],
    /// Long-term fraction of ON time.
    share: Chance,
    memory: f64,
    pub(crate) on: bool,
}

impl Switch {
    /// ON for `on` and OFF for `off` on average; never OFF if `off` is zero.
    pub(crate) fn timeline(on: Duration, off: Duration, rng: ChaCha8Rng) -> Timeline<Self> {
        let step = (on.min(off) / 16).max(Duration::from_micros(100));
        let leaves = |span: Duration| {
            let steps = step.as_nanos() as f64 / span.as_nanos().max(1) as f64;
            -libm::expm1(-steps)
        };
        let (on_leaves, off_leaves) = (leaves(on), leaves(off));
        let chain = Self {
            on_after: [Chance::new(off_leaves), Chance::new(1.0 - on_leaves)],
            share: Chance::new(off_leaves / (on_leaves + off_leaves)),
            memory: 1.0 / (on_leaves + off_leaves),
            on: false,
        };
        Timeline::new(chain, step, rng)
    }
}

impl Chain for Switch {
    const WORDS: u128 = 2;

    fn begin(&mut self, rng: &mut ChaCha8Rng) {
        self.on = self.share.draw(rng);
    }

    fn step(&mut self, rng: &mut ChaCha8Rng) {
        self.on = self.on_after[usize::from(self.on)].draw(rng);
    }

    fn memory(&self) -> f64 {
        self.memory
    }
}

/// Length of an interruption.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Length {
    /// Log-normal.
    LogNormal {
        /// The median.
        median: Duration,
        /// Standard deviation of the logarithm.
        sigma: f64,
        /// The maximum.
        most: Duration,
    },
    /// A handover: 30 to 50 ms, and every tenth 100 to 1000 ms (docs/reference/networks/lte.md).
    Handover,
}

/// Random interruptions: nothing is sent, and the queue is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OutageConfig {
    /// Mean time from one start to the next (a Poisson process).
    pub every: Duration,
    /// Their length.
    pub length: Length,
}

/// The grid of interruptions.
const OUTAGE_STEP: Duration = Duration::from_millis(5);

impl OutageConfig {
    pub(crate) fn timeline(self, rng: ChaCha8Rng) -> Timeline<Outages> {
        let steps = OUTAGE_STEP.as_nanos() as f64 / self.every.as_nanos().max(1) as f64;
        let chain = Outages {
            begins: Chance::new(-libm::expm1(-steps)),
            length: self.length,
            left: 0,
        };
        Timeline::new(chain, OUTAGE_STEP, rng)
    }

    /// The fraction of time without interruption.
    pub(crate) fn free(self) -> f64 {
        let mean = match self.length {
            Length::LogNormal {
                median,
                sigma,
                most,
            } => cut_mean(median.as_secs_f64(), sigma, most.as_secs_f64()),
            Length::Handover => 0.9 * 0.04 + 0.1 * 0.55,
        };
        let every = self.every.as_secs_f64().max(1e-9);
        libm::exp(-mean / every)
    }
}

fn cut_mean(median: f64, sigma: f64, most: f64) -> f64 {
    if median <= 0.0 || most <= 0.0 {
        return 0.0;
    }
    if sigma <= 0.0 {
        return median.min(most);
    }
    crate::process::cut_mean(libm::log(median), sigma, most)
}

/// The state of interruptions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outages {
    begins: Chance,
    length: Length,
    /// Remaining steps.
    left: u64,
}

impl Outages {
    pub(crate) const fn out(&self) -> bool {
        self.left > 0
    }

    /// In steps; takes four words.
    fn draw(&self, rng: &mut ChaCha8Rng) -> u64 {
        let seconds = match self.length {
            Length::LogNormal {
                median,
                sigma,
                most,
            } => {
                let factor = libm::exp(sigma * normal(rng));
                (median.as_secs_f64() * factor).min(most.as_secs_f64())
            }
            Length::Handover => {
                let (kind, place) = (unit(rng), unit(rng));
                if kind < 0.9 {
                    0.03 + 0.02 * place
                } else {
                    0.1 + 0.9 * place
                }
            }
        };
        // To the nearest, but at least one.
        ((seconds / OUTAGE_STEP.as_secs_f64() + 0.5) as u64).max(1)
    }
}

impl Chain for Outages {
    const WORDS: u128 = 6;

    fn begin(&mut self, rng: &mut ChaCha8Rng) {
        self.left = 0;
        self.step(rng);
    }

    fn step(&mut self, rng: &mut ChaCha8Rng) {
        self.left = self.left.saturating_sub(1);
        let begins = self.begins.draw(rng);
        let drawn = if begins {
            self.draw(rng)
        } else {
            let _ = (unit(rng), unit(rng));
            0
        };
        self.left = self.left.max(drawn);
    }

    /// Long enough for the longest interruption to end within a warm-up.
    fn memory(&self) -> f64 {
        let most = match self.length {
            Length::LogNormal { most, .. } => most.as_secs_f64(),
            Length::Handover => 1.0,
        };
        (most / OUTAGE_STEP.as_secs_f64() + 2.0) / FORGET
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;

    const MS: u64 = 1_000_000;

    fn rng() -> ChaCha8Rng {
        ChaCha8Rng::seed_from_u64(11)
    }

    fn process() -> Timeline<OrnsteinUhlenbeck> {
        OrnsteinUhlenbeck::timeline(Duration::from_millis(400), Duration::from_millis(10), rng())
    }

    fn outages() -> Timeline<Outages> {
        let config = OutageConfig {
            every: Duration::from_secs(5),
            length: Length::LogNormal {
                median: Duration::from_millis(350),
                sigma: 0.6,
                most: Duration::from_millis(1500),
            },
        };
        config.timeline(rng())
    }

    fn switch() -> Timeline<Switch> {
        Switch::timeline(Duration::from_secs(5), Duration::from_secs(1), rng())
    }

    #[test]
    fn the_state_of_a_step_does_not_depend_on_earlier_calls() {
        let (mut value, mut on, mut out) = (process(), switch(), outages());
        let (mut value_2, mut on_2, mut out_2) = (process(), switch(), outages());
        let mut second = 0;
        while second < 4000 {
            let from = second * 1000;
            for ms in (from..from + 1000).step_by(5) {
                value.at(ms * MS);
                on.at(ms * MS);
                out.at(ms * MS);
            }
            // 995 ms after the second started, rarely and at uneven distances.
            if second % 7 == 0 || second % 311 < 3 {
                let at = (from + 995) * MS;
                let jumped = value_2.at(at).value;
                assert!(jumped.to_bits() == value.at(at).value.to_bits(), "{second}");
                assert_eq!(on_2.at(at).on, on.at(at).on, "{second}");
                assert_eq!(out_2.at(at).left, out.at(at).left, "{second}");
            }
            second += 1;
        }
        // Also backwards, and far ahead.
        let early = process().at(3 * MS).value;
        assert!(value.at(3 * MS).value.to_bits() == early.to_bits());
        value.at(u64::MAX);
        on.at(u64::MAX);
        out.at(u64::MAX);
    }

    #[test]
    fn the_processes_have_their_moments() {
        let mut value = process();
        let count = 400_000_u64;
        let values: Vec<f64> = (0..count).map(|n| value.at(n * 25 * MS).value).collect();
        let mean = values.iter().sum::<f64>() / count as f64;
        // 10,000 s hold 12,500 independent values: standard error 0.009 of the mean.
        assert!(mean.abs() < 0.036, "{mean}");
        let product = |lag: usize| {
            let pairs = values.iter().zip(&values[lag..]);
            pairs.map(|(a, b)| a * b).sum::<f64>() / count as f64
        };
        assert!((product(0) - 1.0).abs() < 0.04, "{}", product(0));
        // After 400 ms.
        let after = product(16) - libm::exp(-1.0);
        assert!(after.abs() < 0.04, "{after}");

        let (mut on, mut out) = (switch(), outages());
        let steps = 4_000_000_u64;
        let (mut on_steps, mut begins, mut out_steps, mut was) = (0_u64, 0_u64, 0_u64, false);
        for n in 0..steps {
            on_steps += u64::from(on.at(n * 5 * MS).on);
            let is = out.at(n * 5 * MS).out();
            begins += u64::from(is && !was);
            out_steps += u64::from(is);
            was = is;
        }
        // 20,000 s contain 3300 periods of the switch: five sixths of the time, within 1 %.
        let share = on_steps as f64 / steps as f64;
        assert!((share - 5.0 / 6.0).abs() < 0.01, "{share}");
        // 4000 outages less those that overlap another: 0.35 s exp(0.18) less the cut are about
        // 0.41 s.
        let free = 1.0 - out_steps as f64 / steps as f64;
        let config_free = libm::exp(-0.41 / 5.0);
        assert!((free - config_free).abs() < 0.01, "{free}");
        let expected = 4000.0 * config_free;
        assert!((begins as f64 / expected - 1.0).abs() < 0.06, "{begins}");
    }

    /// 30 to 50 ms, and every tenth 100 to 1000 ms, 40 s apart on average.
    #[test]
    fn handovers_have_their_lengths() {
        let config = OutageConfig {
            every: Duration::from_secs(40),
            length: Length::Handover,
        };
        let mut out = config.timeline(rng());
        let (mut lengths, mut length) = (Vec::new(), 0_u64);
        let steps = 16_000_000_u64;
        for n in 0..steps {
            if out.at(n * 5 * MS).out() {
                length += 5;
            } else if length > 0 {
                lengths.push(length);
                length = 0;
            }
        }
        // 80,000 s contain 2000 of them: standard deviation 45.
        let count = lengths.len() as f64;
        assert!((count - 2000.0).abs() < 180.0, "{count}");
        // Few overlap.
        let of = |least, most| {
            let within = lengths.iter().filter(|ms| (least..=most).contains(*ms));
            within.count() as f64 / count
        };
        let (short, long) = (of(30, 50), of(100, 1000));
        assert!(
            (short - 0.9).abs() < 0.03 && short + long > 0.995,
            "{short} {long}"
        );
        let mean = lengths.iter().sum::<u64>() as f64 / count;
        // 91 ms, to which the long ones add 550 +- 260: standard error 4.
        assert!((mean - 91.0).abs() < 14.0, "{mean}");
    }
}
