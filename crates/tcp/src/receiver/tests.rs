//! What the receiver acknowledges, when, and with which window.

use alloc::vec::Vec;

use super::*;
use crate::Autotuning;

const MSS: u32 = 1448;

fn config(receive_buffer: u64) -> ReceiverConfig {
    ReceiverConfig {
        initial_window: Bytes::new(65_535),
        ..ReceiverConfig::linux(Bytes::new(receive_buffer), MSS)
    }
}

fn segment(seq: u64, len: u32) -> DataSegment {
    DataSegment {
        seq,
        len,
        ts_val: 1,
        ts_ecr: 0,
        syn: false,
        fin: false,
        psh: false,
        cwr: false,
        retransmission: false,
    }
}

/// A window that does not grow: half of the memory of each full segment is payload.
fn full_window() -> ReceiverConfig {
    let size = Bytes::new(1 << 20);
    ReceiverConfig {
        initial_window: size,
        truesize: 2 * MSS,
        ..config(size.get())
    }
}

/// A receiver and its clock.
struct Bench {
    receiver: Receiver,
    now: Instant,
}

impl Bench {
    fn new(config: ReceiverConfig) -> Self {
        Self {
            receiver: Receiver::new(config),
            now: Instant::from_millis(100),
        }
    }

    /// A receiver with the largest possible window, so that quick ACKs run out.
    fn full_window() -> Self {
        Self::new(full_window())
    }

    fn wait(&mut self, span: Duration) {
        self.now += span;
    }

    /// The ACKs that a segment causes at once.
    fn arrive(&mut self, segment: DataSegment) -> Vec<AckSegment> {
        self.receiver.handle_data(self.now, &segment, false);
        self.acks()
    }

    fn acks(&mut self) -> Vec<AckSegment> {
        core::iter::from_fn(|| self.receiver.poll_ack(self.now)).collect()
    }

    /// Full segment number `index` (from zero).
    fn full(&mut self, index: u64) -> Vec<AckSegment> {
        self.arrive(segment(index * u64::from(MSS), MSS))
    }

    /// `count` full segments from `first` on, spaced by `gap`. Returns the number of ACKs.
    fn stream(&mut self, first: u64, count: u64, gap: Duration) -> usize {
        let mut acks = 0;
        for index in first..first + count {
            self.wait(gap);
            acks += self.full(index).len();
        }
        acks
    }

    /// Waits for the timer. Returns the waiting time and the ACKs.
    fn timer(&mut self) -> (Duration, Vec<AckSegment>) {
        let due = self.receiver.poll_timeout().expect("a timer runs");
        let waited = due - self.now;
        self.now = due;
        self.receiver.handle_timeout(due);
        (waited, self.acks())
    }
}

fn sack_blocks(ack: &AckSegment) -> Vec<(u64, u64)> {
    let mss = u64::from(MSS);
    ack.sack
        .iter(ack.ack)
        .map(|(from, to)| (from / mss, to / mss))
        .collect()
}

const MS: Duration = Duration::from_millis(1);

#[test]
fn a_syn_is_answered_with_the_initial_window() {
    let mut bench = Bench::new(config(6 << 20));
    let acks = bench.arrive(DataSegment {
        syn: true,
        len: 0,
        ts_val: 77,
        ..segment(0, 0)
    });
    assert_eq!(acks.len(), 1);
    assert!(acks[0].syn);
    assert_eq!(
        (acks[0].ack, acks[0].window, acks[0].ts_ecr),
        // 45 segments: half of 128 KiB, in whole segments.
        (0, 65_160, 77)
    );
    assert_eq!(bench.receiver.stats().acks_sent, 0);
}

// Tests RFC5681-4.2a
#[test]
fn sixteen_quick_acks_and_then_every_second_segment() {
    let mut bench = Bench::full_window();
    for index in 0..16 {
        assert_eq!(bench.full(index).len(), 1, "segment {index}");
    }
    for index in 16..40 {
        assert_eq!(
            bench.full(index).len(),
            usize::from(index % 2 == 1),
            "segment {index}"
        );
    }
}

