//! The fast path against the general path: two receivers get the same calls, and give the same
//! answers and are in the same state after each.

use alloc::vec;
use alloc::vec::Vec;

use proptest::prelude::*;
use testing::random::Random;
use units::{Bytes, Duration};

use super::*;
use crate::segment::DataSegment;
use crate::{Autotuning, ReceiverConfig, Tick};

/// One call, or a run of similar ones. Sizes are in full segments, positions relative to `rcv_nxt`.
#[derive(Clone, Debug)]
enum Step {
    /// Full segments in order, spaced by `gap`.
    Run { count: u32, gap: Gap, echo: Echo },
    /// Full segments in order of one train, spaced by `nanos`.
    Train { count: u32, nanos: u64, echo: Echo },
    /// A full segment in order that arrives `nanos` after the fast path ends, or before it.
    Edge { nanos: i64 },
    /// Any segment.
    Segment {
        offset: i64,
        extra: i64,
        len: Len,
        flags: u8,
    },
    /// Full segments behind the highest data received, spaced by `gap`.
    Beyond { count: u32, gap: Gap },
    /// The clock moves on.
    Wait(Gap),
    /// The next timer expires, or [`Receiver::handle_timeout`] is called without need.
    Timeout { early: bool },
    /// Like `Run`, but ACKs are taken after the last segment only.
    Unpolled { count: u32, gap: Gap },
    /// This host sends data, which takes the ACK that waits.
    Reply,
    /// The FIN of this host leaves.
    Close,
    /// The application does not read at once from now on.
    Hold,
    /// It reads up to so many bytes.
    Read(u64),
}

#[derive(Clone, Copy, Debug)]
enum Gap {
    Nanos(u64),
    /// Segments arrive `count` at a time.
    Bursts {
        count: u32,
        nanos: u64,
    },
    /// Any time up to this one.
    Random(u64),
}

#[derive(Clone, Copy, Debug)]
enum Echo {
    /// The last echo again.
    Same,
    /// What the receiver sent this many milliseconds ago.
    Ago(u32),
    /// Any number.
    Any(u32),
}

#[derive(Clone, Copy, Debug)]
enum Len {
    Full,
    Bytes(u32),
    Segments(u32),
}

const FIN: u8 = 1;
const PSH: u8 = 2;
const CWR: u8 = 4;
const CE: u8 = 8;
const SYN: u8 = 16;
const OLD_TIMESTAMP: u8 = 32;

fn gap() -> impl Strategy<Value = Gap> {
    let exact = prop_oneof![
        Just(0_u64),
        Just(1),
        Just(999),
        Just(1_000),
        Just(12_112),
        Just(242_240),
        Just(1_000_000),
        Just(9_999_999),
        Just(19_999_999),
        Just(20_000_000),
        Just(20_000_001),
        Just(30_000_000),
        Just(40_000_000),
    ];
    prop_oneof![
        4 => exact.prop_map(Gap::Nanos),
        3 => (0_u64..2_000_000).prop_map(Gap::Nanos),
        1 => (0_u64..2_000_000_000).prop_map(Gap::Nanos),
        3 => (2_u32..50, 0_u64..20_000_000).prop_map(|(count, nanos)| Gap::Bursts { count, nanos }),
        2 => (1_u64..30_000_000).prop_map(Gap::Random),
    ]
}

fn echo() -> impl Strategy<Value = Echo> {
    prop_oneof![
        2 => Just(Echo::Same),
        6 => (0_u32..700).prop_map(Echo::Ago),
        1 => any::<u32>().prop_map(Echo::Any),
    ]
}

fn len() -> impl Strategy<Value = Len> {
    prop_oneof![
        4 => Just(Len::Full),
        2 => (0_u32..3_000).prop_map(Len::Bytes),
        1 => (2_u32..5).prop_map(Len::Segments),
    ]
}

