//! What each start-up would have had in flight, for a comparison with what a captured sender had.
//!
//! A start-up receives the segments and ACKs of the capture as if it were the sender. Its window,
//! its pace and the receive window then say how much it would have had in flight; the capture says
//! how much was. Both are taken several times in each round trip. Between two of these times the
//! prediction begins from what was really sent, so that an error does not add up.
//!
//! The initial window is the capture's. Start-ups that send more in the first round trip (Jump-Start,
//! Halfback) know how much data there is to send, and the receive window.
//!
//! The comparison ends at the first sign of congestion, and a few round trips after the real sender
//! left slow start: what follows is congestion avoidance.

use congestion::{Algorithm, AnyCongestionControl, CongestionControl};
use measure::Limit;
use serde::Serialize;
use units::{Instant, Rate};

use crate::feed::{Feed, bytes};
use crate::report::Connection;
use crate::series::Step;

/// Round trips after the exit that still count.
const AFTER_EXIT: i64 = 3;
/// Most round trips that are compared.
const MOST_ROUNDS: u32 = 64;
/// Segments that leave at once before Linux begins to pace.
const UNPACED: i64 = 10;

/// A time of comparison.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Seconds since the connection's first packet.
    pub time_s: f64,
    /// Round trip, counted from 1 for the initial window.
    pub round: u32,
    /// Quarter of the round trip, from 1; 4 is its end.
    pub quarter: u32,
    /// What the real sender had in flight: sent, and not acknowledged cumulatively.
    pub in_flight_bytes: u64,
    /// Whether neither the application nor the end of the data held it back.
    pub counts: bool,
}

/// The end of a start-up in the replay.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Left {
    /// Seconds since the connection's first packet.
    pub time_s: f64,
    /// Its window then.
    pub cwnd_bytes: u64,
    /// The reason in a word.
    pub reason: String,
    /// The reason with its numbers.
    pub evidence: String,
}

/// What one start-up would have done.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Track {
    /// The congestion control.
    pub algorithm: String,
    /// Whether the transport paces it.
    pub paced: bool,
    /// Whether it paces by itself.
    pub paces: bool,
    /// What would have been in flight at each moment, in bytes.
    pub in_flight_bytes: Vec<u64>,
    /// Where it left slow start, if it did.
    pub exit: Option<Left>,
}

/// The comparison of one connection.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Number of the connection.
    pub number: u64,
    /// Full segment.
    pub segment_bytes: u64,
    /// Why there is nothing to compare; null if there is.
    pub why: Option<&'static str>,
    /// The times.
    pub moments: Vec<Moment>,
    /// Each start-up, unpaced and paced.
    pub tracks: Vec<Track>,
}

/// When the prediction is compared, by the index of the step before which that happens.
struct Plan {
    /// Nanoseconds, index of the next step, and the moment.
    moments: Vec<(i64, usize, Moment)>,
}

/// What a start-up would send.
struct Candidate {
    feed: Feed,
    control: AnyCongestionControl,
    is_paced: bool,
    paces: bool,
    /// One past the last byte that it would have sent, when, and the end of the receive window.
    next: f64,
    at: i64,
    edge: i64,
    total: i64,
}

impl Candidate {
    fn new(
        connection: &Connection,
        algorithm: &Algorithm,
        is_paced: bool,
        (begin, edge): (i64, i64),
    ) -> Self {
        let feed = Feed::new(connection, begin);
        let mut control = algorithm.build(feed.context());
        let total = connection.bytes as i64;
        control.on_established(&feed.established(bytes(total), bytes(edge)));
        Self {
            feed,
            control,
            is_paced,
            paces: false,
            next: 0.0,
            at: begin,
            edge,
            total,
        }
    }

    /// The pace, if segments do not leave at once.
    fn pace(&mut self) -> Option<Rate> {
        let own = self.control.pacing_rate();
        if own.is_some() || self.control.requires_pacing() {
            self.paces = true;
            if own.is_some() {
                return own;
            }
        }
        (self.is_paced || self.paces && self.control.requires_pacing()).then(|| self.window_rate())
    }

