//! Rates that change with time: repeating steps, and a varying rate.
//!
//! Both are sequences of stretches of constant rate that depend only on time, never on packets, so
//! two senders meet the same channel. A packet's departure is found by integrating over the
//! stretches. It is exact to a fraction of a nanosecond, which carries over to the next packet as
//! in [`units::Transmission`]. The unit of work is one bit per second for one nanosecond, so a bit
//! is 10^9.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use crate::VaryingConfig;
use crate::random::{Purpose, normal, stream};

/// Work of one byte.
pub(crate) const BYTE: u128 = 8_000_000_000;

/// A stretch of constant rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) end: Instant,
    pub(crate) rate: Rate,
}

#[derive(Clone, Debug)]
pub(crate) enum Process {
    Steps(Steps),
    Varying(Box<Varying>),
}

impl Process {
    /// The stretch at `at`. Calls come in order of time.
    fn stretch(&mut self, at: Instant) -> Stretch {
        match self {
            Self::Steps(steps) => steps.stretch(at),
            Self::Varying(varying) => varying.stretch(at),
        }
    }

    /// Serves `bytes` from `start` on, after the work of `debt` that the previous packet left over.
    /// Returns the departure and the new remainder; [`Instant::MAX`] is never.
    pub(crate) fn serve(&mut self, start: Instant, bytes: u64, debt: u128) -> (Instant, u128) {
        let mut work = u128::from(bytes) * BYTE + debt;
        let mut at = start;
        if let Self::Steps(steps) = self {
            (at, work) = steps.whole_cycles(at, work);
        }
        finish(at, work, |at| self.stretch(at))
    }
}

/// What a process could have served since the start of the run. It draws each slot of a varying rate
/// once, however often it is asked: an oracle asks on each ACK.
#[derive(Clone, Debug)]
pub(crate) struct Past {
    /// Its state at the end of the slots.
    process: Process,
    /// The work that could be done before the end of each slot.
    slots: Vec<u128>,
}

impl Past {
    /// Of a process that has served nothing.
    pub(crate) const fn new(process: Process) -> Self {
        Self {
            process,
            slots: Vec::new(),
        }
    }

    /// The bytes that could be served before `until`.
    pub(crate) fn capacity(&mut self, until: Instant) -> Bytes {
        to_bytes(match &mut self.process {
            // A question may be about an earlier time than the one before.
            Process::Steps(steps) => {
                let mut steps = steps.clone();
                let (from, done) = steps.cycles_before(until);
                done.saturating_add(work_done(from, until, |at| steps.stretch(at)))
            }
            Process::Varying(varying) => before(&mut self.slots, varying, until),
        })
    }
}

/// The work that `varying` allows before `until`. `slots` has that of the slots before its own.
fn before(slots: &mut Vec<u128>, varying: &mut Varying, until: Instant) -> u128 {
    let length = u128::from(varying.slot.as_nanos());
    let until = u128::from(until.as_nanos());
    let whole = until / length;
    while (slots.len() as u128) <= whole {
        let begin = Instant::ZERO + varying.slot * slots.len() as u64;
        let rate = varying.stretch(begin).rate.bits_per_sec();
        slots.push(slots.last().copied().unwrap_or(0) + u128::from(rate) * length);
    }
    let whole = whole as usize;
    let done = whole.checked_sub(1).map_or(0, |slot| slots[slot]);
    done + (slots[whole] - done) / length * (until % length)
}

/// When `work` that starts at `at` is done at the rates of `stretch`, and the remainder of the last
/// nanosecond.
pub(crate) fn finish(
    mut at: Instant,
    mut work: u128,
    mut stretch: impl FnMut(Instant) -> Stretch,
) -> (Instant, u128) {
    while work > 0 {
        if at == Instant::MAX {
            return (at, 0);
        }
        let Stretch { end, rate } = stretch(at);
        let rate = u128::from(rate.bits_per_sec());
        let available = rate * u128::from(end.saturating_since(at).as_nanos());
        if work <= available {
            let (span, rest) = divide(work, rate);
            return (at + Duration::from_nanos(span), rest);
        }
        work -= available;
        at = end;
    }
    (at, 0)
}

/// The bytes that could be served from `at` until `until`.
pub(crate) fn capacity(
    at: Instant,
    until: Instant,
    stretch: impl FnMut(Instant) -> Stretch,
) -> Bytes {
    to_bytes(work_done(at, until, stretch))
}