/// By hand from Linux 6.12. A window of 65,160 bytes grows to 81,920 by 2 x 1,448 bytes a segment: six
/// segments, each of which sets a bit in the number of quick ACKs (`icsk_ack.quick |= 1`) and so adds
/// one to 16. Before 6.6 the window does not grow. A kernel 6.12 in virtual time acknowledges the first
/// 22 segments one by one.
#[test]
fn a_window_that_memory_raises_adds_quick_acks() {
    for (autotuning, quick) in [(Autotuning::Linux54, 16), (Autotuning::Linux66, 22)] {
        let mut bench = Bench::new(ReceiverConfig {
            autotuning,
            ..config(64 << 20)
        });
        bench.arrive(DataSegment {
            syn: true,
            ..segment(0, 0)
        });
        for index in 0..30 {
            let is_acked = index < quick || index % 2 == 1;
            assert_eq!(
                bench.full(index).len(),
                usize::from(is_acked),
                "segment {index}"
            );
        }
    }
}

/// The numbers of ACKs and segments in a slow start over 100 ms: rounds that double and fill the
/// round trip.
fn slow_start(config: ReceiverConfig, rounds: u32) -> (u64, u64) {
    let mut bench = Bench::new(config);
    bench.arrive(DataSegment {
        syn: true,
        ..segment(0, 0)
    });
    bench.wait(Duration::from_millis(100));
    let (mut acks, mut sent, mut window) = (0, 0, 65_535);
    for round in (0..rounds).map(|round| 10_u64 << round) {
        let began = bench.now;
        assert!(
            round * 1448 <= window,
            "{round} segments do not fit into {window}"
        );
        for index in sent..sent + round {
            let echo = (began.as_millis() as u32 + 1).saturating_sub(100);
            let data = DataSegment {
                ts_ecr: echo,
                ..segment(index * 1448, MSS)
            };
            for ack in bench.arrive(data) {
                acks += 1;
                window = u64::from(ack.window);
            }
            bench.wait(Duration::from_nanos(90_000_000 / round));
        }
        bench.now = began + Duration::from_millis(100);
        sent += round;
    }
    (acks, sent)
}

#[test]
fn a_large_buffer_acknowledges_every_segment_of_slow_start() {
    // The window grows from 65,535 by 2896 with each segment, and reaches 64 MiB after 23,150
    // segments.
    let (acks, segments) = slow_start(
        ReceiverConfig {
            autotuning: Autotuning::Off,
            ..config(64 << 20)
        },
        10,
    );
    assert_eq!((acks, segments), (10_230, 10_230));
}

#[test]
fn an_autotuned_buffer_acknowledges_nearly_every_segment_of_slow_start() {
    // Observed with real receivers: 80 to 90 % (and never limited by the window: see the assertion
    // above).
    let (acks, segments) = slow_start(config(64 << 20), 10);
    let percent = acks * 100 / segments;
    assert!(
        (80..=99).contains(&percent),
        "{acks} ACKs for {segments} segments"
    );
}

#[test]
fn the_delayed_ack_waits_forty_milliseconds_and_longer_after_a_timeout() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    assert_eq!(bench.full(16).len(), 0);
    let (waited, acks) = bench.timer();
    assert_eq!(
        (waited, acks.len(), acks[0].ack),
        (Duration::from_millis(40), 1, 17 * 1448)
    );
    assert_eq!(bench.receiver.poll_timeout(), None);
    // A missed timer doubles the timeout to 80 ms; then half of that plus the gap of 60 ms.
    bench.wait(Duration::from_millis(20));
    assert_eq!(bench.full(17).len(), 0);
    assert_eq!(bench.timer().0, Duration::from_millis(40 + 60));
}

