//! Loads, unloads and shows the congestion controls: `kernel load|unload [ALGORITHM...]`, `kernel
//! status`. An algorithm is written as `cubic+search:version=4.0,exit=plain` or as `ss_search40`.
//!
//! The command line of the project is Python's; this is for machines that have no Python, and for
//! trying the programs.

use std::process::ExitCode;

use kernel::{Control, Error, Wanted, load, status, unload};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((verb, rest)) if verb == "load" => wanted(rest)
            .and_then(|wanted| load(&wanted))
            .map(|loaded| list("loaded", &loaded)),
        Some((verb, rest)) if verb == "unload" => wanted(rest)
            .and_then(|wanted| {
                let controls: Vec<_> = wanted.iter().map(|wanted| wanted.control).collect();
                unload(&controls)
            })
            .map(|unloaded| list("unloaded", &unloaded)),
        Some((verb, [])) if verb == "status" => {
            show();
            Ok(())
        }
        _ => Err(Error::Invalid("say load, unload or status".to_owned())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&error);
            ExitCode::from(if matches!(error, Error::Refused(_)) {
                1
            } else {
                2
            })
        }
    }
}

fn wanted(words: &[String]) -> Result<Vec<Wanted>, Error> {
    words.iter().map(|word| Wanted::named(word)).collect()
}

#[expect(clippy::print_stdout, reason = "a command speaks to its user")]
fn list(done: &str, controls: &[&Control]) {
    for control in controls {
        println!("{done} {}: {}", control.name, control.summary);
    }
    if controls.is_empty() {
        println!("nothing {done}");
    }
}

#[expect(clippy::print_stdout, reason = "a command speaks to its user")]
fn show() {
    let status = status();
    for need in &status.needs {
        let there = need.missing.as_deref().unwrap_or("ok");
        println!("{:12} {}: {there}", need.what, need.found);
    }
    for there in &status.controls {
        let loaded = if there.loaded { "loaded" } else { "not loaded" };
        println!(
            "{:12} {loaded}: {}",
            there.control.name, there.control.summary
        );
    }
    println!("{:12} {}", "default", status.default.unwrap_or_default());
}

#[expect(clippy::print_stderr, reason = "a command speaks to its user")]
fn complain(error: &Error) {
    eprintln!("kernel: {error}");
}
