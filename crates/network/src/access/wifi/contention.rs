//! Who may send next: the backoff of one contender (EDCA; network-models, section B.5.2).
//!
//! A contender draws a number of slots after each of its frames and counts them down while the
//! medium is idle: at the slot boundary at which it has none left it sends, if it has something. A
//! boundary at which somebody begins to send counts as well. Whoever comes to an idle medium with his
//! count done sends at once; whoever comes to a busy one draws anew.
//!
//! ## Deviations
//!
//! - So count EDCA and Bianchi's model. The older DCF of 802.11a, b and g does not count the slot in
//!   which somebody begins to send; these standards are taken as EDCA with one category too.
//! - Who sends at once does it between slot boundaries, and nobody collides with him then.
//! - After a collision everybody waits for AIFS, not for EIFS, as in Bianchi's model.

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

    /// Draws a number of slots in `0..=window`. In the order of this contender's own frames (and of its
    /// arrivals at a busy medium), from a stream of its own.
    fn draw(&mut self) {
        let choices = u64::from(self.window) + 1;
        self.slots = ((u64::from(self.rng.next_u32()) * choices) >> 32) as u32;
    }

    /// When it sends, if the medium is idle from `idle` on and it has something from `ready` on.
    pub(super) fn start(&self, idle: Instant, ready: Instant, phy: &Phy) -> Instant {
        (idle + phy.aifs + phy.slot * u64::from(self.slots)).max(ready)
    }

    /// Somebody sends at `at` on a medium idle since `idle`.
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

    /// It has something to send now, while the medium is busy.
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
