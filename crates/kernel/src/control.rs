//! The congestion controls that can be loaded, and their options.

use tables::Supported;

use crate::Error;
use crate::offered::Offered;

/// A congestion control that can be loaded.
#[derive(Clone, Copy, Debug)]
pub struct Control {
    /// Its name in the kernel (TCP_CONGESTION): at most 15 characters.
    pub name: &'static str,
    /// The same algorithm in the simulator.
    pub algorithm: &'static str,
    /// The options with which it can be loaded. An algorithm with another one is refused.
    pub options: &'static [Supported],
    /// One line about it.
    pub summary: &'static str,
    /// Whether it is loaded when none is named.
    pub default: bool,
}

const SEARCH: &[Supported] = &[
    Supported::new("exit", "the program has all exits"),
    Supported::new("threshold", "the program compares thousandths"),
    Supported::new("missed", "the program does not freeze its time").only(&["keep", "reset"]),
    Supported::new("alpha", "whole initial round trips"),
    Supported::new(
        "passive",
        "the program reports its first decision, and does not exit",
    ),
    Supported::new("arithmetic", "whole percent in either case").only(&["exact", "percent"]),
];

const SUSS: &[Supported] = &[Supported::new(
    "override_window",
    "accepted, but the program stays within the advertised window: compare it with `cubic+suss`",
)];

/// The congestion controls of the kernel itself that are known: algorithm and name.
pub const BUILT_IN: &[(&str, &str)] = &[
    ("reno+standard", "reno"),
    ("cubic+hystart", "cubic"),
    ("bbr", "bbr"),
];

/// The congestion controls that can be loaded.
pub const CONTROLS: &[Control] = &[
    Control {
        name: "ss_search",
        algorithm: "cubic+search:version=2.0,arithmetic=percent",
        options: SEARCH,
        summary: "CUBIC with SEARCH 2.0 as its slow-start exit",
        default: true,
    },
    Control {
        name: "ss_search31",
        algorithm: "cubic+search:version=3.1,arithmetic=percent",
        options: SEARCH,
        summary: "CUBIC with SEARCH 3.1 as its slow-start exit",
        default: false,
    },
    Control {
        name: "ss_search40",
        algorithm: "cubic+search:version=4.0,arithmetic=percent",
        options: SEARCH,
        summary: "CUBIC with SEARCH 4.0, which drains the queue, as its slow-start exit",
        default: false,
    },
    Control {
        name: "ss_hspp",
        algorithm: "cubic+hystart++",
        options: &[],
        summary: "CUBIC with HyStart++ as its slow-start exit",
        default: true,
    },
    Control {
        name: "ss_hspatch",
        algorithm: "cubic+hystart++:form=patch",
        options: &[],
        summary: "CUBIC with HyStart++ in the form of its authors' patch",
        default: false,
    },
    Control {
        name: "ss_hspaper",
        algorithm: "cubic+hystart:variant=paper",
        options: &[],
        summary: "CUBIC with HyStart in the form of its paper",
        default: false,
    },
    Control {
        name: "ss_suss",
        algorithm: "cubic+suss",
        options: SUSS,
        summary: "CUBIC with slow start accelerated by SUSS, within the advertised window",
        default: false,
    },
    Control {
        name: "ss_cubic_std",
        algorithm: "cubic+standard",
        options: &[],
        summary: "CUBIC with standard slow start",
        default: true,
    },
    Control {
        name: "ss_bic",
        algorithm: "bic+standard",
        options: &[],
        summary: "BIC with standard slow start",
        default: false,
    },
    Control {
        name: "ss_westwood",
        algorithm: "westwood+standard",
        options: &[],
        summary: "Westwood+ with standard slow start",
        default: false,
    },
];

impl PartialEq for Control {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Control {}

impl Control {
    /// The algorithms that it implements.
    #[must_use]
    pub const fn offered(&self) -> Offered<'static> {
        Offered {
            algorithm: self.algorithm,
            options: self.options,
        }
    }

    /// Whether it is one of the versions of SEARCH.
    #[cfg_attr(
        not(all(feature = "bpf", target_os = "linux")),
        allow(dead_code, reason = "used where objects are loaded")
    )]
    pub(crate) fn is_search(&self) -> bool {
        self.name.starts_with("ss_search")
    }
}

/// What SEARCH does to the window at the end of slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitAction {
    /// The threshold is set to the window.
    Plain,
    /// The window is also reduced by its growth in the last two initial round trips.
    Rollback,
    /// The window first shrinks while the queue drains.
    Drain,
}

/// Options of SEARCH's congestion controls, chosen before they are loaded. `None` leaves the
/// version's own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What happens to the window at the exit.
    pub exit: Option<ExitAction>,
    /// `THRESH` in thousandths of the expected delivery, at most 1000.
    pub threshold_permille: Option<u32>,
    /// Initial round trips without an ACK after which the bins are discarded, at most 65535; zero
    /// means never.
    pub alpha: Option<u32>,
    /// Whether the first decision is reported but has no effect.
    pub passive: bool,
}

impl Options {
    /// Whether everything is in range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |sentence: &str| Err(Error::Invalid(sentence.to_owned()));
        if self.threshold_permille.is_some_and(|value| value > 1_000) {
            return invalid("a threshold is at most 1000 thousandths");
        }
        if self.alpha.is_some_and(|value| value > 65_535) {
            return invalid("alpha is at most 65535 round trips");
        }
        Ok(())
    }

    /// Writes the options into `bytes`, a `struct ss_search_config` of `bpf/core/search.h`.
    #[cfg_attr(
        not(all(feature = "bpf", target_os = "linux")),
        allow(dead_code, reason = "used where objects are loaded")
    )]
    pub(crate) fn apply(&self, bytes: &mut [u8]) -> bool {
        let exit = self.exit.map(|exit| match exit {
            ExitAction::Plain => 0,
            ExitAction::Rollback => 1,
            ExitAction::Drain => 2,
        });
        let passive = self.passive.then_some(1);
        let fields = [
            (1, exit),
            (2, self.threshold_permille),
            (3, self.alpha),
            (4, passive),
        ];
        for (index, value) in fields {
            let Some(value) = value else { continue };
            let Some(field) = bytes.get_mut(index * 4..index * 4 + 4) else {
                return false;
            };
            field.copy_from_slice(&value.to_ne_bytes());
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel() {
        for control in CONTROLS {
            // With space for the suffix of a guest's name.
            assert!(control.name.len() <= 12, "{}", control.name);
        }
    }

    #[test]
    fn options_are_checked_and_written() {
        let options = Options {
            exit: Some(ExitAction::Drain),
            threshold_permille: Some(260),
            alpha: None,
            passive: true,
        };
        assert!(options.check().is_ok());
        let wrong = Options {
            threshold_permille: Some(1_001),
            ..options
        };
        assert!(wrong.check().is_err());
        let mut bytes = [20_u32, 0, 350, 7, 0].map(u32::to_ne_bytes).concat();
        assert!(options.apply(&mut bytes));
        let written = [20_u32, 2, 260, 7, 1].map(u32::to_ne_bytes).concat();
        assert_eq!(bytes, written);
        assert!(!options.apply(&mut bytes[..8]));
    }
}
