//! The signal, and the rates that it selects (IEEE 802.11; docs/reference/sources.md, "Wi-Fi").
//!
//! The signal changes every 10 ms: a mean, an Ornstein-Uhlenbeck process around it, and occasional
//! attenuation by a body. Every 50 ms each direction selects a rate: the best for the signal and,
//! one time in ten, the next lower or higher one, as imperfect statistics of a sender would.
//! Everything is drawn by slots of time, three numbers in each slot and two more in every fifth,
//! whichever station sends.
//!
//! ## Deviations
//!
//! - Simplified from minstrel: a selection holds for 50 ms, all packets of a frame use it, and no
//!   frame samples another rate. For minstrel's chain of retry rates, each unacknowledged frame is
//!   followed by one that is a step slower, by up to three steps, until one is acknowledged.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::config::WifiConfig;
use super::phy::Phy;
use crate::random::{normal, unit};

const SLOT: Duration = Duration::from_millis(10);
/// Slots for which a selection holds.
const CHOICE: u64 = 5;
/// Attenuation by a body in dB, and its mean duration in s.
const BODY: f64 = 5.0;
const BODY_TIME: f64 = 1.0;
/// One selection in ten is wrong: half of these too low, half too high.
const WRONG: f64 = 0.1;
/// Steps by which repeated failures lower the rate.
const CHAIN: u8 = 3;

#[derive(Clone, Debug)]
pub(super) struct Channel {
    rng: ChaCha8Rng,
    /// Slots that are drawn.
    slots: u64,
    /// Whether the channel is constant.
    constant: bool,
    mean: f64,
    /// The deviation: the part that remains after a slot, and the new part.
    keeps: f64,
    fresh: f64,
    deviation: f64,
    blocked: bool,
    /// Probabilities per slot that a body appears and disappears.
    comes: f64,
    goes: f64,
    rssi: f64,
    choices: [u8; 2],
}

impl Channel {
    pub(super) fn new(config: &WifiConfig, phy: &Phy, mut rng: ChaCha8Rng) -> Self {
        let slot = SLOT.as_secs_f64();
        let correlation = config.rssi_correlation.as_secs_f64();
        let keeps = if correlation > 0.0 {
            libm::exp(-slot / correlation)
        } else {
            0.0
        };
        let goes = slot / BODY_TIME;
        let share = config.blocked.clamp(0.0, 0.99);
        let deviation = config.rssi_deviation * normal(&mut rng);
        let blocked = unit(&mut rng) < share;
        Self {
            rng,
            slots: 0,
            constant: config.rssi_deviation == 0.0 && share == 0.0 && config.mcs.is_some(),
            mean: config.rssi,
            keeps,
            fresh: config.rssi_deviation * libm::sqrt(1.0 - keeps * keeps),
            deviation,
            blocked,
            comes: goes * share / (1.0 - share),
            goes,
            rssi: config.rssi,
            choices: [phy.usual_mcs(config); 2],
        }
    }

    /// Advances to `now`.
    pub(super) fn advance(&mut self, now: Instant, config: &WifiConfig, phy: &Phy) {
        if self.constant {
            return;
        }
        let slots = now.as_nanos() / SLOT.as_nanos() + 1;
        while self.slots < slots {
            if self.slots > 0 {
                self.deviation = self.keeps * self.deviation + self.fresh * normal(&mut self.rng);
                let turn = if self.blocked { self.goes } else { self.comes };
                self.blocked ^= unit(&mut self.rng) < turn;
            }
            let body = if self.blocked { BODY } else { 0.0 };
            self.rssi = self.mean + self.deviation - body;
            if self.slots.is_multiple_of(CHOICE) {
                self.choose(config, phy);
            }
            self.slots += 1;
        }
    }

