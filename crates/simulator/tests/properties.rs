//! Invariants for any path, loss, jitter and set of flows.

mod common;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use common::{algorithm, link, run};
use network::{
    GilbertElliott, JitterConfig, JitterDistribution, LossConfig, QueueLimit, Service,
    VaryingConfig,
};
use proptest::prelude::*;
use scenario::{Application, Flow, PathModel, Scenario};
use simulator::{Job, RunOptions, run_all};
use units::{Bytes, Duration, Instant, Rate};

const ALGORITHMS: &[&str] = &[
    "reno",
    "cubic",
    "cubic+standard",
    "cubic+hystart++",
    "cubic+search",
    "cubic+search:version=4.0,exit=drain",
    "reno+search:version=3.1,exit=rollback",
    "cubic+limited",
    "cubic+hystart+plain",
    "bic",
    "fast",
    "fast:personalised=true",
    "hybla",
    "illinois",
    "cuback",
    "abba",
    "abba:curve=cuback",
    "vegas",
    "westwood",
    "bbr",
    "bbr3",
];

fn service() -> impl Strategy<Value = Service> {
    let rate = (100_000u64..500_000_000).prop_map(Rate::from_bits_per_sec);
    prop_oneof![
        4 => rate.clone().prop_map(Service::Fixed),
        1 => (rate, 1u64..200).prop_map(|(mean, slot)| Service::Varying(VaryingConfig {
            mean,
            variation: 0.4,
            correlation: Duration::from_millis(500),
            slot: Duration::from_millis(slot),
            peak: mean.mul_div(3, 1),
        })),
    ]
}

fn loss() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        3 => Just(LossConfig::None),
        2 => (0.0..0.05f64).prop_map(LossConfig::Bernoulli),
        1 => (0.0..0.01f64, 0.1..0.9f64).prop_map(|(p, r)| LossConfig::GilbertElliott(GilbertElliott { p, r, bad_loss: 0.5, good_loss: 0.0 })),
    ]
}

fn jitter() -> impl Strategy<Value = Option<JitterConfig>> {
    prop::option::of(
        (1u64..30, 1u64..50).prop_map(|(amount, slot)| JitterConfig {
            amount: Duration::from_millis(amount),
            distribution: JitterDistribution::Uniform,
            slot: Duration::from_millis(slot),
        }),
    )
}

prop_compose! {
    fn path()(service in service(), loss in loss(), ack_loss in loss(), jitter in jitter(),
              delay_us in 0u64..300_000, buffer in 1u64..2_000) -> PathModel {
        let half = Duration::from_micros(delay_us);
        let mut forward = link("forward", service, QueueLimit::Packets(buffer), half);
        forward.loss = loss;
        forward.jitter = jitter;
        let mut reverse = link("reverse", Service::Fixed(Rate::from_bits_per_sec(10_000_000)), QueueLimit::Packets(1000), half);
        reverse.loss = ack_loss;
        PathModel::from_links("random", "", forward, reverse)
    }
}

prop_compose! {
    fn flow()(name in 0..ALGORITHMS.len(), size in 1u64..400_000, start_ms in 0u64..500, initial_window in 1u32..40,
              pacing: bool, extra_ms in 0u64..40, periodic in prop::option::of((1u64..30_000, 1u64..300)), ecn: bool, sack: bool) -> Flow {
        let mut flow = Flow::new(algorithm(ALGORITHMS[name]));
        flow.size = Some(Bytes::new(size));
        flow.start = Instant::from_millis(start_ms);
        flow.initial_window = initial_window;
        flow.pacing = pacing;
        flow.ecn = ecn;
        flow.sack = sack;
        flow.extra_delay = Duration::from_millis(extra_ms);
        if let Some((write, every)) = periodic {
            // At most 100 writes.
            flow.application = Application::Periodic { write: Bytes::new(write.max(size / 100)), every: Duration::from_millis(every) };
        }
        flow
    }
}

/// The text of a `[[traffic]]` table.
fn table() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        (1u64..90, 100u64..100_000).prop_map(|(load, mean)| format!("kind = 'web'\nload = '{load} %'\nmean = '{mean} B'")),
        (1u64..5, 1u64..200_000).prop_map(|(count, size)| format!("kind = 'bulk'\ncount = {count}\nsize = '{size} B'")),
        (1u64..5).prop_map(|count| format!("kind = 'bulk'\ncount = {count}\nspread = '0 s'")),
        (1u64..3_000, 100u64..2_000).prop_map(|(rate, ms)| format!("kind = 'video'\nbitrate = '{rate} kbit/s'\nsegment = '{ms} ms'")),
        (1u64..3_000, 1u64..900, 0u64..900).prop_map(|(rate, on, off)| format!(
            "kind = 'datagrams'\ncount = 2\nrate = '{rate} kbit/s'\non = '{on} ms'\noff = '{off} ms'"
        )),
    ];
    let when = prop_oneof![
        Just(""),
        Just("start = '700 ms'\n"),
        Just("warm_up = '1 s'\n"),
        Just("duration = '1 s'\n")
    ];
    let direction = prop_oneof![Just("forward"), Just("reverse")];
    (kind, when, direction, 0u64..40).prop_map(|(kind, when, direction, extra)| {
        format!("[[traffic]]\n{kind}\n{when}direction = '{direction}'\nextra_delay = ['0 s', '{extra} ms']\nlist_flows = true\n")
    })
}

