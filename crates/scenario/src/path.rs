//! `[path]`: from keys to a [`PathModel`].

use network::{LinkConfig, QueueLimit, Service};
use units::{Bytes, Duration, Rate};

use crate::FULL_PACKET;

/// Bytes of IP that one opportunity of a Mahimahi trace carries (network-models A.9).
const OPPORTUNITY_BYTES: u64 = 1504;

/// The rate of a service, its mean where it varies; `None` where it has no limit.
pub(crate) fn mean_rate(service: &Service) -> Option<Rate> {
    match service {
        Service::Unlimited => None,
        Service::Fixed(rate) => Some(*rate),
        Service::Varying { mean, .. } => Some(*mean),
        Service::Steps { steps } => {
            let span = steps.iter().fold(Duration::ZERO, |sum, (span, _)| sum + *span);
            let bits: u128 = steps.iter().map(|(span, rate)| u128::from(span.as_nanos()) * u128::from(rate.bits_per_sec())).sum();
            let mean = bits.checked_div(u128::from(span.as_nanos())).unwrap_or(0);
            Some(Rate::from_bits_per_sec(u64::try_from(mean).unwrap_or(u64::MAX)))
        }
        Service::Trace(trace) => {
            let span = trace.opportunities_ms.last().copied().unwrap_or(0);
            let bits = trace.opportunities_ms.len() as u64 * OPPORTUNITY_BYTES * 8;
            Some(Rate::from_bits_per_sec((bits * 1000).checked_div(u64::from(span)).unwrap_or(0)))
        }
    }
}

/// The waiting room of a link in bytes, `overhead` included.
pub(crate) fn buffer_bytes(link: &LinkConfig) -> Option<Bytes> {
    match link.queue.limit {
        QueueLimit::Unlimited => None,
        QueueLimit::Bytes(bytes) => Some(bytes),
        QueueLimit::Packets(packets) => Some(Bytes::new(u64::from(FULL_PACKET) + u64::from(link.overhead)) * packets),
    }
}
