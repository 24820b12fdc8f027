//! Congestion avoidance: how the window grows above the threshold, and where the threshold goes.

mod cubic;
mod reno;

pub use cubic::{Cubic, CubicConfig, CubicLinux, CubicRfc9438};
pub use reno::{Reno, RenoConfig};

use units::Bytes;

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