fn to_bytes(work: u128) -> Bytes {
    Bytes::new(u64::try_from(work / BYTE).unwrap_or(u64::MAX))
}

/// The work that could be done from `at` until `until`.
fn work_done(mut at: Instant, until: Instant, mut stretch: impl FnMut(Instant) -> Stretch) -> u128 {
    let mut work = 0_u128;
    while at < until {
        let Stretch { end, rate } = stretch(at);
        let end = end.min(until);
        work += u128::from(rate.bits_per_sec()) * u128::from((end - at).as_nanos());
        at = end;
    }
    work
}

/// Quotient and remainder; work of packets fits 64 bits, where division is fast.
fn divide(work: u128, rate: u128) -> (u64, u128) {
    if let (Ok(work), Ok(rate)) = (u64::try_from(work), u64::try_from(rate)) {
        (work / rate, u128::from(work % rate))
    } else {
        (u64::try_from(work / rate).unwrap_or(u64::MAX), work % rate)
    }
}

/// Rates at given times, repeated after the last. Steps of zero total length, or with only zero
/// rates, are an endless outage.
#[derive(Clone, Debug)]
pub(crate) struct Steps {
    steps: Arc<[(Duration, Rate)]>,
    /// Length of a cycle in nanoseconds.
    cycle: u64,
    /// Work of a cycle.
    work: u128,
    /// The cursor: the start of a cycle, a step, and the start of the step within the cycle.
    cycle_begin: u64,
    index: usize,
    step_begin: u64,
}

impl Steps {
    pub(crate) fn new(steps: Arc<[(Duration, Rate)]>) -> Self {
        let cycle = steps
            .iter()
            .fold(0_u64, |sum, (span, _)| sum.saturating_add(span.as_nanos()));
        let work = steps.iter().fold(0_u128, |sum, (span, rate)| {
            sum.saturating_add(u128::from(span.as_nanos()) * u128::from(rate.bits_per_sec()))
        });
        Self {
            steps,
            cycle,
            work,
            cycle_begin: 0,
            index: 0,
            step_begin: 0,
        }
    }

    fn stretch(&mut self, at: Instant) -> Stretch {
        if self.work == 0 {
            return Stretch {
                end: Instant::MAX,
                rate: Rate::ZERO,
            };
        }
        let at = at.as_nanos();
        if at - self.cycle_begin >= self.cycle {
            self.cycle_begin = at / self.cycle * self.cycle;
            self.index = 0;
            self.step_begin = 0;
        }
        loop {
            let (span, rate) = self.steps[self.index];
            let end = self.step_begin.saturating_add(span.as_nanos());
            // The last step ends with the cycle, which ends after `at`.
            if at - self.cycle_begin < end || self.index + 1 == self.steps.len() {
                return Stretch {
                    end: Instant::from_nanos(self.cycle_begin.saturating_add(end)),
                    rate,
                };
            }
            self.step_begin = end;
            self.index += 1;
        }
    }

    /// Skips whole cycles, as long as work remains after them (a cycle may end in an outage, which
    /// must not delay a packet that is already done).
    fn whole_cycles(&self, at: Instant, work: u128) -> (Instant, u128) {
        if self.work == 0 || work <= self.work {
            return (at, work);
        }
        let cycles = (work - 1) / self.work;
        let span = cycles.saturating_mul(u128::from(self.cycle));
        let span = Duration::from_nanos(u64::try_from(span).unwrap_or(u64::MAX));
        (at + span, work - cycles * self.work)
    }

    /// The start of the cycle at `until`, and the work of the whole cycles before it.
    fn cycles_before(&self, until: Instant) -> (Instant, u128) {
        if self.work == 0 {
            return (Instant::ZERO, 0);
        }
        let cycles = until.as_nanos() / self.cycle;
        let begin = Instant::from_nanos(cycles * self.cycle);
        (begin, u128::from(cycles).saturating_mul(self.work))
    }
}

/// A rate whose logarithm follows an Ornstein-Uhlenbeck process, one value for each slot of time
/// (the reduced model of docs/reference/networks/lte.md with one time constant). The distribution
/// is log-normal, cut at the peak; its location is set so that the mean after the cut is as
/// configured. The configured variation is that before the cut.
#[derive(Clone, Debug)]
pub(crate) struct Varying {
    /// Location and scale of the logarithm of the rate.
    location: f64,
    scale: f64,
    /// Correlation of one slot with the next.
    memory: f64,
    peak: u64,
    slot: Duration,
    rng: ChaCha8Rng,
    /// Standard normal deviate of the current slot.
    deviate: f64,
    current: Stretch,
}

