//! One direction of a low-orbit constellation (Starlink class).
//!
//! Parameters are measured on a recording of LeoCC; see docs/reference/sources.md, "Low Earth
//! orbit". All terminals get a new satellite, rate and delay every 15 seconds, at the same instants
//! in both directions. Within such an interval the link sends in bursts of one frame (4/3 ms, on
//! one grid), two to five frames apart. Each burst carries what the preceding gap is worth at the
//! rate of the interval; unused parts of a burst are lost. At each boundary service stops for some
//! tens of milliseconds: packets are held, and in some interruptions the first arrivals, or all
//! arrivals of a first part, are dropped. On an uplink (`grant`), a packet that finds the link idle waits for a grant.
//!
//! The link's own delay is increased by three parts: that of the interval, which varies from
//! interval to interval, a drift within it (the satellite moves), and jitter, one value for each
//! burst. Packets are never reordered. Random losses are the link's (`loss`).
//!
//! Everything is drawn for an interval or a burst, from a place in the stream that the interval's
//! number gives, so an idle link costs no more than the bursts of the interval in which it is next
//! used.
//!
//! ## Deviations
//!
//! - The slow variation of the rate (3 s) restarts in each interval, as the satellite changes.
//! - A burst's size has the distribution of Wilson and Hilferty instead of the gamma distribution
//!   that it approximates; its mean is 1, and its variation is as configured to within a percent.
//! - Rates are at least 1 kbit/s, and an interruption lasts at most half an interval.

use alloc::format;

use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, MAX_DURATION, MAX_RATE, Rules, Wrong, described};
use units::{Bytes, Duration, Instant, Rate};

use super::{AccessModel, AccessServer, Served, Serves, Surroundings};
use crate::process::{self, BYTE, Stretch};
use crate::random::{Purpose, normal, stream, unit};
use crate::{DropReason, Ecn};

/// Three frames (750 in a second).
const THREE_FRAMES: u64 = 4_000_000;
/// Frames from one burst to the next, with the fraction of gaps that are no longer.
const GAPS: [(u64, f64); 4] = [(2, 0.25), (3, 0.60), (4, 0.85), (5, 1.0)];
/// Mean wait for a burst of a packet that arrives at a random time: half the mean of (gap - 1)^2
/// over the mean gap, in frames.
const BURST_WAIT: Duration = Duration::from_micros(1273);
/// An interval's rate stays between these multiples of the median.
const RATE_RANGE: (f64, f64) = (0.3, 2.0);
/// An interval's delay stays between these, in standard deviations (8 to 14 ms around 10).
const BASE_RANGE: (f64, f64) = (-2.0, 4.0);
/// How often the slow variation of the rate is drawn.
const SLOW_SLOT: u64 = 100_000_000;
/// Words of a stream that belong to one interval.
const WORDS: u32 = 40;
const LEAST_RATE: Rate = Rate::from_bits_per_sec(1000);
/// Shorter intervals would consist of interruptions.
const SHORTEST: Duration = Duration::from_secs(1);
const LEAST_INTERVAL: Duration = Duration::from_millis(100);

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct LeoConfig("leo", "a low-orbit link", "One direction of a low-orbit constellation.") {
        /// Median rate over the intervals.
        rate: Rate = Rate::ZERO => Key::of(Kind::Rate(LEAST_RATE, MAX_RATE)).needed("100 Mbit/s");
        /// Time between two reconfigurations.
        interval: Duration = Duration::from_secs(15) => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Time of the first reconfiguration, the same for both directions.
        phase: Option<Duration> = None
            => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION)).usually("drawn for each run");
        /// Standard deviation of the logarithm of the rate between intervals.
        spread: f64 = 0.16 => Key::of(Kind::PERCENT);
        /// Standard deviation of the logarithm of the rate's slow variation within an interval.
        wander: f64 = 0.05 => Key::of(Kind::PERCENT);
        /// Time after which the correlation of the slow variation has fallen to 1/e.
        correlation: Duration = Duration::from_secs(3) => Key::of(Kind::SPAN);
        /// Coefficient of variation of the bytes in a burst.
        burst: f64 = 0.35 => Key::of(Kind::PERCENT);
        /// Standard deviation of the delay between intervals.
        step: Duration = Duration::from_millis(1) => Key::of(Kind::DELAY);
        /// Largest change of the delay across an interval, up or down.
        drift: Duration = Duration::from_micros(500) => Key::of(Kind::DELAY);
        /// Scale of the jitter's tail (the absolute value of a normal variate); unless it is zero, a
        /// uniform part of up to one frame comes on top.
        jitter: Duration = Duration::from_micros(800) => Key::of(Kind::DELAY);
        /// The shortest service interruption at a boundary between intervals.
        outage: Duration = Duration::from_millis(60) => Key::of(Kind::DELAY);
        /// Mean of the exponential time that an interruption lasts beyond the shortest.
        outage_mean: Duration = Duration::from_millis(20) => Key::of(Kind::DELAY);
        /// The longest interruption.
        outage_max: Duration = Duration::from_millis(140) => Key::of(Kind::DELAY);
        /// Fraction of the interruptions in which packets are dropped.
        drop: f64 = 0.15 => Key::of(Kind::PERCENT);
        /// The most packets that one interruption drops.
        drop_packets: u32 = 20 => Key::of(Kind::Integer(0, 1_000_000));
        /// How long an interruption with drops drops every arrival, from its start; at most the
        /// interruption.
        drop_time: Duration = Duration::ZERO => Key::of(Kind::DELAY);
        /// The longest wait for a grant of a packet that finds the link idle; zero for a downlink.
        grant: Duration = Duration::ZERO => Key::of(Kind::DELAY);
    }
}

