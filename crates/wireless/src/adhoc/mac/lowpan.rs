//! 6LoWPAN: how an IP packet travels in frames that are shorter than the packet.
//!
//! A packet that does not fit into one frame becomes a first fragment with a header of 4 bytes and
//! further ones with 5 bytes. Every fragment but the last carries a multiple of 8 bytes of the
//! uncompressed datagram. The receiver collects the fragments of a datagram under their source,
//! size and tag; a datagram that is incomplete after a timeout is lost, whatever arrived of it.
//! Nodes reassemble at every hop (route-over).
//!
//! Sources: RFC 4944 (Montenegro, Kushalnagar, Hui and Culler, 2007), section 5.3; RFC 6282 (Hui
//! and Thubert, 2011) for the sizes of compressed headers.
//!
//! ## Assumptions
//!
//! - Header compression only changes a size: the IP header of every packet shrinks to the same
//!   number of bytes. Without it a packet counts byte by byte, and the dispatch byte of an
//!   uncompressed IPv6 header (RFC 4944, section 5.1) is not counted.
//! - A source sends its datagrams one after the other, so that a fragment of a new one ends the
//!   wait for the rest of the old one.
//! - A fragment that overlaps an earlier one fills what is missing; RFC 4944 discards the datagram.
//!   The MAC retransmits whole fragments and suppresses duplicates, so this does not happen there.

use alloc::vec::Vec;

use units::{Duration, Instant};

use crate::NodeId;

/// Bytes of the header of a first fragment (FRAG1).
pub const FIRST_HEADER: u32 = 4;
/// Bytes of the header of every other fragment (FRAGN).
pub const NEXT_HEADER: u32 = 5;
/// Offsets count units of this many bytes.
pub const UNIT: u32 = 8;
/// The largest datagram whose size the header can express, in bytes (11 bits).
pub const LARGEST: u32 = (1 << 11) - 1;
/// Bytes of the IPv6 header that IPHC compresses.
pub const IPV6_HEADER: u32 = 40;

/// One frame's part of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragment {
    /// Where it starts in the uncompressed datagram, in bytes.
    pub offset: u32,
    /// Bytes of the uncompressed datagram that it carries.
    pub bytes: u32,
    /// Bytes in the frame: with its own header and with a compressed IP header.
    pub payload: u32,
}

/// How datagrams are cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fragmenter {
    /// Bytes that a frame holds.
    limit: u32,
    /// Bytes of the IP header before and after compression.
    header: u32,
    compressed: u32,
}

impl Fragmenter {
    /// The shortest frame: it holds an IPv6 header, a fragment header and two units.
    pub const LEAST: u32 = IPV6_HEADER + FIRST_HEADER + 2 * UNIT;

    /// Frames of `limit` bytes without header compression. A limit below [`Self::LEAST`] counts as
    /// that.
    #[must_use]
    pub const fn new(limit: u32) -> Self {
        Self {
            limit: if limit < Self::LEAST {
                Self::LEAST
            } else {
                limit
            },
            header: 0,
            compressed: 0,
        }
    }

    /// The same with IP headers of `header` bytes that shrink to `compressed` bytes. A `header`
    /// beyond [`IPV6_HEADER`] counts as that, and `compressed` counts as at most one byte more, for
    /// the dispatch byte of an uncompressed header.
    #[must_use]
    pub const fn compressing(self, header: u32, compressed: u32) -> Self {
        let header = if header < IPV6_HEADER {
            header
        } else {
            IPV6_HEADER
        };
        Self {
            header,
            compressed: if compressed <= header {
                compressed
            } else {
                header + 1
            },
            ..self
        }
    }

    /// Bytes of a whole datagram in one frame.
    const fn whole(&self, datagram: u32) -> u32 {
        if datagram < self.header {
            // No IP packet: nothing is compressed.
            return datagram;
        }
        datagram - self.header + self.compressed
    }

    /// Bytes of the uncompressed datagram in a first fragment and in each further one.
    const fn parts(&self) -> (u32, u32) {
        let first = self.limit - FIRST_HEADER + self.header - self.compressed;
        let next = self.limit - NEXT_HEADER;
        (first / UNIT * UNIT, next / UNIT * UNIT)
    }

    /// The frames that a datagram of `datagram` bytes takes.
    #[must_use]
    pub const fn count(&self, datagram: u32) -> u32 {
        if self.whole(datagram) <= self.limit {
            return 1;
        }
        let (first, next) = self.parts();
        // The last fragment need not end at a unit.
        let last = self.limit - NEXT_HEADER;
        2 + (datagram - first).saturating_sub(last).div_ceil(next)
    }

