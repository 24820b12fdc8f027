//! Which congestion control of the machine's kernel does what an algorithm of ours says, beside
//! those that [`emulator::stack`] knows: Debian builds them as modules.

use emulator::stack::{KernelName, Kind};

/// Modules `tcp_*` that are loaded where the package has them, by what TCP_CONGESTION calls them;
/// `reno` and `cubic` are in the kernel itself.
const BUILT_IN: [&str; 2] = ["reno", "cubic"];

/// How a loss sets the threshold: as a share of the window ...
type Decrease = Option<(u64, u64)>;
/// ... `tcp_reno_ssthresh` ...
const HALF: Decrease = Some((1, 2));
/// ... `beta` of tcp_bic.c ...
const BIC: Decrease = Some((819, 1024));
/// ... or from something else that was measured.
const MEASURED: Decrease = Some((0, 1));

/// Our algorithm, the kernel's name, and how a loss sets the threshold.
const NAMES: &[(&str, &str, Decrease)] = &[
    ("bic+standard", "bic", BIC),
    ("hybla+standard", "hybla", HALF),
    ("vegas+standard", "vegas", HALF),
    ("westwood+standard", "westwood", MEASURED),
];

/// The table, for [`emulator::stack::StackOptions::names`].
#[must_use]
pub fn names() -> Vec<KernelName> {
    NAMES
        .iter()
        .map(|&(algorithm, kernel, decrease)| KernelName {
            algorithm: algorithm.to_owned(),
            kernel: kernel.to_owned(),
            kind: Kind {
                exit: "ssthresh",
                decrease,
                hystart: false,
            },
        })
        .collect()
}

/// What a kernel with these modules (`tcp_bbr`, ...) offers.
#[must_use]
pub fn available<'a>(modules: impl IntoIterator<Item = &'a str>) -> Vec<String> {
    let loaded = modules
        .into_iter()
        .filter_map(|name| name.strip_prefix("tcp_"));
    BUILT_IN
        .into_iter()
        .chain(loaded)
        .map(str::to_owned)
        .collect()
}
