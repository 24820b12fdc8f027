//! The steps of QUIC senders, from the packets of a qlog.
//!
//! Bytes are those of packets. An ACK frame names packets, and until the first loss it names all of
//! them up to a number, so that a sum of bytes stands for the cumulative ACK of TCP. The steps end
//! at the first loss. A log without ACK frames (quinn's own) has the bytes in flight, which say
//! the same.

use std::collections::BTreeMap;

use capture::logs::{Owner, PacketEvent, Space};

use crate::events::{Event, Packet};
use crate::logs::{EXTREME, MOST};
use crate::report::Connection;
use crate::series::Step;

/// Most steps of a sender.
const MOST_STEPS: usize = 1 << 19;
/// No log has the receiver's flow control as a limit of bytes of packets.
const EDGE: i64 = 1 << 50;

/// A sender.
#[derive(Debug, Default)]
struct Sender {
    /// When each outstanding packet left, and its bytes.
    outstanding: BTreeMap<u64, (i64, i64)>,
    steps: Vec<Step>,
    /// With the number of steps before each.
    events: Vec<(usize, Event)>,
    /// Packets of the handshake that are not acknowledged: number, when it left, and bytes.
    hello: Vec<(Space, u64, i64, i64)>,
    next: i64,
    una: i64,
    /// All bytes that left, also after the first loss.
    sent: i64,
    packets: u64,
    largest: u32,
    last_sent: i64,
    first_flight: Option<i64>,
    handshake: Option<i64>,
    handshake_rtt: Option<i64>,
    has_acks: bool,
    is_over: bool,
    rtt: [i64; 2],
    rtt_sum: f64,
    rtt_count: u64,
}

/// Collects the packets of the senders of a qlog.
#[derive(Debug, Default)]
pub struct Senders {
    senders: BTreeMap<Owner, Sender>,
}

impl Senders {
    /// Takes the next event; says whether the sender is a new one.
    pub fn take(&mut self, owner: &Owner, at: i64, event: PacketEvent) -> bool {
        let is_new = !self.senders.contains_key(owner);
        if is_new {
            let is_packet = matches!(
                event,
                PacketEvent::Sent(..)
                    | PacketEvent::HandshakeSent(..)
                    | PacketEvent::HandshakeReceived(..)
            );
            if !is_packet || self.senders.len() >= MOST {
                return false;
            }
            self.senders.insert(owner.clone(), Sender::default());
        }
        if let Some(sender) = self.senders.get_mut(owner) {
            sender.take(at.clamp(-EXTREME, EXTREME), event);
        }
        is_new
    }

    /// Adds what the packets show to the connection of the same owner.
    pub fn complete(&mut self, owner: &Owner, connection: &mut Connection, keep: bool) {
        if let Some(sender) = self.senders.remove(owner)
            && sender.next > 0
        {
            sender.complete(connection, keep);
        }
    }
}

impl Sender {
    fn take(&mut self, at: i64, event: PacketEvent) {
        match event {
            PacketEvent::HandshakeSent(space, number, bytes) => {
                self.handshake.get_or_insert(at);
                // A client discards the keys of Initial packets here (RFC 9001, section 4.9.1).
                if space == Space::Handshake {
                    self.discard(Space::Initial);
                }
                self.hello.push((space, number, at, i64::from(bytes)));
                self.note(Event::Hello(at, i64::from(bytes)));
            }
            PacketEvent::HandshakeReceived(space, ranges) => {
                self.answered(at);
                self.shake(at, space, &ranges);
            }
            PacketEvent::Sent(number, bytes, true) => self.leaves(at, number, bytes),
            PacketEvent::Sent(..) => {}
            PacketEvent::Acked(ranges) => {
                self.has_acks = true;
                self.answered(at);
                let mut named = Vec::new();
                for (low, high) in ranges {
                    named.extend(
                        self.outstanding
                            .range(low..=high)
                            .map(|(number, _)| *number),
                    );
                }
                self.arrived(at, &named);
            }
            PacketEvent::InFlight(bytes) if !self.has_acks => {
                let mut left = self.next - self.una - i64::try_from(bytes).unwrap_or(i64::MAX);
                let mut named = Vec::new();
                for (number, (_, size)) in &self.outstanding {
                    left -= size;
                    if left < 0 {
                        break;
                    }
                    named.push(*number);
                }
                self.arrived(at, &named);
            }
            PacketEvent::InFlight(_) => {}
            PacketEvent::Lost(number) => {
                self.is_over |= self.outstanding.remove(&number).is_some();
            }
        }
    }

    fn note(&mut self, event: Event) {
        if !self.is_over && self.steps.len() < MOST_STEPS {
            self.events.push((self.steps.len(), event));
        }
    }

