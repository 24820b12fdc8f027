//! From a name to what is loaded: `ss_search40`, `cubic+search:version=4.0`.

use crate::Error;
use crate::control::{CONTROLS, Control, ExitAction, Options};

/// What is to be loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Which congestion control.
    pub control: &'static Control,
    /// With what options.
    pub options: Options,
}

impl Wanted {
    /// What `name` says: an algorithm, or what the kernel calls it.
    ///
    /// # Errors
    /// There is none; the sentence names those there are.
    pub fn named(name: &str) -> Result<Self, Error> {
        let control = CONTROLS.iter().find(|control| control.name == name);
        let wanted = control.map(|control| Self {
            control,
            options: Options::default(),
        });
        wanted.or_else(|| Self::of_algorithm(name)).ok_or_else(|| {
            let names: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
            Error::Invalid(format!(
                "`{name}` cannot be loaded into the kernel; there are {} (cubic+search with \
                 version, exit, threshold, missed, alpha and passive; cubic+hystart++ \
                 with form; cubic+hystart:variant=paper; cubic+suss; cubic+standard; bic; westwood)",
                names.join(", ")
            ))
        })
    }

    /// What does as `algorithm` says, which is `avoidance+startup[:option=value,...]`; `None` where
    /// nothing does.
    #[must_use]
    pub fn of_algorithm(algorithm: &str) -> Option<Self> {
        let (name, settings) = match algorithm.split_once(':') {
            Some((name, settings)) => (name, settings),
            None => (algorithm, ""),
        };
        let settings = settings
            .split(',')
            .map(str::trim)
            .filter(|setting| !setting.is_empty());
        let (mut control, mut options, mut resets) = (None, Options::default(), false);
        match name.trim() {
            "cubic+hystart++" => control = Some("ss_hspp"),
            "cubic+standard" => control = Some("ss_cubic_std"),
            "cubic+suss" => control = Some("ss_suss"),
            "bic" | "bic+standard" => control = Some("ss_bic"),
            "westwood" | "westwood+standard" => control = Some("ss_westwood"),
            "cubic+search" | "cubic+hystart" => {}
            _ => return None,
        }
        let search = name.trim() == "cubic+search";
        let hystart = name.trim() == "cubic+hystart";
        for setting in settings {
            let (name, value) = setting.split_once('=')?;
            match (name.trim(), value.trim()) {
                ("variant", "paper") if hystart => control = Some("ss_hspaper"),
                ("form", "rfc") if control == Some("ss_hspp") => {}
                ("form", "patch") if control == Some("ss_hspp") => control = Some("ss_hspatch"),
                // The program cannot suppose a larger window; bpf/README.md says so.
                ("override_window", "true" | "false") if control == Some("ss_suss") => {}
                _ if !search => return None,
                ("version", "2.0") => control = Some("ss_search"),
                ("version", "3.1") => control = Some("ss_search31"),
                ("version", "4.0") => control = Some("ss_search40"),
                // The programs have whole percent; by how little that differs, bpf/README.md says.
                ("arithmetic", "exact" | "percent") => {}
                ("passive", "true") => options.passive = true,
                ("passive", "false") => options.passive = false,
                ("exit" | "threshold", "version") => {}
                ("exit", "plain") => options.exit = Some(ExitAction::Plain),
                ("exit", "rollback") => options.exit = Some(ExitAction::Rollback),
                ("exit", "drain") => options.exit = Some(ExitAction::Drain),
                ("threshold", percent) => options.threshold_permille = Some(permille(percent)?),
                ("missed", "keep") => resets = false,
                ("missed", "reset") => {
                    resets = true;
                    options.alpha.get_or_insert(2);
                }
                ("alpha", rounds) => options.alpha = Some(rounds.parse().ok()?),
                _ => return None,
            }
        }
        if !resets {
            options.alpha = None;
        }
        // HyStart as Linux has it is the kernel's own.
        let control = control.or(search.then_some("ss_search"))?;
        let control = CONTROLS.iter().find(|known| known.name == control)?;
        options.check().ok()?;
        Some(Self { control, options })
    }
}

/// Percent with at most one digit after the point, in thousandths.
fn permille(percent: &str) -> Option<u32> {
    let (whole, tenths) = percent.split_once('.').unwrap_or((percent, "0"));
    let tenths: u32 = (tenths.len() == 1).then(|| tenths.parse().ok())??;
    let whole: u32 = whole.parse().ok()?;
    whole.checked_mul(10)?.checked_add(tenths)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_algorithms_say_what_is_loaded() {
        for control in CONTROLS {
            for name in [control.name, control.algorithm] {
                let wanted = Wanted::named(name).expect(name);
                assert_eq!(wanted.control, control);
                assert_eq!(wanted.options, Options::default());
            }
        }
        let name = "cubic+search:version=4.0,exit=plain,threshold=26.5,missed=reset";
        let wanted = Wanted::named(name).expect(name);
        assert_eq!(wanted.control.name, "ss_search40");
        let expected = Options {
            exit: Some(ExitAction::Plain),
            threshold_permille: Some(265),
            alpha: Some(2),
            passive: false,
        };
        assert_eq!(wanted.options, expected);
        let logging = Wanted::named("cubic+search:passive=true").expect("passive");
        assert!(logging.options.passive);
        let plain = Wanted::named("cubic+search").expect("plain");
        assert_eq!(plain.control.name, "ss_search");
        for (name, control) in [
            ("bic", "ss_bic"),
            ("westwood", "ss_westwood"),
            ("cubic+hystart++:form=patch", "ss_hspatch"),
            ("cubic+suss", "ss_suss"),
        ] {
            assert_eq!(Wanted::named(name).expect(name).control.name, control);
        }
        let unused = Wanted::named("cubic+search:alpha=7").expect("unused");
        assert_eq!(unused.options.alpha, None);
    }

    #[test]
    fn what_no_program_does_is_none() {
        for name in [
            "bbr",
            "cubic",
            "reno+search",
            "cubic+search:version=5.0",
            "cubic+search:bins=12",
            "cubic+search:passive=yes",
            "cubic+search:passive=true,as_published=true",
            "cubic+search:threshold=101",
            "cubic+search:threshold=1.25",
            "cubic+search:exit",
            "cubic+standard:x=1",
            "cubic+hystart",
            "cubic+hystart:variant=ns2",
            "cubic+hystart:variant=paper,train=false",
            "cubic+suss:form=talk",
            "cubic+hystart++:form=talk",
            "cubic+standard:form=patch",
            "bic:hz=1000",
            "bic+hystart",
            "westwood+search",
            "",
        ] {
            let error = Wanted::named(name).expect_err(name).to_string();
            assert!(
                error.starts_with(&format!("`{name}` cannot be loaded")),
                "{error}"
            );
        }
    }
}
