//! What a start-up would send inside a QUIC stack.
//!
//! The congestion control is notified by [`quic_core::Core`], as in a stack, of every packet and ACK
//! frame of the log, those of the handshake included. When the window is full and when a packet may
//! leave is a matter of the stack: [`RULES`] has the ways of stacks, and a sender has one of them.

use congestion::{Algorithm, SlowStartExit};
use quic_core::{Capabilities, Core, Pacing, Setup};
use units::{Bytes, Rate};

use crate::events::{Event, Packet};
use crate::feed::{bytes, instant};
use crate::report::Connection;

/// The round-trip time before the first sample (RFC 9002, section 6.2.2), in nanoseconds.
const INITIAL_RTT: i64 = 333_000_000;

/// When packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bucket {
    /// As the window permits, unless the congestion control sets a pace.
    Full,
    /// From a bucket of ten datagrams at 1.25 windows per smoothed round trip, or at the pace of the
    /// congestion control (RFC 9002, section 7.7); a packet leaves when there is enough for it.
    Plain,
    /// At 1.25 windows per smoothed round trip, whatever the congestion control says, from a bucket
    /// of 2 ms of the window, and 10 to 256 datagrams; an empty bucket is filled first.
    Quinn,
    /// The same with at most 10 ms; or at the pace of the congestion control, when a packet leaves
    /// as soon as there is enough for it.
    Noq,
}

impl Bucket {
    /// What it holds at `rate` in bytes per second: 2 ms.
    fn size(self, rate: f64, smss: i64) -> i64 {
        let burst = (rate / 500.0) as i64;
        let bounded = burst.clamp(10 * smss, 256 * smss);
        match self {
            Self::Full | Self::Plain => burst.max(10 * smss),
            Self::Quinn => bounded,
            Self::Noq => bounded.min(((rate / 100.0) as i64).max(smss)),
        }
    }
}

/// How a stack sends.
#[derive(Debug)]
pub struct Rule {
    pub name: &'static str,
    bucket: Bucket,
    /// It sends while the window is larger than what is then in flight, and not also if it is equal.
    is_strict: bool,
    /// It reports each packet by its number.
    has_numbers: bool,
    /// It reports packets of the handshake that will not be acknowledged. Where it does not, the round
    /// trips that a start-up counts by bytes end later, by as much.
    has_discards: bool,
    capabilities: Capabilities,
}

const ANY: Capabilities = Capabilities {
    stack: "a QUIC stack",
    pacing: Pacing::Departure,
    paces: true,
    send_times: true,
    lost_packets: true,
    handshake: true,
};

/// The ways of stacks.
pub const RULES: [Rule; 4] = [
    Rule {
        name: "quinn",
        bucket: Bucket::Quinn,
        is_strict: true,
        has_numbers: false,
        has_discards: false,
        capabilities: Capabilities {
            pacing: Pacing::Fixed,
            lost_packets: false,
            handshake: false,
            ..ANY
        },
    },
    Rule {
        name: "noq",
        bucket: Bucket::Noq,
        is_strict: false,
        has_numbers: true,
        has_discards: false,
        capabilities: Capabilities {
            pacing: Pacing::Rate,
            handshake: false,
            ..ANY
        },
    },
    Rule {
        name: "RFC 9002",
        bucket: Bucket::Plain,
        is_strict: false,
        has_numbers: true,
        has_discards: true,
        capabilities: ANY,
    },
    Rule {
        name: "unpaced",
        bucket: Bucket::Full,
        is_strict: false,
        has_numbers: true,
        has_discards: true,
        capabilities: Capabilities {
            paces: false,
            ..ANY
        },
    },
];

impl Rule {
    /// Whether it paces what the congestion control does not.
    pub fn paces(&self) -> bool {
        self.bucket != Bucket::Full
    }
}

/// What decides when a packet may leave.
#[derive(Clone, Copy, Debug)]
struct State {
    smss: i64,
    window: i64,
    srtt: i64,
    /// Bytes per second, of the congestion control.
    pace: Option<f64>,
}

/// A bucket of bytes that may leave.
#[derive(Clone, Copy, Debug, Default)]
struct Pacer {
    capacity: i64,
    tokens: i64,
    /// When it was filled last.
    since: i64,
    /// The window that its size belongs to; negative for one of a pace.
    window: i64,
}

impl Pacer {
    fn resize(&mut self, capacity: i64, window: i64) {
        if self.capacity == 0 {
            self.tokens = capacity;
        }
        self.tokens = self.tokens.min(capacity);
        (self.capacity, self.window) = (capacity, window);
    }

    fn fill(&mut self, at: i64, rate: f64) -> bool {
        let more = rate * (at - self.since).max(0) as f64 / 1e9;
        self.tokens = self.tokens.saturating_add(more as i64).min(self.capacity);
        more >= 1.0
    }

