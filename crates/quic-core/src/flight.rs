//! The packets in flight, as far as the transport identifies them.

use alloc::collections::VecDeque;

use congestion::rate_sample::SendStamp;
use units::{Bytes, Duration, Instant};

/// Packets whose fate is still unknown after this time are forgotten: no sample comes of them.
const LIFETIME: Duration = Duration::from_secs(10);

/// What the core notes of a packet when it leaves. A stack that keeps a record of each packet for its
/// controller keeps it there; for the others, the core does.
#[derive(Clone, Copy, Debug)]
pub struct Packet {
    pub(crate) sent: Instant,
    pub(crate) stamp: SendStamp,
    /// Bytes sent by the connection up to and including this packet.
    pub(crate) end: u64,
    pub(crate) size: Bytes,
    /// In flight just after it left, itself included.
    pub(crate) tx_in_flight: Bytes,
    /// Declared lost by the connection before it left.
    pub(crate) lost: Bytes,
}

impl Packet {
    /// When it left.
    #[must_use]
    pub const fn sent(&self) -> Instant {
        self.sent
    }
}

/// One packet; or all packets of one instant, where the transport gives no numbers.
#[derive(Clone, Copy, Debug)]
struct Record {
    packet: Packet,
    number: Option<u64>,
    /// Neither acknowledged nor lost.
    left: Bytes,
}

/// Records in the order of sending.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    records: VecDeque<Record>,
}

impl Flight {
    pub fn push(&mut self, packet: Packet, number: Option<u64>) {
        let Packet { sent, size, .. } = packet;
        if number.is_none()
            && let Some(last) = self.records.back_mut()
            && last.packet.sent == sent
        {
            last.left += size;
            last.packet.end = packet.end;
            last.packet.size += size;
            last.packet.tx_in_flight = packet.tx_in_flight;
            return;
        }
        self.records.push_back(Record {
            packet,
            number,
            left: size,
        });
    }

    /// `size` of what was sent at `sent` arrived, as packet `number` where there are numbers.
    pub fn acknowledge(
        &mut self,
        sent: Instant,
        number: Option<u64>,
        size: Bytes,
    ) -> Option<Packet> {
        let first = self
            .records
            .partition_point(|record| record.packet.sent < sent);
        let mut same = self
            .records
            .range_mut(first..)
            .take_while(|record| record.packet.sent == sent);
        // Numbers begin anew in each of the three packet number spaces (RFC 9000, section 12.3).
        let packet = same
            .find(|record| number.is_none() || record.number == number && !record.left.is_zero())
            .map(|record| {
                record.left = record.left.saturating_sub(size);
                record.packet
            });
        self.forget(sent);
        packet
    }

    /// Packet `number` is lost.
    pub fn lose(&mut self, number: u64) -> Option<Packet> {
        let mut open = self.records.iter_mut();
        let record = open.find(|record| record.number == Some(number) && !record.left.is_zero())?;
        record.left = Bytes::ZERO;
        Some(record.packet)
    }

    fn forget(&mut self, newest: Instant) {
        while self.records.front().is_some_and(|record| {
            record.left.is_zero() || newest.saturating_since(record.packet.sent) > LIFETIME
        }) {
            self.records.pop_front();
        }
    }
}
