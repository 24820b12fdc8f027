//! Tail loss probes (RFC 8985 section 7, as in Linux 6.12 `tcp_schedule_loss_probe`,
//! `tcp_send_loss_probe` and `tcp_process_tlp_ack`).
//!
//! If no ACK arrives for about two round trips, one segment is sent as a probe, so that SACK
//! detects a loss at the tail before the timeout does.
//!
//! Assumes SACK, and that the caller runs the timer.

use units::{Duration, Instant};

use crate::rack::TIMER_SLACK;
use crate::rtt::RTO_INITIAL;

/// The probe in flight.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tlp {
    /// `SND.NXT` when it was sent (`tlp_high_seq`).
    end: Option<u64>,
    /// It retransmitted a segment (`tlp_retrans`).
    is_retransmission: bool,
}

/// What an ACK shows about the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet, or there is no probe.
    Open,
    /// Nothing was lost.
    NoLoss,
    /// The probe repaired a loss, which requires one reduction.
    Repaired,
}

/// The facts of an ACK that concern the probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAck {
    pub(crate) ack: u64,
    /// Its DSACK reports the probe.
    pub(crate) dsack_of_probe: bool,
    /// It acknowledged nothing, changed no window, and SACKed nothing.
    pub(crate) pure_duplicate: bool,
}

impl Tlp {
    /// Linux `tcp_process_tlp_ack`. Forgets the probe once its outcome is known.
    pub(crate) fn on_ack(&mut self, ack: &ProbeAck) -> Verdict {
        let Some(end) = self.end else {
            return Verdict::Open;
        };
        if ack.ack < end {
            return Verdict::Open;
        }
        // RFC8985-7.4a, RFC8985-7.4b
        let verdict = if !self.is_retransmission || ack.dsack_of_probe {
            Verdict::NoLoss
        } else if ack.ack > end {
            Verdict::Repaired
        } else if ack.pure_duplicate {
            Verdict::NoLoss
        } else {
            return Verdict::Open;
        };
        self.end = None;
        verdict
    }

    /// A probe was sent, as new data or as a retransmission. `snd_nxt` is `SND.NXT` afterwards.
    pub(crate) const fn on_sent(&mut self, snd_nxt: u64, is_retransmission: bool) {
        self.end = Some(snd_nxt);
        self.is_retransmission = is_retransmission;
    }

    /// A reduction begins: the outcome of the probe is irrelevant.
    pub(crate) const fn forget(&mut self) {
        self.end = None;
    }

    /// A probe is in flight.
    #[inline]
    pub(crate) const fn is_in_flight(&self) -> bool {
        self.end.is_some()
    }

    /// A probe that retransmits the segment ending at `end` is in flight.
    pub(crate) fn retransmits_up_to(&self, end: u64) -> bool {
        self.is_retransmission && self.end == Some(end)
    }

    /// A probe that retransmits a segment is in flight.
    pub(crate) const fn is_retransmission_in_flight(&self) -> bool {
        self.end.is_some() && self.is_retransmission
    }
}

/// The time until the probe: `2 * srtt`, plus `rto_min` for the delayed ACK if a single segment is
/// in flight. The probe is never later than the retransmission timeout, which is due in `rto_in`
/// (or overdue).
pub(crate) fn probe_timeout(
    srtt: Option<Duration>,
    packets_out: u32,
    rto_min: Duration,
    rto_in: Option<Duration>,
) -> Duration {
    // RFC8985-7.2a, RFC8985-7.2b, RFC8985-7.2c
    let timeout = match srtt {
        Some(srtt) if packets_out == 1 => srtt * 2 + rto_min,
        Some(srtt) => srtt * 2 + TIMER_SLACK,
        None => RTO_INITIAL,
    };
    rto_in.map_or(timeout, |rto_in| timeout.min(rto_in))
}

/// The remainder of `rto` since `head_sent`; `None` if it has passed.
pub(crate) fn rto_left(head_sent: Instant, rto: Duration, now: Instant) -> Option<Duration> {
    let left = (head_sent + rto).saturating_since(now);
    (!left.is_zero()).then_some(left)
}
