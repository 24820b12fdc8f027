//! Shortcut: the event loop asks the processor for the state of what acts soon.
//!
//! With thousands of flows, the state of each lies in no cache when its turn comes. What comes next is
//! known: the packets on the delay line of a link are in order. So the memory of their flows is
//! requested while the packets before them are handled.
//!
//! It is exact because a request changes no value. A wrong guess costs a few instructions. With few
//! flows the state is in a cache anyway, and nothing is requested. (The state of access links is not
//! requested: with 10,000 hosts the time stayed within the noise.)

use super::World;

/// Fewer flows at a time, at about four kilobytes each, stay in the caches of a processor: with 1000,
/// the requests cost 3 % on an idle machine.
const MANY_FLOWS: usize = 2048;

/// How many packets ahead the state of a flow is requested.
const AHEAD: u64 = 9;
/// How many packets later that of its ends is requested, and then what those point to. Each request
/// reads what the one before has brought.
const LATER: [usize; 2] = [3, 6];
/// Enough for [`LATER`].
const KEPT: usize = 8;

/// The packets whose flows have been requested: the flow, and whether it is an ACK. A packet is looked
/// up once, and not again for each of its requests.
#[derive(Debug)]
pub(super) struct Ahead {
    packets: [(u32, bool); KEPT],
    next: usize,
}

impl Default for Ahead {
    fn default() -> Self {
        Self {
            packets: [NOTHING; KEPT],
            next: 0,
        }
    }
}

/// No packet: no flow has this number.
const NOTHING: (u32, bool) = (u32::MAX, false);

impl Ahead {
    /// Takes the next packet. Returns those that came before it by [`LATER`].
    #[inline(always)]
    fn take(&mut self, packet: (u32, bool)) -> [(u32, bool); 2] {
        self.next = (self.next + 1) % KEPT;
        self.packets[self.next] = packet;
        LATER.map(|by| self.packets[(self.next + KEPT - by) % KEPT])
    }
}

impl World<'_> {
    /// Whether so many flows have run at a time that [`Self::expect_flows`] pays.
    #[inline(always)]
    pub(super) const fn has_many_flows(&self) -> bool {
        self.running.len() > MANY_FLOWS
    }

    /// Requests the state of the flows whose packets leave a link soon.
    #[inline(never)]
    pub(super) fn expect_flows(&mut self, link: u32) {
        let packet = self.fabric.links()[link as usize].link.ahead(AHEAD);
        let arriving = packet.filter(|packet| self.fabric.routes().is_last(packet.payload.hop()));
        let first = arriving.map_or(NOTHING, |packet| (packet.flow, packet.payload.is_ack()));
        let [second, third] = self.ahead.take(first);
        self.flows.expect(first.0);
        if let Some(state) = self.flows.get(second.0) {
            state.expect_ends(second.1);
        }
        if let Some(state) = self.flows.get(third.0) {
            let side = state.expect_behind(third.1);
            if let Some(component) = state.component() {
                self.agendas[side].flows.expect(component);
            }
        }
    }
}
