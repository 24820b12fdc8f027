//! Senders that wait for their device or stand at a proxy, and applications that pause.
//!
//! A link that knows on arrival when a packet leaves is a device with a schedule. A shared medium
//! (Wi-Fi) reports each packet at the start of the frame that carries it: it leaves the device once
//! the frame is acknowledged, as a driver frees a packet when its transmission is complete.

use network::{DropReason, Dropped};
use units::Instant;

use super::World;
use crate::carried::{Carried, HANDSHAKE_ACK_SIZE};
use crate::routes::Hop;

impl World<'_> {
    /// Lets the media that are devices of senders report their packets.
    pub(super) fn watch_devices(&mut self) {
        for flow in 0..self.flows.measured.len() {
            let state = &self.flows.measured[flow];
            if state.has_device() {
                self.fabric.watch_device(state.place().data);
            }
        }
    }

    /// Reports to a sender the bytes that its device has sent, or gives it what has arrived at its
    /// proxy.
    #[cold]
    #[inline(never)]
    pub(super) fn settle_device(&mut self, flow: u32) {
        let now = self.now;
        let state = self.flows.get_mut(flow);
        if let Some((device, endpoints)) = state.device_and_endpoints() {
            endpoints.sender().handle_transmitted(device.take_sent(now));
        }
        if state.before().is_some() {
            self.relay(flow);
        }
    }

    /// Schedules the wake-up of a sender that waits for its device, or of a pausing application.
    #[cold]
    #[inline(never)]
    pub(super) fn schedule_wakeup(&mut self, flow: u32) {
        let state = self.flows.get_mut(flow);
        state.pause(self.now);
        state.keep_device(&mut self.agendas);
    }

    /// Adds a packet of `bytes` to its sender's device, the first link of `route`.
    #[cold]
    #[inline(never)]
    pub(super) fn fill_device(&mut self, flow: u32, route: Hop, bytes: u32) {
        let link = self.fabric.routes().link(route);
        let (leaves, is_radio) = match self.fabric.interface_busy_until(link) {
            Some(until) => (until, false),
            None => {
                let link = &self.fabric.links()[link as usize].link;
                (link.busy_until(), link.decides_late())
            }
        };
        let state = self.flows.get_mut(flow);
        if let Some((device, endpoints)) = state.device_and_endpoints()
            && (is_radio || leaves > self.now)
        {
            if !is_radio {
                device.put(leaves, bytes);
            }
            endpoints.sender().handle_queued(u64::from(bytes));
        }
    }

    /// Takes the reports of all radios.
    #[cold]
    #[inline(never)]
    pub(super) fn note_sent(&mut self) {
        while let Some((link, sent)) = self.fabric.take_sent() {
            self.leaves_radio(link, sent.flow, sent.at, sent.bytes);
        }
    }

    /// A queue discipline of a radio has dropped a packet. One that the radio gave up is among its
    /// reports.
    #[cold]
    pub(super) fn note_dropped_by_device(&mut self, link: u32, dropped: &Dropped<Carried>) {
        if dropped.reason != DropReason::Loss && self.fabric.is_radio(link) {
            let packet = &dropped.packet;
            if !packet.payload.is_ack() {
                self.leaves_radio(link, packet.flow, dropped.at.max(self.now), packet.size);
            }
        }
    }

    fn leaves_radio(&mut self, link: u32, flow: u32, at: Instant, bytes: u32) {
        let state = self.flows.get_mut(flow);
        let data = state.place().data;
        let Some(device) = state.device_mut() else {
            return;
        };
        // A pure ACK never counts, and data is longer.
        if bytes > HANDSHAKE_ACK_SIZE && self.fabric.routes().link(data) == link {
            device.put(at, bytes);
            state.keep_device(&mut self.agendas);
        }
    }
}
