//! The downlink of a cell of LTE or 5G NR, slot by slot.
//!
//! Sources: 3GPP TS 36.213 and 36.321; docs/reference/networks/lte.md. In each slot (a TTI) the
//! proportional-fair scheduler assigns all resource blocks to one of the users with data, at the
//! rate of that user's last CQI report. Our user has data from the arrival of a packet until its
//! delivery; the other users have data from time to time. Failed blocks are retransmitted, and
//! delivery is in order ([`super::slotted`], [`super::blocks`]).
//!
//! ## Deviations
//!
//! - A block of a user fills its slot: resource blocks are not split among users.
//! - The outer loop that holds the error rate at its target is not simulated: the error rate is the
//!   target.
//! - 5G uses LTE's CQI table.
//! - After an idle time longer than twenty windows, the other users' averages are computed from the
//!   last twenty only.

use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use units::{Duration, Rate};

use super::blocks::BlockConfig;
use super::chain::{Length, OutageConfig, Outages, Switch, Timeline};
use super::channel::{Channel, ChannelConfig, block_bits};
use super::rrc::RrcConfig;
use super::scheduler::Fair;
use super::slotted::{Slotted, Source};
use super::stream;
use crate::random::{normal, unit};

/// The downlink slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Duplex {
    /// All.
    Fdd,
    /// Three of five slots, and half of a fourth (DDDSU).
    Tdd,
}

impl Duplex {
    /// The downlink fraction of each slot of a period.
    const fn shares(self) -> &'static [f64] {
        match self {
            Self::Fdd => &[1.0],
            Self::Tdd => &[1.0, 1.0, 1.0, 0.5, 0.0],
        }
    }
}

/// An obstacle that blocks the signal from time to time (millimetre waves).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockageConfig {
    /// Mean time without blockage.
    pub free: Duration,
    /// Mean time with blockage.
    pub blocked: Duration,
    /// Fraction of the rate that remains then.
    pub factor: f64,
}

/// A cell's downlink.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CellConfig {
    /// Length of a slot.
    pub slot: Duration,
    /// The downlink slots.
    pub duplex: Duplex,
    /// Pairs of resource blocks in a slot.
    pub prbs: u32,
    /// Spatial layers.
    pub layers: u32,
    /// The channel of every user.
    pub channel: ChannelConfig,
    /// Standard deviation in dB of the mean SINR between places: in each run, each user has a
    /// place. Normal, cut at twice the standard deviation.
    pub sinr_spread_db: f64,
    /// Time between two CQI reports, and the delay until a report is used.
    pub report: (Duration, Duration),
    /// Smallest number of other users.
    pub users: u32,
    /// How many more there may be: each run draws a number from zero to this, uniformly.
    pub more_users: u32,
    /// Mean ON time of each competing user (exponential).
    pub on: Duration,
    /// Mean OFF time of each competing user (exponential).
    pub off: Duration,
    /// Averaging window of the scheduler in slots.
    pub window: u32,
    /// Retransmission of failed blocks.
    pub blocks: BlockConfig,
    /// Time from the end of a block to the delivery of its packets.
    pub latency: Duration,
    /// Handovers, if the user moves.
    pub outages: Option<OutageConfig>,
    /// Blockage, if any.
    pub blockage: Option<BlockageConfig>,
    /// The states of the radio of both directions; `None` is always ready.
    pub rrc: Option<RrcConfig>,
    /// The mean rate of a saturated user: for a buffer given in BDPs, and for results.
    /// [`CellConfig::measured`] computes it.
    pub mean: Rate,
}

/// Retransmission in LTE (3GPP TS 36.321).
const HARQ: BlockConfig = BlockConfig {
    error: 0.1,
    again: 0.1,
    transmissions: 4,
    retry: Duration::from_millis(8),
    residual: 1e-4,
    recovery: (Duration::from_millis(40), Duration::from_millis(70)),
};

