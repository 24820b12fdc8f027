//! The states of an idle radio: reference values (docs/reference/networks/lte.md,
//! docs/reference/networks/hsdpa.md).

use crate::common;

use std::sync::Arc;

use common::{MBIT, assert_conserved, bare, packet};
use network::access::cellular::{
    CellConfig, CellularConfig, GrantsConfig, HsdpaConfig, RrcConfig, UmtsUplinkConfig,
};
use network::{AccessConfig, Link, LinkConfig, Service, Streams};
use units::{Duration, Instant, Rate};

fn config(config: CellularConfig) -> LinkConfig {
    bare(Service::Access(Arc::new(AccessConfig::Cellular(Box::new(
        config,
    )))))
}

/// A cell without randomness, and its uplink, which may send a request every millisecond.
fn lte(rrc: Option<RrcConfig>) -> [LinkConfig; 2] {
    let mut cell = CellConfig {
        users: 0,
        rrc,
        ..CellConfig::LTE
    };
    cell.channel.shadow_db = 0.0;
    cell.channel.doppler_hz = 0.0;
    cell.blocks.error = 0.0;
    cell.blocks.residual = 0.0;
    let mut uplink = GrantsConfig::lte(Rate::from_bits_per_sec(20 * MBIT));
    uplink.request = Duration::from_millis(1);
    uplink.blocks = cell.blocks;
    [
        config(CellularConfig::Cell(cell)),
        config(CellularConfig::Grants(uplink)),
    ]
}

/// HSDPA at a constant rate, and its uplink.
fn umts(rrc: Option<RrcConfig>) -> [LinkConfig; 2] {
    let mut hsdpa = HsdpaConfig {
        discard: 0.0,
        rrc,
        ..HsdpaConfig::DEFAULT
    };
    hsdpa.fading.spread = 0.0;
    hsdpa.fading.outages = None;
    hsdpa.blocks.error = 0.0;
    hsdpa.blocks.residual = 0.0;
    let mut uplink = UmtsUplinkConfig::at(Rate::from_bits_per_sec(384_000));
    uplink.blocks.error = 0.0;
    [
        config(CellularConfig::Hsdpa(hsdpa)),
        config(CellularConfig::UmtsUplink(uplink)),
    ]
}

fn without_drx() -> RrcConfig {
    RrcConfig {
        drx: None,
        ..RrcConfig::LTE
    }
}

const DOWN: usize = 0;
const UP: usize = 1;

fn pair(configs: &[LinkConfig; 2], seed: u64) -> [Link<u64>; 2] {
    let streams = Streams::new(seed);
    let rngs = ["path.forward", "path.reverse"].map(|name| streams.stream(name));
    Link::pair([&configs[0], &configs[1]], rngs)
}

/// Additional delay of isolated small packets compared with a radio that is always ready; in
/// milliseconds, to a block's length. `packets` gives times and directions.
fn paid(
    network: fn(Option<RrcConfig>) -> [LinkConfig; 2],
    rrc: RrcConfig,
    seed: u64,
    packets: &[(Instant, usize)],
) -> Vec<f64> {
    let delays = |rrc| {
        let mut links = pair(&network(rrc), seed);
        let mut delays = Vec::new();
        for &(at, way) in packets {
            links[way].push(at, packet(100, 0));
            let (due, _) = links[way].pop(Instant::MAX).expect("it comes out");
            delays.push((due - at).as_nanos() as f64 / 1e6);
        }
        links.iter().for_each(assert_conserved);
        delays
    };
    let (with, without) = (delays(Some(rrc)), delays(None));
    with.iter().zip(without).map(|(a, b)| a - b).collect()
}

fn ms(ms: u64) -> Instant {
    Instant::from_millis(ms)
}

