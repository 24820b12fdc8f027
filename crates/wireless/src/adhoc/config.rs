//! The configuration of an ad-hoc network. Data only.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

use network::{Payload, Streams};
use units::Instant;

use super::AdHoc;
use super::arp::ArpConfig;
use super::energy::EnergyConfig;
use super::mac::Mac;
use super::mac::csma::{Csma, CsmaConfig};
use super::mac::dcf::{Dcf, DcfConfig};
use super::mobility::{Area, Mobility, Position, RandomWaypointConfig, Waypoint};
use super::propagation::{Propagation, RadioConfig};
use super::queue::QUEUE_LIMIT;
use super::routing::Routing;
use super::routing::aodv::{Aodv, AodvConfig};
use super::routing::dsdv::{Dsdv, DsdvConfig};
use super::routing::fixed::Fixed;
use super::topology::Topology;
use crate::{Cloud, NodeId};

/// The settings of an ad-hoc network.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct AdHocConfig {
    /// Number of nodes.
    pub nodes: u32,
    /// Where they are.
    pub area: Area,
    /// How they move.
    pub mobility: MobilityConfig,
    /// Their radios.
    pub radio: RadioConfig,
    /// Their medium-access protocol.
    pub mac: MacConfig,
    /// Their routing protocol.
    pub routing: RoutingConfig,
    /// How they find the addresses of neighbours; `None` if they know them.
    pub arp: Option<ArpConfig>,
    /// Packets that wait at each node, beside the one in service.
    pub queue: u32,
    /// Their batteries; `None` if their energy is unlimited.
    pub energy: Option<EnergyConfig>,
}

/// Where nodes are, and how they move.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MobilityConfig {
    /// At uniform random places, without motion.
    Random,
    /// On a grid, without motion.
    Grid,
    /// From waypoint to waypoint of a list.
    Listed(Arc<[Waypoint]>),
    /// The random waypoint model.
    RandomWaypoint(RandomWaypointConfig),
}

impl MobilityConfig {
    /// Whether nodes move.
    #[must_use]
    pub fn moves(&self) -> bool {
        match self {
            Self::Random | Self::Grid => false,
            Self::RandomWaypoint(_) => true,
            // A node with one waypoint does not move.
            Self::Listed(list) => list.iter().enumerate().any(|(place, waypoint)| {
                let before = list.iter().take(place);
                before.rev().any(|other| other.node == waypoint.node)
            }),
        }
    }
}

/// A medium-access protocol.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum MacConfig {
    /// 802.11.
    Dcf(DcfConfig),
    /// 802.15.4.
    Csma(CsmaConfig),
}

impl MacConfig {
    /// Its name in a file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dcf(_) => "802.11",
            Self::Csma(_) => "802.15.4",
        }
    }

    /// The radio that it usually has.
    #[must_use]
    pub const fn radio(&self) -> RadioConfig {
        match self {
            Self::Dcf(_) => RadioConfig::DEFAULT,
            Self::Csma(_) => CsmaConfig::radio(),
        }
    }
}

/// A routing protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RoutingConfig {
    /// DSDV.
    Dsdv(DsdvConfig),
    /// AODV.
    Aodv(AodvConfig),
    /// The shortest routes of the start, without messages.
    Fixed,
}

impl RoutingConfig {
    /// Its name in a file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Dsdv(_) => "dsdv",
            Self::Aodv(_) => "aodv",
            Self::Fixed => "fixed",
        }
    }
}

impl Default for AdHocConfig {
    fn default() -> Self {
        Self::new(2)
    }
}

impl AdHocConfig {
    /// 802.11 with DSDV between `nodes` nodes at random places of 500 m by 500 m.
    #[must_use]
    pub const fn new(nodes: u32) -> Self {
        Self {
            nodes,
            area: Area::square(500.0),
            mobility: MobilityConfig::Random,
            radio: RadioConfig::DEFAULT,
            mac: MacConfig::Dcf(DcfConfig::DEFAULT),
            routing: RoutingConfig::Dsdv(DsdvConfig::DEFAULT),
            arp: Some(ArpConfig::DEFAULT),
            queue: QUEUE_LIMIT as u32,
            energy: None,
        }
    }

    fn mobility(&self, streams: &Streams) -> Mobility {
        let count = self.nodes as usize;
        match &self.mobility {
            MobilityConfig::Random => Mobility::fixed(&self.area.uniform(count, streams)),
            MobilityConfig::Grid => Mobility::fixed(&self.area.grid(count)),
            // The reader has refused lists with mistakes.
            MobilityConfig::Listed(list) => {
                let origin = || Mobility::fixed(&self.area.grid(count));
                Mobility::listed(count, list).unwrap_or_else(|_| origin())
            }
            MobilityConfig::RandomWaypoint(config) => {
                Mobility::random_waypoint(self.area, count, config, streams)
            }
        }
    }

    /// Which nodes reach each other at the start of a run.
    #[must_use]
    pub fn topology(&self, streams: &Streams) -> Topology {
        let mut mobility = self.mobility(streams);
        let nodes = (0..self.nodes).map(NodeId);
        let places: Vec<Position> = nodes
            .map(|node| mobility.position(node, Instant::ZERO))
            .collect();
        Topology::new(&places, Propagation::new(&self.radio, streams).range())
    }

    /// The network at the start of a run.
    #[must_use]
    pub fn build<T: Payload>(&self, streams: &Streams) -> Box<dyn Cloud<T>> {
        let mobility = self.mobility(streams);
        let (radio, energy) = (&self.radio, self.energy.as_ref());
        let mac: Box<dyn Mac> = match &self.mac {
            MacConfig::Dcf(config) => Box::new(Dcf::new(config, radio, mobility, energy, streams)),
            MacConfig::Csma(config) => {
                Box::new(Csma::new(config, radio, mobility, energy, streams))
            }
        };
        let nodes = (0..self.nodes).map(NodeId);
        match self.routing {
            RoutingConfig::Dsdv(config) => self.over(
                mac,
                nodes.map(|node| Dsdv::new(node, config, streams)).collect(),
            ),
            RoutingConfig::Aodv(config) => self.over(
                mac,
                nodes.map(|node| Aodv::new(node, config, streams)).collect(),
            ),
            RoutingConfig::Fixed => self.over(mac, Fixed::shortest(&self.topology(streams))),
        }
    }

    fn over<T: Payload, R: Routing + 'static>(
        &self,
        mac: Box<dyn Mac>,
        routing: Vec<R>,
    ) -> Box<dyn Cloud<T>> {
        Box::new(AdHoc::new(mac, routing, self.queue as usize, self.arp))
    }
}
