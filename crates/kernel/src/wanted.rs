//! From a name to what is loaded: `ss_search40`, `cubic+search:version=4.0`.

use congestion::avoidance::{BicConfig, CubicConfig, WestwoodConfig};
use congestion::startup::hystart::HyStartVariant;
use congestion::startup::hystart_pp::HyStartPlusPlusForm;
use congestion::startup::search::{Arithmetic, Exit, Missed, Version};
use congestion::startup::{HyStartConfig, HyStartPlusPlusConfig, SearchConfig, SussConfig};
use congestion::{Algorithm, AvoidanceConfig, RecoveryConfig, StartupConfig};

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
        let parsed = || Self::of_algorithm(&Algorithm::parse(name).ok()?);
        wanted.or_else(parsed).ok_or_else(|| {
            let names: Vec<&str> = CONTROLS.iter().map(|control| control.name).collect();
            Error::Invalid(format!(
                "`{name}` cannot be loaded into the kernel; there are {} (cubic+search with \
                 version, exit, threshold, missed, alpha and passive; cubic+hystart++ \
                 with form; cubic+hystart:variant=paper; cubic+suss; cubic+standard; bic; westwood)",
                names.join(", ")
            ))
        })
    }

    /// The program that does what `algorithm` says; `None` where none does.
    #[must_use]
    pub fn of_algorithm(algorithm: &Algorithm) -> Option<Self> {
        let (avoidance, startup, recovery) = algorithm.classic()?;
        if *recovery != RecoveryConfig::default() {
            return None;
        }
        let bic = AvoidanceConfig::Bic(BicConfig::default());
        let westwood = AvoidanceConfig::Westwood(WestwoodConfig::default());
        let cubic = AvoidanceConfig::Cubic(CubicConfig::default());
        let mut options = Options::default();
        let name = match startup {
            StartupConfig::Standard(_) if *avoidance == bic => "ss_bic",
            StartupConfig::Standard(_) if *avoidance == westwood => "ss_westwood",
            _ if *avoidance != cubic => return None,
            StartupConfig::Standard(_) => "ss_cubic_std",
            StartupConfig::HyStartPlusPlus(config) => hystart_pp(config)?,
            // HyStart as Linux has it is the kernel's own.
            StartupConfig::HyStart(config)
                if *config == HyStartConfig::of(HyStartVariant::Paper) =>
            {
                "ss_hspaper"
            }
            // The program cannot suppose a larger window; bpf/README.md says so.
            StartupConfig::Suss(config)
                if SussConfig::default()
                    == (SussConfig {
                        override_window: false,
                        ..*config
                    }) =>
            {
                "ss_suss"
            }
            StartupConfig::Search(config) => {
                options = search_options(config)?;
                match config.version {
                    Version::V2_0 => "ss_search",
                    Version::V3_1 => "ss_search31",
                    Version::V4_0 => "ss_search40",
                    Version::V1_0 | Version::V3_0 => return None,
                }
            }
            _ => return None,
        };
        options.check().ok()?;
        let control = CONTROLS.iter().find(|known| known.name == name)?;
        Some(Self { control, options })
    }
}

fn hystart_pp(config: &HyStartPlusPlusConfig) -> Option<&'static str> {
    let plain = HyStartPlusPlusConfig {
        form: config.form,
        ..HyStartPlusPlusConfig::default()
    };
    let name = match config.form {
        HyStartPlusPlusForm::Rfc => "ss_hspp",
        HyStartPlusPlusForm::Patch => "ss_hspatch",
    };
    (*config == plain).then_some(name)
}

/// What the programs can do of SEARCH's settings; `None` where some other one is set.
fn search_options(config: &SearchConfig) -> Option<Options> {
    let known = SearchConfig {
        version: config.version,
        exit: config.exit,
        passive: config.passive,
        threshold_permille: config.threshold_permille,
        missed: config.missed,
        alpha: config.alpha,
        arithmetic: config.arithmetic,
        ..SearchConfig::default()
    };
    let alpha = match config.missed {
        Missed::Keep => None,
        Missed::Reset => Some(config.alpha),
        Missed::Freeze => return None,
    };
    // The programs have whole percent; bpf/README.md says by how little that differs.
    let has_arithmetic = config.arithmetic != Arithmetic::Shifted;
    (*config == known && has_arithmetic).then_some(Options {
        exit: config.exit.map(|exit| match exit {
            Exit::Plain => ExitAction::Plain,
            Exit::Rollback => ExitAction::Rollback,
            Exit::Drain => ExitAction::Drain,
        }),
        threshold_permille: config.threshold_permille,
        alpha,
        passive: config.passive,
    })
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
