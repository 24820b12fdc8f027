//! Two hosts, the path between them, and their applications.

use congestion::Algorithm;
use tcp::segment::{AckSegment, DataSegment};
use tcp::{Receiver, ReceiverConfig, Sender, SenderConfig};
use testing::random::Random;
use testing::wire::Wire;
use units::{Bytes, Duration, Instant};

pub fn sender_config(algorithm: &str) -> SenderConfig {
    SenderConfig::linux(Algorithm::parse(algorithm).unwrap(), 1448)
}

pub fn receiver_config(sack: bool) -> ReceiverConfig {
    ReceiverConfig {
        sack,
        ..ReceiverConfig::linux(Bytes::new(6_000_000), 1448)
    }
}

/// One exchange of the connection: a request, its response, and the pause before the next request.
#[derive(Clone, Copy, Debug)]
pub struct Exchange {
    pub request: u64,
    pub response: u64,
    pub think: Duration,
}

impl Exchange {
    pub const fn new(request: u64, response: u64, think_ms: u64) -> Self {
        Self {
            request,
            response,
            think: Duration::from_millis(think_ms),
        }
    }
}

/// The sender and the receiver of a host. They belong to different halves.
#[derive(Clone, Debug)]
pub struct Host {
    pub sender: Sender,
    pub receiver: Receiver,
}

/// A packet: data of one half, an acknowledgment of the other, or both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Packet {
    pub data: Option<DataSegment>,
    pub ack: Option<AckSegment>,
    marked: bool,
}

pub const CLIENT: usize = 0;
pub const SERVER: usize = 1;

/// The faults of the path, in thousandths, and the choices of the applications.
#[derive(Clone, Debug)]
pub struct Faults {
    pub random: Random,
    pub loss: u64,
    pub duplicate: u64,
    pub reorder: u64,
    pub marks: u64,
}

impl Faults {
    pub const NONE: Self = Self {
        random: Random::new(0),
        loss: 0,
        duplicate: 0,
        reorder: 0,
        marks: 0,
    };
}

/// When a side of the connection closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Close {
    /// With its last write.
    AtLastWrite,
    /// Once it has received everything (and, at the server, the client's FIN).
    AfterAll,
}

/// A connection under test.
pub struct Duplex {
    pub hosts: [Host; 2],
    pub now: Instant,
    pub delay: Duration,
    faults: Faults,
    packets: Wire<(usize, Packet)>,
    /// Packets that are lost, by their place in the log.
    pub lost: Vec<usize>,
    /// Each packet that left: when, from which host.
    pub log: Vec<(Instant, usize, Packet)>,
    exchanges: Vec<Exchange>,
    close: Close,
    asked: usize,
    answered: usize,
    /// When the client writes next.
    client_acts: Option<Instant>,
    closed: [bool; 2],
    takes_bursts: bool,
    /// Applications that read late: when next, how much at most, and how often.
    reads: Option<(Instant, u64, Duration)>,
}

impl Duplex {
    pub fn new(configs: [SenderConfig; 2], exchanges: &[Exchange]) -> Self {
        let sack = configs[0].sack;
        let hosts = configs.map(|config| Host {
            sender: Sender::new(config),
            receiver: Receiver::new(receiver_config(sack)),
        });
        Self::of(hosts, exchanges)
    }

    /// A connection of hosts that are not open.
    pub fn of(mut hosts: [Host; 2], exchanges: &[Exchange]) -> Self {
        hosts[SERVER].receiver.listen();
        Self {
            hosts,
            now: Instant::ZERO,
            delay: Duration::from_millis(50),
            faults: Faults::NONE,
            packets: Wire::default(),
            lost: Vec::new(),
            log: Vec::new(),
            exchanges: exchanges.to_vec(),
            close: Close::AfterAll,
            asked: 0,
            answered: 0,
            client_acts: Some(Instant::ZERO),
            closed: [false; 2],
            takes_bursts: false,
            reads: None,
        }
    }

    pub fn with(mut self, faults: Faults, close: Close, takes_bursts: bool) -> Self {
        self.faults = faults;
        self.close = close;
        self.takes_bursts = takes_bursts;
        self
    }

