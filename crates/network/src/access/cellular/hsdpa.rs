//! HSDPA, and the uplink of UMTS.
//!
//! Sources: 3GPP TS 25 series; docs/reference/networks/hsdpa.md. Downlink: packets wait at the RNC
//! (the link's queue, where drops happen). Flow control on Iub passes them to the NodeB on a grid
//! of 10 ms, at most as much as the NodeB can send within its horizon. The NodeB sends a block
//! every 2 ms at a varying rate ([`super::reduced`]), limited by the terminal's category. Failed
//! blocks are retransmitted after 12 ms; RLC retransmits the few that always fail 100 to 200 ms
//! later. Delivery is in order. Occasionally the link is interrupted, or RLC discards a packet.
//!
//! Uplink: a dedicated channel with a fixed rate and a block every 10 ms; RLC retransmits failed
//! blocks, and delivery is in order.
//!
//! ## Deviations
//!
//! - Flow control knows when the NodeB will have sent its data, which a real one estimates from its
//!   rate.
//! - The timer T1 of MAC-hs reordering is not modelled: RLC delivers in order and has the missing
//!   data only after T1.
//! - The residual error of 1 % for RLC is 1 % of the blocks whose first transmission fails: 0.1 %
//!   of all blocks. As 1 % of all PDUs, with 500 blocks a second, it would stop the link five times
//!   a second, for 150 ms each.
//! - RLC discards packets that arrive within a randomly chosen 10 ms, drawn by time and not by
//!   packet; they are dropped before the queue and not after it.
//! - Headers of MAC and RLC count only in the category's limit; the rate is that of IP.

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
/// Grid of flow control on Iub, and duration of a discard.
const IUB: u64 = 10_000_000;

/// Payload and total size of an RLC PDU in bits.
const PDU: (u64, u64) = (320, 336);
/// Header of a MAC-hs block in bits.
const MAC_HS: u64 = 21;

/// The downlink of HSDPA.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HsdpaConfig {
    /// The rate of the cell, before the limit of the terminal's category.
    pub fading: FadingConfig,
    /// Largest block of the terminal in bits (category 6: 7298, 8: 14 411, 10: 27 952).
    pub block: u32,
    /// Data that the NodeB holds, in time.
    pub horizon: Duration,
    /// Retransmission of failed blocks.
    pub blocks: BlockConfig,
    /// Time from the end of a block to the delivery of its packets.
    pub latency: Duration,
    /// Fraction of packets that RLC discards.
    pub discard: f64,
    /// The states of the radio of both directions; `None` is always ready.
    pub rrc: Option<RrcConfig>,
}

impl HsdpaConfig {
    /// A stationary card of category 6: the rate fitted to a recorded trace of UMTS, outages every
    /// 50 s. The NodeB's horizon and the latency (interleaving and processing) are chosen.
    pub const DEFAULT: Self = Self {
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

    /// Largest payload of the terminal: whole PDUs in a block every 2 ms.
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

    /// The long-term mean rate.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        self.cut().mean_rate()
    }

    /// Mean addition of an empty link to a packet's delay: the grids of Iub and of the blocks, a
    /// block, failures and the latency.
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
    /// The last grid slot that `discards` covers.
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

    /// Whether RLC will discard packets that arrive at `now`.
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
            // From a queue that acts at dequeue: the NodeB is otherwise empty.
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
    /// Length of a block.
    pub tti: Duration,
    /// Retransmission of failed blocks.
    pub blocks: BlockConfig,
    /// Time from the end of a block to the delivery of its packets.
    pub latency: Duration,
}

impl UmtsUplinkConfig {
    /// Release 99 at `rate`: blocks of 10 ms, 1 % of which RLC retransmits after 100 ms. The
    /// latency is that of interleaving.
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

    /// Mean addition of an empty link to a packet's delay: half a block of waiting, a block,
    /// failures and the latency.
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
