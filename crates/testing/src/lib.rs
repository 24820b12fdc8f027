//! Helpers for the tests of several crates. Only tests depend on this crate.
//!
//! - [`snapshot`]: tables of results, small enough to review.
//! - [`traces`]: the folder of recorded traces.
//! - [`notes`]: notes of tests without a verdict, which `make test` counts at its end.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests print their measurements"
)]

pub mod notes;
pub mod snapshot;
pub mod traces;
