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

/// How many packets ahead the state of a flow is requested, then that of its ends, then what those
/// point to. Each request reads what the one before has brought.
const AHEAD: [u64; 3] = [9, 6, 3];

impl World<'_> {
    /// Whether so many flows have run at a time that [`Self::expect_flows`] pays.
    #[inline(always)]
    pub(super) const fn has_many_flows(&self) -> bool {
        self.running.len() > MANY_FLOWS
    }

    /// Requests the state of the flows whose packets leave a link soon.
    #[inline(never)]
    pub(super) fn expect_flows(&self, link: u32) {
        let link = &self.fabric.links()[link as usize].link;
        let arriving = |count| {
            let packet = link.ahead(count)?;
            let arrives = self.fabric.routes().is_last(packet.payload.hop());
            arrives.then_some((packet.flow, packet.payload.is_ack()))
        };
        let [first, second, third] = AHEAD;
        if let Some((flow, _)) = arriving(first) {
            self.flows.expect(flow);
        }
        if let Some((flow, is_ack)) = arriving(second)
            && let Some(state) = self.flows.get(flow)
        {
            state.expect_ends(is_ack);
        }
        if let Some((flow, is_ack)) = arriving(third)
            && let Some(state) = self.flows.get(flow)
        {
            let side = state.expect_behind(is_ack);
            if let Some(component) = state.component() {
                self.agendas[side].flows.expect(component);
            }
        }
    }
}
