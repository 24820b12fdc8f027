//! A sender with a scripted peer, and a small path that loses, delays, reorders and duplicates
//! packets.

use congestion::Algorithm;
use tcp::segment::{AckSegment, DataSegment, SackBlocks};
use tcp::{AckPolicy, Receiver, ReceiverConfig, Sender, SenderConfig};
use testing::random::Random;
use testing::wire::Wire;
use units::{Bytes, Duration, Instant};

/// Segment size of the scripted tests, chosen for readability.
pub const MSS: u64 = 1000;

pub fn config(algorithm: &str) -> SenderConfig {
    SenderConfig {
        tso_segments: 1,
        ..SenderConfig::linux(Algorithm::parse(algorithm).unwrap(), MSS as u32)
    }
}

pub const fn ms(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

/// A sender and a clock that the script advances. Sequence numbers are segment numbers.
pub struct Script {
    pub sender: Sender,
    pub now: Instant,
    pub sent: Vec<(Instant, DataSegment)>,
    /// Receive window of the ACKs, in bytes.
    pub rwnd: u32,
    /// Whether ACKs echo the timestamp of the segment that they answer.
    pub echo: Option<u32>,
}

impl Script {
    /// A connection whose SYN-ACK arrived after `rtt` ms, without data.
    pub fn established(config: SenderConfig, rtt: u64) -> Self {
        Self::with_window(config, rtt, 1 << 30)
    }

    /// The same with a peer that advertises a window of `rwnd` bytes.
    pub fn with_window(config: SenderConfig, rtt: u64, rwnd: u32) -> Self {
        let mut script = Self {
            sender: Sender::new(config),
            now: Instant::ZERO,
            sent: Vec::new(),
            rwnd,
            echo: None,
        };
        script.sender.open(script.now);
        let syn = script.sender.poll_transmit(script.now).unwrap();
        assert!(syn.syn && syn.len == 0 && !syn.retransmission);
        script.now = ms(rtt);
        let syn_ack = AckSegment {
            window: script.rwnd,
            syn: true,
            ..AckSegment::default()
        };
        script.sender.handle_ack(script.now, &syn_ack);
        assert!(script.sender.is_established());
        script
    }

    pub fn bulk(algorithm: &str, rtt: u64) -> Self {
        let mut script = Self::established(config(algorithm), rtt);
        script.write(u64::MAX);
        script
    }

    /// A connection with exactly `segments` full segments written.
    pub fn with_segments(algorithm: &str, rtt: u64, segments: u64) -> Self {
        let mut script = Self::established(config(algorithm), rtt);
        script.write(segments * MSS);
        script
    }

    pub fn write(&mut self, bytes: u64) {
        self.sender.write(self.now, bytes);
        self.transmit();
    }

    /// Takes the segments that may leave and checks the counters. Returns the segment numbers.
    pub fn transmit(&mut self) -> Vec<u64> {
        let mut numbers = Vec::new();
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            numbers.push(segment.seq / MSS);
            self.sent.push((self.now, segment));
            assert!(numbers.len() < 100_000, "the sender never stops");
        }
        assert!(self.sender.is_consistent());
        numbers
    }

    /// Advances time to `at`, firing timers on the way. Returns what they sent, with the times.
    pub fn run_to(&mut self, at: Instant) -> Vec<(u64, u64)> {
        let mut sent = Vec::new();
        while let Some(due) = self.sender.poll_timeout().filter(|&due| due <= at) {
            self.now = self.now.max(due);
            self.sender.handle_timeout(self.now);
            let now = self.now.as_millis();
            sent.extend(self.transmit().into_iter().map(|number| (now, number)));
        }
        self.now = at;
        sent
    }

    /// An ACK of everything below segment `ack`, with SACK blocks of segments `from..to`.
    pub fn ack(&mut self, ack: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        let mut sack = SackBlocks::default();
        for &(from, to) in blocks {
            sack.push(ack * MSS, from * MSS, to * MSS);
        }
        let segment = AckSegment {
            ack: ack * MSS,
            window: self.rwnd,
            ts_ecr: self.echo.unwrap_or(0),
            sack,
            ..AckSegment::default()
        };
        self.handle(&segment)
    }

    pub fn handle(&mut self, segment: &AckSegment) -> Vec<u64> {
        self.sender.handle_ack(self.now, segment);
        self.transmit()
    }

    /// Congestion window in segments.
    pub fn cwnd(&self) -> u64 {
        self.sender.window().cwnd_segments()
    }

    pub fn ssthresh(&self) -> u64 {
        self.sender.ssthresh().segments(Bytes::new(MSS))
    }

    pub fn in_flight(&self) -> u64 {
        self.sender.bytes_in_flight().segments(Bytes::new(MSS))
    }
}

