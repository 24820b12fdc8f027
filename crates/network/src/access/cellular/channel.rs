//! The channel of a user in a cell: SINR, and the rate that it allows.
//!
//! Sources: 3GPP TS 36.213; docs/reference/networks/lte.md. In dB the SINR is the sum of a mean,
//! slow shadowing ([`super::chain::OrnsteinUhlenbeck`]) and fast fading: the power of a sum of waves from
//! all directions (Jakes' spectrum, the sum of sinusoids of Zheng and Xiao, IEEE Communications
//! Letters 2002), averaged over the antennas. Fading is a function of time, so every time costs the
//! same.
//!
//! ## Deviations
//!
//! - The phases and directions of the waves are drawn once; in a long run the fading nearly repeats
//!   and does not have its exact statistics.
//! - Below the range of the table (-6.7 dB) a user is not served.

use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use units::Duration;

use super::chain::{OrnsteinUhlenbeck, Timeline};
use crate::random::unit;

/// Thresholds of the CQI in dB, and the bits per resource element above each.
const CQI: [(f64, f64); 15] = [
    (-6.7, 0.1523),
    (-4.7, 0.2344),
    (-2.3, 0.3770),
    (0.2, 0.6016),
    (2.4, 0.8770),
    (4.3, 1.1758),
    (5.9, 1.4766),
    (8.1, 1.9141),
    (10.3, 2.4063),
    (11.7, 2.7305),
    (14.1, 3.3223),
    (16.3, 3.9023),
    (18.7, 4.5234),
    (21.0, 5.1152),
    (22.7, 5.5547),
];

/// Resource elements of a pair of resource blocks that carry data.
const ELEMENTS: f64 = 120.0;

/// Bits of a block over all resources; zero below the lowest threshold.
pub(crate) fn block_bits(sinr_db: f64, prbs: u32, layers: u32) -> u64 {
    let quality = CQI.partition_point(|(threshold, _)| *threshold <= sinr_db);
    let efficiency = quality.checked_sub(1).map_or(0.0, |index| CQI[index].1);
    (f64::from(prbs) * ELEMENTS * efficiency * f64::from(layers)) as u64
}

/// Waves that reach an antenna.
const WAVES: usize = 8;

/// The two components of a wave: turns per second, and initial phase.
type Wave = [(f64, f64); 2];

/// Power of fast fading, with mean one.
#[derive(Clone, Debug)]
struct Fading {
    antennas: Vec<[Wave; WAVES]>,
}

impl Fading {
    fn new(doppler_hz: f64, antennas: u32, rng: &mut ChaCha8Rng) -> Self {
        let mut antenna = || {
            let turn = core::f64::consts::TAU * (unit(rng) - 0.5);
            let mut number = 0.0;
            [(); WAVES].map(|()| {
                number += 1.0;
                let spread = core::f64::consts::TAU * number - core::f64::consts::PI + turn;
                let angle = spread / (4.0 * WAVES as f64);
                [
                    (doppler_hz * libm::cos(angle), unit(rng)),
                    (doppler_hz * libm::sin(angle), unit(rng)),
                ]
            })
        };
        Self {
            antennas: (0..antennas.clamp(1, 8)).map(|_| antenna()).collect(),
        }
    }

    fn power(&self, seconds: f64) -> f64 {
        let power = |antenna: &[Wave; WAVES]| {
            let mut sums = [0.0, 0.0];
            for wave in antenna {
                for (sum, (turns, phase)) in sums.iter_mut().zip(wave) {
                    let turns = turns * seconds + phase;
                    *sum += libm::cos(core::f64::consts::TAU * (turns - libm::floor(turns)));
                }
            }
            (sums[0] * sums[0] + sums[1] * sums[1]) / WAVES as f64
        };
        self.antennas.iter().map(power).sum::<f64>() / self.antennas.len() as f64
    }
}

