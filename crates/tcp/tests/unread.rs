//! A receiver whose application reads late: the window, its updates, and a sender that faces a
//! window of zero.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

use congestion::Algorithm;
use proptest::prelude::*;
use tcp::segment::{AckSegment, DataSegment};
use tcp::{Autotuning, Receiver, ReceiverConfig, Sender, SenderConfig};
use testing::random::Random;
use testing::wire::Wire;
use units::{Bytes, Duration, Instant};

const MSS: u64 = 1448;

fn sender_config(algorithm: &str) -> SenderConfig {
    SenderConfig::linux(Algorithm::parse(algorithm).unwrap(), MSS as u32)
}

/// A receive buffer of fixed size.
fn receiver_config(buffer: u64, autotuning: Autotuning) -> ReceiverConfig {
    ReceiverConfig {
        autotuning,
        ..ReceiverConfig::linux(Bytes::new(buffer), MSS as u32)
    }
}

const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// Full segment `number`, from one.
fn full(number: u64) -> DataSegment {
    DataSegment {
        seq: (number - 1) * MSS,
        len: MSS as u32,
        ts_val: 1,
        ts_ecr: 0,
        syn: false,
        fin: false,
        psh: false,
        cwr: false,
        retransmission: false,
    }
}

/// The ACKs that leave now: segments acknowledged, and the window in segments.
fn acks(receiver: &mut Receiver, now: Instant) -> Vec<(u64, u64)> {
    std::iter::from_fn(|| receiver.poll_ack(now))
        .map(|ack| (ack.ack / MSS, u64::from(ack.window) / MSS))
        .collect()
}

/// A buffer of ten segments that has filled up; the last ACK closed the window.
fn filled() -> Receiver {
    let mut receiver = Receiver::new(receiver_config(10 * MSS, Autotuning::Off));
    receiver.hold();
    for number in 1..=10 {
        receiver.handle_data(ms(100), &full(number), false);
        let expected = match number {
            // Quick ACKs for half of the window.
            1..=5 => vec![(number, 10 - number)],
            // The ACK would reduce the window, so it waits for the timer or a read.
            _ => vec![],
        };
        assert_eq!(acks(&mut receiver, ms(100)), expected, "segment {number}");
    }
    assert_eq!(receiver.poll_timeout(), Some(ms(140)));
    receiver.handle_timeout(ms(140));
    assert_eq!(acks(&mut receiver, ms(140)), [(10, 0)]);
    assert_eq!(receiver.delivered(), Bytes::ZERO);
    assert_eq!(receiver.received(), Bytes::new(10 * MSS));
    receiver
}

#[test]
fn unread_data_closes_the_window_and_reading_opens_it() {
    let mut receiver = filled();
    // Less than a segment is free: the window stays closed.
    assert_eq!(receiver.read(ms(200), MSS - 1), Bytes::new(MSS - 1));
    assert_eq!(acks(&mut receiver, ms(200)), []);
    receiver.read(ms(210), 1);
    assert_eq!(acks(&mut receiver, ms(210)), [(10, 1)]);
    // Each further update at least doubles the window.
    receiver.read(ms(220), MSS);
    assert_eq!(acks(&mut receiver, ms(220)), [(10, 2)]);
    receiver.read(ms(230), MSS);
    assert_eq!(acks(&mut receiver, ms(230)), []);
    receiver.read(ms(240), MSS);
    assert_eq!(acks(&mut receiver, ms(240)), [(10, 4)]);
    receiver.read(ms(250), 4 * MSS);
    assert_eq!(acks(&mut receiver, ms(250)), [(10, 8)]);
    // More than half of the buffer is advertised: no update.
    assert_eq!(receiver.read(ms(260), u64::MAX), Bytes::new(2 * MSS));
    assert_eq!(acks(&mut receiver, ms(260)), []);
    assert_eq!(receiver.read(ms(260), 1), Bytes::ZERO);
    assert_eq!(receiver.delivered(), Bytes::new(10 * MSS));
}

#[test]
fn a_full_buffer_drops_data_and_answers_probes() {
    let mut receiver = filled();
    receiver.handle_data(ms(200), &full(11), false);
    assert_eq!(acks(&mut receiver, ms(200)), [(10, 0)]);
    assert_eq!(receiver.stats().out_of_window, 1);
    let probe = DataSegment { len: 0, ..full(11) };
    receiver.handle_data(ms(300), &probe, false);
    assert_eq!(acks(&mut receiver, ms(300)), [(10, 0)]);
    assert_eq!(receiver.received(), Bytes::new(10 * MSS));
}

