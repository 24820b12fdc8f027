//! Which congestion control of the kernel does what an algorithm of ours says.
//!
//! [`kernel::BUILT_IN`] lists those of the kernel itself, [`kernel::CONTROLS`] the programs of this
//! project with their options. `/proc/sys/net/ipv4/tcp_available_congestion_control` lists those that
//! are loaded, of both.

use std::fs;

use congestion::Algorithm;
use kernel::offered::{self, Offered};
use kernel::{BUILT_IN, CONTROLS, Wanted};

/// A congestion control of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelName {
    /// Our algorithm, in canonical form: `cubic+hystart`.
    pub algorithm: String,
    /// What TCP_CONGESTION calls it.
    pub kernel: String,
    /// What it is in terms of this module.
    pub kind: Kind,
}

/// What is known about how a congestion control leaves slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kind {
    /// The word for an exit that no loss, mark or timeout caused.
    pub exit: &'static str,
    /// On a loss the threshold becomes `cwnd * numerator / denominator`, rounded down: what the
    /// window was follows from it. `None` for what sets no threshold on a loss, a numerator of
    /// zero where it follows from something else (Westwood+'s from the rate).
    pub decrease: Option<(u64, u64)>,
    /// HyStart of the kernel's own CUBIC runs, whose counters tell the reason of its exit.
    pub hystart: bool,
}

/// `beta` of tcp_cubic.c, of 1024.
const CUBIC: Option<(u64, u64)> = Some((717, 1024));
/// `beta` of tcp_bic.c, of 1024 (above 14 segments).
const BIC: Option<(u64, u64)> = Some((819, 1024));
/// `tcp_reno_ssthresh`.
const RENO: Option<(u64, u64)> = Some((1, 2));

/// The exit word, the decrease and whether the kernel's HyStart runs.
const fn kind(exit: &'static str, decrease: Option<(u64, u64)>, hystart: bool) -> Kind {
    Kind {
        exit,
        decrease,
        hystart,
    }
}

/// The kernel's CUBIC with HyStart off, for one socket at a time: an eBPF program of this project.
pub(crate) const PLAIN_CUBIC: &str = "ss_cubic_std";

/// The kernel's own CUBIC.
pub(crate) const CUBIC_MODULE: &str = "cubic";

/// How a congestion control of this name leaves slow start.
fn kind_of(name: &str) -> Kind {
    match name {
        "reno" => kind("ssthresh", RENO, false),
        CUBIC_MODULE => kind("delay", CUBIC, true),
        "bbr" => kind("full-pipe", None, false),
        "ss_hspp" | "ss_hspatch" => kind("css-rounds", CUBIC, false),
        // Where the program reports its decision, it also reports which of the two tests it was.
        "ss_hspaper" | "ss_suss" => kind("delay", CUBIC, false),
        "ss_bic" => kind("ssthresh", BIC, false),
        "ss_westwood" => kind("ssthresh", RENO, false),
        PLAIN_CUBIC => kind("ssthresh", CUBIC, false),
        _ => kind("search", CUBIC, false),
    }
}

/// Finds the congestion control for `algorithm`, first in `more`, and what has to be loaded for it.
pub(crate) fn find(
    algorithm: &Algorithm,
    more: &[KernelName],
) -> Option<(KernelName, Option<Wanted>)> {
    let canonical = algorithm.name();
    if let Some(name) = more.iter().find(|name| name.algorithm == canonical) {
        return Some((name.clone(), None));
    }
    let named = |kernel: &str, kind| KernelName {
        algorithm: canonical.to_owned(),
        kernel: kernel.to_owned(),
        kind,
    };
    if let Some(wanted) = Wanted::of_algorithm(algorithm) {
        let name = wanted.control.name;
        return Some((named(name, kind_of(name)), Some(wanted)));
    }
    let (_, kernel) = BUILT_IN.iter().find(|(ours, _)| *ours == canonical)?;
    Some((named(kernel, kind_of(kernel)), None))
}

/// Why no congestion control of the kernel implements an algorithm, as the end of a sentence.
pub(crate) fn refusal(algorithm: &Algorithm, more: &[KernelName]) -> String {
    let mut offered: Vec<Offered<'_>> = Vec::new();
    offered.extend(BUILT_IN.iter().map(|(ours, _)| Offered::plain(ours)));
    for control in CONTROLS {
        offered.push(control.offered());
    }
    offered.extend(more.iter().map(|name| Offered::plain(&name.algorithm)));
    offered::refusal(&offered, algorithm)
}

/// The congestion controls that the running kernel offers.
pub(crate) fn available() -> Vec<String> {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(str::to_owned)
        .collect()
}
