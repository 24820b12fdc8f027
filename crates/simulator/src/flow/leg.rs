//! The state of a leg of a connection that proxies split.

use units::{Bytes, Instant};

use super::Endpoints;
use crate::conversation::Opened;

/// A leg among those of its connection.
#[derive(Debug, Default)]
pub struct Relay {
    /// The leg before, whose data its sender gets, unless it is the first one.
    pub feeder: Option<u32>,
    /// The leg behind, which gets what its receiver has, unless it is the last one.
    pub next: Option<u32>,
    /// Whether it opens its leg, and whether it has.
    pub opens: bool,
    pub is_open: bool,
    /// If it does not open it, how the handshake ended.
    pub opened: Option<Opened>,
}

/// What has arrived at the last receiver of a split connection.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub delivered: Bytes,
    pub finished_at: Option<Instant>,
    /// Whether the last sender has all acknowledged.
    pub is_complete: bool,
}

impl Arrived {
    pub fn at(endpoints: &Endpoints) -> Self {
        Self {
            delivered: endpoints.receiver.delivered() - endpoints.receiver.concealed(),
            finished_at: endpoints.receiver.finished_at(),
            is_complete: endpoints.sender.is_complete(),
        }
    }
}
