//! Initial-Start, Jump-Start, and byte counting: values from the reference calculation.

mod startup_support;

use congestion::options::Options;
use congestion::startup::initial_start::InitialWindow;
use congestion::startup::{
    Abc, AbcConfig, Abcss, AbcssConfig, InitialStart, InitialStartConfig, JumpStart,
    JumpStartConfig,
};
use congestion::{
    Congestion, CongestionKind, Established, JumpStarts, PathMemory, Phase, Reduction, Sent,
    Startup, Step, Window,
};
use startup_support::{SMSS, ack, segments, window};
use units::{Bytes, Duration, Instant, Rate};

fn begin(queued: u64, receive_window: u64, rtt: u64) -> Established {
    Established {
        now: Instant::ZERO,
        rtt: Some(Duration::from_millis(rtt)),
        queued: Bytes::new(queued),
        receive_window: Bytes::new(receive_window),
        memory: PathMemory::default(),
    }
}

fn window_of(smss: u64, cwnd: u64) -> Window {
    Window {
        cwnd: Bytes::new(smss * cwnd),
        ssthresh: Bytes::MAX,
        smss: Bytes::new(smss),
    }
}

/// Segment size, segments by RFC 3390 and by RFC 6928.
#[test]
fn initial_windows() {
    for (smss, rfc3390, rfc6928) in [
        (536, 4, 10),
        (1220, 3, 10),
        (1432, 3, 10),
        (1448, 3, 10),
        (1460, 3, 10),
        (2190, 2, 6),
        (4312, 2, 3),
        (8948, 2, 2),
    ] {
        for (initial_window, count) in [
            (InitialWindow::Rfc3390, rfc3390),
            (InitialWindow::Rfc6928, rfc6928),
            (InitialWindow::Segments(7), 7),
        ] {
            let config = InitialStartConfig {
                initial_window,
                ..InitialStartConfig::default()
            };
            let mut startup = InitialStart::new(config, Instant::ZERO, 0);
            let step = startup.on_established(&begin(1, 1, 100), &window_of(smss, 10));
            assert_eq!(step, Some(Step::Set(Bytes::new(count * smss))), "{smss}");
            let step = startup.on_established(&begin(1, 1, 100), &window_of(smss, 1));
            assert_eq!(step, None, "lost SYNs");
        }
    }
}

/// Ten segments over 100 ms: one each 10 ms, until the first ACK or a timeout.
#[test]
fn the_initial_window_may_be_paced() {
    let mut config = InitialStartConfig::default();
    config.set("pace", "rtt").expect("known");
    let begun = |start: &Established, cwnd| {
        let mut startup = InitialStart::new(config, Instant::ZERO, 0);
        startup.on_established(start, &window(cwnd));
        startup
    };
    let mut startup = begun(&begin(1, 1, 100), 3);
    let pace = startup.pacing().expect("it paces").rate;
    let interval = pace.time_for(SMSS);
    assert!(
        interval.as_nanos().abs_diff(10_000_000) <= 1,
        "{interval:?}"
    );
    let first = ack(Instant::from_millis(100), SMSS, SMSS.get(), None);
    assert_eq!(startup.on_delivery(&first, &window(10)), None);
    assert!(startup.pacing().is_none());
    let mut startup = begun(&begin(1, 1, 100), 3);
    startup.on_congestion(&LOSS);
    assert!(startup.pacing().is_none());
    // One segment after lost SYNs, and a handshake without a sample.
    assert!(begun(&begin(1, 1, 100), 1).pacing().is_none());
    let unknown = Established {
        rtt: None,
        ..begin(1, 1, 100)
    };
    assert!(begun(&unknown, 3).pacing().is_none());
}

