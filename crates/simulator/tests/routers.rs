//! Quick-Start, RCP and XCP over a path of three routers, with and without router support.
//!
//! With router support, a transfer that fits into one round trip at the rate of the path takes one
//! round trip after the handshake. Slow start from ten segments takes three for 100 kB. The
//! expected values are computed by hand from the cited rules.

mod common;

use common::{algorithm, compare_with_snapshot, link, run, run_traced};
use measure::FlowResult;
use network::router::{QuickStartConfig, RcpConfig, RouterSupport, XcpConfig};
use network::{QueueLimit, Service};
use scenario::{Flow, PathModel, RouterModel, Scenario};
use testing::snapshot::Table;
use units::{Bytes, Duration, Instant, Rate};

const RTT: f64 = 0.2;
const QUICK_START: RouterSupport = RouterSupport::QuickStart(QuickStartConfig {
    threshold: 0.85,
    overstate: 1.0,
});
const RCP: RouterSupport = RouterSupport::Rcp(RcpConfig {
    alpha: 0.4,
    beta: 0.4,
    overstate: 1.0,
});
const XCP: RouterSupport = RouterSupport::Xcp(XcpConfig { overstate: 1.0 });

/// Three routers and 200 ms. The last router is the bottleneck of 10 Mbit/s.
fn path(supports: [RouterSupport; 3]) -> PathModel {
    let fixed = |mbit: u64| Service::Fixed(Rate::from_bits_per_sec(mbit * 1_000_000));
    let ms = Duration::from_millis;
    let limit = QueueLimit::Packets(200);
    let mut path = PathModel::from_links(
        "three routers",
        "",
        link("forward", fixed(10), limit, ms(70)),
        link(
            "reverse",
            Service::Unlimited,
            QueueLimit::Unlimited,
            ms(100),
        ),
    );
    let router = |number: usize, mbit, delay| RouterModel {
        link: link(&format!("router {number}"), fixed(mbit), limit, ms(delay)),
        router_support: supports[number - 1],
    };
    path.set_routers(vec![router(1, 100, 10), router(2, 20, 20)], supports[2]);
    assert_eq!(path.base_rtt, ms(200));
    path
}

fn flow(name: &str) -> Flow {
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(100_000));
    // The sender knows the scaled window, and the link was idle for a while.
    flow.syn_window = Bytes::new(1 << 20);
    flow.start = Instant::from_secs(3);
    flow
}

fn transfer(path: &PathModel, flow: Flow) -> FlowResult {
    let output = run(&Scenario::new(path.clone(), vec![flow]), false);
    assert_eq!(
        output.result.links.len(),
        4,
        "forward, reverse, two routers"
    );
    assert_eq!(output.result.links[3].name, "router 2");
    assert!(output.result.links[3].packets >= 70);
    output.result.flows.into_iter().next().expect("a flow")
}

/// Number of round trips in which data left. The last data arrives half a round trip later.
fn data_rounds(result: &FlowResult) -> u32 {
    assert!(
        result.completed && result.segments_retransmitted == 0,
        "{result:?}"
    );
    let after = result.fct_s.expect("completed") - 1.5 * RTT;
    assert!(after > 0.0);
    (after / RTT).floor() as u32 + 1
}

