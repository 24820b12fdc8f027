//! The example in C as a shared object and as a worker, and programs that do what they must not.
#![cfg(unix)]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::AtomicBool;

use measure::RunResult;
use quic_stacks::{Stack, check, conform, run};
use scenario::Scenario;
use simulator::{RunError, RunOptions};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

fn host() -> Vec<String> {
    vec![env!("CARGO_BIN_EXE_slowstart-stack-host").to_owned()]
}

/// Compiles a C program against the headers.
fn compile(source: &Path, name: &str, words: &[&str]) -> PathBuf {
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let compiled = Command::new("cc")
        .args(["-std=c99", "-O1", "-Wall", "-Wextra", "-Werror", "-I"])
        .arg(format!("{ROOT}/python/slowstart/include"))
        .args(words)
        .arg("-o")
        .args([&made, source])
        .status()
        .expect("a C compiler is installed");
    assert!(compiled.success(), "{name}");
    made
}

/// The example: the names of the shared object and of the worker.
fn example() -> &'static [String; 2] {
    static MADE: OnceLock<[String; 2]> = OnceLock::new();
    MADE.get_or_init(|| {
        let folder = Path::new(ROOT).join("python/slowstart/include/examples");
        let source = folder.join("minimal.c");
        let object = compile(&source, "minimal.so", &["-shared", "-fPIC"]);
        let worker = compile(&source, "minimal", &["-DWORKER"]);
        [
            object.to_str().expect("UTF-8").to_owned(),
            format!("worker: {}", worker.display()),
        ]
    })
}

/// The example in C with a function replaced, which the argument of the program names.
const BROKEN: &str = r#"
#define slowstart_stack(x) sound_stack(x)
#include "examples/minimal.c"
#undef slowstart_stack
#include <unistd.h>
#include "slowstart_worker.h"

static int late;
static void late_receive(void *e, uint64_t n, enum slowstart_ecn c, const uint8_t *d, size_t l) {
    late = 1;
    minimal_receive(e, n, c, d, l);
}
static uint64_t past(void *e) { return late ? 1 : minimal_deadline(e); }
static size_t endless(void *e, uint64_t n, uint8_t *d, size_t r, enum slowstart_ecn *c) {
    (void)e; (void)n; (void)c;
    d[0] = 9;
    return r > 40 ? 40 : r;
}
static size_t larger(void *e, uint64_t n, uint8_t *d, size_t r, enum slowstart_ecn *c) {
    size_t length = minimal_transmit(e, n, d, r, c);
    return length > 100 ? 2000 : length;
}
static void crash(void *e, uint64_t n, enum slowstart_ecn c, const uint8_t *d, size_t l) {
    (void)e; (void)n; (void)c; (void)d; (void)l;
    abort();
}
static uint64_t time_now;
static void note(void *e, uint64_t n) { (void)e; time_now = n; }
static uint64_t still(void *e) { (void)e; return time_now; }
static void garbage(void *e, struct slowstart_report *r) {
    minimal_report(e, r);
    puts("hello");
    fflush(stdout);
}
static void leaves(void *e, struct slowstart_report *r) { (void)e; (void)r; _exit(7); }
static void fewer(void *e, struct slowstart_report *r) {
    static uint64_t count = 9;
    minimal_report(e, r);
    r->acked = count ? count-- : 0;
}
static void *null(uint64_t n, const struct slowstart_settings *s) { (void)n; (void)s; return NULL; }

int main(int count, char **words) {
    struct slowstart_stack stack = *sound_stack();
    const char *name = count > 1 ? words[1] : "";
    if (!strcmp(name, "past")) { stack.receive = late_receive; stack.deadline = past; }
    if (!strcmp(name, "endless")) stack.transmit = endless;
    if (!strcmp(name, "larger")) stack.transmit = larger;
    if (!strcmp(name, "crash")) stack.receive = crash;
    if (!strcmp(name, "still")) { stack.expire = note; stack.deadline = still; }
    if (!strcmp(name, "garbage")) stack.report = garbage;
    if (!strcmp(name, "leaves")) stack.report = leaves;
    if (!strcmp(name, "fewer")) stack.report = fewer;
    if (!strcmp(name, "null")) stack.open = null;
    return slowstart_worker(&stack);
}
"#;

