//! The frames that radios have yet to read: one note for all radios that a frame reaches.
//!
//! Where most radios reach each other, a note at each of them would be most of what a frame costs.
//! So the frame is noted once, and a radio reads the log when somebody asks about it. It passes over
//! the frames that do not reach it. Where a frame reaches few of the radios it would pass over most,
//! and where nodes move, it changes whom a frame reaches: there, each radio has notes of its own, as
//! with a battery.

use alloc::vec;
use alloc::vec::Vec;

use units::Instant;

use super::neighbours::Link;
use super::radio::Rules;
use super::{Fate, Signal};
use crate::NodeId;

/// Frames in the log when all radios read it.
const CAPACITY: usize = 256;
/// On the average, a frame reaches at least one of so many radios.
const SHARE: usize = 4;

/// How a node hears another one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    /// In nanoseconds.
    delay: u32,
    /// What becomes of a frame that overlaps with no other; `None` if it is out of range.
    pub(super) alone: Option<Fate>,
    /// Whether it makes the medium busy.
    pub(super) is_sensed: bool,
    /// In watts.
    power: f64,
}

impl Reach {
    const NONE: Self = Self {
        delay: 0,
        alone: None,
        is_sensed: false,
        power: 0.0,
    };

    fn new(link: &Link, rules: &Rules) -> Self {
        Self {
            delay: link.delay.as_nanos() as u32,
            alone: Some(rules.alone(link.power)),
            is_sensed: link.power >= rules.sense,
            power: link.power,
        }
    }

    /// When something arrives that was sent at a time.
    #[inline(always)]
    pub(super) const fn at(&self, sent: Instant) -> Instant {
        Instant::from_nanos(sent.as_nanos() + self.delay as u64)
    }

    /// A frame of the log as it arrives.
    pub(super) const fn signal(&self, frame: &Signal) -> Signal {
        Signal {
            start: self.at(frame.start),
            end: self.at(frame.end),
            power: self.power,
            ..*frame
        }
    }
}

#[derive(Debug, Default)]
pub(super) struct Log {
    /// As they are at their senders, in the order of transmission.
    frames: Vec<Signal>,
    /// How each node hears each other: a row for each that hears. Empty if there is no log.
    reaches: Vec<Reach>,
    nodes: usize,
}

impl Log {
    /// A log for nodes that do not move, if a frame reaches enough of them.
    pub(super) fn new<'a>(
        nodes: usize,
        rules: &Rules,
        links: impl Fn(NodeId) -> &'a [Link],
    ) -> Self {
        let all = || (0..nodes as u32).map(NodeId);
        let count: usize = all().map(|node| links(node).len()).sum();
        let is_far = |link: &Link| link.delay.as_nanos() > u32::MAX.into();
        if count * SHARE < nodes * nodes.saturating_sub(1)
            || all().any(|node| links(node).iter().any(is_far))
        {
            return Self::default();
        }
        let mut reaches = vec![Reach::NONE; nodes * nodes];
        for from in all() {
            for link in links(from) {
                reaches[link.node.index() * nodes + from.index()] = Reach::new(link, rules);
            }
        }
        Self {
            frames: Vec::with_capacity(CAPACITY),
            reaches,
            nodes,
        }
    }

    /// Whether frames are noted here, and not at each radio.
    pub(super) const fn is_kept(&self) -> bool {
        self.nodes > 0
    }

    /// How many frames it has.
    pub(super) const fn len(&self) -> usize {
        self.frames.len()
    }

    pub(super) const fn is_full(&self) -> bool {
        self.frames.len() >= CAPACITY
    }

    /// Notes a frame as it is at its sender.
    pub(super) fn push(&mut self, frame: Signal) {
        self.frames.push(frame);
    }

    /// Forgets the frames, which all radios have read.
    pub(super) fn clear(&mut self) {
        self.frames.clear();
    }

    /// When the last bit of a frame arrives at `to`; `None` if that is out of range.
    pub(super) fn arrives(&self, frame: &Signal, to: NodeId) -> Option<Instant> {
        let place = to.index() * self.nodes + frame.from.index();
        let reach = self.reaches.get(place)?;
        reach.alone.map(|_| reach.at(frame.end))
    }

    /// The frames from a place on.
    pub(super) fn from(&self, place: usize) -> &[Signal] {
        &self.frames[place..]
    }

    /// How `node` hears each other.
    pub(super) fn reaches(&self, node: NodeId) -> &[Reach] {
        &self.reaches[node.index() * self.nodes..][..self.nodes]
    }
}
