//! The packets in flight, as far as the transport identifies them.

use alloc::collections::VecDeque;

use congestion::rate_sample::SendStamp;
use units::{Bytes, Duration, Instant};

/// Packets whose fate is still unknown after this time are forgotten: no sample comes of them.
const LIFETIME: Duration = Duration::from_secs(10);

/// One packet; or all packets of one instant, where the transport gives no numbers.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    pub sent: Instant,
    number: Option<u64>,
    pub stamp: SendStamp,
    /// Bytes sent by the connection up to and including this record.
    pub end: u64,
    pub size: Bytes,
    /// Neither acknowledged nor lost.
    left: Bytes,
    /// In flight just after it left, itself included.
    pub tx_in_flight: Bytes,
    /// Declared lost by the connection before it left.
    pub lost: Bytes,
}

/// Records in the order of sending.
#[derive(Clone, Debug, Default)]
pub struct Flight {
    records: VecDeque<Record>,
}

/// What leaves.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    pub now: Instant,
    pub number: Option<u64>,
    pub size: Bytes,
    pub stamp: SendStamp,
    pub end: u64,
    pub tx_in_flight: Bytes,
    pub lost: Bytes,
}

impl Flight {
    pub fn push(&mut self, departure: Departure) {
        let Departure {
            now,
            number,
            size,
            stamp,
            end,
            tx_in_flight,
            lost,
        } = departure;
        if number.is_none()
            && let Some(last) = self.records.back_mut()
            && last.sent == now
        {
            last.end = end;
            last.size += size;
            last.left += size;
            last.tx_in_flight = tx_in_flight;
            return;
        }
        self.records.push_back(Record {
            sent: now,
            number,
            stamp,
            end,
            size,
            left: size,
            tx_in_flight,
            lost,
        });
    }

    /// `size` of what was sent at `sent` arrived, as packet `number` where there are numbers.
    pub fn acknowledge(
        &mut self,
        sent: Instant,
        number: Option<u64>,
        size: Bytes,
    ) -> Option<Record> {
        let first = self.records.partition_point(|record| record.sent < sent);
        let mut same = self
            .records
            .range_mut(first..)
            .take_while(|record| record.sent == sent);
        // Numbers begin anew in each of the three packet number spaces (RFC 9000, section 12.3).
        let record = same
            .find(|record| number.is_none() || record.number == number && !record.left.is_zero())
            .map(|record| {
                record.left = record.left.saturating_sub(size);
                *record
            });
        self.forget(sent);
        record
    }

    /// Packet `number` is lost.
    pub fn lose(&mut self, number: u64) -> Option<Record> {
        let mut open = self.records.iter_mut();
        let record = open.find(|record| record.number == Some(number) && !record.left.is_zero())?;
        record.left = Bytes::ZERO;
        Some(*record)
    }

    fn forget(&mut self, newest: Instant) {
        while self.records.front().is_some_and(|record| {
            record.left.is_zero() || newest.saturating_since(record.sent) > LIFETIME
        }) {
            self.records.pop_front();
        }
    }
}
