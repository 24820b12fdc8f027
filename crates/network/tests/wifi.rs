//! Wi-Fi: reference values (Bianchi 2000; docs/reference/networks/wifi.md).

use crate::common;

use std::sync::Arc;

use common::{assert_conserved, bare, packet, pop_all};
use network::access::{WifiConfig, WifiStandard, WifiTraffic, WifiWidth};
use network::{AccessConfig, Link, LinkConfig, Service};
use proptest::prelude::*;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use units::{Bytes, Duration, Instant};

/// TCP payload of a packet of 1500 bytes, as the reference counts it.
const PAYLOAD: f64 = 1460.0 * 8.0;

fn link(config: &WifiConfig) -> LinkConfig {
    bare(Service::Access(Arc::new(AccessConfig::Wifi(
        config.clone(),
    ))))
}

fn pair(config: &WifiConfig, seed: u64) -> [Link<u64>; 2] {
    let link = link(config);
    let rng = |stream| ChaCha8Rng::seed_from_u64(seed * 2 + stream);
    Link::pair([&link, &link], [rng(0), rng(1)])
}

/// A network whose signal is constant and strong.
fn clear(standard: WifiStandard, mcs: u8) -> WifiConfig {
    WifiConfig {
        mcs: Some(mcs),
        rssi_deviation: 0.0,
        blocked: 0.0,
        ..WifiConfig::new(standard, 0.0)
    }
}

/// Keeps the links saturated with full packets; returns the packets per second of each.
fn saturate(links: &mut [Link<u64>; 2], saturated: usize, seconds: u64) -> [f64; 2] {
    let end = Instant::from_secs(seconds);
    let mut at = Instant::ZERO;
    let mut count = [0.0; 2];
    while at < end {
        for (link, count) in links.iter_mut().zip(&mut count).take(saturated) {
            *count += pop_all(link, at).len() as f64;
            while link.queue_len(at).0 < 600 {
                link.push(at, packet(1500, 0));
            }
        }
        at += Duration::from_millis(2);
    }
    count.map(|count| count / seconds as f64)
}

/// Bianchi's saturation throughput and probability of collision. The formula assumes that collisions are
/// independent of each other, which is known to be good to a few percent with few stations: tolerances 3 % of the
/// throughput and 0.02 of the probability, set beforehand.
#[test]
fn stations_without_aggregation_share_the_medium_as_in_bianchi() {
    let stations = [1_u32, 2, 5, 10, 20, 50];
    let b = [
        (6.05, 0.0),
        (6.40, 0.057),
        (6.34, 0.178),
        (6.04, 0.290),
        (5.64, 0.399),
        (5.03, 0.532),
    ];
    let a = [
        (29.53, 0.0),
        (30.49, 0.105),
        (29.16, 0.272),
        (27.40, 0.384),
        (25.48, 0.481),
        (22.66, 0.595),
    ];
    for (standard, published) in [
        (WifiStandard::B, b),
        (WifiStandard::A, a),
        (WifiStandard::G, a),
    ] {
        for (n, (throughput, collision)) in stations.into_iter().zip(published) {
            let config = WifiConfig {
                stations: n.saturating_sub(2),
                retries: u32::MAX,
                ..clear(standard, 0)
            };
            let mut links = pair(&config, 1);
            let ours = n.min(2) as usize;
            let seconds = 60;
            let rates = saturate(&mut links, ours, seconds);
            let air = links[0].air().expect("a medium");
            // The rest was sent by the other stations.
            let through = (air.frames - air.collisions) as f64 / seconds as f64;
            let found = through * PAYLOAD / 1e6;
            let collided = air.collisions as f64 / air.frames as f64;
            println!(
                "{standard:?} {n:>2}: {found:.2} Mbit/s of {throughput}, p {collided:.3} of {collision}"
            );
            assert!((found / throughput - 1.0).abs() < 0.03);
            assert!((collided - collision).abs() < 0.02);
            // And each station has an equal fraction: four standard errors, each four times that of
            // independent frames, because the last sender has the smallest window and often sends
            // again.
            let share = through / f64::from(n);
            let error = 4.0 * (share / seconds as f64).sqrt() * 4.0;
            for rate in &rates[..ours] {
                assert!((rate - share).abs() < error, "{rate} of {share}");
            }
        }
    }
}

