//! What a node knows about the medium, and its backoff.

use units::{Duration, Instant};

use super::config::{DIFS, SLOT};
use crate::NodeId;
use crate::adhoc::air::{Listen, Signal};

/// The backoff of a node and its virtual carrier sense.
///
/// The air calls it in the order of the node's past, so the backoff is correct whenever somebody
/// asks: it counts in idle slots after the medium was idle for DIFS, and stops while it is busy.
#[derive(Debug, Default)]
pub(super) struct Contention {
    /// Whether there is a backoff.
    counting: bool,
    /// Slots left when the medium last became idle.
    slots: u32,
    /// The backoff began.
    since: Instant,
    /// Other nodes have reserved the medium until then.
    nav: Instant,
    /// A frame with errors defers the node: DIFS after this, EIFS has passed since its end.
    errors: Instant,
    /// How much longer EIFS is than DIFS.
    penalty: Duration,
}

impl Contention {
    /// Sets how much longer a node waits after a frame with errors.
    pub(super) const fn set_penalty(&mut self, penalty: Duration) {
        self.penalty = penalty;
    }

    /// Begins a backoff of `slots` at `now`.
    pub(super) const fn begin(&mut self, now: Instant, slots: u32) {
        self.counting = true;
        self.slots = slots;
        self.since = now;
    }

    /// Ends the backoff.
    pub(super) const fn stop(&mut self) {
        self.counting = false;
    }

    /// Whether another node has reserved the medium.
    pub(super) fn is_reserved(&self, now: Instant) -> bool {
        self.nav > now
    }

    /// When the backoff ends if the medium is idle from `idle` on; `None` if there is none.
    pub(super) fn ends(&self, idle: Instant) -> Option<Instant> {
        let wait = SLOT.mul_div(self.slots.into(), 1);
        self.counting.then(|| self.starts(idle) + wait)
    }

    /// When slots count, or a node may send without a backoff, if the medium is idle from `idle`
    /// on.
    pub(super) fn starts(&self, idle: Instant) -> Instant {
        let free = idle.max(self.nav).max(self.errors) + DIFS;
        free.max(self.since)
    }
}

impl Listen for Contention {
    fn minds_busy(&self) -> bool {
        self.counting
    }

    fn busy(&mut self, at: Instant, idle: Instant) {
        if !self.counting {
            return;
        }
        let counted = at.saturating_since(self.starts(idle)).as_nanos() / SLOT.as_nanos();
        let left = u64::from(self.slots).saturating_sub(counted);
        let ended = at >= self.starts(idle) && left == 0;
        self.slots = left as u32;
        self.counting = !ended;
    }

    fn heard(&mut self, node: NodeId, frame: &Signal, end: Instant) {
        if frame.to != node {
            self.nav = self.nav.max(end + Duration::from_nanos(frame.note));
        }
    }

    fn garbled(&mut self, end: Instant) {
        self.errors = self.errors.max(end + self.penalty);
    }
}
