//! Follows all connections of a capture.

mod open;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};

use capture::Segment;

use crate::logs::EXTREME;
use crate::report::Connection;
pub(crate) use open::Open;

/// Most connections that are open at a time.
pub const MOST_OPEN: usize = 65_536;

/// A connection that was silent for so long is over, in nanoseconds: 10 minutes.
const SILENCE: i64 = 600_000_000_000;

/// A second, in nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// After a FIN of both hosts or an RST, late packets still belong to it, in nanoseconds: 5 s.
const LINGER: i64 = 5_000_000_000;

/// What ended a connection, or the analysis of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A FIN of both hosts, or an RST.
    Closed,
    /// It sent nothing for 10 minutes.
    Silent,
    /// A SYN with another sequence number used its ports again.
    Reused,
    /// Too many connections were open.
    Evicted,
    /// The capture ended.
    File,
}

impl End {
    /// The name in tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Silent => "silent",
            Self::Reused => "reused",
            Self::Evicted => "evicted",
            Self::File => "file",
        }
    }
}

/// A connection that has ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its report.
    pub connection: Connection,
    /// What ended it.
    pub end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    interface: u32,
    low: Half,
    high: Half,
}

/// An address and a port: integers, in the order of the type of the standard library, because each
/// packet is looked up by them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Half {
    is_v6: bool,
    ip: u128,
    port: u16,
}

impl Half {
    fn of(address: &SocketAddr) -> Self {
        let (is_v6, ip) = match address.ip() {
            IpAddr::V4(ip) => (false, u128::from(u32::from(ip))),
            IpAddr::V6(ip) => (true, u128::from(ip)),
        };
        let port = address.port();
        Self { is_v6, ip, port }
    }
}

/// Follows connections. Feed it the segments of a capture, then call [`Tracker::finish`].
#[derive(Debug)]
pub struct Tracker {
    open: BTreeMap<Key, Box<Open>>,
    /// One entry for each open connection, by the time from which it is over if no packet comes. A
    /// packet moves that time, and the entry follows only when it is the first.
    queue: BTreeSet<(i64, Key)>,
    count: u64,
    points: usize,
    ended: Vec<Ended>,
    /// When silent connections were last ended, and after what time they are again.
    swept: i64,
    sweeps: i64,
    /// Numbers of the connections whose steps are kept.
    replayed: BTreeSet<u64>,
    /// Numbers of the connections that have points for figures; all if it is empty.
    drawn: BTreeSet<u64>,
    /// Connections that ended only because too many were open.
    pub evicted: u64,
    /// Most connections that are open at a time.
    most: usize,
    /// Connections that began with a SYN, in the order of their begins. Those that are not answered
    /// are evicted first; `None` evicts what was silent for longest.
    unanswered: Option<VecDeque<(u64, Key)>>,
}

impl Tracker {
    /// Reports have at most `points` points for figures each.
    #[must_use]
    pub const fn new(points: usize) -> Self {
        Self {
            open: BTreeMap::new(),
            queue: BTreeSet::new(),
            count: 0,
            points,
            ended: Vec::new(),
            swept: -EXTREME,
            sweeps: SILENCE / 10,
            replayed: BTreeSet::new(),
            drawn: BTreeSet::new(),
            evicted: 0,
            most: MOST_OPEN,
            unanswered: None,
        }
    }

    /// A tracker of a census: without points, and with at most `most` open connections. Beyond, the
    /// oldest connection without an answer ends, so that a scan evicts no other connection.
    #[must_use]
    pub fn bounded(most: usize) -> Self {
        Self {
            most,
            sweeps: SECOND,
            unanswered: Some(VecDeque::new()),
            ..Self::new(0)
        }
    }

    /// Keeps what a replay of the connections with these numbers needs.
    #[must_use]
    pub fn replaying(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        self.replayed.extend(numbers);
        self
    }

    /// Keeps points for figures of the connections with these numbers alone.
    #[must_use]
    pub fn drawing(mut self, numbers: impl IntoIterator<Item = u64>) -> Self {
        self.drawn.extend(numbers);
        self
    }

