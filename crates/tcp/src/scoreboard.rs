//! The segments in flight, in a ring, and the state of each.
//!
//! Linux's retransmission queue (`tcp_rtx_queue`, `tcp_sacktag_write_queue`, `tcp_clean_rtx_queue`
//! of `tcp_input.c`) with other data structures, so that the cost of an ACK does not grow with the
//! window:
//!
//! - Segments are numbered in the order of their first transmission and stored in a power-of-two
//!   ring. Division finds the segment of a byte offset, because nearly all segments are full.
//! - A SACKed segment stores how far the run of SACKed segments extends from it. Following the
//!   reach shortens it by halving (a disjoint-set forest), so that a SACK block touches only its
//!   new part.
//! - Lost segments that wait for retransmission are bits, searched from the lowest upward.
//! - RACK needs the order of transmission. For originals this is the order of the ring;
//!   retransmissions have a queue (`scoreboard/rack.rs`).
//!
//! Like Linux, the counters count segments: `in_flight = packets_out - sacked_out -
//! lost_out + retrans_out`.
//!
//! ## Deviations
//!
//! A segment is delivered when all of it is covered. Linux splits a segment that a SACK block or an
//! ACK covers in part. No receiver of whole segments sends such a block.

mod delivery;
mod duplicates;
mod fack;
mod join;
mod memory;
mod numbers;
mod rack;
mod samples;
mod split;
mod watch;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use congestion::rate_sample::SendStamp;
use prefetch::prefetch;
use units::{Bytes, Instant};

use samples::Samples;
use watch::Watch;

pub(crate) use delivery::Delivery;

/// The receiver has it.
pub(crate) const SACKED: u8 = 1;
/// Declared lost, and not delivered since.
pub(crate) const LOST: u8 = 2;
/// Its retransmission is in flight.
const RETRANS: u8 = 4;
/// Sent more than once, as a probe or otherwise.
pub(crate) const EVER_RETRANS: u8 = 8;
/// RACK marked it and ignores it until it is retransmitted.
const DETACHED: u8 = 16;
/// Sent while the application limited the sender.
const APP_LIMITED: u8 = 32;
/// The last of a burst, and so of a packet of Linux ([`Scoreboard::end_packet`]).
const ENDS_PACKET: u8 = 64;

/// One segment in flight: 32 bytes. (`samples.rs` holds the rest of its stamp.)
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) seq: u64,
    /// When it was last sent.
    pub(crate) sent: Instant,
    /// Delivered by the connection when it was last sent.
    pub(crate) delivered: Bytes,
    /// Its place in the order of transmission, modulo 2^32. After it is SACKed: at least this many
    /// segments from here on are SACKed.
    order_or_reach: u32,
    pub(crate) len: u16,
    flags: u8,
}

const _: () = assert!(size_of::<Segment>() == 32);

impl Segment {
    pub(crate) const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }

    pub(crate) const fn has(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// Its last transmission, for comparison. The order distinguishes segments sent at the same
    /// instant after different ACKs.
    pub(crate) const fn turn(&self) -> Turn {
        Turn {
            sent: self.sent,
            order: self.order_or_reach,
        }
    }

    /// Whether it was last sent while the application limited the sender.
    pub(crate) const fn is_app_limited(&self) -> bool {
        self.has(APP_LIMITED)
    }

    /// Whether it was sent once, and nothing else is known of it.
    #[inline]
    const fn is_plain(&self) -> bool {
        !self.has(!(APP_LIMITED | ENDS_PACKET))
    }

    /// The next segment of a burst, which it becomes.
    #[inline]
    fn next_of(&mut self, len: u16) -> Self {
        self.seq = self.seq.wrapping_add(u64::from(len));
        self.order_or_reach = self.order_or_reach.wrapping_add(1);
        *self
    }

    #[inline]
    fn set_sent(&mut self, turn: Turn, stamp: &SendStamp) {
        self.sent = turn.sent;
        self.order_or_reach = turn.order;
        self.delivered = stamp.delivered;
        self.flags &= !APP_LIMITED;
        if stamp.app_limited {
            self.flags |= APP_LIMITED;
        }
    }
}

