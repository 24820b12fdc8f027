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
            let segments = self.credit.get() / per.get();
            self.credit -= per * segments;
            growth += smss * segments;
        }
        growth
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

/// A clock of so many ticks per second, as Linux's jiffies.
#[derive(Clone, Copy, Debug)]
struct Jiffies {
    tick: Duration,
}

impl Jiffies {
    fn new(hz: u32) -> Self {
        let hz = u64::from(hz.clamp(1, 1_000_000));
        let tick = Duration::from_nanos(1_000_000_000 / hz);
        Self { tick }
    }

    /// Ticks per second.
    fn hz(self) -> u64 {
        1_000_000_000 / self.tick.as_nanos()
    }

    /// The tick that `now` falls into.
    fn at(self, now: Instant) -> u64 {
        now.as_nanos() / self.tick.as_nanos()
    }

    /// A span in ticks, rounded up.
    fn up(self, span: Duration) -> u64 {
        span.as_nanos().div_ceil(self.tick.as_nanos())
    }
}
