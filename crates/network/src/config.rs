//! The configuration of a link. Data only: [`crate::Link::new`] builds the link.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use tables::{Described, Field, Key, Kind, MAX_DURATION, MAX_RATE, Rules, Value, Wrong, described};
use units::{Bytes, Duration, Rate};

use crate::access::{AccessConfig, AccessModel, CellularConfig, WifiConfig};
use crate::aqm::Discipline;
use crate::random::MIN_SLOT;

/// Default slot of random jitter and of a varying rate (the reduced model of a cell has a grid of
/// 10 to 20 ms).
const SLOT: Duration = Duration::from_millis(10);
/// A sine is smooth, so it is sampled more finely.
const SINE_SLOT: Duration = Duration::from_millis(1);

described! {
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct LinkConfig(
        "link-config", "a link", "One direction of a path: `loss -> queue -> server -> delay line`."
    ) {
        /// Its name in results.
        name: String = String::new() => Key::of(Kind::Text(u32::MAX)).derived();
        /// How fast it serves.
        service: Service = Service::Unlimited => Key::of(Kind::Model).derived();
        /// Bytes that the link adds to each packet, in its rate and in a queue limited in bytes
        /// (14 for Ethernet as `netem` counts).
        overhead: u32 = 0 => Key::of(Kind::Integer(0, u32::MAX as u64)).derived();
        /// The queue in front of the server.
        queue: QueueConfig = QueueConfig::DEFAULT => Key::of(Kind::Model).derived();
        /// Losses of the medium, before the queue: a fraction of the packets, or a table with two
        /// states.
        loss: LossConfig = LossConfig::None =>
            Key::of(Kind::Any(&[Kind::PERCENT, Kind::Table(GilbertElliott::TABLE)]))
                .usually("none")
                .everywhere();
        /// Propagation delay.
        delay: Duration = Duration::ZERO => Key::of(Kind::DELAY).derived();
        /// Largest addition to the delay (uniform), or a table; jitter never reorders packets.
        jitter: Option<JitterConfig> = None =>
            Key::of(Kind::Any(&[Kind::DELAY, Kind::Table(JitterKeys::TABLE)]))
                .usually("none")
                .everywhere();
        /// Which packets the link delivers out of order.
        reordering: Option<ReorderingConfig> = None =>
            Key::of(Kind::Table(ReorderingConfig::TABLE))
                .usually("none")
                .only_if_said()
                .everywhere();
    }
}
impl Rules for LinkConfig {}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct ReorderingConfig(
        "reordering", "a reordering model",
        "Packets that leave their place in the order of a link, drawn for each packet."
    ) {
        /// Probability that a packet leaves its place.
        probability: f64 = 0.0 => Key::of(Kind::PERCENT).needed("1 %");
        /// By how much it comes later, or earlier, than in its place.
        delay: Duration = Duration::ZERO => Key::of(Kind::SPAN).needed("5 ms");
        /// Whether it comes later than in its place, as over a longer parallel path or after a
        /// retransmission by the link, or earlier, as with `reorder` of netem.
        shift: Shift = Shift::Later => Key::of(Kind::Words(Shift::WORDS));
        /// Packets from one that left its place to the next that may: netem's `gap`.
        gap: u32 = 1 => Key::of(Kind::Integer(1, u32::MAX as u64));
    }
}
impl Rules for ReorderingConfig {}

/// To which side a packet leaves its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Shift {
    /// Packets behind it overtake it.
    Later,
    /// It overtakes packets before it.
    Earlier,
}

tables::words!(Shift:
    "later" => Later,
    "earlier" => Earlier,
);

/// Fields of a link that follow from several keys of a file.
macro_rules! settled {
    ($($type:ty),+) => { $(
        impl Field for $type {
            fn value(&self) -> Value {
                Value::Nothing
            }

            fn of(_: Value) -> Option<Self> {
                None
            }
        }
    )+ };
}
settled!(Service, QueueConfig, JitterConfig);

impl LinkConfig {
    /// The keys that a file sets one by one; the other fields follow from several keys.
    pub const KEYS: &'static [Key] =
        &tables::given::<{ tables::given_len(Self::TABLE.keys) }>(Self::TABLE.keys);

    /// Whether its discipline or its model decides after a packet's arrival when the packet leaves;
    /// see [`crate::Link::decides_late`].
    #[must_use]
    pub fn decides_late(&self) -> bool {
        let on_arrival = matches!(
            self.queue.discipline,
            Discipline::DropTail | Discipline::RandomAbove(_)
        );
        self.service != Service::Unlimited && (!on_arrival || self.service.serves_late())
    }

