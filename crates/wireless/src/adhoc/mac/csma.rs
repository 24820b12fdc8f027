//! IEEE 802.15.4 at 2.4 GHz: medium access with CSMA-CA, and 6LoWPAN above it.
//!
//! A node waits for a random number of backoff periods, assesses the channel once, and sends if it
//! is idle; otherwise it waits again with a larger range, and gives up after five busy assessments.
//! A unicast frame is acknowledged, and sent up to three more times if it is not. With beacons the
//! node assesses twice at boundaries of backoff periods, and sends in the contention access period
//! only. Packets that exceed a frame travel in fragments, each of which contends for the channel by
//! itself; if one is given up, so is the packet. Every node on a route reassembles packets.
//!
//! Sources: IEEE Std 802.15.4-2015, sections 6.2.1 (superframes), 6.2.4 (interframe spaces),
//! 6.2.5.1 (CSMA-CA), 6.7.2 (duplicates) and 6.7.4 (acknowledgements and retransmissions), chapter
//! 12 (O-QPSK); RFC 4944, section 5.3, and RFC 6282 for fragments and headers.
//!
//! ## Assumptions
//!
//! - Nodes have short addresses in one network (PAN), listen whenever they do not send, and use no
//!   security, guaranteed time slots or indirect transmission.
//! - An assessment reports a busy channel if the radio senses a frame at any time during its eight
//!   symbols, or sends. With beacons the first 2 us do not count.
//! - `bit_errors`: the lowest ratio of the signal to noise and interference during a frame holds
//!   for the whole frame, and bits are in error independently.
//! - A radio that turns from reception to transmission hears nothing. From transmission to
//!   reception it turns in no time.
//! - With beacons, every node hears every beacon and has the coordinator's clock. No node sends
//!   beacons: they only take their time from the contention access period.
//!
//! ## Deviations
//!
//! - Sequence numbers have 8 bits in acknowledgements only. Otherwise one frame in 256 from a source
//!   that also sends to others would be taken for a duplicate: the standard does not say for how
//!   long a receiver remembers the last number of a source.
//! - An acknowledgement for another node with the same sequence number takes effect when the wait
//!   ends, unless the own one arrives before.
//! - A node that is addressed while it waits for an acknowledgement answers at once, as at any
//!   other time.
//!
//! `ns2_compat` reproduces how lengths are treated in ns-2.35's 802.15.4: they have 8 bits, and
//! there is no fragmentation (docs/reference/networks/adhoc-802.15.4.md).

use alloc::vec::Vec;

use network::Streams;
use units::{Duration, Instant};

use self::backoff::Backoff;
use self::node::{Answer, Ears, Node, Phase};
use self::superframe::Superframe;
use self::timing::{ACK_PSDU, ACK_WAIT, BACKOFF_PERIOD, CCA, MAX_PSDU, TURNAROUND, airtime, space};
use super::lowpan::{Fragmenter, Progress};
use super::timers::{Entry, Timers};
use super::{Mac, MacEvent, Outgoing};
use crate::adhoc::air::{Air, Frame, FrameId};
use crate::adhoc::energy::EnergyConfig;
use crate::adhoc::mobility::Mobility;
use crate::adhoc::propagation::RadioConfig;
use crate::adhoc::radios::Radios;
use crate::random::unit;
use crate::{DropCause, NodeId};

mod backoff;
mod config;
mod error;
mod node;
mod superframe;
pub mod timing;

pub use config::CsmaConfig;
pub use error::{bit_error_rate, frame_error_rate};

/// The header of a data frame in ns-2.35, with checksum: it has no PAN identifier and no source.
const NS2_OVERHEAD: u32 = 7;
/// In ns-2.35 lengths wrap here.
const NS2_LENGTHS: u32 = 256;

/// In slots a frame may end where an assessment begins. Its propagation must not make that one
/// busy.
const UNSEEN: Duration = Duration::from_micros(2);

/// Timers of a node. At one instant, arrivals come first.
#[derive(Clone, Copy)]
enum Timer {
    /// The arrival of its data frame at a receiver.
    Flight,
    /// The start of its acknowledgement, and then the arrival.
    Answer,
    /// The end of its phase.
    Phase,
}

const TIMERS: u32 = 3;

/// Frames since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CsmaCounters {
    /// Packets that nodes were given: each is sent or failed, or in service.
    pub packets: u64,
    /// Packets that were sent; a unicast one was acknowledged if acknowledgements are used.
    pub sent: u64,
    /// Packets that were given up.
    pub failed: u64,
    /// Data frames on the air, with retransmissions.
    pub data_frames: u64,
    /// Of these, retransmissions.
    pub retries: u64,
    /// Acknowledgements on the air.
    pub acks: u64,
    /// Assessments of the channel.
    pub assessments: u64,
    /// Of these, those that found it busy.
    pub busy: u64,
    /// Data frames that arrived intact at a node that they were for.
    pub arrived: u64,
    /// Of these, duplicates.
    pub duplicates: u64,
    /// Fragments that found no reassembly buffer.
    pub refused: u64,
    /// Unicast packets that were sent but did not arrive completely: the sender does not know it.
    pub lost: u64,
}

