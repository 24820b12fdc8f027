//! Where the nodes are: placements, the random waypoint model, and positions from a list.
//!
//! A [`Mobility`] holds the motion of all nodes. Each node moves along straight legs at constant
//! speed and may pause after a leg. The position at an instant has a closed form, so motion needs no
//! events.
//!
//! Under the random waypoint model (Johnson and Maltz, Mobile Computing, 1996, section 6; Broch,
//! Maltz, Johnson, Hu and Jetcheva, MobiCom 1998, section 2) a node draws a destination uniformly in
//! the area and a speed uniformly between two limits, moves there in a straight line, pauses, and
//! repeats. Its speed and position at a random instant follow neither of the two uniform
//! distributions: slow legs last longer, and legs cross the centre. [`WaypointStart::Stationary`]
//! therefore draws the initial state from the stationary distribution (Navidi and Camp, IEEE
//! Transactions on Mobile Computing 3(1), 2004; Le Boudec and Vojnović, INFOCOM 2005), so that a run
//! needs no warm-up. [`WaypointStart::Uniform`] starts at a uniform position with a pause, as Broch
//! et al. do: average speed and spatial distribution then drift, and with a lowest speed of zero the
//! average speed tends to zero (Yoon, Liu and Noble, INFOCOM 2003).
//!
//! ## Assumptions
//!
//! - The area is a rectangle in a plane, without obstacles.
//! - The pause is the same after every leg.
//! - A node changes its speed at waypoints alone, without acceleration.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use libm::{ceil, hypot, log, pow, round, sqrt};
use network::Streams;
use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, MAX_DURATION, Rules, Wrong, described, words};
use units::{Duration, Instant};

use crate::NodeId;
use crate::random::{span_below, unit};

/// The fastest node, in metres per second.
const FASTEST: f64 = 1_000.0;
const NANOS_PER_SEC: f64 = 1e9;

/// A place in the plane, in metres.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Position {
    /// Metres to the east of the origin.
    pub x: f64,
    /// Metres to the north of the origin.
    pub y: f64,
}

impl Position {
    /// The place at `x` and `y`, in metres.
    #[must_use]
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The distance to another place, in metres.
    #[must_use]
    pub fn distance(self, other: Self) -> f64 {
        sqrt(self.distance_squared(other))
    }

    /// The square of the distance to another place, in square metres.
    #[must_use]
    pub fn distance_squared(self, other: Self) -> f64 {
        let (x, y) = (self.x - other.x, self.y - other.y);
        x * x + y * y
    }
}

/// A rectangle with one corner at the origin, in metres.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Area {
    /// From west to east.
    pub width: f64,
    /// From south to north.
    pub height: f64,
}

impl Area {
    /// A square of that side.
    #[must_use]
    pub const fn square(side: f64) -> Self {
        Self {
            width: side,
            height: side,
        }
    }

    /// The longest distance in it.
    #[must_use]
    pub fn diagonal(self) -> f64 {
        hypot(self.width, self.height)
    }

    /// The mean distance between two uniform points, in metres: 0.5214 times the side of a square.
    /// (Ghosh, Bulletin of the Calcutta Mathematical Society 43, 1951.)
    #[must_use]
    pub fn mean_distance(self) -> f64 {
        let (a, b, d) = (self.width, self.height, self.diagonal());
        if a <= 0.0 || b <= 0.0 {
            return d / 3.0;
        }
        let (a2, b2) = (a * a, b * b);
        let logs = b2 / a * log((a + d) / b) + a2 / b * log((b + d) / a);
        (a * a2 / b2 + b * b2 / a2 + d * (3.0 - a2 / b2 - b2 / a2) + 2.5 * logs) / 15.0
    }

    /// `count` places on a grid: rows from south to north, each from west to east, with equal
    /// distances and half of a distance to the border. The grid has as many columns as keep its cells
    /// closest to squares; the last row may be incomplete.
    #[must_use]
    pub fn grid(self, count: usize) -> Vec<Position> {
        let wanted = sqrt(count as f64 * self.width / self.height.max(f64::MIN_POSITIVE));
        let columns = (round(wanted) as usize).clamp(1, count.max(1));
        let rows = ceil(count as f64 / columns as f64);
        let (wide, high) = (self.width / columns as f64, self.height / rows.max(1.0));
        let place = |node: usize| {
            let (row, column) = (node / columns, node % columns);
            Position::new((column as f64 + 0.5) * wide, (row as f64 + 0.5) * high)
        };
        (0..count).map(place).collect()
    }

