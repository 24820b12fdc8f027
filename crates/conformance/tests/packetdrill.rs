//! Packetdrill scripts against the simulated TCP: each script of `conformance/packetdrill` passes,
//! a wrong expectation is found with its line, and what is not in scope is refused.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use conformance::scripts::Simulated;
use packetdrill::{Action, Call, Event, Info, Packet, Run, Script, Sent, Stack, parse, run};
use units::{Duration, Instant};

const TOLERANCE: Duration = Duration::from_millis(14);

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/packetdrill");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pkt"))
        .collect();
    files.sort();
    files
}

fn simulate(script: &Script, algorithm: Option<&str>) -> Result<Run, String> {
    let algorithm = algorithm.map(|name| name.parse().expect("an algorithm"));
    let mut stack = Simulated::new(script, algorithm.as_ref(), Duration::ZERO)?;
    run(script, &mut stack, TOLERANCE).map_err(|error| error.to_string())
}

#[test]
fn the_simulated_tcp_passes_each_script() {
    let files = scripts();
    assert!(files.len() >= 9, "{files:?}");
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a script");
        let script = parse(&file.display().to_string(), &text).expect("it is in scope");
        let outcome = simulate(&script, None).expect("it is in scope");
        assert!(outcome.packets > 0);
        if let Some(difference) = outcome.difference {
            panic!("{difference}");
        }
    }
}

/// A connection, and then `lines`.
fn script(settings: &str, lines: &str) -> String {
    let mut text = String::new();
    let _ = write!(
        text,
        "{settings}\n0 socket(..., SOCK_STREAM, IPPROTO_TCP) = 3\n+0 bind(3, ..., ...) = 0\n\
        +0 listen(3, 1) = 0\n\
        +0 < S 0:0(0) win 65535 <mss 1000,sackOK,nop,nop,nop,wscale 7>\n\
        +0 > S. 0:0(0) ack 1 <mss 1460,nop,nop,sackOK,nop,wscale 8>\n\
        +.1 < . 1:1(0) ack 1 win 1000\n+0 accept(3, ..., ...) = 4\n{lines}"
    );
    text
}

fn outcome(settings: &str, lines: &str) -> Result<Run, String> {
    let text = script(settings, lines);
    let script = parse("test.pkt", &text).map_err(|error| error.to_string())?;
    simulate(&script, None)
}

#[test]
fn the_first_difference_has_line_expectation_and_state() {
    let lines = "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:3001(3000) ack 1\n";
    let difference = outcome("", lines).expect("in scope").difference;
    let text = difference.expect("a difference").to_string();
    for part in [
        "test.pkt:10: +0 > P. 1:3001(3000) ack 1\n",
        "expected: P. 1:3001(3000) ack 1 at 0.100000 s\n",
        "got:      no packet from 2001 on\n",
        "Open, snd_cwnd 10, snd_ssthresh infinite, unacked 2,",
    ] {
        assert!(text.contains(part), "{part:?} in\n{text}");
    }
}

#[test]
fn each_kind_of_wrong_expectation_is_a_difference() {
    let write = "+0 write(4, ..., 2000) = 2000\n";
    for wrong in [
        "+.1 > P. 1:2001(2000) ack 1",
        "+0 > F. 1:2001(2000) ack 1",
        "+0 > P. 1:2001(2000) ack 2",
        "+0 > P. 1:2001(2000) ack 1 win 7",
        "+0 > [ect0] P. 1:2001(2000) ack 1",
        "+0 > PE. 1:2001(2000) ack 1",
        "+0 > PW. 1:2001(2000) ack 1",
        "+0 > P. 1:2001(2000) ack 1 <sack 1:2>",
        "+0 > P. 1:2001(2000) ack 1 <TS val 1 ecr 2>",
        "+0 > P. 1001:2001(1000) ack 1",
        "+0 %{ assert tcpi_snd_cwnd == 11 }%",
        "+0 read(4, ..., 10) = 10",
    ] {
        let run = outcome("", &format!("{write}{wrong}\n")).expect(wrong);
        assert!(run.difference.is_some(), "{wrong}");
    }
    for right in [
        "* > P. 1:2001(2000) ack 1",
        "+0 > . 1:1001(1000) ack 1\n+0 > P. 1001:2001(1000) ack 1 <...>",
        "+0 read(4, ..., 10) = -1 EAGAIN (would block)",
    ] {
        let run = outcome("", &format!("{write}{right}\n")).expect(right);
        assert_eq!(run.difference, None, "{right}");
    }
}