/// The MAC of all nodes of an 802.15.4 network.
#[derive(Debug)]
pub struct Csma {
    config: CsmaConfig,
    fragmenter: Fragmenter,
    superframe: Option<Superframe>,
    air: Air<Ears>,
    nodes: Vec<Node>,
    timers: Timers,
    counters: CsmaCounters,
}

impl Csma {
    /// The MAC of radios under `radio` at the positions of `mobility`. The streams are `"802.15.4
    /// N"` for node N, and those of the air.
    #[must_use]
    pub fn new(
        config: &CsmaConfig,
        radio: &RadioConfig,
        mobility: Mobility,
        energy: Option<&EnergyConfig>,
        streams: &Streams,
    ) -> Self {
        let air = Air::new(radio, mobility, energy, streams);
        let superframe = Superframe::new(config);
        let count = air.node_count() as u32;
        let node = |node| Node::new(NodeId(node), config, streams);
        Self {
            config: *config,
            fragmenter: config.fragmenter(),
            superframe,
            air,
            nodes: (0..count).map(node).collect(),
            timers: Timers::new((count * TIMERS) as usize),
            counters: CsmaCounters::default(),
        }
    }

    /// What became of packets and frames.
    #[must_use]
    pub const fn counters(&self) -> &CsmaCounters {
        &self.counters
    }

    /// The air.
    #[must_use]
    pub const fn air(&self) -> &Air<Ears> {
        &self.air
    }

    /// The air, to ask about positions, links and energy.
    pub const fn air_mut(&mut self) -> &mut Air<Ears> {
        &mut self.air
    }

    fn set(&mut self, node: NodeId, timer: Timer, at: Instant) {
        let count = self.nodes.len() as u32;
        let timer = timer as u32 * count + node.0;
        self.timers.set(timer, at, timer.into());
    }

    fn node(&mut self, node: NodeId) -> &mut Node {
        &mut self.nodes[node.index()]
    }

    /// Prepares the next frame of the packet in service and starts to contend for the channel.
    fn begin(&mut self, now: Instant, id: NodeId) {
        let (config, cut) = (self.config, self.fragmenter);
        let node = self.node(id);
        let bytes = node.packet.bytes;
        node.psdu = if config.ns2_compat {
            (bytes % NS2_LENGTHS + NS2_OVERHEAD) % NS2_LENGTHS
        } else {
            let fragment = cut.fragment(bytes, node.index);
            config.psdu(fragment.map_or(bytes, |fragment| fragment.payload))
        };
        node.sequence = node.sequence.wrapping_add(1);
        node.failures = 0;
        self.contend(now, id);
    }

    /// Starts CSMA-CA for the frame in service.
    fn contend(&mut self, now: Instant, id: NodeId) {
        let backoff = Backoff::new(&self.config);
        self.node(id).backoff = backoff;
        self.wait(now, id);
    }

    /// Waits, and then assesses the channel.
    fn wait(&mut self, now: Instant, id: NodeId) {
        let superframe = self.superframe;
        let is_answered = self.config.ack;
        let node = self.node(id);
        node.phase = Phase::Backoff;
        let from = now.max(node.ready);
        let at = match superframe {
            Some(superframe) => {
                let is_answered = is_answered && node.packet.to.is_some();
                superframe.assessment(from, node.backoff, node.psdu, is_answered, &mut node.rng)
            }
            None => from + BACKOFF_PERIOD * u64::from(node.backoff.draw(&mut node.rng)),
        };
        self.set(id, Timer::Phase, at + CCA);
    }

    /// The phase of a node ends.
    fn advance(&mut self, now: Instant, id: NodeId, events: &mut Vec<MacEvent>) {
        match self.node(id).phase {
            Phase::Idle => {}
            Phase::Rejected => self.fail(id, DropCause::Length, events),
            Phase::Backoff | Phase::Again => self.assess(now, id, events),
            Phase::Turn => self.transmit(now, id, events),
            Phase::Send => {
                let node = &mut self.nodes[id.index()];
                if node.packet.to.is_some() && self.config.ack {
                    node.phase = Phase::Await;
                    let sequence = node.sequence;
                    self.air.listener(now, id).expect(sequence);
                    self.set(id, Timer::Phase, now + ACK_WAIT);
                } else {
                    node.phase = Phase::Space;
                    let psdu = node.psdu;
                    self.set(id, Timer::Phase, now + space(psdu));
                }
            }
            Phase::Await => {
                if self.air.listener(now, id).is_answered() {
                    self.complete(now, id, events);
                    return;
                }
                let retries = self.config.retries;
                let node = self.node(id);
                node.failures += 1;
                if node.failures > retries {
                    self.fail(id, DropCause::RetryLimit, events);
                } else {
                    self.contend(now, id);
                }
            }
            Phase::Space => self.complete(now, id, events),
        }
    }

