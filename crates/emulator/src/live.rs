//! The current state of a run, for display: the emulator's thread publishes numbers without waiting
//! for a reader.

use std::sync::atomic::{AtomicU64, Ordering};

use units::{Bytes, Duration, Instant};

use crate::link::LinkState;

/// One link at one moment. Counts are since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkSnapshot {
    /// Packets delivered.
    pub packets: u64,
    /// IP bytes delivered.
    pub bytes: Bytes,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked instead of dropped.
    pub marks: u64,
    /// Packets in the queue.
    pub queue_packets: u64,
    /// Bytes in the queue, overhead included.
    pub queue_bytes: Bytes,
}

/// An emulation at one moment. The links are read one after the other, so their numbers may be some
/// packets apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// When, since the run began.
    pub at: Instant,
    /// The link that carries the data.
    pub forward: LinkSnapshot,
    /// The link that carries the ACKs.
    pub reverse: LinkSnapshot,
    /// Largest lateness so far.
    pub worst_lateness: Duration,
}

#[derive(Debug, Default)]
pub(crate) struct LiveLink {
    packets: AtomicU64,
    bytes: AtomicU64,
    drops: AtomicU64,
    marks: AtomicU64,
    queue_packets: AtomicU64,
    queue_bytes: AtomicU64,
}

impl LiveLink {
    pub(crate) fn store(&self, now: Instant, state: &mut LinkState) {
        let counters = state.link.counters();
        let (packets, bytes) = state.link.queue_len(now);
        self.packets.store(counters.packets_out, Ordering::Relaxed);
        self.bytes
            .store(counters.bytes_out.get(), Ordering::Relaxed);
        self.drops.store(counters.dropped(), Ordering::Relaxed);
        self.marks.store(counters.marks, Ordering::Relaxed);
        self.queue_packets.store(packets, Ordering::Relaxed);
        self.queue_bytes.store(bytes.get(), Ordering::Relaxed);
    }

    fn load(&self) -> LinkSnapshot {
        LinkSnapshot {
            packets: self.packets.load(Ordering::Relaxed),
            bytes: Bytes::new(self.bytes.load(Ordering::Relaxed)),
            drops: self.drops.load(Ordering::Relaxed),
            marks: self.marks.load(Ordering::Relaxed),
            queue_packets: self.queue_packets.load(Ordering::Relaxed),
            queue_bytes: Bytes::new(self.queue_bytes.load(Ordering::Relaxed)),
        }
    }
}

/// Written by the emulator's thread, read by others.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) links: [LiveLink; 2],
    pub(crate) worst_lateness: AtomicU64,
}

impl Live {
    pub(crate) fn snapshot(&self, at: Instant) -> Snapshot {
        Snapshot {
            at,
            forward: self.links[0].load(),
            reverse: self.links[1].load(),
            worst_lateness: Duration::from_nanos(self.worst_lateness.load(Ordering::Relaxed)),
        }
    }
}
