//! Propagation: the power of a frame at a distance.
//!
//! - *Friis*: free space, `P g² / d²` with `g = λ / 4π` (Friis, Proceedings of the IRE 34(5),
//!   1946).
//! - *Two-ray ground*: free space up to the crossover distance `4π h² / λ`, and `P h⁴ / d⁴` beyond
//!   it, where the reflection from the ground cancels the direct ray (Rappaport, Wireless
//!   Communications, 2nd edition, 2002, section 4.6). The powers meet at the crossover distance.
//! - *Log-distance*: free space up to a reference distance, and a power of the distance beyond it
//!   (Rappaport 2002, section 4.9.1).
//! - *Shadowing*: log-distance with a gain in dB that is normally distributed over pairs of nodes
//!   (Rappaport 2002, section 4.9.2).
//!
//! The defaults are those of the ns-2 manual (Fall and Varadhan, 2011, chapter 18): the 914 MHz
//! WaveLAN radio, which receives at 250 m and senses at 550 m.
//!
//! ## Assumptions
//!
//! - All radios have the same power, and antennas without gain at the same height.
//! - Shadowing is symmetric and constant for a pair of nodes, also when they move. It is truncated
//!   at four standard deviations, so that a radio has a largest range.
//! - The received power never exceeds the transmitted one.

use core::f64::consts::PI;

use libm::{log10, pow, sqrt};
use network::Streams;
use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, Rules, Wrong, described, words};
use units::Duration;

use crate::NodeId;
use crate::random::unit;

/// The speed of light, in metres per second.
pub const LIGHT_SPEED: f64 = 299_792_458.0;
/// The largest gain of shadowing, in standard deviations.
const MOST_DEVIATIONS: f64 = 4.0;
const NANOS_PER_SEC: f64 = 1e9;

/// How power decreases with distance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PropagationModel {
    /// Free space up to the crossover distance, and the fourth power of the distance beyond it.
    TwoRay,
    /// Free space.
    Friis,
    /// A power of the distance.
    LogDistance,
    /// A power of the distance, and a random gain for each pair of nodes.
    Shadowing,
}

words!(PropagationModel:
    "two-ray" => TwoRay,
    "friis" => Friis,
    "log-distance" => LogDistance,
    "shadowing" => Shadowing,
);

/// How a radio decides which frame it receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReceptionModel {
    /// Pairs of frames are compared: the first survives if it is stronger by the capture ratio.
    Capture,
    /// The signal is compared with the noise and the sum of all interference.
    Sinr,
}

words!(ReceptionModel: "capture" => Capture, "sinr" => Sinr);

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct RadioConfig(
        "radio",
        "a radio",
        "Propagation, thresholds and reception of all radios of an ad-hoc network."
    ) {
        /// Propagation model.
        propagation: PropagationModel = PropagationModel::TwoRay
            => Key::of(Kind::Words(PropagationModel::WORDS));
        /// Transmit power.
        power: f64 = 24.5 => Key::of(Kind::Level(-60.0, 90.0));
        /// Factor on the transmission range: it raises the power accordingly.
        range_multiplier: f64 = 1.0 => Key::of(Kind::Number(0.01, 100.0));
        /// Carrier frequency.
        frequency: f64 = 914e6 => Key::of(Kind::Hertz(1e6, 1e12));
        /// Height of the antennas above the ground (two-ray).
        antenna_height: f64 = 1.5 => Key::of(Kind::Length(0.01, 1000.0));
        /// Exponent of the distance (log-distance, shadowing).
        exponent: f64 = 3.0 => Key::of(Kind::Number(1.0, 10.0));
        /// Distance up to which free space is assumed (log-distance, shadowing).
        reference_distance: f64 = 1.0 => Key::of(Kind::Length(0.01, 1000.0));
        /// Standard deviation of the gain over pairs of nodes (shadowing).
        deviation: f64 = 4.0 => Key::of(Kind::Decibel(0.0, 30.0));
        /// Weakest frame that a radio can decode.
        receive_threshold: f64 = -64.374_69 => Key::of(Kind::Level(-200.0, 60.0));
        /// Weakest frame that makes the medium busy.
        sense_threshold: f64 = -78.071_54 => Key::of(Kind::Level(-200.0, 60.0));
        /// Which of two frames a radio receives: by pairwise capture, or by the SINR.
        reception: ReceptionModel = ReceptionModel::Capture
            => Key::of(Kind::Words(ReceptionModel::WORDS));
        /// Ratio by which a frame survives a later one (capture).
        capture: f64 = 10.0 => Key::of(Kind::Decibel(0.0, 100.0));
        /// Lowest SINR at which a frame is intact (sinr).
        sinr: f64 = 10.0 => Key::of(Kind::Decibel(-30.0, 100.0));
        /// Noise, with the noise figure of the receiver (sinr).
        noise: f64 = -101.0 => Key::of(Kind::Level(-200.0, 60.0));
    }
}

impl Rules for RadioConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if Propagation::new(self, &Streams::new(0)).range() > 0.0 {
            return Ok(());
        }
        Err(Wrong::at(
            "receive_threshold",
            "no radio can receive another: the threshold is not below the transmit power",
        ))
    }
}

/// Watts of a level in dBm.
#[must_use]
pub fn watts(dbm: f64) -> f64 {
    pow(10.0, dbm / 10.0) / 1000.0
}

/// The level of a power in watts, in dBm.
#[must_use]
pub fn dbm(watts: f64) -> f64 {
    10.0 * log10(watts * 1000.0)
}

