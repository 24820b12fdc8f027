//! quinn over an emulated path, in real time and in virtual time. Needs root, or namespaces and
//! /dev/net/tun; where these are missing the tests report it and pass, except where CI or
//! SLOWSTART_REQUIRE_ROOT_TESTS is set.
#![cfg(target_os = "linux")]
#![allow(
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test prints what it measured, and panics if it fails"
)]

#[path = "../../emulator/tests/common/mod.rs"]
mod common;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use common::turns::{Turn, with_turns};
use measure::{FlowResult, RunResult};
use quic_real::{RealError, RealOptions, RealOutput, run, supports};
use quic_stacks::Stack;
use scenario::Scenario;
use simulator::RunOptions;

/// Fast enough that slow start fills the path, whose buffer has a BDP.
const WIRED: &str = "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\nbuffer = '1 bdp'\n";
const FLOW: &str = "[[flow]]\nalgorithm = 'cubic+search'\nsize = '5 MB'\n";

fn scenario(text: &str) -> Scenario {
    Scenario::parse(text, "real.toml", Path::new("")).unwrap_or_else(|error| panic!("{error}"))
}

fn stack(name: &str) -> &'static Stack {
    Stack::named(name).unwrap()
}

fn in_virtual_time(scenario: &Scenario, own: Option<&str>) -> RunResult {
    let (options, never) = (RunOptions::default(), AtomicBool::new(false));
    let output = quic_stacks::run(scenario, 0, stack("quinn"), own, &options, &never);
    output.unwrap().result
}

fn in_real_time(
    turn: &mut Turn,
    scenario: &Scenario,
    own: Option<&str>,
    options: &RealOptions,
) -> RealOutput {
    let never = AtomicBool::new(false);
    let output = run(scenario, 0, (stack("quinn"), own), options, &never);
    let output = output.unwrap_or_else(|error| panic!("{error}"));
    turn.note(&output.check);
    eprintln!("{:?} {:?}", output.result.flows, output.sent);
    output
}

/// The difference of two numbers, as a fraction of the second.
fn apart(real: f64, virtual_: f64) -> f64 {
    (real - virtual_) / virtual_
}

/// Time and window of the exit.
fn exit(flow: &FlowResult) -> (f64, f64) {
    let exit = flow.slow_start_exit.as_ref().expect("an exit");
    assert_eq!(exit.reason, "loss");
    (exit.time_s, exit.cwnd_bytes as f64)
}

/// With one of our controllers and with quinn's own. The timers of tokio end on full milliseconds, and
/// a round has several waits of the pacer: each of eight rounds may be some milliseconds longer. The
/// completion agrees within a round trip, as the last packets may need one round more or less; with
/// SEARCH, whose transfer ends without such a round, within 2 %.
#[test]
fn both_clocks_agree() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    for own in [None, Some("own")] {
        let scenario = scenario(&format!("{WIRED}{FLOW}"));
        let expected = &in_virtual_time(&scenario, own).flows[0];
        with_turns("quinn in both clocks", |turn| {
            let output = in_real_time(turn, &scenario, own, &RealOptions::default());
            let flow = &output.result.flows[0];
            assert!(flow.completed, "{flow:?}");
            assert_eq!(flow.bytes_acked, 5_000_000);
            assert_eq!(flow.algorithm, expected.algorithm);
            let times = [flow, expected].map(|flow| flow.fct_s.unwrap());
            let most = if own.is_none() { 0.02 * times[1] } else { 0.1 };
            assert!((times[0] - times[1]).abs() < most, "{times:?}");
            let [real, in_virtual] = [exit(flow), exit(expected)];
            let later = real.0 - in_virtual.0;
            assert!((-0.01..0.08).contains(&later), "{later}");
            assert!(apart(real.1, in_virtual.1).abs() < 0.05, "{real:?}");
            // The overshoot of slow start is the same.
            let lost = [flow, expected].map(|flow| flow.segments_lost as f64);
            assert!(apart(lost[0], lost[1]).abs() < 0.05, "{lost:?}");
            assert!(flow.segments_dropped.unwrap() <= flow.segments_lost);
            let rtt = flow.rtt_min_ms.unwrap();
            assert!((100.0..103.0).contains(&rtt), "{rtt}");
            let capacity = [flow, expected].map(|flow| flow.capacity.true_s.unwrap());
            assert!((capacity[0] - capacity[1]).abs() < 0.08, "{capacity:?}");
        });
    }
}

/// The sockets are real: bursts with segmentation offload where the kernel offers them.
#[test]
fn bursts_are_those_of_the_kernel() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    let scenario = scenario(&format!("{WIRED}{}", FLOW.replace("5 MB", "1 MB")));
    with_turns("bursts of quinn", |turn| {
        for segmentation_offload in [true, false] {
            let options = RealOptions {
                segmentation_offload,
                ..RealOptions::default()
            };
            let output = in_real_time(turn, &scenario, None, &options);
            let sent = output.sent[0];
            let facts = output.report.flows.iter();
            let forward = facts.filter(|facts| facts.direction == emulator::Direction::Forward);
            let packets: u64 = forward.map(|facts| facts.packets).sum();
            // Each datagram is one packet on the path. The last ones may leave after the count.
            assert!(packets.abs_diff(sent.datagrams) <= 10, "{packets} {sent:?}");
            assert!(sent.datagrams >= 680, "{sent:?}");
            if segmentation_offload && sent.offered > 1 {
                assert!(sent.most > 1, "{sent:?}");
                assert!(sent.calls < sent.datagrams, "{sent:?}");
            } else {
                assert_eq!((sent.most, sent.calls), (1, sent.datagrams));
            }
        }
    });
}