/// Queued bytes, advertised window, cap, RTT in ms, N; the rate is N segments per round trip.
#[test]
fn jumps() {
    for (queued, receive_window, cap, rtt, count) in [
        (14_000, 65_535, 0, 100, 10),
        (64_240, 65_535, 0, 100, 44),
        (200_000, 65_535, 0, 100, 45),
        (200_000, 8_388_608, 0, 100, 137),
        (200_000, 8_388_608, 65_536, 100, 45),
        (1_000_000, 8_388_608, 0, 174, 685),
        (1_000_000, 8_388_608, 65_536, 174, 45),
    ] {
        let config = JumpStartConfig {
            cap,
            ..JumpStartConfig::default()
        };
        let mut startup = JumpStart::new(config, Instant::ZERO, 0);
        let start = begin(queued, receive_window, rtt);
        let step = startup.on_established(&start, &window_of(1460, 10));
        assert_eq!(step, Some(Step::Set(Bytes::new(1460 * count))), "{queued}");
        assert!(startup.pacing().is_some());
        let rate = Rate::from_bits_per_sec(count * 1460 * 8 * 1_000 / rtt);
        assert_eq!(startup.pacing().map(|pace| pace.rate), Some(rate));
    }
    let mut config = JumpStartConfig::default();
    config.set("burst_if_fits", "true").expect("known");
    let mut startup = JumpStart::new(config, Instant::ZERO, 0);
    assert_eq!(
        startup.on_established(&begin(14_480, 65_535, 100), &window(10)),
        None
    );
    assert!(startup.pacing().is_none());
}

fn sent(count: u64, retransmission: bool) -> Sent {
    Sent {
        now: Instant::ZERO,
        size: SMSS,
        in_flight: Bytes::ZERO,
        snd_nxt: count * SMSS.get(),
        retransmission,
        idle_since: None,
        app_limited: false,
    }
}

/// A jump of `count` segments, all sent before the first ACK, which is for one segment.
fn jumped(config: JumpStartConfig, count: u64) -> (JumpStart, Option<Step>) {
    let mut startup = JumpStart::new(config, Instant::ZERO, 0);
    startup.on_established(&begin(count * SMSS.get(), u64::MAX, 100), &window(10));
    for place in 1..=count {
        startup.on_sent(&sent(place, false));
    }
    let rtt = Some(Duration::from_millis(100));
    let first = ack(Instant::from_millis(100), SMSS, SMSS.get(), rtt);
    startup.observe(&first, &window(count));
    let step = startup.on_delivery(&first, &window(count));
    assert!(startup.pacing().is_none(), "the first ACK ends the pacing");
    (startup, step)
}

const LOSS: Congestion = Congestion {
    now: Instant::ZERO,
    kind: CongestionKind::Loss,
    phase: Phase::Open,
    in_flight: Bytes::ZERO,
    snd_nxt: 0,
    first_of_window: true,
};

/// N, R, the window in recovery, the window after it.
#[test]
fn losses_in_a_jump() {
    for (count, lost, within, after) in [
        (44, 0, 22, 22),
        (44, 1, 22, 21),
        (44, 10, 22, 17),
        (44, 30, 22, 7),
        (137, 0, 68, 68),
        (137, 54, 68, 41),
        (137, 100, 68, 18),
        (685, 600, 342, 42),
    ] {
        for (loss, within, after) in [
            ("half-of-delivered", within, after),
            ("half", within, within),
            ("quick-start", 10, 10),
            ("slow-start", 10, 10),
            // One segment was delivered before the loss, and the initial window is ten.
            ("delivered", 10, count - lost),
        ] {
            let mut config = JumpStartConfig::default();
            config.set("loss", loss).expect("known");
            let (mut startup, step) = jumped(config, count);
            assert_eq!(step, Some(Step::Set(segments(count))));
            let taken = startup.take_over(&LOSS, &window(count)).expect("its loss");
            assert_eq!(taken.cwnd, segments(within), "{loss} {count}");
            for _ in 0..lost {
                startup.on_sent(&sent(count, true));
            }
            let Reduction { cwnd, ssthresh } =
                startup.on_recovery_exit(Instant::ZERO, &window(within));
            assert_eq!(cwnd, segments(after), "{loss} {count} {lost}");
            let threshold = match loss {
                "slow-start" => Bytes::MAX,
                "quick-start" => segments((count - lost) / 2),
                _ => cwnd,
            };
            assert_eq!(ssthresh, threshold, "{loss} {count} {lost}");
        }
    }
}

/// quicly: what the flight has delivered so far is the window, never less than before.
#[test]
fn the_window_follows_what_the_jump_delivers() {
    let mut config = JumpStartConfig::default();
    config.set("loss", "delivered").expect("known");
    let (mut startup, _) = jumped(config, 100);
    let now = Instant::from_millis(110);
    startup.observe(&ack(now, segments(30), SMSS.get(), None), &window(100));
    let taken = startup.take_over(&LOSS, &window(100)).expect("its loss");
    assert_eq!((taken.cwnd, taken.ssthresh), (segments(31), segments(31)));
    let mut cwnd = 31;
    for (delivered, expected) in [(20, 51), (0, 51), (60, 100)] {
        let ack = ack(now, segments(delivered), SMSS.get(), None);
        startup.observe(&ack, &window(cwnd));
        assert_eq!(
            startup.on_recovery_ack(&ack, &window(cwnd)),
            segments(expected)
        );
        cwnd = expected;
    }
}

