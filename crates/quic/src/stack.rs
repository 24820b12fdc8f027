//! What a stack is, and what a connection of it begins with.

use std::sync::Arc;

use congestion::Algorithm;
use quic_core::Capabilities;
use units::Instant;

use crate::host::Host;
use crate::observer::Observer;

/// A controller of the stack itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Own {
    /// The name after `own:`.
    pub name: &'static str,
    /// What it is.
    pub summary: &'static str,
    /// Whether it draws from the system's random numbers, so that runs differ.
    pub draws: bool,
}

/// The congestion control of a flow.
#[derive(Clone, Debug)]
pub enum Control {
    /// One of the stack's own.
    Own(Own),
    /// One of ours.
    Ours(Arc<Algorithm>),
}

/// What a connection begins with.
#[derive(Debug)]
pub struct Dial<'a> {
    pub flow: u32,
    pub control: &'a Control,
    /// In datagrams.
    pub initial_window: u32,
    pub receive_window: u64,
    pub seed: u64,
    /// Of the client and of the server.
    pub seeds: [[u8; 32]; 2],
}

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
    pub(crate) connect: Connect,
}

impl Stack {
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