/// A transmission, ordered by time and then by count. The simulator, unlike a host, may process
/// several ACKs at one instant. RACK must not treat a segment sent after a later one of them as
/// older.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Turn {
    pub(crate) sent: Instant,
    /// Counts transmissions, modulo 2^32.
    order: u32,
}

impl Turn {
    /// Before all other transmissions.
    pub(crate) const NONE: Self = Self {
        sent: Instant::ZERO,
        order: 0,
    };
}

/// A retransmission of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Retransmission {
    index: u64,
    turn: Turn,
    /// The segment that was next to be sent for the first time.
    next: u64,
}

/// The segments in flight.
///
/// What a connection without losses reads and writes is at the beginning; see `Sender`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Scoreboard {
    slots: Vec<Segment>,
    mask: u64,
    /// Number of the lowest segment in flight, and of the next new segment.
    base: u64,
    next: u64,
    sacked_out: u32,
    lost_out: u32,
    retrans_out: u32,
    pending_count: u32,
    /// Transmissions, retransmissions included, modulo 2^32.
    transmissions: u32,
    /// Bytes of the segments marked SACKED.
    sacked_bytes: u32,
    /// Present unless the congestion control reads no rate samples.
    samples: Option<Samples>,
    /// Present only if the congestion control watches losses.
    watch: Option<Box<Watch>>,
    /// One bit for each slot: lost, and its retransmission not in flight. None before the first.
    pending: Vec<u64>,
    /// No pending bit is set below this number.
    pending_hint: u64,
    /// End of the highest segment SACKed since the ring last held no SACKed segment.
    highest_sacked: u64,
    /// `2^64 / smss`.
    reciprocal: u64,
    /// RACK has checked every original below this number.
    rack_next: u64,
    /// RACK's reordering timer has checked every original below this number.
    rack_seen: u64,
    /// The last original that the timer waits for.
    rack_waiting: Option<u64>,
    /// Retransmissions in the order of transmission.
    retransmissions: VecDeque<Retransmission>,
}

/// Segments that left the ring together, each of which was sent once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PlainRun {
    pub(crate) count: u32,
    /// When the first of them was sent.
    pub(crate) oldest_sent: Instant,
    /// Number of the last one, its transmission, and what was delivered then.
    pub(crate) newest: u64,
    pub(crate) turn: Turn,
    pub(crate) delivered: Bytes,
}

impl Scoreboard {
    pub(crate) fn new(smss: u64) -> Self {
        Self {
            slots: Vec::new(),
            pending: Vec::new(),
            mask: 0,
            base: 0,
            next: 0,
            reciprocal: u64::MAX / smss,
            sacked_out: 0,
            sacked_bytes: 0,
            lost_out: 0,
            retrans_out: 0,
            pending_count: 0,
            pending_hint: 0,
            highest_sacked: 0,
            rack_next: 0,
            rack_seen: 0,
            rack_waiting: None,
            transmissions: 0,
            retransmissions: VecDeque::new(),
            samples: Some(Samples::default()),
            watch: None,
        }
    }

    /// Number of the lowest segment in flight.
    #[inline]
    pub(crate) const fn base(&self) -> u64 {
        self.base
    }

    /// Number of the next segment to be sent for the first time.
    #[inline]
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    /// Segments SACKed. Without SACK: duplicate ACKs.
    #[inline]
    pub(crate) const fn sacked_out(&self) -> u32 {
        self.sacked_out
    }

    /// Bytes of the segments that were SACKed.
    pub(crate) const fn sacked_bytes(&self) -> u64 {
        self.sacked_bytes as u64
    }

    /// Segments marked lost and not yet delivered.
    #[inline]
    pub(crate) const fn lost_out(&self) -> u32 {
        self.lost_out
    }

    /// Retransmissions in flight.
    #[inline]
    pub(crate) const fn retrans_out(&self) -> u32 {
        self.retrans_out
    }

    /// Segments sent and not acknowledged cumulatively.
    #[inline]
    pub(crate) const fn packets_out(&self) -> u32 {
        (self.next - self.base) as u32
    }

