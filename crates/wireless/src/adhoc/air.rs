//! The air: the medium that all radios of a network share, and what each radio hears.
//!
//! A MAC calls [`Air::transmit`] when a node sends a frame. From that moment the air knows when the
//! frame arrives at every node in range and how strong it is there, and notes it at those nodes, or
//! once for all of them where most are in range.
//! What becomes of it there (received, collided, too weak) follows later from the other frames at
//! that node; the air works it out when somebody asks, in the order of arrivals. So a frame costs
//! at most one pass over the nodes in range and no event. A MAC schedules an event for the addressed node
//! alone, at the end of the arrival ([`Transmission::arrives`]), and asks [`Air::received`] then.
//!
//! # Reception
//!
//! By pairwise capture, as the ns-2 manual's wireless physical layer (Fall and Varadhan, 2011,
//! chapters 16 and 18): a frame below both thresholds does not exist. A frame below the receive
//! threshold keeps the medium busy and is errored. If a frame arrives while the radio is occupied
//! by another one, the later one is lost; the earlier one survives if it is stronger by the capture
//! ratio. Otherwise both are lost, and the radio is occupied until the later of their ends. Powers
//! of several frames do not add up.
//!
//! By SINR: the radio locks on the first frame that is above the receive threshold. The frame is
//! intact if its power over the noise and the sum of all other powers is never below a ratio. A
//! frame that the radio does not lock on is interference.
//!
//! In both cases a radio that transmits receives nothing, and a frame takes the distance over the
//! speed of light to arrive.
//!
//! ## Assumptions
//!
//! - Antennas are omnidirectional, and all radios have one channel and one power.
//! - A frame's power at a node is that of its first instant. Nodes do not move during a frame.
//! - Frames below both thresholds do not interfere, also not under SINR.
//! - Equal arrivals at a node are taken in the order of their transmission.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::ops::AddAssign;

use network::Streams;
use units::{Duration, Instant};

use self::log::Log;
use self::neighbours::Neighbours;
use self::radio::{Radio, Rules};
use super::energy::{EnergyConfig, EnergyReport, Meter, Powers};
use super::mobility::{Mobility, Position};
use super::propagation::{Propagation, RadioConfig};
use crate::NodeId;

mod log;
mod neighbours;
mod radio;
#[cfg(test)]
mod tests;

pub use neighbours::Link;

/// The number of a frame on the air, counted from one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FrameId(u64);

/// A frame to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame {
    /// How long it occupies the medium.
    pub duration: Duration,
    /// The node that it is for; `None` is a broadcast.
    pub to: Option<NodeId>,
    /// A number for the MAC: [`Listen::heard`] passes it on.
    pub note: u64,
}

/// A frame at a node that hears it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Signal {
    /// When its first bit arrives.
    pub start: Instant,
    /// When its last bit has arrived.
    pub end: Instant,
    /// Its power at this node, in watts.
    pub power: f64,
    /// The frame.
    pub frame: FrameId,
    /// The sender.
    pub from: NodeId,
    /// The node that it is for; [`Signal::EVERYBODY`] is a broadcast.
    pub to: NodeId,
    /// The MAC's number.
    pub note: u64,
}

impl Signal {
    /// The addressee of a broadcast.
    pub const EVERYBODY: NodeId = NodeId(u32::MAX);

    /// No signal.
    const NONE: Self = Self {
        start: Instant::MAX,
        end: Instant::ZERO,
        power: 0.0,
        frame: FrameId(0),
        from: NodeId(0),
        to: NodeId(0),
        note: 0,
    };
}

/// A frame that a node has begun to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transmission {
    /// Its number.
    pub frame: FrameId,
    /// When the sender has transmitted it.
    pub end: Instant,
    /// When its last bit arrives at the addressed node; `None` if that is out of range, or if the
    /// frame is a broadcast (see [`Air::receivers`]).
    pub arrives: Option<Instant>,
}

/// A node that a broadcast reaches, unless it is lost there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// The node.
    pub node: NodeId,
    /// When the last bit arrives.
    pub end: Instant,
}

