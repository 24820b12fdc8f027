//! Token buckets: values computed by hand.

use std::sync::Arc;

use network::access::TokenBucketConfig;
use network::{
    AccessConfig, Discipline, Ecn, Link, LinkConfig, Packet, QueueConfig, QueueLimit, Service,
    Streams,
};
use units::{Bytes, Duration, Instant, Rate};

fn link(config: TokenBucketConfig) -> Link<u32> {
    let config = LinkConfig {
        name: "shaper".to_owned(),
        service: Service::Access(Arc::new(AccessConfig::TokenBucket(config))),
        overhead: 14,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        delay: Duration::ZERO,
        ..LinkConfig::DEFAULT
    };
    Link::new(&config, Streams::new(1).stream("path.forward"))
}

const TBF: TokenBucketConfig = TokenBucketConfig {
    rate: Rate::from_bits_per_sec(10_000_000),
    burst: Bytes::new(32 * 1024),
    peak: None,
    peak_burst: Bytes::new(3000),
};

fn packet(number: u32) -> Packet<u32> {
    Packet {
        size: 1500,
        flow: 0,
        ecn: Ecn::NotEct,
        payload: number,
    }
}

/// Departures of `count` packets that all arrive at `at`.
fn departures(link: &mut Link<u32>, at: Instant, count: u32) -> Vec<u64> {
    for number in 0..count {
        link.push(at, packet(number));
    }
    let mut due = Vec::new();
    while let Some((at, _)) = link.pop(Instant::MAX) {
        due.push(at.as_nanos());
    }
    due
}

#[test]
fn a_burst_passes_at_once_and_the_rest_at_the_rate() {
    let mut shaper = link(TBF);
    let start = Instant::from_secs(1);
    let due = departures(&mut shaper, start, 100);
    assert_eq!(due.iter().filter(|at| **at == 1_000_000_000).count(), 21);
    // 32768 bytes are 21 packets and 974 bytes: the next one lacks 540.
    assert_eq!(due[21], 1_000_000_000 + 540 * 800);
    assert!(due[21..].windows(2).all(|two| two[1] - two[0] == 1_211_200));
    // After an idle time the bucket is full again.
    let due = departures(&mut shaper, Instant::from_secs(2), 40);
    assert_eq!(due.iter().filter(|at| **at == 2_000_000_000).count(), 21);
}

#[test]
fn a_peak_spaces_the_burst() {
    let mut shaper = link(TokenBucketConfig {
        peak: Some(Rate::from_bits_per_sec(100_000_000)),
        peak_burst: Bytes::new(1514),
        ..TBF
    });
    let due = departures(&mut shaper, Instant::from_secs(1), 40);
    let spaces: Vec<_> = due.windows(2).map(|two| two[1] - two[0]).collect();
    // While the peak empties the bucket, the rate adds 151.4 bytes in each gap: packet n passes at
    // the peak while 1514 n <= 32768 + 151.4 (n - 1), which is n <= 23.
    let at_peak = spaces.iter().filter(|space| **space == 121_120).count();
    assert_eq!(at_peak, 22, "{spaces:?}");
    assert!(spaces[24..].iter().all(|space| *space == 1_211_200));
}

#[test]
fn no_span_passes_more_than_its_tokens() {
    let mut shaper = link(TBF);
    let mut due = Vec::new();
    for step in 0..400_u64 {
        // Bursts of one to seven packets at uneven times.
        let at = Instant::from_micros(step * 7_300 + step % 11 * 613);
        while let Some((at, _)) = shaper.pop(at) {
            due.push(at.as_nanos());
        }
        for number in 0..=step % 7 {
            shaper.push(at, packet(number as u32));
        }
    }
    while let Some((at, _)) = shaper.pop(Instant::MAX) {
        due.push(at.as_nanos());
    }
    for (first, begin) in due.iter().enumerate() {
        for (last, end) in due.iter().enumerate().skip(first) {
            let passed = (last - first + 1) as u64 * 1514;
            // 10 Mbit/s are 1.25 bytes in a microsecond; departures are rounded up.
            let tokens = 32 * 1024 + (end - begin) / 800 + 1;
            assert!(passed <= tokens, "{passed} bytes where {tokens} may pass");
        }
    }
    let counters = shaper.counters();
    assert_eq!(counters.packets_in, counters.packets_out);
}

#[test]
fn half_the_rate_keeps_no_shaper_busy_and_the_rate_does() {
    let periods = |gap_ns: u64| {
        let mut shaper = link(TBF);
        for number in 0..2000 {
            let at = Instant::from_nanos(u64::from(number) * gap_ns);
            while shaper.pop(at).is_some() {}
            shaper.push(at, packet(number));
        }
        shaper.busy_periods()
    };
    assert_eq!(periods(2 * 1_211_200), 2000);
    assert_eq!(periods(1_200_000), 1);
}
