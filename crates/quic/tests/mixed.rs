//! Flows of the simulated TCP and of QUIC stacks at one bottleneck.

use std::sync::atomic::AtomicBool;

use measure::{RunResult, Stack};
use quic_stacks::{STACKS, check, check_named, run, run_named};
use scenario::Scenario;
use simulator::{EventLoop, RunError, RunOptions};

fn scenario(text: &str) -> Scenario {
    let path = "[path]\nrate = '20 Mbit/s'\nrtt = '50 ms'\nbuffer = '1 bdp'\n";
    Scenario::parse(&format!("{path}{text}"), "mixed.toml", ".".as_ref()).expect("a scenario")
}

fn result(scenario: &Scenario, number: u32) -> RunResult {
    let (options, cancel) = (RunOptions::default(), AtomicBool::new(false));
    assert_eq!(check_named(scenario), Ok(()));
    let output = run_named(scenario, number, &options, &cancel);
    output.expect("nothing cancels it").result
}

const TCP: &str = "[[flow]]\nalgorithm = 'cubic+hystart'\nsize = '4 MB'\n";

/// A transfer of 4 MB on a stack.
fn quic(stack: &str) -> String {
    format!("[[flow]]\nalgorithm = 'cubic+search'\nsize = '4 MB'\nstack = '{stack}'\n")
}

#[test]
fn tcp_and_quic_share_a_bottleneck_and_two_runs_are_equal() {
    for stack in STACKS {
        let mixed = scenario(&format!("{TCP}{}", quic(stack.name)));
        let [first, second] = [0, 0].map(|number| result(&mixed, number));
        assert_eq!(first, second);
        assert_ne!(first, result(&mixed, 1), "the seed matters");
        let [tcp, quic] = &first.flows[..] else {
            panic!("two flows");
        };
        assert_eq!((first.stack, tcp.stack), (Stack::Simulated, None));
        assert_eq!(quic.stack, Some(stack.kind));
        assert_eq!(*quic.name, format!("cubic+search on {}", stack.name));
        for flow in [tcp, quic] {
            assert!(flow.completed && flow.bytes_acked == 4_000_000, "{flow:?}");
            // Alone, each would take 1.6 s at 20 Mbit/s; together, one of them takes 3.2 s.
            assert!(flow.fct_s.expect("complete") > 2.0, "{flow:?}");
        }
        let last = [tcp, quic].map(|flow| flow.fct_s.expect("complete"));
        assert!(last[0].max(last[1]) > 3.3 && last[0].max(last[1]) < 4.5);
    }
}

/// The flow of TCP before `start` of the other one, and a run with time series, do not notice it.
#[test]
fn a_flow_that_starts_later_changes_nothing_before() {
    let late = format!("{}start = '30 s'\n", quic("quinn"));
    let [alone, mixed] = [scenario(TCP), scenario(&format!("{TCP}{late}"))];
    let [alone, mixed] = [alone, mixed].map(|scenario| result(&scenario, 0).flows.remove(0));
    assert_eq!(alone, mixed);
}

#[test]
fn a_flow_alone_is_the_same_whether_it_names_its_stack_or_the_run_does() {
    for stack in STACKS {
        let plain = quic(stack.name).replace(&format!("stack = '{}'\n", stack.name), "");
        let plain = scenario(&format!("{plain}name = 'a'\n"));
        let named = scenario(&format!("{}name = 'a'\n", quic(stack.name)));
        let (options, cancel) = (RunOptions::default(), AtomicBool::new(false));
        let run = run(&plain, 3, stack, None, &options, &cancel);
        let mut run = run.expect("nothing cancels it").result;
        run.stack = Stack::Simulated;
        run.stack_version = None;
        run.flows[0].stack = Some(stack.kind);
        assert_eq!(run, result(&named, 3));
    }
}

#[test]
fn time_series_change_nothing() {
    let mixed = scenario(&format!("{TCP}{}", quic("noq")));
    let plain = result(&mixed, 0);
    let cancel = AtomicBool::new(false);
    for event_loop in [EventLoop::Plain, EventLoop::Turns] {
        let options = RunOptions {
            traces: event_loop == EventLoop::Plain,
            event_loop,
            ..RunOptions::default()
        };
        let output = run_named(&mixed, 0, &options, &cancel).expect("nothing cancels it");
        assert_eq!(output.result, plain);
        let traces = output.traces.map_or(0, |traces| traces.flows.len());
        assert_eq!(traces, if options.traces { 2 } else { 0 });
    }
}