/// The ratio of `db` decibels.
#[must_use]
pub fn ratio(db: f64) -> f64 {
    pow(10.0, db / 10.0)
}

/// The time in which light travels a distance, rounded up, and at least 1 ns. Rounding up keeps the
/// triangle inequality: a detour never arrives before the direct way.
#[must_use]
pub fn delay(metres: f64) -> Duration {
    let nanos = libm::ceil(metres * (NANOS_PER_SEC / LIGHT_SPEED)) as u64;
    Duration::from_nanos(nanos.max(1))
}

/// The propagation between the radios of a network.
#[derive(Clone, Debug)]
pub struct Propagation {
    model: PropagationModel,
    /// Watts.
    power: f64,
    /// `power * (λ / 4π)²`.
    friis: f64,
    /// Metres: the end of free space.
    corner: f64,
    exponent: f64,
    /// Of received powers, in watts.
    receive: f64,
    sense: f64,
    /// dB.
    deviation: f64,
    /// Where the streams of pairs begin.
    shadows: ChaCha8Rng,
}

impl Propagation {
    /// The propagation under a configuration. Shadowing draws from the stream `"shadowing"`.
    #[must_use]
    pub fn new(config: &RadioConfig, streams: &Streams) -> Self {
        let wave = LIGHT_SPEED / config.frequency;
        let height = config.antenna_height;
        let (corner, exponent) = match config.propagation {
            PropagationModel::TwoRay => (4.0 * PI * height * height / wave, 4.0),
            PropagationModel::Friis => (f64::INFINITY, 2.0),
            PropagationModel::LogDistance | PropagationModel::Shadowing => {
                (config.reference_distance, config.exponent)
            }
        };
        let power = watts(config.power) * pow(config.range_multiplier, exponent);
        let gain = wave / (4.0 * PI);
        let shadowed = config.propagation == PropagationModel::Shadowing;
        Self {
            model: config.propagation,
            power,
            friis: power * gain * gain,
            corner,
            exponent,
            receive: watts(config.receive_threshold),
            sense: watts(config.sense_threshold),
            deviation: if shadowed { config.deviation } else { 0.0 },
            shadows: streams.stream("shadowing"),
        }
    }

    /// The transmit power, in watts.
    #[must_use]
    pub const fn power(&self) -> f64 {
        self.power
    }

    /// The distance up to which free space holds, in metres.
    #[must_use]
    pub const fn crossover(&self) -> f64 {
        self.corner
    }

    /// The weakest frame that a radio can decode, in watts.
    #[must_use]
    pub const fn receive_threshold(&self) -> f64 {
        self.receive
    }

    /// The weakest frame that makes the medium busy, in watts.
    #[must_use]
    pub const fn sense_threshold(&self) -> f64 {
        self.sense
    }

    /// The received power without shadowing at a distance given by its square, in watts.
    #[must_use]
    pub fn received_squared(&self, metres_squared: f64) -> f64 {
        let free = self.friis / metres_squared;
        let received = if metres_squared <= self.corner * self.corner {
            free
        } else {
            match self.model {
                PropagationModel::Friis => free,
                PropagationModel::TwoRay => free * (self.corner * self.corner / metres_squared),
                PropagationModel::LogDistance | PropagationModel::Shadowing => {
                    let near = self.corner * self.corner;
                    self.friis / near * pow(near / metres_squared, self.exponent / 2.0)
                }
            }
        };
        // Also where the distance is zero.
        if received < self.power {
            received
        } else {
            self.power
        }
    }

    /// The received power without shadowing, in watts.
    #[must_use]
    pub fn received(&self, metres: f64) -> f64 {
        self.received_squared(metres * metres)
    }

    /// The gain of shadowing between two nodes, as a ratio; the same in both directions.
    #[must_use]
    pub fn shadow(&self, one: NodeId, other: NodeId) -> f64 {
        if self.deviation <= 0.0 {
            return 1.0;
        }
        let mut rng = self.shadows.clone();
        let (low, high) = (one.0.min(other.0), one.0.max(other.0));
        rng.set_stream(u64::from(low) << 32 | u64::from(high));
        rng.set_word_pos(0);
        // Box and Muller, the cosine of the pair.
        let radius = sqrt(-2.0 * libm::log(1.0 - unit(&mut rng)));
        let normal = radius * libm::cos(2.0 * PI * unit(&mut rng));
        let normal = normal.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS);
        ratio(self.deviation * normal)
    }

    /// The largest gain of shadowing, as a ratio.
    #[must_use]
    pub fn most_shadow(&self) -> f64 {
        ratio(self.deviation * MOST_DEVIATIONS)
    }

    /// The distance at which `watts` arrive without shadowing, in metres; zero if no distance is
    /// close enough.
    #[must_use]
    pub fn distance(&self, watts: f64) -> f64 {
        if watts >= self.power {
            return 0.0;
        }
        let free = sqrt(self.friis / watts);
        if free <= self.corner {
            return free;
        }
        let near = self.friis / (self.corner * self.corner);
        self.corner * pow(near / watts, 1.0 / self.exponent)
    }

    /// The range of reception without shadowing, in metres.
    #[must_use]
    pub fn range(&self) -> f64 {
        self.distance(self.receive)
    }

    /// The range of carrier sense without shadowing, in metres.
    #[must_use]
    pub fn sense_range(&self) -> f64 {
        self.distance(self.sense)
    }
}

#[cfg(test)]
mod tests;
