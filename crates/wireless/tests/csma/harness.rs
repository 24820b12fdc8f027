//! Networks of the tests, and a clock for them.

use network::Streams;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore as _;
use units::{Duration, Instant};
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::csma::{Csma, CsmaConfig};
use wireless::adhoc::mac::{Mac, MacEvent, Outgoing};
use wireless::adhoc::mobility::{Mobility, Position};
use wireless::adhoc::propagation::RadioConfig;
use wireless::{DropCause, NodeId};

/// The default radio, of which any overlap destroys both frames.
pub fn no_capture() -> RadioConfig {
    RadioConfig {
        capture: 100.0,
        ..CsmaConfig::radio()
    }
}

/// A receiver, and `senders` nodes on a circle of 5 m around it.
pub fn star(senders: usize) -> Vec<Position> {
    let place = |sender: usize| {
        let angle = core::f64::consts::TAU * sender as f64 / senders as f64;
        Position::new(5.0 * angle.cos(), 5.0 * angle.sin())
    };
    let mut nodes = vec![Position::new(0.0, 0.0)];
    nodes.extend((0..senders).map(place));
    nodes
}

/// What nodes reported.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tally {
    /// Each receiver of a broadcast counts.
    pub received: u64,
    pub sent: u64,
    pub failed: u64,
    pub causes: Vec<(DropCause, u64)>,
}

impl Tally {
    pub fn of(&self, cause: DropCause) -> u64 {
        let found = self.causes.iter().find(|(other, _)| *other == cause);
        found.map_or(0, |(_, count)| *count)
    }

    fn take(&mut self, event: &MacEvent) {
        match event {
            MacEvent::Received { .. } => self.received += 1,
            MacEvent::Sent { .. } => self.sent += 1,
            MacEvent::Failed { cause, .. } => {
                self.failed += 1;
                match self.causes.iter_mut().find(|(other, _)| other == cause) {
                    Some((_, count)) => *count += 1,
                    None => self.causes.push((*cause, 1)),
                }
            }
        }
    }
}

/// A network with the source of its packets.
pub struct Net {
    pub mac: Csma,
    pub tally: Tally,
    pub log: Vec<(Instant, MacEvent)>,
    events: Vec<MacEvent>,
    starts: ChaCha8Rng,
}

impl Net {
    pub fn new(config: &CsmaConfig, radio: &RadioConfig, places: &[Position], seed: u64) -> Self {
        Self::with_energy(config, radio, places, seed, None)
    }

    pub fn with_energy(
        config: &CsmaConfig,
        radio: &RadioConfig,
        places: &[Position],
        seed: u64,
        energy: Option<&EnergyConfig>,
    ) -> Self {
        let mobility = Mobility::fixed(places);
        Self {
            mac: Csma::new(config, radio, mobility, energy, &Streams::new(seed)),
            tally: Tally::default(),
            log: Vec::new(),
            events: Vec::new(),
            starts: Streams::new(seed).stream("starts"),
        }
    }

    pub fn send(&mut self, at: Instant, from: u32, to: Option<u32>, bytes: u32, handle: u32) {
        let frame = Outgoing {
            to: to.map(NodeId),
            bytes,
            handle,
        };
        assert!(self.mac.is_idle(NodeId(from)));
        self.mac.send(at, NodeId(from), frame);
    }

    /// Performs events up to `end`; `next` may send.
    pub fn run(&mut self, end: Instant, mut next: impl FnMut(&mut Csma, Instant, &MacEvent)) {
        while self.mac.next_event() <= end {
            let now = self.mac.next_event();
            self.mac.step(&mut self.events);
            for event in std::mem::take(&mut self.events) {
                self.tally.take(&event);
                self.log.push((now, event));
                next(&mut self.mac, now, &event);
            }
        }
    }

    /// Performs all events.
    pub fn finish(&mut self) {
        self.run(Instant::from_nanos(u64::MAX - 1), |_, _, _| {});
        assert_eq!(self.mac.next_event(), Instant::MAX);
    }

    /// Nodes from 1 on send packets of `bytes` to node 0 without a pause, for `span`. They start at
    /// different times within 10 ms.
    pub fn saturate(&mut self, senders: u32, bytes: u32, span: Duration) {
        self.saturate_to(senders, |_| Some(0), bytes, span);
    }

    pub fn saturate_to(
        &mut self,
        senders: u32,
        to: impl Fn(u32) -> Option<u32>,
        bytes: u32,
        span: Duration,
    ) {
        let frame = |node: u32, handle| Outgoing {
            to: to(node).map(NodeId),
            bytes,
            handle,
        };
        let end = Instant::ZERO + span;
        let mut starts: Vec<_> = (1..=senders)
            .map(|node| {
                (
                    Instant::from_nanos(self.starts.next_u64() % 10_000_000),
                    node,
                )
            })
            .collect();
        starts.sort_unstable();
        let mut handle = 0;
        for (start, node) in starts {
            self.run(start, |mac, now, event| {
                again(mac, now, event, &frame, &mut handle);
            });
            self.mac.send(start, NodeId(node), frame(node, handle));
            handle += 1;
        }
        self.run(end, |mac, now, event| {
            again(mac, now, event, &frame, &mut handle)
        });
    }
}

fn again(
    mac: &mut Csma,
    now: Instant,
    event: &MacEvent,
    frame: &impl Fn(u32, u32) -> Outgoing,
    handle: &mut u32,
) {
    if let MacEvent::Sent { node, .. } | MacEvent::Failed { node, .. } = event {
        mac.send(now, *node, frame(node.0, *handle));
        *handle += 1;
    }
}
