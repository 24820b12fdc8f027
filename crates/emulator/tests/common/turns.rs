//! Showing something in real time on a machine that others use too.
//!
//! The host stalls its guests now and then for tens of milliseconds. What a run shows in spite of it is
//! shown; what it fails to show counts where the emulator vouches for the run, and is believed when it
//! comes again: a fault of ours comes each time.

use std::panic::{self, AssertUnwindSafe};

use emulator::SelfCheck;
use testing::notes::{HOST_STALLED, not_judged};

/// How often something may be tried.
const TURNS: u32 = 8;

/// How many failures are believed of runs that the emulator vouches for: it does not see all.
const BELIEVED: u32 = 3;

/// One try.
pub struct Turn {
    /// From zero.
    pub number: u32,
    vouched: bool,
}

impl Turn {
    /// Says what the emulator says of a run of this turn.
    pub fn note(&mut self, check: &SelfCheck) {
        self.vouched &= check.valid;
    }
}

/// Gives `test` turns until it passes once. It fails where it does so in several turns of whose runs
/// the emulator vouches for each; where it vouches for too few, that is noted and printed.
#[allow(clippy::print_stderr, reason = "a test says what it could not judge")]
pub fn with_turns(what: &str, test: impl Fn(&mut Turn)) {
    let mut failures = 0;
    for number in 0..TURNS {
        let mut turn = Turn {
            number,
            vouched: true,
        };
        let Err(failure) = panic::catch_unwind(AssertUnwindSafe(|| test(&mut turn))) else {
            return;
        };
        failures += u32::from(turn.vouched);
        eprintln!("{what}: failed, vouched for: {}", turn.vouched);
        if failures == BELIEVED {
            panic::resume_unwind(failure);
        }
    }
    eprintln!("{what}: {failures} of {TURNS} turns passed the timing self-check");
    not_judged(HOST_STALLED);
}
