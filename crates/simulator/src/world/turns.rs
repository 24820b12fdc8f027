//! The fast event loop: the two sides of the path in turns.
//!
//! The left side has the hosts that start the measured flows, with all their timers, and the start
//! of each flow. It takes the packets that come from the right out of the links, and it passes
//! packets from router to router. The right side has the hosts at the other end, and takes the
//! packets that come from the left out of the last link of their route. A flow of background
//! traffic in the reverse direction has its sender on the right.
//!
//! What the right side does reaches the left no earlier than the shortest delay of a link from
//! right to left: the lookahead of conservative parallel simulation (Chandy and Misra 1979, Bryant
//! 1977). The right side may therefore lag behind the left by that much, and each does in one turn
//! all that falls into that time. It is never ahead. Within a turn a link passes packet after
//! packet without the calendar, as long as nothing else of its side comes first.
//!
//! ## Why the results are those of the plain loop
//!
//! Each side takes its own events in the plain loop's order. An event of one side changes nothing
//! that the other side reads in between, except:
//!
//! - *The links between the sides.* When the right side takes packets out of a link, all packets
//!   that come before them have been offered. When the left side does, packets of earlier times may
//!   still be offered, but none of them can overtake. A queue that decides at dequeue is served up
//!   to the time that the right side has reached, and no further.
//! - *The start and the end of a flow*, which use both ends and numbers that earlier flows have
//!   left free. They happen on the left, after the right side has caught up with that very event
//!   ([`World::catch_up`]). A flow with its sender on the right may end there. Before its receiver
//!   acts at a time at which it may have ended, the right side catches up too
//!   ([`World::settle_end`]).
//! - *The smallest RTT*, which a flow's latency heuristic reads at the receiver: the probe keeps
//!   its decreases until the arrivals have reached them.
//!
//! ## Where it does not apply
//!
//! [`super::lookahead`] asks each part of a run, and [`Tie`](super::lookahead::Tie) lists the
//! reasons. A traced run reads the receiver at each ACK, and takes the plain loop too.

use std::sync::atomic::AtomicBool;

use scenario::{Direction, TrafficKind};
use units::{Duration, Instant};

use super::lookahead::Crossing;
use super::{NANO, World};
use crate::agenda::{LEFT, Part, Position, RIGHT, Side};
use crate::fabric::FORWARD;
use crate::flow::FlowState;
use crate::numbers::BACKGROUND;
use crate::{EventLoop, RunError};

/// The state of the two sides.
#[derive(Debug)]
pub(super) struct Turns {
    /// How far the right side may lag behind; `None` for the plain loop.
    pub(super) lookahead: Option<Duration>,
    /// The event in progress.
    pub(super) position: Position,
    /// Whether it is one of the right side.
    is_right: bool,
    /// The right side has done everything before this.
    received: Instant,
    /// Links from right to left whose queue decides at dequeue.
    late: Vec<u32>,
    /// Whether background traffic opens connections whose sender is on the right.
    has_reverse_flows: bool,
}

impl Default for Turns {
    fn default() -> Self {
        Self {
            lookahead: None,
            position: Position::before(Instant::ZERO),
            is_right: false,
            received: Instant::ZERO,
            late: Vec::new(),
            has_reverse_flows: false,
        }
    }
}

impl Turns {
    /// Sets the sides of a flow's endpoints.
    pub(super) const fn place_ends(&self, state: &mut FlowState<'_>) {
        if self.lookahead.is_some() {
            state.part_ends();
        }
    }
}

