//! The shortcuts compared with the general code: two senders get the same calls on random paths,
//! and one of them takes no shortcut. After each call, all that they hold must be the same.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use congestion::{Algorithm, CongestionControl, PARTS, PartKind, PathMemory};
use proptest::prelude::*;
use testing::random::Random;
use testing::wire::Wire;
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use super::Sender;
use crate::scoreboard::Scoreboard;
use crate::segment::{AckSegment, Burst, DataSegment};
use crate::{AckPolicy, LossDetection, PlainAck, Receiver, ReceiverConfig, SenderConfig, Tick};

impl Sender {
    /// All that it holds, but for what only one of the two senders has on purpose.
    fn state(&self, keeps_samples: bool) -> (String, Scoreboard) {
        let mut copy = self.clone();
        copy.shortcuts = super::Shortcuts::default();
        copy.needs = congestion::Needs::ALL.into();
        copy.full_burst = crate::burst::FullBurst::default();
        if !keeps_samples {
            copy.board.omit_samples();
        }
        copy.board.clear_free_slots();
        let board = core::mem::replace(&mut copy.board, Scoreboard::new(1));
        (format!("{copy:?}"), board)
    }
}

/// A case.
#[derive(Clone, Debug)]
struct Case {
    config: SenderConfig,
    seed: u64,
    /// Whether the sender with shortcuts is asked for bursts.
    takes_bursts: bool,
    policy: AckPolicy,
    receive_buffer: u64,
    /// In thousandths, of either direction.
    loss: u64,
    reorder: u64,
    marks: u64,
    /// Time of a packet on the link, one-way delay, and the packets that the link holds.
    packet_time: Duration,
    delay: Duration,
    buffer: u64,
    /// Bytes of a write, and how often another one follows, in thousandths of the events.
    write: u64,
    writes: u64,
    events: u32,
    /// The other direction carries data too: a passive opener, ACKs that ride on data.
    is_duplex: bool,
}

/// The two senders, and the path behind them.
struct Pair {
    case: Case,
    fast: Sender,
    general: Sender,
    receiver: Receiver,
    random: Random,
    now: Instant,
    free_at: Instant,
    data: Wire<(DataSegment, bool)>,
    acks: Wire<AckSegment>,
    queued: u64,
    /// Bursts of several segments.
    bursts: u32,
    /// ACKs that released nothing.
    held: u32,
}

impl Pair {
    fn new(case: Case, memory: PathMemory) -> Self {
        let mut fast = Sender::new(case.config.clone());
        fast.remember(memory);
        let mut general = fast.clone();
        general.forbid_shortcuts();
        Self {
            receiver: Receiver::new(ReceiverConfig {
                ack_policy: case.policy,
                sack: case.config.sack,
                tick: case.config.tick,
                ..ReceiverConfig::linux(Bytes::new(case.receive_buffer), case.config.smss)
            }),
            random: Random::new(case.seed),
            case,
            fast,
            general,
            now: Instant::ZERO,
            free_at: Instant::ZERO,
            data: Wire::default(),
            acks: Wire::default(),
            queued: 0,
            bursts: 0,
            held: 0,
        }
    }

    /// Calls both senders, and compares what they hold afterwards.
    fn both(&mut self, call: impl Fn(&mut Sender)) {
        call(&mut self.fast);
        call(&mut self.general);
        self.compare();
    }

    fn compare(&self) {
        let keeps_samples = self.fast.board.samples_are_kept();
        let (fast, board) = self.fast.state(keeps_samples);
        let (general, expected) = self.general.state(keeps_samples);
        assert!(board == expected, "the scoreboards of {:?}", self.case);
        if fast != general {
            let same = fast
                .bytes()
                .zip(general.bytes())
                .take_while(|(one, other)| one == other)
                .count();
            let part = |state: &str| String::from_utf8_lossy(around(state, same)).into_owned();
            panic!(
                "at {:?} of {:?}:\n{}\n{}",
                self.now,
                self.case,
                part(&fast),
                part(&general)
            );
        }
        assert_eq!(self.fast.poll_timeout(), self.general.poll_timeout());
        assert!(self.fast.is_consistent());
    }