fn scenario(more: &str) -> Scenario {
    let text = format!(
        "[path]\nrate = \"20 Mbit/s\"\nrtt = \"40 ms\"\nbuffer = \"60 packets\"\n{more}\n\
         [[flow]]\nalgorithm = \"cubic\"\nsize = \"2 MB\"\n"
    );
    Scenario::parse(&text, "test.toml", ".".as_ref()).expect("a valid scenario")
}

fn result(given: &str, scenario: &Scenario) -> Result<RunResult, RunError> {
    let stack = Stack::foreign(given, &host()).expect("the stack states its name");
    assert_eq!(check(scenario, stack, Some("own")), Ok(()));
    let options = RunOptions::default();
    let cancel = AtomicBool::new(false);
    run(scenario, 0, stack, Some("own"), &options, &cancel).map(|output| output.result)
}

fn json(result: &RunResult) -> String {
    serde_json::to_string(result).expect("JSON")
}

#[test]
fn the_example_runs_and_both_forms_give_the_same_bytes() {
    let scenario = scenario("loss = \"0.2 %\"");
    let [object, worker] = example();
    let first = result(object, &scenario).expect("a run");
    assert_eq!(
        json(&first),
        json(&result(object, &scenario).expect("a run"))
    );
    assert_eq!(
        json(&first),
        json(&result(worker, &scenario).expect("a run"))
    );
    let text = json(&first);
    assert!(text.contains(r#""stack":"minimal""#), "{text}");
    assert_eq!(first.stack_version.as_deref(), Some("1.0"));
    let read: RunResult = serde_json::from_str(&text).expect("a result");
    assert_eq!(read.stack, first.stack);
    let flow = &first.flows[0];
    assert!(flow.completed);
    assert_eq!(flow.bytes_acked, 2_000_000);
    assert!(flow.segments_lost >= flow.segments_dropped.expect("known"));
    assert!(flow.rtt_min_ms.expect("samples") >= 40.0);
}

/// Slow start doubles the window each round trip until the buffer is full, as TCP's does: 68
/// packets of bandwidth-delay product and 60 of buffer are full at a window between them and twice
/// that.
#[test]
fn the_example_leaves_slow_start_where_the_buffer_is_full() {
    let [object, _] = example();
    let flow = result(object, &scenario(""))
        .expect("a run")
        .flows
        .remove(0);
    let exit = flow.slow_start_exit.expect("slow start ends");
    assert_eq!(exit.reason, "loss");
    let packets = exit.cwnd_packets.expect("a QUIC-like window");
    assert!((128..=256).contains(&packets), "{packets}");
}

#[test]
fn the_example_keeps_the_contract() {
    for given in example() {
        let found = conform(given, &host()).expect("a program");
        assert_eq!(found.len(), 8);
        for finding in found {
            assert_eq!(finding.fault, None, "{}", finding.rule);
        }
    }
}

/// What a stack did wrong is one sentence, in a run and in the check.
#[test]
fn faults_are_sentences() {
    let cases = [
        ("past", "gave a deadline in the past, 0.000000001 s"),
        (
            "endless",
            "transmit returned more than 65536 datagrams at one instant",
        ),
        (
            "larger",
            "transmitted a datagram of 2000 bytes: it has 1 to 1472",
        ),
        ("crash", "was killed by signal 6: it aborted"),
        ("still", "lets time stand still"),
        ("garbage", "answered with no message of the protocol"),
        ("leaves", "ended with exit status 7"),
        ("fewer", "counters never decrease"),
        ("null", "reports an error: open returned NULL"),
    ];
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("broken.c");
    std::fs::write(&source, BROKEN).expect("the source is written");
    let program = compile(&source, "broken", &[]);
    let scenario = scenario("");
    for (name, sentence) in cases {
        let given = format!("worker: {} {name}", program.display());
        let Err(RunError::Stack(found)) = result(&given, &scenario) else {
            panic!("{name}: the run has no fault");
        };
        assert!(found.contains(sentence), "{found}");
        assert!(found.starts_with(&given), "{found}");
        assert_eq!(found.lines().count(), 1, "{found}");
        let found = conform(&given, &host()).expect("a program");
        let faults: Vec<_> = found.into_iter().filter_map(|each| each.fault).collect();
        assert!(
            faults.iter().any(|fault| fault.contains(sentence)),
            "{name}: {faults:?}"
        );
    }
}

/// The example in C that asks the clock: a worker whose clock is the simulated one, with the same
/// bytes.
const CLOCK: &str = r#"
#define _DEFAULT_SOURCE
#include "slowstart_clock.h"
#define slowstart_stack(x) sound_stack(x)
#include "examples/minimal.c"
#undef slowstart_stack
#include "slowstart_worker.h"

/* The time of the run by the clocks of the program. */
static uint64_t clock_now(void) {
    struct timespec steady, real;
    struct timeval day;
    clock_gettime(CLOCK_MONOTONIC, &steady);
    clock_gettime(CLOCK_REALTIME, &real);
    gettimeofday(&day, NULL);
    if (real.tv_sec != day.tv_sec || real.tv_nsec / 1000 != day.tv_usec || time(NULL) != day.tv_sec)
        abort();
    return (uint64_t)(steady.tv_sec - 3600) * 1000000000u + (uint64_t)steady.tv_nsec;
}
static void receive(void *e, uint64_t n, enum slowstart_ecn c, const uint8_t *d, size_t l) {
    (void)n;
    minimal_receive(e, clock_now(), c, d, l);
}
static void expire(void *e, uint64_t n) { (void)n; minimal_expire(e, clock_now()); }
static size_t transmit(void *e, uint64_t n, uint8_t *d, size_t r, enum slowstart_ecn *c) {
    (void)n;
    return minimal_transmit(e, clock_now(), d, r, c);
}

int main(void) {
    struct slowstart_stack stack = *sound_stack();
    stack.receive = receive;
    stack.expire = expire;
    stack.transmit = transmit;
    return slowstart_worker(&stack);
}
"#;

#[test]
fn a_worker_that_asks_the_clock_sees_simulated_time() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clock.c");
    std::fs::write(&source, CLOCK).expect("the source is written");
    let program = compile(&source, "clock", &[]);
    let scenario = scenario("loss = \"0.2 %\"");
    let asks = result(&format!("worker: {}", program.display()), &scenario).expect("a run");
    let stateless = result(&example()[0], &scenario).expect("a run");
    assert_eq!(json(&asks), json(&stateless));
}

/// What is no stack is refused before a run.
#[test]
fn what_is_no_stack_is_refused() {
    let text = Path::new(env!("CARGO_TARGET_TMPDIR")).join("text.so");
    std::fs::write(&text, "no shared object").expect("a file");
    let text = text.to_str().expect("UTF-8");
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("empty.c");
    std::fs::write(&source, "int nothing;\n").expect("a file");
    let empty = compile(&source, "empty.so", &["-shared", "-fPIC"]);
    for (given, sentence) in [
        ("./missing.so", "./missing.so cannot be read"),
        (text, "text.so: "),
        (
            empty.to_str().expect("UTF-8"),
            "has no function slowstart_stack",
        ),
        ("worker:", "names no program"),
        ("worker: ./missing", "cannot be started"),
        ("worker: true", "ended with exit status 0"),
        ("worker: cat", "the message ends 2 bytes too early"),
        ("worker: sleep 30", "did not answer within 5 s"),
    ] {
        let found = conform(given, &host()).map(|found| found[0].fault.clone());
        let fault = match found {
            Ok(fault) => fault.expect("a fault"),
            Err(sentence) => sentence,
        };
        assert!(fault.contains(sentence), "{given}: {fault}");
        assert_eq!(fault.lines().count(), 1, "{fault}");
    }
    let mut own = scenario("");
    own.flows[0].algorithm = "cubic+search"
        .parse()
        .map(std::sync::Arc::new)
        .expect("a name");
    let stack = Stack::foreign(&example()[0], &host()).expect("the example");
    let refused = check(&own, stack, None)
        .expect_err("it is ours")
        .to_string();
    assert!(
        refused.contains("runs its own controllers only"),
        "{refused}"
    );
}
