//! Ad-hoc networks: nodes with radios that forward packets for each other.
//!
//! From top to bottom a node has a routing protocol ([`routing`]), ARP, an interface queue, a
//! medium-access protocol ([`mac`]) and a radio. The medium-access protocol of all nodes is one
//! object, since they share the air.

pub mod air;
pub mod arp;
mod config;
pub mod energy;
pub mod mac;
pub mod mobility;
mod network;
pub mod propagation;
pub mod queue;
pub mod radios;
pub mod routing;
pub mod topology;

pub use config::{AdHocConfig, MacConfig, MobilityConfig, RoutingConfig};
pub use network::AdHoc;