#[test]
fn what_is_not_in_scope_is_refused_with_its_line() {
    for (settings, line, reason) in [
        (
            "",
            "+0 setsockopt(3, SOL_TCP, TCP_FASTOPEN, [1], 4) = 0",
            "the socket option",
        ),
        ("", "+0 < S 0:0(0) win 100 <FO abcdabcd>", "TCP Fast Open"),
        (
            "",
            "+0 write(4, NULL, 1000) = -1 EFAULT (Bad address)",
            "write without a buffer",
        ),
        ("", "+0 < icmp unreachable", "icmp packets"),
        ("", "+0 epoll_create(1) = 5", "the system call epoll_create"),
        ("", "+0 < R. 1:1(0) ack 1 win 0", "no RST"),
        (
            "",
            "+0 `tc qdisc replace dev tun0 root pfifo limit 0`",
            "queue discipline",
        ),
        (
            "",
            "+0 `sysctl -q net.ipv4.tcp_sack=0`\n+0 close(4) = 0",
            "changes during the connection",
        ),
        ("", "+0 %{ assert tcpi_busy_time == 0 }%", "tcpi_busy_time"),
        ("", "+0 %{ import os }%", "not an assignment"),
    ] {
        let error = outcome(settings, &format!("{line}\n")).expect_err(line);
        assert!(error.starts_with("test.pkt:9:"), "{line}: {error}");
        assert!(error.contains(reason), "{line}: {error}");
    }
    let error = outcome("--ip_version=ipv6", "").expect_err("IPv6");
    assert!(error.starts_with("test.pkt:1:1: not in scope"), "{error}");
}

#[test]
fn any_congestion_control_can_be_the_subject() {
    let text = script(
        "",
        "+0 write(4, ..., 2000) = 2000\n+0 > P. 1:2001(2000) ack 1\n",
    );
    let script = parse("test.pkt", &text).expect("a script");
    for algorithm in ["reno", "bbr", "cubic+search", "westwood+standard"] {
        let run = simulate(&script, Some(algorithm)).expect("in scope");
        assert_eq!(run.difference, None, "{algorithm}");
    }
}

proptest::proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(
        text in proptest::string::string_regex("[-+*<>0-9.~()\\[\\]{}%`a-zA-Z\\n ,:=]{0,80}").unwrap()
    ) {
        let _ = parse("random.pkt", &text);
        let _ = parse("random.pkt", &script("", &text));
    }
}

#[test]
fn a_stream_is_the_same_each_time_and_replays_as_it_was_made() {
    use conformance::scripts::stream::{PROFILES, stream};
    use packetdrill::replay::{acknowledges_what_was_sent, compare, replay, shrink, text};
    let tick = Duration::from_millis(4);
    for (seed, profile) in (7..).zip(PROFILES) {
        let made = stream(profile, seed, tick).expect("a stream");
        assert_eq!(stream(profile, seed, tick).as_ref(), Ok(&made), "{profile}");
        assert!(made.events.len() > 6, "{profile}");
        let record = |script: &Script| {
            let mut stack = Simulated::new(script, None, tick).expect("a stack");
            replay(script, &mut stack).expect("a recording")
        };
        let steps = record(&made);
        assert_eq!(compare(&steps, &record(&made)), None);
        let last = made.events.len() - 1;
        assert!(acknowledges_what_was_sent(&made, &steps, last), "{profile}");
        let mut early = made.clone();
        let acks = |event: &mut Event| match &mut event.action {
            Action::Inject(packet) if !packet.flags.syn => {
                packet.ack = 1_000_000_000;
                true
            }
            _ => false,
        };
        let place = early.events.iter_mut().position(acks).expect("an ACK");
        assert!(!acknowledges_what_was_sent(&early, &steps, last));
        assert!(acknowledges_what_was_sent(&early, &steps, place - 1));
        // As text it is a script, which this TCP passes.
        let written = text(&made, &steps);
        let script = parse("stream.pkt", &written).expect("the language");
        let mut stack = Simulated::new(&script, None, tick).expect("a stack");
        let outcome = run(&script, &mut stack, TOLERANCE).expect("in scope");
        assert_eq!(outcome.difference, None, "{profile}\n{written}");
        // A difference of another congestion control is found and shrunk.
        let other = |script: &Script| {
            let mut stack =
                Simulated::new(script, Some(&"bbr".parse().expect("bbr")), tick).expect("a stack");
            compare(
                &record(script),
                &replay(script, &mut stack).expect("a recording"),
            )
        };
        if let Some((at, _)) = other(&made) {
            let short = shrink(&made, at, 30, |script| other(script).map(|(at, _)| at));
            assert!(
                short.events.len() <= at + 1 && other(&short).is_some(),
                "{profile}"
            );
        }
    }
    assert!(stream("tahoe", 1, tick).is_err());
}

