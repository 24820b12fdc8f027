//! Configuration of HyStart, and the values of each published form.

use core::num::NonZeroU32;

use units::Duration;

use crate::options::{self, OptionError, OptionInfo, Options};

/// The source that HyStart follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HyStartVariant {
    /// The Linux kernel.
    #[default]
    Linux,
    /// Ha and Rhee 2011.
    Paper,
    /// Shahgir's port to ns-2, assuming that code outside of the published excerpt measures the
    /// round minimum.
    Ns2,
    /// The same port exactly as in the published excerpt: nothing lowers the round minimum.
    Ns2Excerpt,
    /// [`Self::Ns2`] with the smallest RTT in the unit that `measure_delay` of ns-2.35 gives it.
    Ns2Units,
}

impl HyStartVariant {
    /// Whether this is a form of the port to ns-2.
    pub(super) const fn is_port(self) -> bool {
        matches!(self, Self::Ns2 | Self::Ns2Excerpt | Self::Ns2Units)
    }
}

/// The Linux version that HyStart follows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HyStartForm {
    /// 6.14, and stable kernels since January 2025: rounds are tracked at any window.
    #[default]
    V6_14,
    /// 5.16 to 6.13: nothing happens below `low_window`.
    V5_16,
}

/// Configuration of [`HyStart`](super::HyStart); the defaults are Linux's module parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartConfig {
    /// The source to follow. Setting it by name also sets the source's values of the fields below
    /// `delay`.
    pub variant: HyStartVariant,
    /// The Linux version, for [`HyStartVariant::Linux`].
    pub linux: HyStartForm,
    /// Whether the ACK-train detector runs (`hystart_detect` bit 0).
    pub train: bool,
    /// Whether the delay detector runs (`hystart_detect` bit 1).
    pub delay: bool,
    /// Window in segments below which nothing is detected (`hystart_low_window`).
    pub low_window: u32,
    /// Largest spacing of ACKs in a train (`hystart_ack_delta_us`).
    pub ack_delta: Duration,
    /// RTT samples that a round needs before its delay is tested (`HYSTART_MIN_SAMPLES`).
    pub min_samples: u32,
    /// Smallest delay increase that counts (`HYSTART_DELAY_MIN`).
    pub delay_min: Duration,
    /// Delay increase that always counts (`HYSTART_DELAY_MAX`).
    pub delay_max: Duration,
    /// Whether only the first `min_samples` RTTs of a round may lower its minimum, as in Linux
    /// before 5.8.
    pub round_min_is_frozen: bool,
    /// Rounds at the beginning of a connection in which nothing is detected.
    pub skip_rounds: u32,
    /// Longer RTTs count as this one in the delay detector. In microseconds, and not a [`Duration`],
    /// because each connection holds it.
    pub rtt_bound_us: Option<NonZeroU32>,
}

impl Default for HyStartConfig {
    fn default() -> Self {
        Self::of(HyStartVariant::default())
    }
}

impl HyStartConfig {
    /// The configuration of a variant, with the constants of its source.
    #[must_use]
    pub const fn of(variant: HyStartVariant) -> Self {
        // Low window in segments; spacing in a train, smallest and largest delay increase in ms.
        let (low_window, ack_delta, delay_min, delay_max) = match variant {
            HyStartVariant::Linux => (16, 2, 4, 16),
            HyStartVariant::Paper => (16, 2, 2, 8),
            _ => (0, 4, 4, 16),
        };
        Self {
            variant,
            linux: HyStartForm::V6_14,
            train: true,
            delay: true,
            low_window,
            ack_delta: Duration::from_millis(ack_delta),
            min_samples: 8,
            delay_min: Duration::from_millis(delay_min),
            delay_max: Duration::from_millis(delay_max),
            round_min_is_frozen: false,
            skip_rounds: 0,
            rtt_bound_us: None,
        }
    }
}

/// The longest duration that an option accepts.
const LONGEST: Duration = Duration::from_secs(60);

