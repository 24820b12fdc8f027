//! Routes of shortest propagation delay (Dijkstra 1959), from all satellites to one.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use super::links::Port;

/// The routes to one satellite. Routes are found as far as they are asked for: the nearest
/// satellites first.
#[derive(Clone, Debug, Default)]
pub(super) struct Tree {
    /// The satellite to which the routes lead.
    root: Option<u32>,
    /// The update of delays that they rest on.
    epoch: u64,
    /// Delay to the root in nanoseconds, and the link to take.
    reached: Vec<(u64, Port)>,
    settled: Vec<bool>,
    frontier: BinaryHeap<Reverse<(u64, u32)>>,
}

impl Tree {
    /// Starts anew unless the routes are those to `root` in `epoch`.
    pub(super) fn prepare(&mut self, root: u32, epoch: u64, satellites: u32) {
        if self.root == Some(root) && self.epoch == epoch {
            return;
        }
        self.root = Some(root);
        self.epoch = epoch;
        let count = satellites as usize;
        self.reached.clear();
        self.reached.resize(count, (u64::MAX, Port::Ahead));
        self.settled.clear();
        self.settled.resize(count, false);
        self.frontier.clear();
        self.reached[root as usize].0 = 0;
        self.frontier.push(Reverse((0, root)));
    }

    /// The link that leads from a satellite to the root, unless it is the root or has no route.
    /// `neighbour` is the satellite at the other end of a link, if the link is up, and `cost` the
    /// delay of a link in nanoseconds.
    pub(super) fn port(
        &mut self,
        satellite: u32,
        neighbour: impl Fn(u32, Port) -> Option<u32>,
        cost: impl Fn(u32, Port) -> u64,
    ) -> Option<Port> {
        while !self.settled[satellite as usize] {
            let Reverse((delay, nearest)) = self.frontier.pop()?;
            if core::mem::replace(&mut self.settled[nearest as usize], true) {
                continue;
            }
            for port in Port::ALL {
                let Some(other) = neighbour(nearest, port) else {
                    continue;
                };
                if self.settled[other as usize] {
                    continue;
                }
                let delay = delay + cost(nearest, port);
                if delay < self.reached[other as usize].0 {
                    self.reached[other as usize] = (delay, port.opposite());
                    self.frontier.push(Reverse((delay, other)));
                }
            }
        }
        (self.root != Some(satellite)).then(|| self.reached[satellite as usize].1)
    }
}
