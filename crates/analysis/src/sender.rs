//! The sender's scoreboard, rebuilt from the packets in its order.
//!
//! In flight are the bytes between the cumulative ACK and the highest byte sent, less those that SACK
//! blocks report. RTT samples follow Karn's rule (RFC 6298, section 3): no segment that was
//! retransmitted gives one, and a segment gives its sample when it is acknowledged or SACKed first.

mod limits;
mod moments;
mod pace;
mod ranges;
mod repairs;
mod steps;

use std::collections::VecDeque;

use crate::report::{Limits, Retransmissions, Vantage, Wait};
use crate::series::{Point, Series, Spans, Step};
use crate::view::{Ack, Data, Event};
use limits::Clock;
use moments::Sent;
pub use moments::{Grown, Moment, Round, Sign};
use pace::Pace;
use ranges::Ranges;

/// Most segments in flight that are remembered.
pub const MOST_OUTSTANDING: usize = 65_536;

/// Most rounds that are remembered one by one.
const MOST_ROUNDS: usize = 4096;

/// Most moments that are remembered: those of 64 rounds.
const MOST_MOMENTS: usize = 1024;

/// Most steps that are kept for a replay.
const MOST_STEPS: usize = 1 << 18;

/// Smallest retransmission timeout that common stacks use, in nanoseconds (Linux: 200 ms).
const LEAST_RTO: i64 = 200_000_000;

/// What one direction of a connection sent, and how it was acknowledged.
#[derive(Clone, Debug)]
pub struct Sender {
    pub vantage: Vantage,
    /// How much later than the sender's clock the capture saw the last data, in nanoseconds.
    pub lag: i64,
    /// Highest byte sent, and the cumulative ACK.
    next: i64,
    una: i64,
    has_sent: bool,
    sent: VecDeque<Sent>,
    sacked: Ranges,
    /// Parts of the sequence that the capture has not seen.
    holes: Ranges,
    hole_since: i64,
    window_edge: Option<i64>,
    /// The largest window that an ACK of data advertised.
    pub largest_window: i64,
    duplicates: u32,
    pub segments: u64,
    pub largest: u32,
    pub retransmissions: Retransmissions,
    /// RTT in nanoseconds: smallest, sum, largest, count, latest, smoothed, variance.
    pub rtt_min: Option<i64>,
    rtt_sum: f64,
    rtt_max: i64,
    pub rtt_count: u64,
    pub rtt_last: Option<i64>,
    srtt: f64,
    rttvar: f64,
    pub first_data: Option<i64>,
    pub last_ack: Option<i64>,
    /// When the last new data left, and what was delivered by then.
    pub last_new: (i64, i64),
    /// Time in each limit by then.
    pub last_new_limits: Limits,
    /// Whether it has sent a FIN.
    pub finished: bool,
    pub initial_window: Option<i64>,
    pub max_flight: i64,
    pub round: u32,
    round_end: i64,
    round_began: (i64, i64),
    round_flight: i64,
    pub rounds: Vec<Round>,
    pub best_rate: f64,
    pub grown: Vec<Grown>,
    pub moments: Vec<Moment>,
    /// For a replay, until the first sign of congestion; `None` keeps nothing.
    pub steps: Option<Vec<Step>>,
    /// The first duplicate ACKs or SACK blocks above the ACK.
    pub first_hole: Option<Sign>,
    pub first_retransmission: Option<(Sign, bool)>,
    pub first_echo: Option<Sign>,
    /// Away from the sender, the first gap in the data that a retransmission filled.
    pub first_gap: Option<Sign>,
    open_gap: Option<Sign>,
    pace: Pace,
    /// RTT between the capture and the sender.
    pub to_sender: i64,
    /// Until this byte is acknowledged, the sender repairs losses.
    recovery_until: Option<i64>,
    /// Largest flight in the round after the first recovery.
    pub after_recovery: Option<(u32, i64)>,
    last_event: i64,
    last_ack_seen: i64,
    clock: Clock,
    pub series: Series,
    /// Retransmitted segments, and what SACK blocks reported.
    pub retransmitted: Spans,
    pub selective: Spans,
}

