//! 802.11 with the distributed coordination function (DCF) over the direct-sequence physical layer.
//!
//! A node with a frame waits until the medium has been idle for DIFS and then counts down a backoff
//! in idle slots. It sends RTS, the receiver answers CTS, and DATA and ACK follow, SIFS apart;
//! frames up to a threshold go without RTS and CTS. Other nodes that decode any of these frames
//! defer for the time that it reserves (NAV), and nodes that sense a frame with errors defer for
//! EIFS. A missing CTS or ACK doubles the contention window. After the retry limit the packet is
//! dropped. After each packet, sent or dropped, the node counts down another backoff before the
//! next one. Broadcast frames go once, without RTS and ACK, at the basic rate.
//!
//! Sources: IEEE 802.11-2016, clause 10.3 (DCF) and clause 16 (DSSS and HR/DSSS). Defaults from the
//! ns-2 manual (Fall and Varadhan, 2011, chapter 16): 2 Mbit/s for all frames, RTS for every
//! unicast frame, and data headers with four addresses.
//!
//! ## Assumptions
//!
//! - Carrier sense takes no time: only a frame that arrives after the end of a backoff collides.
//!   Nodes that a frame reaches at different times still count the same slots.
//! - Nodes turn between receiving and transmitting in no time.
//! - There is no fragmentation, no power saving, no rate adaptation and no RTS to a group.
//!
//! ## Deviations
//!
//! - A frame without errors does not end an EIFS (10.3.2.3.7 lets it).
//! - The NAV of an RTS whose data frame does not follow is not reset (10.3.2.4 allows it).
//! - A receiver suppresses a duplicate by the sender's own state. With sequence numbers it reaches
//!   the same result.
//!
//! # How it saves events
//!
//! The backoff of a node is part of what the air keeps at its radio, and is worked out from the
//! frames that arrived. A node that contends looks at its backoff at a time before which that
//! cannot end. If frames delayed the backoff, the node looks again at the new time; the frames
//! themselves cost nothing here.

use alloc::collections::BinaryHeap;
use alloc::format;
use alloc::vec::Vec;
use core::cmp::Reverse;

use network::Streams;
use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::timers::Timers;
use super::{Mac, MacEvent, Outgoing};
use crate::adhoc::air::{Air, AirCounters, Frame, Transmission};
use crate::adhoc::energy::{EnergyConfig, EnergyReport};
use crate::adhoc::mobility::Mobility;
use crate::adhoc::propagation::{self, RadioConfig};
use crate::adhoc::radios::Radios;
use crate::random::below;
use crate::{DropCause, NodeId};

mod config;
mod contention;
mod station;

pub use config::{ACK_BYTES, CTS_BYTES, DATA_OVERHEAD, DcfConfig, Preamble, RTS_BYTES};
pub use station::DcfCounters;

use config::{DIFS, EIFS, SIFS, SLOT};
use contention::Contention;
use station::{Event, Kind, Phase, Station, What};

/// The ranks of timers that come behind all events of their instant.
const LAST: u64 = 1 << 63;

/// 802.11 at all nodes of a network, with their radios.
#[derive(Debug)]
pub struct Dcf {
    config: DcfConfig,
    rts_time: Duration,
    cts_time: Duration,
    ack_time: Duration,
    /// From the end of a frame until its response has begun to arrive.
    patience: Duration,
    air: Air<Contention>,
    stations: Vec<Station>,
    /// What they draw their backoffs from.
    rngs: Vec<ChaCha8Rng>,
    events: BinaryHeap<Reverse<Event>>,
    scheduled: u64,
    /// Of each node: when its backoff may have ended, no earlier, or when the response that it awaits
    /// is missing.
    timers: Timers,
    counters: DcfCounters,
}

impl Dcf {
    /// 802.11 between radios at the positions of `mobility`. Each node draws its backoffs from the
    /// stream `"backoff N"`.
    #[must_use]
    pub fn new(
        config: &DcfConfig,
        radio: &RadioConfig,
        mobility: Mobility,
        energy: Option<&EnergyConfig>,
        streams: &Streams,
    ) -> Self {
        let mut air: Air<Contention> = Air::new(radio, mobility, energy, streams);
        let count = air.node_count() as u32;
        if config.eifs {
            let penalty = EIFS.saturating_sub(DIFS);
            (0..count).for_each(|node| {
                air.listener(Instant::ZERO, NodeId(node))
                    .set_penalty(penalty);
            });
        }
        let rng = |node| streams.stream(&format!("backoff {node}"));
        // A slot includes the propagation of a usual range.
        let farthest = propagation::delay(air.propagation().range()).as_nanos();
        let propagation = SLOT.max(Duration::from_nanos(2 * farthest));
        Self {
            config: *config,
            rts_time: config.rts_time(),
            cts_time: config.cts_time(),
            ack_time: config.ack_time(),
            patience: SIFS + propagation + config.preamble_time(),
            air,
            stations: (0..count).map(|_| Station::new(config.cw_min)).collect(),
            rngs: (0..count).map(rng).collect(),
            events: BinaryHeap::new(),
            scheduled: 0,
            timers: Timers::new(count as usize),
            counters: DcfCounters::default(),
        }
    }

