//! The application at one side of a connection in which both sides write: what it does, and what it
//! waits for. The network reports what has arrived.
//!
//! It follows a connection vector (Weigle et al. 2006; docs/reference/sources.md, "Tmix"), or it is
//! a client of an adaptive video, or the server of one. Applications take no time of their own: what
//! a side writes after a wait of zero leaves in the instant in which it has received what it waited
//! for.

use std::collections::VecDeque;
use std::sync::Arc;

use units::{Bytes, Duration, Instant};

use crate::{AdaptiveVideo, Close, Exchange, Script, SegmentRequest, Side, Turn, VideoConfig};

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Writes.
    Write(Bytes),
    /// Writes a request, to which the other side answers with this many bytes.
    Ask(Bytes, Bytes),
    /// Closes its direction.
    Close,
}

/// A request whose response is complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answered {
    /// The number of requests before it.
    pub number: u32,
    /// The size of the request.
    pub request: Bytes,
    /// The size of the response.
    pub response: Bytes,
    /// When the initiator wrote the request.
    pub start: Instant,
    /// From then to the last byte of the response.
    pub duration: Duration,
    /// The time for which the acceptor waits before and between the parts of its response.
    pub think: Duration,
}

/// An application.
#[derive(Clone, Debug)]
pub enum Application {
    /// A side of a connection vector.
    Scripted(Scripted),
    /// The client of an adaptive video.
    Viewer(Box<Viewer>),
    /// The server of one.
    Server(Server),
}

/// Forwards to the application.
macro_rules! forward {
    ($self:ident, $application:ident => $call:expr) => {
        match $self {
            Self::Scripted($application) => $call,
            Self::Viewer($application) => $call,
            Self::Server($application) => $call,
        }
    };
}

impl Application {
    /// The connection is open at this side, or its initiator opens it now.
    pub fn begin(&mut self, now: Instant) {
        forward!(self, application => application.begin(now));
    }

    /// When it acts next, unless it receives something first.
    #[must_use]
    pub fn due(&self) -> Instant {
        forward!(self, application => application.due())
    }

    /// Call [`Self::hear`] when this many bytes have been received.
    #[must_use]
    pub fn awaited(&self) -> u64 {
        forward!(self, application => application.awaited())
    }

    /// It has received `delivered` bytes in all, and the other side's FIN if `is_closed`. Returns the
    /// epoch that ends now.
    pub fn hear(&mut self, now: Instant, delivered: u64, is_closed: bool) -> Option<Answered> {
        forward!(self, application => application.hear(now, delivered, is_closed))
    }

    /// What it does at `now`, if it is due. Call it until it returns `None`.
    pub fn act(&mut self, now: Instant) -> Option<Act> {
        forward!(self, application => application.act(now))
    }
}

/// The client of an adaptive video.
#[derive(Clone, Debug)]
pub struct Viewer {
    video: AdaptiveVideo,
    /// The request that it sends next, or that it has sent.
    request: Option<SegmentRequest>,
    has_asked: bool,
    /// Bytes that it has once the response is complete.
    awaited: u64,
    number: u32,
    is_over: bool,
}

impl Viewer {
    /// A client that has requested nothing.
    #[must_use]
    pub const fn new(client: VideoConfig) -> Self {
        Self {
            video: AdaptiveVideo::new(client),
            request: None,
            has_asked: false,
            awaited: 0,
            number: 0,
            is_over: false,
        }
    }

    fn begin(&mut self, now: Instant) {
        if self.request.is_none() && !self.is_over {
            self.request = self.video.next(now);
        }
    }

    fn due(&self) -> Instant {
        match &self.request {
            _ if self.is_over => Instant::MAX,
            // The video is over.
            None => Instant::ZERO,
            Some(request) if !self.has_asked => request.at,
            Some(_) => Instant::MAX,
        }
    }

    const fn awaited(&self) -> u64 {
        if self.has_asked {
            self.awaited
        } else {
            u64::MAX
        }
    }

    fn hear(&mut self, now: Instant, delivered: u64, _is_closed: bool) -> Option<Answered> {
        if !self.has_asked || delivered < self.awaited {
            return None;
        }
        let request = self.request.take()?;
        let number = self.number;
        self.number += 1;
        self.has_asked = false;
        self.request = self.video.next(now);
        Some(Answered {
            number,
            request: request.request,
            response: request.bytes,
            start: request.at,
            duration: now.saturating_since(request.at),
            think: Duration::ZERO,
        })
    }

    fn act(&mut self, now: Instant) -> Option<Act> {
        if self.due() > now {
            return None;
        }
        let Some(request) = &self.request else {
            self.is_over = true;
            return Some(Act::Close);
        };
        self.has_asked = true;
        self.awaited += request.bytes.get();
        Some(Act::Ask(request.request, request.bytes))
    }
}