impl Sender {
    pub fn new(points: usize) -> Self {
        Self {
            vantage: Vantage::Unknown,
            lag: 0,
            next: 0,
            una: 0,
            has_sent: false,
            sent: VecDeque::new(),
            sacked: Ranges::default(),
            holes: Ranges::default(),
            hole_since: 0,
            window_edge: None,
            largest_window: 0,
            duplicates: 0,
            segments: 0,
            largest: 0,
            retransmissions: Retransmissions::default(),
            rtt_min: None,
            rtt_sum: 0.0,
            rtt_max: 0,
            rtt_count: 0,
            rtt_last: None,
            srtt: 0.0,
            rttvar: 0.0,
            first_data: None,
            last_ack: None,
            last_new: (0, 0),
            last_new_limits: Limits::default(),
            finished: false,
            initial_window: None,
            max_flight: 0,
            round: 0,
            round_end: 0,
            round_began: (0, 0),
            round_flight: 0,
            rounds: Vec::new(),
            best_rate: 0.0,
            grown: Vec::new(),
            moments: Vec::new(),
            steps: None,
            first_hole: None,
            first_retransmission: None,
            first_echo: None,
            first_gap: None,
            open_gap: None,
            pace: Pace::default(),
            to_sender: 0,
            recovery_until: None,
            after_recovery: None,
            last_event: 0,
            last_ack_seen: 0,
            clock: Clock::default(),
            series: Series::new(points),
            retransmitted: Spans::new(points),
            selective: Spans::new(points),
        }
    }

    /// Payload sent, every byte once.
    pub fn bytes(&self) -> u64 {
        (self.next.max(0) - self.holes.bytes().min(self.next.max(0))) as u64
    }

    /// Bytes that the capture has not seen although they were acknowledged.
    pub fn missing(&self) -> u64 {
        self.holes.bytes() as u64
    }

    /// The highest byte sent, as an offset.
    pub const fn next(&self) -> i64 {
        self.next
    }

    /// The next byte that the receiver expects.
    pub const fn una(&self) -> i64 {
        self.una
    }

    /// Bytes acknowledged or SACKed.
    pub fn delivered(&self) -> i64 {
        self.una + self.sacked.bytes()
    }

    fn flight(&self) -> i64 {
        (self.next - self.una - self.sacked.bytes()).max(0)
    }

    pub fn rtt_mean(&self) -> f64 {
        self.rtt_sum / self.rtt_count.max(1) as f64
    }

    pub const fn rtt_max(&self) -> i64 {
        self.rtt_max
    }

    pub const fn limits(&self) -> Limits {
        self.clock.limits
    }

    /// Keeps what a replay and a comparison of the waits need.
    pub fn keep_steps(&mut self) {
        self.steps = Some(Vec::new());
        self.clock.waits = Some(Vec::new());
    }

    /// The waits, if they were kept.
    pub fn take_waits(&mut self) -> Vec<Wait> {
        self.clock.waits.take().unwrap_or_default()
    }

    /// Segment size: the largest payload of a segment, at most a jumbo frame's.
    pub fn mss(&self) -> i64 {
        i64::from(self.largest.clamp(1, 9_000))
    }

    /// Adds an RTT sample in nanoseconds.
    fn sample(&mut self, rtt: i64) {
        if rtt < 0 {
            return;
        }
        self.rtt_min = Some(self.rtt_min.map_or(rtt, |min| min.min(rtt)));
        self.rtt_max = self.rtt_max.max(rtt);
        self.rtt_sum += rtt as f64;
        let rtt_f = rtt as f64;
        if self.rtt_count == 0 {
            (self.srtt, self.rttvar) = (rtt_f, rtt_f / 2.0);
        } else {
            self.rttvar += ((rtt_f - self.srtt).abs() - self.rttvar) / 4.0;
            self.srtt += (rtt_f - self.srtt) / 8.0;
        }
        self.rtt_count += 1;
        self.rtt_last = Some(rtt);
    }

