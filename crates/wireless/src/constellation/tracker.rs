//! Which satellite serves each terminal, and the routes between them, as time goes on.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use network::Streams;
use rand_core::RngCore;
use units::{Duration, Instant};

use super::config::{ConstellationConfig, HandoverRule, TerminalConfig};
use super::links::{Grid, Port, floor};
use super::orbit::{Orbits, Place, Point, Span};
use super::routes::Tree;
use crate::{CloudMap, MapLink};

/// A terminal on the ground.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Terminal {
    /// Its name, which also names its stream of random numbers.
    pub name: String,
    /// Where it is.
    pub place: Place,
}

impl Terminal {
    /// A terminal at a latitude and a longitude, in degrees.
    #[must_use]
    pub fn new(name: impl Into<String>, latitude: f64, longitude: f64) -> Self {
        let place = Place {
            latitude,
            longitude,
        };
        Self {
            name: name.into(),
            place,
        }
    }

    /// A terminal at a configured place.
    #[must_use]
    pub fn of(name: impl Into<String>, config: &TerminalConfig) -> Self {
        Self::new(name, config.latitude, config.longitude)
    }
}

/// A route between two terminals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// The satellites on it, the first terminal's first.
    pub satellites: Vec<u32>,
    /// Propagation delay in one direction, links to the ground included.
    pub delay: Duration,
}

impl Route {
    /// Inter-satellite links on it.
    #[must_use]
    pub fn hops(&self) -> usize {
        self.satellites.len() - 1
    }
}

/// Where a packet goes from a satellite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NextHop {
    /// Down to its terminal.
    Ground,
    /// To the satellite at the end of a link.
    Link(Port),
}

/// A terminal and its satellite.
#[derive(Clone, Debug)]
struct Attachment {
    place: Place,
    point: Point,
    first_check: Instant,
    /// When the terminal looks again.
    next_check: Instant,
    satellite: Option<u32>,
    /// Times that it took another satellite or lost its own.
    changes: u64,
    /// Routes to its satellite.
    tree: Tree,
}

/// Positions, links, handovers and routes of a constellation, without packets.
///
/// Questions may come in any order of time. Those in ascending order are fast: a question about the
/// past repeats the handovers since the start of the run.
#[derive(Clone, Debug)]
pub struct Tracker {
    config: ConstellationConfig,
    orbits: Orbits,
    grid: Grid,
    /// The lengths of each satellite's links, by [`index`].
    spans: Vec<Span>,
    sine_of_mask: f64,
    attachments: Vec<Attachment>,
    /// The latest question about a terminal.
    latest: Instant,
    /// Delays and links that routes rest on: their number, since when, and until when.
    epoch: u64,
    epoch_at: Instant,
    epoch_until: Instant,
}

