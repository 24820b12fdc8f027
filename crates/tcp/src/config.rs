//! Settings of a connection. Defaults are those of Linux 6.x.

use congestion::Algorithm;
use units::{Bytes, Duration};

/// The sending side.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Start-up, avoidance and recovery, or a monolithic congestion control.
    pub algorithm: Algorithm,
    /// Sender maximum segment size in payload bytes; 1448 fills 1500 bytes of IP with timestamps.
    pub smss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Whether segments are paced as under `fq`; off as without it.
    pub pacing: bool,
    /// Largest burst that leaves unpaced as one TSO packet, in segments (64 KB: 45); 1 turns TSO
    /// off.
    pub tso_segments: u32,
    /// Whether a pause longer than the RTO shrinks the window (`tcp_slow_start_after_idle`).
    pub restart_after_idle: bool,
    /// Floor of the RTT variance term in the RTO (`rto_min`).
    pub rto_min: Duration,
    /// Whether data segments are ECN-capable.
    pub ecn: bool,
    /// Whether the peer permitted SACK; without, losses are repaired as NewReno does.
    pub sack: bool,
    /// Without SACK: the retransmission timer starts anew at the first partial ACK of a recovery
    /// alone (RFC 6582, section 4, "Impatient"). Linux starts it anew at each.
    pub impatient: bool,
    /// TCP Small Queues: so much of the pacing rate, as a part of a second, 2 to the power of minus
    /// this, may wait in the sender's own device (`sk_pacing_shift`: 10; Wi-Fi drivers relax it to
    /// 8 or 7). `None` knows no device.
    pub small_queue: Option<u8>,
    /// How losses are found, and what a timeout means.
    pub loss_detection: LossDetection,
    /// Whether an ACK earns growth for all that it acknowledges, as since Linux 4.0 (RFC 3465
    /// without its limit); else for one segment, as before (`tcp_abc` 0).
    pub byte_counting: bool,
    /// Seed of what the congestion control draws (the phase of BBR's PROBE_BW).
    pub seed: u64,
}

/// How losses are found, and what a timeout means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum LossDetection {
    /// Linux 6.x: RACK-TLP (RFC 8985), and timeouts that F-RTO may find spurious are undone.
    #[default]
    Rack,
    /// Linux 2.6.24: forward acknowledgment, no probes, and F-RTO that answers a spurious timeout
    /// by a reduction; after a true one everything is sent again that is not SACKed. It needs SACK.
    Fack,
}

/// The receiving side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Largest receive buffer that autotuning may reach (`tcp_rmem[2]`), in bytes of window.
    pub receive_buffer: Bytes,
    /// Window of the SYN-ACK.
    pub initial_window: Bytes,
    /// How the buffer grows with what arrives. Either way the announced window opens from
    /// `initial_window` with each segment that arrives, as long as the buffer has room for it.
    pub autotuning: Autotuning,
    /// How segments are acknowledged.
    pub ack_policy: AckPolicy,
    /// Whether the peer permitted SACK.
    pub sack: bool,
}

/// How the receive buffer grows with what arrives (dynamic right-sizing).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Autotuning {
    /// As since Linux 6.16.
    #[default]
    Current,
    /// As in Linux 5.4 to 6.2, whose receivers the documents of 2020 to 2024 had: 16 segments of
    /// cushion, and neither what waits to be read nor what lies out of order counts.
    Linux54,
    /// Not: it is `receive_buffer` from the start (`SO_RCVBUF`).
    Off,
}

/// How segments are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum AckPolicy {
    /// Linux: 16 quick ACKs at the start, then every second full segment or after the ATO.
    #[default]
    Delayed,
    /// Every segment at once.
    EverySegment,
}
