//! Packets of a flow as both of its hosts see them, recorded only on request.

use units::{Bytes, Instant};

/// The host that sees a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vantage {
    /// The sender of the data.
    Sender,
    /// Its receiver.
    Receiver,
    /// A point between them.
    Middle,
}

/// Why a sender sends nothing at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window is full.
    CongestionWindow,
    /// The receive window has no place for the next segment.
    ReceiveWindow,
    /// The application has written no more data.
    Application,
    /// The next burst waits for its time.
    Pacing,
    /// It repairs losses.
    Recovery,
}

impl Limit {
    /// All of them, in the order of the tables.
    pub const ALL: [Self; 5] = [
        Self::CongestionWindow,
        Self::ReceiveWindow,
        Self::Application,
        Self::Pacing,
        Self::Recovery,
    ];

    /// The name in documents.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::CongestionWindow => "congestion-window",
            Self::ReceiveWindow => "receive-window",
            Self::Application => "application",
            Self::Pacing => "pacing",
            Self::Recovery => "recovery",
        }
    }
}

/// What a segment does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// The SYN of the sender.
    Syn,
    /// The answer of the receiver.
    SynAck,
    /// The third segment of the handshake.
    ThirdAck,
    /// A segment of the sender: data, a FIN, or a probe of a closed window.
    Data,
    /// A segment of the receiver.
    Ack,
}

/// A segment that leaves a host or reaches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRecord {
    /// When.
    pub at: Instant,
    /// Where.
    pub seen_by: Vantage,
    /// What it is.
    pub kind: PacketKind,
    /// Data: offset of its first byte. ACK: next byte expected. Offsets count payload from zero.
    pub offset: u64,
    /// Payload of data; the advertised window of an ACK, in bytes.
    pub amount: u32,
    /// Timestamp value and echo, in milliseconds.
    pub timestamps: (u32, u32),
    /// SACK blocks of an ACK, as offsets; empty blocks come last.
    pub sack: [(u64, u64); 3],
    /// FIN.
    pub fin: bool,
    /// PSH.
    pub psh: bool,
    /// CWR.
    pub cwr: bool,
    /// ECE.
    pub ece: bool,
    /// Whether it is ECN-capable, and whether a router marked it.
    pub ecn: (bool, bool),
}

/// All packets of one flow, in the order of their times.
#[derive(Clone, Debug)]
pub struct PacketTrace {
    /// Its index in the scenario.
    pub flow: u32,
    /// Payload of a full segment.
    pub smss: Bytes,
    /// The packets.
    pub packets: Vec<PacketRecord>,
    /// What limits the sender from a moment on, in the order of time; without repetitions.
    pub limits: Vec<(Instant, Limit)>,
}
