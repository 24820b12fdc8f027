//! HSDPA, and the uplink of UMTS.
//!
//! Network-models, section B.4.3. Downlink: packets wait at the RNC (the link's queue, where drops happen) until
//! flow control on Iub lets them go to the NodeB, on a grid of 10 ms and no more than the NodeB sends within
//! its horizon; the NodeB sends a block each 2 ms at a rate that wanders ([`super::reduced`]), which the
//! terminal's category cuts; blocks that fail are retransmitted after 12 ms, the few that never come
//! through by RLC 100 to 200 ms later, and everything is handed on in order. Now and then the link is
//! interrupted, and now and then RLC discards a packet for good.
//!
//! Uplink: a dedicated channel with a fixed rate and a block each 10 ms; a block that fails comes with RLC's
//! retransmission, in order.
//!
//! ## Deviations
//!
//! - Flow control looks at when the NodeB will really be through with what it has, which the real one
//!   estimates from its rate.
//! - The timer T1 of MAC-hs reordering is not seen: RLC, which has the missing data only later than T1, delivers in order.
//! - Section B.4.3 says that 1 % of PDUs remain for RLC, which with 500 blocks a second would stop the link five times a
//!   second, for 150 ms each. Read as 1 % of the blocks whose first transmission fails: 0.1 % of all blocks.
//! - RLC discards what arrives within a chosen 10 ms, drawn for the time and not for the packet; it is gone before
//!   the queue and not after it.
//! - Bits of MAC and RLC headers are in the category's cut alone; the rate is that of IP.

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant, Rate};

use super::blocks::BlockConfig;
use super::chain::{Length, OutageConfig};
use super::reduced::{Fading, FadingConfig};
use super::rrc::RrcConfig;
use super::slotted::{Slotted, Steady};
use super::stream;
use crate::DropReason;
use crate::access::Served;
use crate::random::Chance;

/// Downlink: how long a block lasts (three slots).
pub const TTI: Duration = Duration::from_millis(2);
/// Flow control on Iub, and the time that a discard lasts.
const IUB: u64 = 10_000_000;

/// Payload and whole size of an RLC PDU in bits.
const PDU: (u64, u64) = (320, 336);
/// Header of a MAC-hs block in bits.
const MAC_HS: u64 = 21;

/// The downlink of HSDPA.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HsdpaConfig {
    /// The rate that the cell gives, before the terminal's category cuts it.
    pub fading: FadingConfig,
    /// The largest block that the terminal takes, in bits (category 6: 7298, 8: 14 411, 10: 27 952).
    pub block: u32,
    /// How much the NodeB holds, in time.
    pub horizon: Duration,
    /// What becomes of blocks that fail.
    pub blocks: BlockConfig,
    /// From the end of a block until the packets in it are handed on.
    pub latency: Duration,
    /// Share of packets that RLC discards.
    pub discard: f64,
    /// What the radio of both directions does while nobody uses it; `None` is always ready.
    pub rrc: Option<RrcConfig>,
}

impl HsdpaConfig {
    /// Section B.4 as far as it says, for a card of category 6 that does not move: the rate of B.3.4, outages each
    /// 50 s. The NodeB's horizon and the latency (interleaving and processing) are chosen.
    pub const USUAL: Self = Self {
        fading: FadingConfig {
            mean: Rate::from_bits_per_sec(2_000_000),
            spread: 0.75,
            fast: 0.1,
            tau_fast: Duration::from_millis(100),
            tau_slow: Duration::from_millis(7500),
            grid: Duration::from_millis(10),
            peak: Rate::MAX,
            outages: Some(OutageConfig {
                every: Duration::from_secs(50),
                length: Length::LogNormal {
                    median: Duration::from_millis(400),
                    sigma: 0.6,
                    most: Duration::from_secs(6),
                },
            }),
        },
        block: 7298,
        horizon: Duration::from_millis(20),
        blocks: BlockConfig {
            error: 0.1,
            again: 0.1,
            transmissions: 4,
            retry: Duration::from_millis(12),
            residual: 0.001,
            recovery: (Duration::from_millis(100), Duration::from_millis(200)),
        },
        latency: Duration::from_millis(15),
        discard: 2e-4,
        rrc: None,
    };