impl Rules for LeoConfig {
    fn check(&self, said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.outage <= self.outage_max {
            return Ok(());
        }
        let key = if said("outage") {
            "outage"
        } else {
            "outage_max"
        };
        Err(Wrong::at(
            key,
            format!(
                "the shortest interruption is outage = {}, and the longest outage_max = {}",
                self.outage, self.outage_max
            ),
        ))
    }
}

impl LeoConfig {
    /// The measured constellation at a median rate, without a wait for grants.
    #[must_use]
    pub const fn measured(rate: Rate) -> Self {
        Self {
            rate,
            ..Self::DEFAULT
        }
    }
}

impl AccessModel for LeoConfig {
    fn mean_rate(&self) -> Rate {
        self.rate
    }

    /// The middle of the base delays, the waits for a burst and for a grant, and jitter.
    fn idle_delay(&self) -> Duration {
        let jitter = if self.jitter.is_zero() {
            Duration::ZERO
        } else {
            // Half a frame, and the mean of a normal variate's absolute value: sqrt(2/pi).
            Duration::from_nanos(THREE_FRAMES / 6) + self.jitter.mul_div(798, 1000)
        };
        self.step * 2 + self.drift + BURST_WAIT + self.grant.mul_div(1, 2) + jitter
    }
}

impl Serves for LeoConfig {
    type Server = Leo;

    fn server(&self, around: &Surroundings<'_>) -> Leo {
        Leo::new(self, around.rng, around.path)
    }
}

/// An interval between two reconfigurations.
#[derive(Clone, Copy, Debug)]
struct Interval {
    number: u64,
    begin: Instant,
    /// When service starts after the boundary.
    serves: Instant,
    end: Instant,
    rate: f64,
    /// Delay at its start beyond the minimum, and the drift over its length, in nanoseconds.
    base: f64,
    slope: f64,
    /// Packets that it drops before service starts.
    drops: u32,
    /// Until when it drops every arrival.
    dark: Instant,
}

/// A burst, or the gap before it.
#[derive(Clone, Copy, Debug)]
struct Burst {
    begin: Instant,
    end: Instant,
    rate: Rate,
    /// Jitter of its packets.
    jitter: Duration,
    /// Wait for a grant of a packet that finds the link idle before its end.
    wait: Duration,
}

/// The server.
#[derive(Clone, Debug)]
pub struct Leo {
    config: LeoConfig,
    /// Time from the start of interval zero to the start of the run.
    back: u64,
    /// Positioned in `interval`, after the draws for `burst`.
    rng: ChaCha8Rng,
    interval: Interval,
    burst: Burst,
    /// Frame of `burst`.
    frame: u64,
    /// The slow variation: its slot, and its standard normal deviate.
    slow: (u64, f64),
    memory: f64,
    /// The interval in which packets arrive, and how many of them it will still drop.
    door: Interval,
    debt: u128,
    released: Instant,
}

