//! Connections in which both sides write.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{algorithm, run, wired};
use measure::{ExchangeResult, RunResult, TrafficResult};
use network::{LossConfig, QueueLimit, ReorderingConfig, Service};
use scenario::{Direction, Ends, Flow, PathModel, Scenario, Traffic, TrafficKind};
use simulator::{EventLoop, RunOptions};
use tcp::AckPolicy;
use units::{Bytes, Duration, Instant, Rate};
use workload::draw::{Sizes, Times};
use workload::generate::Http10Config;
use workload::{
    Close, Connection, Exchange, Headers, Plan, Recording, Script, Side, Turn, Unit, VideoClients,
    VideoConfig,
};

const ASK: Side = Side::Initiator;
const ANSWER: Side = Side::Acceptor;

fn turn(side: Side, wait_ms: u64, bytes: u64) -> Turn {
    Turn {
        side,
        wait: Duration::from_millis(wait_ms),
        bytes: Bytes::new(bytes),
    }
}

fn connection(start_ms: u64, exchange: Exchange) -> Connection {
    Connection {
        start: Instant::from_millis(start_ms),
        id: start_ms,
        group: 1,
        headers: Headers::default(),
        exchange,
    }
}

/// A sequential exchange; `close` waits for `wait_ms`.
fn sequential(turns: Vec<Turn>, side: Side, wait_ms: u64) -> Exchange {
    let wait = Duration::from_millis(wait_ms);
    Exchange::Sequential {
        turns,
        close: Close { side, wait },
    }
}

fn recorded(connections: Vec<Connection>) -> Plan {
    Plan::Recorded(Recording {
        file: "test".to_owned(),
        connections: Arc::from(connections),
        repeat: None,
    })
}

fn traffic(plan: Plan, name: &str, initial_window: u32) -> Traffic {
    let mut flow = Flow::new(algorithm(name));
    flow.initial_window = initial_window;
    flow.ends = Ends::default();
    Traffic {
        name: "web".to_owned(),
        kind: TrafficKind::Exchanges(plan),
        direction: Direction::Forward,
        flow,
        extra_delays: vec![Duration::ZERO],
        start: Instant::ZERO,
        stop: None,
        list_flows: true,
    }
}

/// 10 Mbit/s with 100 ms and an unlimited queue, and nothing but IP.
fn idle_path() -> PathModel {
    let mut path = wired(10, 100, 413);
    for link in [&mut path.forward, &mut path.reverse] {
        link.overhead = 0;
        link.queue.limit = QueueLimit::Unlimited;
    }
    path.reverse.service = Service::Unlimited;
    path
}

fn run_one(path: PathModel, traffic: Traffic, seconds: u64) -> RunResult {
    let mut path = path;
    path.traffic = vec![traffic];
    let mut scenario = Scenario::new(path, Vec::new());
    scenario.duration = Some(Duration::from_secs(seconds));
    run(&scenario, false).result
}

fn exchanges(result: &RunResult) -> (&TrafficResult, &ExchangeResult) {
    let traffic = &result.traffic[0];
    let exchanges = traffic.exchanges.as_ref().expect("both sides write");
    (traffic, exchanges)
}

fn durations_ms(result: &RunResult) -> Vec<f64> {
    let list = exchanges(result).1.list.as_ref().expect("a list");
    list.iter().map(|epoch| epoch.duration_s * 1e3).collect()
}

/// Of a flow alone with 10 Mbit/s and 100 ms, without delayed ACKs: a full packet takes 1.2 ms, and
/// each round doubles the window. The first response of `n` packets with an initial window of `w`
/// has arrived after as many round trips as windows are needed before the pipe is full.
fn ideal_ms(packets: u64, initial_window: u64) -> f64 {
    let (per_packet, rtt) = (1.2, 100.0);
    let (mut sent, mut window, mut time) = (0, initial_window, rtt / 2.0);
    loop {
        let flight = window.min(packets - sent);
        sent += flight;
        if sent == packets || window as f64 * per_packet >= rtt {
            let left = packets - sent + flight;
            return time + left as f64 * per_packet + rtt / 2.0;
        }
        // The ACK of the first packet of this flight starts the next one.
        time += rtt + per_packet;
        window *= 2;
    }
}

#[test]
fn epochs_on_an_idle_path_last_as_long_as_slow_start_needs() {
    for (initial_window, algorithm) in [(3, "reno+standard"), (10, "reno+standard")] {
        for packets in [1, 3, 4, 7, 10, 14, 21, 35, 44, 69, 137] {
            let turns = vec![turn(ASK, 0, 100), turn(ANSWER, 0, packets * 1448)];
            let plan = recorded(vec![connection(0, sequential(turns, ANSWER, 0))]);
            let mut traffic = traffic(plan, algorithm, initial_window);
            traffic.flow.ack_policy = AckPolicy::EverySegment;
            let result = run_one(idle_path(), traffic, 10);
            let (traffic, _) = exchanges(&result);
            assert_eq!((traffic.started, traffic.finished), (1, 1), "{packets}");
            let [duration] = durations_ms(&result)[..] else {
                panic!("one epoch");
            };
            let ideal = ideal_ms(packets, u64::from(initial_window));
            assert!(
                (duration - ideal).abs() < 0.06,
                "{packets} packets, initial window {initial_window}: {duration} ms for {ideal} ms"
            );
        }
    }
}

