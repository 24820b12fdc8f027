//! The application at one side of a connection in which both sides write.
//!
//! It follows a connection vector (Weigle et al. 2006; docs/reference/sources.md, "Tmix"), or it is
//! a client of an adaptive video, or the server of one. The crate `workload` has both. Applications
//! take no time of their own: what a side writes after a wait of zero leaves in the instant in which
//! it has received what it waited for.

use std::collections::VecDeque;
use std::sync::Arc;

use measure::Epoch;
use tcp::segment::AckSegment;
use units::{Bytes, Duration, Instant};
use workload::{AdaptiveVideo, Close, Exchange, Script, SegmentRequest, Side, Turn, VideoConfig};

/// One side of a connection in which both sides write.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The number of the connection in its table.
    pub number: u64,
    pub speaker: Speaker,
    pub side: Side,
    /// At the acceptor, how the handshake ended.
    pub opened: Option<Opened>,
    /// The last request of which the other side does not know yet what it asks for, and the size of
    /// its answer.
    pub asked: Option<(Bytes, Bytes)>,
}

impl Conversation {
    /// The application at `side` of connection `number`, which is not open.
    fn new(number: u64, speaker: Speaker, side: Side) -> Self {
        Self {
            number,
            speaker,
            side,
            opened: None,
            asked: None,
        }
    }

    /// Both applications of a connection vector.
    pub fn scripted(number: u64, exchange: &Exchange) -> [Self; 2] {
        let exchange = Arc::new(exchange.clone());
        Side::BOTH.map(|side| {
            let speaker = Scripted::new(Arc::clone(&exchange), side);
            Self::new(number, Speaker::Scripted(speaker), side)
        })
    }

    /// The client of a video, and its server.
    pub fn video(number: u64, client: &VideoConfig) -> [Self; 2] {
        let viewer = Box::new(Viewer::new(client.clone()));
        let [initiator, acceptor] = Side::BOTH;
        [
            Self::new(number, Speaker::Viewer(viewer), initiator),
            Self::new(number, Speaker::Server(Server::default()), acceptor),
        ]
    }
}

/// The end of a handshake: the arguments of [`tcp::Sender::accept`].
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    pub third: AckSegment,
    pub rtt: Option<Duration>,
    pub retransmitted: u32,
}

/// What an application does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    Write(Bytes),
    /// Writes a request, to which the other side answers with so many bytes.
    Ask(Bytes, Bytes),
    Close,
}

/// An application.
#[derive(Clone, Debug)]
pub enum Speaker {
    Scripted(Scripted),
    Viewer(Box<Viewer>),
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

impl Speaker {
    /// The connection is open at this side, or its initiator opens it now.
    pub fn begin(&mut self, now: Instant) {
        forward!(self, application => application.begin(now));
    }

    /// When it acts next, unless it receives something first.
    pub fn due(&self) -> Instant {
        forward!(self, application => application.due())
    }

    /// Call [`Self::hear`] when so many bytes have been received.
    pub fn awaited(&self) -> u64 {
        forward!(self, application => application.awaited())
    }

    /// It has received `delivered` bytes in all, and the other side's FIN if `is_closed`. Returns the
    /// epoch that ends now.
    pub fn hear(&mut self, now: Instant, delivered: u64, is_closed: bool) -> Option<Epoch> {
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
    fn new(client: VideoConfig) -> Self {
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

    fn hear(&mut self, now: Instant, delivered: u64, _is_closed: bool) -> Option<Epoch> {
        if !self.has_asked || delivered < self.awaited {
            return None;
        }
        let request = self.request.take()?;
        let number = self.number;
        self.number += 1;
        self.has_asked = false;
        self.request = self.video.next(now);
        Some(Epoch {
            connection: 0,
            number,
            request_bytes: request.request,
            response_bytes: request.bytes,
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

    fn hear(&mut self, _now: Instant, delivered: u64, is_closed: bool) -> Option<Epoch> {
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
    fn new(exchange: Arc<Exchange>, side: Side) -> Self {
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

    fn begin(&mut self, now: Instant) {
        if self.waiting == Waiting::ForConnection {
            self.wrote = now;
            self.request.at = now;
            self.wait(now);
        }
    }

    const fn due(&self) -> Instant {
        match self.waiting {
            Waiting::Until(at) => at,
            _ => Instant::MAX,
        }
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

    fn hear(&mut self, now: Instant, delivered: u64, is_closed: bool) -> Option<Epoch> {
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

    fn act(&mut self, now: Instant) -> Option<Act> {
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
    fn end_epoch(&mut self, now: Instant) -> Option<Epoch> {
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
