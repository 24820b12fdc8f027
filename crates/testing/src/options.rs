//! Every option of every algorithm, with a value other than its default.

use congestion::options::OptionInfo;
use congestion::{Algorithm, PARTS, PartInfo, PartKind};

/// An option with another value than its default.
#[derive(Debug)]
pub struct Changed {
    /// Its part.
    pub part: &'static PartInfo,
    /// The option.
    pub option: &'static OptionInfo,
    /// The algorithm with all defaults.
    pub plain: Algorithm,
    /// The same with the option.
    pub changed: Algorithm,
}

/// Each option of each part with each value that this finds.
///
/// # Panics
/// If it finds no value of an option.
#[must_use]
pub fn changed() -> Vec<Changed> {
    let each = PARTS.iter().flat_map(|part| {
        let options = part.options.iter();
        options.flat_map(|option| {
            let found = of(part, option);
            assert!(
                !found.is_empty(),
                "add a value of `{}` of {} to `VALUES`",
                option.name,
                part.name
            );
            found
        })
    });
    each.collect()
}

/// Values to try beside the words of the help.
const VALUES: &[&str] = &[
    "true", "false", "1", "2", "3", "5", "7.5", "12", "30", "80", "0.4", "1.25", "7ms", "30ms",
    "1.5s", "7us", "100000",
];

fn of(part: &'static PartInfo, option: &'static OptionInfo) -> Vec<Changed> {
    let plain = part.algorithm();
    let named = |value: &str| {
        let base = match part.kind {
            PartKind::Startup => "cubic+",
            PartKind::Recovery => "cubic+standard+",
            PartKind::Avoidance | PartKind::Monolithic => "",
        };
        format!("{base}{}:{}={value}", part.name, option.name)
    };
    let is_between = |sign: char| !sign.is_ascii_alphanumeric() && !"-_.".contains(sign);
    let words = option.help.split(is_between);
    let mut values: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    values.extend(VALUES);
    values.sort_unstable();
    values.dedup();
    let parsed = values
        .iter()
        .filter_map(|value| Algorithm::parse(&named(value)).ok());
    parsed
        .filter(|changed| *changed != plain)
        .map(|changed| Changed {
            part,
            option,
            plain,
            changed,
        })
        .collect()
}
