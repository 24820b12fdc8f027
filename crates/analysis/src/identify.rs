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
//! QUIC senders (from a qlog) send in one of several ways (`quic::RULES`), and their first flight
//! may be a datagram more or less than their window. All start-ups are tried in each way and with
//! each of these windows, and with the window that a start-up sets itself, if it is one of them; a
//! start-up that a way of sending does not permit is not tried in it.
//!
//! The comparison ends at the first sign of congestion, and a few round trips after the real sender
//! left slow start: what follows is congestion avoidance.

mod quic;
mod tcp;

use congestion::{Algorithm, CongestionControl, SlowStartExit};
use measure::Limit;
use serde::Serialize;
use units::Instant;

use crate::report::{Connection, Vantage};
use crate::series::Step;

/// Round trips after the exit that still count.
const AFTER_EXIT: i64 = 3;
/// Most round trips that are compared.
const MOST_ROUNDS: u32 = 64;
/// A host answers an ACK within this time, in nanoseconds.
const AT_ONCE: i64 = 20_000;

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
    /// How a QUIC stack sends, and the bytes of its initial window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stack: Option<(&'static str, u64)>,
    /// Bytes of the initial window that it sets itself, if such a sender may have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own_window: Option<u64>,
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
    /// What left before the first ACK, without a tail loss probe.
    pub first_flight_bytes: u64,
    /// Why there is nothing to compare; null if there is.
    pub why: Option<&'static str>,
    /// The times.
    pub moments: Vec<Moment>,
    /// Each start-up, unpaced and paced.
    pub tracks: Vec<Track>,
}

/// When the prediction is compared, by the index of the step before which that happens.
struct Plan {
    steps: Vec<Step>,
    /// When the last of them left that is sent.
    last_sent: i64,
    /// Nanoseconds, index of the next step, and the moment.
    moments: Vec<(i64, usize, Moment)>,
}

/// The first data of a connection: when, the end of the receive window, and how much until the
/// first ACK.
#[derive(Clone, Copy)]
struct First {
    at: i64,
    edge: i64,
    flight: u64,
}

fn when(step: &Step) -> i64 {
    match *step {
        Step::Sent(at, ..) | Step::Acked(.., at) => at,
    }
}

/// The steps with times that never go back, those of ACKs by their spacing.
fn in_order(steps: &[Step]) -> Vec<Step> {
    let mut last = i64::MIN;
    let ordered = steps.iter().map(|step| {
        last = last.max(when(step));
        match *step {
            Step::Sent(_, start, end, edge) => Step::Sent(last, start, end, edge),
            Step::Acked(_, una, edge, _) => Step::Acked(last, una, edge, last),
        }
    });
    ordered.collect()
}

/// Whether the application held the sender between two times.
fn is_idle(connection: &Connection, since: i64, until: i64) -> bool {
    let first = connection.waits.partition_point(|wait| wait.until <= since);
    let waits = connection.waits[first..].iter();
    let mut waits = waits.take_while(|wait| wait.since < until);
    waits.any(|wait| wait.cause == Limit::Application)
}

/// Goes back to before the steps that are within [`AT_ONCE`] of `at`: their number, and the flight
/// then.
fn before(steps: &[Step], at: i64, flight: i64) -> (usize, i64) {
    let (mut index, mut flight) = (steps.len(), flight);
    while let Some(last) = steps[..index].last()
        && when(last) > at - AT_ONCE
        && index > 1
    {
        flight += match *last {
            Step::Sent(_, start, end, _) => start - end,
            Step::Acked(_, una, ..) => una - acked_before(&steps[..index - 1]),
        };
        index -= 1;
    }
    (index, flight)
}

