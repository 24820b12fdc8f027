//! Packets that leave their place in the order of a link, drawn for each packet.
//!
//! This is the model of `reorder` in Linux's netem, as its manual page describes it (tc-netem(8)):
//! a packet leaves its place with a probability, and `gap` packets lie at least between two that
//! do, the second one included. netem sends such a packet without the delay of the others, so it
//! comes earlier than in its place ([`Shift::Earlier`] with `delay` as long as the link's). With
//! [`Shift::Later`] a packet is delayed instead, and those behind it overtake it.
//!
//! ## Deviations
//!
//! - netem can correlate successive draws; here they are independent.
//! - netem draws only for a packet that `gap` permits to leave; here each packet takes one draw, so
//!   that the same packet number meets the same chance whatever `gap` is.

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use crate::random::{Chance, Purpose, stream};
use crate::{LinkConfig, ReorderingConfig, Shift};

#[derive(Clone, Debug)]
pub(crate) struct Reordering {
    chance: Chance,
    delay: Duration,
    shift: Shift,
    gap: u32,
    /// Packets since the last that left its place, or since the start.
    since: u32,
    rng: ChaCha8Rng,
}

/// The reordering of a link; none if the link cannot ([`LinkConfig::cannot_reorder`]).
pub(crate) fn new(config: &LinkConfig, rng: &ChaCha8Rng) -> Option<Box<Reordering>> {
    let ReorderingConfig {
        probability,
        delay,
        shift,
        gap,
    } = config.reordering?;
    if config.cannot_reorder().is_some() {
        return None;
    }
    Some(Box::new(Reordering {
        chance: Chance::new(probability),
        delay,
        shift,
        gap,
        since: 0,
        rng: stream(rng, Purpose::Reordering),
    }))
}

impl Reordering {
    /// When the next packet is due if it leaves its place, in which it would be due at `due`.
    pub(crate) fn moves(&mut self, due: Instant) -> Option<Instant> {
        let hit = self.chance.draw(&mut self.rng);
        self.since = self.since.saturating_add(1);
        if !hit || self.since < self.gap {
            return None;
        }
        self.since = 0;
        Some(match self.shift {
            Shift::Later => due + self.delay,
            Shift::Earlier => due - self.delay,
        })
    }

    /// The shortest delay of a packet, where in its place it has at least `delay`.
    pub(crate) fn shortest(&self, delay: Duration) -> Duration {
        match self.shift {
            Shift::Later => delay,
            Shift::Earlier => delay.saturating_sub(self.delay),
        }
    }
}