    /// `count` uniform places. Each node has a stream of its own, so that more nodes do not move the
    /// first ones.
    #[must_use]
    pub fn uniform(self, count: usize, streams: &Streams) -> Vec<Position> {
        let place = |node| self.point(&mut streams.stream(&format!("placement {node}")));
        (0..count).map(place).collect()
    }

    /// A uniform place.
    fn point(self, rng: &mut ChaCha8Rng) -> Position {
        let x = self.width * unit(rng);
        Position::new(x, self.height * unit(rng))
    }
}

/// The state of the nodes at the start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WaypointStart {
    /// Drawn from the stationary distribution.
    Stationary,
    /// At a uniform position, at the start of a pause.
    Uniform,
}

words!(WaypointStart: "stationary" => Stationary, "uniform" => Uniform);

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct RandomWaypointConfig(
        "random-waypoint",
        "random waypoint mobility",
        "Nodes move to uniform destinations at uniform speeds, and pause there."
    ) {
        /// Lowest speed.
        min_speed: f64 = 5.0 => Key::of(Kind::Speed(0.0, FASTEST));
        /// Highest speed.
        max_speed: f64 = 15.0 => Key::of(Kind::Speed(1e-3, FASTEST));
        /// Pause after each leg.
        pause: Duration = Duration::ZERO => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION));
        /// Initial state: drawn from the stationary distribution, or uniform positions.
        start: WaypointStart = WaypointStart::Stationary
            => Key::of(Kind::Words(WaypointStart::WORDS));
    }
}

impl Rules for RandomWaypointConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.min_speed > self.max_speed {
            return Err(Wrong::at(
                "min_speed",
                "the lowest speed is above the highest",
            ));
        }
        if self.start == WaypointStart::Stationary && self.min_speed <= 0.0 {
            return Err(Wrong::at(
                "min_speed",
                "with a lowest speed of zero no stationary state exists: the average speed tends \
                 to zero; use a higher `min_speed`, or `start = \"uniform\"`",
            ));
        }
        Ok(())
    }
}

impl RandomWaypointConfig {
    /// The mean of the inverse speed over legs, in seconds per metre.
    fn mean_slowness(&self) -> f64 {
        if self.max_speed <= self.min_speed {
            1.0 / self.max_speed
        } else {
            log(self.max_speed / self.min_speed) / (self.max_speed - self.min_speed)
        }
    }

    /// The stationary mean speed of moving nodes, in metres per second; 0 if `min_speed` is 0.
    #[must_use]
    pub fn mean_speed(&self) -> f64 {
        1.0 / self.mean_slowness()
    }

    /// The stationary probability that a node pauses.
    #[must_use]
    pub fn pausing(&self, area: Area) -> f64 {
        let pause = self.pause.as_secs_f64();
        let travel = area.mean_distance() * self.mean_slowness();
        if pause > 0.0 {
            pause / (pause + travel)
        } else {
            0.0
        }
    }
}

/// A line of a file of positions: `node` is at `position` at that time.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Waypoint {
    /// When.
    pub at: Instant,
    /// Which node.
    pub node: NodeId,
    /// Where.
    pub position: Position,
}

/// Why a list of waypoints is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaypointError {
    /// The waypoint with this index names a node that does not exist.
    UnknownNode(usize),
    /// A coordinate of the waypoint with this index is not a finite number.
    NotFinite(usize),
    /// The waypoint with this index is not later than the node's previous one.
    NotLater(usize),
    /// This node has no waypoint.
    Missing(NodeId),
}

/// A straight motion, and the pause after it.
#[derive(Clone, Copy, Debug)]
struct Leg {
    from: Position,
    to: Position,
    start: Instant,
    /// The node is at `to` from then on.
    arrive: Instant,
    /// The next leg starts. `Instant::MAX` if there is none.
    leave: Instant,
    /// Metres per nanosecond.
    velocity: Position,
}

impl Leg {
    fn still(at: Position, start: Instant, leave: Instant) -> Self {
        Self {
            from: at,
            to: at,
            start,
            arrive: start,
            leave,
            velocity: Position::default(),
        }
    }

