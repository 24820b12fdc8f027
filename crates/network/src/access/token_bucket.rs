//! A token bucket: the shaper of DSL and cable contracts, and `tc`'s `tbf`.
//!
//! As Linux `sch_tbf`. Tokens, counted in bytes, arrive at `rate` up to `burst`; a packet leaves
//! when there are tokens for all of it. With `peak`, a second bucket of `peak_burst` that fills at
//! that rate needs tokens too, so that a burst leaves at the peak rate and not at once. Both start
//! full.
//!
//! Tokens are kept in bits times 10^9, the unit of work of changing rates: exact for any rate.

use tables::{Key, Kind, MAX_SIZE, Rules, Wrong, described};
use units::{Bytes, Duration, Instant, Rate};

use super::{AccessModel, AccessServer, Served, Serves, Surroundings};

/// Work of one byte.
pub(super) const BYTE: u128 = 8_000_000_000;

/// A full packet with the largest overhead of a link.
pub(super) const LEAST_BURST: Bytes = Bytes::new(3000);

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct TokenBucketConfig(
        "token-bucket",
        "a token bucket",
        "A shaper: packets leave as tokens allow, which arrive at a rate, up to a burst."
    ) {
        /// Sustained rate.
        rate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("50 Mbit/s");
        /// Bytes that may leave at once after an idle time; at least the largest packet, overhead
        /// included.
        burst: Bytes = LEAST_BURST => Key::of(Kind::Size(LEAST_BURST, MAX_SIZE));
        /// Rate at which a burst leaves; without it, a burst leaves at once.
        peak: Option<Rate> = None => Key::of(Kind::RATE).usually("none");
        /// Bytes that may leave at once even where there is a peak (`mtu` of `tbf`).
        peak_burst: Bytes = LEAST_BURST => Key::of(Kind::Size(LEAST_BURST, MAX_SIZE));
    }
}

impl Rules for TokenBucketConfig {
    fn check(&self, said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.peak.is_some_and(|peak| peak < self.rate) {
            return Err(Wrong::value("peak", "the peak is below the rate"));
        }
        if said("peak_burst") && self.peak.is_none() {
            return Err(Wrong::value(
                "peak_burst",
                "only a bucket with a peak has this key",
            ));
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Bucket {
    rate: u128,
    depth: u128,
    tokens: u128,
    updated: Instant,
}

impl Bucket {
    pub(super) fn new(rate: Rate, depth: Bytes) -> Self {
        let depth = u128::from(depth.get()) * BYTE;
        Self {
            rate: u128::from(rate.bits_per_sec()),
            depth,
            tokens: depth,
            updated: Instant::ZERO,
        }
    }

    /// Fills it up to `now`; returns the overflow.
    pub(super) fn fill(&mut self, now: Instant) -> u128 {
        let span = now.saturating_since(self.updated);
        let tokens = self.tokens + self.rate * u128::from(span.as_nanos());
        self.updated = self.updated.max(now);
        self.tokens = tokens.min(self.depth);
        tokens - self.tokens
    }

    /// Takes tokens for `work`, if there are enough.
    pub(super) fn take(&mut self, work: u128) -> bool {
        let left = self.tokens.checked_sub(work);
        self.tokens = left.unwrap_or(self.tokens);
        left.is_some()
    }

    /// The bytes that have tokens until `until`, counted from the start.
    pub(super) fn capacity(&self, until: Instant) -> u128 {
        (self.depth + self.rate * u128::from(until.as_nanos())) / BYTE
    }

    /// How long until there are tokens for `work`; a packet larger than the bucket waits for all of
    /// them.
    fn wait(&self, work: u128) -> Duration {
        let missing = work.min(self.depth).saturating_sub(self.tokens);
        if missing == 0 {
            return Duration::ZERO;
        }
        let nanos = missing.div_ceil(self.rate.max(1));
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// The server of a token bucket.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    main: Bucket,
    peak: Option<Bucket>,
}

impl AccessModel for TokenBucketConfig {
    fn mean_rate(&self) -> Rate {
        self.rate
    }
}

impl Serves for TokenBucketConfig {
    type Server = TokenBucket;

    fn server(&self, _around: &Surroundings<'_>) -> TokenBucket {
        TokenBucket {
            main: Bucket::new(self.rate, self.burst),
            peak: self.peak.map(|peak| Bucket::new(peak, self.peak_burst)),
        }
    }
}

impl AccessServer for TokenBucket {
    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        // The packet is at the head of the queue from then on.
        let start = now.max(busy_until);
        let work = u128::from(bytes) * BYTE;
        let unused = self.main.fill(start);
        let mut wait = self.main.wait(work);
        if let Some(peak) = &mut self.peak {
            peak.fill(start);
            wait = wait.max(peak.wait(work));
        }
        let end = start + wait;
        for bucket in [Some(&mut self.main), self.peak.as_mut()]
            .into_iter()
            .flatten()
        {
            bucket.fill(end);
            bucket.tokens = bucket.tokens.saturating_sub(work);
        }
        Served {
            start,
            end,
            after_gap: unused >= work,
        }
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        let main = self.main.capacity(until);
        let peak = self.peak.as_ref().map(|peak| peak.capacity(until));
        let least = peak.map_or(main, |peak| peak.min(main));
        Bytes::new(u64::try_from(least).unwrap_or(u64::MAX))
    }
}
