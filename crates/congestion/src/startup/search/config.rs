//! What can be chosen about SEARCH, and what each published version chose.

use crate::options::{self, OptionError};
use crate::settings;

/// Largest number of bins in a window.
pub const MAX_BINS: u32 = 48;
/// Largest number of bins beyond the window.
pub const MAX_EXTRA_BINS: u32 = 64;

/// Which SEARCH.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Version {
    /// Sent against delivered bytes in the thesis' first form (section 4.3; LCN 2023).
    V1_0,
    /// The thesis' Algorithm 1 with its errata repaired: delivered bytes alone.
    #[default]
    V2_0,
    /// The same with cumulative bins, as its published source intends.
    V3_0,
    /// Cumulative bins with resets, as proposed to netdev in January 2025, repaired.
    V3_1,
    /// Sent against delivered bytes, as in draft-09.
    V4_0,
}

/// What happens to the window at the exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// The threshold becomes the window.
    Plain,
    /// The window also gives back what it grew in the last two initial RTTs.
    Rollback,
    /// The window first falls to what was delivered in the last initial RTT, as the queue drains.
    Drain,
}

/// Which RTT says how far to look back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LookBack {
    /// The sample of the ACK at hand, as all publications have it.
    #[default]
    Current,
    /// The sample that the bins were made from.
    Initial,
}

/// How the norm must stand to the threshold.
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

/// What happens when bins passed without an ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missed {
    /// They count as bins without delivery.
    #[default]
    Keep,
    /// More than `alpha` initial RTTs of them make all bins worthless.
    Reset,
    /// More than `alpha` initial RTTs of them do not count as time (thesis chapter 7).
    Freeze,
}

/// What happens when the look-back reaches beyond the bins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FewBins {
    /// There is no test.
    #[default]
    Mute,
    /// The windows give up as many bins as are missing, but no more than half of theirs (thesis
    /// chapter 7; what the Linux module 3.2 intends).
    Shrink,
}

/// What happens while the application limits the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AppLimited {
    /// Nothing special (2.0).
    Ignore,
    /// A bin that ends then makes all bins worthless (3.1, 4.0 of Linux).
    Reset,
    /// ACKs are passed over (neqo).
    Skip,
}

/// What the norm of 1.0 is a part of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Whole {
    /// What is expected (thesis section 4.2; all later versions).
    #[default]
    Expected,
    /// What was delivered (thesis section 4.3).
    Delivered,
}

/// How the integers are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Arithmetic {
    /// Nanoseconds, whole bytes, exact fractions.
    #[default]
    Exact,
    /// Nanoseconds, whole bytes, the look-back's fraction in whole percent (neqo).
    Percent,
    /// Microseconds, 16-bit bins with a shared shift, whole percent (Linux 3.1 and 4.0).
    Shifted,
}

