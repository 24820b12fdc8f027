//! The algorithms that the congestion controls of the machine's kernel implement, in addition to
//! those of [`kernel_stack`]. Debian builds them as modules.

use kernel_stack::{KernelName, Kind};

/// The congestion controls built into the kernel, by their names in TCP_CONGESTION. The others are
/// modules `tcp_*`, which are loaded if the package contains them.
const BUILT_IN: [&str; 2] = ["reno", "cubic"];

/// How a loss sets the threshold: as a fraction of the window ...
type Decrease = Option<(u64, u64)>;
/// ... `tcp_reno_ssthresh` ...
const HALF: Decrease = Some((1, 2));
/// ... `beta` of tcp_bic.c ...
const BIC: Decrease = Some((819, 1024));
/// ... or from another measured quantity.
const MEASURED: Decrease = Some((0, 1));

/// Our algorithm, the kernel's name, and how a loss sets the threshold.
const NAMES: &[(&str, &str, Decrease)] = &[
    ("bic+standard", "bic", BIC),
    ("hybla+standard", "hybla", HALF),
    ("vegas+standard", "vegas", HALF),
    ("westwood+standard", "westwood", MEASURED),
];

/// The table, for [`kernel_stack::StackOptions::names`].
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

/// The congestion controls of a kernel with these modules (`tcp_bbr`, ...).
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
