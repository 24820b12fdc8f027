//! One sender over one bottleneck for the test cases of the draft: rate, buffer, losses,
//! reordering, aggregation and the application can change at any time.
//!
//! Packets have numbers, as in QUIC: each is sent once, and lost data is retransmitted in a new
//! packet. Three later packets acknowledged, or a second without an ACK, declare a packet lost.

use std::collections::VecDeque;

use congestion::monolithic::bbr3::{Model, State};
use congestion::monolithic::{Bbr3, Bbr3Config};
use congestion::rate_sample::{Newest, RateEstimator, SendStamp};
use congestion::{
    Ack, BuildContext, Congestion, CongestionControl, CongestionKind, Established, Lost,
    PathMemory, Phase, Sent,
};
use units::{Bytes, Duration, Instant, Rate};

pub const SMSS: Bytes = Bytes::new(1_500);
/// A packet is declared lost after this many later packets are acknowledged.
const PACKET_THRESHOLD: u64 = 3;

#[derive(Clone, Copy)]
struct Packet {
    number: u64,
    sent: Instant,
    stamp: SendStamp,
    tx_in_flight: Bytes,
    lost_before: Bytes,
    /// When its ACK arrives; `None` if it was dropped.
    acknowledged: Option<Instant>,
}

/// A token bucket in front of the link, in packets.
#[derive(Clone, Copy)]
pub struct Policer {
    pub rate: Rate,
    pub burst: f64,
    tokens: f64,
    filled: Instant,
}

impl Policer {
    pub fn new(rate: Rate, burst: f64) -> Self {
        Self {
            rate,
            burst,
            tokens: burst,
            filled: Instant::ZERO,
        }
    }

    fn passes(&mut self, now: Instant) -> bool {
        let bytes = self.rate.bytes_in(now - self.filled);
        self.filled = now;
        self.tokens = (self.tokens + bytes.get() as f64 / SMSS.get() as f64).min(self.burst);
        let passes = self.tokens >= 1.0;
        if passes {
            self.tokens -= 1.0;
        }
        passes
    }
}

pub struct Path {
    pub control: Bbr3,
    pub now: Instant,
    /// The bottleneck: its rate (see [`Self::set_link`]) and its buffer in packets.
    pub link: Rate,
    pub buffer: u64,
    pub rtt: Duration,
    pub policer: Option<Policer>,
    /// One packet in this many is dropped.
    pub drop_every: Option<u64>,
    /// One packet in this many is delayed by this additional time.
    pub late_every: Option<(u64, Duration)>,
    /// ACKs arrive at multiples of this.
    pub aggregation: Duration,
    /// After this time without an ACK, everything in flight is declared lost.
    pub rto: Duration,
    /// Rate at which the application writes; `None` for a backlogged one.
    pub app: Option<Rate>,
    /// When it writes the next packet.
    pub app_next: Instant,

    rate: RateEstimator,
    flight: VecDeque<Packet>,
    declared_lost: Vec<Packet>,
    next_send: Instant,
    link_free: Instant,
    next_number: u64,
    largest_acked: u64,
    limited_until: u64,
    last_progress: Instant,
    last_sent: Instant,
    pub phase: Phase,
    /// Packets below `high` belong to this recovery. It ends with an ACK of a packet sent after its
    /// last loss (`recover`).
    high: u64,
    recover: u64,
    pub delivered: u64,
    pub lost: u64,
    pub dropped: u64,
    srtt: Duration,
    min_rtt: Duration,
    pub undone: u32,
}

pub fn mbit(megabits: u64) -> Rate {
    Rate::from_bits_per_sec(megabits * 1_000_000)
}

impl Path {
    /// A path with an unlimited buffer and a backlogged application.
    pub fn new(link: Rate, rtt: Duration) -> Self {
        let context = BuildContext {
            now: Instant::ZERO,
            smss: SMSS,
            initial_window: SMSS * 10,
            seed: 1,
            handshake_rtt: Some(rtt),
        };
        let mut control = Bbr3::new(Bbr3Config::default(), &context);
        control.on_established(&Established {
            now: context.now,
            rtt: context.handshake_rtt,
            queued: Bytes::MAX,
            receive_window: Bytes::MAX,
            memory: PathMemory::default(),
        });
        Self {
            control,
            now: Instant::ZERO,
            link,
            buffer: u64::MAX,
            rtt,
            policer: None,
            drop_every: None,
            late_every: None,
            aggregation: Duration::ZERO,
            rto: Duration::from_secs(1),
            app: None,
            app_next: Instant::ZERO,
            rate: RateEstimator::default(),
            flight: VecDeque::new(),
            declared_lost: Vec::new(),
            next_send: Instant::ZERO,
            link_free: Instant::ZERO,
            next_number: 0,
            largest_acked: 0,
            limited_until: 0,
            last_progress: Instant::ZERO,
            last_sent: Instant::ZERO,
            phase: Phase::Open,
            high: 0,
            recover: 0,
            delivered: 0,
            lost: 0,
            dropped: 0,
            srtt: rtt,
            min_rtt: Duration::MAX,
            undone: 0,
        }
    }

