//! The clouds that a scenario can name.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;

use network::{Payload, Streams};

use crate::adhoc::AdHocConfig;
use crate::constellation::{Constellation, ConstellationConfig, Terminal};
use crate::ideal::{Ideal, IdealConfig};
use crate::{Cloud, NodeId};

/// The settings of a cloud.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CloudConfig {
    /// A cloud without radios.
    Ideal(IdealConfig),
    /// Nodes with radios that forward packets for each other.
    AdHoc(Box<AdHocConfig>),
    /// Satellites, and terminals on the ground, which are its nodes.
    Constellation(Box<ConstellationConfig>, Vec<Terminal>),
}

impl CloudConfig {
    /// Its word in a file.
    #[must_use]
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Ideal(_) => "ideal",
            Self::AdHoc(_) => "adhoc",
            Self::Constellation(..) => "constellation",
        }
    }

    /// How many nodes it has.
    #[must_use]
    pub const fn node_count(&self) -> u32 {
        match self {
            Self::Ideal(config) => config.nodes,
            Self::AdHoc(config) => config.nodes,
            Self::Constellation(_, terminals) => terminals.len() as u32,
        }
    }

    /// The name of a node, or of a satellite behind the nodes.
    #[must_use]
    pub fn node_name(&self, node: NodeId) -> Cow<'_, str> {
        if let Self::Constellation(config, terminals) = self {
            return match terminals.get(node.index()) {
                Some(terminal) => Cow::Borrowed(&terminal.name),
                None => Cow::Owned(config.satellite_name(node.0 - terminals.len() as u32)),
            };
        }
        Cow::Owned(format!("node {}", node.0))
    }

    /// The cloud at the start of a run. All that it draws comes from `streams`.
    #[must_use]
    pub fn build<T: Payload>(&self, streams: &Streams) -> Box<dyn Cloud<T>> {
        match self {
            Self::Ideal(config) => Box::new(Ideal::new(config)),
            Self::AdHoc(config) => config.build(streams),
            Self::Constellation(config, terminals) => {
                Box::new(Constellation::new(config, terminals, streams))
            }
        }
    }
}
