//! Queue disciplines and their settings, with the defaults of their RFCs and, for RED, of ns-2.35.
//! Each key stands once: the table of a scenario file, its ranges and the resolved form follow.

use tables::{Field, Key, Kind, MAX_DURATION, Rules, Value, Wrong, choice, described};
use units::{Bytes, Duration};

use crate::random::MIN_SLOT;

/// A fraction above zero.
const FRACTION: Kind = Kind::Share(f64::MIN_POSITIVE, 100.0);
/// Bytes of a round of FQ-CoDel.
const QUANTUM: Kind = Kind::Size(Bytes::new(256), Bytes::new(1_000_000));

choice! {
    /// Which packets are dropped before the queue is full. A link of unlimited rate has no queue and
    /// drops none.
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum Discipline("a queue discipline") {
        /// None.
        DropTail = "drop-tail";
        /// Each arriving packet with a probability while the queue is above a fraction of its limit.
        RandomAbove(RandomAboveConfig) = "random-above";
        /// Departing packets, when the queueing delay has exceeded its target for an interval.
        CoDel(CoDelConfig) = "codel";
        /// CoDel with a queue for each flow.
        FqCoDel(FqCoDelConfig) = "fq-codel";
        /// Each arriving packet with a probability that follows the queueing delay.
        Pie(PieConfig) = "pie";
        /// Each arriving packet with a probability that follows the average queue length.
        Red(RedConfig) = "red";
        /// Departing packets, with probabilities that couple an L4S queue to a classic one.
        DualPi2(DualPi2Config) = "dual-pi2";
    }
}

