//! Random streams: what a peer does to a sender, drawn in a closed loop with the simulated TCP.
//! [`packetdrill::replay`] then feeds a stream to any stack.
//!
//! The peer receives what the simulation sends over a path that loses, delays, reorders, duplicates
//! and marks, and acknowledges it as a receiver does (cumulative ACKs, SACK, DSACK, delayed ACKs,
//! ECN echo), with ACK loss and changes of its window. The stream is then fixed: every stack gets the
//! same packets and calls at the same times, whatever it sends.
//!
//! Events keep a distance from the simulation's timers, because the kernel's clock tick decides which
//! of the two comes first. A round trip of data takes longer than the handshake did, because both
//! stacks compare that of a retransmission with the shortest one, and a busy kernel sends up to a
//! millisecond late. No two packets arrive at one instant, because the kernel sends the answer to the
//! second later than that to the first. They come half a millisecond after a full one, because a kernel
//! whose tick is late still counts the one before where they come at its beginning.

use std::collections::VecDeque;

use packetdrill::{
    Action, Call, Event, Flags, Options, Outcome, Packet, Script, Sent, Settings, Stack,
    Timestamps, When,
};
use units::{Duration, Instant};

use super::simulated::Simulated;

/// The kinds of streams.
pub const PROFILES: &[&str] = &[
    "cubic",
    "reno",
    "nosack",
    "timestamps",
    "ecn",
    "rwnd",
    "idle",
    "small-mss",
    "bbr",
];
/// Distance of events from timers.
const DISTANCE: Duration = Duration::from_millis(16);
/// Milliseconds by which a round trip of data exceeds that of the handshake.
const BEYOND_MIN_RTT: u64 = 4;
/// Distance of arrivals from the beginning of a tick.
const PAST_TICK: Duration = Duration::from_micros(500);
/// A stream has at most this many events after the handshake.
const MOST_EVENTS: usize = 90;
/// Time between packets of one burst.
const SPACING: Duration = Duration::from_micros(100);

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`.
    fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.next() % (high - low + 1)
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.next() as usize % choices.len()]
    }
}

/// The stream of `profile` and `seed`, for hosts with timers of `tick`.
///
/// # Errors
/// There is no such profile.
pub fn stream(profile: &str, seed: u64, tick: Duration) -> Result<Script, String> {
    if !PROFILES.contains(&profile) {
        return Err(format!("there is no profile `{profile}` of streams"));
    }
    let mut random = Random(seed ^ 0x7363_7269_7074);
    let mut settings = Settings::default();
    if matches!(profile, "reno" | "bbr") {
        settings.set("net.ipv4.tcp_congestion_control", profile);
    }
    if profile == "ecn" {
        settings.set("net.ipv4.tcp_ecn", "2");
    }
    let script = Script {
        file: format!("{profile}-{seed}.pkt"),
        settings,
        tolerance: None,
        mss: None,
        events: Vec::new(),
        notes: Vec::new(),
    };
    let host = Simulated::new(&script, None, tick)?;
    let loss = random.one_of(&[0, 1, 3, 5, 10, 20, 30]);
    let peer = Peer {
        rtt: random.one_of(&[20, 40, 60, 100, 200]),
        loss,
        reordering: random.one_of(&[0, 0, 2, 10]),
        duplicates: random.one_of(&[0, 0, 2, 5]),
        ack_loss: random.one_of(&[0, 0, 10, 30]),
        delays: random.happens(50),
        marks: if profile == "ecn" {
            random.one_of(&[2, 10, 30])
        } else {
            0
        },
        mss: match profile {
            "small-mss" => random.one_of(&[200, 536]),
            _ => 1000,
        },
        sack: profile != "nosack",
        stamps: profile == "timestamps",
        window: if profile == "rwnd" {
            random.one_of(&[40, 80, 160])
        } else {
            1000
        },
        arrivals: Vec::new(),
        held: Vec::new(),
        next: 1,
        echo: 0,
        ece: false,
        waiting: 0,
        recent: Vec::new(),
    };
    Maker {
        profile,
        random,
        peer,
        host,
        script,
        sent: VecDeque::new(),
        writes: 0,
        last: Instant::ZERO,
    }
    .make()
}

/// The other end, and the path to it.
struct Peer {
    /// Milliseconds, all of it before the peer.
    rtt: u64,
    loss: u64,
    reordering: u64,
    duplicates: u64,
    ack_loss: u64,
    delays: bool,
    marks: u64,
    mss: u32,
    sack: bool,
    stamps: bool,
    window: u32,
    /// Segments under way: when, first and end, timestamp, CWR.
    arrivals: Vec<(u64, u64, u64, u32, bool)>,
    /// Ranges beyond `next`.
    held: Vec<(u64, u64)>,
    next: u64,
    echo: u32,
    ece: bool,
    /// Segments that wait for a delayed ACK.
    waiting: u32,
    /// The first numbers of the latest blocks, newest first.
    recent: Vec<u64>,
}

impl Peer {
    /// A segment arrives; returns the ACK that it triggers.
    fn receive(
        &mut self,
        (_, start, end, stamp, cwr): (u64, u64, u64, u32, bool),
    ) -> Option<Packet> {
        if cwr {
            self.ece = false;
        }
        if start <= self.next {
            self.echo = stamp;
        }
        let covered = |(from, to): &(u64, u64)| *from <= start && end <= *to;
        let is_old = end <= self.next || self.held.iter().any(covered);
        let mut duplicate = None;
        let in_order = start <= self.next && self.held.is_empty();
        if is_old {
            duplicate = Some((start, end));
        } else {
            self.held.push((start, end));
            self.held.sort_unstable();
            let mut merged: Vec<(u64, u64)> = Vec::new();
            for (from, to) in self.held.drain(..) {
                match merged.last_mut() {
                    Some(last) if from <= last.1 => last.1 = last.1.max(to),
                    _ => merged.push((from, to)),
                }
            }
            if merged.first().is_some_and(|first| first.0 <= self.next) {
                self.next = self.next.max(merged.remove(0).1);
            }
            self.held = merged;
            self.recent.retain(|known| *known != start);
            self.recent.insert(0, start);
        }
        if in_order && !is_old && self.delays {
            self.waiting += 1;
            if self.waiting < 2 {
                return None;
            }
        }
        Some(self.ack(duplicate))
    }

    fn ack(&mut self, duplicate: Option<(u64, u64)>) -> Packet {
        self.waiting = 0;
        let mut blocks: Vec<(u64, u64)> = duplicate.into_iter().collect();
        for start in &self.recent {
            let block = self
                .held
                .iter()
                .find(|(from, to)| from <= start && start < to);
            if let Some(block) = block.filter(|block| !blocks.contains(block)) {
                blocks.push(*block);
            }
        }
        blocks.truncate(3);
        Packet {
            ecn: None,
            flags: Flags {
                ack: true,
                ece: self.ece,
                ..Flags::default()
            },
            seq: 1,
            len: 0,
            ack: self.next,
            window: Some(self.window),
            options: Some(Options {
                sack: if self.sack { blocks } else { Vec::new() },
                ..Options::default()
            }),
        }
    }
}

struct Maker<'a> {
    profile: &'a str,
    random: Random,
    peer: Peer,
    host: Simulated,
    script: Script,
    sent: VecDeque<Sent>,
    writes: u64,
    /// The last event.
    last: Instant,
}

impl Maker<'_> {
    fn make(mut self) -> Result<Script, String> {
        self.open()?;
        let first = self.random.between(3, 40) * u64::from(self.peer.mss);
        let now = self.host.now();
        self.write(now, first)?;
        while self.script.events.len() < MOST_EVENTS {
            self.take_sent();
            let now = self.host.now();
            let waits_for_timer = self.peer.arrivals.is_empty() && self.peer.waiting == 0;
            let Some(at) = self.next_time(now) else {
                break;
            };
            self.host.wait(at, false, &mut self.sent)?;
            // What a timer sent on the way arrives later.
            self.take_sent();
            self.arrive(at)?;
            if self
                .random
                .happens(if self.profile == "idle" { 12 } else { 5 })
                && self.writes < 6
            {
                let bytes = self.random.between(1, 30 * u64::from(self.peer.mss));
                let pause = if self.profile == "idle" {
                    self.random.between(0, 900)
                } else {
                    0
                };
                let mut from = self.host.now();
                if waits_for_timer {
                    from += DISTANCE;
                }
                let at = self.away_from_timers(from + Duration::from_millis(pause));
                self.write(at, bytes)?;
            }
            if self.profile == "rwnd" && self.random.happens(10) {
                self.peer.window = self.random.one_of(&[24, 40, 80, 160, 320]);
            }
        }
        Ok(self.script)
    }

    fn push(&mut self, at: Instant, action: Action) -> Result<(), String> {
        let at = match action {
            Action::Inject(_) => at.max(self.last + SPACING),
            _ => at.max(self.last),
        };
        self.last = at;
        self.host.wait(at, false, &mut self.sent)?;
        match &action {
            Action::Inject(packet) => self.host.inject(packet)?,
            Action::Call(call, Outcome::Value(value)) => {
                self.host
                    .call(call, *value)?
                    .map_err(|error| format!("{call:?}: {error}"))?;
            }
            _ => {}
        }
        self.host.wait(at, false, &mut self.sent)?;
        let time = Duration::from_nanos(at.as_nanos());
        self.script.events.push(Event {
            line: self.script.events.len() + 1,
            text: String::new(),
            when: When::Absolute(time, time),
            action,
        });
        Ok(())
    }

    fn open(&mut self) -> Result<(), String> {
        let call = |call, value| Action::Call(call, Outcome::Value(value));
        for action in [
            call(Call::Socket, 3),
            call(Call::Bind { fd: 3 }, 0),
            call(Call::Listen { fd: 3 }, 0),
        ] {
            self.push(Instant::ZERO, action)?;
        }
        let stamps = self.peer.stamps.then_some(Timestamps { val: 100, ecr: 0 });
        let ecn = self.profile == "ecn";
        let syn = Packet {
            flags: Flags {
                syn: true,
                ece: ecn,
                cwr: ecn,
                ..Flags::default()
            },
            window: Some(65_535),
            options: Some(Options {
                mss: Some(self.peer.mss as u16 + if self.peer.stamps { 12 } else { 0 }),
                window_scale: Some(7),
                sack_permitted: self.peer.sack,
                sack: Vec::new(),
                timestamps: stamps,
            }),
            ..Packet::default()
        };
        let begin = Instant::from_millis(10);
        self.push(begin, Action::Inject(syn))?;
        for sent in self.sent.drain(..) {
            let stamps = sent.packet.options.and_then(|options| options.timestamps);
            self.peer.echo = stamps.map_or(0, |stamps| stamps.val);
        }
        let at = begin + Duration::from_millis(self.peer.rtt);
        let third = self.peer.ack(None);
        let third = self.stamped(third, at);
        self.push(at, Action::Inject(third))?;
        self.push(at, call(Call::Accept { fd: 3 }, 4))
    }

    fn write(&mut self, at: Instant, len: u64) -> Result<(), String> {
        self.writes += 1;
        let call = Action::Call(Call::Write { fd: 4, len }, Outcome::Value(len as i64));
        self.push(at, call)
    }

    fn stamped(&self, mut packet: Packet, at: Instant) -> Packet {
        if let Some(options) = packet.options.as_mut().filter(|_| self.peer.stamps) {
            options.timestamps = Some(Timestamps {
                val: 100 + at.as_millis() as u32,
                ecr: self.peer.echo,
            });
            options.sack.truncate(3);
        }
        packet
    }

    /// What the host sent enters the path.
    fn take_sent(&mut self) {
        for sent in std::mem::take(&mut self.sent) {
            let packet = sent.packet;
            if packet.len == 0 || self.random.happens(self.peer.loss) {
                continue;
            }
            let mut delay = self.peer.rtt + BEYOND_MIN_RTT;
            if self.random.happens(self.peer.reordering) {
                delay += self.random.between(1, self.peer.rtt / 2);
            }
            let at = sent.at.as_nanos().div_ceil(1_000_000) + delay;
            let stamp = packet.options.and_then(|options| options.timestamps);
            let stamp = stamp.map_or(0, |stamps| stamps.val);
            let cwr = packet.flags.cwr;
            let arrival = (
                at,
                packet.seq,
                packet.seq + u64::from(packet.len),
                stamp,
                cwr,
            );
            self.peer.arrivals.push(arrival);
            if self.random.happens(self.peer.duplicates) {
                self.peer
                    .arrivals
                    .push((at + 3, arrival.1, arrival.2, stamp, cwr));
            }
        }
        self.peer.arrivals.sort_unstable();
    }

    /// When the next segment arrives, or the simulation's next timer fires.
    fn next_time(&mut self, now: Instant) -> Option<Instant> {
        let timer = self.host.next_timer();
        match self.peer.arrivals.first() {
            Some(&(at, ..)) => {
                let at = now.max(Instant::from_millis(at) + PAST_TICK);
                Some(self.away_from_timers(at))
            }
            None if self.peer.waiting > 0 => {
                Some(self.away_from_timers(now + Duration::from_millis(40)))
            }
            // A timeout repairs; a long silence ends the stream.
            None => timer.filter(|at| at.saturating_since(now) < Duration::from_secs(3)),
        }
    }

    fn away_from_timers(&self, at: Instant) -> Instant {
        match self.host.next_timer() {
            Some(timer) if at + DISTANCE > timer && at < timer + DISTANCE => {
                let nanos = (timer + DISTANCE).as_nanos();
                Instant::from_millis(nanos.div_ceil(1_000_000)) + PAST_TICK
            }
            _ => at,
        }
    }

    /// Segments that have arrived by `at` are acknowledged.
    fn arrive(&mut self, at: Instant) -> Result<(), String> {
        let due = at.as_millis();
        let count = self
            .peer
            .arrivals
            .partition_point(|arrival| arrival.0 <= due);
        let arrived: Vec<_> = self.peer.arrivals.drain(..count).collect();
        let is_silent = arrived.is_empty();
        let mut acks = Vec::new();
        for arrival in arrived {
            if self.random.happens(self.peer.marks) {
                self.peer.ece = true;
            }
            acks.extend(self.peer.receive(arrival));
        }
        if is_silent && self.peer.waiting > 0 {
            acks.push(self.peer.ack(None));
        }
        for ack in acks {
            if !self.random.happens(self.peer.ack_loss) {
                let ack = self.stamped(ack, at);
                self.push(at, Action::Inject(ack))?;
            }
        }
        Ok(())
    }
}
