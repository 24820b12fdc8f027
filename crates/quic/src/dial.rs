//! What a connection begins with.

use std::sync::Arc;

use congestion::Algorithm;

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

impl Control {
    /// Its name in results.
    pub(crate) fn name(&self) -> String {
        match self {
            Self::Own(own) => format!("own:{}", own.name),
            Self::Ours(algorithm) => algorithm.name().to_owned(),
        }
    }
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
