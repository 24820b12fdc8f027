//! The sending side of a connection.

use congestion::{Phase, SlowStartExit, Window};
use units::{Bytes, Duration, Instant, Rate};

use crate::SenderConfig;
use crate::segment::{AckSegment, DataSegment};

/// Counters of a connection's sending side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SenderStats {
    /// Data segments sent, retransmissions included, SYNs not.
    pub segments_sent: u64,
    /// Data segments sent again.
    pub segments_retransmitted: u64,
    /// Segments marked lost; one whose retransmission is lost too counts again.
    pub segments_lost: u64,
    /// SYNs sent again.
    pub syn_retransmitted: u64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Tail loss probes.
    pub tlp_probes: u64,
    /// Recovery episodes begun.
    pub recoveries: u64,
    /// Reductions that were undone.
    pub undone: u64,
    /// Timeouts that F-RTO found spurious.
    pub spurious_timeouts: u64,
    /// Duplicates that the receiver reported.
    pub dsacks: u64,
    /// Payload bytes sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// When the first segment was marked lost.
    pub first_loss: Option<Instant>,
}

/// The sending side of a connection.
#[derive(Clone, Debug)]
pub struct Sender {
    config: SenderConfig,
    stats: SenderStats,
}

#[expect(unused_variables, missing_docs, reason = "the signatures come first")]
impl Sender {
    pub fn new(config: SenderConfig) -> Self {
        Self { config, stats: SenderStats::default() }
    }
    pub fn write(&mut self, now: Instant, bytes: u64) {}
    pub fn close(&mut self) {}
    pub fn open(&mut self, now: Instant) {}
    pub fn handle_ack(&mut self, now: Instant, ack: &AckSegment) {}
    pub fn handle_timeout(&mut self, now: Instant) {}
    pub fn poll_transmit(&mut self, now: Instant) -> Option<DataSegment> {
        None
    }
    pub fn poll_timeout(&self) -> Option<Instant> {
        None
    }
    pub fn stats(&self) -> &SenderStats {
        &self.stats
    }
    pub fn config(&self) -> &SenderConfig {
        &self.config
    }
    pub fn window(&self) -> Window {
        Window { cwnd: Bytes::ZERO, ssthresh: Bytes::MAX, smss: Bytes::new(1) }
    }
    pub fn ssthresh(&self) -> Bytes {
        self.window().ssthresh
    }
    pub fn bytes_in_flight(&self) -> Bytes {
        Bytes::ZERO
    }
    pub fn srtt(&self) -> Option<Duration> {
        None
    }
    pub fn min_rtt(&self) -> Option<Duration> {
        None
    }
    pub fn latest_rtt(&self) -> Option<Duration> {
        None
    }
    pub fn pacing_rate(&self) -> Rate {
        Rate::MAX
    }
    pub fn phase(&self) -> Phase {
        Phase::Open
    }
    pub fn rto(&self) -> Duration {
        Duration::from_secs(1)
    }
    pub fn snd_una(&self) -> u64 {
        0
    }
    pub fn snd_nxt(&self) -> u64 {
        0
    }
    pub fn slow_start_exit(&self) -> Option<SlowStartExit> {
        None
    }
    pub fn passive_decision(&self) -> Option<SlowStartExit> {
        None
    }
    pub fn is_complete(&self) -> bool {
        false
    }
    pub fn is_established(&self) -> bool {
        false
    }
    pub fn delivered(&self) -> Bytes {
        Bytes::ZERO
    }
    /// Segments marked lost and not yet delivered (Linux `lost_out`).
    pub fn segments_lost_out(&self) -> u32 {
        0
    }
    /// Segments SACKed (`sacked_out`).
    pub fn segments_sacked_out(&self) -> u32 {
        0
    }
    /// Retransmissions in flight (`retrans_out`).
    pub fn segments_retrans_out(&self) -> u32 {
        0
    }
    /// Reordering metric in segments (`reordering`).
    pub fn reordering(&self) -> u32 {
        3
    }
}
