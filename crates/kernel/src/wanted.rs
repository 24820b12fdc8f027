//! From a name to what is loaded: `ss_search40`, `cubic+search:version=4.0`.

use congestion::startup::SearchConfig;
use congestion::startup::search::{Exit, Missed};
use congestion::{Algorithm, StartupConfig};

use crate::Error;
use crate::control::{CONTROLS, Control, ExitAction, Options};
use crate::offered::{self, Offered};

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
        if let Some(control) = control {
            return Ok(Self {
                control,
                options: Options::default(),
            });
        }
        let why = match Algorithm::parse(name) {
            Ok(algorithm) => match Self::of_algorithm(&algorithm) {
                Some(wanted) => return Ok(wanted),
                None => offered::refusal(&loadable(), &algorithm),
            },
            Err(_) => {
                let names: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
                let known = offered::known(&loadable()).join(", ");
                format!("there are {}: {known}", names.join(", "))
            }
        };
        let sentence = format!("`{name}` cannot be loaded into the kernel: {why}");
        Err(Error::Invalid(sentence))
    }

    /// The program that does what `algorithm` says; `None` where none does.
    #[must_use]
    pub fn of_algorithm(algorithm: &Algorithm) -> Option<Self> {
        let control = CONTROLS
            .iter()
            .find(|control| control.offered().implements(algorithm))?;
        let (_, startup, _) = algorithm.classic()?;
        let options = match startup {
            StartupConfig::Search(config) => search_options(config),
            _ => Options::default(),
        };
        options.check().ok()?;
        Some(Self { control, options })
    }
}

fn loadable() -> Vec<Offered<'static>> {
    CONTROLS.iter().map(Control::offered).collect()
}

/// How a program is loaded for these settings of SEARCH.
fn search_options(config: &SearchConfig) -> Options {
    Options {
        exit: config.exit.map(|exit| match exit {
            Exit::Plain => ExitAction::Plain,
            Exit::Rollback => ExitAction::Rollback,
            Exit::Drain => ExitAction::Drain,
        }),
        threshold_permille: config.threshold_permille,
        alpha: (config.missed == Missed::Reset).then_some(config.alpha),
        passive: config.passive,
    }
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