/// With 250 Hz, the ATO of 40 ms is 10 ticks, and the timer fires one tick later. 16 segments arrive
/// 1 ms apart from 100 ms (tick 25) on, and the 17th after 116 ms, with the beginning of tick 29.
#[test]
fn with_ticks_the_delayed_ack_waits_for_the_end_of_a_tick() {
    for (phase, waited) in [(0, 44), (3, 41), (1, 43)] {
        let length = Duration::from_millis(4);
        let mut bench = Bench::new(ReceiverConfig {
            tick: Tick::with_phase(length, Duration::from_millis(phase)),
            ..full_window()
        });
        bench.stream(0, 16, MS);
        assert_eq!(bench.full(16).len(), 0);
        assert_eq!(bench.timer().0, Duration::from_millis(waited));
    }
}

#[test]
fn the_delayed_ack_follows_the_time_between_segments() {
    let mut bench = Bench::full_window();
    // The last quick ACK resets the timeout to 40 ms; then half of it plus the gap of 30 ms.
    bench.stream(0, 17, Duration::from_millis(30));
    assert_eq!(bench.timer().0, Duration::from_millis(50));
}

// Tests RFC5681-4.2b
#[test]
fn the_delayed_ack_never_takes_two_hundred_milliseconds() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    for index in 16..24 {
        assert_eq!(bench.full(index).len(), 0);
        let (waited, _) = bench.timer();
        assert!(waited <= Duration::from_millis(199), "{waited:?}");
        bench.wait(Duration::from_millis(150));
    }
}

#[test]
fn a_pause_longer_than_the_timeout_restores_quick_acks() {
    let mut bench = Bench::full_window();
    assert_eq!(bench.stream(0, 32, MS), 16 + 8);
    bench.wait(Duration::from_secs(2));
    assert_eq!(bench.stream(32, 16, MS), 16);
}

#[test]
fn a_small_or_pushed_segment_is_acknowledged_when_it_is_read() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    let pushed = DataSegment {
        psh: true,
        ..segment(16 * 1448, MSS)
    };
    assert_eq!(bench.arrive(pushed).len(), 1);
    assert_eq!(bench.arrive(segment(17 * 1448, 100)).len(), 1);
}

// Tests RFC5681-3.2a
#[test]
fn out_of_order_data_is_reported_at_once_most_recent_first() {
    let mut bench = Bench::full_window();
    bench.full(0);
    for (index, expected) in [
        (2, [(2, 3)].as_slice()),
        (4, &[(4, 5), (2, 3)]),
        (3, &[(2, 5)]),
        (8, &[(8, 9), (2, 5)]),
        (10, &[(10, 11), (8, 9), (2, 5)]),
        (12, &[(12, 13), (10, 11), (8, 9)]),
    ] {
        let acks = bench.full(index);
        assert_eq!(acks.len(), 1);
        assert_eq!(acks[0].ack, 1448);
        assert_eq!(sack_blocks(&acks[0]), expected, "segment {index}");
    }
    // Filling the first hole moves the ACK past the held data.
    let acks = bench.full(1);
    assert_eq!((acks.len(), acks[0].ack), (1, 5 * 1448));
    assert_eq!(sack_blocks(&acks[0]), [(12, 13), (10, 11), (8, 9)]);
    assert_eq!(bench.receiver.delivered(), Bytes::new(5 * 1448));
}

// Tests RFC5681-3.2b
#[test]
fn filling_the_last_hole_is_acknowledged_at_once() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    bench.receiver.quick = 0;
    bench.full(17);
    let acks = bench.full(16);
    assert_eq!((acks.len(), acks[0].ack), (1, 18 * 1448));
    assert!(acks[0].sack.is_empty());
}

#[test]
fn filling_the_last_hole_with_a_partial_segment_is_acknowledged_at_once() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    bench.arrive(segment(16 * 1448, 724));
    bench.arrive(segment(17 * 1448, 100));
    bench.receiver.quick = 0;
    // Half of a full segment is a duplicate: less than one segment is new, and nothing is pushed.
    let acks = bench.full(16);
    assert_eq!((acks.len(), acks[0].ack), (1, 17 * 1448 + 100));
}