    #[inline]
    pub(crate) const fn in_flight(&self) -> u32 {
        self.packets_out() + self.retrans_out - self.sacked_out - self.lost_out
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.base == self.next
    }

    #[inline]
    pub(crate) fn slot(&self, index: u64) -> &Segment {
        &self.slots[(index & self.mask) as usize]
    }

    #[inline]
    fn slot_mut(&mut self, index: u64) -> &mut Segment {
        &mut self.slots[(index & self.mask) as usize]
    }

    /// The lowest segment in flight.
    #[inline]
    pub(crate) fn head(&self) -> Option<&Segment> {
        (!self.is_empty()).then(|| self.slot(self.base))
    }

    /// Asks for the memory of the lowest segment in flight.
    #[inline(always)]
    pub(crate) fn expect_head(&self) {
        if let Some(segment) = self.slots.get((self.base & self.mask) as usize) {
            prefetch(segment);
        }
    }

    /// End of the highest SACKed segment, or `snd_una` if there is none.
    #[inline]
    pub(crate) const fn fack(&self, snd_una: u64) -> u64 {
        if self.sacked_out == 0 {
            snd_una
        } else {
            self.highest_sacked
        }
    }

    /// Counts a transmission at `now`.
    #[inline]
    fn next_turn(&mut self, now: Instant) -> Turn {
        self.transmissions = self.transmissions.wrapping_add(1);
        Turn {
            sent: now,
            order: self.transmissions,
        }
    }

    /// A new segment was sent.
    #[inline]
    pub(crate) fn push(&mut self, seq: u64, len: u16, now: Instant, stamp: SendStamp) {
        if self.next - self.base == self.slots.len() as u64 {
            self.grow();
        }
        let mut segment = Segment {
            seq,
            len,
            ..Segment::default()
        };
        segment.set_sent(self.next_turn(now), &stamp);
        let next = self.next;
        *self.slot_mut(next) = segment;
        self.next = next + 1;
        self.remember_times(next, &stamp);
        if self.is_watched() {
            self.remember_flight(next);
        }
    }

    /// `count` new segments of `len` bytes were sent together, as by [`Self::push`].
    #[inline]
    pub(crate) fn push_many(
        &mut self,
        seq: u64,
        len: u16,
        count: u32,
        now: Instant,
        stamp: &SendStamp,
    ) {
        while self.next - self.base + u64::from(count) > self.slots.len() as u64 {
            self.grow();
        }
        let mut segment = Segment {
            seq,
            len,
            ..Segment::default()
        };
        let turn = Turn {
            sent: now,
            order: self.transmissions,
        };
        segment.set_sent(turn, stamp);
        segment.seq = seq.wrapping_sub(u64::from(len));
        let first = self.next;
        let end = first + u64::from(count);
        // The ring is used up to its end, and then from its beginning.
        let start = (first & self.mask) as usize;
        let (beginning, rest) = self.slots.split_at_mut(start);
        let before_end = (count as usize).min(rest.len());
        let after = count as usize - before_end;
        for slot in &mut rest[..before_end] {
            *slot = segment.next_of(len);
        }
        for slot in &mut beginning[..after] {
            *slot = segment.next_of(len);
        }
        self.transmissions = segment.order_or_reach;
        if self.samples.is_none() && self.watch.is_none() {
            self.next = end;
            return;
        }
        for index in first..end {
            self.next = index + 1;
            self.remember_times(index, stamp);
            if self.is_watched() {
                self.remember_flight(index);
            }
        }
    }

