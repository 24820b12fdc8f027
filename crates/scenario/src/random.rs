//! Whether anything in a scenario is random. Each part says it itself.

use crate::model::{Flow, PathModel, Scenario, Traffic};

impl Scenario {
    /// Whether two of its runs may differ: only where nothing draws is it false.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.path.is_random() || self.flows.iter().any(Flow::is_random)
    }
}

impl PathModel {
    /// Whether anything on it draws random numbers. It is taken apart without `..`, so that a new
    /// part does not compile before its answer is known.
    #[must_use]
    pub fn is_random(&self) -> bool {
        let Self {
            name: _,
            summary: _,
            is_absent: _,
            base_rtt: _,
            rate: _,
            bdp: _,
            buffer: _,
            warm_up: _,
            forward,
            reverse,
            router_support,
            routers,
            cloud,
            nodes,
            proxies,
            links,
            hosts,
            traffic,
        } = self;
        // A flow of a network may have ends that are drawn.
        let is_network = !(nodes.is_empty() && proxies.is_empty() && hosts.is_empty());
        forward.is_random()
            || reverse.is_random()
            || router_support.is_random()
            || !routers.is_empty()
            || cloud.is_some()
            || is_network
            || !links.is_empty()
            || traffic.iter().any(Traffic::is_random)
    }
}

impl Flow {
    /// Whether its congestion control draws random numbers. A start-up from elsewhere may. A QUIC
    /// stack draws the packet numbers that it skips.
    #[must_use]
    pub fn is_random(&self) -> bool {
        self.stack.is_foreign() || self.algorithm.is_foreign() || self.algorithm.needs().draws
    }
}

impl Traffic {
    /// Sizes or start times of every kind are drawn.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        true
    }
}
