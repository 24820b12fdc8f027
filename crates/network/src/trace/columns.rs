//! Traces of rates and traces of delays: the formats other than Mahimahi's.
//!
//! - A trace of rates ("cooked", Pensieve) has lines `time_s rate_Mbps`. The rate of a line holds
//!   from the time of the previous line, or from zero, to its own time; the rate of a first line at
//!   time zero is never used. The trace repeats after its last line.
//! - A trace of delays (LeoReplayer) has the one-way delay in milliseconds on each line; line `i`,
//!   counted from one, holds during `[(i - 1), i)` slots of 10 ms. It repeats.
//!
//! Decimals are rounded to the nearest nanosecond and bit per second without floating point. Times
//! are rounded, not the spans between them, so that no error accumulates.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;

use units::{Duration, Rate};

use super::{TraceError, TraceProblem, beginning, lines, parse};
use crate::TraceConfig;

/// The last time of a trace of rates is at most a week, which excludes seconds since 1970.
const MAX_TIME: Duration = Duration::from_secs(7 * 24 * 3600);
/// Fastest rate: far beyond what is recorded, far below what overflows.
const MAX_RATE: Rate = Rate::from_bits_per_sec(1_000_000_000_000);
/// Longest delay.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// A trace of a link's service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recorded {
    /// One column: Mahimahi's delivery opportunities.
    Opportunities(TraceConfig),
    /// Two columns: `(how long, rate)`, for [`crate::Service::Steps`]. Bytes of IP.
    Rates(Arc<[(Duration, Rate)]>),
}

/// Reads a trace of either kind: one of rates if its first line that is not blank has two columns,
/// otherwise Mahimahi's.
///
/// # Errors
///
/// The first invalid line, with its number and `file_name`.
pub fn read(text: &str, file_name: &str) -> Result<Recorded, TraceError> {
    let mut words = text
        .lines()
        .map(|line| line.split_ascii_whitespace().take(2).count());
    if words.find(|count| *count > 0) == Some(2) {
        parse_rates(text, file_name).map(Recorded::Rates)
    } else {
        parse(text, file_name).map(Recorded::Opportunities)
    }
}

/// Reads a trace of rates: on each line a time in seconds, later than the one before, and a rate in
/// Mbit/s, at least one of them above zero.
///
/// # Errors
///
/// The first invalid line, with its number and `file_name`.
pub fn parse_rates(text: &str, file_name: &str) -> Result<Arc<[(Duration, Rate)]>, TraceError> {
    let error = |line, problem| TraceError {
        file: String::from(file_name),
        line,
        problem,
    };
    let mut steps = Vec::new();
    let mut previous: Option<(&str, Duration)> = None;
    for line in lines(text) {
        let (number, content) = line.map_err(|blank| error(Some(blank), TraceProblem::Blank))?;
        let fail = |problem| error(Some(number), problem);
        let mut columns = content.split_ascii_whitespace();
        let (Some(time_text), Some(rate), None) = (columns.next(), columns.next(), columns.next())
        else {
            return Err(fail(TraceProblem::Expected {
                what: "a time in seconds and a rate in Mbit/s",
                found: beginning(content),
            }));
        };
        let time = number_up_to(time_text, &TIME).map_err(fail)?;
        let rate = number_up_to(rate, &RATE).map_err(fail)?;
        let time = Duration::from_nanos(time);
        if let Some((before, _)) = previous.filter(|&(_, before)| time <= before) {
            return Err(fail(TraceProblem::NotLater {
                previous: beginning(before),
                value: beginning(time_text),
            }));
        }
        let begin = previous.map_or(Duration::ZERO, |(_, before)| before);
        if time > begin {
            steps.push((time.saturating_sub(begin), Rate::from_bits_per_sec(rate)));
        }
        previous = Some((time_text, time));
    }
    if steps.iter().all(|&(_, rate)| rate == Rate::ZERO) {
        return Err(error(None, TraceProblem::NoRate));
    }
    Ok(steps.into())
}

/// Reads a trace of delays: one number of milliseconds on each line.
///
/// # Errors
///
/// The first invalid line, with its number and `file_name`.
pub fn parse_delays(text: &str, file_name: &str) -> Result<Arc<[Duration]>, TraceError> {
    let error = |line, problem| TraceError {
        file: String::from(file_name),
        line,
        problem,
    };
    let mut delays = Vec::new();
    for line in lines(text) {
        let (number, content) = line.map_err(|blank| error(Some(blank), TraceProblem::Blank))?;
        let nanos = number_up_to(content, &DELAY).map_err(|what| error(Some(number), what))?;
        delays.push(Duration::from_nanos(nanos));
    }
    if delays.is_empty() {
        return Err(error(None, TraceProblem::NoDelay));
    }
    Ok(delays.into())
}

