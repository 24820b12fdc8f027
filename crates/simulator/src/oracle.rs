//! What an oracle knows of its path: the simulator tells it the rate and the queue.

use congestion::KnownPath;
use network::Link;
use units::{Bytes, Duration, Instant, Rate};

use crate::carried::Carried;
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
    pub fn path_at(
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
        let link = &mut state.link;
        let Some(mean) = mean else {
            return UNLIMITED;
        };
        let usual = mean.bytes_in(base_rtt);
        let busy_for = link
            .busy_since(now)
            // The link must carry a BDP meanwhile: in an outage it is not busy with others.
            .filter(|&since| {
                now.saturating_since(since) < base_rtt
                    || between(link, since, now).is_none_or(|bytes| bytes >= usual)
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
        let mut ahead = (0..FAR).map(|times| {
            let from = now + base_rtt * times;
            between(link, from, from + base_rtt).unwrap_or(usual)
        });
        let wire = ahead.find(|&bytes| bytes * OUTAGE >= usual);
        let wire = wire.unwrap_or(usual);
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

/// The bytes that the link can carry between two times; `None` if its rate is unlimited.
fn between(link: &mut Link<Carried>, from: Instant, until: Instant) -> Option<Bytes> {
    let before = link.capacity(from)?;
    let after = link.capacity(until)?;
    Some(Bytes::new(after.get().saturating_sub(before.get())))
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