#[test]
fn duplicates_are_reported_once_rfc_2883() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    bench.full(20);
    // Below the cumulative ACK.
    let acks = bench.full(3);
    assert_eq!(sack_blocks(&acks[0]), [(3, 4), (20, 21)]);
    // Above it.
    let acks = bench.full(20);
    assert_eq!(sack_blocks(&acks[0]), [(20, 21), (20, 21)]);
    // In part: the first half had arrived before.
    let acks = bench.arrive(segment(20 * 1448, 2 * 1448));
    assert_eq!(sack_blocks(&acks[0]), [(20, 21), (20, 22)]);
    // In part: the second half had arrived before.
    let acks = bench.arrive(segment(19 * 1448, 2 * 1448));
    assert_eq!(sack_blocks(&acks[0]), [(20, 21), (19, 22)]);
    let acks = bench.full(16);
    assert_eq!(sack_blocks(&acks[0]), [(19, 22)]);
    assert_eq!(bench.receiver.stats().duplicates, 2);
}

/// While ACKs are held back, Linux forgets the duplicate when more data arrives (`tcp_data_queue`).
#[test]
fn a_pending_duplicate_is_forgotten_when_more_data_arrives() {
    for (next, reported) in [
        (None, [(21, 22), (20, 23)].to_vec()),
        (Some(23), [(20, 24)].to_vec()),
    ] {
        let mut bench = Bench::full_window();
        bench.stream(0, 16, MS);
        bench.receiver.quick = 0;
        let caused: Vec<_> = [20, 21, 22, 21]
            .map(|index| bench.full(index).len())
            .to_vec();
        assert_eq!(caused, [1, 1, 1, 0]);
        if let Some(index) = next {
            assert!(bench.full(index).is_empty());
        }
        let (_, acks) = bench.timer();
        assert_eq!(sack_blocks(&acks[0]), reported);
    }
}

#[test]
fn a_retransmission_that_reaches_beyond_the_ack_is_accepted_in_part() {
    let mut bench = Bench::full_window();
    bench.stream(0, 4, MS);
    let acks = bench.arrive(segment(3 * 1448, 2 * 1448));
    assert_eq!(
        (acks[0].ack, sack_blocks(&acks[0])),
        (5 * 1448, [(3, 4)].to_vec())
    );
    assert_eq!(bench.receiver.delivered(), Bytes::new(5 * 1448));
}

#[test]
fn sack_compression_after_three_duplicate_acks() {
    let mut bench = Bench::full_window();
    let syn_ack = bench.arrive(DataSegment {
        syn: true,
        ..segment(0, 0)
    })[0];
    bench.wait(Duration::from_millis(11));
    bench.arrive(DataSegment {
        ts_ecr: syn_ack.ts_val,
        ..segment(0, MSS)
    });
    bench.stream(1, 15, MS);
    bench.receiver.quick = 0;
    let caused: Vec<_> = (20..30).map(|index| bench.full(index).len()).collect();
    assert_eq!(caused, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]);
    // 5 % of 11 ms: the first data arrived 11 ms after the SYN-ACK.
    let (waited, acks) = bench.timer();
    assert_eq!((waited, acks.len()), (Duration::from_micros(550), 1));
    assert_eq!(sack_blocks(&acks[0]), [(20, 30)]);
    // At most 44 ACKs are compressed into one.
    let caused: usize = (30..30 + 45).map(|index| bench.full(index).len()).sum();
    assert_eq!(caused, 1);
    // New data in order restarts the count.
    assert_eq!(bench.full(16).len(), 1);
    assert_eq!(
        (80..83).map(|index| bench.full(index).len()).sum::<usize>(),
        2
    );
}

#[test]
fn compression_sends_a_block_before_the_list_drops_it() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    bench.receiver.quick = 0;
    let caused: Vec<_> = [20, 22, 24, 25, 30]
        .map(|index| bench.full(index).len())
        .to_vec();
    assert_eq!(
        caused,
        [1, 1, 1, 0, 1],
        "a new block while an ACK is held back"
    );
}

#[test]
fn without_compression_every_duplicate_ack_is_sent() {
    let mut bench = Bench::full_window();
    bench.receiver = bench.receiver.without_sack_compression();
    bench.stream(0, 16, MS);
    bench.receiver.quick = 0;
    assert_eq!(
        (20..60).map(|index| bench.full(index).len()).sum::<usize>(),
        40
    );
}

