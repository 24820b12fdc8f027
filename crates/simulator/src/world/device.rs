//! Senders that wait for their device or stand at a proxy, and applications that pause.

use super::World;
use crate::routes::Hop;

impl World<'_> {
    /// Reports to a sender the bytes that its device has sent, or gives it what has arrived at its
    /// proxy.
    #[cold]
    #[inline(never)]
    pub(super) fn settle_device(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        if let (Some(device), Some(endpoints)) = (&mut state.device, &mut state.endpoints) {
            endpoints.sender.handle_transmitted(device.take_sent(now));
        }
        if state.relay.is_some() {
            self.relay(flow);
        }
    }

    /// Schedules the wake-up of a sender that waits for its device, or of a pausing application.
    #[cold]
    #[inline(never)]
    pub(super) fn schedule_wakeup(&mut self, flow: u32) {
        let state = self.flows.get_mut(flow);
        state.pause(self.now);
        let deadline = state.device_deadline();
        let side = state.sender_side;
        if deadline < state.scheduled[side] {
            self.schedule(flow, side, deadline);
        }
    }

    /// Adds a packet of `bytes` to its sender's device, the first link of `route`.
    #[cold]
    #[inline(never)]
    pub(super) fn fill_device(&mut self, flow: u32, route: Hop, bytes: u32) {
        let link = self.routes.link(route);
        let leaves = self.links[link as usize].link.busy_until();
        let state = self.flows.get_mut(flow);
        if let (Some(device), Some(endpoints)) = (&mut state.device, &mut state.endpoints)
            && leaves > self.now
        {
            device.put(leaves, bytes);
            endpoints.sender.handle_queued(u64::from(bytes));
        }
    }
}
