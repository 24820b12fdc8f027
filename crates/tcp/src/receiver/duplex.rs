//! The receiving side of a connection in which this host sends data too: the handshake, ACKs that
//! ride on that data, and interactive mode.
//!
//! Linux 6.12 to 6.18 `tcp_event_data_sent`, `tcp_event_ack_sent`, `tcp_fin`,
//! `inet_csk_in_pingpong_mode`; RFC 1122, section 4.2.3.2.
//!
//! **Interactive mode** ("pingpong"). The connection becomes interactive when this host sends data
//! within the ATO after it received some. The threshold is a single such reply
//! (`tcp_pingpong_thresh`, 1 by default since Linux 6.7; before that a constant, which was 1 and,
//! from 5.1 until 2022, 3). While it is interactive, quick ACKs wait, and a pushed or small segment
//! is not acknowledged at once: the reply shall carry the acknowledgment. If none does until the
//! delayed-ACK timer fires, or if a duplicate, a congestion mark or a segment beyond the window
//! begins quick-ACK mode, the connection is no longer interactive. More than one full segment is
//! acknowledged at once in either mode.
//!
//! **FIN.** If the peer closes first, its FIN makes the connection interactive, and the
//! acknowledgment waits for data or for the FIN of this side, at most for the ATO. Once this side
//! has closed, the peer's FIN is acknowledged at once.
//!
//! ## Deviations
//!
//! - Linux compares times in ticks of its clock, here they are exact.
//! - The delayed ACK is bounded by the RTT of the handshake; Linux uses that of the data that this
//!   host sends.

use units::{Duration, Instant};

use super::Receiver;
use crate::segment::AckSegment;

impl Receiver {
    /// The data of the other direction waits for the third segment of the handshake: the SYN-ACK is
    /// retransmitted until [`Self::complete_handshake`] (RFC 6298, section 2: after one second, then
    /// with back-off). Call it before the SYN arrives.
    pub const fn listen(&mut self) {
        self.fin_waits = true;
        self.awaits_third = true;
    }

    /// This host opened the connection, and the SYN-ACK has arrived, `rtt` after the SYN (`None` if
    /// the SYN was retransmitted). Returns the third segment of the handshake, which leaves at once
    /// and advertises the receive window. Call it for each SYN-ACK, on the receiver of the direction
    /// from the passive opener; only the first one counts for the RTT.
    pub fn connect(
        &mut self,
        now: Instant,
        syn_ack: &AckSegment,
        rtt: Option<Duration>,
    ) -> AckSegment {
        if self.rcv_nxt == 0 && syn_ack.ts_val != 0 {
            self.ts_recent = syn_ack.ts_val;
        }
        if !self.is_connected {
            self.is_connected = true;
            self.fin_waits = true;
            self.window.open(now);
            if let Some(rtt) = rtt {
                self.rtt.on_sample(rtt, 0, 0);
            }
        }
        self.make_ack(now)
    }

    /// The third segment of the handshake has arrived, or data that carries its acknowledgment. Call
    /// it once, before [`Self::handle_data`] of that data, on the receiver that answered the SYN.
    /// Returns the time since the SYN-ACK (`None` if there were several), and how often the SYN-ACK
    /// was retransmitted: the arguments of [`crate::Sender::accept`].
    pub fn complete_handshake(&mut self, now: Instant) -> (Option<Duration>, u32) {
        self.fin_waits = true;
        self.window.open(now);
        if self.awaits_third {
            self.awaits_third = false;
            self.pending.syn_ack = false;
            self.delayed_ack_at = Instant::MAX;
        }
        let rtt = self
            .syn_ack_sent
            .take()
            .filter(|_| self.syn_acks == 1)
            .map(|sent| now.saturating_since(sent));
        if let Some(rtt) = rtt {
            self.rtt.on_sample(rtt, 0, 0);
        }
        (rtt, self.syn_acks.saturating_sub(1))
    }

    /// The acknowledgment in a data segment or FIN that this host sends at `now`. It replaces one
    /// that waits for the delayed-ACK timer. `None` if it would repeat the last ACK: the same ACK
    /// number and window, no SACK blocks and no ECN echo. Until data has arrived, each data segment
    /// of the active opener acknowledges the SYN-ACK, because the third segment may be lost.
    pub fn take_ack(&mut self, now: Instant) -> Option<AckSegment> {
        self.reports_news().then(|| {
            let ack = self.make_ack(now);
            // It does not leave alone.
            self.stats.acks_sent -= 1;
            ack
        })
    }

    /// Whether an ACK would not repeat the last one.
    fn reports_news(&self) -> bool {
        self.is_connected && self.rcv_nxt == 0
            || self.pending.scheduled
            || self.pending.now
            || self.unacknowledged() > 0
            || self.echo_marks
            || !self.sacks.is_empty()
            || u64::from(self.window.candidate(self.rcv_mss, self.held_memory()))
                > self.window.remaining(self.rcv_nxt)
    }

    /// This host sends data at `now` (not a FIN without data). Call it after [`Self::take_ack`].
    pub fn on_data_sent(&mut self, now: Instant) {
        if now.saturating_since(self.last_data) < self.ato {
            self.quick_mask = 0;
        }
    }

    /// The FIN of this side leaves: a FIN of the peer is acknowledged at once from now on
    /// (`tcp_fin`, in `TCP_FIN_WAIT1` and `TCP_FIN_WAIT2`). Call it after [`Self::take_ack`].
    pub const fn on_fin_sent(&mut self) {
        self.fin_waits = false;
    }

    /// Whether the connection is interactive.
    #[must_use]
    pub const fn is_interactive(&self) -> bool {
        self.quick_mask == 0
    }

    pub(super) const fn leave_interactive_mode(&mut self) {
        self.quick_mask = u32::MAX;
    }

    /// The FIN has arrived in order (`tcp_fin`).
    pub(super) const fn on_fin(&mut self) {
        self.quick_mask = 0;
    }
}
