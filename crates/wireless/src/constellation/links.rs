//! The grid of inter-satellite links.
//!
//! Each satellite has up to four links: to the one ahead and the one behind in its plane, and to
//! the satellites with the same index in the planes to the east and to the west. Where the planes
//! form a circle, the index shifts by the phase that adds up around it. There are no links across a
//! seam, where satellites move in opposite directions. Links between planes are down while one of
//! their ends is above the latitude limit: near the poles planes cross and antennas cannot follow.

use units::{Duration, Instant};

use super::config::{ConstellationConfig, Phasing};
use super::orbit::Orbits;

/// One of a satellite's links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// To the next satellite in the direction of flight.
    Ahead,
    /// To the previous satellite of the plane.
    Behind,
    /// To the plane with the next number.
    East,
    /// To the plane with the previous number.
    West,
}

impl Port {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Ahead, Self::Behind, Self::East, Self::West];

    /// The same link at its other end.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Ahead => Self::Behind,
            Self::Behind => Self::Ahead,
            Self::East => Self::West,
            Self::West => Self::East,
        }
    }

    /// Whether the link is between two planes.
    #[must_use]
    pub const fn is_between_planes(self) -> bool {
        matches!(self, Self::East | Self::West)
    }
}

/// Which satellites have links, and when.
#[derive(Clone, Debug)]
pub struct Grid {
    planes: u32,
    per_plane: u32,
    wraps: bool,
    /// By how many indices the last plane's neighbours in the first are shifted.
    shift: u32,
    /// Sine of the latitude above which links between planes are down; above 1 is never.
    sine_of_limit: f64,
    interval: Duration,
}

impl Grid {
    /// The grid of a configuration.
    #[must_use]
    pub fn new(config: &ConstellationConfig) -> Self {
        let slot = 360.0 / f64::from(config.satellites);
        let around = match config.phasing {
            Phasing::Alternate => 0.0,
            Phasing::Cumulative => f64::from(config.planes) * config.phase_offset,
        };
        Self {
            planes: config.planes,
            per_plane: config.satellites,
            wraps: config.wraps(),
            shift: libm::round(around / slot) as u32 % config.satellites,
            sine_of_limit: if config.latitude_limit < 90.0 {
                libm::sin(config.latitude_limit.to_radians())
            } else {
                2.0
            },
            interval: config.handover_interval,
        }
    }

    /// The satellite at the other end of a link, if there is such a link; up or down.
    #[must_use]
    pub fn neighbour(&self, satellite: u32, port: Port) -> Option<u32> {
        let (count, planes) = (self.per_plane, self.planes);
        let (plane, index) = (satellite / count, satellite % count);
        let at = |plane: u32, index: u32| Some(plane * count + index % count);
        match port {
            Port::Ahead if count > 1 => at(plane, index + 1),
            Port::Behind if count > 2 => at(plane, index + count - 1),
            Port::East if plane + 1 < planes => at(plane + 1, index),
            Port::East if self.wraps => at(0, index + self.shift),
            Port::West if plane > 0 => at(plane - 1, index),
            Port::West if self.wraps => at(planes - 1, index + count - self.shift),
            _ => None,
        }
    }

    /// When the satellites checked their latitudes the last time.
    pub(super) fn checked_at(&self, at: Instant) -> Instant {
        floor(at, self.interval)
    }

    /// Whether a link is up at `at`, as of the last check of latitudes. A link that does not exist
    /// is down.
    #[must_use]
    pub fn is_up(&self, orbits: &Orbits, satellite: u32, port: Port, at: Instant) -> bool {
        let Some(other) = self.neighbour(satellite, port) else {
            return false;
        };
        if !port.is_between_planes() || self.sine_of_limit > 1.0 {
            return true;
        }
        let at = self.checked_at(at);
        let is_low = |end| orbits.sine_of_latitude(end, at).abs() <= self.sine_of_limit;
        is_low(satellite) && is_low(other)
    }
}

/// The last multiple of `interval` that is not after `at`.
pub(super) fn floor(at: Instant, interval: Duration) -> Instant {
    let interval = interval.as_nanos().max(1);
    Instant::from_nanos(at.as_nanos() / interval * interval)
}
