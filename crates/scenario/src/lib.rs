//! A scenario: a path and the flows over it. Data only.
//!
//! A scenario comes from a TOML file ([`Scenario::load`]), from a command's arguments
//! ([`Scenario::compare`] over [`PathModel::resolve`]), or is built in code. Every result contains
//! its resolved form, in which the name of each number includes its unit.
//!
//! `docs/reference/scenario.md` describes the file format, and
//! `docs/reference/scenario.schema.json` is its JSON Schema. Every error is one sentence that names
//! file, line, column and the nearest known key ([`Error`]).
//!
//! A full packet is 1500 bytes of IP ([`FULL_PACKET`]).

mod access;
mod aqm;
mod cloud;
mod compare;
mod decimal;
mod described;
mod document;
mod error;
mod exact;
mod file;
mod flow;
mod hosts;
mod limits;
mod link;
mod map;
mod model;
mod named;
mod path;
mod presets;
mod quantity;
mod random;
mod resolved;
mod router;
mod schema;
pub mod stacks;
mod standstill;
mod support;
mod tables;
mod topology;
mod trace_file;
mod traffic;
mod value;
mod write;

pub use compare::CompareOptions;
pub use error::Error;
pub use exact::ExactScenario;
pub use flow::{FindAlgorithm, find_algorithms};
pub use map::Map;
pub use model::{
    Application, DEFAULT_OVERHEAD, Direction, Ends, FULL_PACKET, Flow, FlowSettings, FlowStack,
    Hosts, LinkModel, Node, PathModel, Place, ProxyModel, Route, RouterModel, Scenario, Step,
    Traffic,
};
pub use presets::{PRESETS, Preset};
pub use quantity::{
    Buffer, format_buffer, format_duration, format_rate, format_size, parse_buffer, parse_duration,
    parse_probability, parse_rate, parse_size,
};
pub use schema::{kinds, known_tables, models};
pub use support::{Use, refusal, refusal_of_flow, refusal_of_path, supports, uses};
pub use tcp::{AccurateEcn, AckPolicy, Autotuning, LossDetection, Misbehavior};
pub use trace_file::{read_bytes, read_text};
pub use wireless::CloudConfig;
pub use workload::{KnownTraffic, TrafficKind};
