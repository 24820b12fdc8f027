//! What becomes of data packets in a cloud, each counted once however often it is retransmitted.
//!
//! A data packet is a TCP segment with payload, known by its first byte, or a datagram. It is sent
//! when its first copy enters the cloud, and delivered when the first of its copies leaves it.

use std::collections::{BTreeMap, VecDeque};

use network::Packet;
use units::{Duration, Instant};
use wireless::NodeId;

use crate::carried::Carried;
use crate::numbers::is_datagrams;

/// Counts since the start of the run.
#[derive(Debug, Default)]
pub struct Ledger {
    flows: BTreeMap<u32, Book>,
    /// Packets of any kind.
    pub entered: u64,
    pub left: u64,
    pub lost: u64,
    /// Distinct data packets, all their copies, and the copies that were lost.
    pub sent: u64,
    pub copies: u64,
    pub lost_copies: u64,
    /// Distinct data packets of which a copy was lost, and those of which one arrived.
    pub hit: u64,
    pub delivered: u64,
    /// The sum of the delays of those that arrived.
    delay: Duration,
    /// When the first data packet was sent, and when the last one was delivered.
    since: Option<Instant>,
    until: Instant,
    pub nodes: Vec<Count>,
}

/// Data packets of one node.
#[derive(Clone, Copy, Debug, Default)]
pub struct Count {
    /// Distinct ones that it sent.
    pub sent: u64,
    /// Distinct ones that it received, and their payload.
    pub delivered: u64,
    pub bytes: u64,
}

/// The data packets of one flow that have not been delivered, or stand behind one that has not.
#[derive(Debug, Default)]
struct Book {
    /// In the order of their keys.
    entries: VecDeque<Entry>,
    /// Everything below has been delivered.
    floor: u64,
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    key: u64,
    len: u32,
    first: Instant,
    is_delivered: bool,
    is_hit: bool,
}

