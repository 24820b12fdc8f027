//! quinn and noq over the links of the simulated TCP, on 50 Mbit/s, 100 ms and 413 packets.

use std::sync::atomic::AtomicBool;

use measure::{FlowResult, RunResult};
use quic_stacks::{STACKS, Stack, check, run, run_observed};
use scenario::Scenario;
use simulator::RunOptions;

fn scenario(algorithm: &str, size: &str, buffer: &str, more: &str) -> Scenario {
    let text = format!(
        "[path]\nrate = \"50 Mbit/s\"\nrtt = \"100 ms\"\nbuffer = \"{buffer}\"\n{more}\n\
         [[flow]]\nalgorithm = \"{algorithm}\"\nsize = \"{size}\"\n"
    );
    Scenario::parse(&text, "test.toml", ".".as_ref()).expect("a valid scenario")
}

fn stack(name: &str) -> &'static Stack {
    Stack::named(name).expect("a stack")
}

/// A run of `algorithm`, which may be one of the stack's own.
fn result(name: &str, algorithm: &str, size: &str, buffer: &str) -> RunResult {
    let own = algorithm.starts_with("own").then_some(algorithm);
    let scenario = scenario(
        if own.is_some() { "cubic" } else { algorithm },
        size,
        buffer,
        "",
    );
    let stack = stack(name);
    assert_eq!(check(&scenario, stack, own), Ok(()));
    let cancel = AtomicBool::new(false);
    run(&scenario, 0, stack, own, &RunOptions::default(), &cancel)
        .expect("nothing cancels it")
        .result
}

fn flow(name: &str, algorithm: &str) -> FlowResult {
    result(name, algorithm, "5 MB", "413 packets")
        .flows
        .remove(0)
}

fn simulated(algorithm: &str, size: &str, buffer: &str) -> FlowResult {
    let scenario = scenario(algorithm, size, buffer, "");
    let mut scenario = scenario;
    scenario.flows[0].pacing = true;
    let cancel = AtomicBool::new(false);
    let output = simulator::run(&scenario, 0, &RunOptions::default(), &cancel);
    output.expect("nothing cancels it").result.flows.remove(0)
}

/// The time and the window, in packets, of the exit.
fn exit(flow: &FlowResult) -> (f64, f64) {
    let exit = flow.slow_start_exit.as_ref().expect("slow start ends");
    let packets = exit
        .cwnd_packets
        .map_or(exit.cwnd_bytes as f64 / 1_448.0, |packets| packets as f64);
    (exit.time_s, packets)
}

#[test]
fn quinns_own_cubic_and_ours_leave_at_the_same_packet() {
    let (own, ours) = (
        flow("quinn", "own"),
        flow("quinn", "cubic+standard+newreno"),
    );
    for each in [&own, &ours] {
        assert!(each.completed, "{:?}", each.closed);
        assert_eq!(each.bytes_acked, 5_000_000);
    }
    let [own_exit, exit] = [&own, &ours].map(|flow| flow.slow_start_exit.clone().expect("a loss"));
    assert!((own_exit.time_s - exit.time_s).abs() < 0.001);
    // 1668.9 and 1669 datagrams: ours is whole, and quinn's began with packets of the handshake,
    // which are smaller. Which number it is depends on the packet numbers that quinn skips, by its
    // seed: with seeds of ones and twos in `rng_seed`, they are 2,459,562 and 2,459,712.
    assert_eq!(
        (own_exit.cwnd_bytes, exit.cwnd_bytes),
        (2_456_618, 2_456_768)
    );
    assert_eq!((&*own_exit.reason, &*exit.reason), ("loss", "loss"));
    assert_eq!(&*own.algorithm, "own:cubic");
}

/// The same start-up in quinn and in the simulated TCP with pacing: within 2 % of the time of the
/// exit, and 4 % of its packets.
#[test]
fn a_start_up_leaves_where_it_leaves_in_the_simulated_tcp() {
    for (algorithm, size, buffer) in [
        ("cubic+standard", "5 MB", "413 packets"),
        ("cubic+hystart++", "5 MB", "413 packets"),
        ("cubic+search", "20 MB", "2000 packets"),
        ("cubic+search:version=4.0", "20 MB", "2000 packets"),
        ("cubic+hystart++", "20 MB", "2000 packets"),
    ] {
        let quinn = result("quinn", algorithm, size, buffer).flows.remove(0);
        let tcp = simulated(algorithm, size, buffer);
        assert!(quinn.completed && tcp.completed, "{algorithm}");
        let ((time, packets), (tcp_time, tcp_packets)) = (exit(&quinn), exit(&tcp));
        let of = format!("{algorithm}: {time} s, {packets}; TCP {tcp_time} s, {tcp_packets}");
        assert!((time / tcp_time - 1.0).abs() < 0.02, "{of}");
        assert!((packets / tcp_packets - 1.0).abs() < 0.04, "{of}");
    }
}

/// An ACK train ends in the middle of a round. Linux paces slow start at two windows per round trip,
/// quinn at 1.25: at the same time, less of the round has been acknowledged.
#[test]
fn hystart_leaves_at_the_same_time_with_a_smaller_window() {
    let (quinn, tcp) = (
        flow("quinn", "cubic+hystart"),
        simulated("cubic+hystart", "5 MB", "413 packets"),
    );
    let ((time, packets), (tcp_time, tcp_packets)) = (exit(&quinn), exit(&tcp));
    assert!((time / tcp_time - 1.0).abs() < 0.02, "{time} {tcp_time}");
    let part = packets / tcp_packets;
    assert!((0.93..0.96).contains(&part), "{packets} {tcp_packets}");
}

