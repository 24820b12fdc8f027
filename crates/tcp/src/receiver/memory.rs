//! The memory of the receive buffer, in which Linux counts (`truesize`, `sk_rcvbuf`,
//! `scaling_ratio`), and the window that it is worth.
//!
//! Linux 6.18 charges a socket for the memory of each packet: the buffer that holds it and the record
//! that describes it (`struct sk_buff`). The window is the memory times the part of it that was
//! payload in the first segment of the largest size so far (`tcp_measure_rcv_mss`), in 256ths. Until
//! a segment has arrived, that part is one half (`TCP_DEFAULT_SCALING_RATIO`).
//!
//! A packet of a TUN device, and one between two namespaces of a host, lies in one piece: headers,
//! payload and [`ROOM`], rounded up to what the kernel's allocator returns: 576 bytes, a power of two
//! from 1,024 to 8,192, or a multiple of 4,096. A segment of 1,448 bytes takes 2,304 bytes, of which
//! 160/256 are payload; one of 1,000 bytes takes as much, so that the window that autotuning begins
//! with cannot grow. A driver may give each packet the same memory instead ([`Memory::per_packet`]).
//!
//! Before 6.6, always one half of the memory is window.

/// `struct sk_buff`, with its alignment.
const RECORD: u64 = 256;
/// Space before the headers and `struct skb_shared_info` (`NET_SKB_PAD`).
const ROOM: u64 = 384;
/// The smallest buffer (`SKB_SMALL_HEAD_SIZE`).
const SMALLEST: u64 = 576;
/// The smallest buffer that is a power of two, and the largest.
const POWERS: (u64, u64) = (1_024, 8_192);
/// `PAGE_SIZE`.
const PAGE: u64 = 4_096;
/// The ratio of window to memory is in 256ths (`TCP_RMEM_TO_WIN_SCALE`).
const RATIO_SHIFT: u32 = 8;
/// `TCP_DEFAULT_SCALING_RATIO`.
const FIRST_RATIO: u16 = 1 << (RATIO_SHIFT - 1);

/// The size of the receive buffer, and what it is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Memory {
    /// Bytes of memory (`sk_rcvbuf`), and the most that autotuning may reach (`tcp_rmem[2]`).
    size: u32,
    most: u32,
    ratio: u16,
    /// The ratio follows the segments.
    is_measured: bool,
    /// The memory of each packet; zero if it follows the packet's length.
    per_packet: u32,
}

impl Memory {
    /// Sizes are at most 4 GiB.
    pub const fn new(size: u64, most: u64, is_measured: bool, per_packet: u32) -> Self {
        Self {
            size: saturated(size),
            most: saturated(most),
            ratio: FIRST_RATIO,
            is_measured,
            per_packet,
        }
    }

    /// The memory of a packet of `len` bytes of payload and `headers` (`truesize`).
    pub const fn of_packet(&self, len: u64, headers: u64) -> u64 {
        let bytes = headers + len + ROOM;
        if self.per_packet > 0 {
            return if self.per_packet as u64 > len {
                self.per_packet as u64
            } else {
                len
            };
        }
        let buffer = if bytes <= SMALLEST {
            SMALLEST
        } else if bytes <= POWERS.0 {
            POWERS.0
        } else if bytes <= POWERS.1 {
            bytes.next_power_of_two()
        } else {
            bytes.next_multiple_of(PAGE)
        };
        buffer + RECORD
    }

    /// What a packet of so much memory could still hold behind its payload (`skb_tailroom`).
    pub const fn tail_room(&self, memory: u64, len: u64, headers: u64) -> u64 {
        if self.per_packet > 0 || memory > POWERS.1 + RECORD {
            return 0;
        }
        memory - RECORD - ROOM - headers - len
    }

    /// The window that `bytes` of memory are worth (`tcp_win_from_space`).
    #[inline]
    pub const fn window_of(&self, bytes: u64) -> u32 {
        saturated((bytes * self.ratio as u64) >> RATIO_SHIFT)
    }

    /// The window of the whole buffer (`tcp_full_space`).
    pub const fn window(&self) -> u32 {
        self.window_of(self.size as u64)
    }