impl Ledger {
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes: vec![Count::default(); nodes],
            ..Self::default()
        }
    }

    /// The first byte of a TCP segment; of a datagram, its time.
    fn key(packet: &Packet<Carried>) -> Option<(u64, u32)> {
        let (seq, len, ..) = packet.payload.fields();
        if !packet.payload.has_payload() || len == 0 {
            return None;
        }
        match is_datagrams(packet.flow) {
            true => Some((packet.payload.sent.as_nanos(), len)),
            false => Some((seq, len)),
        }
    }

    /// A packet enters the cloud at `node`.
    pub fn enters(&mut self, now: Instant, node: NodeId, packet: &Packet<Carried>) {
        self.entered += 1;
        if packet.payload.is_syn() {
            // A new connection may have the number of an old one.
            self.flows.remove(&packet.flow);
        }
        let Some((key, len)) = Self::key(packet) else {
            return;
        };
        self.copies += 1;
        let book = self.flows.entry(packet.flow).or_default();
        if key < book.floor {
            return;
        }
        let place = book.entries.partition_point(|entry| entry.key < key);
        if book
            .entries
            .get(place)
            .is_some_and(|entry| entry.key == key)
        {
            return;
        }
        book.entries.insert(
            place,
            Entry {
                key,
                len,
                first: now,
                is_delivered: false,
                is_hit: false,
            },
        );
        self.sent += 1;
        self.nodes[node.index()].sent += 1;
        self.since.get_or_insert(now);
    }

    /// A packet leaves the cloud at `node`.
    pub fn leaves(&mut self, now: Instant, node: NodeId, packet: &Packet<Carried>) {
        self.left += 1;
        let Some(entry) = self.find(packet) else {
            return;
        };
        if entry.is_delivered {
            return;
        }
        entry.is_delivered = true;
        let (first, len) = (entry.first, entry.len);
        self.delivered += 1;
        self.delay += now.saturating_since(first);
        self.until = now;
        let count = &mut self.nodes[node.index()];
        count.delivered += 1;
        count.bytes += u64::from(len);
        self.forget(packet);
    }

    /// The cloud has lost a packet.
    pub fn loses(&mut self, packet: &Packet<Carried>) {
        self.lost += 1;
        if Self::key(packet).is_none() {
            return;
        }
        self.lost_copies += 1;
        if let Some(entry) = self.find(packet) {
            let is_first = !std::mem::replace(&mut entry.is_hit, true);
            self.hit += u64::from(is_first);
        }
        if is_datagrams(packet.flow) {
            // No other copy follows.
            self.flows.entry(packet.flow).and_modify(|book| {
                let key = packet.payload.sent.as_nanos();
                book.entries.retain(|entry| entry.key != key);
            });
        }
    }

    fn find(&mut self, packet: &Packet<Carried>) -> Option<&mut Entry> {
        let (key, _) = Self::key(packet)?;
        let entries = &mut self.flows.get_mut(&packet.flow)?.entries;
        let place = entries.partition_point(|entry| entry.key < key);
        entries.get_mut(place).filter(|entry| entry.key == key)
    }

    /// Drops the entries that no copy needs any more.
    fn forget(&mut self, packet: &Packet<Carried>) {
        let Some(book) = self.flows.get_mut(&packet.flow) else {
            return;
        };
        while let Some(front) = book.entries.front()
            && front.is_delivered
        {
            book.floor = front.key + 1;
            book.entries.pop_front();
        }
    }

    /// Mean delay of the data packets that were delivered.
    pub fn delay_mean(&self) -> Option<Duration> {
        (self.delivered > 0).then(|| self.delay / self.delivered)
    }

    /// From the first data packet sent to the last one delivered.
    pub fn span(&self) -> Duration {
        let since = self.since.unwrap_or(self.until);
        self.until.saturating_since(since)
    }

    /// Payload of the data packets that were delivered.
    pub fn bytes(&self) -> u64 {
        self.nodes.iter().map(|node| node.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use network::Ecn;
    use tcp::segment::DataSegment;

    use super::*;
    use crate::numbers::DATAGRAMS;
    use crate::routes::Hop;

    fn segment(flow: u32, seq: u64, at: Instant) -> Packet<Carried> {
        let data = DataSegment {
            seq,
            len: 1000,
            ts_val: 0,
            ts_ecr: 0,
            syn: false,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: false,
        };
        Packet {
            size: 1052,
            flow,
            ecn: Ecn::NotEct,
            payload: Carried::data(&data, at, Hop(0)),
        }
    }

    #[test]
    fn copies_of_a_packet_count_once_and_its_delay_from_the_first() {
        let at = Instant::from_millis;
        let (from, to) = (NodeId(0), NodeId(1));
        let mut ledger = Ledger::new(2);
        for (ms, seq) in [(0, 1), (0, 1001), (0, 2001), (50, 1), (60, 1001)] {
            ledger.enters(at(ms), from, &segment(7, seq, at(ms)));
        }
        ledger.loses(&segment(7, 1, at(0)));
        ledger.leaves(at(10), to, &segment(7, 1001, at(0)));
        ledger.leaves(at(20), to, &segment(7, 2001, at(0)));
        ledger.leaves(at(70), to, &segment(7, 1, at(50)));
        ledger.leaves(at(80), to, &segment(7, 1001, at(60)));
        // A late copy of what has been delivered is not new.
        ledger.enters(at(90), from, &segment(7, 2001, at(90)));
        ledger.loses(&segment(7, 2001, at(90)));
        assert_eq!((ledger.sent, ledger.copies), (3, 6));
        assert_eq!(
            (ledger.lost_copies, ledger.hit, ledger.delivered),
            (2, 1, 3)
        );
        let mean = Duration::from_nanos(100_000_000 / 3);
        assert_eq!(ledger.delay_mean(), Some(mean));
        assert_eq!(ledger.span(), Duration::from_millis(70));
        assert_eq!((ledger.nodes[0].sent, ledger.nodes[1].bytes), (3, 3000));
        assert!(ledger.flows[&7].entries.is_empty());
    }

    #[test]
    fn each_datagram_is_new() {
        let at = Instant::from_millis;
        let mut ledger = Ledger::new(2);
        for ms in [0, 5, 10] {
            ledger.enters(at(ms), NodeId(0), &segment(DATAGRAMS, 0, at(ms)));
        }
        ledger.loses(&segment(DATAGRAMS, 0, at(0)));
        for ms in [5, 10] {
            ledger.leaves(at(20), NodeId(1), &segment(DATAGRAMS, 0, at(ms)));
        }
        assert_eq!((ledger.sent, ledger.delivered, ledger.hit), (3, 2, 1));
        assert!(ledger.flows[&DATAGRAMS].entries.is_empty());
    }
}
