//! Which nodes a frame reaches, how strong and when.
//!
//! Nodes that do not move have one list each, made at the start. For nodes that move there is a
//! list of candidates: all nodes that can come into range before any node has moved by a margin. It
//! is made anew when nodes may have moved that far; positions are exact for each frame. Both take a
//! grid of cells, so that nodes far away cost nothing.

use alloc::vec::Vec;

use units::{Duration, Instant};

use super::super::mobility::{Mobility, Position};
use super::super::propagation::{Propagation, delay};
use crate::NodeId;

/// The margin of candidates, as a fraction of the range.
const MARGIN: f64 = 0.1;
const NANOS_PER_SEC: f64 = 1e9;

/// A node in range of another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// The node.
    pub node: NodeId,
    /// When a bit arrives there.
    pub delay: Duration,
    /// The power there, in watts.
    pub power: f64,
}

/// A node that may be in range, with the gain of shadowing.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    node: NodeId,
    gain: f64,
}

#[derive(Debug)]
pub(super) struct Neighbours {
    mobility: Mobility,
    /// Links of nodes that do not move, or candidates of nodes that do; `starts` has the first one
    /// of each node, and the end.
    starts: Vec<u32>,
    links: Vec<Link>,
    candidates: Vec<Candidate>,
    /// The candidates are valid until then.
    valid: Instant,
    /// The square of the largest range, in square metres, with the largest gain of shadowing.
    reach: f64,
    /// The weakest power that counts, in watts.
    floor: f64,
    /// The links of the last frame, of nodes that move.
    now: Vec<Link>,
}

impl Neighbours {
    pub(super) fn new(mut mobility: Mobility, propagation: &Propagation) -> Self {
        let floor = propagation
            .sense_threshold()
            .min(propagation.receive_threshold());
        let range = propagation.distance(floor / propagation.most_shadow());
        // The distance comes from the power by an inverse that may round down.
        let reach = range * (1.0 + 1e-9);
        let mut neighbours = Self {
            starts: Vec::new(),
            links: Vec::new(),
            candidates: Vec::new(),
            valid: Instant::ZERO,
            reach: reach * reach,
            floor,
            now: Vec::new(),
            mobility: Mobility::fixed(&[]),
        };
        if mobility.is_static() {
            neighbours.valid = Instant::MAX;
            let positions = mobility.positions(Instant::ZERO);
            let cells = Cells::new(&positions, reach);
            neighbours.starts.push(0);
            for (node, at) in positions.iter().enumerate() {
                let node = NodeId(node as u32);
                let first = neighbours.links.len();
                cells.near(*at, |other| {
                    let metres = at.distance_squared(positions[other.index()]);
                    let shadow = || propagation.shadow(node, other);
                    if other != node && metres <= neighbours.reach {
                        let power = propagation.received_squared(metres) * shadow();
                        neighbours.links.extend(link(other, metres, power, floor));
                    }
                });
                neighbours.links[first..].sort_unstable_by_key(|link| link.node);
                neighbours.starts.push(neighbours.links.len() as u32);
            }
        }
        neighbours.mobility = mobility;
        neighbours
    }

    pub(super) fn position(&mut self, node: NodeId, at: Instant) -> Position {
        self.mobility.position(node, at)
    }

    /// The nodes in range of one that does not move, in their order.
    pub(super) fn fixed(&self, node: NodeId) -> &[Link] {
        let (first, end) = (self.starts[node.index()], self.starts[node.index() + 1]);
        &self.links[first as usize..end as usize]
    }

    /// The nodes in range, in their order.
    #[inline]
    pub(super) fn of(&mut self, now: Instant, node: NodeId, propagation: &Propagation) -> &[Link] {
        if self.mobility.is_static() {
            return self.fixed(node);
        }
        self.moving(now, node, propagation)
    }

    #[inline(never)]
    fn moving(&mut self, now: Instant, node: NodeId, propagation: &Propagation) -> &[Link] {
        if now >= self.valid {
            self.find(now, propagation);
        }
        let (first, end) = (self.starts[node.index()], self.starts[node.index() + 1]);
        let at = self.mobility.position(node, now);
        self.now.clear();
        for candidate in &self.candidates[first as usize..end as usize] {
            let metres = at.distance_squared(self.mobility.position(candidate.node, now));
            if metres <= self.reach {
                let power = propagation.received_squared(metres) * candidate.gain;
                self.now
                    .extend(link(candidate.node, metres, power, self.floor));
            }
        }
        &self.now
    }

