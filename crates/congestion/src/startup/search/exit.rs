//! The exit once the test finds the path full.
//!
//! - *Plain*: the threshold becomes the window (Kachooei 2024, quicly, neqo).
//! - *Rollback*: the window first loses its growth of the last two initial RTTs, which is what was
//!   acknowledged then (draft-00; optional in 2.0 and 3.x).
//! - *Drain* (Linux 4.0): the target is what was acknowledged in the last initial RTT, rounded up
//!   to bins. Until the window reaches it, one segment leaves for every three delivered, and
//!   neither growth nor tests happen. The decision is returned as an exit that keeps window and
//!   threshold, so that it counts as the slow-start exit; the last ACK of the drain sets both.

use units::{Bytes, Instant};

use super::{Exit, Search, Version};
use crate::{Ack, ExitReason, SlowStartExit, Step, Window};

/// Linux's `TCP_INIT_CWND` in segments; no exit sets a smaller window.
const INITIAL_WINDOW: u64 = 10;
/// Segments delivered for each segment sent while the window drains.
const DRAIN_RATIO: u64 = 3;
/// Initial RTTs that a rollback undoes.
const ROLLBACK_RTTS: u64 = 2;

/// A window that is draining.
#[derive(Clone, Copy, Debug)]
pub struct Drain {
    /// Time of the decision; the ACK that made it changes nothing.
    since: Instant,
    target: Bytes,
    /// Bytes delivered for which no segment has been sent yet.
    carry: Bytes,
    reason: ExitReason,
}

impl Drain {
    /// An ACK delivered this much.
    pub fn on_delivered(&mut self, delivered: Bytes) {
        self.carry += delivered;
    }

    /// The next window: `max(in_flight + carry / 3, target)`.
    pub fn step(&mut self, ack: &Ack, window: &Window) -> Step {
        if ack.now == self.since {
            return Step::Grow(Bytes::ZERO);
        }
        let price = (window.smss * DRAIN_RATIO).max(Bytes::new(1));
        let released = self.carry.segments(price);
        self.carry = self.carry.saturating_sub(price * released);
        let cwnd = (ack.in_flight + window.smss * released).max(self.target);
        if cwnd > self.target {
            return Step::Set(cwnd);
        }
        Step::Exit {
            cwnd,
            ssthresh: cwnd,
            reason: self.reason,
        }
    }
}

impl Search {
    /// Records the decision and applies the configured exit.
    pub(super) fn act(
        &mut self,
        now: Instant,
        window: &Window,
        reason: ExitReason,
    ) -> Option<Step> {
        let exit = self.config.exit();
        let target = self.drain_target(window);
        if exit == Exit::Drain && target.is_none() {
            return None;
        }
        self.decision.get_or_insert(SlowStartExit {
            at: now,
            cwnd: window.cwnd,
            reason,
        });
        if self.config.passive {
            return None;
        }
        match (exit, target) {
            (Exit::Drain, Some(target)) => {
                self.drain = Some(Drain {
                    since: now,
                    target,
                    carry: Bytes::ZERO,
                    reason,
                });
                Some(Step::Exit {
                    cwnd: window.cwnd,
                    ssthresh: window.ssthresh,
                    reason,
                })
            }
            (Exit::Rollback, _) => {
                let cwnd = self.rolled_back(window);
                Some(Step::Exit {
                    cwnd,
                    ssthresh: cwnd,
                    reason,
                })
            }
            _ => Some(Step::Exit {
                cwnd: window.cwnd,
                ssthresh: window.cwnd,
                reason,
            }),
        }
    }

    /// The target of draining; `None` if it needs more bins than there are.
    #[must_use]
    pub fn drain_target(&self, window: &Window) -> Option<Bytes> {
        let count = self.rtts_in_bins(1).1;
        if count > self.bins() {
            return None;
        }
        let smss = window.smss.max(Bytes::new(1));
        let segments = self.acked_in_last(count)?.segments(smss);
        Some(smss * segments.max(INITIAL_WINDOW))
    }

    /// The window of two initial RTTs ago.
    fn rolled_back(&self, window: &Window) -> Bytes {
        let smss = window.smss.max(Bytes::new(1));
        let count = self.rtts_in_bins(ROLLBACK_RTTS).0;
        let overshoot = self.acked_in_last(count).map_or(0, |bytes| {
            Bytes::new(bytes.get() >> self.forgotten_shift()).segments(smss)
        });
        let cwnd = window.cwnd.segments(smss);
        let least = smss * INITIAL_WINDOW;
        if overshoot < cwnd {
            (smss * (cwnd - overshoot)).max(least)
        } else if matches!(
            self.config.version,
            Version::V1_0 | Version::V2_0 | Version::V3_0
        ) {
            window.cwnd
        } else {
            least
        }
    }
}