/// A TCP with a known wrong rule: it acts on another packet than the one that arrives.
struct Wrong {
    tcp: Simulated,
    rule: fn(&mut Packet),
}

impl Stack for Wrong {
    fn name(&self) -> &str {
        "wrong"
    }

    fn now(&mut self) -> Instant {
        self.tcp.now()
    }

    fn wait(
        &mut self,
        until: Instant,
        stops: bool,
        sent: &mut VecDeque<Sent>,
    ) -> Result<(), String> {
        self.tcp.wait(until, stops, sent)
    }

    fn inject(&mut self, packet: &Packet) -> Result<(), String> {
        let mut packet = packet.clone();
        (self.rule)(&mut packet);
        self.tcp.inject(&packet)
    }

    fn call(&mut self, call: &Call, expected: i64) -> Result<Result<i64, String>, String> {
        self.tcp.call(call, expected)
    }

    fn info(&mut self) -> Result<Info, String> {
        self.tcp.info()
    }
}

#[test]
fn a_wrong_rule_is_shrunk_to_the_shortest_stream_that_shows_it() {
    use conformance::scripts::stream::stream;
    use packetdrill::replay::{compare, replay, shrink};

    let tick = Duration::from_millis(4);
    // Without the blocks of SACK, and without the echo of ECN: each needs data, and one ACK.
    let no_sack: fn(&mut Packet) = |packet| {
        if let Some(options) = &mut packet.options {
            options.sack.clear();
        }
    };
    let no_echo: fn(&mut Packet) = |packet| packet.flags.ece &= packet.flags.syn;
    for (profile, rule) in [("cubic", no_sack), ("ecn", no_echo)] {
        let mut lengths = Vec::new();
        for seed in 1..40 {
            let made = stream(profile, seed, tick).expect("a stream");
            let differs = |script: &Script| {
                let new = || Simulated::new(script, None, tick).expect("a stack");
                let mut wrong = Wrong { tcp: new(), rule };
                let right = replay(script, &mut new()).expect("a recording");
                let wrong = replay(script, &mut wrong).expect("a recording");
                compare(&right, &wrong).map(|(at, _)| at)
            };
            let Some(at) = differs(&made) else {
                continue;
            };
            let short = shrink(&made, at, 1_000, differs);
            let last = short.events.len() - 1;
            assert_eq!(differs(&short), Some(last), "{profile}-{seed}");
            lengths.push(short.events.len());
            // Socket, bind, listen, SYN, ACK and accept stay. No other event can go.
            for place in 6..=last {
                let mut shorter = short.clone();
                shorter.events.remove(place);
                assert_eq!(differs(&shorter), None, "{profile}-{seed}, {place}");
            }
            // With too few attempts, the stream is longer, and still shows it.
            let long = shrink(&made, at, 2, differs);
            assert!(differs(&long).is_some() && long.events.len() >= short.events.len());
        }
        // A write and one ACK show it. If the block or the mark is of data beyond the first window,
        // one or two ACKs more open the window.
        lengths.sort_unstable();
        assert!(lengths.len() > 5, "{profile}: {lengths:?}");
        assert_eq!(lengths[lengths.len() / 2], 8, "{profile}: {lengths:?}");
        assert!(lengths[lengths.len() - 1] <= 12, "{profile}: {lengths:?}");
    }
}
