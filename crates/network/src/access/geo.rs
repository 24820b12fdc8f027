//! The forward link of a geostationary satellite: an effective rate, which weather reduces in
//! steps.
//!
//! Sources: ETSI EN 302 307, Kachooei 2024, and docs/reference/networks/geo.md. The rate is that of
//! one client under a clear sky. With adaptive coding, the Es/N0 is sampled periodically, one round
//! trip late, and selects the most efficient MODCOD of DVB-S2 whose threshold it meets; the rate is
//! proportional to its efficiency. With frames (BBFRAME), packets leave at the end of their frame.
//! The gateway's queue, with its random drops, is the link's own (`random-above`).
//!
//! There is no performance-enhancing proxy, as in Kachooei 2024: TCP runs end to end.
//!
//! ## Assumptions
//!
//! - The load of other clients differs between runs, not within a run: the rate of a run is
//!   log-normal around the median (`spread`; without it, all runs have the median).
//! - The residual frame error rate (1e-7) is neglected.
//! - Below the threshold of the most robust MODCOD the link keeps using that one.

use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, MAX_DURATION, Rules, described};
use units::{Bytes, Duration, Instant, Rate};

use super::{AccessModel, AccessServer, Served, Serves, Surroundings};
use crate::process::{self, BYTE, Stretch};
use crate::random::{Purpose, normal, stream};

/// Efficiency in bit/s/Hz and required Es/N0 in dB of the MODCODs in use: DVB-S2, normal frames
/// (ETSI EN 302 307).
pub const MODCODS: [(f64, f64); 9] = [
    (0.490, -2.35),
    (0.989, 1.00),
    (1.487, 4.03),
    (1.981, 6.62),
    (2.228, 7.91),
    (2.479, 9.35),
    (2.637, 8.97),
    (2.967, 10.21),
    (3.300, 11.61),
];

/// The efficiency at which the link has its configured rate.
const FULL_EFFICIENCY: f64 = 3.300;

/// Largest value in dB.
const MAX_DECIBEL: f64 = 100.0;

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct GeoConfig(
        "geo", "a satellite's forward link", "The forward link of a geostationary satellite."
    ) {
        /// Rate of one client under a clear sky; the median over the runs.
        rate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("33 Mbit/s");
        /// Standard deviation of the logarithm of the rate between runs.
        spread: f64 = 0.0 => Key::of(Kind::Share(0.0, 300.0));
        /// Length of a frame (BBFRAME): packets leave at multiples of it, or at once where it is zero.
        frame: Duration = Duration::ZERO => Key::of(Kind::DELAY);
        /// Adaptive coding and modulation; without it the sky is always clear.
        acm: Option<AcmConfig> = None => Key::of(Kind::Table(AcmConfig::TABLE)).usually("none");
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct AcmConfig("acm", "adaptive coding", "Adaptive coding and modulation (DVB-S2).") {
        /// Es/N0 under a clear sky.
        clear_sky: f64 = 12.0 => Key::of(Kind::Decibel(0.0, MAX_DECIBEL));
        /// Standard deviation of the slow variation of Es/N0.
        deviation: f64 = 0.5 => Key::of(Kind::Decibel(0.0, MAX_DECIBEL));
        /// Time after which the correlation of that variation has fallen to 1/e.
        correlation: Duration = Duration::from_secs(10) => Key::of(Kind::SPAN);
        /// Margin between Es/N0 and the threshold of the MODCOD.
        margin: f64 = 0.5 => Key::of(Kind::Decibel(0.0, MAX_DECIBEL));
        /// Time between two choices of a MODCOD.
        every: Duration = Duration::from_millis(500)
            => Key::of(Kind::Time(Duration::from_millis(1), MAX_DURATION));
        /// Age of the Es/N0 by which a MODCOD is chosen: one round trip.
        lag: Duration = Duration::from_millis(600) => Key::of(Kind::DELAY);
        /// A rain shower.
        rain: Option<RainConfig> = None => Key::of(Kind::Table(RainConfig::TABLE)).usually("none");
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct RainConfig("rain", "a shower", "A rain shower that begins, lasts and ends.") {
        /// Attenuation of Es/N0 at its height.
        depth: f64 = 0.0 => Key::of(Kind::Decibel(0.0, MAX_DECIBEL)).needed("4 dB");
        /// Time at which it begins.
        start: Instant = Instant::from_secs(10) => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION));
        /// Time in which the attenuation rises, and later falls.
        ramp: Duration = Duration::from_secs(60)
            => Key::of(Kind::Seconds(Duration::from_nanos(1), MAX_DURATION));
        /// Time at its height.
        hold: Duration = Duration::from_secs(60)
            => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION));
    }
}

impl Rules for GeoConfig {}
impl Rules for AcmConfig {}
impl Rules for RainConfig {}

impl AccessModel for GeoConfig {
    fn mean_rate(&self) -> Rate {
        self.rate
    }

    /// Half a frame.
    fn idle_delay(&self) -> Duration {
        self.frame.mul_div(1, 2)
    }
}

impl Serves for GeoConfig {
    type Server = Geo;

    fn server(&self, around: &Surroundings<'_>) -> Geo {
        Geo::new(self, around.rng)
    }
}

