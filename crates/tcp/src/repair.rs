//! What the sender may retransmit next: what the last event allows (`rexmit` of Linux's `tcp_ack`),
//! what must leave regardless of the window (RFC 6298, rule 5.4; RFC 8985, section 7.3), and the
//! copies of a start-up that duplicates its first flight.
//!
//! Makes no assumption about the segments: the scoreboard records which of them are lost.

/// The retransmissions that the last event allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retransmit {
    /// Nothing.
    Nothing,
    /// Segments marked lost.
    Lost,
    /// F-RTO: new data first, or segments marked lost if there is none.
    AfterNew,
}

/// A segment that must leave regardless of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Forced {
    /// The head, after a timeout.
    Head,
    /// A tail loss probe.
    LossProbe,
    /// A probe of the receive window.
    WindowProbe,
    /// A copy of a segment in flight.
    Copy,
}

/// What is allowed, and what is due.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Repair {
    allowed: Retransmit,
    forced: Option<Forced>,
    /// Every segment from this number on has its copy, or needs none.
    copied_from: Option<u64>,
}

impl Repair {
    pub(crate) const fn new() -> Self {
        Self {
            allowed: Retransmit::Nothing,
            forced: None,
            copied_from: None,
        }
    }

    pub(crate) const fn allow(&mut self, retransmit: Retransmit) {
        self.allowed = retransmit;
    }

    #[inline]
    pub(crate) fn allows(&self, retransmit: Retransmit) -> bool {
        self.allowed == retransmit
    }

    /// `forced` leaves next, and replaces any segment that was due.
    pub(crate) const fn force(&mut self, forced: Forced) {
        self.forced = Some(forced);
    }

    /// A copy leaves next, unless another segment is due.
    pub(crate) fn force_copy(&mut self) {
        self.forced.get_or_insert(Forced::Copy);
    }

    /// Whether a segment is due, or F-RTO decides what leaves. (Lost segments may leave too.)
    #[inline]
    pub(crate) fn is_under_way(&self) -> bool {
        self.forced.is_some() || self.allows(Retransmit::AfterNew)
    }

    #[inline]
    pub(crate) const fn take_forced(&mut self) -> Option<Forced> {
        self.forced.take()
    }

    /// Whether segments were copied.
    pub(crate) const fn has_copies(&self) -> bool {
        self.copied_from.is_some()
    }

    /// The next segment to copy among those in flight (`base..next`). Returns each number once, the
    /// highest first.
    pub(crate) fn next_copy(&mut self, base: u64, next: u64) -> Option<u64> {
        let from = self.copied_from.map_or(next, |from| from.min(next));
        if from <= base {
            return None;
        }
        self.copied_from = Some(from - 1);
        self.copied_from
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_segment_is_copied_once_from_the_highest_down() {
        let mut repair = Repair::new();
        assert!(!repair.has_copies());
        assert_eq!(repair.next_copy(3, 6), Some(5));
        assert_eq!(repair.next_copy(3, 9), Some(4));
        assert!(repair.has_copies());
        assert_eq!(repair.next_copy(4, 9), None);
        assert_eq!(repair.next_copy(3, 9), Some(3));
        assert_eq!(repair.next_copy(3, 9), None);
    }

    #[test]
    fn a_copy_never_replaces_a_retransmission() {
        let mut repair = Repair::new();
        repair.force(Forced::Head);
        repair.force_copy();
        assert_eq!(repair.take_forced(), Some(Forced::Head));
        repair.force_copy();
        repair.force(Forced::LossProbe);
        assert_eq!(repair.take_forced(), Some(Forced::LossProbe));
    }
}
