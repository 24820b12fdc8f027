//! Why slow start ended, with the numbers that decided it.
//!
//! A start-up gives the evidence with its exit ([`Step::Exit`](crate::Step::Exit)). Whoever reports
//! it needs to know no algorithm: [`ExitReason::name`] is the word for it, [`ExitReason::facts`] are
//! the numbers with their units, and its `Display` is one line with both
//! (`ack-train: 51.2 ms > 50.0 ms`).
//!
//! A start-up with a test of its own needs no new variant. It declares a [`Criterion`] and exits
//! with [`ExitReason::Measured`]; results, tables, reports and figures then show it.

use core::fmt;

use units::{Bytes, Duration, Instant, Rate};

use crate::CongestionKind;

/// Why slow start ended, with the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// HyStart: the ACK train of the round became as long as the threshold.
    AckTrain {
        /// How long the train of the round was.
        train: Duration,
        /// How long it could be.
        threshold: Duration,
    },
    /// HyStart: the round's smallest RTT rose above the threshold.
    Delay {
        /// Smallest RTT of the round.
        rtt: Duration,
        /// What it could be.
        threshold: Duration,
        /// The part of the threshold that is the smallest RTT before.
        base: Duration,
        /// Number of samples of the round that count; zero if all do.
        samples: u32,
    },
    /// HyStart++: conservative slow start lasted its rounds.
    ConservativeRounds {
        /// Smallest RTT of the round that began conservative slow start.
        baseline_rtt: Duration,
        /// How many rounds it lasted.
        rounds: u32,
    },
    /// SEARCH: delivery fell behind; the norm in thousandths, the two windows in bytes.
    Search {
        /// How far delivery fell behind what was expected, in thousandths of that.
        norm_permille: i64,
        /// The norm that ends slow start, in thousandths.
        threshold_permille: u32,
        /// Delivered in the window that ends now.
        current: Bytes,
        /// Delivered (2.0, 3.x) or sent (4.0) in the window that ended one RTT before.
        previous: Bytes,
    },
    /// The window reached the product of an estimated bandwidth and the smallest RTT.
    Bandwidth {
        /// The estimate.
        estimate: Rate,
        /// The smallest RTT.
        min_rtt: Duration,
    },
    /// The test of a start-up that is described by a [`Criterion`].
    Measured {
        /// The test.
        criterion: &'static Criterion,
        /// What was measured, in the unit of the criterion.
        measured: i64,
        /// What it is compared with, in the same unit.
        threshold: i64,
    },
    /// A start-up that gives its reason a name, and no numbers.
    Named {
        /// The word for it in results.
        name: &'static str,
    },
    /// A start-up that lives outside of this crate said so.
    Decision,
    /// BBR: bandwidth stopped growing.
    FullPipe {
        /// The bandwidth that did not grow.
        bandwidth: Rate,
        /// For this many rounds.
        rounds: u32,
    },
    /// The window reached a threshold set before.
    Threshold,
    /// A loss ended it.
    Loss,
    /// An ECN mark ended it.
    Ecn,
    /// A retransmission timeout ended it.
    Timeout,
}

/// A test that ends slow start: a measured value against a threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Criterion {
    /// The word for it in results, such as `gradient`.
    pub name: &'static str,
    /// The unit of both values.
    pub unit: Unit,
    /// Whether the measured value is above the threshold when the test ends slow start; otherwise
    /// it is below.
    pub is_above: bool,
}

impl Criterion {
    /// A test that ends slow start when the measured value is above the threshold.
    #[must_use]
    pub const fn above(name: &'static str, unit: Unit) -> Self {
        Self {
            name,
            unit,
            is_above: true,
        }
    }

    /// A test that ends slow start when the measured value is below the threshold.
    #[must_use]
    pub const fn below(name: &'static str, unit: Unit) -> Self {
        Self {
            is_above: false,
            ..Self::above(name, unit)
        }
    }

    /// The reason of an exit at which this test was met.
    #[must_use]
    pub fn met(&'static self, measured: impl Amount, threshold: impl Amount) -> ExitReason {
        ExitReason::Measured {
            criterion: self,
            measured: measured.amount(),
            threshold: threshold.amount(),
        }
    }
}

/// A value of a [`Criterion`], in its [`Unit`].
pub trait Amount {
    /// The number.
    fn amount(self) -> i64;
}

