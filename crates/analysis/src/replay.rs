//! What another start-up would have decided, from the ACKs of a real connection.
//!
//! A start-up that only decides when to leave lets the window grow as slow start does (RFC 5681,
//! section 3.1), so as long as the real sender was in slow start too, it would have sent the same
//! segments and received the same ACKs. The replay gives those ACKs to the start-up and asks what it
//! decides. A second congestion control, Reno with the standard slow start, is replayed beside it:
//! where both windows differ, or the start-up paces its segments, the ACKs are no longer those that the start-up would have received,
//! and the replay ends. It also ends where the real sender left slow start, at the first sign of
//! congestion, and where more was in flight than the window allows, because the real sender grew in
//! another way.

use std::collections::VecDeque;

use congestion::rate_sample::{Newest, RateEstimator, SendStamp};
use congestion::{
    Ack, Algorithm, AnyCongestionControl, BuildContext, CongestionControl, Established, PathMemory,
    Phase, Sent,
};
use serde::Serialize;
use units::{Bytes, Duration, Instant, Rate};

use crate::report::Connection;
use crate::series::Step;

/// Why a replay ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum End {
    /// The start-up left slow start.
    Exit,
    /// Its window would differ from the real one: it grows in another way.
    WindowDiffers,
    /// The real sender's flight was larger than slow start allows.
    RealSenderDiffers,
    /// The real sender left slow start.
    RealExit,
    /// The first sign of congestion: slow start ends for both.
    Congestion,
    /// The data ended.
    Data,
    /// Nothing to replay: a log, a capture without the beginning, or one that is not at the sender.
    Nothing,
}

/// What a start-up would have done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Replay {
    /// Number of the connection.
    pub number: u64,
    /// The congestion control.
    pub algorithm: String,
    /// Why the replay ended.
    pub end: End,
    /// Until when it is sound, in seconds since the connection's first packet.
    pub until_s: f64,
    /// The window of the replay at that time, in bytes.
    pub cwnd_bytes: u64,
    /// The start-up's reason with its evidence, if it left.
    pub reason: Option<String>,
    /// In one sentence.
    pub sentence: String,
}

/// Flight above the window of slow start that is no noise: this part of it.
const ABOVE: f64 = 1.25;

/// A segment in flight.
struct Segment {
    end: i64,
    at: Instant,
    stamp: SendStamp,
}

struct Player {
    subject: AnyCongestionControl,
    /// Reno with the standard slow start.
    standard: AnyCongestionControl,
    smss: Bytes,
    una: i64,
    next: i64,
    sent: VecDeque<Segment>,
    rate: RateEstimator,
    srtt: Option<Duration>,
    min_rtt: Duration,
}

const fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(if nanos > 0 { nanos as u64 } else { 0 })
}

const fn bytes(count: i64) -> Bytes {
    Bytes::new(if count > 0 { count as u64 } else { 0 })
}

impl Player {
    fn new(connection: &Connection, algorithm: &Algorithm, begin: i64) -> Self {
        let smss = Bytes::new(u64::from(connection.largest_segment_bytes.clamp(1, 9_000)));
        let rtt = connection.handshake.rtt_ms;
        let rtt = rtt.map(|millis| Duration::from_nanos((millis * 1e6) as u64));
        let initial = connection.initial_window_bytes.unwrap_or(0);
        let context = BuildContext {
            now: instant(begin),
            smss,
            initial_window: Bytes::new(initial.max(smss.get())),
            seed: 1,
            handshake_rtt: rtt,
        };
        let standard = Algorithm::parse("reno+standard").unwrap_or_default();
        let mut player = Self {
            subject: algorithm.build(context),
            standard: standard.build(context),
            smss,
            una: 0,
            next: 0,
            sent: VecDeque::new(),
            rate: RateEstimator::default(),
            srtt: rtt,
            min_rtt: rtt.unwrap_or(Duration::MAX),
        };
        let established = Established {
            now: instant(begin),
            rtt,
            queued: Bytes::MAX,
            receive_window: Bytes::MAX,
            memory: PathMemory::default(),
        };
        player.subject.on_established(&established);
        player.standard.on_established(&established);
        player
    }

    fn in_flight(&self) -> i64 {
        (self.next - self.una).max(0)
    }

    fn sent(&mut self, at: i64, start: i64, end: i64) {
        let now = instant(at);
        let in_flight = bytes(self.in_flight());
        let stamp = self.rate.on_sent(now, self.sent.is_empty());
        self.next = end;
        self.sent.push_back(Segment {
            end,
            at: now,
            stamp,
        });
        let sent = Sent {
            now,
            size: bytes(end - start),
            in_flight,
            snd_nxt: end.max(0) as u64,
            retransmission: false,
            idle_since: None,
            app_limited: false,
        };
        self.subject.on_sent(&sent);
        self.standard.on_sent(&sent);
    }