#[test]
fn after_the_jump_it_is_ordinary() {
    let mut scharf = JumpStartConfig::default();
    scharf.set("variant", "scharf").expect("known");
    assert_eq!((scharf.cap, scharf.avoidance), (65_535, true));
    let (_, step) = jumped(scharf, 40);
    let Some(Step::Exit { cwnd, ssthresh, .. }) = step else {
        panic!("{step:?}");
    };
    assert_eq!((cwnd, ssthresh), (segments(40), segments(40)));
    // The avoidance handles a loss after the flight is acknowledged.
    let (mut startup, _) = jumped(JumpStartConfig::default(), 40);
    let all = ack(Instant::from_millis(200), SMSS, 40 * SMSS.get(), None);
    startup.observe(&all, &window(80));
    assert_eq!(startup.take_over(&LOSS, &window(80)), None);
    // Only part of the jump had left when the first ACK arrived.
    let mut startup = JumpStart::new(JumpStartConfig::default(), Instant::ZERO, 0);
    startup.on_established(&begin(100 * SMSS.get(), u64::MAX, 100), &window(10));
    startup.on_sent(&sent(60, false));
    let first = ack(Instant::from_millis(60), SMSS, SMSS.get(), None);
    assert_eq!(
        startup.on_delivery(&first, &window(100)),
        Some(Step::Set(segments(60)))
    );
}

/// The windows at the ends of rounds with one ACK for every two segments, and one for a last single
/// segment.
fn delayed(startup: &mut impl Startup, rounds: usize) -> Vec<u64> {
    let (mut cwnd, mut una, mut nxt) = (10, 0, 10);
    let mut windows = vec![cwnd];
    for _ in 0..rounds {
        let end = nxt;
        while una < end {
            let delivered = (end - una).min(2);
            una += delivered;
            let ack = ack(
                Instant::ZERO,
                segments(delivered),
                una * SMSS.get(),
                Some(Duration::from_millis(100)),
            );
            let ack = congestion::Ack {
                snd_nxt: nxt * SMSS.get(),
                ..ack
            };
            startup.on_delivery(&ack, &window(cwnd));
            let Step::Grow(growth) = startup.on_ack(&ack, &window(cwnd)) else {
                panic!("it grows");
            };
            cwnd += growth.segments(SMSS);
            nxt = nxt.max(una + cwnd);
        }
        windows.push(cwnd);
    }
    windows
}

#[test]
fn delayed_acks_and_byte_counting() {
    let mut abc = Abc::new(AbcConfig::default(), Instant::ZERO, 0);
    assert_eq!(delayed(&mut abc, 3), [10, 20, 40, 80]);
    let mut one = Abc::new(
        AbcConfig {
            limit: 1,
            counts_acks: false,
        },
        Instant::ZERO,
        0,
    );
    assert_eq!(delayed(&mut one, 3), [10, 15, 23, 35]);
    let mut abcss = Abcss::new(AbcssConfig::default(), Instant::ZERO, 0);
    assert_eq!(delayed(&mut abcss, 3), [10, 15, 23, 46]);
    // An ACK of 44 segments adds two, and one after a timeout.
    let stretch = ack(Instant::ZERO, segments(44), 44 * SMSS.get(), None);
    assert_eq!(abc.on_ack(&stretch, &window(100)), Step::Grow(segments(2)));
    abc.on_congestion(&Congestion {
        kind: CongestionKind::Timeout,
        ..LOSS
    });
    assert_eq!(abc.on_ack(&stretch, &window(100)), Step::Grow(segments(1)));
}

#[test]
fn abcss_paces_at_twice_the_window() {
    let sample = ack(
        Instant::ZERO,
        SMSS,
        SMSS.get(),
        Some(Duration::from_millis(100)),
    );
    let mut abcss = Abcss::new(AbcssConfig::default(), Instant::ZERO, 0);
    assert!(abcss.pacing().is_none(), "nothing is measured yet");
    abcss.on_delivery(&sample, &window(10));
    assert!(abcss.pacing().is_some());
    assert_eq!(
        abcss.pacing().map(|pace| pace.rate),
        Some(Rate::from_bits_per_sec(2 * 10 * 1448 * 8 * 10))
    );
}
