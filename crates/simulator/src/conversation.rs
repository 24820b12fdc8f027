//! A connection in which both sides write, at one of its ends: the application there, and the end
//! of the handshake. The crate `workload` has the applications.

use std::sync::Arc;

use tcp::segment::AckSegment;
use units::{Bytes, Duration};
use workload::{Application, Exchange, Scripted, Server, Side, VideoConfig, Viewer};

/// One side of a connection in which both sides write.
#[derive(Clone, Debug)]
pub struct Conversation {
    /// The number of the connection in its table.
    pub number: u64,
    pub application: Application,
    pub side: Side,
    /// At the acceptor, how the handshake ended.
    pub opened: Option<Opened>,
    /// The last request of which the other side does not know yet what it asks for, and the size of
    /// its answer.
    pub asked: Option<(Bytes, Bytes)>,
}

impl Conversation {
    /// The application at `side` of connection `number`, which is not open.
    fn new(number: u64, application: Application, side: Side) -> Self {
        Self {
            number,
            application,
            side,
            opened: None,
            asked: None,
        }
    }

    /// Both applications of a connection vector.
    pub fn scripted(number: u64, exchange: &Exchange) -> [Self; 2] {
        let exchange = Arc::new(exchange.clone());
        Side::BOTH.map(|side| {
            let script = Scripted::new(Arc::clone(&exchange), side);
            Self::new(number, Application::Scripted(script), side)
        })
    }

    /// The client of a video, and its server.
    pub fn video(number: u64, client: &VideoConfig) -> [Self; 2] {
        let viewer = Box::new(Viewer::new(client.clone()));
        let [initiator, acceptor] = Side::BOTH;
        [
            Self::new(number, Application::Viewer(viewer), initiator),
            Self::new(number, Application::Server(Server::default()), acceptor),
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