    fn choose(&mut self, config: &WifiConfig, phy: &Phy) {
        let best = phy.best_mcs(config.rate_map, self.rssi);
        for choice in &mut self.choices {
            let luck = unit(&mut self.rng);
            let chosen = if luck < WRONG / 2.0 {
                best.saturating_sub(1)
            } else if luck > 1.0 - WRONG / 2.0 {
                best + 1
            } else {
                best
            };
            *choice = config.mcs.unwrap_or(chosen).min(phy.max_mcs());
        }
    }

    /// The rate of a direction after `failures` failed frames in a row.
    pub(super) fn mcs(&self, port: usize, failures: u8) -> u8 {
        self.choices[port].saturating_sub(failures.min(CHAIN))
    }

    /// dBm.
    pub(super) fn rssi(&self) -> f64 {
        self.rssi
    }
}

#[cfg(test)]
mod tests {
    use rand_core::SeedableRng;

    use super::*;
    use crate::access::wifi::{WifiRateMap, WifiStandard};

    fn rates(rssi: f64, map: WifiRateMap, seed: u64) -> (f64, f64, f64) {
        let config = WifiConfig {
            rate_map: map,
            ..WifiConfig::new(WifiStandard::Ac, rssi)
        };
        let phy = Phy::new(&config);
        let rng = ChaCha8Rng::seed_from_u64(seed);
        let mut channel = Channel::new(&config, &phy, rng);
        let (mut sum, mut squares, mut rate) = (0.0, 0.0, 0.0);
        let count = 200_000;
        for slot in 0..count {
            channel.advance(Instant::from_millis(slot * 10), &config, &phy);
            sum += channel.rssi();
            squares += channel.rssi() * channel.rssi();
            rate += phy.bit_rate(channel.mcs(0, 0));
        }
        let count = count as f64;
        let mean = sum / count;
        (
            mean,
            libm::sqrt(squares / count - mean * mean),
            rate / count,
        )
    }

    /// 2 dB, and 5 dB for one twentieth of the time: -0.25 dB on average, 2.28 dB of deviation.
    /// 2000 s contain 500 independent values: 0.2 dB (two standard errors) of tolerance.
    #[test]
    fn the_signal_has_its_mean_and_deviation() {
        let (mean, deviation, _) = rates(-60.0, WifiRateMap::Snr, 1);
        assert!((mean + 60.25).abs() < 0.2, "{mean}");
        assert!((deviation - 2.28).abs() < 0.2, "{deviation}");
    }

    /// At -53 dBm the sensitivity allows MCS 8 on 80 MHz, at -64 dBm MCS 4: twice as fast.
    #[test]
    fn a_strong_signal_is_twice_as_fast_as_a_weak_one() {
        let config = WifiConfig::new(WifiStandard::Ac, -53.0);
        let phy = Phy::new(&config);
        let map = WifiRateMap::Sensitivity;
        assert_eq!(phy.best_mcs(map, -53.0), 8);
        assert_eq!(phy.best_mcs(map, -64.0), 4);
        assert_eq!(phy.bit_rate(8) / phy.bit_rate(4), 2.0);
        // Noise at -88 dBm, and a second stream for 3 dB: 32 dB.
        assert!((phy.snr(-53.0) - 32.0).abs() < 0.02);
        // The mean of the process stays within a fifth of that.
        let (_, _, strong) = rates(-53.0, map, 2);
        let (_, _, weak) = rates(-64.0, map, 2);
        assert!((strong / weak - 2.0).abs() < 0.4, "{}", strong / weak);
    }

    #[test]
    fn a_loss_of_one_in_ten_is_where_the_table_has_it() {
        let phy = Phy::new(&WifiConfig::new(WifiStandard::Ac, -53.0));
        assert!((phy.loss(8, 29.0) - 0.1).abs() < 1e-12);
        assert!((phy.loss(8, 30.2) - 0.01).abs() < 1e-12);
        assert!((phy.loss(8, 20.0) - 1.0).abs() < 1e-12);
    }
}
