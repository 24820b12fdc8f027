//! Full packets at a fixed rate, without connections.

use serde::ser::SerializeMap;
use tables::Wrong;
use units::{Duration, Rate};

use crate::generate::keys::{Bursts, Sources, groups};
use crate::generate::resolved::sources;
use crate::generate::traffic::{Around, Sends, TrafficKeys};

/// Full packets at a fixed rate, without ACKs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DatagramTraffic {
    /// How many sources.
    pub count: u32,
    /// Each starts at a random time within this span.
    pub spread: Duration,
    /// Rate of one source while it sends, in bytes of IP.
    pub rate: Rate,
    /// Time for which it sends.
    pub on: Duration,
    /// Time for which it then pauses.
    pub off: Duration,
}

groups! {
    /// The keys of datagrams.
    pub struct DatagramKeys { sources: Sources, bursts: Bursts }
}

impl TrafficKeys for DatagramKeys {
    type Traffic = DatagramTraffic;

    fn traffic(&self, _around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let Bursts { rate, on, off } = self.bursts;
        let off = off.unwrap_or(Duration::ZERO);
        let (count, spread) = self.sources.starts(on + off);
        Ok(DatagramTraffic {
            count,
            spread,
            rate,
            on,
            off,
        })
    }
}

impl Sends for DatagramTraffic {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        sources(map, self.count, self.spread)?;
        map.serialize_entry("rate_bps", &self.rate.bits_per_sec())?;
        map.serialize_entry("on_s", &self.on.as_secs_f64())?;
        map.serialize_entry("off_s", &self.off.as_secs_f64())
    }
}
