//! What a congestion control that watches losses wants remembered of each segment: what was in
//! flight and what had been lost when it left (`P.tx_in_flight` and `P.lost` of the BBR draft), and
//! which were declared lost since it was last told. Beside the ring of segments, so that nobody
//! else pays.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use units::Bytes;

use super::Scoreboard;

/// The connection just after a segment was (last) sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Flight {
    /// In flight, this segment included.
    pub(crate) in_flight: Bytes,
    /// Declared lost since the connection began.
    pub(crate) lost: Bytes,
}

/// What is remembered.
#[derive(Clone, Debug)]
pub(crate) struct Watch {
    smss: u64,
    /// In the places of the ring of segments.
    flights: Vec<Flight>,
    /// Declared lost so far, in segments.
    lost: u64,
    /// Declared lost and not reported yet.
    news: Vec<u64>,
}

impl Watch {
    /// The ring becomes larger: `segments` are in it, and its mask changes.
    pub(crate) fn grow(&mut self, segments: Range<u64>, mask: u64, larger: u64) {
        let mut flights = vec![Flight::default(); larger as usize + 1];
        for index in segments {
            flights[(index & larger) as usize] = self.flights[(index & mask) as usize];
        }
        self.flights = flights;
    }

    pub(crate) fn on_lost(&mut self, index: u64) {
        self.lost += 1;
        self.news.push(index);
    }
}

impl Scoreboard {
    /// From now on, remembers the flight of each segment that leaves; nothing is in flight yet.
    pub(crate) fn begin_watch(&mut self, smss: u64) {
        self.watch = Some(Watch {
            smss,
            flights: vec![Flight::default(); self.slots.len()],
            lost: 0,
            news: Vec::new(),
        });
    }

    #[inline]
    pub(crate) const fn is_watched(&self) -> bool {
        self.watch.is_some()
    }

    /// What was remembered when `index` left; nothing where nobody watches.
    #[inline]
    pub(crate) fn flight(&self, index: u64) -> Flight {
        self.watch.as_ref().map_or(Flight::default(), |watch| {
            watch.flights[(index & self.mask) as usize]
        })
    }

    /// Segment `index` left just now.
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

    /// The numbers of the segments declared lost since the last call, in that order; give the list
    /// back by [`Self::give_back_news`].
    pub(crate) fn take_news(&mut self) -> Vec<u64> {
        self.watch
            .as_mut()
            .map_or(Vec::new(), |watch| core::mem::take(&mut watch.news))
    }

    /// Keeps the list's memory.
    pub(crate) fn give_back_news(&mut self, mut news: Vec<u64>) {
        news.clear();
        if let Some(watch) = &mut self.watch {
            watch.news = news;
        }
    }
}
