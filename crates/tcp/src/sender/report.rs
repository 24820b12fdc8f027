//! The sender's counters and state.

use congestion::{CongestionControl, Phase, Resumption, SlowStartExit, Window};
use units::{Bytes, Duration, Instant, Rate};

use super::{Control, Sender};

/// Counters of a connection's sending side.
///
/// The counts that change often are together, at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct SenderStats {
    /// Data segments sent, including retransmissions and excluding SYNs.
    pub segments_sent: u64,
    /// Payload bytes sent, including retransmissions.
    pub bytes_sent: u64,
    /// Payload bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Data segments retransmitted.
    pub segments_retransmitted: u64,
    /// Segments marked lost; one whose retransmission is lost too counts again.
    pub segments_lost: u64,
    /// Loss marks that an undo removed: the segments were only late.
    pub losses_withdrawn: u64,
    /// SYNs retransmitted.
    pub syn_retransmitted: u64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Tail loss probes.
    pub tlp_probes: u64,
    /// Probes of a closed receive window.
    pub window_probes: u64,
    /// Recovery episodes started.
    pub recoveries: u64,
    /// Reductions that were undone.
    pub undone: u64,
    /// Timeouts that F-RTO found spurious.
    pub spurious_timeouts: u64,
    /// Duplicates that the receiver reported, in segments.
    pub dsacks: u64,
    /// When the first segment was marked lost.
    pub first_loss: Option<Instant>,
}

/// Why a sender sends nothing now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    /// The congestion window is full, or too little of it is free for a burst.
    CongestionWindow,
    /// The receive window has no place for the next segment.
    ReceiveWindow,
    /// The application has written no more data, or too little for a segment.
    Application,
    /// The next burst waits for its time.
    Pacing,
    /// It repairs losses.
    Recovery,
}

impl SenderStats {
    /// Segments declared lost, without those whose declaration was taken back. Each stands for one
    /// transmission, so there are never more than segments sent.
    #[must_use]
    pub const fn net_losses(&self) -> u64 {
        self.segments_lost.saturating_sub(self.losses_withdrawn)
    }
}

