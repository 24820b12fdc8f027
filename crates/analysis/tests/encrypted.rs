//! Captures of QUIC connections whose sender is a model: slow start up to a window that it then keeps.

use std::collections::VecDeque;

use analysis::Options;
use analysis::report::{Connection, Reason, Vantage};
use capture::simulated_quic::{QuicRecord, write};
use measure::Vantage as Seen;
use units::{Duration, Instant};

const RTT: Duration = Duration::from_millis(100);
const SIZE: usize = 1200;

/// A connection with one ACK for two packets.
struct Model {
    /// Packets of the window that the sender keeps.
    window: u64,
    /// Packets, counted from 1, that are lost: every one in this range, or every second.
    lost: std::ops::Range<u64>,
    every: usize,
    /// Whether ACKs grow by two bytes for each gap.
    reports: bool,
    /// Whether both hosts spin, or set the bit at random.
    spins: bool,
    seen_by: Seen,
}

impl Model {
    fn records(&self) -> Vec<QuicRecord> {
        let mut records = Vec::new();
        let mut long = [0; SIZE];
        long[..6].copy_from_slice(&[0xc0, 0, 0, 0, 1, 8]);
        let mut random = 1_u32;
        let mut put = |at: Instant, is_forward: bool, bytes: &[u8]| {
            // Half of the RTT is in each direction.
            let (to, at) = match (self.seen_by, is_forward) {
                (Seen::Receiver, true) => (true, at + RTT / 2),
                (Seen::Receiver, false) => (false, at - RTT / 2),
                (_, true) => (false, at),
                (_, false) => (true, at),
            };
            records.push(QuicRecord::new(at, 0, is_forward, to, bytes));
        };
        let begin = Instant::ZERO + RTT;
        put(begin, true, &long);
        put(begin + RTT, false, &long);
        put(begin + RTT, true, &long);
        let mut bit = |spin: bool| {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let spin = if self.spins { spin } else { random >> 31 == 1 };
            if spin { 0x60 } else { 0x40 }
        };
        let mut window = self.window;
        // When each ACK arrives, with the bit that it has.
        let mut acks: VecDeque<(Instant, u8, bool, usize)> = VecDeque::new();
        let is_lost = |sent| {
            self.lost
                .clone()
                .step_by(self.every)
                .any(|each| each == sent)
        };
        let mut gaps = 0;
        let (mut sent, mut arrived, mut flight, mut cwnd, mut spin) = (0, 0, 0, 10, false);
        let mut now = begin + RTT;
        while sent < 6_000 {
            while flight < cwnd {
                sent += 1;
                flight += 1;
                let mut data = [0; SIZE];
                data[0] = bit(spin);
                if is_lost(sent) {
                    gaps += usize::from(self.reports);
                    if self.seen_by == Seen::Sender {
                        put(now, true, &data);
                    }
                    // It leaves the flight a round trip later, without an ACK.
                    acks.push_back((now + RTT, 0, spin, gaps));
                    continue;
                }
                put(now, true, &data);
                arrived += 1;
                if arrived % 2 == 0 {
                    acks.push_back((now + RTT, 2, spin, gaps));
                }
            }
            let Some((at, count, echoed, gaps)) = acks.pop_front() else {
                break;
            };
            now = at;
            if count == 0 {
                // The first loss halves the window for good.
                flight -= 1;
                if window == self.window {
                    window = cwnd / 2;
                    cwnd = window;
                }
                continue;
            }
            let mut ack = vec![0; 40 + 2 * gaps.min(30)];
            ack[0] = bit(echoed);
            put(now, false, &ack);
            spin = !echoed;
            flight -= 2;
            cwnd = (cwnd + 2).min(window);
        }
        records.sort_by_key(|record| record.at);
        records
    }

    fn analyzed(&self) -> Connection {
        let bytes = write(Vec::new(), "", &self.records(), &[self.seen_by], &[]);
        let bytes = bytes.expect("a vector takes everything");
        let options = Options {
            points: 100,
            ..Options::default()
        };
        let report = analysis::analyze_reader(std::io::Cursor::new(bytes), &options);
        let mut report = report.expect("it is a capture");
        assert_eq!((report.connections.len(), report.skipped), (1, 0));
        report.connections.remove(0)
    }
}

const KEEPS: Model = Model {
    window: 320,
    lost: 0..0,
    every: 1,
    reports: false,
    spins: true,
    seen_by: Seen::Sender,
};

