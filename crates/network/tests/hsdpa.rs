//! HSDPA and UMTS: reference values (docs/reference/networks/hsdpa.md).

use crate::common;

use std::sync::Arc;

use common::{MBIT, assert_conserved, bare, packet, pop_all};
use network::access::cellular::{
    BlockConfig, CellularConfig, FadingConfig, HsdpaConfig, UmtsUplinkConfig,
};
use network::{AccessConfig, Link, QueueLimit, Service, Streams};
use units::{Bytes, Duration, Instant, Rate};

fn link(config: CellularConfig, limit: QueueLimit, seed: u64) -> Link<u64> {
    let mut link = bare(Service::Access(Arc::new(AccessConfig::Cellular(Box::new(
        config,
    )))));
    link.queue.limit = limit;
    Link::new(&link, Streams::new(seed).stream("path.forward"))
}

/// Without randomness.
fn steady(mbit: f64) -> HsdpaConfig {
    HsdpaConfig {
        fading: FadingConfig {
            mean: Rate::from_bits_per_sec((mbit * MBIT as f64) as u64),
            spread: 0.0,
            outages: None,
            ..HsdpaConfig::DEFAULT.fading
        },
        blocks: flawless(HsdpaConfig::DEFAULT.blocks),
        discard: 0.0,
        ..HsdpaConfig::DEFAULT
    }
}

fn flawless(blocks: BlockConfig) -> BlockConfig {
    BlockConfig {
        error: 0.0,
        residual: 0.0,
        ..blocks
    }
}

/// The ACKs that the uplink carries, and the download that they allow.
#[test]
fn the_uplink_limits_the_acks() {
    for (kbit, acks, each_ack, each_other) in [
        (64, 154.0, 1.80, 3.59),
        (128, 308.0, 3.59, 7.19),
        (384, 923.0, 10.8, 21.6),
    ] {
        let rate = Rate::from_bits_per_sec(kbit * 1000);
        let config = UmtsUplinkConfig {
            blocks: flawless(UmtsUplinkConfig::at(rate).blocks),
            ..UmtsUplinkConfig::at(rate)
        };
        let mut uplink = link(CellularConfig::UmtsUplink(config), QueueLimit::Unlimited, 1);
        for number in 0..100_000 {
            uplink.push(Instant::ZERO, packet(52, number));
        }
        let through = pop_all(&mut uplink, Instant::from_secs(100));
        let per_second = through.len() as f64 / 100.0;
        assert!(
            (per_second / acks - 1.0).abs() < 0.004,
            "{kbit}: {per_second}"
        );
        // Segments of 1460 bytes, as in the reference.
        let download = per_second * 1460.0 * 8.0 / 1e6;
        assert!(
            (download / each_ack - 1.0).abs() < 0.004,
            "{kbit}: {download}"
        );
        assert!((2.0 * download / each_other - 1.0).abs() < 0.004);
        // On a grid of 10 ms, 20 ms after it for interleaving.
        assert!(
            through
                .iter()
                .all(|(due, _)| due.as_nanos() % 10_000_000 == 0)
        );
    }
}

/// The delay of a full queue at 1.5 Mbit/s (kB of the reference are KiB).
#[test]
fn a_full_queue_at_the_rnc() {
    for (kib, delay) in [(64, 0.350), (128, 0.699), (256, 1.398)] {
        let limit = QueueLimit::Bytes(Bytes::new(kib << 10));
        let mut downlink = link(CellularConfig::Hsdpa(steady(1.5)), limit, 1);
        let start = Instant::from_secs(1);
        for number in 0..400 {
            downlink.push(start, packet(1500, number));
        }
        let through = pop_all(&mut downlink, Instant::MAX);
        let (last, _) = through.last().expect("some were taken");
        let took = (*last - start).as_secs_f64() - 0.015;
        // The queue holds whole packets, and the NodeB up to 20 ms more (and the data on its
        // grids).
        let least = delay - 0.010;
        assert!((least..delay + 0.035).contains(&took), "{kib}: {took}");
    }
}

/// 1500 bytes take two blocks of category 6.
#[test]
fn a_packet_takes_two_blocks_of_category_6() {
    let config = steady(3.6);
    assert_eq!(config.category_rate(), Rate::from_bits_per_sec(3_360_000));
    let mut downlink = link(CellularConfig::Hsdpa(config), QueueLimit::Unlimited, 1);
    downlink.push(Instant::ZERO, packet(1500, 0));
    let (due, _) = downlink.pop(Instant::MAX).expect("it comes out");
    assert_eq!(due, Instant::from_millis(4 + 15));
}

/// Gaps between packets of a saturated link, in milliseconds.
fn gaps(config: CellularConfig, seconds: u64) -> (Vec<f64>, f64) {
    let mut link = link(config, QueueLimit::Unlimited, 5);
    let end = Instant::from_secs(seconds);
    let mut due = Vec::new();
    let mut number = 0;
    while link.busy_until() < end {
        let now = link.busy_until();
        due.extend(pop_all(&mut link, now).into_iter().map(|(at, _)| at));
        link.push(now, packet(1504, number));
        number += 1;
        link.push(now, packet(1504, number));
        number += 1;
    }
    let rate = due.len() as f64 * 1504.0 * 8.0 / seconds as f64 / 1e6;
    let mut gaps: Vec<f64> = due
        .windows(2)
        .map(|two| (two[1] - two[0]).as_nanos() as f64 / 1e6)
        .filter(|gap| *gap > 0.0)
        .collect();
    gaps.sort_by(f64::total_cmp);
    assert_conserved(&link);
    (gaps, rate)
}

