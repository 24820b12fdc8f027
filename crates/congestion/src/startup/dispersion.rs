//! What the start-ups that estimate bandwidth have in common: packet pairs (ACKs of segments sent
//! back to back), a small ring of samples with its quantiles, and their own threshold.
//!
//! A *pair* is two consecutive ACKs whose newest segments left within [`BACK_TO_BACK`] of each
//! other. Its *dispersion* is the time between the ACKs, during which the second ACK's bytes were
//! delivered. The send time of a segment follows from its round-trip time, so no state is kept per
//! segment.

use units::{Bytes, Duration, Instant, Rate};

use crate::{Ack, ExitReason, Step, Window};

/// Segments that leave within this time were sent back to back.
pub(super) const BACK_TO_BACK: Duration = Duration::from_micros(50);

/// The newest segment that an ACK delivered: when it left and when its ACK came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) sent: Instant,
    pub(super) acked: Instant,
}

impl Point {
    /// The point of this ACK, if it measured a round-trip time.
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
    /// The bandwidth in bytes per second by this ACK and the one before it, if they are a pair.
    /// ACKs at the same time give none.
    pub(super) fn on_ack(&mut self, ack: &Ack) -> Option<u64> {
        let last = core::mem::replace(&mut self.last, Point::of(ack));
        let (first, second) = (last?, self.last?);
        if second.sent.saturating_since(first.sent) > BACK_TO_BACK || second.sent < first.sent {
            return None;
        }
        bytes_per_second(ack.delivered, second.acked.saturating_since(first.acked))
    }
}

/// `size` in `span`, or `None` if `span` is zero.
pub(super) fn bytes_per_second(size: Bytes, span: Duration) -> Option<u64> {
    let nanos = u128::from(span.as_nanos());
    let scaled = u128::from(size.get()) * 1_000_000_000;
    (nanos > 0).then(|| u64::try_from(scaled / nanos.max(1)).unwrap_or(u64::MAX))
}

/// The last `N` samples.
#[derive(Clone, Copy, Debug)]
pub(super) struct Samples<const N: usize> {
    ring: [u64; N],
    /// Number of samples pushed in total.
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

    /// Number of samples held.
    pub(super) fn len(&self) -> usize {
        self.count.min(N)
    }

    /// The `percent` quantile of the samples held, by the nearest rank; for an even number of
    /// samples, 50 gives the lower of the two middle ones.
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

/// A threshold from an estimate; slow start ends when the window reaches it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    pub(super) window: Bytes,
    /// The estimate in bytes per second, and the smallest RTT that it was multiplied by.
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

    /// Grows by `growth`, and exits at the target. A window above the target stays as it is.
    pub(super) fn grow(&self, growth: Bytes, window: &Window) -> Step {
        if window.cwnd + growth < self.window {
            return Step::Grow(growth);
        }
        self.exit(window.cwnd.max(self.window))
    }

    /// Exits at `cwnd`.
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
