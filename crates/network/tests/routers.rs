//! Explicit router support: values computed by hand from the cited rules, and the changes of a
//! router to the feedback in packets.

#![expect(
    clippy::inconsistent_digit_grouping,
    reason = "the decimals of the tables"
)]

use crate::common;

use common::bare;
use network::router::xcp::Control;
use network::router::{
    QuickStartConfig, QuickStartRouter, RcpConfig, RcpRouter, Router, RouterSupport, View,
    XcpConfig,
};
use network::{Link, Packet, Service, Streams};
use rand_chacha::ChaCha8Rng;
use units::feedback::{Feedback, Nonce, RateCode};
use units::{Bytes, Duration, Instant, Rate};

const TEN_MBIT: Rate = Rate::from_bits_per_sec(10_000_000);

fn rng() -> ChaCha8Rng {
    Streams::new(1).stream("router")
}

fn close(found: f64, expected: f64, places: f64) {
    assert!(
        (found - expected).abs() <= places,
        "found {found}, expected {expected}"
    );
}

/// 10 Mbit/s, threshold 0.85.
#[test]
fn quick_start_approves_what_is_left_below_the_threshold() {
    let mut router = QuickStartRouter::new(&QuickStartConfig::default(), TEN_MBIT, &rng());
    let mut asks = |peak, request, approved, books| {
        let found = router.approve(peak, RateCode::new(request));
        assert_eq!(found.get(), approved);
        assert_eq!(router.approved(), books);
        if request == 0 {
            router.roll_over();
        }
    };
    asks(0.35, 8, 6, (0, 2_560_000));
    asks(0.35, 8, 5, (0, 3_840_000));
    asks(0.35, 7, 4, (0, 4_480_000));
    asks(0.35, 5, 3, (0, 4_800_000));
    // A request for zero gets zero, and the interval ends.
    asks(0.35, 0, 0, (0, 4_800_000));
    asks(0.35, 8, 2, (4_800_000, 160_000));
    asks(0.6, 6, 0, (4_800_000, 160_000));
    asks(0.6, 0, 0, (4_800_000, 160_000));
    asks(0.6, 0, 0, (160_000, 0));
    asks(0.35, 8, 6, (0, 2_560_000));
    asks(0.86, 1, 0, (0, 2_560_000));
}

/// With y and q given.
#[test]
fn rcp_changes_its_rate_by_the_formula() {
    let mut router = RcpRouter::new(&RcpConfig::default(), TEN_MBIT, &rng()).begin(62_500.0, 0.1);
    for (arrived, queue, after) in [
        (0.0, 0.0, 65_000.0),
        (62_500.0, 0.0, 67_470.0),
        (62_500.0, 0.0, 70_033.86),
        (625_000.0, 0.0, 71_434.5372),
        (1_250_000.0, 0.0, 71_434.5372),
        (1_500_000.0, 2_500.0, 70_805.9133),
        (1_500_000.0, 5_000.0, 70_126.1765),
        (1_375_000.0, 6_250.0, 69_705.4194),
        (1_250_000.0, 6_250.0, 69_566.0086),
        (1_250_000.0, 3_125.0, 69_496.4426),
        (1_000_000.0, 0.0, 70_052.4141),
        (0.0, 0.0, 72_854.5107),
        (2_500_000.0, 75_000.0, 68_191.822),
    ] {
        router.move_rate(arrived, queue);
        close(router.rate(), after, 1e-3);
    }
}

