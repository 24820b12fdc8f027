//! What an oracle knows of its path: the simulator tells it the rate and the queue.

use congestion::KnownPath;
use units::{Bytes, Duration, Instant, Rate};

use crate::fabric::LinkState;

/// Payload of a full segment, and its IP packet.
const PAYLOAD: u64 = 1448;
const PACKET: u64 = 1500;
/// The knowledge of an oracle is at most this fraction of the base RTT old.
const FRESH: u64 = 16;
/// Less than this fraction of the mean rate is an outage, and its end is looked for this many base
/// RTTs ahead.
const OUTAGE: u64 = 8;
const FAR: u64 = 256;

/// What an oracle knows, and since when.
#[derive(Clone, Copy, Debug, Default)]
pub struct Oracle {
    known: Option<(Instant, KnownPath)>,
}

impl Oracle {
    /// What the path is like at `now`.
    pub fn look(
        &mut self,
        now: Instant,
        base_rtt: Duration,
        mean: Option<Rate>,
        link: Option<&mut LinkState>,
    ) -> KnownPath {
        let Some(state) = link else {
            return UNLIMITED;
        };
        state.advance(now);
        let (_, queued) = state.link.queue_len(now);
        let link = &state.link;
        let Some(mean) = mean else {
            return UNLIMITED;
        };
        let until = |at: Instant| link.capacity(at).map(Bytes::get);
        let usual = mean.bytes_in(base_rtt);
        // Bytes that the link carries in the base RTT from `from` on; `None` in an outage.
        let carried = |from: Instant| {
            let bytes = match until(from).zip(until(from + base_rtt)) {
                Some((before, after)) => Bytes::new(after.saturating_sub(before)),
                None => usual,
            };
            (bytes * OUTAGE >= usual).then_some(bytes)
        };
        let busy_for = link
            .busy_since(now)
            // The link must carry a BDP meanwhile: in an outage it is not busy with others.
            .filter(|&since| match until(since).zip(until(now)) {
                Some((before, after)) if now.saturating_since(since) >= base_rtt => {
                    Bytes::new(after.saturating_sub(before)) >= usual
                }
                _ => true,
            })
            .map_or(Duration::ZERO, |since| now.saturating_since(since));
        if let Some((at, known)) = self.known
            && now.saturating_since(at) < base_rtt / FRESH
        {
            let queue_delay = wait(known.rate, queued, link.overhead());
            return KnownPath {
                queue_delay,
                busy_for,
                ..known
            };
        }
        // In an outage this is the rate after it: a window that fits none is of no use.
        let mut ahead = (0..FAR).map(|times| carried(now + base_rtt * times));
        let wire = ahead.find_map(|bytes| bytes).unwrap_or(usual);
        let packet = PACKET + u64::from(link.overhead());
        let bdp = wire.mul_div(PAYLOAD, packet);
        let rate = match u128::from(base_rtt.as_nanos()) {
            0 => payload_rate(mean, link.overhead()),
            nanos => {
                let bytes = u128::from(bdp.get()) * 1_000_000_000 / nanos;
                let rate = Rate::from_bytes_per_sec(u64::try_from(bytes).unwrap_or(u64::MAX));
                rate.max(Rate::from_bytes_per_sec(1))
            }
        };
        let known = KnownPath {
            rate,
            base_rtt,
            queue_delay: wait(rate, queued, link.overhead()),
            busy_for,
        };
        self.known = Some((now, known));
        known
    }
}

/// A path without a bottleneck: nothing ends slow start.
const UNLIMITED: KnownPath = KnownPath {
    rate: Rate::MAX,
    base_rtt: Duration::MAX,
    queue_delay: Duration::ZERO,
    busy_for: Duration::ZERO,
};

/// The rate of payload in full segments at a link's `rate`.
pub fn payload_rate(rate: Rate, overhead: u32) -> Rate {
    rate.mul_div(PAYLOAD, PACKET + u64::from(overhead))
}

/// How long `queued` bytes take at a `rate` of payload.
fn wait(rate: Rate, queued: Bytes, overhead: u32) -> Duration {
    let payload = queued.mul_div(PAYLOAD, PACKET + u64::from(overhead));
    if rate.bits_per_sec() == 0 {
        Duration::ZERO
    } else {
        rate.time_for(payload)
    }
}
