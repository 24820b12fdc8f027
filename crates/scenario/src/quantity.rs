//! Quantities as strings with units, read and written without loss.
//!
//! Prefixes are decimal (`kB` is 1000 bytes), `KiB`, `MiB` and `GiB` binary. `b` and `bit` are
//! bits, `B` bytes. The space before the unit is optional. Units are case-sensitive, because
//! `Mb/s` and `MB/s` differ by a factor of eight.

use network::QueueLimit;
use tables::{MAX_DURATION, MAX_RATE, MAX_SIZE};
use units::{Bytes, Duration, Rate};

use crate::decimal::{self, Decimal, Inexact};
use crate::error::{Error, quoted, suggestion};

/// Largest buffer in packets.
const MAX_PACKETS: u64 = 1_000_000_000;
/// Largest buffer in bandwidth-delay products.
const MAX_BDP: u64 = 10_000;

const RATE_UNITS: &[(&str, u64)] = &[
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("b/s", 1),
    ("kb/s", 1_000),
    ("Mb/s", 1_000_000),
    ("Gb/s", 1_000_000_000),
    ("B/s", 8),
    ("kB/s", 8_000),
    ("MB/s", 8_000_000),
    ("GB/s", 8_000_000_000),
];

const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

const SIZE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("byte", 1),
    ("bytes", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("TB", 1_000_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

const BUFFER_UNITS: &[&str] = &["packets", "packet", "pkts", "pkt", "bdp"];

/// The size of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Buffer {
    /// Unlimited.
    Unlimited,
    /// Queued packets of any size; the one in service does not count.
    Packets(u64),
    /// Bytes, with the link's overhead.
    Bytes(Bytes),
    /// A multiple of the bandwidth-delay product, in millionths.
    Bdp {
        /// Millionths of a BDP.
        millionths: u64,
    },
}

impl Buffer {
    /// The limit of a queue where the BDP is `bdp` and a full packet counts `packet` bytes.
    /// A multiple of the BDP becomes whole packets, to the nearest, at least one.
    #[must_use]
    pub fn resolve(self, bdp: Bytes, packet: Bytes) -> QueueLimit {
        match self {
            Self::Unlimited => QueueLimit::Unlimited,
            Self::Packets(packets) => QueueLimit::Packets(packets),
            Self::Bytes(bytes) => QueueLimit::Bytes(bytes),
            Self::Bdp { millionths } => {
                let scaled = u128::from(bdp.get()) * u128::from(millionths);
                let packet = u128::from(packet.get().max(1)) * 1_000_000;
                let packets = u64::try_from((scaled + packet / 2) / packet).unwrap_or(u64::MAX);
                QueueLimit::Packets(packets.max(1))
            }
        }
    }
}

/// Reads a rate above zero: `"50 Mbit/s"`, `"6.25MB/s"`, `"50 Mbps"`.
///
/// # Errors
/// One sentence, if the text is not a rate, is zero, finer than a bit per second, or above 1
/// Tbit/s.
pub fn parse_rate(text: &str) -> Result<Rate, Error> {
    rate(text).map_err(|reason| about(text, &reason))
}

/// Reads a span of time: `"100 ms"`, `"1.5s"`, `"2 min"`.
///
/// # Errors
/// One sentence, if the text is not a time, is finer than a nanosecond, or is longer than a week.
pub fn parse_duration(text: &str) -> Result<Duration, Error> {
    duration(text).map_err(|reason| about(text, &reason))
}

/// Reads a number of bytes: `"20MB"`, `"64 KiB"`, `"0 bytes"`.
///
/// # Errors
/// One sentence, if the text is not a size, not a whole number of bytes, or above 1000 TB.
pub fn parse_size(text: &str) -> Result<Bytes, Error> {
    size(text).map_err(|reason| about(text, &reason))
}

/// Reads the size of a buffer: `"413 packets"`, `"36 MB"`, `"1.5 bdp"`, `"unlimited"`.
///
/// # Errors
/// One sentence, if the text is none of these, or is zero or too large.
pub fn parse_buffer(text: &str) -> Result<Buffer, Error> {
    buffer(text).map_err(|reason| about(text, &reason))
}

/// Reads a fraction between 0 and 1, written in percent: `"0.1 %"`.
///
/// # Errors
/// One sentence, if the text is not a percentage or is above 100 %.
pub fn parse_probability(text: &str) -> Result<f64, Error> {
    share(text, 100).map_err(|reason| about(text, &reason))
}

fn about(text: &str, reason: &str) -> Error {
    Error::new(format!("{}: {reason}", quoted(text)))
}

pub(crate) fn rate(text: &str) -> Result<Rate, String> {
    let rate = rate_or_zero(text)?;
    if rate == Rate::ZERO {
        return Err("a rate must be above zero".to_owned());
    }
    Ok(rate)
}

pub(crate) fn rate_or_zero(text: &str) -> Result<Rate, String> {
    let bits = scaled(text, RATE_UNITS, "a rate", "50 Mbit/s", "bit per second")?;
    let rate = Rate::from_bits_per_sec(bits);
    if rate > MAX_RATE {
        return Err(format!("the limit is {MAX_RATE}"));
    }
    Ok(rate)
}

pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let nanos = scaled(text, TIME_UNITS, "a time", "100 ms", "nanosecond")?;
    let span = Duration::from_nanos(nanos);
    if span > MAX_DURATION {
        return Err(format!("the limit is {MAX_DURATION}"));
    }
    Ok(span)
}