/// Ten flows that send at the rate of ten slots before, with a fluid queue.
#[test]
fn rcp_converges_without_a_loss() {
    let (capacity, slot) = (1_250_000.0, 0.01);
    let mut router = RcpRouter::new(&RcpConfig::default(), TEN_MBIT, &rng()).begin(62_500.0, 0.1);
    let (mut rates, mut rows, mut queue) = (Vec::new(), Vec::new(), 0.0_f64);
    for step in 0..=300_usize {
        let arrived = step.checked_sub(10).map_or(0.0, |then| 10.0 * rates[then]);
        rates.push(router.rate());
        rows.push((router.rate(), arrived, queue));
        router.move_rate(arrived, queue);
        queue = (queue + (arrived - capacity) * slot).max(0.0);
    }
    for (at, rate, arrived, queued) in [
        (10, 92_515.27, 625_000.0, 0.0),
        (20, 108_413.39, 925_152.68, 0.0),
        (50, 124_052.83, 1_219_610.12, 0.0),
        (80, 125_058.7, 1_250_383.31, 5.51),
        (100, 124_973.35, 1_250_254.16, 106.67),
        (110, 124_927.52, 1_249_733.54, 109.19),
        (150, 124_986.66, 1_249_661.89, 0.0),
        (200, 125_000.09, 1_250_002.95, 0.38),
        (300, 125_000.0, 1_250_000.02, 0.0),
    ] {
        let row = rows[at];
        close(row.0, rate, 0.01);
        close(row.1, arrived, 0.01);
        close(row.2, queued, 0.01);
    }
}

/// D-R3.
#[test]
fn rcp_averages_round_trips_up_fast_and_down_slowly() {
    let mut router = RcpRouter::new(&RcpConfig::default(), TEN_MBIT, &rng()).begin(62_500.0, 0.2);
    for (rtt, after) in [
        (0.1, 0.199_875),
        (0.1, 0.199_75),
        (0.1, 0.199_625),
        (0.3, 0.204_653_178),
        (0.3, 0.209_312_125),
        (0.05, 0.209_221_217),
    ] {
        router.average_rtt(rtt);
        close(router.mean_rtt(), after, 1e-8);
    }
}

/// D-X1.
#[test]
fn xcp_decides_by_the_formulas() {
    let decide = |arrived, queue, rtt, intervals| {
        Control::decide(1_250_000.0, arrived, queue, rtt, intervals, arrived * rtt)
    };
    for (control, phi, shuffle, positive, negative, given, taken) in [
        (
            decide(500_000.0, 0.0, 0.1, 0.5),
            300_000.0,
            0.0,
            300_000.0,
            0.0,
            600_000.0,
            0.0,
        ),
        (
            decide(1_250_000.0, 0.0, 0.1, 1.2),
            0.0,
            125_000.0,
            125_000.0,
            125_000.0,
            104_166.666_667,
            1.0,
        ),
        (
            decide(1_500_000.0, 20_000.0, 0.1, 1.2),
            -145_200.0,
            4_800.0,
            4_800.0,
            150_000.0,
            4_000.0,
            1.0,
        ),
        (
            decide(1_200_000.0, 5_000.0, 0.05, 0.9),
            -2_600.0,
            117_400.0,
            117_400.0,
            120_000.0,
            130_444.444_444,
            2.0,
        ),
    ] {
        close(control.phi, phi, 1e-6);
        close(control.shuffle, shuffle, 1e-6);
        close(control.positive, positive, 1e-6);
        close(control.negative, negative, 1e-6);
        close(control.given, given, 1e-5);
        close(control.taken, taken, 1e-9);
    }
    let mut control = decide(1_500_000.0, 20_000.0, 0.1, 1.2);
    close(control.deal(1_500.0, 0.01, f64::INFINITY), -1_460.0, 1e-9);
    // A packet to which an earlier router gave less takes no more, and leaves more to others.
    close(control.deal(1_500.0, 0.01, -5_000.0), -5_000.0, 1e-9);
    close(control.positive, 4_760.0 - 40.0, 41.0);
}

struct Idle;

impl View for Idle {
    fn queued(&mut self, _at: Instant) -> Bytes {
        Bytes::ZERO
    }

    fn busy(&self, _at: Instant) -> Duration {
        Duration::ZERO
    }
}

