//! Configuration of SEARCH, and the values of each published version.

use crate::options::{self, OptionError};
use crate::settings;

/// Largest number of bins in a window.
pub const MAX_BINS: u32 = 48;
/// Largest number of bins beyond the window.
pub const MAX_EXTRA_BINS: u32 = 64;

/// The version of SEARCH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Compares delivered with sent bytes (Kachooei 2024, section 4.3; LCN 2023).
    V1_0,
    /// Uses only delivered bytes (Kachooei 2024, Algorithm 1, errata repaired).
    #[default]
    V2_0,
    /// As 2.0 with cumulative bins, as its published source intends.
    V3_0,
    /// Cumulative bins with resets, as proposed to netdev in January 2025, repaired.
    V3_1,
    /// Compares delivered with sent bytes, as in draft-09.
    V4_0,
}

/// The window at the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The threshold becomes the window.
    Plain,
    /// The window also loses its growth of the last two initial RTTs.
    Rollback,
    /// The window falls to what was delivered in the last initial RTT, as the queue drains.
    Drain,
}

/// The RTT that sets the look-back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookBack {
    /// The sample of the current ACK, as in all publications.
    #[default]
    Current,
    /// The sample that fixed the bins.
    Initial,
}

/// How the norm is compared with the threshold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Comparison {
    /// `>=`, as in Linux and neqo.
    #[default]
    AtLeast,
    /// `>`, as in quicly.
    Above,
}

/// When a bin ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// With the first ACK at or after its end.
    At,
    /// With the first ACK strictly after its end.
    After,
}

/// Handling of bins without an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    /// They count as bins without delivery.
    #[default]
    Keep,
    /// More than `alpha` initial RTTs of them reset all bins.
    Reset,
    /// More than `alpha` initial RTTs of them do not count as time (Kachooei 2024, chapter 7).
    Freeze,
}

/// Handling of a look-back that reaches beyond the bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FewBins {
    /// No test runs.
    #[default]
    Mute,
    /// The windows shrink by the number of missing bins, at most by half (Kachooei 2024,
    /// chapter 7; intended by the Linux module 3.2).
    Shrink,
    /// No test runs, and the window does not grow until one can (a second reading of the same
    /// sentence, which speaks of the congestion window).
    Hold,
}

/// Handling of an application-limited sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppLimited {
    /// No special handling (2.0).
    Ignore,
    /// A bin that ends while application-limited resets all bins (Linux 3.1 and 4.0).
    Reset,
    /// Skips the ACKs (neqo).
    Skip,
}

/// The quantity that divides the missing bytes in the norm of 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NormBase {
    /// The expected bytes (Kachooei 2024, section 4.2; all later versions).
    #[default]
    Expected,
    /// The delivered bytes (Kachooei 2024, section 4.3).
    Delivered,
}

/// The integer arithmetic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Nanoseconds, whole bytes, exact fractions.
    #[default]
    Exact,
    /// Nanoseconds, whole bytes, the fraction of the look-back in whole percent (neqo).
    Percent,
    /// Microseconds, 16-bit bins with a shared shift, whole percent (Linux 3.1 and 4.0).
    Shifted,
}

