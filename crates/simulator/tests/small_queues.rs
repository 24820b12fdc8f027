//! TCP Small Queues if the sender's own device is the bottleneck, and their relaxation (Grazia
//! 2019).

mod common;

use common::{algorithm, run_traced, wired};
use measure::LinkResult;
use scenario::Flow;
use units::Bytes;

fn transfer(small_queue: Option<u8>, pacing: bool) -> (LinkResult, f64, u64) {
    let mut flow = Flow::new(algorithm("cubic+standard"));
    flow.size = Some(Bytes::new(5_000_000));
    flow.small_queue = small_queue;
    flow.pacing = pacing;
    // 10 Mbit/s, 50 ms: without queueing, at most 42 packets are in flight.
    let output = run_traced(&wired(10, 50, 2_000), flow);
    let flow = &output.result.flows[0];
    let link = output.result.links.into_iter().next().expect("a link");
    (
        link,
        flow.fct_s.expect("completed"),
        flow.segments_retransmitted,
    )
}

#[test]
fn small_queues_keep_the_queue_in_the_application() {
    for pacing in [false, true] {
        let (unlimited, fct, _) = transfer(None, pacing);
        assert!(unlimited.queue_max_packets > 500, "{unlimited:?}");
        let mut before = 0;
        // The default of Linux, then relaxed to 4, 8 and 62 ms of the pacing rate.
        for shift in [10, 8, 7, 4] {
            let (limited, own_fct, again) = transfer(Some(shift), pacing);
            assert_eq!((limited.drops, again), (0, 0));
            assert!(
                limited.queue_max_packets >= before,
                "{shift}: {} after {before}",
                limited.queue_max_packets
            );
            before = limited.queue_max_packets;
            // The limit never leaves the device idle.
            assert!(
                (own_fct / fct - 1.0).abs() < 0.02,
                "{shift}: {own_fct} for {fct}"
            );
            if shift == 10 {
                // Two bursts and the one that still fit, or a millisecond of the pacing rate.
                assert!((2..=20).contains(&before), "{before}");
            }
        }
        assert!(before > 40, "{before}");
    }
}

#[test]
fn a_device_that_is_not_the_bottleneck_changes_nothing() {
    // Each burst leaves the device within its millisecond, so the window is the limit.
    let fct = |small_queue| {
        let mut flow = Flow::new(algorithm("cubic"));
        flow.size = Some(Bytes::new(2_000_000));
        flow.small_queue = small_queue;
        flow.receive_buffer = Bytes::new(60_000);
        run_traced(&wired(10_000, 20, 10_000), flow).result.flows[0].fct_s
    };
    assert_eq!(fct(None), fct(Some(10)));
}
