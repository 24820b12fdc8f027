//! Loads, unloads and shows the congestion controls: `kernel load [NAME...] [--exit
//! plain|rollback|drain] [--threshold PERMILLE] [--alpha N]`, `kernel unload [NAME...]`, `kernel
//! status`.
//!
//! The command line of the project is Python's; this is for machines that have no Python, and for
//! trying the programs.

use std::process::ExitCode;

use kernel::{Control, Error, ExitAction, Options, load, status, unload};

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.split_first() {
        Some((verb, rest)) if verb == "load" => options(rest).and_then(|(names, options)| {
            let loaded = load(&names, &options)?;
            list("loaded", &loaded);
            Ok(())
        }),
        Some((verb, rest)) if verb == "unload" => {
            let names: Vec<&str> = rest.iter().map(String::as_str).collect();
            unload(&names).map(|unloaded| list("unloaded", &unloaded))
        }
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

fn options(words: &[String]) -> Result<(Vec<&str>, Options), Error> {
    let (mut names, mut options) = (Vec::new(), Options::default());
    let mut words = words.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let Some(option) = word.strip_prefix("--") else {
            names.push(word);
            continue;
        };
        let invalid = |sentence: String| Err(Error::Invalid(sentence));
        let Some(value) = words.next() else {
            return invalid(format!("--{option} lacks its value"));
        };
        match (option, value, value.parse().ok()) {
            ("exit", "plain", _) => options.exit = Some(ExitAction::Plain),
            ("exit", "rollback", _) => options.exit = Some(ExitAction::Rollback),
            ("exit", "drain", _) => options.exit = Some(ExitAction::Drain),
            ("threshold", _, Some(number)) => options.threshold_permille = Some(number),
            ("alpha", _, Some(number)) => options.alpha = Some(number),
            _ => return invalid(format!("--{option} cannot be {value}")),
        }
    }
    Ok((names, options))
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