    /// Takes an event of the sender; `at` is in nanoseconds since the connection's first packet.
    pub fn take(&mut self, vantage: Vantage, at: i64, event: &Event) {
        self.vantage = vantage;
        // Packets of a capture may be out of order by a little; time does not go back.
        let at = at.max(self.last_event);
        self.last_event = at;
        let retransmitted = match event {
            Event::Data(data) => {
                let is_retransmission = self.on_data(at, data);
                if is_retransmission {
                    let end = data.start + i64::from(data.length);
                    self.retransmitted.offer(at, data.start, end);
                }
                is_retransmission
            }
            Event::Ack(ack) => {
                self.on_ack(at, ack);
                false
            }
        };
        let (sent, acked, flight) = (self.next, self.una, self.flight());
        let window = self.window_edge.map(|edge| (edge - acked).max(0) as u64);
        let rtt = self.rtt_last;
        let cwnd = self.window_estimate();
        let rate = self.rounds.last().map(Round::rate);
        self.series.offer(retransmitted, || Point {
            time_s: at as f64 / 1e9,
            sent_bytes: sent.max(0) as u64,
            acked_bytes: acked.max(0) as u64,
            in_flight_bytes: flight as u64,
            cwnd_bytes: cwnd,
            receive_window_bytes: window,
            rtt_ms: rtt.map(|rtt| rtt as f64 / 1e6),
            delivery_rate_bps: rate,
            retransmitted: false,
        });
    }

    /// The window that the sender last filled: that of this round so far or of the one before.
    fn window_estimate(&self) -> Option<u64> {
        let before = self.rounds.last().map_or(0, |round| round.flight);
        let now = self.round_flight.max(before);
        (now > 0).then_some(now as u64)
    }

    fn on_data(&mut self, at: i64, data: &Data) -> bool {
        self.finished |= data.fin;
        if data.length == 0 {
            return false;
        }
        let end = data.start + i64::from(data.length);
        if !self.has_sent {
            self.has_sent = true;
            self.first_data = Some(at);
            if self.una < data.start {
                // The capture began later than the connection.
                self.una = data.start;
            }
            self.next = data.start;
            // What came before it was lost on the way, or by the capture.
            self.holes.add(0, data.start);
            self.hole_since = at;
            (self.round_end, self.round_began) = (end, (at, self.una));
            self.round = 1;
            self.clock.begin(at);
        }
        // A keep-alive repeats the last byte that was acknowledged.
        if data.length <= 1 && end <= self.una {
            return false;
        }
        self.segments += 1;
        // A probe of a closed window may repeat a byte, and it says nothing about losses.
        let is_closed = self.window_edge.is_some_and(|edge| edge <= self.una);
        if data.length <= 1 && is_closed && data.start < self.next {
            return false;
        }
        if data.length > self.largest {
            self.largest = data.length;
        }
        let burst = self.burst();
        self.clock
            .data(at, self.lag, self.recovery_until.is_some(), burst);
        if data.start >= self.next {
            self.on_new(at, data, end);
            return false;
        }
        if self.fills_hole(at, data.start, end) {
            return false;
        }
        self.on_retransmission(at, data.start, end);
        if end > self.next {
            // It has new bytes as well.
            self.next = end;
        }
        true
    }

    fn is_elsewhere(&self) -> bool {
        matches!(self.vantage, Vantage::Receiver | Vantage::Middle)
    }

    /// The most that a host holds back for a burst: data of 4 ms, at least four segments.
    fn burst(&self) -> i64 {
        let rtt = (self.srtt / 4e6).max(1.0);
        (4 * self.mss()).max((self.flight() as f64 / rtt) as i64)
    }

