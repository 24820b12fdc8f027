//! Which congestion control of the machine's kernel does what an algorithm of ours says, beside
//! those that [`emulator::stack`] knows: Debian builds them as modules.

use emulator::stack::{KernelName, Kind};

/// Modules `tcp_*` that are loaded where the package has them, by what TCP_CONGESTION calls them;
/// `reno` and `cubic` are in the kernel itself.
const BUILT_IN: [&str; 2] = ["reno", "cubic"];

/// Our algorithm, the kernel's name, and the threshold after a loss as a share of the window where
/// it is one (bictcp's `beta`; the others compute it from what they measured).
const NAMES: &[(&str, &str, Option<(u64, u64)>)] = &[
    ("bic+standard", "bic", Some((819, 1024))),
    ("westwood+standard", "westwood", None),
    ("hybla+standard", "hybla", Some((1, 2))),
    ("vegas+standard", "vegas", Some((1, 2))),
    ("veno+standard", "veno", None),
    ("htcp+standard", "htcp", None),
    ("highspeed+standard", "highspeed", None),
    ("scalable+standard", "scalable", Some((7, 8))),
    ("illinois+standard", "illinois", None),
    ("yeah+standard", "yeah", None),
    ("nv+standard", "nv", None),
    ("lp+standard", "lp", Some((1, 2))),
    ("cdg+standard", "cdg", None),
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