impl Leo {
    fn new(config: &LeoConfig, rng: &ChaCha8Rng, path: &ChaCha8Rng) -> Self {
        let config = LeoConfig {
            rate: config.rate.max(LEAST_RATE),
            interval: config.interval.max(LEAST_INTERVAL),
            ..*config
        };
        let interval = config.interval.as_nanos();
        let phase = config.phase.map_or_else(
            || (unit(&mut stream(path, Purpose::Path)) * interval as f64) as u64,
            |phase| phase.as_nanos() % interval,
        );
        let slots = config.correlation.as_nanos() as f64 / SLOW_SLOT as f64;
        let mut rng = stream(rng, Purpose::Rate);
        let back = (interval - phase) % interval;
        let first = draw_interval(&config, back, &mut rng, 0);
        let none = Burst {
            begin: Instant::ZERO,
            end: Instant::ZERO,
            rate: Rate::ZERO,
            jitter: Duration::ZERO,
            wait: Duration::ZERO,
        };
        let mut leo = Self {
            back,
            rng,
            interval: first,
            burst: none,
            frame: 0,
            slow: (0, 0.0),
            memory: libm::exp(-1.0 / slots.max(1e-9)),
            door: first,
            debt: 0,
            released: Instant::ZERO,
            config,
        };
        leo.enter(0);
        leo
    }

    /// The first burst of an interval.
    fn enter(&mut self, number: u64) {
        self.interval = draw_interval(&self.config, self.back, &mut self.rng, number);
        self.slow = (
            self.interval.serves.as_nanos() / SLOW_SLOT,
            normal(&mut self.rng),
        );
        self.frame = frame_from(self.interval.serves);
        self.next_burst();
    }

    /// The next burst, in the next interval if this one has no more.
    fn next_burst(&mut self) {
        let chance = unit(&mut self.rng);
        let gap = GAPS.iter().find(|(_, share)| chance < *share);
        let frames = gap.map_or(GAPS[3].0, |(frames, _)| *frames);
        self.frame += frames;
        let end = frame_begin(self.frame + 1);
        if end > self.interval.end {
            // In time order: intervals are longer than the longest gap.
            let number = self.interval.number + 1;
            if self.interval.end < Instant::MAX {
                return self.enter(number);
            }
        }
        let begin = frame_begin(self.frame);
        let slot = begin.as_nanos() / SLOW_SLOT;
        while self.slow.0 < slot {
            let fresh = libm::sqrt(1.0 - self.memory * self.memory);
            self.slow.1 = self.memory * self.slow.1 + fresh * normal(&mut self.rng);
            self.slow.0 += 1;
        }
        let config = &self.config;
        let slow = libm::exp(config.wander * self.slow.1);
        let size = gamma(config.burst, normal(&mut self.rng));
        let tail = libm::fabs(normal(&mut self.rng)) * config.jitter.as_nanos() as f64;
        let spread = unit(&mut self.rng) * THREE_FRAMES as f64 / 3.0;
        let jitter = if config.jitter.is_zero() {
            0.0
        } else {
            spread + tail
        };
        let wait = unit(&mut self.rng) * config.grant.as_nanos() as f64;
        let rate = (self.interval.rate * slow * frames as f64 * size) as u64;
        self.burst = Burst {
            begin,
            end,
            rate: Rate::from_bits_per_sec(rate.max(1)),
            jitter: Duration::from_nanos(jitter as u64),
            wait: Duration::from_nanos(wait as u64),
        };
    }

    /// The burst at `at`, or the next one. Calls come in order of time.
    fn advance(&mut self, at: Instant) {
        if at >= self.interval.end && at < Instant::MAX {
            self.enter(self.number(at));
        }
        while self.burst.end <= at && self.burst.end < Instant::MAX {
            self.next_burst();
        }
    }

    fn number(&self, at: Instant) -> u64 {
        at.as_nanos().saturating_add(self.back) / self.config.interval.as_nanos()
    }

    fn stretch(&mut self, at: Instant) -> Stretch {
        self.advance(at);
        let Burst {
            begin, end, rate, ..
        } = self.burst;
        if at < begin {
            Stretch {
                end: begin,
                rate: Rate::ZERO,
            }
        } else {
            Stretch { end, rate }
        }
    }

    /// Whether capacity for `work` is unused between the two.
    fn wastes(&mut self, from: Instant, until: Instant, work: u128) -> bool {
        if until.saturating_since(from) >= self.config.interval {
            return true;
        }
        let mut at = from;
        let mut unused = 0;
        while at < until && unused < work {
            let Stretch { end, rate } = self.stretch(at);
            let end = end.min(until);
            unused += u128::from(rate.bits_per_sec()) * u128::from((end - at).as_nanos());
            at = end;
        }
        unused >= work
    }
}

