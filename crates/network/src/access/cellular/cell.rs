//! The downlink of a cell of LTE or 5G NR, slot by slot.
//!
//! Network-models, section B.3.3. In each slot (a TTI) one user has all resource blocks: the one whom the
//! proportional-fair scheduler picks among those that have something to send, at the rate of the channel
//! quality that he reported last. Our user has something to send from the moment a packet is there until it is
//! through; the others come and go. Blocks fail and are repeated, and packets are handed on in order
//! ([`super::slotted`], [`super::blocks`]).
//!
//! ## Deviations
//!
//! - A block of a user fills its slot: resource blocks are not split among users.
//! - The outer loop that holds the error rate at its target is not simulated: the error is the target's.
//! - 5G uses LTE's table of channel qualities.
//! - Of a rest longer than twenty windows the others' averages are stepped through the last twenty alone.

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

/// Which slots are the downlink's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Duplex {
    /// All.
    Fdd,
    /// Of five slots three, and half of a fourth (DDDSU).
    Tdd,
}

impl Duplex {
    /// The share of each slot of a period.
    const fn shares(self) -> &'static [f64] {
        match self {
            Self::Fdd => &[1.0],
            Self::Tdd => &[1.0, 1.0, 1.0, 0.5, 0.0],
        }
    }
}

/// Something that stands in the way now and then (millimetre waves).
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BlockageConfig {
    /// How long the way is free on average.
    pub free: Duration,
    /// How long it is blocked.
    pub blocked: Duration,
    /// What is left of the rate then.
    pub factor: f64,
}

/// A cell's downlink.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CellConfig {
    /// How long a slot lasts.
    pub slot: Duration,
    /// Which slots are the downlink's.
    pub duplex: Duplex,
    /// Pairs of resource blocks in a slot.
    pub prbs: u32,
    /// Spatial layers.
    pub layers: u32,
    /// Of every user.
    pub channel: ChannelConfig,
    /// How far the mean of a user's channel differs in dB from place to place: in each run each user stands
    /// somewhere. Normal with this standard deviation, cut at twice of it.
    pub sinr_spread_db: f64,
    /// How often the channel's quality is reported, and when a report is used.
    pub report: (Duration, Duration),
    /// Other users, at least.
    pub users: u32,
    /// How many more there may be: each run has a number from none to this, all equally likely.
    pub more_users: u32,
    /// How long one of them has something to send on average.
    pub on: Duration,
    /// How long he has not.
    pub off: Duration,
    /// The scheduler's memory in slots.
    pub window: u32,
    /// What becomes of blocks that fail.
    pub blocks: BlockConfig,
    /// From the end of a block until the packets in it are handed on.
    pub latency: Duration,
    /// Handovers, if the user moves.
    pub outages: Option<OutageConfig>,
    /// What stands in the way.
    pub blockage: Option<BlockageConfig>,
    /// What the radio of both directions does while nobody uses it; `None` is always ready.
    pub rrc: Option<RrcConfig>,
    /// What the user gets on average if he always has something to send: for a buffer given in bandwidth-delay
    /// products, and for results. [`CellConfig::measured`] finds it.
    pub mean: Rate,
}

/// Retransmission in LTE (sections B.3.2 and B.3.3).
const HARQ: BlockConfig = BlockConfig {
    error: 0.1,
    again: 0.1,
    transmissions: 4,
    retry: Duration::from_millis(8),
    residual: 1e-4,
    recovery: (Duration::from_millis(40), Duration::from_millis(70)),
};

impl CellConfig {
    /// LTE: 20 MHz, two layers, a user who walks slowly and one other. The channel and the other user are
    /// calibrated (see the page of the model).
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

    /// Handovers of a user who drives through a city (section B.3.3, item 10).
    pub const HANDOVERS: OutageConfig = OutageConfig {
        every: Duration::from_secs(40),
        length: Length::Handover,
    };

    /// What blocks millimetre waves (section B.3.5).
    pub const BLOCKAGE: BlockageConfig = BlockageConfig {
        free: Duration::from_secs(5),
        blocked: Duration::from_secs(1),
        factor: 0.05,
    };

    /// What an empty link adds to a packet's delay on average: half a slot's wait, a slot, those of the
    /// uplink, what failures cost and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        let wait = match self.duplex {
            Duplex::Fdd => self.slot / 2,
            // Half a slot in three and a half of five, one and a half of 1.5 in the others.
            Duplex::Tdd => self.slot * 7 / 10,
        };
        wait + self.slot + self.blocks.mean_wait() + self.latency
    }

    /// How many other users there are in a run.
    fn others(&self, rng: &ChaCha8Rng) -> u32 {
        let drawn = unit(&mut stream(rng, 3)) * (f64::from(self.more_users) + 1.0);
        self.users.saturating_add(drawn as u32).min(100)
    }

    /// Finds `mean` by looking at 100 such cells for 400 ms each, to two digits (a standard error of 4 %).
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

/// How far the mean of a place is off, in standard deviations. Drawn again beyond two: whom this cell serves worse is
/// served by another.
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
    /// When another user has something to send.
    active: Option<Timeline<Switch>>,
}

/// What the blocks of a cell carry for user 0.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    prbs: u32,
    layers: u32,
    /// In nanoseconds, as the three below.
    slot: u64,
    report: u64,
    used_after: u64,
    shares: &'static [f64],
    window: u64,
    users: Vec<User>,
    fair: Fair,
    outages: Option<Timeline<Outages>>,
    blockage: Option<(Timeline<Switch>, f64)>,
    /// The report that the rates are of.
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

    /// Takes the report that is used in the slot that begins at `nanos`.
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

    /// The bits of `slot` that user 0 has, or would have if he competed.
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
        // What was passed over would have done.
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
