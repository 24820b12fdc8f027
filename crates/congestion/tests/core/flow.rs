//! A sender without timers, with whole segments: what a transport tells a congestion control.
//!
//! Segments are delivered in the order in which they were sent, except those that are dropped. A
//! segment is lost when three after it were delivered.

use std::collections::VecDeque;

use congestion::{
    Ack, Algorithm, AnyCongestionControl, BuildContext, Congestion, CongestionControl,
    CongestionKind, Phase, Sent,
};
use units::{Bytes, Duration, Instant, Rate};

/// Segment size.
pub const SMSS: Bytes = Bytes::new(1_000);

/// Builds `name` with `initial_window` segments at time zero.
pub fn build(name: &str, initial_window: u64) -> AnyCongestionControl {
    let algorithm: Algorithm = name.parse().expect("a known algorithm");
    algorithm.build(BuildContext {
        now: Instant::ZERO,
        smss: SMSS,
        initial_window: SMSS * initial_window,
        seed: 1,
        handshake_rtt: None,
    })
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    InFlight,
    Lost,
    Delivered,
}

struct Transmission {
    segment: usize,
    sent: Instant,
    retransmission: bool,
}

/// The sender and the segments on their way.
pub struct Flow {
    pub control: AnyCongestionControl,
    pub now: Instant,
    pub phase: Phase,
    /// Segments that the application still has.
    pub unsent: u64,
    pub cwnd_limited: bool,
    segments: Vec<State>,
    wire: VecDeque<Transmission>,
    una: usize,
    recover: usize,
}

impl Flow {
    pub fn new(name: &str, initial_window: u64) -> Self {
        Self {
            control: build(name, initial_window),
            now: Instant::ZERO,
            phase: Phase::Open,
            unsent: u64::MAX,
            cwnd_limited: true,
            segments: Vec::new(),
            wire: VecDeque::new(),
            una: 0,
            recover: 0,
        }
    }

    /// The window in segments.
    pub fn cwnd(&self) -> u64 {
        self.control.window().cwnd_segments()
    }

    /// The threshold in segments.
    pub fn ssthresh(&self) -> u64 {
        self.control.window().ssthresh.segments(SMSS)
    }

    pub fn in_flight(&self) -> u64 {
        let waiting = self.segments[self.una..].iter();
        waiting.filter(|state| **state == State::InFlight).count() as u64
    }

    /// Segments acknowledged cumulatively.
    pub fn una(&self) -> u64 {
        self.una as u64
    }

    /// Sends what the window allows, lost segments first.
    pub fn send(&mut self) {
        while self.in_flight() < self.cwnd() {
            let lost = self.segments.iter().position(|state| *state == State::Lost);
            let segment = match lost {
                Some(segment) => segment,
                None if self.unsent > 0 => {
                    self.unsent -= 1;
                    self.segments.push(State::Lost);
                    self.segments.len() - 1
                }
                None => break,
            };
            let in_flight = SMSS * self.in_flight();
            self.segments[segment] = State::InFlight;
            self.wire.push_back(Transmission {
                segment,
                sent: self.now,
                retransmission: lost.is_some(),
            });
            self.control.on_sent(&Sent {
                now: self.now,
                size: SMSS,
                in_flight,
                snd_nxt: self.segments.len() as u64 * SMSS.get(),
                retransmission: lost.is_some(),
                idle_since: None,
                app_limited: false,
            });
        }
    }

    /// The next `count` segments on the wire are lost.
    pub fn drop_next(&mut self, count: usize) {
        self.wire.drain(..count);
    }

