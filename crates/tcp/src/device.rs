//! TCP Small Queues: how many bytes a sender may hold in the queue of its own device (Linux 6.12
//! `tcp_small_queue_check`; no RFC).
//!
//! Assumes that the caller reports the bytes that enter and leave the device. This module counts
//! bytes of IP; Linux counts memory.

use units::Rate;

/// Most bytes that an unpaced sender holds in its device (`tcp_limit_output_bytes` of recent
/// kernels; the value is from memory and was not compared with their source).
const LIMIT_OUTPUT: u64 = 1 << 20;
/// Memory of a full segment in a packet of its own (`truesize`).
const TRUESIZE: u64 = 2_304;

/// The sender's bytes in the queue of its device.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DeviceQueue {
    /// Bytes of IP.
    queued: u64,
    /// A burst waits until some of these bytes leave.
    is_throttled: bool,
}

impl DeviceQueue {
    pub(crate) fn on_queued(&mut self, bytes: u64) {
        self.queued += bytes;
    }

    /// The device has sent `bytes`. Returns whether a burst waited for this.
    pub(crate) fn on_transmitted(&mut self, bytes: u64) -> bool {
        self.queued = self.queued.saturating_sub(bytes);
        core::mem::take(&mut self.is_throttled)
    }

    /// Whether a burst has to wait because more than `limit` is queued. `may_wait` is false if at
    /// most one segment is in flight: then no ACK would wake the sender.
    pub(crate) fn throttle(&mut self, limit: u64, may_wait: bool) -> bool {
        self.is_throttled = self.queued > limit && may_wait;
        self.is_throttled
    }

    pub(crate) const fn is_throttled(&self) -> bool {
        self.is_throttled
    }
}

/// Linux `tcp_small_queue_check`: the bytes that the device may queue before a burst of `bytes` of
/// IP follows.
pub(crate) fn small_queue(rate: Rate, shift: u8, bytes: u64, is_paced: bool) -> u64 {
    let by_rate = rate.bytes_per_sec() >> shift.min(63);
    let limit = by_rate.max(2 * bytes.max(TRUESIZE));
    if is_paced {
        limit
    } else {
        limit.min(LIMIT_OUTPUT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_a_fraction_of_the_rate_and_at_least_two_bursts() {
        for (rate, shift, limit) in [
            (1_000_000, 10, 4_608),
            (1_000_000, 8, 4_608),
            (1_000_000, 7, 7_812),
            (1_000_000, 6, 15_625),
            (12_500_000, 10, 12_207),
            (12_500_000, 8, 48_828),
            (12_500_000, 7, 97_656),
            (12_500_000, 6, 195_312),
            (125_000_000, 10, 122_070),
            (125_000_000, 8, 488_281),
            (125_000_000, 7, 976_562),
            (125_000_000, 6, 1_953_125),
        ] {
            let rate = Rate::from_bytes_per_sec(rate);
            assert_eq!(small_queue(rate, shift, 1_500, true), limit);
            assert_eq!(small_queue(rate, shift, 1_500, false), limit.min(1 << 20));
        }
        // At least two bursts at any rate. Without pacing, the limit is finite at an unlimited
        // rate.
        assert_eq!(small_queue(Rate::ZERO, 10, 67_500, true), 135_000);
        assert_eq!(small_queue(Rate::MAX, 10, 1_500, false), 1 << 20);
    }

    #[test]
    fn the_device_wakes_a_throttled_sender_once() {
        let mut device = DeviceQueue::default();
        device.on_queued(3_000);
        assert!(!device.throttle(3_000, true));
        assert!(!device.on_transmitted(0));
        assert!(device.throttle(2_999, true) && device.is_throttled());
        assert!(device.on_transmitted(1_500));
        assert!(!device.on_transmitted(5_000));
        // With one segment in flight, no ACK would wake the sender.
        device.on_queued(3_000);
        assert!(!device.throttle(0, false));
    }
}
