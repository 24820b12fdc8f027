//! Per-segment records for a congestion control that watches losses: the data in flight and the
//! data lost when the segment left (`P.tx_in_flight` and `P.lost` of the BBR draft), and the losses
//! not yet reported. They are stored beside the ring, so that other senders do not pay for them.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use units::Bytes;

use super::Scoreboard;

/// The state of the connection just after a segment was (last) sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flight {
    /// Bytes in flight, including this segment.
    pub(crate) in_flight: Bytes,
    /// Bytes declared lost since the connection began.
    pub(crate) lost: Bytes,
}

/// The records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    smss: u64,
    /// Indexed like the ring of segments.
    flights: Vec<Flight>,
    /// Segments declared lost so far.
    lost: u64,
    /// Segments declared lost and not yet reported.
    new_losses: Vec<u64>,
}

impl Watch {
    /// The ring grows: it holds `segments`, and its mask changes.
    pub(crate) fn grow(&mut self, segments: Range<u64>, mask: u64, larger: u64) {
        let mut flights = vec![Flight::default(); larger as usize + 1];
        for index in segments {
            flights[(index & larger) as usize] = self.flights[(index & mask) as usize];
        }
        self.flights = flights;
    }

    /// Nothing is in flight, and the ring has no slots.
    pub(crate) fn rest(&mut self) {
        self.flights = Vec::new();
    }

    pub(crate) fn on_lost(&mut self, index: u64) {
        self.lost += 1;
        self.new_losses.push(index);
    }
}

impl Scoreboard {
    /// Records the flight of each segment from here on. Nothing is in flight yet.
    pub(crate) fn begin_watch(&mut self, smss: u64) {
        self.watch = Some(Box::new(Watch {
            smss,
            flights: vec![Flight::default(); self.slots.len()],
            lost: 0,
            new_losses: Vec::new(),
        }));
    }

    #[inline]
    pub(crate) const fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// The record made when `index` left; zero if losses are not watched.
    #[inline]
    pub(crate) fn flight(&self, index: u64) -> Flight {
        self.watch.as_ref().map_or(Flight::default(), |watch| {
            watch.flights[(index & self.mask) as usize]
        })
    }

    /// Segment `index` has just left.
    pub(crate) fn remember_flight(&mut self, index: u64) {
        let in_flight = u64::from(self.in_flight());
        let place = (index & self.mask) as usize;
        if let Some(watch) = &mut self.watch {
            watch.flights[place] = Flight {
                in_flight: Bytes::new(in_flight * watch.smss),
                lost: Bytes::new(watch.lost * watch.smss),
            };
        }
    }

    /// The numbers of the segments declared lost since the last call, in that order. Return the
    /// list with [`Self::return_new_losses`].
    pub(crate) fn take_new_losses(&mut self) -> Vec<u64> {
        self.watch
            .as_mut()
            .map_or(Vec::new(), |watch| core::mem::take(&mut watch.new_losses))
    }

    /// Reuses the memory of the list.
    pub(crate) fn return_new_losses(&mut self, mut new_losses: Vec<u64>) {
        new_losses.clear();
        if let Some(watch) = &mut self.watch {
            watch.new_losses = new_losses;
        }
    }
}