    /// Packets of the handshake are acknowledged.
    fn shake(&mut self, at: i64, space: Space, ranges: &[(u64, u64)]) {
        let is_acked = |each: &(Space, u64, i64, i64)| {
            let mut ranges = ranges.iter();
            each.0 == space && ranges.any(|(low, high)| (*low..=*high).contains(&each.1))
        };
        let acked = self.hello.iter().filter(|each| is_acked(each));
        let bytes: i64 = acked.clone().map(|each| each.3).sum();
        if let Some(left) = acked.map(|each| each.2).max() {
            self.hello.retain(|each| !is_acked(each));
            self.note(Event::Answered(at, left, bytes));
        }
    }

    fn discard(&mut self, space: Space) {
        let of_space = self.hello.iter().filter(|each| each.0 == space);
        let bytes: i64 = of_space.map(|each| each.3).sum();
        if bytes > 0 {
            self.hello.retain(|each| each.0 != space);
            self.note(Event::Discarded(bytes));
        }
    }

    /// The first answer of the peer after the first packet.
    fn answered(&mut self, at: i64) {
        if let (Some(since), None) = (self.handshake, self.handshake_rtt) {
            self.handshake_rtt = Some(at - since).filter(|rtt| *rtt > 0);
        }
    }

    fn leaves(&mut self, at: i64, number: u64, bytes: u32) {
        let size = i64::from(bytes);
        self.sent = self.sent.saturating_add(size);
        self.packets += 1;
        self.largest = self.largest.max(bytes);
        self.last_sent = at;
        if self.is_over || self.steps.len() >= MOST_STEPS || bytes == 0 {
            return;
        }
        self.outstanding.insert(number, (at, size));
        let packet = Packet {
            number,
            left: at,
            bytes: size,
        };
        self.note(Event::Sent(at, packet));
        let end = self.next + size;
        self.steps.push(Step::Sent(at, self.next, end, EDGE));
        self.next = end;
    }

    /// Packets are acknowledged; numbers that are not outstanding were before.
    fn arrived(&mut self, at: i64, numbers: &[u64]) {
        let (mut acked, mut newest) = (0, None);
        let mut packets = Vec::new();
        for &number in numbers {
            if let Some((left, bytes)) = self.outstanding.remove(&number) {
                acked += bytes;
                newest = newest.max(Some(left));
                packets.push(Packet {
                    number,
                    left,
                    bytes,
                });
            }
        }
        let Some(left) = newest else { return };
        self.first_flight.get_or_insert(self.next);
        let rtt = (at - left).max(0);
        self.rtt = match self.rtt_count {
            0 => [rtt; 2],
            _ => [self.rtt[0].min(rtt), self.rtt[1].max(rtt)],
        };
        self.rtt_sum += rtt as f64;
        self.rtt_count += 1;
        if self.is_over || self.steps.len() >= MOST_STEPS {
            return;
        }
        // The handshake is over (RFC 9001, section 4.9.2).
        self.discard(Space::Initial);
        self.discard(Space::Handshake);
        self.note(Event::Acked(at, packets));
        self.una += acked;
        self.steps.push(Step::Acked(at, self.una, EDGE, at));
    }

    fn complete(self, connection: &mut Connection, keep: bool) {
        let begin = (connection.start_unix_s * 1e9).round() as i64;
        let since = |at: i64| (at - begin).max(0);
        let millis = |nanos: f64| nanos / 1e6;
        connection.bytes = connection.bytes.max(self.sent.max(0) as u64);
        connection.largest_segment_bytes = self.largest;
        connection.segments = self.packets;
        connection.packets[0] = connection.packets[0].max(self.packets);
        connection.initial_window_bytes = self.first_flight.map(|bytes| bytes.max(0) as u64);
        connection.last_new_data_s = Some(since(self.last_sent) as f64 / 1e9);
        connection.handshake.rtt_ms = self.handshake_rtt.map(|rtt| millis(rtt as f64));
        if connection.rtt_ms.is_none() && self.rtt_count > 0 {
            let [least, most] = self.rtt.map(|rtt| millis(rtt as f64));
            let mean = millis(self.rtt_sum / self.rtt_count as f64);
            connection.rtt_ms = Some([least, mean, most]);
            connection.rtt_samples = self.rtt_count;
        }
        if keep {
            let moved = |step: &Step| match *step {
                Step::Sent(at, start, end, edge) => Step::Sent(since(at), start, end, edge),
                Step::Acked(at, una, edge, _) => Step::Acked(since(at), una, edge, since(at)),
            };
            connection.steps = self.steps.iter().map(moved).collect();
            let events = self.events.into_iter();
            connection.events = events
                .map(|(steps, event)| (steps, event.moved(&since)))
                .collect();
        }
    }
}