    /// Whether the sender paces its data.
    pub const fn is_paced(&self) -> bool {
        self.pace.is_paced()
    }

    fn on_new(&mut self, at: i64, data: &Data, end: i64) {
        if data.start > self.next {
            if self.holes.bytes() == 0 {
                self.hole_since = at;
                self.open_gap = Some(self.sign(at));
            }
            self.holes.add(self.next, data.start);
        }
        // Only data that neither the application nor the receiver nor a loss held back.
        if self.first_hole.is_none() && !self.clock.is_held() {
            let elsewhere = self.is_elsewhere();
            self.pace
                .data(at - self.lag, data.length, self.round, elsewhere);
        }
        self.next = end;
        if self.sent.len() >= MOST_OUTSTANDING {
            self.sent.pop_front();
        }
        self.sent.push_back(Sent {
            start: data.start,
            end,
            at,
            is_clean: true,
        });
        self.keep(Step::Sent(at - self.lag, data.start, end, self.edge()));
        let delivered = self.delivered();
        self.last_new = (at, delivered);
        self.last_new_limits = self.clock.limits;
        let flight = self.flight();
        self.max_flight = self.max_flight.max(flight);
        self.round_flight = self.round_flight.max(flight);
        // The receive window may open before the next segment leaves, so it counts now.
        let is_blocked = self.window_left() < self.mss();
        self.clock
            .sent(at, i64::from(data.length) < self.mss(), is_blocked);
        if self.first_hole.is_some() || self.first_retransmission.is_some() {
            return;
        }
        let before = self.grown.last().map_or(0, |grown| grown.flight);
        if flight > before + before / 128 {
            let grown = Grown {
                at,
                sender_at: at - self.lag,
                delivered,
                flight,
                round: self.round,
                window_left: self.window_left(),
                limits: self.clock.limits,
            };
            // The bytes of one burst count together, with the time of its last segment.
            match self.grown.last_mut() {
                Some(last) if last.delivered == delivered && at - last.at < 1_000_000 => {
                    *last = grown;
                }
                _ => self.grown.push(grown),
            }
        }
    }

    fn on_ack(&mut self, at: i64, ack: &Ack) {
        if !self.has_sent {
            self.window_edge = Some(ack.ack + ack.window as i64);
            self.una = self.una.max(ack.ack.min(0));
            return;
        }
        let elsewhere = self.is_elsewhere();
        let expected = self
            .rtt_min
            .map_or(LEAST_RTO, |rtt| rtt + rtt / 2 + 1_000_000);
        self.clock.ack(at, elsewhere && at - ack.seen > expected);
        // An ACK of bytes that the capture has not seen: it lost them.
        if ack.ack > self.next + 1 {
            if ack.ack - self.next > 1 << 30 {
                return;
            }
            self.holes.add(self.next, ack.ack);
            self.next = ack.ack;
        }
        let before = self.delivered();
        let flight_before = self.flight();
        let is_first = self.initial_window.is_none() && ack.ack > self.una;
        if is_first {
            self.initial_window = Some(self.next - self.una);
        }
        if ack.ack < self.una {
            // An old ACK; its SACK blocks may report a duplicate.
            self.count_duplicates(ack);
            return;
        }
        self.last_ack_seen = at;
        self.largest_window = self.largest_window.max(ack.window as i64);
        let old_edge = self.window_edge;
        self.window_edge = Some(ack.ack + ack.window as i64);
        let mut newest: Option<i64> = None;
        if ack.ack > self.una {
            self.clock.delivered(ack.ack.min(self.next) - self.una);
            self.una = ack.ack.min(self.next);
            self.last_ack = Some(at);
            self.pace.ack(if elsewhere {
                ack.seen + self.to_sender
            } else {
                at
            });
            self.duplicates = 0;
            while let Some(sent) = self.sent.front()
                && sent.end <= self.una
            {
                if sent.is_clean && !self.sacked.contains(sent.start, sent.end) {
                    newest = Some(newest.map_or(sent.at, |other| other.max(sent.at)));
                }
                self.sent.pop_front();
            }
            self.sacked.remove(i64::MIN, self.una);
        } else if ack.is_pure && flight_before > 0 && old_edge == self.window_edge {
            self.duplicates += 1;
        }
        self.count_duplicates(ack);
        for (start, end) in ack.sack.into_iter().flatten() {
            let (start, end) = (start.max(self.una), end.min(self.next));
            if start < end {
                newest = newest.max(self.mark(start, end));
            }
        }
        if let Some(sent) = newest {
            self.sample(at - sent);
        }
        let sign = Sign {
            at,
            sender_at: at - self.lag,
            delivered: before,
            flight: flight_before,
        };
        if self.first_hole.is_none() && (self.sacked.bytes() > 0 || self.duplicates >= 3) {
            self.first_hole = Some(sign);
        }
        if ack.ece && self.first_echo.is_none() {
            self.first_echo = Some(sign);
        }
        if self.recovery_until.is_some_and(|until| self.una >= until) {
            self.recovery_until = None;
            self.after_recovery.get_or_insert((self.round + 1, 0));
        }
        if self.delivered() > before {
            let arrived = self.arrived(at, ack.seen);
            self.keep(Step::Acked(at - self.lag, self.una, self.edge(), arrived));
        }
        self.note_moment(at);
        self.count_round(at);
    }

