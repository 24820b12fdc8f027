//! What is measured of a run, whatever produced it: a simulation, a kernel, a capture.
//!
//! Probes take facts as they happen and keep a bounded amount of them; [`FlowResult`],
//! [`LinkResult`] and [`RunResult`] are what remains; [`document`] is the result document
//! (`"format": 2`), [`tables`] the same as Arrow tables. Times in results are seconds since the
//! flow's SYN left unless a field says otherwise.

mod capacity;
mod histogram;
mod look;
mod probe;
mod result;
mod summary;
pub mod tables;
mod trace;

pub use capacity::{CapacityPoint, ExitClass, LatencyOffset, ThroughputMedian, classify};
pub use histogram::Histogram;
pub use look::{Deliveries, Look, Probe};
pub use probe::FlowProbe;
pub use result::{
    Document, FlowResult, LinkResult, RunResult, SlowStartExitResult, Stack, TrafficFlow,
    TrafficResult, document,
};
pub use summary::{Interval, Shares, SummaryRow, median_with_interval, summarize};
pub use trace::{FlowSample, FlowTrace, LinkTrace, Traces};
