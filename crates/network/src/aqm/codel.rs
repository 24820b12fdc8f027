//! CoDel: drops at the head of a queue whose delay has exceeded a target for an interval (RFC 8289,
//! sections 5.3 to 5.5).
//!
//! ## Deviations
//!
//! - With `ecn`, a capable packet is marked instead of dropped (RFC 8289, section 5.5 leaves this
//!   open). A marked packet leaves, so each dequeue marks at most one, as in Linux.
//! - The control law's square root is exact; Linux iterates in 16 bits.

use units::{Duration, Instant};

use super::{Fate, Fifo, Waiting, mark};
use crate::CoDelConfig;

/// A queue of at most one full Ethernet packet is never touched.
const MTU: u64 = 1514;
/// Intervals after the end of a drop state within which the next one resumes its rate.
const MEMORY: u64 = 16;

/// The state of one queue.
#[derive(Clone, Debug, Default)]
pub(crate) struct CoDel {
    /// When the delay will have been above the target for an interval, if it is above it.
    due: Option<Instant>,
    dropping: bool,
    /// Drops of this drop state.
    count: u32,
    /// `count` at the start of the drop state.
    last_count: u32,
    next: Instant,
}

/// When the drop after number `count` at `at` is due (section 5.4).
fn control_law(at: Instant, interval: Duration, count: u32) -> Instant {
    let nanos = interval.as_nanos() as f64 / libm::sqrt(f64::from(count.max(1)));
    at + Duration::from_nanos(nanos as u64)
}

impl CoDel {
    /// Takes the next packet out of `fifo`; `others` bytes are queued besides.
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
                // Only for the delay that it records.
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

    /// Whether the delay of the packet that leaves `backlog` bytes behind has been above the target
    /// for an interval (`ok_to_drop`).
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

    /// The pure control law.
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
        // The first drop and these: as many as the reference calculation (an independent
        // simulation; docs/reference/sources.md, "Queue disciplines") counts in this second. The
        // tenth is at half a second, and the sum of 1/sqrt(n) from 1 to 32 is 9.94.
        assert_eq!(offsets.len() + 1, 33);
        assert_eq!(
            offsets[..10],
            [
                100.0, 170.7, 228.4, 278.4, 323.2, 364.0, 401.8, 437.1, 470.5, 502.1
            ]
        );
    }
}
