//! The medium: which station sends when.
//!
//! The outcome of a frame is determined at its start. The medium therefore advances from frame to
//! frame as far as a call requires. A direction that is idle, or has to wait for other stations,
//! costs no event.

use alloc::sync::Arc;
use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use super::super::Payload;
use super::channel::Channel;
use super::config::WifiConfig;
use super::phy::Phy;
use super::port::{Port, Times};
use super::stations::{Neighbours, Station};
use crate::aqm::{Managed, Waiting};
use crate::busy::Busy;
use crate::medium::{Medium, Passage, StationConfig};
use crate::random::{Chance, Purpose, numbered};
use crate::{AirCounters, Counters, DropReason, Dropped, Packet, Sent};

/// Calls within this time of each other are frequent.
const OFTEN: Duration = Duration::from_millis(100);

/// The streams of a medium, beside that of its link.
#[derive(Clone, Copy)]
enum Stream {
    Channel,
    Neighbours,
    Hidden,
    /// The second station.
    Backoff,
    Errors = 5,
    /// All later stations, two for each.
    Stations = 16,
}

#[derive(Debug)]
pub(super) struct Air<T> {
    config: Arc<WifiConfig>,
    phy: Phy,
    channel: Channel,
    ports: [Port<T>; 2],
    stations: Vec<Station>,
    neighbours: Option<Neighbours>,
    hidden: Option<(Chance, ChaCha8Rng)>,
    /// The time from which the medium is idle.
    idle: Instant,
    /// The time of the last call.
    looked: Instant,
    counters: AirCounters,
    /// Sending stations with their packets: a buffer that is reused.
    senders: Vec<(usize, u32)>,
}

impl<T> Air<T> {
    /// The medium of `config`. Its streams are derived from that of the first station; the queue
    /// of each station draws from a stream of its own.
    pub(super) fn new(config: &WifiConfig, stations: [StationConfig<'_>; 2]) -> Self {
        let phy = Phy::new(config);
        let rng = stations[0].rng;
        let stream = |number: u32| numbered(rng, Purpose::Medium, number);
        let mut number = 0;
        let ports = stations.map(|StationConfig { link, rng }| {
            let backoff = stream(Stream::Backoff as u32 + number);
            let errors = stream(Stream::Errors as u32 + number);
            number += 1;
            Port::new(config, Managed::before_medium(link, rng), backoff, errors)
        });
        let stations = (0..config.stations).map(|index| {
            let first = Stream::Stations as u32 + 2 * index;
            Station::new(config, &phy, stream(first), stream(first + 1))
        });
        let hidden = (config.hidden > 0.0).then(|| {
            let rng = stream(Stream::Hidden as u32);
            (Chance::new(config.hidden), rng)
        });
        Self {
            channel: Channel::new(config, &phy, stream(Stream::Channel as u32)),
            ports,
            stations: stations.collect(),
            neighbours: Neighbours::new(config, stream(Stream::Neighbours as u32)),
            hidden,
            idle: Instant::ZERO,
            looked: Instant::ZERO,
            counters: AirCounters::default(),
            senders: Vec::new(),
            config: Arc::new(config.clone()),
            phy,
        }
    }

    /// Bits per second of a direction's rate.
    fn rate(&self, port: usize) -> f64 {
        self.phy.bit_rate(self.channel.mcs(port, 0))
    }

    /// When a direction sends next, unless another station does before.
    fn start(&self, port: usize) -> Instant {
        self.ports[port].start(self.idle, &self.phy)
    }

    /// Advances to `now`, or until neither direction has packets; what other stations do then is
    /// computed at the next arrival. For frequent callers, such as the emulator, it is computed at
    /// once, so that the packet that ends an idle time does not wait for it.
    fn advance(&mut self, now: Instant) {
        // A second call at the same instant, even the end of time, only asks for packets in flight.
        let often = now > self.looked && now.saturating_since(self.looked) <= OFTEN;
        self.go_on(now, often);
    }

    /// Advances to `now`, at which a packet arrives.
    fn catch_up(&mut self, now: Instant) {
        self.go_on(now, true);
    }

    fn go_on(&mut self, now: Instant, alone: bool) {
        self.looked = self.looked.max(now);
        while alone || self.ports.iter().any(Port::is_ready) {
            let mut next = self.start(0).min(self.start(1));
            for station in &mut self.stations {
                next = next.min(station.start(self.idle, &self.phy));
            }
            if let Some(neighbours) = &mut self.neighbours {
                let begin = neighbours.next.max(self.idle);
                if begin <= next && begin <= now {
                    let end = begin + neighbours.length;
                    neighbours.step();
                    self.settle(begin);
                    self.freeze(begin, end, [true; 2]);
                    self.idle = end;
                    continue;
                }
            }
            if next > now {
                self.settle(now);
                return;
            }
            self.settle(next);
            self.transmit(next);
        }
        self.settle(now);
    }

    /// Ends the frames that have ended by `now`.
    fn settle(&mut self, now: Instant) {
        for index in 0..2 {
            let rate = self.rate(index);
            self.ports[index].settle(now, rate);
        }
    }

    /// Stations that do not send see the medium busy from `at` to `end`. (Stations that send have
    /// stopped counting.)
    fn freeze(&mut self, at: Instant, end: Instant, ports: [bool; 2]) {
        for (port, waits) in self.ports.iter_mut().zip(ports) {
            if waits {
                port.contender.freeze(self.idle, at, &self.phy);
            }
        }
        let mut senders = self.senders.iter().peekable();
        for (index, station) in self.stations.iter_mut().enumerate() {
            if senders.next_if(|sender| sender.0 == index).is_none() {
                station.freeze(self.idle, at, end, &self.phy);
            }
        }
    }

    /// All stations whose turn it is at `at` send.
    fn transmit(&mut self, at: Instant) {
        self.channel.advance(at, &self.config, &self.phy);
        let phy = &self.phy;
        let mut longest = Duration::ZERO;
        let mut frames = [None; 2];
        for (index, port) in self.ports.iter_mut().enumerate() {
            if port.start(self.idle, phy) == at {
                let mcs = self.channel.mcs(index, port.contender.failures());
                frames[index] = port.assemble(at, mcs, phy);
            }
            if let Some((_, span)) = frames[index] {
                longest = longest.max(span);
            }
        }
        self.senders.clear();
        let mut answer = phy.answer(1);
        for (index, station) in self.stations.iter_mut().enumerate() {
            if station.start(self.idle, phy) == at {
                let packets = station.packets(at);
                longest = longest.max(station.frame_time(packets, phy));
                answer = phy.answer(packets as usize);
                self.senders.push((index, packets));
            }
        }
        let count = frames.iter().flatten().count() + self.senders.len();
        if count == 0 {
            // A discipline has dropped all packets.
            return;
        }
        let alone = count == 1;
        self.counters.frames += count as u64;
        if !alone {
            self.counters.collisions += count as u64;
        }
        let unanswered = at + longest + phy.no_answer();
        let mut end = unanswered;
        let waits = frames.map(|frame| frame.is_none());
        for (index, frame) in frames.into_iter().enumerate() {
            let Some((packets, span)) = frame else {
                continue;
            };
            let mut arrives = alone;
            if let (true, Some((chance, rng))) = (alone, &mut self.hidden) {
                arrives = !chance.draw(rng);
            }
            let mcs = self
                .channel
                .mcs(index, self.ports[index].contender.failures());
            let loss = arrives.then(|| self.phy.loss(mcs, self.phy.snr(self.channel.rssi())));
            let times = Times {
                begin: at,
                through: at + span,
                answered: at + span + self.phy.answer(packets),
                unanswered,
            };
            end = self.ports[index].send(times, loss);
        }
        if alone && !self.senders.is_empty() {
            end = at + longest + answer;
        }
        self.freeze(at, end, waits);
        for &(index, packets) in &self.senders {
            self.stations[index].sent(alone, packets, end);
        }
        self.senders.clear();
        self.idle = end;
    }
}

impl<T: Payload> Medium<T> for Air<T> {
    fn push(
        &mut self,
        station: usize,
        now: Instant,
        packet: Packet<T>,
        bytes: u64,
    ) -> Result<(), DropReason> {
        self.catch_up(now);
        let rate = self.rate(station);
        let waiting = Waiting {
            at: now,
            bytes,
            packet,
        };
        self.ports[station].push(waiting, self.idle, rate)
    }

