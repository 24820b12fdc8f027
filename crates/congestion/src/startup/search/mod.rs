//! SEARCH: Slow start Exit At Right CHokepoint.

mod config;

pub use config::{
    AppLimited, Arithmetic, Boundary, Comparison, Exit, LookBack, MAX_BINS, MAX_EXTRA_BINS, Missed,
    SearchConfig, Version,
};

use units::Instant;

use crate::{Ack, Startup, Step, Window};

/// SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    config: SearchConfig,
}

impl Search {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: SearchConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self { config }
    }

    /// How it was made.
    #[must_use]
    pub const fn config(&self) -> &SearchConfig {
        &self.config
    }
}

impl Startup for Search {
    fn on_ack(&mut self, ack: &Ack, _window: &Window) -> Step {
        Step::Grow(ack.delivered)
    }
}
