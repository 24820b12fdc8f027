//! The table of stacks.

use quic_core::Capabilities;
use scenario::FlowStack;
use simulator::Host;
use units::Instant;

use crate::dial::{Dial, Own};
use crate::observer::Observer;
use crate::program::Program;
use crate::{noq, quinn};

/// Where a stack is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// In this program.
    BuiltIn(fn(Instant, &Dial<'_>, &Observer) -> [Box<dyn Host>; 2]),
    /// In a program of others, and what connects to it.
    Foreign(&'static Program, Reach),
}

/// Connects both endpoints in a program of others.
pub(crate) type Reach = fn(&'static Program, Instant, &Dial<'_>, &Observer) -> [Box<dyn Host>; 2];

/// A QUIC stack.
#[derive(Clone, Copy, Debug)]
pub struct Stack {
    /// Its name in results.
    pub name: &'static str,
    /// Its name in commands.
    pub given: &'static str,
    /// The version that is built in, or that a stack of others states.
    pub version: &'static str,
    /// The version, for a stack of others with a hash of its files: results of two builds differ.
    pub build: &'static str,
    /// What it offers to an algorithm of ours.
    pub capabilities: Capabilities,
    /// Its own controllers; the first is its default.
    pub own: &'static [Own],
    /// What results call it.
    pub kind: measure::Stack,
    /// What scenarios call it.
    pub flows: FlowStack,
    pub(crate) source: Source,
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
        given: "quinn",
        version: "0.11.19",
        build: "0.11.19",
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
        source: Source::BuiltIn(quinn::connect),
    },
    Stack {
        name: "noq",
        given: "noq",
        version: "1.4.0",
        build: "1.4.0",
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
        source: Source::BuiltIn(noq::connect),
    },
];

impl Stack {
    /// The stack of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        STACKS.iter().find(|stack| stack.name == name)
    }

    /// Both endpoints of a connection; the client has begun to connect.
    pub(crate) fn connect(
        &self,
        now: Instant,
        dial: &Dial<'_>,
        observer: &Observer,
    ) -> [Box<dyn Host>; 2] {
        match self.source {
            Source::BuiltIn(connect) => connect(now, dial, observer),
            Source::Foreign(program, connect) => connect(program, now, dial, observer),
        }
    }

    /// Whether it is a program of others, which runs its own controllers only.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        matches!(self.source, Source::Foreign(..))
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