fn request(code: u8) -> Feedback {
    Feedback::RateRequest {
        rate: RateCode::new(code),
        ttl: 5,
        nonce: Nonce::new(0x2a5c_3f19),
    }
}

#[test]
fn a_request_is_lowered_proven_or_refused() {
    let router_support = RouterSupport::QuickStart(QuickStartConfig::default());
    let mut router = Router::new(&router_support, TEN_MBIT, &rng()).expect("support");
    let mut passes = |ms, mut feedback| {
        router.on_arrival(Instant::from_millis(ms), 74, &mut Idle, Some(&mut feedback));
        feedback
    };
    let Feedback::RateRequest { rate, ttl, nonce } = passes(10, request(8)) else {
        panic!("it stays a request");
    };
    // 8.5 Mbit/s are left: code 7, proven by the nonce, and no higher code.
    assert_eq!((rate.get(), ttl), (7, 4));
    let sent = Nonce::new(0x2a5c_3f19);
    assert!(sent.proves(nonce, rate));
    assert_ne!(
        sent.field(8),
        nonce.field(8),
        "one chance in four, and this seed is not it"
    );
    // 3.38 Mbit/s are left: the request fits, and only the time to live changes.
    let Feedback::RateRequest { rate, ttl, nonce } = passes(20, request(6)) else {
        panic!("it stays a request");
    };
    assert_eq!((rate.get(), ttl, nonce), (6, 4, sent));
    // Almost nothing is left.
    let refused = Feedback::RateRequest {
        rate: RateCode::DENIED,
        ttl: 0,
        nonce: Nonce::new(0),
    };
    passes(30, request(4));
    passes(30, request(2));
    assert_eq!(
        passes(40, request(8)),
        Feedback::RateRequest {
            rate: RateCode::DENIED,
            ttl: 0,
            nonce: Nonce::new(0)
        }
    );
    assert_eq!(passes(50, refused), refused);
    // Reports and the feedback of other schemes pass unread.
    let report = Feedback::RateReport {
        rate: RateCode::new(9),
        nonce: sent,
    };
    assert_eq!(passes(60, report), report);
    let other = Feedback::Rcp {
        rate: Rate::MAX,
        rtt: Duration::ZERO,
        ttl: 64,
    };
    assert_eq!(passes(60, other), other);
    // Two intervals later no approvals are left.
    let Feedback::RateRequest { rate, .. } = passes(600, request(7)) else {
        panic!("it stays a request");
    };
    assert_eq!(rate.get(), 7);
}

/// A router that takes its 10 Mbit/s for 40: Quick-Start has 34 Mbit/s below its threshold, of which
/// code 9 is 20.48 (an honest one has 8.5, and grants 5.12); RCP offers an idle link whole.
#[test]
fn a_lying_router_grants_more_than_its_link_has() {
    let lies = QuickStartConfig {
        overstate: 4.0,
        ..QuickStartConfig::default()
    };
    let mut router = QuickStartRouter::new(&lies, TEN_MBIT, &rng());
    assert_eq!(router.approve(0.0, RateCode::new(12)).get(), 9);
    let lies = RcpConfig {
        overstate: 4.0,
        ..RcpConfig::default()
    };
    let mut router = RcpRouter::new(&lies, TEN_MBIT, &rng());
    for _ in 0..10_000 {
        router.move_rate(0.0, 0.0);
    }
    close(router.rate(), 5e6, 1.0);
    // XCP: after a first interval of 50 ms without queue in which 10 Mbit/s arrived, 40 % of the
    // other 30 are to be given. One packet has all of it.
    let router_support = RouterSupport::Xcp(XcpConfig { overstate: 4.0 });
    let mut router = Router::new(&router_support, TEN_MBIT, &rng()).expect("support");
    let asks = |size, router: &mut Router, ms| {
        let mut feedback = Feedback::Xcp {
            interval: Duration::from_millis(50),
            rtt: Duration::from_millis(50),
            delta: i64::MAX,
            ttl: 9,
        };
        router.on_arrival(
            Instant::from_millis(ms),
            size,
            &mut Idle,
            Some(&mut feedback),
        );
        let Feedback::Xcp { delta, .. } = feedback else {
            panic!("it stays XCP");
        };
        delta
    };
    asks(62_500, &mut router, 10);
    let given = asks(1, &mut router, 51);
    assert!((1_499_999..=1_500_000).contains(&given), "{given}");
}

