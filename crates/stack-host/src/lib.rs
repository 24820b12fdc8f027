//! Loads a transport stack from a shared object, `slowstart_stack.h`, and serves it as a worker.
//!
//! A shared object of others runs in a process of its own, never in that of the simulator: a stack
//! that crashes, blocks or writes where it must not ends its worker, and slowstart reports it in
//! one sentence.
//!
//! This crate has the `unsafe` code that calls the functions of a shared object. What it passes is
//! valid as the header says; what the stack does with it is beyond any check, which is the reason
//! for the process.

#[cfg(unix)]
mod object;

use std::io::{Read, Write};
use std::path::Path;

use slowstart_stack::{Stack, wire};

/// Serves the stack of the shared object `file` until `input` ends.
///
/// # Errors
/// The pipe failed. A file that has no stack is reported on `output`, in one sentence.
pub fn serve_file(file: &Path, mut input: impl Read, mut output: impl Write) -> Result<(), String> {
    let served = match load(file) {
        Ok(mut stack) => slowstart_stack::serve(&mut *stack, input, output),
        // The answer to the first request is the reason.
        Err(sentence) => wire::read(&mut input).and_then(|_| {
            wire::write(&mut output, &wire::Answer::Error(sentence).encode())?;
            output.flush()
        }),
    };
    served.map_err(|error| error.to_string())
}

#[cfg(unix)]
fn load(file: &Path) -> Result<Box<dyn Stack>, String> {
    Ok(Box::new(object::Object::load(file)?))
}

#[cfg(not(unix))]
fn load(file: &Path) -> Result<Box<dyn Stack>, String> {
    let shown = file.display();
    Err(format!("{shown}: shared objects are loaded on Unix only"))
}