impl Discipline {
    /// Whether it draws random numbers.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        match self {
            Self::DropTail | Self::CoDel(_) | Self::DualPi2(_) => false,
            Self::RandomAbove(_) | Self::FqCoDel(_) | Self::Pie(_) | Self::Red(_) => true,
        }
    }

    /// The queue limit of Linux's discipline of this name, in packets; `None` if it has none of its
    /// own.
    #[must_use]
    pub const fn own_limit(&self) -> Option<u64> {
        match self {
            Self::CoDel(_) | Self::Pie(_) => Some(1000),
            Self::FqCoDel(_) => Some(10_240),
            Self::DualPi2(_) => Some(10_000),
            Self::DropTail | Self::RandomAbove(_) | Self::Red(_) => None,
        }
    }

    /// The same with or without marks; `None` if it never can mark. A discipline that can has the
    /// setting `ecn`.
    #[must_use]
    pub fn marking(mut self, marks: bool) -> Option<Self> {
        let config = self.inner_mut();
        let ecn = config.and_then(|config| {
            let place = config.table().keys.iter().position(|key| key.name == "ecn");
            place.map(|place| config.set(place, Value::Switch(marks)))
        });
        (ecn.is_some() || !marks).then_some(self)
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct RandomAboveConfig(
        "random-above", "the discipline random-above",
        "The gateway of a GEO operator (Kachooei 2024, chapter 5)."
    ) {
        /// Fill level of the buffer above which packets are dropped.
        fill: f64 = 0.5 => Key::of(Kind::PERCENT);
        /// Drop probability above the fill level.
        probability: f64 = 0.25 => Key::of(Kind::PERCENT);
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct CoDelConfig("codel", "the discipline codel", "CoDel (RFC 8289, section 4).") {
        /// Acceptable queueing delay (`TARGET`).
        target: Duration = Duration::from_millis(5) => Key::of(Kind::SPAN);
        /// Time for which the delay has to exceed the target before the first drop (`INTERVAL`).
        interval: Duration = Duration::from_millis(100) => Key::of(Kind::SPAN);
        /// Whether capable packets are marked instead of dropped.
        ecn: bool = false => Key::of(Kind::Switch).derived();
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct FqCoDelConfig(
        "fq-codel", "the discipline fq-codel", "FQ-CoDel (RFC 8290, section 5.2)."
    ) {
        /// Acceptable queueing delay of each queue.
        target: Duration = CoDelConfig::DEFAULT.target => Key::of(Kind::SPAN);
        /// Time for which the delay has to exceed the target before the first drop.
        interval: Duration = CoDelConfig::DEFAULT.interval => Key::of(Kind::SPAN);
        /// Bytes, overhead included, that a queue may send in each round.
        quantum: Bytes = Bytes::new(1514) => Key::of(QUANTUM);
        /// Queues that flows are hashed to.
        flows: u32 = 1024 => Key::of(Kind::Integer(1, 65_536));
        /// Whether capable packets are marked instead of dropped.
        ecn: bool = false => Key::of(Kind::Switch).derived();
    }
}

impl FqCoDelConfig {
    /// The CoDel of each queue.
    #[must_use]
    pub const fn codel(&self) -> CoDelConfig {
        CoDelConfig {
            target: self.target,
            interval: self.interval,
            ecn: self.ecn,
        }
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct PieConfig("pie", "the discipline pie", "PIE (RFC 8033, section 4).") {
        /// Queueing delay that the controller aims at (`QDELAY_REF`).
        target: Duration = Duration::from_millis(15) => Key::of(Kind::SPAN);
        /// Time between two updates of the drop probability (`T_UPDATE`).
        update: Duration = Duration::from_millis(15) => Key::of(Kind::Time(MIN_SLOT, MAX_DURATION));
        /// Time for which a burst passes without drops (`MAX_BURST`).
        burst: Duration = Duration::from_millis(150) => Key::of(Kind::DELAY);
        /// Factor on the gains `alpha` and `beta` of the RFC; DOCSIS uses 200 % (RFC 8034, appendix
        /// A).
        gain: f64 = 1.0 => Key::of(Kind::Share(f64::MIN_POSITIVE, 1000.0));
        /// Whether capable packets are marked instead of dropped while the probability is low.
        ecn: bool = false => Key::of(Kind::Switch).derived();
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct RedConfig("red", "the discipline red", "RED (Floyd and Jacobson 1993).") {
        /// Average queue length below which no packet is dropped.
        min: Option<f64> = None => Key::of(Kind::Packets)
            .usually("5 packets, or 2.5 ms of the rate if that is more")
            .resolved("min_packets");
        /// Average queue length at which the drop probability is `probability`.
        max: Option<f64> = None => Key::of(Kind::Packets)
            .usually("three times `min`")
            .resolved("max_packets");
        /// Drop probability at `max`.
        probability: f64 = 0.1 => Key::of(Kind::PERCENT);
        /// Weight of the newest queue length in the average.
        weight: Option<f64> = None => Key::of(FRACTION)
            .usually("1 - exp(-1/C) with C packets per second");
        /// Whether the drop probability rises to one between `max` and twice `max`, instead of at
        /// once.
        gentle: bool = true => Key::of(Kind::Switch);
        /// Whether the drop probability adapts to keep the average halfway between `min` and `max`
        /// (Floyd, Gummadi and Shenker 2001).
        adaptive: bool = false => Key::of(Kind::Switch);
        /// Whether capable packets are marked instead of dropped below `max`.
        ecn: bool = false => Key::of(Kind::Switch).derived();
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct DualPi2Config(
        "dual-pi2", "the discipline dual-pi2", "DualPI2 (RFC 9332, appendix A)."
    ) {
        /// Queueing delay that the controller aims at (`target`).
        target: Duration = Duration::from_millis(15) => Key::of(Kind::SPAN);
        /// Time between two updates of the base probability (`Tupdate`).
        update: Duration = Duration::from_millis(16) => Key::of(Kind::Time(MIN_SLOT, MAX_DURATION));
        /// Factor on the gains 0.16 and 3.2 Hz of the controller.
        gain: f64 = 1.0 => Key::of(Kind::Share(f64::MIN_POSITIVE, 1000.0));
        /// Factor of the base probability in the L4S queue (`k`).
        coupling: f64 = 2.0 => Key::of(Kind::Number(1.0, 100.0));
        /// Delay of the L4S queue above which its own ramp marks (`minTh`).
        threshold: Duration = Duration::from_micros(800) => Key::of(Kind::SPAN);
        /// Further delay over which the ramp rises to one; zero makes it a step (`range`).
        range: Duration = Duration::from_micros(400) => Key::of(Kind::DELAY);
        /// Least share of the rate that a backlogged classic queue gets.
        classic_share: f64 = 0.1 => Key::of(Kind::Share(0.0, 100.0));
        /// Whether packets with ECT(0) are marked in the classic queue instead of dropped. The L4S
        /// queue marks in any case.
        ecn: bool = false => Key::of(Kind::Switch).derived();
    }
}

impl Rules for RedConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        match self.max {
            Some(max) if self.min.is_none_or(|min| min >= max) => {
                Err(Wrong::value("max", "it needs a smaller min"))
            }
            _ => Ok(()),
        }
    }
}

macro_rules! plain {
    ($($config:ty),+) => { $( impl Rules for $config {} )+ };
}
plain!(
    RandomAboveConfig,
    CoDelConfig,
    FqCoDelConfig,
    PieConfig,
    DualPi2Config
);

macro_rules! defaults {
    ($($config:ty),+) => { $(
        impl Default for $config {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    )+ };
}
defaults!(
    CoDelConfig,
    FqCoDelConfig,
    PieConfig,
    RedConfig,
    DualPi2Config
);
