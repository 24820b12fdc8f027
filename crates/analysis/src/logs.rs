//! The start-up of senders from logs of their own state.
//!
//! A log has the window and the threshold, so the exit is the first sample with a threshold; it lies
//! between that sample and the one before. Its reason is what the counters did in between.

use std::collections::BTreeMap;

use capture::logs::{Owner, Sample};

use crate::report::{
    Capacity, Class, Connection, Exit, Handshake, Limits, Reason, Retransmissions, Vantage, Verdict,
};
use crate::series::{Point, Series};

/// Most senders of a log.
pub const MOST: usize = 65_536;

/// Largest time, in nanoseconds: 73 years before or after the epoch.
pub(crate) const EXTREME: i64 = 1 << 61;

/// A sample that is earlier than the one before by more than this contradicts it, in nanoseconds.
/// Logs that several threads write have small steps back, which count as none.
const BACKWARDS: i64 = 10_000_000;

/// What is said of a log whose times go backwards, and of one that begins after slow start.
pub(crate) const GOES_BACKWARDS: &str = "Cannot tell: the times of the log go backwards.";
pub(crate) const BEGINS_LATE: &str = "Cannot tell: slow start had ended before the log begins.";

/// Fraction of the busy time from which a limit counts as the limit.
const MAIN: f64 = 0.5;

/// The verdict of a log that has packets and no window.
fn without_window() -> Verdict {
    Verdict {
        rule: "log",
        reason: Reason::CannotTell,
        confidence: 1.0,
        exit: None,
        class: Class::CannotTell,
        class_confidence: 1.0,
        sentence: "Cannot tell: the log has packets and no window; --identify compares them."
            .to_owned(),
    }
}

#[derive(Clone, Debug)]
struct Found {
    /// The samples before and after the exit.
    before: Sample,
    after: Sample,
    reason: Reason,
}

#[derive(Debug)]
struct Follower {
    number: u64,
    owner: Owner,
    first: Sample,
    last: Sample,
    samples: u64,
    max_flight: u64,
    min_rtt: Option<u64>,
    rtt_sum: f64,
    rtt_max: u64,
    rtt_count: u64,
    best_rate: u64,
    found: Option<Found>,
    /// Whether a sample is earlier than the one before.
    goes_backwards: bool,
    /// Whether the first sample was in slow start.
    began_in_slow_start: bool,
    series: Series,
}

/// Follows the senders of a log. Feed it the samples, then call [`LogTracker::finish`].
#[derive(Debug)]
pub struct LogTracker {
    followers: BTreeMap<Owner, Follower>,
    points: usize,
    /// Samples of senders beyond the limit.
    pub skipped: u64,
}

impl LogTracker {
    /// Reports have at most `points` points for figures each.
    #[must_use]
    pub const fn new(points: usize) -> Self {
        Self {
            followers: BTreeMap::new(),
            points,
            skipped: 0,
        }
    }

    /// Takes the next sample of a sender.
    pub fn take(&mut self, owner: &Owner, sample: &Sample) {
        // Differences of times must not overflow, whatever a file says.
        let sample = &Sample {
            at: sample.at.clamp(-EXTREME, EXTREME),
            ..sample.clone()
        };
        if !self.followers.contains_key(owner) {
            if self.followers.len() >= MOST {
                self.skipped += 1;
                return;
            }
            let number = self.followers.len() as u64 + 1;
            let follower = Follower::new(number, owner, sample, self.points);
            self.followers.insert(owner.clone(), follower);
        }
        if let Some(follower) = self.followers.get_mut(owner) {
            follower.take(sample);
        }
    }

    /// A sender begins at `at` with a packet, before its first sample.
    pub fn begin(&mut self, owner: &Owner, at: i64) {
        if !self.followers.contains_key(owner) {
            let sample = Sample {
                at,
                ssthresh: Some(u64::MAX),
                ..Sample::default()
            };
            self.take(owner, &sample);
        }
    }

    /// Senders whose times go backwards.
    #[must_use]
    pub fn backwards(&self) -> usize {
        let all = self.followers.values();
        all.filter(|follower| follower.goes_backwards).count()
    }

    /// The reports, in the order in which the senders appeared, each completed by `complete`.
    #[must_use]
    pub fn finish(self, complete: &mut dyn FnMut(&Owner, &mut Connection)) -> Vec<Connection> {
        let finish = |(owner, follower): (Owner, Follower)| {
            let has_window = follower.last.cwnd.is_some();
            let mut made = follower.finish();
            if !has_window && made.verdict.exit.is_none() && made.packets[0] == 1 {
                made.verdict = without_window();
            }
            complete(&owner, &mut made);
            made
        };
        let mut all: Vec<Connection> = self.followers.into_iter().map(finish).collect();
        all.sort_by_key(|connection| connection.number);
        all
    }
}