/// `count` instants, a little more than `rest` apart, at random phases of a millisecond period.
fn apart(rest: Duration, count: u64) -> impl Iterator<Item = Instant> {
    (1..=count).map(move |n| Instant::ZERO + rest * n + Duration::from_nanos(n * 7_618_033))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The values are uniform between two bounds: smallest and largest near them, mean and deviation as
/// expected.
fn assert_uniform(values: &[f64], least: f64, most: f64, grid: f64) {
    let (count, span) = (values.len() as f64, most - least);
    let (low, high) = values
        .iter()
        .fold((f64::MAX, f64::MIN), |(low, high), value| {
            (value.min(low), value.max(high))
        });
    assert!(
        low > least - grid && low < least + 0.01 * span + grid,
        "{low}"
    );
    assert!(
        high < most + grid && high > most - 0.01 * span - grid,
        "{high}"
    );
    let error = span / 12.0_f64.sqrt() / count.sqrt();
    let found = mean(values);
    assert!(
        (found - (least + most) / 2.0).abs() < 4.0 * error + 0.1 * grid,
        "{found}"
    );
    let below = |share: f64| {
        let bound = least + share * span;
        values.iter().filter(|value| **value < bound).count() as f64 / count
    };
    for share in [0.25, 0.5, 0.75] {
        // A binomial's standard error is at most 1 / (2 sqrt n).
        assert!(
            (below(share) - share).abs() < 2.0 / count.sqrt() + grid / span,
            "{share}"
        );
    }
}

#[test]
fn a_promotion_of_lte_takes_80_to_260_ms() {
    for way in [DOWN, UP] {
        let packets: Vec<_> = apart(Duration::from_secs(11), 2000)
            .map(|at| (at, way))
            .collect();
        assert_uniform(&paid(lte, RrcConfig::LTE, 1, &packets), 80.0, 260.0, 1.0);
    }
}

#[test]
fn in_drx_downlink_data_waits_for_the_cycle_and_uplink_data_does_not() {
    let packets: Vec<_> = apart(Duration::from_secs(1), 2000)
        .map(|at| (at, DOWN))
        .collect();
    let connected = RrcConfig {
        begins_connected: true,
        ..RrcConfig::LTE
    };
    assert_uniform(&paid(lte, connected, 2, &packets), 0.0, 160.0, 1.0);
    let up: Vec<_> = packets.iter().map(|&(at, _)| (at, UP)).collect();
    assert!(paid(lte, connected, 2, &up).iter().all(|paid| *paid == 0.0));
}

/// Packets more frequent than a timer never wait, in either direction.
#[test]
fn frequent_packets_never_wait() {
    let connected = |rrc| RrcConfig {
        begins_connected: true,
        ..rrc
    };
    for (network, rrc, rest) in [
        (lte as fn(_) -> _, RrcConfig::LTE, Duration::from_millis(90)),
        (lte, without_drx(), Duration::from_millis(9900)),
        (umts, RrcConfig::UMTS, Duration::from_millis(4900)),
    ] {
        for ways in [[DOWN, DOWN], [UP, DOWN], [DOWN, UP]] {
            let packets: Vec<_> = apart(rest, 500).zip(ways.into_iter().cycle()).collect();
            let paid = paid(network, connected(rrc), 3, &packets);
            assert!(paid.iter().all(|paid| *paid == 0.0), "{rest:?} {ways:?}");
        }
    }
}

/// A packet of 100 bytes arrives a few blocks later, so the limits are a little above the timers.
#[test]
fn the_timers_of_umts() {
    for (rest, least, most) in [
        (4990, 0.0, 0.0),
        (5060, 500.0, 1000.0),
        (16_990, 500.0, 1000.0),
        (17_060, 1500.0, 2500.0),
        (3_600_000, 1500.0, 2500.0),
    ] {
        for way in [DOWN, UP] {
            let mut all = Vec::new();
            for seed in 0..400 {
                let packets = [(ms(100), way), (ms(3000 + rest), way)];
                // The first waits, because the run starts idle, and arrives within 2.6 s.
                let connected = RrcConfig {
                    begins_connected: true,
                    ..RrcConfig::UMTS
                };
                let begins = paid(umts, RrcConfig::UMTS, seed, &packets)[0];
                assert!((1490.0..2510.0).contains(&begins), "{begins}");
                let packets = [(ms(3000), way), (ms(3000 + rest), way)];
                let paid = paid(umts, connected, seed, &packets);
                assert_eq!(paid[0], 0.0);
                all.push(paid[1]);
            }
            if most == 0.0 {
                assert!(all.iter().all(|paid| *paid == 0.0), "{rest} {way}");
            } else {
                assert_uniform(&all, least, most, 10.0);
            }
        }
    }
}

#[test]
fn the_timers_of_lte() {
    let connected = RrcConfig {
        begins_connected: true,
        ..without_drx()
    };
    for (rest, pays) in [(9990, false), (10_010, true)] {
        // Idle time counts from the start of a run, and from a packet of either direction.
        let first = paid(lte, connected, 5, &[(ms(rest), DOWN)]);
        let own = paid(lte, connected, 5, &[(ms(2000), UP), (ms(2000 + rest), UP)]);
        let other = paid(
            lte,
            connected,
            5,
            &[(ms(2000), UP), (ms(2000 + rest), DOWN)],
        );
        for last in [first, own, other].map(|paid| *paid.last().unwrap()) {
            assert_eq!(last > 0.0, pays, "{rest}: {last}");
        }
    }
}

#[test]
fn the_other_direction_waits_for_a_promotion_too() {
    let down = paid(lte, RrcConfig::LTE, 7, &[(ms(100), DOWN)])[0];
    let both = [(ms(100), DOWN), (ms(150), UP), (ms(1000), UP)];
    let paid = paid(lte, RrcConfig::LTE, 7, &both);
    assert_eq!(paid[0], down);
    assert!((paid[1] - (down - 50.0)).abs() <= 2.0, "{paid:?}");
    assert_eq!(paid[2], 0.0);
}

/// A promotion is drawn by time, not by packet: a packet that arrives somewhat later waits as long.
#[test]
fn two_senders_meet_the_same_promotions() {
    let starts =
        |offset: u64| -> Vec<_> { (0..200).map(|n| (ms(n * 20_000 + offset), DOWN)).collect() };
    let one = paid(lte, RrcConfig::LTE, 9, &starts(0));
    let other = paid(lte, RrcConfig::LTE, 9, &starts(3000));
    for (one, other) in one.iter().zip(&other) {
        assert!((one - other).abs() < 1.0, "{one} {other}");
    }
    assert!(paid(lte, RrcConfig::LTE, 10, &starts(0)) != one);
}
