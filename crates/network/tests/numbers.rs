//! Reference values: docs/reference/sources.md, "Common rules"; `sch_netem`;
//! docs/reference/networks/geo.md.

use crate::common;

use common::{MBIT, assert_conserved, bare, build, fixed, packet, pop_all};
use network::{
    Admission, Discipline, DropReason, GilbertElliott, LossConfig, QueueLimit, RandomAboveConfig,
    Service,
};
use units::{Bytes, Duration, Instant, Rate};

/// 50 Mbit/s, 100 ms, one BDP of 413 packets of 1514 bytes (SUSS developers 2025).
#[test]
fn the_wired_bottleneck() {
    let mut config = bare(fixed(50 * MBIT));
    config.overhead = 14;
    config.queue.limit = QueueLimit::Packets(413);
    config.delay = Duration::from_millis(50);
    let bdp = Rate::from_bits_per_sec(50 * MBIT).bytes_in(Duration::from_millis(100));
    assert_eq!((bdp.get() + 1514 / 2) / 1514, 413);

    let mut link = build(&config);
    let accepted = (0..1000)
        .filter(|number| link.push(Instant::ZERO, packet(1500, *number)) == Admission::Accepted)
        .count();
    // 413 wait, one more is in service.
    assert_eq!(accepted, 414);
    assert_eq!(link.queue_len(Instant::ZERO), (413, Bytes::new(413 * 1514)));
    assert_eq!(link.counters().drops_overflow, 586);
    // A full buffer adds 413 serialisations of 242.24 us: 100.05 ms.
    let out = pop_all(&mut link, Instant::from_secs(1));
    assert_eq!(out[0].0, Instant::from_nanos(50_000_000 + 242_240));
    assert_eq!(out[413].0 - out[0].0, Duration::from_nanos(100_045_120));
    assert_eq!(
        link.busy_time(Instant::from_secs(1)),
        Duration::from_nanos(414 * 242_240)
    );
    assert!((link.utilization(Instant::from_secs(1)) - 0.100_287_36).abs() < 1e-12);
    // Little: 413 packets wait 1, 2, ... 413 serialisations.
    let mean = link.queue_mean_packets(Instant::from_secs(1));
    assert!(
        (mean - 413.0 * 414.0 / 2.0 * 242_240e-9).abs() < 1e-9,
        "{mean}"
    );
    assert_eq!(link.queue_max_packets(), 413);
    assert_conserved(&link);
}

/// At twice the rate the queue grows at the rate, so it is full after B serialisations.
#[test]
fn a_double_overload_fills_the_queue_at_the_rate() {
    let mut config = bare(fixed(10 * MBIT));
    config.overhead = 14;
    config.queue.limit = QueueLimit::Packets(50);
    let mut link = build(&config);
    let tx = 1_211_200; // 1514 bytes at 10 Mbit/s, in nanoseconds
    let first_drop = (0..)
        .map(|number| Instant::from_nanos(number * tx / 2))
        .find(|now| link.push(*now, packet(1500, 0)) == Admission::Dropped(DropReason::Overflow))
        .unwrap();
    let expected = 50 * tx;
    assert!(
        first_drop.as_nanos().abs_diff(expected) <= 2 * tx,
        "{first_drop:?}"
    );
}

