//! Packets that cross the cloud of the fabric, which is one part with one calendar entry.

use network::Packet;
use units::{Duration, Instant};

use super::World;
use crate::agenda::Side;
use crate::carried::Carried;

/// How far the cloud goes at once, before the loop looks whether the run was cancelled.
const MOST_AT_ONCE: Duration = Duration::from_millis(100);

impl World<'_> {
    /// Passes a packet to the cloud; `number` is that of its crossing. False: no device of the
    /// sender holds it.
    #[cold]
    #[inline(never)]
    pub(super) fn cross(&mut self, number: u32, packet: Packet<Carried>) -> bool {
        self.fabric.enter_cloud(self.now, number, packet);
        self.note_lost_in_cloud();
        self.fabric.reschedule_cloud(&mut self.agendas);
        false
    }

    /// Lets the cloud act until packets leave it or are lost in it, but not past the next event of
    /// any other part of the run or `bound`.
    #[inline(never)]
    pub(super) fn cloud_acts(&mut self, side: Side, bound: Instant) {
        let Some(component) = self.fabric.cloud_component() else {
            return;
        };
        let mut until = self.now;
        let other = self.agendas[side].soonest_other(component);
        // With nothing else scheduled, the run may end with an event in the cloud: one by one, because
        // its end has the time of that event.
        if !self.is_plain && other < Instant::MAX {
            let before = other.min(bound).min(self.now + MOST_AT_ONCE);
            until = until.max(Instant::from_nanos(before.as_nanos().saturating_sub(1)));
        }
        self.fabric.advance_cloud(until);
        let mut seen = until;
        while let Some((at, packet)) = self.fabric.leave_cloud() {
            self.now = self.now.max(at);
            seen = self.now;
            self.arrive(&packet);
        }
        if let Some(at) = self.note_lost_in_cloud() {
            self.now = self.now.max(at);
            seen = self.now;
        }
        self.fabric.note_cloud_at(seen);
        self.fabric.reschedule_cloud(&mut self.agendas);
    }

    /// Records what the cloud has lost; returns the time of the last loss.
    fn note_lost_in_cloud(&mut self) -> Option<Instant> {
        let mut last = None;
        while let Some((at, packet)) = self.fabric.take_lost_in_cloud() {
            last = Some(at);
            self.note_drop(at, packet);
        }
        last
    }
}
