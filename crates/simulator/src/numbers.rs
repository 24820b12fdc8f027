//! The numbers of flows, which packets carry.
//!
//! A measured flow's number is its index in the scenario. Numbers of background flows have a bit of
//! their own, and those of sources of datagrams, which have no flow, another one.

/// Numbers of background flows have this bit.
pub const BACKGROUND: u32 = 1 << 31;
/// Numbers of datagram sources also have this bit.
pub const DATAGRAMS: u32 = BACKGROUND | 1 << 30;

/// Whether a number is that of a datagram source.
pub const fn is_datagrams(flow: u32) -> bool {
    flow & DATAGRAMS == DATAGRAMS
}