/// The server of a video: answers each request as soon as it has all of it.
#[derive(Clone, Debug, Default)]
pub struct Server {
    /// For each request, the bytes of all requests up to it, and those of the answer.
    requests: VecDeque<(u64, Bytes)>,
    asked: u64,
    heard: u64,
    is_closed: bool,
    is_over: bool,
}

impl Server {
    /// A request is on its way.
    pub fn expect(&mut self, request: Bytes, answer: Bytes) {
        self.asked += request.get();
        self.requests.push_back((self.asked, answer));
    }

    fn begin(&mut self, _now: Instant) {}

    fn due(&self) -> Instant {
        let front = self.requests.front();
        let answers = front.is_some_and(|(asked, _)| *asked <= self.heard);
        if !self.is_over && (answers || self.is_closed) {
            Instant::ZERO
        } else {
            Instant::MAX
        }
    }

    const fn awaited(&self) -> u64 {
        self.heard + 1
    }

    fn hear(&mut self, _now: Instant, delivered: u64, is_closed: bool) -> Option<Answered> {
        self.heard = delivered;
        self.is_closed = is_closed;
        None
    }

    fn act(&mut self, _now: Instant) -> Option<Act> {
        if self.due() == Instant::MAX {
            return None;
        }
        match self.requests.pop_front() {
            Some((_, answer)) => Some(Act::Write(answer)),
            None => {
                self.is_over = true;
                Some(Act::Close)
            }
        }
    }
}

/// What the application waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// Until the connection is open at its side.
    ForConnection,
    /// Until it has received this many bytes in all.
    ForBytes(u64),
    /// Until the other side has closed.
    ForClose,
    /// Until this time.
    Until(Instant),
    /// It has closed.
    Over,
}

/// One side of a connection vector.
#[derive(Clone, Debug)]
pub struct Scripted {
    exchange: Arc<Exchange>,
    side: Side,
    /// The next unit: its place in the turns, or in the script of this side.
    place: usize,
    /// Bytes that the other side sends before the unit at `place`.
    heard: u64,
    waiting: Waiting,
    /// When this side wrote last.
    wrote: Instant,
    request: Request,
}

/// The request whose response the initiator waits for.
#[derive(Clone, Copy, Debug, Default)]
struct Request {
    number: u32,
    at: Instant,
    bytes: u64,
    response: u64,
    /// The time for which the acceptor waits before and between the parts of its response.
    think: Duration,
}

impl Scripted {
    /// The application at `side` of a connection that is not open.
    #[must_use]
    pub fn new(exchange: Arc<Exchange>, side: Side) -> Self {
        Self {
            exchange,
            side,
            place: 0,
            heard: 0,
            waiting: Waiting::ForConnection,
            wrote: Instant::ZERO,
            request: Request::default(),
        }
    }

    /// [`Application::begin`].
    pub fn begin(&mut self, now: Instant) {
        if self.waiting == Waiting::ForConnection {
            self.wrote = now;
            self.request.at = now;
            self.wait(now);
        }
    }

    /// [`Application::due`].
    #[must_use]
    pub const fn due(&self) -> Instant {
        match self.waiting {
            Waiting::Until(at) => at,
            _ => Instant::MAX,
        }
    }