    /// Removes the segments from `start` to `end` from the ring, if they are its first ones, and
    /// each of them was sent once, and nothing in the ring is SACKed, lost or retransmitted.
    #[inline(always)]
    pub(crate) fn take_plain(&mut self, start: u64, end: u64) -> Option<PlainRun> {
        if (self.sacked_out | self.lost_out | self.retrans_out) != 0 {
            return None;
        }
        let slots = self.slots.as_slice();
        let first = self.base;
        let oldest = slots.get((first & self.mask) as usize)?;
        if oldest.seq != start {
            return None;
        }
        let mut segment = oldest;
        let mut index = first;
        while index < self.next && segment.is_plain() {
            if segment.end() >= end {
                if segment.end() != end {
                    return None;
                }
                let run = PlainRun {
                    count: (index - first) as u32 + 1,
                    oldest_sent: oldest.sent,
                    newest: index,
                    turn: segment.turn(),
                    delivered: segment.delivered,
                };
                self.base = index + 1;
                return Some(run);
            }
            index += 1;
            segment = &slots[(index & self.mask) as usize];
        }
        None
    }

    /// The segment `index` was retransmitted. A probe does not count as a retransmission in flight.
    pub(crate) fn retransmit(&mut self, index: u64, now: Instant, stamp: SendStamp, probe: bool) {
        self.clear_pending(index);
        let turn = self.next_turn(now);
        let segment = self.slot_mut(index);
        segment.set_sent(turn, &stamp);
        segment.flags = (segment.flags | EVER_RETRANS) & !DETACHED;
        if !probe && !segment.has(RETRANS) {
            segment.flags |= RETRANS;
            self.retrans_out += 1;
        }
        self.retransmissions.push_back(Retransmission {
            index,
            turn,
            next: self.next,
        });
        self.remember_times(index, &stamp);
        if self.is_watched() {
            self.remember_flight(index);
        }
    }

