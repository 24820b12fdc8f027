//! What a radio does while nobody uses it: it listens now and then, and gives its channel back.
//!
//! Network-models, sections B.3.2 and B.4.2: the states of radio resource control (RRC). After some time without
//! traffic a terminal of LTE or 5G listens only at the beginning of each cycle (discontinuous reception,
//! DRX), so that data that comes down waits for the next cycle; what the terminal itself sends it may ask for at any time.
//! Later it gives the connection back, and the first packet after that, in either direction, waits for the promotion.
//! UMTS has a state between, FACH, from which the promotion is shorter.
//!
//! The two directions of a path are one radio: what either sends keeps it awake, and a promotion
//! that one has begun the other waits for too.
//!
//! ## Assumptions
//!
//! - Rest is counted from when a packet of either direction was last through, retransmissions apart.
//! - The length of a promotion is uniform between two bounds, and drawn for the time: once for each stretch as long
//!   as the rest that it takes to lose the channel, so that no two promotions share one.
//! - A terminal in DRX listens for no time at all at the beginning of a cycle, whose place is drawn once for a run; data
//!   that waits for it does not learn that the terminal woke up for its own.
//! - Nothing is carried in FACH: whatever comes asks for the dedicated channel.

use alloc::sync::Arc;

use atomic_refcell::AtomicRefCell;
use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::Shared;
use crate::random::{Purpose, stream, unit};

/// A state without a channel of one's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SleepConfig {
    /// It is entered after so long without traffic.
    pub after: Duration,
    /// The way back takes between these.
    pub promotion: (Duration, Duration),
}

/// Discontinuous reception.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DrxConfig {
    /// It begins after so long without traffic.
    pub after: Duration,
    /// From one time of listening to the next.
    pub cycle: Duration,
}

/// What a radio does while nobody uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RrcConfig {
    /// Discontinuous reception while connected.
    pub drx: Option<DrxConfig>,
    /// UMTS: the state between.
    pub fach: Option<SleepConfig>,
    /// Without a connection.
    pub idle: SleepConfig,
    /// Whether a run begins with a connection, used until then, or without one.
    pub begins_connected: bool,
}

impl RrcConfig {
    /// LTE and 5G (section B.3.2: inactivity 100 to 200 ms, cycle 40 to 320 ms, idle after 10 s, promotion 80 to 260 ms; what is
    /// within these bounds is chosen).
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

    /// UMTS and HSDPA (section B.4.2): FACH after 5 s, idle 12 s later.
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
    /// A stretch of time in which there is no more than one promotion, in nanoseconds.
    stretch: u64,
    /// A cycle of DRX begins so long after the run, in nanoseconds.
    phase: u64,
    /// When a packet was last through, of those that are known; `None` before any.
    used: Option<Instant>,
    /// When the last promotion is over.
    connected: Instant,
}

/// A direction's hold on the radio.
#[derive(Clone, Debug)]
pub(super) struct Rrc {
    radio: Arc<AtomicRefCell<Radio>>,
    /// Whether data that comes this way has to find the terminal listening.
    down: bool,
}

impl Rrc {
    /// One direction's handle of `radio`.
    pub(super) const fn new(radio: Arc<AtomicRefCell<Radio>>, down: bool) -> Self {
        Self { radio, down }
    }

    /// From when on a packet that is there at `now` can be served.
    pub(super) fn serves_from(&self, now: Instant) -> Instant {
        self.radio.borrow_mut().serves_from(now, self.down)
    }

    /// A packet is through at `end`.
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
                // The cycle before the run began is one like the others.
                let since = now.as_nanos().saturating_add(cycle - self.phase);
                now + Duration::from_nanos(since.next_multiple_of(cycle) - since)
            }
            _ => now,
        }
    }

    /// How long the promotion takes that begins at `now`.
    fn promotion(&mut self, now: Instant, (least, most): (Duration, Duration)) -> Duration {
        let stretch = now.as_nanos() / self.stretch;
        // The first number is the phase.
        self.rng.set_word_pos((u128::from(stretch) + 1) * 2);
        let span = most.saturating_sub(least).as_nanos() as f64;
        least + Duration::from_nanos((unit(&mut self.rng) * span) as u64)
    }
}