    /// What the nodes have sent and received.
    #[must_use]
    pub const fn counters(&self) -> &DcfCounters {
        &self.counters
    }

    /// What became of all frames at all nodes in range, up to `now`.
    pub fn air_counters(&mut self, now: Instant) -> &AirCounters {
        self.air.settle(now);
        self.air.counters()
    }

    /// What `node` has used; `None` if energy is not accounted for.
    pub fn energy(&mut self, now: Instant, node: NodeId) -> Option<EnergyReport> {
        self.air.energy(now, node)
    }

    fn station(&mut self, node: NodeId) -> &mut Station {
        &mut self.stations[node.index()]
    }

    fn schedule(&mut self, at: Instant, node: NodeId, what: What) {
        let order = self.scheduled;
        self.scheduled += 1;
        self.events.push(Reverse(Event {
            at,
            order,
            node,
            what,
        }));
    }

    /// Lets `node` look at its backoff at `at`. Other events of that instant come first.
    fn look(&mut self, node: NodeId, at: Instant) {
        self.timers.set(node.0, at, LAST | u64::from(node.0));
    }

    /// Lets `node` await a response until `at`.
    fn await_until(&mut self, node: NodeId, at: Instant) {
        self.timers.set(node.0, at, self.scheduled);
        self.scheduled += 1;
    }

    /// Begins a backoff.
    fn draw(&mut self, now: Instant, node: NodeId) {
        let window = self.station(node).window;
        let slots = below(&mut self.rngs[node.index()], u64::from(window) + 1) as u32;
        self.air.listener(now, node).begin(now, slots);
    }

    /// The timer of `node` is due.
    fn timer(&mut self, now: Instant, node: NodeId, events: &mut Vec<MacEvent>) {
        match self.station(node).phase {
            Phase::Contend => match self.backoff_ends(now, node).filter(|end| *end > now) {
                Some(end) => self.look(node, end),
                None => self.start(now, node, events),
            },
            Phase::AwaitCts | Phase::AwaitAck => self.timeout(now, node, events),
            Phase::Idle | Phase::Sending => self.timers.stop(node.0),
        }
    }

    /// When the backoff of `node` ends if no further frame arrives.
    fn backoff_ends(&mut self, now: Instant, node: NodeId) -> Option<Instant> {
        let (idle, contention) = self.air.medium(now, node);
        contention.ends(idle)
    }

    /// Contends for the medium, from now on or with the backoff that counts already.
    fn contend(&mut self, now: Instant, node: NodeId) {
        self.station(node).phase = Phase::Contend;
        if let Some(end) = self.backoff_ends(now, node) {
            self.look(node, end.max(now));
        }
    }

    /// Sends the frame in service, or the RTS that precedes it.
    fn start(&mut self, now: Instant, node: NodeId, events: &mut Vec<MacEvent>) {
        self.air.listener(now, node).stop();
        let frame = self.station(node).frame;
        let Some(to) = frame.to else {
            return self.broadcast(now, node, frame, events);
        };
        if !self.config.uses_rts(frame.bytes) {
            return self.send_data(now, node, events);
        }
        let data = self.config.data_time(frame.bytes);
        let reserve = SIFS + self.cts_time + SIFS + data + SIFS + self.ack_time;
        let rts = (Kind::Rts, to, reserve.as_nanos() as u32);
        match self.transmit(now, node, rts, self.rts_time, reserve) {
            Some(sent) => {
                self.counters.rts += 1;
                self.wait(sent.end, node, Phase::AwaitCts);
            }
            None => self.fail(now, node, DropCause::Energy, events),
        }
    }

    fn broadcast(
        &mut self,
        now: Instant,
        node: NodeId,
        frame: Outgoing,
        events: &mut Vec<MacEvent>,
    ) {
        let on_air = Frame {
            duration: self.config.broadcast_time(frame.bytes),
            to: None,
            note: 0,
        };
        let Some(sent) = self.air.transmit(now, node, on_air) else {
            return self.fail(now, node, DropCause::Energy, events);
        };
        self.counters.broadcast += 1;
        self.timers.stop(node.0);
        self.station(node).phase = Phase::Sending;
        let mut last = sent.end;
        for place in 0..self.air.receivers().len() {
            let to = self.air.receivers()[place];
            last = last.max(to.end);
            let arrival = What::Arrival {
                kind: Kind::Broadcast,
                from: node,
                frame: sent.frame,
                value: frame.handle,
            };
            self.schedule(to.end, to.node, arrival);
        }
        self.schedule(last, node, What::Sent);
    }

