//! QUIC connections of a capture. Sizes and times of their packets are seen, and the spin bit (RFC
//! 9000, section 17.4), which changes once per round trip in each direction.
//!
//! The first packet of the peer with a changed bit answers the first packet of the sender with the
//! bit before, so it acknowledges all that left until then: once per round trip, the bytes in flight
//! are known. Between two of these, each of its packets counts as an ACK of the same number of bytes;
//! without a spin bit, in the whole connection. The first ACK with a gap is larger than those before.
//! The packets become segments and ACKs in the sender's order, and the analysis is that of TCP. What
//! the packets repeat is not seen.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use capture::{Datagram, Flags, Header, Segment, TcpOptions};

use crate::counted::Counted;
use crate::evidence::Hidden;
use crate::gaps;
use crate::logs::EXTREME;
use crate::report::{Class, Connection, Reason, Vantage, Verdict};
use crate::spin::{Acknowledged, Loops, Sight};
use crate::tracker::{End, MOST_OPEN, Open};

/// Packets of a connection that are kept, and of all connections; later ones are only counted.
const MOST_OF_ONE: usize = 1 << 18;
const MOST_IN_ALL: usize = 1 << 22;

/// After a silence of so many nanoseconds, an Initial packet begins another connection.
pub const SILENCE: i64 = 30_000_000_000;

/// The scale of a receive window that never limits.
const SCALE: u8 = 14;

/// Of a connection without a spin bit whose ACKs cannot be counted.
const NO_SPIN: &str = "Cannot tell: the connection is encrypted, and its spin bit does not show \
                       round trips.";

/// What shows which data the packets of the receiver acknowledge.
enum Answers {
    Spin(Loops),
    Count(Counted),
}

impl Answers {
    const fn vantage(&self) -> Vantage {
        match self {
            Self::Spin(loops) => loops.vantage(),
            Self::Count(counted) => counted.vantage(),
        }
    }

    /// How long before the capture saw it the data seen at `at` left; `near` before that is known.
    fn lag(&self, at: i64, near: i64) -> i64 {
        match self {
            Self::Spin(loops) => loops.lag(at, near),
            Self::Count(counted) if counted.vantage() == Vantage::Sender => 0,
            Self::Count(_) => near,
        }
    }

    fn acknowledged(&self, sights: &[Sight], from: u8, gap: Option<usize>) -> Acknowledged {
        match self {
            Self::Spin(loops) => loops.acknowledged(sights, from, gap),
            Self::Count(counted) => counted.acknowledged(sights, from),
        }
    }
}

/// A connection.
#[derive(Debug)]
struct Flow {
    number: u64,
    interface: u32,
    /// Client and server.
    hosts: [SocketAddr; 2],
    begin: i64,
    last: i64,
    packets: [u64; 2],
    /// UDP payload with short headers.
    bytes: [u64; 2],
    largest: [u32; 2],
    /// When the first packets of the client, of the server, and of the client after it were seen.
    handshake: [Option<i64>; 3],
    last_data: [Option<i64>; 2],
    sights: Vec<Sight>,
}

/// Follows the QUIC connections of a capture.
#[derive(Debug, Default)]
pub struct Encrypted {
    open: BTreeMap<(u32, SocketAddr, SocketAddr), usize>,
    flows: Vec<Flow>,
    kept: usize,
    /// Connections beyond the limit.
    pub skipped: u64,
}

impl Encrypted {
    /// Takes a datagram; false if it belongs to no QUIC connection. One that begins a connection
    /// gets its number from `next`.
    pub fn take(&mut self, datagram: &Datagram, next: impl FnOnce() -> u64) -> bool {
        let at = datagram.at.clamp(-EXTREME, EXTREME);
        let (source, destination) = (datagram.source, datagram.destination);
        let key = (
            datagram.interface,
            source.min(destination),
            source.max(destination),
        );
        let place = self.open.get(&key).copied();
        let is_initial = datagram.packet == Header::Long { is_initial: true };
        let begins = is_initial
            && place.is_none_or(|place| {
                let flow = &self.flows[place];
                flow.hosts[0] == source && at - flow.last > SILENCE
            });
        let place = match place {
            Some(place) if !begins => place,
            _ if !begins => return false,
            _ if self.flows.len() >= MOST_OPEN => {
                self.skipped += 1;
                return true;
            }
            _ => {
                self.open.insert(key, self.flows.len());
                self.flows.push(Flow {
                    number: next(),
                    interface: datagram.interface,
                    hosts: [source, destination],
                    begin: at,
                    last: at,
                    packets: [0; 2],
                    bytes: [0; 2],
                    largest: [0; 2],
                    handshake: [None; 3],
                    last_data: [None; 2],
                    sights: Vec::new(),
                });
                self.flows.len() - 1
            }
        };
        let keeps = self.kept < MOST_IN_ALL;
        let flow = &mut self.flows[place];
        let before = flow.sights.len();
        flow.take(datagram, at, keeps);
        self.kept += flow.sights.len() - before;
        true
    }

