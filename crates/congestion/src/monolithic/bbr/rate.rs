//! BBR's arithmetic: bandwidth in segments per microsecond, scaled; gains in 1/256.

use units::{Bytes, Duration, Instant, Rate};

/// `BW_SCALE`: bandwidth is counted in segments per microsecond times 2^24.
const BW_SCALE: u32 = 24;
/// `BBR_UNIT`: a gain of one.
pub const UNIT: u64 = 256;
/// `bbr_pacing_margin_percent`: BBR paces this much below the estimate, to avoid a queue.
const PACING_MARGIN_PERCENT: u64 = 1;
/// `TCP_INIT_CWND`, the window before a round-trip time is known, in segments.
const UNKNOWN_BDP: u64 = 10;
/// `bbr_min_tso_rate`: below 1.2 Mbit/s BBR paces single segments.
const MIN_TSO_RATE: Rate = Rate::from_bits_per_sec(1_200_000);
/// Largest burst in bytes (`GSO_LEGACY_MAX_SIZE`).
const MAX_BURST: u64 = 65_536;

/// `segments` in `interval`, as a bandwidth.
pub fn bandwidth(segments: u64, interval: Duration) -> u64 {
    // Up to 2^40 segments fit: more than an hour at 100 Gbit/s.
    (segments << BW_SCALE) / micros(interval).max(1)
}

/// The segments delivered in `span` at `bandwidth`, rounded down.
pub fn segments_in(bandwidth: u64, span: Duration) -> u64 {
    ((u128::from(bandwidth) * u128::from(micros(span))) >> BW_SCALE) as u64
}

/// `bbr_bdp`: the BDP times `gain`, in segments rounded up.
pub fn bdp(bandwidth: u64, min_rtt: Option<Duration>, gain: u64) -> u64 {
    let Some(min_rtt) = min_rtt else {
        return UNKNOWN_BDP;
    };
    let product = u128::from(bandwidth) * u128::from(micros(min_rtt));
    let scaled = (product * u128::from(gain)) >> 8;
    ((scaled + (1 << BW_SCALE) - 1) >> BW_SCALE) as u64
}

/// `bbr_bw_to_pacing_rate`: `bandwidth` times `gain`, less the margin.
pub fn pacing_rate(bandwidth: u64, gain: u64, smss: Bytes) -> Rate {
    let bytes = (u128::from(bandwidth) * u128::from(smss.get()) * u128::from(gain)) >> 8;
    let micros = 1_000_000 / 100 * (100 - PACING_MARGIN_PERCENT);
    let rate = (bytes * u128::from(micros)) >> BW_SCALE;
    Rate::from_bytes_per_sec(u64::try_from(rate).unwrap_or(u64::MAX))
}

/// `bandwidth` as payload.
pub fn payload_rate(bandwidth: u64, smss: Bytes) -> Rate {
    let bytes = u128::from(bandwidth) * u128::from(smss.get()) * 1_000_000;
    Rate::from_bytes_per_sec(u64::try_from(bytes >> BW_SCALE).unwrap_or(u64::MAX))
}

/// `bbr_tso_segs_goal`: segments of one paced burst, about a millisecond of data.
pub fn burst(rate: Rate, smss: Bytes) -> u64 {
    let bytes = (rate.bytes_per_sec() >> 10).min(MAX_BURST);
    (bytes / smss.get().max(1)).clamp(u64::from(least_burst(rate)), 127)
}

/// `bbr_min_tso_segs`: smallest number of segments in one paced burst.
pub fn least_burst(rate: Rate) -> u32 {
    if rate < MIN_TSO_RATE { 1 } else { 2 }
}

fn micros(span: Duration) -> u64 {
    span.as_nanos() / 1_000
}

/// `tcp_update_skb_after_send`: when the next segment leaves after one that was due at `due`, leaves at
/// `now` and takes `time`. A late departure is credited, up to half of that time.
pub fn next_departure(due: Instant, now: Instant, time: Duration) -> Instant {
    let departure = due.max(now);
    let late = departure.saturating_since(due);
    departure + time.saturating_sub(late.min(time / 2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes::new(1_448);

    fn bytes_per_sec(bandwidth: u64, gain: u64) -> u64 {
        pacing_rate(bandwidth, gain, SMSS).bytes_per_sec()
    }

    #[test]
    fn linux_units() {
        let ten_in_100_ms = bandwidth(10, Duration::from_millis(100));
        assert_eq!(ten_in_100_ms, 1_677);
        assert_eq!(bytes_per_sec(ten_in_100_ms, 739), 413_638);
        let one_a_millisecond = bandwidth(1, Duration::from_millis(1));
        assert_eq!(one_a_millisecond, 16_777);
        assert_eq!(bytes_per_sec(one_a_millisecond, UNIT), 1_433_501);
        let rtt = Some(Duration::from_millis(100));
        let bdps = [256, 512, 739].map(|gain| bdp(one_a_millisecond, rtt, gain));
        assert_eq!(bdps, [100, 200, 289]);
        assert_eq!(bdp(one_a_millisecond, None, 739), 10);
        assert_eq!(
            segments_in(one_a_millisecond, Duration::from_millis(100)),
            99
        );
    }

    #[test]
    fn bursts_last_a_millisecond() {
        let bursts = [100_000, 1_200_000, 100_000_000, 10_000_000_000]
            .map(|bits| burst(Rate::from_bits_per_sec(bits), SMSS));
        assert_eq!(bursts, [1, 2, 8, 45]);
    }

    #[test]
    fn nothing_wraps_at_100_gbit_and_10_s() {
        let fast = bandwidth(8_600_000, Duration::from_secs(1));
        assert!(bytes_per_sec(fast, 739) > 30_000_000_000);
        assert!(bdp(fast, Some(Duration::from_secs(10)), 739) > 200_000_000);
    }

    #[test]
    fn a_late_departure_is_credited_up_to_half_of_its_time() {
        let (due, time) = (Instant::from_millis(1_000), Duration::from_millis(40));
        let next = |now| next_departure(due, Instant::from_millis(now), time).as_millis();
        // On time, early, 10 ms late, and late by more than the half.
        assert_eq!(
            [1_000, 990, 1_010, 1_100].map(next),
            [1_040, 1_040, 1_040, 1_120]
        );
    }
}
