//! The two ends of a path, and the two links between them.

/// An end of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// Where the forward link begins: this side sends the data.
    Sender,
    /// Where the forward link ends: this side receives the data.
    Receiver,
}

impl Side {
    /// The other end.
    #[must_use]
    pub const fn peer(self) -> Self {
        match self {
            Self::Sender => Self::Receiver,
            Self::Receiver => Self::Sender,
        }
    }

    /// The link that carries the packets of this side.
    pub(crate) const fn sends_on(self) -> Direction {
        match self {
            Self::Sender => Direction::Forward,
            Self::Receiver => Direction::Reverse,
        }
    }

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}

/// One of the path's two links.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// From the sender to the receiver.
    Forward,
    /// From the receiver to the sender.
    Reverse,
}

impl Direction {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Forward, Self::Reverse];

    pub(crate) const fn index(self) -> usize {
        self as usize
    }
}