fn flags() -> impl Strategy<Value = u8> {
    prop_oneof![
        6 => Just(0_u8),
        2 => Just(PSH),
        2 => Just(CWR),
        3 => Just(CE),
        1 => Just(CE | CWR),
        1 => Just(SYN),
        2 => Just(OLD_TIMESTAMP),
        1 => any::<u8>().prop_map(|flags| flags & !FIN),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let segment = |offset: core::ops::Range<i64>| {
        (
            offset,
            prop_oneof![4 => Just(0_i64), 1 => -1_500_i64..1_500],
            len(),
            flags(),
        )
            .prop_map(|(offset, extra, len, flags)| Step::Segment {
                offset,
                extra,
                len,
                flags,
            })
    };
    prop_oneof![
        8 => (1_u32..400, gap(), echo())
            .prop_map(|(count, gap, echo)| Step::Run { count, gap, echo }),
        8 => (1_u32..60, prop_oneof![0_u64..300_000, 0_u64..30_000_000], echo())
            .prop_map(|(count, nanos, echo)| Step::Train { count, nanos, echo }),
        4 => (-2_i64..3).prop_map(|nanos| Step::Edge { nanos }),
        3 => segment(0..1),
        3 => segment(-4..8),
        1 => segment(-100..5_000),
        3 => (1_u32..60, gap()).prop_map(|(count, gap)| Step::Beyond { count, gap }),
        2 => gap().prop_map(Step::Wait),
        3 => any::<bool>().prop_map(|early| Step::Timeout { early }),
        1 => (1_u32..6, gap()).prop_map(|(count, gap)| Step::Unpolled { count, gap }),
    ]
}

/// A step of a connection in which this host may send too.
fn duplex_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        12 => step(),
        4 => Just(Step::Reply),
        1 => Just(Step::Close),
        1 => Just(Step::Hold),
        4 => prop_oneof![0_u64..10_000, Just(u64::MAX)].prop_map(Step::Read),
    ]
}

/// The end of a stream is rare, and may come anywhere.
fn steps() -> impl Strategy<Value = Vec<Step>> {
    let end = prop_oneof![
        3 => Just(None),
        1 => (-3_i64..3, prop_oneof![len(), Just(Len::Bytes(0))])
            .prop_map(|(offset, len)| Some(Step::Segment {
                offset,
                extra: 0,
                len,
                flags: FIN | PSH,
            })),
    ];
    let plain = prop::collection::vec(step(), 1..40);
    let duplex = prop::collection::vec(duplex_step(), 1..40);
    (
        prop_oneof![plain, duplex],
        end,
        any::<prop::sample::Index>(),
    )
        .prop_map(|(mut steps, end, place)| {
            if let Some(end) = end {
                steps.insert(place.index(steps.len()), end);
            }
            steps
        })
}

/// Settings, and the size of a full segment.
fn settings() -> impl Strategy<Value = (ReceiverConfig, u32)> {
    let mss =
        prop_oneof![4 => Just(1448_u32), 1 => 100_u32..600, 1 => Just(8948), 1 => 536_u32..9_000];
    let buffer = prop_oneof![
        2 => 1_u64..20_000,
        2 => 20_000_u64..1_000_000,
        3 => 1_000_000_u64..100_000_000,
        1 => Just(1 << 40),
    ];
    // Windows of whole segments, so that a round ends exactly with a segment.
    let initial = prop_oneof![Just(None), (1_u64..200).prop_map(Some)];
    let autotuning = prop_oneof![
        Just(Autotuning::Current),
        Just(Autotuning::Linux54),
        Just(Autotuning::Linux61),
        Just(Autotuning::Linux66),
        Just(Autotuning::Off),
    ];
    let every = prop::bool::weighted(0.25);
    (mss, buffer, initial, autotuning, every, any::<bool>()).prop_map(
        |(mss, buffer, initial, autotuning, every, sack)| {
            let initial = initial.map_or(65_535, |count| count * u64::from(mss));
            let config = ReceiverConfig {
                receive_buffer: Bytes::new(buffer),
                initial_window: Bytes::new(initial),
                mss,
                merged: mss,
                // Small, so that memory limits the window, or large.
                truesize: [0, 0, 0, 2 * mss, 9 * mss][buffer as usize % 5],
                autotuning,
                ack_policy: if every {
                    AckPolicy::EverySegment
                } else {
                    AckPolicy::Delayed
                },
                sack,
                tick: Tick::new(
                    Duration::from_millis([0, 1, 4, 10][buffer as usize % 4]),
                    buffer,
                ),
            };
            (config, mss)
        },
    )
}