/// Whether a counter is larger in the second sample.
fn rises(before: Option<u64>, after: Option<u64>) -> bool {
    after.unwrap_or(0) > before.unwrap_or(0)
}

impl Follower {
    fn new(number: u64, owner: &Owner, sample: &Sample, points: usize) -> Self {
        Self {
            number,
            owner: owner.clone(),
            first: sample.clone(),
            last: sample.clone(),
            samples: 0,
            max_flight: 0,
            min_rtt: None,
            rtt_sum: 0.0,
            rtt_max: 0,
            rtt_count: 0,
            best_rate: 0,
            found: None,
            goes_backwards: false,
            began_in_slow_start: sample.ssthresh.is_none_or(|value| value == u64::MAX),
            series: Series::new(points),
        }
    }

    fn take(&mut self, sample: &Sample) {
        self.goes_backwards |= sample.at < self.last.at - BACKWARDS;
        let sample = &Sample {
            at: sample.at.max(self.last.at),
            ..sample.clone()
        };
        let before = std::mem::replace(&mut self.last, sample.clone());
        self.samples += 1;
        self.max_flight = self.max_flight.max(sample.in_flight.unwrap_or(0));
        self.best_rate = self.best_rate.max(sample.delivery_rate.unwrap_or(0));
        let rtt = sample.latest_rtt.or(sample.smoothed_rtt);
        for rtt in [rtt, sample.min_rtt].into_iter().flatten() {
            self.min_rtt = Some(self.min_rtt.map_or(rtt, |min| min.min(rtt)));
        }
        if let Some(rtt) = rtt {
            self.rtt_sum += rtt as f64;
            self.rtt_max = self.rtt_max.max(rtt);
            self.rtt_count += 1;
        }
        let is_set = sample.ssthresh.is_some_and(|value| value < u64::MAX);
        if self.found.is_none() && is_set && self.began_in_slow_start {
            let is_recovering = sample.in_recovery == Some(true);
            let lost = rises(before.retransmitted, sample.retransmitted)
                || rises(before.lost, sample.lost)
                || is_recovering;
            let reason = if lost {
                Reason::Loss
            } else if rises(before.marked, sample.marked) {
                Reason::Ecn
            } else {
                Reason::Heuristic
            };
            self.found = Some(Found {
                before: before.clone(),
                after: sample.clone(),
                reason,
            });
        }
        let retransmitted = rises(before.retransmitted, sample.retransmitted);
        let begin = self.first.at;
        self.series.offer(retransmitted, || {
            let acked = sample.acked.unwrap_or(0);
            Point {
                time_s: seconds(sample.at - begin),
                sent_bytes: acked.saturating_add(sample.in_flight.unwrap_or(0)),
                acked_bytes: acked,
                in_flight_bytes: sample.in_flight.unwrap_or(0),
                cwnd_bytes: sample.cwnd,
                receive_window_bytes: sample.receive_window,
                rtt_ms: rtt.map(|rtt| rtt as f64 / 1e6),
                delivery_rate_bps: sample.delivery_rate.map(|rate| rate as f64),
                retransmitted: false,
            }
        });
    }

    fn limits(&self) -> Limits {
        let part = |value: Option<u64>| value.unwrap_or(0) as f64 / 1e9;
        let receiver = part(self.last.receiver_limited);
        let buffer = part(self.last.buffer_limited);
        // Most logs do not say when the sender was busy, so not what held it either.
        if self.last.busy.is_none() {
            return Limits::default();
        }
        let busy = part(self.last.busy);
        Limits {
            // The kernel calls "busy" all time with data to send or in flight.
            congestion_window_s: (busy - receiver - buffer).max(0.0),
            receive_window_s: receiver,
            application_s: buffer + (seconds(self.last.at - self.first.at) - busy).max(0.0),
            pacing_s: 0.0,
            recovery_s: 0.0,
        }
    }

