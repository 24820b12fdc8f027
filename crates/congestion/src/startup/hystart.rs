//! HyStart as in Linux (`hystart_update` of `tcp_cubic.c`).
//!
//! Two detectors run in each round of slow start, a round being one window of data, and only where
//! the window is at least `low_window` segments:
//!
//! - *ACK train*: ACKs that follow each other within `ack_delta` form a train. Once the train is
//!   longer than the connection's smallest RTT plus an allowance for aggregation (halved where the
//!   sender does not pace), the path is full.
//! - *Delay*: once the round has `min_samples` samples, the next one ends slow start if the round's
//!   smallest RTT exceeds the connection's smallest by more than an eighth of it, clamped.
//!
//! Either sets the threshold to the window, before the ACK at hand makes it grow. The idea is of Ha
//! and Rhee, "Taming the elephants: New TCP slow start", Computer Networks 55(9), 2011.
//!
//! Assumes that the driver hides `latest_rtt` during the first second of a CUBIC epoch, as
//! `cubictcp_acked` does. Clock and round-trip times are whole microseconds, as in Linux. As in
//! Linux, only a timeout arms a HyStart that has fired; a restart after idling changes nothing.
//!
//! # Deviations
//! - `linux=6.14` (the default) follows rounds below `low_window` too, since the fix of January
//!   2025 that stable kernels also carry; `linux=5.16` is the form of 5.16 to 6.13, which skips all
//!   steps there, so that the first round it sees starts late. Test: `hystart.rs`
//!   (`the_two_forms_leave_at_different_windows`).
//! - The paper compares with the previous round, uses the first eight samples of a round, clamps
//!   to 2 and 8 ms and compares the train with half the RTT alone.
//! - The kernel's CUBIC also updates its smallest RTT outside slow start; here the detector only
//!   sees slow start, which matters only where slow start is entered again without a timeout.

use units::{Duration, Instant, Rate};

use crate::options::{self, OptionError, OptionInfo, Options};
use crate::{Ack, Congestion, CongestionKind, ExitReason, Startup, Step, Window};

/// Which Linux to follow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HyStartForm {
    /// 6.14, and stable kernels since January 2025: rounds are followed at any window.
    #[default]
    V6_14,
    /// 5.16 to 6.13: nothing happens below `low_window`.
    V5_16,
}

/// Configuration of [`HyStart`]; the defaults are those of the module parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HyStartConfig {
    /// Which Linux to follow.
    pub linux: HyStartForm,
    /// Whether ACK trains are looked for (`hystart_detect` bit 0).
    pub train: bool,
    /// Whether delay increase is looked for (`hystart_detect` bit 1).
    pub delay: bool,
    /// Window in segments below which nothing is detected (`hystart_low_window`).
    pub low_window: u32,
    /// Largest spacing of ACKs in a train (`hystart_ack_delta_us`).
    pub ack_delta: Duration,
    /// Samples of a round before the delay is judged (`HYSTART_MIN_SAMPLES`).
    pub min_samples: u32,
    /// Smallest delay increase that counts (`HYSTART_DELAY_MIN`).
    pub delay_min: Duration,
    /// Delay increase that always counts (`HYSTART_DELAY_MAX`).
    pub delay_max: Duration,
}

impl Default for HyStartConfig {
    fn default() -> Self {
        Self {
            linux: HyStartForm::V6_14,
            train: true,
            delay: true,
            low_window: 16,
            ack_delta: Duration::from_millis(2),
            min_samples: 8,
            delay_min: Duration::from_millis(4),
            delay_max: Duration::from_millis(16),
        }
    }
}

/// The longest span that an option takes.
const LONGEST: Duration = Duration::from_secs(60);

impl Options for HyStartConfig {
    const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo {
            name: "linux",
            default: "6.14",
            help: "6.14: rounds are followed at any window; 5.16: only from low_window on, as before January 2025",
        },
        OptionInfo {
            name: "train",
            default: "true",
            help: "whether ACK trains are looked for",
        },
        OptionInfo {
            name: "delay",
            default: "true",
            help: "whether delay increase is looked for",
        },
        OptionInfo {
            name: "low_window",
            default: "16",
            help: "window in segments below which nothing is detected",
        },
        OptionInfo {
            name: "ack_delta",
            default: "2ms",
            help: "largest spacing of ACKs in a train",
        },
        OptionInfo {
            name: "min_samples",
            default: "8",
            help: "RTT samples of a round before the delay is judged",
        },
        OptionInfo {
            name: "delay_min",
            default: "4ms",
            help: "smallest delay increase that ends slow start",
        },
        OptionInfo {
            name: "delay_max",
            default: "16ms",
            help: "delay increase that is always enough",
        },
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        const SPAN: &str = "a time from 0 to 60 s, such as 4ms";
        const COUNT: &str = "a whole number from 0 to 1000000";
        match name {
            "linux" => {
                let forms = [("6.14", HyStartForm::V6_14), ("5.16", HyStartForm::V5_16)];
                self.linux = options::choice(value, &forms, "6.14 or 5.16")?;
            }
            "train" => self.train = options::boolean(value)?,
            "delay" => self.delay = options::boolean(value)?,
            "low_window" => self.low_window = options::integer(value, 0, 1_000_000, COUNT)? as u32,
            "ack_delta" => self.ack_delta = options::duration(value, LONGEST, SPAN)?,
            "min_samples" => {
                self.min_samples = options::integer(value, 0, 1_000_000, COUNT)? as u32
            }
            "delay_min" => self.delay_min = options::duration(value, LONGEST, SPAN)?,
            "delay_max" => self.delay_max = options::duration(value, LONGEST, SPAN)?,
            _ => return Err(OptionError::Unknown),
        }
        Ok(())
    }
}