settings! {
    /// Configuration of [`Search`](super::Search). `None` means the version's own choice.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct SearchConfig {
        /// Which SEARCH.
        version: Version {
            name: "version",
            default: "2.0",
            help: "1.0 (sent against delivered bytes), 2.0 (thesis: delivered bytes), 3.0 (the \
                   same, cumulative), 3.1 (with resets), 4.0 (sent against delivered bytes); \
                   options not given are the version's own",
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

        /// What happens to the window at the exit.
        exit: Option<Exit> {
            name: "exit",
            default: "version",
            help: "plain: the threshold becomes the window; rollback: the window also loses what \
                   it grew in two initial RTTs; drain: it falls to what one initial RTT delivers \
                   as the queue empties (4.0: drain, else plain)",
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

        /// Log the first decision and do not act on it.
        passive: bool {
            name: "passive",
            default: "false",
            help: "true: log the decision and do not act on it",
            read: options::boolean,
        }

        /// `THRESH` in thousandths of the expectation.
        threshold_permille: Option<u32> {
            name: "threshold",
            default: "version",
            help: "percent by which delivery may miss the expectation (4.0: 26, else 35)",
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

        /// `EXTRA_BINS`: bins beyond the window, of the ring that is looked back into.
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

        /// Which RTT says how far to look back.
        lookback: LookBack {
            name: "lookback",
            default: "current",
            help: "current: look back by the RTT of the ACK at hand; initial: by the first RTT",
            read: |value| {
                let words = [
                    ("current", LookBack::Current),
                    ("initial", LookBack::Initial),
                ];
                options::choice(value, &words, "current or initial")
            },
        }

        /// How the norm must stand to the threshold.
        comparison: Comparison {
            name: "comparison",
            default: "at-least",
            help: "at-least: exit when the norm reaches the threshold; above: when it passes it",
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
                   (2.0: after, else at)",
            read: |value| {
                let words = [
                    ("at", Some(Boundary::At)),
                    ("after", Some(Boundary::After)),
                    ("version", None),
                ];
                options::choice(value, &words, "at, after or version")
            },
        }

        /// What happens when bins passed without an ACK.
        missed: Missed {
            name: "missed",
            default: "keep",
            help: "bins without ACK: keep (they delivered nothing); or, when more than alpha \
                   initial RTTs pass without one, reset, or freeze (that time does not count)",
            read: |value| {
                let words = [
                    ("keep", Missed::Keep),
                    ("reset", Missed::Reset),
                    ("freeze", Missed::Freeze),
                ];
                options::choice(value, &words, "keep, reset or freeze")
            },
        }

        /// For [`Missed::Reset`] and [`Missed::Freeze`]: initial RTTs without an ACK that are tolerated.
        alpha: u32 {
            name: "alpha",
            default: "2",
            help: "initial RTTs without an ACK that missed=reset and missed=freeze tolerate",
            read: |value| options::integer(value, 1, 65_535, "a whole number from 1 to 65535"),
        }

        /// What happens when the look-back reaches beyond the bins.
        few_bins: FewBins {
            name: "few_bins",
            default: "mute",
            help: "when the look-back reaches beyond the bins: mute (no test), or shrink (the \
                   windows give up as many bins, at most half of theirs)",
            read: |value| {
                let words = [("mute", FewBins::Mute), ("shrink", FewBins::Shrink)];
                options::choice(value, &words, "mute or shrink")
            },
        }

        /// What happens while the application limits the sender.
        app_limited: Option<AppLimited> {
            name: "app_limited",
            default: "version",
            help: "while the application limits the sender: ignore that, reset the bins, or skip \
                   its ACKs (2.0: ignore, else reset)",
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

        /// What the norm is a part of.
        norm_of: Whole {
            name: "norm_of",
            default: "expected",
            help: "what the norm is a part of: expected, or delivered (1.0 in section 4.3 of the \
                   thesis)",
            read: |value| {
                let words = [
                    ("expected", Whole::Expected),
                    ("delivered", Whole::Delivered),
                ];
                options::choice(value, &words, "expected or delivered")
            },
        }

        /// Behave as the published source of the version does, with its faults (`published.rs`).
        as_published: bool {
            name: "as_published",
            default: "false",
            help: "true: as the published source of the version behaves, with its faults, so that \
                   others' results can be repeated (4.0: threshold 35)",
            read: options::boolean,
        }

        /// How the integers are kept.
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
    /// SEARCH of a version, with the version's own choices.
    #[must_use]
    pub fn of(version: Version) -> Self {
        Self {
            version,
            ..Self::default()
        }
    }

    /// What happens at the exit: draining in 4.0, nothing but the threshold before.
    #[must_use]
    pub fn exit(&self) -> Exit {
        self.exit.unwrap_or(match self.version {
            Version::V1_0 | Version::V2_0 | Version::V3_0 | Version::V3_1 => Exit::Plain,
            Version::V4_0 => Exit::Drain,
        })
    }

    /// `THRESH` in thousandths: 350, or 260 in 4.0 (draft-09, FreeBSD; the Linux module has 350, and
    /// so does 4.0 as published).
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

    /// When a bin ends: strictly after its end in 2.0, at it since.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        self.boundary.unwrap_or(match self.version {
            Version::V1_0 | Version::V2_0 | Version::V3_0 => Boundary::After,
            Version::V3_1 | Version::V4_0 => Boundary::At,
        })
    }

    /// What an application-limited sender means: nothing in 2.0, a reset since.
    #[must_use]
    pub fn app_limited(&self) -> AppLimited {
        self.app_limited.unwrap_or(match self.version {
            Version::V1_0 | Version::V2_0 | Version::V3_0 => AppLimited::Ignore,
            Version::V3_1 | Version::V4_0 => AppLimited::Reset,
        })
    }

    /// Whether what was sent is compared with what was delivered.
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

/// What `read` makes of the value, or `None` for the word `version`.
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