/// The long-term loss of `gemodel` is (p (1-h) + r (1-k)) / (p + r), and bursts last 1/r.
#[test]
fn gemodel_means() {
    let run = |p, r, bad_loss, good_loss| {
        let mut config = bare(Service::Unlimited);
        config.loss = LossConfig::GilbertElliott(GilbertElliott {
            p,
            r,
            bad_loss,
            good_loss,
        });
        let mut link = build(&config);
        let count = 4_000_000_u64;
        let (mut losses, mut bursts, mut before) = (0_u64, 0_u64, false);
        for number in 0..count {
            let now = Instant::from_micros(number);
            let lost = link.push(now, packet(1500, number)) == Admission::Dropped(DropReason::Loss);
            losses += u64::from(lost);
            bursts += u64::from(lost && !before);
            before = lost;
            while link.pop(now).is_some() {}
        }
        assert_eq!(link.counters().drops_loss, losses);
        assert_conserved(&link);
        (losses as f64 / count as f64, losses as f64 / bursts as f64)
    };
    // The loss ratio's variance is inflated by the bursts, about (2 - p - r)/(p + r) times: 4
    // standard errors are 4 sqrt(0.0312 * 5.5 / 4e6) = 0.00083 and less for the second.
    let (loss, burst) = run(0.01, 0.3, 1.0, 0.0);
    assert!((loss - 0.032_26).abs() < 0.000_83, "{loss}");
    assert!((burst - 1.0 / 0.3).abs() < 0.06, "{burst}");
    let (loss, _) = run(0.005, 0.2, 0.5, 0.001);
    assert!((loss - 0.013_17).abs() < 0.000_7, "{loss}");
}

/// The loss is drawn with the state before the transition, and the first state is the good one.
#[test]
fn gemodel_takes_the_state_before_the_transition() {
    let mut config = bare(Service::Unlimited);
    config.loss = LossConfig::GilbertElliott(GilbertElliott {
        p: 1.0,
        r: 1.0,
        bad_loss: 1.0,
        good_loss: 0.0,
    });
    let mut link = build(&config);
    for number in 0..10 {
        let lost = link.push(Instant::ZERO, packet(1500, number)) != Admission::Accepted;
        assert_eq!(lost, number % 2 == 1);
    }
}

#[test]
fn bernoulli_mean() {
    let mut config = bare(Service::Unlimited);
    config.loss = LossConfig::Bernoulli(0.001);
    let mut link = build(&config);
    for number in 0..1_000_000 {
        let _ = link.push(Instant::from_micros(number), packet(1500, number));
    }
    // 1000 +- 4 sqrt(1000).
    assert!(
        link.counters().drops_loss.abs_diff(1000) < 127,
        "{}",
        link.counters().drops_loss
    );
}

/// The GEO gateway at `load` times its rate of 33 Mbit/s, for `secs` seconds; bytes queued at the
/// end, and drops (early, overflow).
fn geo(load: f64, secs: u64) -> (u64, u64, u64) {
    let mut config = bare(fixed(33 * MBIT));
    config.queue.limit = QueueLimit::Bytes(Bytes::new(36_000_000));
    config.queue.discipline = Discipline::RandomAbove(RandomAboveConfig {
        fill: 0.5,
        probability: 0.25,
    });
    let mut link = build(&config);
    let spacing = (1500.0 * 8.0 / (33e6 * load) * 1e9) as u64;
    let mut now = Instant::ZERO;
    while now < Instant::from_secs(secs) {
        let _ = link.push(now, packet(1500, 0));
        while link.pop(now).is_some() {}
        now += Duration::from_nanos(spacing);
    }
    assert_conserved(&link);
    let counters = link.counters();
    (
        link.queue_len(now).1.get(),
        counters.drops_early,
        counters.drops_overflow,
    )
}

/// Above the rate and up to 4/3 of it the queue settles at 18 MB; beyond, at 36 MB.
#[test]
fn the_geo_gateway_settles_at_half_its_limit_under_mild_overload() {
    for load in [1.1, 1.2, 1.3] {
        let (bytes, early, overflow) = geo(load, 100);
        assert!((17_900_000..18_400_000).contains(&bytes), "{load}: {bytes}");
        assert!(early > 0 && overflow == 0);
    }
    let (bytes, early, overflow) = geo(1.5, 100);
    assert!((35_950_000..=36_000_000).contains(&bytes), "{bytes}");
    assert!(early > 0 && overflow > 0);
    let (bytes, early, overflow) = geo(0.95, 100);
    assert!(bytes < 3000 && early == 0 && overflow == 0, "{bytes}");
}