    fn pop(&mut self, station: usize, now: Instant) -> Option<Passage<T>> {
        self.advance(now);
        self.ports[station].out.pop_front()
    }

    fn next_event(&self, station: usize) -> Instant {
        let start = self.start(station);
        let out = self.ports[station].out.front();
        out.map_or(start, |out| start.min(out.at))
    }

    /// Without the packets in the driver.
    fn queue_len(&self, station: usize) -> (u64, Bytes) {
        self.ports[station].queue.len()
    }

    fn queue_max_packets(&self, station: usize) -> u64 {
        self.ports[station].queue.max_packets()
    }

    fn queue_mean_packets(&mut self, station: usize, now: Instant) -> f64 {
        self.ports[station].queue.mean_packets(now)
    }

    fn held(&self, station: usize) -> u64 {
        self.ports[station].held()
    }

    fn count(&self, station: usize, counters: &mut Counters) {
        let port = &self.ports[station];
        port.queue.fate.count(counters);
        counters.drops_loss += port.lost;
    }

    fn has_dropped(&self, station: usize) -> bool {
        !self.ports[station].queue.fate.dropped.is_empty()
    }

    fn take_dropped(&mut self, station: usize) -> Option<Dropped<T>> {
        self.ports[station].queue.fate.dropped.pop_front()
    }

    fn keep_sent(&mut self, station: usize) {
        self.ports[station].sent.get_or_insert_default();
    }

    fn take_sent(&mut self, station: usize) -> Option<Sent> {
        self.ports[station].sent.as_mut()?.pop_front()
    }

    fn busy(&self, station: usize) -> &Busy {
        &self.ports[station].busy
    }

    fn busy_mut(&mut self, station: usize) -> &mut Busy {
        &mut self.ports[station].busy
    }

    fn air(&self) -> AirCounters {
        self.counters
    }
}