/// What became of a frame at a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is intact.
    Received,
    /// It is below the receive threshold.
    Weak,
    /// It collided with another frame, or the SINR was too low.
    Collided,
    /// The radio was occupied by another frame, which survived if nothing else happened to it.
    Ignored,
    /// The node transmitted meanwhile.
    Transmitting,
    /// The radio slept, or the node had no energy.
    Off,
}

impl Fate {
    /// How many there are.
    pub const COUNT: usize = 6;
}

/// Frames since the start of the run.
///
/// Conservation: each frame that reaches a node in range has one fate there, so `arrivals` is the
/// sum of `fates` once all frames have ended ([`Air::settle`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AirCounters {
    /// Frames that nodes have transmitted.
    pub frames: u64,
    /// Pairs of a frame and a node in range of it.
    pub arrivals: u64,
    /// What became of them, in the order of [`Fate`].
    pub fates: [u64; Fate::COUNT],
}

impl AirCounters {
    /// Arrivals with that fate.
    #[must_use]
    pub const fn of(&self, fate: Fate) -> u64 {
        self.fates[fate as usize]
    }

    /// Arrivals whose fate is known.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.fates.iter().sum()
    }
}

impl AddAssign<Fate> for AirCounters {
    fn add_assign(&mut self, fate: Fate) {
        self.fates[fate as usize] += 1;
    }
}

/// What a MAC keeps at each radio, and how the radio informs it. Calls at a node come in the order
/// of its past, not when it happens but when somebody asks.
pub trait Listen: Default + Debug {
    /// Whether [`Self::busy`] does something. No call of the radio makes it true.
    fn minds_busy(&self) -> bool {
        true
    }

    /// The medium became busy at `at` after it had been idle since `idle`.
    fn busy(&mut self, _at: Instant, _idle: Instant) {}

    /// `node` has received a frame intact, for itself or for another node. Its last bit arrived at
    /// `end`; the times of `frame` may be those at its sender.
    fn heard(&mut self, _node: NodeId, _frame: &Signal, _end: Instant) {}

    /// A frame ended at `end` that the radio could not decode.
    fn garbled(&mut self, _end: Instant) {}
}

impl Listen for () {}

/// The radios of a network and the medium between them.
///
/// Calls come in order of time. A question at an instant sees what happened before it: a frame
/// whose first bit arrives at that very instant does not count yet.
#[derive(Debug)]
pub struct Air<L = ()> {
    propagation: Propagation,
    neighbours: Neighbours,
    rules: Rules,
    /// Frames that radios have yet to read.
    log: Log,
    radios: Vec<Radio<L>>,
    /// Empty without energy.
    meters: Vec<Meter>,
    frames: u64,
    receivers: Vec<Receiver>,
    counters: AirCounters,
    /// Time in which at least one node transmitted, with what has been announced; and its end.
    busy: Duration,
    silent_from: Instant,
}

impl<L: Listen> Air<L> {
    /// The air between radios under a configuration, at the positions of `mobility`. Without
    /// `energy`, energy is not accounted for.
    #[must_use]
    pub fn new(
        config: &RadioConfig,
        mobility: Mobility,
        energy: Option<&EnergyConfig>,
        streams: &Streams,
    ) -> Self {
        let propagation = Propagation::new(config, streams);
        let count = mobility.node_count();
        let powers = energy.map(Powers::new);
        let meter = |powers: Powers| (0..count).map(|_| Meter::new(powers)).collect();
        let is_static = mobility.is_static();
        let rules = Rules::new(config, &propagation);
        let neighbours = Neighbours::new(mobility, &propagation);
        let log = if is_static && energy.is_none() {
            Log::new(count, &rules, |node| neighbours.fixed(node))
        } else {
            Log::default()
        };
        Self {
            busy: Duration::ZERO,
            silent_from: Instant::ZERO,
            rules,
            log,
            neighbours,
            propagation,
            radios: (0..count as u32)
                .map(|node| Radio::new(NodeId(node)))
                .collect(),
            meters: powers.map_or_else(Vec::new, meter),
            frames: 0,
            receivers: Vec::new(),
            counters: AirCounters::default(),
        }
    }

