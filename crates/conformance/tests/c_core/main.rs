//! The C core of the kernel programs (`bpf/core`), compiled for this machine: it answers the
//! conformance vectors as they say, and random events as the simulator's code does.
//!
//! The core runs in a process of its own that reads an event and answers it (`bpf/host/answer.c`).
//! Its arithmetic is the simulator's `arithmetic=percent`. Without a C compiler the tests are
//! skipped, and say so; they fail instead where `CI` or `SLOWSTART_REQUIRE_ROOT_TESTS` is set.

mod core;
mod freebsd;
mod random;

use std::path::Path;

use conformance::{Answer, Driver, Vector, files_in, parse, run};
use congestion::{Algorithm, BuildContext, CongestionControl, SlowStartExit};
use units::Instant;

use crate::core::{Compiled, CoreSubject};

fn vectors() -> Vec<Vector> {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance"));
    let files = files_in(folder).expect("the folder");
    let vectors = files.iter().map(|file| {
        let text = std::fs::read_to_string(file).expect("a vector");
        parse(&file.display().to_string(), &text).expect("a vector")
    });
    vectors
        .filter(|vector| {
            let algorithm = &vector.header.algorithm;
            let known = ["+search", "+hystart++", "+hystart:variant=paper", "+suss"];
            let is_avoidance = ["bic:", "westwood:"]
                .iter()
                .any(|name| algorithm.starts_with(name));
            // The core has none of the faults of published sources.
            let others = ["as_published", "version=1.0", "version=3.0"];
            (is_avoidance || known.iter().any(|name| algorithm.contains(name)))
                && !others.iter().any(|other| algorithm.contains(other))
        })
        .collect()
}

/// Answers to the whole timeline.
fn answers(vector: &Vector, subject: &mut impl conformance::Subject) -> Vec<Answer> {
    let mut driver = Driver::new(&vector.header);
    let events = vector.timeline.iter();
    events
        .map(|timed| driver.apply(&timed.event, subject).expect("possible"))
        .collect()
}

#[test]
fn the_core_answers_the_vectors() {
    let Some(core) = Compiled::new() else { return };
    let vectors = vectors();
    assert!(vectors.len() >= 30, "{} vectors", vectors.len());
    for mut vector in vectors {
        let header = vector.header.clone();
        let percent = header.algorithm.contains("arithmetic=percent");
        if !percent {
            // The fraction of the look-back in percent moves the norm's last digits.
            for timed in &mut vector.timeline {
                timed.expected.norm = None;
            }
        }
        let report = run(&vector, &mut CoreSubject::new(&core, &header));
        assert!(report.passed(), "the C core: {report}");
    }
}

/// The answers of a compiled program to a vector are those of the simulator, whose exit is returned.
fn answers_as_the_simulator(core: &Compiled, vector: &Vector) -> Option<SlowStartExit> {
    let header = &vector.header;
    let description = core::in_percent(&header.algorithm);
    let mut ours = Algorithm::parse(&description)
        .expect("known")
        .build(BuildContext {
            now: Instant::ZERO,
            smss: header.smss,
            initial_window: header.initial_window,
            seed: 1,
            handshake_rtt: None,
        });
    let expected = answers(vector, &mut ours);
    let actual = answers(vector, &mut CoreSubject::new(core, header));
    for (timed, (expected, actual)) in vector.timeline.iter().zip(expected.iter().zip(&actual)) {
        assert_eq!(
            expected, actual,
            "{}:{}: {}",
            vector.file, timed.line, timed.text
        );
    }
    ours.slow_start_exit()
}

#[test]
fn the_core_answers_the_vectors_as_the_simulator_does() {
    let Some(core) = Compiled::new() else { return };
    for vector in vectors() {
        answers_as_the_simulator(&core, &vector);
    }
}

/// A core that is wrong is found out: other thresholds give other answers.
#[test]
fn a_wrong_core_fails() {
    let Some(core) = Compiled::new() else { return };
    let vectors = vectors();
    let exit = |name: &str| vectors.iter().find(|vector| vector.file.ends_with(name));
    let vector = exit("search-2.0-exit.vec").expect("the vector");
    let mut header = vector.header.clone();
    header.algorithm = "reno+search:version=2.0,threshold=36+prr".to_owned();
    assert!(!run(vector, &mut CoreSubject::new(&core, &header)).passed());
    let vector = exit("hystart++-exit.vec").expect("the vector");
    let mut header = vector.header.clone();
    header.algorithm = "reno+hystart++:css_rounds=4+prr".to_owned();
    assert!(!run(vector, &mut CoreSubject::new(&core, &header)).passed());
    for (name, right, wrong) in [
        ("hystart-paper-train.vec", "delay=false", "train=false"),
        ("suss-talk.vec", "form=talk", "form=code"),
        ("bic-search.vec", "hz=1000", "delayed_ack=false"),
        ("westwood-bandwidth.vec", "hz=1000", "hz=100"),
    ] {
        let vector = exit(name).expect("the vector");
        let mut header = vector.header.clone();
        header.algorithm = header.algorithm.replace(right, wrong);
        assert_ne!(header.algorithm, vector.header.algorithm);
        assert!(!run(vector, &mut CoreSubject::new(&core, &header)).passed());
    }
}
