//! Sender and receiver together over one link and two delays: behaviour that depends on both.

use congestion::{Algorithm, Phase};
use tcp::segment::{AckSegment, DataSegment, Segment};
use tcp::{AckPolicy, Autotuning, Receiver, ReceiverConfig, Sender, SenderConfig};
use testing::wire::Wire;
use units::{Bytes, Duration, Instant, Rate};

/// The fate of a data segment on the path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Passes,
    Lost,
    Marked,
    /// Arrives later by this many milliseconds.
    Late(u64),
}

/// A connection over a path of `rate` with an unlimited queue and half of `rtt_ms` in each
/// direction.
struct Pair {
    sender: Sender,
    receiver: Receiver,
    rate: Rate,
    half_way: Duration,
    link_free: Instant,
    now: Instant,
    forward: Wire<(DataSegment, bool)>,
    backward: Wire<AckSegment>,
    /// Data segments sent so far, and the fate of each.
    sent: u64,
    fate: fn(u64, &DataSegment) -> Fate,
    /// Largest window ever advertised.
    widest: u32,
}

fn sender(algorithm: &str) -> SenderConfig {
    let algorithm = algorithm.parse::<Algorithm>().expect("a known algorithm");
    SenderConfig {
        ecn: true,
        ..SenderConfig::linux(algorithm, 1448)
    }
}

/// A receiver with a fixed buffer, as after `SO_RCVBUF`.
fn receiver(buffer: u64) -> ReceiverConfig {
    ReceiverConfig {
        initial_window: Bytes::new(65_535),
        autotuning: Autotuning::Off,
        ..ReceiverConfig::linux(Bytes::new(buffer), 1448)
    }
}

impl Pair {
    fn new(sender: SenderConfig, receiver: ReceiverConfig, mbit: u64, rtt_ms: u64) -> Self {
        Self {
            sender: Sender::new(sender),
            receiver: Receiver::new(receiver),
            rate: Rate::from_bits_per_sec(mbit * 1_000_000),
            half_way: Duration::from_millis(rtt_ms) / 2,
            link_free: Instant::ZERO,
            now: Instant::ZERO,
            forward: Wire::default(),
            backward: Wire::default(),
            sent: 0,
            fate: |_, _| Fate::Passes,
            widest: 0,
        }
    }

    /// Sends `bytes` and runs until all are acknowledged. Returns when the receiver had them all.
    fn transfer(&mut self, bytes: u64) -> Duration {
        self.sender.write(self.now, bytes);
        self.sender.close();
        self.sender.open(self.now);
        self.exchange();
        while !self.sender.is_complete() {
            let due = [
                self.forward.due(),
                self.backward.due(),
                self.sender.poll_timeout(),
                self.receiver.poll_timeout(),
            ];
            self.now = due
                .into_iter()
                .flatten()
                .min()
                .expect("an event is pending")
                .max(self.now);
            assert!(self.now < Instant::from_secs(600), "the transfer must end");
            self.step();
        }
        assert_eq!(self.receiver.delivered(), Bytes::new(bytes));
        self.receiver.finished_at().expect("the stream has ended") - Instant::ZERO
    }

    fn step(&mut self) {
        if let Some((segment, marked)) = self.forward.receive(self.now) {
            self.receiver.handle_data(self.now, &segment, marked);
        } else if let Some(ack) = self.backward.receive(self.now) {
            self.sender.handle_ack(self.now, &ack);
        } else if self
            .sender
            .poll_timeout()
            .is_some_and(|due| due <= self.now)
        {
            self.sender.handle_timeout(self.now);
        } else {
            self.receiver.handle_timeout(self.now);
        }
        self.exchange();
    }

    fn exchange(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            let fate = if segment.syn {
                Fate::Passes
            } else {
                (self.fate)(self.sent, &segment)
            };
            self.sent += u64::from(!segment.syn);
            let size = Bytes::new(u64::from(Segment::Data(segment).wire_size()));
            self.link_free = self.link_free.max(self.now) + self.rate.time_for(size);
            let late = match fate {
                Fate::Lost => continue,
                Fate::Late(ms) => Duration::from_millis(ms),
                Fate::Passes | Fate::Marked => Duration::ZERO,
            };
            let due = self.link_free + self.half_way + late;
            self.forward.send(due, (segment, fate == Fate::Marked));
        }
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            self.widest = self.widest.max(ack.window);
            self.backward.send(self.now + self.half_way, ack);
        }
    }
}