    /// Sends what may leave, with the answers of routers to requests.
    fn transmit(&mut self) {
        let now = self.now;
        let mut sent = Vec::new();
        let mut expected = Vec::new();
        if self.case.takes_bursts {
            while let Some(burst) = self.fast.poll_burst(now) {
                self.bursts += u32::from(matches!(burst, Burst::Full(_)));
                for segment in burst.segments() {
                    sent.push((segment, self.fast.feedback(now, &segment)));
                }
            }
        } else {
            while let Some(segment) = self.fast.poll_transmit(now) {
                sent.push((segment, self.fast.feedback(now, &segment)));
            }
        }
        while let Some(segment) = self.general.poll_transmit(now) {
            expected.push((segment, self.general.feedback(now, &segment)));
        }
        assert_eq!(sent, expected, "at {now:?} of {:?}", self.case);
        self.compare();
        for (segment, _) in sent {
            self.send(segment);
        }
    }

    fn send(&mut self, segment: DataSegment) {
        if self.case.config.small_queue.is_some() {
            let bytes = u64::from(segment.len) + 52;
            self.queued += bytes;
            self.fast.handle_queued(bytes);
            self.general.handle_queued(bytes);
        }
        let waiting =
            self.free_at.saturating_since(self.now).as_nanos() / self.case.packet_time.as_nanos();
        if self.random.happens(self.case.loss) || waiting > self.case.buffer {
            return;
        }
        self.free_at = self.free_at.max(self.now) + self.case.packet_time;
        let mut at = self.free_at + self.case.delay;
        if self.random.happens(self.case.reorder) {
            at += self.case.packet_time * self.random.below(10);
        }
        let marked = self.case.config.ecn && self.random.happens(self.case.marks);
        self.data.send(at, (segment, marked));
    }

    fn answer(&mut self) {
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            if self.random.happens(self.case.loss / 2) {
                continue;
            }
            let mut at = self.now + self.case.delay;
            if self.random.happens(self.case.reorder / 2) {
                at += self.case.packet_time * self.random.below(10);
            }
            self.acks.send(at, ack);
        }
    }

    /// One event. Returns false if there is none.
    fn step(&mut self) -> bool {
        let timers = [
            self.fast.poll_timeout(),
            self.receiver.poll_timeout(),
            self.data.due(),
            self.acks.due(),
        ];
        let Some(next) = timers.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        let now = self.now;
        if let Some(ack) = self.acks.receive(next) {
            if self.fast.asks_routers() && self.random.happens(900) {
                let feedback = self.feedback(ack.syn);
                self.both(|sender| sender.handle_feedback(now, feedback));
            }
            if self.case.is_duplex && self.random.happens(500) {
                self.both(|sender| sender.handle_ack_with_data(now, &ack));
            } else if self.case.takes_bursts && self.random.happens(800) {
                self.take_in_run(&ack);
            } else {
                self.both(|sender| sender.handle_ack(now, &ack));
            }
            if self.case.is_duplex && self.random.happens(100) {
                let ts_val = crate::rack::timestamp(now);
                self.both(|sender| sender.handle_timestamp(ts_val));
            }
        } else if let Some((segment, marked)) = self.data.receive(next) {
            self.receiver.handle_data(now, &segment, marked);
        } else {
            self.both(|sender| sender.handle_timeout(now));
            self.receiver.handle_timeout(now);
        }
        if self.queued > 0 && self.random.happens(500) {
            let bytes = core::mem::take(&mut self.queued);
            self.both(|sender| sender.handle_transmitted(bytes));
        }
        if self.random.happens(self.case.writes) {
            let bytes = 1 + self.random.below(self.case.write);
            self.fast.write(now, bytes);
            self.general.write(now, bytes);
        }
        self.transmit();
        self.answer();
        true
    }

    /// The fast one takes an ACK and decides what leaves as where several ACKs arrive.
    fn take_in_run(&mut self, ack: &AckSegment) {
        let now = self.now;
        self.general.handle_ack(now, ack);
        let plain = PlainAck::of(ack);
        if !plain.is_some_and(|plain| self.fast.handle_ordinary_ack(now, &plain)) {
            self.fast.handle_ack(now, ack);
        } else if self.fast.begins_burst_after_ack(now) {
            self.transmit();
        } else {
            self.held += 1;
            assert!(self.fast.poll_burst(now).is_none());
            assert!(self.general.poll_transmit(now).is_none());
            self.compare();
        }
    }

    /// An answer of the kind that the algorithm expects.
    fn feedback(&mut self, syn: bool) -> Feedback {
        let rate = Rate::from_bits_per_sec(1_000_000 + self.random.below(100_000_000));
        if self.fast.cc.feedback().is_none() || syn {
            Feedback::XcpEcho { delta: None }
        } else if matches!(self.fast.cc.feedback(), Some(Feedback::Rcp { .. })) {
            Feedback::RcpEcho { rate: Some(rate) }
        } else {
            let delta = self.random.below(2_000_000) as i64 - 500_000;
            Feedback::XcpEcho { delta: Some(delta) }
        }
    }

    fn run(&mut self) {
        let now = self.now;
        let bytes = self.case.write;
        if self.case.is_duplex {
            self.both(|sender| sender.write(now, 1));
            let third = AckSegment {
                window: 65_535,
                ..AckSegment::default()
            };
            let rtt = (self.random.happens(800)).then_some(self.case.delay * 2);
            let retransmitted = self.random.below(3) as u32;
            self.both(|sender| sender.accept(now, &third, rtt, retransmitted));
            if self.random.happens(500) {
                self.both(Sender::send_promptly);
            }
        } else {
            self.both(|sender| sender.open(now));
        }
        self.both(|sender| sender.write(now, bytes));
        self.transmit();
        for _ in 0..self.case.events {
            if !self.step() {
                break;
            }
        }
        self.both(Sender::close);
        self.transmit();
        for _ in 0..self.case.events {
            if !self.step() {
                break;
            }
        }
    }
}