impl Options for HyStartConfig {
    const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo {
            name: "variant",
            default: "linux",
            help: "linux; paper: Ha and Rhee 2011 (2 to 8 ms above the previous round); ns2: \
                   Shahgir's port to ns-2 (4 ms trains, no low window); ns2-excerpt: the same, \
                   exactly as in its published excerpt; ns2-units: the port with the units of \
                   ns-2.35, where two ACKs can be a train; also sets low_window, ack_delta, \
                   delay_min and delay_max",
        },
        OptionInfo {
            name: "linux",
            default: "6.14",
            help: "6.14: rounds are tracked at any window; 5.16: only from low_window on, as \
                   before January 2025",
        },
        OptionInfo {
            name: "train",
            default: "true",
            help: "run the ACK-train detector",
        },
        OptionInfo {
            name: "delay",
            default: "true",
            help: "run the delay detector",
        },
        OptionInfo {
            name: "low_window",
            default: "16",
            help: "smallest window, in segments, at which the detectors act",
        },
        OptionInfo {
            name: "ack_delta",
            default: "2ms",
            help: "largest spacing of ACKs in a train",
        },
        OptionInfo {
            name: "min_samples",
            default: "8",
            help: "RTT samples that a round needs before its delay is tested",
        },
        OptionInfo {
            name: "delay_min",
            default: "4ms",
            help: "smallest delay increase that ends slow start",
        },
        OptionInfo {
            name: "delay_max",
            default: "16ms",
            help: "delay increase that always ends slow start",
        },
        OptionInfo {
            name: "round_min",
            default: "all",
            help: "with variant=linux: all: every RTT of a round may lower its minimum; first: \
                   only the first min_samples, as before Linux 5.8",
        },
        OptionInfo {
            name: "skip_rounds",
            default: "0",
            help: "with variant=linux: number of first rounds without detection; our reading of \
                   Bruhn et al. for cellular links",
        },
        OptionInfo {
            name: "rtt_bound",
            default: "none",
            help: "longest RTT that the delay detector sees, or none; our reading of the bound of \
                   100 ms that Shahgir's second modification removes",
        },
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        const SPAN: &str = "a time from 0 to 60 s, such as 4ms";
        const BOUND: &str = "none, or a time from 1 us to 60 s, such as 100ms";
        const COUNT: &str = "a whole number from 0 to 1000000";
        match name {
            "variant" => {
                let variants = [
                    ("linux", HyStartVariant::Linux),
                    ("paper", HyStartVariant::Paper),
                    ("ns2", HyStartVariant::Ns2),
                    ("ns2-excerpt", HyStartVariant::Ns2Excerpt),
                    ("ns2-units", HyStartVariant::Ns2Units),
                ];
                let expected = "linux, paper, ns2, ns2-excerpt or ns2-units";
                let variant = options::choice(value, &variants, expected)?;
                *self = Self {
                    linux: self.linux,
                    train: self.train,
                    delay: self.delay,
                    min_samples: self.min_samples,
                    round_min_is_frozen: self.round_min_is_frozen,
                    skip_rounds: self.skip_rounds,
                    rtt_bound_us: self.rtt_bound_us,
                    ..Self::of(variant)
                };
            }
            "linux" => {
                let forms = [("6.14", HyStartForm::V6_14), ("5.16", HyStartForm::V5_16)];
                self.linux = options::choice(value, &forms, "6.14 or 5.16")?;
            }
            "train" => self.train = options::boolean(value)?,
            "delay" => self.delay = options::boolean(value)?,
            "low_window" => self.low_window = options::integer(value, 0, 1_000_000, COUNT)?,
            "ack_delta" => self.ack_delta = options::duration(value, LONGEST, SPAN)?,
            "min_samples" => self.min_samples = options::integer(value, 0, 1_000_000, COUNT)?,
            "delay_min" => self.delay_min = options::duration(value, LONGEST, SPAN)?,
            "delay_max" => self.delay_max = options::duration(value, LONGEST, SPAN)?,
            "round_min" => {
                let words = [("all", false), ("first", true)];
                self.round_min_is_frozen = options::choice(value, &words, "all or first")?;
            }
            "skip_rounds" => {
                self.skip_rounds = options::integer(value, 0, 1_000_000, COUNT)?;
            }
            "rtt_bound" => {
                self.rtt_bound_us = if value == "none" {
                    None
                } else {
                    let bound = options::duration(value, LONGEST, BOUND)?.as_micros();
                    let bound = u32::try_from(bound).ok().and_then(NonZeroU32::new);
                    Some(bound.ok_or(OptionError::Invalid { expected: BOUND })?)
                };
            }
            _ => return Err(OptionError::Unknown),
        }
        Ok(())
    }
}