    fn send_data(&mut self, now: Instant, node: NodeId, events: &mut Vec<MacEvent>) {
        let frame = self.station(node).frame;
        let Some(to) = frame.to else { return };
        let time = self.config.data_time(frame.bytes);
        let data = (Kind::Data, to, frame.handle);
        match self.transmit(now, node, data, time, SIFS + self.ack_time) {
            Some(sent) => {
                self.counters.data += 1;
                self.wait(sent.end, node, Phase::AwaitAck);
            }
            None => self.fail(now, node, DropCause::Energy, events),
        }
    }

    /// Sends a unicast frame. It reserves the medium for some time after its end.
    fn transmit(
        &mut self,
        now: Instant,
        node: NodeId,
        (kind, to, value): (Kind, NodeId, u32),
        duration: Duration,
        reserve: Duration,
    ) -> Option<Transmission> {
        let frame = Frame {
            duration,
            to: Some(to),
            note: reserve.as_nanos(),
        };
        let sent = self.air.transmit(now, node, frame)?;
        if let Some(at) = sent.arrives {
            let frame = sent.frame;
            let from = node;
            self.schedule(
                at,
                to,
                What::Arrival {
                    kind,
                    from,
                    frame,
                    value,
                },
            );
        }
        Some(sent)
    }

    fn wait(&mut self, end: Instant, node: NodeId, phase: Phase) {
        let station = self.station(node);
        station.phase = phase;
        station.waits_on = false;
        self.await_until(node, end + self.patience);
    }

    /// The response to the last frame is missing.
    fn missing(&mut self, now: Instant, node: NodeId, events: &mut Vec<MacEvent>) {
        let config = self.config;
        let station = &mut self.stations[node.index()];
        let (tries, most) = if station.phase == Phase::AwaitCts {
            self.counters.missing_cts += 1;
            (&mut station.short_tries, config.short_retries)
        } else {
            self.counters.missing_ack += 1;
            if config.uses_rts(station.frame.bytes) {
                (&mut station.long_tries, config.long_retries)
            } else {
                (&mut station.short_tries, config.short_retries)
            }
        };
        *tries += 1;
        if *tries >= most {
            return self.fail(now, node, DropCause::RetryLimit, events);
        }
        station.window = (2 * station.window + 1).min(config.cw_max);
        self.draw(now, node);
        self.contend(now, node);
    }

    fn fail(&mut self, now: Instant, node: NodeId, cause: DropCause, events: &mut Vec<MacEvent>) {
        match cause {
            DropCause::Energy => self.counters.dead += 1,
            _ => self.counters.dropped += 1,
        }
        let handle = self.station(node).frame.handle;
        self.finish(now, node);
        events.push(MacEvent::Failed {
            node,
            handle,
            cause,
        });
    }

    /// No frame is in service any more. A backoff follows.
    fn finish(&mut self, now: Instant, node: NodeId) {
        let window = self.config.cw_min;
        self.timers.stop(node.0);
        let station = self.station(node);
        station.phase = Phase::Idle;
        station.window = window;
        self.draw(now, node);
    }

    fn sent(&mut self, now: Instant, node: NodeId, events: &mut Vec<MacEvent>) {
        let handle = self.station(node).frame.handle;
        self.finish(now, node);
        events.push(MacEvent::Sent { node, handle });
    }

    /// A frame for `node` has arrived without errors.
    fn arrived(
        &mut self,
        now: Instant,
        node: NodeId,
        from: NodeId,
        kind: Kind,
        value: u32,
        events: &mut Vec<MacEvent>,
    ) {
        let station = &self.stations[node.index()];
        let phase = station.phase;
        let expected = station.frame.to == Some(from)
            && match kind {
                Kind::Cts => phase == Phase::AwaitCts,
                Kind::Ack => phase == Phase::AwaitAck,
                _ => false,
            };
        // A frame that is not the response shows that there is none.
        if !expected && matches!(phase, Phase::AwaitCts | Phase::AwaitAck) {
            self.missing(now, node, events);
        }
        match kind {
            Kind::Rts => {
                if !self.air.listener(now, node).is_reserved(now) {
                    self.respond(now, node, Kind::Cts, from, value);
                }
            }
            Kind::Cts if expected => {
                self.timers.stop(node.0);
                let station = self.station(node);
                station.phase = Phase::Sending;
                station.short_tries = 0;
                self.respond(now, node, Kind::Data, from, 0);
            }
            Kind::Data => {
                self.respond(now, node, Kind::Ack, from, 0);
                let sender = self.station(from);
                if sender.delivered {
                    self.counters.duplicates += 1;
                } else {
                    sender.delivered = true;
                    self.counters.received += 1;
                    let handle = value;
                    events.push(MacEvent::Received { node, from, handle });
                }
            }
            Kind::Ack if expected => {
                self.counters.sent += 1;
                self.sent(now, node, events);
            }
            Kind::Broadcast => {
                let handle = value;
                events.push(MacEvent::Received { node, from, handle });
            }
            Kind::Cts | Kind::Ack => {}
        }
    }

