//! `slowstart-stack-host FILE`: serves the stack of a shared object on standard input and output.

use std::io::{Write, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

fn main() -> ExitCode {
    let Some(file) = std::env::args_os().nth(1).map(PathBuf::from) else {
        return ExitCode::from(2);
    };
    match stack_host::serve_file(&file, stdin().lock(), stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(sentence) => {
            // Nobody reads it if standard error is closed.
            let _ = writeln!(std::io::stderr(), "{sentence}");
            ExitCode::FAILURE
        }
    }
}