pub(crate) fn size(text: &str) -> Result<Bytes, String> {
    let bytes = Bytes::new(scaled(text, SIZE_UNITS, "a size", "20 MB", "byte")?);
    if bytes > MAX_SIZE {
        return Err(format!("the limit is {MAX_SIZE}"));
    }
    Ok(bytes)
}

pub(crate) fn buffer(text: &str) -> Result<Buffer, String> {
    if text.trim() == "unlimited" {
        return Ok(Buffer::Unlimited);
    }
    let (number, unit) = decimal::split(text)?;
    let buffer = match unit {
        "packets" | "packet" | "pkts" | "pkt" => {
            let packets = number
                .times(1)
                .map_err(|inexact| whole(inexact, "packet"))?;
            if packets > MAX_PACKETS {
                return Err(format!("the limit is {MAX_PACKETS} packets"));
            }
            Buffer::Packets(packets)
        }
        "bdp" | "BDP" => {
            let millionths = number
                .times(1_000_000)
                .map_err(|inexact| whole(inexact, "millionth of a BDP"))?;
            if millionths > MAX_BDP * 1_000_000 {
                return Err(format!("the limit is {MAX_BDP} bdp"));
            }
            Buffer::Bdp { millionths }
        }
        _ if SIZE_UNITS.iter().any(|&(name, _)| name == unit) => Buffer::Bytes(size(text)?),
        _ => {
            let known: Vec<&str> = SIZE_UNITS
                .iter()
                .map(|&(name, _)| name)
                .chain(BUFFER_UNITS.iter().copied())
                .collect();
            return Err(unknown_unit(unit, "a buffer", "413 packets", &known));
        }
    };
    if matches!(
        buffer,
        Buffer::Packets(0) | Buffer::Bytes(Bytes::ZERO) | Buffer::Bdp { millionths: 0 }
    ) {
        return Err("a buffer must hold at least one packet".to_owned());
    }
    Ok(buffer)
}

/// A fraction in percent, at most `max_percent`.
pub(crate) fn share(text: &str, max_percent: u64) -> Result<f64, String> {
    let (number, unit) = decimal::split(text)?;
    if unit != "%" {
        return Err(unknown_unit(unit, "a share", "0.1 %", &["%"]));
    }
    let share = number.to_f64(2);
    if share > max_percent as f64 / 100.0 {
        return Err(format!("the limit is {max_percent} %"));
    }
    Ok(share)
}

/// Events per second: `"31.25 /s"`.
pub(crate) fn frequency(text: &str) -> Result<f64, String> {
    let (number, unit) = decimal::split(text)?;
    let seconds = match unit {
        "/s" => 1.0,
        "/min" => 60.0,
        "/h" => 3600.0,
        _ => {
            let known = ["/s", "/min", "/h"];
            return Err(unknown_unit(unit, "a frequency", "30 /s", &known));
        }
    };
    Ok(number.to_f64(0) / seconds)
}

/// A number of `unit` in a range that may include negative numbers.
pub(crate) fn level(
    text: &str,
    unit: &str,
    example: &str,
    (min, max): (f64, f64),
) -> Result<f64, String> {
    let text = text.trim();
    let (sign, size) = match text.strip_prefix(['-', '\u{2212}']) {
        Some(size) if min < 0.0 => (-1.0, size),
        _ => (1.0, text),
    };
    let (number, found) = decimal::split(size)?;
    if found != unit {
        return Err(unknown_unit(found, "a level", example, &[unit]));
    }
    let level = sign * number.to_f64(0);
    if level < min || level > max {
        return Err(match min < 0.0 {
            true => format!("it is from {min} {unit} to {max} {unit}"),
            false => format!("the limit is {max} {unit}"),
        });
    }
    Ok(level)
}

/// A physical quantity that is read as a number of its first unit. A unit has a factor, and
/// a number of decimal places by which it is smaller.
pub(crate) struct Measure {
    what: &'static str,
    example: &'static str,
    units: &'static [(&'static str, f64, u32)],
}

