//! Notes of tests without a verdict. They are needed because cargo hides the output of a passing
//! test, and a skipped test passes.
//!
//! If `SLOWSTART_NOT_JUDGED` names a file, each note is one line in it: the reason, a tab, the
//! test. `make test` sets it, and counts the notes by reason at its end.

use std::fs::OpenOptions;
use std::io::Write as _;

/// The reason of a test in real time whose runs failed the timing self-check.
pub const HOST_STALLED: &str = "host stalled";

/// Records that the calling test has no verdict, and why.
pub fn not_judged(reason: &str) {
    let reason = reason.replace(['\n', '\t'], " ");
    let test = test();
    eprintln!("{test}: not judged: {reason}");
    let Some(file) = std::env::var_os("SLOWSTART_NOT_JUDGED") else {
        return;
    };
    // One write of one line: other tests append to the file at the same time.
    let line = format!("{reason}\t{test}\n");
    let file = OpenOptions::new().create(true).append(true).open(&file);
    let written = file.and_then(|mut file| file.write_all(line.as_bytes()));
    written.unwrap_or_else(|error| panic!("SLOWSTART_NOT_JUDGED: {error}"));
}

/// Records that the calling test is skipped because this machine lacks something. The test fails
/// instead if skipping is not acceptable.
pub fn skip(lack: &str) {
    assert!(!required(), "{lack}");
    not_judged(lack);
}

/// Whether a skipped test is a failure: `CI` or `SLOWSTART_REQUIRE_ROOT_TESTS` is set.
pub fn required() -> bool {
    let names = ["CI", "SLOWSTART_REQUIRE_ROOT_TESTS"];
    let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    names.into_iter().any(set)
}

/// The program of the calling test and its name, as in `emulator stack::a_test`.
fn test() -> String {
    let program = std::env::current_exe().ok();
    let stem = program.as_deref().and_then(|path| path.file_stem());
    let stem = stem.map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    // Cargo appends a hash to the program's name.
    let program = stem
        .rsplit_once('-')
        .map_or(stem.as_str(), |(name, _)| name);
    let thread = std::thread::current();
    format!("{program} {}", thread.name().unwrap_or("?"))
}