    /// An assessment ends.
    fn assess(&mut self, now: Instant, id: NodeId, events: &mut Vec<MacEvent>) {
        let unseen = self.superframe.map_or(Duration::ZERO, |_| UNSEEN);
        let since = Instant::from_nanos(now.as_nanos() - CCA.as_nanos()) + unseen;
        self.counters.assessments += 1;
        let node = &self.nodes[id.index()];
        if node.answer.until > since || self.air.is_busy_since(now, id, since) {
            self.counters.busy += 1;
            match node.backoff.again(&self.config) {
                Some(backoff) => {
                    self.node(id).backoff = backoff;
                    self.wait(now, id);
                }
                None => self.fail(id, DropCause::ChannelBusy, events),
            }
            return;
        }
        let (phase, at) = match (self.superframe, node.phase) {
            (Some(_), Phase::Backoff) => (Phase::Again, now + BACKOFF_PERIOD),
            // The turnaround reaches from an assessment to the end of its backoff period.
            _ => (Phase::Turn, now + TURNAROUND),
        };
        self.node(id).phase = phase;
        self.set(id, Timer::Phase, at);
    }

    fn transmit(&mut self, now: Instant, id: NodeId, events: &mut Vec<MacEvent>) {
        let node = &self.nodes[id.index()];
        let (psdu, to, is_retry) = (node.psdu, node.packet.to, node.failures > 0);
        if psdu > MAX_PSDU && self.air.is_alive(now, id) {
            self.fail(id, DropCause::Length, events);
            return;
        }
        let frame = Frame {
            duration: airtime(psdu),
            to,
            note: Ears::DATA,
        };
        let Some(sent) = self.air.transmit(now, id, frame) else {
            self.fail(id, DropCause::Energy, events);
            return;
        };
        self.counters.data_frames += 1;
        self.counters.retries += u64::from(is_retry);
        let node = &mut self.nodes[id.index()];
        node.phase = Phase::Send;
        node.flight = sent.frame;
        node.receivers.clear();
        match (to, sent.arrives) {
            (Some(to), Some(at)) => node.receivers.push((at, to)),
            (Some(_), None) => {}
            (None, _) => {
                let reached = self.air.receivers().iter();
                node.receivers.extend(reached.map(|at| (at.end, at.node)));
                // The next one is the last.
                node.receivers.sort_unstable_by(|one, other| other.cmp(one));
            }
        }
        let next = node.receivers.last().copied();
        if let Some((at, _)) = next {
            self.set(id, Timer::Flight, at);
        }
        self.set(id, Timer::Phase, sent.end);
    }

    /// The data frame of `from` arrives.
    fn arrive(&mut self, now: Instant, from: NodeId, events: &mut Vec<MacEvent>) {
        let sender = self.node(from);
        let (frame, packet, sequence) = (sender.flight, sender.packet, sender.sequence);
        let psdu = sender.psdu;
        let Some((_, id)) = sender.receivers.pop() else {
            return;
        };
        let next = sender.receivers.last().copied();
        if let Some((at, _)) = next {
            self.set(from, Timer::Flight, at);
        }
        if !self.is_intact(now, id, frame, psdu) || self.node(id).phase == Phase::Turn {
            return;
        }
        let loss = self.config.frame_loss;
        let node = &mut self.nodes[id.index()];
        if loss > 0.0 && unit(&mut node.errors) < loss {
            return;
        }
        self.counters.arrived += 1;
        let mut is_new = true;
        if packet.to.is_some() && self.config.ack {
            is_new = !node.is_duplicate(from, sequence);
            let at = match self.superframe {
                Some(superframe) => superframe.answer(now),
                None => now + TURNAROUND,
            };
            node.answer = Answer {
                to: from,
                sequence,
                until: at + airtime(ACK_PSDU),
                flight: None,
            };
            self.set(id, Timer::Answer, at);
        }
        if is_new {
            self.collect(now, from, id, events);
        } else {
            self.counters.duplicates += 1;
        }
    }

