//! The tick of a host: when its timers fire (Linux 6.12 `kernel/time/timer.c`, `usecs_to_jiffies`).
//!
//! Linux counts time in ticks ("jiffies") of 1 to 10 ms (`CONFIG_HZ`). A delay is rounded up to
//! whole ticks and added to the number of the current tick. The timer wheel then fires the timer
//! after the tick in which it expires, and groups longer delays, so that a timer is never early:
//!
//! | delay in ticks | fires at the next multiple of |
//! | --- | --- |
//! | below 63 | 1 |
//! | below 504 | 8 |
//! | below 4,032 | 64 |
//! | below 32,256 | 512 |
//! | more | 4,096 |
//!
//! A timer that is armed in the callback of another one counts its delay from the next tick when it
//! chooses the row: the wheel's clock has advanced by then (`__run_timers`). So 252 ms with 250 Hz,
//! 63 ticks, are in groups of 8 on an ACK, and exact after a loss probe.
//!
//! With 250 Hz, a timer of 10 ms fires after 12 to 16 ms, one of 300 ms after 304 to 336 ms, and
//! one of 3 s after 3.004 to 3.26 s. Where in a tick, and in a group of ticks, a connection begins
//! is a matter of chance: the phase.
//!
//! These timers count in ticks: the retransmission timer and everything that shares it (reordering,
//! loss probe, window probe, SYN), and the delayed ACK. Pacing and SACK compression have
//! high-resolution timers without a tick.
//!
//! Assumes that a processor takes its timer interrupt on time.

use units::{Duration, Instant};

/// Levels of the wheel: how many bits coarser each is than the one before it (`LVL_CLK_SHIFT`).
const LEVEL_SHIFT: u32 = 3;
/// The shortest delay in the second level, in ticks (`LVL_START(1)`). Each level has 64 groups.
const SECOND_LEVEL: u64 = 63;
/// The coarsest level that matters here: with 10 ms, it begins after more than 5 minutes.
const LAST_LEVEL: u32 = 4;
/// The phase covers the groups of the coarsest level.
const PHASE_TICKS: u64 = 1 << (LAST_LEVEL * LEVEL_SHIFT);
/// The longest tick, in microseconds.
const LONGEST: u64 = 1_000_000;

/// A host's tick.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tick {
    /// Microseconds of a tick; zero if timers are exact. Each connection has its tick, so it is small.
    length: u32,
    /// Microseconds from the host's tick zero to the instant zero.
    phase: u32,
}

impl Tick {
    /// Timers are exact.
    pub const NONE: Self = Self {
        length: 0,
        phase: 0,
    };

    /// [`Self::with_phase`], with a phase drawn from `seed`. Timers are exact if `length` is zero.
    #[must_use]
    pub const fn new(length: Duration, seed: u64) -> Self {
        let span = length.as_micros().saturating_mul(PHASE_TICKS);
        let phase = if span == 0 { 0 } else { mixed(seed) % span };
        Self::with_phase(length, Duration::from_micros(phase))
    }

    /// Ticks of `length`, at most a second. Tick zero began `phase` before the instant zero. Both are
    /// rounded down to microseconds.
    #[must_use]
    pub const fn with_phase(length: Duration, phase: Duration) -> Self {
        let length = length.as_micros();
        if length == 0 {
            return Self::NONE;
        }
        let length = if length < LONGEST { length } else { LONGEST };
        Self {
            length: length as u32,
            phase: (phase.as_micros() % (length * PHASE_TICKS)) as u32,
        }
    }

    /// Whether timers are exact.
    #[inline]
    #[must_use]
    pub const fn is_exact(&self) -> bool {
        self.length == 0
    }

    /// The length of a tick.
    #[must_use]
    pub const fn length(&self) -> Duration {
        Duration::from_micros(self.length as u64)
    }

    /// `delay` rounded up to whole ticks.
    #[inline]
    #[must_use]
    pub const fn round_up(&self, delay: Duration) -> Duration {
        if self.is_exact() {
            return delay;
        }
        Duration::from_nanos(self.ticks(delay).saturating_mul(self.nanos()))
    }