/// A kind of number.
struct Kind {
    /// Its meaning.
    what: &'static str,
    /// The power of ten that makes it an integer.
    places: i64,
    /// The limit, multiplied by that power.
    most: u64,
    /// The same in words.
    limit: &'static str,
}

const TIME: Kind = Kind {
    what: "a time in seconds",
    places: 9,
    most: MAX_TIME.as_nanos(),
    limit: "604800 s after the trace began, a week",
};

const RATE: Kind = Kind {
    what: "a rate in Mbit/s",
    places: 6,
    most: MAX_RATE.bits_per_sec(),
    limit: "1000000 Mbit/s",
};

const DELAY: Kind = Kind {
    what: "a delay in milliseconds",
    places: 6,
    most: MAX_DELAY.as_nanos(),
    limit: "60000 ms",
};

fn number_up_to(text: &str, kind: &Kind) -> Result<u64, TraceProblem> {
    let Some(value) = decimal(text, kind.places) else {
        let positive = text.strip_prefix('-');
        return Err(match positive.and_then(|text| decimal(text, kind.places)) {
            Some(_) => TraceProblem::BelowZero { what: kind.what },
            None => TraceProblem::Expected {
                what: kind.what,
                found: beginning(text),
            },
        });
    };
    if value > kind.most {
        return Err(TraceProblem::AboveLimit {
            what: kind.what,
            limit: kind.limit,
        });
    }
    Ok(value)
}

/// `text * 10^places` to the nearest, halves up, at most [`u64::MAX`]. `None` unless the text is a
/// decimal as programs write it: `0.5`, `5e-05`.
fn decimal(text: &str, places: i64) -> Option<u64> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let mut digits = whole.bytes().chain(fraction.bytes());
    if whole.len() + fraction.len() == 0 || !digits.clone().all(|digit| digit.is_ascii_digit()) {
        return None;
    }
    // The number of digits before the point of the product; if negative, the product is below 1/10.
    let before_point = i64::try_from(whole.len()).ok()? + i64::from(exponent) + places;
    let mut value = 0_u64;
    for _ in 0..before_point {
        let digit = digits.next();
        if (digit.is_none() && value == 0) || value == u64::MAX {
            break;
        }
        let digit = digit.map_or(0, |digit| u64::from(digit - b'0'));
        value = value.saturating_mul(10).saturating_add(digit);
    }
    let rounds_up = before_point >= 0 && digits.next().is_some_and(|digit| digit >= b'5');
    Some(value.saturating_add(u64::from(rounds_up)))
}

#[cfg(test)]
mod tests {
    use super::decimal;

    #[test]
    fn decimals_are_rounded_to_the_nearest() {
        for (text, places, expected) in [
            ("0.0", 9, 0),
            ("0.549999952316", 9, 549_999_952),
            ("0.3499999995", 9, 350_000_000),
            ("4.03768755221", 6, 4_037_688),
            ("1", 9, 1_000_000_000),
            (".5", 0, 1),
            ("0.49999999999999999999999999999999", 0, 0),
            ("5.", 1, 50),
            ("5e-05", 6, 50),
            ("1.25E+1", 0, 13),
            ("4e-7", 6, 0),
            ("5e-7", 6, 1),
            ("9.9e-8", 6, 0),
            ("000000000000000000000000000000007", 0, 7),
            ("18446744073709551615", 0, u64::MAX),
            ("18446744073709551616", 0, u64::MAX),
            ("1e2147483647", 9, u64::MAX),
            ("0e2147483647", 9, 0),
            ("1e-2147483648", 9, 0),
        ] {
            assert_eq!(decimal(text, places), Some(expected), "{text}");
        }
        for text in [
            "",
            ".",
            "-1",
            "+1",
            "1_0",
            "0x1",
            "1e",
            "e5",
            "1.2.3",
            "nan",
            "inf",
            "1e9999999999",
            "\u{661}",
        ] {
            assert_eq!(decimal(text, 9), None, "{text}");
        }
    }
}
