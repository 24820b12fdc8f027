//! Questions about the radios of all nodes, whatever their medium-access protocol.

use alloc::vec::Vec;

use units::{Duration, Instant};

use super::air::{Air, Fate, Listen};
use super::mobility::Position;
use crate::{AirSummary, NodeEnergy, NodeId};

/// A node that another one hears well enough to decode its frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbour {
    /// The node.
    pub node: NodeId,
    /// Propagation to it.
    pub delay: Duration,
}

/// The radios of all nodes. Questions come in order of time.
pub trait Radios {
    /// Where a node is.
    fn position(&mut self, now: Instant, node: NodeId) -> Position;

    /// The nodes that can decode the frames of `node`, in order.
    fn neighbours(&mut self, now: Instant, node: NodeId) -> Vec<Neighbour>;

    /// The battery of a node, if it has one.
    fn battery(&mut self, now: Instant, node: NodeId) -> Option<NodeEnergy>;

    /// Frames, collisions and airtime before `now`; the medium-access protocol knows the rest.
    fn frames(&mut self, now: Instant) -> AirSummary;
}

impl<L: Listen> Radios for Air<L> {
    fn position(&mut self, now: Instant, node: NodeId) -> Position {
        Self::position(self, node, now)
    }

    fn neighbours(&mut self, now: Instant, node: NodeId) -> Vec<Neighbour> {
        let least = self.receive_threshold();
        let links = self.links(now, node).iter();
        let mut found: Vec<Neighbour> = links
            .filter(|link| link.power >= least)
            .map(|link| Neighbour {
                node: link.node,
                delay: link.delay,
            })
            .collect();
        found.sort_unstable_by_key(|neighbour| neighbour.node);
        found
    }

    fn battery(&mut self, now: Instant, node: NodeId) -> Option<NodeEnergy> {
        let report = self.energy(now, node)?;
        Some(NodeEnergy {
            initial_j: report.left + report.used,
            used_j: report.used,
            empty_at: report.died,
        })
    }

    fn frames(&mut self, now: Instant) -> AirSummary {
        self.settle(now);
        let counters = self.counters();
        AirSummary {
            frames: counters.frames,
            collisions: counters.of(Fate::Collided),
            busy: self.busy_before(now),
            ..AirSummary::default()
        }
    }
}