    /// The reports, with at most `points(number)` points for figures each.
    pub fn finish(self, points: impl Fn(u64) -> usize) -> Vec<Connection> {
        let flows = self.flows.into_iter();
        flows
            .map(|flow| {
                let points = points(flow.number);
                flow.finish(points)
            })
            .collect()
    }
}

impl Flow {
    fn take(&mut self, datagram: &Datagram, at: i64, keeps: bool) {
        let from = usize::from(datagram.source != self.hosts[0]);
        self.last = self.last.max(at);
        self.packets[from] += 1;
        match (from, self.handshake) {
            (0, [None, ..]) => self.handshake[0] = Some(at),
            (1, [Some(_), None, _]) => self.handshake[1] = Some(at),
            (0, [_, Some(_), None]) => self.handshake[2] = Some(at),
            _ => {}
        }
        let Header::Short { spin } = datagram.packet else {
            return;
        };
        self.bytes[from] += u64::from(datagram.payload);
        self.largest[from] = self.largest[from].max(datagram.payload);
        self.last_data[from] = Some(at);
        if keeps && self.sights.len() < MOST_OF_ONE {
            self.sights.push(Sight {
                at,
                size: u16::try_from(datagram.payload).unwrap_or(u16::MAX),
                from: from as u8,
                spin,
            });
        }
    }

    /// RTT from the capture to the server, and to the client.
    fn halves(&self) -> Option<[i64; 2]> {
        let [first, answer, next] = self.handshake;
        Some([(answer? - first?).max(0), (next? - answer?).max(0)])
    }

    fn finish(mut self, points: usize) -> Connection {
        // A capture merged from several may jump back in time.
        self.sights.sort_by_key(|sight| sight.at);
        // The host that sent more is the sender; the server if both sent nothing.
        let from = usize::from(self.bytes[1] >= self.bytes[0]);
        let halves = self.halves();
        let handshake = halves.map(|[server, client]| server + client);
        let gap = gaps::first(&self.sights, from as u8);
        let answers = Loops::find(&self.sights, from as u8, handshake)
            .map(Answers::Spin)
            .or_else(|| {
                // Away from the sender, the queue before the capture shows in no count.
                Counted::find(&self.sights, from as u8, halves?, gap)
                    .filter(|counted| counted.vantage() != Vantage::Receiver)
                    .map(Answers::Count)
            });
        // The RTT between capture and sender, before the spin bit shows it.
        let near = halves.map_or(0, |halves| halves[1 - from]);
        let rtt = handshake.unwrap_or(0);
        let mut made = self.report(from, rtt, answers.as_ref(), gap, near, points);
        self.complete(&mut made, from, handshake);
        match &answers {
            Some(Answers::Spin(loops)) => {
                made.vantage = loops.vantage();
                made.rtt_ms = Some(loops.rtt_ms());
                made.rtt_samples = loops.count() as u64;
                for point in &mut made.series {
                    let at = self.begin + (point.time_s * 1e9) as i64;
                    point.rtt_ms = loops.latest_ms(at);
                }
            }
            _ => self.without_spin(&mut made, from, halves, answers.is_some()),
        }
        made
    }

    /// The report of TCP segments and ACKs in the sender's order.
    fn report(
        &self,
        from: usize,
        rtt: i64,
        answers: Option<&Answers>,
        gap: Option<usize>,
        near: i64,
        points: usize,
    ) -> Connection {
        let side = from as u8;
        let client = |at| self.segment(0, at);
        let server = |at| self.segment(1, at);
        let mut syn = client(self.begin);
        syn.flags.syn = true;
        syn.flags.ack = false;
        let mut answer = server(self.begin + if from == 0 { rtt } else { 0 });
        answer.flags.syn = true;
        answer.ack = 1;
        for segment in [&mut syn, &mut answer] {
            segment.options.window_scale = Some(SCALE);
        }
        let mut third = client(self.begin + rtt);
        (third.seq, third.ack) = (1, 1);
        let mut open = Open::new(self.number, &syn, points, false);
        let mut hidden = Hidden::default();
        open.take(&syn, points);
        open.take(&answer, points);
        let mut segments = vec![third];
        if let Some(answers) = answers {
            let acked = answers.acknowledged(&self.sights, side, gap);
            segments.extend(self.translated(side, answers, &acked.bytes, gap, near));
            let losses = acked.losses.iter();
            hidden.losses = losses.map(|span| span.map(|at| at - self.begin)).collect();
            hidden.unseen = answers.vantage() == Vantage::Receiver;
            hidden.pads = gaps::pads(&self.sights, side);
        }
        open.hidden = Some(hidden);
        segments.sort_by_key(|segment| segment.at);
        for segment in &segments {
            open.take(segment, points);
        }
        open.finish(End::File).connection
    }

