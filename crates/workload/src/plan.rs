//! A workload as data, and the connections that it yields.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use crate::Connection;
use crate::generate::{
    Http10, Http10Config, Multiplexed, MultiplexedConfig, Persistent, PersistentConfig,
    RequestResponse, RequestResponseConfig, Synthetic, SyntheticConfig,
};

/// What a workload consists of. Start times count from its own start.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub enum Plan {
    /// Connections that stand somewhere, such as in a Tmix file, in the order of their starts.
    Recorded(Arc<[Connection]>),
    /// A substitute for recorded traces.
    Synthetic(SyntheticConfig),
    /// One response per connection.
    Http10(Http10Config),
    /// Sessions that use a connection again.
    Persistent(PersistentConfig),
    /// A page per connection.
    Multiplexed(MultiplexedConfig),
    /// Clients in a closed loop.
    RequestResponse(RequestResponseConfig),
}

/// The connections of a [`Plan`], in the order of their starts.
pub type Connections = Box<dyn Iterator<Item = Connection> + Send>;

impl Plan {
    /// Its word in a scenario file.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Recorded(_) => "tmix",
            Self::Synthetic(_) => "synthetic",
            Self::Http10(_) => "http10",
            Self::Persistent(_) => "persistent",
            Self::Multiplexed(_) => "multiplexed",
            Self::RequestResponse(_) => "request-response",
        }
    }

    /// The connections, drawn from `random`. The iterator may be endless.
    #[must_use]
    pub fn connections(&self, random: ChaCha8Rng) -> Connections {
        match self {
            Self::Recorded(connections) => {
                let connections = Arc::clone(connections);
                Box::new((0..connections.len()).map(move |place| connections[place].clone()))
            }
            Self::Synthetic(config) => Box::new(Synthetic::new(*config, random)),
            Self::Http10(config) => Box::new(Http10::new(*config, random)),
            Self::Persistent(config) => Box::new(Persistent::new(*config, random)),
            Self::Multiplexed(config) => Box::new(Multiplexed::new(*config, random)),
            Self::RequestResponse(config) => Box::new(RequestResponse::new(*config, random)),
        }
    }
}
