//! Options of algorithms: how `name=value` in an algorithm's description reaches its configuration.
//!
//! Every configuration lists its options with default and meaning ([`Options::OPTIONS`]) and takes
//! them one at a time ([`Options::set`]); help texts and error messages are made from the list. A
//! value is a word, `true` or `false`, a number, or a number with a unit. Decimals are read in
//! integer thousandths, so no floating point is involved.

use units::Duration;

/// One option of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OptionInfo {
    /// What stands before the `=`.
    pub name: &'static str,
    /// The value that it has when it is not given, in the words that [`Options::set`] takes.
    pub default: &'static str,
    /// What it does, and what it takes.
    pub help: &'static str,
}

/// Why an option was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptionError {
    /// The algorithm has no option of this name.
    Unknown,
    /// The option does not take this value.
    Invalid {
        /// What it takes, as the object of "takes".
        expected: &'static str,
    },
}

/// A configuration whose fields can be set by name.
pub trait Options: Sized {
    /// All options, in the order in which help shows them.
    const OPTIONS: &'static [OptionInfo];

    /// Sets one option. On an error nothing changes.
    ///
    /// # Errors
    /// [`OptionError::Unknown`] for a name that is not in [`Self::OPTIONS`],
    /// [`OptionError::Invalid`] for a value that the option does not take.
    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError>;
}