impl CellConfig {
    /// LTE: 20 MHz, two layers, a walking user and one other. The channel and the other user are
    /// calibrated (see docs/reference/networks/lte.md).
    pub const LTE: Self = Self {
        slot: Duration::from_millis(1),
        duplex: Duplex::Fdd,
        prbs: 100,
        layers: 2,
        channel: ChannelConfig {
            sinr_db: 12.0,
            shadow_db: 2.0,
            shadow_tau: Duration::from_secs(10),
            doppler_hz: 3.0,
            antennas: 2,
        },
        sinr_spread_db: 0.0,
        report: (Duration::from_millis(5), Duration::from_millis(6)),
        users: 2,
        more_users: 0,
        on: Duration::from_secs(1),
        off: Duration::from_secs(2),
        window: 100,
        blocks: HARQ,
        latency: Duration::from_micros(2500),
        outages: None,
        blockage: None,
        rrc: None,
        mean: Rate::from_bits_per_sec(40_000_000),
    };

    /// 5G NR: 100 MHz at 3.5 GHz, 30 kHz of subcarrier spacing, DDDSU.
    pub const NR: Self = Self {
        slot: Duration::from_micros(500),
        duplex: Duplex::Tdd,
        prbs: 273,
        channel: ChannelConfig {
            sinr_db: 15.0,
            ..Self::LTE.channel
        },
        blocks: BlockConfig {
            retry: Duration::from_millis(4),
            recovery: (Duration::from_millis(20), Duration::from_millis(40)),
            ..HARQ
        },
        latency: Duration::from_millis(1),
        report: (Duration::from_millis(5), Duration::from_millis(4)),
        window: 200,
        mean: Rate::from_bits_per_sec(200_000_000),
        ..Self::LTE
    };

    /// Handovers of a user who drives through a city (docs/reference/networks/lte.md).
    pub const HANDOVERS: OutageConfig = OutageConfig {
        every: Duration::from_secs(40),
        length: Length::Handover,
    };

    /// Blockage of millimetre waves.
    pub const BLOCKAGE: BlockageConfig = BlockageConfig {
        free: Duration::from_secs(5),
        blocked: Duration::from_secs(1),
        factor: 0.05,
    };

    /// Mean addition of an empty link to a packet's delay: half a slot of waiting, a slot, the
    /// downlink gaps, failures and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        let wait = match self.duplex {
            Duplex::Fdd => self.slot / 2,
            // Half a slot in 3.5 of five slots, and 1.5 slots in the other 1.5.
            Duplex::Tdd => self.slot * 7 / 10,
        };
        wait + self.slot + self.blocks.mean_wait() + self.latency
    }

    /// The number of other users in a run.
    fn others(&self, rng: &ChaCha8Rng) -> u32 {
        let drawn = unit(&mut stream(rng, 3)) * (f64::from(self.more_users) + 1.0);
        self.users.saturating_add(drawn as u32).min(100)
    }

    /// Computes `mean` from 100 such cells over 400 ms each, to two digits (a standard error of 4
    /// %).
    #[must_use]
    pub fn measured(self) -> Self {
        const CELLS: u64 = 100;
        let slots = |ms: u64| ms * 1_000_000 / self.slot.as_nanos().max(1);
        let (begin, end) = (slots(200).min(4000), slots(600).min(12_000));
        let mut bits = 0_u64;
        for seed in 0..CELLS {
            let mut cell = Cell::new(&self, &ChaCha8Rng::seed_from_u64(seed));
            // The first slots settle the scheduler.
            for slot in 0..end {
                let block = cell.block(slot);
                if slot >= begin {
                    bits = bits.saturating_add(block);
                }
            }
        }
        let nanos = u128::from((end - begin) * CELLS) * u128::from(self.slot.as_nanos());
        let rate = (u128::from(bits) * 1_000_000_000).checked_div(nanos);
        let rate = u64::try_from(rate.unwrap_or(0)).unwrap_or(u64::MAX);
        let mut unit = 1;
        while rate / unit >= 100 {
            unit *= 10;
        }
        let rounded = (rate.saturating_add(unit / 2) / unit * unit).max(1000);
        Self {
            mean: Rate::from_bits_per_sec(rounded),
            ..self
        }
    }
}

/// Deviation of a place's mean SINR in standard deviations, redrawn beyond two: another cell serves
/// users in worse places.
fn place(rng: &mut ChaCha8Rng) -> f64 {
    loop {
        let place = normal(rng);
        if place.abs() <= 2.0 {
            return place;
        }
    }
}

#[derive(Clone, Debug)]
struct User {
    channel: Channel,
    /// When another user has data.
    active: Option<Timeline<Switch>>,
}

