//! Which algorithms the congestion controls of a kernel implement, with which options.
//!
//! A congestion control declares the algorithm that it implements and the options that may be chosen
//! beside; any other option is refused. So a new option of an algorithm is refused by the kernel
//! until a control declares it.

use congestion::options::OptionInfo;
use congestion::{Algorithm, PartInfo, PartKind};
use tables::Supported;

/// The recovery of the kernel, which stands in a canonical name only if an option changes it.
const DEFAULT_RECOVERY: &str = "prr";

/// The algorithms that a congestion control implements.
#[derive(Clone, Copy, Debug)]
pub struct Offered<'a> {
    /// One of them, with the options that are fixed.
    pub algorithm: &'a str,
    /// The options of its start-up that may be chosen.
    pub options: &'static [Supported],
}

/// The values of an option that some congestion controls take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Values {
    /// Only the default.
    Default,
    /// These words.
    Words(Vec<String>),
    /// All.
    All,
}

impl<'a> Offered<'a> {
    /// An algorithm without a choice.
    #[must_use]
    pub const fn plain(algorithm: &'a str) -> Self {
        Self {
            algorithm,
            options: &[],
        }
    }

    /// Whether it implements an algorithm.
    #[must_use]
    pub fn implements(&self, algorithm: &Algorithm) -> bool {
        let Ok(own) = Algorithm::parse(self.algorithm) else {
            return false;
        };
        let is_taken = |(part, name, value): (&PartInfo, &str, &str)| {
            let supported = self.supported(part, name);
            supported.is_none_or(|supported| {
                supported.words.is_empty() || supported.words.contains(&value)
            })
        };
        let fixed = |of| -> Vec<(String, String)> {
            let fixed = given(of).filter(|(part, name, _)| self.supported(part, name).is_none());
            let fixed = fixed.map(|(part, name, value)| (format!("{}:{name}", part.name), value));
            fixed
                .map(|(name, value)| (name, value.to_owned()))
                .collect()
        };
        !algorithm.is_foreign()
            && parts(&own) == parts(algorithm)
            && fixed(&own) == fixed(algorithm)
            && given(algorithm).all(is_taken)
    }

    fn supported(&self, part: &PartInfo, option: &str) -> Option<&'static Supported> {
        let mut supported = self.options.iter();
        supported.find(|supported| supported.key == option && part.kind == PartKind::Startup)
    }

    /// The value of an option in [`Self::algorithm`].
    fn fixed(&self, part: &PartInfo, option: &OptionInfo) -> String {
        let own = Algorithm::parse(self.algorithm).unwrap_or_default();
        value(&own, part, option)
    }
}

/// The options that change something: part, name and value.
fn given(algorithm: &Algorithm) -> impl Iterator<Item = (&'static PartInfo, &str, &str)> {
    algorithm.parts().flat_map(|part| {
        let options = part.options();
        options.map(move |(name, value)| (part.info, name, value))
    })
}

/// The names of the parts of an algorithm, without the default recovery.
fn parts(algorithm: &Algorithm) -> Vec<&'static str> {
    let names = algorithm.parts().map(|part| part.info.name);
    names.filter(|name| *name != DEFAULT_RECOVERY).collect()
}

/// The value of an option in an algorithm.
fn value(algorithm: &Algorithm, part: &PartInfo, option: &OptionInfo) -> String {
    let is_it = |(of, name, _): &(&PartInfo, &str, &str)| *of == part && *name == option.name;
    let given = given(algorithm).find(is_it);
    given.map_or(option.default, |(.., value)| value).to_owned()
}

