//! Proxies that split connections (Border, Kojo, Griner, Montenegro and Shelby 2001, RFC 3135,
//! section 2.4.1).
//!
//! Each leg of a split connection is a flow of its own. At a proxy, the receiver of one leg meets
//! the sender of the next one. The proxy answers a SYN itself, and opens the next leg in that
//! instant. It writes what has arrived in order into the next leg at once, and the FIN too. The
//! data stays in the receive buffer until the next leg has acknowledged it, so the receive window
//! tells the sender what the whole proxy can take, and the proxy never holds more than its buffer.
//!
//! ## Assumptions
//!
//! - A proxy takes no time of its own, and its partial segments never wait (TCP_NODELAY).
//! - Its buffer is fixed (SO_RCVBUF); the receive window is not autotuned there.
//! - It answers the SYN before the receiver has accepted the connection. Receivers always do.
//! - It keeps options that belong to the end-to-end connection to the leg (SACK, timestamps, ECN,
//!   router feedback).
//!
//! The first leg is the flow that a result is about: its sender-side numbers are those of the first
//! leg. Goodput and completion come from the last receiver.

use std::iter;

use congestion::PathMemory;
use scenario::Flow;
use units::{Bytes, Instant};

use super::World;
use crate::connection::Connection;
use crate::fabric::Way;
use crate::flow::{Arrived, FlowState, Placement, Stock};
use crate::legs::Course;

/// A leg behind the first one.
pub(super) struct Leg<'a> {
    pub config: &'a Flow,
    pub way: Way,
    pub smss: Option<u32>,
}

/// The legs of one-way data behind the first one.
pub(super) fn behind<'a>(course: &'a Course, ways: &[Way]) -> Vec<Leg<'a>> {
    let legs = course.there.iter().zip(ways).skip(1);
    legs.map(|(config, way)| Leg {
        config,
        way: *way,
        smss: None,
    })
    .collect()
}

impl<'a> World<'a> {
    /// Adds the legs behind `first`, a flow whose endpoints exist. Returns the numbers of all legs,
    /// or `None` if too many flows are open.
    pub(super) fn chain(&mut self, first: u32, rest: &[Leg<'a>], seed: u64) -> Option<Vec<u32>> {
        let connection = *self.flows.get_mut(first).place();
        let mut numbers = vec![first];
        for (leg, number) in rest.iter().zip(1..) {
            let place = Placement {
                source: connection.source,
                reverse: connection.reverse,
                size: Some(Bytes::ZERO),
                ..Placement::new(leg.config, leg.way, connection.start)
            };
            let mut state = FlowState::new(place.with_smss(leg.smss));
            state.wake_application(Instant::MAX);
            let Some((flow, state, pool)) = self.flows.open(state) else {
                for &flow in &numbers[1..] {
                    let _ = self.flows.close(flow);
                }
                return None;
            };
            let seed = || seed.wrapping_add(LEG_SEED.wrapping_mul(number));
            state.prepare(seed, PathMemory::default(), self.is_plain, pool);
            if let Some(endpoints) = state.endpoints_mut() {
                endpoints.omit_measurements();
                endpoints.sender().send_promptly();
            }
            numbers.push(flow);
        }
        for &flow in &numbers[1..] {
            let component = self.component(flow);
            self.flows.get_mut(flow).enter_calendar(component);
        }
        if let [held @ .., _] = &numbers[..] {
            for &flow in held {
                if let Some(endpoints) = self.endpoints(flow) {
                    endpoints.hold();
                }
            }
        }
        Some(numbers)
    }

    /// Makes `first`, a flow whose endpoints exist, the first leg of a connection in which one side
    /// writes. False, and it stays alone, if too many flows are open.
    pub(super) fn split(&mut self, first: u32, rest: &[Leg<'a>], seed: u64) -> bool {
        let legs = self.chain(first, rest, seed);
        if let Some(legs) = &legs {
            self.flows.join(&Connection::new(legs, &[]));
        }
        legs.is_some()
    }

    /// Something has arrived at a proxy over the leg before `next`.
    pub(super) fn wake_leg(&mut self, next: u32) {
        let now = self.now;
        let state = self.flows.get_mut(next);
        state.open_leg(now);
        self.transmit(next);
    }

    /// Passes what has arrived over the leg before `flow` to its sender, and gives up what that has
    /// delivered.
    pub(super) fn relay(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        let (Some(feeder), Some(endpoints)) = (state.before(), state.endpoints()) else {
            return;
        };
        let (written, released) = endpoints.written_and_acknowledged();
        let state = self.flows.get_mut(feeder);
        let Some(endpoints) = state.endpoints_mut() else {
            return;
        };
        let Stock {
            received,
            has_ended,
        } = endpoints.release(now, released);
        let more = received - written;
        if endpoints.has_ack() {
            self.acknowledge(feeder);
        } else {
            state.keep_receiver(&mut self.agendas);
        }
        let state = self.flows.get_mut(flow);
        let Some(endpoints) = state.endpoints_mut() else {
            return;
        };
        if more > 0 {
            endpoints.sender().write(now, more);
        }
        if has_ended {
            endpoints.sender().close();
        }
        if more > 0 || has_ended {
            state.accept(now);
        }
    }

    /// The sender of `flow` has all of its data acknowledged: the connection ends once this is so
    /// on all legs.
    #[inline]
    pub(super) fn complete(&mut self, flow: u32) {
        if self.flows.get_mut(flow).is_split() {
            return self.complete_leg(flow);
        }
        self.finish(flow);
    }

    #[cold]
    fn complete_leg(&mut self, flow: u32) {
        let (first, behind) = self.flows.legs(flow);
        let mut legs = iter::once(first).chain(behind);
        if legs.all(|leg| self.flows.get_mut(leg).is_complete()) {
            self.finish(first);
        }
    }

    /// Ends the legs `behind` the first one of a connection. Returns what has arrived at the last
    /// receiver, if there are any.
    pub(super) fn end_legs(&mut self, behind: &[u32]) -> Option<Arrived> {
        let mut arrived = None;
        for &flow in behind {
            let (state, pool) = self.flows.close(flow)?;
            arrived = state.leave(pool);
            let component = state.leave_calendar();
            if let Some(component) = component {
                self.release(component);
            }
        }
        arrived
    }
}

/// Legs draw from different random numbers.
const LEG_SEED: u64 = 0x9e37_79b9_7f4a_7c15;