#[test]
fn marks_are_echoed_until_the_sender_reduces() {
    let mut bench = Bench::full_window();
    bench.stream(0, 17, MS);
    bench
        .receiver
        .handle_data(bench.now, &segment(17 * 1448, MSS), true);
    let acks = bench.acks();
    assert!(acks[0].ece);
    assert!(
        bench.full(18)[0].ece,
        "two quick ACKs after a mark, one is left"
    );
    bench.full(19);
    assert!(bench.full(20)[0].ece);
    let acks = bench.arrive(DataSegment {
        cwr: true,
        ..segment(21 * 1448, MSS)
    });
    assert_eq!(acks.len(), 1, "CWR is acknowledged at once");
    assert!(!acks[0].ece);
    assert_eq!(bench.receiver.stats().marked, 1);
}

#[test]
fn the_timestamp_echo_is_that_of_the_first_segment_since_the_last_ack() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    let stamped = |index: u64, ts_val| DataSegment {
        ts_val,
        ..segment(index * 1448, MSS)
    };
    assert!(bench.arrive(stamped(16, 500)).is_empty());
    assert_eq!(bench.arrive(stamped(17, 600))[0].ts_ecr, 500);
    // Beyond a hole, the echo remains that of the last segment that advanced the window.
    assert_eq!(bench.arrive(stamped(19, 700))[0].ts_ecr, 500);
    assert_eq!(bench.arrive(stamped(18, 800))[0].ts_ecr, 800);
    // An old duplicate changes nothing.
    assert_eq!(bench.arrive(stamped(3, 900))[0].ts_ecr, 800);
}

#[test]
fn the_end_of_the_stream() {
    let mut bench = Bench::full_window();
    bench.stream(0, 16, MS);
    let fin = DataSegment {
        fin: true,
        ..segment(17 * 1448, 10)
    };
    bench.arrive(fin);
    assert_eq!(bench.receiver.finished_at(), None);
    bench.wait(MS);
    let acks = bench.full(16);
    assert_eq!((acks.len(), acks[0].ack), (1, 17 * 1448 + 10));
    assert_eq!(bench.receiver.finished_at(), Some(bench.now));
    bench.wait(MS);
    bench.arrive(fin);
    assert_eq!(
        bench.receiver.finished_at(),
        Some(bench.now - MS),
        "the first time counts"
    );
}

#[test]
fn the_window_grows_with_received_data_and_its_edge_never_moves_back() {
    let mut bench = Bench::new(config(4 << 20));
    let mut edge = 65_535;
    for index in 0..5_000 {
        bench.wait(Duration::from_micros(50));
        // Every seventh pair is swapped.
        let number = match index % 14 {
            0 => index + 1,
            1 => index - 1,
            _ => index,
        };
        let echo = (bench.now.as_millis() as u32).saturating_sub(20);
        let data = DataSegment {
            ts_ecr: echo,
            ..segment(number * 1448, MSS)
        };
        for ack in bench.arrive(data) {
            let right = ack.ack + u64::from(ack.window);
            assert!(right >= edge, "segment {index}");
            edge = right;
        }
    }
    let last = edge - 5_000 * 1448;
    assert!(last > 512 << 10, "the window reached {last}");
    assert!(last <= (4 << 20) + 256, "the window reached {last}");
}

#[test]
fn each_segment_opens_the_window_by_two() {
    // Until a segment has arrived, a buffer of 256 KiB counts as 204.8 KiB, in units of four bytes.
    let mut bench = Bench::new(ReceiverConfig {
        autotuning: Autotuning::Off,
        ..config(256 << 10)
    });
    for index in 0..10 {
        let acks = bench.full(index);
        assert_eq!(acks[0].window, 65_160 + 2 * 1448 * (index as u32 + 1));
    }
    bench.stream(10, 100, MS);
    let acks = [bench.full(110), bench.full(111)].concat();
    // The segment that would raise it further itself occupies 2,304 bytes of the memory, which are
    // worth 1,440.
    let limit = (256_u32 << 10) - 1440;
    assert_eq!(acks[0].window, limit, "the buffer is the limit");
}