    fn respond(&mut self, now: Instant, node: NodeId, kind: Kind, to: NodeId, value: u32) {
        self.schedule(now + SIFS, node, What::Response { kind, to, value });
    }

    fn response(
        &mut self,
        now: Instant,
        node: NodeId,
        kind: Kind,
        to: NodeId,
        reserved: u32,
        events: &mut Vec<MacEvent>,
    ) {
        match kind {
            Kind::Data => self.send_data(now, node, events),
            Kind::Cts => {
                let reserve = Duration::from_nanos(reserved.into())
                    .saturating_sub(SIFS)
                    .saturating_sub(self.cts_time);
                let cts = (kind, to, reserve.as_nanos() as u32);
                let sent = self.transmit(now, node, cts, self.cts_time, reserve);
                self.counters.cts += u64::from(sent.is_some());
            }
            _ => {
                let ack = (kind, to, 0);
                let sent = self.transmit(now, node, ack, self.ack_time, Duration::ZERO);
                self.counters.ack += u64::from(sent.is_some());
            }
        }
    }

    /// No response has begun to arrive, unless the radio receives something.
    fn timeout(&mut self, now: Instant, node: NodeId, events: &mut Vec<MacEvent>) {
        let again = self.station(node).waits_on;
        let preamble = self.config.preamble_time();
        let threshold = self.air.propagation().receive_threshold();
        let arriving = self.air.receiving(now, node);
        let arriving = arriving
            .filter(|signal| signal.power >= threshold && signal.start + preamble <= now && !again);
        match arriving.map(|signal| signal.end) {
            // The frame itself ends first if it is for this node.
            Some(end) => {
                self.station(node).waits_on = true;
                self.await_until(node, end + Duration::from_nanos(1));
            }
            None => self.missing(now, node, events),
        }
    }
}

impl Mac for Dcf {
    fn is_idle(&self, node: NodeId) -> bool {
        self.stations[node.index()].phase == Phase::Idle
    }

    fn send(&mut self, now: Instant, node: NodeId, frame: Outgoing) {
        let station = self.station(node);
        station.frame = frame;
        station.delivered = false;
        station.short_tries = 0;
        station.long_tries = 0;
        let (idle, contention) = self.air.medium(now, node);
        if contention.ends(idle).is_none() {
            if !self.config.idle_backoff && contention.starts(idle) <= now {
                // The medium has been idle for long enough.
                contention.begin(now, 0);
            } else {
                self.draw(now, node);
            }
        }
        self.contend(now, node);
    }

    fn next_event(&self) -> Instant {
        let event = self.events.peek().map_or(Instant::MAX, |event| event.0.at);
        let timer = self.timers.next().map_or(Instant::MAX, |timer| timer.at);
        event.min(timer)
    }

    fn step(&mut self, events: &mut Vec<MacEvent>) {
        if let Some(timer) = self.timers.next() {
            let event = self.events.peek();
            if event.is_none_or(|Reverse(event)| timer.key() < event.key()) {
                return self.timer(timer.at, NodeId(timer.timer), events);
            }
        }
        let Some(Reverse(event)) = self.events.pop() else {
            return;
        };
        let (now, node) = (event.at, event.node);
        match event.what {
            What::Arrival {
                kind,
                from,
                frame,
                value,
            } => {
                if self.air.received(now, node, frame) {
                    self.arrived(now, node, from, kind, value, events);
                }
            }
            What::Response { kind, to, value } => {
                self.response(now, node, kind, to, value, events);
            }
            What::Sent => self.sent(now, node, events),
        }
    }

    fn radios(&mut self) -> Option<&mut dyn Radios> {
        Some(&mut self.air)
    }

    fn tries(&self) -> [u64; 2] {
        let counters = &self.counters;
        // The last try of a packet that was dropped has none behind it.
        let unanswered = counters.missing_cts + counters.missing_ack;
        let retries = unanswered.saturating_sub(counters.dropped);
        [counters.data + counters.broadcast, retries]
    }
}