    /// Finds the candidates of all nodes.
    fn find(&mut self, now: Instant, propagation: &Propagation) {
        let range = libm::sqrt(self.reach);
        let margin = range * MARGIN;
        // Two nodes may approach each other.
        let reach = range + 2.0 * margin;
        let lasts = margin / self.mobility.max_speed() * NANOS_PER_SEC;
        self.valid = now + Duration::from_nanos((lasts as u64).clamp(1, 1 << 62));
        let positions = self.mobility.positions(now);
        let cells = Cells::new(&positions, reach);
        self.starts.clear();
        self.candidates.clear();
        self.starts.push(0);
        for (node, at) in positions.iter().enumerate() {
            let node = NodeId(node as u32);
            let first = self.candidates.len();
            cells.near(*at, |other| {
                let near = at.distance_squared(positions[other.index()]) <= reach * reach;
                if other != node && near {
                    let gain = propagation.shadow(node, other);
                    self.candidates.push(Candidate { node: other, gain });
                }
            });
            self.candidates[first..].sort_unstable_by_key(|candidate| candidate.node);
            self.starts.push(self.candidates.len() as u32);
        }
    }
}

/// The link over a distance given by its square, if the power counts.
fn link(node: NodeId, metres_squared: f64, power: f64, floor: f64) -> Option<Link> {
    (power >= floor).then(|| Link {
        node,
        delay: delay(libm::sqrt(metres_squared)),
        power,
    })
}

/// Nodes by cells of a grid, in the order of cells.
struct Cells {
    west: f64,
    south: f64,
    side: f64,
    columns: usize,
    rows: usize,
    /// The first node of each cell in `nodes`, and the end.
    starts: Vec<u32>,
    nodes: Vec<NodeId>,
}

impl Cells {
    /// Cells whose side is at least `reach`: all nodes within it are in a cell or around it.
    fn new(positions: &[Position], reach: f64) -> Self {
        let least =
            |value: fn(&Position) -> f64| positions.iter().map(value).fold(f64::INFINITY, f64::min);
        let most = |value: fn(&Position) -> f64| {
            positions
                .iter()
                .map(value)
                .fold(f64::NEG_INFINITY, f64::max)
        };
        let (west, south) = (least(|at| at.x), least(|at| at.y));
        let (wide, high) = (most(|at| at.x) - west, most(|at| at.y) - south);
        // No more cells than some for each node.
        let fewest = wide.max(high) / (libm::sqrt(positions.len() as f64) * 2.0 + 1.0);
        let side = reach.max(fewest).max(1e-3);
        let (columns, rows) = if positions.is_empty() {
            (1, 1)
        } else {
            ((wide / side) as usize + 1, (high / side) as usize + 1)
        };
        let mut cells = Self {
            west,
            south,
            side,
            columns,
            rows,
            starts: Vec::new(),
            nodes: Vec::new(),
        };
        cells.starts.resize(columns * rows + 1, 0);
        for at in positions {
            let (column, row) = cells.cell(*at);
            cells.starts[row * columns + column + 1] += 1;
        }
        for cell in 0..columns * rows {
            cells.starts[cell + 1] += cells.starts[cell];
        }
        let mut next = cells.starts.clone();
        cells.nodes.resize(positions.len(), NodeId(0));
        for (node, at) in positions.iter().enumerate() {
            let (column, row) = cells.cell(*at);
            let place = &mut next[row * columns + column];
            cells.nodes[*place as usize] = NodeId(node as u32);
            *place += 1;
        }
        cells
    }

    fn cell(&self, at: Position) -> (usize, usize) {
        let column = ((at.x - self.west) / self.side) as usize;
        let row = ((at.y - self.south) / self.side) as usize;
        (column.min(self.columns - 1), row.min(self.rows - 1))
    }

    /// All nodes in the cell of a place and around it.
    fn near(&self, at: Position, mut node: impl FnMut(NodeId)) {
        let (column, row) = self.cell(at);
        for row in row.saturating_sub(1)..(row + 2).min(self.rows) {
            let first = row * self.columns + column.saturating_sub(1);
            let last = row * self.columns + (column + 1).min(self.columns - 1);
            let nodes = self.starts[first] as usize..self.starts[last + 1] as usize;
            self.nodes[nodes].iter().for_each(|other| node(*other));
        }
    }
}
