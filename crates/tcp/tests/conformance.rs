//! The sender against a scripted peer.
//!
//! The rows are those of google/packetdrill's scripts for Linux (commit 2c4001c4) under
//! `slow_start`, `cubic`, `fast_recovery`, `fast_retransmit`, `limited_transmit` and `sack`: the
//! same ACK streams and the same assertions, in this crate's notation. Each test has the name of
//! its script.
//!
//! # Rows that cannot be expressed
//!
//! - `sack/sack-route-refresh-ip-tos`: there are no routes to refresh. Its purpose, that SACKed
//!   data is never retransmitted, is asserted by every SACK test here, and by
//!   `sacked_data_is_never_retransmitted`.
//! - `cubic/cubic-rack-reo-timeout-retrans-failed-incoming-data`, second half: the local queue
//!   refuses the retransmission, and a data segment arrives. This sender has no local queue, and
//!   its peer sends no data. The first half is `cubic_rack_reo_timeout`.
//! - `slow_start/slow-start-fq-ack-per-2pkt`, exact departures: they depend on the quantum and the
//!   credit of the queue discipline. The windows and the spacing by the pacing rate are asserted.

#[path = "conformance/cubic.rs"]
mod cubic;
#[path = "conformance/fast_recovery.rs"]
mod fast_recovery;
#[path = "conformance/fast_retransmit.rs"]
mod fast_retransmit;
#[path = "conformance/newreno.rs"]
mod newreno;
#[path = "conformance/numbers.rs"]
mod numbers;
#[path = "conformance/pair.rs"]
mod pair;
#[path = "conformance/sack.rs"]
mod sack;
#[path = "conformance/script.rs"]
mod script;
#[path = "conformance/slow_start.rs"]
mod slow_start;