    /// `delay` rounded down to whole ticks.
    #[inline]
    #[must_use]
    pub const fn round_down(&self, delay: Duration) -> Duration {
        if self.is_exact() {
            return delay;
        }
        Duration::from_nanos(delay.as_nanos() / self.nanos() * self.nanos())
    }

    /// When a timer fires that is armed at `now` to expire after `delay`.
    #[inline]
    #[must_use]
    pub fn expiry(&self, now: Instant, delay: Duration) -> Instant {
        if self.is_exact() {
            return now + delay;
        }
        self.on_wheel(now, self.ticks(delay), false)
    }

    /// The same for a timer that counts from `start` or, if that has passed, from `now`. Linux rounds
    /// the time until `start` down. `in_callback`: another timer fires at `now`, and arms this one.
    #[must_use]
    pub fn expiry_from(
        &self,
        now: Instant,
        start: Instant,
        delay: Duration,
        in_callback: bool,
    ) -> Instant {
        if self.is_exact() {
            return start.max(now) + delay;
        }
        let wait = start.saturating_since(now).as_nanos() / self.nanos();
        let ticks = self.ticks(delay).saturating_add(wait);
        self.on_wheel(now, ticks, in_callback)
    }

    /// Whether a tick begins at `now`, as when a timer fires.
    #[must_use]
    pub const fn begins(&self, now: Instant) -> bool {
        !self.is_exact() && (now.as_nanos() + self.phase_nanos()).is_multiple_of(self.nanos())
    }

    /// The number of the tick at `now` (`jiffies`).
    #[must_use]
    pub const fn number(&self, now: Instant) -> u64 {
        now.as_nanos().saturating_add(self.phase_nanos()) / self.nanos()
    }

    const fn nanos(self) -> u64 {
        self.length as u64 * 1_000
    }

    const fn phase_nanos(self) -> u64 {
        self.phase as u64 * 1_000
    }

    /// Linux counts in microseconds, rounded down, before it rounds up to ticks.
    const fn ticks(&self, delay: Duration) -> u64 {
        delay.as_micros().div_ceil(self.length as u64)
    }

    /// `calc_wheel_index`: a timer of `delay` ticks fires at the beginning of the group of ticks
    /// after the one in which it expires. (Out of line, so that exact timers do not pay for it.)
    #[cold]
    #[inline(never)]
    fn on_wheel(&self, now: Instant, delay: u64, in_callback: bool) -> Instant {
        let from_clock = delay.saturating_sub(in_callback as u64);
        let mut shift = 0;
        let mut next_level = SECOND_LEVEL;
        while from_clock >= next_level && shift < LAST_LEVEL * LEVEL_SHIFT {
            shift += LEVEL_SHIFT;
            next_level <<= LEVEL_SHIFT;
        }
        let expires = self.number(now).saturating_add(delay);
        let fires = ((expires >> shift) + 1) << shift;
        let fires = fires.saturating_mul(self.nanos());
        Instant::from_nanos(fires.saturating_sub(self.phase_nanos()))
    }
}

