//! The packed form of a segment in flight.
//!
//! A packet with its due time and the network's own fields fits in one cache line. SACK blocks, the
//! acknowledgments that data carries, and router feedback are large and less common, so [`Aside`]
//! stores them separately.

use tcp::PlainAck;
use tcp::segment::{AckSegment, DataSegment, SackBlocks, Segment};
use units::Instant;
use units::feedback::Feedback;

use crate::routes::Hop;

const ACK: u32 = 1;
const SYN: u32 = 2;
const FIN: u32 = 4;
const PSH: u32 = 8;
const CWR: u32 = 16;
const ECE: u32 = 32;
const RETRANSMISSION: u32 = 64;

/// The third segment of the handshake. No other segment has both SYN and FIN.
const HANDSHAKE_ACK: u32 = SYN | FIN;
/// Its IP length: headers with timestamps.
pub const HANDSHAKE_ACK_SIZE: u32 = 52;

/// A datagram of another stack: no segment of TCP has these three flags.
const DATAGRAM: u32 = HANDSHAKE_ACK | RETRANSMISSION;
/// The server has sent the datagram.
const FROM_SERVER: u32 = PSH;
/// The datagram has stream data.
const STREAM_DATA: u32 = CWR;

/// The packet carries router feedback.
const FEEDBACK: u32 = 128;

/// The flags are the low bits of a word; its high bits are the position on the route.
const FLAGS: u32 = 255;
const NEXT_HOP: u32 = FLAGS + 1;

/// No entry in [`Aside`].
const NOTHING: u32 = u32::MAX;

/// What a packet carries through the network.
#[derive(Clone, Copy, Debug)]
pub struct Carried {
    /// Data: first byte. ACK: next expected byte.
    offset: u64,
    /// When it left its host.
    pub sent: Instant,
    /// Data: payload bytes. ACK: advertised window.
    amount: u32,
    ts_val: u32,
    ts_ecr: u32,
    /// ACK: its SACK blocks. Data: the acknowledgment that it carries.
    sack: u32,
    feedback: u32,
    /// The flags, and the current [`Hop`].
    flags: u32,
}

/// The parts of packets in flight that are too large for [`Carried`].
#[derive(Debug, Default)]
pub struct Aside {
    sacks: Store<SackBlocks>,
    riders: Store<AckSegment>,
    feedback: Store<Feedback>,
    /// The payload of datagrams. A free slot is empty.
    datagrams: Vec<Vec<u8>>,
    free_datagrams: Vec<u32>,
}

impl Aside {
    fn put_datagram(&mut self, datagram: Vec<u8>) -> u32 {
        if let Some(place) = self.free_datagrams.pop() {
            self.datagrams[place as usize] = datagram;
            return place;
        }
        self.datagrams.push(datagram);
        self.datagrams.len() as u32 - 1
    }

    fn put_sack(&mut self, sack: SackBlocks) -> u32 {
        if sack.is_empty() {
            return NOTHING;
        }
        self.sacks.put(sack)
    }

    fn take_sack(&mut self, place: u32) -> SackBlocks {
        if place == NOTHING {
            return SackBlocks::default();
        }
        self.sacks.take(place)
    }
}

/// A pool whose slots are reused.
#[derive(Debug)]
struct Store<T> {
    things: Vec<T>,
    free: Vec<u32>,
}