settings! {
    /// Configuration of [`Search`](super::Search). `None` means the version's own choice.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SearchConfig {
        /// The version.
        version: Version {
            name: "version",
            default: "2.0",
            help: "1.0 (delivered against sent bytes), 2.0 (Kachooei 2024: delivered bytes), 3.0 \
                   (the same, cumulative), 3.1 (with resets), 4.0 (delivered against sent bytes); \
                   other options default to the version's values",
            read: |value| {
                let words = [
                    ("1.0", Version::V1_0),
                    ("2.0", Version::V2_0),
                    ("3.0", Version::V3_0),
                    ("3.1", Version::V3_1),
                    ("4.0", Version::V4_0),
                ];
                options::choice(value, &words, "1.0, 2.0, 3.0, 3.1 or 4.0")
            },
        }

        /// The window at the exit.
        exit: Option<Exit> {
            name: "exit",
            default: "version",
            help: "plain: the threshold becomes the window; rollback: the window also loses its \
                   growth of two initial RTTs; drain: it falls to what one initial RTT delivers \
                   as the queue drains (4.0: drain, else plain)",
            read: |value| {
                let words = [
                    ("plain", Some(Exit::Plain)),
                    ("rollback", Some(Exit::Rollback)),
                    ("drain", Some(Exit::Drain)),
                    ("version", None),
                ];
                options::choice(value, &words, "plain, rollback, drain or version")
            },
        }

        /// Whether to log the first decision and not apply it.
        passive: bool {
            name: "passive",
            default: "false",
            help: "log the decision but do not exit slow start",
            read: options::boolean,
        }

        /// `THRESH` in thousandths of the expected bytes.
        threshold_permille: Option<u32> {
            name: "threshold",
            default: "version",
            help: "percentage by which delivery may fall short of the expected bytes (4.0: 26, \
                   else 35)",
            read: |value| {
                version_or(value, |value| {
                    // Thousandths of a percent; a tenth of a percent is one per mille.
                    let parts: u32 = options::thousandths(value, 0, 100_000, PERCENT)?;
                    if parts.is_multiple_of(100) {
                        Ok(parts / 100)
                    } else {
                        Err(OptionError::Invalid { expected: PERCENT })
                    }
                })
            },
        }

        /// Window in thousandths of the initial RTT.
        window_permille: u32 {
            name: "window",
            default: "3.5",
            help: "length of a window in initial RTTs",
            read: |value| {
                options::thousandths(
                    value,
                    500,
                    20_000,
                    "a number of RTTs from 0.5 to 20, such as 3.5",
                )
            },
        }

        /// `W`: bins in a window.
        bins: u32 {
            name: "bins",
            default: "10",
            help: "bins in a window",
            read: |value| {
                options::integer(value, 2, u64::from(MAX_BINS), "a whole number from 2 to 48")
            },
        }

        /// `EXTRA_BINS`: bins beyond the window in the ring of the look-back.
        extra_bins: Option<u32> {
            name: "extra_bins",
            default: "version",
            help: "bins beyond the window, which limit the look-back (4.0: 40, else 15)",
            read: |value| {
                version_or(value, |value| {
                    let expected = "a whole number from 1 to 64, or version";
                    options::integer(value, 1, u64::from(MAX_EXTRA_BINS), expected)
                })
            },
        }

        /// The RTT that sets the look-back.
        lookback: LookBack {
            name: "lookback",
            default: "current",
            help: "current: look back by the RTT of the current ACK; initial: by the first RTT",
            read: |value| {
                let words = [
                    ("current", LookBack::Current),
                    ("initial", LookBack::Initial),
                ];
                options::choice(value, &words, "current or initial")
            },
        }

        /// How the norm is compared with the threshold.
        comparison: Comparison {
            name: "comparison",
            default: "at-least",
            help: "at-least: exit when the norm reaches the threshold; above: when it exceeds it",
            read: |value| {
                let words = [
                    ("at-least", Comparison::AtLeast),
                    ("above", Comparison::Above),
                ];
                options::choice(value, &words, "at-least or above")
            },
        }

        /// When a bin ends.
        boundary: Option<Boundary> {
            name: "boundary",
            default: "version",
            help: "at: a bin ends with the first ACK at its end or later; after: strictly later \
                   (1.0 to 3.0: after, else at)",
            read: |value| {
                let words = [
                    ("at", Some(Boundary::At)),
                    ("after", Some(Boundary::After)),
                    ("version", None),
                ];
                options::choice(value, &words, "at, after or version")
            },
        }

        /// Handling of bins without an ACK.
        missed: Missed {
            name: "missed",
            default: "keep",
            help: "bins without an ACK: keep (they delivered nothing); after more than alpha \
                   initial RTTs without one: reset, or freeze (that time does not count)",
            read: |value| {
                let words = [
                    ("keep", Missed::Keep),
                    ("reset", Missed::Reset),
                    ("freeze", Missed::Freeze),
                ];
                options::choice(value, &words, "keep, reset or freeze")
            },
        }

        /// Initial RTTs without an ACK that [`Missed::Reset`] and [`Missed::Freeze`] tolerate.
        alpha: u32 {
            name: "alpha",
            default: "2",
            help: "initial RTTs without an ACK that missed=reset and missed=freeze tolerate",
            read: |value| options::integer(value, 1, 65_535, "a whole number from 1 to 65535"),
        }

        /// Handling of a look-back that reaches beyond the bins.
        few_bins: FewBins {
            name: "few_bins",
            default: "mute",
            help: "if the look-back reaches beyond the bins: mute (no test), shrink (the windows \
                   shrink by the missing bins, at most by half), or hold (no test, and the \
                   congestion window does not grow)",
            read: |value| {
                let words = [
                    ("mute", FewBins::Mute),
                    ("shrink", FewBins::Shrink),
                    ("hold", FewBins::Hold),
                ];
                options::choice(value, &words, "mute, shrink or hold")
            },
        }

        /// Whether SEARCH rests during a reduction, in which the window may be below the threshold.
        rests_in_recovery: bool {
            name: "in_recovery",
            default: "test",
            help: "while a loss is repaired with a window below the threshold: test (as the Linux \
                   modules), or rest (no bins and no tests)",
            read: |value| {
                options::choice(value, &[("test", false), ("rest", true)], "test or rest")
            },
        }

        /// Handling of an application-limited sender.
        app_limited: Option<AppLimited> {
            name: "app_limited",
            default: "version",
            help: "while the sender is application-limited: ignore it, reset the bins, or skip the \
                   ACKs (1.0 to 3.0: ignore, else reset)",
            read: |value| {
                let words = [
                    ("ignore", Some(AppLimited::Ignore)),
                    ("reset", Some(AppLimited::Reset)),
                    ("skip", Some(AppLimited::Skip)),
                    ("version", None),
                ];
                options::choice(value, &words, "ignore, reset, skip or version")
            },
        }

        /// The quantity that divides the missing bytes in the norm.
        norm_of: NormBase {
            name: "norm_of",
            default: "expected",
            help: "divisor of the norm: expected, or delivered bytes (1.0 in Kachooei 2024, \
                   section 4.3)",
            read: |value| {
                let words = [
                    ("expected", NormBase::Expected),
                    ("delivered", NormBase::Delivered),
                ];
                options::choice(value, &words, "expected or delivered")
            },
        }

        /// Whether to behave as the version's published source, errors included (`published.rs`).
        as_published: bool {
            name: "as_published",
            default: "false",
            help: "behave as the version's published source, errors included, to reproduce \
                   published results (4.0: threshold 35)",
            read: options::boolean,
        }

        /// The integer arithmetic.
        arithmetic: Arithmetic {
            name: "arithmetic",
            default: "exact",
            help: "exact: nanoseconds, bytes, exact fractions; percent: fractions in whole \
                   percent (neqo); shifted: microseconds, 16-bit bins with a shared shift \
                   (Linux)",
            read: |value| {
                let words = [
                    ("exact", Arithmetic::Exact),
                    ("percent", Arithmetic::Percent),
                    ("shifted", Arithmetic::Shifted),
                ];
                options::choice(value, &words, "exact, percent or shifted")
            },
        }
    }
}

