//! The application at one side of a connection vector (`workload::Connection`).

use std::sync::Arc;

use measure::Epoch;
use units::{Bytes, Duration, Instant};
use workload::{Exchange, Side};

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Act {
    /// It writes so many bytes.
    Write(u64),
    /// It closes its direction.
    Close,
}

/// What an application waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// The connection.
    Connection,
    /// So many bytes from the other side, in all.
    Bytes(u64),
    /// The end of the other side's data.
    Close,
    /// A time.
    Until(Instant),
    /// Nothing: it has closed.
    Over,
}

/// An application that follows a script.
#[derive(Clone, Debug)]
pub(super) struct Script {
    exchange: Arc<Exchange>,
    side: Side,
    /// The next unit: its place in the turns, or in the units of this side.
    place: usize,
    /// Bytes of the other side before that unit.
    expected: u64,
    waiting: Waiting,
    /// When it wrote last.
    wrote: Instant,
    request: Request,
}

/// The initiator's last request.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    number: u32,
    at: Instant,
    bytes: u64,
    response: u64,
    think: Duration,
}

impl Script {
    pub(super) fn new(exchange: &Arc<Exchange>, side: Side) -> Self {
        Self {
            exchange: Arc::clone(exchange),
            side,
            place: 0,
            expected: 0,
            waiting: Waiting::Connection,
            wrote: Instant::ZERO,
            request: Request::default(),
        }
    }

    /// The connection is open.
    pub(super) fn begin(&mut self, now: Instant) {
        if self.waiting == Waiting::Connection {
            self.wrote = now;
            self.plan();
        }
    }

    /// When it acts next, unless it hears something first.
    pub(super) const fn due(&self) -> Instant {
        match self.waiting {
            Waiting::Until(at) => at,
            _ => Instant::MAX,
        }
    }

    /// Whether it has closed its direction.
    pub(super) fn is_over(&self) -> bool {
        self.waiting == Waiting::Over
    }

    /// It has received `heard` bytes in all, and everything if `is_closed`. Returns the epoch that
    /// ends now.
    pub(super) fn hear(&mut self, now: Instant, heard: u64, is_closed: bool) -> Option<Epoch> {
        match self.waiting {
            Waiting::Bytes(bytes) if heard >= bytes => {
                let epoch = self.epoch(now);
                self.wait_since(now);
                if is_closed && self.waiting == Waiting::Close {
                    self.waiting = Waiting::Until(now);
                }
                epoch
            }
            Waiting::Close if is_closed => {
                self.waiting = Waiting::Until(now);
                None
            }
            _ => None,
        }
    }

    /// What it does at `now`, if it is due.
    pub(super) fn act(&mut self, now: Instant) -> Option<Act> {
        if self.due() > now {
            return None;
        }
        let (bytes, follows_own) = match &*self.exchange {
            Exchange::Sequential { turns, .. } => {
                let before = self.place.checked_sub(1).map(|before| turns[before].side);
                (
                    turns.get(self.place).map(|turn| turn.bytes),
                    before == Some(self.side),
                )
            }
            Exchange::Concurrent(scripts) => {
                let units = &scripts[self.side.index()].units;
                (units.get(self.place).map(|unit| unit.bytes), true)
            }
        };
        let Some(bytes) = bytes else {
            self.waiting = Waiting::Over;
            return Some(Act::Close);
        };
        if !follows_own {
            self.request.at = now;
            self.request.bytes = 0;
        }
        self.request.bytes += bytes.get();
        self.wrote = now;
        self.place += 1;
        self.plan();
        Some(Act::Write(bytes.get()))
    }

    /// Passes the other side's units: it waits for them, or else for its own next time.
    fn plan(&mut self) {
        let exchange = Arc::clone(&self.exchange);
        if let Exchange::Sequential { turns, .. } = &*exchange {
            let before = self.expected;
            self.request.think = Duration::ZERO;
            while let Some(turn) = turns.get(self.place)
                && turn.side != self.side
            {
                self.expected += turn.bytes.get();
                self.request.think += turn.wait;
                self.place += 1;
            }
            self.request.response = self.expected - before;
            if self.request.response > 0 {
                self.waiting = Waiting::Bytes(self.expected);
                return;
            }
        }
        self.wait_since(self.wrote);
    }

    /// Waits for its next unit, or for closing, as from `since`.
    fn wait_since(&mut self, since: Instant) {
        self.waiting = match &*self.exchange {
            Exchange::Sequential { turns, close } => match turns.get(self.place) {
                Some(turn) => Waiting::Until(since + turn.wait),
                None if close.side == self.side => Waiting::Until(since + close.wait),
                None => Waiting::Close,
            },
            Exchange::Concurrent(scripts) => {
                let script = &scripts[self.side.index()];
                let unit = script.units.get(self.place);
                Waiting::Until(since + unit.map_or(script.close, |unit| unit.wait))
            }
        };
    }