/// The default slot.
const DEFAULT_SLOT: Duration = Duration::from_millis(1);

impl Varying {
    pub(crate) fn new(config: &VaryingConfig, rng: &ChaCha8Rng) -> Self {
        let VaryingConfig {
            mean,
            variation,
            correlation,
            slot,
            peak,
        } = *config;
        let slot = if slot.is_zero() { DEFAULT_SLOT } else { slot };
        let mut rng = stream(rng, Purpose::Rate);
        let variation = variation.max(0.0);
        let scale = libm::sqrt(libm::log1p(variation * variation));
        let memory = match correlation.as_nanos() {
            0 => 0.0,
            nanos => libm::exp(-(slot.as_nanos() as f64) / nanos as f64),
        };
        let peak = peak.bits_per_sec();
        let mut varying = Self {
            location: location(mean.bits_per_sec() as f64, scale, peak as f64),
            scale,
            memory,
            peak,
            slot,
            deviate: normal(&mut rng),
            rng,
            current: Stretch {
                end: Instant::ZERO + slot,
                rate: Rate::ZERO,
            },
        };
        varying.current.rate = varying.rate();
        varying
    }

    fn rate(&self) -> Rate {
        let bits = libm::exp(self.location + self.scale * self.deviate) as u64;
        // At least one bit per second, so that every packet leaves; at most the peak.
        Rate::from_bits_per_sec(bits.clamp(1, self.peak.max(1)))
    }

    fn stretch(&mut self, at: Instant) -> Stretch {
        while self.current.end <= at {
            let fresh = libm::sqrt(1.0 - self.memory * self.memory);
            self.deviate = self.memory * self.deviate + fresh * normal(&mut self.rng);
            self.current = Stretch {
                end: self.current.end + self.slot,
                rate: self.rate(),
            };
        }
        self.current
    }
}

