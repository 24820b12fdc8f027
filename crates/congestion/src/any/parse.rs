//! From a description to an algorithm: `part[:option=value[,option=value...]][+part...]`.
//!
//! Either a monolithic congestion control alone (`bbr`), or an avoidance, then optionally a
//! start-up, then optionally a recovery (`cubic+search:version=4.0+plain`).

use core::fmt;
use core::ops::Range;
use core::str::FromStr;

use super::error::{AlgorithmError, Problem, nearest};
use super::name::Name;
use super::{
    AnyAvoidance, AnyCongestionControl, AnyStartup, AvoidanceConfig, BuildContext,
    MonolithicConfig, PARTS, PartInfo, PartKind, RecoveryConfig, StartupConfig, contradiction,
};
use crate::foreign::{
    AvoidanceKind, ControlKind, ForeignAvoidance, ForeignControl, ForeignRef, ForeignStartup,
    StartupKind,
};
use crate::options::OptionError;
use crate::{Avoidance, Classic};

/// The longest description, in bytes.
const LONGEST: usize = 384;
/// Room for the defaults that a canonical name adds to a description.
const NAME: usize = LONGEST + 32;

/// A congestion control that was described and understood; it builds any number of them.
///
/// Two are equal when they build the same; `Display` gives the canonical name, which leaves out
/// options that change nothing and the default recovery, and parses to an equal algorithm.
#[derive(Clone, Copy)]
pub struct Algorithm {
    pub(super) parts: Parts,
    name: Name<NAME>,
}

/// A part of an algorithm, as its canonical name has it.
#[derive(Clone, Copy, Debug)]
pub struct Chosen<'a> {
    /// Its description.
    pub info: &'static PartInfo,
    options: &'a str,
}

impl<'a> Chosen<'a> {
    /// The names and values of the options that change something.
    pub fn options(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        given(self.options)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Parts {
    Classic {
        avoidance: AvoidanceConfig,
        startup: StartupConfig,
        recovery: RecoveryConfig,
        foreign: ForeignParts,
    },
    Monolithic(MonolithicConfig),
    Foreign(ForeignRef<dyn ControlKind>),
}

/// Parts that live elsewhere, in place of those of this crate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ForeignParts {
    avoidance: Option<ForeignRef<dyn AvoidanceKind>>,
    startup: Option<ForeignRef<dyn StartupKind>>,
}

impl ForeignParts {
    /// Whether there is none.
    pub(super) const fn is_empty(&self) -> bool {
        self.avoidance.is_none() && self.startup.is_none()
    }
}

/// The configuration of any part.
#[derive(Clone, Copy, Debug, PartialEq)]
enum AnyConfig {
    Startup(StartupConfig),
    Avoidance(AvoidanceConfig),
    Recovery(RecoveryConfig),
    Monolithic(MonolithicConfig),
}

impl AnyConfig {
    fn named(name: &str) -> Option<Self> {
        None.or_else(|| AvoidanceConfig::named(name).map(Self::Avoidance))
            .or_else(|| StartupConfig::named(name).map(Self::Startup))
            .or_else(|| RecoveryConfig::named(name).map(Self::Recovery))
            .or_else(|| MonolithicConfig::named(name).map(Self::Monolithic))
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match self {
            Self::Startup(config) => config.set(name, value),
            Self::Avoidance(config) => config.set(name, value),
            Self::Recovery(config) => config.set(name, value),
            Self::Monolithic(config) => config.set(name, value),
        }
    }
}

/// One part of a description.
struct Described<'a> {
    info: &'static PartInfo,
    /// As its options make it.
    config: AnyConfig,
    /// The text of its options, without the colon.
    options: &'a str,
    /// Where its name stands.
    at: Range<usize>,
}

impl Parts {
    /// The congestion control of a new connection.
    pub(super) fn build(&self, context: &BuildContext) -> AnyCongestionControl {
        match *self {
            Self::Monolithic(config) => config.build(context),
            Self::Foreign(kind) => {
                AnyCongestionControl::Foreign(ForeignControl::new(kind, context))
            }
            Self::Classic {
                avoidance,
                startup,
                recovery,
                foreign,
            } => {
                let mut avoidance = match foreign.avoidance {
                    Some(kind) => AnyAvoidance::Foreign(ForeignAvoidance::new(kind, context)),
                    None => avoidance.build(),
                };
                let initial_window = avoidance.begin(context);
                let startup = match foreign.startup {
                    Some(kind) => AnyStartup::Foreign(ForeignStartup::new(kind, context)),
                    None => startup.build(context),
                };
                AnyCongestionControl::Classic(Classic::new(
                    startup,
                    avoidance,
                    recovery.build(),
                    context.smss,
                    initial_window.unwrap_or(context.initial_window),
                ))
            }
        }
    }
}

