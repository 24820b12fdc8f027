//! Congestion avoidance: how the window grows above the threshold, and where the threshold goes.

mod abba;
mod bic;
mod cuback;
mod cubic;
mod fast;
mod hybla;
mod illinois;
mod prague;
mod reno;
mod vegas;
mod westwood;

pub use abba::{Abba, AbbaConfig};
pub use bic::{Bic, BicConfig};
pub use cuback::{Cuback, CubackConfig};
pub use cubic::{Cubic, CubicConfig, CubicLinux, CubicRfc9438, CubicVersion};
pub use fast::{Fast, FastConfig};
pub use hybla::{Hybla, HyblaConfig};
pub use illinois::{Illinois, IllinoisConfig};
pub use prague::{Prague, PragueConfig};
pub use reno::{Reno, RenoConfig};
pub use vegas::{Vegas, VegasConfig};
pub use westwood::{Westwood, WestwoodConfig};

use units::{Bytes, Duration, Instant};

use crate::options::{self, OptionError, OptionInfo};

/// Linux's `tcp_cong_avoid_ai`: one segment for each `per` bytes acknowledged. The remainder is
/// carried to the next ACK (`snd_cwnd_cnt`, here in bytes).
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
        // RFC5681-3.1g
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

/// A window of `segments` of `from` bytes in segments of `to`, rounded down, at least one unless it
/// is zero.
fn rescale(segments: u64, from: Bytes, to: Bytes) -> u64 {
    if segments == 0 {
        return 0;
    }
    Bytes::new(segments.saturating_mul(from.get()))
        .segments(to)
        .max(1)
}

/// The option `hz`, which every algorithm has that Linux counts in ticks.
const HZ: OptionInfo = OptionInfo {
    name: "hz",
    default: "250",
    help: "ticks per second of the kernel: 100, 250 (Debian), 300 or 1000",
};

/// Reads the option `hz`.
fn read_hz<T: From<u16>>(value: &str) -> Result<T, OptionError> {
    let known = [("100", 100), ("250", 250), ("300", 300), ("1000", 1000)];
    options::choice(value, &known, "100, 250, 300 or 1000").map(T::from)
}

/// A clock that counts ticks, as Linux's jiffies. It remembers the last tick, because
/// many ACKs fall into one.
#[derive(Clone, Copy, Debug)]
struct Jiffies {
    /// Nanoseconds of a tick, and ticks per second.
    tick: u32,
    hz: u32,
    /// The last tick.
    last: u64,
}

impl Jiffies {
    fn new(hz: u32) -> Self {
        let tick = 1_000_000_000 / hz.clamp(1, 1_000_000);
        Self {
            tick,
            hz: 1_000_000_000 / tick,
            last: 0,
        }
    }

    /// Ticks per second.
    #[inline]
    fn hz(self) -> u64 {
        u64::from(self.hz)
    }

    /// The length of a tick.
    #[inline]
    const fn tick(self) -> Duration {
        Duration::from_nanos(self.tick as u64)
    }

    /// The tick that `now` falls into.
    #[inline]
    fn at(&mut self, now: Instant) -> u64 {
        let tick = u64::from(self.tick);
        if now.as_nanos().wrapping_sub(self.last * tick) >= tick {
            self.seek(now);
        }
        self.last
    }

    #[cold]
    fn seek(&mut self, now: Instant) {
        self.last = now.as_nanos() / u64::from(self.tick);
    }

    /// A span in ticks, rounded up.
    fn up(self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(u64::from(self.tick))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tick_is_the_same_whatever_came_before() {
        for hz in [1, 100, 250, 300, 1_000, 1_000_000] {
            let mut jiffies = Jiffies::new(hz);
            let tick = u64::from(jiffies.tick);
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