    /// When to try again, if no datagram may leave at `at`.
    fn wait(&mut self, bucket: Bucket, at: i64, state: State) -> Option<i64> {
        let State {
            smss,
            window,
            srtt,
            pace,
        } = state;
        let by_window = window as f64 * 1e9 / srtt.max(1) as f64;
        match (bucket, pace) {
            (Bucket::Full, None) => None,
            (Bucket::Quinn, _) | (Bucket::Noq, None) => {
                if self.window != window {
                    self.resize(bucket.size(by_window, smss), window);
                }
                if self.tokens >= smss {
                    return None;
                }
                if self.fill(at, 1.25 * by_window) || bucket == Bucket::Quinn {
                    self.since = at;
                }
                let lacking = smss.max(self.capacity) - self.tokens;
                (self.tokens < smss)
                    .then(|| at + (lacking as f64 * 0.8e9 / by_window.max(1.0)) as i64)
            }
            (_, pace) => {
                let rate = pace.unwrap_or(1.25 * by_window).max(1.0);
                self.resize(bucket.size(rate, smss), -1);
                if self.fill(at, rate) {
                    self.since = at;
                }
                let lacking = smss.min(self.capacity) - self.tokens;
                (lacking > 0).then(|| at + (lacking as f64 * 1e9 / rate).ceil() as i64)
            }
        }
    }

    fn spend(&mut self, amount: i64) {
        self.tokens = (self.tokens - amount).max(0);
    }
}

/// What a start-up would send.
pub struct Candidate {
    core: Core,
    rule: &'static Rule,
    smss: i64,
    pub paces: bool,
    /// One past the last byte that it would have sent, the same of the real sender, what is
    /// acknowledged, and the end of the data.
    next: i64,
    real: i64,
    una: i64,
    total: i64,
    /// Of the handshake, in flight.
    hello: i64,
    srtt: Option<i64>,
    /// Data have left.
    is_open: bool,
    /// Until when it has sent, and when it tries again.
    at: i64,
    wake: i64,
    /// Its pace, and the same for what the real sender sent, which it did last at that time.
    pacer: Pacer,
    real_pacer: Pacer,
    last: i64,
}

impl Candidate {
    /// With a window of `initial` bytes, or with so much less that the start-up makes that of it.
    pub fn new(
        connection: &Connection,
        algorithm: &Algorithm,
        rule: &'static Rule,
        initial: u64,
    ) -> Option<Self> {
        let built = |initial| Self::begun(connection, algorithm, rule, initial);
        let window = built(initial)?.window_of_data(connection);
        let smss = u64::from(connection.largest_segment_bytes);
        if window > initial + 2 * smss {
            let less = initial * initial / window;
            let smaller = built(less)?.window_of_data(connection);
            if smaller.abs_diff(initial) < window - initial {
                return built(less);
            }
        }
        built(initial)
    }

    fn begun(
        connection: &Connection,
        algorithm: &Algorithm,
        rule: &'static Rule,
        initial: u64,
    ) -> Option<Self> {
        let datagram = Bytes::new(u64::from(connection.largest_segment_bytes.max(1)));
        let begin = connection.events.first().map_or(0, |(_, event)| event.at());
        let setup = Setup {
            now: instant(begin),
            initial_window: Bytes::new(initial),
            seed: 1,
            ..Setup::new(*algorithm, datagram)
        };
        Some(Self {
            core: Core::new(setup, &rule.capabilities).ok()?,
            rule,
            smss: datagram.get() as i64,
            paces: false,
            next: 0,
            real: 0,
            una: 0,
            total: connection.bytes as i64,
            hello: 0,
            srtt: None,
            is_open: false,
            at: begin,
            wake: begin,
            pacer: Pacer::default(),
            real_pacer: Pacer::default(),
            last: begin,
        })
    }

    /// The window with which data begin to leave.
    fn window_of_data(mut self, connection: &Connection) -> u64 {
        for (_, event) in &connection.events {
            if matches!(event, Event::Sent(..)) {
                break;
            }
            self.take(event);
        }
        self.core.window().cwnd.get()
    }

    /// The end of its slow start.
    pub fn exit(&self) -> Option<SlowStartExit> {
        self.core.slow_start_exit()
    }

    fn state(&mut self) -> State {
        let pace = self.core.pace().map(|pace| pace.rate);
        let pace = pace.filter(|_| self.rule.bucket != Bucket::Quinn && self.is_open);
        self.paces |= pace.is_some();
        State {
            smss: self.smss,
            window: self.core.window().cwnd.get().min(1 << 40) as i64,
            srtt: self.srtt.unwrap_or(INITIAL_RTT),
            pace: pace
                .filter(|rate| *rate != Rate::MAX)
                .map(|rate| rate.bytes_per_sec() as f64),
        }
    }