impl Algorithm {
    /// Understands a description such as `cubic`, `cubic+hystart` or `reno+standard+prr:rfc=9937`.
    ///
    /// # Errors
    /// The first thing in it that is wrong, with its place and the nearest known name.
    pub fn parse(input: &str) -> Result<Self, AlgorithmError> {
        if input.len() > LONGEST {
            let problem = Problem::TooLong { most: LONGEST };
            return Err(AlgorithmError::new(input, 0..input.len(), problem));
        }
        let (first, mut next) = Described::read(input, 0, PartKind::Avoidance)?;
        let avoidance = match first.config {
            AnyConfig::Avoidance(config) => config,
            AnyConfig::Monolithic(config) => return first.alone(input, next, config),
            _ => return Err(first.misplaced(input)),
        };
        let (mut startup, mut recovery) = (None, None);
        while let Some(start) = next {
            let expected = if startup.is_none() && recovery.is_none() {
                PartKind::Startup
            } else {
                PartKind::Recovery
            };
            let part;
            (part, next) = Described::read(input, start, expected)?;
            match part.config {
                AnyConfig::Startup(config) if expected == PartKind::Startup => {
                    startup = Some((config, part));
                }
                AnyConfig::Recovery(config) if recovery.is_none() => {
                    recovery = Some((config, part));
                }
                _ => return Err(part.misplaced(input)),
            }
        }
        let mut name = Name::new();
        first.write(&mut name);
        name.push("+");
        let startup = match startup {
            Some((config, part)) => {
                if let Some(why) = contradiction(&avoidance, &config) {
                    let avoidance = first.info.name;
                    let problem = Problem::Contradiction { avoidance, why };
                    return Err(AlgorithmError::new(input, part.at, problem));
                }
                part.write(&mut name);
                config
            }
            None => {
                let config = avoidance.default_startup();
                name.push(config.name());
                config
            }
        };
        let default_recovery = RecoveryConfig::default();
        let recovery = match recovery {
            Some((config, part)) if config != default_recovery => {
                name.push("+");
                part.write(&mut name);
                config
            }
            _ => default_recovery,
        };
        let parts = Parts::Classic {
            avoidance,
            startup,
            recovery,
            foreign: ForeignParts::default(),
        };
        Ok(Self { parts, name })
    }

    /// A congestion control that lives elsewhere, for as long as the program runs; `None` if its
    /// name is too long.
    #[must_use]
    pub fn foreign(kind: &'static dyn ControlKind) -> Option<Self> {
        let parts = Parts::Foreign(ForeignRef(kind));
        let mut name = Name::new();
        name.push(kind.name()).then_some(Self { parts, name })
    }

    /// The same with an avoidance that lives elsewhere in place of its own, for as long as the
    /// program runs; a monolithic congestion control has none to replace, and is `None`.
    #[must_use]
    pub fn with_foreign_avoidance(&self, kind: &'static dyn AvoidanceKind) -> Option<Self> {
        let mut parts = self.parts;
        let Parts::Classic { foreign, .. } = &mut parts else {
            return None;
        };
        foreign.avoidance = Some(ForeignRef(kind));
        let text = self.name.as_str();
        let end = text.find('+').unwrap_or(text.len());
        self.renamed(parts, 0..end, kind.name())
    }

    /// The same with a start-up that lives elsewhere in place of its own, for as long as the
    /// program runs; a monolithic congestion control has none to replace, and is `None`.
    #[must_use]
    pub fn with_foreign_startup(&self, kind: &'static dyn StartupKind) -> Option<Self> {
        let mut parts = self.parts;
        let Parts::Classic { foreign, .. } = &mut parts else {
            return None;
        };
        foreign.startup = Some(ForeignRef(kind));
        // The start-up is what follows the first `+`; of a name like `hystart++` it is all.
        let text = self.name.as_str();
        let start = text.find('+').map_or(text.len(), |at| at + 1);
        let after = start + name_len(&text[start..]);
        let end = text[after..].find('+').map_or(text.len(), |at| after + at);
        self.renamed(parts, start..end, kind.name())
    }