    /// The most payload that the terminal takes: whole PDUs in a block each 2 ms.
    #[must_use]
    pub fn category_rate(&self) -> Rate {
        let pdus = u64::from(self.block).saturating_sub(MAC_HS) / PDU.1;
        Rate::from_bits_per_sec((pdus * PDU.0).max(1) * 500)
    }

    fn cut(&self) -> FadingConfig {
        FadingConfig {
            peak: self.fading.peak.min(self.category_rate()),
            ..self.fading
        }
    }

    /// The rate averaged over a long time.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        self.cut().mean_rate()
    }

    /// What an empty link adds to a packet's delay on average: the grids of Iub and of the blocks, a block, what
    /// failures cost and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        let grids = Duration::from_nanos(IUB / 2);
        grids + TTI + self.blocks.mean_wait() + self.latency
    }
}

/// The server of the downlink.
#[derive(Clone, Debug)]
pub(crate) struct Hsdpa {
    radio: Slotted<Fading>,
    horizon: Duration,
    discard: Chance,
    rng: ChaCha8Rng,
    /// The last grid slot that `discards` is of.
    slot: Option<u64>,
    discards: bool,
}

impl Hsdpa {
    pub(crate) fn new(config: &HsdpaConfig, rng: &ChaCha8Rng) -> Self {
        let source = Fading::new(&config.cut(), TTI, rng);
        Self {
            radio: Slotted::new(source, TTI, config.latency, &config.blocks, stream(rng, 0)),
            horizon: config.horizon,
            discard: Chance::new(config.discard),
            rng: stream(rng, 4),
            slot: None,
            discards: false,
        }
    }

    /// Whether RLC will discard what arrives at `now`.
    pub(crate) fn refuses(&mut self, now: Instant) -> Option<DropReason> {
        let slot = now.as_nanos() / IUB;
        if self.slot != Some(slot) {
            self.rng.set_word_pos(u128::from(slot) * 2);
            self.discards = self.discard.draw(&mut self.rng);
            self.slot = Some(slot);
        }
        self.discards.then_some(DropReason::Loss)
    }

    pub(crate) fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        if now == busy_until {
            // From a queue that decides when a packet leaves it: the NodeB has nothing else.
            return self.radio.serve(now, busy_until, true, bytes);
        }
        let wanted = now.max(Instant::from_nanos(
            busy_until
                .as_nanos()
                .saturating_sub(self.horizon.as_nanos()),
        ));
        let goes = Instant::from_nanos(wanted.as_nanos().div_ceil(IUB).saturating_mul(IUB));
        let served = self.radio.serve(goes, busy_until, false, bytes);
        Served {
            start: goes,
            ..served
        }
    }

    pub(crate) fn release(&self, end: Instant) -> Instant {
        self.radio.release(end)
    }

    pub(crate) fn capacity(&mut self, until: Instant) -> Bytes {
        self.radio.capacity(until)
    }
}

/// The uplink of UMTS: a dedicated channel (release 99), or HSUPA as a faster one.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UmtsUplinkConfig {
    /// Its rate.
    pub rate: Rate,
    /// How long a block lasts.
    pub tti: Duration,
    /// What becomes of blocks that fail.
    pub blocks: BlockConfig,
    /// From the end of a block until the packets in it are handed on.
    pub latency: Duration,
}

impl UmtsUplinkConfig {
    /// Release 99 at `rate` (section B.4.2): blocks of 10 ms, 1 % of them repeated by RLC after 100 ms. The latency is
    /// that of interleaving.
    #[must_use]
    pub const fn at(rate: Rate) -> Self {
        Self {
            rate,
            tti: Duration::from_millis(10),
            blocks: BlockConfig {
                error: 0.01,
                again: 0.01,
                transmissions: 4,
                retry: Duration::from_millis(100),
                residual: 0.0,
                recovery: (Duration::ZERO, Duration::ZERO),
            },
            latency: Duration::from_millis(20),
        }
    }

    /// What an empty link adds to a packet's delay on average: half a block's wait, a block, what failures
    /// cost and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        self.tti / 2 + self.tti + self.blocks.mean_wait() + self.latency
    }
}

/// The server of the uplink.
pub(crate) fn uplink(config: &UmtsUplinkConfig, rng: &ChaCha8Rng) -> Slotted<Steady> {
    let bits = u128::from(config.rate.bits_per_sec()) * u128::from(config.tti.as_nanos());
    Slotted::new(
        Steady::new(bits),
        config.tti,
        config.latency,
        &config.blocks,
        stream(rng, 0),
    )
}