    /// Number of the first segment that begins at or after `seq`.
    pub(crate) fn index_at(&self, seq: u64) -> u64 {
        let Some(head) = self.head() else {
            return self.next;
        };
        if seq <= head.seq {
            return self.base;
        }
        let ahead = seq - head.seq;
        let guess = self.base + ((u128::from(ahead) * u128::from(self.reciprocal)) >> 64) as u64;
        // The reciprocal rounds down, and one short segment shifts all later ones by one.
        for index in [guess + 1, guess, guess + 2] {
            if index < self.next && self.slot(index).seq == seq {
                return index;
            }
        }
        let (mut low, mut high) = (self.base, self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.slot(middle).seq < seq {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// Number of the first segment from `index` on that is not SACKed.
    fn unsacked_from(&mut self, mut index: u64) -> u64 {
        loop {
            if index >= self.next || !self.slot(index).has(SACKED) {
                return index;
            }
            let after = index + u64::from(self.slot(index).order_or_reach);
            if after >= self.next || !self.slot(after).has(SACKED) {
                return after;
            }
            let beyond = after + u64::from(self.slot(after).order_or_reach);
            self.slot_mut(index).order_or_reach = (beyond - index) as u32;
            index = beyond;
        }
    }

    /// Declares `index` lost. Returns whether it was not marked before (Linux counts it in `lost`).
    pub(crate) fn mark_lost(&mut self, index: u64) -> bool {
        let segment = self.slot_mut(index);
        if segment.has(SACKED) || is_pending(segment.flags) {
            return false;
        }
        let was_retransmitted = segment.has(RETRANS);
        let was_lost = segment.has(LOST);
        segment.flags = (segment.flags | LOST) & !RETRANS;
        if was_retransmitted {
            self.retrans_out -= 1;
        }
        if !was_lost {
            self.lost_out += 1;
        }
        if self.pending_count == 0 || index < self.pending_hint {
            self.pending_hint = index;
        }
        self.set_pending(index);
        if let Some(watch) = &mut self.watch {
            watch.on_lost(index);
        }
        true
    }

    fn set_pending(&mut self, index: u64) {
        if self.pending.is_empty() {
            self.pending.resize(self.slots.len().div_ceil(64), 0);
        }
        let bit = index & self.mask;
        self.pending[(bit >> 6) as usize] |= 1 << (bit & 63);
        self.pending_count += 1;
    }

    fn clear_pending(&mut self, index: u64) {
        let bit = index & self.mask;
        let Some(word) = self.pending.get_mut((bit >> 6) as usize) else {
            return;
        };
        if *word & (1 << (bit & 63)) != 0 {
            *word &= !(1 << (bit & 63));
            self.pending_count -= 1;
        }
    }

    /// The lowest lost segment whose retransmission is not in flight.
    pub(crate) fn next_pending(&mut self) -> Option<u64> {
        if self.pending_count == 0 {
            return None;
        }
        let span = (self.slots.len() as u64).min(64);
        let mut index = self.pending_hint.max(self.base);
        while index < self.next {
            let bit = index & self.mask;
            let word = self.pending[(bit >> 6) as usize] >> (bit & 63);
            if word != 0 {
                self.pending_hint = index + u64::from(word.trailing_zeros());
                return Some(self.pending_hint);
            }
            index += span - (bit & (span - 1));
        }
        debug_assert!(false, "a pending segment outside the ring");
        None
    }

    /// A burst of a paced sender begins: the segments sent so far are in other packets, even if they
    /// leave at the same time.
    pub(crate) fn end_packet(&mut self) {
        if self.base < self.next {
            self.slot_mut(self.next - 1).flags |= ENDS_PACKET;
        }
    }

    /// The number of segments from `index` on, at most `most`, that are lost and were sent in one
    /// burst: Linux has them in one packet, and retransmits it as one.
    pub(crate) fn pending_run(&self, index: u64, most: u32) -> u32 {
        let sent = self.slot(index).sent;
        let belongs = |at: &u64| {
            let slot = self.slot(*at);
            let follows = slot.sent == sent && !self.slot(*at - 1).has(ENDS_PACKET);
            follows && slot.has(LOST) && !slot.has(RETRANS)
        };
        let last = self.next.min(index + u64::from(most));
        1 + (index + 1..last).take_while(belongs).count() as u32
    }

    pub(crate) const fn has_pending(&self) -> bool {
        self.pending_count > 0
    }

    /// Removes all loss marks.
    pub(crate) fn unmark_lost(&mut self) {
        for index in self.base..self.next {
            self.slot_mut(index).flags &= !LOST;
        }
        self.pending.fill(0);
        self.pending_count = 0;
        self.lost_out = 0;
        self.rack_next = self.base;
        self.rack_seen = self.base;
    }

    /// The receiver discarded its SACKed data.
    pub(crate) fn forget_sacks(&mut self) {
        for index in self.base..self.next {
            self.slot_mut(index).flags &= !SACKED;
        }
        self.sacked_out = 0;
        self.sacked_bytes = 0;
    }

    /// Recomputes every counter from the segments, for tests. Without SACK, it is unknown which
    /// segments `sacked_out` counts.
    pub(crate) fn is_consistent(&self, sack: bool) -> bool {
        let (mut sacked, mut lost, mut retransmitted, mut pending) = (0, 0, 0, 0);
        let (mut end, mut bytes) = (None, 0);
        for index in self.base..self.next {
            let segment = self.slot(index);
            sacked += u32::from(segment.has(SACKED));
            bytes += u32::from(segment.has(SACKED)) * u32::from(segment.len);
            lost += u32::from(segment.has(LOST));
            retransmitted += u32::from(segment.has(RETRANS));
            pending += u32::from(is_pending(segment.flags));
            let bit = index & self.mask;
            let word = self.pending.get((bit >> 6) as usize);
            let is_set = word.is_some_and(|word| word & (1 << (bit & 63)) != 0);
            if is_set != is_pending(segment.flags)
                || is_set && index < self.pending_hint
                || segment.has(SACKED) && segment.has(LOST)
                || end.is_some_and(|end| end != segment.seq)
            {
                return false;
            }
            end = Some(segment.end());
        }
        let bits: u32 = self.pending.iter().map(|word| word.count_ones()).sum();
        let known = if sack { self.sacked_out } else { 0 };
        (sacked, lost, retransmitted) == (known, self.lost_out, self.retrans_out)
            && bytes == self.sacked_bytes
            && self.sacked_out + self.lost_out <= self.packets_out()
            && pending == self.pending_count
            && bits == pending
    }
}

const fn is_pending(flags: u8) -> bool {
    flags & (LOST | RETRANS) == LOST
}
