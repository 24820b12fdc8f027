//! Options of a run.

use emulator::EmulationOptions;
use units::Duration;

use crate::names::KernelName;

/// Options of a run.
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// Whether to keep time series.
    pub traces: bool,
    /// Time between two polls of the kernel.
    pub period: Duration,
    /// Permission to switch HyStart off for the whole machine during a run of `cubic+standard`,
    /// where `ss_cubic_std` is not loaded. Needs root.
    pub hystart_switch: bool,
    /// Permission to load, for the run, what the kernel lacks.
    pub guests: bool,
    /// How senders are observed; `None` selects the best way available.
    pub sampler: Option<Sampler>,
    /// Whether to poll TCP_INFO beside the probe, to compare the two.
    pub cross_check: bool,
    /// Congestion controls of the kernel in addition to the known ones.
    pub names: Vec<KernelName>,
    /// The congestion controls that the kernel has, by its own names, if it is not the running one;
    /// with `None` the running kernel is asked.
    pub available: Option<Vec<String>>,
    /// Options of the path. The run itself decides whether to trace queues and keep deliveries.
    pub emulation: EmulationOptions,
}

impl Default for StackOptions {
    /// No time series, the best sampler or a poll each millisecond, nothing switched for the whole
    /// machine.
    fn default() -> Self {
        Self {
            traces: false,
            period: Duration::from_millis(1),
            hystart_switch: false,
            guests: true,
            sampler: None,
            cross_check: false,
            names: Vec::new(),
            available: None,
            emulation: EmulationOptions::default(),
        }
    }
}

/// How the state of a sender is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampler {
    /// TCP_INFO is polled once a period.
    TcpInfo,
    /// A probe in the kernel reports each ACK. Needs root and the feature `bpf`.
    TcpProbe,
}

impl Sampler {
    /// Its name in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::TcpInfo => "tcp_info",
            Self::TcpProbe => "tcp_probe",
        }
    }
}
