//! Quick-Start, RCP and XCP at the sender: values computed by hand from the cited rules.

mod startup_support;

use congestion::monolithic::{Rcp, RcpConfig, Xcp, XcpConfig};
use congestion::options::Options;
use congestion::startup::{QuickStart, QuickStartConfig};
use congestion::{
    Ack, AsksRouters, BuildContext, Congestion, CongestionControl, CongestionKind, JumpStarts,
    Phase, Reduction, Sent, Startup, Step, Window,
};
use startup_support::{ack, window};
use units::feedback::{Feedback, HOST_TTL, RateCode};
use units::{Bytes, Duration, Instant, Rate};

/// With 52 bytes of headers: 1500.
const SMSS: Bytes = Bytes::new(1448);
const MS: u64 = 1_000_000;

fn ten() -> Window {
    Window {
        cwnd: SMSS * 10,
        smss: SMSS,
        ..window(10)
    }
}

fn quick_start() -> QuickStart {
    QuickStart::new(QuickStartConfig::default(), Instant::ZERO, 0)
}

fn sent(nanos: u64, number: u64, retransmission: bool) -> Sent {
    Sent {
        now: Instant::from_nanos(nanos),
        size: SMSS,
        in_flight: SMSS * number,
        snd_nxt: SMSS.get() * (number + 1),
        retransmission,
        idle_since: None,
        app_limited: false,
    }
}

/// Windows above the initial window of ten segments; the interval is that of 1500 bytes.
#[test]
fn windows_and_pacing_of_quick_start() {
    for (rtt_ms, code, segments) in [
        (4, 11, 27),
        (4, 15, 436),
        (28, 7, 11),
        (28, 8, 23),
        (28, 15, 3_058),
        (54, 9, 92),
        (74, 7, 31),
        (98, 8, 83),
        (124, 5, 13),
        (124, 15, 13_544),
        (150, 5, 16),
        (150, 11, 1_024),
        (174, 9, 296),
        (200, 5, 21),
        (200, 7, 85),
        (200, 15, 21_845),
    ] {
        let mut startup = quick_start();
        let rate = RateCode::new(code).rate();
        let rtt = Duration::from_millis(rtt_ms);
        let step = startup.on_approval(rate, rtt, &ten());
        assert_eq!(
            step,
            Some(Step::Set(SMSS * segments)),
            "{rtt_ms} ms, code {code}"
        );
        let pace = startup.pacing().expect("it paces").rate;
        let interval = pace.time_for(SMSS).as_nanos() as f64;
        let expected = rate.time_for(Bytes::new(1500)).as_nanos() as f64;
        assert!((interval - expected).abs() <= 1.0 + expected * 1e-6);
    }
    // A rate that the initial window reaches anyway is not used.
    for (rtt_ms, code) in [(4, 9), (28, 5), (98, 5), (200, 4)] {
        let mut startup = quick_start();
        let rate = RateCode::new(code).rate();
        assert_eq!(
            startup.on_approval(rate, Duration::from_millis(rtt_ms), &ten()),
            None
        );
        assert_eq!(startup.pacing().map(|pace| pace.rate), None);
    }
}

/// The handshake measured 200 ms, but the RTT is 100 ms: 170 segments planned, 86 sent by the first
/// ACK.
#[test]
fn an_overestimated_rtt_limits_the_window_to_what_was_sent() {
    let mut startup = quick_start();
    let step = startup.on_approval(RateCode::new(8).rate(), Duration::from_millis(200), &ten());
    assert_eq!(step, Some(Step::Set(SMSS * 170)));
    let granted = Window {
        cwnd: SMSS * 170,
        ..ten()
    };
    let interval = startup.pacing().expect("it paces").rate.time_for(SMSS);
    let mut number = 0;
    while interval * number <= Duration::from_millis(100) {
        startup.on_sent(&sent((interval * number).as_nanos(), number, false));
        number += 1;
    }
    assert_eq!(number, 86);
    let first = Ack {
        snd_nxt: SMSS.get() * number,
        ..ack(Instant::from_nanos(100 * MS), SMSS, SMSS.get(), None)
    };
    assert_eq!(
        startup.on_delivery(&first, &granted),
        Some(Step::Set(SMSS * 86))
    );
    assert_eq!(startup.pacing().map(|pace| pace.rate), None);
    // Only once: the next ACK belongs to slow start.
    assert_eq!(startup.on_delivery(&first, &granted), None);
}

/// As if nothing had been approved, with half of the flight's delivered data as threshold.
#[test]
fn a_loss_in_the_flight_cancels_the_approval() {
    let mut startup = quick_start();
    startup.on_approval(RateCode::new(7).rate(), Duration::from_millis(200), &ten());
    for number in 0..85 {
        startup.on_sent(&sent(number * MS, number, false));
    }
    let loss = Congestion {
        now: Instant::from_nanos(250 * MS),
        kind: CongestionKind::Loss,
        phase: Phase::Disorder,
        in_flight: SMSS * 60,
        snd_nxt: SMSS.get() * 85,
        first_of_window: true,
    };
    let during = startup
        .take_over(&loss, &ten())
        .expect("it handles the loss of its flight");
    assert_eq!(during.cwnd, SMSS * 10);
    for number in 20..45 {
        startup.on_sent(&sent(300 * MS, number, true));
    }
    // 85 sent, 25 retransmitted: 60 delivered.
    let after = startup.on_recovery_exit(Instant::from_nanos(500 * MS), &ten());
    let expected = Reduction {
        cwnd: SMSS * 10,
        ssthresh: SMSS * 30,
    };
    assert_eq!(after, expected);
    assert_eq!(
        startup.take_over(&loss, &ten()),
        None,
        "the avoidance handles the next loss"
    );
    // The avoidance also handles a loss beyond the flight.
    let mut startup = quick_start();
    startup.on_approval(RateCode::new(7).rate(), Duration::from_millis(200), &ten());
    startup.on_sent(&sent(0, 0, false));
    startup.on_delivery(
        &ack(Instant::from_nanos(200 * MS), SMSS, SMSS.get(), None),
        &ten(),
    );
    assert_eq!(startup.take_over(&loss, &ten()), None);
}

