//! Tail loss probes (RFC 8985 section 7, as in Linux 6.12 `tcp_schedule_loss_probe`,
//! `tcp_send_loss_probe` and `tcp_process_tlp_ack`).
//!
//! When ACKs stop coming, one segment is sent after about two round trips, so that a loss at the
//! tail is found by SACK and not by a timeout.
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
    /// It repeated a segment (`tlp_retrans`).
    is_retransmission: bool,
}

/// What an ACK says about the probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Nothing yet, or there is no probe.
    Open,
    /// Nothing was lost.
    NoLoss,
    /// The probe repaired a loss, which asks for one reduction.
    Repaired,
}

/// How an ACK may bear on the probe.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProbeAck {
    pub(crate) ack: u64,
    /// Its DSACK reports the probe.
    pub(crate) dsack_of_probe: bool,
    /// It acknowledged nothing, changed no window, and SACKed nothing.
    pub(crate) pure_duplicate: bool,
}

impl Tlp {
    /// Linux `tcp_process_tlp_ack`. Forgets the probe when its fate is known.
    pub(crate) fn on_ack(&mut self, ack: &ProbeAck) -> Verdict {
        let Some(end) = self.end else {
            return Verdict::Open;
        };
        if ack.ack < end {
            return Verdict::Open;
        }
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

    /// A probe was sent, as new data or as a retransmission; `SND.NXT` is `snd_nxt` afterwards.
    pub(crate) const fn on_sent(&mut self, snd_nxt: u64, is_retransmission: bool) {
        self.end = Some(snd_nxt);
        self.is_retransmission = is_retransmission;
    }

    /// A reduction begins, whatever becomes of the probe.
    pub(crate) const fn forget(&mut self) {
        self.end = None;
    }

    /// A probe is in flight.
    #[inline]
    pub(crate) const fn is_in_flight(&self) -> bool {
        self.end.is_some()
    }

    /// A probe that repeats the segment that ends at `end` is in flight.
    pub(crate) fn repeated_up_to(&self, end: u64) -> bool {
        self.is_retransmission && self.end == Some(end)
    }

    /// A probe that repeats a segment is in flight.
    pub(crate) const fn is_resent(&self) -> bool {
        self.end.is_some() && self.is_retransmission
    }
}

/// When to probe, from now on: `2 * srtt`, and `rto_min` for the delayed ACK of a single segment,
/// never later than the retransmission timeout, which is due in `rto_in` (or already was).
pub(crate) fn probe_timeout(
    srtt: Option<Duration>,
    packets_out: u32,
    rto_min: Duration,
    rto_in: Option<Duration>,
) -> Duration {
    let timeout = match srtt {
        Some(srtt) if packets_out == 1 => srtt * 2 + rto_min,
        Some(srtt) => srtt * 2 + TIMER_SLACK,
        None => RTO_INITIAL,
    };
    rto_in.map_or(timeout, |rto_in| timeout.min(rto_in))
}

/// What is left of `rto` since `head_sent`; `None` when it is over.
pub(crate) fn rto_left(head_sent: Instant, rto: Duration, now: Instant) -> Option<Duration> {
    let left = (head_sent + rto).saturating_since(now);
    (!left.is_zero()).then_some(left)
}
