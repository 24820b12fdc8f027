//! Circular orbits over a rotating, spherical Earth.
//!
//! A satellite is at the angle `theta = theta_0 + 2 pi t / T` from the ascending node of its plane.
//! Its latitude is `asin(sin i sin theta)` and its longitude in a frame that does not rotate is
//! `node + atan2(cos i sin theta, cos theta)`. Positions are reported in the frame of the Earth,
//! which rotates east once in 86,164 s.
//!
//! ## Deviations
//!
//! - The planes do not precess; for Iridium they do by less than 0.1 degrees per day.

use alloc::vec::Vec;

use libm::{asin, atan2, cos, round, sincos, sqrt};
use units::{Duration, Instant};

use super::config::{ConstellationConfig, Phasing};

/// Radius of the Earth in km (The ns Manual, satellite networking).
pub const EARTH_RADIUS_KM: f64 = 6378.0;
/// Gravity of the Earth, G times its mass, in km^3/s^2.
pub const EARTH_GRAVITY: f64 = 398_601.2;
/// Rotation of the Earth against the stars, in seconds.
pub const EARTH_DAY_S: f64 = 86_164.0;
/// Speed of light in km/s.
pub const LIGHT_KM_PER_S: f64 = 299_793.0;

/// A place on the Earth, or below a satellite. Degrees.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Place {
    /// Degrees north.
    pub latitude: f64,
    /// Degrees east.
    pub longitude: f64,
}

/// A point in the frame of the Earth: `x` to latitude 0, longitude 0, `z` to the north pole. In km.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// Towards latitude 0, longitude 0.
    pub x: f64,
    /// Towards latitude 0, longitude 90 degrees east.
    pub y: f64,
    /// Towards the north pole.
    pub z: f64,
}

impl Point {
    /// The point on the ground at `place`.
    #[must_use]
    pub fn on_ground(place: Place) -> Self {
        let (sin_lat, cos_lat) = sincos(place.latitude.to_radians());
        let (sin_lon, cos_lon) = sincos(place.longitude.to_radians());
        Self {
            x: EARTH_RADIUS_KM * cos_lat * cos_lon,
            y: EARTH_RADIUS_KM * cos_lat * sin_lon,
            z: EARTH_RADIUS_KM * sin_lat,
        }
    }

    /// Distance from the centre of the Earth, km.
    #[must_use]
    pub fn radius(self) -> f64 {
        sqrt(self.dot(self))
    }

    /// The place below it.
    #[must_use]
    pub fn place(self) -> Place {
        Place {
            latitude: asin(self.z / self.radius()).to_degrees(),
            longitude: atan2(self.y, self.x).to_degrees(),
        }
    }

    /// Distance to another point, km.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        let between = Self {
            x: self.x - other.x,
            y: self.y - other.y,
            z: self.z - other.z,
        };
        sqrt(between.dot(between))
    }

    /// Propagation delay to another point at the speed of light.
    #[must_use]
    pub fn delay(self, other: Self) -> Duration {
        delay(self.distance(other))
    }

    /// Sine of the elevation of `satellite` above the horizon of this point on the ground.
    #[must_use]
    pub fn sine_of_elevation(self, satellite: Self) -> f64 {
        let radius = self.radius();
        (self.dot(satellite) / radius - radius) / self.distance(satellite)
    }

    fn dot(self, other: Self) -> f64 {
        self.x * other.x + self.y * other.y + self.z * other.z
    }
}

/// The distance between two satellites over time. On equal orbits the cosine of the angle between
/// them, seen from the centre of the Earth, is `mean - swing cos(theta_1 + theta_2)`: their angles
/// from the ascending nodes add up, and the difference of these angles is constant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Span {
    mean: f64,
    swing: f64,
    /// `theta_1 + theta_2` at time zero, radians.
    angle: f64,
}

/// Propagation delay over a distance in km.
fn delay(distance: f64) -> Duration {
    Duration::from_nanos(round(distance / LIGHT_KM_PER_S * 1e9) as u64)
}

/// The orbits of a constellation. Satellites are numbered plane by plane.
#[derive(Clone, Debug)]
pub struct Orbits {
    radius: f64,
    period_s: f64,
    sin_inclination: f64,
    cos_inclination: f64,
    /// Longitude of each plane's ascending node at time zero, radians.
    nodes: Vec<f64>,
    /// Angle of each satellite from its ascending node at time zero, radians.
    angles: Vec<f64>,
    per_plane: u32,
    /// Time of the constellation at the start of the run.
    start_s: f64,
}

