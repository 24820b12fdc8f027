//! The reordering metric (Linux 6.12 `tp->reordering`, `tp->reord_seen`): the number of segments
//! that may overtake a segment before it counts as lost. It starts at the three of RFC 5681,
//! section 3.2, and grows with the reordering observed on the path. RFC 4653 has the same aim.
//!
//! Assumes that the caller detects late originals; see `check_reordering` and `newreno`.

/// Reordering assumed before any is seen, in segments (`tcp_reordering`).
const EXPECTED: u32 = 3;
/// Largest metric (`tcp_max_reordering`).
const MOST: u64 = 300;

/// The reordering metric.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reordering {
    limit: u32,
    seen: u32,
}

impl Reordering {
    pub(crate) const fn new() -> Self {
        Self {
            limit: EXPECTED,
            seen: 0,
        }
    }

    /// Segments that may overtake one that is not lost.
    #[inline]
    pub(crate) const fn limit(&self) -> u32 {
        self.limit
    }

    /// How often reordering was seen.
    #[inline]
    pub(crate) const fn seen(&self) -> u32 {
        self.seen
    }

    /// Whether the path showed more reordering than is assumed of any path.
    #[inline]
    pub(crate) const fn exceeds_expected(&self) -> bool {
        self.limit > EXPECTED
    }

    /// A segment arrived `distance` bytes behind the highest one that had overtaken it.
    pub(crate) fn on_late(&mut self, distance: u64, smss: u64) {
        if distance > u64::from(self.limit) * smss {
            self.limit = distance.div_ceil(smss).min(MOST) as u32;
        }
        self.seen = self.seen.saturating_add(1);
    }

    /// Without SACK: more duplicate ACKs arrived than the `out` segments in flight explain.
    pub(crate) fn on_excess_duplicates(&mut self, out: u32) {
        self.limit = u64::from(out).min(MOST) as u32;
        self.seen = self.seen.saturating_add(1);
    }

    /// A timeout occurred before a recovery began, although `sacked` segments had arrived above a
    /// hole: the limit was too large to detect the loss (`tcp_enter_loss`).
    pub(crate) fn on_timeout_while_open(&mut self, sacked: u32) {
        if sacked >= EXPECTED {
            self.limit = self.limit.min(EXPECTED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_grows_to_the_observed_distance_up_to_the_maximum() {
        let mut reordering = Reordering::new();
        reordering.on_late(3_000, 1_000);
        assert_eq!((reordering.limit(), reordering.seen()), (3, 1));
        assert!(!reordering.exceeds_expected());
        reordering.on_late(4_001, 1_000);
        assert_eq!((reordering.limit(), reordering.seen()), (5, 2));
        reordering.on_late(2_000, 1_000);
        assert_eq!(reordering.limit(), 5);
        reordering.on_late(1_000_000, 1_000);
        assert_eq!(reordering.limit(), 300);
    }

    #[test]
    fn a_timeout_that_the_limit_caused_resets_it() {
        let mut reordering = Reordering::new();
        reordering.on_excess_duplicates(12);
        reordering.on_timeout_while_open(2);
        assert_eq!(reordering.limit(), 12);
        reordering.on_timeout_while_open(3);
        assert_eq!((reordering.limit(), reordering.seen()), (3, 1));
    }
}
