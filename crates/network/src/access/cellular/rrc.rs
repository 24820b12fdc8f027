//! The states of a radio while it is idle (radio resource control, RRC).
//!
//! Sources: 3GPP TS 36.321 and the 25 series. After some time without traffic, a terminal of LTE or
//! 5G listens only at the start of each cycle (discontinuous reception, DRX): downlink data waits
//! for the next cycle, while the terminal may send requests at any time. Later the connection is
//! released, and the next packet in either direction waits for the promotion. UMTS has a state in
//! between, FACH, with a shorter promotion.
//!
//! Both directions of a path share one radio: traffic of either keeps it awake, and both wait for a
//! promotion that one has started.
//!
//! ## Assumptions
//!
//! - Idle time counts from the last delivery in either direction, without retransmissions.
//! - The length of a promotion is uniform between two limits and drawn by time: once for each span
//!   as long as the idle time that releases the channel, so that no two promotions share one draw.
//! - A terminal in DRX listens for an instant at the start of a cycle, whose phase is drawn once
//!   per run; waiting downlink data does not notice that the terminal woke up to send.
//! - FACH carries no data: every packet requests the dedicated channel.

use alloc::sync::Arc;

use atomic_refcell::AtomicRefCell;
use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::Shared;
use crate::random::{Purpose, stream, unit};

/// A state without a dedicated channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SleepConfig {
    /// Idle time after which it is entered.
    pub after: Duration,
    /// Limits of the promotion time.
    pub promotion: (Duration, Duration),
}

/// Discontinuous reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DrxConfig {
    /// Idle time after which it starts.
    pub after: Duration,
    /// Time from one listening period to the next.
    pub cycle: Duration,
}

/// The states of an idle radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RrcConfig {
    /// Discontinuous reception while connected.
    pub drx: Option<DrxConfig>,
    /// UMTS: the intermediate state, FACH.
    pub fach: Option<SleepConfig>,
    /// The state without a connection.
    pub idle: SleepConfig,
    /// Whether a run starts with a connection that was in use until then.
    pub begins_connected: bool,
}

impl RrcConfig {
    /// LTE and 5G. Published ranges are inactivity 100 to 200 ms, cycle 40 to 320 ms, idle after 10
    /// s and promotion 80 to 260 ms; values within them are chosen.
    pub const LTE: Self = Self {
        drx: Some(DrxConfig {
            after: Duration::from_millis(100),
            cycle: Duration::from_millis(160),
        }),
        fach: None,
        idle: SleepConfig {
            after: Duration::from_secs(10),
            promotion: (Duration::from_millis(80), Duration::from_millis(260)),
        },
        begins_connected: false,
    };

    /// UMTS and HSDPA: FACH after 5 s, idle 12 s later.
    pub const UMTS: Self = Self {
        drx: None,
        fach: Some(SleepConfig {
            after: Duration::from_secs(5),
            promotion: (Duration::from_millis(500), Duration::from_secs(1)),
        }),
        idle: SleepConfig {
            after: Duration::from_secs(17),
            promotion: (Duration::from_millis(1500), Duration::from_millis(2500)),
        },
        begins_connected: false,
    };
}

/// A radio with its states.
#[derive(Debug)]
pub(super) struct Radio {
    config: RrcConfig,
    rng: ChaCha8Rng,
    /// A span of time with at most one promotion, in nanoseconds.
    stretch: u64,
    /// Time from the start of the run to the start of a cycle of DRX, in nanoseconds.
    phase: u64,
    /// The last known delivery; `None` before the first.
    used: Option<Instant>,
    /// The end of the last promotion.
    connected: Instant,
}

/// The handle of one direction.
#[derive(Clone, Debug)]
pub(super) struct Rrc {
    radio: Arc<AtomicRefCell<Radio>>,
    /// Whether data of this direction has to wait for the terminal to listen.
    down: bool,
}

impl Rrc {
    /// One direction's handle of `radio`.
    pub(super) const fn new(radio: Arc<AtomicRefCell<Radio>>, down: bool) -> Self {
        Self { radio, down }
    }

    /// The time from which a packet that is present at `now` can be served.
    pub(super) fn serves_from(&self, now: Instant) -> Instant {
        self.radio.borrow_mut().serves_from(now, self.down)
    }

    /// A packet is delivered at `end`.
    pub(super) fn used_until(&self, end: Instant) {
        let mut radio = self.radio.borrow_mut();
        radio.used = radio.used.max(Some(end));
    }
}

impl Radio {
    /// The radio of a path. Its random numbers come from a stream derived from `path`.
    pub(super) fn shared(config: RrcConfig, path: &ChaCha8Rng) -> Shared {
        Arc::new(AtomicRefCell::new(Self::new(config, path)))
    }

    fn new(mut config: RrcConfig, rng: &ChaCha8Rng) -> Self {
        let mut rng = stream(rng, Purpose::Rrc);
        config.drx = config.drx.filter(|drx| !drx.cycle.is_zero());
        let cycle = config.drx.map_or(0, |drx| drx.cycle.as_nanos());
        let first = config.fach.map_or(config.idle.after, |fach| fach.after);
        Self {
            phase: (unit(&mut rng) * cycle as f64) as u64,
            rng,
            stretch: first.min(config.idle.after).as_nanos().max(1),
            used: config.begins_connected.then_some(Instant::ZERO),
            connected: Instant::ZERO,
            config,
        }
    }

    fn serves_from(&mut self, now: Instant, down: bool) -> Instant {
        if now < self.connected {
            return self.connected;
        }
        let rest = self
            .used
            .map_or(Duration::MAX, |used| now.saturating_since(used));
        let RrcConfig {
            drx, fach, idle, ..
        } = self.config;
        let states = [Some(idle), fach];
        if let Some(state) = states.into_iter().flatten().find(|s| rest >= s.after) {
            self.connected = now + self.promotion(now, state.promotion);
            return self.connected;
        }
        match drx {
            Some(drx) if down && rest >= drx.after => {
                let cycle = drx.cycle.as_nanos();
                // The cycle before the start of the run is like the others.
                let since = now.as_nanos().saturating_add(cycle - self.phase);
                now + Duration::from_nanos(since.next_multiple_of(cycle) - since)
            }
            _ => now,
        }
    }

    /// The length of the promotion that starts at `now`.
    fn promotion(&mut self, now: Instant, (least, most): (Duration, Duration)) -> Duration {
        let stretch = now.as_nanos() / self.stretch;
        // The first number is the phase.
        self.rng.set_word_pos((u128::from(stretch) + 1) * 2);
        let span = most.saturating_sub(least).as_nanos() as f64;
        least + Duration::from_nanos((unit(&mut self.rng) * span) as u64)
    }
}