impl SearchConfig {
    /// A version of SEARCH, with the version's own values.
    #[must_use]
    pub fn of(version: Version) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    /// The window at the exit: drained in 4.0, unchanged in earlier versions.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit.unwrap_or(match self.version {
            Version::V1_0 | Version::V2_0 | Version::V3_0 | Version::V3_1 => Exit::Plain,
            Version::V4_0 => Exit::Drain,
        })
    }

    /// `THRESH` in thousandths: 350, or 260 in 4.0 (draft-09, FreeBSD; the Linux module and 4.0 as
    /// published have 350).
    #[must_use]
    pub fn threshold(&self) -> u32 {
        self.threshold_permille.unwrap_or(match self.version {
            Version::V4_0 if !self.as_published => 260,
            _ => 350,
        })
    }

    /// `EXTRA_BINS`: 15, or 40 in 4.0 for the sent ring (Linux).
    #[must_use]
    pub fn extra_bins(&self) -> u32 {
        self.extra_bins.unwrap_or(match self.version {
            Version::V4_0 => 40,
            _ => 15,
        })
    }

    /// When a bin ends: strictly after its end up to 3.0, at its end from 3.1 on.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        self.boundary.unwrap_or(match self.version {
            Version::V1_0 | Version::V2_0 | Version::V3_0 => Boundary::After,
            Version::V3_1 | Version::V4_0 => Boundary::At,
        })
    }

    /// Handling of an application-limited sender: ignored up to 3.0, a reset from 3.1 on.
    #[must_use]
    pub fn app_limited(&self) -> AppLimited {
        self.app_limited.unwrap_or(match self.version {
            Version::V1_0 | Version::V2_0 | Version::V3_0 => AppLimited::Ignore,
            Version::V3_1 | Version::V4_0 => AppLimited::Reset,
        })
    }

    /// Whether delivered bytes are compared with sent bytes.
    pub(super) const fn compares_sent(&self) -> bool {
        matches!(self.version, Version::V1_0 | Version::V4_0)
    }

    /// The largest look-back in bins that the published ring allows: a ring of delta bins holds one
    /// more than a cumulative ring, which needs a bin before the window's first.
    #[must_use]
    pub fn longest_lookback(&self) -> u64 {
        let spare = match self.version {
            Version::V2_0 if self.as_published => 0,
            Version::V1_0 | Version::V2_0 => 1,
            Version::V3_0 | Version::V3_1 | Version::V4_0 => 2,
        };
        u64::from(self.extra_bins().clamp(1, MAX_EXTRA_BINS)).saturating_sub(spare)
    }
}

const PERCENT: &str = "a percentage from 0 to 100 with at most one decimal, or version";

/// The value as `read` parses it, or `None` for the word `version`.
fn version_or(
    value: &str,
    read: impl Fn(&str) -> Result<u32, OptionError>,
) -> Result<Option<u32>, OptionError> {
    if value == "version" {
        Ok(None)
    } else {
        read(value).map(Some)
    }
}