/// SplitMix64 (Steele, Lea and Flood 2014, section 4): distinct seeds give independent phases.
const fn mixed(seed: u64) -> u64 {
    let mut mixed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// 250 Hz, with tick zero `phase` ms before the instant zero.
    const fn hz_250(phase: u64) -> Tick {
        Tick::with_phase(Duration::from_millis(4), Duration::from_millis(phase))
    }

    fn expiry(tick: Tick, now: u64, delay: u64) -> u64 {
        let at = tick.expiry(Instant::from_millis(now), Duration::from_millis(delay));
        assert_eq!(at.as_nanos() % MS, 0);
        at.as_millis()
    }

    #[test]
    fn short_delays_are_late_by_up_to_two_ticks() {
        // 10 ms are 3 ticks; tick 0 + 3 expires, and the timer fires with tick 4.
        assert_eq!(expiry(hz_250(0), 0, 10), 16);
        assert_eq!(expiry(hz_250(0), 3, 10), 16);
        assert_eq!(expiry(hz_250(0), 4, 10), 20);
        // A whole number of ticks: 12 ms from the last millisecond of a tick take 13 ms.
        assert_eq!(expiry(hz_250(3), 0, 12), 13);
        // The last delay of the first level: 62 ticks.
        assert_eq!(expiry(hz_250(0), 0, 248), 252);
    }

    #[test]
    fn longer_delays_fire_with_a_group_of_8_or_64_ticks() {
        // 300 ms are 75 ticks, in the tenth group of eight; the next begins with tick 80.
        assert_eq!(expiry(hz_250(0), 0, 300), 320);
        // From tick 5 on, it expires in tick 80 and fires with tick 88.
        assert_eq!(expiry(hz_250(0), 20, 300), 352);
        // 63 ticks are the first in groups of eight, 504 the first in groups of 64.
        assert_eq!(expiry(hz_250(0), 0, 252), 256);
        assert_eq!(expiry(hz_250(0), 0, 503 * 4), 504 * 4);
        assert_eq!(expiry(hz_250(0), 0, 504 * 4), 512 * 4);
        // 3 s are 750 ticks: group 11 of 64, so tick 768. From tick 20 on, 770 and tick 832.
        assert_eq!(expiry(hz_250(0), 0, 3_000), 768 * 4);
        assert_eq!(expiry(hz_250(0), 80, 3_000), 832 * 4);
        // With 1,000 Hz, a second is in the third level already.
        let tick = Tick::with_phase(Duration::from_millis(1), Duration::ZERO);
        assert_eq!(expiry(tick, 0, 1_000), 1_024);
    }

    #[test]
    fn a_timeout_is_a_whole_number_of_ticks() {
        let tick = hz_250(1);
        let rounded = |ms| tick.round_up(Duration::from_millis(ms)).as_millis();
        assert_eq!((rounded(230), rounded(232), rounded(0)), (232, 232, 0));
        assert_eq!(
            Tick::NONE.round_up(Duration::from_micros(7)),
            Duration::from_micros(7)
        );
    }

    #[test]
    fn without_ticks_timers_are_exact() {
        let (now, delay) = (Instant::from_nanos(5), Duration::from_nanos(7));
        let start = Instant::from_nanos(6);
        assert_eq!(Tick::NONE.expiry(now, delay), Instant::from_nanos(12));
        assert_eq!(
            Tick::NONE.expiry_from(now, start, delay, false),
            Instant::from_nanos(13)
        );
        assert!(!Tick::NONE.begins(now));
        assert_eq!(Tick::new(Duration::ZERO, 9), Tick::NONE);
    }

    #[test]
    fn no_timer_is_early_and_none_later_than_its_level_permits() {
        let mut drawn = 1_u64;
        for seed in 0..2_000 {
            drawn = mixed(drawn);
            let tick = Tick::new(Duration::from_millis(1 + seed % 10), seed);
            let now = Instant::from_nanos(drawn % (100_000 * MS));
            let delay = Duration::from_micros((mixed(drawn) % 130_000_000) >> (seed % 20));
            let late = tick.expiry(now, delay).saturating_since(now + delay);
            let ticks = tick.ticks(delay);
            let group = match ticks {
                0..63 => 1,
                63..504 => 8,
                504..4_032 => 64,
                4_032..32_256 => 512,
                _ => 4_096,
            };
            assert!(late.as_nanos() > 0, "{tick:?} {now:?} {delay:?}");
            assert!(late.as_nanos() <= (group + 1) * tick.nanos());
        }
    }

    #[test]
    fn a_wait_for_the_pacer_is_rounded_down() {
        // 7 ms to wait are one tick, and 10 ms three: tick 0 + 4 expires.
        let at = hz_250(0).expiry_from(
            Instant::ZERO,
            Instant::from_millis(7),
            Duration::from_millis(10),
            false,
        );
        assert_eq!(at, Instant::from_millis(20));
    }
}
