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
//! QUIC senders (from a qlog) pace all of slow start at one multiple of the window, whatever their
//! congestion control asks for, or as it asks. Their window may hold a datagram less than it says,
//! so each start-up is also tried with a datagram more than the first flight.
//!
//! The comparison ends at the first sign of congestion, and a few round trips after the real sender
//! left slow start: what follows is congestion avoidance.

use congestion::{Algorithm, AnyCongestionControl, CongestionControl};
use measure::Limit;
use serde::Serialize;
use units::{Bytes, Instant, Rate};

use crate::feed::{Feed, bytes};
use crate::report::{Connection, Vantage};
use crate::series::Step;

/// Round trips after the exit that still count.
const AFTER_EXIT: i64 = 3;
/// Most round trips that are compared.
const MOST_ROUNDS: u32 = 64;
/// A host answers an ACK within this time, in nanoseconds.
const AT_ONCE: i64 = 20_000;
/// Segments that leave at once before Linux begins to pace.
const UNPACED: i64 = 10;
/// QUIC's pacer is a bucket of at least so many datagrams (RFC 9002, section 7.7: the initial
/// window), and of what leaves in 2 ms (quinn and noq).
const BUCKET: f64 = 10.0;
const BUCKET_NANOS: f64 = 2e6;
/// QUIC's pace in percent of the window per smoothed round trip (RFC 9002, section 7.7: N = 1.25).
const QUIC_PERCENT: u128 = 125;

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
    /// Nanoseconds, index of the next step, and the moment.
    moments: Vec<(i64, usize, Moment)>,
}

/// Bursts at a pace: when the next one may leave, and when the current one began with how much.
#[derive(Clone, Copy, Default)]
struct Pacer {
    due: i64,
    began: i64,
    sent: f64,
}

impl Pacer {
    /// Bytes leave at `at` from a bucket, which is full at `due`.
    fn draw(&mut self, at: i64, amount: f64, rate: Rate) {
        let bits = rate.bits_per_sec() as f64;
        self.due = self.due.max(at) + (amount * 8e9 / bits.max(1.0)) as i64;
    }

    /// Bytes leave at `at`.
    fn charge(&mut self, at: i64, amount: f64, rate: Rate) {
        if at > self.began {
            (self.began, self.sent) = (at, 0.0);
        }
        self.sent += amount;
        let bits = rate.bits_per_sec() as f64;
        self.due = at + (self.sent * 8e9 / bits.max(1.0)) as i64;
    }
}

/// What a start-up would send.
struct Candidate {
    feed: Feed,
    control: AnyCongestionControl,
    is_paced: bool,
    is_quic: bool,
    paces: bool,
    /// One past the last byte that it would have sent, and until when.
    next: f64,
    at: i64,
    /// Its pace, and the same for what the real sender sent.
    pacer: Pacer,
    real: Pacer,
    /// The end of the receive window, and of the data.
    edge: i64,
    total: i64,
    /// Most in flight since a round trip, and what was sent then (Linux `max_packets_out`).
    most: i64,
    usage: i64,
}

/// The first data of a connection: when, the end of the receive window, and how much until the
/// first ACK.
#[derive(Clone, Copy)]
struct First {
    at: i64,
    edge: i64,
    flight: u64,
}

impl Candidate {
    fn new(connection: &Connection, algorithm: &Algorithm, is_paced: bool, first: First) -> Self {
        let total = connection.bytes as i64;
        let built = |initial: u64| {
            let feed = Feed::new(connection, first.at, Bytes::new(initial));
            let mut control = algorithm.build(feed.context());
            control.on_established(&feed.established(bytes(total), bytes(first.edge)));
            (feed, control)
        };
        let (mut feed, mut control) = built(first.flight);
        // One that begins with a multiple of the initial window.
        let window = control.window().cwnd.get();
        if window > first.flight {
            let less = first.flight * first.flight / window;
            let (other, smaller) = built(less);
            if smaller.window().cwnd.get().abs_diff(first.flight) < window - first.flight {
                (feed, control) = (other, smaller);
            }
        }
        Self {
            feed,
            control,
            is_paced,
            is_quic: connection.vantage == Vantage::Log,
            paces: false,
            next: 0.0,
            at: first.at,
            pacer: Pacer::default(),
            real: Pacer::default(),
            edge: first.edge,
            total,
            most: 0,
            usage: 0,
        }
    }

    /// Whether the window was the limit in the last round trip (Linux `tcp_is_cwnd_limited`).
    fn is_limited(&self) -> bool {
        self.control.window().cwnd < bytes(self.most) * 2
    }

    /// The pace, if segments do not leave at once.
    fn pace(&mut self) -> Option<Rate> {
        if self.is_quic && self.is_paced {
            return Some(self.window_rate());
        }
        let own = self.control.pacing_rate();
        self.paces |= own.is_some();
        own.or_else(|| self.is_paced.then(|| self.window_rate()))
    }

