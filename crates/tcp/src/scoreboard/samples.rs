//! The part of a segment's stamp that only delivery-rate samples read. It is stored beside the
//! ring, so that the ring of other senders stays small.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use congestion::rate_sample::SendStamp;
use units::Instant;

use super::{Scoreboard, Segment};

/// When the data was delivered that the connection had delivered when the segment was last sent,
/// and when the flight of its sample began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Times {
    delivered: Instant,
    first_sent: Instant,
}

/// The records, indexed like the ring of segments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Samples {
    times: Vec<Times>,
}

impl Samples {
    /// The ring grows: it holds `segments`, and its mask changes.
    pub(crate) fn grow(&mut self, segments: Range<u64>, mask: u64, larger: u64) {
        let mut times = vec![Times::default(); larger as usize + 1];
        for index in segments {
            times[(index & larger) as usize] = self.times[(index & mask) as usize];
        }
        self.times = times;
    }
}

impl Scoreboard {
    /// The congestion control reads no rate samples. Nothing is in flight yet.
    pub(crate) fn omit_samples(&mut self) {
        self.samples = None;
    }

    /// Whether the records are made.
    #[cfg(test)]
    pub(crate) const fn samples_are_kept(&self) -> bool {
        self.samples.is_some()
    }

    /// Segment `index` has just left.
    #[inline]
    pub(super) fn remember_times(&mut self, index: u64, stamp: &SendStamp) {
        if let Some(samples) = &mut self.samples {
            samples.times[(index & self.mask) as usize] = Times {
                delivered: stamp.delivered_time,
                first_sent: stamp.first_sent,
            };
        }
    }

    /// The stamp of `segment`, whose number is `index`. Its times are zero if nothing reads them.
    #[inline]
    pub(super) fn stamp(&self, index: u64, segment: &Segment) -> SendStamp {
        let times = self.samples.as_ref().map_or(Times::default(), |samples| {
            samples.times[(index & self.mask) as usize]
        });
        SendStamp {
            delivered: segment.delivered,
            delivered_time: times.delivered,
            first_sent: times.first_sent,
            app_limited: segment.is_app_limited(),
        }
    }
}
