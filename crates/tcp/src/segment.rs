//! The segments exchanged between sender and receiver.
//!
//! Offsets are absolute: payload bytes counted from zero, 64 bits wide. (A wire format would carry
//! the low 32 bits; nothing here depends on wrapping.)

/// A data segment, or the SYN that opens the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DataSegment {
    /// First byte.
    pub seq: u64,
    /// Payload bytes. Zero for a SYN, for a FIN that leaves alone, and for a probe of a closed
    /// window, which the receiver answers.
    pub len: u32,
    /// Timestamp value in milliseconds (RFC 7323), echoed by the receiver.
    pub ts_val: u32,
    /// Timestamp echo: [`AckSegment::ts_val`] of the last ACK that the sender processed, or zero
    /// before the first. The receiver's buffer autotuning measures round trips with it.
    pub ts_ecr: u32,
    /// Opens the connection.
    pub syn: bool,
    /// The stream ends with the last byte of this segment. A FIN without payload takes one sequence
    /// number, so that it can be acknowledged; a FIN with payload takes none.
    pub fin: bool,
    /// The PSH flag: no more data may follow soon.
    pub psh: bool,
    /// The sender has reduced its window after an ECN echo.
    pub cwr: bool,
    /// Retransmitted. A receiver must ignore this field; it serves counters.
    pub retransmission: bool,
}

impl DataSegment {
    /// One past the last sequence number that the segment takes.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64 + self.is_bare_fin() as u64
    }

    /// Whether it is a FIN without payload.
    #[must_use]
    pub const fn is_bare_fin(&self) -> bool {
        self.fin && self.len == 0 && !self.syn
    }
}

/// Full segments of new data that leave together, without flags, alike but for their sequence number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FullSegments {
    /// First byte of the first of them.
    pub seq: u64,
    /// Payload bytes of each.
    pub len: u32,
    /// How many there are, in sequence.
    pub count: u32,
    /// The timestamps of each, as in [`DataSegment`].
    pub ts_val: u32,
    /// The echo.
    pub ts_ecr: u32,
}

impl FullSegments {
    /// The segment behind `number` others.
    #[must_use]
    pub const fn segment(&self, number: u32) -> DataSegment {
        DataSegment {
            seq: self.seq + self.len as u64 * number as u64,
            len: self.len,
            ts_val: self.ts_val,
            ts_ecr: self.ts_ecr,
            syn: false,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: false,
        }
    }
}

/// Data segments that leave together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Burst {
    /// One of any kind.
    Single(DataSegment),
    /// Several that are alike.
    Full(FullSegments),
}

impl Burst {
    /// The segments, one by one.
    pub fn segments(&self) -> impl Iterator<Item = DataSegment> + use<> {
        let burst = *self;
        let count = match burst {
            Self::Single(_) => 1,
            Self::Full(full) => full.count,
        };
        (0..count).map(move |number| match burst {
            Self::Single(segment) => segment,
            Self::Full(full) => full.segment(number),
        })
    }
}

/// The most blocks that fit into a segment (RFC 2018, section 3).
pub const MAX_SACK_BLOCKS: usize = 4;
/// The most that fit beside timestamps.
pub(crate) const SACK_BLOCKS_WITH_TIMESTAMPS: usize = 3;

/// SACK blocks relative to the cumulative ACK, most recent first. A first block below the ACK (or
/// inside the second block) reports a duplicate (RFC 2883).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    count: u8,
    blocks: [(i32, u32); MAX_SACK_BLOCKS],
}

impl SackBlocks {
    /// Adds the block `start..end` for an ACK of `ack`. A block beyond the last slot is omitted.
    pub fn push(&mut self, ack: u64, start: u64, end: u64) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.count)) {
            let offset = start.wrapping_sub(ack) as i64;
            if let (Ok(offset), Ok(len)) = (i32::try_from(offset), u32::try_from(end - start)) {
                *slot = (offset, len);
                self.count += 1;
            }
        }
    }

    /// How many blocks there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.count as usize
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// The blocks as absolute offsets, `(start, end)`, of an ACK of `ack`.
    pub fn iter(&self, ack: u64) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.blocks[..usize::from(self.count)]
            .iter()
            .map(move |&(offset, len)| {
                let start = ack.wrapping_add_signed(i64::from(offset));
                (start, start + u64::from(len))
            })
    }
}

/// An acknowledgment, alone or in a data segment of the other direction, or the SYN-ACK that
/// answers a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AckSegment {
    /// Next byte that the receiver expects.
    pub ack: u64,
    /// Receive window in bytes, starting at `ack`.
    pub window: u32,
    /// Timestamp value of the receiver in milliseconds, echoed by the sender; zero for none.
    pub ts_val: u32,
    /// Timestamp echo in milliseconds.
    pub ts_ecr: u32,
    /// Data received beyond `ack`.
    pub sack: SackBlocks,
    /// Answers a SYN.
    pub syn: bool,
    /// The receiver saw a congestion mark.
    pub ece: bool,
    /// With AccECN: the last three bits of the receiver's count of marks (RFC 9768, section 3.2.2).
    pub ace: u8,
}

impl AckSegment {
    /// Bytes of options beyond the timestamps, which the acknowledgment adds to the packet that
    /// carries it: its SACK blocks (RFC 2018, section 3, with two bytes of padding).
    #[must_use]
    pub const fn options_size(&self) -> u32 {
        if self.sack.is_empty() {
            0
        } else {
            4 + 8 * self.sack.len() as u32
        }
    }
}

/// A segment of either direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// From sender to receiver.
    Data(DataSegment),
    /// From receiver to sender.
    Ack(AckSegment),
}

/// IPv4 and TCP headers with timestamps, in bytes.
pub const HEADER_BYTES: u32 = 52;

impl Segment {
    /// Bytes of IP that the segment takes on the wire.
    #[must_use]
    pub fn wire_size(&self) -> u32 {
        match self {
            // A SYN has 20 bytes of options: MSS, SACK-permitted, timestamps and window scale.
            Self::Data(data) if data.syn => 60,
            Self::Data(data) => HEADER_BYTES + data.len,
            Self::Ack(ack) if ack.syn => 60,
            Self::Ack(ack) => HEADER_BYTES + ack.options_size(),
        }
    }
}