const MIB: u64 = 1 << 20;

/// SYN and SYN-ACK take one RTT; the data takes half an RTT plus the transmission time of the link.
#[test]
fn a_transfer_within_the_initial_window() {
    let mut pair = Pair::new(sender("cubic"), receiver(64 * MIB), 50, 100);
    let took = pair.transfer(14_480);
    // 60 bytes of SYN, ten segments of 1500 bytes, at 50 Mbit/s.
    let busy = Duration::from_nanos(60 * 160 + 10 * 1_500 * 160);
    assert_eq!(took, Duration::from_millis(150) + busy);
    // Only the SYN found the link idle.
    let shortest = Duration::from_nanos(100_000_000 + 60 * 160);
    assert_eq!(pair.sender.min_rtt(), Some(shortest));
}

/// A receiver with a large buffer acknowledges each segment of a slow start, and one with a small
/// buffer acknowledges most of them. The window never limits either sender.
#[test]
fn acks_in_slow_start() {
    let segments = 10 * ((1 << 8) - 1);
    let mut pair = Pair::new(sender("cubic+standard"), receiver(64 * MIB), 10_000, 100);
    pair.transfer(segments * 1448);
    assert_eq!(pair.receiver.stats().acks_sent, segments);
    assert_eq!(pair.sender.window().cwnd_segments(), 10 + segments);

    let autotuned = ReceiverConfig {
        autotuning: Autotuning::Current,
        ..receiver(64 * MIB)
    };
    let mut pair = Pair::new(sender("cubic+standard"), autotuned, 10_000, 100);
    pair.transfer(segments * 1448);
    let percent = 100 * pair.receiver.stats().acks_sent / segments;
    assert!(
        (80..100).contains(&percent),
        "{percent} % of the segments are acknowledged"
    );
    assert_eq!(
        pair.sender.window().cwnd_segments(),
        10 + segments,
        "every window was used up"
    );
}

/// Both buffers take the same time: autotuning does not slow down slow start.
#[test]
fn autotuning_costs_no_time() {
    let bytes = 40 * MIB;
    let took = [Autotuning::Off, Autotuning::Current].map(|autotuning| {
        let config = ReceiverConfig {
            autotuning,
            ..receiver(64 * MIB)
        };
        Pair::new(sender("cubic+standard"), config, 200, 100).transfer(bytes)
    });
    let later = took[1].saturating_sub(took[0]);
    assert!(
        later < Duration::from_millis(5),
        "fixed {:?}, autotuned {:?}",
        took[0],
        took[1]
    );
}

/// A small buffer limits the flow to one buffer per RTT.
#[test]
fn the_buffer_limits_the_rate() {
    let buffer = 256 << 10;
    let mut pair = Pair::new(sender("cubic+standard"), receiver(buffer), 1_000, 100);
    let took = pair.transfer(20 * MIB);
    assert!(
        u64::from(pair.widest) <= buffer,
        "advertised {}",
        pair.widest
    );
    let round_trips = took.as_secs_f64() / 0.1;
    let at_least = 20.0 * MIB as f64 / buffer as f64;
    assert!(
        (at_least..at_least * 1.15).contains(&round_trips),
        "{round_trips} round trips"
    );
    assert_eq!(pair.sender.stats().segments_retransmitted, 0);
    // The congestion window grows to about twice its used part, and no further.
    let cwnd = pair.sender.window().cwnd_segments();
    assert!(
        (300..=370).contains(&cwnd),
        "181 segments fit into the buffer, cwnd is {cwnd}"
    );
}

