//! The flows of a run by number: the measured flows, and the open flows of background traffic.
//!
//! Numbers of background flows combine [`BACKGROUND`], the slot of the flow's state, and a
//! generation, which counts how often the slot was reused. A packet that outlives its flow
//! therefore matches no later flow.

use std::collections::VecDeque;

use measure::FlowResult;
use prefetch::prefetch;

use crate::connection::Connection;
use crate::flow::{FlowState, Pool};
use crate::numbers::BACKGROUND;

/// A slot is free again only once its flow is over, and packets outlive their flow by less than 1024
/// flows last.
const PLACE_BITS: u32 = 20;
/// Most background flows that may be open at a time.
const MOST_OPEN: usize = (1 << PLACE_BITS) - 1;
const GENERATIONS: u32 = 1 << (30 - PLACE_BITS);

/// All flows of a run.
pub struct Flows<'a> {
    pub measured: Vec<FlowState<'a>>,
    /// The results of measured flows by number; of one that is not over, as if it had not started. It
    /// grows as flows end.
    results: Vec<FlowResult>,
    /// The memory of connections that are over.
    pub pool: Pool<'a>,
    /// Flows of background traffic. The first slot receives the packets of closed flows.
    background: Vec<Slot<'a>>,
    /// Free slots, the one freed first at the front.
    free: VecDeque<u32>,
    most_open: usize,
}

/// A slot for a flow of background traffic.
struct Slot<'a> {
    /// The number of the open flow, or [`CLOSED`].
    number: u32,
    generation: u32,
    state: FlowState<'a>,
}

/// No open flow has this number, and no slot but that for orphans has its place.
const CLOSED: u32 = 0;

impl<'a> Flows<'a> {
    /// Space for the measured flows. With background traffic, `orphans` receives the packets that
    /// outlive their flow.
    pub fn new(measured: usize, orphans: Option<FlowState<'a>>) -> Self {
        let slot = |state| Slot {
            number: CLOSED,
            generation: 0,
            state,
        };
        Self {
            measured: Vec::with_capacity(measured),
            results: Vec::with_capacity(measured),
            pool: Pool::default(),
            background: orphans.map(slot).into_iter().collect(),
            free: VecDeque::new(),
            most_open: MOST_OPEN,
        }
    }

