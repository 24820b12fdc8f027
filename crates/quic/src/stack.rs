//! The table of stacks.

use quic_core::Capabilities;
use scenario::FlowStack;
use simulator::Host;
use units::Instant;

use crate::dial::{Dial, Own};
use crate::observer::Observer;
use crate::{noq, quinn};

type Connect = fn(Instant, &Dial<'_>, &Observer) -> [Box<dyn Host>; 2];

/// A QUIC stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its name in commands and results.
    pub name: &'static str,
    /// The version that is built in.
    pub version: &'static str,
    /// What it offers to an algorithm of ours.
    pub capabilities: Capabilities,
    /// Its own controllers; the first is its default.
    pub own: &'static [Own],
    /// What results call it.
    pub kind: measure::Stack,
    /// What scenarios call it.
    pub flows: FlowStack,
    pub(crate) connect: Connect,
}

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
        flows: FlowStack::Quinn,
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
        flows: FlowStack::Noq,
        connect: noq::connect,
    },
];

impl Stack {
    /// The stack of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.name == name)
    }

    /// The stack of a flow; `None` for the simulated TCP.
    #[must_use]
    pub fn of(flows: FlowStack) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.flows == flows)
    }

    /// One of its own controllers: `own` for the default, `own:bbr`.
    #[must_use]
    pub fn own(&self, name: &str) -> Option<Own> {
        match name.strip_prefix("own")? {
            "" => self.own.first().copied(),
            other => {
                let name = other.strip_prefix(':')?;
                self.own.iter().find(|own| own.name == name).copied()
            }
        }
    }
}