/// One station, no errors: the cycle AIFS + 7.5 slots + frame + SIFS + block acknowledgment. Within
/// 0.5 %.
#[test]
fn a_frame_has_the_size_that_the_standard_allows() {
    use WifiStandard::{Ac, Ax, N};
    use WifiWidth::{Mhz20, Mhz40, Mhz80};
    let table = [
        (N, Mhz20, 1, 4, 39.5, 24.2),
        (N, Mhz20, 1, 7, 65.9, 31.8),
        (N, Mhz40, 2, 4, 159.2, 43.2),
        (N, Mhz40, 2, 7, 254.2, 48.3),
        (Ac, Mhz80, 2, 0, 59.2, 29.7),
        (Ac, Mhz80, 2, 4, 334.8, 49.7),
        (Ac, Mhz80, 2, 7, 526.7, 52.1),
        (Ac, Mhz80, 2, 8, 613.9, 53.0),
        (Ac, Mhz80, 2, 9, 669.3, 53.8),
        (Ax, Mhz80, 2, 4, 392.0, 46.5),
        (Ax, Mhz80, 2, 11, 1046.6, 52.1),
    ];
    for (standard, width, streams, mcs, with, without) in table {
        for (aggregation, published) in [(true, with), (false, without)] {
            let config = WifiConfig {
                width,
                streams,
                aggregation,
                ..clear(standard, mcs)
            };
            let mut links = pair(&config, 1);
            let [rate, _] = saturate(&mut links, 1, 10);
            let found = rate * PAYLOAD / 1e6;
            println!("{standard:?} {width:?} MCS {mcs}: {found:.1} Mbit/s of {published}");
            // Over 10 s the mean of some 2000 to 40000 backoffs adds to the rounding of the table.
            assert!((found / published - 1.0).abs() < 0.005, "{found}");
            let reckoned = config.mean_rate().bits_per_sec() as f64 * 1460.0 / 1500.0 / 1e6;
            assert!((reckoned / published - 1.0).abs() < 0.02, "{reckoned}");
        }
    }
}

/// Two delivered data packets are acknowledged by one packet of 52 bytes, and data is backlogged:
/// "TCP" of the same table, which adds an exchange of ACKs to each of data. Here both directions
/// count down at the same time and occasionally collide, which the table neglects: within 10 %, set
/// beforehand.
#[test]
fn acknowledgments_take_their_part_of_the_medium() {
    use WifiStandard::{Ac, Ax, N};
    use WifiWidth::{Mhz20, Mhz40, Mhz80};
    let table = [
        (N, Mhz20, 1, 4, 36.8),
        (N, Mhz20, 1, 7, 61.3),
        (N, Mhz40, 2, 4, 144.3),
        (N, Mhz40, 2, 7, 222.9),
        (Ac, Mhz80, 2, 0, 55.0),
        (Ac, Mhz80, 2, 4, 296.5),
        (Ac, Mhz80, 2, 7, 446.2),
        (Ac, Mhz80, 2, 8, 510.4),
        (Ac, Mhz80, 2, 9, 549.9),
        (Ax, Mhz80, 2, 4, 363.8),
        (Ax, Mhz80, 2, 11, 937.7),
    ];
    for (standard, width, streams, mcs, published) in table {
        let config = WifiConfig {
            width,
            streams,
            ..clear(standard, mcs)
        };
        let mut links = pair(&config, 1);
        let end = Instant::from_secs(5);
        let mut at = Instant::ZERO;
        let mut count = 0_u64;
        while at < end {
            while links[0].queue_len(at).0 < 600 {
                links[0].push(at, packet(1500, 0));
            }
            for _ in pop_all(&mut links[0], at) {
                count += 1;
                if count.is_multiple_of(2) {
                    links[1].push(at, packet(52, 0));
                }
            }
            pop_all(&mut links[1], at);
            at = links.iter().filter_map(Link::next_event).min().unwrap();
        }
        let found = count as f64 * PAYLOAD / 5e6;
        println!("{standard:?} {width:?} MCS {mcs}: {found:.1} Mbit/s of {published}");
        assert!((found / published - 1.0).abs() < 0.10, "{found}");
    }
}

