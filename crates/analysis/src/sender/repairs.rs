//! Retransmissions, segments that come late, and duplicates that the receiver reports.

use crate::view::Ack;

use super::moments::Sign;
use super::{LEAST_RTO, Sender};

impl Sender {
    /// A sign of congestion now.
    pub(super) fn sign(&self, at: i64) -> Sign {
        Sign {
            at,
            sender_at: at - self.lag,
            delivered: self.delivered(),
            flight: self.flight(),
        }
    }

    /// Whether a segment fills a gap of the capture that no retransmission explains: it came out of
    /// order, or the capture lost the first copy.
    pub(super) fn fills_hole(&mut self, at: i64, start: i64, end: i64) -> bool {
        let filled = self.holes.remove(start, end);
        if filled == 0 {
            return false;
        }
        let is_late = at - self.hole_since > self.rtt_min.unwrap_or(LEAST_RTO) / 2;
        // Beyond the place of the loss, only the retransmission arrives.
        let is_repair = self.is_elsewhere() && is_late;
        if is_repair && self.first_gap.is_none() {
            self.first_gap = self.open_gap;
        }
        !is_repair
    }

    pub(super) fn on_retransmission(&mut self, at: i64, start: i64, end: i64) {
        let is_last = end >= self.next;
        let silence = at - self.last_ack_seen;
        let rto = ((self.srtt + 4.0 * self.rttvar) as i64).max(LEAST_RTO);
        let has_evidence = self.duplicates > 0 || self.sacked.bytes() > 0;
        let counts = &mut self.retransmissions;
        counts.segments += 1;
        counts.bytes += (end - start) as u64;
        let is_timeout = start <= self.una && silence * 5 >= rto * 4 && !has_evidence
            || silence >= rto && start <= self.una;
        let is_probe =
            is_last && !has_evidence && silence as f64 > 1.2 * self.srtt && silence < rto;
        if is_probe {
            counts.tail_probe += 1;
        } else if is_timeout {
            counts.timeout += 1;
        } else {
            counts.fast += 1;
        }
        let first = self.sent.partition_point(|sent| sent.end <= start);
        for sent in self.sent.iter_mut().skip(first) {
            if sent.start >= end {
                break;
            }
            sent.is_clean = false;
        }
        // A probe asks whether the tail is lost; only SACK blocks or an RTO say that it is.
        if is_probe {
            return;
        }
        if self.first_retransmission.is_none() {
            self.first_retransmission = Some((self.sign(at), is_timeout));
        }
        if self.recovery_until.is_none() {
            self.recovery_until = Some(self.next);
        }
    }

    /// Counts duplicate segments that the receiver reports (RFC 2883).
    pub(super) fn count_duplicates(&mut self, ack: &Ack) {
        let mut blocks = ack.sack.iter().flatten();
        let Some(&(start, end)) = blocks.next() else {
            return;
        };
        let inside = blocks
            .next()
            .is_some_and(|other| other.0 <= start && end <= other.1);
        if end <= ack.ack || inside {
            self.retransmissions.spurious += 1;
        }
    }
}