/// The window of a buffer of 64 MiB after the first segment of 1,448 bytes.
fn window(autotuning: Autotuning) -> ReceiveWindow {
    let mut window = ReceiveWindow::new(&ReceiverConfig {
        autotuning,
        ..config(64 << 20)
    });
    window.observe(1_448, 2_304);
    window
}

/// Bytes read in a round trip, bytes that wait behind them, and the resulting capacity of the
/// buffer.
fn assert_space_follows(round: Duration, seen: &[(u64, u64, u64)]) -> ReceiveWindow {
    let mut window = window(Autotuning::Current);
    let (mut now, mut copied) = (Instant::ZERO + round, 0);
    window.measure_by_timestamp(1 + round.as_millis() as u32, 1, true);
    window.on_read(now, copied, 0);
    for &(read, waiting, expected) in seen {
        now += round;
        copied += read;
        window.on_read(now, copied, 0);
        let rest = copied + waiting;
        window.on_read(now, rest, 0);
        window.settle(now, rest, 1448, || 0);
        window.settle(now + MS, rest, 1448, || 0);
        assert!(
            window.space().abs_diff(expected) <= 8,
            "{read} read, {waiting} waiting: {}, expected {expected}",
            window.space()
        );
    }
    window
}

#[test]
fn the_space_follows_the_data_read_as_in_linux_6_18() {
    // A flow of 5 Mbit/s over 50 ms, observed on that kernel: 5/8 of `sk_rcvbuf` is payload.
    let seen = [
        (15_928, 0, 131_072),
        (28_960, 0, 244_316),
        (41_992, 0, 255_308),
        (78_192, 0, 681_616),
    ];
    let seen = seen.map(|(read, waiting, buffer)| (read, waiting, buffer * 5 / 8));
    let mut window = assert_space_follows(Duration::from_millis(50), &seen);
    // Out-of-order data adds to twice the data read.
    window.grow_for_out_of_order(400_000);
    // Memory is rounded down to 890,214 bytes.
    assert_eq!(window.space(), 2 * 78_192 + 400_000 - 1);
}

#[test]
fn data_behind_the_segment_that_is_read_does_not_count() {
    // A flow over a cell whose transport blocks arrive at one instant: `copied` less `inq`, and the
    // `window_clamp` of the next `tcp:tcp_rcvbuf_grow`. At most four segments of an instant wait.
    let seen = [
        (15_928, 81_920),
        (26_064, 118_471),
        (50_680, 292_815),
        (114_392, 804_011),
        (220_096, 1_253_710),
        (456_120, 2_868_753),
        (741_376, 3_337_367),
        (1_116_408, 4_491_795),
    ];
    for segments in [0, 2, 4] {
        let waiting = segments * 1448;
        let seen = seen.map(|(read, window)| (read + waiting, waiting, window));
        assert_space_follows(Duration::from_millis(60), &seen);
    }
    let seen = seen.map(|(read, window)| (read + 4 * 1448, 64 * 1448, window));
    assert_space_follows(Duration::from_millis(60), &seen);
}

#[test]
fn data_that_a_retransmission_puts_in_order_waits_behind_it() {
    // The last observation of a flow of 5 Mbit/s, see above, one segment at a time.
    let round = Duration::from_millis(50);
    let mut window = assert_space_follows(round, &[(15_928, 0, 81_920), (28_960, 0, 152_697)]);
    let mut now = Instant::ZERO + round * 3;
    let mut copied = 15_928 + 28_960;
    // A round without reads ends with a segment that fills a hole before 100 others. Linux 6.18
    // subtracts what waits behind the first segment that is read, and leaves the space as it is.
    now += round;
    copied += 1448;
    window.on_read(now, copied, 100 * 1448);
    window.settle(now + MS, copied + 100 * 1448, 1448, || 0);
    assert!(window.space().abs_diff(152_697) <= 8, "{}", window.space());
    // These count in the next round.
    now += round;
    copied += 101 * 1448;
    window.on_read(now, copied, 0);
    window.settle(now + MS, copied, 1448, || 0);
    assert!(window.space() > 200 * 1448, "{}", window.space());
}

