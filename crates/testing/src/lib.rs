//! What the tests of several crates share. No crate depends on this one, except for its tests.
//!
//! - [`snapshot`]: tables of results, small enough to review.
//! - [`traces`]: the folder of recorded traces.
//! - [`notes`]: what a test could not judge, for the count at the end of `make test`.
#![allow(
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "tests print what they found"
)]

pub mod notes;
pub mod snapshot;
pub mod traces;
