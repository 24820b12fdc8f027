//! What a vector says, as data.

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

/// A vector: how the connection begins, and its timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector {
    /// The file's name, for messages.
    pub file: String,
    /// How the connection begins.
    pub header: Header,
    /// What happens, in order of time.
    pub timeline: Vec<Timed>,
}

/// How the connection begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the vector shows, in one line.
    pub title: String,
    /// Where its numbers come from.
    pub source: String,
    /// Whose arithmetic they are: `rfc`, `linux`, `thesis`, `draft`, ...
    pub form: String,
    /// The algorithm as this project writes it, such as `reno+hystart:linux=5.16`.
    pub algorithm: String,
    /// Sender maximum segment size.
    pub smss: Bytes,
    /// Initial window.
    pub initial_window: Bytes,
    /// Whether the sender paces.
    pub paced: bool,
    /// The sender's pacing rate, where the algorithm looks at it.
    pub pacing_rate: Option<Rate>,
}

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timed {
    /// Where it stands in the file, from 1.
    pub line: usize,
    /// Its words, without the expectation.
    pub text: String,
    /// What happened.
    pub event: Event,
    /// What must hold afterwards.
    pub expected: Expected,
}

/// Something that happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub now: Instant,
    /// What.
    pub kind: Kind,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The connection is established; nothing was sent yet.
    Established {
        /// Round-trip time of the handshake, where it gave one.
        rtt: Option<Duration>,
        /// What the application has written; [`Bytes::MAX`] never ends.
        queued: Bytes,
        /// What the receiver has room for; [`Bytes::MAX`] has no end.
        receive_window: Bytes,
        /// What the routers approved of a Quick-Start request, with headers; `None` when they did not.
        approved: Option<Rate>,
        /// Feedback from routers.
        feedback: Option<Feedback>,
    },
    /// New data left.
    Send {
        /// How much.
        size: Bytes,
    },
    /// Data left that was declared lost before.
    Resend {
        /// How much.
        size: Bytes,
    },
    /// An acknowledgment arrived.
    Ack {
        /// Acknowledged cumulatively since the connection began.
        cumulative: u64,
        /// Selectively acknowledged above that, in all.
        sacked: Bytes,
        /// Declared lost because of this ACK.
        lost: Bytes,
        /// The RTT sample that it carries.
        rtt: Option<Duration>,
        /// The window limited the sender.
        window_limited: bool,
        /// The application limited the sender.
        app_limited: bool,
        /// Its delivery-rate sample, where it is stated.
        sample: Option<Sampled>,
        /// The feedback of routers; it counts before the rest.
        feedback: Option<Feedback>,
    },
    /// While the ACK that follows is processed, a segment is declared lost.
    Drop {
        /// Where the segment begins.
        from: u64,
        /// In flight just after it left, itself included.
        tx_in_flight: Bytes,
        /// Declared lost since then, itself included.
        gone: Bytes,
        /// Delivered by the connection, with that ACK.
        delivered: Bytes,
    },
    /// The network marked a packet, and the receiver said so.
    Mark,
    /// The retransmission timer expired.
    Timeout,
    /// The sender restarts after a pause longer than its retransmission timeout.
    Restart {
        /// The retransmission timeout.
        rto: Duration,
    },
}

/// A delivery-rate sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sampled {
    /// Delivered in the interval.
    pub delivered: Bytes,
    /// The interval.
    pub interval: Duration,
    /// The connection's total when the sampled segment left.
    pub prior: Bytes,
    /// In flight just after it left, itself included.
    pub tx_in_flight: Bytes,
    /// Declared lost since it left.
    pub gone: Bytes,
}

/// What must hold after an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expected {
    /// The window.
    pub cwnd: Bytes,
    /// The threshold; [`Bytes::MAX`] while it was never set.
    pub ssthresh: Bytes,
    /// What the window does: `slow-start`, `css`, `drain`, `avoidance`, `recovery` or `cwr`.
    pub state: &'static str,
    /// Why the first slow start ended, or `none`.
    pub exit: &'static str,
    /// SEARCH's last test, where it is stated.
    pub norm: Option<Norm>,
    /// The pacing rate of its own that the algorithm has, where it is stated.
    pub pace: Option<Pace>,
}

/// A pacing rate that an algorithm chooses itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// It leaves the rate to the transport.
    None,
    /// In bytes per second, rounded down.
    BytesPerSecond(u64),
}

/// SEARCH's norm, as precisely as a vector states it; both are rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Norm {
    /// No test was possible yet.
    None,
    /// In whole percent.
    Percent(i64),
    /// In thousandths.
    Permille(i64),
}