    /// How many nodes there are.
    #[must_use]
    pub const fn node_count(&self) -> usize {
        self.radios.len()
    }

    /// The propagation.
    #[must_use]
    pub const fn propagation(&self) -> &Propagation {
        &self.propagation
    }

    /// Where a node is. Calls for a node come in order of time.
    pub fn position(&mut self, node: NodeId, at: Instant) -> Position {
        self.neighbours.position(node, at)
    }

    /// The nodes in range of `node` at `now`, whether they can decode its frames or only sense
    /// them.
    pub fn links(&mut self, now: Instant, node: NodeId) -> &[Link] {
        self.neighbours.of(now, node, &self.propagation)
    }

    /// `node` transmits a frame, whatever the medium is like; a frame that it receives is lost.
    /// `None` if the node has no energy or sleeps: then nothing happens. A node that still
    /// transmits another frame sends both.
    pub fn transmit(&mut self, now: Instant, node: NodeId, frame: Frame) -> Option<Transmission> {
        let end = now + frame.duration;
        self.settled(now, node);
        let meter = self.meters.get_mut(node.index());
        if !self.radios[node.index()].transmit(now, end, meter) {
            return None;
        }
        if self.log.is_full() {
            self.empty_log(now);
        }
        self.frames += 1;
        self.counters.frames += 1;
        self.busy += end.saturating_since(now.max(self.silent_from));
        self.silent_from = self.silent_from.max(end);
        let to = frame.to.unwrap_or(Signal::EVERYBODY);
        let number = FrameId(self.frames);
        let links = self.neighbours.of(now, node, &self.propagation);
        self.counters.arrivals += links.len() as u64;
        let sent = Signal {
            start: now,
            end,
            power: 0.0,
            frame: number,
            from: node,
            to,
            note: frame.note,
        };
        if self.log.is_kept() {
            self.log.push(sent);
        } else {
            for link in links {
                let signal = Signal {
                    start: now + link.delay,
                    end: end + link.delay,
                    power: link.power,
                    ..sent
                };
                let radio = &mut self.radios[link.node.index()];
                while !radio.offer(signal) {
                    let meter = self.meters.get_mut(link.node.index());
                    radio.make_room(now, &self.rules, meter, &mut self.counters);
                }
            }
        }
        self.receivers.clear();
        let mut arrives = None;
        if frame.to.is_some() {
            arrives = if self.log.is_kept() {
                self.log.arrives(&sent, to)
            } else {
                let place = links.binary_search_by_key(&to, |link| link.node);
                place.ok().map(|place| end + links[place].delay)
            };
        } else {
            let decode = links.iter().filter(|link| link.power >= self.rules.receive);
            self.receivers.extend(decode.map(|link| Receiver {
                node: link.node,
                end: end + link.delay,
            }));
        }
        Some(Transmission {
            frame: number,
            end,
            arrives,
        })
    }

    /// The nodes that may receive the last frame, if it was a broadcast; until the next frame.
    #[must_use]
    pub fn receivers(&self) -> &[Receiver] {
        &self.receivers
    }

    /// Whether `node` has received a frame intact. The time is the end of its arrival there.
    pub fn received(&mut self, end: Instant, node: NodeId, frame: FrameId) -> bool {
        self.settled(end, node).received(frame) && self.is_alive(end, node)
    }

    /// The lowest ratio of the signal that [`Self::received`] reported to noise and interference.
    /// Under capture there is no interference.
    #[must_use]
    pub fn lowest_sinr(&self, node: NodeId) -> f64 {
        let (power, interference) = self.radios[node.index()].powers();
        power / (self.rules.noise + interference)
    }

    /// Whether `node` senses a frame, or transmits.
    pub fn is_busy(&mut self, now: Instant, node: NodeId) -> bool {
        self.busy_until(now, node) > now
    }

