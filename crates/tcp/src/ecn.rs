//! ECN at the sender: RFC 3168, section 6.1.2. The receiver echoes a congestion mark (ECE) until a
//! segment reports that the sender has reduced its window (CWR).
//!
//! Assumes that the peer agreed to ECN if ECN is on.

/// Whether ECN is on, and whether the next new segment carries CWR.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ecn {
    is_on: bool,
    cwr_due: bool,
}

impl Ecn {
    pub(crate) const fn new(is_on: bool) -> Self {
        Self {
            is_on,
            cwr_due: false,
        }
    }

    /// Whether an ACK with this ECE flag reports a mark.
    #[inline]
    pub(crate) const fn is_echo(&self, ece: bool) -> bool {
        ece && self.is_on
    }

    /// The window was reduced for any reason: the next new segment carries CWR.
    pub(crate) const fn on_reduction(&mut self) {
        self.cwr_due = self.is_on;
    }

    /// The reduction was undone.
    pub(crate) const fn on_undo(&mut self) {
        self.cwr_due = false;
    }

    /// Whether the next new segment carries CWR.
    #[inline]
    pub(crate) const fn is_cwr_due(&self) -> bool {
        self.cwr_due
    }

    /// Whether the new segment that leaves now carries CWR.
    #[inline]
    pub(crate) const fn take_cwr(&mut self) -> bool {
        core::mem::replace(&mut self.cwr_due, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cwr_is_sent_once_for_a_reduction_that_stands() {
        let mut ecn = Ecn::new(true);
        assert!(ecn.is_echo(true) && !ecn.is_echo(false));
        ecn.on_reduction();
        assert!(ecn.take_cwr() && !ecn.take_cwr());
        ecn.on_reduction();
        ecn.on_undo();
        assert!(!ecn.take_cwr());
        let mut off = Ecn::new(false);
        off.on_reduction();
        assert!(!off.take_cwr() && !off.is_echo(true));
    }
}
