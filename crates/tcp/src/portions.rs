//! The write queue in packets: a write enters it in portions, and after each portion segments may
//! leave (Linux 6.18 `tcp_sendmsg_locked`, `tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`,
//! `forced_push`, `tcp_push_one`, `tcp_grow_skb`).
//!
//! A portion fills the last packet to its goal: whole segments, at most half of the largest window
//! that the peer has advertised, and at most what a device segments. Then
//!
//! - half of that window since the last push sends all that the windows permit,
//! - otherwise a packet at the head sends one burst, which is never deferred,
//! - and the end of the write begins an ordinary pass.
//!
//! What a burst leaves of a packet stays a packet, to which the next portion adds.
//!
//! When nothing more may leave, the rest of the write enters the queue at once: packets of equal size,
//! of which only the first and the last byte are kept ([`Portions::tail_from`]).
//!
//! ## Deviations
//!
//! - The send buffer never limits. In Linux it may divide a large write, whose later packets then have
//!   the size for the largest window by that time.
//! - A write of another packet size adds packets of the former size while hundreds of them wait.
//! - Linux bounds the segment itself to half of the window (`tcp_sync_mss`).

use alloc::collections::VecDeque;

/// `TCP_MSS_DEFAULT`: only a larger window is halved.
const SMALL_WINDOW: u64 = 536;
/// The payload of the largest packet that a device segments (`sk_gso_max_size`): 64 KiB without room
/// for headers (`MAX_TCP_HEADER`).
const LARGEST_PACKET: u64 = 65_536 - 321;
/// A longer tail stays one, whatever the size of later packets.
const MOST_LISTED: u64 = 256;

/// The full size of a packet in the queue, for segments of `smss` and the largest window so far.
pub(crate) const fn goal(smss: u64, largest_window: u64) -> u64 {
    let half = if largest_window > SMALL_WINDOW {
        largest_window / 2
    } else {
        largest_window
    };
    let bound = if half < LARGEST_PACKET {
        half
    } else {
        LARGEST_PACKET
    };
    let segments = bound / smss;
    if segments > 0 { segments * smss } else { smss }
}

/// What the next pass may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Push {
    /// One burst of the head, at once.
    One,
    /// All that the windows permit, partial segments included (`TCP_NAGLE_PUSH`).
    All,
    /// What an ordinary pass sends.
    Ordinary,
}

/// The packets that were not sent, of a queue with more than one, or of a write under way.
///
/// What a burst of a long head reads and writes lies together at the beginning, because it is in no
/// cache where many flows run.
#[derive(Clone, Debug)]
#[repr(C)]
pub(crate) struct Portions {
    /// End of the first packet.
    head_end: u64,
    /// End of what is in the queue (`write_seq`).
    queued: u64,
    push: Push,
    is_writing: bool,
    /// The write has had a pass.
    had_pass: bool,
    /// The pass has begun a burst.
    has_sent: bool,
    /// Sizes of the packets behind the first.
    behind: VecDeque<u64>,
    /// Behind those, packets of `tail_goal` bytes from here on, up to `queued`.
    tail_from: u64,
    tail_goal: u64,
    goal: u64,
    /// Bytes queued since the last push (`pushed_seq`).
    since_push: u64,
}

impl Portions {
    /// A queue of one packet that ends at `queued`, to which a write is added.
    pub(crate) const fn new(queued: u64, goal: u64) -> Self {
        Self {
            queued,
            head_end: queued,
            behind: VecDeque::new(),
            tail_from: queued,
            tail_goal: goal,
            goal,
            since_push: 0,
            push: Push::Ordinary,
            is_writing: true,
            had_pass: false,
            has_sent: false,
        }
    }

    /// Another write.
    pub(crate) fn write(&mut self, goal: u64) {
        let tail = self.queued - self.tail_from;
        if goal != self.tail_goal && tail / self.tail_goal < MOST_LISTED {
            while self.tail_from < self.queued {
                let packet = self.tail_goal.min(self.queued - self.tail_from);
                self.behind.push_back(packet);
                self.tail_from += packet;
            }
        }
        if !self.is_writing {
            self.since_push = 0;
            self.is_writing = true;
            self.had_pass = false;
        }
        self.goal = goal;
    }

    pub(crate) const fn push(&self) -> Push {
        self.push
    }

