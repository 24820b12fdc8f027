//! A transport for tests that calls every hook of a congestion control. A test beside the lists of
//! hooks (`src/parts/tests.rs`) includes this file and checks that it does.

use std::vec::Vec;

use congestion::rate_sample::{Newest, RateEstimator, SendStamp};
use congestion::{
    Ack, Congestion, CongestionControl, CongestionKind, Established, KnownPath, Lost, PathMemory,
    Phase, Sent,
};
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

/// Segment size.
const SMSS: Bytes = Bytes::new(1_000);
/// The smallest RTT that an ACK reports.
const LEAST_RTT: Duration = Duration::from_millis(1);

/// What an oracle knows.
const KNOWN_PATH: KnownPath = KnownPath {
    rate: Rate::from_bits_per_sec(4_000_000),
    base_rtt: Duration::from_millis(100),
    queue_delay: Duration::ZERO,
    busy_for: Duration::ZERO,
};

#[derive(Clone, Copy, Debug)]
pub enum Operation {
    /// So many segments, as far as the window allows.
    Send(u64),
    /// So many are delivered.
    Ack { segments: u64, advanced: bool },
    /// The first so many are lost.
    Lose(u64),
    /// The retransmission timer expires.
    Timeout,
    /// The last reduction was a mistake.
    Undo,
    /// All is acknowledged, and the application pauses.
    Idle(Duration),
    /// A packet was marked.
    Ecn,
    /// The application used so much of the window.
    Unused(u64),
    /// A full segment now carries this many bytes.
    Mtu(u64),
    /// Time passes.
    Wait(Duration),
}

/// A transport that is only as right as it needs to be.
pub struct Transport<C> {
    pub control: C,
    smss: Bytes,
    /// The smallest that it was: slow start may have ended then.
    least_smss: Bytes,
    is_steered: bool,
    watches_losses: bool,
    reads_marks: bool,
    /// Whether the next ACK reports a mark.
    is_marked: bool,
    rate: RateEstimator,
    flight: Vec<(Instant, SendStamp)>,
    pub now: Instant,
    phase: Phase,
    last_sent: Instant,
    snd_una: u64,
    snd_nxt: u64,
    lost: Bytes,
    srtt: Duration,
    min_rtt: Duration,
}

impl<C: CongestionControl> Transport<C> {
    /// A connection that is established, whose routers approved a rate where one was asked for.
    pub fn new(mut control: C) -> Self {
        let now = Instant::from_millis(1);
        let rtt = Duration::from_millis(100);
        control.on_established(&Established {
            now,
            rtt: Some(rtt),
            queued: Bytes::MAX,
            receive_window: SMSS * 1_000,
            memory: PathMemory::default(),
        });
        if let Some(rate) = control.requested_rate(Bytes::MAX) {
            control.on_approval(now, rate.min(Rate::from_bits_per_sec(10_000_000)), rtt);
        }
        if control.knows_path() {
            control.on_path(now, &KNOWN_PATH);
        }
        // Constant, and a matter of the receiver, which is not here.
        let _ = control.thins_acks();
        let is_steered = control.steers_sending();
        let watches_losses = control.watches_losses();
        let reads_marks = control.reads_marks();
        Self {
            control,
            smss: SMSS,
            least_smss: SMSS,
            is_steered,
            watches_losses,
            reads_marks,
            is_marked: false,
            rate: RateEstimator::default(),
            flight: Vec::new(),
            now,
            phase: Phase::Open,
            last_sent: Instant::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            lost: Bytes::ZERO,
            srtt: rtt,
            min_rtt: rtt,
        }
    }

    /// Reads all that a transport reads before it sends.
    fn read_all(&mut self) {
        let window = self.control.window();
        if self.is_steered
            && let Some(supposed) = self.control.supposed_receive_window()
        {
            assert!(supposed >= window.smss, "{supposed:?}");
        }
        assert!(self.control.least_burst_segments() > 0);
        let paces = self.control.requires_pacing();
        assert!(!paces || self.control.pacing_rate().is_some());
        let needs = self.control.needs();
        let has_pace =
            self.control.pacing_rate().is_some() || self.control.pacing_start().is_some();
        assert!(needs.pacing || !paces && !has_pace);
        assert!(needs.copies || !self.control.sends_copies());
        // Each of these is a fact about the algorithm that the transport reads as it is.
        let _ = (
            self.control.pacing_start(),
            self.control.sends_copies(),
            self.control.paces_first_segments(),
            self.control.reduces_by_deliveries(),
            self.control.slow_start_exit(),
            self.control.passive_decision(),
            self.control.resumption(),
        );
    }

    /// What a packet carries for the routers comes back as they wrote it.
    fn exchange_feedback(&mut self) {
        if self.control.header_bytes().is_none() {
            return;
        }
        let answer = match self.control.feedback() {
            Some(Feedback::Xcp { .. }) => Feedback::XcpEcho {
                delta: Some(10_000),
            },
            _ => Feedback::RcpEcho {
                rate: Some(Rate::from_bits_per_sec(10_000_000)),
            },
        };
        self.control.on_feedback(self.now, &answer);
    }

    /// The connection is over.
    pub fn close(&self) {
        self.control.on_close(self.now, &mut PathMemory::default());
    }

    pub fn in_flight(&self) -> Bytes {
        self.smss * self.flight.len() as u64
    }