impl Sender {
    /// Counters so far.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// `cwnd` and `ssthresh`.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.cwnd.get()
    }

    /// Slow-start threshold.
    #[must_use]
    pub const fn ssthresh(&self) -> Bytes {
        self.cwnd.get().ssthresh
    }

    /// Bytes in flight. A partial segment counts as a full one.
    #[must_use]
    pub fn bytes_in_flight(&self) -> Bytes {
        self.size(self.board.in_flight())
    }

    /// Smoothed round-trip time, once there is a sample.
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        self.rtt.srtt()
    }

    /// Smallest round-trip time of the last 300 s, once there is a sample.
    #[must_use]
    pub const fn min_rtt(&self) -> Option<Duration> {
        self.rtt.min()
    }

    /// The latest round-trip time measured: that of the newest segment of an ACK.
    #[must_use]
    pub const fn latest_rtt(&self) -> Option<Duration> {
        self.rtt.latest()
    }

    /// The round-trip time that the last ACK measured, from the newest segment that it delivered.
    /// `None` if it measured none.
    #[must_use]
    pub const fn rtt_sample(&self) -> Option<Duration> {
        self.rtt.of_ack()
    }

    /// The pacing rate, which is computed even if the sender does not pace. [`Rate::MAX`] before
    /// there is one.
    #[must_use]
    pub const fn pacing_rate(&self) -> Rate {
        self.pacer.rate()
    }

    /// Whether bursts are paced.
    #[must_use]
    pub const fn is_paced(&self) -> bool {
        self.pacer.is_on()
    }

    /// State of the sender.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// Retransmission timeout, including back-off.
    #[must_use]
    pub const fn rto(&self) -> Duration {
        self.timer.rto()
    }

    /// First unacknowledged offset.
    #[must_use]
    pub const fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Next new offset to send.
    #[must_use]
    pub const fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// The slow-start exit of the first slow start, once it has happened.
    #[must_use]
    pub fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.cc.slow_start_exit()
    }

    /// The decisions that a passive start-up made and did not carry out.
    #[must_use]
    pub fn passive_decision(&self) -> Option<SlowStartExit> {
        self.cc.passive_decision()
    }

    /// What the congestion control made of what earlier connections over the path had saved.
    #[must_use]
    pub fn resumption(&self) -> Option<Resumption> {
        self.cc.resumption()
    }

    /// Whether the application limited the sender: its data had run out when it wrote again, and what
    /// was in flight then is not all delivered.
    #[must_use]
    pub const fn was_app_limited(&self) -> bool {
        self.rate.is_app_limited()
    }

    /// Why nothing leaves, once [`Sender::poll_transmit`] has returned `None`. The windows are asked
    /// in the order of `tcp_write_xmit` (Linux 6.12). `None` before the handshake is over.
    #[must_use]
    pub fn limit(&self) -> Option<Limit> {
        if !self.is_established() {
            return None;
        }
        let usable = self.peer_window.usable(self.snd_nxt);
        Some(if matches!(self.phase, Phase::Recovery | Phase::Loss) {
            Limit::Recovery
        } else if self.unsent() == 0 {
            Limit::Application
        } else if self.cwnd_left() == 0 {
            Limit::CongestionWindow
        } else if !self.can_send_new() {
            Limit::ReceiveWindow
        } else if self.pacer.is_blocked() {
            Limit::Pacing
        } else if self.unsent() < self.smss() {
            Limit::Application
        } else if usable < u64::from(self.cwnd_left()) * self.smss() {
            // A burst waits for more of the smaller window.
            Limit::ReceiveWindow
        } else {
            Limit::CongestionWindow
        })
    }

    /// The congestion control.
    #[must_use]
    pub const fn congestion_control(&self) -> &Control {
        &self.cc
    }

    /// Whether the handshake is over.
    #[must_use]
    pub fn is_established(&self) -> bool {
        self.handshake.is_established()
    }

    /// Whether the stream is closed and all of it acknowledged.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_established() && self.stream.ends_at(self.snd_una)
    }

    /// Whether nothing more may leave until the next event.
    #[inline]
    #[must_use]
    pub const fn is_pass_over(&self) -> bool {
        self.pass.is_over()
    }

    /// Bytes delivered so far: acknowledged or SACKed. A partial segment counts as a full one.
    #[must_use]
    pub const fn delivered(&self) -> Bytes {
        self.rate.delivered()
    }

    /// Payload acknowledged or SACKed so far, each byte once. Without SACK, what duplicate ACKs report
    /// does not count. What a receiver discards after it SACKed it no longer counts.
    #[must_use]
    pub fn payload_delivered(&self) -> Bytes {
        let delivered = self.stats.bytes_acked + self.board.sacked_bytes();
        Bytes::new(delivered.min(self.stream.written()))
    }

    /// Segments sent and not acknowledged cumulatively (`packets_out`).
    #[must_use]
    pub const fn segments_out(&self) -> u32 {
        self.board.packets_out()
    }

    /// Segments marked lost and not yet delivered (`lost_out`).
    #[must_use]
    pub const fn segments_lost_out(&self) -> u32 {
        self.board.lost_out()
    }

    /// Segments SACKed (`sacked_out`).
    #[must_use]
    pub const fn segments_sacked_out(&self) -> u32 {
        self.board.sacked_out()
    }

    /// Retransmissions in flight (`retrans_out`).
    #[must_use]
    pub const fn segments_retrans_out(&self) -> u32 {
        self.board.retrans_out()
    }

    /// Reordering metric in segments (`reordering`).
    #[must_use]
    pub const fn reordering(&self) -> u32 {
        self.reordering.limit()
    }

    /// How often reordering was seen (`reord_seen`).
    #[must_use]
    pub const fn reordering_seen(&self) -> u32 {
        self.reordering.seen()
    }

    /// Recomputes the counters from the segments and compares them, for tests. Takes time in
    /// proportion to the window.
    #[must_use]
    pub fn is_consistent(&self) -> bool {
        let head = self.board.head().map_or(self.snd_nxt, |head| head.seq);
        let window = self.cwnd.get();
        self.board.is_consistent(self.config.sack)
            && head <= self.snd_una
            && self.snd_una <= self.snd_nxt
            && self.snd_nxt <= self.stream.end()
            && window.cwnd >= window.smss
    }
}