impl Amount for i64 {
    fn amount(self) -> i64 {
        self
    }
}

impl Amount for u64 {
    fn amount(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}

impl Amount for Duration {
    fn amount(self) -> i64 {
        self.as_nanos().amount()
    }
}

impl Amount for Bytes {
    fn amount(self) -> i64 {
        self.get().amount()
    }
}

impl Amount for Rate {
    fn amount(self) -> i64 {
        self.bits_per_sec().amount()
    }
}

/// The unit of the two values of a [`Criterion`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Rate,
    /// Thousandths of one.
    Ratio,
    /// Whatever is counted.
    Count,
}

/// A number of the evidence, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fact {
    /// What it is: `train`, `threshold`, `samples`.
    pub name: &'static str,
    /// In this unit.
    pub unit: Unit,
    /// The number.
    pub value: i64,
}

impl Fact {
    fn time(name: &'static str, value: Duration) -> Option<Self> {
        Self::new(name, Unit::Time, value.as_nanos())
    }

    fn bytes(name: &'static str, value: Bytes) -> Option<Self> {
        Self::new(name, Unit::Bytes, value.get())
    }

    fn rate(name: &'static str, value: Rate) -> Option<Self> {
        Self::new(name, Unit::Rate, value.bits_per_sec())
    }

    fn count(name: &'static str, value: u32) -> Option<Self> {
        Self::new(name, Unit::Count, u64::from(value))
    }

    fn new(name: &'static str, unit: Unit, value: u64) -> Option<Self> {
        let value = i64::try_from(value).unwrap_or(i64::MAX);
        Some(Self { name, unit, value })
    }
}

/// The most numbers that an exit has.
pub const FACTS: usize = 4;

impl From<CongestionKind> for ExitReason {
    /// The reason of a slow start that a congestion episode ended.
    fn from(kind: CongestionKind) -> Self {
        match kind {
            CongestionKind::Loss => Self::Loss,
            CongestionKind::Ecn => Self::Ecn,
            CongestionKind::Timeout => Self::Timeout,
        }
    }
}

impl ExitReason {
    /// The word for it in results.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AckTrain { .. } => "ack-train",
            Self::Delay { .. } => "delay",
            Self::ConservativeRounds { .. } => "css-rounds",
            Self::Search { .. } => "search",
            Self::Bandwidth { .. } => "bandwidth",
            Self::Measured { criterion, .. } => criterion.name,
            Self::Named { name } => name,
            Self::Decision => "decision",
            Self::FullPipe { .. } => "full-pipe",
            Self::Threshold => "ssthresh",
            Self::Loss => "loss",
            Self::Ecn => "ecn",
            Self::Timeout => "timeout",
        }
    }

    /// Whether slow start ended only because the network lost or marked packets.
    #[must_use]
    pub const fn is_congestion(&self) -> bool {
        matches!(self, Self::Loss | Self::Ecn | Self::Timeout)
    }

    /// The numbers that decided it. Where a measured value was compared with a threshold, these two
    /// come first.
    #[must_use]
    pub fn facts(&self) -> [Option<Fact>; FACTS] {
        match *self {
            Self::AckTrain { train, threshold } => [
                Fact::time("train", train),
                Fact::time("threshold", threshold),
                None,
                None,
            ],
            Self::Delay {
                rtt,
                threshold,
                base,
                samples,
            } => [
                Fact::time("rtt", rtt),
                Fact::time("threshold", threshold),
                Fact::time("base_rtt", base),
                Fact::count("samples", samples).filter(|fact| fact.value > 0),
            ],
            Self::ConservativeRounds {
                baseline_rtt,
                rounds,
            } => [
                Fact::count("rounds", rounds),
                Fact::time("baseline_rtt", baseline_rtt),
                None,
                None,
            ],
            Self::Search {
                norm_permille,
                threshold_permille,
                current,
                previous,
            } => [
                Some(Fact {
                    name: "norm",
                    unit: Unit::Ratio,
                    value: norm_permille,
                }),
                Fact::new("threshold", Unit::Ratio, u64::from(threshold_permille)),
                Fact::bytes("current", current),
                Fact::bytes("previous", previous),
            ],
            Self::Bandwidth { estimate, min_rtt } => [
                Fact::rate("estimate", estimate),
                Fact::time("min_rtt", min_rtt),
                None,
                None,
            ],
            Self::Measured {
                criterion,
                measured,
                threshold,
            } => [("measured", measured), ("threshold", threshold)]
                .map(|(name, value)| {
                    Some(Fact {
                        name,
                        unit: criterion.unit,
                        value,
                    })
                })
                .into_four(),
            Self::FullPipe { bandwidth, rounds } => [
                Fact::rate("bandwidth", bandwidth),
                Fact::count("rounds", rounds),
                None,
                None,
            ],
            Self::Named { .. }
            | Self::Decision
            | Self::Threshold
            | Self::Loss
            | Self::Ecn
            | Self::Timeout => [None; FACTS],
        }
    }
}

