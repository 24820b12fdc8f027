//! The application at one end of a connection in which both sides write. The crate `workload` has
//! the applications.

use std::sync::Arc;

use tcp::Sender;
use units::{Bytes, Instant};
use workload::{Act, Answered, Application, Exchange, Scripted, Server, Side, VideoConfig, Viewer};

/// One side of a connection in which both sides write.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The number of the connection in its table.
    number: u64,
    application: Application,
    /// The last request of which the other side does not know yet what it asks for, and the size of
    /// its answer.
    asked: Option<(Bytes, Bytes)>,
}

impl Conversation {
    /// An application of connection `number`, which is not open.
    const fn new(number: u64, application: Application) -> Self {
        Self {
            number,
            application,
            asked: None,
        }
    }

    /// Both applications of a connection vector, the initiator's first.
    pub fn scripted(number: u64, exchange: Exchange) -> [Self; 2] {
        let exchange = Arc::new(exchange);
        Side::BOTH.map(|side| {
            let script = Scripted::new(Arc::clone(&exchange), side);
            Self::new(number, Application::Scripted(script))
        })
    }

    /// The client of a video, and its server.
    pub fn video(number: u64, client: VideoConfig) -> [Self; 2] {
        let viewer = Box::new(Viewer::new(client));
        [
            Self::new(number, Application::Viewer(viewer)),
            Self::new(number, Application::Server(Server::default())),
        ]
    }

    /// The number of the connection in its table.
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The connection is open at this side, or its initiator opens it now.
    pub fn begin(&mut self, now: Instant) {
        self.application.begin(now);
    }

    /// When the application acts next, unless it receives something first.
    pub fn due(&self) -> Instant {
        self.application.due()
    }

    /// It is to hear when this many bytes have arrived.
    pub fn awaited(&self) -> u64 {
        self.application.awaited()
    }

    /// It has received `delivered` bytes in all, and the other side's FIN if `is_closed`. Returns
    /// the request that is answered now.
    pub fn hear(&mut self, now: Instant, delivered: u64, is_closed: bool) -> Option<Answered> {
        self.application.hear(now, delivered, is_closed)
    }

    /// Lets the application write to `sender`, or close it. Returns whether it did anything.
    pub fn act(&mut self, now: Instant, sender: &mut Sender) -> bool {
        let mut has_acted = false;
        while let Some(act) = self.application.act(now) {
            has_acted = true;
            match act {
                Act::Write(bytes) => sender.write(now, bytes.get()),
                Act::Ask(request, answer) => {
                    sender.write(now, request.get());
                    self.asked = Some((request, answer));
                }
                Act::Close => sender.close(),
            }
        }
        has_acted
    }

    /// The last request, and the size of its answer, unless the other side knows it.
    pub const fn take_asked(&mut self) -> Option<(Bytes, Bytes)> {
        self.asked.take()
    }

    /// A request that the server of a video will get, and the size of its answer.
    pub fn expect(&mut self, request: Bytes, answer: Bytes) {
        if let Application::Server(server) = &mut self.application {
            server.expect(request, answer);
        }
    }
}