    /// Both applications read at most `most` bytes every `pause`.
    pub fn with_slow_readers(mut self, most: u64, pause: Duration) -> Self {
        for host in &mut self.hosts {
            host.receiver.hold();
        }
        self.reads = Some((Instant::ZERO, most, pause));
        self
    }

    /// The applications read if it is time.
    fn read(&mut self) {
        let Some((at, most, pause)) = self.reads.filter(|reads| reads.0 <= self.now) else {
            return;
        };
        for host in &mut self.hosts {
            host.receiver.read(self.now, most);
        }
        self.reads = Some((at.max(self.now) + pause, most, pause));
    }

    pub fn open(&mut self) {
        self.hosts[CLIENT].sender.open(self.now);
        self.act();
        self.transmit(CLIENT);
    }

    fn send(&mut self, from: usize, data: Option<DataSegment>, ack: Option<AckSegment>) {
        let packet = Packet {
            data,
            ack,
            marked: data.is_some_and(|data| data.len > 0)
                && self.faults.random.happens(self.faults.marks),
        };
        self.log.push((self.now, from, packet));
        if self.faults.random.happens(self.faults.loss) || self.lost.contains(&(self.log.len() - 1))
        {
            return;
        }
        let copies = 1 + u64::from(self.faults.random.happens(self.faults.duplicate));
        for _ in 0..copies {
            let late = self.faults.random.happens(self.faults.reorder);
            let extra = if late {
                self.faults.random.below(30)
            } else {
                0
            };
            let at = self.now + self.delay + Duration::from_millis(extra);
            self.packets.send(at, (1 - from, packet));
        }
    }

    /// Sends the data that may leave, with the ACKs that ride on it.
    fn transmit_data(&mut self, host: usize) {
        let now = self.now;
        loop {
            let Host { sender, receiver } = &mut self.hosts[host];
            let burst = if self.takes_bursts {
                sender.poll_burst(now)
            } else {
                sender.poll_transmit(now).map(tcp::segment::Burst::Single)
            };
            let Some(burst) = burst else {
                break;
            };
            let mut acks = Vec::new();
            for segment in burst.segments() {
                let ack = if segment.syn {
                    None
                } else {
                    receiver.take_ack(now)
                };
                if segment.len > 0 {
                    receiver.on_data_sent(now);
                }
                if segment.fin {
                    receiver.on_fin_sent();
                }
                acks.push((segment, ack));
            }
            for (segment, ack) in acks {
                self.send(host, Some(segment), ack);
            }
        }
    }

    fn transmit(&mut self, host: usize) {
        self.transmit_data(host);
        while let Some(ack) = self.hosts[host].receiver.poll_ack(self.now) {
            self.send(host, None, Some(ack));
        }
        assert!(self.hosts[host].sender.is_consistent());
    }

    /// Offsets of the requests, or of the responses, up to exchange `count`.
    fn sum(&self, count: usize, part: impl Fn(&Exchange) -> u64) -> u64 {
        self.exchanges[..count].iter().map(part).sum()
    }

    /// The applications write and close.
    fn act(&mut self) {
        let now = self.now;
        let [client, server] = &mut self.hosts;
        let mut received = client.receiver.delivered().get();
        let responses = self
            .exchanges
            .iter()
            .take_while(|exchange| {
                let whole = received >= exchange.response;
                received = received.saturating_sub(exchange.response);
                whole
            })
            .count();
        // The client thinks after each response, and then asks again.
        if self.client_acts.is_none() && self.asked <= responses {
            let think = self.exchanges[self.asked - 1].think;
            self.client_acts = Some(now + think);
        }
        if self.client_acts.is_some_and(|at| at <= now) && self.asked < self.exchanges.len() {
            client.sender.write(now, self.exchanges[self.asked].request);
            self.asked += 1;
            self.client_acts = None;
        }
        let all_asked = self.asked == self.exchanges.len();
        let is_done = match self.close {
            Close::AtLastWrite => all_asked,
            Close::AfterAll => all_asked && responses == self.asked,
        };
        if is_done {
            self.client_acts = None;
            if !self.closed[CLIENT] {
                self.closed[CLIENT] = true;
                client.sender.close();
            }
        }
        let received = server.receiver.delivered().get();
        while self.answered < self.exchanges.len()
            && received >= self.sum(self.answered + 1, |exchange| exchange.request)
        {
            let response = self.exchanges[self.answered].response;
            self.answered += 1;
            self.hosts[SERVER].sender.write(now, response);
        }
        let all_answered = self.answered == self.exchanges.len();
        let server = &mut self.hosts[SERVER];
        let may_close = match self.close {
            Close::AtLastWrite => all_answered,
            Close::AfterAll => all_answered && server.receiver.finished_at().is_some(),
        };
        if may_close && !self.closed[SERVER] {
            self.closed[SERVER] = true;
            server.sender.close();
        }
    }