#[test]
fn a_busy_link_approves_nothing() {
    let router_support = RouterSupport::QuickStart(QuickStartConfig::default());
    let mut router = Router::new(&router_support, TEN_MBIT, &rng()).expect("support");
    let mut link: Link<()> = Link::new(&bare(Service::Fixed(TEN_MBIT)), rng());
    let packet = Packet {
        size: 1500,
        flow: 0,
        ecn: network::Ecn::NotEct,
        payload: (),
    };
    let mut at = Instant::ZERO;
    // 1.2 ms each: one packet each 1.3 ms is 92 % of the link.
    for _ in 0..1000 {
        router.on_arrival(at, 1500, &mut link, None);
        link.push(at, packet);
        while link.pop(at).is_some() {}
        at += Duration::from_micros(1300);
    }
    let mut feedback = request(1);
    router.on_arrival(at, 74, &mut link, Some(&mut feedback));
    let Feedback::RateRequest { rate, .. } = feedback else {
        panic!("it stays a request");
    };
    assert_eq!(rate, RateCode::DENIED);
}

#[test]
fn an_idle_rcp_link_offers_all_it_has() {
    let mut router =
        Router::new(&RouterSupport::Rcp(RcpConfig::default()), TEN_MBIT, &rng()).expect("support");
    let mut rate_at = |ms: u64| {
        let mut feedback = Feedback::Rcp {
            rate: Rate::MAX,
            rtt: Duration::ZERO,
            ttl: 64,
        };
        router.on_arrival(Instant::from_millis(ms), 64, &mut Idle, Some(&mut feedback));
        match feedback {
            Feedback::Rcp { rate, ttl: 63, .. } => rate.bits_per_sec(),
            other => panic!("{other:?}"),
        }
    };
    // A twentieth at first; +2 % each slot of 10 ms of a mean round trip of 200 ms.
    assert_eq!(rate_at(1), 500_000);
    let later = rate_at(1_000);
    assert!((3_000_000..4_000_000).contains(&later), "{later}");
    assert_eq!(rate_at(3_600_000), 10_000_000);
}

#[test]
fn an_xcp_router_gives_what_is_spare_and_takes_what_is_too_much() {
    let mut router =
        Router::new(&RouterSupport::Xcp(XcpConfig::default()), TEN_MBIT, &rng()).expect("support");
    let mut sum = [0_i64; 2];
    for ms in 0..2_000_u64 {
        let mut feedback = Feedback::Xcp {
            interval: Duration::from_millis(10),
            rtt: Duration::from_millis(100),
            delta: i64::MAX,
            ttl: 64,
        };
        // Half of the link, then one and a half times its rate.
        let size = if ms < 1_000 { 625 } else { 1_875 };
        router.on_arrival(
            Instant::from_millis(ms),
            size,
            &mut Idle,
            Some(&mut feedback),
        );
        let Feedback::Xcp { delta, ttl: 63, .. } = feedback else {
            panic!("{feedback:?}");
        };
        // The first interval has no data; after a change one interval has that of the old rate.
        match ms {
            200..1_000 => sum[0] += delta,
            1_200.. => sum[1] += delta,
            _ => {}
        }
    }
    // Eight control intervals of 100 ms: 0.4 times 625,000 B/s in each.
    let expected = 8 * 250_000;
    assert!((sum[0] - expected).abs() < expected / 20, "{sum:?}");
    assert!((sum[1] + expected).abs() < expected / 20, "{sum:?}");
}