/// On average, neighbouring networks leave the rest of the time. In 60 s there are thousands of
/// bursts: 3 %.
#[test]
fn busy_neighbours_leave_the_rest() {
    let busy = |busy| {
        let config = WifiConfig {
            busy,
            ..clear(WifiStandard::Ac, 8)
        };
        saturate(&mut pair(&config, 3), 1, 60)[0]
    };
    let whole = busy(0.0);
    for share in [0.1, 0.3, 0.6] {
        let left = busy(share) / whole;
        assert!((left / (1.0 - share) - 1.0).abs() < 0.03, "{left}");
    }
}

/// Retries end: if every frame is lost, a packet is sent up to the retry limit, and its loss is
/// reported.
#[test]
fn a_packet_that_is_given_up_is_reported() {
    let config = WifiConfig {
        hidden: 1.0,
        retries: 3,
        ..clear(WifiStandard::Ac, 8)
    };
    let [mut down, _] = pair(&config, 1);
    for number in 0..5 {
        down.push(Instant::ZERO, packet(1500, number));
    }
    let end = Instant::from_secs(1);
    assert!(pop_all(&mut down, end).is_empty());
    let lost: Vec<u64> = core::iter::from_fn(|| down.take_dropped())
        .map(|dropped| dropped.packet.payload)
        .collect();
    assert_eq!(lost, [0, 1, 2, 3, 4]);
    assert_eq!(down.counters().drops_loss, 5);
    assert_eq!(down.air().unwrap().frames, 4);
    assert_conserved(&down);
}

/// mac80211's queue: with a target of 20 ms a saturated sender is dropped early, and a packet of a
/// second flow waits only for the driver's airtime.
#[test]
fn a_discipline_is_above_the_driver() {
    let config = WifiConfig {
        station_mcs: Some(4),
        stations: 2,
        ..clear(WifiStandard::N, 4)
    };
    let mut link = link(&config);
    link.queue.discipline = network::Discipline::FqCoDel(network::FqCoDelConfig {
        target: Duration::from_millis(20),
        quantum: Bytes::new(300),
        ..network::FqCoDelConfig::default()
    });
    let rng = |seed| ChaCha8Rng::seed_from_u64(seed);
    let [mut down, _] = Link::pair([&link, &link], [rng(1), rng(2)]);
    let mut waits = Vec::new();
    let mut sent = Instant::ZERO;
    for step in 0..30_000_u64 {
        let at = Instant::from_micros(step * 100);
        down.push(at, packet(1500, 0));
        if step % 1000 == 0 {
            sent = at;
            let mut sparse = packet(100, 1);
            sparse.flow = 1;
            down.push(at, sparse);
        }
        let out = pop_all(&mut down, at);
        if out.iter().any(|(_, packet)| packet.payload == 1) {
            waits.push(at.saturating_since(sent).as_nanos() as f64 / 1e6);
        }
    }
    assert!(down.counters().drops_early > 100, "{:?}", down.counters());
    assert_conserved(&down);
    // 12 ms of airtime at most, shared with two stations, and its own frame.
    let mean = waits.iter().sum::<f64>() / waits.len() as f64;
    assert!(waits.len() >= 25 && mean < 60.0, "{mean}");
    let (packets, _) = down.queue_len(Instant::from_secs(3));
    assert!(packets > 1000, "the flow that does not yield waits alone");
}

