//! A program in C drives a controller by the timelines of the conformance vectors, and decides as
//! the core in Rust does.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use conformance::{Kind, Vector};
use quic_core::{Capabilities, CongestionKind, Core, Pacing, Setup};
use units::{Bytes, Duration, Instant};

/// Calls of a vector: slow start ends before.
const MOST_CALLS: usize = 3_000;

/// A call of the controller: its name and its arguments.
type Call = (&'static str, [u64; 4]);

/// The program, linked with the static library that this test was built with.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("the test is a file");
    let folder = test.parent().expect("in a folder");
    let libraries = std::fs::read_dir(folder).expect("a folder").flatten();
    let newest = libraries
        .map(|entry| entry.path())
        .filter(|path| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with("libslowstart_capi") && name.ends_with(".a"))
        })
        .max_by_key(|path| {
            let metadata = path.metadata().and_then(|metadata| metadata.modified());
            metadata.expect("a file")
        })
        .expect("cargo builds the static library");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join("replay");
    let compiled = Command::new("cc")
        .args(["-std=c99", "-Wall", "-Wextra", "-Werror", "-I"])
        .args([root.join("include"), root.join("tests/replay.c"), newest])
        .args(["-lpthread", "-ldl", "-lm", "-o"])
        .arg(&made)
        .status()
        .expect("a C compiler is installed");
    assert!(compiled.success());
    made
}

/// The calls that a QUIC transport makes over the events of a vector: packets of one segment, which
/// arrive in order.
fn calls(vector: &Vector) -> Vec<Call> {
    let smss = vector.header.smss.get();
    let mut calls = Vec::new();
    let mut flight: Vec<(u64, u64)> = Vec::new();
    let mut next = 0;
    let mut acked = 0;
    for timed in &vector.timeline {
        let now = timed.event.now.as_nanos();
        match timed.event.kind {
            Kind::Established { rtt, .. } => {
                let rtt = rtt.map_or(0, Duration::as_nanos);
                calls.push(("handshake", [now, rtt, 0, 0]));
            }
            Kind::Send { size } | Kind::Resend { size } => {
                for _ in 0..size.get().div_ceil(smss) {
                    calls.push(("sent", [now, smss, next, 0]));
                    flight.push((next, now));
                    next += 1;
                }
            }
            Kind::Ack {
                cumulative,
                sacked,
                lost,
                app_limited,
                ..
            } => {
                let gone = usize::try_from(lost.get() / smss).expect("few");
                let gone = gone.min(flight.len());
                let dropped: Vec<_> = flight.drain(..gone).collect();
                let reached = (cumulative + sacked.get()) / smss;
                while acked < reached && !flight.is_empty() {
                    let (number, sent) = flight.remove(0);
                    calls.push(("acked", [now, sent, smss, number]));
                    acked += 1;
                }
                let left = (flight.len() + dropped.len()) as u64 * smss;
                calls.push(("end", [now, left, app_limited.into(), 0]));
                for (number, _) in &dropped {
                    calls.push(("lost", [now, smss, *number, 0]));
                }
                if let Some((_, sent)) = dropped.last() {
                    let bytes = dropped.len() as u64 * smss;
                    calls.push(("congestion", [now, *sent, 0, bytes]));
                }
            }
            Kind::Mark => calls.push(("congestion", [now, now, 1, 0])),
            Kind::Timeout => {
                let bytes = flight.len() as u64 * smss;
                flight.clear();
                calls.push(("congestion", [now, now, 2, bytes]));
            }
            Kind::Drop { .. } | Kind::Restart { .. } => {}
        }
    }
    calls
}

/// What the core decides after each call, as the program prints it.
fn decided(core: &mut Core, calls: &[Call]) -> String {
    let at = Instant::from_nanos;
    let mut out = String::new();
    for (word, [a, b, c, d]) in calls.iter().copied() {
        match word {
            "handshake" => core.on_handshake(at(a), Duration::from_nanos(b)),
            "sent" => core.on_sent(at(a), Bytes::new(b), Some(c)),
            "acked" => core.on_acked(at(a), at(b), Bytes::new(c), Some(d)),
            "end" => core.on_batch_end(at(a), Bytes::new(b), c != 0),
            "lost" => core.on_lost(at(a), Bytes::new(b), c),
            _ => {
                let kinds = [
                    CongestionKind::Loss,
                    CongestionKind::Ecn,
                    CongestionKind::Timeout,
                ];
                core.on_congestion(at(a), at(b), kinds[c as usize], Bytes::new(d));
            }
        }
        let window = core.window();
        let pace = core
            .pace()
            .map_or(u64::MAX, |pace| pace.rate.bytes_per_sec());
        let exit = core.slow_start_exit();
        let (left, cwnd, reason) = exit.map_or((0, 0, "none"), |exit| {
            (exit.at.as_nanos(), exit.cwnd.get(), exit.reason.name())
        });
        writeln!(
            out,
            "{} {} {pace} {left} {cwnd} {reason}",
            window.cwnd.get(),
            window.ssthresh.get()
        )
        .expect("a string");
    }
    out
}

#[test]
fn a_program_in_c_decides_as_the_core() {
    let program = program();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the vectors")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|end| end == "vec"))
        .collect();
    files.sort();
    let (mut ran, mut refused, mut exits) = (0, 0, 0);
    for file in files {
        let text = std::fs::read_to_string(&file).expect("a vector");
        let shown = file.display().to_string();
        let vector = conformance::parse(&shown, &text).expect("a valid vector");
        let algorithm = &vector.header.algorithm;
        let Ok(parsed) = algorithm.parse() else {
            continue;
        };
        let mut calls = calls(&vector);
        calls.truncate(MOST_CALLS);
        let mut child = Command::new(&program)
            .arg(algorithm)
            .arg(vector.header.smss.get().to_string())
            .arg(vector.header.initial_window.get().to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut lines = String::new();
        for (word, [a, b, c, d]) in &calls {
            writeln!(lines, "{word} {a} {b} {c} {d}").expect("a string");
        }
        let mut input = child.stdin.take().expect("a pipe");
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output().expect("it ends");
        // It fails where the algorithm is refused, and nothing is read.
        let _ = writer.join().expect("no panic");
        let found = String::from_utf8(output.stdout).expect("text");
        let setup = Setup {
            algorithm: parsed,
            now: Instant::ZERO,
            datagram: vector.header.smss,
            initial_window: vector.header.initial_window,
            seed: 1,
        };
        let capabilities = Capabilities {
            stack: "the transport",
            pacing: Pacing::Rate,
            paces: true,
            send_times: true,
            lost_packets: true,
            handshake: true,
        };
        match Core::new(setup, &capabilities) {
            Ok(mut core) => {
                assert_eq!(found, decided(&mut core, &calls), "{shown}");
                assert_eq!(found.lines().count(), calls.len(), "{shown}");
                ran += 1;
                exits += u32::from(found.trim_end().ends_with("search"));
            }
            Err(error) => {
                assert_eq!(found, format!("refused {error}\n"), "{shown}");
                refused += 1;
            }
        }
    }
    // Most vectors run, some algorithms are refused, and SEARCH leaves slow start in some.
    assert!(
        ran >= 50 && refused >= 3 && exits >= 3,
        "{ran} {refused} {exits}"
    );
}
