//! The table of stacks.

use crate::stack::{Own, Stack};
use crate::{noq, quinn};

const CUBIC: Own = Own {
    name: "cubic",
    summary: "CUBIC after standard slow start; the default",
    draws: false,
};
const NEWRENO: Own = Own {
    name: "newreno",
    summary: "NewReno of RFC 9002",
    draws: false,
};

/// Every stack.
pub const STACKS: &[Stack] = &[
    Stack {
        name: "quinn",
        version: "0.11.19",
        capabilities: slowstart_quinn::CAPABILITIES,
        own: &[
            CUBIC,
            NEWRENO,
            Own {
                name: "bbr",
                summary: "BBRv1; it draws from the system's random numbers, so runs may differ",
                draws: true,
            },
        ],
        kind: measure::Stack::Quinn,
        connect: quinn::connect,
    },
    Stack {
        name: "noq",
        version: "1.4.0",
        capabilities: slowstart_noq::CAPABILITIES,
        own: &[
            CUBIC,
            NEWRENO,
            Own {
                name: "bbr",
                summary: "BBRv3; it draws from the system's random numbers, so runs differ",
                draws: true,
            },
        ],
        kind: measure::Stack::Noq,
        connect: noq::connect,
    },
];

impl Stack {
    /// The stack of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.name == name)
    }
}