/// One segment that is 30 ms late is retransmitted and reported as a duplicate, and the reduction
/// is undone.
#[test]
fn a_late_segment_is_recognized() {
    let mut pair = Pair::new(sender("cubic+standard"), receiver(64 * MIB), 100, 40);
    pair.fate = |index, _| {
        if index == 100 {
            Fate::Late(30)
        } else {
            Fate::Passes
        }
    };
    pair.transfer(MIB);
    let stats = pair.sender.stats();
    assert_eq!(
        (stats.segments_retransmitted, stats.recoveries, stats.undone),
        (1, 1, 1)
    );
    assert_eq!(pair.receiver.stats().duplicates, 1);
    assert!(pair.sender.reordering() > 3);
    assert_eq!(
        pair.sender.window().ssthresh,
        Bytes::MAX,
        "slow start goes on"
    );
}

/// A lost segment is retransmitted once, and the reduction stands.
#[test]
fn a_lost_segment_is_retransmitted_once() {
    let mut pair = Pair::new(sender("cubic"), receiver(64 * MIB), 100, 40);
    pair.fate = |index, _| {
        if index == 100 {
            Fate::Lost
        } else {
            Fate::Passes
        }
    };
    pair.transfer(4 * MIB);
    let stats = pair.sender.stats();
    assert_eq!(
        (stats.segments_retransmitted, stats.recoveries, stats.undone),
        (1, 1, 0)
    );
    assert_eq!((stats.timeouts, pair.receiver.stats().duplicates), (0, 0));
    assert_ne!(pair.sender.window().ssthresh, Bytes::MAX);
    assert_eq!(pair.sender.phase(), Phase::Open);
}

/// An outage of the path longer than the timeout is not a loss: timestamps or F-RTO detect this.
#[test]
fn a_delay_spike_is_undone() {
    let mut pair = Pair::new(sender("cubic"), receiver(64 * MIB), 100, 40);
    pair.fate = |index, _| {
        if (150..400).contains(&index) {
            Fate::Late(800)
        } else {
            Fate::Passes
        }
    };
    pair.transfer(4 * MIB);
    let stats = pair.sender.stats();
    assert!(stats.timeouts >= 1 && stats.undone >= 1, "{stats:?}");
}

/// One mark: one reduction, one RTT of echoes, and no more.
#[test]
fn a_mark_is_answered_once() {
    let mut pair = Pair::new(sender("cubic"), receiver(64 * MIB), 100, 40);
    pair.fate = |index, _| {
        if index == 100 {
            Fate::Marked
        } else {
            Fate::Passes
        }
    };
    pair.transfer(4 * MIB);
    let exit = pair.sender.slow_start_exit().expect("slow start has ended");
    assert_eq!(exit.reason.name(), "ecn");
    let ssthresh = pair.sender.window().ssthresh;
    assert_eq!(
        ssthresh,
        exit.cwnd.mul_div(717, 1024 * 1448) * 1448,
        "one reduction"
    );
    assert_eq!(pair.sender.stats().segments_retransmitted, 0);
    assert_eq!(pair.receiver.stats().marked, 1);
}

/// Every loss pattern of a dozen delivers each byte once and in order.
#[test]
fn heavy_loss_and_reordering_still_deliver() {
    let fates: [fn(u64, &DataSegment) -> Fate; 4] = [
        |index, _| {
            if index % 5 == 0 {
                Fate::Lost
            } else {
                Fate::Passes
            }
        },
        |index, _| {
            if (30..60).contains(&index) {
                Fate::Lost
            } else {
                Fate::Passes
            }
        },
        |index, _| {
            if index % 3 == 0 {
                Fate::Late(7 * (index % 4))
            } else {
                Fate::Passes
            }
        },
        |index, segment| match (segment.retransmission, index % 4) {
            (true, 0) | (false, 1) => Fate::Lost,
            (_, 2) => Fate::Late(25),
            _ => Fate::Passes,
        },
    ];
    for fate in fates {
        for policy in [AckPolicy::Delayed, AckPolicy::EverySegment] {
            let config = ReceiverConfig {
                ack_policy: policy,
                sack: true,
                ..receiver(MIB)
            };
            let mut pair = Pair::new(sender("cubic"), config, 20, 30);
            pair.fate = fate;
            pair.transfer(500_000);
        }
    }
}