    pub fn model(&self) -> Model {
        self.control.model()
    }

    pub fn state(&self) -> State {
        self.control.state()
    }

    pub fn cwnd(&self) -> Bytes {
        self.control.window().cwnd
    }

    pub fn in_flight(&self) -> Bytes {
        SMSS * self.flight.len() as u64
    }

    /// Changes the rate of the bottleneck, also for queued packets.
    pub fn set_link(&mut self, link: Rate) {
        self.link = link;
        self.link_free = self.now;
        for packet in &mut self.flight {
            if let Some(at) = &mut packet.acknowledged
                && *at > self.now + self.rtt
            {
                self.link_free += link.time_for(SMSS);
                *at = self.link_free + self.rtt;
            }
        }
    }

    /// Delays everything in flight by `span`.
    pub fn stall(&mut self, span: Duration) {
        for packet in &mut self.flight {
            packet.acknowledged = packet.acknowledged.map(|at| at + span);
        }
        self.link_free = self.link_free.max(self.now) + span;
    }

    /// The true BDP of the path.
    pub fn bdp(&self) -> Bytes {
        self.link.bytes_in(self.rtt)
    }

    /// The next ACK, of a packet in flight or of one declared lost.
    fn next_ack(&self) -> Option<(Instant, u64)> {
        let all = self.flight.iter().chain(&self.declared_lost);
        all.filter_map(|packet| Some((packet.acknowledged?, packet.number)))
            .min()
    }

    /// The next event. Returns whether it was an ACK or a timeout.
    pub fn step(&mut self) -> bool {
        let ack = self.next_ack();
        let mut send = self.next_send.max(self.now);
        let has_space = self.in_flight() + SMSS <= self.cwnd();
        if has_space && self.app_next > send {
            // Application-limited: nothing to send.
            self.rate.on_app_limited(self.in_flight());
            send = self.app_next;
        }
        if !has_space {
            self.limited_until = self.next_number;
        }
        let timeout =
            (!self.flight.is_empty()).then(|| self.last_progress.max(self.last_sent) + self.rto);
        let other = ack.map(|(at, _)| at).into_iter().chain(timeout).min();
        if has_space && other.is_none_or(|at| send < at) {
            self.now = send;
            self.send();
            return false;
        }
        let at = other.expect("something is in flight");
        self.now = self.now.max(at);
        match ack {
            Some((when, number)) if when <= at => self.receive(number),
            _ => self.time_out(),
        }
        true
    }

    fn send(&mut self) {
        let idle = self.flight.is_empty();
        let stamp = self.rate.on_sent(self.now, idle);
        self.control.on_sent(&Sent {
            now: self.now,
            size: SMSS,
            in_flight: self.in_flight(),
            snd_nxt: self.next_number * SMSS.get(),
            retransmission: false,
            idle_since: idle.then_some(self.last_sent),
            app_limited: stamp.app_limited,
        });
        let acknowledged = self.transit();
        self.flight.push_back(Packet {
            number: self.next_number,
            sent: self.now,
            stamp,
            tx_in_flight: self.in_flight() + SMSS,
            lost_before: SMSS * self.lost,
            acknowledged,
        });
        self.next_number += 1;
        self.last_sent = self.now;
        if let Some(rate) = self.app {
            self.app_next = self.app_next.max(self.now) + rate.time_for(SMSS);
        }
        let rate = self.control.pacing_rate().expect("BBR paces");
        self.next_send = self.now + rate.time_for(SMSS);
    }

    /// When the ACK of a packet sent now arrives.
    fn transit(&mut self) -> Option<Instant> {
        let number = self.next_number;
        let forced = self
            .drop_every
            .is_some_and(|every| number.is_multiple_of(every));
        let policed = self
            .policer
            .as_mut()
            .is_some_and(|policer| !policer.passes(self.now));
        let service = self.link.time_for(SMSS);
        let waiting = self.link_free.saturating_since(self.now).as_nanos() / service.as_nanos();
        if forced || policed || waiting > self.buffer {
            self.dropped += 1;
            return None;
        }
        self.link_free = self.link_free.max(self.now) + service;
        let late = self
            .late_every
            .filter(|(every, _)| number.is_multiple_of(*every))
            .map_or(Duration::ZERO, |(_, late)| late);
        let at = self.link_free + self.rtt + late;
        let slot = self.aggregation.as_nanos().max(1);
        Some(Instant::from_nanos(at.as_nanos().div_ceil(slot) * slot))
    }