    /// A motion that takes some time, without a pause.
    fn moving(from: Position, to: Position, start: Instant, arrive: Instant) -> Self {
        let nanos = arrive.saturating_since(start).as_nanos().max(1) as f64;
        Self {
            from,
            to,
            start,
            arrive,
            leave: arrive,
            velocity: Position::new((to.x - from.x) / nanos, (to.y - from.y) / nanos),
        }
    }

    fn position(&self, at: Instant) -> Position {
        if at >= self.arrive {
            return self.to;
        }
        let nanos = at.saturating_since(self.start).as_nanos() as f64;
        Position::new(
            self.from.x + self.velocity.x * nanos,
            self.from.y + self.velocity.y * nanos,
        )
    }

    /// Metres per second.
    fn speed(&self) -> f64 {
        hypot(self.velocity.x, self.velocity.y) * NANOS_PER_SEC
    }
}

/// Where the next leg of a node comes from.
#[derive(Clone, Debug)]
enum Source {
    /// There is none.
    Still,
    /// It is drawn.
    Random(Box<ChaCha8Rng>),
    /// From the list of the node's waypoints; the index of the next one.
    List(Vec<(Instant, Position)>, usize),
}

/// The motion of a node.
#[derive(Clone, Debug)]
struct Motion {
    leg: Leg,
    source: Source,
}

/// Positions of all nodes over time.
#[derive(Clone, Debug)]
pub struct Mobility {
    nodes: Vec<Motion>,
    area: Area,
    random: RandomWaypointConfig,
    max_speed: f64,
}

impl Mobility {
    /// Nodes that never move.
    #[must_use]
    pub fn fixed(positions: &[Position]) -> Self {
        let motion = |at: &Position| Motion {
            leg: Leg::still(*at, Instant::ZERO, Instant::MAX),
            source: Source::Still,
        };
        Self::of(positions.iter().map(motion).collect(), 0.0)
    }

    /// `count` nodes under the random waypoint model. Each has a stream of its own.
    #[must_use]
    pub fn random_waypoint(
        area: Area,
        count: usize,
        config: &RandomWaypointConfig,
        streams: &Streams,
    ) -> Self {
        let motion = |node| {
            let mut rng = streams.stream(&format!("mobility {node}"));
            let leg = match config.start {
                WaypointStart::Stationary => stationary_leg(area, config, &mut rng),
                WaypointStart::Uniform => Leg::still(
                    area.point(&mut rng),
                    Instant::ZERO,
                    Instant::ZERO + config.pause,
                ),
            };
            Motion {
                leg,
                source: Source::Random(Box::new(rng)),
            }
        };
        Self {
            area,
            random: *config,
            ..Self::of((0..count).map(motion).collect(), config.max_speed)
        }
    }

    /// `count` nodes that move from waypoint to waypoint at constant speed. A node is at its first
    /// waypoint before, and at its last one after.
    ///
    /// # Errors
    /// The first waypoint that is wrong, or the first node that has none.
    pub fn listed(count: usize, waypoints: &[Waypoint]) -> Result<Self, WaypointError> {
        let mut lists = Vec::new();
        lists.resize_with(count, Vec::<(Instant, Position)>::new);
        for (index, waypoint) in waypoints.iter().enumerate() {
            let Some(list) = lists.get_mut(waypoint.node.index()) else {
                return Err(WaypointError::UnknownNode(index));
            };
            if !(waypoint.position.x.is_finite() && waypoint.position.y.is_finite()) {
                return Err(WaypointError::NotFinite(index));
            }
            if list.last().is_some_and(|last| last.0 >= waypoint.at) {
                return Err(WaypointError::NotLater(index));
            }
            list.push((waypoint.at, waypoint.position));
        }
        if let Some(node) = lists.iter().position(Vec::is_empty) {
            return Err(WaypointError::Missing(NodeId(node as u32)));
        }
        let speed = |pair: &[(Instant, Position)]| {
            Leg::moving(pair[0].1, pair[1].1, pair[0].0, pair[1].0).speed()
        };
        let speeds = lists.iter().flat_map(|list| list.windows(2).map(speed));
        let max_speed = speeds.fold(0.0, f64::max);
        let motion = |list: Vec<(Instant, Position)>| Motion {
            leg: Leg::still(list[0].1, Instant::ZERO, list[0].0),
            source: Source::List(list, 1),
        };
        Ok(Self::of(lists.into_iter().map(motion).collect(), max_speed))
    }

