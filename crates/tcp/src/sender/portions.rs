//! A write queue of several packets: what a pass sends of it (Linux 6.18 `tcp_write_xmit`,
//! `tcp_cwnd_test`, `tcp_mss_split_point`, `tcp_nagle_test`).
//!
//! The rest of the sender knows one packet, all that is unsent. That suffices where a write fits into
//! one packet.

use alloc::boxed::Box;

use units::Instant;

use super::Sender;
use crate::burst::LEAST_SEGMENTS;
use crate::portions::{Portions, Push, goal};

impl Sender {
    /// Whether the packets of the queue matter.
    #[inline]
    pub(super) const fn has_portions(&self) -> bool {
        self.portions.is_some()
    }

    /// The application has written what lies beyond `queued`.
    pub(super) fn write_portions(&mut self, queued: u64) {
        if self.config.tso_segments == 1 {
            return;
        }
        let goal = goal(self.smss(), self.peer_window.largest());
        if let Some(portions) = &mut self.portions {
            portions.write(goal);
        } else if self.unsent() > goal {
            self.portions = Some(Box::new(Portions::new(queued, goal)));
        } else {
            return;
        }
        self.queue_portion();
        self.find_burst_shortcuts();
    }

    /// The queue is one packet.
    fn forget_portions(&mut self) {
        if self.portions.take().is_some() {
            self.find_burst_shortcuts();
        }
    }

    /// A probe sends one segment of the head, which grows to it.
    pub(super) fn grow_packet(&mut self) {
        let (next, smss) = (self.snd_nxt, self.smss());
        if let Some(portions) = &mut self.portions {
            portions.grow_head(next, smss);
        }
    }

    /// Queues what the application has written, until segments may leave. Returns whether a pass
    /// follows.
    pub(super) fn queue_portion(&mut self) -> bool {
        let Some(portions) = &mut self.portions else {
            return false;
        };
        if portions.are_settled() {
            return false;
        }
        let is_due = portions.queue(self.snd_nxt, self.stream.end(), self.peer_window.largest());
        if portions.are_settled() {
            self.find_burst_shortcuts();
        }
        if is_due {
            self.pass.resume();
        }
        is_due
    }

    /// The same as [`Self::begin_packet`] for a sender that never paces, with data in flight and
    /// nothing left to queue: what follows if the first packet of several has all that may leave, or
    /// has grown to it.
    #[inline(always)]
    pub(super) fn begin_full_packet(&mut self, now: Instant, (left, usable): (u32, u64)) -> bool {
        let full = self.full_burst.segments(
            self.pacer.quotient(),
            self.rtt.min(),
            self.smss(),
            (LEAST_SEGMENTS, self.config.tso_segments),
        );
        let most = left.min(full).min((self.cwnd.segments() / 2).max(1));
        let bytes = u64::from(most) * self.smss();
        let Some(portions) = &mut self.portions else {
            return false;
        };
        let mut len = portions.long_head(self.snd_nxt, bytes);
        if len.is_none() {
            if portions.are_over(self.snd_nxt) {
                return self.begin_packet(now, (left, usable));
            }
            portions.grow_head(self.snd_nxt, bytes);
            len = portions.long_head(self.snd_nxt, bytes);
        }
        let Some(len) = len.filter(|_| bytes <= usable) else {
            return self.begin_head(now, (left, usable), (full, bytes));
        };
        if left < full && self.defers_packet(now, full, (left, usable), (len, false)) {
            return false;
        }
        if let Some(portions) = &mut self.portions {
            portions.begin_burst();
        }
        self.board.end_packet();
        self.pass.begin_new(most);
        true
    }

    /// Begins a burst of the first packet. The windows permit `left` segments and `usable` bytes. Even
    /// if nothing fits into the peer's window, the packet grows.
    #[inline(never)]
    pub(super) fn begin_packet(&mut self, now: Instant, (left, usable): (u32, u64)) -> bool {
        let next = self.snd_nxt;
        if self.portions.as_mut().is_some_and(|it| it.are_over(next)) {
            self.forget_portions();
            return self.can_send_new() && self.begin_any_burst(now, (left, usable));
        }
        let full = self.full_burst();
        let most = left.min(full).min((self.cwnd.segments() / 2).max(1));
        let most = u64::from(most) * self.smss();
        let Some(portions) = &mut self.portions else {
            return false;
        };
        if !portions.may_begin_burst() || !self.pacer.may_begin(now) {
            return false;
        }
        portions.grow_head(next, most);
        self.begin_head(now, (left, usable), (full, most))
    }

    /// The same after the packet has grown. A full burst has `full` segments, and this one at most
    /// `most` bytes.
    #[inline(never)]
    fn begin_head(
        &mut self,
        now: Instant,
        (left, usable): (u32, u64),
        (full, most): (u32, u64),
    ) -> bool {
        let (next, smss) = (self.snd_nxt, self.smss());
        let Some(portions) = &self.portions else {
            return false;
        };
        let (len, is_last) = (portions.head_len(next), portions.head_is_last());
        let push = portions.push();
        if len == 0 || usable < len.min(smss) {
            return false;
        }
        let is_ordinary = is_last && push == Push::Ordinary;
        if len < smss && is_ordinary && self.nagle_holds() {
            return false;
        }
        let is_steered = self.pacer.is_spread() && self.is_steered;
        if push != Push::One
            && !is_steered
            && self.defers_packet(now, full, (left, usable), (len, is_last))
        {
            return false;
        }
        let mut bytes = len.min(usable).min(most);
        let part = bytes % smss;
        let is_held = push == Push::Ordinary && self.holds_part();
        if bytes > smss && part > 0 && (is_last || most > usable) && is_held {
            bytes -= part;
        }
        let burst = bytes.div_ceil(smss) as u32;
        if self.config.small_queue.is_some() && self.is_device_full(burst, 0) {
            return false;
        }
        if self.pacer.is_on() {
            self.pacer.begin(now);
        }
        self.board.end_packet();
        if let Some(portions) = &mut self.portions {
            portions.begin_burst();
        }
        self.pass.begin_new(burst);
        true
    }
}