/// The faults of one direction, drawn by a small generator of its own.
#[derive(Clone, Debug)]
pub struct Faults {
    pub random: Random,
    /// In thousandths.
    pub loss: u64,
    pub duplicate: u64,
    pub reorder: u64,
    /// Additional delay of a reordered packet, in microseconds.
    pub extra: u64,
    /// Nothing passes in `down.0..down.1` ms.
    pub down: (u64, u64),
}

/// A drop-tail link with a delay line in each direction. Both directions have faults.
pub struct Path {
    pub sender: Sender,
    pub receiver: Receiver,
    pub now: Instant,
    pub forward: Faults,
    pub backward: Faults,
    /// One-way delay, and the transmission time of a packet on the link.
    pub delay: Duration,
    pub packet_time: Duration,
    pub buffer: u64,
    free_at: Instant,
    data: Wire<DataSegment>,
    acks: Wire<AckSegment>,
    pub events: u64,
    /// Times of the drops at the full buffer.
    pub drops: Vec<Instant>,
}

impl Path {
    pub fn new(
        config: SenderConfig,
        policy: AckPolicy,
        receive_buffer: u64,
        forward: Faults,
        backward: Faults,
    ) -> Self {
        Self {
            receiver: Receiver::new(ReceiverConfig {
                ack_policy: policy,
                sack: config.sack,
                ..ReceiverConfig::linux(Bytes::new(receive_buffer), config.smss)
            }),
            sender: Sender::new(config),
            now: Instant::ZERO,
            forward,
            backward,
            delay: Duration::from_millis(10),
            packet_time: Duration::from_micros(200),
            buffer: 50,
            free_at: Instant::ZERO,
            data: Wire::default(),
            acks: Wire::default(),
            events: 0,
            drops: Vec::new(),
        }
    }

    fn is_down(faults: &Faults, now: Instant) -> bool {
        (faults.down.0..faults.down.1).contains(&now.as_millis())
    }

    fn send(&mut self, segment: DataSegment) {
        let queued =
            self.free_at.saturating_since(self.now).as_nanos() / self.packet_time.as_nanos();
        let lost = self.forward.random.happens(self.forward.loss)
            || Self::is_down(&self.forward, self.now);
        if lost {
            return;
        }
        if queued > self.buffer {
            self.drops.push(self.now);
            return;
        }
        self.free_at = self.free_at.max(self.now) + self.packet_time;
        let mut at = self.free_at + self.delay;
        if self.forward.random.happens(self.forward.reorder) {
            at += Duration::from_micros(self.forward.extra);
        }
        self.data.send(at, segment);
        if self.forward.random.happens(self.forward.duplicate) {
            self.data.send(at, segment);
        }
    }

    fn reply(&mut self, ack: AckSegment) {
        if self.backward.random.happens(self.backward.loss)
            || Self::is_down(&self.backward, self.now)
        {
            return;
        }
        let mut at = self.now + self.delay;
        if self.backward.random.happens(self.backward.reorder) {
            at += Duration::from_micros(self.backward.extra);
        }
        self.acks.send(at, ack);
        if self.backward.random.happens(self.backward.duplicate) {
            self.acks.send(at, ack);
        }
    }

    /// Runs one event. Returns false if no event is pending.
    pub fn step(&mut self) -> bool {
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.send(segment);
        }
        while let Some(ack) = self.receiver.poll_ack(self.now) {
            self.reply(ack);
        }
        let timers = [
            self.sender.poll_timeout(),
            self.receiver.poll_timeout(),
            self.data.due(),
            self.acks.due(),
        ];
        let Some(next) = timers.into_iter().flatten().min() else {
            return false;
        };
        self.now = self.now.max(next);
        self.events += 1;
        if let Some(ack) = self.acks.receive(next) {
            self.sender.handle_ack(self.now, &ack);
        } else if let Some(segment) = self.data.receive(next) {
            self.receiver.handle_data(self.now, &segment, false);
        } else {
            self.sender.handle_timeout(self.now);
            self.receiver.handle_timeout(self.now);
        }
        true
    }
}

impl Script {
    /// [`Self::ack`] without the checks, whose cost grows with the window.
    pub fn sender_ack(&mut self, ack: u64, blocks: &[(u64, u64)]) {
        let mut sack = SackBlocks::default();
        for &(from, to) in blocks {
            sack.push(ack * MSS, from * MSS, to * MSS);
        }
        let segment = AckSegment {
            ack: ack * MSS,
            window: self.rwnd,
            sack,
            ..AckSegment::default()
        };
        self.sender.handle_ack(self.now, &segment);
        while let Some(segment) = self.sender.poll_transmit(self.now) {
            self.sent.push((self.now, segment));
        }
    }
}
