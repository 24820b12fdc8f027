//! The configuration of a link. Data only: [`crate::Link::new`] builds the link.

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
    /// The queue in front of the server.
    pub queue: QueueConfig,
    /// Losses of the medium, before the queue.
    pub loss: LossConfig,
    /// Propagation delay.
    pub delay: Duration,
    /// Variation of the delay; never reorders.
    pub jitter: Option<JitterConfig>,
}

impl LinkConfig {
    /// Whether its discipline or its model decides after a packet's arrival when the packet leaves;
    /// see [`crate::Link::decides_late`].
    #[must_use]
    pub fn decides_late(&self) -> bool {
        let on_arrival = matches!(
            self.queue.discipline,
            Discipline::DropTail | Discipline::RandomAbove { .. }
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
    /// By a model of an access network.
    Access(Arc<AccessConfig>),
}

impl Service {
    /// Whether it draws random numbers.
    #[must_use]
    pub fn is_random(&self) -> bool {
        match self {
            Self::Unlimited | Self::Fixed(_) | Self::Steps { .. } | Self::Trace(_) => false,
            Self::Varying { .. } => true,
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

/// A queue.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct QueueConfig {
    /// Its limit. The packet in service does not count.
    pub limit: QueueLimit,
    /// Which packets are dropped before the queue is full.
    pub discipline: Discipline,
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

/// Which packets are dropped before the queue is full. A link of unlimited rate has no queue and
/// drops none.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Discipline {
    /// None.
    DropTail,
    /// Each arriving packet with this probability while the queue is above this fraction of its
    /// limit (the gateway of a GEO operator: 0.25 above 0.5).
    RandomAbove {
        /// Fraction of the limit, 0 to 1.
        fill: f64,
        /// Probability, 0 to 1.
        probability: f64,
    },
    /// Departing packets, when the queueing delay has exceeded its target for an interval.
    CoDel(CoDelConfig),
    /// CoDel with a queue for each flow.
    FqCoDel(FqCoDelConfig),
    /// Each arriving packet with a probability that follows the queueing delay.
    Pie(PieConfig),
    /// Each arriving packet with a probability that follows the average queue length.
    Red(RedConfig),
}

impl Discipline {
    /// Whether it draws random numbers.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        match self {
            Self::DropTail | Self::CoDel(_) => false,
            Self::RandomAbove { .. } | Self::FqCoDel(_) | Self::Pie(_) | Self::Red(_) => true,
        }
    }
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
