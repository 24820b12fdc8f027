//! Fits recorded connections to an experiment, as the Common TCP Evaluation Suite does.
//!
//! Source: draft-irtf-iccrg-tcpeval-01, sections on traffic ("Loads", "Shuffling", "Prefill");
//! where the draft and its ns-2 scripts differ, the function says which it follows. The order is:
//! scale the start times ([`scale`]), shuffle the bins ([`Shuffle`]), thin and compress what starts
//! before the measurement ([`Prefill`]), and find how long a run must be ([`Stationarity`]).
//!
//! - **Scale.** `t_exp = scale * t_trace`: a smaller scale gives a higher load. Only start times
//!   change; waits within a connection do not.
//! - **Load.** The bytes on the wire of one direction over what its link could carry. [`Framing`]
//!   defines the bytes on the wire.

mod estimate;
mod load;
mod mrg32k3a;
mod prefill;
mod shuffle;
mod stationarity;

use units::{Duration, Instant};

use crate::Connection;

pub use estimate::{Burst, Estimate};
pub use load::{Framing, Offered, arrivals_per_s};
pub use mrg32k3a::Mrg32k3a;
pub use prefill::{Prefill, max_rtt, max_rtt_access, prefill_time};
pub use shuffle::{SUITE_SEED, Shuffle, bin_length, suite_stream};
pub use stationarity::{BinnedTraffic, Stationarity};

/// Multiplies the start time by `factor`: `t_exp = factor * t_trace`.
pub fn scale(connection: &mut Connection, factor: f64) {
    let nanos = connection.start.as_nanos() as f64 * factor;
    connection.start = Instant::from_nanos(nanos as u64);
}

/// A span times a factor, rounded down to a nanosecond.
fn times(span: Duration, factor: f64) -> Duration {
    Duration::from_nanos((span.as_nanos() as f64 * factor) as u64)
}