    /// Whether it draws random numbers, so that two runs may differ.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.service.is_random()
            || self.queue.discipline.is_random()
            || self.loss.is_random()
            || self.jitter.as_ref().is_some_and(JitterConfig::is_random)
            || self.reordering.is_some()
    }

    /// Why it cannot reorder packets as configured, if it cannot: the end of a sentence about it.
    #[must_use]
    pub fn cannot_reorder(&self) -> Option<&'static str> {
        let reordering = self.reordering.as_ref()?;
        if self.decides_late() || self.is_medium() {
            return Some(
                "reorders packets, and its queue or model decides only when packets leave it: \
                 reorder on another link of the path",
            );
        }
        (reordering.shift == Shift::Earlier && reordering.delay > self.delay).then_some(
            "reorders packets by more than its delay, so that they would arrive before they are \
             sent: choose a shorter reordering.delay",
        )
    }

    /// Whether it is an end of a shared medium, such as Wi-Fi, which reports the packets that the
    /// radio of its sender is done with ([`crate::Link::take_sent`]).
    #[must_use]
    pub fn is_medium(&self) -> bool {
        self.service.access().is_some_and(|model| model.is_medium())
    }
}

/// How a link serves its queue.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Service {
    /// At once: a pure delay line.
    Unlimited,
    /// At a constant rate.
    Fixed(Rate),
    /// At a rate that changes at given times, repeated from the beginning after the last.
    Steps {
        /// `(how long, rate)`; a rate of zero is an outage.
        steps: Arc<[(Duration, Rate)]>,
    },
    /// At a varying rate: the logarithm of the rate follows an Ornstein-Uhlenbeck process,
    /// drawn once per `slot` of time (never per packet), around `mean`.
    Varying(VaryingConfig),
    /// Delivery opportunities as Mahimahi defines them.
    Trace(Arc<TraceConfig>),
    /// By a model of an access network.
    Access(Arc<AccessConfig>),
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct VaryingConfig(
        "varying-rate", "a varying rate",
        "A rate whose logarithm follows an Ornstein-Uhlenbeck process, drawn for each slot of time."
    ) {
        /// Mean rate.
        mean: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("40 Mbit/s");
        /// Coefficient of variation: standard deviation over mean. 30 % is a calm cell, 60 % a busy
        /// one.
        variation: f64 = 0.0 => Key::of(Kind::Share(0.0, 300.0)).needed("30 %");
        /// Time after which the correlation has fallen to 1/e.
        correlation: Duration = Duration::ZERO => Key::of(Kind::SPAN).needed("1 s");
        /// Time for which a drawn rate holds.
        slot: Duration = SLOT => Key::of(Kind::Time(MIN_SLOT, MAX_DURATION));
        /// Upper limit of the rate.
        peak: Rate = MAX_RATE => Key::of(Kind::RATE);
    }
}

impl Rules for VaryingConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        match self.peak < self.mean {
            true => Err(Wrong::value("peak", "the peak is below the mean")),
            false => Ok(()),
        }
    }
}

impl Service {
    /// Whether it draws random numbers.
    #[must_use]
    pub fn is_random(&self) -> bool {
        match self {
            Self::Unlimited | Self::Fixed(_) | Self::Steps { .. } | Self::Trace(_) => false,
            Self::Varying(_) => true,
            Self::Access(model) => model.is_random(),
        }
    }

    /// The model, if this is an access network.
    #[must_use]
    pub fn access(&self) -> Option<&AccessConfig> {
        match self {
            Self::Access(access) => Some(access),
            _ => None,
        }
    }

    /// The Wi-Fi network, if this is one.
    #[must_use]
    pub fn wifi(&self) -> Option<&WifiConfig> {
        match self.access()? {
            AccessConfig::Wifi(config) => Some(config),
            _ => None,
        }
    }

    /// The cellular network, if this is one.
    #[must_use]
    pub fn cellular(&self) -> Option<&CellularConfig> {
        match self.access()? {
            AccessConfig::Cellular(config) => Some(config),
            _ => None,
        }
    }

    /// Whether a packet's service is decided only when it reaches the head of the queue.
    #[must_use]
    pub fn serves_late(&self) -> bool {
        self.access().is_some_and(AccessModel::serves_late)
    }

