//! The congestion window as the sender uses it: the value of the congestion control (RFC 5681) in
//! whole segments, as Linux counts it (`snd_cwnd`). F-RTO of RFC 4138 holds the window lower until
//! it has classified a timeout.
//!
//! Assumes that the caller reports the congestion control's window after each call that may
//! change it.

use congestion::Window;

/// The window, and how many segments it holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CongestionWindow {
    window: Window,
    segments: u32,
}

impl CongestionWindow {
    pub(crate) fn new(window: Window) -> Self {
        Self {
            window,
            segments: whole_segments(&window),
        }
    }

    /// The congestion control's window may have changed. If it has not, a held window stays held.
    #[inline]
    pub(crate) fn update(&mut self, window: Window) {
        if window.cwnd != self.window.cwnd {
            self.segments = whole_segments(&window);
        }
        self.window = window;
    }

    /// Sets the window to `in_flight` plus `grant` segments, until [`Self::release`].
    pub(crate) fn hold(&mut self, in_flight: u32, grant: u32) {
        let held = in_flight + grant;
        self.segments = self.segments.min(held);
        if grant > 1 {
            self.segments = held;
        }
    }

    /// Restores the window of the congestion control.
    pub(crate) fn release(&mut self, window: Window) {
        *self = Self::new(window);
    }

    /// The window of the congestion control, held or not.
    #[inline]
    pub(crate) const fn get(&self) -> Window {
        self.window
    }

    #[inline]
    pub(crate) const fn segments(&self) -> u32 {
        self.segments
    }

    /// Segments that may still leave; a window below one segment counts as one.
    #[inline]
    // RFC5681-3.2d
    pub(crate) fn available(&self, in_flight: u32) -> u32 {
        self.segments.max(1).saturating_sub(in_flight)
    }
}

#[inline]
fn whole_segments(window: &Window) -> u32 {
    u32::try_from(window.cwnd_segments()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use units::Bytes;

    const fn of(cwnd: u64) -> Window {
        Window {
            cwnd: Bytes::new(cwnd),
            ssthresh: Bytes::MAX,
            smss: Bytes::new(1_000),
        }
    }

    #[test]
    fn a_held_window_stays_until_it_changes_or_is_released() {
        let mut cwnd = CongestionWindow::new(of(10_500));
        assert_eq!(
            (cwnd.segments(), cwnd.available(4), cwnd.available(11)),
            (10, 6, 0)
        );
        cwnd.hold(6, 1);
        cwnd.update(of(10_500));
        assert_eq!(cwnd.segments(), 7);
        // A grant of two applies even if the window was smaller.
        cwnd.hold(9, 2);
        assert_eq!(cwnd.segments(), 11);
        cwnd.release(of(10_500));
        assert_eq!(cwnd.segments(), 10);
        cwnd.hold(2, 0);
        cwnd.update(of(5_000));
        assert_eq!(cwnd.segments(), 5);
    }

    #[test]
    fn one_segment_always_fits() {
        assert_eq!(CongestionWindow::new(of(400)).available(0), 1);
    }
}
