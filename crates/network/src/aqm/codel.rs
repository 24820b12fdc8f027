//! CoDel: drops at the head of a queue whose packets have waited too long for too long
//! (RFC 8289, sections 5.3 to 5.5; network-models, section A.6).
//!
//! ## Deviations
//!
//! - With `ecn` a capable packet is marked where another is dropped (RFC 8289, section 5.5 leaves it
//!   open). A marked packet leaves, so that each dequeue marks at most one, as in Linux.
//! - The control law's square root is exact; Linux iterates in 16 bits.

use units::{Duration, Instant};

use super::{Fate, Fifo, Waiting, mark};
use crate::CoDelConfig;

/// A queue of no more than this is never touched: one full packet of Ethernet.
const MTU: u64 = 1514;
/// Intervals after the end of a drop state within which the next resumes its rate.
const MEMORY: u64 = 16;

/// The state of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoDel {
    /// When the wait will have been above the target for an interval, if it is above it.
    due: Option<Instant>,
    dropping: bool,
    /// Drops of this drop state.
    count: u32,
    /// `count` when the drop state began.
    last_count: u32,
    next: Instant,
}

/// When the drop after number `count` at `at` is due (section 5.4).
fn control_law(at: Instant, interval: Duration, count: u32) -> Instant {
    let nanos = interval.as_nanos() as f64 / libm::sqrt(f64::from(count.max(1)));
    at + Duration::from_nanos(nanos as u64)
}

impl CoDel {
    /// Takes the next packet out of `fifo`, beside which `others` bytes wait.
    pub(crate) fn dequeue<T>(
        &mut self,
        now: Instant,
        config: &CoDelConfig,
        fifo: &mut Fifo<T>,
        others: u64,
        fate: &mut Fate<T>,
    ) -> Option<Waiting<T>> {
        let mut head = fifo.pop();
        let is_bad = self.is_bad(now, config, head.as_ref(), fifo.bytes() + others);
        if self.dropping {
            self.dropping = is_bad;
            while self.dropping && now >= self.next {
                self.count = self.count.saturating_add(1);
                if mark(config.ecn, &mut head, fate) {
                    self.next = control_law(self.next, config.interval, self.count);
                    break;
                }
                fate.drop_early(now, head);
                head = fifo.pop();
                self.dropping = self.is_bad(now, config, head.as_ref(), fifo.bytes() + others);
                if self.dropping {
                    self.next = control_law(self.next, config.interval, self.count);
                }
            }
        } else if is_bad {
            if !mark(config.ecn, &mut head, fate) {
                fate.drop_early(now, head);
                head = fifo.pop();
                // Only for the wait that it notes.
                let _ = self.is_bad(now, config, head.as_ref(), fifo.bytes() + others);
            }
            self.dropping = true;
            let fresh = self.count.saturating_sub(self.last_count);
            let recent = now.saturating_since(self.next) < config.interval * MEMORY;
            self.count = if fresh > 1 && recent { fresh } else { 1 };
            self.last_count = self.count;
            self.next = control_law(now, config.interval, self.count);
        }
        head
    }

    /// Whether the wait has been above the target for an interval (`ok_to_drop`), of the packet
    /// that leaves `backlog` bytes behind.
    fn is_bad<T>(
        &mut self,
        now: Instant,
        config: &CoDelConfig,
        head: Option<&Waiting<T>>,
        backlog: u64,
    ) -> bool {
        let good = head.is_none_or(|head| now.saturating_since(head.at) < config.target);
        if good || backlog <= MTU {
            self.due = None;
            return false;
        }
        if let Some(due) = self.due {
            return now >= due;
        }
        self.due = Some(now + config.interval);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Network-models, section A.6: the pure control law.
    #[test]
    fn the_control_law_drops_ever_faster() {
        let interval = Duration::from_millis(100);
        let mut at = Instant::ZERO;
        let mut offsets = alloc::vec::Vec::new();
        for count in 1.. {
            at = control_law(at, interval, count);
            if at.as_millis() >= 1000 {
                break;
            }
            offsets.push((at.as_nanos() as f64 / 1e5).round_ties_even() / 10.0);
        }
        // The first drop and these: as many as the notes' simulation counts in this second. (The notes
        // say 21 of the pure law, which their own offsets exceed: the tenth is at half a second, and
        // the sum of 1/sqrt(n) from 1 to 32 is 9.94.)
        assert_eq!(offsets.len() + 1, 33);
        assert_eq!(
            offsets[..10],
            [
                100.0, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8, 437.1, 470.5, 502.1
            ]
        );
    }
}