    /// Fragment `index` of a datagram of `datagram` bytes, counted from zero; none past the last.
    #[must_use]
    pub const fn fragment(&self, datagram: u32, index: u32) -> Option<Fragment> {
        let count = self.count(datagram);
        if index >= count {
            return None;
        }
        if count == 1 {
            return Some(Fragment {
                offset: 0,
                bytes: datagram,
                payload: self.whole(datagram),
            });
        }
        let (first, next) = self.parts();
        if index == 0 {
            return Some(Fragment {
                offset: 0,
                bytes: first,
                payload: FIRST_HEADER + first - self.header + self.compressed,
            });
        }
        let offset = first + next * (index - 1);
        let bytes = if index + 1 == count {
            datagram - offset
        } else {
            next
        };
        Some(Fragment {
            offset,
            bytes,
            payload: NEXT_HEADER + bytes,
        })
    }
}

/// What a fragment did to its datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Others are missing.
    Incomplete,
    /// The datagram is complete; the buffer is free again.
    Complete,
    /// All buffers hold other datagrams, or the fragment exceeds its datagram.
    Refused,
}

/// Units of the largest datagram, in words of a bitmap.
const WORDS: usize = (LARGEST.div_ceil(UNIT) as usize).div_ceil(64);

/// A datagram of which fragments are missing.
#[derive(Clone, Debug)]
struct Partial {
    from: NodeId,
    tag: u16,
    datagram: u32,
    /// Which units arrived, and how many did not.
    arrived: [u64; WORDS],
    missing: u32,
    deadline: Instant,
}

/// The reassembly buffers of one node.
#[derive(Clone, Debug)]
pub struct Reassembly {
    timeout: Duration,
    buffers: usize,
    partial: Vec<Partial>,
    abandoned: u64,
}

impl Reassembly {
    /// At most `buffers` datagrams at a time, each from another source and for `timeout` after its
    /// first fragment arrived.
    #[must_use]
    pub const fn new(timeout: Duration, buffers: u32) -> Self {
        Self {
            timeout,
            buffers: buffers as usize,
            partial: Vec::new(),
            abandoned: 0,
        }
    }

    /// Takes a fragment of the datagram `tag` of `datagram` bytes from `from`. A fragment that
    /// arrives at the deadline is late, and starts the datagram anew.
    pub fn insert(
        &mut self,
        now: Instant,
        from: NodeId,
        tag: u16,
        datagram: u32,
        fragment: &Fragment,
    ) -> Progress {
        let end = fragment.offset.saturating_add(fragment.bytes);
        if datagram > LARGEST || end > datagram || !fragment.offset.is_multiple_of(UNIT) {
            return Progress::Refused;
        }
        if fragment.bytes == datagram {
            return Progress::Complete;
        }
        let known = self.partial.iter().position(|partial| partial.from == from);
        let is_it = |partial: &Partial| {
            partial.tag == tag && partial.datagram == datagram && now < partial.deadline
        };
        let place = match known {
            Some(place) if is_it(&self.partial[place]) => place,
            known => {
                if let Some(place) = known {
                    self.partial.swap_remove(place);
                    self.abandoned += 1;
                }
                self.expire(now);
                if self.partial.len() >= self.buffers {
                    return Progress::Refused;
                }
                self.partial.push(Partial {
                    from,
                    tag,
                    datagram,
                    arrived: [0; WORDS],
                    missing: datagram.div_ceil(UNIT),
                    deadline: now + self.timeout,
                });
                self.partial.len() - 1
            }
        };
        let partial = &mut self.partial[place];
        for unit in fragment.offset / UNIT..end.div_ceil(UNIT) {
            let (word, bit) = (unit as usize / 64, unit % 64);
            let is_new = partial.arrived[word] >> bit & 1 == 0;
            partial.arrived[word] |= 1 << bit;
            partial.missing -= u32::from(is_new);
        }
        if partial.missing > 0 {
            return Progress::Incomplete;
        }
        // The order of the buffers has no effect.
        self.partial.swap_remove(place);
        Progress::Complete
    }

    /// Frees the buffers whose deadline is not after `now`.
    fn expire(&mut self, now: Instant) {
        let before = self.partial.len();
        self.partial.retain(|partial| now < partial.deadline);
        self.abandoned += (before - self.partial.len()) as u64;
    }

    /// Datagrams that are incomplete at `now`.
    #[must_use]
    pub fn pending(&mut self, now: Instant) -> usize {
        self.expire(now);
        self.partial.len()
    }

    /// Datagrams that stayed incomplete, as far as it was noticed: an expired buffer is freed when
    /// another datagram needs one, or when [`Self::pending`] is asked.
    #[must_use]
    pub const fn abandoned(&self) -> u64 {
        self.abandoned
    }
}