    /// Whether all that was written is in the queue.
    pub(crate) const fn are_settled(&self) -> bool {
        !self.is_writing
    }

    /// Whether the head is all of the queue: head, packets behind it and tail add up.
    #[inline]
    pub(crate) const fn head_is_last(&self) -> bool {
        self.head_end == self.queued
    }

    /// Bytes of the head beyond `next`, if it has at least `bytes` and others follow: then it need not
    /// grow.
    #[inline]
    pub(crate) const fn long_head(&self, next: u64, bytes: u64) -> Option<u64> {
        let len = self.head_end.saturating_sub(next);
        if len < bytes || self.head_is_last() {
            return None;
        }
        Some(len)
    }

    /// Bytes of the packet that begins with `next`, the first byte not sent.
    #[inline]
    pub(crate) fn head_len(&self, next: u64) -> u64 {
        if next < self.head_end {
            self.head_end - next
        } else {
            let first_of_tail = self.tail_goal.min(self.queued - self.tail_from);
            self.behind.front().copied().unwrap_or(first_of_tail)
        }
    }

    /// Everything below `next` was sent.
    #[inline]
    fn advance(&mut self, next: u64) {
        while self.head_end <= next
            && let Some(second) = self.take_second()
        {
            self.head_end += second;
        }
    }

    /// Removes the packet behind the head.
    #[inline]
    fn take_second(&mut self) -> Option<u64> {
        if let Some(second) = self.behind.pop_front() {
            return Some(second);
        }
        let taken = self.tail_goal.min(self.queued - self.tail_from);
        self.tail_from += taken;
        (taken > 0).then_some(taken)
    }

    /// Whether one packet is left and no write is under way, so that portions no longer matter.
    pub(crate) fn are_over(&mut self, next: u64) -> bool {
        self.advance(next);
        !self.is_writing && self.head_is_last()
    }

    /// Whether the pass may begin a burst, or has had its only one.
    pub(crate) fn may_begin_burst(&self) -> bool {
        !(self.has_sent && self.push == Push::One)
    }

    /// A burst of the head begins.
    pub(crate) const fn begin_burst(&mut self) {
        self.has_sent = true;
    }

    /// `tcp_grow_skb`: fills a head that is shorter than `bytes` from the packet after it.
    #[inline]
    pub(crate) fn grow_head(&mut self, next: u64, bytes: u64) {
        self.advance(next);
        let missing = bytes.saturating_sub(self.head_end - next);
        if missing > 0
            && let Some(second) = self.take_second()
        {
            let taken = missing.min(second);
            self.head_end += taken;
            if taken < second {
                self.behind.push_front(second - taken);
            }
        }
    }

    /// Queues data of a stream that ends at `end`, until segments may leave. Everything below `next`
    /// was sent, and the largest window so far is `largest_window`. Returns whether a pass follows.
    pub(crate) fn queue(&mut self, next: u64, end: u64, largest_window: u64) -> bool {
        if !self.is_writing {
            return false;
        }
        self.advance(next);
        // The head takes no more data, and the last pass sent nothing: nor will the next one.
        let is_stuck = self.had_pass && !self.has_sent && !self.head_is_last();
        self.had_pass = true;
        self.has_sent = false;
        while self.queued < end {
            self.add(next, end);
            if is_stuck {
                self.add_tail(end);
                break;
            }
            if self.queued == end {
                break;
            }
            if self.since_push > largest_window / 2 {
                self.since_push = 0;
                self.push = Push::All;
                return true;
            }
            if self.head_is_last() {
                self.push = Push::One;
                return true;
            }
        }
        self.is_writing = false;
        self.push = Push::Ordinary;
        true
    }

    /// Adds data to the last packet up to its goal, or a packet if it is full.
    fn add(&mut self, next: u64, end: u64) {
        let tail = self.queued - self.tail_from;
        if tail > 0 {
            let added = (self.tail_goal - tail % self.tail_goal).min(end - self.queued);
            self.queued += added;
            self.since_push = self.since_push.saturating_add(added);
            return;
        }
        let unsent = self.head_end.saturating_sub(next);
        let last = self.behind.back().copied().unwrap_or(unsent);
        let is_full = last >= self.goal;
        let room = if is_full { self.goal } else { self.goal - last };
        let added = room.min(end - self.queued);
        self.queued += added;
        self.tail_from = self.queued;
        self.since_push = self.since_push.saturating_add(added);
        if is_full {
            self.behind.push_back(added);
        } else if let Some(last) = self.behind.back_mut() {
            *last += added;
        } else {
            self.head_end = self.queued;
        }
    }

