//! Reconstructs TCP connections from captures and logs, and finds when and why slow start ended.
//!
//! [`Tracker`] takes the segments of a capture in the order of their times and returns one
//! [`Connection`] report per connection. A capture may come from the sender's host, the receiver's,
//! or from a point between; `view` reorders what it saw into the order in which the sender saw
//! it. `sender` then keeps the sender's scoreboard, and `startup` fits the growth of the flight
//! and gives the verdict. [`logs`] does the same for logs, which contain the window itself.
//!
//! ## What is exact and what is estimated
//!
//! Bytes, segments, handshake, options and, at the sender, times are exact. The congestion window
//! is never on the wire: it is estimated from the bytes in flight of a sender that waits for ACKs,
//! and every such number has an interval. A verdict has a confidence, and "cannot tell" is one.
//!
//! ## Memory
//!
//! A connection keeps at most 65,536 segments in flight, a logarithmic number
//! of points of the growing flight, and at most [`series::MOST_POINTS`] points for figures. At most
//! [`tracker::MOST_OPEN`] connections are open; beyond, one that is closed or was silent for longest
//! ends.

pub mod census;
mod counted;
mod drain;
mod encrypted;
mod events;
mod evidence;
mod exits;
mod feed;
pub mod file;
mod gaps;
mod growth;
pub mod identify;
pub mod logs;
mod quic;
pub mod replay;
pub mod report;
pub mod rules;
mod sender;
pub mod series;
mod spin;
mod startup;
pub mod thresholds;
pub mod tracker;
mod view;

pub use file::{FileReport, Options, analyze, analyze_reader};
pub use report::{
    Capacity, Class, Connection, Exit, Handshake, Limits, Reason, Retransmissions, Side, Vantage,
    Verdict, Wait,
};
pub use tracker::Tracker;
