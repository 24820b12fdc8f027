//! The discrete-event core: who acts next.
//!
//! It knows no packet and no protocol. A [`Calendar`] holds at most one entry for each component
//! (a link, a timer), so its size is the number of components, not of packets in flight; the order
//! is total: time first, then the component's number. Same inputs, same order, on any machine.

mod calendar;

pub use calendar::{Calendar, Component};
