//! The packets in the receive buffer, and the memory that they take (Linux 6.18 `sk_rmem_alloc`,
//! `tcp_queue_rcv`, `tcp_try_coalesce`).
//!
//! A packet keeps its memory until the application has read its last byte. A segment that fits into
//! the unused end of the last packet in order is copied there, and takes none.
//!
//! ## Deviations
//!
//! - Packets beyond a hole are not copied together, and part of their memory is released with as large
//!   a part of their bytes, as if they were all of one size. The memory of overlapping packets is that
//!   of all of them.
//! - Linux merges packets and drops those beyond a hole if they take more memory than the buffer has
//!   (`tcp_prune_queue`). Here such packets stay.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

/// The packets that wait in the receive buffer.
#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Buffers {
    /// Memory of the packets beyond a hole, and of those in order.
    beyond: u32,
    in_order: u32,
    /// Needed only if the application does not read at once.
    unread: Option<Box<Unread>>,
}

/// The packets in order.
#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(PartialEq, Eq))]
struct Unread {
    /// Of each packet, the offset of its end, and its memory.
    packets: VecDeque<(u64, u32)>,
    /// Bytes that the last of them can still take.
    tail_room: u64,
}

impl Buffers {
    /// Memory of all packets.
    #[inline]
    pub const fn total(&self) -> u64 {
        self.beyond as u64 + self.in_order as u64
    }

    /// A packet beyond a hole.
    pub const fn hold_beyond(&mut self, memory: u64) {
        self.beyond = self.beyond.saturating_add(memory as u32);
    }

    /// `part` of the `whole` bytes beyond a hole are in order now. Returns their memory.
    pub const fn release_beyond(&mut self, part: u64, whole: u64) -> u64 {
        let memory = if part >= whole {
            self.beyond
        } else {
            (self.beyond as u128 * part as u128 / whole as u128) as u32
        };
        self.beyond -= memory;
        memory as u64
    }

    /// A packet in order, which the application has not read, of `len` new bytes up to `end`.
    pub fn queue(&mut self, end: u64, len: u64, memory: u64, tail_room: u64) {
        let unread = self.unread.get_or_insert_default();
        match unread.packets.back_mut() {
            Some((last, _)) if len <= unread.tail_room => {
                *last = end;
                unread.tail_room -= len;
            }
            _ => {
                unread.packets.push_back((end, memory as u32));
                self.in_order = self.in_order.saturating_add(memory as u32);
                unread.tail_room = tail_room;
            }
        }
    }

    /// Packets of `full` bytes from `start` to `end`, which had lain beyond a hole and take `memory`.
    pub fn queue_all(&mut self, start: u64, end: u64, memory: u64, full: u64) {
        let unread = self.unread.get_or_insert_default();
        let (mut from, mut left) = (start, memory);
        while from < end {
            let to = (from + full.max(1)).min(end);
            let part = (u128::from(left) * u128::from(to - from) / u128::from(end - from)) as u64;
            unread.packets.push_back((to, part as u32));
            self.in_order = self.in_order.saturating_add(part as u32);
            (from, left) = (to, left - part);
        }
        unread.tail_room = 0;
    }

    /// The application has read up to `offset`.
    pub fn read(&mut self, offset: u64) {
        let Some(unread) = &mut self.unread else {
            return;
        };
        while let Some(&(end, memory)) = unread.packets.front() {
            if end > offset {
                break;
            }
            unread.packets.pop_front();
            self.in_order = self.in_order.saturating_sub(memory);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_released_with_its_last_byte() {
        let mut buffers = Buffers::default();
        for end in [1_448, 2_896] {
            buffers.queue(end, 1_448, 2_304, 164);
        }
        buffers.read(1_447);
        assert_eq!(buffers.total(), 4_608);
        buffers.read(2_895);
        assert_eq!(buffers.total(), 2_304);
        buffers.read(2_896);
        assert_eq!(buffers.total(), 0);
    }

    #[test]
    fn the_end_of_the_last_packet_takes_small_segments() {
        let mut buffers = Buffers::default();
        buffers.queue(1_448, 1_448, 2_304, 164);
        buffers.queue(1_548, 100, 832, 40);
        assert_eq!(buffers.total(), 2_304);
        buffers.queue(1_613, 65, 832, 75);
        assert_eq!(buffers.total(), 2_304 + 832);
        // All that was copied is released together.
        buffers.read(1_448);
        assert_eq!(buffers.total(), 2_304 + 832);
        buffers.read(1_548);
        assert_eq!(buffers.total(), 832);
        // An empty queue has no last packet.
        buffers.read(1_613);
        buffers.queue(1_614, 1, 832, 75);
        assert_eq!(buffers.total(), 832);
    }

    #[test]
    fn what_lay_beyond_a_hole_takes_the_same_in_order() {
        let mut buffers = Buffers::default();
        for _ in 0..3 {
            buffers.hold_beyond(2_304);
        }
        let memory = buffers.release_beyond(2_000, 3_000);
        assert_eq!((memory, buffers.total()), (4_608, 2_304));
        buffers.queue_all(1_000, 3_000, memory, 1_000);
        assert_eq!(buffers.total(), 6_912);
        buffers.read(2_000);
        assert_eq!(buffers.total(), 4_608);
        assert_eq!(buffers.release_beyond(1_000, 1_000), 2_304);
        assert_eq!(buffers.total(), 2_304);
    }
}