    /// The measured or open background flow of that number, or else the state for orphans.
    #[inline(always)]
    pub fn get_mut(&mut self, flow: u32) -> &mut FlowState<'a> {
        if (flow as usize) < self.measured.len() {
            return &mut self.measured[flow as usize];
        }
        self.background(flow)
    }

    #[inline(never)]
    fn background(&mut self, flow: u32) -> &mut FlowState<'a> {
        let place = place(flow);
        let slot = self.background.get(place);
        let is_open = slot.is_some_and(|slot| slot.number == flow);
        &mut self.background[if is_open { place } else { 0 }].state
    }

    /// The measured flow of that number, or the flow in the slot of a background flow, open or not.
    #[inline(always)]
    pub fn get(&self, flow: u32) -> Option<&FlowState<'a>> {
        if flow & BACKGROUND == 0 {
            return self.measured.get(flow as usize);
        }
        Some(&self.background.get(place(flow))?.state)
    }

    /// Asks for the memory of a flow's state. It changes nothing.
    #[inline(always)]
    pub fn expect(&self, flow: u32) {
        if let Some(state) = self.get(flow) {
            prefetch(state);
        }
    }

    #[inline(always)]
    pub fn is_open(&self, flow: u32) -> bool {
        let slot = self.background.get(place(flow));
        slot.is_some_and(|slot| slot.number == flow) && flow != CLOSED
    }

    /// Makes flows one connection.
    pub fn join(&mut self, connection: &Connection) {
        for (flow, member) in connection.members() {
            let member = self.pool.member(member);
            self.get_mut(flow).join(member);
        }
    }

    /// The first leg of the direction of a connection that `flow` belongs to, and those behind it.
    pub fn legs(&mut self, flow: u32) -> (u32, Vec<u32>) {
        match self.get_mut(flow).member() {
            None => (flow, Vec::new()),
            Some(member) => {
                let (first, behind) = member.legs();
                (first, behind.to_vec())
            }
        }
    }

    /// Opens a flow of background traffic. Returns its number, its state, and the memory for its
    /// endpoints; `None` if too many are open.
    pub fn open(
        &mut self,
        state: FlowState<'a>,
    ) -> Option<(u32, &mut FlowState<'a>, &mut Pool<'a>)> {
        let place = match self.free.pop_front() {
            Some(place) => {
                let old = &mut self.background[place as usize].state;
                self.pool.take(old);
                *old = state;
                place as usize
            }
            None if self.background.len() <= self.most_open => {
                self.background.push(Slot {
                    number: CLOSED,
                    generation: 0,
                    state,
                });
                self.background.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.background[place];
        slot.number = number(slot.generation, place);
        Some((slot.number, &mut slot.state, &mut self.pool))
    }

    /// Closes a flow of background traffic and returns its last state, and the memory that takes
    /// its endpoints.
    pub fn close(&mut self, flow: u32) -> Option<(&mut FlowState<'a>, &mut Pool<'a>)> {
        if !self.is_open(flow) {
            return None;
        }
        self.free.push_back(place(flow) as u32);
        let slot = &mut self.background[place(flow)];
        slot.generation = (slot.generation + 1) % GENERATIONS;
        slot.number = CLOSED;
        Some((&mut slot.state, &mut self.pool))
    }

    /// Keeps the result of a measured flow that is over.
    pub fn keep_result(&mut self, flow: u32, result: FlowResult) {
        let place = flow as usize;
        self.fill_results(place);
        match self.results.get_mut(place) {
            Some(unstarted) => *unstarted = result,
            None => self.results.push(result),
        }
    }

    /// The results of the measured flows at the end of a run.
    pub fn take_results(&mut self) -> Vec<FlowResult> {
        self.fill_results(self.measured.len());
        std::mem::take(&mut self.results)
    }

    /// Ensures that the flows before number `until` have results.
    fn fill_results(&mut self, until: usize) {
        let begin = self.results.len();
        let missing = self.measured.get(begin..until).unwrap_or_default();
        let unstarted = missing.iter().map(|flow| flow.unstarted(&mut self.pool));
        self.results.extend(unstarted);
    }

    /// The numbers of the open background flows.
    pub fn open_background(&self) -> Vec<u32> {
        let numbers = self.background.iter().map(|slot| slot.number);
        numbers.filter(|&number| number != CLOSED).collect()
    }
}

const fn place(flow: u32) -> usize {
    (flow % (1 << PLACE_BITS)) as usize
}

const fn number(generation: u32, place: usize) -> u32 {
    BACKGROUND | generation << PLACE_BITS | place as u32
}

#[cfg(test)]
mod tests {
    use congestion::Algorithm;
    use scenario::Flow;
    use units::{Duration, Instant};

    use super::*;
    use crate::fabric::Way;
    use crate::flow::Placement;
    use crate::numbers::DATAGRAMS;
    use crate::routes::Hop;

    #[test]
    fn slots_are_reused_and_a_packet_that_outlives_its_flow_matches_no_flow() {
        let flow = Flow::new(Algorithm::parse("cubic").expect("an algorithm"));
        let state = |flow| {
            let way = Way {
                data: Hop(0),
                acks: Hop(0),
                base_rtt: Duration::ZERO,
            };
            FlowState::new(Placement::new(flow, way, Instant::ZERO))
        };
        let mut flows = Flows::new(1, Some(state(&flow)));
        flows.measured.push(state(&flow));
        let mut before = Vec::new();
        for _ in 0..2 * GENERATIONS {
            let (number, ..) = flows.open(state(&flow)).expect("a free slot");
            assert_eq!(
                number & DATAGRAMS,
                BACKGROUND,
                "datagrams have other numbers"
            );
            assert_eq!(flows.open_background(), [number]);
            let recent = before.iter().rev().take(GENERATIONS as usize - 1);
            assert!(recent.take(100).all(|&old| !flows.is_open(old)));
            assert!(flows.close(number).is_some() && flows.close(number).is_none());
            before.push(number);
        }
        assert_eq!(
            flows.background.len(),
            2,
            "the slot for orphans, and one that is reused"
        );
        assert!(!flows.is_open(0) && !flows.is_open(BACKGROUND) && !flows.is_open(DATAGRAMS));
        for stale in [before[0], DATAGRAMS, u32::MAX] {
            assert!(flows.get_mut(stale).endpoints().is_none());
        }
        // The number of open flows is bounded.
        flows.most_open = 70_000;
        while flows.open(state(&flow)).is_some() {}
        assert_eq!(flows.open_background().len(), 70_000);
    }
}