/// The two receivers.
struct Pair {
    fast: Receiver,
    general: Receiver,
    mss: u32,
    now: Instant,
    last_echo: u32,
    /// State of a generator, for choices within a run.
    random: Random,
    /// Segments of runs, and how many of them took the fast path.
    segments: u64,
    taken: u64,
    /// Segments taken two by two.
    pairs: u64,
    /// Segments that prolonged the data beyond a hole.
    prolonged: u64,
}

impl Pair {
    fn new(config: ReceiverConfig, mss: u32, seed: u64) -> Self {
        Self {
            fast: Receiver::new(config),
            general: Receiver::new(config),
            mss,
            now: Instant::from_millis(100),
            last_echo: 0,
            random: Random::new(seed),
            segments: 0,
            taken: 0,
            pairs: 0,
            prolonged: 0,
        }
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Run { count, gap, echo } => {
                for index in 0..count {
                    self.wait(gap, index);
                    self.full(echo);
                    self.poll();
                }
            }
            Step::Train { count, nanos, echo } => self.train(count, nanos, echo),
            Step::Unpolled { count, gap } => {
                for index in 0..count {
                    self.wait(gap, index);
                    self.full(Echo::Same);
                }
                self.poll();
            }
            Step::Edge { nanos } => {
                let edge = self.fast.quiet_until;
                if edge != Instant::MAX {
                    let at = Instant::from_nanos(edge.as_nanos().saturating_add_signed(nanos));
                    self.now = self.now.max(at);
                }
                self.full(Echo::Same);
                self.poll();
            }
            Step::Segment {
                offset,
                extra,
                len,
                flags,
            } => {
                let len = match len {
                    Len::Full => self.mss,
                    Len::Bytes(len) => len,
                    Len::Segments(count) => count * self.mss,
                };
                let position = offset * i64::from(self.mss) + extra;
                let seq = self.fast.rcv_nxt.saturating_add_signed(position);
                self.data(seq, len, flags, self.last_echo);
                self.poll();
            }
            Step::Beyond { count, gap } => self.beyond(count, gap),
            Step::Wait(gap) => self.wait(gap, 0),
            Step::Reply => {
                let ack = self.fast.take_ack(self.now);
                assert_eq!(ack, self.general.take_ack(self.now));
                self.fast.on_data_sent(self.now);
                self.general.on_data_sent(self.now);
                self.compare();
                self.poll();
            }
            Step::Hold => {
                self.fast.hold();
                self.general.hold();
                self.compare();
            }
            Step::Read(bytes) => {
                let read = self.fast.read(self.now, bytes);
                assert_eq!(read, self.general.read(self.now, bytes));
                self.compare();
                self.poll();
            }
            Step::Close => {
                self.fast.on_fin_sent();
                self.general.on_fin_sent();
            }
            Step::Timeout { early } => {
                if let Some(due) = self.fast.poll_timeout().filter(|_| !early) {
                    self.now = self.now.max(due);
                }
                self.fast.handle_timeout(self.now);
                self.general.handle_timeout(self.now);
                self.compare();
                self.poll();
            }
        }
    }

    /// Full segments behind the highest data received, if some lies beyond a hole.
    fn beyond(&mut self, count: u32, gap: Gap) {
        for index in 0..count {
            let Some((_, seq)) = self.fast.beyond.last() else {
                return;
            };
            let segment = self.plain(seq, timestamp(self.now));
            self.general.handle_any_data(self.now, &segment, false);
            let before = self.fast.clone();
            if self
                .fast
                .prolong_beyond(self.now, seq, self.mss, segment.ts_val)
            {
                self.prolonged += 1;
            } else {
                assert_eq!(self.fast, before);
                self.fast.handle_any_data(self.now, &segment, false);
            }
            self.compare();
            self.poll();
            self.wait(gap, index);
        }
    }

    /// The fast one takes two segments together where it can.
    fn train(&mut self, count: u32, nanos: u64, echo: Echo) {
        let pause = Duration::from_nanos(nanos);
        let mut left = count;
        while left > 0 {
            let seq = self.fast.rcv_nxt;
            if left == count {
                self.last_echo = self.echo(echo);
            }
            // What it measures already, the general one measures with the segment.
            let has_begun = self
                .fast
                .begin_full_segment(self.now, seq, self.mss, self.last_echo);
            let pairs = self.fast.expect_pairs(seq, self.mss, self.last_echo);
            let pairs = pairs.filter(|_| has_begun);
            let mut taken = 0;
            while let Some(pairs) = pairs.filter(|_| left > 1) {
                let at = (self.now, self.now + pause);
                let ts_val = timestamp(self.now);
                let before = self.fast.clone();
                let Some(ack) = self.fast.take_pair(&pairs, at, ts_val) else {
                    assert_eq!(self.fast, before);
                    break;
                };
                let (mut seq, mut expected) = (before.rcv_nxt, None);
                for now in [at.0, at.1] {
                    assert_eq!(expected, None);
                    assert!(self.general.poll_timeout().is_none_or(|due| due > now));
                    let segment = self.plain(seq, ts_val);
                    self.general.handle_any_data(now, &segment, false);
                    expected = self.general.poll_ack(now);
                    seq += u64::from(self.mss);
                }
                assert_eq!(Some(ack.into()), expected);
                self.compare();
                self.pairs += 1;
                taken += 1;
                left -= 2;
                self.now = at.1 + pause;
            }
            if taken == 0 {
                let ts_val = timestamp(self.now);
                let segment = self.plain(seq, ts_val);
                self.general.handle_any_data(self.now, &segment, false);
                if has_begun {
                    self.fast.take_full_segment(self.now, self.mss, ts_val);
                } else {
                    self.fast.handle_any_data(self.now, &segment, false);
                }
                self.compare();
                self.poll();
                self.now += pause;
                left -= 1;
            }
        }
    }

    fn wait(&mut self, gap: Gap, index: u32) {
        let nanos = match gap {
            Gap::Nanos(nanos) => nanos,
            Gap::Bursts { count, nanos } if index.is_multiple_of(count) => nanos,
            Gap::Bursts { .. } => 0,
            Gap::Random(most) => self.random.below(most),
        };
        self.now += Duration::from_nanos(nanos);
    }

    fn echo(&self, echo: Echo) -> u32 {
        match echo {
            Echo::Same => self.last_echo,
            Echo::Ago(millis) => timestamp(self.now).saturating_sub(millis),
            Echo::Any(echo) => echo,
        }
    }

    /// A full segment without flags.
    fn plain(&self, seq: u64, ts_val: u32) -> DataSegment {
        DataSegment {
            seq,
            len: self.mss,
            ts_val,
            ts_ecr: self.last_echo,
            syn: false,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: false,
        }
    }

    /// A full segment in order.
    fn full(&mut self, echo: Echo) {
        let echo = self.echo(echo);
        self.segments += 1;
        self.data(self.fast.rcv_nxt, self.mss, 0, echo);
    }

    fn data(&mut self, seq: u64, len: u32, flags: u8, ts_ecr: u32) {
        let is = |flag: u8| flags & flag != 0;
        let now = self.now;
        self.last_echo = ts_ecr;
        let ts_val = timestamp(now) - if is(OLD_TIMESTAMP) { 50 } else { 0 };
        let segment = DataSegment {
            seq,
            len,
            ts_val,
            ts_ecr,
            syn: is(SYN),
            fin: is(FIN),
            psh: is(PSH),
            cwr: is(CWR),
            retransmission: false,
        };
        self.general.handle_any_data(now, &segment, is(CE));
        let before = self.fast.clone();
        if flags & !OLD_TIMESTAMP != 0 {
            self.fast.handle_data(now, &segment, is(CE));
        } else if self.fast.handle_full_segment(now, seq, len, ts_val, ts_ecr) {
            self.taken += 1;
        } else {
            assert_eq!(self.fast, before);
            self.fast.handle_data(now, &segment, false);
        }
        self.compare();
    }

    /// Takes all ACKs.
    fn poll(&mut self) {
        loop {
            assert_eq!(self.fast.has_ack(), self.general.has_ack());
            let expected = self.general.poll_ack(self.now);
            let plain = if self.random.below(8) > 0 {
                self.fast.poll_plain_ack(self.now)
            } else {
                None
            };
            let ack = match plain {
                Some(plain) => Some(plain.into()),
                None => self.fast.poll_ack(self.now),
            };
            assert_eq!(ack, expected);
            self.compare();
            if expected.is_none() {
                break;
            }
        }
    }

    /// Everything but the prediction itself is equal.
    fn compare(&self) {
        assert_eq!(self.fast.poll_timeout(), self.general.poll_timeout());
        let fast = Receiver {
            is_clear: self.general.is_clear,
            quiet_until: self.general.quiet_until,
            ..self.fast.clone()
        };
        assert_eq!(fast, self.general);
    }
}

