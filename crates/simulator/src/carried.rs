//! A segment as it travels: packed, because every packet in flight is written and read once.
//!
//! With its due time and the network's own fields a packet takes one cache line. SACK blocks are
//! rare and large, so they lie aside in a [`SackStore`].

use tcp::segment::{AckSegment, DataSegment, SackBlocks, Segment};
use units::Instant;

const ACK: u8 = 1;
const SYN: u8 = 2;
const FIN: u8 = 4;
const PSH: u8 = 8;
const CWR: u8 = 16;
const ECE: u8 = 32;
const RETRANSMISSION: u8 = 64;

/// No SACK blocks.
const NO_SACK: u32 = u32::MAX;

/// What a packet carries through the network.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// First byte, or next expected byte.
    offset: u64,
    /// When it left its host.
    pub sent: Instant,
    /// Payload bytes, or receive window.
    amount: u32,
    ts_val: u32,
    ts_ecr: u32,
    sack: u32,
    flags: u8,
}

/// The SACK blocks of ACKs in flight.
#[derive(Debug, Default)]
pub struct SackStore {
    blocks: Vec<SackBlocks>,
    free: Vec<u32>,
}

impl SackStore {
    fn put(&mut self, sack: SackBlocks) -> u32 {
        if sack.is_empty() {
            return NO_SACK;
        }
        if let Some(place) = self.free.pop() {
            self.blocks[place as usize] = sack;
            return place;
        }
        self.blocks.push(sack);
        self.blocks.len() as u32 - 1
    }

    fn take(&mut self, place: u32) -> SackBlocks {
        if place == NO_SACK {
            return SackBlocks::default();
        }
        self.free.push(place);
        self.blocks[place as usize]
    }
}

impl Carried {
    #[inline]
    pub fn data(data: &DataSegment, sent: Instant) -> Self {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        Self {
            offset: data.seq,
            sent,
            amount: data.len,
            ts_val: data.ts_val,
            ts_ecr: data.ts_ecr,
            sack: NO_SACK,
            flags: flag(data.syn, SYN)
                | flag(data.fin, FIN)
                | flag(data.psh, PSH)
                | flag(data.cwr, CWR)
                | flag(data.retransmission, RETRANSMISSION),
        }
    }

    #[inline]
    pub fn ack(ack: &AckSegment, sent: Instant, store: &mut SackStore) -> Self {
        let flag = |set: bool, flag: u8| if set { flag } else { 0 };
        Self {
            offset: ack.ack,
            sent,
            amount: ack.window,
            ts_val: ack.ts_val,
            ts_ecr: ack.ts_ecr,
            sack: store.put(ack.sack),
            flags: ACK | flag(ack.syn, SYN) | flag(ack.ece, ECE),
        }
    }

    #[inline]
    pub const fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// Whether it carries payload (a SYN does not).
    #[inline]
    pub const fn has_payload(&self) -> bool {
        self.flags & (ACK | SYN) == 0
    }

    /// The data segment, once its packet has arrived.
    #[inline]
    pub const fn into_data(self) -> DataSegment {
        DataSegment {
            seq: self.offset,
            len: self.amount,
            ts_val: self.ts_val,
            ts_ecr: self.ts_ecr,
            syn: self.flags & SYN != 0,
            fin: self.flags & FIN != 0,
            psh: self.flags & PSH != 0,
            cwr: self.flags & CWR != 0,
            retransmission: self.flags & RETRANSMISSION != 0,
        }
    }

    /// The ACK, once its packet has arrived or is gone.
    #[inline]
    pub fn into_ack(self, store: &mut SackStore) -> AckSegment {
        AckSegment {
            ack: self.offset,
            window: self.amount,
            ts_val: self.ts_val,
            ts_ecr: self.ts_ecr,
            sack: store.take(self.sack),
            syn: self.flags & SYN != 0,
            ece: self.flags & ECE != 0,
        }
    }
}

/// Bytes of IP of a data segment.
#[inline]
pub fn data_size(data: &DataSegment) -> u32 {
    Segment::Data(*data).wire_size()
}

/// Bytes of IP of an ACK.
#[inline]
pub fn ack_size(ack: &AckSegment) -> u32 {
    Segment::Ack(*ack).wire_size()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_and_its_due_time_fill_one_cache_line() {
        assert_eq!(size_of::<(Instant, network::Packet<Carried>)>(), 64);
    }

    #[test]
    fn segments_survive_the_journey() {
        let data = DataSegment {
            seq: 1 << 40,
            len: 1448,
            ts_val: 7,
            ts_ecr: 8,
            syn: false,
            fin: true,
            psh: false,
            cwr: true,
            retransmission: true,
        };
        assert_eq!(Carried::data(&data, Instant::ZERO).into_data(), data);
        let mut store = SackStore::default();
        let mut sack = SackBlocks::default();
        sack.push(100, 200, 300);
        let ack = AckSegment {
            ack: 100,
            window: 9,
            ts_val: 1,
            ts_ecr: 2,
            sack,
            syn: false,
            ece: true,
        };
        let carried = Carried::ack(&ack, Instant::ZERO, &mut store);
        assert!(carried.is_ack() && !carried.has_payload());
        assert_eq!(carried.into_ack(&mut store), ack);
        // The place is used again.
        let again = Carried::ack(&ack, Instant::ZERO, &mut store);
        assert_eq!((again.sack, store.blocks.len()), (0, 1));
    }
}