/// However small the airtime below a discipline is, one packet may wait there.
#[test]
fn without_airtime_one_packet_may_wait() {
    let config = WifiConfig {
        airtime_limit: Duration::from_nanos(1),
        ..clear(WifiStandard::Ac, 8)
    };
    let mut link = link(&config);
    link.queue.discipline = network::Discipline::CoDel(network::CoDelConfig::default());
    let rng = |seed| ChaCha8Rng::seed_from_u64(seed);
    let [mut down, _] = Link::pair([&link, &link], [rng(1), rng(2)]);
    for number in 0..10 {
        down.push(Instant::ZERO, packet(1500, number));
    }
    assert_eq!(pop_all(&mut down, Instant::from_millis(10)).len(), 10);
}

/// For a caller every few milliseconds, such as the emulator, the frames of other stations are
/// computed before a packet arrives; results do not change.
#[test]
fn frequent_callers_keep_up_with_other_stations() {
    let config = WifiConfig {
        stations: 3,
        busy: 0.3,
        ..WifiConfig::new(WifiStandard::Ac, -53.0)
    };
    let rest = Instant::from_secs(10);
    let run = |looks: bool| {
        let mut links = pair(&config, 1);
        let mut out = Vec::new();
        for number in 0..20 {
            links[0].push(Instant::ZERO, packet(1500, number));
        }
        for ms in (0..10_000).step_by(5).filter(|ms| looks || *ms < 500) {
            out.extend(pop_all(&mut links[0], Instant::from_millis(ms)));
        }
        let before = links[0].air().unwrap().frames;
        for number in 20..40 {
            links[0].push(rest, packet(1500, number));
        }
        let reckoned = links[0].air().unwrap().frames - before;
        out.extend(pop_all(&mut links[0], Instant::from_secs(11)));
        let dues: Vec<_> = out
            .iter()
            .map(|(due, packet)| (*due, packet.payload))
            .collect();
        (dues, reckoned)
    };
    let (looking, few) = run(true);
    let (resting, many) = run(false);
    assert_eq!(looking, resting);
    println!("{few} frames are computed when a packet arrives, {many} without earlier calls");
    assert!(few <= 10 && many > 1000);
}

/// Packets in flight are returned by calls at the end of time, also repeatedly: the endless traffic
/// of other stations is not simulated until then.
#[test]
fn the_end_of_time_may_be_queried_twice() {
    let config = WifiConfig {
        stations: 3,
        busy: 0.3,
        ..WifiConfig::new(WifiStandard::Ac, -53.0)
    };
    let mut links = pair(&config, 1);
    for number in 0..20 {
        links[0].push(Instant::ZERO, packet(1500, number));
    }
    assert_eq!(pop_all(&mut links[0], Instant::MAX).len(), 20);
    assert!(links[0].pop(Instant::MAX).is_none());
}

#[derive(Debug, Clone)]
enum Step {
    Push(usize, u32),
    Wait(u64),
    Pop(usize),
    Events,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (0..2_usize, 40..1501_u32).prop_map(|(link, size)| Step::Push(link, size)),
        2 => (0..3_000_000_u64).prop_map(Step::Wait),
        1 => (0..2_usize).prop_map(Step::Pop),
        2 => Just(Step::Events),
    ];
    proptest::collection::vec(step, 1..400)
}