/// The values of an option of a part that one of several congestion controls takes, which all have
/// the part.
#[must_use]
pub fn values(offered: &[Offered<'_>], part: &PartInfo, option: &OptionInfo) -> Values {
    let supported = offered
        .iter()
        .find_map(|one| one.supported(part, option.name));
    if let Some(supported) = supported {
        return match supported.words {
            [] => Values::All,
            words => Values::Words(words.iter().map(|&word| word.to_owned()).collect()),
        };
    }
    let mut fixed: Vec<String> = offered.iter().map(|one| one.fixed(part, option)).collect();
    fixed.dedup();
    match &fixed[..] {
        [] => Values::Default,
        [one] if one == option.default => Values::Default,
        _ => Values::Words(fixed),
    }
}

/// Those of several congestion controls that have a part.
#[must_use]
pub fn with_part<'a>(offered: &[Offered<'a>], part: &PartInfo) -> Vec<Offered<'a>> {
    let has = |one: &&Offered<'a>| {
        Algorithm::parse(one.algorithm).is_ok_and(|own| parts(&own).contains(&part.name))
    };
    offered.iter().filter(has).copied().collect()
}

/// The combinations of parts that several congestion controls implement, each with its options:
/// `cubic+search (version=2.0|3.1|4.0, exit)`.
#[must_use]
pub fn known(offered: &[Offered<'_>]) -> Vec<String> {
    let mut combinations: Vec<Vec<&str>> = Vec::new();
    for one in offered {
        let parts = Algorithm::parse(one.algorithm).map(|own| parts(&own));
        if let Some(parts) = parts.ok().filter(|parts| !combinations.contains(parts)) {
            combinations.push(parts);
        }
    }
    let shown = |parts: &Vec<&str>| {
        let name = parts.join("+");
        match options(&of_parts(offered, parts)) {
            options if options.is_empty() => name,
            options => format!("{name} ({options})"),
        }
    };
    combinations.iter().map(shown).collect()
}

/// Why none of several congestion controls implements an algorithm, as the end of a sentence.
#[must_use]
pub fn refusal(offered: &[Offered<'_>], algorithm: &Algorithm) -> String {
    let parts = parts(algorithm);
    let same = of_parts(offered, &parts);
    if same.is_empty() || algorithm.is_foreign() {
        return format!("known are {}", known(offered).join(", "));
    }
    let name = parts.join("+");
    for part in algorithm.parts() {
        for option in part.info.options {
            let value = value(algorithm, part.info, option);
            match values(&same, part.info, option) {
                Values::All => {}
                Values::Words(words) if words.contains(&value) => {}
                Values::Words(words) => {
                    let (option, words) = (option.name, words.join(" or "));
                    return format!("of `{option}` of {name} the kernel has {words} only");
                }
                Values::Default if value == option.default => {}
                Values::Default => {
                    let has = match options(&same) {
                        options if options.is_empty() => "it has none".to_owned(),
                        options => format!("it has {options}"),
                    };
                    let option = option.name;
                    return format!("{name} of the kernel has no option `{option}`; {has}");
                }
            }
        }
    }
    format!("{name} of the kernel does not have these options together")
}

/// The congestion controls of these parts.
fn of_parts<'a>(offered: &[Offered<'a>], names: &[&str]) -> Vec<Offered<'a>> {
    let is_of =
        |one: &&Offered<'a>| Algorithm::parse(one.algorithm).is_ok_and(|own| parts(&own) == names);
    offered.iter().filter(is_of).copied().collect()
}

/// The options of congestion controls of the same parts, in the order of their help.
fn options(same: &[Offered<'_>]) -> String {
    let own = same.first().map(|one| Algorithm::parse(one.algorithm));
    let Some(Ok(own)) = own else {
        return String::new();
    };
    let all = own.parts().flat_map(|part| {
        let options = part.info.options.iter();
        options.map(move |option| (part.info, option))
    });
    let shown = all.filter_map(|(part, option)| match values(same, part, option) {
        Values::Default => None,
        Values::All => Some(option.name.to_owned()),
        Values::Words(words) => Some(format!("{}={}", option.name, words.join("|"))),
    });
    shown.collect::<Vec<_>>().join(", ")
}