/// The last cumulative ACK.
fn acked_before(steps: &[Step]) -> i64 {
    let acked = steps.iter().rev().find_map(|step| match step {
        Step::Acked(_, una, ..) => Some(*una),
        Step::Sent(..) => None,
    });
    acked.unwrap_or(0)
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
        let steps = in_order(&connection.steps);
        let sent = steps
            .iter()
            .rev()
            .find(|step| matches!(step, Step::Sent(..)));
        let mut plan = Self {
            steps: Vec::new(),
            last_sent: sent.map_or(0, when),
            moments: Vec::new(),
        };
        let (mut since, mut round, mut last) = (begin, 1, begin);
        let (mut next, mut una, mut until) = (0, 0, i64::MAX);
        let mut due = vec![3, 2, 1];
        for (index, step) in steps.iter().enumerate() {
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
                Step::Acked(_, acked, ..) => {
                    if round == 1 || acked >= until {
                        // Segments that answer ACKs of this moment have not left yet.
                        let (index, flight) = before(&steps[..index], at, next - una);
                        plan.note(connection, (last, at, index), (round, 4), flight);
                        last = at;
                        srtt = (at - since).max(srtt / 2).min(2 * srtt.max(1));
                        (since, round, until) = (at, round + 1, next);
                        due = vec![2];
                    }
                    una = acked;
                }
            }
        }
        plan.steps = steps;
        plan
    }

    fn note(
        &mut self,
        connection: &Connection,
        (last, at, index): (i64, i64, usize),
        (round, quarter): (u32, u32),
        flight: i64,
    ) {
        let sent = match connection.vantage {
            // A log says when the last packet left, which may be a retransmission.
            Vantage::Log => self.last_sent as f64 / 1e9,
            _ => connection.last_new_data_s.unwrap_or(f64::MAX),
        };
        // QUIC stacks spread their first window as they like.
        let is_spread = connection.vantage == Vantage::Log && round == 1 && quarter < 4;
        let moment = Moment {
            time_s: at as f64 / 1e9,
            round,
            quarter,
            in_flight_bytes: flight.max(0) as u64,
            counts: !is_spread && at as f64 / 1e9 <= sent && !is_idle(connection, last, at),
        };
        self.moments.push((at, index, moment));
    }
}

impl From<SlowStartExit> for Left {
    fn from(exit: SlowStartExit) -> Self {
        Self {
            time_s: Instant::as_nanos(exit.at) as f64 / 1e9,
            cwnd_bytes: exit.cwnd.get(),
            reason: exit.reason.name().to_owned(),
            evidence: exit.reason.to_string(),
        }
    }
}

fn of_tcp(
    connection: &Connection,
    plan: &Plan,
    algorithm: &Algorithm,
    is_paced: bool,
    first: First,
) -> Track {
    let mut candidate = tcp::Candidate::new(connection, algorithm, is_paced, first);
    let mut made = Vec::with_capacity(plan.moments.len());
    let mut done = 0;
    for (at, index, _) in &plan.moments {
        for step in &plan.steps[done..*index] {
            candidate.take(*step);
        }
        done = *index;
        made.push(candidate.compare(*at));
    }
    Track {
        algorithm: algorithm.name().to_owned(),
        paced: is_paced,
        paces: candidate.paces,
        stack: None,
        own_window: None,
        in_flight_bytes: made,
        exit: candidate.control.slow_start_exit().map(Left::from),
    }
}

/// The tracks of a QUIC sender. Its initial window is that of the first flight, or a datagram less or
/// more, or one between that a start-up sets itself.
fn all_of_quic(
    connection: &Connection,
    plan: &Plan,
    algorithms: &[Algorithm],
    first: First,
) -> Vec<Track> {
    let segment = u64::from(connection.largest_segment_bytes);
    let (least, most) = (first.flight.saturating_sub(segment), first.flight + segment);
    let of_start_up = |algorithm| {
        quic::own_window(connection, algorithm, [least, most])
            .filter(|window| (least..=most).contains(window))
    };
    let own: Vec<Option<u64>> = algorithms.iter().map(of_start_up).collect();
    let mut windows = Vec::new();
    for window in own.iter().flatten().chain(&[least, first.flight, most]) {
        if !windows.contains(window) {
            windows.push(*window);
        }
    }
    let mut tracks = Vec::new();
    for (algorithm, own_window) in algorithms.iter().zip(own) {
        for rule in &quic::RULES {
            let made = windows
                .iter()
                .filter_map(|initial| of_quic(connection, plan, algorithm, rule, *initial));
            tracks.extend(made.map(|track| Track {
                own_window,
                ..track
            }));
        }
    }
    tracks
}