impl Orbits {
    /// The orbits that a configuration describes.
    #[must_use]
    pub fn new(config: &ConstellationConfig) -> Self {
        let radius = EARTH_RADIUS_KM + config.altitude / 1000.0;
        let (sin_inclination, cos_inclination) = sincos(config.inclination.to_radians());
        let slot = 360.0 / f64::from(config.satellites);
        let phase = |plane: u32| match config.phasing {
            Phasing::Alternate => f64::from(plane % 2) * config.phase_offset,
            Phasing::Cumulative => f64::from(plane) * config.phase_offset,
        };
        let angle = |plane, satellite| f64::from(satellite) * slot + phase(plane);
        Self {
            radius,
            period_s: core::f64::consts::TAU * sqrt(radius * radius * radius / EARTH_GRAVITY),
            sin_inclination,
            cos_inclination,
            nodes: (0..config.planes)
                .map(|plane| (f64::from(plane) * config.plane_separation).to_radians())
                .collect(),
            angles: (0..config.planes)
                .flat_map(|plane| (0..config.satellites).map(move |index| (plane, index)))
                .map(|(plane, index)| angle(plane, index).to_radians())
                .collect(),
            per_plane: config.satellites,
            start_s: config.start.as_secs_f64(),
        }
    }

    /// How many satellites there are.
    #[must_use]
    pub fn satellites(&self) -> u32 {
        self.angles.len() as u32
    }

    /// Time of one revolution, in seconds.
    #[must_use]
    pub const fn period_s(&self) -> f64 {
        self.period_s
    }

    fn time(&self, at: Instant) -> f64 {
        self.start_s + at.as_secs_f64()
    }

    fn angle(&self, satellite: u32, time: f64) -> f64 {
        self.angles[satellite as usize] + core::f64::consts::TAU * time / self.period_s
    }

    /// Where a satellite is.
    #[must_use]
    pub fn position(&self, satellite: u32, at: Instant) -> Point {
        let time = self.time(at);
        let (sin_angle, cos_angle) = sincos(self.angle(satellite, time));
        let turned = core::f64::consts::TAU * time / EARTH_DAY_S;
        let node = self.nodes[(satellite / self.per_plane) as usize] - turned;
        let (sin_node, cos_node) = sincos(node);
        let across = self.cos_inclination * sin_angle;
        Point {
            x: self.radius * (cos_node * cos_angle - sin_node * across),
            y: self.radius * (sin_node * cos_angle + cos_node * across),
            z: self.radius * self.sin_inclination * sin_angle,
        }
    }

    /// How the distance between two satellites changes.
    #[must_use]
    pub fn span(&self, one: u32, other: u32) -> Span {
        let node = |satellite: u32| self.nodes[(satellite / self.per_plane) as usize];
        let (sin_nodes, cos_nodes) = sincos(node(other) - node(one));
        let angles = [one, other].map(|satellite| self.angles[satellite as usize]);
        let (sin_angles, cos_angles) = sincos(angles[1] - angles[0]);
        let squares = [self.cos_inclination, self.sin_inclination].map(|value| value * value);
        let along = (cos_nodes * (1.0 + squares[0]) + squares[1]) / 2.0 * cos_angles;
        let is_one_plane = one / self.per_plane == other / self.per_plane;
        Span {
            mean: along - self.cos_inclination * sin_nodes * sin_angles,
            // Exactly none within a plane, whose satellites keep their distance.
            swing: if is_one_plane {
                0.0
            } else {
                squares[1] * (1.0 - cos_nodes) / 2.0
            },
            angle: angles[0] + angles[1],
        }
    }

    /// Propagation delay over a span.
    #[must_use]
    pub fn span_delay(&self, span: &Span, at: Instant) -> Duration {
        let mut cosine = span.mean;
        if span.swing > 0.0 {
            let travelled = core::f64::consts::TAU * self.time(at) / self.period_s;
            cosine -= span.swing * cos(span.angle + 2.0 * travelled);
        }
        delay(self.radius * sqrt(2.0 * (1.0 - cosine)))
    }

    /// Sine of a satellite's latitude.
    #[must_use]
    pub fn sine_of_latitude(&self, satellite: u32, at: Instant) -> f64 {
        self.sin_inclination * libm::sin(self.angle(satellite, self.time(at)))
    }

    /// Whether a satellite moves north.
    #[must_use]
    pub fn ascends(&self, satellite: u32, at: Instant) -> bool {
        cos(self.angle(satellite, self.time(at))) > 0.0
    }

    /// The largest distance between a terminal and its satellite at an elevation of `mask` degrees,
    /// in km.
    #[must_use]
    pub fn slant_range_km(&self, mask: f64) -> f64 {
        let (sin_mask, cos_mask) = sincos(mask.to_radians());
        let ground = EARTH_RADIUS_KM * cos_mask;
        sqrt(self.radius * self.radius - ground * ground) - EARTH_RADIUS_KM * sin_mask
    }

    /// Half of the angle, at the centre of the Earth, that a satellite covers with an elevation
    /// mask of `mask` degrees. Degrees.
    #[must_use]
    pub fn coverage_half_angle(&self, mask: f64) -> f64 {
        let mask = mask.to_radians();
        (libm::acos(EARTH_RADIUS_KM * cos(mask) / self.radius) - mask).to_degrees()
    }
}