    /// Counts a connection that is followed elsewhere; returns its number.
    pub(crate) const fn count_another(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// The most points for figures of a connection.
    pub(crate) fn points_of(&self, number: u64) -> usize {
        let is_drawn = self.drawn.is_empty() || self.drawn.contains(&number);
        if is_drawn { self.points } else { 0 }
    }

    /// Takes the next segment.
    pub fn take(&mut self, segment: &Segment) {
        self.take_numbered(segment, self.count + 1);
    }

    /// Takes the next segment. If it begins a connection, that one has this number.
    pub fn take_numbered(&mut self, segment: &Segment, number: u64) {
        // Differences of times must not overflow, whatever a file says.
        let clamped;
        let segment = if segment.at.abs_diff(0) > EXTREME as u64 {
            clamped = Segment {
                at: segment.at.clamp(-EXTREME, EXTREME),
                ..*segment
            };
            &clamped
        } else {
            segment
        };
        let (source, destination) = (segment.source, segment.destination);
        let halves = (Half::of(&source), Half::of(&destination));
        let key = Key {
            interface: segment.interface,
            low: halves.0.min(halves.1),
            high: halves.0.max(halves.1),
        };
        self.sweep(segment.at);
        let is_new = segment.flags.syn && !segment.flags.ack;
        let mut before = None;
        if let Some(open) = self.open.get_mut(&key) {
            // The ports are used again.
            let again = is_new && open.is_reused_by(segment);
            let is_over = open.closed.is_some_and(|at| segment.at - at > LINGER);
            if !again && !is_over && segment.at - open.last <= SILENCE {
                open.take(segment, open.points);
                // A FIN or an RST brings the end nearer.
                let over = open.over_from();
                if over < open.queued {
                    self.queue.remove(&(open.queued, key));
                    self.queue.insert((over, key));
                    open.queued = over;
                }
                return;
            }
            before = Some(if again { End::Reused } else { End::Silent });
        }
        if let Some(end) = before {
            self.end(key, end);
        }
        if !segment.flags.rst {
            self.begin(key, segment, number);
        }
    }

    /// Begins a connection with its first segment.
    fn begin(&mut self, key: Key, segment: &Segment, number: u64) {
        self.evict();
        self.count += 1;
        let keeps_steps = self.replayed.contains(&number);
        let points = self.points_of(number);
        let mut open = Box::new(Open::new(number, segment, points, keeps_steps));
        open.take(segment, points);
        open.queued = open.over_from();
        self.queue.insert((open.queued, key));
        self.open.insert(key, open);
        if segment.flags.syn
            && !segment.flags.ack
            && let Some(unanswered) = &mut self.unanswered
        {
            unanswered.push_back((number, key));
        }
    }

    /// Makes place for one more connection.
    fn evict(&mut self) {
        // Entries of connections that have ended or were answered go once in a while.
        if let Some(unanswered) = &mut self.unanswered
            && unanswered.len() > 2 * self.most
        {
            let open = &self.open;
            unanswered.retain(|(number, key)| is_unanswered(open, *number, key));
        }
        if self.open.len() < self.most {
            return;
        }
        let mut oldest = None;
        while let Some((number, key)) = self.unanswered.as_mut().and_then(VecDeque::pop_front) {
            if is_unanswered(&self.open, number, &key) {
                oldest = Some(key);
                break;
            }
        }
        let oldest = oldest.or_else(|| self.first_over().map(|(_, key)| key));
        if let Some(oldest) = oldest {
            self.evicted += 1;
            self.end(oldest, End::Evicted);
        }
    }

    /// The open connection that is over first if no packet comes, and from when it is.
    fn first_over(&mut self) -> Option<(i64, Key)> {
        loop {
            let &(queued, key) = self.queue.first()?;
            let Some(open) = self.open.get_mut(&key) else {
                self.queue.pop_first();
                continue;
            };
            let over = open.over_from();
            if over <= queued {
                return Some((over, key));
            }
            self.queue.pop_first();
            self.queue.insert((over, key));
            open.queued = over;
        }
    }

    /// Ends connections that were silent for long; looks once in a while.
    fn sweep(&mut self, now: i64) {
        if now.saturating_sub(self.swept) < self.sweeps {
            return;
        }
        self.swept = now;
        while let Some((_, key)) = self.first_over().filter(|(over, _)| *over < now) {
            self.end(key, End::Silent);
        }
    }

    fn end(&mut self, key: Key, end: End) {
        if let Some(open) = self.open.remove(&key) {
            self.queue.remove(&(open.queued, key));
            self.ended.push(open.finish(end));
        }
    }

    /// The reports of connections that have ended since the last call, in the order of their ends.
    pub fn take_ended(&mut self) -> Vec<Connection> {
        let ended = self.take_ended_with_cause().into_iter();
        ended.map(|each| each.connection).collect()
    }

    /// The same with what ended each.
    pub fn take_ended_with_cause(&mut self) -> Vec<Ended> {
        std::mem::take(&mut self.ended)
    }

    /// Ends all connections and returns the reports that were not taken, in the order in which the
    /// connections began.
    #[must_use]
    pub fn finish(mut self) -> Vec<Connection> {
        let ended = self.take_all().into_iter();
        ended.map(|each| each.connection).collect()
    }

    /// Ends all connections and returns the reports that were not taken, by their numbers.
    pub fn take_all(&mut self) -> Vec<Ended> {
        let open = std::mem::take(&mut self.open);
        let mut ended = self.take_ended_with_cause();
        ended.extend(open.into_values().map(|open| open.finish(End::File)));
        ended.sort_by_key(|each| each.connection.number);
        ended
    }
}

/// Whether the connection `number` is open, and its peer sent nothing.
fn is_unanswered(open: &BTreeMap<Key, Box<Open>>, number: u64, key: &Key) -> bool {
    let same = open.get(key).filter(|open| open.number == number);
    same.is_some_and(|open| open.hosts[1].packets == 0)
}
