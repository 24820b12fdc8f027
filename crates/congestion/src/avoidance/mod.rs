//! Congestion avoidance: how the window grows above the threshold, and where the threshold goes.

mod bic;
mod cubic;
mod fast;
mod hybla;
mod reno;
mod vegas;
mod westwood;

pub use bic::{Bic, BicConfig};
pub use cubic::{Cubic, CubicConfig, CubicLinux, CubicRfc9438, CubicVersion};
pub use fast::{Fast, FastConfig};
pub use hybla::{Hybla, HyblaConfig};
pub use reno::{Reno, RenoConfig};
pub use vegas::{Vegas, VegasConfig};
pub use westwood::{Westwood, WestwoodConfig};

use units::{Bytes, Duration, Instant};

use crate::options::{self, OptionError, OptionInfo};

/// Linux's `tcp_cong_avoid_ai`: one segment for every so many bytes acknowledged, with what is left
/// over carried to the next ACK (`snd_cwnd_cnt`, here in bytes).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdditiveIncrease {
    credit: Bytes,
}

impl AdditiveIncrease {
    /// The growth that `acked` earns when every `per` bytes (at least a segment) earn one `smss`.
    #[inline]
    pub fn on_acked(&mut self, acked: Bytes, per: Bytes, smss: Bytes) -> Bytes {
        let per = per.max(smss);
        let mut growth = Bytes::ZERO;
        // A divisor that has just become smaller takes effect at once, but earns one segment only.
        if self.credit >= per {
            self.credit = Bytes::ZERO;
            growth = smss;
        }
        self.credit += acked;
        if self.credit >= per {
            growth += self.spend(per, smss);
        }
        growth
    }

    #[inline(never)]
    fn spend(&mut self, per: Bytes, smss: Bytes) -> Bytes {
        let segments = self.credit.get() / per.get();
        self.credit -= per * segments;
        smss * segments
    }

    /// Forgets what was earned: a reduction begins.
    pub fn reset(&mut self) {
        self.credit = Bytes::ZERO;
    }
}

/// The option `hz`, which every algorithm has that Linux counts in ticks.
const HZ: OptionInfo = OptionInfo {
    name: "hz",
    default: "250",
    help: "ticks per second of the kernel: 100, 250 (Debian), 300 or 1000",
};

/// Reads the option `hz`.
fn read_hz(value: &str) -> Result<u32, OptionError> {
    let known = [("100", 100), ("250", 250), ("300", 300), ("1000", 1000)];
    options::choice(value, &known, "100, 250, 300 or 1000")
}

/// A clock of so many ticks per second, as Linux's jiffies. It remembers the last tick, because
/// many ACKs fall into one.
#[derive(Clone, Copy, Debug)]
struct Jiffies {
    tick: Duration,
    /// Ticks per second.
    hz: u64,
    /// The last tick, and when it began.
    last: u64,
    last_began: Instant,
}

impl Jiffies {
    fn new(hz: u32) -> Self {
        let hz = u64::from(hz.clamp(1, 1_000_000));
        let tick = Duration::from_nanos(1_000_000_000 / hz);
        Self {
            tick,
            hz: 1_000_000_000 / tick.as_nanos(),
            last: 0,
            last_began: Instant::ZERO,
        }
    }

    /// Ticks per second.
    #[inline]
    fn hz(self) -> u64 {
        self.hz
    }

    /// The tick that `now` falls into.
    #[inline]
    fn at(&mut self, now: Instant) -> u64 {
        let since = now.as_nanos().wrapping_sub(self.last_began.as_nanos());
        if since >= self.tick.as_nanos() {
            self.seek(now);
        }
        self.last
    }

    #[cold]
    fn seek(&mut self, now: Instant) {
        self.last = now.as_nanos() / self.tick.as_nanos();
        self.last_began = Instant::from_nanos(self.last * self.tick.as_nanos());
    }

    /// A span in ticks, rounded up.
    fn up(self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.tick.as_nanos())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_the_same_whatever_came_before() {
        for hz in [1, 100, 250, 300, 1_000, 1_000_000] {
            let mut jiffies = Jiffies::new(hz);
            let tick = jiffies.tick.as_nanos();
            for nanos in [
                0,
                1,
                tick - 1,
                tick,
                tick + 1,
                5 * tick,
                5 * tick - 1,
                3,
                9 * tick + 7,
            ] {
                assert_eq!(jiffies.at(Instant::from_nanos(nanos)), nanos / tick);
            }
        }
    }
}