/// The bits of a cell's blocks for user 0.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    prbs: u32,
    layers: u32,
    /// In nanoseconds, as are the next three.
    slot: u64,
    report: u64,
    used_after: u64,
    shares: &'static [f64],
    window: u64,
    users: Vec<User>,
    fair: Fair,
    outages: Option<Timeline<Outages>>,
    blockage: Option<(Timeline<Switch>, f64)>,
    /// The report that gives the rates.
    current: Option<u64>,
}

impl Cell {
    pub(crate) fn new(config: &CellConfig, rng: &ChaCha8Rng) -> Self {
        let users = config.others(rng);
        let user = |number: u32| {
            let own = |purpose| stream(rng, 16 + 4 * number + purpose);
            let mut channel = config.channel;
            channel.sinr_db += config.sinr_spread_db * place(&mut own(3));
            User {
                channel: Channel::new(&channel, own(0), own(1)),
                active: (number > 0 && !config.off.is_zero())
                    .then(|| Switch::timeline(config.on, config.off, own(2))),
            }
        };
        Self {
            prbs: config.prbs,
            layers: config.layers,
            slot: config.slot.as_nanos().max(1),
            report: config.report.0.as_nanos().max(1),
            used_after: config.report.1.as_nanos(),
            shares: config.duplex.shares(),
            window: u64::from(config.window),
            users: (0..=users).map(user).collect(),
            fair: Fair::new(users as usize + 1, config.window),
            outages: config
                .outages
                .map(|outages| outages.timeline(stream(rng, 1))),
            blockage: config.blockage.map(|blockage| {
                let free = Switch::timeline(blockage.free, blockage.blocked, stream(rng, 2));
                (free, blockage.factor.clamp(0.0, 1.0))
            }),
            current: None,
        }
    }

    /// Takes the report that is valid in the slot that starts at `nanos`.
    fn refresh(&mut self, nanos: u64) {
        let report = nanos.saturating_sub(self.used_after) / self.report;
        if self.current == Some(report) {
            return;
        }
        self.current = Some(report);
        let at = report.saturating_mul(self.report);
        for (user, share) in self.users.iter_mut().zip(&mut self.fair.users) {
            let active = user.active.as_mut().is_none_or(|active| active.at(at).on);
            share.bits = if active {
                block_bits(user.channel.sinr_db(at), self.prbs, self.layers) as f64
            } else {
                0.0
            };
        }
        if let Some((free, factor)) = &mut self.blockage
            && !free.at(at).on
            && let Some(ours) = self.fair.users.first_mut()
        {
            ours.bits *= *factor;
        }
    }

    /// The bits of `slot` that user 0 gets, or would get if it competed.
    fn slot(&mut self, slot: u64, competes: bool) -> u64 {
        let period = self.shares.len() as u64;
        // Below the length, which is small.
        let share = self.shares[(slot % period) as usize];
        if share == 0.0 {
            return 0;
        }
        let nanos = slot.saturating_mul(self.slot);
        self.refresh(nanos);
        let out = self
            .outages
            .as_mut()
            .is_some_and(|outages| outages.at(nanos).out());
        if !self.fair.slot(competes && !out) || out {
            return 0;
        }
        (self.fair.users[0].bits * share) as u64
    }
}

impl Source for Cell {
    fn block(&mut self, slot: u64) -> u64 {
        self.slot(slot, true)
    }

    fn idle(&mut self, from: u64, to: u64, enough: u64) -> u64 {
        let looked = self.window.saturating_mul(20).max(1);
        let begin = from.max(to.saturating_sub(looked));
        self.fair.rest(begin - from);
        let mut unused = 0_u64;
        for slot in begin..to {
            let bits = self.slot(slot, false);
            unused = unused.saturating_add(bits);
        }
        // The skipped slots would have been enough.
        if begin > from {
            unused.max(enough)
        } else {
            unused
        }
    }
}

/// The server of a cell's downlink.
pub(crate) fn server(config: &CellConfig, rng: &ChaCha8Rng) -> Slotted<Cell> {
    Slotted::new(
        Cell::new(config, rng),
        config.slot,
        config.latency,
        &config.blocks,
        stream(rng, 0),
    )
}