    fn finish(self) -> Connection {
        let duration = seconds(self.last.at - self.first.at);
        let limits = self.limits();
        let verdict = self.verdict(&limits);
        // Unknown in most logs of QUIC.
        let mss = self.last.mss.unwrap_or(0);
        let retransmitted = self.last.retransmitted.unwrap_or(0);
        let acked = self.last.acked.unwrap_or(0);
        let (sender, receiver) = match self.owner.name.split_once(" > ") {
            Some((sender, receiver)) => (sender.to_owned(), receiver.to_owned()),
            None => (self.owner.name.clone(), String::new()),
        };
        let millis = |nanos: f64| nanos / 1e6;
        let min = self.min_rtt;
        let rate = self.best_rate as f64;
        Connection {
            number: self.number,
            sender,
            receiver,
            interface: 0,
            opened_by_sender: false,
            vantage: Vantage::Log,
            encrypted: false,
            algorithm: self.owner.algorithm.clone(),
            start_unix_s: seconds(self.first.at),
            duration_s: duration,
            closed: false,
            handshake: Handshake::default(),
            bytes: acked,
            segments: acked
                .checked_div(mss)
                .map_or(0, |_| acked.div_ceil(mss).saturating_add(retransmitted)),
            packets: [self.samples, 0],
            largest_segment_bytes: u32::try_from(mss).unwrap_or(0),
            retransmissions: Retransmissions {
                segments: retransmitted,
                bytes: retransmitted.saturating_mul(mss),
                ..Retransmissions::default()
            },
            missing_bytes: 0,
            rtt_ms: min.filter(|_| self.rtt_count > 0).map(|min| {
                let mean = self.rtt_sum / self.rtt_count as f64;
                [
                    millis(min as f64),
                    millis(mean),
                    millis(self.rtt_max as f64),
                ]
            }),
            rtt_samples: self.rtt_count,
            initial_window_bytes: None,
            rounds: 0,
            max_in_flight_bytes: self.max_flight,
            goodput_bps: if duration > 0.0 {
                acked as f64 * 8.0 / duration
            } else {
                0.0
            },
            limits,
            capacity: min.filter(|_| rate > 0.0).map(|min| Capacity {
                delivery_rate_bps: rate,
                bdp_bytes: rate / 8.0 * min as f64 / 1e9,
            }),
            verdict,
            last_new_data_s: None,
            steps: Vec::new(),
            events: Vec::new(),
            waits: Vec::new(),
            series: self.series.into_points(),
            retransmitted: Vec::new(),
            sacked: Vec::new(),
        }
    }

    fn verdict(&self, limits: &Limits) -> Verdict {
        let nothing = |reason, confidence, sentence: &str| Verdict {
            rule: "log",
            reason,
            confidence,
            exit: None,
            class: Class::CannotTell,
            class_confidence: 1.0,
            sentence: sentence.to_owned(),
        };
        if self.goes_backwards {
            return nothing(Reason::CannotTell, 1.0, GOES_BACKWARDS);
        }
        let main = limits.main();
        let Some(found) = &self.found else {
            if !self.began_in_slow_start {
                return nothing(Reason::CannotTell, 1.0, BEGINS_LATE);
            }
            return match main {
                Some(("receive-window", part)) if part > MAIN => nothing(
                    Reason::ReceiverLimited,
                    part,
                    "Slow start did not end: the receive window was the limit.",
                ),
                Some(("application", part)) if part > MAIN => nothing(
                    Reason::ApplicationLimited,
                    part,
                    "Slow start did not end: the application was the limit.",
                ),
                _ => nothing(
                    Reason::Completed,
                    0.7,
                    "Slow start did not end before the log ends.",
                ),
            };
        };
        let time = |sample: &Sample| seconds(sample.at - self.first.at);
        let threshold = found.after.ssthresh.unwrap_or(0);
        let (low, high) = (
            found.before.cwnd.unwrap_or(threshold),
            found.after.cwnd.unwrap_or(threshold),
        );
        // A heuristic sets the threshold to the window; a loss reduces it below.
        let window = match found.reason {
            Reason::Heuristic => threshold,
            _ => low.max(high),
        };
        let exit = Exit {
            time_s: time(&found.after),
            time_interval_s: [time(&found.before), time(&found.after)],
            cwnd_bytes: window,
            cwnd_interval_bytes: [low.min(high).min(window), low.max(high).max(window)],
            ssthresh_bytes: Some(threshold),
            round: 0,
            conservative: false,
        };
        let why = match found.reason {
            Reason::Loss => "by a loss",
            Reason::Ecn => "by a congestion mark",
            _ => "by a heuristic",
        };
        let mut sentence = format!(
            "Slow start ended {why} after {:.2} s at {}",
            exit.time_s,
            match found.after.mss.filter(|mss| *mss > 1) {
                Some(mss) => format!("{} segments", window / mss),
                None => format!("{window} bytes"),
            }
        );
        match main {
            Some(("receive-window", part)) if part > MAIN => {
                sentence.push_str(&format!(
                    "; the receiver was the limit for {:.1} of {:.1} s",
                    limits.receive_window_s,
                    self.last.busy.unwrap_or(0) as f64 / 1e9
                ));
            }
            Some(("application", part)) if part > MAIN => {
                sentence.push_str("; the application was the limit");
            }
            _ => {}
        }
        sentence.push('.');
        Verdict {
            rule: "log",
            reason: found.reason,
            confidence: 0.95,
            exit: Some(exit),
            class: Class::CannotTell,
            class_confidence: 1.0,
            sentence,
        }
    }
}

fn seconds(nanos: i64) -> f64 {
    nanos as f64 / 1e9
}
