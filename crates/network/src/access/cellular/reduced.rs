//! The reduced model of a cell: a rate whose logarithm varies fast and slowly, and interruptions.
//!
//! Source: docs/reference/sources.md, "Cells of LTE and 5G, and their reduced model". r = m exp(s
//! (sqrt(w) F + sqrt(1 - w) S) - s^2/2), with independent Ornstein-Uhlenbeck processes F and S,
//! drawn for each slot of a grid. The peak cuts the rate, and the location is set so that the mean
//! stays as configured. The HSDPA model uses it too.
//!
//! ## Deviations
//!
//! - Except in interruptions the rate is at least 1 kbit/s, so that every packet leaves.
//! - The slow process is constant for a thirty-second of its time constant if that is more than the
//!   grid, and changes by a quarter of its standard deviation at a time.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Rate};

use super::blocks::BlockConfig;
use super::chain::{OrnsteinUhlenbeck, OutageConfig, Outages, Timeline};
use super::rrc::RrcConfig;
use super::slotted::{BIT, Slotted, Source};
use super::stream;
use crate::process::location;

/// Lowest rate outside interruptions, in bits per second.
const LEAST: u64 = 1000;
/// The finest grid.
const LEAST_GRID: Duration = Duration::from_micros(10);

/// A varying rate.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FadingConfig {
    /// Mean rate outside interruptions; bytes of IP and the link's overhead.
    pub mean: Rate,
    /// Standard deviation of the logarithm of the rate, before the cut.
    pub spread: f64,
    /// Fraction of its variance that varies fast, 0 to 1.
    pub fast: f64,
    /// Time after which the correlation of the fast part has fallen to 1/e.
    pub tau_fast: Duration,
    /// The same for the slow part.
    pub tau_slow: Duration,
    /// Time for which a drawn rate holds.
    pub grid: Duration,
    /// Upper limit of the rate.
    pub peak: Rate,
    /// Interruptions, if any.
    pub outages: Option<OutageConfig>,
}

impl FadingConfig {
    /// The long-term mean rate.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let free = self.outages.map_or(1.0, OutageConfig::free);
        let mean = self.mean.min(self.peak).bits_per_sec() as f64;
        Rate::from_bits_per_sec((mean * free) as u64)
    }
}

/// The reduced model of a cell.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReducedConfig {
    /// The rate.
    pub fading: FadingConfig,
    /// Length of a block.
    pub tti: Duration,
    /// Retransmission of failed blocks.
    pub blocks: BlockConfig,
    /// Time from the end of a block to the delivery of its packets.
    pub latency: Duration,
    /// The states of the radio of both directions; `None` is always ready.
    pub rrc: Option<RrcConfig>,
}

impl ReducedConfig {
    /// An LTE cell around `mean` for Kachooei 2024, without interruptions: blocks of 1 ms, a tenth
    /// of which arrive 8 ms later.
    #[must_use]
    pub const fn around(mean: Rate) -> Self {
        Self {
            fading: FadingConfig {
                mean,
                spread: 0.35,
                fast: 0.5,
                tau_fast: Duration::from_millis(150),
                tau_slow: Duration::from_secs(4),
                grid: Duration::from_millis(10),
                peak: Rate::MAX,
                outages: None,
            },
            tti: Duration::from_millis(1),
            blocks: BlockConfig {
                error: 0.1,
                again: 0.0,
                transmissions: 2,
                retry: Duration::from_millis(8),
                residual: 0.0,
                recovery: (Duration::ZERO, Duration::ZERO),
            },
            latency: Duration::ZERO,
            rrc: None,
        }
    }

    /// Mean addition of an empty link to a packet's delay: half a block of waiting, a block,
    /// failures and the latency.
    #[must_use]
    pub fn idle_delay(&self) -> Duration {
        self.tti / 2 + self.tti + self.blocks.mean_wait() + self.latency
    }
}

/// The bits of the blocks at a varying rate.
#[derive(Clone, Debug)]
pub(crate) struct Fading {
    /// Location and scale of the logarithm of the rate.
    location: f64,
    fast: f64,
    slow: f64,
    peak: u64,
    grid: u64,
    processes: (Timeline<OrnsteinUhlenbeck>, Timeline<OrnsteinUhlenbeck>),
    outages: Option<Timeline<Outages>>,
    /// In nanoseconds.
    tti: u64,
    /// The slot of the grid that `rate` belongs to; bits per second.
    current: Option<u64>,
    rate: u64,
    /// A remainder of less than a bit.
    carry: u128,
}

