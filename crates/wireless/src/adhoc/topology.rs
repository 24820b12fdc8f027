//! Which nodes are in range of each other: neighbours, hop counts, connectivity.

use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;

use super::mobility::{Area, Position};
use crate::NodeId;

impl Area {
    /// The probability that two uniform points are within `range` metres of each other; `None` if
    /// `range` exceeds the shorter side. In a square, with x = range / side, it is
    /// pi x^2 - 8/3 x^3 + x^4 / 2.
    #[must_use]
    pub fn link_probability(self, range: f64) -> Option<f64> {
        let size = self.width * self.height;
        let r2 = range * range;
        let borders = 4.0 / 3.0 * range * (self.width + self.height);
        let area = core::f64::consts::PI * size - borders + r2 / 2.0;
        (range <= self.width.min(self.height)).then_some(r2 * area / (size * size))
    }
}

/// The links between nodes at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    neighbours: Vec<Vec<NodeId>>,
}

impl Topology {
    /// A link between any two nodes that are at most `range` metres apart.
    #[must_use]
    pub fn new(positions: &[Position], range: f64) -> Self {
        let mut neighbours = vec![Vec::new(); positions.len()];
        for (a, from) in positions.iter().enumerate() {
            for (b, to) in positions.iter().enumerate().skip(a + 1) {
                if from.distance_squared(*to) <= range * range {
                    neighbours[a].push(NodeId(b as u32));
                    neighbours[b].push(NodeId(a as u32));
                }
            }
        }
        Self { neighbours }
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.neighbours.len()
    }

    /// The neighbours of a node, in their order.
    #[must_use]
    pub fn neighbours(&self, node: NodeId) -> &[NodeId] {
        &self.neighbours[node.index()]
    }

    /// The mean number of neighbours; 0 without nodes.
    #[must_use]
    pub fn mean_degree(&self) -> f64 {
        let links: usize = self.neighbours.iter().map(Vec::len).sum();
        links as f64 / self.node_count().max(1) as f64
    }

    /// Hops from each node to `to` on a shortest path; `None` for nodes without a path.
    #[must_use]
    pub fn hops(&self, to: NodeId) -> Vec<Option<u32>> {
        let mut hops = vec![None; self.node_count()];
        hops[to.index()] = Some(0);
        let mut reached = VecDeque::from([(to, 0)]);
        while let Some((node, count)) = reached.pop_front() {
            for neighbour in self.neighbours(node) {
                let entry = &mut hops[neighbour.index()];
                if entry.is_none() {
                    *entry = Some(count + 1);
                    reached.push_back((*neighbour, count + 1));
                }
            }
        }
        hops
    }

    /// The next hop of each node on a shortest path to `to`; of several, the one with the lowest
    /// number.
    #[must_use]
    pub fn next_hops(&self, to: NodeId) -> Vec<Option<NodeId>> {
        let hops = self.hops(to);
        let next = |node: usize| {
            let closer = hops[node]?.checked_sub(1)?;
            let is_closer = |other: &&NodeId| hops[other.index()] == Some(closer);
            self.neighbours[node].iter().find(is_closer).copied()
        };
        (0..self.node_count()).map(next).collect()
    }

    /// The number of the component of each node; a component is numbered when its first node is.
    #[must_use]
    pub fn components(&self) -> Vec<u32> {
        let mut component = vec![u32::MAX; self.node_count()];
        let mut count = 0;
        for node in 0..self.node_count() {
            if component[node] != u32::MAX {
                continue;
            }
            let hops = self.hops(NodeId(node as u32));
            for (other, _) in hops.iter().enumerate().filter(|(_, hops)| hops.is_some()) {
                component[other] = count;
            }
            count += 1;
        }
        component
    }

    /// Whether every node has a path to every other.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.components().iter().all(|component| *component == 0)
    }

    /// The fraction of pairs of different nodes that have a path; 1 with fewer than two nodes.
    #[must_use]
    pub fn connected_pairs(&self) -> f64 {
        let components = self.components();
        let nodes = components.len();
        let mut sizes = vec![0_usize; nodes];
        for component in &components {
            sizes[*component as usize] += 1;
        }
        let pairs: usize = sizes.iter().map(|size| size * size.saturating_sub(1)).sum();
        match nodes {
            0 | 1 => 1.0,
            nodes => pairs as f64 / (nodes * (nodes - 1)) as f64,
        }
    }
}
