//! What a workload yields: dialogues, one for each connection.

use units::Instant;

use crate::{Connection, VideoConfig};

/// What happens on one connection.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialogue {
    /// Both sides follow a script.
    Script(Connection),
    /// The initiator is a client of a video ([`crate::AdaptiveVideo`]).
    Video {
        /// When it opens the connection, from the start of the workload.
        start: Instant,
        /// Its parameters.
        client: VideoConfig,
    },
}

impl Dialogue {
    /// When the initiator opens the connection, from the start of the workload.
    #[must_use]
    pub const fn start(&self) -> Instant {
        match self {
            Self::Script(connection) => connection.start,
            Self::Video { start, .. } => *start,
        }
    }
}

/// The dialogues of a [`crate::Plan`], in the order of their starts.
pub type Dialogues = Box<dyn Iterator<Item = Dialogue> + Send>;

/// Dialogues that follow scripts.
pub(crate) fn scripts(connections: impl Iterator<Item = Connection> + Send + 'static) -> Dialogues {
    Box::new(connections.map(Dialogue::Script))
}