/// A path with or without routers, a discipline that drops at dequeue, and background traffic.
fn busy_path() -> impl Strategy<Value = PathModel> {
    let aqm = prop_oneof![Just("drop-tail"), Just("codel"), Just("fq-codel")];
    let routers = prop_oneof![
        Just(""),
        Just(
            "[[path.router]]\nrate = '50 Mbit/s'\n[[path.router]]\nrate = '40 Mbit/s'\nrouter_support = 'rcp'\n"
        )
    ];
    let tables = prop::collection::vec(table(), 1..4);
    (aqm, routers, tables, 1u64..100, 2u64..100).prop_map(|(aqm, routers, tables, rtt, buffer)| {
        let text = format!(
            "[path]\nrate = '5 Mbit/s'\nrtt = '{rtt} ms'\nbuffer = '{buffer} packets'\naqm = '{aqm}'\nloss = '0.5 %'\n\
             reverse.rate = '2 Mbit/s'\nreverse.buffer = '{buffer} packets'\n{routers}{}",
            tables.concat()
        );
        PathModel::parse(&text, "random.toml", std::path::Path::new("")).unwrap_or_else(|error| panic!("{error}: {text}"))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn background_traffic_does_not_depend_on_the_measured_flow(path in busy_path(), one in flow(), other in flow(), seed: u64) {
        let results: Vec<_> = [one, other].into_iter().map(|mut flow| {
            flow.size = None;
            let mut scenario = Scenario::new(path.clone(), vec![flow]);
            scenario.seed = seed;
            scenario.duration = Some(Duration::from_secs(4));
            run(&scenario, false).result
        }).collect();
        for (one, other) in results[0].traffic.iter().zip(&results[1].traffic) {
            prop_assert_eq!(one.started, other.started);
            let started = |traffic: &measure::TrafficResult| -> Vec<_> {
                traffic.flows.iter().flatten().map(|flow| (flow.start_s.to_bits(), flow.size_bytes)).collect()
            };
            prop_assert_eq!(started(one), started(other));
            for traffic in [one, other] {
                prop_assert_eq!(traffic.flows.as_ref().map(|flows| flows.len() as u64), Some(traffic.started));
                prop_assert!(traffic.finished <= traffic.started && traffic.rejected == 0);
                prop_assert!(traffic.bytes_offered.is_none_or(|offered| traffic.bytes_delivered <= offered), "{traffic:?}");
                prop_assert!(traffic.segments_sent * 1472 >= traffic.bytes_delivered);
                prop_assert!(traffic.segments_lost <= traffic.segments_sent, "{traffic:?}");
                // The rates of these paths are constant.
                prop_assert!(traffic.load_delivered.is_none_or(|load| load <= 1.0), "{traffic:?}");
                let link = usize::from(traffic.direction == "reverse");
                prop_assert!(traffic.bytes_delivered == 0 || results[0].links[link].packets > 0);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_completes_and_every_packet_is_counted(path in path(), flows in prop::collection::vec(flow(), 1..5), seed: u64) {
        let mut scenario = Scenario::new(path, flows);
        scenario.seed = seed;
        // Transfers over slow links with many losses take long, because timeouts back off.
        scenario.time_limit = Duration::from_secs(40_000);
        let output = run(&scenario, true);
        for (flow, config) in output.result.flows.iter().zip(&scenario.flows) {
            let size = config.size.expect("sized").get();
            prop_assert!(flow.completed, "{} did not complete: {flow:?}", flow.algorithm);
            // Every byte is delivered exactly once.
            prop_assert_eq!(flow.bytes_acked, size);
            prop_assert!(flow.segments_sent >= size.div_ceil(1448));
            prop_assert!(flow.segments_retransmitted < flow.segments_sent);
            let fct = flow.fct_s.expect("completed");
            // At least a handshake and a one-way delay, with the flow's access delay.
            let base_rtt = scenario.path.base_rtt + config.extra_delay * 2;
            prop_assert!(fct >= base_rtt.as_secs_f64() * 1.5 - 1e-9, "{fct} s is faster than the path");
            // Only segments that were sent are declared lost.
            prop_assert!(flow.segments_lost <= flow.segments_sent, "{flow:?}");
        }
        for link in &output.result.links {
            prop_assert!(link.utilization.is_none_or(|busy| (0.0..=1.0).contains(&busy)), "{link:?}");
        }
        let traces = output.traces.expect("traced");
        for trace in &traces.flows {
            prop_assert!(trace.cwnd_bytes.iter().all(|&cwnd| cwnd >= 1448), "a window below one segment");
            prop_assert!(trace.acked_bytes.is_sorted() && trace.delivered_bytes.is_sorted());
            prop_assert!(trace.acked_bytes.iter().zip(&trace.delivered_bytes).all(|(acked, delivered)| acked <= delivered));
            prop_assert!(trace.time_s.is_sorted());
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads(path in path(), flows in prop::collection::vec(flow(), 1..3), seed: u64) {
        let mut scenario = Scenario::new(path, flows);
        scenario.seed = seed;
        scenario.time_limit = Duration::from_secs(2_000);
        let scenario = Arc::new(scenario);
        let jobs: Vec<Job> = (0..3).map(|run| Job { scenario: scenario.clone(), run }).collect();
        let bytes = |threads| {
            let outputs = run_all(&jobs, &RunOptions { traces: false, ..RunOptions::default() }, threads, &AtomicBool::new(false), &|_| {}).expect("not cancelled");
            let results: Vec<_> = outputs.into_iter().map(|output| output.result).collect();
            serde_json::to_string(&measure::document("test", serde_json::Value::Null, &results, &results)).expect("serialises")
        };
        prop_assert_eq!(bytes(1), bytes(3));
    }
}