    /// Whether it suppresses queued ACKs that have become redundant.
    #[must_use]
    pub fn filters_acks(&self) -> bool {
        self.access().is_some_and(AccessModel::filters_acks)
    }

    /// Its mean addition to the delay of a packet on an idle link; zero for a rate.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        let access = self.access();
        access.map_or(Duration::ZERO, AccessModel::idle_delay)
    }

    /// The long-term mean rate, for a buffer given in BDPs; `None` if unlimited.
    #[must_use]
    pub fn mean_rate(&self) -> Option<Rate> {
        match self {
            Self::Unlimited => None,
            Self::Fixed(rate) => Some(*rate),
            Self::Steps { steps } => {
                let (span, work) = steps.iter().fold((0_u128, 0_u128), |(span, work), step| {
                    let nanos = u128::from(step.0.as_nanos());
                    let added = nanos * u128::from(step.1.bits_per_sec());
                    (span + nanos, work.saturating_add(added))
                });
                let rate = work.checked_div(span).unwrap_or(0);
                Some(Rate::from_bits_per_sec(
                    u64::try_from(rate).unwrap_or(u64::MAX),
                ))
            }
            Self::Varying(config) => Some(config.mean.min(config.peak)),
            Self::Trace(trace) => Some(trace.mean_rate()),
            Self::Access(access) => Some(access.mean_rate()),
        }
    }
}

/// A Mahimahi trace: one opportunity of 1504 bytes per entry.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TraceConfig {
    /// Milliseconds since the trace began, non-decreasing, the last one positive.
    pub opportunities_ms: Vec<u32>,
    /// Whether the trace starts again after its last line (Mahimahi's default), or the link stops.
    pub repeat: bool,
}

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueConfig {
    /// Its limit. The packet in service does not count.
    pub limit: QueueLimit,
    /// Which packets are dropped before the queue is full.
    pub discipline: Discipline,
}

impl QueueConfig {
    /// A queue without limit.
    pub const DEFAULT: Self = Self {
        limit: QueueLimit::Unlimited,
        discipline: Discipline::DropTail,
    };
}

/// The limit of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum QueueLimit {
    /// None.
    Unlimited,
    /// In packets.
    Packets(u64),
    /// In bytes, overhead included.
    Bytes(Bytes),
}

/// Losses of the medium.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LossConfig {
    /// None.
    None,
    /// Each packet independently with this probability.
    Bernoulli(f64),
    /// Two states (netem's `gemodel p r 1-h 1-k`): the transition is drawn for each packet, the
    /// loss with the state before the transition.
    GilbertElliott(GilbertElliott),
}

impl Field for LossConfig {
    fn value(&self) -> Value {
        match self {
            Self::Bernoulli(probability) => Value::Number(*probability),
            Self::None | Self::GilbertElliott(_) => Value::Nothing,
        }
    }

    fn of(value: Value) -> Option<Self> {
        match value {
            Value::Number(probability) if probability > 0.0 => Some(Self::Bernoulli(probability)),
            Value::Number(_) | Value::Nothing => Some(Self::None),
            _ => None,
        }
    }

    fn inner(&self) -> Option<&dyn Described> {
        match self {
            Self::GilbertElliott(config) => Some(config),
            Self::None | Self::Bernoulli(_) => None,
        }
    }

