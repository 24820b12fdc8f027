//! Kinds of traffic whose data goes in one direction. Results do not measure their flows one by
//! one.
//!
//! Web traffic follows Scharf 2011: responses of truncated Pareto size that arrive as a Poisson
//! process. `load` is their payload as a fraction of the link's rate in that direction; headers,
//! ACKs and retransmissions come on top.
//!
//! ## Deviations
//!
//! - Each response has a connection of its own, as under HTTP/1.0.
//! - The segments of a video follow each other at fixed times over one connection and do not adapt:
//!   data that the path cannot carry in time waits at the sender.

use std::path::Path;

use units::{Bytes, Duration, Rate};

use super::{Pending, Read, empty_segment, open, sources};
use crate::document::Table;
use crate::error::Error;
use crate::model::TrafficKind;

/// Sizes of Scharf 2011: mean, shape and largest.
const SCHARF: (Bytes, f64, Bytes) = (Bytes::new(14_000), 1.1, Bytes::new(10_000_000));
/// A common choice for DASH.
pub(super) const SEGMENT: Duration = Duration::from_secs(4);

/// `mean`, `shape` and `cut` of a truncated Pareto distribution.
pub(super) fn pareto(table: &Table<'_>) -> Result<(Bytes, f64, Bytes), Error> {
    let (mean, cut) = (table.or("mean", SCHARF.0)?, table.or("cut", SCHARF.2)?);
    if mean >= cut {
        let key = if table.has("mean") { "mean" } else { "cut" };
        return Err(table.refuse_at(
            key,
            format!(
                "no distribution has a mean of {mean} and a largest size of {cut}: the mean must be below the cut"
            ),
        ));
    }
    Ok((mean, table.or("shape", SCHARF.1)?, cut))
}

pub(super) fn web(table: &Table<'_>, _: &Path) -> Read {
    let pending = open(table)?;
    let (mean, shape, cut) = pareto(table)?;
    let kind = TrafficKind::Web {
        arrivals_per_s: 0.0,
        mean,
        shape,
        cut,
    };
    Ok((kind, pending))
}

pub(super) fn bulk(table: &Table<'_>, _: &Path) -> Read {
    let (count, spread) = sources(table, Duration::from_secs(1))?;
    let kind = TrafficKind::Bulk {
        count,
        spread,
        size: table.read("size")?,
    };
    Ok((kind, Pending::Nothing))
}

pub(super) fn video(table: &Table<'_>, _: &Path) -> Read {
    let every = table.or("segment", SEGMENT)?;
    let (count, spread) = sources(table, every)?;
    let segment = table.needed::<Rate>("bitrate")?.bytes_in(every);
    if segment.is_zero() {
        return Err(empty_segment(table, "bitrate"));
    }
    let kind = TrafficKind::Video {
        count,
        spread,
        segment,
        every,
    };
    Ok((kind, Pending::Nothing))
}

pub(super) fn datagrams(table: &Table<'_>, _: &Path) -> Read {
    let rate = table.needed("rate")?;
    let on = table.or("on", Duration::from_secs(1))?;
    let off = table.or("off", Duration::ZERO)?;
    let (count, spread) = sources(table, on + off)?;
    let kind = TrafficKind::Datagrams {
        count,
        spread,
        rate,
        on,
        off,
    };
    Ok((kind, Pending::Nothing))
}