/// The bytes of `state` around `place`.
fn around(state: &str, place: usize) -> &[u8] {
    &state.as_bytes()[place.saturating_sub(200)..(place + 100).min(state.len())]
}

/// Every start-up with CUBIC, every avoidance, every recovery, and every other congestion control.
fn algorithms() -> Vec<Algorithm> {
    let mut names = Vec::new();
    for part in PARTS {
        match part.kind {
            PartKind::Startup => names.push(format!("cubic+{}", part.name)),
            PartKind::Avoidance => {
                names.push(String::from(part.name));
                names.push(format!("{}+hystart", part.name));
            }
            PartKind::Recovery => names.push(format!("reno+standard+{}", part.name)),
            PartKind::Monolithic => names.push(String::from(part.name)),
        }
    }
    for name in [
        "cubic:version=2.1",
        "cubic:rfc9438=true",
        "cubic+search:version=1.0",
        "cubic+search:version=4.0",
        "cubic+hystart:linux=5.16",
        "cubic+hystart:variant=paper",
    ] {
        names.push(String::from(name));
    }
    names
        .iter()
        .filter_map(|name| Algorithm::parse(name).ok())
        .collect()
}

fn config() -> impl Strategy<Value = SenderConfig> {
    let switches = (
        any::<bool>(),
        any::<bool>(),
        prop::bool::weighted(0.9),
        prop::bool::weighted(0.1),
        prop::bool::weighted(0.9),
        prop::option::weighted(0.2, 6_u8..11),
    );
    (
        prop::sample::select(algorithms()),
        prop_oneof![Just(1_000_u32), Just(1_448), 1_u32..9_000],
        prop_oneof![3 => Just(10_u32), 1 => 1_u32..100],
        prop_oneof![1 => Just(1_u32), 3 => Just(45), 1 => 2_u32..20],
        switches,
        any::<u64>(),
    )
        .prop_map(
            |(algorithm, smss, initial_window, tso_segments, switches, seed)| {
                let (pacing, ecn, sack, fack, byte_counting, small_queue) = switches;
                SenderConfig {
                    algorithm,
                    smss,
                    initial_window,
                    pacing,
                    tso_segments,
                    restart_after_idle: seed % 2 == 0,
                    rto_min: Duration::from_millis(200),
                    ecn,
                    sack,
                    impatient: false,
                    small_queue,
                    loss_detection: if fack {
                        LossDetection::Fack
                    } else {
                        LossDetection::Rack
                    },
                    byte_counting,
                    seed,
                    tick: Tick::new(
                        Duration::from_millis([0, 0, 1, 4][seed as usize / 2 % 4]),
                        seed,
                    ),
                }
            },
        )
}