#[test]
fn background_traffic_of_tcp_passes_beside_quic() {
    let mixed = scenario(&format!(
        "{}[[traffic]]\nkind = 'web'\nload = '30 %'\n",
        quic("quinn")
    ));
    let result = result(&mixed, 0);
    assert!(result.flows[0].completed);
    assert!(result.traffic[0].started > 0, "{:?}", result.traffic);
}

#[test]
fn what_a_stack_does_not_support_is_refused() {
    let refused = |more: &str| {
        let mixed = scenario(&format!("{TCP}{}{more}", quic("quinn")));
        check_named(&mixed).expect_err(more).to_string()
    };
    assert_eq!(
        refused("sack = false\n"),
        "flow `cubic+search on quinn`: `sack` is not supported on QUIC stacks: QUIC acknowledges \
         ranges of packets"
    );
    let mut bbr = scenario(&format!("{TCP}{}", quic("quinn")));
    bbr.flows[1].algorithm = std::sync::Arc::new("bbr".parse().expect("an algorithm"));
    assert_eq!(
        check_named(&bbr).expect_err("it paces").to_string(),
        "quinn 0.11 lets no controller set the pace: bbr needs it"
    );
    // The keys of TCP stay those of TCP.
    let own = scenario(&format!("{TCP}sack = false\n{}", quic("quinn")));
    assert_eq!(check_named(&own), Ok(()));
    let both = check(&own, &STACKS[0], None).expect_err("two stacks");
    assert!(both.to_string().contains("names its stack"), "{both}");
    let (options, cancel) = (RunOptions::default(), AtomicBool::new(false));
    let alone = simulator::run(&own, 0, &options, &cancel);
    assert_eq!(alone.map(|_| ()), Err(RunError::UnknownStack));
}

/// The table in `docs/guides/quic-stacks.md`: shares of the example scenario over ten seeds.
#[test]
fn cubic_over_quinn_and_cubic_of_tcp_share_the_example_fairly() {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../scenarios/tcp-and-quic.toml"
    );
    let text = std::fs::read_to_string(file).expect("the example");
    let mixed = Scenario::parse(&text, "tcp-and-quic.toml", ".".as_ref()).expect("a scenario");
    let mut shares = Vec::new();
    for number in 0..10 {
        let run = result(&mixed, number);
        let rates: Vec<f64> = run.flows.iter().map(|flow| flow.goodput_bps).collect();
        let sum: f64 = rates.iter().sum();
        let squares: f64 = rates.iter().map(|rate| rate * rate).sum();
        let jain = sum * sum / (rates.len() as f64 * squares);
        let quic: f64 = run
            .flows
            .iter()
            .filter(|flow| flow.stack.is_some())
            .map(|flow| flow.goodput_bps)
            .sum();
        let lost: Vec<f64> = run
            .flows
            .iter()
            .map(|flow| flow.loss_ratio * 100.0)
            .collect();
        println!(
            "{number}: QUIC {:.3} of {:.2} Mbit/s, Jain {jain:.4}, Mbit/s {:.2?}, lost % {lost:.2?}",
            quic / sum,
            sum / 1e6,
            rates.iter().map(|rate| rate / 1e6).collect::<Vec<_>>()
        );
        shares.push(quic / sum);
        assert!(sum > 40e6, "{sum}");
    }
    let mean = shares.iter().sum::<f64>() / shares.len() as f64;
    println!("mean share of QUIC: {mean:.4}");
    assert!((0.2..0.8).contains(&mean), "{mean}");
}

/// With its `duration` over, a flow of QUIC leaves the bottleneck to the others, though its stack holds
/// 64 MB that the application has written.
#[test]
fn a_flow_that_stops_sends_nothing_more() {
    for stack in STACKS {
        let timed = quic(stack.name).replace("size = '4 MB'", "duration = '1 s'");
        let [tcp, quic] = &result(&scenario(&format!("{TCP}{timed}")), 0).flows[..] else {
            panic!("two flows");
        };
        assert!(!quic.completed && quic.fct_s.is_none(), "{quic:?}");
        // One second of 20 Mbit/s is 2.5 MB.
        assert!((100_000..2_500_000).contains(&quic.bytes_acked), "{quic:?}");
        // Beside a flow that goes on, it shares the link until its end: 3.2 s at half of the rate.
        assert!(tcp.fct_s.expect("complete") < 2.8, "{tcp:?}");
    }
}
