//! Measurements of a run of any origin: simulation, kernel or capture.
//!
//! Probes record events during a run in bounded memory. [`FlowResult`], [`LinkResult`] and
//! [`RunResult`] are the results. [`document`] writes the result document (`"format": 2`), and
//! `tables` (a feature) the same data as Arrow tables. Times in results are seconds since the
//! flow's SYN left, unless a field states otherwise.

mod capacity;
mod characterization;
mod histogram;
mod name;
mod network;
mod packets;
mod probe;
mod queue;
mod responses;
mod result;
mod resumption;
mod startup;
mod summary;
#[cfg(feature = "tables")]
pub mod tables;
mod tally;
mod trace;

pub use capacity::{CapacityPoint, ExitClass, LatencyOffset, ThroughputMedian, classify};
pub use characterization::{
    Characterization, Deliveries, NetworkCharacterization, NetworkFrame, NetworkRoute, Probe,
    RouteSeries,
};
pub use histogram::Histogram;
pub use name::Name;
pub use network::{
    AirResult, ArpResult, DataResult, EnergyResult, NetworkResult, NodeResult, PacketResult,
    RoutingResult, TopologyResult,
};
pub use packets::{Limit, PacketKind, PacketRecord, PacketTrace, Vantage};
pub use probe::FlowProbe;
pub use queue::{QueueDistribution, QueueSampler};
pub use responses::{Epoch, EpochResult, ExchangeResult, ResponseClass, Responses, Spread};
pub use result::{
    Document, FlowResult, LinkResult, RunResult, Stack, TrafficFlow, TrafficResult, document,
};
pub use resumption::ResumptionResult;
pub use startup::{Bottleneck, PathAtExit, SlowStartExitResult, StartupProbe, StartupResult};
pub use summary::{Interval, Shares, SummaryRow, median_with_interval, summarize};
pub use tally::{NetworkRow, Overview, PathRow, Repeats, Tally, TrafficRow};
pub use trace::{FlowSample, FlowTrace, LinkTrace, QuicEvent, QuicPacket, Traces};