    /// The two states at their defaults: a table replaces what was there.
    fn inner_mut(&mut self) -> Option<&mut dyn Described> {
        *self = Self::GilbertElliott(GilbertElliott::DEFAULT);
        match self {
            Self::GilbertElliott(config) => Some(config),
            Self::None | Self::Bernoulli(_) => None,
        }
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct GilbertElliott(
        "gilbert-elliott", "a loss model",
        "A loss model with two states (Gilbert and Elliott), as `gemodel p r 1-h 1-k` of netem."
    ) {
        /// Probability, for each packet, of a change from the good to the bad state.
        p: f64 = 0.0 => Key::of(Kind::PERCENT).needed("1 %");
        /// Probability, for each packet, of a change from the bad to the good state.
        r: f64 = 1.0 => Key::of(Kind::PERCENT).usually("100 % - p");
        /// Loss rate in the bad state.
        bad_loss: f64 = 1.0 => Key::of(Kind::PERCENT);
        /// Loss rate in the good state.
        good_loss: f64 = 0.0 => Key::of(Kind::PERCENT);
    }
}

impl Rules for GilbertElliott {
    fn follow(&mut self, key: &str) {
        if key == "p" {
            self.r = 1.0 - self.p;
        }
    }

    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        match self.p + self.r > 0.0 {
            true => Ok(()),
            false => Err(Wrong::at(
                "",
                "a loss model needs p or r above zero, or its states never change",
            )),
        }
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct JitterKeys(
        "jitter", "a jitter model",
        "An addition to the delay, drawn for each slot of time; it never reorders packets."
    ) {
        /// Largest addition; for "exponential" the mean addition.
        amount: Duration = Duration::ZERO => Key::of(Kind::DELAY).needed("5 ms");
        /// Distribution of the additions.
        distribution: JitterShape = JitterShape::Uniform =>
            Key::of(Kind::Words(JitterShape::WORDS));
        /// Period of a sine.
        period: Option<Duration> = None =>
            Key::of(Kind::SPAN).sometimes("2 s", "needed for \"sine\"");
        /// Time for which a drawn value holds.
        slot: Option<Duration> = None => Key::of(Kind::Time(MIN_SLOT, MAX_DURATION))
            .usually("\"10 ms\"; \"1 ms\" for \"sine\"");
    }
}

/// The distributions of [`JitterKeys`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterShape {
    /// Up to a largest addition.
    Uniform,
    /// With a mean addition.
    Exponential,
    /// Along a sine.
    Sine,
}

tables::words!(JitterShape:
    "uniform" => Uniform,
    "exponential" => Exponential,
    "sine" => Sine,
);

impl Rules for JitterKeys {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        match (self.distribution, self.period) {
            (JitterShape::Uniform | JitterShape::Exponential, Some(_)) => Err(Wrong::value(
                "period",
                "only the distribution \"sine\" has a period",
            )),
            _ => Ok(()),
        }
    }
}

impl JitterKeys {
    /// The jitter, if there is any.
    #[must_use]
    pub fn config(self) -> Option<JitterConfig> {
        let (distribution, slot) = match self.distribution {
            JitterShape::Uniform => (JitterDistribution::Uniform, SLOT),
            JitterShape::Exponential => (JitterDistribution::Exponential, SLOT),
            JitterShape::Sine => {
                let period = self.period.unwrap_or(MAX_DURATION);
                (JitterDistribution::Sine { period }, SINE_SLOT)
            }
        };
        (!self.amount.is_zero()).then_some(JitterConfig {
            amount: self.amount,
            distribution,
            slot: self.slot.unwrap_or(slot),
        })
    }
}

impl LossConfig {
    /// Whether it draws random numbers.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        match self {
            Self::None => false,
            Self::Bernoulli(_) | Self::GilbertElliott { .. } => true,
        }
    }
}

/// Random additions to the delay, one for each `slot` of time; packets are never reordered.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JitterConfig {
    /// Size of the addition; its meaning depends on the distribution.
    pub amount: Duration,
    /// Its distribution.
    pub distribution: JitterDistribution,
    /// How long a value holds: all packets that leave the server in one slot have the same.
    pub slot: Duration,
}

impl JitterConfig {
    /// Whether it draws random numbers. A sine draws its phase.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        match self.distribution {
            JitterDistribution::Uniform
            | JitterDistribution::Exponential
            | JitterDistribution::Sine { .. } => true,
            JitterDistribution::Recorded { .. } => false,
        }
    }

    /// A trace of delays, each for one `slot`, repeated after the last, as a constant delay and
    /// additions to it.
    #[must_use]
    pub fn recorded(delays: &[Duration], slot: Duration) -> (Duration, Self) {
        let least = delays.iter().min().copied().unwrap_or_default();
        let most = delays.iter().max().copied().unwrap_or_default();
        let additions = delays.iter().map(|delay| delay.saturating_sub(least));
        let config = Self {
            amount: most.saturating_sub(least),
            distribution: JitterDistribution::Recorded {
                additions: additions.collect(),
            },
            slot,
        };
        (least, config)
    }
}

/// How jitter is distributed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum JitterDistribution {
    /// Uniform in `0..=amount`.
    Uniform,
    /// Exponential with mean `amount`, cut at eight times it.
    Exponential,
    /// `amount * (1 + sin)/2` with this period, random phase: the phenomenological GEO return
    /// channel (model M1 of docs/reference/sources.md).
    Sine {
        /// Its period.
        period: Duration,
    },
    /// Given values in turn, repeated after the last; zero if there are none. `amount` is the
    /// largest of them.
    Recorded {
        /// The addition in each slot.
        additions: Arc<[Duration]>,
    },
}