    fn of(nodes: Vec<Motion>, max_speed: f64) -> Self {
        Self {
            nodes,
            area: Area::square(0.0),
            random: RandomWaypointConfig::DEFAULT,
            max_speed,
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.nodes.len()
    }

    /// No node is ever faster, in metres per second; 0 if no node moves.
    #[must_use]
    pub const fn max_speed(&self) -> f64 {
        self.max_speed
    }

    /// Whether no node ever moves.
    #[must_use]
    pub fn is_static(&self) -> bool {
        self.max_speed <= 0.0
    }

    /// Where `node` is. Calls for a node come in order of time.
    pub fn position(&mut self, node: NodeId, at: Instant) -> Position {
        self.leg(node, at).position(at)
    }

    /// The speed of `node`, in metres per second; 0 during a pause. Calls for a node come in order of
    /// time.
    pub fn speed(&mut self, node: NodeId, at: Instant) -> f64 {
        let leg = self.leg(node, at);
        if at < leg.arrive { leg.speed() } else { 0.0 }
    }

    /// Where all nodes are, in their order.
    pub fn positions(&mut self, at: Instant) -> Vec<Position> {
        let nodes = 0..self.nodes.len() as u32;
        nodes.map(|node| self.position(NodeId(node), at)).collect()
    }

    fn leg(&mut self, node: NodeId, at: Instant) -> &Leg {
        let motion = &mut self.nodes[node.index()];
        while at > motion.leg.leave {
            motion.leg = motion.source.next(&motion.leg, self.area, &self.random);
        }
        &motion.leg
    }
}

impl Source {
    /// The leg after `leg`.
    fn next(&mut self, leg: &Leg, area: Area, config: &RandomWaypointConfig) -> Leg {
        match self {
            Self::Still => Leg::still(leg.to, leg.leave, Instant::MAX),
            Self::Random(rng) => {
                let to = area.point(rng);
                let range = config.max_speed - config.min_speed;
                // 1 - unit: never the lowest speed, which may be zero.
                let speed = config.min_speed + range * (1.0 - unit(rng));
                walk(leg.to, to, leg.leave, speed, config.pause)
            }
            Self::List(list, next) => match list.get(*next) {
                Some(&(at, to)) => {
                    *next += 1;
                    Leg::moving(leg.to, to, leg.leave, at)
                }
                None => Leg::still(leg.to, leg.leave, Instant::MAX),
            },
        }
    }
}

/// A leg at a speed, with the pause after it.
fn walk(from: Position, to: Position, start: Instant, speed: f64, pause: Duration) -> Leg {
    let nanos = round(from.distance(to) / speed * NANOS_PER_SEC);
    // A century is longer than any run, and the sum of two fits an instant.
    let time = nanos.clamp(1.0, 100.0 * 365.0 * 86_400.0 * NANOS_PER_SEC) as u64;
    let leg = Leg::moving(from, to, start, start + Duration::from_nanos(time));
    Leg {
        leave: leg.arrive + pause,
        ..leg
    }
}

/// A leg at a random instant of the stationary process; the instant is zero. Legs that are moving
/// have endpoints with a density proportional to their distance, a speed with a density proportional
/// to its inverse, and a uniform fraction of the leg behind them. (Navidi and Camp 2004, sections 3
/// and 4.)
fn stationary_leg(area: Area, config: &RandomWaypointConfig, rng: &mut ChaCha8Rng) -> Leg {
    if unit(rng) < config.pausing(area) {
        let at = area.point(rng);
        return Leg::still(
            at,
            Instant::ZERO,
            Instant::ZERO + span_below(rng, config.pause),
        );
    }
    let diagonal = area.diagonal();
    let (from, to) = loop {
        let (from, to) = (area.point(rng), area.point(rng));
        if diagonal * unit(rng) <= from.distance(to) {
            break (from, to);
        }
    };
    let speed = config.min_speed * pow(config.max_speed / config.min_speed, unit(rng));
    let done = unit(rng);
    let here = Position::new(
        from.x + (to.x - from.x) * done,
        from.y + (to.y - from.y) * done,
    );
    walk(here, to, Instant::ZERO, speed, config.pause)
}
