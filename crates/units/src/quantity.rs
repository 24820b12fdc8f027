//! Bytes and rates.

use core::fmt;
use core::iter::Sum;
use core::ops::Add;

use crate::{Duration, Instant};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bytes(u64);

/// A rate in bits per second.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rate(u64);

const NANOS_PER_SECOND: u64 = 1_000_000_000;

impl Bytes {
    /// No bytes.
    pub const ZERO: Self = Self(0);
    /// Unlimited; as `ssthresh` it means "not yet set".
    pub const MAX: Self = Self(u64::MAX);

    /// `count` bytes.
    #[must_use]
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// The number of bytes.
    #[must_use]
    pub const fn get(self) -> u64 {
        self.0
    }

    /// Whether the number is zero.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self - other`, or zero if `other` is larger.
    #[must_use]
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// `self * numerator / denominator`, rounded down, with a 128-bit intermediate result.
    #[must_use]
    pub const fn mul_div(self, numerator: u64, denominator: u64) -> Self {
        Self((self.0 as u128 * numerator as u128 / denominator as u128) as u64)
    }

    /// Whole segments of `smss` bytes, rounded down.
    #[must_use]
    pub const fn segments(self, smss: Self) -> u64 {
        self.0 / smss.0
    }
}

impl Rate {
    /// No transmission.
    pub const ZERO: Self = Self(0);
    /// Instant transmission.
    pub const MAX: Self = Self(u64::MAX);

    /// `bits` bits per second.
    #[must_use]
    pub const fn from_bits_per_sec(bits: u64) -> Self {
        Self(bits)
    }

    /// `bytes` bytes per second.
    #[must_use]
    pub const fn from_bytes_per_sec(bytes: u64) -> Self {
        Self(bytes.saturating_mul(8))
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits_per_sec(self) -> u64 {
        self.0
    }

    /// Whole bytes per second.
    #[must_use]
    pub const fn bytes_per_sec(self) -> u64 {
        self.0 / 8
    }

    /// The transmission time of `bytes` at this rate, rounded down to a nanosecond;
    /// [`Duration::MAX`] at rate zero.
    #[must_use]
    pub const fn time_for(self, bytes: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // Packets stay within 64 bits. Only more than 2 GB at once needs the slow division.
        match bytes.0.checked_mul(8 * NANOS_PER_SECOND) {
            Some(scaled) => Duration::from_nanos(scaled / self.0),
            None => {
                let nanos = bytes.0 as u128 * (8 * NANOS_PER_SECOND) as u128 / self.0 as u128;
                Duration::from_nanos(if nanos > u64::MAX as u128 {
                    u64::MAX
                } else {
                    nanos as u64
                })
            }
        }
    }

    /// The bytes transmitted in `span` at this rate, rounded down.
    #[must_use]
    pub const fn bytes_in(self, span: Duration) -> Bytes {
        let bytes = self.0 as u128 * span.as_nanos() as u128 / (8 * NANOS_PER_SECOND) as u128;
        Bytes(if bytes > u64::MAX as u128 {
            u64::MAX
        } else {
            bytes as u64
        })
    }

    /// `self * numerator / denominator`, rounded down.
    #[must_use]
    pub const fn mul_div(self, numerator: u64, denominator: u64) -> Self {
        Self((self.0 as u128 * numerator as u128 / denominator as u128) as u64)
    }
}

/// Serialization of packets of one size at a constant rate, one after the other, exact over any
/// number of them: the fraction of a nanosecond that remains from one is carried to the next.
///
/// The quotient and the remainder of the division are known, so a packet costs additions only. Two
/// remainders are less than two divisors; so the carry is at most one nanosecond.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// Whole nanoseconds of a packet.
    quotient: u64,
    /// The rest of a packet, in units of 1/rate nanoseconds.
    rest: u64,
    /// Bits per second.
    rate: u64,
    /// Carried from the last packet, in the same units, below `rate`.
    remainder: u64,
}

impl Pace {
    /// Packets that take no time.
    pub const INSTANT: Self = Self {
        quotient: 0,
        rest: 0,
        rate: 1,
        remainder: 0,
    };

    /// The pace of packets of `bytes`, fewer than 2^31, at `rate`, which is not zero. Nothing is
    /// carried.
    #[must_use]
    pub const fn of(bytes: Bytes, rate: Rate) -> Self {
        let scaled = bytes.0 * 8 * NANOS_PER_SECOND;
        Self {
            quotient: scaled / rate.0,
            rest: scaled % rate.0,
            rate: rate.0,
            remainder: 0,
        }
    }

    /// The same pace with `remainder` carried.
    #[inline(always)]
    #[must_use]
    pub const fn after(self, remainder: u64) -> Self {
        Self { remainder, ..self }
    }

    /// The transmission time of the next packet, including the carried remainder.
    #[inline(always)]
    pub const fn step(&mut self) -> Duration {
        let mut remainder = self.remainder;
        let time = self.step_from(&mut remainder);
        self.remainder = remainder;
        time
    }

