//! Networks without cables: ad-hoc wireless networks and satellite constellations.
//!
//! A [`Cloud`] carries packets between any two of its nodes and finds the routes itself. It has no
//! clock: its owner asks when the next event is due ([`Cloud::next_event`]), lets it perform events
//! ([`Cloud::advance`]), and takes the packets that reached their nodes ([`Cloud::pop`]).
//!
//! - [`adhoc`]: nodes with radios at fixed or changing positions. Propagation, medium access
//!   (802.11 and 802.15.4), an interface queue, ARP and a routing protocol for each node.
//! - [`constellation`]: satellites with links between them, and terminals on the ground.
#![no_std]
extern crate alloc;

pub mod adhoc;
mod cloud;
mod config;
pub mod constellation;
mod ideal;
mod random;

pub use cloud::{
    AirSummary, ArpSummary, Cloud, CloudCounters, CloudMap, CloudSummary, Delivery, DropCause,
    Lost, MAX_NODES, MapLink, NodeEnergy, NodeId, NodeSummary, RoutingSummary,
};
pub use config::CloudConfig;
pub use ideal::{Ideal, IdealConfig};