impl Tracker {
    /// A constellation with terminals. Each terminal draws the phase of its checks from its own
    /// stream.
    #[must_use]
    pub fn new(config: &ConstellationConfig, terminals: &[Terminal], streams: &Streams) -> Self {
        let orbits = Orbits::new(config);
        let grid = Grid::new(config);
        let spans = (0..orbits.satellites())
            .flat_map(|satellite| Port::ALL.map(|port| (satellite, port)))
            .map(|(satellite, port)| (satellite, grid.neighbour(satellite, port)))
            .map(|(satellite, other)| orbits.span(satellite, other.unwrap_or(satellite)))
            .collect();
        let interval = config.handover_interval.as_nanos().max(1);
        let attachments = terminals
            .iter()
            .map(|terminal| {
                let phase = if config.random_handover {
                    let name = format!("constellation/handover/{}", terminal.name);
                    streams.stream(&name).next_u64() % interval
                } else {
                    0
                };
                Attachment {
                    place: terminal.place,
                    point: Point::on_ground(terminal.place),
                    first_check: Instant::from_nanos(phase),
                    next_check: Instant::ZERO,
                    satellite: None,
                    changes: 0,
                    tree: Tree::default(),
                }
            })
            .collect();
        let mut tracker = Self {
            config: config.clone(),
            grid,
            spans,
            sine_of_mask: libm::sin(config.elevation_mask.to_radians()),
            attachments,
            latest: Instant::ZERO,
            epoch: 0,
            epoch_at: Instant::ZERO,
            epoch_until: Instant::ZERO,
            orbits,
        };
        tracker.rewind();
        tracker
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &ConstellationConfig {
        &self.config
    }

    /// The orbits.
    #[must_use]
    pub const fn orbits(&self) -> &Orbits {
        &self.orbits
    }

    /// The grid of inter-satellite links.
    #[must_use]
    pub const fn grid(&self) -> &Grid {
        &self.grid
    }

    /// How many terminals there are.
    #[must_use]
    pub const fn terminals(&self) -> usize {
        self.attachments.len()
    }

    /// The place below each satellite.
    pub fn places(&self, at: Instant) -> impl Iterator<Item = Place> {
        let satellites = 0..self.orbits.satellites();
        satellites.map(move |satellite| self.orbits.position(satellite, at).place())
    }

    /// Each inter-satellite link once: its two satellites, and whether it is up at `at`.
    pub fn links(&self, at: Instant) -> impl Iterator<Item = (u32, u32, bool)> {
        (0..self.orbits.satellites()).flat_map(move |satellite| {
            [Port::Ahead, Port::East]
                .into_iter()
                .filter_map(move |port| {
                    let other = self.grid.neighbour(satellite, port)?;
                    let is_up = self.grid.is_up(&self.orbits, satellite, port, at);
                    Some((satellite, other, is_up))
                })
        })
    }

    /// Terminals and then satellites as points (longitude and latitude), and all links that are up
    /// at `at`: those between satellites, and from each terminal to its satellite.
    pub fn map(&mut self, at: Instant) -> CloudMap {
        let terminals = self.terminals();
        let mut map = CloudMap::default();
        let own = self.attachments.iter().map(|attachment| attachment.place);
        let points = own.chain(self.places(at));
        map.points = points
            .map(|place| [place.longitude, place.latitude])
            .collect();
        for terminal in 0..terminals {
            if let Some(satellite) = self.satellite(terminal, at) {
                let delay = self.ground_delay(terminal, satellite, at);
                let ends = [terminal as u32, terminals as u32 + satellite];
                map.links.push(MapLink { ends, delay });
            }
        }
        for (one, other, is_up) in self.links(at) {
            if is_up {
                let delay = self.orbits.span_delay(&self.orbits.span(one, other), at);
                let ends = [one.min(other), one.max(other)].map(|end| terminals as u32 + end);
                map.links.push(MapLink { ends, delay });
            }
        }
        map
    }

    /// The satellite that serves a terminal at `at`; `None` if it sees none above the mask.
    pub fn satellite(&mut self, terminal: usize, at: Instant) -> Option<u32> {
        if at < self.latest {
            self.rewind();
        }
        self.latest = at;
        while self.attachments[terminal].next_check <= at {
            self.check(terminal);
        }
        self.attachments[terminal].satellite
    }

    /// Times that a terminal changed its satellite, or lost it, until the latest question about it.
    #[must_use]
    pub fn handovers(&self, terminal: usize) -> u64 {
        self.attachments[terminal].changes
    }

    /// The route from one terminal to another at `at`; `None` without one. Links and their delays
    /// are chosen as of the last update of routes; the delay of the route is that of `at`.
    pub fn route(&mut self, from: usize, to: usize, at: Instant) -> Option<Route> {
        let mut satellite = self.satellite(from, at)?;
        let mut delay = self.ground_delay(from, satellite, at);
        let mut satellites = vec![satellite];
        while let NextHop::Link(port) = self.next_hop(satellite, to, at)? {
            delay += self.link_delay(satellite, port, at);
            satellite = self.grid.neighbour(satellite, port)?;
            satellites.push(satellite);
        }
        delay += self.ground_delay(to, satellite, at);
        Some(Route { satellites, delay })
    }

    /// Where a packet for terminal `to` goes from a satellite.
    pub(super) fn next_hop(&mut self, satellite: u32, to: usize, at: Instant) -> Option<NextHop> {
        let root = self.satellite(to, at)?;
        if root == satellite {
            return Some(NextHop::Ground);
        }
        if at >= self.epoch_until || at < self.epoch_at {
            self.update(at);
        }
        let at = self.epoch_at;
        let Self {
            orbits,
            grid,
            spans,
            attachments,
            ..
        } = self;
        let tree = &mut attachments[to].tree;
        tree.prepare(root, self.epoch, orbits.satellites());
        let port = tree.port(
            satellite,
            |end, port| {
                grid.neighbour(end, port)
                    .filter(|_| grid.is_up(orbits, end, port, at))
            },
            |end, port| orbits.span_delay(&spans[index(end, port)], at).as_nanos(),
        );
        port.map(NextHop::Link)
    }

    /// Propagation delay between a terminal and a satellite.
    pub(super) fn ground_delay(&self, terminal: usize, satellite: u32, at: Instant) -> Duration {
        let ground = self.attachments[terminal].point;
        ground.delay(self.orbits.position(satellite, at))
    }

    /// Propagation delay of an inter-satellite link that exists.
    pub(super) fn link_delay(&self, satellite: u32, port: Port, at: Instant) -> Duration {
        self.orbits
            .span_delay(&self.spans[index(satellite, port)], at)
    }

    /// Routes rest on the delays of this instant's interval, and on the links that are up since the
    /// last check; they hold until either changes.
    fn update(&mut self, at: Instant) {
        let intervals = [self.config.routing_interval, self.config.handover_interval];
        self.epoch += 1;
        self.epoch_at = Instant::ZERO;
        self.epoch_until = Instant::MAX;
        for interval in intervals {
            let since = floor(at, interval);
            self.epoch_at = self.epoch_at.max(since);
            self.epoch_until = self.epoch_until.min(since + interval);
        }
    }

    /// Back to the start of the run, where each terminal takes the highest satellite.
    fn rewind(&mut self) {
        self.latest = Instant::ZERO;
        for terminal in 0..self.attachments.len() {
            let satellite = self.highest(terminal, Instant::ZERO);
            let attachment = &mut self.attachments[terminal];
            attachment.satellite = satellite;
            attachment.next_check = attachment.first_check;
            attachment.changes = 0;
        }
    }

    /// Performs the next check of a terminal.
    fn check(&mut self, terminal: usize) {
        let attachment = &self.attachments[terminal];
        let (at, before) = (attachment.next_check, attachment.satellite);
        let kept = before.filter(|satellite| self.is_visible(terminal, *satellite, at));
        let satellite = kept
            .or_else(|| self.follower(terminal, before?, at))
            .or_else(|| self.highest(terminal, at));
        let attachment = &mut self.attachments[terminal];
        attachment.next_check = at + self.config.handover_interval;
        attachment.changes += u64::from(satellite != before);
        attachment.satellite = satellite;
    }

    fn is_visible(&self, terminal: usize, satellite: u32, at: Instant) -> bool {
        let ground = self.attachments[terminal].point;
        let above = self.orbits.position(satellite, at);
        ground.sine_of_elevation(above) >= self.sine_of_mask
    }

    /// The satellite that follows in the plane, if the rule prefers it and the terminal sees it.
    fn follower(&self, terminal: usize, before: u32, at: Instant) -> Option<u32> {
        if self.config.handover_rule != HandoverRule::NextInPlane {
            return None;
        }
        let port = if self.config.satellites > 2 {
            Port::Behind
        } else {
            Port::Ahead
        };
        let next = self.grid.neighbour(before, port)?;
        self.is_visible(terminal, next, at).then_some(next)
    }

    /// The highest satellite above the mask; of two, the one with the lower number.
    fn highest(&self, terminal: usize, at: Instant) -> Option<u32> {
        let ground = self.attachments[terminal].point;
        let mut best = None;
        let mut height = self.sine_of_mask;
        for satellite in 0..self.orbits.satellites() {
            let sine = ground.sine_of_elevation(self.orbits.position(satellite, at));
            if sine > height || (best.is_none() && sine >= height) {
                (best, height) = (Some(satellite), sine);
            }
        }
        best
    }
}

/// A link's place among those of all satellites.
pub(super) const fn index(satellite: u32, port: Port) -> usize {
    satellite as usize * Port::ALL.len() + port as usize
}