    /// These parts, and `word` in place of a part of the name.
    fn renamed(&self, parts: Parts, part: Range<usize>, word: &str) -> Option<Self> {
        let text = self.name.as_str();
        let mut name = Name::new();
        let fits = [&text[..part.start], word, &text[part.end..]]
            .into_iter()
            .all(|part| name.push(part));
        fits.then_some(Self { parts, name })
    }

    /// Its avoidance, start-up and recovery, where it is made of those and they are all of this
    /// crate.
    #[must_use]
    pub const fn classic(&self) -> Option<(&AvoidanceConfig, &StartupConfig, &RecoveryConfig)> {
        match &self.parts {
            Parts::Classic {
                avoidance,
                startup,
                recovery,
                foreign,
            } if foreign.is_empty() => Some((avoidance, startup, recovery)),
            _ => None,
        }
    }

    /// Whether it or a part of it lives elsewhere.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        match &self.parts {
            Parts::Classic { foreign, .. } => !foreign.is_empty(),
            Parts::Monolithic(_) => false,
            Parts::Foreign(_) => true,
        }
    }

    /// The congestion control of a new connection.
    #[must_use]
    pub fn build(&self, context: BuildContext) -> AnyCongestionControl {
        self.parts.build(&context)
    }

    /// The canonical name.
    #[must_use]
    pub fn name(&self) -> &str {
        self.name.as_str()
    }

    /// The parts in its canonical name, up to one that lives elsewhere.
    ///
    /// ```
    /// let algorithm = congestion::Algorithm::parse("cubic+search:exit=drain,bins=10").unwrap();
    /// let parts: Vec<_> = algorithm.parts().collect();
    /// assert_eq!((parts[0].info.name, parts[1].info.name), ("cubic", "search"));
    /// // Ten bins are the default.
    /// assert_eq!(parts[1].options().collect::<Vec<_>>(), [("exit", "drain")]);
    /// ```
    pub fn parts(&self) -> impl Iterator<Item = Chosen<'_>> {
        let mut rest = Some(self.name());
        core::iter::from_fn(move || {
            let text = rest?;
            let (name, after) = text.split_at(name_len(text));
            let end = after.find('+').unwrap_or(after.len());
            rest = after.get(end + 1..);
            Some(Chosen {
                info: PARTS.iter().find(|part| part.name == name)?,
                options: after[..end].strip_prefix(':').unwrap_or_default(),
            })
        })
    }
}

impl Default for Algorithm {
    /// Linux's default, `cubic+hystart`.
    fn default() -> Self {
        let avoidance = AvoidanceConfig::default();
        let startup = avoidance.default_startup();
        let mut name = Name::new();
        name.push("cubic+");
        name.push(startup.name());
        let recovery = RecoveryConfig::default();
        Self {
            parts: Parts::Classic {
                avoidance,
                startup,
                recovery,
                foreign: ForeignParts::default(),
            },
            name,
        }
    }
}

impl PartialEq for Algorithm {
    fn eq(&self, other: &Self) -> bool {
        self.parts == other.parts
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl fmt::Debug for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Algorithm({})", self.name())
    }
}

impl FromStr for Algorithm {
    type Err = AlgorithmError;

    fn from_str(input: &str) -> Result<Self, AlgorithmError> {
        Self::parse(input)
    }
}

impl<'a> Described<'a> {
    /// Reads the part that begins at `start`; also gives where the next one begins.
    fn read(
        input: &'a str,
        start: usize,
        expected: PartKind,
    ) -> Result<(Self, Option<usize>), AlgorithmError> {
        let at = start..start + name_len(&input[start..]);
        let name = &input[at.clone()];
        if name.is_empty() {
            return Err(AlgorithmError::new(input, at, Problem::MissingName));
        }
        let known = PARTS.iter().find(|part| part.name == name);
        let (Some(info), Some(config)) = (known, AnyConfig::named(name)) else {
            let alone = expected == PartKind::Avoidance;
            let fitting = |part: &&PartInfo| {
                part.kind == expected || alone && part.kind == PartKind::Monolithic
            };
            let names = PARTS.iter().filter(fitting).map(|part| part.name);
            let nearest = nearest(name, names);
            let problem = Problem::UnknownPart { expected, nearest };
            return Err(AlgorithmError::new(input, at, problem));
        };
        let mut part = Self {
            info,
            config,
            options: "",
            at: at.clone(),
        };
        let mut end = at.end;
        if input[end..].starts_with(':') {
            let from = end + 1;
            end = input[from..]
                .find('+')
                .map_or(input.len(), |len| from + len);
            part.options = &input[from..end];
            part.set_all(input, from)?;
        }
        Ok((part, (end < input.len()).then_some(end + 1)))
    }