    fn note_moment(&mut self, at: i64) {
        let (delivered, flight) = (self.delivered(), self.flight());
        let step = (flight / 16).max(self.mss());
        let last = self.moments.last().map_or(0, |last| last.delivered);
        if self.moments.len() < MOST_MOMENTS && delivered - last >= step {
            self.moments.push(Moment {
                at: at - self.lag,
                sent: self.next + self.retransmissions.bytes as i64,
                delivered,
                flight,
                round: self.round,
                window_left: self.window_left(),
            });
        }
    }

    /// Marks bytes as SACKed; returns when the newest segment among them left, if it can give an
    /// RTT sample.
    fn mark(&mut self, start: i64, end: i64) -> Option<i64> {
        let mut newest = None;
        for (start, end) in self.sacked.add(start, end) {
            self.selective.offer(self.last_event, start, end);
            let first = self.sent.partition_point(|sent| sent.start < start);
            for sent in self.sent.iter().skip(first) {
                if sent.end > end {
                    break;
                }
                if sent.is_clean {
                    newest = newest.max(Some(sent.at));
                }
            }
        }
        newest
    }

    fn count_round(&mut self, at: i64) {
        if self.una < self.round_end {
            return;
        }
        let delivered = self.delivered();
        let (began, before) = self.round_began;
        let round = Round {
            began,
            ended: at,
            delivered: delivered - before,
            flight: self.round_flight,
        };
        // A round that the application interrupted says nothing about the path.
        if at - began >= self.rtt_min.unwrap_or(0) {
            self.best_rate = self.best_rate.max(round.rate());
        }
        if self.rounds.len() < MOST_ROUNDS {
            self.rounds.push(round);
        }
        if let Some((wanted, flight)) = &mut self.after_recovery
            && *wanted == self.round
        {
            *flight = (*flight).max(self.round_flight);
        }
        self.round += u32::from(self.next > self.una);
        self.round_end = self.next.max(self.una + 1);
        self.round_began = (at, delivered);
        self.round_flight = self.flight();
    }

    /// Ends the last interval.
    pub fn finish(&mut self) {
        if let Some(last) = self.last_ack {
            self.clock.finish(last);
        }
        self.initial_window = self
            .initial_window
            .or_else(|| self.has_sent.then_some(self.next));
    }
}