impl RainConfig {
    /// Attenuation at `at`, in dB.
    fn at(&self, at: Instant) -> f64 {
        let ramp = self.ramp.as_nanos().max(1) as f64;
        let since = at.saturating_since(self.start).as_nanos() as f64;
        let whole = ramp + self.hold.as_nanos() as f64;
        let coming = since / ramp;
        let going = (whole + ramp - since) / ramp;
        self.depth * coming.min(going).clamp(0.0, 1.0)
    }
}

/// The efficiency of the most efficient MODCOD for an Es/N0 of `available` dB.
fn efficiency(available: f64) -> f64 {
    let carried = MODCODS.iter().filter(|(_, needed)| *needed <= available);
    let best = carried
        .map(|(efficiency, _)| *efficiency)
        .fold(0.0, f64::max);
    best.max(MODCODS[0].0)
}

/// The server.
#[derive(Clone, Debug)]
pub struct Geo {
    rate: Rate,
    frame: u64,
    acm: Option<Acm>,
    debt: u128,
    current: Stretch,
}

#[derive(Clone, Debug)]
struct Acm {
    config: AcmConfig,
    /// Correlation of a sample with the next.
    memory: f64,
    /// Standard normal deviate of the current sample.
    deviate: f64,
    rng: ChaCha8Rng,
}

impl Geo {
    fn new(config: &GeoConfig, rng: &ChaCha8Rng) -> Self {
        let mut rng = stream(rng, Purpose::Rate);
        let median = config.rate.bits_per_sec() as f64;
        // At least one bit per second, so that every packet leaves.
        let rate = (median * libm::exp(config.spread * normal(&mut rng))) as u64;
        let rate = Rate::from_bits_per_sec(rate.max(1));
        let mut geo = Self {
            rate,
            frame: config.frame.as_nanos(),
            debt: 0,
            current: Stretch {
                end: Instant::MAX,
                rate,
            },
            acm: config.acm.map(|mut config| {
                config.every = config.every.max(Duration::from_millis(1));
                let correlation = config.correlation.as_nanos().max(1) as f64;
                Acm {
                    config,
                    memory: libm::exp(-(config.every.as_nanos() as f64) / correlation),
                    deviate: normal(&mut rng),
                    rng,
                }
            }),
        };
        if geo.acm.is_some() {
            geo.sample(Instant::ZERO);
        }
        geo
    }

    /// The stretch that starts at `begin`, at a sample.
    fn sample(&mut self, begin: Instant) {
        let Some(acm) = &mut self.acm else {
            return;
        };
        let config = &acm.config;
        let back = config.lag.as_nanos();
        let seen = Instant::from_nanos(begin.as_nanos().saturating_sub(back));
        let rain = config.rain.map_or(0.0, |rain| rain.at(seen));
        let level = config.clear_sky + config.deviation * acm.deviate - rain - config.margin;
        let share = efficiency(level) / FULL_EFFICIENCY;
        let rate = (self.rate.bits_per_sec() as f64 * share) as u64;
        self.current = Stretch {
            end: begin + config.every,
            rate: Rate::from_bits_per_sec(rate.max(1)),
        };
        let fresh = libm::sqrt(1.0 - acm.memory * acm.memory);
        acm.deviate = acm.memory * acm.deviate + fresh * normal(&mut acm.rng);
    }

    fn stretch(&mut self, at: Instant) -> Stretch {
        while self.current.end <= at && self.current.end < Instant::MAX {
            self.sample(self.current.end);
        }
        self.current
    }
}

impl AccessServer for Geo {
    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let after_gap = now > busy_until;
        let start = now.max(busy_until);
        let debt = if after_gap { 0 } else { self.debt };
        let work = u128::from(bytes) * BYTE + debt;
        let (end, debt) = process::finish(start, work, |at| self.stretch(at));
        self.debt = debt;
        Served {
            start,
            end,
            after_gap,
        }
    }

    fn release(&mut self, end: Instant) -> Instant {
        if self.frame == 0 || end == Instant::MAX {
            return end;
        }
        let frames = end.as_nanos().div_ceil(self.frame);
        Instant::from_nanos(frames.saturating_mul(self.frame))
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        process::capacity(Instant::ZERO, until, |at| self.stretch(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_modcod_is_used_that_the_signal_carries() {
        for (available, expected) in [
            (30.0, 3.300),
            (11.61, 3.300),
            (11.60, 2.967),
            (10.20, 2.637),
            // 8PSK 5/6 needs more Es/N0 than 16APSK 2/3 and carries less: it is never used.
            (9.40, 2.637),
            (8.96, 2.228),
            (7.00, 1.981),
            (5.00, 1.487),
            (2.00, 0.989),
            (0.00, 0.490),
            (-20.0, 0.490),
        ] {
            assert_eq!(efficiency(available), expected, "{available} dB");
        }
    }

    #[test]
    fn rain_comes_stays_and_goes() {
        let rain = RainConfig {
            depth: 4.0,
            start: Instant::from_secs(10),
            ramp: Duration::from_secs(40),
            hold: Duration::from_secs(60),
        };
        for (second, expected) in [
            (0, 0.0),
            (10, 0.0),
            (20, 1.0),
            (50, 4.0),
            (110, 4.0),
            (130, 2.0),
            (150, 0.0),
            (9999, 0.0),
        ] {
            assert_eq!(rain.at(Instant::from_secs(second)), expected, "{second} s");
        }
    }
}
