//! A line that customers use in turns, as on a passive optical network with fixed grants. The model is
//! made up for the guide.
//!
//! Time is divided into cycles. In each cycle the line serves this customer for one turn, at its full
//! rate, and other customers for the rest. A packet that exceeds the remaining turn continues in the
//! next one.
//!
//! ## Deviations
//!
//! - None: there is no published model.

use tables::{Key, Kind, Rules, Wrong, described};
use units::{Bytes, Duration, Instant, Rate, Transmission};

use super::{AccessModel, AccessServer, Served, Serves, Surroundings};

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct TurnsConfig("turns", "a line in turns", "A line that customers use in turns.") {
        /// Rate within a turn.
        rate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("1 Gbit/s");
        /// Time from the start of one turn to the start of the next.
        cycle: Duration = Duration::from_millis(10) => Key::of(Kind::SPAN);
        /// Length of a turn.
        turn: Duration = Duration::from_millis(2) => Key::of(Kind::SPAN);
    }
}

impl Rules for TurnsConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.turn <= self.cycle {
            return Ok(());
        }
        Err(Wrong::at("turn", "a turn is at most a cycle"))
    }
}

impl TurnsConfig {
    /// Cycle and turn in nanoseconds; a turn is at most a cycle.
    fn lengths(&self) -> (u64, u64) {
        let cycle = self.cycle.as_nanos().max(1);
        (cycle, self.turn.as_nanos().clamp(1, cycle))
    }
}

impl AccessModel for TurnsConfig {
    fn mean_rate(&self) -> Rate {
        let (cycle, turn) = self.lengths();
        self.rate.mul_div(turn, cycle)
    }

    /// A packet that arrives between two turns waits for half of that gap on average.
    fn idle_delay(&self) -> Duration {
        let (cycle, turn) = self.lengths();
        Duration::from_nanos(cycle - turn).mul_div(cycle - turn, 2 * cycle)
    }
}

impl Serves for TurnsConfig {
    type Server = Turns;

    fn server(&self, _around: &Surroundings<'_>) -> Turns {
        let (cycle, turn) = self.lengths();
        Turns {
            rate: self.rate.max(Rate::from_bits_per_sec(1)),
            cycle,
            turn,
            transmission: Transmission::default(),
        }
    }
}

/// The server of such a line.
#[derive(Clone, Debug)]
pub struct Turns {
    rate: Rate,
    cycle: u64,
    turn: u64,
    /// Carries fractions of a nanosecond from packet to packet.
    transmission: Transmission,
}

impl Turns {
    /// The total time of turns before `at`.
    fn turns_before(&self, at: Instant) -> Duration {
        let (cycles, rest) = (at.as_nanos() / self.cycle, at.as_nanos() % self.cycle);
        Duration::from_nanos(cycles * self.turn + rest.min(self.turn))
    }

    /// When the total time of turns reaches `time`.
    fn after_turns(&self, time: Duration) -> Instant {
        let nanos = time.as_nanos().max(1);
        let cycles = (nanos - 1) / self.turn;
        let end = cycles.saturating_mul(self.cycle) + (nanos - cycles * self.turn);
        Instant::from_nanos(end)
    }
}

impl AccessServer for Turns {
    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let start = now.max(busy_until);
        let unused = self.turns_before(start) - self.turns_before(busy_until);
        if !unused.is_zero() {
            self.transmission.reset();
        }
        let time = self.transmission.time_for(Bytes::new(bytes), self.rate);
        Served {
            start,
            end: self.after_turns(self.turns_before(start) + time),
            after_gap: unused >= time,
        }
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        self.rate.bytes_in(self.turns_before(until))
    }
}