    fn receive(&mut self, number: u64) {
        if let Some(place) = self
            .declared_lost
            .iter()
            .position(|packet| packet.number == number)
        {
            self.declared_lost.remove(place);
            let all_came = self
                .declared_lost
                .iter()
                .all(|packet| packet.acknowledged.is_none());
            if self.phase != Phase::Open && all_came && self.dropped == 0 {
                self.undone += 1;
                self.phase = Phase::Open;
                self.control.undo(self.now);
            }
            return;
        }
        let place = self
            .flight
            .iter()
            .position(|packet| packet.number == number);
        let packet = self
            .flight
            .remove(place.expect("it is in flight"))
            .expect("its place");
        let prior_in_flight = self.in_flight() + SMSS;
        self.last_progress = self.now;
        self.delivered += 1;
        self.largest_acked = self.largest_acked.max(number);
        self.rate.on_delivered(self.now, SMSS);
        let rtt = self.now - packet.sent;
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = self.srtt.mul_div(7, 8) + rtt / 8;
        let lost_before = self.lost;
        self.detect_losses();
        if self.phase != Phase::Open && number > self.recover {
            self.phase = Phase::Open;
            self.control.on_recovery_exit(self.now);
        }
        let newest = Newest {
            stamp: packet.stamp,
            sent: packet.sent,
            tx_in_flight: packet.tx_in_flight,
            lost: packet.lost_before,
        };
        let ack = Ack {
            now: self.now,
            delivered: SMSS,
            newly_lost: SMSS * (self.lost - lost_before),
            prior_in_flight,
            in_flight: self.in_flight(),
            snd_una: number * SMSS.get(),
            snd_nxt: self.next_number * SMSS.get(),
            advanced: true,
            bytes_sent: self.next_number * SMSS.get(),
            latest_rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            rate: self.rate.sample(
                self.now,
                Some(newest),
                self.min_rtt,
                SMSS * self.lost,
                false,
            ),
            cwnd_limited: number < self.limited_until,
            app_limited: false,
            phase: self.phase,
            paced: true,
            pacing_rate: self.control.pacing_rate().expect("BBR paces"),
        };
        self.control.on_delivery(&ack);
        self.control.on_ack(&ack);
    }

    fn declare_lost(&mut self, packet: Packet) {
        self.lost += 1;
        self.control.on_lost(&Lost {
            now: self.now,
            size: SMSS,
            seq: packet.number * SMSS.get(),
            end: (packet.number + 1) * SMSS.get(),
            delivered: self.rate.delivered(),
            tx_in_flight: packet.tx_in_flight,
            lost: SMSS * self.lost - packet.lost_before,
            app_limited: packet.stamp.app_limited,
        });
        if packet.number < self.high {
            self.recover = self.next_number;
        }
        self.declared_lost.push(packet);
    }

    fn detect_losses(&mut self) {
        let before = self.lost;
        while let Some(&first) = self.flight.front()
            && first.number + PACKET_THRESHOLD <= self.largest_acked
        {
            self.flight.pop_front();
            self.declare_lost(first);
        }
        if self.lost > before && self.phase == Phase::Open {
            self.congest(CongestionKind::Loss);
            self.phase = Phase::Recovery;
        }
    }

    fn time_out(&mut self) {
        while let Some(packet) = self.flight.pop_front() {
            self.declare_lost(packet);
        }
        self.congest(CongestionKind::Timeout);
        self.phase = Phase::Loss;
        self.last_progress = self.now;
    }

    fn congest(&mut self, kind: CongestionKind) {
        self.control.on_congestion(&Congestion {
            now: self.now,
            kind,
            phase: self.phase,
            in_flight: self.in_flight(),
            snd_nxt: self.next_number * SMSS.get(),
            first_of_window: true,
        });
        self.high = self.next_number;
        self.recover = self.next_number;
    }

    /// Runs until `reached`; panics after `seconds`.
    pub fn run_until(&mut self, seconds: u64, reached: impl Fn(&Self) -> bool) {
        let end = self.now + Duration::from_secs(seconds);
        while !reached(self) {
            assert!(self.now < end, "still {:?} after {seconds} s", self.model());
            self.step();
        }
    }

    pub fn run_to(&mut self, state: State) {
        self.run_until(60, |path| path.state() == state);
    }

    pub fn run_for(&mut self, span: Duration) {
        let end = self.now + span;
        while self.now < end {
            self.step();
        }
    }
}