    /// The window of what `held` bytes of memory leave (`tcp_space`).
    #[inline]
    pub const fn free(&self, held: u64) -> u32 {
        self.window_of((self.size as u64).saturating_sub(held))
    }

    /// Half of the largest window (`__tcp_grow_window`).
    pub const fn half_of_most(&self) -> u32 {
        self.window_of(self.most as u64) / 2
    }

    /// A segment larger than all before it has `len` bytes of payload in `memory`. Returns whether
    /// the ratio has changed.
    pub const fn observe(&mut self, len: u64, memory: u64) -> bool {
        if !self.is_measured {
            return false;
        }
        let before = self.ratio;
        let ratio = (len << RATIO_SHIFT) / memory;
        self.ratio = if ratio == 0 { 1 } else { ratio as u16 };
        self.ratio != before
    }

    /// Raises the size to what a window of `target` takes, as far as permitted. Returns whether it
    /// rose.
    #[inline]
    pub fn raise(&mut self, target: u64) -> bool {
        let ratio = u64::from(self.ratio);
        let target = target.min(u64::MAX >> RATIO_SHIFT) << RATIO_SHIFT;
        // Spares the division where the size stays.
        if self.size >= self.most || target < (u64::from(self.size) + 1) * ratio {
            return false;
        }
        self.size = saturated(target / ratio).min(self.most);
        true
    }
}

/// `bytes`, or as many as fit.
const fn saturated(bytes: u64) -> u32 {
    if bytes > u32::MAX as u64 {
        u32::MAX
    } else {
        bytes as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured on Linux 6.18 through TUN.
    #[test]
    fn a_packet_takes_what_the_allocator_returns() {
        let memory = Memory::new(131_072, 6 << 20, true, 0);
        for (len, headers, truesize) in [
            (100, 52, 832),
            (140, 52, 832),
            (141, 52, 1_280),
            (600, 40, 1_280),
            (601, 40, 2_304),
            (1_000, 52, 2_304),
            (1_448, 52, 2_304),
            (4_000, 40, 8_448),
            (9_000, 40, 12_544),
            (50_000, 40, 53_504),
        ] {
            assert_eq!(memory.of_packet(len, headers), truesize, "{len}");
        }
        // What is left behind the payload of 1,448 bytes.
        assert_eq!(memory.tail_room(2_304, 1_448, 52), 164);
    }

    #[test]
    fn a_driver_may_give_each_packet_the_same() {
        let memory = Memory::new(131_072, 6 << 20, true, 4_864);
        assert_eq!(
            [1, 1_448, 9_000].map(|len| memory.of_packet(len, 52)),
            [4_864, 4_864, 9_000]
        );
        assert_eq!(memory.tail_room(4_864, 1, 52), 0);
    }

    #[test]
    fn the_window_is_the_part_of_memory_that_was_payload() {
        let mut memory = Memory::new(131_072, 6 << 20, true, 0);
        assert_eq!(memory.window(), 65_536);
        assert!(memory.observe(1_448, 2_304) && !memory.observe(1_448, 2_304));
        // 1448 / 2304 is 160.9/256.
        assert_eq!((memory.window(), memory.free(2_304)), (81_920, 80_480));
        assert!(memory.observe(1_000, 2_304));
        assert_eq!(memory.window(), 56_832);
        assert!(memory.observe(1, 832));
        assert_eq!(memory.window(), 512);
        // Before 6.6, nothing is measured.
        let mut fixed = Memory::new(131_072, 6 << 20, false, 0);
        assert!(!fixed.observe(1_448, 2_304));
        assert_eq!(fixed.window(), 65_536);
    }

    #[test]
    fn the_size_rises_to_a_target_and_never_beyond_the_most() {
        let mut memory = Memory::new(131_072, 200_000, true, 0);
        memory.observe(1_448, 2_304);
        assert!(!memory.raise(81_920));
        assert!(memory.raise(81_921));
        // 81,921 x 256 / 160 = 131,073.6, rounded down.
        assert_eq!(memory.size, 131_073);
        assert!(memory.raise(u64::MAX) && !memory.raise(u64::MAX));
        assert_eq!(memory.window(), 125_000);
    }
}
