//! Web traffic without requests, as Scharf 2011 has it: responses of truncated Pareto size that
//! arrive as a Poisson process. A load counts their payload; headers, ACKs and retransmissions come
//! on top.
//!
//! ## Deviations
//!
//! - Each response has a connection of its own, as under HTTP/1.0.

use serde::ser::SerializeMap;
use tables::Wrong;
use units::Bytes;

use crate::generate::keys::{Arrivals, Load, Pareto, UNKNOWN, groups};
use crate::generate::traffic::{Around, Sends, TrafficKeys};
use crate::suite::Framing;

/// Responses of random size that start at random.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct WebTraffic {
    /// Mean number of starts per second.
    pub arrivals_per_s: f64,
    /// Mean size.
    pub mean: Bytes,
    /// Shape of the Pareto distribution.
    pub shape: f64,
    /// Largest size.
    pub cut: Bytes,
}

groups! {
    /// The keys of web traffic.
    pub struct WebKeys { load: Load, arrivals: Arrivals, sizes: Pareto }
}

impl TrafficKeys for WebKeys {
    type Traffic = WebTraffic;

    fn traffic(&self, around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        self.sizes.check(around.given)?;
        let Pareto { mean, shape, cut } = self.sizes;
        Ok(WebTraffic {
            arrivals_per_s: UNKNOWN,
            mean,
            shape,
            cut,
        })
    }
}

impl Sends for WebTraffic {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("arrivals_per_s", &self.arrivals_per_s)?;
        map.serialize_entry("mean_bytes", &self.mean.get())?;
        map.serialize_entry("shape", &self.shape)?;
        map.serialize_entry("cut_bytes", &self.cut.get())
    }

    fn bytes_per_arrival(&self, _framing: Framing) -> Option<f64> {
        Some(self.mean.get() as f64)
    }

    fn set_arrivals_per_s(&mut self, per_s: f64) {
        self.arrivals_per_s = per_s;
    }
}