    /// QUIC: [`QUIC_PERCENT`]. Linux: twice the window per smoothed round trip in the first half of slow start, then 1.2.
    fn window_rate(&self) -> Rate {
        let window = self.control.window();
        let Some(srtt) = self.feed.srtt.filter(|srtt| !srtt.is_zero()) else {
            return Rate::MAX;
        };
        let percent = if self.is_quic {
            QUIC_PERCENT
        } else if window.cwnd < window.ssthresh / 2 {
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

    /// A burst of Linux in bytes: a millisecond of the pace, and more on short paths.
    fn burst(&self, rate: Rate) -> f64 {
        let smss = self.feed.smss.get();
        if self.is_quic {
            return smss as f64;
        }
        let halvings = (self.feed.min_rtt.as_nanos() / 1000) >> 9;
        let bonus = if halvings < 32 { 65_536 >> halvings } else { 0 };
        let most = ((rate.bytes_per_sec() >> 10) + bonus).min(65_536);
        let least = u64::from(self.control.least_burst_segments());
        ((most / smss).max(least) * smss) as f64
    }

    /// Whether what is sent up to `next` leaves without a pace: the first segments of Linux.
    fn is_free(&self, next: f64) -> bool {
        !self.is_quic && !self.paces && next < (UNPACED * self.feed.smss.get() as i64) as f64
    }

    /// How long before its bucket is full QUIC may send.
    fn tolerance(&self, rate: Rate) -> i64 {
        if !self.is_quic {
            return 0;
        }
        let bits = rate.bits_per_sec() as f64;
        let least = (BUCKET - 1.0) * self.feed.smss.get() as f64 * 8e9 / bits.max(1.0);
        least.max(BUCKET_NANOS) as i64
    }

    /// Charges a pacer with what leaves at `at`.
    fn charge(pacer: &mut Pacer, is_quic: bool, at: i64, amount: f64, rate: Rate) {
        if is_quic {
            pacer.draw(at, amount, rate);
        } else {
            pacer.charge(at, amount, rate);
        }
    }

    /// It sends until `at`.
    fn run(&mut self, at: i64) {
        let limit = self.limit();
        let since = self.at;
        self.at = at.max(since);
        let Some(rate) = self.pace().filter(|rate| *rate != Rate::MAX) else {
            self.next = self.next.max(limit);
            return;
        };
        let start = self.control.pacing_start();
        let start = start.map_or(0, |start| Instant::as_nanos(start) as i64);
        let (burst, smss) = (self.burst(rate), self.feed.smss.get() as f64);
        let tolerance = self.tolerance(rate);
        while self.next < limit {
            let when = (self.pacer.due - tolerance).max(since).max(start);
            let left = limit - self.next;
            if when > self.at || left < smss && limit < self.total as f64 {
                break;
            }
            let amount = burst.min(left);
            if self.is_free(self.next) {
                self.next += smss.min(left);
                continue;
            }
            Self::charge(&mut self.pacer, self.is_quic, when, amount, rate);
            self.next += amount;
        }
    }

    fn take(&mut self, step: Step) {
        match step {
            Step::Sent(at, start, end, _) => {
                self.run(at);
                if let Some(rate) = self.pace()
                    && !self.is_free(start as f64)
                {
                    let size = (end - start) as f64;
                    // It left, so there was no larger debt.
                    if self.is_quic {
                        self.real.due = self.real.due.min(at + self.tolerance(rate));
                    }
                    Self::charge(&mut self.real, self.is_quic, at, size, rate);
                }
                let sent = self.feed.sent(at, start, end);
                self.control.on_sent(&sent);
                let flight = self.feed.in_flight();
                if self.feed.una >= self.usage || flight > self.most {
                    (self.most, self.usage) = (flight, end);
                }
            }
            Step::Acked(at, una, edge, _) => {
                self.run(at);
                let window = self.control.window().cwnd;
                let mut ack = self.feed.acked(at, una, window);
                ack.cwnd_limited = self.is_limited();
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
        self.pacer = self.real;
        made
    }
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
        let mut plan = Self {
            steps: Vec::new(),
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
        let sent = connection.last_new_data_s.unwrap_or(f64::MAX);
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

fn track(
    connection: &Connection,
    plan: &Plan,
    algorithm: &Algorithm,
    is_paced: bool,
    first: First,
) -> Track {
    let mut candidate = Candidate::new(connection, algorithm, is_paced, first);
    let mut made = Vec::with_capacity(plan.moments.len());
    let mut done = 0;
    for (at, index, _) in &plan.moments {
        for step in &plan.steps[done..*index] {
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
    let more = First {
        flight: first.flight + comparison.segment_bytes,
        ..first
    };
    let firsts = match connection.vantage {
        Vantage::Log => vec![first, more],
        _ => vec![first],
    };
    for algorithm in algorithms {
        for first in &firsts {
            for is_paced in [false, true] {
                comparison
                    .tracks
                    .push(track(connection, &plan, algorithm, is_paced, *first));
            }
        }
    }
    comparison.moments = plan.moments.iter().map(|(_, _, moment)| *moment).collect();
    comparison
}
