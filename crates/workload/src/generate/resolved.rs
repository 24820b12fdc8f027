//! Parts of the resolved form that several kinds have.

use serde::ser::{Serialize, SerializeMap, Serializer};
use units::Duration;

use super::Epochs;
use crate::draw::{Sizes, Times};

/// Writes `count` and `spread_s`.
pub(crate) fn sources<M: SerializeMap>(
    map: &mut M,
    count: u32,
    spread: Duration,
) -> Result<(), M::Error> {
    map.serialize_entry("count", &count)?;
    map.serialize_entry("spread_s", &spread.as_secs_f64())
}

/// Writes the parts of an epoch.
pub(crate) fn epochs<M: SerializeMap>(map: &mut M, epochs: &Epochs) -> Result<(), M::Error> {
    map.serialize_entry("request", &size(epochs.request))?;
    map.serialize_entry("server_delay", &time(epochs.delay))?;
    map.serialize_entry("response", &size(epochs.response))?;
    map.serialize_entry("think", &time(epochs.think))
}

/// A distribution of sizes.
pub(crate) const fn size(sizes: Sizes) -> impl Serialize {
    Size(sizes)
}

/// A distribution of times.
pub(crate) const fn time(times: Times) -> impl Serialize {
    Time(times)
}

struct Size(Sizes);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Sizes::Constant(size) => {
                map.serialize_entry("kind", "constant")?;
                map.serialize_entry("bytes", &size.get())?;
            }
            Sizes::LogNormal { median, sigma } => {
                map.serialize_entry("kind", "log-normal")?;
                map.serialize_entry("median_bytes", &median)?;
                map.serialize_entry("sigma", &sigma)?;
            }
            Sizes::Pareto(sizes) => {
                map.serialize_entry("kind", "pareto")?;
                map.serialize_entry("mean_bytes", &sizes.mean())?;
                map.serialize_entry("least_bytes", &sizes.scale)?;
                map.serialize_entry("shape", &sizes.shape())?;
                map.serialize_entry("cut_bytes", &sizes.cut())?;
                map.serialize_entry("capped", &sizes.is_capped())?;
            }
        }
        map.end()
    }
}

struct Time(Times);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self.0 {
            Times::Constant(time) => {
                map.serialize_entry("kind", "constant")?;
                map.serialize_entry("time_s", &time.as_secs_f64())?;
            }
            Times::Exponential { mean } => {
                map.serialize_entry("kind", "exponential")?;
                map.serialize_entry("mean_s", &mean.as_secs_f64())?;
            }
            Times::LogNormal { median, sigma } => {
                map.serialize_entry("kind", "log-normal")?;
                map.serialize_entry("median_s", &median.as_secs_f64())?;
                map.serialize_entry("sigma", &sigma)?;
            }
        }
        map.end()
    }
}