/// Requests and responses by hand: 100 ms of round trip, 1.2 ms for a full packet.
#[test]
fn waits_count_from_what_a_side_received_or_sent() {
    let turns = vec![
        turn(ASK, 0, 100),
        turn(ANSWER, 20, 1448),
        turn(ASK, 500, 100),
        turn(ANSWER, 0, 1000),
        turn(ANSWER, 30, 1448),
    ];
    let plan = recorded(vec![connection(10, sequential(turns, ASK, 0))]);
    let result = run_one(idle_path(), traffic(plan, "cubic", 10), 60);
    let (traffic, exchanges) = exchanges(&result);
    assert_eq!((traffic.started, traffic.finished), (1, 1));
    assert_eq!((exchanges.connections, exchanges.epochs), (1, 2));
    let list = exchanges.list.as_ref().expect("a list");
    // The SYN leaves at 10 ms, and the SYN-ACK of 60 bytes is there 100.048 ms later.
    let setup = exchanges.setup.expect("a connection").mean_s;
    assert!((setup - 0.100_048).abs() < 1e-9, "{setup}");
    let expected = [(0.11, 0.1212, 0.02), (0.11 + 0.1212 + 0.5, 0.1312, 0.03)];
    for (epoch, (start, duration, think)) in list.iter().zip(expected) {
        assert!((epoch.start_s - start).abs() < 1e-4, "{epoch:?}");
        assert!((epoch.duration_s - duration).abs() < 1e-4, "{epoch:?}");
        assert!((epoch.think_s - think).abs() < 1e-9, "{epoch:?}");
    }
    assert_eq!(list[1].response_bytes, 2448);
}

#[test]
fn sides_of_a_concurrent_exchange_follow_their_own_clocks() {
    let unit = |wait_ms, bytes| Unit {
        wait: Duration::from_millis(wait_ms),
        bytes: Bytes::new(bytes),
    };
    let scripts = [
        Script {
            units: vec![unit(0, 1000), unit(40, 1500)],
            close: Duration::from_millis(1),
        },
        Script {
            units: vec![unit(0, 20_000)],
            close: Duration::from_millis(2),
        },
    ];
    let plan = recorded(vec![connection(900, Exchange::Concurrent(scripts))]);
    let result = run_one(idle_path(), traffic(plan, "cubic", 10), 60);
    let (traffic, exchanges) = exchanges(&result);
    assert_eq!((traffic.started, traffic.finished), (1, 1));
    assert_eq!((exchanges.connections, exchanges.epochs), (1, 0));
    assert_eq!(traffic.bytes_delivered, 20_000);
}

#[test]
fn a_video_is_requested_segment_by_segment_over_one_connection() {
    let mbit = |mbit: u64| Rate::from_bits_per_sec(mbit * 1_000_000);
    let client = VideoConfig::new([1, 2, 4, 8].map(mbit).to_vec(), Some(120));
    let plan = Plan::AdaptiveVideo(VideoClients {
        clients: 1,
        begin: Instant::ZERO,
        spread: Duration::ZERO,
        client,
    });
    let result = run_one(idle_path(), traffic(plan, "cubic", 10), 900);
    let (traffic, exchanges) = exchanges(&result);
    assert_eq!((traffic.started, traffic.finished), (1, 1));
    let list = exchanges.list.as_ref().expect("a list");
    assert_eq!(list.len(), 120);
    assert_eq!(list[0].response_bytes, 500_000, "the lowest bitrate, 4 s");
    assert_eq!(list[119].response_bytes, 4_000_000, "the highest");
    // 4 MB at 10 Mbit/s take 3.3 s with headers, after an idle restart a little longer.
    let last = list[119].duration_s;
    assert!((3.3..4.5).contains(&last), "{last}");
}