#[test]
fn quick_start_sends_all_in_the_first_round_trip() {
    let granted = transfer(&path([QUICK_START; 3]), flow("reno+quick-start"));
    // The flow is alone, so the bottleneck approves 5.12 of the 8.5 Mbit/s below its threshold.
    // This is a window of 85 segments of 1500 bytes, of which 70 leave at intervals of 2.34 ms.
    assert_eq!(data_rounds(&granted), 1);
    let spread = granted.fct_s.expect("completed") - 1.5 * RTT;
    assert!((0.158..0.168).contains(&spread), "{spread}");

    let ordinary = transfer(&path([QUICK_START; 3]), flow("reno+limited"));
    assert_eq!(data_rounds(&ordinary), 3);
    // One router without Quick-Start at each position, and one that rejects the request.
    for place in 0..3 {
        let mut supports = [QUICK_START; 3];
        supports[place] = RouterSupport::None;
        let fallen_back = transfer(&path(supports), flow("reno+quick-start"));
        assert_eq!(
            data_rounds(&fallen_back),
            3,
            "router {place} has no support"
        );
        // Only the option on the SYN and the report on the first data segment cost time.
        let late = fallen_back.fct_s.expect("completed") - ordinary.fct_s.expect("completed");
        assert!((0.0..25e-6).contains(&late), "{late}");
    }
    let refusing = RouterSupport::QuickStart(QuickStartConfig {
        threshold: 0.001,
        overstate: 1.0,
    });
    let refused = transfer(
        &path([QUICK_START, refusing, QUICK_START]),
        flow("reno+quick-start"),
    );
    assert_eq!(data_rounds(&refused), 3);
    // A flow that fits into the initial window sends no request.
    let mut small = flow("reno+quick-start");
    small.size = Some(Bytes::new(14_480));
    let output = run(&Scenario::new(path([QUICK_START; 3]), vec![small]), false);
    let fct = output.result.flows[0].fct_s.expect("completed");
    assert!(fct < 1.5 * RTT + 0.016, "a burst, not paced: {fct}");
}

/// Routers that take their links for eight times as fast grant 40.96 Mbit/s (68 are below the
/// threshold of the bottleneck of 10): a window of 682 segments. In its 200 ms, router 2 sends 333
/// of them and holds 200, and drops the rest.
#[test]
fn routers_that_lie_cause_the_loss_that_they_are_asked_to_prevent() {
    let lying = RouterSupport::QuickStart(QuickStartConfig {
        threshold: 0.85,
        overstate: 8.0,
    });
    let dropped = |support| {
        let mut flow = flow("reno+quick-start");
        flow.size = Some(Bytes::new(682 * 1448));
        let output = run(&Scenario::new(path([support; 3]), vec![flow]), false);
        let links = &output.result.links;
        (links[0].drops, links[3].drops)
    };
    assert_eq!(dropped(QUICK_START), (0, 0));
    let (bottleneck, router) = dropped(lying);
    assert!((140..160).contains(&router), "{router}");
    // The 533 that pass leave router 2 in 323 ms, in which the bottleneck sends 267 and holds 200.
    assert!((55..75).contains(&bottleneck), "{bottleneck}");
}

#[test]
fn the_unscaled_advertised_window_limits_quick_start() {
    // The SYN-ACK advertises 65,535 bytes: 45 segments, and the rest follows a round trip later.
    let mut unscaled = flow("reno+quick-start");
    unscaled.syn_window = Flow::new(algorithm("reno")).syn_window;
    assert_eq!(data_rounds(&transfer(&path([QUICK_START; 3]), unscaled)), 2);
}

/// RFC 4782, section 4.5: at most 100 ACKs in the round trip of the approved flight.
#[test]
fn a_receiver_may_send_one_hundred_acks_for_the_approved_flight() {
    // 163.84 Mbit/s are approved: one ACK for 28 segments (163.84e6 * 0.2 / 100 / 8 / 1448), and for
    // 14 and 7 in the next round trips. The flight has 2,072 segments, and is alone on the path.
    let mut path = path([QUICK_START; 3]);
    let links = [&mut path.forward].into_iter();
    for link in links.chain(path.routers.iter_mut().map(|router| &mut router.link)) {
        link.service = Service::Fixed(Rate::from_bits_per_sec(200_000_000));
    }
    let transferred = |name: &str| {
        let mut flow = flow(name);
        flow.size = Some(Bytes::new(3_000_000));
        flow.syn_window = Bytes::new(4 << 20);
        let output = run(&Scenario::new(path.clone(), vec![flow]), false);
        let flow = output.result.flows[0].clone();
        assert!(flow.completed && flow.segments_retransmitted == 0);
        (
            output.result.links[1].packets,
            flow.fct_s.expect("completed"),
        )
    };
    let (all, fct) = transferred("reno+quick-start");
    let (few, thinned_fct) = transferred("reno+quick-start:thin_acks=true");
    assert!(all >= 2_072 / 2, "{all}");
    // The SYN-ACK, the first packet's, one in 28 until a round trip after that, and the last one's.
    assert!((70..=100).contains(&few), "{few}");
    assert!(
        (thinned_fct - fct).abs() < 0.02 * fct,
        "{thinned_fct} {fct}"
    );
}