/// Computed by hand from the rule: twice the data read plus 16 segments, and twice its growth on
/// top.
#[test]
fn an_older_receiver_adds_a_cushion_and_counts_waiting_data() {
    older_window(Autotuning::Linux54, 128);
    older_window(Autotuning::Linux61, 128);
    older_window(Autotuning::Linux66, 160);
}

/// `ratio` 256ths of the memory are window. Memory is a whole number of bytes.
fn older_window(autotuning: Autotuning, ratio: u64) {
    let mut window = window(autotuning);
    let worth = |target: u64| target * 256 / ratio * ratio / 256;
    assert_eq!(window.space(), 131_072 * ratio / 256);
    // The second sample is smaller.
    let falls = if autotuning == Autotuning::Linux54 {
        59_000
    } else {
        52_000
    };
    for (ts_ecr, sample_ms, estimate) in [(1, 60, 60_000), (2, 52, falls)] {
        window.measure_by_timestamp(ts_ecr + sample_ms, ts_ecr, true);
        assert_eq!(window.rtt_x8() / 8, estimate);
    }
    let round = Duration::from_millis(60);
    let (mut now, mut copied) = (Instant::ZERO + round, 0);
    window.on_read(now, copied, 0);
    let mut before = 14_480;
    for (read, waiting) in [(28_960, 2_896), (57_920, 14_480), (115_840, 0)] {
        now += round;
        copied += read;
        window.on_read(now, copied, 0);
        window.settle(now + MS, copied + waiting, 1448, || 1 << 30);
        let target = 2 * read + 16 * 1448;
        let expected = target + 2 * target * (read - before) / before;
        assert_eq!(window.space(), worth(expected));
        before = read;
    }
    window.grow_for_out_of_order(1 << 24);
    assert_eq!(window.space(), worth(3 * (2 * 115_840 + 16 * 1448)));
}

#[test]
fn the_round_trip_falls_at_once_and_rises_slowly() {
    // From the same flow, in microseconds. The growth of the buffer plays no part.
    for autotuning in [
        Autotuning::Current,
        Autotuning::Linux66,
        Autotuning::Linux61,
        Autotuning::Off,
    ] {
        let mut window = window(autotuning);
        let mut ts_ecr = 1;
        for (sample_ms, estimate) in [(53, 53_000), (55, 53_250), (58, 53_843), (52, 52_000)] {
            ts_ecr += 1;
            window.measure_by_timestamp(ts_ecr + sample_ms, ts_ecr, true);
            assert_eq!(window.rtt_x8() / 8, estimate);
        }
    }
}

/// The receiver of Linux 6.12.117 over 20 Mbit/s and 50 ms, by the milliseconds of its timestamps: a
/// round trip of 51 ms ends the rise, and the estimate is 51.125 ms after the next one of 52 ms.
#[test]
fn a_receiver_of_6_12_follows_a_smaller_round_trip_at_once() {
    let mut window = window(Autotuning::Linux66);
    let samples = [50, 51, 51, 51, 53, 54, 55, 56, 51, 52];
    let estimates = samples.iter().zip(1..).map(|(sample, ts_ecr)| {
        window.measure_by_timestamp(ts_ecr + sample, ts_ecr, true);
        window.rtt_x8()
    });
    let estimates: Vec<u64> = estimates.collect();
    // In eighths of a microsecond: what the kernel's `rcv_rtt_est.rtt_us` was.
    assert_eq!(
        estimates,
        [
            400_000, 401_000, 401_875, 402_641, 405_311, 408_648, 412_567, 416_997, 408_000,
            409_000
        ]
    );
}

