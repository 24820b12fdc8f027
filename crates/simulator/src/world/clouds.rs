//! The ad-hoc network or constellation of a run.
//!
//! It is one part with one calendar entry. A packet whose next hop is a crossing goes into the cloud;
//! what leaves the cloud goes on along its route like a packet that leaves a link.

use engine::Component;
use measure::{
    AirResult, ArpResult, DataResult, EnergyResult, NetworkResult, NodeResult, PacketResult,
    RoutingResult, TopologyResult,
};
use network::{Packet, Payload, Streams};
use rand_core::RngCore;
use scenario::{CloudConfig, Ends, Node, PathModel, Place};
use units::{Duration, Instant};
use wireless::{Cloud, CloudMap, CloudSummary, Delivery, DropCause, Lost, NodeEnergy, NodeId};

use super::World;
use crate::agenda::{LEFT, Part, Side};
use crate::carried::Carried;
use crate::ledger::Ledger;

/// How far the cloud goes at once, before the loop looks whether the run was cancelled.
const MOST_AT_ONCE: Duration = Duration::from_millis(100);

/// The cloud, and what is counted at its border.
#[derive(Debug)]
pub(super) struct Crossed {
    pub cloud: Box<dyn Cloud<Carried>>,
    pub ledger: Ledger,
    component: Component,
    /// The time of its calendar entry.
    scheduled: Instant,
    /// It has performed all events up to this.
    pub seen: Instant,
}