/// Fills an array of two up to [`FACTS`].
trait IntoFour {
    fn into_four(self) -> [Option<Fact>; FACTS];
}

impl IntoFour for [Option<Fact>; 2] {
    fn into_four(self) -> [Option<Fact>; FACTS] {
        [self[0], self[1], None, None]
    }
}

impl fmt::Display for ExitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        let [Some(first), Some(second), third, fourth] = self.facts() else {
            return Ok(());
        };
        match self {
            Self::Delay { base, samples, .. } => {
                let digits = apart(&first, &second);
                write!(f, ": {} > ", Rounded(&first, digits))?;
                match third {
                    // Of a threshold without an increase there is nothing to add up.
                    Some(fact) if !base.is_zero() && fact.value < second.value => {
                        let increase = Fact {
                            value: second.value - fact.value,
                            ..second
                        };
                        let finer = digits.max(places(&increase));
                        let (fact, increase) = (Rounded(&fact, digits), Rounded(&increase, finer));
                        write!(f, "{fact} + {increase}")?;
                    }
                    _ => write!(f, "{}", Rounded(&second, digits))?,
                }
                match fourth {
                    Some(_) => write!(f, " in {samples} samples"),
                    None => Ok(()),
                }
            }
            Self::ConservativeRounds { rounds, .. } => {
                let rtt = Rounded(&second, places(&second));
                write!(f, ": RTT of {rtt} or more for {rounds} rounds")
            }
            Self::Bandwidth { .. } => {
                let (rate, rtt) = (
                    Rounded(&first, places(&first)),
                    Rounded(&second, places(&second)),
                );
                write!(f, ": window above {rate} x {rtt}")
            }
            Self::FullPipe { rounds, .. } => {
                let rate = Rounded(&first, places(&first));
                write!(f, ": {rate} did not grow for {rounds} rounds")
            }
            _ => {
                let digits = apart(&first, &second);
                let word = if let Self::Search { .. } = self {
                    "norm "
                } else {
                    ""
                };
                let is_above = match self {
                    Self::Measured { criterion, .. } => criterion.is_above,
                    _ => true,
                };
                let is_equal = rounded(&first, digits) == rounded(&second, digits);
                let relation = match (is_above, is_equal) {
                    (true, false) => ">",
                    (true, true) => ">=",
                    (false, false) => "<",
                    (false, true) => "<=",
                };
                let (first, second) = (Rounded(&first, digits), Rounded(&second, digits));
                write!(f, ": {word}{first} {relation} {second}")
            }
        }
    }
}

/// The largest number of digits after the point.
const MOST_PLACES: u32 = 3;

/// How the unit of a number is written, and how many of its smallest parts (nanoseconds, bytes, ...)
/// make one.
const fn written(fact: &Fact) -> (&'static str, u64) {
    let size = fact.value.unsigned_abs();
    match fact.unit {
        Unit::Time => (" ms", 1_000_000),
        Unit::Bytes if size >= 1_000_000 => (" MB", 1_000_000),
        Unit::Bytes if size >= 1_000 => (" kB", 1_000),
        Unit::Bytes => (" B", 1),
        Unit::Rate if size >= 1_000_000_000 => (" Gbit/s", 1_000_000_000),
        Unit::Rate if size >= 1_000_000 => (" Mbit/s", 1_000_000),
        Unit::Rate if size >= 1_000 => (" kbit/s", 1_000),
        Unit::Rate => (" bit/s", 1),
        Unit::Ratio => ("", 1_000),
        Unit::Count => ("", 1),
    }
}

/// Digits after the point that leave three significant ones; of a ratio there are two.
const fn places(fact: &Fact) -> u32 {
    let (_, one) = written(fact);
    let size = fact.value.unsigned_abs();
    match fact.unit {
        Unit::Ratio => 2,
        _ if one == 1 || size >= 100 * one => 0,
        _ if size >= 10 * one => 1,
        _ => 2,
    }
}

