//! The resolved form of a workload whose connections both sides write to.

use serde::ser::{Serialize, SerializeMap, Serializer};
use units::{Bytes, Duration, Rate};
use workload::draw::{Sizes, Times};
use workload::generate::Epochs;
use workload::{Plan, Side};

use crate::write::map;

/// Writes the parameters of a plan into a map.
pub(super) fn write<M: SerializeMap>(map: &mut M, plan: &Plan) -> Result<(), M::Error> {
    let sources = |map: &mut M, count: u32, spread: Duration| {
        map.serialize_entry("count", &count)?;
        map.serialize_entry("spread_s", &spread.as_secs_f64())
    };
    match plan {
        Plan::Recorded(recording) => {
            let connections = &recording.connections;
            let mut bytes = [Bytes::ZERO; 2];
            for connection in connections.iter() {
                for (sum, sent) in bytes.iter_mut().zip(connection.payload()) {
                    *sum += sent;
                }
            }
            let last = connections.last().map(|one| one.start.as_secs_f64());
            map.serialize_entry("file", &recording.file)?;
            map.serialize_entry("connections", &connections.len())?;
            map.serialize_entry("request_bytes", &bytes[Side::Initiator.index()].get())?;
            map.serialize_entry("response_bytes", &bytes[Side::Acceptor.index()].get())?;
            map.serialize_entry("last_start_s", &last)?;
            let repeat = recording.repeat.map(Duration::as_secs_f64);
            map.serialize_entry("repeat_s", &repeat)
        }
        Plan::Synthetic(config) => {
            map.serialize_entry("arrivals_per_s", &config.arrivals_per_s)?;
            epochs(map, &config.epochs)?;
            map.serialize_entry("requests", &(1.0 / config.last))?;
            map.serialize_entry("concurrent", &config.concurrent)?;
            map.serialize_entry("small_segments", &config.small_segments)
        }
        Plan::Http10(config) => {
            map.serialize_entry("arrivals_per_s", &config.arrivals_per_s)?;
            map.serialize_entry("request", &Size(config.request))?;
            map.serialize_entry("server_delay", &Time(config.delay))?;
            map.serialize_entry("response", &Size(config.response))
        }
        Plan::Persistent(config) => {
            map.serialize_entry("arrivals_per_s", &config.sessions_per_s)?;
            epochs(map, &config.epochs)?;
            map.serialize_entry("requests", &config.requests)?;
            map.serialize_entry("idle_timeout_s", &config.idle_timeout.as_secs_f64())
        }
        Plan::Multiplexed(config) => {
            map.serialize_entry("arrivals_per_s", &config.pages_per_s)?;
            map.serialize_entry("request", &Size(config.request))?;
            map.serialize_entry("server_delay", &Time(config.delay))?;
            map.serialize_entry("document", &Size(config.document))?;
            map.serialize_entry("parse", &Time(config.parse))?;
            map.serialize_entry("objects", &config.objects)?;
            map.serialize_entry("object", &Size(config.object))
        }
        Plan::RequestResponse(config) => {
            sources(map, config.clients, config.spread)?;
            epochs(map, &config.epochs)?;
            map.serialize_entry("requests", &config.requests)
        }
        Plan::OnOff(config) => {
            sources(map, config.count, config.spread)?;
            map.serialize_entry("rate_bps", &config.rate.bits_per_sec())?;
            map.serialize_entry("on", &Time(config.on))?;
            map.serialize_entry("off", &Time(config.off))?;
            map.serialize_entry("lifetime_s", &config.lifetime.as_secs_f64())
        }
        Plan::AdaptiveVideo(config) => {
            let client = &config.client;
            let rates = client.bitrates.iter().copied().map(Rate::bits_per_sec);
            sources(map, config.clients, config.spread)?;
            map.serialize_entry("bitrates_bps", &rates.collect::<Vec<_>>())?;
            map.serialize_entry("segment_s", &client.segment.as_secs_f64())?;
            map.serialize_entry("segments", &client.segments)?;
            map.serialize_entry("request_bytes", &client.request.get())?;
            map.serialize_entry("reservoir_s", &client.reservoir.as_secs_f64())?;
            map.serialize_entry("cushion_s", &client.cushion.as_secs_f64())?;
            map.serialize_entry("playback_buffer_s", &client.buffer.as_secs_f64())
        }
    }
}

fn epochs<M: SerializeMap>(map: &mut M, epochs: &Epochs) -> Result<(), M::Error> {
    map.serialize_entry("request", &Size(epochs.request))?;
    map.serialize_entry("server_delay", &Time(epochs.delay))?;
    map.serialize_entry("response", &Size(epochs.response))?;
    map.serialize_entry("think", &Time(epochs.think))
}

struct Size(Sizes);

impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Sizes::Constant(size) => map!(serializer, "kind": "constant", "bytes": size.get()),
            Sizes::LogNormal { median, sigma } => {
                map!(serializer, "kind": "log-normal", "median_bytes": median, "sigma": sigma)
            }
            Sizes::Pareto(sizes) => map!(serializer,
                "kind": "pareto",
                "mean_bytes": sizes.mean(),
                "least_bytes": sizes.scale,
                "shape": sizes.shape(),
                "cut_bytes": sizes.cut(),
                "capped": sizes.is_capped(),
            ),
        }
    }
}

struct Time(Times);

impl Serialize for Time {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Times::Constant(time) => {
                map!(serializer, "kind": "constant", "time_s": time.as_secs_f64())
            }
            Times::Exponential { mean } => {
                map!(serializer, "kind": "exponential", "mean_s": mean.as_secs_f64())
            }
            Times::LogNormal { median, sigma } => {
                map!(serializer, "kind": "log-normal", "median_s": median.as_secs_f64(), "sigma": sigma)
            }
        }
    }
}