/// Several flows, each with its own start, application and controller.
#[test]
fn the_keys_of_flows_take_effect() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    let text = format!(
        "{WIRED}[[flow]]\nname = 'late'\nalgorithm = 'reno'\nsize = '200 kB'\nstart = '500 ms'\n\
         [[flow]]\nname = 'slow'\nalgorithm = 'cubic'\nsize = '100 kB'\n\
         application = {{ write = '10 kB', every = '100 ms' }}\n\
         [[flow]]\nname = 'timed'\nalgorithm = 'cubic+search'\nduration = '1 s'\nreceive_buffer = '64 kB'\n"
    );
    let scenario = scenario(&text);
    with_turns("flows of quinn", |turn| {
        let options = RealOptions {
            traces: true,
            ..RealOptions::default()
        };
        let output = in_real_time(turn, &scenario, None, &options);
        let [late, slow, timed] = &output.result.flows[..] else {
            panic!("three flows");
        };
        assert!((0.5..0.52).contains(&late.start_s), "{late:?}");
        assert!(late.completed && slow.completed && !timed.completed);
        // Nine intervals and half a round trip, after a start of up to two milliseconds.
        let took = slow.fct_s.unwrap();
        assert!((0.95..1.05).contains(&took), "{took}");
        // At most a window each round trip.
        assert!(timed.bytes_acked > 100_000, "{timed:?}");
        assert!(timed.bytes_acked <= 64_000 * 11, "{timed:?}");
        let traces = output.traces.as_ref().unwrap();
        assert_eq!(traces.flows.len(), 3);
        assert!(traces.flows.iter().all(|trace| trace.time_s.len() > 5));
    });
}

#[test]
fn what_has_no_real_time_is_refused() {
    let whole = |more: &str| scenario(&format!("{WIRED}{FLOW}{more}"));
    let refusal = |scenario: &Scenario, name: &str, own: Option<&str>| match supports(
        scenario,
        stack(name),
        own,
    ) {
        Err(RealError::Unsupported(sentence)) => sentence,
        other => panic!("{other:?}"),
    };
    supports(&whole(""), stack("quinn"), Some("own:bbr")).unwrap();
    for (more, name, own, expected) in [
        (
            "",
            "noq",
            None,
            "noq runs in virtual time only: of the QUIC stacks, quinn runs in real time",
        ),
        (
            "",
            "quinn",
            Some("own:nothing"),
            "own:nothing: quinn has no such controller of its own; it has cubic, newreno, bbr",
        ),
        (
            "[[traffic]]\nkind = 'bulk'\n",
            "quinn",
            None,
            "`[[traffic]]` is not supported on QUIC stacks in real time: background traffic beside \
             QUIC stacks is simulated TCP",
        ),
        (
            "mss = '1000 B'\n",
            "quinn",
            None,
            "flow `cubic+search`: `mss` is not supported on QUIC stacks: packets have 1500 bytes",
        ),
    ] {
        assert_eq!(refusal(&whole(more), name, own), expected);
    }
    let bbr = scenario(&format!(
        "{WIRED}[[flow]]\nalgorithm = 'bbr'\nsize = '1 MB'\n"
    ));
    let sentence = refusal(&bbr, "quinn", None);
    assert!(
        sentence.contains("lets no controller set the pace"),
        "{sentence}"
    );
}

/// The packets are encrypted, and their headers protected; sizes, times and the spin bit show the exit.
#[test]
fn a_capture_shows_the_exit() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    let scenario = scenario(&format!("{WIRED}{FLOW}"));
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quinn-in-real-time.pcapng");
    with_turns("a capture of quinn", |turn| {
        let mut options = RealOptions::default();
        options.emulation.existing = emulator::Existing::Replace;
        options.emulation.captures = vec![emulator::CaptureTo {
            at: emulator::Point::Side(emulator::Side::Sender),
            file: file.clone(),
            snap_length: 96,
        }];
        // At each end one connection of eight does not spin, by quinn's own random numbers.
        let (flow, found) = (0..8)
            .find_map(|_| {
                let output = in_real_time(turn, &scenario, Some("own"), &options);
                let report = analysis::analyze(&file, &analysis::Options::default()).unwrap();
                let [found] = &report.connections[..] else {
                    panic!("{:?}", report.connections)
                };
                assert!(found.encrypted && found.handshake.complete);
                eprintln!("{:?} {:?}", found.verdict, found.rtt_ms);
                let spins = found.rtt_ms.is_some();
                spins.then(|| (output.result.flows[0].clone(), found.clone()))
            })
            .expect("some connection spins");
        assert_eq!(found.vantage, analysis::report::Vantage::Sender);
        assert_eq!(found.verdict.rule, "reported-gap");
        let (time, window) = exit(&flow);
        let seen = found.verdict.exit.unwrap();
        assert!((seen.time_s - time).abs() < 0.05, "{seen:?} {time}");
        assert!(
            apart(seen.cwnd_bytes as f64, window).abs() < 0.05,
            "{seen:?} {window}"
        );
    });
}