    /// Until when `node` will sense the frames that have arrived, or transmit; in the past if the
    /// medium is idle: then it has been idle since.
    pub fn busy_until(&mut self, now: Instant, node: NodeId) -> Instant {
        self.settled(now, node).busy_until()
    }

    /// Whether `node` has sensed a frame, or transmitted, at some time between `from` and now.
    pub fn is_busy_since(&mut self, now: Instant, node: NodeId, from: Instant) -> bool {
        self.busy_until(now, node) > from
    }

    /// Time before `now` in which at least one node transmitted.
    #[must_use]
    pub fn busy_before(&self, now: Instant) -> Duration {
        self.busy
            .saturating_sub(self.silent_from.saturating_since(now))
    }

    /// The weakest power at which a radio decodes a frame, in watts.
    #[must_use]
    pub const fn receive_threshold(&self) -> f64 {
        self.rules.receive
    }

    /// Until when `node` transmits; in the past if it does not.
    #[must_use]
    pub fn transmits_until(&self, node: NodeId) -> Instant {
        self.radios[node.index()].transmits_until()
    }

    /// The frame that occupies the receiver of `node`, intact or not.
    pub fn receiving(&mut self, now: Instant, node: NodeId) -> Option<&Signal> {
        self.settled(now, node).receiving(now)
    }

    /// [`Self::busy_until`] and [`Self::listener`].
    pub fn medium(&mut self, now: Instant, node: NodeId) -> (Instant, &mut L) {
        let radio = self.settled(now, node);
        (radio.busy_until(), &mut radio.listener)
    }

    /// What the MAC keeps at `node`, after everything that happened before `now`.
    pub fn listener(&mut self, now: Instant, node: NodeId) -> &mut L {
        &mut self.settled(now, node).listener
    }

    /// Lets the radio of `node` sleep, or wakes it. A radio that sleeps neither transmits nor
    /// receives, and does not sense a frame that began while it slept.
    pub fn set_asleep(&mut self, now: Instant, node: NodeId, asleep: bool) {
        self.settled(now, node);
        let meter = self.meters.get_mut(node.index());
        let radio = &mut self.radios[node.index()];
        radio.set_asleep(now, asleep, meter, &mut self.counters);
    }

    /// Whether `node` has energy.
    pub fn is_alive(&mut self, now: Instant, node: NodeId) -> bool {
        self.meters.is_empty()
            || self
                .energy(now, node)
                .is_some_and(|report| report.died.is_none())
    }

    /// What `node` has used; `None` if energy is not accounted for.
    pub fn energy(&mut self, now: Instant, node: NodeId) -> Option<EnergyReport> {
        self.settled(now, node);
        let meter = self.meters.get_mut(node.index())?;
        self.radios[node.index()].account(now, meter);
        Some(meter.report())
    }

    /// Works out everything that happened before `now` at all nodes.
    pub fn settle(&mut self, now: Instant) {
        for node in 0..self.radios.len() as u32 {
            self.settled(now, NodeId(node));
        }
    }

    /// What became of all frames, as far as it has been worked out ([`Self::settle`]).
    #[must_use]
    pub const fn counters(&self) -> &AirCounters {
        &self.counters
    }

    /// Makes room in the log: all radios read it.
    #[cold]
    #[inline(never)]
    fn empty_log(&mut self, now: Instant) {
        self.settle(now);
        self.log.clear();
        self.radios.iter_mut().for_each(Radio::forget_log);
    }

    #[inline(always)]
    fn settled(&mut self, now: Instant, node: NodeId) -> &mut Radio<L> {
        if self.radios[node.index()].is_behind(now, &self.log) {
            self.catch_up(now, node);
        }
        &mut self.radios[node.index()]
    }

    #[inline(never)]
    fn catch_up(&mut self, now: Instant, node: NodeId) {
        let meter = self.meters.get_mut(node.index());
        let radio = &mut self.radios[node.index()];
        radio.settle(now, &self.log, &self.rules, meter, &mut self.counters);
    }
}
