//! The window that the peer advertises: RFC 9293, section 3.8.6, as in Linux 6.12
//! (`tcp_ack_update_window`).
//!
//! Assumes that windows are unscaled, in bytes. The end of the window may move back: RFC 9293
//! discourages a receiver from shrinking its window, and requires a sender to tolerate it. No new
//! data leaves until the window extends beyond the data already sent.

/// The last window that the peer advertised.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PeerWindow {
    /// Its size.
    advertised: u32,
    /// The largest one so far (`max_window`).
    largest: u32,
    /// First offset beyond it.
    end: u64,
}

impl PeerWindow {
    /// The window of the SYN-ACK.
    pub(crate) fn open(&mut self, window: u32) {
        self.advertised = window;
        self.largest = window;
        self.end = u64::from(window);
    }

    /// A pure ACK of `ack` advertises `window`. The window counts if the ACK has `advanced`, or
    /// if it opens or closes the window. Returns whether it counts.
    #[inline]
    pub(crate) fn update(&mut self, ack: u64, window: u32, advanced: bool) -> bool {
        let counts = advanced || window > self.advertised || window == 0;
        if counts {
            self.advertised = window;
            self.largest = self.largest.max(window);
            self.end = ack + u64::from(window);
        }
        counts
    }

    /// Extends the window to `end` beyond the advertised one, unless the peer closed its window.
    pub(crate) fn exceed(&mut self, end: u64) {
        if self.advertised > 0 {
            self.end = self.end.max(end);
        }
    }

    #[inline]
    pub(crate) const fn advertised(&self) -> u64 {
        self.advertised as u64
    }

    /// The largest window that counted.
    pub(crate) const fn largest(&self) -> u64 {
        self.largest as u64
    }

    /// Whether a segment that ends at `end` fits into the window.
    #[inline]
    pub(crate) const fn holds(&self, end: u64) -> bool {
        end <= self.end
    }

    /// Bytes from `seq` to the end of the window.
    #[inline]
    pub(crate) const fn usable(&self, seq: u64) -> u64 {
        self.end.saturating_sub(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn opened() -> PeerWindow {
        let mut window = PeerWindow::default();
        window.open(10_000);
        window
    }

    #[test]
    fn a_duplicate_opens_or_closes_the_window_and_never_shrinks_it() {
        let mut window = opened();
        assert!(!window.update(0, 10_000, false));
        assert!(!window.update(0, 9_000, false));
        assert!(window.holds(10_000));
        assert!(window.update(0, 12_000, false));
        assert_eq!(window.usable(2_000), 10_000);
        assert!(window.update(0, 0, false));
        assert_eq!((window.advertised(), window.usable(0)), (0, 0));
    }

    #[test]
    fn an_ack_that_advances_may_move_the_end_back() {
        let mut window = opened();
        assert!(window.update(1_000, 4_000, true));
        assert!(window.holds(5_000) && !window.holds(5_001));
        // Data sent beyond the end earlier does not make the window negative.
        assert_eq!(window.usable(8_000), 0);
    }

    #[test]
    fn a_closed_window_is_never_exceeded() {
        let mut window = opened();
        window.exceed(20_000);
        assert!(window.holds(20_000));
        window.update(0, 0, false);
        window.exceed(20_000);
        assert!(!window.holds(1));
    }
}
