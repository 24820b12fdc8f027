//! One connection of a capture, while it is open.

use std::net::SocketAddr;

use capture::Segment;

use super::{End, Ended, LINGER, SILENCE};
use crate::evidence::Hidden;
use crate::report::{Connection, Handshake, Vantage};
use crate::sender::Sender;
use crate::startup;
use crate::view::{Ack, Data, Event, View};

/// Packets before the vantage is decided without a handshake.
const UNDECIDED: usize = 64;

/// One host of a connection, and what it sends.
#[derive(Clone, Debug)]
pub struct Host {
    pub address: SocketAddr,
    /// Initial sequence number, or that of the first byte seen less one.
    pub initial: Option<u32>,
    pub has_syn: bool,
    pub mss: Option<u16>,
    pub scale: Option<u8>,
    pub sack: bool,
    pub timestamps: bool,
    pub packets: u64,
    pub fin: bool,
    pub sender: Option<Box<Sender>>,
    pub view: View,
    pub clock: Ticks,
    /// Whether its steps are kept for a replay.
    pub keeps_steps: bool,
}

impl Host {
    pub fn new(address: SocketAddr, keeps_steps: bool) -> Self {
        Self {
            address,
            initial: None,
            has_syn: false,
            mss: None,
            scale: None,
            sack: false,
            timestamps: false,
            packets: 0,
            fin: false,
            sender: None,
            view: View::default(),
            clock: Ticks::default(),
            keeps_steps,
        }
    }

    /// The offset of a sequence number, near the highest byte that this host sent.
    fn offset(&self, seq: u32) -> i64 {
        let initial = self.initial.unwrap_or(seq.wrapping_sub(1));
        let near = self.sender.as_ref().map_or(0, |sender| sender.next());
        let expected = initial.wrapping_add(1).wrapping_add(near as u32);
        near + i64::from(seq.wrapping_sub(expected) as i32)
    }
}

/// The sender's clock, as its timestamps show it.
///
/// Most stacks count milliseconds (RFC 7323, section 5.4, recommends 1 ms to 1 s). Until the clock
/// departs from that by more than the queues explain, it shows when a segment left.
#[derive(Clone, Debug, Default)]
pub struct Ticks {
    /// Time in the capture and timestamp of the SYN.
    first: Option<(i64, u32)>,
    is_wrong: bool,
}

impl Ticks {
    fn begin(&mut self, at: i64, timestamps: Option<(u32, u32)>) {
        self.first = timestamps.map(|(value, _)| (at, value));
    }

    /// How much later than by the sender's clock a segment was seen; 0 if the clock is unknown.
    fn lag(&mut self, at: i64, timestamps: Option<(u32, u32)>, sender: &Sender) -> i64 {
        let (Some((begin, first)), Some((value, _))) = (self.first, timestamps) else {
            return 0;
        };
        if self.is_wrong {
            return 0;
        }
        let ticks = i64::from(value.wrapping_sub(first) as i32);
        let lag = at - begin - ticks * 1_000_000;
        let base = sender.rtt_min.unwrap_or(LINGER);
        // The latest RTT is that of an earlier segment, and slow start fills a queue exponentially.
        let queue = 4 * (sender.rtt_last.unwrap_or(LINGER) - base) + base;
        if lag < -3_000_000 || lag > queue + 100_000_000 {
            self.is_wrong = true;
            return 0;
        }
        lag.max(0)
    }
}

#[derive(Clone, Debug)]
pub struct Open {
    pub number: u64,
    pub interface: u32,
    pub begin: i64,
    pub last: i64,
    /// Initiator and acceptor.
    pub hosts: [Host; 2],
    /// Times of SYN, SYN-ACK and the third segment.
    pub handshake: [Option<i64>; 3],
    pub syn_count: u32,
    pub last_syn: Option<i64>,
    pub closed: Option<i64>,
    /// Its place in the tracker's queue.
    pub queued: i64,
    /// Segments until the vantage is decided.
    pub waiting: Vec<(usize, Segment)>,
    pub is_decided: bool,
    /// Most points for figures.
    pub points: usize,
    /// If its segments stand for the packets of QUIC.
    pub hidden: Option<Hidden>,
}

impl Open {
    /// The connection that `segment` begins.
    pub fn new(number: u64, segment: &Segment, points: usize, keeps_steps: bool) -> Self {
        let (source, destination) = (segment.source, segment.destination);
        let answers = segment.flags.syn && segment.flags.ack;
        let (initiator, acceptor) = if answers {
            (destination, source)
        } else {
            (source, destination)
        };
        Self {
            number,
            interface: segment.interface,
            begin: segment.at,
            last: segment.at,
            hosts: [initiator, acceptor].map(|host| Host::new(host, keeps_steps)),
            handshake: [None; 3],
            syn_count: 0,
            last_syn: None,
            closed: None,
            queued: 0,
            waiting: Vec::new(),
            is_decided: false,
            points,
            hidden: None,
        }
    }

