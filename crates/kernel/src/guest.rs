//! Congestion controls for the time of a measurement.
//!
//! They are registered through a BPF link, which the kernel drops with the process, however that
//! ends. Each has a name of its own, so that it conflicts neither with a loaded congestion control
//! nor with another measurement.

use std::fmt;
use std::net::Ipv4Addr;

use units::Instant;

use crate::error::Error;
use crate::libbpf::{self, Loaded};
use crate::needs::missing_for_guests;
use crate::status::loaded;
use crate::wanted::Wanted;

/// `struct ss_exit` of `bpf/common.bpf.h`.
const RECORD: usize = 32;
/// Digits of the names' suffixes.
const DIGITS: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
/// How many other names to try if another process takes the first.
const TRIES: usize = 5;

/// A congestion control that is registered as long as this lives. Sockets that use it keep it
/// afterwards.
pub struct Guest {
    wanted: Wanted,
    name: String,
    loaded: Loaded,
}

/// The end of a slow start, as the congestion control decided it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuestExit {
    /// When the ACK arrived (CLOCK_MONOTONIC).
    pub at: Instant,
    /// The sender's address.
    pub source: Ipv4Addr,
    /// The window in segments, before the exit changed it.
    pub cwnd: u32,
    /// SEARCH: bins since the first one; HyStart++: rounds of Conservative Slow Start; SUSS:
    /// accelerated rounds.
    pub bin: u32,
    /// The reason as results name it, where the congestion control has more than one.
    pub reason: Option<&'static str>,
    /// SEARCH: how far delivery fell short of the expectation, in thousandths.
    pub norm_permille: u64,
}

impl Guest {
    /// Registers a congestion control for as long as what is returned lives.
    ///
    /// # Errors
    /// What is missing, or why the kernel refuses.
    pub fn register(wanted: &Wanted) -> Result<Self, Error> {
        wanted.options.check()?;
        let missing = missing_for_guests();
        if !missing.is_empty() {
            return Err(Error::Missing(missing));
        }
        let mut failed = None;
        for _ in 0..TRIES {
            let there = loaded();
            let Some(name) = free_name(wanted.control.name, &there) else {
                break;
            };
            match libbpf::load(wanted, &name, RECORD) {
                Ok(loaded) => {
                    return Ok(Self {
                        wanted: *wanted,
                        name,
                        loaded,
                    });
                }
                // Another process may have taken the name meanwhile.
                Err(error) if loaded().contains(&name) => failed = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(failed.unwrap_or_else(|| {
            Error::Refused(format!(
                "too many instances of {} are registered",
                wanted.control.name
            ))
        }))
    }

    /// What was registered.
    #[must_use]
    pub const fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// Its name in the kernel.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Hands over the slow-start exits that were not handed over before, in order.
    pub fn take_exits(&mut self, each: &mut dyn FnMut(GuestExit)) {
        self.loaded
            .take(&mut |record| each(GuestExit::parse(record)));
    }
}

impl fmt::Debug for Guest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guest")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl GuestExit {
    fn parse(record: &[u8]) -> Self {
        let word = |at| u64::from_ne_bytes(array(record, at));
        let half = |at| u32::from_ne_bytes(array(record, at));
        Self {
            at: Instant::from_nanos(word(0)),
            bin: half(8),
            reason: match half(12) {
                1 => Some("ack-train"),
                2 => Some("delay"),
                _ => None,
            },
            norm_permille: word(16),
            source: Ipv4Addr::from(array::<4>(record, 24)),
            cwnd: half(28),
        }
    }
}

/// The bytes from `at` on; zeros where there are none.
pub(crate) fn array<const N: usize>(record: &[u8], at: usize) -> [u8; N] {
    let bytes = record
        .get(at..at + N)
        .and_then(|bytes| bytes.try_into().ok());
    bytes.unwrap_or([0; N])
}

/// The first name for a guest that is not in `there`.
fn free_name(control: &str, there: &[String]) -> Option<String> {
    let digits = || DIGITS.iter().map(|digit| char::from(*digit));
    let names = digits().flat_map(|high| digits().map(move |low| format!("{control}.{high}{low}")));
    names.into_iter().find(|name| !there.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_guests_are_free_and_fit() {
        let mut there = vec!["cubic".to_owned(), "ss_cubic_std.00".to_owned()];
        let name = free_name("ss_cubic_std", &there).expect("a name");
        assert_eq!(name, "ss_cubic_std.01");
        assert_eq!(name.len(), 15);
        for _ in 0..36 * 36 - 1 {
            let name = free_name("ss_cubic_std", &there).expect("a name");
            there.push(name);
        }
        assert_eq!(free_name("ss_cubic_std", &there), None);
    }

    #[test]
    fn exits_are_read_as_they_are_written() {
        let mut record = Vec::new();
        record.extend(5_u64.to_ne_bytes());
        record.extend(31_u32.to_ne_bytes());
        record.extend(2_u32.to_ne_bytes());
        record.extend(351_u64.to_ne_bytes());
        record.extend([10, 78, 0, 2]);
        record.extend(420_u32.to_ne_bytes());
        assert_eq!(record.len(), RECORD);
        let expected = GuestExit {
            at: Instant::from_nanos(5),
            source: Ipv4Addr::new(10, 78, 0, 2),
            cwnd: 420,
            bin: 31,
            reason: Some("delay"),
            norm_permille: 351,
        };
        assert_eq!(GuestExit::parse(&record), expected);
    }
}
