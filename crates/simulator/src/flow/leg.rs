//! The state of a leg of a connection that proxies split.

use units::{Bytes, Instant};

use super::Endpoints;
use crate::speaker::Opened;

/// A sender at a proxy.
#[derive(Debug)]
pub struct Relay {
    /// The leg before.
    pub feeder: u32,
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
            delivered: endpoints.receiver.delivered(),
            finished_at: endpoints.receiver.finished_at(),
            is_complete: endpoints.sender.is_complete(),
        }
    }
}