#[test]
fn a_read_acknowledges_what_waits() {
    let mut receiver = filled();
    receiver.read(ms(200), 4 * MSS);
    assert_eq!(acks(&mut receiver, ms(200)), [(10, 4)]);
    for number in 11..=13 {
        receiver.handle_data(ms(210), &full(number), false);
    }
    assert_eq!(acks(&mut receiver, ms(210)), []);
    // More than one segment waits for its ACK, and any read sends it.
    receiver.read(ms(220), 1);
    assert_eq!(acks(&mut receiver, ms(220)), [(13, 1)]);
}

#[test]
fn a_stream_ends_for_the_application_when_it_has_read_all() {
    for bare in [false, true] {
        let mut receiver = Receiver::new(receiver_config(10 * MSS, Autotuning::Off));
        receiver.hold();
        let last = DataSegment {
            fin: !bare,
            ..full(1)
        };
        receiver.handle_data(ms(100), &last, false);
        if bare {
            let fin = DataSegment {
                len: 0,
                fin: true,
                ..full(2)
            };
            receiver.handle_data(ms(110), &fin, false);
        }
        assert_eq!(receiver.finished_at(), None);
        assert_eq!(receiver.received(), Bytes::new(MSS));
        receiver.read(ms(200), 1_000);
        assert_eq!(receiver.finished_at(), None);
        receiver.read(ms(300), 1_000);
        assert_eq!(receiver.finished_at(), Some(ms(300)));
        assert_eq!(receiver.delivered(), Bytes::new(MSS));
    }
}

/// A sender and a receiver on a path, and an application that reads now and then.
struct Path {
    sender: Sender,
    receiver: Receiver,
    now: Instant,
    delay: Duration,
    random: Random,
    /// In thousandths.
    loss: u64,
    packets: Wire<(Option<DataSegment>, Option<AckSegment>)>,
    reads_at: Instant,
    /// The most that a read takes, and the longest time between reads.
    most: u64,
    pause: Duration,
    /// Reads since the last segment arrived.
    idle_reads: u32,
    /// The highest right edge of the window, which no ACK may retract.
    edge: u64,
    /// ACKs sent, the largest space of the buffer, and what of it a full segment takes.
    acks: u64,
    space: u64,
    worth: u64,
}

impl Path {
    fn put(&mut self, packet: (Option<DataSegment>, Option<AckSegment>)) {
        if self.random.below(1_000) >= self.loss {
            self.packets.send(self.now + self.delay, packet);
        }
    }

    fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.put((Some(segment), None));
        }
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            let edge = ack.ack + u64::from(ack.window);
            assert!(ack.syn || edge >= self.edge, "the right edge moves left");
            self.edge = edge;
            self.acks += 1;
            self.put((None, Some(ack)));
        }
        self.space = self.space.max(self.receiver.buffer_space().get());
        let (read, received) = (self.receiver.delivered(), self.receiver.received());
        // One more for the FIN.
        assert!(received.get() <= self.edge + 1, "data beyond the window");
        // A packet of 2,304 bytes of memory holds at most 1,612 bytes of payload: a full segment, and
        // small ones that are copied behind it. Each ACK may round the edge up.
        let unit = 1 << self.receiver.window_shift();
        let most = self.space * 1_612 / self.worth + self.acks * (unit - 1);
        assert!(
            self.edge <= read.get() + most + 1,
            "the window exceeds the buffer"
        );
        assert!(self.sender.is_consistent());
    }

    /// Whether the application reads, also where it finds nothing. After many reads of nothing it waits for
    /// a segment: window probes are up to two minutes apart.
    fn reads(&self) -> bool {
        let waits = self.receiver.received() > self.receiver.delivered();
        self.receiver.finished_at().is_none() && (waits || self.idle_reads < 1_000)
    }

    fn step(&mut self) -> bool {
        let next = [
            self.sender.poll_timeout(),
            self.receiver.poll_timeout(),
            self.packets.due(),
            Some(self.reads_at).filter(|_| self.reads()),
        ];
        let Some(next) = next.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        let now = self.now;
        if let Some(packet) = self.packets.receive(now) {
            match packet {
                (Some(data), _) => {
                    self.idle_reads = 0;
                    self.receiver.handle_data(now, &data, false);
                }
                (_, Some(ack)) => self.sender.handle_ack(now, &ack),
                _ => {}
            }
        } else {
            if self.reads_at <= now && self.reads() {
                self.idle_reads += 1;
                let bytes = 1 + self.random.below(self.most);
                self.receiver.read(now, bytes);
                let pause = self.random.below(self.pause.as_micros()) + 100;
                self.reads_at = now + Duration::from_micros(pause);
            }
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
        }
        self.transmit();
        true
    }
}