#[test]
fn earlier_approvals_reduce_later_ones() {
    // Five flows ask within 40 ms: 5.12, 2.56, 640 kbit/s... Each approval leaves less capacity
    // below the threshold.
    let flows = (0..5)
        .map(|number| {
            let mut flow = flow("reno+quick-start");
            flow.start += Duration::from_millis(8 * number);
            flow
        })
        .collect();
    let output = run(&Scenario::new(path([QUICK_START; 3]), flows), false);
    let rounds: Vec<u32> = output.result.flows.iter().map(data_rounds).collect();
    assert_eq!(rounds[0], 1, "{rounds:?}");
    assert!(rounds[1] > 1 && rounds[4] >= rounds[1], "{rounds:?}");
    assert!(output.result.links[0].drops == 0);
}

#[test]
fn a_quick_start_that_was_too_fast_falls_back_to_slow_start() {
    // Another flow uses the approved capacity a moment later, and the link's buffer is small.
    let mut path = path([QUICK_START; 3]);
    path.forward.queue.limit = QueueLimit::Packets(8);
    let mut large = flow("reno+quick-start");
    large.size = Some(Bytes::new(1_000_000));
    let mut burst = flow("reno+standard");
    burst.initial_window = 60;
    burst.start += Duration::from_millis(20);
    burst.size = Some(Bytes::new(80_000));
    let output = run(&Scenario::new(path, vec![large, burst]), true);
    let result = &output.result.flows[0];
    let exit = result.slow_start_exit.as_ref().expect("it lost");
    assert_eq!(exit.reason, "loss", "{result:?}");
    let trace = &output.traces.as_ref().expect("traced").flows[0];
    let at = trace
        .time_s
        .iter()
        .position(|&time| time > 3.0 + exit.time_s + 1e-9)
        .expect("later samples");
    // Slow start restarts from the initial window, not from half of the approved one.
    assert!(
        trace.cwnd_bytes[at] <= 11 * 1448,
        "{}",
        trace.cwnd_bytes[at]
    );
    assert!(result.completed);
}

#[test]
fn rcp_sends_the_first_data_at_its_fair_rate() {
    let granted = transfer(&path([RCP; 3]), flow("rcp"));
    assert_eq!(data_rounds(&granted), 1);
    // An idle link offers all of its rate: 70 segments of 1436 bytes, 1514 on the wire, in 84.8 ms.
    let spread = granted.fct_s.expect("completed") - 1.5 * RTT;
    assert!((0.083..0.088).contains(&spread), "{spread}");
    for place in 0..3 {
        let mut supports = [RCP; 3];
        supports[place] = RouterSupport::None;
        let fallen_back = transfer(&path(supports), flow("rcp"));
        assert_eq!(
            data_rounds(&fallen_back),
            3,
            "router {place} has no support"
        );
    }
}