/// Many connections over a lossy path: all end, whatever is lost.
#[test]
fn every_connection_ends_over_a_lossy_path() {
    for algorithm in ["cubic", "reno+jump-start", "bbr", "cubic+search"] {
        let mut path = wired(20, 40, 30);
        for link in [&mut path.forward, &mut path.reverse] {
            link.loss = LossConfig::Bernoulli(0.05);
        }
        let connections = (0..200u64).map(|number| {
            let turns = vec![
                turn(ASK, 0, 300 + number),
                turn(ANSWER, number % 50, 1 + number * 997 % 60_000),
                turn(ASK, 300, 2000),
                turn(ANSWER, 0, 5000),
            ];
            let side = if number % 2 == 0 { ASK } else { ANSWER };
            connection(number * 37, sequential(turns, side, number % 7))
        });
        let plan = recorded(connections.collect());
        let result = run_one(path, traffic(plan, algorithm, 10), 600);
        let (traffic, exchanges) = exchanges(&result);
        assert_eq!(
            (traffic.started, traffic.finished),
            (200, 200),
            "{algorithm}"
        );
        assert_eq!(exchanges.epochs, 400, "{algorithm}");
    }
}

/// Poisson arrivals of connections whose responses are one packet load the link as the formula of
/// Pollaczek and Khinchine says. Servers work for random times: without these, SYN-ACKs that have
/// waited together are answered together, and the responses come in clumps.
#[test]
fn utilization_and_queue_of_poisson_arrivals_are_those_of_theory() {
    // SYN-ACK, ACK of the request, response with FIN, ACK of the client's FIN.
    let packets = [60.0, 52.0, 1500.0, 52.0];
    for (load, tolerance) in [(0.3, 0.06), (0.7, 0.06)] {
        let per_byte = 8.0 / 10e6;
        let seconds: f64 = packets.iter().map(|bytes| bytes * per_byte).sum();
        let squares: f64 = packets.iter().map(|bytes| (bytes * per_byte).powi(2)).sum();
        let arrivals_per_s = load / seconds;
        let plan = Plan::Http10(Http10Config {
            request: Sizes::Constant(Bytes::new(100)),
            delay: Times::Exponential {
                mean: Duration::from_millis(50),
            },
            response: Sizes::Constant(Bytes::new(1448)),
            ..Http10Config::new(arrivals_per_s)
        });
        let result = run_one(idle_path(), traffic(plan, "cubic", 10), 400);
        let link = &result.links[0];
        let utilization = link.utilization.expect("a rate");
        assert!(
            (utilization / load - 1.0).abs() < 0.02,
            "{utilization} for {load}"
        );
        let waiting = arrivals_per_s * squares / (2.0 * (1.0 - load));
        let queue = packets.len() as f64 * arrivals_per_s * waiting;
        assert!(
            (link.queue_mean_packets / queue - 1.0).abs() < tolerance,
            "{} packets wait at a load of {load}, {queue} by theory",
            link.queue_mean_packets
        );
        // The link is idle, or sends without a queue, as often as its samples say: by Poisson arrivals
        // at random times, a packet waits with the probability of the load.
        let distribution = link.queue_distribution.as_ref().expect("samples");
        let percentiles = &distribution.percentiles_packets;
        let empty = percentiles.iter().take_while(|queue| **queue == 0).count();
        let busy = 1.0 - empty as f64 / 101.0;
        assert!(
            busy < load,
            "a queue in {busy} of the time at a load of {load}"
        );
        let mean = percentiles[..100].iter().sum::<u64>() as f64 / 100.0;
        assert!(
            mean < queue * 1.15 && mean > queue * 0.7,
            "{mean} packets by percentiles for {queue}"
        );
    }
}

/// A sender echoes the timestamp of the last segment that arrived at its host, whether or not the
/// application waits for its bytes, and with or without the shortcut of plain data: the RTT of the
/// other host, and with it the time for which SACK compression holds an ACK, depends on the echo.
/// Here an original arrives after its retransmission, while nothing waits. (In scenario 7664 of
/// `event_loops`, the measured flow lost a segment more or less.)
#[test]
fn data_echoes_a_late_segment_in_each_event_loop() {
    let mut path = wired(50, 3, 20);
    path.forward.loss = LossConfig::Bernoulli(0.01);
    path.reverse.reordering = Some(ReorderingConfig {
        probability: 0.3,
        delay: Duration::from_millis(20),
        ..ReorderingConfig::DEFAULT
    });
    let turns = [turn(ASK, 0, 12_000), turn(ANSWER, 60, 200_000)].repeat(20);
    let plan = recorded(vec![connection(0, sequential(turns, ASK, 0))]);
    path.traffic = vec![traffic(plan, "cubic", 10)];
    let mut scenario = Scenario::new(path, Vec::new());
    scenario.duration = Some(Duration::from_secs(20));
    for seed in 0..40 {
        scenario.seed = seed;
        let [plain, fastest] = [EventLoop::Plain, EventLoop::Fastest].map(|event_loop| {
            let options = RunOptions {
                event_loop,
                ..RunOptions::default()
            };
            let output = simulator::run(&scenario, 0, &options, &AtomicBool::new(false));
            output.expect("a run").result
        });
        assert_eq!(fastest, plain, "seed {seed}");
    }
}