impl World<'_> {
    /// Adds the cloud of the scenario, if it has one.
    pub(super) fn add_cloud(&mut self) {
        let Some(config) = &self.scenario.path.cloud else {
            return;
        };
        let cloud = config.build(&self.streams);
        self.parts.push(Part::Cloud);
        self.cloud = Some(Box::new(Crossed {
            ledger: Ledger::new(cloud.node_count()),
            cloud,
            component: Component::default(),
            scheduled: Instant::MAX,
            seen: Instant::ZERO,
        }));
    }

    /// Sets its entry in the calendar, and returns when it acts first.
    pub(super) fn place_cloud(&mut self, component: Component) -> Option<Instant> {
        let crossed = self.cloud.as_deref_mut()?;
        crossed.component = component;
        crossed.scheduled = crossed.cloud.next_event();
        Some(crossed.scheduled).filter(|&at| at < Instant::MAX)
    }

    fn reschedule_cloud(&mut self) {
        let Some(crossed) = self.cloud.as_deref_mut() else {
            return;
        };
        let next = crossed.cloud.next_event();
        if next != crossed.scheduled {
            crossed.scheduled = next;
            let next = Some(next).filter(|&at| at < Instant::MAX);
            let fixed = &mut self.agendas[LEFT].fixed;
            fixed.schedule(crossed.component, next);
        }
    }

    /// Passes a packet to the cloud; `number` is that of its crossing. False: no device of the sender
    /// holds it.
    #[cold]
    #[inline(never)]
    pub(super) fn cross(&mut self, number: u32, packet: Packet<Carried>) -> bool {
        let now = self.now;
        let [from, to] = self.routes.crossing_ends(number);
        if let Some(crossed) = self.cloud.as_deref_mut() {
            crossed.ledger.enters(now, from, &packet);
            crossed.cloud.send(now, from, to, packet);
        }
        self.note_lost_in_cloud();
        self.reschedule_cloud();
        false
    }

    /// Passes `count` packets to the cloud that differ only in their sequence numbers; `packet` is the
    /// first.
    #[cold]
    #[inline(never)]
    pub(super) fn cross_one_by_one(&mut self, number: u32, packet: Packet<Carried>, count: u32) {
        for k in 0..count {
            let payload = packet.payload.following(k);
            self.cross(number, Packet { payload, ..packet });
        }
    }

    /// Lets the cloud act until packets leave it or are lost in it, but not past the next event of any
    /// other part of the run or `bound`.
    #[inline(never)]
    pub(super) fn cloud_acts(&mut self, side: Side, bound: Instant) {
        let Some(crossed) = self.cloud.as_deref_mut() else {
            return;
        };
        let mut until = self.now;
        if !self.is_plain {
            let other = self.agendas[side].soonest_other(crossed.component);
            let before = other.min(bound).min(self.now + MOST_AT_ONCE);
            until = until.max(Instant::from_nanos(before.as_nanos().saturating_sub(1)));
        }
        crossed.cloud.advance(until);
        let mut seen = until;
        while let Some(delivery) = self
            .cloud
            .as_deref_mut()
            .and_then(|crossed| crossed.cloud.pop())
        {
            let Delivery { at, node, packet } = delivery;
            self.now = self.now.max(at);
            seen = self.now;
            if let Some(crossed) = self.cloud.as_deref_mut() {
                crossed.ledger.leaves(at, node, &packet);
            }
            self.arrive(&packet);
        }
        if let Some(at) = self.note_lost_in_cloud() {
            self.now = self.now.max(at);
            seen = self.now;
        }
        if let Some(crossed) = self.cloud.as_deref_mut() {
            crossed.seen = crossed.seen.max(seen);
        }
        self.reschedule_cloud();
    }

    /// Records what the cloud has lost; returns the time of the last loss.
    fn note_lost_in_cloud(&mut self) -> Option<Instant> {
        let mut last = None;
        while let Some(crossed) = self.cloud.as_deref_mut()
            && let Some(lost) = crossed.cloud.take_lost()
        {
            let Lost { at, packet, .. } = lost;
            crossed.ledger.loses(&packet);
            last = Some(at);
            self.note_drop(at, packet);
        }
        last
    }

    /// `ends` with the nodes that are drawn at random; `name` is the name of their random stream. Both
    /// nodes differ.
    pub(super) fn drawn(&self, ends: Ends, name: impl FnOnce() -> String) -> Ends {
        if !ends.is_drawn() {
            return ends;
        }
        drawn(&self.scenario.path, &self.streams, ends, &name())
    }

    /// The result of the cloud.
    pub(super) fn finish_cloud(&mut self) -> Option<NetworkResult> {
        let config = self.scenario.path.cloud.as_ref()?;
        let mut crossed = self.cloud.take()?;
        let now = self.now.max(crossed.seen);
        let summary = crossed.cloud.summary(now);
        let map = crossed.cloud.map(now);
        let ledger = &crossed.ledger;
        let packets = &summary.packets;
        assert!(
            packets.conserve(summary.held)
                && ledger.entered == packets.offered
                && ledger.left == packets.delivered
                && ledger.lost == packets.dropped(),
            "a cloud's packet counters do not balance"
        );
        let seconds = now.as_secs_f64();
        Some(NetworkResult {
            kind: config.kind().to_owned(),
            packets: PacketResult {
                offered: packets.offered,
                delivered: packets.delivered,
                dropped: packets.dropped(),
                inside: summary.held,
                drops: DropCause::ALL
                    .iter()
                    .map(|&cause| (cause.name().to_owned(), packets.dropped_by(cause)))
                    .filter(|(_, drops)| *drops > 0)
                    .collect(),
            },
            data: data(ledger),
            air: summary.air.map(|air| AirResult {
                frames: air.frames,
                data_frames: air.data_frames,
                retries: air.retries,
                collisions: air.collisions,
                busy: ratio(air.busy.as_secs_f64(), seconds).unwrap_or(0.0),
            }),
            routing: summary.routing.map(|routing| RoutingResult {
                messages: routing.messages,
                bytes: routing.bytes,
            }),
            arp: summary.arp.map(|arp| ArpResult {
                requests: arp.requests,
                replies: arp.replies,
            }),
            energy: energy(&summary, seconds, ledger.bytes()),
            topology: matches!(config, CloudConfig::AdHoc(_)).then(|| topology(&map)),
            nodes: nodes(config, ledger, &summary),
        })
    }
}