    /// One thing that happens.
    pub fn apply(&mut self, operation: Operation) {
        match operation {
            Operation::Send(segments) => self.send(segments),
            Operation::Ack { segments, advanced } => self.ack(segments, Bytes::ZERO, advanced),
            Operation::Lose(segments) => {
                let lost = (segments as usize).min(self.flight.len().saturating_sub(1));
                let tx_in_flight = self.in_flight();
                let delivered = self.rate.delivered();
                for (nth, (_, stamp)) in self.flight.drain(..lost).enumerate() {
                    if !self.watches_losses {
                        continue;
                    }
                    self.control.on_lost(&Lost {
                        now: self.now,
                        size: self.smss,
                        seq: self.snd_una + self.smss.get() * 2 * nth as u64,
                        end: self.snd_una + self.smss.get() * (2 * nth as u64 + 1),
                        delivered,
                        tx_in_flight,
                        lost: self.smss * (nth as u64 + 1),
                        app_limited: stamp.app_limited,
                    });
                }
                let newly_lost = self.smss * lost as u64;
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
                    let initial = self.smss * 10;
                    self.control
                        .on_idle_restart(self.now, span, rto, initial, self.snd_nxt);
                }
            }
            Operation::Ecn if self.reads_marks => self.is_marked = true,
            Operation::Ecn => {
                if self.phase == Phase::Open {
                    self.congestion(CongestionKind::Ecn, true);
                    self.phase = Phase::Cwr;
                }
            }
            Operation::Unused(segments) => {
                self.control
                    .on_window_unused(self.now, self.smss * segments, self.smss * 10);
            }
            Operation::Mtu(smss) => {
                self.smss = Bytes::new(smss);
                self.least_smss = self.least_smss.min(self.smss);
                self.control.on_mtu(self.now, self.smss);
            }
            Operation::Wait(span) => self.now += span,
        }
    }

    fn send(&mut self, segments: u64) {
        self.read_all();
        for segment in 0..segments {
            let window = self.control.window();
            if self.in_flight() >= window.cwnd || self.flight.len() >= 5_000 {
                break;
            }
            self.snd_nxt += self.smss.get();
            let idle = self.flight.is_empty();
            let sent = Sent {
                now: self.now,
                size: self.smss,
                in_flight: self.in_flight(),
                snd_nxt: self.snd_nxt,
                retransmission: self.phase == Phase::Recovery,
                idle_since: idle.then_some(self.last_sent),
                app_limited: idle,
            };
            if segment % 2 == 0 {
                self.control.on_sent(&sent);
            } else {
                self.control.on_sent_burst(&sent, 1);
            }
            self.flight
                .push((self.now, self.rate.on_sent(self.now, idle)));
            self.last_sent = self.now;
        }
    }

    fn ack(&mut self, segments: u64, newly_lost: Bytes, advanced: bool) {
        let prior_in_flight = self.in_flight();
        let segments = (segments as usize).min(self.flight.len());
        let newest = self.flight.drain(..segments).next_back();
        let delivered = self.smss * segments as u64;
        self.rate.on_delivered(self.now, delivered);
        self.snd_una += if advanced { delivered.get() } else { 0 };
        let latest_rtt = newest.map(|(sent, _)| self.now - sent);
        let newest = newest.map(|(sent, stamp)| Newest {
            stamp,
            sent,
            tx_in_flight: prior_in_flight,
            lost: self.lost,
        });
        if let Some(rtt) = latest_rtt {
            self.srtt = self.srtt.mul_div(7, 8) + rtt / 8;
            self.min_rtt = self.min_rtt.min(rtt).max(LEAST_RTT);
        }
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
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            rate: None,
            cwnd_limited: !segments.is_multiple_of(3),
            app_limited: false,
            phase: self.phase,
            paced: self.control.requires_pacing(),
            pacing_rate: self
                .control
                .pacing_rate()
                .unwrap_or(Rate::from_bits_per_sec(10_000_000)),
        };
        self.exchange_feedback();
        if segments > 0 {
            let before = self.control.window();
            self.control.on_delivery(&ack);
            assert!(before.in_slow_start() || self.control.window() == before);
        }
        if self.reads_marks {
            let marked = std::mem::take(&mut self.is_marked);
            let marked = if marked { self.smss } else { Bytes::ZERO };
            self.control.on_marks(marked.min(delivered));
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
            .sample(self.now, newest, self.min_rtt, self.lost, !advanced);
        self.control.on_ack(&ack);
        if self.control.knows_path() {
            self.control.on_path(self.now, &KNOWN_PATH);
        }
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
            ssthresh >= self.smss * 2,
            "a threshold of {ssthresh:?} after {kind:?}"
        );
    }

    /// What must hold at any time.
    pub fn check(&self) {
        let window = self.control.window();
        assert!(window.cwnd >= self.smss, "a window of {:?}", window.cwnd);
        assert_eq!(window.cwnd.get() % self.smss.get(), 0, "{:?}", window.cwnd);
        assert!(
            window.cwnd < self.smss * 1_000_000,
            "a window of {:?}",
            window.cwnd
        );
        assert!(
            window.ssthresh == Bytes::MAX || window.ssthresh.get().is_multiple_of(self.smss.get())
        );
        if self.control.requires_pacing() {
            assert!(
                self.control
                    .pacing_rate()
                    .is_some_and(|rate| rate < Rate::MAX)
            );
        }
        if let Some(exit) = self.control.slow_start_exit() {
            assert!(exit.at <= self.now && exit.cwnd >= self.least_smss);
        }
    }
}
