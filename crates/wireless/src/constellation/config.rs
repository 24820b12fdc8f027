//! The keys of a constellation, and its presets.

use alloc::format;
use alloc::string::String;

use tables::{Key, Kind, Rules, Wrong, described, words};
use units::{Duration, Rate};

use super::orbit::EARTH_RADIUS_KM;

/// The shortest time between two checks or updates: each costs time of its own.
const LEAST_INTERVAL: Duration = Duration::from_millis(10);

/// A constellation whose parameters are known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ConstellationPreset {
    /// Iridium: 66 satellites in six polar planes, as in the example of The ns Manual.
    #[default]
    Iridium,
    /// The first shell of Starlink: 72 planes of 22 satellites.
    Starlink,
}

words!(ConstellationPreset: "iridium" => Iridium, "starlink" => Starlink);

/// How the satellites of neighbouring planes are offset along the orbit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Phasing {
    /// Every second plane is offset.
    Alternate,
    /// Each plane is offset against the one before (Walker 1984).
    Cumulative,
}

words!(Phasing: "alternate" => Alternate, "cumulative" => Cumulative);

/// The satellite that a terminal takes when its own sinks below the mask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum HandoverRule {
    /// The highest above the horizon.
    Highest,
    /// The one that follows in the same plane, if it is above the mask; otherwise the highest.
    NextInPlane,
}

words!(HandoverRule: "highest" => Highest, "next-in-plane" => NextInPlane);

described! {
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct ConstellationConfig(
        "constellation", "a satellite constellation",
        "Satellites on circular orbits, the links between them, and the links to terminals."
    ) {
        /// The constellation that supplies the defaults of all other keys.
        preset: ConstellationPreset = ConstellationPreset::Iridium
            => Key::of(Kind::Words(ConstellationPreset::WORDS));
        /// Orbital planes.
        planes: u32 = 6 => Key::of(Kind::Integer(1, 200));
        /// Satellites in each plane, evenly spaced.
        satellites: u32 = 11 => Key::of(Kind::Integer(1, 200));
        /// Altitude of the orbits.
        altitude: f64 = 780_000.0 => Key::of(Kind::Length(160_000.0, 36_000_000.0));
        /// Inclination of the orbits against the equator; above 90 degrees they are retrograde.
        inclination: f64 = 86.4 => Key::of(Kind::Angle(0.0, 180.0));
        /// Longitude from the ascending node of a plane to that of the next.
        plane_separation: f64 = 31.6
            => Key::of(Kind::Angle(0.0, 360.0));
        /// Angle along the orbit by which a plane is ahead of the one before.
        phase_offset: f64 = 16.36
            => Key::of(Kind::Angle(0.0, 360.0));
        /// Whether every second plane has the offset, or each against the one before.
        phasing: Phasing = Phasing::Alternate => Key::of(Kind::Words(Phasing::WORDS));
        /// Whether the last plane and the first have no links between them.
        seam: bool = true => Key::of(Kind::Switch);
        /// Latitude above which a satellite has no links to other planes; 90 degrees is none.
        latitude_limit: f64 = 60.0
            => Key::of(Kind::Angle(0.0, 90.0));
        /// Lowest elevation at which a terminal uses a satellite.
        elevation_mask: f64 = 8.2
            => Key::of(Kind::Angle(0.0, 89.0));
        /// Rate from a terminal to its satellite.
        uplink: Rate = Rate::from_bits_per_sec(1_500_000) => Key::of(Kind::RATE);
        /// Rate from a satellite to a terminal.
        downlink: Rate = Rate::from_bits_per_sec(1_500_000) => Key::of(Kind::RATE);
        /// Whether all terminals below a satellite share its downlink and the downlink's queue.
        shared_downlink: bool = false => Key::of(Kind::Switch);
        /// Rate of each direction of an inter-satellite link.
        isl: Rate = Rate::from_bits_per_sec(25_000_000) => Key::of(Kind::RATE);
        /// Packets that wait in front of each link, in each direction; further ones are dropped.
        queue: f64 = 50.0 => Key::of(Kind::Packets).resolved("queue_packets");
        /// How often a terminal checks its satellite's elevation, and satellites their latitude.
        handover_interval: Duration = Duration::from_secs(10)
            => Key::of(Kind::Time(LEAST_INTERVAL, tables::MAX_DURATION));
        /// Whether each terminal's checks have a random phase; otherwise they start with the run.
        random_handover: bool = true => Key::of(Kind::Switch);
        /// The satellite that a terminal takes when its own sinks below the mask.
        handover_rule: HandoverRule = HandoverRule::Highest
            => Key::of(Kind::Words(HandoverRule::WORDS));
        /// Whether packets that wait for a link which goes down are routed again, or lost.
        reroute: bool = true => Key::of(Kind::Switch);
        /// How often the delays that routes rest on are updated.
        routing_interval: Duration = Duration::from_secs(1)
            => Key::of(Kind::Time(LEAST_INTERVAL, tables::MAX_DURATION));
        /// Time of the constellation at which the run starts.
        start: Duration = Duration::ZERO
            => Key::of(Kind::Seconds(Duration::ZERO, tables::MAX_DURATION));
    }
}

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct TerminalConfig("terminal", "a terminal", "A terminal on the ground.") {
        /// Latitude; negative is south.
        latitude: f64 = 0.0
            => Key::of(Kind::Angle(-90.0, 90.0)).needed("37.9 deg");
        /// Longitude; negative is west.
        longitude: f64 = 0.0
            => Key::of(Kind::Angle(-180.0, 180.0)).needed("-122.3 deg");
    }
}