    /// One ACK for the next `count` segments; sends nothing.
    pub fn acknowledge(&mut self, count: usize) {
        let prior_in_flight = SMSS * self.in_flight();
        let (una, mut latest_rtt) = (self.una, None);
        for _ in 0..count {
            let delivered = self.wire.pop_front().expect("something on its way");
            self.segments[delivered.segment] = State::Delivered;
            if !delivered.retransmission {
                latest_rtt = Some(self.now - delivered.sent);
            }
        }
        while self.segments.get(self.una) == Some(&State::Delivered) {
            self.una += 1;
        }
        let mut ack = Ack {
            now: self.now,
            delivered: SMSS * count as u64,
            newly_lost: Bytes::ZERO,
            prior_in_flight,
            in_flight: SMSS * self.in_flight(),
            snd_una: self.una as u64 * SMSS.get(),
            snd_nxt: self.segments.len() as u64 * SMSS.get(),
            advanced: self.una > una,
            bytes_sent: self.segments.len() as u64 * SMSS.get(),
            latest_rtt,
            srtt: Duration::from_millis(100),
            min_rtt: Duration::from_millis(100),
            rate: None,
            cwnd_limited: self.cwnd_limited,
            app_limited: false,
            phase: self.phase,
            paced: false,
            pacing_rate: Rate::from_bits_per_sec(1_000_000),
        };
        self.control.on_delivery(&ack);
        let lost = self.mark_lost();
        ack.newly_lost = SMSS * lost;
        ack.in_flight = SMSS * self.in_flight();
        if self.phase == Phase::Recovery && self.una >= self.recover {
            self.control.on_recovery_exit(self.now);
            self.phase = Phase::Open;
        } else if lost > 0 && self.phase == Phase::Open {
            self.congestion(CongestionKind::Loss);
            self.phase = Phase::Recovery;
        }
        ack.phase = self.phase;
        self.control.on_ack(&ack);
    }

    /// A congestion episode begins.
    pub fn congestion(&mut self, kind: CongestionKind) {
        self.recover = self.segments.len();
        self.control.on_congestion(&Congestion {
            now: self.now,
            kind,
            phase: self.phase,
            in_flight: SMSS * self.in_flight(),
            snd_nxt: self.recover as u64 * SMSS.get(),
            first_of_window: true,
        });
    }

    /// Everything in flight is lost and the timer expires.
    pub fn timeout(&mut self) {
        self.wire.clear();
        for state in &mut self.segments {
            if *state == State::InFlight {
                *state = State::Lost;
            }
        }
        self.congestion(CongestionKind::Timeout);
        self.phase = Phase::Loss;
    }

    /// The segments on the wire left one after the other over the last `span`, not at once.
    pub fn spread(&mut self, span: Duration) {
        let count = self.wire.len() as u64;
        for (index, transmission) in self.wire.iter_mut().enumerate() {
            transmission.sent = self.now + span.mul_div(index as u64 + 1, count);
        }
    }

    /// ACKs every segment `rtt` after it left, until `end`.
    pub fn clock_until(&mut self, end: Instant, rtt: Duration) {
        while let Some(next) = self
            .wire
            .front()
            .map(|transmission| transmission.sent + rtt)
        {
            if next >= end {
                break;
            }
            self.now = next;
            self.acknowledge(1);
            self.send();
        }
    }

    /// A round trip of `rtt` with one ACK for each `per_ack` segments, spread over it evenly.
    pub fn round(&mut self, rtt: Duration, per_ack: usize) {
        let start = self.now;
        let acks = self.wire.len() / per_ack;
        for ack in 0..acks {
            self.now = start + rtt.mul_div(ack as u64 + 1, acks as u64);
            self.acknowledge(per_ack);
            self.send();
        }
    }

    fn mark_lost(&mut self) -> u64 {
        let on_wire = self
            .wire
            .iter()
            .map(|sent| sent.segment)
            .collect::<Vec<_>>();
        let mut above = 0;
        let mut lost = 0;
        for segment in (self.una..self.segments.len()).rev() {
            match self.segments[segment] {
                State::Delivered => above += 1,
                State::InFlight if above >= 3 && !on_wire.contains(&segment) => {
                    self.segments[segment] = State::Lost;
                    lost += 1;
                }
                _ => {}
            }
        }
        lost
    }
}
