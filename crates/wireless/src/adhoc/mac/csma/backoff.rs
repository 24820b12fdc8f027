//! The backoff of CSMA-CA (IEEE 802.15.4-2015, section 6.2.5.1), with and without slots.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;

use super::config::CsmaConfig;

/// How often a node found the channel busy for its frame, and how long it waits next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backoff {
    /// Busy channels so far (NB).
    busy: u8,
    /// The backoff exponent (BE).
    exponent: u8,
}

impl Backoff {
    /// Of a frame that a node has not tried to send.
    #[must_use]
    pub const fn new(config: &CsmaConfig) -> Self {
        Self {
            busy: 0,
            exponent: config.min_be,
        }
    }

    /// Draws the backoff periods that the node waits: uniform from 0 to 2^BE - 1.
    pub fn draw(self, rng: &mut ChaCha8Rng) -> u32 {
        // The range is a power of two, so that the lowest bits are uniform.
        rng.next_u32() & ((1 << self.exponent.min(8)) - 1)
    }

    /// The channel is busy. The node waits again, or `None`: it gives up.
    #[must_use]
    pub fn again(self, config: &CsmaConfig) -> Option<Self> {
        (self.busy < config.max_backoffs).then(|| Self {
            busy: self.busy + 1,
            exponent: (self.exponent + 1).min(config.max_be),
        })
    }
}
