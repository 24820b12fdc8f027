//! Start-ups that jump, over a whole path: how the sender executes their decisions. The expected
//! values are computed by hand from the cited rules.

mod common;

use common::{algorithm, run, wired};
use scenario::{Flow, Scenario};
use tcp::AckPolicy;
use units::{Bytes, Instant};

/// A flow of `size` bytes.
fn flow(name: &str, size: u64) -> Flow {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(size));
    flow
}

/// Li et al. 2015: without a loss and with an ACK for each of N segments, half of them are sent
/// twice.
#[test]
fn halfback_sends_half_of_the_flow_twice() {
    let path = wired(1_000, 100, 10_000);
    for (segments, copies) in [(1, 0), (2, 1), (3, 1), (10, 5), (11, 5), (44, 22)] {
        let mut flow = flow("cubic+halfback", 1448 * segments);
        flow.ack_policy = AckPolicy::EverySegment;
        let output = run(&Scenario::new(path.clone(), vec![flow]), false);
        let flow = &output.result.flows[0];
        assert!(flow.completed, "{segments}");
        assert_eq!(flow.segments_retransmitted, copies, "{segments}");
        assert_eq!(flow.segments_sent, segments + copies);
        assert_eq!((flow.segments_lost, flow.timeouts), (0, 0));
    }
}

/// Ten segments at once are ten packets at the link; paced over the round trip, in bursts of two,
/// they are two.
#[test]
fn a_paced_initial_window_needs_no_buffer() {
    let path = wired(10, 100, 100);
    let sent = |name: &str| {
        let output = run(
            &Scenario::new(path.clone(), vec![flow(name, 14_480)]),
            false,
        );
        let fct = output.result.flows[0].fct_s.expect("it finishes");
        (output.result.links[0].queue_max_packets, fct)
    };
    let (queue, fct) = sent("reno+initial-start");
    let (paced_queue, paced_fct) = sent("reno+initial-start:pace=rtt");
    assert_eq!((queue, paced_queue), (10, 2));
    // The last two leave 7/10 of a round trip after the first (8/10, less the half of its time that
    // the first burst is credited, as in Linux). At once, they wait for the eight before them.
    let later = paced_fct - fct;
    let expected = 0.07 - 8.0 * 1514.0 * 8.0 / 10e6;
    assert!((later - expected).abs() < 1e-4, "{later} {expected}");
}

/// The flow is paced evenly over one round trip.
#[test]
fn halfback_spreads_the_flow_over_one_round_trip() {
    let path = wired(1_000, 100, 10_000);
    let time = |name: &str| {
        let output = run(
            &Scenario::new(path.clone(), vec![flow(name, 1448 * 40)]),
            false,
        );
        output.result.flows[0].fct_s.expect("it finishes")
    };
    // One round trip for SYN and SYN-ACK. 37/40 of a round trip for 40 segments in bursts of two,
    // where the first burst is credited half of its time (Linux). Half a round trip for the last
    // burst.
    let halfback = time("cubic+halfback:copies=false");
    assert!((halfback - 0.2425).abs() < 0.0001, "{halfback}");
    assert!(time("cubic+standard") > halfback + 0.05);
}

/// If the tail of a short flow is lost, its copies arrive before a timeout or a tail loss probe.
#[test]
fn halfback_repairs_its_tail_without_a_timeout() {
    // The flow is paced at four times the rate of the link, so its last packets are dropped.
    let path = wired(2, 100, 12);
    let finished = |name: &str| {
        let output = run(
            &Scenario::new(path.clone(), vec![flow(name, 1448 * 40)]),
            false,
        );
        let flow = &output.result.flows[0];
        (flow.fct_s.expect("it finishes"), flow.timeouts)
    };
    let (with, timeouts) = finished("cubic+halfback");
    let (without, _) = finished("cubic+halfback:copies=false");
    assert_eq!(timeouts, 0);
    assert!(with < without, "{with} {without}");
}

/// The second of two flows starts with the path state of the first, and completes earlier.
#[test]
fn the_second_flow_remembers_the_path() {
    let path = wired(50, 100, 413);
    for name in ["cubic+stateful", "cubic+careful-resume"] {
        let first = flow(name, 10_000_000);
        let mut second = flow(name, 1_000_000);
        second.start = Instant::from_secs(20);
        let mut elsewhere = second.clone();
        elsewhere.start = Instant::from_secs(40);
        elsewhere.extra_delay = units::Duration::from_nanos(1);
        let flows = vec![first, second, elsewhere];
        let output = run(&Scenario::new(path.clone(), flows), false);
        let times: Vec<f64> = output.result.flows[1..]
            .iter()
            .map(|flow| flow.fct_s.expect("it finishes"))
            .collect();
        assert!(times[0] < times[1] - 0.05, "{name}: {times:?}");
    }
}

/// While a flow uses the saved path state, a second flow that starts gets none of it.
#[test]
fn a_saved_set_serves_one_flow_at_a_time() {
    let path = wired(50, 100, 413);
    let name = "cubic+careful-resume";
    let mut flows = vec![flow(name, 10_000_000)];
    for start in [20_000, 20_001] {
        let mut next = flow(name, 300_000);
        next.start = Instant::from_millis(start);
        flows.push(next);
    }
    let output = run(&Scenario::new(path, flows), false);
    let time = |index: usize| output.result.flows[index].fct_s.expect("it finishes");
    assert!(time(1) < time(2) - 0.05, "{} {}", time(1), time(2));
}