    /// Whether it has closed its direction.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.waiting == Waiting::Over
    }

    const fn awaited(&self) -> u64 {
        match self.waiting {
            Waiting::ForConnection => 0,
            Waiting::ForBytes(bytes) => bytes,
            // A segment that fills a hole may deliver a FIN that came before.
            Waiting::ForClose => self.heard,
            Waiting::Until(_) | Waiting::Over => u64::MAX,
        }
    }

    /// [`Application::hear`].
    pub fn hear(&mut self, now: Instant, delivered: u64, is_closed: bool) -> Option<Answered> {
        match self.waiting {
            Waiting::ForBytes(bytes) if delivered >= bytes => {
                let epoch = self.end_epoch(now);
                self.wait_since(now, is_closed);
                epoch
            }
            Waiting::ForClose if is_closed => {
                self.waiting = Waiting::Until(now);
                None
            }
            _ => None,
        }
    }

    /// [`Application::act`].
    pub fn act(&mut self, now: Instant) -> Option<Act> {
        if self.due() > now {
            return None;
        }
        let Some(bytes) = self.next_unit() else {
            self.waiting = Waiting::Over;
            return Some(Act::Close);
        };
        let is_request = self.place == 0 || self.sender_before(self.place) != Some(self.side);
        if is_request {
            self.request.at = now;
            self.request.bytes = 0;
        }
        self.request.bytes += bytes.get();
        self.wrote = now;
        self.place += 1;
        self.wait(now);
        Some(Act::Write(bytes))
    }

    /// The unit at `place`, if this side sends one there.
    fn next_unit(&self) -> Option<Bytes> {
        match &*self.exchange {
            Exchange::Sequential { turns, .. } => turns.get(self.place).map(|turn| turn.bytes),
            Exchange::Concurrent(scripts) => {
                let units = &scripts[self.side.index()].units;
                units.get(self.place).map(|unit| unit.bytes)
            }
        }
    }

    /// The sender of the unit before `place` of a sequential exchange.
    fn sender_before(&self, place: usize) -> Option<Side> {
        match &*self.exchange {
            Exchange::Sequential { turns, .. } => turns.get(place.checked_sub(1)?).map(|t| t.side),
            Exchange::Concurrent(_) => Some(self.side),
        }
    }

    /// Starts to wait for what comes after the unit that was written at `now`, or at the beginning.
    fn wait(&mut self, now: Instant) {
        let exchange = Arc::clone(&self.exchange);
        match &*exchange {
            Exchange::Sequential { turns, .. } => {
                let before = self.heard;
                self.request.response = 0;
                self.request.think = Duration::ZERO;
                while let Some(turn) = turns.get(self.place)
                    && turn.side != self.side
                {
                    self.heard += turn.bytes.get();
                    self.request.response += turn.bytes.get();
                    self.request.think += turn.wait;
                    self.place += 1;
                }
                if self.heard > before {
                    self.waiting = Waiting::ForBytes(self.heard);
                } else {
                    self.wait_since(now, false);
                }
            }
            Exchange::Concurrent(scripts) => {
                let Script { units, close } = &scripts[self.side.index()];
                let wait = units.get(self.place).map_or(*close, |unit| unit.wait);
                self.waiting = Waiting::Until(self.wrote + wait);
            }
        }
    }

    /// Waits for the time of the unit at `place`, or of the FIN, of a sequential exchange. The wait
    /// counts from `now`.
    fn wait_since(&mut self, now: Instant, is_closed: bool) {
        let Exchange::Sequential { turns, close } = &*self.exchange else {
            return;
        };
        let wait = match (turns.get(self.place), close) {
            (Some(&Turn { wait, .. }), _) => wait,
            (None, &Close { side, wait }) if side == self.side => wait,
            (None, _) if is_closed => Duration::ZERO,
            (None, _) => {
                self.waiting = Waiting::ForClose;
                return;
            }
        };
        self.waiting = Waiting::Until(now + wait);
    }

    /// The epoch whose response is complete; only the initiator has epochs.
    fn end_epoch(&mut self, now: Instant) -> Option<Answered> {
        if self.side == Side::Acceptor {
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
        Some(Answered {
            number,
            request: Bytes::new(bytes),
            response: Bytes::new(response),
            start: at,
            duration: now.saturating_since(at),
            think,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Script as Units, Unit};

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
        let [mut asks, mut answers] =
            Side::BOTH.map(|side| Scripted::new(Arc::clone(&exchange), side));
        assert_eq!(asks.due(), Instant::MAX);
        asks.begin(at(10));
        answers.begin(at(12));
        assert_eq!(asks.act(at(10)), Some(Act::Write(Bytes::new(100))));
        assert_eq!((asks.act(at(11)), answers.act(at(12))), (None, None));
        assert_eq!(answers.hear(at(20), 99, false), None);
        assert_eq!(answers.hear(at(20), 100, false), None);
        assert_eq!(answers.due(), at(25));
        assert_eq!(answers.act(at(25)), Some(Act::Write(Bytes::new(1000))));
        // Counted from its own write.
        assert_eq!(answers.due(), at(32));
        assert_eq!(answers.act(at(33)), Some(Act::Write(Bytes::new(500))));
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
        assert_eq!(epoch.request.get(), 100);
        assert_eq!(epoch.response.get(), 1500);
        assert_eq!(asks.due(), at(80));
        assert_eq!(asks.act(at(80)), Some(Act::Write(Bytes::new(50))));
        answers.hear(at(90), 150, false);
        assert_eq!(answers.act(at(90)), Some(Act::Write(Bytes::new(2000))));
        assert_eq!(answers.due(), at(92));
        assert_eq!(answers.act(at(92)), Some(Act::Close));
        assert!(answers.is_over());
        let epoch = asks.hear(at(100), 3500, true).expect("a response");
        assert_eq!((epoch.number, epoch.start), (1, at(80)));
        // The other side's end arrived with its last bytes.
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
        let [mut one, mut other] =
            Side::BOTH.map(|side| Scripted::new(Arc::clone(&exchange), side));
        one.begin(at(0));
        other.begin(at(3));
        assert_eq!(other.act(at(3)), Some(Act::Close));
        assert_eq!(one.act(at(0)), Some(Act::Write(Bytes::new(10))));
        assert_eq!(one.act(at(19)), None);
        assert_eq!(one.act(at(20)), Some(Act::Write(Bytes::new(30))));
        assert_eq!(one.hear(at(21), 0, true), None);
        assert_eq!((one.due(), one.act(at(25))), (at(25), Some(Act::Close)));
    }
}