/// The channel of a user.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ChannelConfig {
    /// Mean SINR in dB, without fading.
    pub sinr_db: f64,
    /// Standard deviation of the shadow in dB.
    pub shadow_db: f64,
    /// Time after which the shadow's correlation has fallen to 1/e.
    pub shadow_tau: Duration,
    /// Largest Doppler shift in Hz (speed over wavelength). Zero: no fading.
    pub doppler_hz: f64,
    /// Number of antennas whose powers are averaged, at most eight.
    pub antennas: u32,
}

/// The channel of a user, at any time.
#[derive(Clone, Debug)]
pub(crate) struct Channel {
    mean_db: f64,
    shadow_db: f64,
    shadow: Option<Timeline<OrnsteinUhlenbeck>>,
    fading: Option<Fading>,
}

impl Channel {
    /// `rng` and `shadow` are two streams.
    pub(crate) fn new(config: &ChannelConfig, mut rng: ChaCha8Rng, shadow: ChaCha8Rng) -> Self {
        let tau = config.shadow_tau;
        let shadows = config.shadow_db > 0.0;
        let fades = config.doppler_hz > 0.0;
        Self {
            mean_db: config.sinr_db,
            shadow_db: config.shadow_db,
            shadow: shadows
                .then(|| OrnsteinUhlenbeck::timeline(tau, Duration::from_millis(5), shadow)),
            fading: fades.then(|| Fading::new(config.doppler_hz, config.antennas, &mut rng)),
        }
    }

    pub(crate) fn sinr_db(&mut self, nanos: u64) -> f64 {
        let mut sinr = self.mean_db;
        if let Some(shadow) = &mut self.shadow {
            sinr += self.shadow_db * shadow.at(nanos).value;
        }
        if let Some(fading) = &self.fading {
            let power = fading.power(nanos as f64 / 1e9);
            sinr += 10.0 * libm::log10(power.max(1e-9));
        }
        sinr
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    /// Mbit/s of one layer in blocks of 1 ms.
    #[test]
    fn rates_of_the_cqi() {
        for (sinr, half, full) in [
            (-6.7, 0.9, 1.8),
            (6.0, 8.9, 17.7),
            (16.5, 23.4, 46.8),
            (40.0, 33.3, 66.7),
        ] {
            for (prbs, mbit) in [(50, half), (100, full)] {
                let found = block_bits(sinr, prbs, 1) as f64 / 1000.0;
                assert!((found - mbit).abs() <= 0.05, "{sinr} {prbs}: {found}");
            }
        }
        assert_eq!(block_bits(-6.8, 100, 2), 0);
        assert_eq!(block_bits(f64::NEG_INFINITY, 100, 2), 0);
        assert_eq!(block_bits(22.7, 100, 2), 133_312);
    }

    #[test]
    fn fading_has_its_moments_and_its_coherence() {
        let (mut count, mut sum, mut squares, mut deep) = (0.0, 0.0, 0.0, 0.0);
        let (mut product, mut sum_2) = (0.0, 0.0);
        for seed in 0..400 {
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            let fading = Fading::new(3.0, 1, &mut rng);
            for step in 0..500 {
                let at = f64::from(step) * 0.37;
                let power = fading.power(at);
                count += 1.0;
                sum += power;
                squares += power * power;
                deep += f64::from(power < 0.1);
                // First zero of J0 is at 2.405: after 127.6 ms at 3 Hz the amplitudes are
                // independent.
                product += power * fading.power(at + 2.405 / (core::f64::consts::TAU * 3.0));
                sum_2 += power;
            }
        }
        let mean = sum / count;
        // Rayleigh: the power is exponential, with mean and variance one; 9.5 % of the time it is
        // 10 dB below its mean.
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
        let variance = squares / count - mean * mean;
        assert!((variance - 1.0).abs() < 0.12, "{variance}");
        let deep = deep / count;
        assert!((deep - 0.095).abs() < 0.012, "{deep}");
        let covariance = product / count - mean * sum_2 / count;
        assert!(covariance.abs() < 0.1, "{covariance}");
    }
}
