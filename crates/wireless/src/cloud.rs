//! What all networks of this crate have in common.

use alloc::vec::Vec;
use core::fmt::Debug;

use network::{Packet, Payload};
use units::{Duration, Instant};

/// Most nodes of a cloud.
pub const MAX_NODES: u64 = 1_000;

/// A node of a cloud, counted from zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeId(pub u32);

impl NodeId {
    /// Its number as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A packet that reached its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery<T> {
    /// When.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// The packet.
    pub packet: Packet<T>,
}

/// A packet that the cloud lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost<T> {
    /// When.
    pub at: Instant,
    /// The node that had it. Numbers from [`Cloud::node_count`] up are other stations, in the order of
    /// [`CloudMap::points`].
    pub node: NodeId,
    /// Why.
    pub cause: DropCause,
    /// The packet.
    pub packet: Packet<T>,
}

/// Declares the causes with their names, which traces and results print.
macro_rules! causes {
    ($($(#[$doc:meta])* $cause:ident = $name:literal,)+) => {
        /// Why a cloud lost a packet. The names follow the trace formats of ns-2 where it has one.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DropCause { $($(#[$doc])* $cause,)+ }

        impl DropCause {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$cause),+];

            /// Its name in results.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$cause => $name),+ }
            }
        }
    };
}

causes! {
    /// The interface queue was full.
    QueueFull = "queue-full",
    /// ARP held another packet for the same neighbour, or gave up.
    Arp = "arp",
    /// The MAC reached its retry limit.
    RetryLimit = "retry-limit",
    /// The MAC found the channel busy too often.
    ChannelBusy = "channel-busy",
    /// The MAC cannot send a packet of this length.
    Length = "length",
    /// A fragment was lost, or the datagram was not complete in time.
    Reassembly = "reassembly",
    /// The node knew no route.
    NoRoute = "no-route",
    /// The hop limit reached zero.
    HopLimit = "hop-limit",
    /// The packet returned to its source.
    Loop = "loop",
    /// The node had no energy.
    Energy = "energy",
    /// The link for which the packet waited went down.
    LinkDown = "link-down",
}

/// Packets of users through a cloud since the start of the run.
///
/// Conservation: `offered = delivered + dropped() + held`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CloudCounters {
    /// Packets that users offered.
    pub offered: u64,
    /// Packets that reached their nodes.
    pub delivered: u64,
    /// Packets that were lost, in the order of [`DropCause::ALL`].
    pub drops: [u64; DropCause::ALL.len()],
}

impl CloudCounters {
    /// All packets that were lost.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.drops.iter().sum()
    }

    /// Packets lost for `cause`.
    #[must_use]
    pub const fn dropped_by(&self, cause: DropCause) -> u64 {
        self.drops[cause as usize]
    }

    /// Counts a lost packet.
    pub const fn count_drop(&mut self, cause: DropCause) {
        self.drops[cause as usize] += 1;
    }

    /// Whether every packet is accounted for when `held` are inside.
    #[must_use]
    pub fn conserve(&self, held: u64) -> bool {
        self.offered == self.delivered + self.dropped() + held
    }
}

/// What a cloud did since the start of the run. Parts that a cloud does not have are `None` or empty:
/// a constellation has no frames on a shared channel, and without an energy model no node has a
/// battery.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudSummary {
    /// Packets of users.
    pub packets: CloudCounters,
    /// Packets of users that are still inside.
    pub held: u64,
    /// Frames on a shared channel.
    pub air: Option<AirSummary>,
    /// What the routing protocols sent.
    pub routing: Option<RoutingSummary>,
    /// What ARP sent.
    pub arp: Option<ArpSummary>,
    /// Each node, in order; empty if the cloud keeps no account of its nodes.
    pub nodes: Vec<NodeSummary>,
}

/// Frames on a shared channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AirSummary {
    /// All frames, with control frames and retries.
    pub frames: u64,
    /// Frames with a packet or a fragment of one, retries included.
    pub data_frames: u64,
    /// Transmissions of a frame beyond its first.
    pub retries: u64,
    /// Receptions that another frame destroyed, each receiver for itself.
    pub collisions: u64,
    /// Time for which at least one node sent.
    pub busy: Duration,
}

/// What the routing protocols sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RoutingSummary {
    /// Messages, each time a node sends one; retries of the MAC do not count.
    pub messages: u64,
    /// Bytes of IP in them.
    pub bytes: u64,
}

/// What ARP sent; retries of the MAC do not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ArpSummary {
    /// Requests.
    pub requests: u64,
    /// Replies.
    pub replies: u64,
}

/// One node of a cloud.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeSummary {
    /// Packets of users that it sent on for others.
    pub forwarded: u64,
    /// Packets of users that it lost.
    pub dropped: u64,
    /// Its battery, if it has one.
    pub energy: Option<NodeEnergy>,
}

/// The battery of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodeEnergy {
    /// What it had at the start, in joules.
    pub initial_j: f64,
    /// What it has used, in joules; at most `initial_j`.
    pub used_j: f64,
    /// When it was empty.
    pub empty_at: Option<Instant>,
}

/// Where the nodes of a cloud are, and which of them hear each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CloudMap {
    /// The nodes in order, and behind them other stations, such as satellites. Metres east and north
    /// of the area's corner, or degrees of longitude and latitude.
    pub points: Vec<[f64; 2]>,
    /// Links between points that can use them now.
    pub links: Vec<MapLink>,
}

/// A link of a [`CloudMap`], in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MapLink {
    /// The indices of its points, the smaller one first.
    pub ends: [u32; 2],
    /// Propagation from one to the other.
    pub delay: Duration,
}

/// A network that carries packets between its nodes and finds the routes itself.
///
/// Calls come in order of time. Before [`Self::send`] at an instant, the owner has called
/// [`Self::advance`] for that instant or for none later than the next event. Results do not depend on
/// how often `advance` is called.
pub trait Cloud<T: Payload>: Debug + Send {
    /// How many nodes there are.
    fn node_count(&self) -> usize;

    /// Offers a packet at node `from`, for node `to`. It is delivered or lost later, at `now` at the
    /// earliest; a packet to its own node is delivered at once.
    fn send(&mut self, now: Instant, from: NodeId, to: NodeId, packet: Packet<T>);

    /// When the next event is due; [`Instant::MAX`] is never.
    fn next_event(&self) -> Instant;

    /// Performs all events up to and including `now`, each as of its own instant, but stops after an
    /// instant in which a packet was delivered or lost, so that the owner can react to it in time.
    fn advance(&mut self, now: Instant);

    /// The next packet that reached its node; each once, in order.
    fn pop(&mut self) -> Option<Delivery<T>>;

    /// The next packet that was lost; each once, in order.
    fn take_lost(&mut self) -> Option<Lost<T>>;

    /// Packets of users inside, neither delivered nor lost.
    fn held(&self) -> u64;

    /// What became of all packets.
    fn counters(&self) -> &CloudCounters;

    /// What happened up to `now`, which is no earlier than the last call.
    fn summary(&mut self, _now: Instant) -> CloudSummary {
        CloudSummary {
            packets: self.counters().clone(),
            held: self.held(),
            ..CloudSummary::default()
        }
    }

    /// Where the nodes are at `now`, which is no earlier than the last call.
    fn map(&mut self, _now: Instant) -> CloudMap {
        CloudMap::default()
    }

    /// The points of [`Self::map`] that a packet of `from` for `to` would pass if the routes stayed as
    /// they are, both ends included; `None` if no route is known.
    fn route(&mut self, _now: Instant, _from: NodeId, _to: NodeId) -> Option<Vec<u32>> {
        None
    }
}