#[test]
fn data_beyond_the_window_is_dropped() {
    let mut bench = Bench::new(config(6 << 20));
    bench.full(0);
    let acks = bench.arrive(segment(10 << 20, MSS));
    assert_eq!((acks.len(), acks[0].ack), (1, 1448));
    assert!(acks[0].sack.is_empty());
    assert_eq!(bench.receiver.stats().out_of_window, 1);
}

#[test]
fn every_segment_is_acknowledged_when_configured() {
    let mut bench = Bench::new(ReceiverConfig {
        ack_policy: AckPolicy::EverySegment,
        sack: true,
        ..config(1 << 20)
    });
    assert_eq!(bench.stream(0, 500, MS), 500);
    assert_eq!(
        (510..560)
            .map(|index| bench.full(index).len())
            .sum::<usize>(),
        50
    );
}

/// Any order and any repetition delivers each byte once, and never more than arrived.
#[test]
fn random_arrivals_deliver_the_stream() {
    let mut generator = testing::random::Random::new(42);
    let mut next = |bound: u64| generator.below(bound);
    let mut bench = Bench::new(config(1 << 20));
    let length = 200_000;
    let mut arrived = RangeSet::new();
    while bench.receiver.finished_at().is_none() {
        let base = bench.receiver.delivered().get();
        let start = (base.saturating_sub(3_000) + next(20_000)).min(length - 1);
        let len = (1 + next(1_448)).min(length - start);
        let fin = start + len == length;
        bench.wait(Duration::from_micros(next(3_000)));
        if bench
            .receiver
            .poll_timeout()
            .is_some_and(|due| due <= bench.now)
        {
            bench.receiver.handle_timeout(bench.now);
            bench.acks();
        }
        arrived.insert(start, start + len, |_, _| {});
        let data = DataSegment {
            fin,
            psh: next(5) == 0,
            ..segment(start, len as u32)
        };
        for ack in bench.arrive(data) {
            let expected = arrived.range_of(0).map_or(0, |(_, to)| to);
            assert_eq!(ack.ack, expected);
            for (from, to) in ack.sack.iter(ack.ack) {
                assert!(arrived.covers(from, to), "a reported block has arrived");
            }
        }
    }
    assert_eq!(bench.receiver.delivered(), Bytes::new(length));
}

/// Without timestamps (RFC 2018, section 3), 40 bytes of options hold four blocks, with them three.
#[test]
fn four_blocks_fit_without_timestamps() {
    for (ts_val, count) in [(0, 4), (1, 3)] {
        let mut receiver = Receiver::new(config(1 << 20)).without_sack_compression();
        for place in 0..=4 {
            let seq = u64::from(MSS) * 2 * place;
            let data = DataSegment {
                ts_val,
                ..segment(seq, MSS)
            };
            receiver.handle_data(Instant::from_millis(place), &data, false);
            let ack = receiver.poll_ack(Instant::from_millis(place)).unwrap();
            assert_eq!(ack.sack.len(), count.min(place as usize));
        }
    }
}

/// A host that sends too delays the ACK of a FIN, unless its buffer is full.
#[test]
fn a_fin_into_a_closed_window_is_acknowledged_at_once() {
    for (segments, is_acknowledged) in [(2, false), (4, true)] {
        let size = Bytes::new(4 * u64::from(MSS));
        let mut receiver = Receiver::new(ReceiverConfig {
            initial_window: size,
            autotuning: Autotuning::Off,
            ..config(size.get())
        });
        receiver.hold();
        receiver.complete_handshake(Instant::ZERO);
        for index in 0..segments {
            let now = Instant::from_millis(index);
            receiver.handle_data(now, &segment(index * u64::from(MSS), MSS), false);
            while receiver.poll_ack(now).is_some() {}
        }
        let now = Instant::from_millis(segments);
        let end = segments * u64::from(MSS);
        let fin = DataSegment {
            fin: true,
            ..segment(end, 0)
        };
        receiver.handle_data(now, &fin, false);
        let ack = receiver.poll_ack(now).map(|ack| (ack.ack, ack.window));
        assert_eq!(ack, is_acknowledged.then_some((end + 1, 0)));
    }
}