    /// [`Self::step`] where the remainder is kept elsewhere.
    #[inline(always)]
    pub const fn step_from(&self, remainder: &mut u64) -> Duration {
        let sum = *remainder + self.rest;
        let carry = sum >= self.rate;
        *remainder = if carry { sum - self.rate } else { sum };
        Duration::from_nanos(self.quotient + carry as u64)
    }

    /// The time of `count` packets: the sum of so many [`Self::step`]s.
    #[inline]
    pub fn skip(&mut self, count: u32) -> Duration {
        let packets = u64::from(count);
        let rests = self.rest.checked_mul(packets);
        let carried = match rests.and_then(|rests| rests.checked_add(self.remainder)) {
            Some(sum) if sum < self.rate => {
                self.remainder = sum;
                0
            }
            // A division costs more than a few additions.
            _ if count <= 4 => {
                return (0..count).fold(Duration::ZERO, |sum, _| sum + self.step());
            }
            Some(sum) => {
                self.remainder = sum % self.rate;
                sum / self.rate
            }
            None => {
                let sum = u128::from(self.rest) * u128::from(count) + u128::from(self.remainder);
                self.remainder = (sum % u128::from(self.rate)) as u64;
                // Below the count, because the rest is below the rate.
                (sum / u128::from(self.rate)) as u64
            }
        };
        Duration::from_nanos(self.quotient) * packets + Duration::from_nanos(carried)
    }

    /// Up to `most` packets are served one behind the other, from `start` on: those of them whose
    /// service starts by `now` pass. Their number, the sum of the instants at which it starts, in
    /// nanoseconds, and the instant at which it would for the next one.
    #[inline]
    pub fn pass_started(
        &mut self,
        start: Instant,
        now: Instant,
        most: u64,
    ) -> (u64, u128, Instant) {
        let (mut count, mut sum, mut at) = (0, 0, start);
        while count < most && at <= now {
            if count == FEW
                && let Some((more, starts, next)) = self.pass_many(at, now, most - count)
            {
                return (count + more, sum + starts, next);
            }
            count += 1;
            sum += u128::from(at.as_nanos());
            at += self.step();
        }
        (count, sum, at)
    }

    /// The same without a step for each packet, for one at least; `None` where a number might not
    /// fit.
    #[inline(never)]
    fn pass_many(
        &mut self,
        start: Instant,
        now: Instant,
        most: u64,
    ) -> Option<(u64, u128, Instant)> {
        if self.rate == 0 || self.rate >= 1 << 40 {
            return None;
        }
        // Packet `k` starts `(k * scaled + remainder) / rate` behind the first one, rounded down.
        let scaled = self
            .quotient
            .checked_mul(self.rate)?
            .checked_add(self.rest)?;
        let beyond = (now.as_nanos() - start.as_nanos())
            .checked_add(1)?
            .checked_mul(self.rate)?;
        let started = (beyond - self.remainder - 1).checked_div(scaled)? + 1;
        let count = started.min(most);
        let packets = u32::try_from(count).ok().filter(|it| *it < 1 << 22)?;
        let whole = u128::from(self.quotient) * u128::from(count * (count - 1) / 2);
        let parts = floor_sum(count, self.rate, self.rest, self.remainder);
        let sum = u128::from(start.as_nanos()) * u128::from(count) + whole + u128::from(parts);
        Some((count, sum, start + self.skip(packets)))
    }
}

/// How many steps cost less than a sum in closed form.
const FEW: u64 = 5;

/// The sum of `(a * k + b) / m`, each rounded down, for `k` from 0 to `n - 1`: by the lattice points
/// below a line, as Euclid's algorithm goes. The numbers have to be so small that `a * n + b` fits.
const fn floor_sum(mut n: u64, mut m: u64, mut a: u64, mut b: u64) -> u64 {
    let mut sum = 0;
    loop {
        sum += n * (n - 1) / 2 * (a / m) + n * (b / m);
        (a, b) = (a % m, b % m);
        let last = a * n + b;
        if last < m {
            return sum;
        }
        (n, b) = (last / m, last % m);
        (m, a) = (a, m);
    }
}

/// Serialization onto a link of constant rate, exact over any number of packets: the fraction of a
/// nanosecond that remains from one packet is carried to the next.
///
/// A packet as large as the one before costs no division ([`Pace`]), and neither does one as large as
/// the last of another size.
#[derive(Clone, Copy, Debug)]
pub struct Transmission {
    /// The size that the pace is for.
    bytes: u64,
    /// Its rate is zero if the pace of that size is unknown; it carries the remainder in any case.
    pace: Pace,
    /// The size before, and the quotient and the rest of its pace at the same rate.
    other: (u64, u64, u64),
}

