//! The congestion controls that can be loaded, and what can be chosen about them.

use crate::Error;

/// A congestion control that can be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Control {
    /// What the kernel calls it (TCP_CONGESTION): at most 15 characters.
    pub name: &'static str,
    /// The same algorithm in the simulator.
    pub algorithm: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Whether it is loaded when none is named.
    pub default: bool,
}

/// The congestion controls that can be loaded.
pub const CONTROLS: &[Control] = &[
    Control {
        name: "ss_search",
        algorithm: "cubic+search:version=2.0,arithmetic=percent",
        summary: "CUBIC whose slow start is ended by SEARCH 2.0",
        default: true,
    },
    Control {
        name: "ss_search31",
        algorithm: "cubic+search:version=3.1,arithmetic=percent",
        summary: "CUBIC whose slow start is ended by SEARCH 3.1",
        default: false,
    },
    Control {
        name: "ss_search40",
        algorithm: "cubic+search:version=4.0,arithmetic=percent",
        summary: "CUBIC whose slow start is ended by SEARCH 4.0, which drains the queue",
        default: false,
    },
    Control {
        name: "ss_hspp",
        algorithm: "cubic+hystart++",
        summary: "CUBIC whose slow start is ended by HyStart++",
        default: true,
    },
    Control {
        name: "ss_hspatch",
        algorithm: "cubic+hystart++:form=patch",
        summary: "CUBIC whose slow start is ended by HyStart++ as its authors' patch has it",
        default: false,
    },
    Control {
        name: "ss_hspaper",
        algorithm: "cubic+hystart:variant=paper",
        summary: "CUBIC whose slow start is ended by HyStart as its paper has it",
        default: false,
    },
    Control {
        name: "ss_suss",
        algorithm: "cubic+suss:override_window=false",
        summary: "CUBIC whose slow start is sped up by SUSS, within the announced window",
        default: false,
    },
    Control {
        name: "ss_cubic_std",
        algorithm: "cubic+standard",
        summary: "CUBIC with standard slow start",
        default: true,
    },
    Control {
        name: "ss_bic",
        algorithm: "bic+standard",
        summary: "BIC with standard slow start",
        default: false,
    },
    Control {
        name: "ss_westwood",
        algorithm: "westwood+standard",
        summary: "Westwood+ with standard slow start",
        default: false,
    },
];

impl Control {
    /// Whether it is one of SEARCH's.
    #[cfg_attr(
        not(all(feature = "bpf", target_os = "linux")),
        allow(dead_code, reason = "used where objects are loaded")
    )]
    pub(crate) fn is_search(&self) -> bool {
        self.name.starts_with("ss_search")
    }
}

/// What SEARCH does to the window when slow start ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitAction {
    /// The threshold becomes the window.
    Plain,
    /// The window also gives back what it grew in the last two initial round trips.
    Rollback,
    /// The window first falls as the queue drains.
    Drain,
}

/// What can be chosen about the congestion controls of SEARCH before they are loaded. `None` is
/// the version's own choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// What happens to the window at the exit.
    pub exit: Option<ExitAction>,
    /// `THRESH` in thousandths of the expectation, at most 1000.
    pub threshold_permille: Option<u32>,
    /// Initial round trips without an ACK after which the bins are worthless, at most 65535; zero
    /// is never.
    pub alpha: Option<u32>,
    /// Whether the first decision is told and nothing done about it.
    pub passive: bool,
}

impl Options {
    /// Whether everything is in range.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let invalid = |sentence: &str| Err(Error::Invalid(sentence.to_owned()));
        if self.threshold_permille.is_some_and(|value| value > 1_000) {
            return invalid("a threshold has at most 1000 thousandths");
        }
        if self.alpha.is_some_and(|value| value > 65_535) {
            return invalid("alpha is at most 65535 round trips");
        }
        Ok(())
    }

    /// `struct ss_search_config` of `bpf/core/search.h`, as `bytes` hold it, with what was chosen.
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
            // With room for what makes the name of a guest its own.
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
