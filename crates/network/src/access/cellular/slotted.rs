//! A radio that carries one block in each slot of time: a TTI.
//!
//! A [`Source`] gives the bits of a block for the user. A packet may use blocks that start when it
//! is present, or later. It is through with the last block that carries a part of it, and delivered
//! when that block and all earlier ones have arrived ([`Blocks`]), plus a fixed latency of the
//! radio.
//!
//! A discipline that decides late takes each packet when the previous one is through, that is at
//! the end of a block: such a packet may still use the rest of that block.

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Duration, Instant};

use super::blocks::{BlockConfig, Blocks, InOrder};
use crate::access::Served;

/// After this many empty blocks, which last at least this long, all later ones are taken as empty.
const PATIENCE: (u64, Duration) = (1 << 20, Duration::from_secs(1000));

/// The bits of each block for the user. Calls come in order of slots, each slot once.
pub(crate) trait Source: Clone {
    /// The bits of the block of `slot` for a user with data.
    fn block(&mut self, slot: u64) -> u64;

    /// The user has no data in the slots from `from` to before `to`. Returns the bits that they
    /// would have carried, or any number of at least `enough`.
    fn idle(&mut self, from: u64, to: u64, enough: u64) -> u64;
}

/// The server.
#[derive(Clone, Debug)]
pub(crate) struct Slotted<S> {
    source: S,
    /// In nanoseconds, at least one.
    slot: u64,
    /// In blocks.
    patience: u64,
    latency: Duration,
    blocks: Blocks,
    order: InOrder,
    /// The slot after the last one queried.
    next: u64,
    /// Unused bits of the block before `next`.
    left: u64,
}

impl<S: Source> Slotted<S> {
    pub(crate) fn new(
        source: S,
        slot: Duration,
        latency: Duration,
        blocks: &BlockConfig,
        rng: ChaCha8Rng,
    ) -> Self {
        let (blocks_most, time) = PATIENCE;
        let slot = slot.as_nanos().max(1);
        Self {
            source,
            slot,
            patience: blocks_most.max(time.as_nanos() / slot),
            latency,
            blocks: Blocks::new(blocks, rng),
            order: InOrder::default(),
            next: 0,
            left: 0,
        }
    }

    /// The start of `slot`, which is the end of the previous one.
    fn begin(&self, slot: u64) -> Instant {
        Instant::from_nanos(slot.saturating_mul(self.slot))
    }

    /// The packet is present from `now` on, and those before it are through by `busy_until`; or it
    /// `goes_on` with the rest of the last block, at the end of that block.
    pub(crate) fn serve(
        &mut self,
        now: Instant,
        busy_until: Instant,
        goes_on: bool,
        bytes: u64,
    ) -> Served {
        const NEVER: Served = Served {
            start: Instant::MAX,
            end: Instant::MAX,
            after_gap: false,
        };
        if busy_until == Instant::MAX {
            return NEVER;
        }
        let work = bytes.saturating_mul(8).max(1);
        let first = now.as_nanos().div_ceil(self.slot);
        let mut unused = 0;
        if first >= self.next && !goes_on {
            // Too late for the block before `next`.
            unused = core::mem::take(&mut self.left);
        }
        if first > self.next {
            unused = unused.saturating_add(self.source.idle(self.next, first, work));
            self.next = first;
        }
        let mut missing = work;
        let mut start = None;
        let mut empty = 0;
        while empty < self.patience {
            if self.left > 0 {
                let start = *start.get_or_insert(self.begin(self.next - 1).max(now));
                if self.left >= missing {
                    self.left -= missing;
                    return Served {
                        start,
                        end: self.begin(self.next),
                        after_gap: unused >= work,
                    };
                }
                missing -= self.left;
            }
            self.left = self.source.block(self.next);
            self.next += 1;
            empty += 1;
            if self.left > 0 {
                empty = 0;
                let through = self.begin(self.next) + self.latency;
                let wait = self.blocks.wait(self.next - 1);
                self.order.wait_for(through + wait);
            }
        }
        self.order.wait_for(Instant::MAX);
        NEVER
    }

    /// When the last packet served is delivered.
    pub(crate) fn release(&self, end: Instant) -> Instant {
        self.order.last.max(end)
    }

    /// The capacity of all blocks before `until`, in bytes.
    pub(crate) fn capacity(&mut self, until: Instant) -> Bytes {
        let slots = until.as_nanos() / self.slot;
        let bits = (0..slots).fold(0_u64, |bits, slot| {
            bits.saturating_add(self.source.block(slot))
        });
        Bytes::new(bits / 8)
    }
}

/// The same bits in each slot; fractions accumulate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steady {
    /// Work of a slot in bits times 10^9, and a remainder of less than a bit.
    pub(crate) work: u128,
    carry: u128,
}

/// Work of one bit.
pub(crate) const BIT: u128 = 1_000_000_000;

impl Steady {
    pub(crate) const fn new(work: u128) -> Self {
        Self { work, carry: 0 }
    }
}

impl Source for Steady {
    fn block(&mut self, _slot: u64) -> u64 {
        self.carry += self.work;
        let bits = self.carry / BIT;
        self.carry %= BIT;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    fn idle(&mut self, from: u64, to: u64, _enough: u64) -> u64 {
        self.carry = 0;
        let bits = self.work.saturating_mul(u128::from(to - from)) / BIT;
        u64::try_from(bits).unwrap_or(u64::MAX)
    }
}
