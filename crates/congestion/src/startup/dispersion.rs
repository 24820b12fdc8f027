//! What the start-ups that estimate bandwidth share: which two ACKs belong to segments that were
//! sent back to back, a small ring of samples with its quantiles, and a threshold of their own.
//!
//! A *pair* is two ACKs in a row whose newest segments left within [`BACK_TO_BACK`] of each other;
//! its *dispersion* is the time between the ACKs, for which the second delivered so many bytes. When
//! a segment left is known from its round-trip time, so nothing is kept for each segment.

use units::{Bytes, Duration, Instant, Rate};

use crate::{Ack, ExitReason, Step, Window};

/// Segments that leave within this span were sent back to back.
pub(super) const BACK_TO_BACK: Duration = Duration::from_micros(50);

/// A newest segment that an ACK delivered: when it left and when its ACK came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) sent: Instant,
    pub(super) acked: Instant,
}

impl Point {
    /// Of this ACK, if it measured a round-trip time.
    pub(super) fn of(ack: &Ack) -> Option<Self> {
        let rtt = ack.latest_rtt?;
        Some(Self {
            sent: Instant::ZERO + ack.now.saturating_since(Instant::ZERO).saturating_sub(rtt),
            acked: ack.now,
        })
    }
}

/// Finds pairs in a stream of ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pairs {
    last: Option<Point>,
}

impl Pairs {
    /// The bandwidth that this ACK and the one before it show, if they are a pair, in bytes per
    /// second. ACKs at the same time show none.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<u64> {
        let last = core::mem::replace(&mut self.last, Point::of(ack));
        let (first, second) = (last?, self.last?);
        if second.sent.saturating_since(first.sent) > BACK_TO_BACK || second.sent < first.sent {
            return None;
        }
        bytes_per_second(ack.delivered, second.acked.saturating_since(first.acked))
    }
}

/// `size` in `span`; none in no time.
pub(super) fn bytes_per_second(size: Bytes, span: Duration) -> Option<u64> {
    let nanos = u128::from(span.as_nanos());
    let scaled = u128::from(size.get()) * 1_000_000_000;
    (nanos > 0).then(|| u64::try_from(scaled / nanos.max(1)).unwrap_or(u64::MAX))
}

/// The last `N` samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples<const N: usize> {
    ring: [u64; N],
    /// How many there were in all.
    count: usize,
}

impl<const N: usize> Samples<N> {
    pub(super) const fn new() -> Self {
        Self {
            ring: [0; N],
            count: 0,
        }
    }

    pub(super) fn push(&mut self, sample: u64) {
        self.ring[self.count % N] = sample;
        self.count += 1;
    }

    /// How many are held.
    pub(super) fn len(&self) -> usize {
        self.count.min(N)
    }

    /// The sample that `percent` of those held do not exceed, by the nearest rank; of an even
    /// number, 50 is the lower of the two in the middle.
    pub(super) fn quantile(&self, percent: usize) -> Option<u64> {
        let len = self.len();
        let mut sorted = self.ring;
        let held = sorted.get_mut(..len)?;
        held.sort_unstable();
        let rank = (len * percent).div_ceil(100).max(1);
        held.get(rank - 1).copied()
    }

    pub(super) fn max(&self) -> Option<u64> {
        self.ring[..self.len()].iter().copied().max()
    }
}

/// The window that `rate` (bytes per second) fills in `min_rtt`: whole segments, at least two.
pub(super) fn product(rate: u64, min_rtt: Duration, smss: Bytes) -> Bytes {
    let bytes = Rate::from_bytes_per_sec(rate).bytes_in(min_rtt);
    (smss * bytes.segments(smss)).max(smss * 2)
}

/// A threshold that an estimate gave; slow start ends where the window reaches it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) window: Bytes,
    /// The estimate in bytes per second, and the smallest RTT it was multiplied with.
    rate: u64,
    min_rtt: Duration,
}

impl Target {
    pub(super) fn new(rate: u64, min_rtt: Duration, smss: Bytes) -> Self {
        Self {
            window: product(rate, min_rtt, smss),
            rate,
            min_rtt,
        }
    }

    /// Grows by `growth`, and leaves at the target. A window above the target leaves as it is.
    pub(super) fn grow(&self, growth: Bytes, window: &Window) -> Step {
        if window.cwnd + growth < self.window {
            return Step::Grow(growth);
        }
        self.exit(window.cwnd.max(self.window))
    }

    /// Leaves at `cwnd`.
    pub(super) fn exit(&self, cwnd: Bytes) -> Step {
        Step::Exit {
            cwnd,
            ssthresh: cwnd,
            reason: ExitReason::Bandwidth {
                estimate: Rate::from_bytes_per_sec(self.rate),
                min_rtt: self.min_rtt,
            },
        }
    }
}