/// 18 MB drain in 1.00 s at 144 Mbit/s, 2.88 s at 50, 4.36 s at 33.
#[test]
fn the_geo_queue_drains_as_computed() {
    for (rate, millis) in [(144, 1000), (50, 2880), (33, 4364)] {
        let mut link = build(&bare(fixed(rate * MBIT)));
        for number in 0..12_000 {
            let _ = link.push(Instant::ZERO, packet(1500, number));
        }
        assert!(
            link.busy_until().as_millis().abs_diff(millis) <= 1,
            "{:?}",
            link.busy_until()
        );
    }
}

#[test]
fn the_ends_of_the_range_work() {
    // One bit per second: 1500 bytes take 12,000 s.
    let mut link = build(&bare(fixed(1)));
    let _ = link.push(Instant::ZERO, packet(1500, 0));
    assert_eq!(link.next_event(), Some(Instant::from_secs(12_000)));
    // The end of time is far away and never passes: packets due then are never delivered.
    for number in 0..2_000_000 {
        let _ = link.push(Instant::ZERO, packet(1500, number));
    }
    assert_eq!(pop_all(&mut link, Instant::from_secs(36_000)).len(), 3);
    assert_conserved(&link);

    // 100 Gbit/s, a buffer of one packet, no delay.
    let mut config = bare(fixed(100_000 * MBIT));
    config.queue.limit = QueueLimit::Packets(1);
    let mut link = build(&config);
    let admissions: Vec<_> = (0..3)
        .map(|number| link.push(Instant::ZERO, packet(1500, number)))
        .collect();
    assert_eq!(admissions[..2], [Admission::Accepted; 2]);
    assert_eq!(admissions[2], Admission::Dropped(DropReason::Overflow));
    let out = pop_all(&mut link, Instant::from_nanos(240));
    assert_eq!(
        out.iter()
            .map(|(due, _)| due.as_nanos())
            .collect::<Vec<_>>(),
        [120, 240]
    );

    // No buffer: a packet is accepted only if the server is idle.
    config.queue.limit = QueueLimit::Packets(0);
    let mut link = build(&config);
    assert_eq!(
        link.push(Instant::ZERO, packet(1500, 0)),
        Admission::Accepted
    );
    assert_ne!(
        link.push(Instant::ZERO, packet(1500, 1)),
        Admission::Accepted
    );
    assert_eq!(
        link.push(Instant::from_nanos(120), packet(1500, 2)),
        Admission::Accepted
    );

    // Rate zero: accepted, and never delivered.
    let mut link = build(&bare(fixed(0)));
    assert_eq!(
        link.push(Instant::ZERO, packet(1500, 0)),
        Admission::Accepted
    );
    assert_eq!((link.next_event(), link.held()), (None, 1));
    assert!(link.pop(Instant::from_secs(1_000_000)).is_none());
    assert_conserved(&link);
}

#[test]
fn idle_time_separates_busy_periods() {
    let mut link = build(&bare(fixed(12 * MBIT))); // 1 ms for a packet
    let at = Instant::from_micros;
    link.keep_busy_periods(Duration::from_millis(2));
    assert_eq!((link.busy_periods(), link.busy_since(at(0))), (0, None));
    let _ = link.push(at(500), packet(1500, 0));
    let _ = link.push(at(1500), packet(1500, 1)); // as the first one leaves: no gap
    assert_eq!(
        (link.busy_periods(), link.busy_since(at(2499))),
        (1, Some(at(500)))
    );
    assert_eq!(
        (link.busy_until(), link.busy_since(at(2500))),
        (at(2500), None)
    );
    let _ = link.push(at(3000), packet(1500, 2));
    assert_eq!(link.busy_periods(), 2);
    assert_eq!(link.take_busy_period(), Some((at(500), at(2500))));
    assert_eq!(link.busy_time(at(3500)), Duration::from_micros(2500));
    assert_eq!(link.busy_time(at(9000)), Duration::from_micros(3000));
    // A period shorter than the limit is not kept.
    let _ = link.push(at(9000), packet(1500, 3));
    assert_eq!(
        (link.busy_periods(), link.take_busy_period()),
        (3, None),
        "{:?}",
        link.last_busy_period(at(9500))
    );
}

