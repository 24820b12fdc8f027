//! The settings of the disciplines that work by time, with the defaults of their RFCs.

use units::Duration;

/// CoDel (RFC 8289, section 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CoDelConfig {
    /// The acceptable queueing delay (`TARGET`).
    pub target: Duration,
    /// Time for which the delay has to exceed the target before the first drop (`INTERVAL`).
    pub interval: Duration,
    /// Whether capable packets are marked instead of dropped.
    pub ecn: bool,
}

impl Default for CoDelConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(5),
            interval: Duration::from_millis(100),
            ecn: false,
        }
    }
}

/// FQ-CoDel (RFC 8290, section 5.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FqCoDelConfig {
    /// The CoDel of each queue.
    pub codel: CoDelConfig,
    /// Queues that the flows are hashed to, at least one.
    pub flows: u32,
    /// Bytes, overhead included, that a queue may send in each round, at least one.
    pub quantum: u32,
}

impl Default for FqCoDelConfig {
    fn default() -> Self {
        Self {
            codel: CoDelConfig::default(),
            flows: 1024,
            quantum: 1514,
        }
    }
}

/// PIE (RFC 8033, section 4).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PieConfig {
    /// The queueing delay that the controller aims at (`QDELAY_REF`).
    pub target: Duration,
    /// Time between two updates of the probability (`T_UPDATE`), at least a nanosecond.
    pub update: Duration,
    /// Time for which a burst passes without drops (`MAX_BURST`).
    pub burst: Duration,
    /// Factor on the gains `alpha` and `beta` of the RFC, not negative. DOCSIS has 2 (RFC 8034,
    /// appendix A).
    pub gain: f64,
    /// Whether capable packets are marked instead of dropped while the probability is low.
    pub ecn: bool,
}

impl Default for PieConfig {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            burst: Duration::from_millis(150),
            gain: 1.0,
            ecn: false,
        }
    }
}

/// RED (Floyd and Jacobson 1993), with the defaults of ns-2.35.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RedConfig {
    /// Average queue in packets below which nothing is dropped; `None`: 5, or 2.5 ms of the link's
    /// mean rate if that is more.
    pub min: Option<f64>,
    /// Average queue in packets above which every packet is dropped, or (gentle) the probability
    /// rises to one; `None`: three times `min`.
    pub max: Option<f64>,
    /// Probability at `max`, 0 to 1.
    pub probability: f64,
    /// Weight of the newest queue length in the average, 0 to 1; `None`: `1 - exp(-1/C)`, where C is
    /// the link's mean rate in packets per second.
    pub weight: Option<f64>,
    /// Whether the probability rises to one between `max` and twice that, instead of at once.
    pub gentle: bool,
    /// Whether `probability` adapts to keep the average halfway between `min` and `max` (Floyd,
    /// Gummadi and Shenker, 2001).
    pub adaptive: bool,
    /// Whether capable packets are marked instead of dropped below `max`.
    pub ecn: bool,
}

impl Default for RedConfig {
    fn default() -> Self {
        Self {
            min: None,
            max: None,
            probability: 0.1,
            weight: None,
            gentle: true,
            adaptive: false,
            ecn: false,
        }
    }
}
