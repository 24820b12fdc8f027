//! Packet captures and TCP logs, in and out.
//!
//! [`Writer`] writes pcapng (the IETF draft `draft-ietf-opsawg-pcapng`). [`packets`] reads pcap and
//! pcapng, [`segment`] finds the TCP segment or QUIC packet in a captured packet, and [`logs`] reads what kernels
//! and QUIC stacks log about a connection: archives of `tcp_info` (M-Lab), `ss -tin`, the trace
//! event `tcp:tcp_probe`, and qlog. [`open`] recognizes all of them by their first bytes, behind
//! gzip or Zstandard as well.
//!
//! Every reader streams: its memory is bounded by the largest block, line or event that it accepts
//! ([`LARGEST_BLOCK`], [`LARGEST_LINE`]) and does not grow with the file. A file that ends in the
//! middle of a block is read up to there, and [`Ending`] says so.

pub mod archive;
mod datagram;
mod error;
pub mod logs;
pub mod mahimahi;
mod open;
pub mod packets;
pub mod segment;
pub mod simulated;
pub mod simulated_quic;
mod writer;
mod zstandard;

pub use datagram::{Datagram, Header};
pub use error::{Ending, ReadError};
pub use open::{Input, Kind, from_reader, open, regular_file};
pub use packets::{Format, Frame, LinkType, PacketSummary};
pub use segment::{Carried, Decoder, Flags, Segment, TcpOptions};
pub use writer::Writer;

/// Largest block of a capture, in bytes. Wireshark accepts packets of 256 KiB.
pub const LARGEST_BLOCK: usize = 16 << 20;

/// Longest line of a log, and largest event of a qlog file, in bytes.
pub const LARGEST_LINE: usize = 4 << 20;
