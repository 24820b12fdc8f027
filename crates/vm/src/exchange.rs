//! What goes into the machine and what comes out of it, as JSON. Both ends are of one build.

use emulator::SelfCheck;
use measure::{RunResult, Traces};
use scenario::Parcel;
use serde::{Deserialize, Serialize};

/// Where the job lies in the machine.
pub const JOB: &str = "/job.json";
/// Where the kernel's modules lie in the machine, to be loaded in the order of their names.
pub const MODULES: &str = "/modules";
/// The port of QEMU's debug console, on which the machine speaks: a full stop for each second of
/// its own time, a line feed, and an [`Answer`].
pub const PORT: u16 = 0xe9;

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// What is run.
    pub scenario: Parcel,
    /// Its number.
    pub run: u32,
    /// Whether time series are kept.
    pub traces: bool,
}

/// What a run left.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    /// Its measurements.
    pub result: RunResult,
    /// Its time series, where asked for.
    pub traces: Option<Traces>,
    /// Whether to believe it.
    pub check: SelfCheck,
    /// How often a flow was looked at.
    pub samples: u64,
    /// The longest time from one look at the kernel to the next, in milliseconds.
    pub longest_gap_ms: f64,
    /// The kernel's release, as `uname -r` says it.
    pub kernel: String,
    /// TCP_CONGESTION of each flow.
    pub congestion: Vec<String>,
}

/// What the machine says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The run was made.
    Done(Box<Output>),
    /// The kernel cannot do what the scenario says: one sentence.
    Unsupported(String),
    /// Something failed: one sentence.
    Failed(String),
}