    fn acked(&mut self, at: i64, una: i64) {
        let now = instant(at);
        let prior = self.in_flight();
        let delivered = bytes(una - self.una);
        let mut newest = None;
        self.rate.on_delivered(now, delivered);
        while self.sent.front().is_some_and(|segment| segment.end <= una) {
            newest = self.sent.pop_front();
        }
        self.una = una;
        let latest = newest
            .as_ref()
            .map(|segment| now.saturating_since(segment.at));
        if let Some(rtt) = latest {
            self.min_rtt = self.min_rtt.min(rtt);
            let smoothed = self.srtt.map_or(rtt, |srtt| (srtt * 7 + rtt) / 8);
            self.srtt = Some(smoothed);
        }
        let newest = newest.map(|segment| Newest {
            stamp: segment.stamp,
            sent: segment.at,
            tx_in_flight: Bytes::ZERO,
            lost: Bytes::ZERO,
        });
        let sample = self
            .rate
            .sample(now, newest, self.min_rtt, Bytes::ZERO, false);
        let window = self.standard.window().cwnd;
        let ack = Ack {
            now,
            delivered,
            newly_lost: Bytes::ZERO,
            prior_in_flight: bytes(prior),
            in_flight: bytes(self.in_flight()),
            snd_una: una.max(0) as u64,
            snd_nxt: self.next.max(0) as u64,
            advanced: true,
            bytes_sent: self.next.max(0) as u64,
            latest_rtt: latest,
            srtt: self.srtt.unwrap_or(Duration::ZERO),
            min_rtt: self.min_rtt,
            rate: sample,
            // Linux: in slow start, half of the window in use is enough.
            cwnd_limited: window < bytes(prior) * 2,
            app_limited: false,
            phase: Phase::Open,
            paced: false,
            pacing_rate: Rate::MAX,
        };
        for control in [&mut self.subject, &mut self.standard] {
            control.on_delivery(&ack);
            control.on_ack(&ack);
        }
    }
}

/// Replays a connection that was analyzed for that.
#[must_use]
pub fn replay(connection: &Connection, algorithm: &Algorithm) -> Replay {
    let begin = match connection.steps.first() {
        Some(Step::Sent(at, ..)) if connection.initial_window_bytes.is_some() => *at,
        _ => return told(connection, algorithm, End::Nothing, 0, None),
    };
    let real = connection.verdict.exit.as_ref();
    let real = real.map_or(i64::MAX, |exit| (exit.time_interval_s[1] * 1e9) as i64);
    let mut player = Player::new(connection, algorithm, begin);
    let mut last = begin;
    let mut end = if connection.verdict.exit.is_some() {
        End::Congestion
    } else {
        End::Data
    };
    for step in &connection.steps {
        let (Step::Sent(at, ..) | Step::Acked(at, _)) = *step;
        if at > real {
            end = End::RealExit;
            break;
        }
        last = at;
        match *step {
            Step::Sent(at, start, finish) => {
                player.sent(at, start, finish);
                let window = player.standard.window().cwnd.get() as f64;
                if player.in_flight() as f64 > ABOVE * window + 2.0 * player.smss.get() as f64 {
                    end = End::RealSenderDiffers;
                    break;
                }
            }
            Step::Acked(at, una) => player.acked(at, una),
        }
        if player.subject.slow_start_exit().is_some() {
            end = End::Exit;
            break;
        }
        // Paced segments would have had other ACKs.
        let paces = player.subject.requires_pacing() || player.subject.pacing_rate().is_some();
        if paces || player.subject.window().cwnd != player.standard.window().cwnd {
            end = End::WindowDiffers;
            break;
        }
    }
    told(connection, algorithm, end, last, Some(&player))
}

fn told(
    connection: &Connection,
    algorithm: &Algorithm,
    end: End,
    at: i64,
    player: Option<&Player>,
) -> Replay {
    let exit = player.and_then(|player| player.subject.slow_start_exit());
    let window = player.map_or(0, |player| player.subject.window().cwnd.get());
    let cwnd_bytes = exit.map_or(window, |exit| exit.cwnd.get());
    let reason = exit.map(|exit| exit.reason.to_string());
    let (name, time) = (algorithm.name(), at as f64 / 1e9);
    let segments = cwnd_bytes / u64::from(connection.largest_segment_bytes.max(1));
    let sentence = match end {
        End::Exit => format!(
            "{name} would have left slow start after {time:.3} s with a window of {segments} \
             segments ({}).",
            reason.as_deref().unwrap_or("no reason")
        ),
        End::WindowDiffers => format!(
            "{name} sends in another way: its window or its pace differs from {time:.3} s on, so \
             the ACKs tell no more."
        ),
        End::RealSenderDiffers => format!(
            "The real sender had more in flight after {time:.3} s than slow start allows, so its \
             ACKs tell nothing about {name} from then on."
        ),
        End::RealExit => format!(
            "{name} would still have been in slow start after {time:.3} s, where the real sender \
             left it; its ACKs tell no more."
        ),
        End::Congestion => format!(
            "{name} would still have been in slow start after {time:.3} s, when congestion ended \
             it for both."
        ),
        End::Data => format!("{name} would have been in slow start until the data ended."),
        End::Nothing => {
            format!("No replay of {name}: it needs a capture with the beginning of the connection.")
        }
    };
    Replay {
        number: connection.number,
        algorithm: name.to_owned(),
        end,
        until_s: time,
        cwnd_bytes,
        reason,
        sentence,
    }
}
