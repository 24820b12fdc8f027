//! What of a flow is requested before a packet arrives (see `world::ahead`).

use prefetch::prefetch;

use super::FlowState;
use crate::agenda::Side;

impl FlowState<'_> {
    /// Asks for the memory of the end at which the packet arrives.
    #[inline(always)]
    pub fn expect_ends(&self, is_ack: bool) {
        let Some(endpoints) = self.endpoints() else {
            return;
        };
        if is_ack {
            prefetch(&endpoints.sender);
            prefetch(&endpoints.next_check);
            prefetch(&endpoints.established);
        } else {
            prefetch(&endpoints.receiver);
        }
        prefetch(&endpoints.probe);
    }

    /// Asks for what that end points to, and returns its side.
    #[inline(always)]
    pub fn expect_behind(&self, is_ack: bool) -> Side {
        if is_ack && let Some(endpoints) = self.endpoints() {
            endpoints.sender.expect_ack();
            if let Some(startup) = endpoints.startup.as_deref() {
                prefetch(startup);
            }
        }
        if is_ack {
            self.sender_side
        } else {
            self.receiver_side
        }
    }
}
