//! Random operations on every algorithm: what must hold whatever the network does.

use congestion::rate_sample::{Newest, RateEstimator, SendStamp};
use congestion::{
    Ack, AnyCongestionControl, Congestion, CongestionControl, CongestionKind, Lost, PARTS,
    PartKind, Phase, Sent,
};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rate};

use crate::flow::{SMSS, build};
use crate::names::is_refused;

#[derive(Clone, Copy, Debug)]
enum Operation {
    Send(u64),
    Ack { segments: u64, advanced: bool },
    Lose(u64),
    Timeout,
    Undo,
    Idle(Duration),
    Ecn,
    Unused(u64),
    Wait(Duration),
}

fn operation() -> impl Strategy<Value = Operation> {
    let span = || (0u64..3_000_000_000).prop_map(Duration::from_nanos);
    prop_oneof![
        8 => (1u64..100).prop_map(Operation::Send),
        12 => (1u64..50, prop::bool::weighted(0.8))
            .prop_map(|(segments, advanced)| Operation::Ack { segments, advanced }),
        2 => (1u64..20).prop_map(Operation::Lose),
        1 => Just(Operation::Timeout),
        1 => Just(Operation::Undo),
        1 => span().prop_map(Operation::Idle),
        1 => Just(Operation::Ecn),
        1 => (0u64..100).prop_map(Operation::Unused),
        8 => span().prop_map(|span| Operation::Wait(span / 20)),
    ]
}

/// A transport that is only as right as it needs to be.
struct Transport {
    control: AnyCongestionControl,
    rate: RateEstimator,
    flight: Vec<(Instant, SendStamp)>,
    now: Instant,
    phase: Phase,
    last_sent: Instant,
    snd_una: u64,
    snd_nxt: u64,
    lost: Bytes,
}

impl Transport {
    fn in_flight(&self) -> Bytes {
        SMSS * self.flight.len() as u64
    }

    fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Send(segments) => self.send(segments),
            Operation::Ack { segments, advanced } => self.ack(segments, Bytes::ZERO, advanced),
            Operation::Lose(segments) => {
                let lost = (segments as usize).min(self.flight.len().saturating_sub(1));
                let tx_in_flight = self.in_flight();
                let delivered = self.rate.delivered();
                for (nth, (_, stamp)) in self.flight.drain(..lost).enumerate() {
                    self.control.on_lost(&Lost {
                        now: self.now,
                        size: SMSS,
                        seq: self.snd_una + SMSS.get() * 2 * nth as u64,
                        end: self.snd_una + SMSS.get() * (2 * nth as u64 + 1),
                        delivered,
                        tx_in_flight,
                        lost: SMSS * (nth as u64 + 1),
                        app_limited: stamp.app_limited,
                    });
                }
                let newly_lost = SMSS * lost as u64;
                self.lost += newly_lost;
                self.ack(1, newly_lost, false);
            }
            Operation::Timeout => {
                self.lost += self.in_flight();
                self.flight.clear();
                self.congestion(CongestionKind::Timeout, self.phase != Phase::Recovery);
                self.phase = Phase::Loss;
            }
            Operation::Undo => {
                if self.phase != Phase::Open {
                    self.control.undo(self.now);
                    self.phase = Phase::Open;
                }
            }
            Operation::Idle(span) => {
                self.ack(self.flight.len() as u64, Bytes::ZERO, true);
                self.flight.clear();
                self.now += span;
                let rto = Duration::from_millis(300);
                if span > rto {
                    let initial = SMSS * 10;
                    self.control
                        .on_idle_restart(self.now, span, rto, initial, self.snd_nxt);
                }
            }
            Operation::Ecn => {
                if self.phase == Phase::Open {
                    self.congestion(CongestionKind::Ecn, true);
                    self.phase = Phase::Cwr;
                }
            }
            Operation::Unused(segments) => {
                self.control
                    .on_window_unused(self.now, SMSS * segments, SMSS * 10);
            }
            Operation::Wait(span) => self.now += span,
        }
    }

    fn send(&mut self, segments: u64) {
        for _ in 0..segments {
            let window = self.control.window();
            if self.in_flight() >= window.cwnd || self.flight.len() >= 5_000 {
                break;
            }
            self.snd_nxt += SMSS.get();
            let idle = self.flight.is_empty();
            self.control.on_sent(&Sent {
                now: self.now,
                size: SMSS,
                in_flight: self.in_flight(),
                snd_nxt: self.snd_nxt,
                retransmission: self.phase == Phase::Recovery,
                idle_since: idle.then_some(self.last_sent),
                app_limited: idle,
            });
            self.flight
                .push((self.now, self.rate.on_sent(self.now, idle)));
            self.last_sent = self.now;
        }
    }

    fn ack(&mut self, segments: u64, newly_lost: Bytes, advanced: bool) {
        let prior_in_flight = self.in_flight();
        let segments = (segments as usize).min(self.flight.len());
        let newest = self.flight.drain(..segments).next_back();
        let delivered = SMSS * segments as u64;
        self.rate.on_delivered(self.now, delivered);
        self.snd_una += if advanced { delivered.get() } else { 0 };
        let latest_rtt = newest.map(|(sent, _)| self.now - sent);
        let newest = newest.map(|(sent, stamp)| Newest {
            stamp,
            sent,
            tx_in_flight: prior_in_flight,
            lost: self.lost,
        });
        let min_rtt = Duration::from_millis(1);
        let mut ack = Ack {
            now: self.now,
            delivered,
            newly_lost: Bytes::ZERO,
            prior_in_flight,
            in_flight: self.in_flight(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            advanced: advanced && segments > 0,
            bytes_sent: self.snd_nxt,
            latest_rtt,
            srtt: latest_rtt.unwrap_or(min_rtt),
            min_rtt,
            rate: None,
            cwnd_limited: !segments.is_multiple_of(3),
            app_limited: false,
            phase: self.phase,
            paced: false,
            pacing_rate: Rate::from_bits_per_sec(10_000_000),
        };
        if segments > 0 {
            self.control.on_delivery(&ack);
        }
        ack.newly_lost = newly_lost;
        if !newly_lost.is_zero() && matches!(self.phase, Phase::Open | Phase::Cwr) {
            self.congestion(CongestionKind::Loss, true);
            self.phase = Phase::Recovery;
        } else if advanced && self.phase != Phase::Open && segments > 10 {
            if self.phase.is_reducing() {
                self.control.on_recovery_exit(self.now);
            }
            self.phase = Phase::Open;
        }
        ack.phase = self.phase;
        ack.rate = self
            .rate
            .sample(self.now, newest, min_rtt, self.lost, segments == 1);
        self.control.on_ack(&ack);
    }

    fn congestion(&mut self, kind: CongestionKind, first_of_window: bool) {
        self.control.on_congestion(&Congestion {
            now: self.now,
            kind,
            phase: self.phase,
            in_flight: self.in_flight(),
            snd_nxt: self.snd_nxt,
            first_of_window,
        });
        let ssthresh = self.control.window().ssthresh;
        assert!(
            ssthresh >= SMSS * 2,
            "a threshold of {ssthresh:?} after {kind:?}"
        );
    }

    fn check(&self) {
        let window = self.control.window();
        assert!(window.cwnd >= SMSS, "a window of {:?}", window.cwnd);
        assert_eq!(window.cwnd.get() % SMSS.get(), 0, "{:?}", window.cwnd);
        assert!(
            window.cwnd < SMSS * 1_000_000,
            "a window of {:?}",
            window.cwnd
        );
        assert!(window.ssthresh == Bytes::MAX || window.ssthresh.get().is_multiple_of(SMSS.get()));
        if self.control.requires_pacing() {
            assert!(
                self.control
                    .pacing_rate()
                    .is_some_and(|rate| rate < Rate::MAX)
            );
        }
        if let Some(exit) = self.control.slow_start_exit() {
            assert!(exit.at <= self.now && exit.cwnd >= SMSS);
        }
    }
}

/// Every avoidance with every start-up, every recovery, and every monolithic congestion control.
fn all() -> Vec<String> {
    let named = |kind| {
        let parts = PARTS.iter().filter(move |part| part.kind == kind);
        parts.map(|part| part.name)
    };
    let avoidances = named(PartKind::Avoidance);
    let pairs = avoidances
        .chain(["cubic:rfc9438=true", "fast:personalised=true"])
        .flat_map(|avoidance| {
            named(PartKind::Startup).map(move |startup| format!("{avoidance}+{startup}"))
        });
    let recoveries = named(PartKind::Recovery)
        .chain(["prr:rfc=9937"])
        .flat_map(|recovery| {
            ["cubic+hystart", "reno+standard"].map(|pair| format!("{pair}+{recovery}"))
        });
    pairs
        .filter(|pair| !is_refused(pair))
        .chain(recoveries)
        .chain(named(PartKind::Monolithic).map(str::to_owned))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(48) })]

    #[test]
    fn whatever_happens(operations in prop::collection::vec(operation(), 1..300)) {
        for name in all() {
            let mut transport = Transport {
                control: build(&name, 10),
                rate: RateEstimator::default(),
                flight: Vec::new(),
                now: Instant::from_millis(1),
                phase: Phase::Open,
                last_sent: Instant::ZERO,
                snd_una: 0,
                snd_nxt: 0,
                lost: Bytes::ZERO,
            };
            for &operation in &operations {
                transport.apply(operation);
                transport.check();
            }
        }
    }
}
