//! Runs a command behind a path: `emulate [--seed N] [--upload] [--capture FILE] [--capture-side
//! sender|receiver] [--log FILE] [--server-command CMD] [--no-deadline] [--spin-us N] [--report]
//! PATH -- COMMAND...`.
//!
//! The command line of the project is written in Python; this example runs the emulator without it.

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::atomic::AtomicBool;

use emulator::{CaptureTo, Direction, EmulateOptions, LogTo, Point, Side};
use scenario::PathModel;
use units::Duration;

fn main() -> ExitCode {
    match run() {
        Ok(status) => ExitCode::from(status as u8),
        Err(sentence) => {
            complain(&sentence);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "a command speaks to its user")]
fn complain(sentence: &str) {
    eprintln!("emulate: {sentence}");
}

fn run() -> Result<i32, String> {
    let mut options = EmulateOptions::default();
    let (mut path, mut seed, mut at, mut capture, mut report) =
        (None, 1, Point::Side(Side::Sender), None, false);
    let mut words = std::env::args_os().skip(1);
    while let Some(word) = words.next() {
        let mut value = || words.next().ok_or("an option lacks its value".to_owned());
        match word.to_string_lossy().as_ref() {
            "--" => {
                options.command = words.collect();
                break;
            }
            "--seed" => seed = number(&value()?)?,
            "--upload" => options.upload = true,
            "--report" => report = true,
            "--no-deadline" => options.emulation.deadline = false,
            "--spin-us" => options.emulation.spin = Duration::from_micros(number(&value()?)?),
            "--capture" => capture = Some(value()?),
            "--capture-side" => {
                at = match value()?.to_string_lossy().as_ref() {
                    "sender" => Side::Sender.into(),
                    "receiver" => Side::Receiver.into(),
                    "middle" => Point::Middle,
                    other => {
                        return Err(format!(
                            "unknown side {other}: expected sender, receiver or middle"
                        ));
                    }
                }
            }
            "--log" => options.emulation.logs.push(LogTo {
                direction: Direction::Forward,
                file: value()?.into(),
            }),
            "--server-command" => options.server_command = Some(value()?),
            name => path = Some(PathModel::resolve(name).map_err(|error| error.to_string())?),
        }
    }
    options
        .emulation
        .captures
        .extend(capture.map(|file| CaptureTo {
            at,
            file: file.into(),
            snap_length: 65_535,
        }));
    let path = path.ok_or("no path is given")?;
    emulator::enter_user_namespace().map_err(|error| error.to_string())?;
    let never = AtomicBool::new(false);
    let outcome = emulator::emulate(&path, seed, options, &never, &mut |_| {})
        .map_err(|error| error.to_string())?;
    if report {
        let text = serde_json::json!({
            "links": [outcome.report.forward.result, outcome.report.reverse.result],
            "check": outcome.report.check,
        });
        complain(&format!("{text:#}"));
    }
    Ok(outcome.status)
}

fn number(text: &OsString) -> Result<u64, String> {
    text.to_string_lossy()
        .parse()
        .map_err(|_| format!("{} is not a number", text.display()))
}