impl Rules for TerminalConfig {}

impl Default for ConstellationConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl ConstellationConfig {
    /// The configuration of a preset.
    #[must_use]
    pub fn new(preset: ConstellationPreset) -> Self {
        match preset {
            ConstellationPreset::Iridium => Self::DEFAULT,
            ConstellationPreset::Starlink => Self::starlink(),
        }
    }

    /// Iridium, as in the example of The ns Manual (Henderson).
    #[must_use]
    pub fn iridium() -> Self {
        Self::DEFAULT
    }

    /// The first shell of Starlink: the Walker delta constellation 53 degrees: 1584/72/1 at 550 km,
    /// with links to both neighbours in the plane and in both adjacent planes. The operator does
    /// not publish the phasing, the rates and the queues: they are chosen.
    #[must_use]
    pub fn starlink() -> Self {
        Self {
            preset: ConstellationPreset::Starlink,
            planes: 72,
            satellites: 22,
            altitude: 550_000.0,
            inclination: 53.0,
            plane_separation: 5.0,
            phase_offset: 360.0 / 1584.0,
            phasing: Phasing::Cumulative,
            seam: false,
            latitude_limit: 90.0,
            elevation_mask: 25.0,
            uplink: Rate::from_bits_per_sec(15_000_000),
            downlink: Rate::from_bits_per_sec(100_000_000),
            isl: Rate::from_bits_per_sec(10_000_000_000),
            queue: 700.0,
            handover_interval: Duration::from_secs(15),
            ..Self::DEFAULT
        }
    }

    /// The name of a satellite: its plane and its place in it, from 1.
    #[must_use]
    pub fn satellite_name(&self, satellite: u32) -> String {
        let (plane, index) = (satellite / self.satellites, satellite % self.satellites);
        format!("satellite {}-{}", plane + 1, index + 1)
    }

    /// Whether the planes form a circle, so that the last one has links to the first.
    #[must_use]
    pub const fn wraps(&self) -> bool {
        !self.seam && self.planes > 2
    }

    /// Whether neighbours in a plane see each other past the Earth.
    fn neighbours_see_each_other(&self) -> bool {
        let half = core::f64::consts::PI / f64::from(self.satellites);
        let nearest = (EARTH_RADIUS_KM + self.altitude / 1000.0) * libm::cos(half);
        self.satellites == 1 || nearest > EARTH_RADIUS_KM
    }
}

impl Rules for ConstellationConfig {
    fn follow(&mut self, key: &str) {
        if key == "preset" {
            *self = Self::new(self.preset);
        }
    }

    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if !self.neighbours_see_each_other() {
            return Err(Wrong::value(
                "satellites",
                format!(
                    "the Earth is between neighbours in a plane at an altitude of {} km",
                    self.altitude / 1000.0
                ),
            ));
        }
        let circle = f64::from(self.planes) * self.plane_separation;
        if self.wraps() && (circle - 360.0).abs() > 0.01 {
            return Err(Wrong::value(
                "plane_separation",
                format!(
                    "without a seam, {} planes are {} degrees apart",
                    self.planes,
                    360.0 / f64::from(self.planes)
                ),
            ));
        }
        Ok(())
    }
}
