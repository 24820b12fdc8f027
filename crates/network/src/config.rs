//! What a link is made of. Data only: [`crate::Link::new`] builds the thing.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use units::{Bytes, Duration, Rate};

use crate::access::{AccessConfig, AccessModel, CellularConfig, WifiConfig};
use crate::aqm::{CoDelConfig, FqCoDelConfig, PieConfig, RedConfig};

/// One direction of a path: `loss -> queue -> server -> delay line`.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinkConfig {
    /// Its name in results.
    pub name: String,
    /// How fast it serves.
    pub service: Service,
    /// Bytes that the link adds to each packet, in its rate and in a queue limited in bytes
    /// (14 for Ethernet as `netem` counts). A trace counts bytes of IP and adds nothing.
    pub overhead: u32,
    /// The waiting room in front of the server.
    pub queue: QueueConfig,
    /// Losses of the medium, before the queue.
    pub loss: LossConfig,
    /// Propagation delay.
    pub delay: Duration,
    /// Variation of the delay; never reorders.
    pub jitter: Option<JitterConfig>,
}

impl LinkConfig {
    /// Whether its discipline, or its model, decides after a packet's arrival when that leaves; see
    /// [`crate::Link::decides_late`].
    #[must_use]
    pub fn decides_late(&self) -> bool {
        let on_arrival = matches!(
            self.queue.discipline,
            Discipline::DropTail | Discipline::RandomAbove { .. }
        );
        self.service != Service::Unlimited && (!on_arrival || self.service.serves_late())
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
    /// At a rate that wanders: the logarithm of the rate follows an Ornstein-Uhlenbeck process,
    /// drawn once per `slot` of time (never per packet), around `mean`.
    Varying {
        /// Mean rate.
        mean: Rate,
        /// Coefficient of variation of the rate (0.3 is a calm cell, 0.6 a busy one).
        variation: f64,
        /// Time after which the correlation has fallen to 1/e.
        correlation: Duration,
        /// How long a drawn rate holds.
        slot: Duration,
        /// The rate never exceeds this.
        peak: Rate,
    },
    /// Delivery opportunities as Mahimahi defines them.
    Trace(Arc<TraceConfig>),
    /// As a model of an access network says.
    Access(Arc<AccessConfig>),
}

impl Service {
    /// The model of an access network that it is.
    #[must_use]
    pub fn access(&self) -> Option<&AccessConfig> {
        match self {
            Self::Access(access) => Some(access),
            _ => None,
        }
    }

    /// The Wi-Fi network that it is.
    #[must_use]
    pub fn wifi(&self) -> Option<&WifiConfig> {
        match self.access()? {
            AccessConfig::Wifi(config) => Some(config),
            _ => None,
        }
    }

    /// The cellular network that it is.
    #[must_use]
    pub fn cellular(&self) -> Option<&CellularConfig> {
        match self.access()? {
            AccessConfig::Cellular(config) => Some(config),
            _ => None,
        }
    }

    /// Whether a packet is served when its turn has come and not before.
    #[must_use]
    pub fn serves_late(&self) -> bool {
        self.access().is_some_and(AccessModel::serves_late)
    }

    /// Whether it suppresses ACKs that have become redundant while they waited.
    #[must_use]
    pub fn filters_acks(&self) -> bool {
        self.access().is_some_and(AccessModel::filters_acks)
    }

    /// What it adds on average to the delay of a packet that finds nobody there; of a rate, nothing.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        let access = self.access();
        access.map_or(Duration::ZERO, AccessModel::idle_delay)
    }

    /// The rate averaged over a long time, for a buffer given in bandwidth-delay products; `None`
    /// where it is unlimited.
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
            Self::Varying { mean, peak, .. } => Some(*mean.min(peak)),
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

/// How much waits.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueConfig {
    /// The end of the room. The packet in service does not count.
    pub limit: QueueLimit,
    /// Who is refused before the room is full.
    pub discipline: Discipline,
}

/// The end of a waiting room.
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

/// Who is refused, or dropped, before the room is full. On a link of unlimited rate nobody waits, and nobody is.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Discipline {
    /// Nobody.
    DropTail,
    /// Each arriving packet with this probability while the room is filled above this share
    /// (the gateway of a GEO operator: 0.25 above 0.5).
    RandomAbove {
        /// Share of the limit, 0 to 1.
        fill: f64,
        /// Probability, 0 to 1.
        probability: f64,
    },
    /// Whoever leaves while packets have waited too long for too long.
    CoDel(CoDelConfig),
    /// As CoDel, with a queue for each flow.
    FqCoDel(FqCoDelConfig),
    /// Each arriving packet with a probability that follows the wait.
    Pie(PieConfig),
    /// Each arriving packet with a probability that follows the average queue.
    Red(RedConfig),
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
    GilbertElliott {
        /// Good to bad.
        p: f64,
        /// Bad to good.
        r: f64,
        /// Loss probability in the bad state (1-h).
        bad_loss: f64,
        /// Loss probability in the good state (1-k).
        good_loss: f64,
    },
}

/// Variation of the delay, on top of it, one value for each `slot` of time; packets never overtake.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct JitterConfig {
    /// Size of the addition, as the distribution says.
    pub amount: Duration,
    /// Its distribution.
    pub distribution: JitterDistribution,
    /// How long a drawn value holds: packets that leave the server in the same slot have the same.
    pub slot: Duration,
}

impl JitterConfig {
    /// The constant delay and the addition to it that together are `delays`, each for one `slot`
    /// and from the first again after the last: a trace of delays.
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
    /// channel (model M1 of the notes).
    Sine {
        /// Its period.
        period: Duration,
    },
    /// No draw: one value after the other, from the first again after the last; nothing where there
    /// is none. `amount` is the largest of them.
    Recorded {
        /// What is added in each slot.
        additions: Arc<[Duration]>,
    },
}
