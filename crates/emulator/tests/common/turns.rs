//! Tests in real time on a machine that others use too.
//!
//! The host stalls its guests now and then for tens of milliseconds. A turn that passes in spite of
//! that counts. A turn that fails counts only if the run passed the timing self-check, and the test
//! fails if that happens repeatedly: an error of this project fails every time.

use std::panic::{self, AssertUnwindSafe};

use emulator::SelfCheck;
use testing::notes::{HOST_STALLED, not_judged};

/// How many turns a test has.
const TURNS: u32 = 8;

/// How many failures in runs that passed the self-check count as an error: it does not see every
/// stall.
const BELIEVED: u32 = 3;

/// One turn.
pub struct Turn {
    /// From zero.
    pub number: u32,
    passed_check: bool,
}

impl Turn {
    /// Notes the self-check of a run of this turn.
    pub fn note(&mut self, check: &SelfCheck) {
        self.passed_check &= check.valid;
    }
}

/// Runs `test` until it passes once. It fails after several failures in runs that passed the timing
/// self-check. If too few runs passed it, the test is noted as not judged.
#[allow(clippy::print_stderr, reason = "a test says what it could not judge")]
pub fn with_turns(what: &str, test: impl Fn(&mut Turn)) {
    let mut failures = 0;
    for number in 0..TURNS {
        let mut turn = Turn {
            number,
            passed_check: true,
        };
        let Err(failure) = panic::catch_unwind(AssertUnwindSafe(|| test(&mut turn))) else {
            return;
        };
        failures += u32::from(turn.passed_check);
        eprintln!(
            "{what}: failed, passed the timing self-check: {}",
            turn.passed_check
        );
        if failures == BELIEVED {
            panic::resume_unwind(failure);
        }
    }
    eprintln!("{what}: {failures} of {TURNS} turns passed the timing self-check");
    not_judged(HOST_STALLED);
}