/// Digits after the point that show the difference of two numbers of the same unit.
fn apart(one: &Fact, other: &Fact) -> u32 {
    let mut digits = places(other);
    let most = if written(other).1 == 1 {
        0
    } else {
        MOST_PLACES
    };
    while digits < most && rounded(one, digits) == rounded(other, digits) {
        digits += 1;
    }
    digits
}

/// The number in 10^-`digits` of its written unit, rounded to the nearest.
fn rounded(fact: &Fact, digits: u32) -> u128 {
    let (_, one) = written(fact);
    let scaled = u128::from(fact.value.unsigned_abs()) * 10_u128.pow(digits);
    (scaled + u128::from(one) / 2) / u128::from(one)
}

/// A number with its unit and its number of digits after the point.
struct Rounded<'a>(&'a Fact, u32);

impl fmt::Display for Rounded<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let &Self(fact, digits) = self;
        let (unit, _) = written(fact);
        let power = 10_u128.pow(digits);
        let value = rounded(fact, digits);
        let sign = if fact.value < 0 { "-" } else { "" };
        write!(f, "{sign}{}", value / power)?;
        if digits > 0 {
            write!(f, ".{:0width$}", value % power, width = digits as usize)?;
        }
        f.write_str(unit)
    }
}

/// The end of a slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStartExit {
    /// When.
    pub at: Instant,
    /// The window when it was decided, before any reduction.
    pub cwnd: Bytes,
    /// Why.
    pub reason: ExitReason,
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    const fn ms(tenths: u64) -> Duration {
        Duration::from_micros(tenths * 100)
    }

    #[test]
    fn reasons_read_as_measured_against_threshold() {
        let delay = |rtt, base, increase, samples| ExitReason::Delay {
            rtt: ms(rtt),
            threshold: ms(base + increase),
            base: ms(base),
            samples,
        };
        let search = |norm_permille| ExitReason::Search {
            norm_permille,
            threshold_permille: 350,
            current: Bytes::new(1),
            previous: Bytes::new(2),
        };
        static GRADIENT: Criterion = Criterion::below("gradient", Unit::Ratio);
        let cases = [
            (
                ExitReason::AckTrain {
                    train: ms(512),
                    threshold: ms(500),
                },
                "ack-train: 51.2 ms > 50.0 ms",
            ),
            (
                ExitReason::AckTrain {
                    train: Duration::from_micros(50_020),
                    threshold: ms(500),
                },
                "ack-train: 50.02 ms > 50.00 ms",
            ),
            (
                delay(1310, 1000, 125, 8),
                "delay: 131 ms > 100 ms + 12.5 ms in 8 samples",
            ),
            (delay(1310, 0, 1125, 0), "delay: 131 ms > 113 ms"),
            (
                ExitReason::ConservativeRounds {
                    baseline_rtt: ms(1120),
                    rounds: 5,
                },
                "css-rounds: RTT of 112 ms or more for 5 rounds",
            ),
            (search(371), "search: norm 0.37 > 0.35"),
            (search(352), "search: norm 0.352 > 0.350"),
            (search(350), "search: norm 0.350 >= 0.350"),
            (
                ExitReason::Bandwidth {
                    estimate: Rate::from_bits_per_sec(48_123_000),
                    min_rtt: ms(1000),
                },
                "bandwidth: window above 48.1 Mbit/s x 100 ms",
            ),
            (
                ExitReason::FullPipe {
                    bandwidth: Rate::from_bits_per_sec(1_500_000_000),
                    rounds: 3,
                },
                "full-pipe: 1.50 Gbit/s did not grow for 3 rounds",
            ),
            (GRADIENT.met(-20_i64, 100_i64), "gradient: -0.02 < 0.10"),
            (ExitReason::Named { name: "slope" }, "slope"),
            (ExitReason::Loss, "loss"),
            (ExitReason::Decision, "decision"),
        ];
        for (reason, text) in cases {
            assert_eq!(reason.to_string(), text);
        }
    }

    #[test]
    fn an_exit_takes_no_more_room_than_its_largest_evidence() {
        assert!(size_of::<ExitReason>() <= 32, "{}", size_of::<ExitReason>());
    }
}
