//! `proxy` of a `[[node]]` as data: performance-enhancing proxies that split connections (Border,
//! Kojo, Griner, Montenegro and Shelby 2001, RFC 3135, sections 2.1.1 and 2.4.1).

use std::sync::Arc;

use congestion::Algorithm;
use tcp::Autotuning;
use units::Bytes;

use super::{Application, Direction, Ends, Flow, Node, PathModel, Place};

/// A proxy that splits the connections that pass its node. Each part, a leg, is a connection of its
/// own, with its own handshake.
#[derive(Clone, Debug, PartialEq)]
pub struct ProxyModel {
    /// Where it stands.
    pub at: Node,
    /// Payload that it holds for each connection and direction: what has arrived from one leg and is
    /// not acknowledged on the next one.
    pub buffer: Bytes,
    /// The congestion control of its senders; `None` for that of the flow.
    pub algorithm: Option<Arc<Algorithm>>,
    /// Their initial window in segments; `None` for that of the flow.
    pub initial_window: Option<u32>,
    /// Whether they pace; `None` for what the flow does.
    pub pacing: Option<bool>,
}

impl PathModel {
    /// The proxy at a node.
    #[must_use]
    pub fn proxy(&self, node: Node) -> Option<&ProxyModel> {
        self.proxies.iter().find(|proxy| proxy.at == node)
    }

    /// The proxies that split a connection whose data goes in `direction` between `ends`, in the order
    /// in which the data passes them. A proxy does not split a connection that begins or ends at its
    /// node itself, but one from or to hosts behind it.
    #[must_use]
    pub fn proxies_between(&self, ends: Ends, direction: Direction) -> Vec<&ProxyModel> {
        if self.proxies.is_empty() {
            return Vec::new();
        }
        let nodes = self.ends_of(ends, direction);
        let Some(route) = self.route(nodes[0], nodes[1]) else {
            return Vec::new();
        };
        let mut passed = self.nodes_of(&route);
        if passed.is_empty() {
            passed.push(nodes[0]);
        }
        let is_at_hosts = |place| matches!(place, Some(Place::Hosts(_)));
        if !is_at_hosts(ends.to) {
            passed.pop();
        }
        let skipped = usize::from(!is_at_hosts(ends.from));
        let others = passed.iter().skip(skipped);
        others.filter_map(|&node| self.proxy(node)).collect()
    }
}

impl Flow {
    /// The settings of the leg of this flow from one proxy to another; `None` stands for the host at
    /// that end. The buffer of a proxy is fixed (SO_RCVBUF), and its receivers comply.
    #[must_use]
    pub fn leg(&self, from: Option<&ProxyModel>, to: Option<&ProxyModel>) -> Self {
        let mut leg = self.clone();
        if let Some(proxy) = from {
            if let Some(algorithm) = &proxy.algorithm {
                leg.algorithm = Arc::clone(algorithm);
            }
            leg.initial_window = proxy.initial_window.unwrap_or(leg.initial_window);
            leg.pacing = proxy.pacing.unwrap_or(leg.pacing);
            leg.small_queue = None;
            leg.application = Application::Bulk;
        }
        if let Some(proxy) = to {
            leg.receive_buffer = proxy.buffer;
            leg.autotuning = Autotuning::Off;
            leg.misbehavior = None;
        }
        leg
    }
}
