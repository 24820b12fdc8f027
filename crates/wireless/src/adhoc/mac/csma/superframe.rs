//! The superframe of a network with beacons (IEEE 802.15.4-2015, sections 6.2.1 and 6.2.5.1).
//!
//! A beacon comes at multiples of the beacon interval. The contention access period (CAP) follows
//! it up to the end of the superframe. Backoff periods count from the start of the beacon.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::backoff::Backoff;
use super::config::CsmaConfig;
use super::timing::{
    ACK_PSDU, BACKOFF_PERIOD, BASE_SUPERFRAME, SYMBOL, TURNAROUND, airtime, space,
};

/// Bytes of a beacon's PSDU: frame control 2, sequence number 1, source 4, superframe specification
/// 2, guaranteed time slots 1, pending addresses 1, checksum 2.
const BEACON_PSDU: u32 = 13;

/// Where nodes may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Superframe {
    /// In nanoseconds: from beacon to beacon, and from a beacon to the start and the end of the
    /// CAP.
    interval: u64,
    start: u64,
    end: u64,
}

impl Superframe {
    /// That of `config`; none without beacons.
    #[must_use]
    pub fn new(config: &CsmaConfig) -> Option<Self> {
        let order = config.beacon_order?.min(14);
        let active = config.superframe_order.unwrap_or(order).min(order);
        let base = BASE_SUPERFRAME.as_nanos();
        let period = BACKOFF_PERIOD.as_nanos();
        Some(Self {
            interval: base << order,
            start: airtime(BEACON_PSDU).as_nanos().next_multiple_of(period),
            end: base << active,
        })
    }

    /// The beacon at or before `at`.
    const fn beacon(&self, at: Instant) -> u64 {
        at.as_nanos() / self.interval * self.interval
    }

    /// The first boundary of a backoff period at or after `at` in a CAP.
    #[must_use]
    pub fn boundary(&self, at: Instant) -> Instant {
        let beacon = self.beacon(at);
        let period = BACKOFF_PERIOD.as_nanos();
        let into = (at.as_nanos() - beacon).next_multiple_of(period);
        let place = if into < self.start {
            self.start
        } else if into < self.end {
            into
        } else {
            self.interval + self.start
        };
        Instant::from_nanos(beacon + place)
    }

    /// The end of the CAP of the superframe at `at`.
    #[must_use]
    pub const fn end(&self, at: Instant) -> Instant {
        Instant::from_nanos(self.beacon(at) + self.end)
    }

    /// `periods` backoff periods after the boundary `from`. The count stops at the end of a CAP and
    /// goes on in the next one.
    #[must_use]
    pub fn after(&self, from: Instant, periods: u32) -> Instant {
        let period = BACKOFF_PERIOD.as_nanos();
        let (mut at, mut left) = (from, u64::from(periods));
        loop {
            let end = self.end(at);
            let fits = end.saturating_since(at).as_nanos() / period;
            if left <= fits {
                return at + BACKOFF_PERIOD * left;
            }
            left -= fits;
            at = self.boundary(end);
        }
    }

    /// When a node that waits from `now` on performs its first assessment for a frame with a PSDU
    /// of `psdu` bytes. Two assessments, the frame, its acknowledgement and the space after them
    /// fit into the CAP; otherwise the node draws another backoff in the next one.
    pub fn assessment(
        &self,
        now: Instant,
        backoff: Backoff,
        psdu: u32,
        is_acknowledged: bool,
        rng: &mut ChaCha8Rng,
    ) -> Instant {
        let needed = transaction(psdu, is_acknowledged);
        let mut from = self.boundary(now);
        loop {
            let at = self.after(from, backoff.draw(rng));
            let end = self.end(Instant::from_nanos(at.as_nanos() - 1));
            if at + needed <= end {
                return at;
            }
            from = self.boundary(end);
        }
    }

    /// When the acknowledgement of a frame that ended at `at` starts: at the first boundary after
    /// the turnaround. Nodes count whole symbols, so that propagation does not delay it by a
    /// period.
    #[must_use]
    pub const fn answer(&self, at: Instant) -> Instant {
        let symbol = SYMBOL.as_nanos();
        let ready = at.as_nanos() / symbol * symbol + TURNAROUND.as_nanos();
        let beacon = ready / self.interval * self.interval;
        let into = (ready - beacon).next_multiple_of(BACKOFF_PERIOD.as_nanos());
        Instant::from_nanos(beacon + into)
    }
}

/// The longest time from the first assessment until the space after the frame has passed.
fn transaction(psdu: u32, is_acknowledged: bool) -> Duration {
    let answer = if is_acknowledged {
        TURNAROUND + BACKOFF_PERIOD + airtime(ACK_PSDU)
    } else {
        Duration::ZERO
    };
    BACKOFF_PERIOD * 2 + airtime(psdu) + answer + space(psdu)
}
