//! The ad-hoc network or constellation of a run.
//!
//! It is one part with one calendar entry. A packet whose next hop is a crossing goes into the
//! cloud; what leaves the cloud goes on along its route like a packet that leaves a link.

use engine::Component;
use measure::{
    AirResult, ArpResult, DataResult, EnergyResult, NetworkResult, NodeResult, PacketResult,
    RoutingResult, TopologyResult,
};
use network::{Packet, Streams};
use rand_core::RngCore;
use scenario::{CloudConfig, Ends, Node, PathModel, Place};
use units::Instant;
use wireless::{Cloud, CloudMap, CloudSummary, Delivery, DropCause, Lost, NodeEnergy, NodeId};

use super::Fabric;
use super::ledger::Ledger;
use crate::agenda::{Agendas, LEFT};
use crate::carried::Carried;

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

impl Fabric<'_> {
    /// Adds the cloud of the scenario, if it has one.
    pub(super) fn add_cloud(&mut self) {
        let Some(config) = &self.path.cloud else {
            return;
        };
        let cloud = config.build(&self.streams);
        self.cloud = Some(Box::new(Crossed {
            ledger: Ledger::new(cloud.node_count()),
            cloud,
            component: Component::default(),
            scheduled: Instant::MAX,
            seen: Instant::ZERO,
        }));
    }

    /// Whether there is a cloud.
    pub const fn has_cloud(&self) -> bool {
        self.cloud.is_some()
    }

    /// Sets the cloud's entry in the calendar, and returns when it acts first.
    pub fn place_cloud(&mut self, component: Component) -> Option<Instant> {
        let crossed = self.cloud.as_deref_mut()?;
        crossed.component = component;
        crossed.scheduled = crossed.cloud.next_event();
        Some(crossed.scheduled).filter(|&at| at < Instant::MAX)
    }

    /// The cloud's entry in the calendar.
    pub fn cloud_component(&self) -> Option<Component> {
        self.cloud.as_deref().map(|crossed| crossed.component)
    }

    /// Updates the cloud's calendar entry if its next event has changed.
    pub fn reschedule_cloud(&mut self, agendas: &mut Agendas) {
        let Some(crossed) = self.cloud.as_deref_mut() else {
            return;
        };
        let next = crossed.cloud.next_event();
        if next != crossed.scheduled {
            crossed.scheduled = next;
            let next = Some(next).filter(|&at| at < Instant::MAX);
            let fixed = &mut agendas[LEFT].fixed;
            fixed.schedule(crossed.component, next);
        }
    }

    /// Passes a packet to the cloud; `number` is that of its crossing.
    pub fn enter_cloud(&mut self, now: Instant, number: u32, packet: Packet<Carried>) {
        let [from, to] = self.routes.crossing_ends(number);
        if let Some(crossed) = self.cloud.as_deref_mut() {
            crossed.ledger.enters(now, from, &packet);
            crossed.cloud.send(now, from, to, packet);
        }
    }

    /// Lets the cloud act until `until`, or until packets leave it or are lost in it.
    pub fn advance_cloud(&mut self, until: Instant) {
        if let Some(crossed) = self.cloud.as_deref_mut() {
            crossed.cloud.advance(until);
        }
    }

    /// The next packet that leaves the cloud, and when.
    pub fn leave_cloud(&mut self) -> Option<(Instant, Packet<Carried>)> {
        let crossed = self.cloud.as_deref_mut()?;
        let Delivery { at, node, packet } = crossed.cloud.pop()?;
        crossed.ledger.leaves(at, node, &packet);
        Some((at, packet))
    }

    /// The next packet that the cloud has lost, and when.
    pub fn take_lost_in_cloud(&mut self) -> Option<(Instant, Packet<Carried>)> {
        let crossed = self.cloud.as_deref_mut()?;
        let Lost { at, packet, .. } = crossed.cloud.take_lost()?;
        crossed.ledger.loses(&packet);
        Some((at, packet))
    }

    /// The cloud has performed all events up to `at`.
    pub fn note_cloud_at(&mut self, at: Instant) {
        if let Some(crossed) = self.cloud.as_deref_mut() {
            crossed.seen = crossed.seen.max(at);
        }
    }

    /// `ends` with the nodes that are drawn at random; `name` is the name of their random stream.
    /// Both nodes differ.
    pub fn drawn(&self, ends: Ends, name: impl FnOnce() -> String) -> Ends {
        if !ends.is_drawn() {
            return ends;
        }
        drawn(self.path, &self.streams, ends, &name())
    }

    /// The result of the cloud.
    pub fn finish_cloud(&mut self, now: Instant) -> Option<NetworkResult> {
        let config = self.path.cloud.as_ref()?;
        let mut crossed = self.cloud.take()?;
        let now = now.max(crossed.seen);
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
