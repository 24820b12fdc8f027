//! Flows in one direction that start as a Poisson process.

use rand_chacha::ChaCha8Rng;
use units::Instant;

use super::{Arrivals, Numbers, one_way};
use crate::draw::Sizes;
use crate::{Connection, Side};

/// Parameters of the flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PoissonFlowsConfig {
    /// Flows per second.
    pub arrivals_per_s: f64,
    /// When the process begins.
    pub begin: Instant,
    /// Size of a flow.
    pub size: Sizes,
    /// Who sends.
    pub sender: Side,
}

/// An endless iterator over flows.
#[derive(Clone, Debug)]
pub struct PoissonFlows {
    config: PoissonFlowsConfig,
    random: ChaCha8Rng,
    arrivals: Arrivals,
    numbers: Numbers,
}

impl PoissonFlows {
    /// Draws from `random`.
    #[must_use]
    pub fn new(config: PoissonFlowsConfig, random: ChaCha8Rng) -> Self {
        Self {
            config,
            random,
            arrivals: Arrivals::new(config.arrivals_per_s, config.begin),
            numbers: Numbers::default(),
        }
    }
}

impl Iterator for PoissonFlows {
    type Item = Connection;

    fn next(&mut self) -> Option<Connection> {
        let start = self.arrivals.next(&mut self.random);
        let size = self.config.size.draw(&mut self.random);
        let flow = one_way(self.config.sender, size);
        Some(self.numbers.connection(start, flow))
    }
}