/// Declares a configuration with its options: each has one entry, from which the field, the default,
/// the help and the reader come.
///
/// ```
/// congestion::settings! {
///     /// Settings of a start-up.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq)]
///     pub struct GentleConfig {
///         /// What an acknowledged segment earns, in thousandths of a segment.
///         growth_permille: u64 {
///             name: "growth",
///             default: "0.5",
///             help: "segments that an acknowledged segment earns, from 0.1 to 1",
///             read: |value| thousandths(value, 100, 1_000, "a number from 0.1 to 1"),
///         }
///     }
/// }
/// # use congestion::options::{Options, thousandths};
/// assert_eq!(GentleConfig::default().growth_permille, 500);
/// assert_eq!(GentleConfig::OPTIONS[0].default, "0.5");
/// ```
#[macro_export]
macro_rules! settings {
    ($(#[$meta:meta])* pub struct $config:ident {}) => {
        $(#[$meta])*
        #[derive(Default)]
        pub struct $config {}

        impl $crate::options::Options for $config {
            const OPTIONS: &'static [$crate::options::OptionInfo] = &[];

            fn set(
                &mut self,
                _name: &str,
                _value: &str,
            ) -> Result<(), $crate::options::OptionError> {
                Err($crate::options::OptionError::Unknown)
            }
        }
    };
    (
        $(#[$meta:meta])*
        pub struct $config:ident { $(
            $(#[$field_meta:meta])*
            $field:ident: $type:ty {
                name: $name:literal,
                default: $default:expr,
                help: $help:expr,
                read: $read:expr,
            }
        )* }
    ) => {
        $(#[$meta])*
        pub struct $config {
            $( $(#[$field_meta])* pub $field: $type, )*
        }

        impl Default for $config {
            fn default() -> Self {
                Self { $(
                    $field: {
                        let read: fn(&str) -> Result<$type, $crate::options::OptionError> = $read;
                        read($default).expect("an option takes its default")
                    },
                )* }
            }
        }

        impl $crate::options::Options for $config {
            const OPTIONS: &'static [$crate::options::OptionInfo] = &[ $(
                $crate::options::OptionInfo { name: $name, default: $default, help: $help },
            )* ];

            fn set(&mut self, name: &str, value: &str) -> Result<(), $crate::options::OptionError> {
                match name {
                    $( $name => {
                        let read: fn(&str) -> Result<$type, $crate::options::OptionError> = $read;
                        self.$field = read(value)?;
                    } )*
                    _ => return Err($crate::options::OptionError::Unknown),
                }
                Ok(())
            }
        }
    };
}

/// Reads `true` or `false`.
///
/// # Errors
/// Anything else is invalid.
pub fn boolean(value: &str) -> Result<bool, OptionError> {
    choice(value, &[("true", true), ("false", false)], "true or false")
}

/// Reads one of some words.
///
/// # Errors
/// Any other word is invalid; `expected` says what is taken.
pub fn choice<T: Copy>(
    value: &str,
    words: &[(&str, T)],
    expected: &'static str,
) -> Result<T, OptionError> {
    words
        .iter()
        .find(|(word, _)| *word == value)
        .map(|&(_, meaning)| meaning)
        .ok_or(OptionError::Invalid { expected })
}

/// Reads a whole number from `least` to `most`.
///
/// # Errors
/// Anything else is invalid; `expected` says what is taken.
pub fn integer<T: TryFrom<u64>>(
    value: &str,
    least: u64,
    most: u64,
    expected: &'static str,
) -> Result<T, OptionError> {
    let number = value.parse().ok().filter(|_| !value.starts_with('+'));
    within(number, least, most, expected)
}

/// Reads a decimal number in thousandths (`3.5` is 3500), from `least` to `most` thousandths.
///
/// # Errors
/// Signs, exponents, more than three decimals and numbers out of range are invalid; `expected` says
/// what is taken.
pub fn thousandths<T: TryFrom<u64>>(
    value: &str,
    least: u64,
    most: u64,
    expected: &'static str,
) -> Result<T, OptionError> {
    within(scaled(value, 3), least, most, expected)
}

fn within<T: TryFrom<u64>>(
    number: Option<u64>,
    least: u64,
    most: u64,
    expected: &'static str,
) -> Result<T, OptionError> {
    number
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| T::try_from(number).ok())
        .ok_or(OptionError::Invalid { expected })
}

/// Reads a span of time with its unit: `ns`, `us`, `ms` or `s`, as in `2ms`, `0.5 s`.
///
/// # Errors
/// A number without unit, another unit, parts of a nanosecond and spans longer than `most` are
/// invalid; `expected` says what is taken.
pub fn duration(
    value: &str,
    most: Duration,
    expected: &'static str,
) -> Result<Duration, OptionError> {
    let units = [("ns", 0), ("us", 3), ("ms", 6), ("s", 9)];
    units
        .iter()
        .find_map(|&(unit, decimals)| {
            scaled(value.strip_suffix(unit)?.trim_end_matches(' '), decimals)
        })
        .map(Duration::from_nanos)
        .filter(|&span| span <= most)
        .ok_or(OptionError::Invalid { expected })
}

/// A non-negative decimal number times `10^decimals`; `None` unless that is a whole number.
fn scaled(value: &str, decimals: usize) -> Option<u64> {
    let (whole, fraction) = value.split_once('.').unwrap_or((value, "0"));
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) {
        return None;
    }
    let fraction = if fraction.len() > decimals {
        fraction.trim_end_matches('0')
    } else {
        fraction
    };
    let missing = u32::try_from(decimals.checked_sub(fraction.len())?).ok()?;
    let whole = whole
        .parse::<u64>()
        .ok()?
        .checked_mul(10u64.checked_pow(u32::try_from(decimals).ok()?)?)?;
    let fraction = if fraction.is_empty() {
        0
    } else {
        fraction.parse::<u64>().ok()?
    };
    whole.checked_add(fraction * 10u64.checked_pow(missing)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const EXPECTED: OptionError = OptionError::Invalid { expected: "it" };

    #[test]
    fn decimals_are_read_in_thousandths() {
        for (text, number) in [
            ("3.5", 3500),
            ("0.001", 1),
            ("35", 35_000),
            ("2.5000", 2500),
            ("1.0", 1000),
        ] {
            assert_eq!(thousandths(text, 0, 1_000_000, "it"), Ok(number), "{text}");
        }
        for text in [
            "",
            ".",
            "3.",
            ".5",
            "-1",
            "+1",
            "1e3",
            "0.0001",
            "1 ",
            "99999999999999999999",
            "0x1",
            "NaN",
        ] {
            assert_eq!(
                thousandths::<u64>(text, 0, u64::MAX, "it"),
                Err(EXPECTED),
                "{text}"
            );
        }
        assert_eq!(thousandths::<u64>("3.5", 0, 3499, "it"), Err(EXPECTED));
    }

    #[test]
    fn spans_need_a_unit() {
        for (text, nanos) in [
            ("2ms", 2_000_000),
            ("0.5 s", 500_000_000),
            ("4000 us", 4_000_000),
            ("7ns", 7),
        ] {
            assert_eq!(
                duration(text, Duration::MAX, "it"),
                Ok(Duration::from_nanos(nanos)),
                "{text}"
            );
        }
        for text in [
            "2",
            "ms",
            "2 m",
            "0.5 ns",
            "-1 ms",
            "2msms",
            "18446744074 s",
        ] {
            assert_eq!(duration(text, Duration::MAX, "it"), Err(EXPECTED), "{text}");
        }
        assert_eq!(
            duration("2ms", Duration::from_millis(1), "it"),
            Err(EXPECTED)
        );
    }

    #[test]
    fn words_and_whole_numbers() {
        assert_eq!(boolean("true"), Ok(true));
        assert!(boolean("yes").is_err());
        assert_eq!(integer("10", 1, 10, "it"), Ok(10_u64));
        assert_eq!(integer::<u64>("+10", 1, 10, "it"), Err(EXPECTED));
        assert_eq!(integer::<u64>("11", 1, 10, "it"), Err(EXPECTED));
        assert_eq!(integer::<u8>("300", 1, 1_000, "it"), Err(EXPECTED));
    }
}