    /// Sets the options, whose text begins at `from`.
    fn set_all(&mut self, input: &str, from: usize) -> Result<(), AlgorithmError> {
        let mut start = from;
        for (index, option) in self.options.split(',').enumerate() {
            let at = start..start + option.len();
            start = at.end + 1;
            let refused = |at, problem| Err(AlgorithmError::new(input, at, problem));
            let Some((name, value)) = option.split_once('=') else {
                return refused(at, Problem::MissingValue);
            };
            let name_at = at.start..at.start + name.len();
            let name = name.trim();
            if given(self.options)
                .take(index)
                .any(|(before, _)| before == name)
            {
                return refused(name_at, Problem::Repeated);
            }
            let names = self.info.options.iter().map(|option| option.name);
            match self.config.set(name, value.trim()) {
                Ok(()) => {}
                Err(OptionError::Unknown) => {
                    let part = self.info;
                    let nearest = nearest(name, names);
                    return refused(name_at, Problem::UnknownOption { part, nearest });
                }
                Err(OptionError::Invalid { expected }) => {
                    let mut names = names;
                    let option = names.find(|known| *known == name).unwrap_or("?");
                    let problem = Problem::InvalidValue { option, expected };
                    return refused(at.end - value.len()..at.end, problem);
                }
            }
        }
        Ok(())
    }

    /// A monolithic congestion control, if nothing follows.
    fn alone(
        &self,
        input: &str,
        next: Option<usize>,
        config: MonolithicConfig,
    ) -> Result<Algorithm, AlgorithmError> {
        if let Some(start) = next {
            let problem = Problem::NotAlone {
                name: self.info.name,
            };
            return Err(AlgorithmError::new(input, start..input.len(), problem));
        }
        let mut name = Name::new();
        self.write(&mut name);
        let parts = Parts::Monolithic(config);
        Ok(Algorithm { parts, name })
    }

    fn misplaced(&self, input: &str) -> AlgorithmError {
        let kind = self.info.kind;
        AlgorithmError::new(input, self.at.clone(), Problem::Misplaced { kind })
    }

    /// Appends the canonical text: options in the order of help where that means the same, without
    /// those that change nothing.
    fn write(&self, name: &mut Name<NAME>) {
        name.push(self.info.name);
        let declared = |option: usize| {
            let known = self.info.options.get(option)?;
            Some(given(self.options).find(|(given, _)| *given == known.name))
        };
        let declared = || (0..).map_while(declared).flatten();
        if self.effective(declared(), &mut Name::<0>::new()) == Some(self.config) {
            self.effective(declared(), name);
        } else {
            self.effective(given(self.options), name);
        }
    }

    /// The configuration that these options make; appends those that change something to `name`.
    fn effective<'o, const N: usize>(
        &self,
        options: impl Iterator<Item = (&'o str, &'o str)>,
        name: &mut Name<N>,
    ) -> Option<AnyConfig> {
        let mut config = AnyConfig::named(self.info.name)?;
        let mut separator = ":";
        for (option, value) in options {
            let before = config;
            config.set(option, value).ok()?;
            if config == before {
                continue;
            }
            for text in [separator, option, "="].into_iter().chain(value.split(' ')) {
                name.push(text);
            }
            separator = ",";
        }
        Some(config)
    }
}

/// The options in a text, where they have values.
fn given(options: &str) -> impl Iterator<Item = (&str, &str)> {
    let pairs = options
        .split(',')
        .filter_map(|option| option.split_once('='));
    pairs.map(|(name, value)| (name.trim(), value.trim()))
}

/// The length of the name that `text` begins with. A name may end in `++`.
fn name_len(text: &str) -> usize {
    let len = text.find([':', '+']).unwrap_or(text.len());
    let plusses = text[len..].strip_prefix("++");
    match plusses {
        Some(rest) if len > 0 && (rest.is_empty() || rest.starts_with([':', '+'])) => len + 2,
        _ => len,
    }
}
