//! A connection in reused memory is a new connection, and an open one is small.

use congestion::Algorithm;
use measure::FlowProbe;
use proptest::prelude::*;
use tcp::segment::DataSegment;
use tcp::{Receiver, Sender};

use super::*;

/// Most of the differences between states: a window in place, boxed ones that watch losses, ask
/// routers, pace or steer.
const ALGORITHMS: [&str; 8] = [
    "cubic",
    "reno+standard",
    "cubic+search",
    "bbr3",
    "hybla",
    "cubic+suss",
    "reno+jump-start",
    "xcp",
];

fn flow(algorithm: usize) -> Flow {
    let name = ALGORITHMS[algorithm % ALGORITHMS.len()];
    Flow::new(Algorithm::parse(name).expect("an algorithm"))
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug)]
enum Fate {
    Arrives,
    IsMarked,
    IsLost,
    /// Arrives after the next one.
    IsLate,
}

fn fate() -> impl Strategy<Value = Fate> {
    prop_oneof![
        12 => Just(Fate::Arrives),
        1 => Just(Fate::IsMarked),
        2 => Just(Fate::IsLost),
        1 => Just(Fate::IsLate),
    ]
}

/// Random traffic over a path of 10 ms: each packet meets the next of the fates, in turn.
fn run(endpoints: &mut Endpoints, bytes: u64, fates: &[Fate]) {
    let mut now = Instant::from_millis(1);
    let mut fates = fates.iter().cycle();
    let mut late: Option<DataSegment> = None;
    let sender = &mut endpoints.sender;
    sender.open(now);
    sender.write(now, bytes);
    sender.close();
    for _ in 0..400 {
        let mut data = Vec::new();
        while let Some(segment) = endpoints.sender.poll_transmit(now) {
            data.push(segment);
        }
        now += Duration::from_millis(5);
        let mut acks = Vec::new();
        for segment in data {
            let fate = *fates.next().unwrap_or(&Fate::Arrives);
            if matches!(fate, Fate::IsLost) && !segment.syn {
                endpoints.probe.on_drop(now);
                continue;
            }
            if matches!(fate, Fate::IsLate) && late.is_none() {
                late = Some(segment);
                continue;
            }
            let is_marked = matches!(fate, Fate::IsMarked);
            for segment in [Some(segment), late.take()].into_iter().flatten() {
                endpoints.probe.on_arrival(now, Duration::from_millis(5));
                endpoints.receiver.handle_data(now, &segment, is_marked);
                while let Some(ack) = endpoints.receiver.poll_ack(now) {
                    acks.push(ack);
                }
            }
        }
        now += Duration::from_millis(5);
        for ack in acks {
            let is_lost = matches!(fates.next(), Some(Fate::IsLost));
            if !is_lost || ack.syn {
                endpoints.handle_ack(now, &ack, false);
            }
        }
        if endpoints.sender.is_complete() {
            break;
        }
        let timers = [
            endpoints.sender.poll_timeout(),
            endpoints.receiver.poll_timeout(),
        ];
        if let Some(next) = timers.into_iter().flatten().min() {
            now = now.max(next);
            endpoints.sender.handle_timeout(now);
            endpoints.receiver.handle_timeout(now);
            while let Some(ack) = endpoints.receiver.poll_ack(now) {
                endpoints.handle_ack(now, &ack, false);
            }
        }
    }
    endpoints.capacity = Some(now);
    endpoints.unwritten = bytes;
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// After any traffic, renewed endpoints show the state of new ones, and further traffic of any
    /// kind has the same effect on both.
    #[test]
    fn renewed_endpoints_are_new(
        before in 0_usize..8,
        after in 0_usize..8,
        bytes in prop_oneof![1_u64..30_000, 1_u64..1_000_000],
        fates in prop::collection::vec(fate(), 1..60),
        more in prop::collection::vec(fate(), 1..60),
    ) {
        let [before, after] = [before, after].map(flow);
        let mut pool = Pool::default();
        let mut used = pool.open(&before, 1448, 7);
        run(&mut used, bytes, &fates);
        pool.close(used);
        let mut renewed = pool.open(&after, 1448, 8);
        prop_assert!(pool.closed.is_empty());
        let mut new = Pool::default().open(&after, 1448, 8);
        prop_assert_eq!(format!("{renewed:?}"), format!("{new:?}"));
        run(&mut renewed, bytes, &more);
        run(&mut new, bytes, &more);
        prop_assert_eq!(format!("{renewed:?}"), format!("{new:?}"));
    }
}

/// The traffic of the property test is not idle.
#[test]
fn the_traffic_of_the_test_loses_and_completes() {
    let flow = flow(0);
    let mut endpoints = Pool::default().open(&flow, 1448, 7);
    let fates = [Fate::Arrives, Fate::Arrives, Fate::Arrives, Fate::IsLost];
    run(&mut endpoints, 300_000, &fates);
    assert!(endpoints.sender.is_complete());
    assert!(endpoints.sender.stats().segments_retransmitted > 10);
    assert!(endpoints.probe.rtt.count() > 16);
}

/// What a connection takes, besides its packets in flight and the buffers that its losses need. A
/// flow that is not open takes its state alone.
#[test]
fn an_open_connection_is_small() {
    let sizes = [
        size_of::<Sender>(),
        size_of::<Receiver>(),
        size_of::<FlowProbe>(),
        size_of::<FlowState<'_>>(),
        size_of::<Endpoints>() + size_of::<FlowState<'_>>(),
    ];
    // The probe holds the interval of the throughput.
    let most = [1512, 608, 224, 168, 2584];
    assert!(
        sizes.iter().zip(most).all(|(size, most)| *size <= most),
        "{sizes:?}"
    );
}