    /// `id` has the frame that `from` has in service.
    fn collect(&mut self, now: Instant, from: NodeId, id: NodeId, events: &mut Vec<MacEvent>) {
        let sender = &self.nodes[from.index()];
        let (packet, tag, index, count) = (sender.packet, sender.tag, sender.index, sender.count);
        let progress = match self.fragmenter.fragment(packet.bytes, index) {
            Some(fragment) if count > 1 => {
                let reassembly = &mut self.node(id).reassembly;
                reassembly.insert(now, from, tag, packet.bytes, &fragment)
            }
            _ => Progress::Complete,
        };
        match progress {
            Progress::Incomplete => {}
            Progress::Refused => self.counters.refused += 1,
            Progress::Complete => {
                self.node(from).is_delivered = true;
                events.push(MacEvent::Received {
                    node: id,
                    from,
                    handle: packet.handle,
                });
            }
        }
    }

    /// An acknowledgement of `id` starts, or arrives.
    fn answer(&mut self, now: Instant, id: NodeId, events: &mut Vec<MacEvent>) {
        let answer = self.node(id).answer;
        let Some(frame) = answer.flight else {
            let frame = Frame {
                duration: airtime(ACK_PSDU),
                to: Some(answer.to),
                note: Ears::ack(answer.sequence),
            };
            if let Some(sent) = self.air.transmit(now, id, frame) {
                self.counters.acks += 1;
                self.node(id).answer.flight = Some(sent.frame);
                if let Some(at) = sent.arrives {
                    self.set(id, Timer::Answer, at);
                }
            }
            return;
        };
        let is_intact = self.is_intact(now, answer.to, frame, ACK_PSDU);
        let sender = self.node(answer.to);
        let is_awaited = sender.phase == Phase::Await && sender.sequence == answer.sequence;
        if is_awaited && is_intact {
            self.complete(now, answer.to, events);
        }
    }

    /// Whether `id` has received a frame that ends now without an error.
    fn is_intact(&mut self, now: Instant, id: NodeId, frame: FrameId, psdu: u32) -> bool {
        if !self.air.received(now, id, frame) {
            return false;
        }
        if !self.config.bit_errors {
            return true;
        }
        let rate = frame_error_rate(self.air.lowest_sinr(id), 8 * psdu);
        unit(&mut self.node(id).errors) >= rate
    }

    /// The frame in service has been sent, and acknowledged if it had to be.
    fn complete(&mut self, now: Instant, id: NodeId, events: &mut Vec<MacEvent>) {
        let node = self.node(id);
        if node.phase == Phase::Await {
            node.ready = now + space(node.psdu);
        }
        node.index += 1;
        if node.index < node.count {
            self.begin(now, id);
            return;
        }
        let handle = node.packet.handle;
        let is_lost = node.packet.to.is_some() && !node.is_delivered;
        self.finish(id);
        self.counters.sent += 1;
        self.counters.lost += u64::from(is_lost);
        events.push(MacEvent::Sent { node: id, handle });
    }

    fn fail(&mut self, id: NodeId, cause: DropCause, events: &mut Vec<MacEvent>) {
        let handle = self.node(id).packet.handle;
        self.finish(id);
        self.counters.failed += 1;
        events.push(MacEvent::Failed {
            node: id,
            handle,
            cause,
        });
    }

    fn finish(&mut self, id: NodeId) {
        self.node(id).phase = Phase::Idle;
        let count = self.nodes.len() as u32;
        self.timers.stop(Timer::Phase as u32 * count + id.0);
    }
}

impl Mac for Csma {
    fn is_idle(&self, node: NodeId) -> bool {
        self.nodes[node.index()].phase == Phase::Idle
    }

    fn send(&mut self, now: Instant, id: NodeId, frame: Outgoing) {
        self.counters.packets += 1;
        let config = self.config;
        let count = if config.ns2_compat {
            1
        } else {
            self.fragmenter.count(frame.bytes)
        };
        let node = self.node(id);
        node.packet = frame;
        node.is_delivered = false;
        node.index = 0;
        node.count = count;
        if count > 1 {
            node.tag = node.tag.wrapping_add(1);
        }
        if !config.ns2_compat && u64::from(frame.bytes) > config.mtu.get() {
            node.phase = Phase::Rejected;
            self.set(id, Timer::Phase, now);
            return;
        }
        self.begin(now, id);
    }

    fn next_event(&self) -> Instant {
        self.timers.next().map_or(Instant::MAX, |next| next.at)
    }

    fn step(&mut self, events: &mut Vec<MacEvent>) {
        let Some(&Entry { at: now, timer, .. }) = self.timers.next() else {
            return;
        };
        self.timers.stop(timer);
        let count = self.nodes.len() as u32;
        let node = NodeId(timer % count);
        match timer / count {
            kind if kind == Timer::Flight as u32 => self.arrive(now, node, events),
            kind if kind == Timer::Answer as u32 => self.answer(now, node, events),
            _ => self.advance(now, node, events),
        }
    }

    fn radios(&mut self) -> Option<&mut dyn Radios> {
        Some(&mut self.air)
    }

    fn tries(&self) -> [u64; 2] {
        [self.counters.data_frames, self.counters.retries]
    }
}
