//! Nodes with packets, and what became of them.

use std::collections::{BTreeMap, VecDeque};

use network::Streams;
use units::{Bytes, Instant, Rate};
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::dcf::{Dcf, DcfConfig};
use wireless::adhoc::mac::{Mac, MacEvent, Outgoing};
use wireless::adhoc::mobility::{Mobility, Position};
use wireless::adhoc::propagation::RadioConfig;
use wireless::{DropCause, NodeId};

/// 1 Mbit/s is 1.
pub fn rates(data: u64, basic: u64, rts: bool) -> DcfConfig {
    DcfConfig {
        data_rate: Rate::from_bits_per_sec(data * 1_000_000),
        basic_rate: Rate::from_bits_per_sec(basic * 1_000_000),
        rts_threshold: if rts { Bytes::ZERO } else { Bytes::new(65_535) },
        ..DcfConfig::DEFAULT
    }
}

/// A radio that senses no farther than it receives: 250 m.
pub fn short_sight() -> RadioConfig {
    RadioConfig {
        sense_threshold: RadioConfig::DEFAULT.receive_threshold,
        ..RadioConfig::DEFAULT
    }
}

/// Places on a line.
pub fn line(metres: &[f64]) -> Vec<Position> {
    metres.iter().map(|x| Position::new(*x, 0.0)).collect()
}

/// A receiver in the middle of senders on a circle of 10 m.
pub fn circle(senders: u32) -> Vec<Position> {
    let turn = std::f64::consts::TAU / f64::from(senders);
    let place = |sender: u32| {
        let angle = turn * f64::from(sender);
        Position::new(10.0 * libm::cos(angle), 10.0 * libm::sin(angle))
    };
    let middle = [Position::new(0.0, 0.0)];
    middle.into_iter().chain((0..senders).map(place)).collect()
}

/// Nodes with 802.11, and traffic.
pub struct Net {
    pub dcf: Dcf,
    /// Senders that never run out of packets: receiver and size.
    saturated: BTreeMap<u32, (Option<NodeId>, u32)>,
    waiting: Vec<VecDeque<Outgoing>>,
    handles: u32,
    /// Every report, in order.
    pub log: Vec<(Instant, MacEvent)>,
}

impl Net {
    pub fn new(config: DcfConfig, places: &[Position]) -> Self {
        Self::with(config, &RadioConfig::DEFAULT, places, None, 1)
    }

    pub fn with(
        config: DcfConfig,
        radio: &RadioConfig,
        places: &[Position],
        energy: Option<&EnergyConfig>,
        seed: u64,
    ) -> Self {
        let mobility = Mobility::fixed(places);
        Self::over(
            Dcf::new(&config, radio, mobility, energy, &Streams::new(seed)),
            places.len(),
        )
    }

    /// A network over a given MAC of `count` nodes.
    pub fn over(dcf: Dcf, count: usize) -> Self {
        Self {
            dcf,
            saturated: BTreeMap::new(),
            waiting: vec![VecDeque::new(); count],
            handles: 0,
            log: Vec::new(),
        }
    }

    /// `node` sends packets of `bytes` without a pause, from the start.
    pub fn saturate(&mut self, node: u32, to: Option<u32>, bytes: u32) {
        let to = to.map(NodeId);
        self.saturated.insert(node, (to, bytes));
        self.offer(Instant::ZERO, node, to, bytes);
    }

    /// `node` queues a packet; the number under which the log has it.
    pub fn offer(&mut self, now: Instant, node: u32, to: Option<NodeId>, bytes: u32) -> u32 {
        let handle = self.handles;
        self.handles += 1;
        self.waiting[node as usize].push_back(Outgoing { to, bytes, handle });
        self.serve(now, NodeId(node));
        handle
    }

    /// Packets that `node` has not put into service.
    pub fn backlog(&self, node: u32) -> usize {
        self.waiting[node as usize].len()
    }

    fn serve(&mut self, now: Instant, node: NodeId) {
        if self.dcf.is_idle(node)
            && let Some(packet) = self.waiting[node.index()].pop_front()
        {
            self.dcf.send(now, node, packet);
        }
    }

    /// Performs the next event unless it is later than `until`; what it reported.
    pub fn step(&mut self, until: Instant) -> Option<Vec<(Instant, MacEvent)>> {
        let now = self.dcf.next_event();
        if now > until || now == Instant::MAX {
            return None;
        }
        let mut events = Vec::new();
        self.dcf.step(&mut events);
        for event in &events {
            if let MacEvent::Sent { node, .. } | MacEvent::Failed { node, .. } = event {
                if let Some((to, bytes)) = self.saturated.get(&node.0).copied() {
                    self.offer(now, node.0, to, bytes);
                }
                self.serve(now, *node);
            }
        }
        let reports: Vec<_> = events.into_iter().map(|event| (now, event)).collect();
        self.log.extend(reports.iter().copied());
        Some(reports)
    }

    pub fn run(&mut self, until: Instant) {
        while self.step(until).is_some() {}
    }

    /// When a packet was received, by node.
    pub fn received(&self, packet: u32) -> Vec<(Instant, u32)> {
        let receivers = self.log.iter().filter_map(|(at, event)| match event {
            MacEvent::Received { node, handle, .. } if *handle == packet => Some((*at, node.0)),
            _ => None,
        });
        receivers.collect()
    }

    /// When a packet was sent.
    pub fn sent(&self, packet: u32) -> Option<Instant> {
        self.log.iter().find_map(|(at, event)| match event {
            MacEvent::Sent { handle, .. } if *handle == packet => Some(*at),
            _ => None,
        })
    }

    /// When and why a packet failed.
    pub fn failed(&self, packet: u32) -> Option<(Instant, DropCause)> {
        self.log.iter().find_map(|(at, event)| match event {
            MacEvent::Failed { handle, cause, .. } if *handle == packet => Some((*at, *cause)),
            _ => None,
        })
    }

    /// Packets that `node` received from `from`.
    pub fn flow(&self, source: u32, sink: u32) -> u64 {
        let count = self.log.iter().filter(|(_, event)| {
            matches!(event, MacEvent::Received { node, from, .. }
                if node.0 == sink && from.0 == source)
        });
        count.count() as u64
    }

    /// Bits of payload that all nodes received, in Mbit/s, with `payload` bytes in each packet.
    pub fn goodput(&self, payload: u64, seconds: u64) -> f64 {
        let bits = self.dcf.counters().received * payload * 8;
        bits as f64 / seconds as f64 / 1e6
    }
}

/// Fails if `value` differs by more than a fraction of `expected`.
#[track_caller]
pub fn close(what: &str, value: f64, expected: f64, fraction: f64) {
    let off = value / expected - 1.0;
    assert!(
        off.abs() <= fraction,
        "{what}: {value}, expected {expected}, {off:+.4} off"
    );
}
