//! Flows in one direction that always have data to send.

use serde::ser::SerializeMap;
use tables::Wrong;
use units::{Bytes, Duration};

use crate::generate::keys::{Size, Sources, groups};
use crate::generate::resolved::sources;
use crate::generate::traffic::{Around, Sends, TrafficKeys};

/// Saturated flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BulkTraffic {
    /// How many.
    pub count: u32,
    /// Each starts at a random time within this span.
    pub spread: Duration,
    /// Bytes of each flow; `None` if unlimited.
    pub size: Option<Bytes>,
}

groups! {
    /// The keys of saturated flows.
    pub struct BulkKeys { sources: Sources, size: Size }
}

impl TrafficKeys for BulkKeys {
    type Traffic = BulkTraffic;

    fn traffic(&self, _around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        let (count, spread) = self.sources.starts(Duration::from_secs(1));
        Ok(BulkTraffic {
            count,
            spread,
            size: self.size.size,
        })
    }
}

impl Sends for BulkTraffic {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        sources(map, self.count, self.spread)?;
        map.serialize_entry("size_bytes", &self.size.map(Bytes::get))
    }
}
