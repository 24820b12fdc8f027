//! The behaviour of the published sources of SEARCH, errors included (`as_published=true`), to
//! reproduce results obtained with them.
//!
//! - *2.0* (Linux): one RTT ago falls between two windows, and integer division picks one of them
//!   instead of blending: the newer if the ACK came at least as long after the bin's end as the RTT
//!   exceeds whole bins. If both hold the same, the test is skipped. It looks back 15 bins, where
//!   the oldest bin of the window is the slot that was just written. After the slow-start exit,
//!   only idling starts it again.
//! - *3.0*: the weight of the blend is always zero, so the look-back is cut to whole bins. Sticky
//!   as 2.0.
//! - *3.1* and *4.0* (Linux): bin 0 takes the place of the bin before the oldest window. After a
//!   reset it holds the connection's total, and the first test is wrong. 3.1's rollback forgets the
//!   shift of the counts, and 4.0's threshold is 35 %.
//! - *1.0* (quicly): the look-back is rounded to the nearest bin, at least one, and the norm must
//!   exceed the threshold, not only reach it.
//!
//! Assumes microseconds, as in Linux. Sources: the SEARCH draft and the authors' repositories,
//! quicly (docs/reference/sources.md).
//!
//! ## Deviations
//!
//! - 3.0 as published does not compile. This is a reading of it, without its errors in filling
//!   missed bins, and it looks back 13 bins.
//! - quicly's 1.0 counts milliseconds, estimates the bytes sent from the bytes in flight, and tests
//!   each missed bin; here the sent bytes are counted and only the last bin is tested.
//! - The clock of 3.1, which wraps after 71.6 minutes, is not reproduced.

use super::{Arithmetic, Comparison, Search, Version};

/// Picks the window of the look-back from: newer, older, whether the ACK was late, bins back.
type Pick = fn(&Search, u128, u128, bool, u64) -> Option<u128>;

/// Slots of the published ring of 2.0 beyond the window.
const EXTRA_BINS: u64 = 15;

impl Search {
    const fn is_published(&self, version: Version) -> bool {
        self.config.as_published && self.config.version as u8 == version as u8
    }

    /// The integer arithmetic: that of the publication for a published version.
    pub(super) const fn arithmetic(&self) -> Arithmetic {
        if self.is_published(Version::V3_1) || self.is_published(Version::V4_0) {
            Arithmetic::Shifted
        } else {
            self.config.arithmetic
        }
    }

    pub(super) fn counts_micros(&self) -> bool {
        self.config.as_published || self.config.arithmetic == Arithmetic::Shifted
    }

    pub(super) const fn comparison(&self) -> Comparison {
        if self.is_published(Version::V1_0) {
            Comparison::Above
        } else {
            self.config.comparison
        }
    }

    /// Whether a slow-start exit stops SEARCH permanently.
    pub(super) const fn is_sticky(&self) -> bool {
        self.is_published(Version::V2_0) || self.is_published(Version::V3_0)
    }

    /// The shift that 3.1's rollback forgets to undo.
    pub(super) fn forgotten_shift(&self) -> u32 {
        if self.is_published(Version::V3_1) {
            self.shift().unwrap_or(0)
        } else {
            0
        }
    }

    /// The first bin that a test may look back to.
    pub(super) const fn first_tested(&self, width: u64) -> u64 {
        if self.is_published(Version::V3_1) || self.is_published(Version::V4_0) {
            width
        } else {
            width + 1
        }
    }

    /// A look-back in whole bins, and the remainder.
    pub(super) const fn split(&self, back: u64, bin: u64) -> (u64, u64) {
        if self.is_published(Version::V1_0) {
            let nearest = (back + bin / 2) / bin;
            return (if nearest == 0 { 1 } else { nearest }, 0);
        }
        (back / bin, back % bin)
    }

    /// The function that replaces the blend, if any.
    pub(super) const fn picks(&self) -> Option<Pick> {
        if self.is_published(Version::V2_0) {
            Some(Self::pick_one)
        } else if self.is_published(Version::V3_0) {
            Some(|_, newer, _, _, _| Some(newer))
        } else {
            None
        }
    }

    fn pick_one(&self, newer: u128, older: u128, late: bool, look_back: u64) -> Option<u128> {
        let open = self.open?;
        let delivered = |index: u64| {
            let before = index
                .checked_sub(1)
                .map_or(0, |index| self.acked.get(index));
            u128::from(self.acked.get(index).saturating_sub(before))
        };
        let mut older = older;
        if look_back == EXTRA_BINS {
            // The oldest bin of the older window shares its slot with the newest bin.
            let oldest = open.index.checked_sub(EXTRA_BINS + self.bins())?;
            older = older.saturating_sub(delivered(oldest)) + delivered(open.index);
        }
        if newer == older {
            return None;
        }
        Some(if late { newer } else { older })
    }
}