    fn segment(&self, from: usize, at: i64) -> Segment {
        Segment {
            at,
            interface: self.interface,
            source: self.hosts[from],
            destination: self.hosts[1 - from],
            seq: 0,
            ack: 0,
            flags: Flags {
                ack: true,
                ..Flags::default()
            },
            window: u16::MAX,
            payload: 0,
            is_marked: false,
            options: TcpOptions::default(),
        }
    }

    /// Data of `side` when it left, and ACKs when they arrive there. Of equal times, what was seen
    /// first comes first. The answer at the place `gap` lacks a packet.
    fn translated(
        &self,
        side: u8,
        answers: &Answers,
        acked: &[i64],
        gap: Option<usize>,
        near: i64,
    ) -> Vec<Segment> {
        let (mut sent, mut last) = (0_i64, i64::MIN);
        let mut acked = acked.iter().enumerate();
        let mut before = 0;
        let translate = |sight: &Sight| {
            if sight.from == side {
                last = last.max(sight.at - answers.lag(sight.at, near));
                let mut segment = self.segment(side.into(), last);
                // Sequence numbers wrap.
                (segment.seq, segment.ack) = ((sent + 1) as u32, 1);
                segment.payload = sight.size.into();
                sent += i64::from(sight.size);
                return segment;
            }
            let mut segment = self.segment(usize::from(1 - side), sight.at);
            let (place, acked) = acked.next().unwrap_or((usize::MAX, &0));
            let acked = (*acked).min(sent);
            (segment.seq, segment.ack) = (1, (acked + 1) as u32);
            // An answer that acknowledges nothing new is no duplicate ACK: its window differs.
            segment.window -= (place & 1) as u16;
            if gap == Some(place) {
                let missing = i64::from(self.largest[usize::from(side)]);
                let block = [before, acked.max(before + 1)];
                let block = block.map(|edge| (edge + missing + 1) as u32);
                segment.ack = (before + 1) as u32;
                segment.options.sack[0] = Some((block[0], block[1]));
            }
            before = acked;
            segment
        };
        self.sights.iter().map(translate).collect()
    }

    /// What the packets show whatever the ACKs are.
    fn complete(&self, made: &mut Connection, from: usize, handshake: Option<i64>) {
        made.duration_s = (self.last - self.begin) as f64 / 1e9;
        made.packets = [self.packets[from], self.packets[1 - from]];
        made.bytes = self.bytes[from];
        made.largest_segment_bytes = self.largest[from];
        made.handshake.complete = handshake.is_some();
        made.handshake.rtt_ms = handshake.map(|rtt| rtt as f64 / 1e6);
        made.handshake.window_scale = None;
        // The block that stands for a reported gap.
        made.sacked.clear();
        for point in &mut made.series {
            point.receive_window_bytes = None;
        }
    }

    /// Without a spin bit, only the handshake shows the RTT.
    fn without_spin(
        &self,
        made: &mut Connection,
        from: usize,
        halves: Option<[i64; 2]>,
        is_counted: bool,
    ) {
        made.rtt_ms = None;
        made.rtt_samples = 0;
        for point in &mut made.series {
            point.rtt_ms = None;
        }
        let near_far = halves.map(|halves| (halves[1 - from], halves[from]));
        made.vantage = near_far.map_or(Vantage::Unknown, |(near, far)| Vantage::between(near, far));
        let seconds = self.last_data[from].map(|last| (last - self.begin) as f64 / 1e9);
        made.last_new_data_s = seconds;
        made.goodput_bps = seconds
            .filter(|seconds| *seconds > 0.0)
            .map_or(0.0, |seconds| self.bytes[from] as f64 * 8.0 / seconds);
        if is_counted {
            return;
        }
        made.verdict = Verdict {
            rule: "no-spin-bit",
            reason: Reason::CannotTell,
            confidence: 1.0,
            exit: None,
            class: Class::CannotTell,
            class_confidence: 1.0,
            sentence: NO_SPIN.to_owned(),
        };
    }
}