    /// Linux: twice the window per smoothed round trip in the first half of slow start, then 1.2.
    fn window_rate(&self) -> Rate {
        let window = self.control.window();
        let Some(srtt) = self.feed.srtt.filter(|srtt| !srtt.is_zero()) else {
            return Rate::MAX;
        };
        let percent = if window.cwnd < window.ssthresh / 2 {
            200
        } else {
            120
        };
        let bits = u128::from(window.cwnd.get()) * 8 * percent / 100 * 1_000_000_000;
        let rate = bits / u128::from(srtt.as_nanos());
        Rate::from_bits_per_sec(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    /// One past the last byte that the windows permit.
    fn limit(&self) -> f64 {
        let cwnd = self.control.window().cwnd.get().min(1 << 40) as i64;
        (self.feed.una + cwnd).min(self.edge).min(self.total) as f64
    }

    /// It sends until `at`.
    fn run(&mut self, at: i64) {
        let limit = self.limit();
        let since = self.at;
        self.at = at.max(since);
        let Some(rate) = self.pace() else {
            self.next = self.next.max(limit);
            return;
        };
        let start = self.control.pacing_start();
        let start = start.map_or(since, |start| since.max(Instant::as_nanos(start) as i64));
        let spent = (self.at - start).max(0) as f64 / 1e9;
        let mut reached = self.next + rate.bits_per_sec() as f64 / 8.0 * spent;
        if self.is_paced && !self.paces {
            // The first segments are free.
            let free = UNPACED * self.feed.smss.get() as i64;
            reached = reached.max(free as f64);
        }
        self.next = self.next.max(reached.min(limit));
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Sent(at, start, end, _) => {
                self.run(at);
                let sent = self.feed.sent(at, start, end);
                self.control.on_sent(&sent);
            }
            Step::Acked(at, una, edge) => {
                self.run(at);
                let window = self.control.window().cwnd;
                let mut ack = self.feed.acked(at, una, window);
                ack.paced = self.is_paced || self.paces;
                ack.pacing_rate = self.window_rate();
                self.control.on_delivery(&ack);
                self.control.on_ack(&ack);
                self.edge = edge;
                self.next = self.next.max(una as f64);
            }
        }
    }

    /// What it has in flight at `at`; it continues from what was really sent.
    fn compare(&mut self, at: i64) -> u64 {
        self.run(at);
        let made = (self.next - self.feed.una as f64).max(0.0) as u64;
        self.next = self.feed.next as f64;
        made
    }
}

fn when(step: &Step) -> i64 {
    let (Step::Sent(at, ..) | Step::Acked(at, ..)) = *step;
    at
}

/// Whether the application held the sender between two times.
fn is_idle(connection: &Connection, since: i64, until: i64) -> bool {
    let first = connection.waits.partition_point(|wait| wait.until <= since);
    let waits = connection.waits[first..].iter();
    let mut waits = waits.take_while(|wait| wait.since < until);
    waits.any(|wait| wait.cause == Limit::Application)
}

impl Plan {
    /// The times: quarters of the first round trip, then the half and the end of each. A round trip
    /// ends with the ACK of what had been sent when it began.
    fn new(connection: &Connection, begin: i64) -> Self {
        let rtt = connection.rtt_ms.map_or(0.0, |rtt| rtt[0]);
        let mut srtt = (connection.handshake.rtt_ms.unwrap_or(rtt) * 1e6) as i64;
        let exit = connection.verdict.exit.as_ref();
        let most = exit.map_or(i64::MAX, |exit| {
            (exit.time_interval_s[1] * 1e9) as i64 + AFTER_EXIT * (rtt * 1e6) as i64
        });
        let mut plan = Self {
            moments: Vec::new(),
        };
        let (mut since, mut round, mut last) = (begin, 1, begin);
        let (mut next, mut una, mut until) = (0, 0, i64::MAX);
        let mut due = vec![3, 2, 1];
        for (index, step) in connection.steps.iter().enumerate() {
            let at = when(step);
            if at > most || round > MOST_ROUNDS {
                break;
            }
            while let Some(quarter) = due.last().copied()
                && since + srtt * i64::from(quarter) / 4 < at
            {
                due.pop();
                let here = since + srtt * i64::from(quarter) / 4;
                plan.note(
                    connection,
                    (last, here, index),
                    (round, quarter),
                    next - una,
                );
                last = here;
            }
            match *step {
                Step::Sent(_, _, end, _) => next = end,
                Step::Acked(_, acked, _) => {
                    if round == 1 || acked >= until {
                        plan.note(connection, (last, at, index), (round, 4), next - una);
                        last = at;
                        srtt = (at - since).max(srtt / 2).min(2 * srtt.max(1));
                        (since, round, until) = (at, round + 1, next);
                        due = vec![2];
                    }
                    una = acked;
                }
            }
        }
        plan
    }

    fn note(
        &mut self,
        connection: &Connection,
        (last, at, index): (i64, i64, usize),
        (round, quarter): (u32, u32),
        flight: i64,
    ) {
        let sent = connection.last_new_data_s.unwrap_or(f64::MAX);
        let moment = Moment {
            time_s: at as f64 / 1e9,
            round,
            quarter,
            in_flight_bytes: flight.max(0) as u64,
            counts: at as f64 / 1e9 <= sent && !is_idle(connection, last, at),
        };
        self.moments.push((at, index, moment));
    }
}

fn track(
    connection: &Connection,
    plan: &Plan,
    algorithm: &Algorithm,
    is_paced: bool,
    first: (i64, i64),
) -> Track {
    let mut candidate = Candidate::new(connection, algorithm, is_paced, first);
    let mut made = Vec::with_capacity(plan.moments.len());
    let mut done = 0;
    for (at, index, _) in &plan.moments {
        for step in &connection.steps[done..*index] {
            candidate.take(*step);
        }
        done = *index;
        made.push(candidate.compare(*at));
    }
    let exit = candidate.control.slow_start_exit();
    Track {
        algorithm: algorithm.name().to_owned(),
        paced: is_paced,
        paces: candidate.paces,
        in_flight_bytes: made,
        exit: exit.map(|exit| Left {
            time_s: Instant::as_nanos(exit.at) as f64 / 1e9,
            cwnd_bytes: exit.cwnd.get(),
            reason: exit.reason.name().to_owned(),
            evidence: exit.reason.to_string(),
        }),
    }
}

/// Compares start-ups with a connection that was analyzed with its steps.
#[must_use]
pub fn compare(connection: &Connection, algorithms: &[Algorithm]) -> Comparison {
    let mut comparison = Comparison {
        number: connection.number,
        segment_bytes: u64::from(connection.largest_segment_bytes.max(1)),
        why: None,
        moments: Vec::new(),
        tracks: Vec::new(),
    };
    let (begin, edge) = match connection.steps.first() {
        Some(Step::Sent(at, _, _, edge)) if connection.initial_window_bytes.is_some() => {
            (*at, *edge)
        }
        _ => {
            comparison.why =
                Some("the capture does not have the connection's first data and its ACKs");
            return comparison;
        }
    };
    let plan = Plan::new(connection, begin);
    for algorithm in algorithms {
        for is_paced in [false, true] {
            comparison
                .tracks
                .push(track(connection, &plan, algorithm, is_paced, (begin, edge)));
        }
    }
    comparison.moments = plan.moments.iter().map(|(_, _, moment)| *moment).collect();
    comparison
}