proptest! {
    // PROPTEST_CASES raises the number.
    #![proptest_config(ProptestConfig::with_cases(8 * ProptestConfig::default().cases))]

    #[test]
    fn the_fast_path_changes_nothing(
        (config, mss) in settings(),
        compression in any::<bool>(),
        steps in steps(),
        seed in any::<u64>(),
        is_duplex in any::<bool>(),
    ) {
        let mut pair = Pair::new(config, mss, seed);
        if is_duplex {
            for receiver in [&mut pair.fast, &mut pair.general] {
                receiver.listen();
                receiver.complete_handshake(pair.now);
            }
        }
        if !compression {
            pair.fast = pair.fast.without_sack_compression();
            pair.general = pair.general.without_sack_compression();
        }
        for step in &steps {
            pair.step(step);
        }
    }
}

/// A transfer in steady state takes the fast path nearly always.
#[test]
fn the_fast_path_is_taken() {
    for autotuning in [
        Autotuning::Current,
        Autotuning::Linux54,
        Autotuning::Linux61,
        Autotuning::Linux66,
        Autotuning::Off,
    ] {
        for ack_policy in [AckPolicy::Delayed, AckPolicy::EverySegment] {
            let config = ReceiverConfig {
                receive_buffer: Bytes::new(6 << 20),
                initial_window: Bytes::new(65_535),
                mss: 1448,
                merged: 1448,
                truesize: 0,
                autotuning,
                ack_policy,
                sack: true,
                tick: Tick::NONE,
            };
            let mut pair = Pair::new(config, 1448, 0);
            pair.step(&Step::Run {
                count: 10_000,
                gap: Gap::Nanos(242_240),
                echo: Echo::Ago(100),
            });
            let percent = pair.taken * 100 / pair.segments;
            assert!(percent >= 99, "{percent} % with {config:?}");
            if ack_policy == AckPolicy::Delayed {
                pair.step(&Step::Train {
                    count: 1_000,
                    nanos: 242_240,
                    echo: Echo::Ago(100),
                });
                assert!(pair.pairs >= 400, "{} pairs with {config:?}", pair.pairs);
            }
            pair.step(&Step::Segment {
                offset: 3,
                extra: 0,
                len: Len::Full,
                flags: 0,
            });
            pair.step(&Step::Beyond {
                count: 100,
                gap: Gap::Nanos(242_240),
            });
            assert_eq!(pair.prolonged, 100, "{config:?}");
        }
    }
}
