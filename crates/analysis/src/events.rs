//! Packets and ACK frames of a QUIC sender, in all packet number spaces.

/// What the congestion control of a QUIC sender is notified of, until the first loss. Times are
/// nanoseconds since the connection's first packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A packet of the handshake left: when, and its bytes.
    Hello(i64, i64),
    /// A packet with data left.
    Sent(i64, Packet),
    /// An ACK frame of the handshake arrived, for packets of which the newest left then; together
    /// they have so many bytes.
    Answered(i64, i64, i64),
    /// An ACK frame arrived, for these packets.
    Acked(i64, Vec<Packet>),
    /// So many bytes of the handshake will not be acknowledged (RFC 9002, section 6.4).
    Discarded(i64),
}

impl Event {
    /// When it happened; a discard has no time.
    pub fn at(&self) -> i64 {
        match *self {
            Self::Hello(at, _)
            | Self::Sent(at, _)
            | Self::Answered(at, ..)
            | Self::Acked(at, _) => at,
            Self::Discarded(_) => 0,
        }
    }

    /// The same with its times as `since` gives them.
    pub fn moved(self, since: &impl Fn(i64) -> i64) -> Self {
        let packet = |packet: Packet| Packet {
            left: since(packet.left),
            ..packet
        };
        match self {
            Self::Hello(at, bytes) => Self::Hello(since(at), bytes),
            Self::Sent(at, one) => Self::Sent(since(at), packet(one)),
            Self::Answered(at, left, bytes) => Self::Answered(since(at), since(left), bytes),
            Self::Acked(at, packets) => {
                Self::Acked(since(at), packets.into_iter().map(packet).collect())
            }
            Self::Discarded(bytes) => Self::Discarded(bytes),
        }
    }
}

/// A packet with data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    pub number: u64,
    pub left: i64,
    pub bytes: i64,
}