/// The recorded drive over TMobile's UMTS: gaps of 6, 16 and 41 ms at the 50th, 90th and 99th
/// percentile; in the uplink they are 10 and 20 ms.
#[test]
fn gaps_are_as_in_the_recorded_drive() {
    // A source that retries as long as a packet is refused would never see the end of a discard.
    let mut config = HsdpaConfig {
        discard: 0.0,
        ..HsdpaConfig::DEFAULT
    };
    config.fading.mean = Rate::from_bits_per_sec(2_020_000);
    if let Some(outages) = &mut config.fading.outages {
        outages.every = Duration::from_millis(6700);
    }
    let (gaps_down, rate) = gaps(CellularConfig::Hsdpa(config), 900);
    let at = |gaps: &[f64], share: f64| gaps[(gaps.len() as f64 * share) as usize];
    let [p50, p90, p99] = [0.5, 0.9, 0.99].map(|share| at(&gaps_down, share));
    let long = gaps_down.iter().filter(|gap| **gap > 200.0).count();
    println!("down: {rate:.2} Mbit/s, gaps {p50} {p90} {p99} ms, {long} above 200 ms");
    // An outage every 6.7 s, of 0.48 s on average, leaves 93 % of 2.02 Mbit/s; a quarter for the
    // rest.
    assert!((1.5..2.2).contains(&rate), "{rate}");
    for (found, recorded) in [(p50, 6.0), (p90, 16.0), (p99, 41.0)] {
        assert!(
            (found / recorded - 1.0_f64).abs() <= 0.25,
            "{found} {recorded}"
        );
    }

    let uplink = UmtsUplinkConfig::at(Rate::from_bits_per_sec(940_000));
    let (gaps_up, _) = gaps(CellularConfig::UmtsUplink(uplink), 900);
    let [p50, p90] = [0.5, 0.9].map(|share| at(&gaps_up, share));
    println!("up: gaps {p50} {p90} ms");
    assert_eq!(p50, 10.0);
    assert!((10.0..=20.0).contains(&p90), "{p90}");
    assert!(gaps_up.iter().all(|gap| gap % 10.0 == 0.0));
}

/// A tenth of the blocks arrive 12 ms later, a tenth of those another 12 ms; RLC delivers 0.1 %,
/// 100 to 200 ms after the fourth transmission. In the uplink 1 % arrive 100 ms later. Four
/// standard errors of the fraction.
#[test]
fn failed_blocks_arrive_later() {
    let count = 40_000_u64;
    let shares = |config: CellularConfig, least: f64, steps: &[(f64, f64, f64)]| {
        let mut link = link(config, QueueLimit::Unlimited, 3);
        let mut waits = Vec::new();
        for n in 1..=count {
            // On the grid of the blocks, so that any delay beyond the minimum is retransmission.
            let at = Instant::from_millis(n * 500);
            link.push(at, packet(84, 0));
            let (due, _) = link.pop(Instant::MAX).expect("it comes out");
            waits.push((due - at).as_nanos() as f64 / 1e6 - least);
        }
        for &(from, to, share) in steps {
            let within = waits.iter().filter(|wait| (from..=to).contains(*wait));
            let found = within.count() as f64 / count as f64;
            println!("{from} to {to} ms: {found:.5} of {share:.5}");
            let error = (share * (1.0 - share) / count as f64).sqrt();
            assert!(
                (found - share).abs() < 4.0 * error,
                "{from} to {to} ms: {found}"
            );
        }
    };
    let down = HsdpaConfig {
        blocks: HsdpaConfig::DEFAULT.blocks,
        ..steady(2.0)
    };
    let steps = [
        (0.0, 0.0, 0.9),
        (12.0, 12.0, 0.09),
        (24.0, 24.0, 0.009),
        (136.0, 236.0, 0.001),
    ];
    shares(CellularConfig::Hsdpa(down), 17.0, &steps);
    let up = UmtsUplinkConfig::at(Rate::from_bits_per_sec(384_000));
    shares(
        CellularConfig::UmtsUplink(up),
        30.0,
        &[(0.0, 0.0, 0.99), (100.0, 100.0, 0.0099)],
    );
}

/// RLC discards two packets of 10,000, drawn by time: senders at different moments of the same 10
/// ms lose the same.
#[test]
fn discards_are_drawn_by_time() {
    let discarded = |offset_us: u64| -> Vec<u64> {
        let config = HsdpaConfig {
            discard: HsdpaConfig::DEFAULT.discard,
            ..steady(2.0)
        };
        let mut link = link(CellularConfig::Hsdpa(config), QueueLimit::Unlimited, 9);
        (0..400_000)
            .filter(|slot| {
                let at = Instant::from_micros(slot * 10_000 + offset_us);
                let admission = link.push(at, packet(84, 0));
                pop_all(&mut link, at);
                admission != network::Admission::Accepted
            })
            .collect()
    };
    let found = discarded(0);
    assert_eq!(found, discarded(8_400));
    // 80, and four standard deviations of 8.9.
    assert!((44..=116).contains(&found.len()), "{}", found.len());
}