/// `None` if the start-up does not run in such a stack.
fn of_quic(
    connection: &Connection,
    plan: &Plan,
    algorithm: &Algorithm,
    rule: &'static quic::Rule,
    initial: u64,
) -> Option<Track> {
    let mut candidate = quic::Candidate::new(connection, algorithm, rule, initial)?;
    let mut made = Vec::with_capacity(plan.moments.len());
    let mut events = connection.events.iter().peekable();
    for (at, index, _) in &plan.moments {
        while let Some((_, event)) = events.next_if(|(steps, _)| steps < index) {
            candidate.take(event);
        }
        made.push(candidate.compare(*at));
    }
    Some(Track {
        algorithm: algorithm.name().to_owned(),
        paced: rule.paces(),
        paces: candidate.paces,
        stack: Some((rule.name, initial)),
        own_window: None,
        in_flight_bytes: made,
        exit: candidate.exit().map(Left::from),
    })
}

/// What left before the first ACK, without a tail loss probe (RFC 8985, section 7): the first ACK may
/// take longer than the handshake.
fn first_flight(connection: &Connection) -> u64 {
    let rtt = (connection.handshake.rtt_ms.unwrap_or(0.0) * 1e6) as i64;
    let steps = connection.steps.iter();
    let sent = steps.map_while(|step| match *step {
        Step::Sent(at, _, end, _) => Some((at, end)),
        Step::Acked(..) => None,
    });
    let sent: Vec<(i64, i64)> = sent.collect();
    let end = match sent[..] {
        [.., before, last] if last.0 - before.0 > rtt + rtt / 2 && rtt > 0 => before.1,
        [.., last] => last.1,
        [] => 0,
    };
    (end.max(0) as u64).max(u64::from(connection.largest_segment_bytes))
}

/// Compares start-ups with a connection that was analyzed with its steps.
#[must_use]
pub fn compare(connection: &Connection, algorithms: &[Algorithm]) -> Comparison {
    let mut comparison = Comparison {
        number: connection.number,
        segment_bytes: u64::from(connection.largest_segment_bytes.max(1)),
        first_flight_bytes: 0,
        why: None,
        moments: Vec::new(),
        tracks: Vec::new(),
    };
    let first = match connection.steps.first() {
        Some(Step::Sent(at, _, _, edge)) if connection.initial_window_bytes.is_some() => First {
            at: *at,
            edge: *edge,
            flight: first_flight(connection),
        },
        _ => {
            comparison.why = Some(match connection.vantage {
                _ if connection.encrypted => {
                    "the connection is encrypted, so what its ACKs acknowledge is not known exactly"
                }
                Vantage::Log => "the log does not have the packets of the connection's beginning",
                _ => "the capture does not have the connection's first data and its ACKs",
            });
            return comparison;
        }
    };
    let plan = Plan::new(connection, first.at);
    comparison.first_flight_bytes = first.flight;
    comparison.tracks = if connection.vantage == Vantage::Log {
        all_of_quic(connection, &plan, algorithms, first)
    } else {
        let each = |algorithm| {
            [false, true].map(|is_paced| of_tcp(connection, &plan, algorithm, is_paced, first))
        };
        algorithms.iter().flat_map(each).collect()
    };
    comparison.moments = plan.moments.iter().map(|(_, _, moment)| *moment).collect();
    comparison
}