impl World<'_> {
    /// Chooses the event loop, and gives each part of the run its place in the agenda of its side.
    pub(super) fn distribute(&mut self, wanted: EventLoop) {
        if !self.is_plain {
            self.prepare_turns(wanted);
        }
        self.place_parts();
    }

    /// Gives links that the fabric has added their places, at once if the run is built.
    pub(super) fn place_added(&mut self) {
        let added = self.fabric.take_added().into_iter().map(Part::Link);
        self.agendas.announce(added);
        if self.agendas.is_built() {
            self.place_parts();
        }
    }

    /// Gives each new part its place in the agenda of its side.
    pub(super) fn place_parts(&mut self) {
        let has_hosts = self.fabric.has_interfaces();
        for part in self.agendas.take_unplaced() {
            let side = self.side_of(part);
            if let Part::Link(link) = part
                && self.fabric.is_interface(link)
            {
                let rank = self.agendas.take_rank();
                self.fabric.place_interface(link, side, rank);
                continue;
            }
            let (component, rank) = self.agendas.place(side, part);
            let next = match part {
                Part::Arrivals => self.starts.next_flow(),
                Part::Link(link) => {
                    let in_turns = self.turns.lookahead.is_some();
                    let state = self.fabric.link(link);
                    state.place(side, component, rank);
                    if has_hosts {
                        state.keep_no_packets();
                    }
                    state.is_ahead = in_turns && state.from_right;
                    None
                }
                Part::Source(table) => self.starts.place_source(table, component),
                Part::Datagrams(index) => Some(self.starts.place_datagrams(index, side, component)),
                Part::Cloud => self.fabric.place_cloud(component),
                Part::Flow(_) => None,
            };
            self.agendas[side].fixed.schedule(component, next);
        }
    }

    /// Lets the sides act in turns, if all parts of the run permit it.
    fn prepare_turns(&mut self, wanted: EventLoop) {
        let Ok(Crossing { back, lookahead }) = self.crossing(wanted) else {
            return;
        };
        self.turns.lookahead = Some(lookahead);
        if !back.is_empty() {
            self.fabric.link(FORWARD).to_right = true;
        }
        for link in back {
            let state = self.fabric.link(link);
            state.from_right = true;
            if state.link.decides_late() && !self.turns.late.contains(&link) {
                self.turns.late.push(link);
            }
        }
        self.turns.has_reverse_flows =
            self.scenario
                .path
                .traffic
                .iter()
                .any(|traffic| match traffic.kind {
                    TrafficKind::Datagrams { .. } => false,
                    TrafficKind::Exchanges(_) => true,
                    _ => traffic.direction == Direction::Reverse,
                });
    }

    fn side_of(&self, part: Part) -> Side {
        let is_right = match part {
            Part::Link(link) => self.fabric.is_to_right(link),
            Part::Datagrams(index) => {
                let table = self.starts.table_of_datagrams(index) as usize;
                self.scenario.path.traffic[table].direction == Direction::Reverse
            }
            Part::Arrivals | Part::Cloud | Part::Source(_) | Part::Flow(_) => false,
        };
        if is_right && self.turns.lookahead.is_some() {
            RIGHT
        } else {
            LEFT
        }
    }

    /// Runs to the end, at most to `end`.
    pub(super) fn run_in_turns(
        &mut self,
        lookahead: Duration,
        end: Instant,
        cancel: &AtomicBool,
    ) -> Result<(), RunError> {
        let over = end + NANO;
        loop {
            let next = self.agendas.soonest();
            if next >= over {
                if next < Instant::MAX {
                    self.now = end;
                }
                return Ok(());
            }
            // Nothing happens before.
            self.turns.received = self.turns.received.max(next);
            self.serve_late_links();
            let horizon = over.min(self.turns.received + lookahead);
            self.act_before(LEFT, Position::before(horizon), cancel)?;
            if self.unfinished == 0 {
                return Ok(());
            }
            let now = self.now;
            self.act_right(Position::before(horizon), cancel)?;
            self.turns.received = horizon;
            self.now = self.now.max(now);
        }
    }

    fn act_right(&mut self, bound: Position, cancel: &AtomicBool) -> Result<(), RunError> {
        self.turns.is_right = true;
        let result = self.act_before(RIGHT, bound, cancel);
        self.turns.is_right = false;
        result
    }

    /// Serves the queues of links to the left up to the time that the right side has reached. All
    /// packets that are due within the lookahead are then on their way.
    fn serve_late_links(&mut self) {
        if self.turns.received == Instant::ZERO {
            return;
        }
        let until = self.turns.received - NANO;
        for index in 0..self.turns.late.len() {
            let link = self.turns.late[index];
            let state = self.fabric.link(link);
            state.link.advance(until);
            state.reschedule(&mut self.agendas);
            if state.link.has_dropped() {
                self.note_dropped(link);
            }
        }
    }

    /// The right side does everything that comes before the event in progress on the left.
    pub(super) fn catch_up(&mut self) {
        if self.turns.lookahead.is_none() || self.turns.is_right {
            return;
        }
        let now = self.now;
        let position = self.turns.position.later(now);
        // Its links have delays, and nothing cancels it: it does not fail.
        let _ = self.act_right(position, &AtomicBool::new(false));
        (self.now, self.turns.position) = (now, position);
        self.turns.received = self.turns.received.max(now);
    }

    /// Lets the right side catch up before a flow starts, if flows also end on the right: a flow
    /// takes its number and its entry from those that ended.
    pub(super) fn keep_order_of_flows(&mut self) {
        if self.turns.has_reverse_flows {
            self.catch_up();
        }
    }

    /// Lets the right side catch up before a receiver on the left acts, if the sender may have
    /// ended the flow.
    #[inline(always)]
    pub(super) fn settle_end(&mut self, flow: u32) {
        if self.must_settle(flow) && self.flows.get_mut(flow).may_have_ended(self.now) {
            self.catch_up();
        }
    }

    /// Whether a sender on the right may end that flow.
    #[inline(always)]
    pub(super) const fn must_settle(&self, flow: u32) -> bool {
        self.turns.has_reverse_flows && flow & BACKGROUND != 0
    }
}
