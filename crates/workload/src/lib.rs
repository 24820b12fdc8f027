//! What applications send, and when, independent of the network.
//!
//! A workload is a sequence of [`Connection`]s. Each one says when it starts, how many bytes its
//! two sides write, and how long each side waits between these writes: the a-b-t model of Weigle et
//! al. 2006 (docs/reference/sources.md). What the network does with the bytes is not part of it.
//!
//! - [`tmix`] reads and writes files of such connections, in both of Tmix' formats.
//! - [`suite`] adapts them to an experiment as the Common TCP Evaluation Suite does: scale, load,
//!   shuffled bins, run length, prefill.
//! - [`generate`] draws them from distributions, each generator from one random stream.
//! - [`kinds`] has a row for each kind of traffic: its keys in a scenario file and its generator.
//! - [`AdaptiveVideo`] is the one application that no script describes: what it requests depends
//!   on what the network delivered.
//! - [`Application`] is what runs at either side of a connection.
//!
//! docs/reference/workloads.md describes the model, the formats and the generators.

mod application;
mod connection;
mod dialogue;
pub mod draw;
pub mod generate;
pub mod kinds;
mod pareto;
pub mod suite;
pub mod tmix;
mod video;

pub use application::{Act, Answered, Application, Scripted, Server, Viewer};
pub use connection::{
    Close, Connection, Exchange, Headers, MAX_UNIT, Script, Side, Turn, Unit, Unsound,
};
pub use dialogue::{Dialogue, Dialogues};
pub use kinds::{KnownTraffic, Plan, Recording, TrafficKind, VideoClients};
pub use pareto::{TruncatedPareto, Truncation};
pub use video::{AdaptiveVideo, SegmentRequest, VideoConfig};
