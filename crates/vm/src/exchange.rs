//! The input and output of the machine, as JSON. Both ends come from one build.

use emulator::SelfCheck;
use measure::{RunResult, Traces};
use scenario::ExactScenario;
use serde::{Deserialize, Serialize};

/// Path of the job inside the machine.
pub const JOB: &str = "/job.json";
/// Path of the kernel modules inside the machine, loaded in the order of their names.
pub const MODULES: &str = "/modules";
/// The port of QEMU's debug console, to which the machine writes: a full stop for each second of
/// its own time, a line feed, and an [`Answer`].
pub const PORT: u16 = 0xe9;

/// One run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The scenario.
    pub scenario: ExactScenario,
    /// The number of the run.
    pub run: u32,
    /// Whether to keep time series.
    pub traces: bool,
}

/// The output of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Output {
    /// Its measurements.
    pub result: RunResult,
    /// Its time series, if requested.
    pub traces: Option<Traces>,
    /// The result of the emulator's timing self-check.
    pub check: SelfCheck,
    /// Number of samples of a flow.
    pub samples: u64,
    /// The longest time between two samples of the kernel's state, in milliseconds.
    pub longest_gap_ms: f64,
    /// The kernel's release, as printed by `uname -r`.
    pub kernel: String,
    /// TCP_CONGESTION of each flow.
    pub congestion: Vec<String>,
}

/// The machine's answer.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The run is complete.
    Done(Box<Output>),
    /// The kernel does not support the scenario: one sentence.
    Unsupported(String),
    /// The run failed: one sentence.
    Failed(String),
}