    fn arrive(&mut self, host: usize, packet: Packet) {
        let now = self.now;
        let Host { sender, receiver } = &mut self.hosts[host];
        if let Some(ack) = packet.ack {
            if host == CLIENT && ack.syn {
                let is_first = !sender.is_established();
                sender.handle_ack(now, &ack);
                let rtt = sender.rtt_sample().filter(|_| is_first);
                let third = receiver.connect(now, &ack, rtt);
                self.send(host, None, Some(third));
            } else if host == SERVER && !sender.is_established() {
                let (rtt, retransmitted) = receiver.complete_handshake(now);
                sender.accept(now, &ack, rtt, retransmitted);
            } else if packet.data.is_some() {
                sender.handle_ack_with_data(now, &ack);
            } else {
                sender.handle_ack(now, &ack);
            }
        }
        let Host { sender, receiver } = &mut self.hosts[host];
        if let Some(data) = packet.data {
            if packet.ack.is_none() {
                sender.handle_timestamp(data.ts_val);
            }
            receiver.handle_data(now, &data, packet.marked);
        }
        self.transmit(host);
        self.act();
        self.transmit(CLIENT);
        self.transmit(SERVER);
    }

    fn has_unread(&self) -> bool {
        self.hosts
            .iter()
            .any(|host| host.receiver.received() > host.receiver.delivered())
    }

    /// When the next event is due.
    fn next(&self) -> Option<Instant> {
        self.hosts
            .iter()
            .flat_map(|host| [host.sender.poll_timeout(), host.receiver.poll_timeout()])
            .chain([
                self.reads
                    .map(|reads| reads.0)
                    .filter(|_| self.has_unread()),
                self.packets.due(),
                self.client_acts
                    .filter(|_| self.asked < self.exchanges.len()),
            ])
            .flatten()
            .min()
    }

    /// One event. Returns false if none is pending.
    pub fn step(&mut self) -> bool {
        let Some(next) = self.next() else {
            return false;
        };
        self.now = self.now.max(next);
        if let Some((to, packet)) = self.packets.receive(self.now) {
            self.arrive(to, packet);
            return true;
        }
        self.read();
        for host in [CLIENT, SERVER] {
            self.hosts[host].sender.handle_timeout(self.now);
            self.hosts[host].receiver.handle_timeout(self.now);
        }
        self.act();
        self.transmit(CLIENT);
        self.transmit(SERVER);
        true
    }

    pub fn run_to(&mut self, millis: u64) {
        let end = Instant::from_millis(millis);
        while self.next().is_some_and(|next| next <= end) {
            self.step();
        }
        self.now = end;
    }

    /// Whether both halves are over.
    pub fn is_over(&self) -> bool {
        self.hosts.iter().all(|host| host.sender.is_complete())
    }

    /// Whether both applications have got everything.
    pub fn all_is_read(&self) -> bool {
        self.hosts
            .iter()
            .all(|host| host.receiver.finished_at().is_some())
    }

    /// The packets of a host from `millis` on: time in milliseconds, bytes of data (with the FIN),
    /// and the ACK number, if it carries one.
    pub fn sent(&self, host: usize, millis: u64) -> Vec<(u64, Option<u64>, Option<u64>)> {
        self.log
            .iter()
            .filter(|(at, from, _)| *from == host && at.as_millis() >= millis)
            .map(|(at, _, packet)| {
                let data = packet.data.map(|data| data.end() - data.seq);
                (at.as_millis(), data, packet.ack.map(|ack| ack.ack))
            })
            .collect()
    }
}
