//! The messages of AODV (RFC 3561, section 5).

use alloc::sync::Arc;

use units::Duration;

use crate::NodeId;

/// Bytes of IP and UDP.
const HEADERS: u32 = 28;

/// A search for a route (RREQ).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteRequest {
    /// How many more hops it goes.
    pub ttl: u8,
    /// Hops from the origin to the sender.
    pub hops: u8,
    /// Its number, unique at the origin.
    pub id: u32,
    /// The destination.
    pub to: NodeId,
    /// The last known number of the destination.
    pub to_sequence: Option<u32>,
    /// The node that searches.
    pub origin: NodeId,
    /// The number of the origin.
    pub origin_sequence: u32,
}

/// A route (RREP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RouteReply {
    /// Hops from the sender to the destination.
    pub hops: u8,
    /// The destination.
    pub to: NodeId,
    /// The number of the destination.
    pub sequence: u32,
    /// The node that searched.
    pub origin: NodeId,
    /// How long the route is valid.
    pub lifetime: Duration,
}

/// A message of AODV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AodvMessage {
    /// A search for a route (RREQ).
    Request(RouteRequest),
    /// A route (RREP).
    Reply(RouteReply),
    /// Destinations that the sender no longer reaches, with their numbers (RERR).
    Error(Arc<[(NodeId, u32)]>),
    /// An announcement of a neighbour (a RREP with a hop limit of one), with its number.
    Hello(u32),
}

impl AodvMessage {
    /// Bytes of IP: the message over UDP.
    #[must_use]
    pub fn bytes(&self) -> u32 {
        HEADERS
            + match self {
                Self::Request(_) => 24,
                Self::Reply(_) | Self::Hello(_) => 20,
                Self::Error(ended) => 4 + 8 * ended.len() as u32,
            }
    }
}
