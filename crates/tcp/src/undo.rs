//! Undoing a spurious reduction: Eifel and DSACK (Linux 6.12 `tcp_may_undo` and related functions;
//! RFC 3522, 4015, 3708).
//!
//! A reduction was spurious if the ACK that ends it echoes a timestamp older than the first
//! retransmission (the original arrived), if nothing was retransmitted at all, or if the receiver
//! has reported every retransmission as a duplicate.
//!
//! Assumes that the caller restores the window, and reports when a reduction begins and ends.

use crate::rack::timestamp_before;

/// The state needed to detect a spurious reduction.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Undo {
    /// `snd_una` when the reduction began (`undo_marker`).
    marker: Option<u64>,
    /// Retransmissions not reported as duplicates (`undo_retrans`). `None` before the first, so
    /// that zero means that all were reported.
    retransmissions: Option<u32>,
    /// Timestamp of the first retransmission (`retrans_stamp`).
    stamp: Option<u32>,
    /// An ECN echo arrived since: nothing may be restored (`prior_ssthresh` is zero).
    refused: bool,
}

impl Undo {
    /// Linux `tcp_init_undo`, with `in_flight` retransmissions in flight, including a tail loss
    /// probe.
    pub(crate) fn begin(&mut self, snd_una: u64, in_flight: u32) {
        self.marker = Some(snd_una);
        self.retransmissions = (in_flight > 0).then_some(in_flight);
        self.refused = false;
    }

    /// The reduction stands.
    pub(crate) const fn close(&mut self) {
        self.marker = None;
    }

    /// Whether there is a reduction that may prove spurious.
    pub(crate) const fn is_open(&self) -> bool {
        self.marker.is_some()
    }

    /// An ECN echo, or a second reduction: nothing may be restored.
    pub(crate) const fn refuse(&mut self) {
        self.refused = true;
    }

    pub(crate) const fn is_refused(&self) -> bool {
        self.refused
    }

    /// No retransmission is in flight: the next one is the first of an episode.
    #[inline]
    pub(crate) const fn forget_retransmission(&mut self) {
        self.stamp = None;
    }

    /// A segment is retransmitted with this timestamp.
    pub(crate) fn on_retransmit(&mut self, stamp: u32) {
        self.stamp.get_or_insert(stamp);
        self.retransmissions = Some(self.retransmissions.unwrap_or(0) + 1);
    }

    /// The receiver reports `duplicates` that end at `end`.
    pub(crate) fn on_dsack(&mut self, end: u64, duplicates: u32) {
        let counts = self.marker.is_some_and(|marker| end > marker);
        if let (true, Some(left)) = (counts, &mut self.retransmissions) {
            *left = left.saturating_sub(duplicates);
        }
    }

    /// Linux `tcp_packet_delayed`; `ts_ecr` is zero without timestamps.
    pub(crate) fn packet_was_delayed(&self, ts_ecr: u32) -> bool {
        self.stamp
            .is_none_or(|stamp| ts_ecr != 0 && timestamp_before(ts_ecr, stamp))
    }

    /// Every retransmission was reported as a duplicate.
    pub(crate) fn all_were_duplicates(&self) -> bool {
        self.marker.is_some() && self.retransmissions == Some(0)
    }

    /// Linux `tcp_may_undo`.
    pub(crate) fn is_possible(&self, ts_ecr: u32) -> bool {
        self.marker.is_some()
            && (self.retransmissions == Some(0) || self.packet_was_delayed(ts_ecr))
    }
}
