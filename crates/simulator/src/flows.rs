//! The flows of a run by their numbers: those that are measured, and those of other traffic that
//! are open.
//!
//! A measured flow's number is its place in the scenario. Those of other traffic are above
//! [`OTHER`]: the place of the flow's state, which is used again, and how often it was. A packet
//! that outlives its flow so belongs to nobody.

use std::collections::VecDeque;

use crate::flow::FlowState;

/// Numbers of other traffic have this bit.
pub const OTHER: u32 = 1 << 31;
/// Those of datagrams, which have no flow, have this one too.
pub const DATAGRAMS: u32 = OTHER | 1 << 30;
const PLACE_BITS: u32 = 16;
/// Flows of other traffic that may be open at a time.
const MOST_OPEN: usize = (1 << PLACE_BITS) - 1;
const GENERATIONS: u32 = 1 << (30 - PLACE_BITS);

/// All flows of a run.
pub struct Flows<'a> {
    pub measured: Vec<FlowState<'a>>,
    /// Flows of other traffic; the first is nobody's.
    others: Vec<Slot<'a>>,
    /// Places without a flow, the one that was given up first at the front.
    free: VecDeque<u32>,
}

/// A place for a flow of other traffic.
struct Slot<'a> {
    generation: u32,
    is_open: bool,
    state: FlowState<'a>,
}

impl<'a> Flows<'a> {
    /// Room for measured flows; with other traffic, `nobody` is what has the packets that outlived their flow.
    pub fn new(measured: usize, nobody: Option<FlowState<'a>>) -> Self {
        let slot = |state| Slot {
            generation: 0,
            is_open: false,
            state,
        };
        Self {
            measured: Vec::with_capacity(measured),
            others: nobody.map(slot).into_iter().collect(),
            free: VecDeque::new(),
        }
    }

    /// The flow of that number, if it is one that is measured, or one of other traffic that is open; else
    /// nobody's.
    #[inline(always)]
    pub fn get_mut(&mut self, flow: u32) -> &mut FlowState<'a> {
        if (flow as usize) < self.measured.len() {
            return &mut self.measured[flow as usize];
        }
        self.other(flow)
    }

    #[cold]
    #[inline(never)]
    fn other(&mut self, flow: u32) -> &mut FlowState<'a> {
        let place = if self.is_open(flow) { place(flow) } else { 0 };
        &mut self.others[place].state
    }

    fn is_open(&self, flow: u32) -> bool {
        let slot = self.others.get(place(flow));
        slot.is_some_and(|slot| slot.is_open && number(slot.generation, place(flow)) == flow)
    }

    /// Takes in a flow of other traffic and returns its number; `None` where too many are open.
    pub fn open(&mut self, state: FlowState<'a>) -> Option<u32> {
        let place = match self.free.pop_front() {
            Some(place) => {
                self.others[place as usize].state = state;
                place as usize
            }
            None if self.others.len() <= MOST_OPEN => {
                self.others.push(Slot {
                    generation: 0,
                    is_open: false,
                    state,
                });
                self.others.len() - 1
            }
            None => return None,
        };
        let slot = &mut self.others[place];
        slot.is_open = true;
        Some(number(slot.generation, place))
    }

    /// Takes a flow of other traffic away, and returns what is left of it.
    pub fn close(&mut self, flow: u32) -> Option<&mut FlowState<'a>> {
        if !self.is_open(flow) {
            return None;
        }
        self.free.push_back(place(flow) as u32);
        let slot = &mut self.others[place(flow)];
        slot.generation = (slot.generation + 1) % GENERATIONS;
        slot.is_open = false;
        Some(&mut slot.state)
    }

    /// The numbers of other traffic that is open.
    pub fn open_others(&self) -> Vec<u32> {
        (0..)
            .zip(&self.others)
            .filter(|(_, slot)| slot.is_open)
            .map(|(place, slot)| number(slot.generation, place))
            .collect()
    }
}

const fn place(flow: u32) -> usize {
    (flow % (1 << PLACE_BITS)) as usize
}

const fn number(generation: u32, place: usize) -> u32 {
    OTHER | generation << PLACE_BITS | place as u32
}

#[cfg(test)]
mod tests {
    use congestion::Algorithm;
    use scenario::{Flow, PathModel, Scenario};
    use units::{Duration, Instant};

    use super::*;
    use crate::flow::Placement;

    #[test]
    fn places_are_used_again_and_a_packet_that_outlives_its_flow_belongs_to_nobody() {
        let path = PathModel::resolve("wired").expect("a preset");
        let flow = Flow::new(Algorithm::parse("cubic").expect("an algorithm"));
        let scenario = Scenario::new(path, vec![flow.clone()]);
        let state = |flow| {
            let place = Placement {
                index: 0,
                data: [0, 0],
                acks: [1, 1],
                start: Instant::ZERO,
                size: None,
                stop: None,
                extra_delay: Duration::ZERO,
            };
            FlowState::new(&scenario, flow, place)
        };
        let mut flows = Flows::new(1, Some(state(&flow)));
        flows.measured.push(state(&flow));
        let mut before = Vec::new();
        for _ in 0..2 * GENERATIONS {
            let number = flows.open(state(&flow)).expect("there is room");
            assert_eq!(number & DATAGRAMS, OTHER, "numbers of datagrams are others");
            assert_eq!(flows.open_others(), [number]);
            let recent = before.iter().rev().take(GENERATIONS as usize - 1);
            assert!(recent.take(100).all(|&old| !flows.is_open(old)));
            assert!(flows.close(number).is_some() && flows.close(number).is_none());
            before.push(number);
        }
        assert_eq!(
            flows.others.len(),
            2,
            "nobody's place and one that is used again"
        );
        assert!(!flows.is_open(0) && !flows.is_open(OTHER) && !flows.is_open(DATAGRAMS));
        for stale in [before[0], DATAGRAMS, u32::MAX] {
            assert!(flows.get_mut(stale).endpoints.is_none());
        }
        // There is an end to those that are open.
        while flows.open(state(&flow)).is_some() {}
        assert_eq!(flows.open_others().len(), MOST_OPEN);
    }
}
