//! The ad-hoc network or constellation of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What an ad-hoc network or a constellation did since the start of the run, warm-up included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NetworkResult {
    /// Its kind in the scenario.
    pub kind: String,
    /// Packets of any kind that flows and traffic offered: data, ACKs and handshakes, with
    /// retransmissions.
    pub packets: PacketResult,
    /// Data packets, each counted once however often it is retransmitted.
    pub data: DataResult,
    /// Frames on the air; absent without a shared channel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub air: Option<AirResult>,
    /// What the routing protocols sent; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<RoutingResult>,
    /// What ARP sent; absent without ARP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arp: Option<ArpResult>,
    /// The batteries of all nodes; absent without any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub energy: Option<EnergyResult>,
    /// Which nodes could reach each other; absent for a constellation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topology: Option<TopologyResult>,
    /// Each node.
    pub nodes: Vec<NodeResult>,
}

/// `offered = delivered + dropped + inside`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PacketResult {
    /// Packets that entered the network.
    pub offered: u64,
    /// Packets that left it at their nodes.
    pub delivered: u64,
    /// Packets that it lost.
    pub dropped: u64,
    /// Packets that were inside when the run ended.
    pub inside: u64,
    /// The losses by cause, without causes that did not occur.
    pub drops: BTreeMap<String, u64>,
}

/// A data packet is a TCP segment with payload or a datagram. It is sent when its first copy enters
/// the network, and delivered when the first of its copies leaves it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DataResult {
    /// Data packets sent.
    pub sent: u64,
    /// Their copies that entered the network: `sent` and the retransmissions.
    pub copies: u64,
    /// Data packets delivered.
    pub delivered: u64,
    /// Payload of those.
    pub bytes_delivered: u64,
    /// Copies that the network lost.
    pub dropped: u64,
    /// Data packets of which it lost at least one copy.
    pub packets_hit: u64,
    /// `delivered / sent`; null if none was sent.
    pub delivery_ratio: Option<f64>,
    /// `dropped / copies`; null if none was sent.
    pub drop_ratio: Option<f64>,
    /// Payload delivered per second from the first data packet sent to the last one delivered; null
    /// if none was delivered.
    pub throughput_bps: Option<f64>,
    /// Mean time from the entry of the first copy to the exit of the first copy that left, over the
    /// packets delivered; null without any.
    pub delay_mean_ms: Option<f64>,
}

/// The links of an ad-hoc network when the run ended, which are those of its start if nothing moves:
/// pairs of nodes that can receive each other's frames, whatever the routing protocol knows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TopologyResult {
    /// Mean number of neighbours of a node.
    pub mean_degree: f64,
    /// Fraction of the pairs of nodes that have a path over any number of hops.
    pub pairs_connected: f64,
}

/// Frames on a shared channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AirResult {
    /// All frames, with control frames and retries.
    pub frames: u64,
    /// Frames with a packet or a fragment of one, retries included.
    pub data_frames: u64,
    /// Transmissions of a frame beyond its first.
    pub retries: u64,
    /// Receptions that another frame destroyed, each receiver for itself.
    pub collisions: u64,
    /// Fraction of the run during which at least one node sent.
    pub busy: f64,
}

/// What the routing protocols sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RoutingResult {
    /// Messages, each time a node sent one.
    pub messages: u64,
    /// Bytes of IP in them.
    pub bytes: u64,
}

/// What ARP sent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArpResult {
    /// Requests.
    pub requests: u64,
    /// Replies.
    pub replies: u64,
}

/// The batteries of all nodes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EnergyResult {
    /// Energy at the start, over all nodes.
    pub initial_j: f64,
    /// Energy used.
    pub used_j: f64,
    /// `used_j` per second of the run.
    pub used_w: f64,
    /// `used_j` per megabyte of payload delivered; null without any.
    pub j_per_mb: Option<f64>,
    /// Nodes whose battery is empty.
    pub empty_nodes: u64,
    /// When the first battery was empty; null if none was.
    pub first_empty_s: Option<f64>,
}

/// One node.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct NodeResult {
    /// Its name in the scenario.
    pub name: String,
    /// Data packets that it sent.
    pub sent: u64,
    /// Data packets delivered to it.
    pub delivered: u64,
    /// Their payload.
    pub bytes_delivered: u64,
    /// That payload per second of the interval of `data.throughput_bps`; those of all nodes add up
    /// to it.
    pub throughput_bps: Option<f64>,
    /// Packets that it sent on for other nodes; null if the network does not count them.
    pub forwarded: Option<u64>,
    /// Packets that it lost; null if the network does not count them.
    pub dropped: Option<u64>,
    /// Energy used; null without a battery.
    pub energy_used_j: Option<f64>,
    /// When its battery was empty; null if it was not.
    pub empty_s: Option<f64>,
}
