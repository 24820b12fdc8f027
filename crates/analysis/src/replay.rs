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

use congestion::{Algorithm, AnyCongestionControl, CongestionControl};
use serde::Serialize;
use units::Bytes;

use crate::feed::Feed;
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

struct Player {
    feed: Feed,
    subject: AnyCongestionControl,
    /// Reno with the standard slow start.
    standard: AnyCongestionControl,
}

impl Player {
    fn new(connection: &Connection, algorithm: &Algorithm, begin: i64) -> Self {
        let initial = Bytes::new(connection.initial_window_bytes.unwrap_or(0));
        let feed = Feed::new(connection, begin, initial);
        let standard = Algorithm::parse("reno+standard").unwrap_or_default();
        let mut player = Self {
            subject: algorithm.build(feed.context()),
            standard: standard.build(feed.context()),
            feed,
        };
        let established = player.feed.established(Bytes::MAX, Bytes::MAX);
        player.subject.on_established(&established);
        player.standard.on_established(&established);
        player
    }

    fn sent(&mut self, at: i64, start: i64, end: i64) {
        let sent = self.feed.sent(at, start, end);
        self.subject.on_sent(&sent);
        self.standard.on_sent(&sent);
    }

    fn acked(&mut self, at: i64, una: i64) {
        let ack = self.feed.acked(at, una, self.standard.window().cwnd);
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
        _ => return outcome(connection, algorithm, End::Nothing, 0, None),
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
        let (Step::Sent(at, ..) | Step::Acked(at, ..)) = *step;
        if at > real {
            end = End::RealExit;
            break;
        }
        last = at;
        match *step {
            Step::Sent(at, start, finish, _) => {
                player.sent(at, start, finish);
                let window = player.standard.window().cwnd.get() as f64;
                if player.feed.in_flight() as f64
                    > ABOVE * window + 2.0 * player.feed.smss.get() as f64
                {
                    end = End::RealSenderDiffers;
                    break;
                }
            }
            Step::Acked(at, una, ..) => player.acked(at, una),
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
    outcome(connection, algorithm, end, last, Some(&player))
}

fn outcome(
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