impl<T> Default for Store<T> {
    fn default() -> Self {
        Self {
            things: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T: Copy> Store<T> {
    fn put(&mut self, thing: T) -> u32 {
        if let Some(place) = self.free.pop() {
            self.things[place as usize] = thing;
            return place;
        }
        self.things.push(thing);
        self.things.len() as u32 - 1
    }

    fn take(&mut self, place: u32) -> T {
        self.free.push(place);
        self.things[place as usize]
    }
}

impl network::Payload for Carried {
    /// Data segments of one length, in sequence.
    #[inline]
    fn following(&self, k: u32) -> Self {
        Self {
            offset: self.offset + u64::from(self.amount) * u64::from(k),
            ..*self
        }
    }
}

impl Carried {
    #[inline]
    pub fn data(data: &DataSegment, sent: Instant, route: Hop) -> Self {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        Self {
            offset: data.seq,
            sent,
            amount: data.len,
            ts_val: data.ts_val,
            ts_ecr: data.ts_ecr,
            sack: NOTHING,
            feedback: NOTHING,
            flags: (route.0 * NEXT_HOP)
                | flag(data.syn, SYN)
                | flag(data.fin, FIN)
                | flag(data.psh, PSH)
                | flag(data.cwr, CWR)
                | flag(data.retransmission, RETRANSMISSION),
        }
    }

    #[inline]
    pub fn ack(ack: &AckSegment, sent: Instant, route: Hop, aside: &mut Aside) -> Self {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        Self {
            offset: ack.ack,
            sent,
            amount: ack.window,
            ts_val: ack.ts_val,
            ts_ecr: ack.ts_ecr,
            sack: aside.put_sack(ack.sack),
            feedback: NOTHING,
            flags: (route.0 * NEXT_HOP)
                | ACK
                | flag(ack.syn, SYN)
                | flag(ack.ece, ECE)
                | flag(ack.ace & 1 != 0, PSH)
                | flag(ack.ace & 2 != 0, CWR)
                | flag(ack.ace & 4 != 0, RETRANSMISSION),
        }
    }

    /// An ACK without SACK blocks and flags.
    #[inline]
    pub const fn plain(ack: PlainAck, sent: Instant, route: Hop) -> Self {
        Self {
            offset: ack.ack,
            sent,
            amount: ack.window,
            ts_val: ack.ts_val,
            ts_ecr: ack.ts_ecr,
            sack: NOTHING,
            feedback: NOTHING,
            flags: (route.0 * NEXT_HOP) | ACK,
        }
    }

    /// The third segment of the handshake. It has no effect on the receiver, but it occupies the
    /// network ahead of the first data.
    pub const fn handshake_ack(sent: Instant, route: Hop) -> Self {
        Self {
            offset: 0,
            sent,
            amount: 0,
            ts_val: 0,
            ts_ecr: 0,
            sack: NOTHING,
            feedback: NOTHING,
            flags: (route.0 * NEXT_HOP) | HANDSHAKE_ACK,
        }
    }

    /// A datagram of another stack, which the host `from` (0: the client) sends.
    pub fn datagram(
        datagram: Vec<u8>,
        from: usize,
        has_data: bool,
        sent: Instant,
        route: Hop,
        aside: &mut Aside,
    ) -> Self {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        Self {
            offset: aside.put_datagram(datagram).into(),
            sent,
            amount: 0,
            ts_val: 0,
            ts_ecr: 0,
            sack: NOTHING,
            feedback: NOTHING,
            flags: (route.0 * NEXT_HOP)
                | DATAGRAM
                | flag(from != 0, FROM_SERVER)
                | flag(has_data, STREAM_DATA),
        }
    }

    /// Whether it is a datagram of another stack.
    #[inline]
    pub const fn is_datagram(&self) -> bool {
        self.flags & DATAGRAM == DATAGRAM
    }

    /// Whether it is a datagram with stream data.
    pub const fn has_stream_data(&self) -> bool {
        self.flags & (DATAGRAM | STREAM_DATA) == DATAGRAM | STREAM_DATA
    }

    /// The host to which a datagram goes: 0 for the client, 1 for the server.
    pub const fn datagram_to(&self) -> usize {
        if self.flags & FROM_SERVER == 0 { 1 } else { 0 }
    }

    /// The payload of a datagram that has arrived or was dropped.
    pub fn take_datagram(&self, aside: &mut Aside) -> Vec<u8> {
        let place = self.offset as u32;
        aside.free_datagrams.push(place);
        std::mem::take(&mut aside.datagrams[place as usize])
    }

    /// Marks an ACK as the third segment of a handshake, for a host that sends data too.
    #[must_use]
    pub const fn third(mut self) -> Self {
        self.flags |= FIN;
        self
    }

    /// Whether it is an ACK that [`Self::third`] has marked.
    #[inline]
    pub const fn is_third(&self) -> bool {
        self.flags & FIN != 0
    }

    #[inline]
    pub const fn is_handshake_ack(&self) -> bool {
        self.flags & HANDSHAKE_ACK == HANDSHAKE_ACK
    }

    /// The link that the packet enters or is in.
    #[inline]
    pub const fn hop(&self) -> Hop {
        Hop(self.flags / NEXT_HOP)
    }

    /// Moves on to the next link.
    #[inline]
    pub const fn pass_hop(&mut self) {
        self.flags += NEXT_HOP;
    }

    /// Attaches `feedback`, if any, and returns the bytes that it adds to the packet.
    pub fn attach(&mut self, feedback: Option<Feedback>, aside: &mut Aside) -> u32 {
        let Some(feedback) = feedback else {
            return 0;
        };
        self.feedback = aside.feedback.put(feedback);
        self.flags |= FEEDBACK;
        feedback.wire_size()
    }

    /// Whether the packet carries router feedback.
    #[inline]
    pub const fn has_feedback(&self) -> bool {
        self.flags & FEEDBACK != 0
    }

    /// The router feedback that the packet carries.
    pub fn feedback_mut<'a>(&self, aside: &'a mut Aside) -> Option<&'a mut Feedback> {
        if self.flags & FEEDBACK == 0 {
            return None;
        }
        aside.feedback.things.get_mut(self.feedback as usize)
    }

    /// Removes and returns the router feedback.
    pub fn detach(&mut self, aside: &mut Aside) -> Option<Feedback> {
        if self.flags & FEEDBACK == 0 {
            return None;
        }
        self.flags &= !FEEDBACK;
        Some(aside.feedback.take(self.feedback))
    }

    #[inline]
    pub const fn is_ack(&self) -> bool {
        self.flags & ACK != 0
    }

    /// The acknowledgement number, in 32 bits as on the wire, of an ACK without SACK, SYN, ECE and
    /// router feedback; `None` for any other packet.
    pub const fn plain_ack(&self) -> Option<u32> {
        match self.as_plain() {
            Some(ack) => Some(ack.ack as u32),
            None => None,
        }
    }

    /// An ACK without SACK blocks, flags and router feedback; `None` for any other packet.
    #[inline(always)]
    pub const fn as_plain(&self) -> Option<PlainAck> {
        if self.flags & FLAGS != ACK || self.sack != NOTHING {
            return None;
        }
        Some(PlainAck {
            ack: self.offset,
            window: self.amount,
            ts_val: self.ts_val,
            ts_ecr: self.ts_ecr,
        })
    }

    /// Whether it is a data segment without flags, router feedback and acknowledgment.
    #[inline]
    pub const fn is_plain_data(&self) -> bool {
        self.flags & FLAGS == 0 && self.sack == NOTHING
    }

    /// Lets a data segment carry an acknowledgment.
    pub fn carry(&mut self, ack: AckSegment, aside: &mut Aside) {
        self.sack = aside.riders.put(ack);
    }

    /// The acknowledgment of a data segment that has arrived or was dropped.
    #[inline]
    pub fn take_carried(&self, aside: &mut Aside) -> Option<AckSegment> {
        if self.is_ack() || self.sack == NOTHING {
            return None;
        }
        Some(aside.riders.take(self.sack))
    }

    /// First byte, length and timestamps of a data segment.
    #[inline]
    pub const fn fields(&self) -> (u64, u32, u32, u32) {
        (self.offset, self.amount, self.ts_val, self.ts_ecr)
    }

    /// Whether it is a SYN, of either direction.
    pub const fn is_syn(&self) -> bool {
        self.flags & (SYN | FIN) == SYN
    }

    /// Whether it carries payload (a SYN does not).
    #[inline]
    pub const fn has_payload(&self) -> bool {
        self.flags & (ACK | SYN) == 0
    }

    /// The data segment of a packet that has arrived.
    #[inline]
    pub const fn data_segment(&self) -> DataSegment {
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

    /// The ACK of a packet that has arrived or was dropped.
    #[inline]
    pub fn into_ack(self, aside: &mut Aside) -> AckSegment {
        AckSegment {
            ack: self.offset,
            window: self.amount,
            ts_val: self.ts_val,
            ts_ecr: self.ts_ecr,
            sack: aside.take_sack(self.sack),
            syn: self.flags & SYN != 0,
            ece: self.flags & ECE != 0,
            // An ACK has no other use for these flags.
            ace: (self.flags & PSH != 0) as u8
                | ((self.flags & CWR != 0) as u8) << 1
                | ((self.flags & RETRANSMISSION != 0) as u8) << 2,
        }
    }
}

/// IP length of a data segment.
#[inline]
pub fn data_size(data: &DataSegment) -> u32 {
    Segment::Data(*data).wire_size()
}

/// IP length of an ACK.
#[inline]
pub fn ack_size(ack: &AckSegment) -> u32 {
    Segment::Ack(*ack).wire_size()
}

#[cfg(test)]
mod tests {
    use network::Payload;

    use super::*;

    #[test]
    fn a_packet_and_its_due_time_fill_one_cache_line() {
        assert_eq!(size_of::<(Instant, network::Packet<Carried>)>(), 64);
    }

    #[test]
    fn segments_arrive_unchanged() {
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
        let travelling = Carried::data(&data, Instant::ZERO, Hop(0));
        assert_eq!(travelling.data_segment(), data);
        assert_eq!(travelling.plain_ack(), None);
        let third = DataSegment {
            seq: data.seq + 2 * 1448,
            ..data
        };
        assert_eq!(travelling.following(2).data_segment(), third);
        let mut aside = Aside::default();
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
            ace: 6,
        };
        let carried = Carried::ack(&ack, Instant::ZERO, Hop(7), &mut aside);
        assert!(carried.is_ack() && !carried.has_payload());
        let mut further = carried;
        further.pass_hop();
        assert_eq!((carried.hop(), further.hop()), (Hop(7), Hop(8)));
        assert_eq!(carried.into_ack(&mut aside), ack);
        // The place is used again.
        let again = Carried::ack(&ack, Instant::ZERO, Hop(7), &mut aside);
        assert_eq!((again.sack, aside.sacks.things.len()), (0, 1));
    }

    #[test]
    fn a_plain_ack_has_no_sack_syn_or_ece() {
        let mut aside = Aside::default();
        let mut plain = |change: fn(&mut AckSegment)| {
            let mut segment = AckSegment {
                ack: (1 << 32) + 7,
                ..AckSegment::default()
            };
            change(&mut segment);
            Carried::ack(&segment, Instant::ZERO, Hop(7), &mut aside).plain_ack()
        };
        assert_eq!(plain(|_| ()), Some(7));
        assert_eq!(plain(|ack| ack.syn = true), None);
        assert_eq!(plain(|ack| ack.ece = true), None);
        assert_eq!(plain(|ack| ack.sack.push(100, 300, 400)), None);
        assert_eq!(
            Carried::handshake_ack(Instant::ZERO, Hop(0)).plain_ack(),
            None
        );
    }

    #[test]
    fn feedback_is_stored_aside_and_its_slot_is_reused() {
        let mut aside = Aside::default();
        let mut plain = Carried::ack(&AckSegment::default(), Instant::ZERO, Hop(7), &mut aside);
        assert_eq!(plain.detach(&mut aside), None);
        let mut asking = plain;
        let none = Some(Feedback::RcpEcho { rate: None });
        assert_eq!(asking.attach(None, &mut aside), 0);
        assert_eq!(asking.attach(none, &mut aside), 12);
        let granted = Some(units::Rate::ZERO);
        if let Some(feedback) = asking.feedback_mut(&mut aside) {
            *feedback = Feedback::RcpEcho { rate: granted };
        }
        assert_eq!(plain.feedback_mut(&mut aside), None);
        assert_eq!(
            asking.detach(&mut aside),
            Some(Feedback::RcpEcho { rate: granted })
        );
        assert_eq!(asking.detach(&mut aside), None);
        plain.attach(none, &mut aside);
        assert_eq!((plain.feedback, aside.feedback.things.len()), (0, 1));
    }
}
