//! Helpers for the tests of several crates. Only tests depend on this crate.
//!
//! - [`modules`]: the test files of a crate that are one program.
//! - [`options`]: every option of every algorithm, with a value other than its default.
//! - [`page`]: pages of the documentation that are made from the code.
//! - [`random`]: a small generator for random cases.
//! - [`snapshot`]: tables of results, small enough to review.
//! - [`traces`]: the folder of recorded traces.
//! - [`wire`]: packets on their way between a sender and a receiver.
//! - [`notes`]: notes of tests without a verdict, which `make test` counts at its end.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests print their measurements"
)]

pub mod modules;
pub mod notes;
pub mod options;
pub mod page;
pub mod random;
pub mod snapshot;
pub mod traces;
pub mod wire;
