//! The functions of the WebAssembly module.
//!
//! A page writes the text of a scenario, as UTF-8, to the memory at [`input`], calls [`run`], and
//! reads [`length`] bytes at [`output`]. The text is JSON if `run` returned 0, and otherwise one
//! sentence about what is wrong.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// The name of a scenario in messages and results.
const NAME: &str = "explorable.toml";

/// Text that came from the page, and text that it reads.
#[derive(Debug)]
struct Texts {
    input: Vec<u8>,
    output: Vec<u8>,
}

static TEXTS: Mutex<Texts> = Mutex::new(Texts {
    input: Vec::new(),
    output: Vec::new(),
});

fn texts() -> MutexGuard<'static, Texts> {
    TEXTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Memory for a scenario of `length` bytes. It is valid until the next call.
#[allow(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn input(length: usize) -> *mut u8 {
    let mut texts = texts();
    texts.input = vec![0; length];
    texts.input.as_mut_ptr()
}

/// Runs the scenario. `recorded` is 0 for the result document, and 1 for a recording. Returns 0 if
/// it ran.
#[allow(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn run(recorded: u32) -> u32 {
    let mut texts = texts();
    let answer = match std::str::from_utf8(&texts.input) {
        Err(_) => Err("the scenario is not UTF-8 text".to_owned()),
        Ok(text) if recorded == 0 => crate::document(text, NAME),
        Ok(text) => crate::record(text, NAME),
    };
    let failed = answer.is_err();
    texts.output = answer.unwrap_or_else(|sentence| sentence).into_bytes();
    u32::from(failed)
}

/// The text that the last [`run`] left. It is valid until the next call.
#[allow(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn output() -> *const u8 {
    texts().output.as_ptr()
}

/// Its length in bytes.
#[allow(unsafe_code, reason = "the name of an exported function")]
#[unsafe(no_mangle)]
pub extern "C" fn length() -> usize {
    texts().output.len()
}