/// HyStart. Times are microseconds, as in Linux.
#[derive(Clone, Debug)]
pub struct HyStart {
    config: HyStartConfig,
    /// A detector fired; only a timeout arms them again.
    found: bool,
    round_start: u64,
    /// The last ACK of the train.
    last_ack: u64,
    /// The round ends when this offset is passed.
    end_seq: u64,
    /// Smallest RTT of the round.
    curr_rtt: u64,
    sample_cnt: u32,
    /// Smallest RTT of the connection; zero when none is known.
    delay_min: u64,
}

impl HyStart {
    /// A start-up for a connection that is established now, with `snd_nxt` as next offset.
    #[must_use]
    pub fn new(config: HyStartConfig, now: Instant, snd_nxt: u64) -> Self {
        let mut state = Self {
            config,
            found: false,
            round_start: 0,
            last_ack: 0,
            end_seq: 0,
            curr_rtt: u64::MAX,
            sample_cnt: 0,
            delay_min: 0,
        };
        state.begin_round(now.as_micros(), snd_nxt);
        state
    }

    /// Linux's `bictcp_hystart_reset`.
    fn begin_round(&mut self, now: u64, snd_nxt: u64) {
        self.round_start = now;
        self.last_ack = now;
        self.end_seq = snd_nxt;
        self.curr_rtt = u64::MAX;
        self.sample_cnt = 0;
    }

    /// The train threshold in microseconds.
    fn train_threshold(&self, ack: &Ack) -> u64 {
        let threshold = self.delay_min + ack_delay(ack.pacing_rate);
        if ack.paced { threshold } else { threshold / 2 }
    }

    /// The delay threshold in microseconds: `HYSTART_DELAY_THRESH`.
    fn delay_threshold(&self) -> u64 {
        let increase = self.delay_min / 8;
        self.delay_min
            + increase
                .min(self.config.delay_max.as_micros())
                .max(self.config.delay_min.as_micros())
    }
}

impl Startup for HyStart {
    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let rtt = ack.latest_rtt?.as_micros().max(1);
        let now = ack.now.as_micros();
        if self.delay_min == 0 || rtt < self.delay_min {
            self.delay_min = rtt;
        }
        if self.found {
            return None;
        }
        let low = window.cwnd_segments() < u64::from(self.config.low_window);
        if low && self.config.linux == HyStartForm::V5_16 {
            return None;
        }
        if ack.snd_una > self.end_seq {
            self.begin_round(now, ack.snd_nxt);
        }
        if low {
            return None;
        }
        let mut reason = None;
        if self.config.train
            && now.saturating_sub(self.last_ack) <= self.config.ack_delta.as_micros()
        {
            self.last_ack = now;
            let threshold = self.train_threshold(ack);
            let train = now.saturating_sub(self.round_start);
            if train > threshold {
                let (train, threshold) = (
                    Duration::from_micros(train),
                    Duration::from_micros(threshold),
                );
                reason = Some(ExitReason::AckTrain { train, threshold });
            }
        }
        if self.config.delay && reason.is_none() {
            self.curr_rtt = self.curr_rtt.min(rtt);
            let threshold = self.delay_threshold();
            if self.sample_cnt < self.config.min_samples {
                self.sample_cnt += 1;
            } else if self.curr_rtt > threshold {
                let (rtt, threshold) = (
                    Duration::from_micros(self.curr_rtt),
                    Duration::from_micros(threshold),
                );
                reason = Some(ExitReason::Delay { rtt, threshold });
            }
        }
        self.found = reason.is_some();
        reason.map(|reason| Step::Exit {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
            reason,
        })
    }

    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        Step::Grow(ack.delivered)
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        if congestion.kind == CongestionKind::Timeout {
            self.found = false;
            self.delay_min = 0;
            self.begin_round(congestion.now.as_micros(), congestion.snd_nxt);
        }
    }
}

/// Linux's `hystart_ack_delay` in microseconds: four TSO bursts at the pacing rate, at most 1 ms.
fn ack_delay(pacing_rate: Rate) -> u64 {
    /// `4 * GSO_MAX_SIZE * USEC_PER_SEC`.
    const FOUR_BURSTS: u64 = 4 * 65_536 * 1_000_000;
    match pacing_rate.bytes_per_sec() {
        0 => 0,
        rate => (FOUR_BURSTS / rate).min(1_000),
    }
}
