//! FQ-CoDel: a queue and a CoDel for each flow, served in turn, new flows first (RFC 8290, section
//! 4).
//!
//! ## Deviations
//!
//! - The flow's number is hashed, not its five-tuple, with a perturbation from the link's stream.
//! - A CoDel leaves its queue alone while at most one packet is in all queues together, as in
//!   Linux; RFC 8289 considers only the one queue.
//! - Memory has no limit besides the queue's own; Linux has 32 MB.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use units::Instant;

use super::codel::CoDel;
use super::{Fate, Fifo, Limit, Waiting};
use crate::FqCoDelConfig;
use crate::streams::mix;

/// Most packets that an overflow drops at once (section 4.1 and Linux's `drop_batch_size`).
const MOST_DROPPED: usize = 64;

/// Bytes that a queue may send in each round.
fn quantum(config: &FqCoDelConfig) -> i64 {
    i64::try_from(config.quantum.get()).unwrap_or(i64::MAX)
}

#[derive(Clone, Debug)]
pub(crate) struct FqCoDel<T> {
    config: FqCoDelConfig,
    flows: Vec<Flow<T>>,
    /// Active queues, the new ones before the old ones.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    perturbation: u64,
    packets: u64,
    bytes: u64,
}

#[derive(Clone, Debug)]
struct Flow<T> {
    fifo: Fifo<T>,
    codel: CoDel,
    /// Bytes that it may still send in this round.
    deficit: i64,
    /// Whether it is a new or an old one.
    listed: bool,
}

impl<T> FqCoDel<T> {
    pub(crate) fn new(config: FqCoDelConfig, mut rng: ChaCha8Rng) -> Self {
        let flow = || Flow {
            fifo: Fifo::default(),
            codel: CoDel::default(),
            deficit: 0,
            listed: false,
        };
        Self {
            flows: (0..config.flows.max(1)).map(|_| flow()).collect(),
            config,
            new: VecDeque::new(),
            old: VecDeque::new(),
            perturbation: rng.next_u64(),
            packets: 0,
            bytes: 0,
        }
    }

    pub(crate) fn len(&self) -> (u64, u64) {
        (self.packets, self.bytes)
    }

    pub(crate) fn enqueue(&mut self, waiting: Waiting<T>) {
        let hash = mix(self.perturbation ^ u64::from(waiting.packet.flow));
        // Below the number of queues, which is a `usize`.
        let index = (hash % self.flows.len() as u64) as usize;
        let flow = &mut self.flows[index];
        self.packets += 1;
        self.bytes += waiting.bytes;
        flow.fifo.push(waiting);
        if !flow.listed {
            flow.listed = true;
            flow.deficit = quantum(&self.config);
            self.new.push_back(index);
        }
    }

    /// Drops from the head of the longest queue while the backlog exceeds `limit`: half of its
    /// bytes, at most [`MOST_DROPPED`] packets at a time.
    pub(crate) fn enforce(&mut self, now: Instant, limit: Limit, fate: &mut Fate<T>) {
        while self.packets > limit.packets || self.bytes > limit.bytes {
            // The first of equals.
            let flows = self.flows.iter_mut().rev();
            let Some(flow) = flows.max_by_key(|flow| (flow.fifo.bytes(), flow.fifo.len())) else {
                return;
            };
            let half = flow.fifo.bytes() / 2;
            let mut gone = 0;
            for _ in 0..MOST_DROPPED {
                let Some(waiting) = flow.fifo.pop() else {
                    break;
                };
                self.packets -= 1;
                self.bytes -= waiting.bytes;
                gone += waiting.bytes;
                fate.drop_overflow(now, waiting);
                if gone >= half {
                    break;
                }
            }
        }
    }

    pub(crate) fn dequeue(&mut self, now: Instant, fate: &mut Fate<T>) -> Option<Waiting<T>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let index = *list.front()?;
            let flow = &mut self.flows[index];
            if flow.deficit <= 0 {
                flow.deficit += quantum(&self.config).max(1);
                list.pop_front();
                self.old.push_back(index);
                continue;
            }
            let (packets, bytes) = (flow.fifo.len(), flow.fifo.bytes());
            let others = self.bytes - bytes;
            let config = &self.config.codel();
            let taken = flow
                .codel
                .dequeue(now, config, &mut flow.fifo, others, fate);
            self.packets -= packets - flow.fifo.len();
            self.bytes -= bytes - flow.fifo.bytes();
            if let Some(waiting) = taken {
                flow.deficit -= i64::try_from(waiting.bytes).unwrap_or(i64::MAX);
                return Some(waiting);
            }
            list.pop_front();
            if is_new && !self.old.is_empty() {
                // It gets one more turn, so that a flow cannot stay new by sending little at a
                // time.
                self.old.push_back(index);
            } else {
                flow.listed = false;
            }
        }
    }
}
