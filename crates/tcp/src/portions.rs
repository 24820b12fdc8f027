//! The write queue in packets, where the peer's window is small: a write enters it in portions, and
//! after each portion segments may leave (Linux 6.18 `tcp_sendmsg_locked`, `tcp_xmit_size_goal`,
//! `tcp_bound_to_half_wnd`, `forced_push`, `tcp_push_one`, `tcp_grow_skb`).
//!
//! A portion fills the last packet to its goal: whole segments, at most half of the largest window
//! that the peer has advertised. Then
//!
//! - half of that window since the last push sends all that the windows permit,
//! - otherwise a packet at the head sends one burst, which is never deferred,
//! - and the end of the write begins an ordinary pass.
//!
//! What a burst leaves of a packet stays a packet, to which the next portion adds.
//!
//! Assumes a window and a write below 128 KiB. Beyond such a window a packet has its largest size
//! (`sk_gso_max_size`), and [`goal`] has none: the queue is one packet.
//!
//! ## Deviations
//!
//! - A larger write enters the queue as one packet. In Linux the send buffer divides it, which never
//!   limits here.
//! - Linux bounds the segment itself to half of the window (`tcp_sync_mss`).

use alloc::collections::VecDeque;

/// The smallest window for which a packet has its largest size.
const LARGE_WINDOW: u64 = 1 << 17;
/// The largest write that enters the queue in portions.
pub(crate) const LARGEST_WRITE: u64 = 1 << 17;
/// `TCP_MSS_DEFAULT`: only a larger window is halved.
const SMALL_WINDOW: u64 = 536;

/// The full size of a packet in the queue, for segments of `smss` and the largest window so far.
/// `None` if the window is large.
pub(crate) const fn goal(smss: u64, largest_window: u64) -> Option<u64> {
    if largest_window >= LARGE_WINDOW {
        return None;
    }
    let bound = if largest_window > SMALL_WINDOW {
        largest_window / 2
    } else {
        largest_window
    };
    let segments = bound / smss;
    Some(if segments > 0 { segments * smss } else { smss })
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
#[derive(Clone, Debug)]
pub(crate) struct Portions {
    /// End of what is in the queue (`write_seq`).
    queued: u64,
    /// End of the first packet, and sizes of those behind it.
    head_end: u64,
    behind: VecDeque<u64>,
    goal: u64,
    /// Bytes queued since the last push (`pushed_seq`).
    since_push: u64,
    push: Push,
    is_writing: bool,
    /// The write has had a pass.
    had_pass: bool,
    /// The pass has begun a burst.
    has_sent: bool,
}

impl Portions {
    /// A queue of one packet that ends at `queued`, to which a write is added.
    pub(crate) const fn new(queued: u64, goal: u64) -> Self {
        Self {
            queued,
            head_end: queued,
            behind: VecDeque::new(),
            goal,
            since_push: 0,
            push: Push::Ordinary,
            is_writing: true,
            had_pass: false,
            has_sent: false,
        }
    }

    /// Another write.
    pub(crate) const fn write(&mut self, goal: u64) {
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

    /// Whether the head is all of the queue.
    pub(crate) fn head_is_last(&self) -> bool {
        self.behind.is_empty()
    }

    /// Bytes of the packet that begins with `next`, the first byte not sent.
    pub(crate) fn head_len(&self, next: u64) -> u64 {
        if next < self.head_end {
            self.head_end - next
        } else {
            self.behind.front().copied().unwrap_or(0)
        }
    }

    /// Everything below `next` was sent.
    fn advance(&mut self, next: u64) {
        while self.head_end <= next
            && let Some(second) = self.behind.pop_front()
        {
            self.head_end += second;
        }
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
    pub(crate) fn grow_head(&mut self, next: u64, bytes: u64) {
        self.advance(next);
        let missing = bytes.saturating_sub(self.head_end - next);
        if let Some(second) = self.behind.front_mut() {
            let taken = missing.min(*second);
            self.head_end += taken;
            *second -= taken;
            if *second == 0 {
                self.behind.pop_front();
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
                continue;
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
        let unsent = self.head_end.saturating_sub(next);
        let last = self.behind.back().copied().unwrap_or(unsent);
        let is_full = last >= self.goal;
        let room = if is_full { self.goal } else { self.goal - last };
        let added = room.min(end - self.queued);
        self.queued += added;
        self.since_push += added;
        if is_full {
            self.behind.push_back(added);
        } else if let Some(last) = self.behind.back_mut() {
            *last += added;
        } else {
            self.head_end = self.queued;
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn a_packet_takes_whole_segments_of_half_of_a_small_window() {
        assert_eq!(goal(1_000, 10_240), Some(5_000));
        assert_eq!(goal(1_000, 5_120), Some(2_000));
        assert_eq!(goal(1_000, 536), Some(1_000));
        assert_eq!(goal(100, 536), Some(500));
        assert_eq!(goal(1_000, 131_071), Some(65_000));
        assert_eq!(goal(1_000, 131_072), None);
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