    fn epoch(&mut self, now: Instant) -> Option<Epoch> {
        if self.side != Side::Initiator || self.request.bytes == 0 {
            return None;
        }
        let Request {
            number,
            at,
            bytes,
            response,
            think,
        } = self.request;
        self.request.number += 1;
        Some(Epoch {
            connection: 0,
            number,
            request_bytes: Bytes::new(bytes),
            response_bytes: Bytes::new(response),
            start: at,
            duration: now.saturating_since(at),
            think,
        })
    }
}

#[cfg(test)]
mod tests {
    use workload::{Close, Script as Units, Turn, Unit};

    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn each_side_waits_for_the_other_and_then_thinks() {
        let turn = |side, wait_ms, bytes| Turn {
            side,
            wait: Duration::from_millis(wait_ms),
            bytes: Bytes::new(bytes),
        };
        let exchange = Arc::new(Exchange::Sequential {
            turns: vec![
                turn(Side::Initiator, 0, 100),
                turn(Side::Acceptor, 5, 1000),
                turn(Side::Acceptor, 7, 500),
                turn(Side::Initiator, 30, 50),
                turn(Side::Acceptor, 0, 2000),
            ],
            close: Close {
                side: Side::Acceptor,
                wait: Duration::from_millis(2),
            },
        });
        let [mut asks, mut answers] = Side::BOTH.map(|side| Script::new(&exchange, side));
        assert_eq!(asks.due(), Instant::MAX);
        asks.begin(at(10));
        answers.begin(at(12));
        assert_eq!(asks.act(at(10)), Some(Act::Write(100)));
        assert_eq!((asks.act(at(11)), answers.act(at(12))), (None, None));
        assert_eq!(answers.hear(at(20), 99, false), None);
        assert_eq!(answers.hear(at(20), 100, false), None);
        assert_eq!(answers.due(), at(25));
        assert_eq!(answers.act(at(25)), Some(Act::Write(1000)));
        // Counted from its own write.
        assert_eq!(answers.due(), at(32));
        assert_eq!(answers.act(at(33)), Some(Act::Write(500)));
        assert_eq!(asks.hear(at(40), 1499, false), None);
        let epoch = asks.hear(at(50), 1500, false).expect("a response");
        assert_eq!(
            (epoch.number, epoch.start, epoch.duration, epoch.think),
            (
                0,
                at(10),
                Duration::from_millis(40),
                Duration::from_millis(12)
            )
        );
        assert_eq!((epoch.request_bytes, epoch.response_bytes).0.get(), 100);
        assert_eq!(epoch.response_bytes.get(), 1500);
        assert_eq!(asks.due(), at(80));
        assert_eq!(asks.act(at(80)), Some(Act::Write(50)));
        answers.hear(at(90), 150, false);
        assert_eq!(answers.act(at(90)), Some(Act::Write(2000)));
        assert_eq!(answers.due(), at(92));
        assert_eq!(answers.act(at(92)), Some(Act::Close));
        assert!(answers.is_over());
        let epoch = asks.hear(at(100), 3500, true).expect("a response");
        assert_eq!((epoch.number, epoch.start), (1, at(80)));
        // The other side's end was heard with its last bytes.
        assert_eq!(asks.act(at(100)), Some(Act::Close));
    }

    #[test]
    fn concurrent_sides_follow_their_own_clocks() {
        let unit = |wait_ms, bytes| Unit {
            wait: Duration::from_millis(wait_ms),
            bytes: Bytes::new(bytes),
        };
        let script = |units: Vec<Unit>, close_ms| Units {
            units,
            close: Duration::from_millis(close_ms),
        };
        let exchange = Arc::new(Exchange::Concurrent([
            script(vec![unit(0, 10), unit(20, 30)], 5),
            script(Vec::new(), 0),
        ]));
        let [mut one, mut other] = Side::BOTH.map(|side| Script::new(&exchange, side));
        one.begin(at(0));
        other.begin(at(3));
        assert_eq!(other.act(at(3)), Some(Act::Close));
        assert_eq!(one.act(at(0)), Some(Act::Write(10)));
        assert_eq!(one.act(at(19)), None);
        assert_eq!(one.act(at(20)), Some(Act::Write(30)));
        assert_eq!(one.hear(at(21), 0, true), None);
        assert_eq!((one.due(), one.act(at(25))), (at(25), Some(Act::Close)));
    }
}
