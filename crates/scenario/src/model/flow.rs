//! Flows as data, without a file.

use congestion::Algorithm;
use tcp::{AckPolicy, Autotuning, LossDetection};
use units::{Bytes, Duration, Instant};

/// A sender, its receiver, and the data it sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in results; the algorithm where none is given.
    pub name: String,
    /// Start-up and avoidance, or a monolithic congestion control.
    pub algorithm: Algorithm,
    /// Bytes to send; `None` for as many as it can.
    pub size: Option<Bytes>,
    /// Time for which it has data to send, from `start`; `None` until `size` is sent or the run
    /// ends.
    pub duration: Option<Duration>,
    /// When its SYN leaves.
    pub start: Instant,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Whether its segments are paced, as under `fq`.
    pub pacing: bool,
    /// Largest receive window that autotuning may reach.
    pub receive_buffer: Bytes,
    /// How the receive window grows to it.
    pub autotuning: Autotuning,
    /// Receive window that the handshake advertises.
    pub syn_window: Bytes,
    /// How the receiver acknowledges.
    pub ack_policy: AckPolicy,
    /// Whether its data segments are ECN-capable.
    pub ecn: bool,
    /// Whether both ends use SACK; without it, losses are repaired as by NewReno (RFC 6582).
    pub sack: bool,
    /// Without SACK: whether only the first partial ACK restarts the retransmission timer.
    pub impatient: bool,
    /// TCP Small Queues (`sk_pacing_shift`): the path's first link is then the sender's own device.
    pub small_queue: Option<u8>,
    /// Whether an idle time longer than the RTO reduces the window.
    pub restart_after_idle: bool,
    /// Largest unpaced burst of one TSO packet in segments; 1 turns TSO off.
    pub tso_segments: u32,
    /// One-way delay of the flow's own access link, in both directions.
    pub extra_delay: Duration,
    /// How losses are detected, and how a timeout is handled.
    pub loss_detection: LossDetection,
    /// Whether an ACK increases the window for all bytes that it acknowledges, or for one segment.
    pub byte_counting: bool,
    /// When the application has data to send.
    pub application: Application,
}

/// When an application has data to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Application {
    /// Always, until everything is sent.
    #[default]
    Bulk,
    /// `write` bytes at the start, and again each `every`.
    Periodic {
        /// Bytes of one write.
        write: Bytes,
        /// Time from one write to the next.
        every: Duration,
    },
    /// `write` bytes at the start, and again `pause` after all of it is acknowledged.
    Pausing {
        /// Bytes of one write.
        write: Bytes,
        /// Time between the acknowledgment and the next write.
        pause: Duration,
    },
}

/// Linux restarts from the initial window after an idle time, sends TSO packets of up to 64 KiB (45
/// segments of 1448 bytes), and does not pace without `fq`.
pub(crate) const DEFAULT_TSO_SEGMENTS: u32 = 45;
/// RFC 6928.
pub(crate) const DEFAULT_INITIAL_WINDOW: u32 = 10;
/// More than any preset has in flight, so that the path is the limit, not the receiver.
pub(crate) const DEFAULT_RECEIVE_BUFFER: Bytes = Bytes::new(64 << 20);
/// The window field of a SYN-ACK is not scaled (RFC 7323, section 2.2).
pub(crate) const DEFAULT_SYN_WINDOW: Bytes = Bytes::new(65_535);
impl Flow {
    /// A bulk flow with Linux's settings that starts at once and ends with the run.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        Self {
            name: algorithm.to_string(),
            algorithm,
            size: None,
            duration: None,
            start: Instant::ZERO,
            initial_window: DEFAULT_INITIAL_WINDOW,
            pacing: false,
            receive_buffer: DEFAULT_RECEIVE_BUFFER,
            syn_window: DEFAULT_SYN_WINDOW,
            ack_policy: AckPolicy::Delayed,
            ecn: false,
            sack: true,
            impatient: false,
            small_queue: None,
            restart_after_idle: true,
            tso_segments: DEFAULT_TSO_SEGMENTS,
            extra_delay: Duration::ZERO,
            autotuning: Autotuning::default(),
            loss_detection: LossDetection::default(),
            byte_counting: true,
            application: Application::Bulk,
        }
    }
}
