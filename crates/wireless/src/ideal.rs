//! A cloud without radios: every node reaches every other one.
//!
//! Each node has one transmitter of a fixed rate behind a drop-tail queue; a packet that it has sent
//! arrives one delay later. Nothing is shared between nodes and nothing is lost but packets that meet
//! a full queue. It shows what a radio network adds, and stands in for one in tests.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;

use network::{Packet, Payload};
use tables::{Key, Kind, Rules, described};
use units::{Bytes, Duration, Instant, Rate};

use crate::{Cloud, CloudCounters, CloudMap, Delivery, DropCause, Lost, MAX_NODES, NodeId};

described! {
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct IdealConfig(
        "ideal",
        "[network]",
        "A network without radios, in which every node reaches every other one."
    ) {
        /// Number of nodes.
        nodes: u32 = 2 => Key::of(Kind::Integer(1, MAX_NODES)).needed("10");
        /// Rate at which each node sends.
        rate: Rate = Rate::from_bits_per_sec(2_000_000) => Key::of(Kind::RATE);
        /// One-way delay between any two nodes.
        delay: Duration = Duration::from_millis(1) => Key::of(Kind::DELAY);
        /// Packets that wait in front of each transmitter, beside the one in service.
        queue: f64 = 50.0 => Key::of(Kind::Packets).resolved("queue_packets");
    }
}

impl Rules for IdealConfig {}

/// See the module.
#[derive(Debug)]
pub struct Ideal<T> {
    config: IdealConfig,
    /// When each packet at a node has been sent, of those that have not.
    nodes: Vec<VecDeque<Instant>>,
    /// What is in service or under way, by its arrival and its number.
    under_way: BTreeMap<(Instant, u64), Delivery<T>>,
    offers: u64,
    arrived: VecDeque<Delivery<T>>,
    lost: VecDeque<Lost<T>>,
    counters: CloudCounters,
}

impl<T: Payload> Ideal<T> {
    /// A cloud in which nothing is under way.
    #[must_use]
    pub fn new(config: &IdealConfig) -> Self {
        Self {
            nodes: vec![VecDeque::new(); config.nodes as usize],
            config: config.clone(),
            under_way: BTreeMap::new(),
            offers: 0,
            arrived: VecDeque::new(),
            lost: VecDeque::new(),
            counters: CloudCounters::default(),
        }
    }

    fn carry(&mut self, at: Instant, node: NodeId, packet: Packet<T>) {
        let delivery = Delivery { at, node, packet };
        self.under_way.insert((at, self.offers), delivery);
    }
}

impl<T: Payload> Cloud<T> for Ideal<T> {
    fn node_count(&self) -> usize {
        self.nodes.len()
    }

    fn send(&mut self, now: Instant, from: NodeId, to: NodeId, packet: Packet<T>) {
        self.offers += 1;
        self.counters.offered += 1;
        if from == to {
            return self.carry(now, to, packet);
        }
        let waiting = &mut self.nodes[from.index()];
        while waiting.front().is_some_and(|&sent| sent <= now) {
            waiting.pop_front();
        }
        if waiting.len() as f64 > self.config.queue {
            self.counters.count_drop(DropCause::QueueFull);
            self.lost.push_back(Lost {
                at: now,
                node: from,
                cause: DropCause::QueueFull,
                packet,
            });
            return;
        }
        let starts = waiting.back().copied().unwrap_or(now);
        let size = Bytes::new(u64::from(packet.size));
        let sent = starts + self.config.rate.time_for(size);
        waiting.push_back(sent);
        self.carry(sent + self.config.delay, to, packet);
    }

    fn next_event(&self) -> Instant {
        let first = self.under_way.first_key_value();
        first.map_or(Instant::MAX, |((at, _), _)| *at)
    }

    fn advance(&mut self, now: Instant) {
        let first = self.next_event();
        while let Some(entry) = self.under_way.first_entry()
            && entry.key().0 == first
            && first <= now
        {
            self.counters.delivered += 1;
            self.arrived.push_back(entry.remove());
        }
    }

    fn pop(&mut self) -> Option<Delivery<T>> {
        self.arrived.pop_front()
    }

    fn take_lost(&mut self) -> Option<Lost<T>> {
        self.lost.pop_front()
    }

    fn held(&self) -> u64 {
        self.under_way.len() as u64
    }

    fn counters(&self) -> &CloudCounters {
        &self.counters
    }

    /// The nodes stand on a circle, and no links are drawn.
    fn map(&mut self, _now: Instant) -> CloudMap {
        let count = self.nodes.len() as f64;
        let point = |node: usize| {
            let angle = core::f64::consts::TAU * node as f64 / count;
            [libm::cos(angle), libm::sin(angle)]
        };
        CloudMap {
            points: (0..self.nodes.len()).map(point).collect(),
            links: Vec::new(),
        }
    }

    fn route(&mut self, _now: Instant, from: NodeId, to: NodeId) -> Option<Vec<u32>> {
        Some(vec![from.0, to.0])
    }
}

#[cfg(test)]
mod tests {
    use network::Ecn;

    use super::*;

    fn packet(size: u32) -> Packet<()> {
        Packet {
            size,
            flow: 0,
            ecn: Ecn::NotEct,
            payload: (),
        }
    }

    /// 1000 bytes take 4 ms at 2 Mbit/s; the queue takes as many as it may.
    #[test]
    fn packets_follow_each_other_until_the_queue_is_full() {
        let config = IdealConfig {
            nodes: 3,
            queue: 2.0,
            ..IdealConfig::DEFAULT
        };
        let mut cloud = Ideal::new(&config);
        for _ in 0..4 {
            cloud.send(Instant::ZERO, NodeId(0), NodeId(2), packet(1000));
        }
        cloud.send(Instant::ZERO, NodeId(1), NodeId(2), packet(500));
        assert_eq!((cloud.held(), cloud.counters().dropped()), (4, 1));
        assert_eq!(
            cloud.take_lost().map(|lost| lost.cause),
            Some(DropCause::QueueFull)
        );
        let mut times = Vec::new();
        while cloud.next_event() != Instant::MAX {
            cloud.advance(Instant::MAX);
            times.extend(core::iter::from_fn(|| cloud.pop()).map(|it| it.at));
        }
        assert_eq!(times, [3, 5, 9, 13].map(Instant::from_millis));
        assert!(cloud.counters().conserve(cloud.held()));
    }
}
