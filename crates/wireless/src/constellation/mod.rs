//! Satellite constellations: satellites on circular orbits with links between them, and terminals
//! on the ground.
//!
//! [`Constellation`] is the [`Cloud`](crate::Cloud) whose nodes are the terminals. Satellites move
//! and the Earth rotates, so propagation delays change with every packet. Each terminal hands over
//! from satellite to satellite; packets follow the routes of shortest propagation delay, hop by
//! hop. [`Tracker`] answers questions about positions, links and routes without any packet.
//!
//! - [`orbit`]: circular orbits, the rotating Earth, elevation and delay.
//! - [`links`]: the grid of inter-satellite links, and which of them are up.
//! - [`Tracker`]: which satellite serves each terminal, and routes.
//!
//! ## Assumptions
//!
//! - Orbits are circular and unperturbed, and the Earth is a sphere.
//! - Every terminal uses one satellite at a time, and links have no errors.
//! - Routers know all delays as of the last update, at once and at no cost.
//! - Propagation follows the distance at the end of the transmission.
//!
//! ## Sources
//!
//! T. R. Henderson, chapter "Satellite Networking in ns" of The ns Manual (K. Fall and K. Varadhan,
//! editors), sections on node mobility, links, handoffs and routing, with its Iridium example;
//! S. R. Pratt, R. A. Raines, C. E. Fossa and M. A. Temple, "An Operational and Performance
//! Overview of the IRIDIUM Low Earth Orbit Satellite System", IEEE Communications Surveys 2(2),
//! 1999; J. G. Walker, "Satellite constellations", Journal of the British Interplanetary Society
//! 37, 1984.

mod config;
mod link;
pub mod links;
mod network;
pub mod orbit;
mod routes;
mod tracker;

pub use config::{ConstellationConfig, ConstellationPreset, HandoverRule, Phasing, TerminalConfig};
pub use network::Constellation;
pub use orbit::Place;
pub use tracker::{Route, Terminal, Tracker};