/// RFC 3742 above 100 segments, as RFC 4782 requires.
#[test]
fn limited_slow_start_follows_a_quick_start() {
    let mut startup = quick_start();
    let large = Window {
        cwnd: SMSS * 200,
        ..ten()
    };
    // K = 4: four acknowledged segments add one.
    let step = startup.on_ack(&ack(Instant::ZERO, SMSS * 8, SMSS.get() * 8, None), &large);
    assert_eq!(step, Step::Grow(SMSS * 2));
}

#[test]
fn the_requested_rate() {
    let asks = |option: Option<&str>, queued| {
        let mut config = QuickStartConfig::default();
        if let Some(value) = option {
            config.set("rate", value).expect("a rate");
        }
        let startup = QuickStart::new(config, Instant::ZERO, 0);
        startup.requested_rate(Bytes::new(queued)).expect("it asks")
    };
    // 100 kB in 100 ms.
    assert_eq!(asks(None, 100_000), Rate::from_bits_per_sec(8_000_000));
    assert_eq!(asks(Some("5.12"), 100_000), RateCode::new(7).rate());
    assert_eq!(RateCode::at_least(asks(None, u64::MAX)), RateCode::LARGEST);
    let mut config = QuickStartConfig::default();
    for value in ["0", "0.079", "1310.721", "fast", "-1"] {
        assert!(config.set("rate", value).is_err(), "{value}");
    }
    assert!(config.set("speed", "1").is_err());
}

fn context(smss: u64) -> BuildContext {
    BuildContext {
        now: Instant::ZERO,
        smss: Bytes::new(smss),
        initial_window: Bytes::new(smss * 10),
        seed: 1,
        handshake_rtt: Some(Duration::from_millis(100)),
    }
}

#[test]
fn rcp_paces_at_the_rate_of_the_path() {
    let mut rcp = Rcp::new(RcpConfig::default(), &context(1436));
    assert_eq!(rcp.header_bytes(), Some(12));
    let carried = Feedback::Rcp {
        rate: Rate::MAX,
        rtt: Duration::from_millis(100),
        ttl: HOST_TTL,
    };
    assert_eq!(rcp.feedback(), Some(carried));
    let tells = |rate| Feedback::RcpEcho { rate };
    rcp.on_feedback(
        Instant::ZERO,
        &tells(Some(Rate::from_bits_per_sec(12_000_000))),
    );
    // One packet of 1500 bytes per millisecond, at most two round trips of them in flight.
    let pace = rcp.pacing_rate().expect("it paces");
    assert_eq!(pace.time_for(Bytes::new(1436)), Duration::from_millis(1));
    assert!(rcp.requires_pacing());
    assert_eq!(rcp.window().cwnd_segments(), 200);
    // A loss changes nothing.
    rcp.on_congestion(&Congestion {
        now: Instant::ZERO,
        kind: CongestionKind::Loss,
        phase: Phase::Disorder,
        in_flight: Bytes::new(14_360),
        snd_nxt: 14_360,
        first_of_window: true,
    });
    assert_eq!(rcp.window().cwnd_segments(), 200);
    // A router without support: slow start and Reno.
    rcp.on_feedback(Instant::ZERO, &tells(None));
    assert_eq!((rcp.pacing_rate(), rcp.requires_pacing()), (None, false));
    assert_eq!(rcp.window().cwnd_segments(), 10);
}

#[test]
fn xcp_moves_its_window_by_the_feedback_times_the_round_trip() {
    let mut xcp = Xcp::new(XcpConfig::default(), &context(1428));
    assert_eq!(xcp.header_bytes(), Some(20));
    let carried = Feedback::Xcp {
        interval: Duration::from_millis(10),
        rtt: Duration::from_millis(100),
        delta: i64::MAX,
        ttl: HOST_TTL,
    };
    assert_eq!(xcp.feedback(), Some(carried));
    let mut window_after = |delta| {
        xcp.on_feedback(Instant::ZERO, &Feedback::XcpEcho { delta: Some(delta) });
        xcp.window().cwnd_segments()
    };
    // 15,000 B/s for 100 ms are one packet of 1500 bytes; so is a third of that rate, three times.
    assert_eq!(window_after(15_000), 11);
    assert_eq!(
        [
            window_after(5_000),
            window_after(5_000),
            window_after(5_001)
        ],
        [11, 11, 12]
    );
    assert_eq!(window_after(-150_000), 2);
    assert_eq!(window_after(i64::MIN), 1);
    assert_eq!(window_after(0), 1);
    assert!(window_after(i64::MAX) > 1_000_000);
}
