//! Generators: iterators that draw connections from distributions.
//!
//! Each one owns one random stream, so that its draws depend on no other part of a run. A caller
//! derives the stream from a seed and the generator's name. Connections come in order of their
//! start times and are drawn one by one. Iterators over arrivals do not end: take what starts in
//! time. Times are whole microseconds, so that a file of the connections reads back as they were.
//!
//! Defaults with a source name it. The others are values of this project.

mod bulk;
mod epochs;
mod flows;
pub(crate) mod http10;
pub mod keys;
pub(crate) mod multiplexed;
pub(crate) mod on_off;
pub(crate) mod persistent;
pub(crate) mod request_response;
pub(crate) mod resolved;
pub(crate) mod synthetic;
pub mod traffic;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use crate::draw::{poisson_gap, whole_micros};
use crate::{Connection, Exchange, Headers, TruncatedPareto};

pub use bulk::{Bulk, BulkConfig};
pub use epochs::Epochs;
pub use flows::{PoissonFlows, PoissonFlowsConfig};
pub use http10::{Http10, Http10Config};
pub use multiplexed::{Multiplexed, MultiplexedConfig, Page, interleaved_ends};
pub use on_off::{OnOff, OnOffConfig};
pub use persistent::{Persistent, PersistentConfig};
pub use request_response::{RequestResponse, RequestResponseConfig};
pub use synthetic::{Synthetic, SyntheticConfig};

/// Size of a request unless the source says otherwise.
pub const REQUEST: Bytes = Bytes::new(400);

/// Responses of Scharf 2011: a mean of 14 kB, shape 1.1, at most 10 MB.
#[must_use]
pub fn web_responses() -> TruncatedPareto {
    TruncatedPareto::with_mean(14e3, 1.1, 1e7)
}

/// Numbers connections from one. All have group 1.
#[derive(Clone, Debug, Default)]
struct Numbers(u64);

impl Numbers {
    fn connection(&mut self, start: Instant, exchange: Exchange) -> Connection {
        self.0 += 1;
        let start = start.saturating_since(Instant::ZERO);
        Connection {
            start: Instant::ZERO + whole_micros(start),
            id: self.0,
            group: 1,
            headers: Headers::default(),
            exchange,
        }
    }
}

/// A Poisson process.
#[derive(Clone, Debug)]
struct Arrivals {
    per_s: f64,
    last: Instant,
}

impl Arrivals {
    const fn new(per_s: f64, begin: Instant) -> Self {
        Self { per_s, last: begin }
    }

    fn next(&mut self, random: &mut ChaCha8Rng) -> Instant {
        self.last += poisson_gap(random, self.per_s);
        self.last
    }
}

/// The one unit of a flow in one direction, after which its sender closes.
fn one_way(side: crate::Side, bytes: Bytes) -> Exchange {
    let wait = Duration::ZERO;
    Exchange::sequential(vec![crate::Turn { side, wait, bytes }], Duration::ZERO)
}
