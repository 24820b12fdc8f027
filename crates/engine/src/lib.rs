//! The discrete-event core: selects the component that acts next.
//!
//! The engine contains no packet and no protocol. A [`Calendar`] holds at most one entry for each
//! component (a link, a timer), so its size is the number of components, not of packets in flight.
//! The order is total: time first, then the component's number. The same input gives the same order
//! on every machine.

mod calendar;

pub use calendar::{Calendar, Component};