fn network() -> impl Strategy<Value = WifiConfig> {
    let standards = prop_oneof![
        Just(WifiStandard::B),
        Just(WifiStandard::N),
        Just(WifiStandard::Ac),
        Just(WifiStandard::Ax)
    ];
    let traffic = prop_oneof![
        Just(WifiTraffic::Saturated),
        Just(WifiTraffic::OnOff {
            on: Duration::from_millis(3),
            off: Duration::from_millis(5)
        }),
        Just(WifiTraffic::Poisson(units::Rate::from_bits_per_sec(
            3_000_000
        )))
    ];
    (
        standards,
        -92.0..-40.0,
        traffic,
        0..4_u32,
        0.0..0.7,
        0.0..0.4,
        0..4_u32,
    )
        .prop_map(
            |(standard, rssi, traffic, stations, busy, hidden, retries)| WifiConfig {
                traffic,
                stations,
                busy,
                hidden,
                retries,
                ..WifiConfig::new(standard, rssi)
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Packets are conserved, keep their order and are never early with respect to `next_event`
    /// (which considers one link only, whatever the other does meanwhile), and runs are repeatable.
    #[test]
    fn a_medium_keeps_its_invariants(config in network(), steps in steps(), seed in 0..1000_u64, fq in any::<bool>()) {
        let once = || {
            let mut link = link(&config);
            link.delay = Duration::from_micros(100);
            link.queue.limit = network::QueueLimit::Packets(50);
            if fq {
                link.queue.discipline = network::Discipline::FqCoDel(network::FqCoDelConfig::default());
            }
            let rng = |stream| ChaCha8Rng::seed_from_u64(seed * 2 + stream);
            let mut links: [Link<u64>; 2] = Link::pair([&link, &link], [rng(0), rng(1)]);
            let mut now = Instant::ZERO;
            let mut number = 0;
            let mut log = Vec::new();
            let mut newest = [None; 2];
            let mut last_due = [Instant::ZERO; 2];
            // The calendar's entry for each link: it is updated only when the link itself is
            // called.
            let mut promised = [Instant::MAX; 2];
            let mut take = |links: &mut [Link<u64>; 2], index: usize, now: Instant, promise: Instant, log: &mut Vec<_>| {
                while let Some((due, packet)) = links[index].pop(now) {
                    assert!(due <= now && due >= last_due[index]);
                    assert!(promise <= due, "promised for {promise:?}, due {due:?}");
                    assert!(newest[index].is_none_or(|newest| packet.payload > newest) );
                    newest[index] = Some(packet.payload);
                    last_due[index] = due;
                    log.push((due, index, packet.payload));
                }
            };
            for step in &steps {
                match *step {
                    Step::Push(index, size) => {
                        number += 1;
                        links[index].push(now, packet(size, number));
                        promised[index] = links[index].next_event().unwrap_or(Instant::MAX).min(promised[index].max(now));
                    }
                    Step::Wait(nanos) => now += Duration::from_nanos(nanos),
                    Step::Pop(index) => {
                        let promise = promised[index];
                        take(&mut links, index, now, promise, &mut log);
                        promised[index] = links[index].next_event().unwrap_or(Instant::MAX);
                    }
                    Step::Events => {
                        let next = promised[0].min(promised[1]);
                        if next != Instant::MAX {
                            now = now.max(next);
                            for index in 0..2 {
                                if promised[index] <= now {
                                    let promise = promised[index];
                                    take(&mut links, index, now, promise, &mut log);
                                    promised[index] = links[index].next_event().unwrap_or(Instant::MAX);
                                    assert!(promised[index] > now);
                                }
                            }
                        }
                    }
                }
                for link in &links {
                    assert_conserved(link);
                }
            }
            // In the end every packet is delivered or reported lost.
            now += Duration::from_secs(100);
            for index in 0..2 {
                let promise = promised[index];
                take(&mut links, index, now, promise, &mut log);
                assert_conserved(&links[index]);
                assert_eq!(links[index].held(), 0);
                let dropped = core::iter::from_fn(|| links[index].take_dropped()).count() as u64;
                let counters = links[index].counters();
                assert!(dropped <= counters.dropped());
                log.push((now, index, counters.dropped()));
            }
            log
        };
        prop_assert_eq!(once(), once());
    }
}
