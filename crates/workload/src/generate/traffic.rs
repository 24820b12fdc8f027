//! What a kind of traffic consists of: keys, a configuration, and a generator.

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Described, Wrong};
use units::Duration;

use crate::dialogue::Dialogues;
use crate::suite::Framing;

/// A table of a kind of traffic, beside the keys of the kind.
#[derive(Clone, Copy)]
pub struct Around<'a> {
    /// Whether the table has a key.
    pub given: &'a dyn Fn(&str) -> bool,
    /// How long it lasts.
    pub duration: Option<Duration>,
}

/// Keys in groups.
pub trait Groups {
    /// The groups, to be filled.
    fn groups(&mut self) -> Vec<&mut dyn Described>;
}

/// The keys of a kind of traffic.
pub trait TrafficKeys: Groups {
    /// What they describe.
    type Traffic;

    /// What they describe.
    ///
    /// # Errors
    /// The first contradiction.
    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong>;
}

/// The configuration of a kind of traffic.
pub(crate) trait Sends {
    /// Writes its parameters into its resolved form, where the name of a number has its unit.
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error>;

    /// The bytes on the wire that an arrival of a Poisson process (a connection, a session or a
    /// page) brings on average in the direction of the table; `None` without such a process.
    fn bytes_per_arrival(&self, _framing: Framing) -> Option<f64> {
        None
    }

    /// Sets the mean number of arrivals per second of such a process.
    fn set_arrivals_per_s(&mut self, _per_s: f64) {}
}

/// A kind of traffic in which both sides of a connection write.
pub(crate) trait Generates: Sends {
    /// The dialogues, drawn from `random`, in the order of their starts.
    fn dialogues(&self, random: ChaCha8Rng) -> Dialogues;
}