/// The location `m` for which `min(exp(m + scale * Z), peak)` has the mean `mean`, with a standard
/// normal `Z`. A mean at or above the peak gives the peak.
pub(crate) fn location(mean: f64, scale: f64, peak: f64) -> f64 {
    let uncut = libm::log(mean) - scale * scale / 2.0;
    if mean >= peak {
        // So far above the peak that the cut leaves only the peak.
        return libm::log(peak.max(1.0)) + 40.0 * scale;
    }
    if scale == 0.0 {
        return uncut;
    }
    let (mut low, mut high) = (uncut, libm::log(peak) + 40.0 * scale);
    for _ in 0..100 {
        let middle = f64::midpoint(low, high);
        if cut_mean(middle, scale, peak) < mean {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

/// Mean of a log-normal variate cut at `peak`.
pub(crate) fn cut_mean(location: f64, scale: f64, peak: f64) -> f64 {
    let below = |x: f64| libm::erfc(-x / core::f64::consts::SQRT_2) / 2.0;
    let at_peak = (libm::log(peak) - location) / scale;
    libm::exp(location + scale * scale / 2.0) * below(at_peak - scale) + peak * below(-at_peak)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use rand_core::SeedableRng;

    const MBIT: u64 = 1_000_000;

    fn varying(mean: u64, variation: f64, peak: u64) -> Varying {
        let config = VaryingConfig {
            mean: Rate::from_bits_per_sec(mean),
            variation,
            correlation: Duration::from_millis(100),
            slot: Duration::from_millis(10),
            peak: Rate::from_bits_per_sec(peak),
        };
        Varying::new(&config, &ChaCha8Rng::seed_from_u64(5))
    }

    fn rates(mut process: Varying, slots: u64) -> Vec<f64> {
        (0..slots)
            .map(|slot| {
                process
                    .stretch(Instant::from_millis(10 * slot))
                    .rate
                    .bits_per_sec() as f64
            })
            .collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    #[test]
    fn a_varying_rate_has_its_mean_variation_and_correlation() {
        let rates = rates(varying(40 * MBIT, 0.35, u64::MAX), 400_000);
        let mean_rate = mean(&rates);
        // 400,000 slots hold about 20,000 independent ones: standard error 0.35/141 = 0.25 %.
        assert!((mean_rate / 4e7 - 1.0).abs() < 0.01, "{mean_rate}");
        let covariance = |lag: usize| {
            let products = rates.iter().zip(&rates[lag..]);
            let products: Vec<_> = products
                .map(|(a, b)| (a - mean_rate) * (b - mean_rate))
                .collect();
            mean(&products)
        };
        let variation = libm::sqrt(covariance(0)) / mean_rate;
        assert!((variation / 0.35 - 1.0).abs() < 0.02, "{variation}");
        // Of the rate itself, a log-normal: (exp(s^2 rho) - 1) / (exp(s^2) - 1) at rho = 1/e.
        let s2 = libm::log1p(0.35 * 0.35);
        let expected = libm::expm1(s2 * libm::exp(-1.0)) / libm::expm1(s2);
        let correlation = covariance(10) / covariance(0);
        assert!(
            (correlation - expected).abs() < 0.03,
            "{correlation} {expected}"
        );
    }

    #[test]
    fn the_peak_cuts_the_rate_and_not_the_mean() {
        for (variation, peak) in [(0.35, 60 * MBIT), (0.6, 50 * MBIT), (1.5, 41 * MBIT)] {
            let rates = rates(varying(40 * MBIT, variation, peak), 400_000);
            assert!(rates.iter().all(|rate| *rate <= peak as f64));
            let mean = mean(&rates);
            assert!((mean / 4e7 - 1.0).abs() < 0.01, "{variation} {peak} {mean}");
        }
        // A mean above the peak gives the peak.
        assert!(
            rates(varying(40 * MBIT, 0.35, 30 * MBIT), 100)
                .iter()
                .all(|rate| *rate == 3e7)
        );
        // Without variation it is the mean.
        assert!(
            rates(varying(40 * MBIT, 0.0, 50 * MBIT), 100)
                .iter()
                .all(|r| (r - 4e7).abs() < 2.0)
        );
    }

    #[test]
    fn the_rate_of_a_slot_does_not_depend_on_earlier_calls() {
        let mut steady = varying(MBIT, 0.6, u64::MAX);
        let mut seldom = varying(MBIT, 0.6, u64::MAX);
        for ms in 0..100_000 {
            let at = Instant::from_millis(ms);
            let stretch = steady.stretch(at);
            if ms % 777 == 0 {
                assert_eq!(seldom.stretch(at), stretch);
            }
        }
    }

    #[test]
    fn steps_skip_cycles_and_outages() {
        let step = |ms, rate| (Duration::from_millis(ms), Rate::from_bits_per_sec(rate));
        // One cycle: 1000 bits in 100 ms, then nothing for 900 ms.
        let steps = || Process::Steps(Steps::new(Arc::from([step(100, 10_000), step(900, 0)])));
        let serve = |at, bytes| steps().serve(Instant::from_millis(at), bytes, 0).0;
        assert_eq!(serve(0, 125), Instant::from_millis(100));
        assert_eq!(serve(0, 250), Instant::from_millis(1100));
        assert_eq!(serve(50, 125), Instant::from_millis(1050));
        assert_eq!(serve(100, 125), Instant::from_millis(1100));
        assert_eq!(serve(500, 125_000), Instant::from_millis(1_000_100));
        assert_eq!(serve(3_600_500, 125), Instant::from_millis(3_601_100));
        assert_eq!(
            Past::new(steps()).capacity(Instant::from_millis(2050)),
            Bytes::new(125 * 2 + 62)
        );
        let none = || Process::Steps(Steps::new(Arc::from([step(10, 0)])));
        assert_eq!(none().serve(Instant::ZERO, 1, 0).0, Instant::MAX);
        let empty = || Process::Steps(Steps::new(Arc::from([])));
        assert_eq!(empty().serve(Instant::ZERO, 1, 0).0, Instant::MAX);
        let capacity = Past::new(empty()).capacity(Instant::from_secs(1));
        assert_eq!(capacity, Bytes::ZERO);
    }

    #[test]
    fn the_past_of_a_varying_rate_is_the_sum_of_its_slots_in_any_order_of_questions() {
        let mut past = Past::new(Process::Varying(Box::new(varying(MBIT, 0.6, u64::MAX))));
        for micros in [1_234_567, 0, 10_000, 9_999, 1_234_568, 40_005, 3_000_000] {
            let until = Instant::from_micros(micros);
            let mut rate = varying(MBIT, 0.6, u64::MAX);
            let expected = work_done(Instant::ZERO, until, |at| rate.stretch(at));
            assert_eq!(past.capacity(until), to_bytes(expected), "{micros}");
        }
    }
}