#[test]
fn rcp_shares_a_link_without_a_loss() {
    let flows: Vec<Flow> = (0..4)
        .map(|number| {
            let mut flow = Flow::new(algorithm("rcp"));
            flow.duration = Some(Duration::from_secs(20));
            flow.start = Instant::from_millis(500 * number);
            flow
        })
        .collect();
    let mut scenario = Scenario::new(path([RCP; 3]), flows);
    scenario.duration = Some(Duration::from_secs(20));
    let output = run(&scenario, true);
    let traces = output.traces.expect("traced");
    let link = &output.result.links[0];
    assert_eq!(link.drops, 0);
    assert!(link.utilization.expect("a rate") > 0.9, "{link:?}");
    for trace in &traces.flows {
        // Over the last ten seconds.
        let from = trace.time_s.partition_point(|&time| time < 10.0);
        let to = trace.time_s.len() - 1;
        let bytes = trace.delivered_bytes[to] - trace.delivered_bytes[from];
        let goodput = bytes as f64 * 8.0 / (trace.time_s[to] - trace.time_s[from]);
        // A quarter of the link's rate, less headers.
        let expected = 2.5e6 * 1436.0 / 1514.0;
        assert!((goodput / expected - 1.0).abs() < 0.05, "{goodput}");
    }
}

#[test]
fn xcp_fills_the_link_without_a_loss_but_starts_slowly() {
    let path = path([XCP; 3]);
    let mut long = Flow::new(algorithm("xcp"));
    long.duration = Some(Duration::from_secs(20));
    let output = run_traced(&path, long);
    let link = &output.result.links[0];
    assert_eq!(link.drops, 0);
    assert!(link.utilization.expect("a rate") > 0.9, "{link:?}");
    // At equilibrium the queue is almost empty.
    let trace = &output.traces.as_ref().expect("traced").links[0];
    let from = trace.time_s.partition_point(|&time| time < 10.0);
    let longest = trace.queue_packets[from..].iter().max();
    assert!(longest.is_some_and(|&packets| packets < 20), "{longest:?}");
    let short = transfer(&path, flow("xcp"));
    assert!(data_rounds(&short) >= 3);
    // Without router support it is Reno: 10, 20, 40 and then the 71st segment of 1428 bytes.
    let fallen_back = transfer(&self::path([XCP, RouterSupport::None, XCP]), flow("xcp"));
    assert_eq!(data_rounds(&fallen_back), 4);
}

/// One line for each transfer: completion in ms, segments sent and retransmitted, drops and the
/// longest queue of the bottleneck.
#[test]
fn transfers_over_three_routers() {
    let heading = "algorithm           routers        size   done  sent  retx drops queue";
    let mut table = Table::new(heading);
    for (name, kind, router_support) in [
        ("cubic+quick-start", "quick-start", QUICK_START),
        ("reno+quick-start", "quick-start", QUICK_START),
        ("rcp", "rcp", RCP),
        ("xcp", "xcp", XCP),
    ] {
        for (kind, router_support) in [(kind, router_support), ("none", RouterSupport::None)] {
            for size in [20_000, 100_000, 1_000_000, 10_000_000] {
                let mut flow = flow(name);
                flow.size = Some(Bytes::new(size));
                let output = run(&Scenario::new(path([router_support; 3]), vec![flow]), false);
                let (flow, link) = (&output.result.flows[0], &output.result.links[0]);
                let millis = flow.fct_s.expect("completed") * 1e3;
                table.push(&format!(
                    "{name:<19} {kind:<12} {size:>8} {:>6} {:>5} {:>5} {:>5} {:>5}",
                    millis.round(),
                    flow.segments_sent,
                    flow.segments_retransmitted,
                    link.drops,
                    link.queue_max_packets,
                ));
            }
        }
    }
    compare_with_snapshot("routers.txt", &table);
}

#[test]
fn router_support_does_not_affect_other_flows() {
    // A flow without a request has the same result with any router support.
    let fct = |router_support| transfer(&path([router_support; 3]), flow("cubic")).fct_s;
    let plain = fct(RouterSupport::None);
    assert!(
        [QUICK_START, RCP, XCP]
            .iter()
            .all(|&router_support| fct(router_support) == plain)
    );
}