impl AccessServer for Leo {
    /// Whether a packet that arrives at `now` is dropped at a boundary.
    fn refuses(&mut self, now: Instant, _bytes: u64, _ecn: &mut Ecn) -> Option<DropReason> {
        if now >= self.door.end {
            let number = self.number(now);
            let mut rng = self.rng.clone();
            self.door = draw_interval(&self.config, self.back, &mut rng, number);
        }
        if now < self.door.dark {
            return Some(DropReason::Loss);
        }
        let closed = self.door.drops > 0 && now < self.door.serves;
        if closed {
            self.door.drops -= 1;
        }
        closed.then_some(DropReason::Loss)
    }

    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let mut start = now.max(busy_until);
        let mut work = u128::from(bytes) * BYTE;
        let mut after_gap = false;
        if now > busy_until {
            after_gap = self.wastes(busy_until, now, work);
            self.debt = 0;
            self.advance(now);
            start += self.burst.wait;
        }
        work += self.debt;
        let (end, debt) = process::finish(start, work, |at| self.stretch(at));
        self.debt = debt;
        Served {
            start,
            end,
            after_gap,
        }
    }

    fn release(&mut self, end: Instant) -> Instant {
        if end == Instant::MAX {
            return end;
        }
        let interval = &self.interval;
        let since = end.saturating_since(interval.begin).as_nanos() as f64;
        let part = since / self.config.interval.as_nanos() as f64;
        let base = (interval.base + interval.slope * part).max(0.0) as u64;
        let due = end + Duration::from_nanos(base) + self.burst.jitter;
        // Packets are never reordered.
        self.released = self.released.max(due);
        self.released
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        process::capacity(Instant::ZERO, until, |at| self.stretch(at))
    }
}

/// When frame `number` starts.
fn frame_begin(number: u64) -> Instant {
    let nanos = u128::from(number) * u128::from(THREE_FRAMES) / 3;
    Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

/// The first frame that starts at `at` or later.
fn frame_from(at: Instant) -> u64 {
    let frames = (u128::from(at.as_nanos()) * 3).div_ceil(u128::from(THREE_FRAMES));
    u64::try_from(frames).unwrap_or(u64::MAX)
}

/// Interval `number`; the stream is positioned after its draws.
fn draw_interval(config: &LeoConfig, back: u64, rng: &mut ChaCha8Rng, number: u64) -> Interval {
    rng.set_word_pos(u128::from(number) << WORDS);
    let length = config.interval.as_nanos();
    let begins = number.saturating_mul(length);
    let begin = Instant::from_nanos(begins.saturating_sub(back));
    let end = Instant::from_nanos(begins.saturating_add(length).saturating_sub(back));
    let share = libm::exp(config.spread * normal(rng)).clamp(RATE_RANGE.0, RATE_RANGE.1);
    let deviates = normal(rng).clamp(BASE_RANGE.0, BASE_RANGE.1) - BASE_RANGE.0;
    let drift = (2.0 * unit(rng) - 1.0) * config.drift.as_nanos() as f64;
    let longer = -libm::log(1.0 - unit(rng)) * config.outage_mean.as_nanos() as f64;
    let outage = (config.outage + Duration::from_nanos(longer as u64))
        .min(config.outage_max)
        .min(Duration::from_nanos(length / 2));
    let is_dropping = unit(rng) < config.drop;
    let packets = 1 + (unit(rng) * f64::from(config.drop_packets)) as u32;
    // The run starts within interval zero, not at a boundary.
    let boundary = number > 0;
    let serves = if boundary {
        (begin + outage).min(end)
    } else {
        begin
    };
    let has_drops = boundary && is_dropping;
    Interval {
        number,
        begin,
        serves,
        end,
        rate: config.rate.bits_per_sec() as f64 * share,
        base: config.step.as_nanos() as f64 * deviates + config.drift.as_nanos() as f64 - drift,
        slope: 2.0 * drift,
        drops: if has_drops {
            packets.min(config.drop_packets)
        } else {
            0
        },
        dark: if has_drops {
            (begin + config.drop_time).min(serves)
        } else {
            begin
        },
    }
}

/// A variate with mean one and the given coefficient of variation from a standard normal one: a
/// gamma variate of shape k is near k (1 - 1/(9k) + z/(3 sqrt k))^3.
fn gamma(variation: f64, deviate: f64) -> f64 {
    let part = variation * variation / 9.0;
    let root = 1.0 - part + deviate * variation / 3.0;
    (root * root * root).max(0.0)
}