pub(crate) const LENGTHS: Measure = Measure {
    what: "a length",
    example: "500 m",
    units: &[("m", 1.0, 0), ("km", 1e3, 0), ("cm", 1.0, 2)],
};
pub(crate) const SPEEDS: Measure = Measure {
    what: "a speed",
    example: "10 m/s",
    units: &[("m/s", 1.0, 0), ("km/s", 1e3, 0)],
};
pub(crate) const POWERS: Measure = Measure {
    what: "a power",
    example: "0.66 W",
    units: &[("W", 1.0, 0), ("mW", 1.0, 3), ("uW", 1.0, 6)],
};
pub(crate) const ENERGIES: Measure = Measure {
    what: "an energy",
    example: "1000 J",
    units: &[("J", 1.0, 0), ("kJ", 1e3, 0), ("mJ", 1.0, 3)],
};
pub(crate) const ANGLES: Measure = Measure {
    what: "an angle",
    example: "37.9 deg",
    units: &[("deg", 1.0, 0), ("\u{b0}", 1.0, 0)],
};

impl Measure {
    /// Reads a number in a range, which may include negative numbers.
    pub(crate) fn read(&self, text: &str, least: f64, most: f64) -> Result<f64, String> {
        let text = text.trim();
        let (sign, size) = match text.strip_prefix(['-', '\u{2212}']) {
            Some(size) if least < 0.0 => (-1.0, size),
            _ => (1.0, text),
        };
        let (number, unit) = decimal::split(size)?;
        let found = self.units.iter().find(|(name, ..)| *name == unit);
        let Some(&(_, factor, places)) = found else {
            let known: Vec<&str> = self.units.iter().map(|(name, ..)| *name).collect();
            return Err(unknown_unit(unit, self.what, self.example, &known));
        };
        let value = sign * number.to_f64(places) * factor;
        let unit = self.units[0].0;
        if (least..=most).contains(&value) {
            return Ok(value);
        }
        Err(match (value < least, least != 0.0) {
            (_, true) => format!("it is from {least} {unit} to {most} {unit}"),
            (true, false) => format!("the least is {least} {unit}"),
            (false, false) => format!("the limit is {most} {unit}"),
        })
    }
}

/// A number with a unit, as a whole number of the smallest one.
fn scaled(
    text: &str,
    units: &[(&str, u64)],
    what: &str,
    example: &str,
    smallest: &str,
) -> Result<u64, String> {
    let (number, unit): (Decimal, &str) = decimal::split(text)?;
    match units.iter().find(|&&(name, _)| name == unit) {
        Some(&(_, factor)) => number
            .times(factor)
            .map_err(|inexact| whole(inexact, smallest)),
        None => {
            let known: Vec<&str> = units.iter().map(|&(name, _)| name).collect();
            Err(unknown_unit(unit, what, example, &known))
        }
    }
}

fn whole(inexact: Inexact, smallest: &str) -> String {
    match inexact {
        Inexact::Fraction => format!("it is finer than one {smallest}"),
        Inexact::TooLarge => "the number is too large".to_owned(),
    }
}

fn unknown_unit(unit: &str, what: &str, example: &str, known: &[&str]) -> String {
    if unit.is_empty() {
        return format!("{what} needs a unit, such as \"{example}\"");
    }
    // Edit distance without case cannot decide this misspelling.
    let same = known.iter().find(|name| name.eq_ignore_ascii_case(unit));
    let hint = match same {
        Some(name) => format!("; did you mean \"{name}\"?"),
        None => suggestion(unit, known.iter().copied()),
    };
    format!("unknown unit {}{hint}", quoted(unit))
}

/// Writes a rate in the largest unit that keeps its number above one, exactly.
#[must_use]
pub fn format_rate(rate: Rate) -> String {
    rate.to_string()
}

/// Writes a span of time in the largest of s, ms, us and ns that keeps its number above one.
#[must_use]
pub fn format_duration(span: Duration) -> String {
    span.to_string()
}

/// Writes a number of bytes in the largest decimal unit that keeps its number above one, exactly.
#[must_use]
pub fn format_size(bytes: Bytes) -> String {
    bytes.to_string()
}

/// Writes the size of a buffer as [`parse_buffer`] reads it.
#[must_use]
pub fn format_buffer(buffer: Buffer) -> String {
    match buffer {
        Buffer::Unlimited => "unlimited".to_owned(),
        Buffer::Packets(1) => "1 packet".to_owned(),
        Buffer::Packets(packets) => format!("{packets} packets"),
        Buffer::Bytes(bytes) => format_size(bytes),
        Buffer::Bdp { millionths } => format!("{} bdp", decimal::show(millionths, 6)),
    }
}
