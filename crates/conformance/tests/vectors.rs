//! Every vector of the folder `conformance` is answered as it says.

use std::path::{Path, PathBuf};

use conformance::{files_in, parse, run_algorithm, run_text};

fn folder() -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../conformance")).to_owned()
}

#[test]
fn all_vectors() {
    let files = files_in(&folder()).expect("the folder");
    assert!(files.len() >= 30, "{} vectors", files.len());
    let mut failures = Vec::new();
    for file in &files {
        let text = std::fs::read_to_string(file).expect("the vector");
        match run_text(&file.display().to_string(), &text) {
            Ok(report) if report.passed() => {
                assert!(report.events > 10 && report.checks >= 4 * report.events);
            }
            Ok(report) => failures.push(report.to_string()),
            Err(error) => failures.push(error.to_string()),
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Whatever number of whatever line is changed, a vector is no longer answered as it says.
#[test]
fn a_wrong_expectation_fails() {
    let file = folder().join("search-2.0-exit.vec");
    let text = std::fs::read_to_string(file).expect("the vector");
    let mut changed = 0;
    for (number, line) in text.lines().enumerate() {
        let Some((event, expectation)) = line.split_once(" => ") else {
            continue;
        };
        for word in expectation.split(' ') {
            let (key, value) = word.split_once('=').expect("key=value");
            let wrong = match key {
                "cwnd" => format!(
                    "{}s",
                    value.trim_end_matches('s').parse::<u64>().unwrap() + 1
                ),
                "ssthresh" => "inf".to_owned(),
                "state" => "recovery".to_owned(),
                "exit" => "loss".to_owned(),
                _ => "0.999".to_owned(),
            };
            let word_is_wrong = expectation.replace(word, &format!("{key}={wrong}"));
            let wrong = text.replace(line, &format!("{event} => {word_is_wrong}"));
            let report = run_algorithm(&parse("wrong.vec", &wrong).unwrap()).unwrap();
            let place = format!("line {}: {word_is_wrong}", number + 1);
            let mismatch = report
                .mismatches
                .first()
                .unwrap_or_else(|| panic!("{place} passes"));
            assert_eq!(
                (mismatch.line, mismatch.quantity),
                (number + 1, key),
                "{place}"
            );
            changed += 1;
        }
    }
    assert!(changed > 100, "{changed} expectations");
}

/// What is said of a wrong vector.
fn sentence(text: &str) -> String {
    match parse("v.vec", text) {
        Ok(vector) => run_algorithm(&vector).expect_err("wrong").to_string(),
        Err(error) => error.to_string(),
    }
}

const HEADER: &str = "vector 1\ntitle A title\nsource RFC 5681\nform rfc\nslow-start standard\navoidance reno\nsmss 1000\ninitial-window 10s\nclock us\n";

#[test]
fn mistakes_are_named_with_their_place() {
    let timeline = |lines: &str| format!("{HEADER}timeline\n{lines}\n");
    let cases = [
        (
            String::new(),
            "v.vec: is empty; a vector begins with `vector 1`",
        ),
        (
            "# a comment\nvektor 1".into(),
            "v.vec:2:1: a vector begins with `vector 1`",
        ),
        (
            "vector 2".into(),
            "v.vec:1:8: format 2 is not known; this is format 1",
        ),
        (
            "vector 1\ntitle T\ntitle U".into(),
            "v.vec:3:1: `title` is stated twice",
        ),
        (
            "vector 1\nsmss".into(),
            "v.vec:2:5: the value of `smss` is missing",
        ),
        (
            "vector 1\nsmss 0".into(),
            "v.vec:2:6: a segment has 1 to 65535 bytes",
        ),
        (
            "vector 1\ninitial-window 10s".into(),
            "v.vec:2:16: segments are counted before `smss` says how large one is",
        ),
        (
            "vector 1\nslow-start  search version=2.0 mode=x".into(),
            "v.vec:2:32: slow-start search has no option `mode`; it has version, exit, threshold, arithmetic, missed, alpha or as-published",
        ),
        (
            "vector 1\nslow-start search exit=never".into(),
            "v.vec:2:19: `exit` cannot be `never`; it is plain, rollback or drain",
        ),
        (
            "vector 1\nclock min".into(),
            "v.vec:2:7: a clock counts ns, us or ms",
        ),
        (
            "vector 1\ntimeline".into(),
            "v.vec:2:1: `slow-start` must be stated before the timeline",
        ),
        (HEADER.into(), "v.vec: ends before its `timeline`"),
        (
            timeline(""),
            "v.vec: has a `timeline` in which nothing happens",
        ),
        (timeline("0"), "v.vec:11:2: the event is missing"),
        (
            timeline("0 sent 1s"),
            "v.vec:11:3: unknown event `sent`; known are established, send, resend, ack, drop, mark, timeout and restart",
        ),
        (
            timeline("0 send -1"),
            "v.vec:11:8: `-1` is not a whole number",
        ),
        (
            timeline("0 send 99999999999999999999"),
            "v.vec:11:8: `99999999999999999999` is too large; the largest is 2^53",
        ),
        (
            timeline("0 send 9007199254740992s"),
            "v.vec:11:8: `9007199254740992s` is too large; the largest is 2^53 bytes",
        ),
        (
            timeline("0 send 1s 2s"),
            "v.vec:11:11: `2s` is one word too many",
        ),
        (
            timeline("9007199254740993 send 1s"),
            "v.vec:11:1: `9007199254740993` is too large; the largest is 2^53",
        ),
        (
            timeline("5 send 1s\n4 send 1s"),
            "v.vec:12:3: this cannot happen: time runs backward",
        ),
        (
            timeline("0 ack 1s"),
            "v.vec:11:3: this cannot happen: it acknowledges what was never sent",
        ),
        (
            timeline("0 send 2s\n1 ack 1s\n2 ack 0"),
            "v.vec:13:3: this cannot happen: the cumulative acknowledgment goes back",
        ),
        (
            timeline("0 send 65537s"),
            "v.vec:11:3: this cannot happen: more than 65536 segments leave at once",
        ),
        (
            timeline("0 send 2s\n1 ack 0 sacked=3s"),
            "v.vec:12:3: this cannot happen: it SACKs more than is outstanding",
        ),
        (
            timeline("0 send 3s\n1 ack 0 sacked=2s\n2 ack 0 sacked=1s"),
            "v.vec:13:3: this cannot happen: it takes back what was SACKed before",
        ),
        (
            timeline("0 send 3s\n1 ack 0 lost=4s"),
            "v.vec:12:3: this cannot happen: more is declared lost than is in flight",
        ),
        (
            timeline("0 send 3s\n1 resend 1s"),
            "v.vec:12:3: this cannot happen: more is resent than was declared lost",
        ),
        (
            timeline("0 send 3s\n1 ack 1s color=red"),
            "v.vec:12:10: an ACK cannot say `color=red`; it may say sacked=BYTES, lost=BYTES, rtt=TIME, not-window-limited, app-limited, rate=RATE, feedback=RATE and sample=BYTES/TIME, after which prior=BYTES, tx=BYTES and gone=BYTES",
        ),
        (
            timeline("0 send 3s\n1 ack 1s sample=1s"),
            "v.vec:12:10: a sample is BYTES/TIME",
        ),
        (
            timeline("0 send 3s\n1 drop 1s tx=3s delivered=0"),
            "v.vec:12:17: a drop says tx=BYTES gone=BYTES delivered=BYTES",
        ),
        (
            timeline("0 send 3s\n1 drop 3s tx=3s gone=1s delivered=0"),
            "v.vec:12:3: this cannot happen: a segment is lost that is not outstanding",
        ),
        (
            format!("{HEADER}whole bbr3\ntimeline\n0 send 1s"),
            "v.vec:11:1: a `whole` has neither `slow-start`, `avoidance` nor `recovery`",
        ),
        (
            timeline("0 established approved=640000"),
            "v.vec:11:3: this cannot happen: a rate is approved for no round trip",
        ),
        (
            timeline("0 established rtt=1 feedback=--1"),
            "v.vec:11:21: `-1` is not a whole number",
        ),
        (
            timeline("0 send 1s =>"),
            "v.vec:11:11: nothing follows `=>`",
        ),
        (
            timeline("0 send 1s => cwnd=x"),
            "v.vec:11:14: `x` is not a whole number",
        ),
        (
            timeline("0 send 1s => state=asleep"),
            "v.vec:11:14: `asleep` is none of slow-start, css, drain, avoidance, recovery, cwr",
        ),
        (
            timeline("0 send 1s => norm=0.5"),
            "v.vec:11:14: `0.5` is no norm; write none, whole percent (37%) or three decimals (0.375)",
        ),
        (
            timeline("0 send 1s => speed=1"),
            "v.vec:11:14: `speed=1` cannot be expected; cwnd, ssthresh, state, exit, norm and pace can",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(sentence(&text), expected, "{text}");
    }
    let unknown = sentence("vector 1\nslow-start quick\n");
    let known = "v.vec:2:12: unknown slow-start `quick`; this runner knows standard, ";
    assert!(unknown.starts_with(known), "{unknown}");
    let error = files_in(Path::new("no-such")).unwrap_err().to_string();
    assert!(error.starts_with("no-such: cannot be read: "), "{error}");
    let wrong = HEADER.replace("standard", "search version=9");
    let error = sentence(&format!("{wrong}timeline\n0 send 1s"));
    assert!(
        error.starts_with("v.vec: ") && error.contains("3.0, 3.1 or 4.0"),
        "{error}"
    );
}

/// Nothing that a file holds makes the reader panic.
#[test]
fn broken_files_are_refused_calmly() {
    let text = std::fs::read_to_string(folder().join("reno-recovery.vec")).expect("the vector");
    for end in 0..text.len() {
        let _ = parse("cut.vec", &text[..end]).map(|vector| run_algorithm(&vector));
    }
    for (index, _) in text.char_indices() {
        for letter in ["9", "-", " ", "é", "\n", "s", "="] {
            let mut changed = text.clone();
            changed.replace_range(index..=index, letter);
            let _ = parse("changed.vec", &changed).map(|vector| run_algorithm(&vector));
        }
    }
}