    /// From when it is over if no packet comes.
    pub fn over_from(&self) -> i64 {
        let silent = self.last + SILENCE;
        self.closed.map_or(silent, |at| silent.min(at + LINGER))
    }

    pub fn is_reused_by(&self, syn: &Segment) -> bool {
        let host = &self.hosts[usize::from(self.hosts[0].address != syn.source)];
        host.initial.is_some_and(|initial| initial != syn.seq) || !host.has_syn
    }

    pub fn take(&mut self, segment: &Segment, points: usize) {
        // A capture merged from several may jump back in time.
        let from = usize::from(segment.source != self.hosts[0].address);
        self.last = self.last.max(segment.at);
        let host = &mut self.hosts[from];
        host.packets += 1;
        let options = &segment.options;
        let flags = segment.flags;
        if flags.syn {
            host.initial = Some(segment.seq);
            host.has_syn = true;
            (host.mss, host.scale) = (options.mss, options.window_scale);
            host.sack = options.sack_permitted;
            host.timestamps = options.timestamps.is_some();
            host.clock
                .begin(segment.at - self.begin, options.timestamps);
            if flags.ack {
                self.handshake[1].get_or_insert(segment.at);
            } else {
                self.syn_count += 1;
                self.last_syn = Some(segment.at);
                self.handshake[0].get_or_insert(segment.at);
            }
        } else if from == 0 && self.handshake[1].is_some() {
            self.handshake[2].get_or_insert(segment.at);
        }
        if flags.rst {
            self.closed.get_or_insert(segment.at);
        }
        host.fin |= flags.fin;
        if self.hosts.iter().all(|host| host.fin) {
            self.closed = Some(segment.at);
        }
        if self.is_decided {
            return self.pass(from, segment, points);
        }
        self.waiting.push((from, *segment));
        if self.handshake.iter().all(Option::is_some) || self.waiting.len() >= UNDECIDED {
            self.decide(points);
        }
    }

    /// Passes the segments on that waited until the vantage was known.
    fn decide(&mut self, points: usize) {
        self.is_decided = true;
        let (first, second) = self.halves();
        self.hosts[0].view.to_sender = second.unwrap_or(0);
        self.hosts[1].view.to_sender = first.unwrap_or(0);
        for (from, segment) in std::mem::take(&mut self.waiting) {
            self.pass(from, &segment, points);
        }
    }

    /// RTT from the capture to the acceptor, and to the initiator.
    fn halves(&self) -> (Option<i64>, Option<i64>) {
        let [syn, answer, third] = self.handshake;
        let between = |from: Option<i64>, to: Option<i64>| Some((to? - from?).max(0));
        let second = between(answer, third);
        if self.syn_count <= 1 {
            return (between(syn, answer), second);
        }
        // The answer may be to any of several SYNs: the last one gives the shortest RTT. It shows
        // only that the capture is beside the initiator.
        let least = between(self.last_syn, answer);
        let is_beside = least
            .zip(second)
            .is_some_and(|(far, near)| Vantage::between(near, far) == Vantage::Sender);
        (least.filter(|_| is_beside), second)
    }

    /// Where the capture is, for data of `host`.
    fn vantage(&self, host: usize) -> Vantage {
        let (Some(to_acceptor), Some(to_initiator)) = self.halves() else {
            return Vantage::Unknown;
        };
        let (near, far) = if host == 0 {
            (to_initiator, to_acceptor)
        } else {
            (to_acceptor, to_initiator)
        };
        Vantage::between(near, far)
    }

    /// Passes a segment on as data of its source and as an ACK for its destination.
    fn pass(&mut self, from: usize, segment: &Segment, points: usize) {
        let at = segment.at - self.begin;
        let flags = segment.flags;
        let to = 1 - from;
        let scales = self.hosts[0].scale.is_some() && self.hosts[1].scale.is_some();
        let shift = match self.hosts[from].scale {
            Some(shift) if scales && !flags.syn => shift,
            _ => 0,
        };
        let vantages = [self.vantage(0), self.vantage(1)];
        if segment.payload > 0 || flags.fin {
            let host = &mut self.hosts[from];
            if host.initial.is_none() {
                host.initial = Some(segment.seq.wrapping_sub(1));
            }
            // Data in a SYN begins behind it (TCP Fast Open).
            let start = host.offset(segment.seq.wrapping_add(u32::from(flags.syn)));
            let data = Data {
                start,
                length: segment.payload,
                fin: flags.fin,
                timestamps: segment.options.timestamps,
            };
            host.take(vantages[from], at, Event::Data(data), points);
        }
        if flags.ack {
            let host = &mut self.hosts[to];
            if host.initial.is_none() {
                host.initial = Some(segment.ack.wrapping_sub(1));
            }
            let mut sack = [None; 4];
            for (place, block) in sack.iter_mut().zip(segment.options.sack) {
                *place = block.map(|(start, end)| (host.offset(start), host.offset(end)));
            }
            let ack = Ack {
                ack: host.offset(segment.ack),
                window: u64::from(segment.window) << shift,
                sack,
                ece: flags.ece && !flags.syn,
                is_pure: segment.payload == 0 && !flags.syn && !flags.fin,
                timestamps: segment.options.timestamps,
                seen: at,
            };
            host.take(vantages[to], at, Event::Ack(ack), points);
        }
    }