fn path(config: SenderConfig, receiver: ReceiverConfig) -> Path {
    // 160 or 128 of 256 bytes of memory are window.
    let worth = match receiver.autotuning {
        Autotuning::Linux54 | Autotuning::Linux61 => 1_152,
        _ => 1_440,
    };
    let mut receiver = Receiver::new(receiver);
    receiver.hold();
    Path {
        sender: Sender::new(config),
        receiver,
        now: Instant::ZERO,
        delay: Duration::from_millis(50),
        random: Random::new(1),
        loss: 0,
        packets: Wire::default(),
        reads_at: Instant::ZERO,
        most: u64::MAX,
        pause: Duration::ZERO,
        idle_reads: 0,
        edge: 0,
        acks: 0,
        space: 0,
        worth,
    }
}

#[test]
fn a_sender_probes_a_closed_window_and_resumes() {
    let mut path = path(
        sender_config("cubic"),
        receiver_config(10 * MSS, Autotuning::Off),
    );
    // Ten segments fill the buffer; the application reads after 10 s.
    path.reads_at = ms(10_000);
    path.sender.open(ms(0));
    path.sender.write(ms(0), 30 * MSS);
    path.sender.close();
    path.transmit();
    let mut probes = Vec::new();
    while path.now < ms(9_999) && path.step() {
        if path.sender.stats().window_probes > probes.len() as u64 {
            probes.push(path.now.as_millis());
        }
    }
    assert_eq!(path.receiver.received(), Bytes::new(10 * MSS));
    assert_eq!(path.sender.snd_nxt(), 10 * MSS);
    assert_eq!(path.sender.segments_out(), 0);
    // Four fifths of the buffer, eight segments, are offered at first, and the first ACKs offer the
    // rest. The ACK of segments 5 to 8 waits 40 ms for the timer, that of the last two 60 ms (half
    // of the doubled ATO, and 20 ms), and closes the window at 360 ms. The samples of 140 and 160 ms
    // raise the smoothed RTT to 111.875 ms, and the RTO to 311.875 ms. The first probe waits one
    // RTO, and each later one twice as long, counted from the answer after 100 ms.
    assert_eq!(path.sender.rto(), Duration::from_micros(311_875));
    assert_eq!(probes, [671, 1_395, 2_743, 5_338]);
    while !path.sender.is_complete() {
        assert!(path.step());
    }
    assert!(path.now < ms(11_000), "{:?}", path.now);
    assert_eq!(path.sender.stats().segments_retransmitted, 0);
    assert_eq!(path.receiver.stats().out_of_window, 0);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    /// Whatever the application reads and the path loses: the window never shrinks, the buffer
    /// never overflows, and everything arrives.
    #[test]
    fn every_transfer_to_a_slow_reader_ends(
        algorithm in prop::sample::select(&["cubic", "reno", "bbr"][..]),
        pacing in any::<bool>(),
        sack in any::<bool>(),
        buffer in prop_oneof![1_000_u64..20_000, 20_000_u64..300_000, Just(4_000_000_u64)],
        autotuning in prop::sample::select(&[Autotuning::Current, Autotuning::Linux54, Autotuning::Linux61, Autotuning::Linux66, Autotuning::Off][..]),
        bytes in prop_oneof![1_u64..100_000, 1_u64..1_000_000],
        closes_late in any::<bool>(),
        loss in prop_oneof![Just(0_u64), 0_u64..100],
        random in any::<u64>(),
        reader in (
            prop_oneof![1_000_u64..10_000, 1_000_u64..200_000, Just(u64::MAX >> 1)],
            prop_oneof![0_u64..1_000, 0_u64..100_000, 0_u64..3_000_000],
        ),
        first_read in prop_oneof![Just(0_u64), 0_u64..2_000, 0_u64..200_000],
    ) {
        let config = SenderConfig { pacing, sack, ..sender_config(algorithm) };
        let mut path = path(config, ReceiverConfig { sack, ..receiver_config(buffer, autotuning) });
        path.random = Random::new(random);
        path.loss = loss;
        path.reads_at = ms(first_read);
        (path.most, path.pause) = (reader.0, Duration::from_micros(reader.1));
        path.sender.open(path.now);
        path.sender.write(path.now, bytes);
        if !closes_late {
            path.sender.close();
        }
        path.transmit();
        // A buffer below one segment moves at one window probe per RTO, with reads of nothing behind it.
        let (mut events, mut progress) = (0, path.receiver.delivered());
        while !path.sender.is_complete() || path.receiver.finished_at().is_none() {
            prop_assert!(path.step(), "no event is pending: {:?}", path.sender.stats());
            events += 1;
            if path.receiver.delivered() > progress {
                (events, progress) = (0, path.receiver.delivered());
            }
            prop_assert!(events < 100_000, "livelock: {:?}", path.sender.stats());
            if closes_late && path.sender.snd_una() == bytes {
                path.sender.close();
                path.transmit();
            }
        }
        prop_assert_eq!(path.receiver.delivered(), Bytes::new(bytes));
        prop_assert_eq!(path.sender.stats().bytes_acked, bytes);
    }
}