/// `ends` with the nodes that are drawn at random from the stream `name`. Both nodes differ.
pub fn drawn(path: &PathModel, streams: &Streams, ends: Ends, name: &str) -> Ends {
    let nodes: Vec<Node> = path.cloud_nodes().collect();
    let mut random = streams.stream(name);
    let mut draw = |other: Option<Place>| {
        let others = nodes
            .iter()
            .filter(|node| other != Some(Place::Node(**node)));
        let count = others.clone().count() as u128;
        let place = (u128::from(random.next_u64()) * count) >> 64;
        let node = others.clone().nth(place as usize);
        node.map(|&node| Place::Node(node))
    };
    let Ends { mut from, mut to } = ends;
    if from == Some(Place::Any) {
        from = draw(to);
    }
    if to == Some(Place::Any) {
        to = draw(from);
    }
    Ends { from, to }
}

fn ratio(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

fn data(ledger: &Ledger) -> DataResult {
    let bytes = ledger.bytes();
    DataResult {
        sent: ledger.sent,
        copies: ledger.copies,
        delivered: ledger.delivered,
        bytes_delivered: bytes,
        dropped: ledger.lost_copies,
        packets_hit: ledger.hit,
        delivery_ratio: ratio(ledger.delivered as f64, ledger.sent as f64),
        drop_ratio: ratio(ledger.lost_copies as f64, ledger.copies as f64),
        throughput_bps: ratio(bytes as f64 * 8.0, ledger.span().as_secs_f64()),
        delay_mean_ms: ledger.delay_mean().map(|delay| delay.as_secs_f64() * 1e3),
    }
}

/// The batteries of all nodes after a run of `seconds`.
fn energy(summary: &CloudSummary, seconds: f64, bytes: u64) -> Option<EnergyResult> {
    let batteries = || summary.nodes.iter().filter_map(|node| node.energy);
    batteries().next()?;
    let sum = |of: fn(&NodeEnergy) -> f64| batteries().map(|battery| of(&battery)).sum::<f64>();
    let used_j = sum(|battery| battery.used_j);
    let empty = || batteries().filter_map(|battery| battery.empty_at);
    Some(EnergyResult {
        initial_j: sum(|battery| battery.initial_j),
        used_j,
        used_w: ratio(used_j, seconds).unwrap_or(0.0),
        j_per_mb: ratio(used_j, bytes as f64 / 1e6),
        empty_nodes: empty().count() as u64,
        first_empty_s: empty().min().map(Instant::as_secs_f64),
    })
}

/// What the links of a map connect.
fn topology(map: &CloudMap) -> TopologyResult {
    let count = map.points.len();
    let mut component: Vec<usize> = (0..count).collect();
    for link in &map.links {
        let [kept, joined] = link.ends.map(|end| component[end as usize]);
        if kept != joined {
            for each in component.iter_mut().filter(|each| **each == joined) {
                *each = kept;
            }
        }
    }
    let mut sizes = vec![0_usize; count];
    for each in &component {
        sizes[*each] += 1;
    }
    let pairs: usize = sizes.iter().map(|size| size * size.saturating_sub(1)).sum();
    let all = (count * count.saturating_sub(1)) as f64;
    TopologyResult {
        mean_degree: ratio(2.0 * map.links.len() as f64, count as f64).unwrap_or(0.0),
        pairs_connected: ratio(pairs as f64, all).unwrap_or(1.0),
    }
}

fn nodes(config: &CloudConfig, ledger: &Ledger, summary: &CloudSummary) -> Vec<NodeResult> {
    let span = ledger.span().as_secs_f64();
    (0..)
        .zip(&ledger.nodes)
        .map(|(number, count)| {
            let own = summary.nodes.get(number as usize);
            let energy = own.and_then(|node| node.energy);
            NodeResult {
                name: config.node_name(NodeId(number)).into_owned(),
                sent: count.sent,
                delivered: count.delivered,
                bytes_delivered: count.bytes,
                throughput_bps: ratio(count.bytes as f64 * 8.0, span),
                forwarded: own.map(|node| node.forwarded),
                dropped: own.map(|node| node.dropped),
                energy_used_j: energy.map(|energy| energy.used_j),
                empty_s: energy
                    .and_then(|energy| energy.empty_at)
                    .map(Instant::as_secs_f64),
            }
        })
        .collect()
}