    pub fn finish(mut self, end: End) -> Ended {
        let points = self.points;
        if !self.is_decided {
            self.decide(points);
        }
        let vantages = [self.vantage(0), self.vantage(1)];
        for (host, vantage) in self.hosts.iter_mut().zip(vantages) {
            host.finish(vantage);
        }
        // The host that sent more is the sender; the acceptor if none sent anything.
        let bytes = |host: &Host| host.sender.as_ref().map_or(0, |sender| sender.bytes());
        let from = usize::from(bytes(&self.hosts[1]) >= bytes(&self.hosts[0]));
        let sender = self.hosts[from].sender.take();
        let sender = *sender.unwrap_or_else(|| Box::new(Sender::new(0)));
        let end = self.closed.map_or(end, |_| End::Closed);
        let connection = self.report(from, sender, vantages[from]);
        Ended { connection, end }
    }

    fn report(self, from: usize, mut sender: Sender, vantage: Vantage) -> Connection {
        let (first, second) = self.halves();
        let [syn, answer, _] = self.handshake;
        let (host, peer) = (&self.hosts[from], &self.hosts[1 - from]);
        let millis = |nanos: i64| nanos as f64 / 1e6;
        let has_beginning = host.has_syn;
        let verdict = startup::verdict(&sender, has_beginning, self.hidden.as_ref());
        let active = match (sender.first_data, sender.last_ack) {
            (Some(first), Some(last)) if last > first => (last - first) as f64 / 1e9,
            _ => 0.0,
        };
        let acked = sender.una().clamp(0, sender.next().max(0));
        Connection {
            number: self.number,
            sender: host.address.to_string(),
            receiver: peer.address.to_string(),
            interface: self.interface,
            opened_by_sender: from == 0,
            vantage,
            encrypted: self.hidden.is_some(),
            algorithm: None,
            start_unix_s: self.begin as f64 / 1e9,
            duration_s: (self.last - self.begin) as f64 / 1e9,
            closed: self.closed.is_some(),
            handshake: Handshake {
                complete: syn.is_some() && answer.is_some(),
                rtt_ms: match (first, second) {
                    (Some(first), Some(second)) if self.syn_count <= 1 => {
                        Some(millis(first + second))
                    }
                    _ => None,
                },
                mss_bytes: peer.mss,
                window_scale: peer.scale.filter(|_| host.scale.is_some()),
                sack: host.sack && peer.sack,
                timestamps: host.timestamps && peer.timestamps,
            },
            bytes: sender.bytes(),
            segments: sender.segments,
            packets: [host.packets, peer.packets],
            largest_segment_bytes: sender.largest,
            retransmissions: sender.retransmissions,
            missing_bytes: sender.missing(),
            rtt_ms: sender.rtt_min.map(|min| {
                [
                    millis(min),
                    sender.rtt_mean() / 1e6,
                    millis(sender.rtt_max()),
                ]
            }),
            rtt_samples: sender.rtt_count,
            initial_window_bytes: sender
                .initial_window
                .filter(|_| has_beginning)
                .map(|bytes| bytes.max(0) as u64),
            last_new_data_s: sender.first_data.map(|_| sender.last_new.0 as f64 / 1e9),
            rounds: sender.round,
            max_in_flight_bytes: sender.max_flight as u64,
            goodput_bps: if active > 0.0 {
                acked as f64 * 8.0 / active
            } else {
                0.0
            },
            limits: sender.limits(),
            capacity: startup::capacity(&sender),
            verdict,
            waits: sender.take_waits(),
            steps: sender.steps.unwrap_or_default(),
            events: Vec::new(),
            series: sender.series.into_points(),
            retransmitted: sender.retransmitted.into_spans(),
            sacked: sender.selective.into_spans(),
        }
    }
}

impl Host {
    /// Passes an event on in the sender's order.
    fn take(&mut self, vantage: Vantage, at: i64, event: Event, points: usize) {
        if self.sender.is_none() {
            // ACKs of a host that sends nothing need no scoreboard, but their window counts.
            let mut sender = Box::new(Sender::new(points));
            if self.keeps_steps {
                sender.keep_steps();
            }
            self.sender = Some(sender);
        }
        let Some(sender) = &mut self.sender else {
            return;
        };
        sender.to_sender = self.view.to_sender;
        if let Event::Data(data) = &event
            && matches!(vantage, Vantage::Receiver | Vantage::Middle)
        {
            sender.lag = self.clock.lag(at, data.timestamps, sender);
        }
        self.view.take(vantage, at, event, &mut |at, event| {
            sender.take(vantage, at, &event)
        });
    }

    fn finish(&mut self, vantage: Vantage) {
        if let Some(sender) = &mut self.sender {
            self.view
                .finish(&mut |at, event| sender.take(vantage, at, &event));
            sender.finish();
        }
    }
}