impl Fading {
    pub(crate) fn new(config: &FadingConfig, tti: Duration, rng: &ChaCha8Rng) -> Self {
        let share = config.fast.clamp(0.0, 1.0);
        // Far above any rate, and within the range of the exponential.
        let spread = config.spread.clamp(0.0, 5.0);
        // A block has one rate.
        let grid = config.grid.max(tti).max(LEAST_GRID);
        let peak = config.peak.bits_per_sec().max(1);
        let mean = config.mean.bits_per_sec().max(1);
        let process = |tau, number| OrnsteinUhlenbeck::timeline(tau, grid, stream(rng, number));
        Self {
            location: location(mean as f64, spread, peak as f64),
            fast: spread * libm::sqrt(share),
            slow: spread * libm::sqrt(1.0 - share),
            peak,
            grid: grid.as_nanos(),
            processes: (process(config.tau_fast, 1), process(config.tau_slow, 2)),
            outages: config
                .outages
                .map(|outages| outages.timeline(stream(rng, 3))),
            tti: tti.as_nanos().max(1),
            current: None,
            rate: 0,
            carry: 0,
        }
    }

    /// In bits per second.
    fn rate(&mut self, nanos: u64) -> u64 {
        if let Some(outages) = &mut self.outages
            && outages.at(nanos).out()
        {
            return 0;
        }
        let slot = nanos / self.grid;
        if self.current != Some(slot) {
            let (fast, slow) = &mut self.processes;
            // As of its start, however late the call.
            let begin = slot * self.grid;
            let deviation = self.fast * fast.at(begin).value + self.slow * slow.at(begin).value;
            let bits = libm::exp(self.location + deviation) as u64;
            self.rate = bits.clamp(LEAST.min(self.peak), self.peak);
            self.current = Some(slot);
        }
        self.rate
    }
}

impl Source for Fading {
    fn block(&mut self, slot: u64) -> u64 {
        let rate = self.rate(slot.saturating_mul(self.tti));
        self.carry += u128::from(rate) * u128::from(self.tti);
        let bits = self.carry / BIT;
        self.carry %= BIT;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    fn idle(&mut self, from: u64, to: u64, enough: u64) -> u64 {
        self.carry = 0;
        let mut unused = 0_u64;
        let mut slot = from;
        // Steps through the slots until the answer is known, at most a second's worth.
        let last = to.min(from.saturating_add(1_000_000_000 / self.tti));
        while slot < last && unused < enough {
            unused = unused.saturating_add(self.block(slot));
            slot += 1;
        }
        self.carry = 0;
        // The remaining slots would have been enough.
        if last < to {
            unused.max(enough)
        } else {
            unused
        }
    }
}

/// The server of the reduced model.
pub(crate) fn server(config: &ReducedConfig, rng: &ChaCha8Rng) -> Slotted<Fading> {
    Slotted::new(
        Fading::new(&config.fading, config.tti, rng),
        config.tti,
        config.latency,
        &config.blocks,
        stream(rng, 0),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn fading(config: &FadingConfig) -> Fading {
        let rng = ChaCha8Rng::seed_from_u64(5);
        Fading::new(config, Duration::from_millis(1), &rng)
    }

    /// The rate is constant in a slot of the grid, though a process changes within it: a
    /// thirty-second of 4 s is 125 ms, which is not a multiple of 10.
    #[test]
    fn the_rate_of_a_grid_slot_does_not_depend_on_the_calls() {
        let config = ReducedConfig::around(Rate::from_bits_per_sec(40_000_000)).fading;
        let (mut early, mut late) = (fading(&config), fading(&config));
        for slot in 0..2000 {
            let begins = slot * config.grid.as_nanos();
            assert_eq!(early.rate(begins), late.rate(begins + 7_000_000), "{slot}");
        }
    }

    /// At 2 kbit/s a second carries less than a packet, an hour more.
    #[test]
    fn a_slow_link_goes_idle_in_a_long_pause() {
        let mut config = ReducedConfig::around(Rate::from_bits_per_sec(2000)).fading;
        config.spread = 0.0;
        assert!(fading(&config).idle(0, 3_600_000, 12_000) >= 12_000);
        assert!(fading(&config).idle(0, 900, 12_000) < 12_000);
    }
}
