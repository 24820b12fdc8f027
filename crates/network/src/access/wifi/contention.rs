//! Medium access: the backoff of one contender (EDCA of IEEE 802.11).
//!
//! A contender draws a number of slots after each of its frames and counts them down while the
//! medium is idle. It sends at the slot boundary at which none are left, if it has packets. A
//! boundary at which another station starts to send counts as well. A packet that arrives at an
//! idle medium after the countdown is sent at once; one that arrives at a busy medium causes a new
//! draw.
//!
//! ## Deviations
//!
//! - EDCA and Bianchi's model count this way. The older DCF of 802.11a, b and g does not count the
//!   slot in which another station starts to send; these standards are modelled as EDCA with one
//!   category too.
//! - A station that sends at once does so between slot boundaries, without collisions.
//! - After a collision all stations wait for AIFS, not for EIFS, as in Bianchi's model.

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::Instant;

use super::config::WifiConfig;
use super::phy::Phy;

#[derive(Clone, Debug)]
pub(super) struct Contender {
    rng: ChaCha8Rng,
    /// Slots to count, as of the moment at which the medium became idle.
    slots: u32,
    window: u32,
    least: u32,
    most: u32,
    /// Frames in a row that failed.
    failures: u8,
}

impl Contender {
    pub(super) fn new(config: &WifiConfig, rng: ChaCha8Rng) -> Self {
        let mut contender = Self {
            rng,
            slots: 0,
            window: config.cw_min,
            least: config.cw_min,
            most: config.cw_max.max(config.cw_min),
            failures: 0,
        };
        contender.draw();
        contender
    }

    /// Draws a number of slots in `0..=window`, from a stream of its own, in the order of this
    /// contender's frames and of its arrivals at a busy medium.
    fn draw(&mut self) {
        let choices = u64::from(self.window) + 1;
        self.slots = ((u64::from(self.rng.next_u32()) * choices) >> 32) as u32;
    }

    /// When it sends, if the medium is idle from `idle` on and it has packets from `ready` on.
    pub(super) fn start(&self, idle: Instant, ready: Instant, phy: &Phy) -> Instant {
        (idle + phy.aifs + phy.slot * u64::from(self.slots)).max(ready)
    }

    /// Another station starts to send at `at`; the medium has been idle since `idle`.
    pub(super) fn freeze(&mut self, idle: Instant, at: Instant, phy: &Phy) {
        if self.slots == 0 {
            return;
        }
        let begin = idle + phy.aifs;
        if at >= begin {
            let passed = at.saturating_since(begin).as_nanos() / phy.slot.as_nanos() + 1;
            let passed = u32::try_from(passed).unwrap_or(u32::MAX);
            self.slots = self.slots.saturating_sub(passed);
        }
    }

    /// It has a packet to send while the medium is busy.
    pub(super) fn meets_busy(&mut self) {
        if self.slots == 0 {
            self.draw();
        }
    }

    /// Frames in a row that failed.
    pub(super) const fn failures(&self) -> u8 {
        self.failures
    }

    pub(super) fn succeeded(&mut self) {
        self.window = self.least;
        self.failures = 0;
        self.draw();
    }

    pub(super) fn failed(&mut self) {
        let doubled = self.window.saturating_mul(2).saturating_add(1);
        self.window = doubled.min(self.most);
        self.failures = self.failures.saturating_add(1);
        self.draw();
    }
}