impl Default for Transmission {
    fn default() -> Self {
        Self {
            bytes: 0,
            pace: Pace::INSTANT,
            other: (0, 0, 0),
        }
    }
}

impl Transmission {
    /// Above this rate a sum of two remainders might not fit.
    const FASTEST: u64 = 1 << 62;

    /// The transmission time of `bytes` at `rate` (which is not zero), including the carried
    /// remainder.
    #[inline(always)]
    pub fn time_for(&mut self, bytes: Bytes, rate: Rate) -> Duration {
        debug_assert!(rate.0 > 0, "a link without rate transmits nothing");
        if self.keeps_pace(bytes, rate) {
            self.pace.step()
        } else {
            self.divide(bytes, rate)
        }
    }

    /// The pace of packets of `bytes` at `rate` from here on, to take several steps at once; `None`
    /// where only [`Self::time_for`] is exact.
    #[inline]
    pub fn pace(&mut self, bytes: Bytes, rate: Rate) -> Option<&mut Pace> {
        if !self.keeps_pace(bytes, rate) {
            self.learn(bytes, rate)?;
        }
        Some(&mut self.pace)
    }

    /// The pace of the last packet, if [`Self::pace`] has one for its size.
    #[inline]
    #[must_use]
    pub const fn last(&self) -> &Pace {
        &self.pace
    }

    /// Packets were sent at `pace`, which is that of [`Self::pace`] some steps later.
    #[inline(always)]
    pub const fn carry(&mut self, pace: &Pace) {
        self.pace.remainder = pace.remainder;
    }

    #[inline(always)]
    const fn keeps_pace(&self, bytes: Bytes, rate: Rate) -> bool {
        self.bytes == bytes.0 && self.pace.rate == rate.0
    }

    /// Divides for a size or rate that is not the last one.
    #[inline(never)]
    fn divide(&mut self, bytes: Bytes, rate: Rate) -> Duration {
        if let Some(pace) = self.learn(bytes, rate) {
            return pace.step();
        }
        let remainder = u128::from(self.pace.remainder);
        let scaled = u128::from(bytes.0) * u128::from(8 * NANOS_PER_SECOND) + remainder;
        self.pace.rate = 0;
        self.pace.remainder = (scaled % u128::from(rate.0)) as u64;
        Duration::from_nanos(u64::try_from(scaled / u128::from(rate.0)).unwrap_or(u64::MAX))
    }

    /// Finds the pace of `bytes` at `rate`, unless a number might not fit. A remainder of another
    /// rate has to be reset first, or divided.
    fn learn(&mut self, bytes: Bytes, rate: Rate) -> Option<&mut Pace> {
        let scaled = bytes.0.checked_mul(8 * NANOS_PER_SECOND)?;
        if rate.0 > Self::FASTEST || self.pace.remainder >= rate.0 {
            return None;
        }
        let before = (self.bytes, self.pace.quotient, self.pace.rest);
        let (size, quotient, rest) = self.other;
        let is_same_rate = self.pace.rate == rate.0;
        (self.pace.quotient, self.pace.rest) = if is_same_rate && size == bytes.0 {
            (quotient, rest)
        } else {
            (scaled / rate.0, scaled % rate.0)
        };
        // Packets without bytes take no time at any rate.
        self.other = if is_same_rate { before } else { (0, 0, 0) };
        self.pace.rate = rate.0;
        self.bytes = bytes.0;
        Some(&mut self.pace)
    }

    /// Clears the remainder: the link became idle, or its rate changed.
    #[inline]
    pub fn reset(&mut self) {
        self.pace.remainder = 0;
    }
}

saturating_arithmetic!(Bytes, "a negative number of bytes");

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(iter: I) -> Self {
        iter.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Debug for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}

impl fmt::Debug for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bit/s", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ethernet_frame_at_50_mbit_takes_242240_ns() {
        let rate = Rate::from_bits_per_sec(50_000_000);
        assert_eq!(
            rate.time_for(Bytes::new(1514)),
            Duration::from_nanos(242_240)
        );
        assert_eq!(
            rate.bytes_in(Duration::from_millis(100)),
            Bytes::new(625_000)
        );
    }

    #[test]
    fn transmission_loses_no_time_over_many_packets() {
        // 3 bit/s: one byte takes 2.666.. s; three bytes take exactly 8 s.
        let rate = Rate::from_bits_per_sec(3);
        let mut link = Transmission::default();
        let total = (0..3).fold(Duration::ZERO, |sum, _| {
            sum + link.time_for(Bytes::new(1), rate)
        });
        assert_eq!(total, Duration::from_secs(8));
    }

    #[test]
    fn the_ends_of_the_range_saturate() {
        assert_eq!(Rate::ZERO.time_for(Bytes::new(1)), Duration::MAX);
        assert_eq!(Rate::MAX.bytes_in(Duration::MAX), Bytes::MAX);
        assert_eq!(Bytes::MAX + Bytes::new(1), Bytes::MAX);
    }
}
