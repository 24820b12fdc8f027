//! Limits that the tables state and the readers check.

use units::{Bytes, Duration};
pub(crate) use workload::generate::keys::{ARRIVALS, MIN_INTERVAL};

/// Most runs of a scenario.
pub(crate) const MAX_RUNS: u64 = 1_000_000;
/// Largest seed: the largest integer of TOML.
pub(crate) const MAX_SEED: u64 = i64::MAX as u64;
/// Longest name, and longest summary, in characters.
pub(crate) const MAX_NAME: u32 = 80;
pub(crate) const MAX_SUMMARY: u32 = 200;
/// Most flows of a scenario.
pub(crate) const MAX_FLOWS: u32 = 100_000;
/// Most tables of background traffic.
pub(crate) const MAX_TRAFFIC: u32 = 64;
/// Most routers before the bottleneck.
pub(crate) const MAX_ROUTERS: u32 = 32;
/// Most tables of hosts, and most hosts.
pub(crate) const MAX_HOST_TABLES: u32 = 64;
pub(crate) const MAX_HOSTS: u64 = 100_000;
/// Most nodes beside the ends of the path, and most links beside it.
pub(crate) const MAX_NODES: u32 = 1_000;
pub(crate) const MAX_LINKS: u32 = 4_000;
/// Most steps of a rate.
pub(crate) const MAX_STEPS: u32 = 100_000;
/// Shortest step, because each costs time to simulate.
pub(crate) const MIN_STEP: Duration = Duration::from_micros(1);
/// Shortest total length of the steps of a rate.
pub(crate) const MIN_LAP: Duration = Duration::from_millis(1);
/// Most bytes that a link may count on top of each packet.
pub(crate) const MAX_OVERHEAD: u64 = 1500;
/// Largest initial window in segments; a jump start over a whole BDP stays below it.
pub(crate) const MAX_INITIAL_WINDOW: u64 = 65_535;
/// A fraction of a second as a power of two: 60 us.
pub(crate) const MAX_PACING_SHIFT: u64 = 14;
/// A receiver that takes less than two full segments deadlocks with delayed ACKs; the window field
/// of 16 bits is scaled by at most 2^14 (RFC 7323, section 2.3).
/// The smallest MSS is that which Linux accepts as TCP_MAXSEG.
pub(crate) const MSS: (Bytes, Bytes) = (Bytes::new(88), Bytes::new(1448));
pub(crate) const RECEIVE_BUFFER: (Bytes, Bytes) = (Bytes::new(2 * 1448), Bytes::new(65_535 << 14));
/// Most delays of a list.
pub(crate) const MAX_DELAYS: u32 = 1_000;
/// Longest file of connection vectors in bytes, and most connections that it may have; each takes
/// about 250 bytes of memory.
pub(crate) const MAX_VECTOR_FILE: u64 = 400_000_000;
pub(crate) const MAX_VECTORS: usize = 4_000_000;