    /// Whether the window has room for another datagram above `next`.
    fn has_room(&self, window: i64, next: i64) -> bool {
        let then = self.hello + next - self.una + self.smss;
        then < window || then == window && !self.rule.is_strict
    }

    /// It sends until `until`.
    fn run(&mut self, until: i64) {
        if !self.is_open {
            self.at = self.at.max(until);
            self.wake = self.at;
            return;
        }
        let state = self.state();
        let mut at = self.wake.max(self.at);
        while at <= until && self.next < self.total && self.has_room(state.window, self.next) {
            match self.pacer.wait(self.rule.bucket, at, state) {
                None => {
                    let amount = self.smss.min(self.total - self.next);
                    self.pacer.spend(amount);
                    self.next += amount;
                }
                Some(next) => at = next.max(at + 1),
            }
        }
        self.wake = at;
        self.at = self.at.max(until);
    }

    /// The real sender sends `amount` at `at`.
    fn sends(&mut self, at: i64, amount: i64) {
        let state = self.state();
        let _ = self.real_pacer.wait(self.rule.bucket, at, state);
        self.real_pacer.spend(amount);
        self.last = at;
    }

    fn answered(&mut self, at: i64, left: i64) {
        let flight = (self.hello + self.real - self.una).max(0);
        // Before the first data, the application has nothing to send.
        self.core
            .on_batch_end(instant(at), bytes(flight), !self.is_open);
        let rtt = (at - left).max(0);
        self.srtt = Some(self.srtt.map_or(rtt, |srtt| (7 * srtt + rtt) / 8));
        self.wake = at;
        let state = self.state();
        if self.has_room(state.window, self.real) {
            let _ = self.real_pacer.wait(self.rule.bucket, at, state);
            self.last = at;
        }
    }

    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Hello(at, size) => {
                self.sends(*at, *size);
                self.pacer = self.real_pacer;
                self.hello += size;
                self.core.on_sent(instant(*at), bytes(*size), None);
            }
            Event::Sent(at, packet) => {
                if !std::mem::replace(&mut self.is_open, true) {
                    (self.at, self.wake) = (*at, *at);
                    self.pacer = self.real_pacer;
                }
                self.run(*at);
                self.sends(*at, packet.bytes);
                self.real += packet.bytes;
                let number = self.number(packet);
                self.core.on_sent(instant(*at), bytes(packet.bytes), number);
            }
            Event::Answered(at, left, size) => {
                self.run(*at);
                self.hello = (self.hello - size).max(0);
                let (now, left_at) = (instant(*at), instant(*left));
                self.core.on_acked(now, left_at, bytes(*size), None);
                self.answered(*at, *left);
            }
            Event::Acked(at, packets) => {
                self.run(*at);
                for packet in packets {
                    let number = self.number(packet);
                    let (now, left) = (instant(*at), instant(packet.left));
                    self.core.on_acked(now, left, bytes(packet.bytes), number);
                    self.una += packet.bytes;
                }
                self.next = self.next.max(self.una);
                let newest = packets.iter().map(|packet| packet.left).max();
                self.answered(*at, newest.unwrap_or(*at));
            }
            Event::Discarded(size) => {
                self.hello = (self.hello - size).max(0);
                if self.rule.has_discards {
                    self.core.on_discarded(bytes(*size));
                }
            }
        }
    }

    fn number(&self, packet: &Packet) -> Option<u64> {
        self.rule.has_numbers.then_some(packet.number)
    }

    /// What it has in flight at `at`; it continues from what was really sent.
    pub fn compare(&mut self, at: i64) -> u64 {
        self.run(at);
        let made = (self.next - self.una).max(0) as u64;
        self.next = self.real;
        self.pacer = self.real_pacer;
        // The real sender tries again when its bucket says; a full window did not ask it.
        let state = self.state();
        let again = if self.has_room(state.window, self.next) {
            self.pacer.wait(self.rule.bucket, self.last, state)
        } else {
            None
        };
        self.wake = again.unwrap_or(at).max(at);
        made
    }
}

/// The window with which data begin, where a start-up sets it, whatever window within `range` the
/// stack begins with.
pub fn own_window(connection: &Connection, algorithm: &Algorithm, range: [u64; 2]) -> Option<u64> {
    let [least, most] = range.map(|initial| {
        let built = Candidate::begun(connection, algorithm, &RULES[2], initial);
        built.map(|candidate| candidate.window_of_data(connection))
    });
    least.filter(|_| least == most && range[0] < range[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_offers_here_what_its_adapter_says() {
        for (name, adapter) in [
            ("quinn", slowstart_quinn::CAPABILITIES),
            ("noq", slowstart_noq::CAPABILITIES),
        ] {
            let rule = RULES.iter().find(|rule| rule.name == name);
            let here = rule.expect("a stack of the table").capabilities;
            let stack = adapter.stack;
            assert_eq!(Capabilities { stack, ..here }, adapter, "{name}");
        }
    }
}
