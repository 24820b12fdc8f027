//! A policer: a token bucket without a queue, common at the edge of operators' networks.
//!
//! The bucket is that of Linux `sch_tbf`, checked when a packet arrives. A packet with enough
//! tokens passes and takes them; without, it is dropped or marked at once and takes none (the
//! committed rate and burst of RFC 2697 with one bucket). Conforming packets continue at the rate
//! of the line behind the policer, in whose queue they may wait.
//!
//! The link counts as busy while the tokens are used up, not while the line is busy: the policer is
//! the bottleneck of a policed path.

use tables::{Key, Kind, MAX_SIZE, Rules, Wrong, described};
use units::{Bytes, Instant, Rate, Transmission};

use super::token_bucket::{BYTE, Bucket, LEAST_BURST};
use super::{AccessModel, AccessServer, Served, Serves, Surroundings};
use crate::{DropReason, Ecn};

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct PolicerConfig(
        "policer", "a policer", "A policer: a packet without tokens is dropped or marked at once."
    ) {
        /// Rate at which tokens arrive.
        rate: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("50 Mbit/s");
        /// Depth of the bucket; at least the largest packet, overhead included.
        burst: Bytes = LEAST_BURST => Key::of(Kind::Size(LEAST_BURST, MAX_SIZE));
        /// Rate of the line behind the policer.
        then: Rate = Rate::ZERO => Key::of(Kind::RATE).needed("1 Gbit/s");
        /// What happens to an ECN-capable packet without tokens; others are dropped.
        marks: bool = false => Key::of(Kind::Words(&["drop", "mark"])).named("exceed");
    }
}

impl Rules for PolicerConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.then < self.rate {
            let reason = "the line behind the policer is slower than the policer's rate";
            return Err(Wrong::value("then", reason));
        }
        Ok(())
    }
}

/// The server of a policed line.
#[derive(Clone, Debug)]
pub struct Policer {
    bucket: Bucket,
    then: Rate,
    marks: bool,
    transmission: Transmission,
    /// Tokens that overflowed the bucket before the last conforming packet.
    unused: u128,
}

impl AccessModel for PolicerConfig {
    fn mean_rate(&self) -> Rate {
        self.rate
    }
}

impl Serves for PolicerConfig {
    type Server = Policer;

    fn server(&self, _around: &Surroundings<'_>) -> Policer {
        Policer {
            bucket: Bucket::new(self.rate, self.burst),
            then: self.then,
            marks: self.marks,
            transmission: Transmission::default(),
            unused: 0,
        }
    }
}

impl AccessServer for Policer {
    fn refuses(&mut self, now: Instant, bytes: u64, ecn: &mut Ecn) -> Option<DropReason> {
        self.unused = self.bucket.fill(now);
        if self.bucket.take(u128::from(bytes) * BYTE) {
            return None;
        }
        if self.marks && *ecn != Ecn::NotEct {
            *ecn = Ecn::Ce;
            return None;
        }
        Some(DropReason::Early)
    }

    /// A packet has just passed.
    fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let start = now.max(busy_until);
        if now > busy_until {
            self.transmission.reset();
        }
        let end = if self.then == Rate::ZERO {
            Instant::MAX
        } else {
            start + self.transmission.time_for(Bytes::new(bytes), self.then)
        };
        Served {
            start,
            end,
            after_gap: self.unused >= u128::from(bytes) * BYTE,
        }
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        let tokens = u64::try_from(self.bucket.capacity(until)).unwrap_or(u64::MAX);
        Bytes::new(tokens).min(self.then.bytes_in(until - Instant::ZERO))
    }
}