/// FNV-1a over the time and the size of every packet.
fn fingerprint(name: &str, algorithm: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let scenario = scenario(algorithm, "5 MB", "413 packets", "loss = \"0.1 %\"");
    let (options, cancel) = (RunOptions::default(), AtomicBool::new(false));
    run_observed(
        &scenario,
        0,
        stack(name),
        None,
        &options,
        &cancel,
        &mut |passing| {
            let departs =
                (!passing.arrives).then(|| [passing.now.as_nanos(), passing.size().into()]);
            for value in departs.into_iter().flatten() {
                hash = (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
            }
        },
    )
    .expect("nothing cancels it");
    hash
}

/// The numbers hold for every process and profile.
#[test]
fn every_packet_leaves_at_the_same_time_in_every_process() {
    let mut failed = false;
    for (name, algorithm, expected) in [
        ("quinn", "cubic+search", 0x31dd_21a6_218c_2c24_u64),
        ("noq", "cubic+hystart", 0xdca7_22ce_2938_e969),
        ("noq", "bbr", 0x3fa5_1a67_410b_16da),
    ] {
        let hash = fingerprint(name, algorithm);
        println!("{name} {algorithm}: {hash:#018x}");
        assert_eq!(hash, fingerprint(name, algorithm), "{name} {algorithm}");
        failed |= hash != expected;
    }
    assert!(!failed);
}

/// quinn-proto 0.11.19 and noq-proto 1.4.0 close a connection whose receiver has more than 1024
/// gaps in a stream (`connection/assembler.rs`). A start-up that leaves early saves it.
#[test]
fn an_overshoot_of_more_than_1024_gaps_closes_the_connection() {
    for (name, algorithm) in [
        ("quinn", "own"),
        ("quinn", "cubic+standard"),
        ("noq", "own"),
    ] {
        let flow = result(name, algorithm, "20 MB", "2000 packets")
            .flows
            .remove(0);
        let why = flow.closed.expect("the receiver closes it");
        assert!(why.contains("too many gaps in stream buffer"), "{why}");
        assert!(!flow.completed && flow.bytes_acked < 20_000_000);
    }
    let early = result("quinn", "cubic+search", "20 MB", "2000 packets")
        .flows
        .remove(0);
    assert!(early.completed && early.closed.is_none());
}

#[test]
fn flows_share_the_path() {
    let text = "[path]\npreset = \"wired\"\n\
        [[flow]]\nalgorithm = \"cubic+search\"\nsize = \"2 MB\"\n\
        [[flow]]\nalgorithm = \"reno+standard\"\nsize = \"1 MB\"\nstart = \"300 ms\"\n\
        [[flow]]\nalgorithm = \"cubic\"\nduration = \"1 s\"\nstart = \"100 ms\"\n";
    let scenario = Scenario::parse(text, "three.toml", ".".as_ref()).expect("a valid scenario");
    for stack in STACKS {
        let cancel = AtomicBool::new(false);
        let options = RunOptions {
            traces: true,
            ..RunOptions::default()
        };
        let output = run(&scenario, 0, stack, None, &options, &cancel).expect("not cancelled");
        let [first, second, third] = &output.result.flows[..] else {
            panic!("three flows");
        };
        assert!(first.completed && second.completed && !third.completed);
        assert_eq!(
            (first.bytes_acked, second.bytes_acked),
            (2_000_000, 1_000_000)
        );
        assert!(third.bytes_acked > 100_000, "{}", third.bytes_acked);
        let traces = output.traces.expect("they were asked for");
        assert!(traces.flows.iter().all(|trace| trace.time_s.len() > 100));
    }
}

/// An algorithm is code of this project under every QUIC stack, so that each option holds, unless it
/// makes the algorithm need what a stack does not offer.
#[test]
fn each_option_runs_or_is_refused() {
    for stack in STACKS {
        let (mut runs, mut refused) = (0, 0);
        for changed in testing::options::changed() {
            let algorithm = changed.changed;
            match stack.capabilities.check(&algorithm) {
                Ok(()) => runs += 1,
                Err(error) => {
                    let sentence = error.to_string();
                    assert!(sentence.ends_with(&format!(": {algorithm} needs it")));
                    refused += 1;
                }
            }
            let needs = algorithm.needs();
            if needs.routers || needs.known_path || needs.memory {
                assert!(stack.capabilities.check(&algorithm).is_err(), "{algorithm}");
            }
        }
        assert!(
            runs > 150 && refused > 20,
            "{}: {runs}, {refused}",
            stack.name
        );
    }
}

#[test]
fn what_is_not_supported_is_refused() {
    let refused = |algorithm, more, own| {
        let scenario = scenario(algorithm, "5 MB", "413 packets", more);
        check(&scenario, stack("quinn"), own)
            .expect_err(algorithm)
            .to_string()
    };
    assert_eq!(
        refused("bbr", "", None),
        "quinn 0.11 lets no controller set the pace: bbr needs it"
    );
    assert_eq!(
        refused("cubic", "", Some("own:vegas")),
        "own:vegas: quinn has no such controller of its own; it has cubic, newreno, bbr"
    );
    let mut plain = scenario("cubic", "5 MB", "413 packets", "");
    plain.flows[0].sack = false;
    let error = check(&plain, stack("noq"), None).expect_err("a key of TCP");
    assert_eq!(
        error.to_string(),
        "flow `cubic+hystart`: `sack` is not supported on QUIC stacks: QUIC acknowledges ranges of \
         packets"
    );
}