fn case() -> impl Strategy<Value = Case> {
    let faults = (
        prop_oneof![3 => Just(0_u64), 2 => 1_u64..10, 1 => 10_u64..100],
        prop_oneof![3 => Just(0_u64), 1 => 1_u64..100],
        prop_oneof![2 => Just(0_u64), 1 => 1_u64..50],
    );
    let path = (
        prop_oneof![Just(12_u64), Just(240), Just(1_000), 10_u64..2_000],
        prop_oneof![Just(15_000_u64), 100_u64..100_000],
        prop_oneof![Just(20_u64), Just(400)],
        prop_oneof![1 => 3_000_u64..60_000, 3 => Just(6_000_000)],
    );
    let load = (
        prop_oneof![1 => 1_u64..20_000, 2 => Just(100_000), 3 => Just(u64::MAX / 4)],
        prop_oneof![1 => Just(0_u64), 1 => 1_u64..200],
    );
    (
        config(),
        any::<u64>(),
        any::<bool>(),
        prop::bool::weighted(0.2),
        faults,
        path,
        load,
        any::<bool>(),
    )
        .prop_map(
            |(config, seed, takes_bursts, every, faults, path, load, is_duplex)| Case {
                config,
                seed,
                takes_bursts,
                policy: if every {
                    AckPolicy::EverySegment
                } else {
                    AckPolicy::Delayed
                },
                loss: faults.0,
                reorder: faults.1,
                marks: faults.2,
                packet_time: Duration::from_micros(path.0),
                delay: Duration::from_micros(path.1),
                buffer: path.2,
                receive_buffer: path.3,
                write: load.0,
                writes: load.1,
                events: 250,
                is_duplex,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_sender_with_shortcuts_is_the_same_after_each_call(case in case()) {
        let mut pair = Pair::new(case, PathMemory::default());
        pair.run();
    }

    /// Algorithms that remember earlier connections begin from what one of them left.
    #[test]
    fn so_is_one_that_remembers_the_path(
        mut case in case(),
        startup in prop::sample::select(&["stateful", "careful-resume", "jump-start"][..]),
    ) {
        case.config.algorithm = Algorithm::parse(&format!("cubic+{startup}")).unwrap();
        let mut first = Pair::new(case.clone(), PathMemory::default());
        first.run();
        let mut memory = PathMemory::default();
        first.fast.leave_memory(first.now, &mut memory);
        Pair::new(case, memory).run();
    }
}

/// On a path without faults, nearly every ACK and burst takes the shortcut, with any algorithm.
#[test]
fn ordinary_connections_take_the_shortcuts() {
    let mut held = 0;
    for algorithm in algorithms() {
        let config = SenderConfig::linux(algorithm, 1_448);
        let case = Case {
            config,
            seed: 1,
            takes_bursts: true,
            policy: AckPolicy::Delayed,
            receive_buffer: 6_000_000,
            loss: 0,
            reorder: 0,
            marks: 0,
            packet_time: Duration::from_micros(240),
            delay: Duration::from_micros(10_000),
            buffer: 10_000,
            write: u64::MAX / 4,
            writes: 0,
            events: 600,
            is_duplex: false,
        };
        let mut pair = Pair::new(case, PathMemory::default());
        pair.run();
        let Sender { shortcuts, cc, .. } = &pair.fast;
        assert!(shortcuts.acks, "{cc:?}");
        if shortcuts.bursts {
            assert!(pair.bursts > 10, "{} bursts of {cc:?}", pair.bursts);
        }
        held += pair.held;
    }
    assert!(held > 100, "{held} ACKs released nothing");
}