#[test]
fn the_exit_of_a_sender_that_decides_is_found() {
    let found = KEEPS.analyzed();
    assert!(found.encrypted);
    assert_eq!(found.vantage, Vantage::Sender);
    assert_eq!(
        found.verdict.rule, "hidden-decision",
        "{:?} {:?} {} {}",
        found.verdict, found.rtt_ms, found.max_in_flight_bytes, found.rounds
    );
    assert_eq!(found.verdict.reason, Reason::Heuristic);
    // The window doubles five times, once per round trip, after the two of the handshake.
    let exit = found.verdict.exit.expect("slow start ended");
    assert!((exit.time_s - 0.6).abs() < 0.1, "{exit:?}");
    let window = exit.cwnd_bytes as f64 / (320.0 * SIZE as f64);
    assert!((window - 1.0).abs() < 0.02, "{exit:?}");
    let [least, mean, most] = found.rtt_ms.expect("the bit shows it");
    assert!((least - 100.0).abs() < 0.1 && (most - mean).abs() < 0.1);
    assert_eq!(found.initial_window_bytes, Some(10 * SIZE as u64));
    assert!(found.verdict.sentence.contains("packets in flight"));
    let points = found.series.iter().skip(1);
    let [rtt, window] = points.fold([0; 2], |[rtt, window], point| {
        let is_known = point.rtt_ms.is_some_and(|rtt| (rtt - 100.0).abs() < 0.1);
        [
            rtt + u32::from(is_known),
            window + u32::from(point.receive_window_bytes.is_some()),
        ]
    });
    assert!(rtt > 50 && window == 0, "{rtt} {window}");
}

#[test]
fn missing_acks_are_a_loss() {
    let found = Model {
        window: 5_000,
        lost: 620..700,
        ..KEEPS
    };
    let found = found.analyzed();
    assert_eq!(found.verdict.rule, "hidden-loss");
    // Packet 620 leaves when 310 are in flight, and the sender learns of its loss a round trip later.
    let exit = found.verdict.exit.expect("slow start ended");
    let window = exit.cwnd_bytes as f64 / (620.0 * SIZE as f64);
    assert!((window - 1.0).abs() < 0.05, "{exit:?}");
}

/// Half of the packets from 620 on are lost, and the ACKs grow by each gap.
const OVERSHOOTS: Model = Model {
    window: 5_000,
    lost: 620..700,
    every: 2,
    reports: true,
    ..KEEPS
};

#[test]
fn acks_that_grow_are_a_loss() {
    for spins in [true, false] {
        let found = Model {
            spins,
            ..OVERSHOOTS
        };
        let found = found.analyzed();
        assert_eq!(found.verdict.rule, "reported-gap", "{:?}", found.verdict);
        assert_eq!(found.verdict.reason, Reason::Loss);
        let exit = found.verdict.exit.expect("slow start ended");
        let window = exit.cwnd_bytes as f64 / (620.0 * SIZE as f64);
        assert!((window - 1.0).abs() < 0.08, "{spins} {exit:?}");
        assert!(found.sacked.is_empty());
    }
}

#[test]
fn without_a_spin_bit_equal_acks_are_counted() {
    let found = Model {
        spins: false,
        ..KEEPS
    };
    let found = found.analyzed();
    assert_eq!(found.vantage, Vantage::Sender);
    assert_eq!(found.verdict.rule, "hidden-decision", "{:?}", found.verdict);
    let exit = found.verdict.exit.expect("slow start ended");
    assert!((exit.time_s - 0.6).abs() < 0.1, "{exit:?}");
    let window = exit.cwnd_bytes as f64 / (320.0 * SIZE as f64);
    assert!((window - 1.0).abs() < 0.02, "{exit:?}");
    // Only the handshake shows an RTT.
    assert_eq!((found.rtt_ms, found.rtt_samples), (None, 0));
    assert_eq!(found.handshake.rtt_ms, Some(100.0));
}

#[test]
fn at_the_receiver_counting_shows_no_queue() {
    let found = Model {
        spins: false,
        seen_by: Seen::Receiver,
        ..KEEPS
    };
    let found = found.analyzed();
    assert_eq!(found.verdict.rule, "no-spin-bit");
    assert_eq!((found.rtt_ms, found.rounds), (None, 0));
}

#[test]
fn at_the_receiver_the_flight_is_that_of_the_sender() {
    let found = Model {
        seen_by: Seen::Receiver,
        ..KEEPS
    };
    let found = found.analyzed();
    assert_eq!(found.vantage, Vantage::Receiver);
    assert_eq!(found.verdict.rule, "unseen-loss");
    let flight = found.max_in_flight_bytes as f64 / (320.0 * SIZE as f64);
    assert!((flight - 1.0).abs() < 0.02, "{flight}");
}
