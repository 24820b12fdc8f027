//! Runs each target over its corpus and over a fixed number of reproducible mutations of it.
//!
//! `SLOWSTART_FUZZ=30` in the environment runs thirty times as many mutations. A failure writes its
//! input to the build folder and prints the file name. Commit the input with the fix to `corpus/`.

use std::ffi::OsStr;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use fuzz::{Mutator, Seeds, TARGETS, Target};
use scenario::{PRESETS, Preset};

/// Longest wall-clock time for one input, also on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

/// Address space for all targets together, in bytes.
#[cfg(target_os = "linux")]
const MEMORY: u64 = 4 << 30;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The files of a folder, all or those with an extension, in order; none without a folder.
fn files(folder: &Path, extension: Option<&str>) -> Vec<Vec<u8>> {
    let mut paths: Vec<PathBuf> = match std::fs::read_dir(folder) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(_) => Vec::new(),
    };
    paths.retain(|path| extension.is_none() || path.extension() == extension.map(OsStr::new));
    paths.sort();
    let read = |path| std::fs::read(path).expect("a file of the corpus");
    paths.iter().map(read).collect()
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let mut corpus = files(&root().join("fuzz/corpus").join(target.name), None);
    match target.seeds {
        Seeds::Corpus => {}
        Seeds::Vectors => corpus.extend(files(&root().join("conformance"), Some("vec"))),
        Seeds::Scenarios => {
            if target.name != "scenario" {
                corpus.extend(files(&root().join("fuzz/corpus/scenario"), None));
            }
            corpus.extend(files(&root().join("scenarios"), Some("toml")));
            let flow = "[[flow]]\nalgorithm = 'cubic+search'\nsize = '1 MB'\n";
            let with_flow = |preset: &Preset| format!("[path]{}{flow}", preset.toml).into_bytes();
            corpus.extend(PRESETS.iter().map(with_flow));
        }
    }
    corpus
}

/// Writes a failing input to a file and returns a message with its name.
fn keep(target: &Target, input: &[u8]) -> String {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("fuzz-{}", target.name));
    std::fs::write(&file, input).expect("the build folder can be written");
    format!("{}: the input is {}", target.name, file.display())
}

/// Limits the memory of this process, so that an input that needs more fails at once.
fn limit_memory() {
    #[cfg(target_os = "linux")]
    {
        use nix::sys::resource::{Resource, setrlimit};
        setrlimit(Resource::RLIMIT_AS, MEMORY, MEMORY).expect("a process may lower its limit");
    }
}

fn bounded(name: &str) {
    limit_memory();
    let target = TARGETS.iter().find(|each| each.name == name);
    let target = *target.expect("a target");
    let times = std::env::var_os("SLOWSTART_FUZZ").and_then(|text| text.to_str()?.parse().ok());
    let cases = u64::from(target.cases) * times.unwrap_or(1);
    let corpus = corpus(&target);
    assert!(!corpus.is_empty(), "{name} has no corpus");
    let (to_worker, inputs) = mpsc::sync_channel::<Vec<u8>>(0);
    let (to_us, verdicts) = mpsc::channel();
    thread::spawn(move || {
        for input in inputs {
            let verdict = panic::catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
            if to_us.send(verdict.is_ok()).is_err() {
                return;
            }
        }
    });
    let mut mutator = Mutator::new(1);
    let mutations = (0..cases).map(|_| mutator.input(&corpus));
    for input in corpus.iter().cloned().chain(mutations) {
        to_worker.send(input.clone()).expect("the worker waits");
        match verdicts.recv_timeout(LONGEST) {
            Ok(true) => {}
            Ok(false) => panic!("{}", keep(&target, &input)),
            Err(_) => panic!("more than {LONGEST:?}: {}", keep(&target, &input)),
        }
    }
}

macro_rules! bounded {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            bounded(stringify!($name));
        })*

        #[test]
        fn every_target_is_run() {
            let tested = [$(stringify!($name)),*];
            let targets: Vec<&str> = TARGETS.iter().map(|target| target.name).collect();
            assert_eq!(targets, tested);
        }
    };
}

bounded!(scenario simulation trace algorithm vector capture analyze tmix);