    /// Adds the rest of a stream that ends at `end`, in packets of equal size.
    const fn add_tail(&mut self, end: u64) {
        if self.tail_from == self.queued {
            self.tail_goal = self.goal;
        }
        self.since_push = self.since_push.saturating_add(end - self.queued);
        self.queued = end;
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_packet_takes_whole_segments_of_half_of_a_small_window() {
        assert_eq!(goal(1_000, 10_240), 5_000);
        assert_eq!(goal(1_000, 5_120), 2_000);
        assert_eq!(goal(1_000, 536), 1_000);
        assert_eq!(goal(100, 536), 500);
        assert_eq!(goal(1_000, 131_071), 65_000);
        // The first window of a receiver, and any large one.
        assert_eq!(goal(1_448, 65_160), 22 * 1_448);
        assert_eq!(goal(1_448, 1 << 20), 45 * 1_448);
    }

    /// What each pass may send, and the end of the queue in it, of a write of 20,000 bytes to a
    /// window of 10,240, if a pass sends bursts of two segments.
    #[test]
    fn a_write_is_pushed_by_bursts_and_by_halves_of_the_window() {
        let (end, largest) = (20_000, 10_240);
        let mut portions = Portions::new(0, 5_000);
        let mut next = 0;
        let mut passes = Vec::new();
        while portions.queue(next, end, largest) {
            passes.push((portions.push(), portions.queued));
            while next < largest && portions.may_begin_burst() {
                portions.grow_head(next, 2_000);
                let sent = portions.head_len(next).min(2_000).min(largest - next);
                if sent == 0 {
                    break;
                }
                portions.begin_burst();
                next += sent;
                portions.advance(next);
            }
        }
        let expected = [
            // 2000 of a packet of 5000 leave, and 3000 stay.
            (Push::One, 5_000),
            // They take 2000 more, and 7000 are more than half of the window: all leaves.
            (Push::All, 7_000),
            (Push::One, 12_000),
            // The packet of 3000 grows to 5000: the push at 7000 is more than 5120 bytes ago. 1240
            // fit into the window.
            (Push::All, 14_000),
            // 3760 of the packet stay, and take 1240. The next push is due beyond 19,120.
            (Push::One, 15_240),
            // Nothing left: the rest is queued at once.
            (Push::Ordinary, 20_000),
        ];
        assert_eq!(passes, expected);
        assert_eq!(next, largest);
    }

    #[test]
    fn a_short_head_grows_from_the_packet_behind_it() {
        let mut portions = Portions::new(7_120, 2_000);
        portions.add(7_120, 20_000);
        for _ in 0..3 {
            portions.add(7_120, 20_000);
        }
        assert_eq!((portions.head_len(7_120), portions.queued), (2_000, 15_120));
        // 1120 of the head leave. It takes 1120 from the second, and then its last 880.
        portions.grow_head(8_240, 2_000);
        assert_eq!((portions.head_end, portions.behind[0]), (10_240, 880));
        portions.grow_head(10_240 - 928, 2_000);
        assert_eq!((portions.head_end, portions.behind[0]), (11_120, 2_000));
        assert!(!portions.head_is_last());
        // The last packet takes what is missing, and then another one follows.
        portions.write(2_000);
        portions.add(11_000, 15_220);
        assert_eq!(portions.queued, 15_220);
        portions.add(11_000, 30_000);
        assert_eq!(portions.queued, 17_120);
        portions.advance(13_120);
        assert_eq!(
            (portions.head_end, portions.head_len(13_120)),
            (15_120, 2_000)
        );
    }

    /// A write to a window of 5120 makes packets of 2000. The window is 10,240 when the next write comes,
    /// whose packets have 5000.
    #[test]
    fn each_packet_keeps_the_size_of_its_write() {
        let mut portions = Portions::new(5_120, 2_000);
        while portions.queue(5_120, 12_000, 5_120) {}
        portions.write(5_000);
        while portions.queue(5_120, 20_000, 10_240) {}
        assert_eq!(portions.head_end, 7_120);
        // The last packet of the first write, 880 bytes, takes 4120 of the second.
        assert_eq!(portions.behind, [2_000, 2_000, 5_000, 3_880]);
    }
}
