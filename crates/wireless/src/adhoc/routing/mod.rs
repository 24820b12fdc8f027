//! Routing protocols: the neighbour to which a node passes a packet.
//!
//! Each node has a [`Routing`] of its own. It sends messages to those of its neighbours, and may hold
//! packets until it knows a route.

pub mod aodv;
pub mod dsdv;
pub mod fixed;

use alloc::vec::Vec;
use core::fmt::Debug;

use units::{Duration, Instant};

use crate::{DropCause, NodeId};

/// What a routing protocol sees of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The node at which it entered the network.
    pub from: NodeId,
    /// The node to which it goes.
    pub to: NodeId,
    /// How many more nodes may forward it.
    pub hop_limit: u8,
    /// Bytes of IP.
    pub bytes: u32,
}

/// What happens to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It goes to this neighbour.
    Forward(NodeId),
    /// The protocol holds it, until an [`Action::Release`] or [`Action::Drop`] names its handle.
    Hold,
    /// It is lost.
    Drop(DropCause),
}

/// What a protocol does beside deciding on a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action<M> {
    /// Sends a message.
    Send {
        /// The message.
        message: M,
        /// The neighbour; `None` is a broadcast.
        to: Option<NodeId>,
        /// How much later.
        after: Duration,
    },
    /// Decides anew on a packet that it held.
    Release(u32),
    /// Drops a packet that it held.
    Drop(u32, DropCause),
    /// Takes all packets for this neighbour out of the interface queue and decides anew on each.
    Recall(NodeId),
}

/// A routing protocol of one node.
///
/// Calls come in order of time. Packets are known by a handle that is unique among those inside the
/// network.
pub trait Routing: Debug + Send {
    /// What nodes send to each other.
    type Message: Clone + Debug + Send;

    /// Bytes of IP of a message.
    fn bytes(message: &Self::Message) -> u32;

    /// When [`Self::handle_timeout`] is due; [`Instant::MAX`] is never.
    fn next_event(&self) -> Instant;

    /// Performs what is due at `now`.
    fn handle_timeout(&mut self, now: Instant, actions: &mut Vec<Action<Self::Message>>);

    /// Decides on a packet that is not for this node.
    fn route(
        &mut self,
        now: Instant,
        header: &Header,
        handle: u32,
        actions: &mut Vec<Action<Self::Message>>,
    ) -> Decision;

    /// Takes a message from the neighbour `from`.
    fn receive(
        &mut self,
        now: Instant,
        from: NodeId,
        message: Self::Message,
        actions: &mut Vec<Action<Self::Message>>,
    );

    /// Learns that the MAC could not deliver a frame to `neighbour`, and decides on the packet in it.
    fn link_failed(
        &mut self,
        now: Instant,
        neighbour: NodeId,
        header: &Header,
        handle: u32,
        actions: &mut Vec<Action<Self::Message>>,
    ) -> Decision;

    /// Learns that the MAC could not deliver a frame to `neighbour` where there is no packet to decide
    /// on: the frame carried a unicast message of this protocol, which is lost, or a packet that
    /// arrived although its acknowledgement did not.
    fn message_failed(
        &mut self,
        _now: Instant,
        _neighbour: NodeId,
        _actions: &mut Vec<Action<Self::Message>>,
    ) {
    }

    /// The neighbour to which packets for `to` go now, for maps.
    fn next_hop(&self, to: NodeId) -> Option<NodeId>;
}