/// A cycle of two nanoseconds repeats 1.8 trillion times in an hour. No operation may take time in
/// proportion to that: neither serving a packet nor computing the link's capacity.
#[test]
fn short_steps_are_skipped_in_whole_cycles() {
    let step = |rate| (Duration::from_nanos(1), Rate::from_bits_per_sec(rate));
    let hour = Instant::from_secs(3600);
    // 1.5 bit/s on average: 8000 bits take 5333.3 s, and an hour carries 5400 bits.
    let mut link = build(&bare(Service::Steps {
        steps: [step(1), step(2)].into(),
    }));
    let _ = link.push(Instant::ZERO, packet(1000, 0));
    let leaves = link.busy_until().as_nanos();
    assert!(leaves.abs_diff(5_333_333_333_333) <= 2, "{leaves}");
    assert_eq!(link.capacity(hour), Some(Bytes::new(5400 / 8)));
    assert!((link.utilization(hour) - 1.0).abs() < 1e-12);
    // It is the sum over the stretches, even if the end cuts a cycle.
    let uneven = [(3_u64, 7_000), (1, 0), (4, 90_000)]
        .map(|(ms, rate)| (Duration::from_millis(ms), Rate::from_bits_per_sec(rate)));
    let mut link = build(&bare(Service::Steps {
        steps: uneven.into(),
    }));
    for ms in 0..50 {
        let bits: u64 = (0..ms)
            .map(|ms| [7, 7, 7, 0, 90, 90, 90, 90][ms as usize % 8])
            .sum();
        assert_eq!(
            link.capacity(Instant::from_millis(ms)),
            Some(Bytes::new(bits / 8)),
            "{ms} ms"
        );
    }
}

/// Busy time counts for a constant rate, bytes over capacity for a changing one; the mean rates
/// determine the bandwidth-delay product.
#[test]
fn utilization_and_mean_rates() {
    let step = |ms, mbit| {
        (
            Duration::from_millis(ms),
            Rate::from_bits_per_sec(mbit * MBIT),
        )
    };
    let steps = Service::Steps {
        steps: [step(100, 8), step(300, 0)].into(),
    };
    assert_eq!(steps.mean_rate(), Some(Rate::from_bits_per_sec(2 * MBIT)));
    assert_eq!(fixed(7).mean_rate(), Some(Rate::from_bits_per_sec(7)));
    assert_eq!(Service::Unlimited.mean_rate(), None);

    let mut link = build(&bare(steps));
    for number in 0..50 {
        let _ = link.push(Instant::ZERO, packet(1000, number));
    }
    // A hundred packets fit in each 100 ms: fifty of the two hundred that 500 ms could carry.
    let end = Instant::from_millis(500);
    assert_eq!(link.capacity(end), Some(Bytes::new(200_000)));
    assert!((link.utilization(end) - 0.25).abs() < 1e-12);
    assert_eq!(link.busy_time(end), Duration::from_millis(50));

    let mut link = build(&bare(Service::Unlimited));
    let _ = link.push(Instant::ZERO, packet(1000, 0));
    assert_eq!(
        (
            link.utilization(end),
            link.busy_periods(),
            link.queue_max_packets()
        ),
        (0.0, 0, 0)
    );
    assert_eq!(link.next_event(), Some(Instant::ZERO));
}

/// The memory of an idle link.
#[test]
fn an_idle_link_is_small() {
    let bytes = size_of_val(&build(&bare(fixed(MBIT))));
    assert!(bytes <= 512, "{bytes}");
}
