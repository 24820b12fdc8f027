//! SUSS: acceleration, its size, the pacing of red segments, and the slow-start exit.

mod startup_support;

use congestion::options::Options;
use congestion::startup::suss::Acceleration;
use congestion::startup::{Suss, SussConfig};
use congestion::{
    Ack, Congestion, CongestionKind, ExitReason, JumpStarts, Phase, Sent, Startup, SteersSending,
    Step,
};
use startup_support::{SMSS, ack, at, segments, window};
use units::{Bytes, Duration, Instant, Rate};

/// A connection whose rounds are `rtt` apart. Its blue segments are acknowledged one by one, `gap`
/// microseconds apart, then the red ones.
struct Path {
    suss: Suss,
    now: u64,
    rtt: u64,
    una: u64,
    nxt: u64,
    cwnd: u64,
    round: u32,
}

impl Path {
    fn new(config: SussConfig, rtt: u64) -> Self {
        Self {
            suss: Suss::new(config, Instant::ZERO, 0),
            now: 0,
            rtt,
            una: 0,
            nxt: 10,
            cwnd: 10,
            round: 1,
        }
    }

    fn deliver(&mut self, sample: u64, snd_nxt: u64) -> Option<Step> {
        self.una += 1;
        let ack = Ack {
            snd_nxt: snd_nxt * SMSS.get(),
            in_flight: segments(snd_nxt - self.una),
            ..ack(
                at(self.now),
                segments(1),
                self.una * SMSS.get(),
                Some(Duration::from_micros(sample)),
            )
        };
        let step = self.suss.on_delivery(&ack, &window(self.cwnd));
        if step.is_none()
            && let Step::Grow(growth) = self.suss.on_ack(&ack, &window(self.cwnd))
        {
            self.cwnd += growth.segments(SMSS);
        }
        step
    }

    /// Delivers a blue train of `train` microseconds in the next round, and returns the
    /// acceleration, if any. The red segments then leave, and their ACKs arrive.
    fn round(&mut self, train: u64, sample: u64) -> Option<Acceleration> {
        self.round += 1;
        self.now = u64::from(self.round) * self.rtt;
        let blue = 5 << (self.round - 1);
        let flight = self.nxt;
        let before = self.suss.accelerations();
        for count in 0..blue {
            self.now += if count == 0 { 0 } else { train / blue };
            assert_eq!(self.deliver(sample, flight), None, "round {}", self.round);
        }
        let accelerated = self.suss.accelerations() > before;
        let result = self.suss.acceleration().filter(|_| accelerated);
        self.nxt += 2 * blue;
        while self.una < flight {
            self.now += 1;
            assert_eq!(self.deliver(sample, flight), None);
            if result.is_none() {
                self.nxt += 2;
            }
        }
        if let Some(red) = result {
            self.cwnd = red.limit;
            self.nxt = self.una + red.limit;
        }
        result
    }
}

/// The smallest RTT, trains, and the outcome of the last one, from the reference calculation.
#[test]
fn rounds_of_the_reference() {
    type Row = (u64, &'static [u64], Option<(u64, u64, u64, u64)>);
    // Red segments, those in flight, rate in bytes per second, start after the blue tail.
    let rows: [Row; 7] = [
        (100_000, &[8_000], Some((20, 0, 579_200, 21_000))),
        (100_000, &[8_000, 9_000], Some((120, 20, 2_316_800, 8_000))),
        (100_000, &[8_000, 9_000, 12_000], None),
        (100_000, &[26_000], None),
        (9_000, &[1_000], None),
        (200_000, &[10_000], Some((20, 0, 289_600, 45_000))),
        (200_000, &[10_000, 30_000], None),
    ];
    for (rtt, trains, expected) in rows {
        let mut path = Path::new(SussConfig::default(), rtt);
        let mut last = None;
        for &train in trains {
            last = path.round(train, rtt);
        }
        let found = last.map(|red| {
            let tail = u64::from(path.round) * rtt + trains[trains.len() - 1]
                - trains[trains.len() - 1] / (5 << (path.round - 1));
            let offset = red.from.saturating_since(at(tail)).as_micros();
            (red.red, red.red_in_flight, red.rate.bytes_per_sec(), offset)
        });
        assert_eq!(found, expected, "{rtt} {trains:?}");
    }
}

#[test]
fn the_window_quadruples_three_times() {
    let mut path = Path::new(SussConfig::default(), 100_000);
    let mut windows = vec![path.cwnd];
    for train in [10, 20, 40, 80] {
        path.round(train, 100_000);
        windows.push(path.cwnd);
    }
    assert_eq!(windows, [10, 40, 160, 640, 1280], "the fourth only doubles");
    let mut path = Path::new(
        SussConfig {
            max: 1,
            ..SussConfig::default()
        },
        100_000,
    );
    path.round(10, 100_000);
    path.round(20, 100_000);
    assert_eq!((path.cwnd, path.suss.accelerations()), (80, 1));
}

/// The first test: the train of round 2, that of round 3, and the result.
#[test]
fn the_code_accepts_longer_trains_than_the_talk() {
    for (before, train, code, talk) in [
        (5_000, 10_000, true, true),
        (5_000, 13_000, false, false),
        (10_000, 13_000, true, false),
        (10_000, 20_000, false, false),
    ] {
        for (form, accepted) in [("code", code), ("talk", talk)] {
            let mut config = SussConfig::default();
            config.set("form", form).expect("known");
            let mut path = Path::new(config, 100_000);
            assert!(path.round(before, 100_000).is_some());
            let found = path.round(train, 100_000).is_some();
            assert_eq!(found, accepted, "{form} {before} {train}");
        }
    }
}

/// The second test: the smallest RTT was last lowered in round 1, or in the current round.
#[test]
fn a_rise_of_the_delay_is_extrapolated() {
    for (rounds, sample, accepted) in [
        (3, 108_333, true),
        (3, 108_334, false),
        (4, 109_375, true),
        (4, 109_376, false),
    ] {
        let mut path = Path::new(SussConfig::default(), 100_000);
        for round in 2..rounds {
            assert!(path.round(10 << round, 100_000).is_some());
        }
        let found = path.round(10 << rounds, sample).is_some();
        assert_eq!(found, accepted, "round {rounds}, {sample} us");
    }
    let mut path = Path::new(SussConfig::default(), 100_000);
    path.round(10, 100_000);
    assert!(path.round(20, 99_999).is_some(), "a new minimum");
}

fn sent(now: u64, in_flight: u64) -> Sent {
    Sent {
        now: at(now),
        size: SMSS,
        in_flight: segments(in_flight),
        snd_nxt: 0,
        retransmission: false,
        idle_since: None,
        app_limited: false,
    }
}

/// Ten ACKs of the second round, 800 us apart.
fn accelerated() -> Path {
    let mut path = Path::new(SussConfig::default(), 100_000);
    path.now = 200_000;
    for _ in 0..10 {
        assert_eq!(path.deliver(100_000, 10), None);
        path.now += 800;
    }
    assert_eq!((path.cwnd, path.suss.accelerations()), (20, 1));
    path
}

#[test]
fn red_segments_are_paced_and_their_acks_release_nothing() {
    let mut path = accelerated();
    assert!(path.suss.steers_sending().is_some() && path.suss.pacing().is_none());
    assert_eq!(path.suss.after_sent(&sent(208_000, 18), &window(20)), None);
    assert_eq!(
        path.suss.pacing().map(|pace| pace.rate),
        None,
        "ACK-clocked while the window has space"
    );
    // The window is full: it grows by two, and the following segments are paced.
    let grown = Some(Step::Grow(segments(2)));
    assert_eq!(path.suss.after_sent(&sent(208_000, 19), &window(20)), grown);
    assert!(path.suss.pacing().is_some());
    assert_eq!(
        path.suss.pacing().map(|pace| pace.rate),
        Some(Rate::from_bytes_per_sec(579_200))
    );
    // The tail arrived at 207.2 ms; the train counts as 8 ms: (50 - 8) / 2 ms later.
    assert_eq!(
        path.suss.pacing().and_then(|pace| pace.not_before),
        Some(at(228_200))
    );
    assert_eq!(path.suss.after_sent(&sent(230_000, 38), &window(39)), grown);
    assert_eq!(path.suss.after_sent(&sent(230_000, 39), &window(40)), None);
    // A red ACK within the round.
    path.cwnd = 40;
    path.nxt = 50;
    path.una = 10;
    let head = path.una * SMSS.get();
    let red = ack(
        at(250_000),
        segments(1),
        head,
        Some(Duration::from_millis(100)),
    );
    assert_eq!(path.suss.on_delivery(&red, &window(40)), None);
    assert_eq!(path.suss.on_ack(&red, &window(40)), Step::Grow(Bytes::ZERO));
    // The next round is ACK-clocked.
    path.now = 300_000;
    assert_eq!(path.deliver(100_000, 50), None);
    assert!(path.suss.pacing().is_none());
    assert_eq!(path.cwnd, 41, "a blue ACK");
}

#[test]
fn it_exceeds_the_advertised_window_while_it_accelerates() {
    let mut config = SussConfig::default();
    config.set("override_window", "true").expect("known");
    let mut path = Path::new(config, 100_000);
    assert_eq!(path.suss.supposed_receive_window(), None);
    let mut supposed = Vec::new();
    for train in [10, 20, 40, 80] {
        path.round(train, 100_000);
        let window = path.suss.supposed_receive_window().expect("always");
        supposed.push(window.segments(SMSS));
    }
    // 10 * 2^(round + accelerations - 1), rounds 2 to 5, one acceleration in each except the last.
    assert_eq!(supposed, [40, 160, 640, 1280]);
    let mut path = Path::new(SussConfig::default(), 100_000);
    path.round(10, 100_000);
    assert_eq!(path.suss.supposed_receive_window(), None);
}

#[test]
fn the_train_test_lets_the_window_grow_to_its_cap() {
    // One acceleration: in round 3 a blue train of more than 25 ms counts as one of 50 ms.
    let mut path = Path::new(SussConfig::default(), 100_000);
    path.round(8_000, 100_000);
    path.now = 300_000;
    let flight = path.nxt;
    let mut steps = Vec::new();
    for _ in 0..40 {
        path.now += 1_900;
        if let Some(step) = path.deliver(100_000, flight) {
            steps.push(step);
            break;
        }
    }
    // The first ACK begins the round; the 15th arrives 26.6 ms later, at window 40 + 14 with 14
    // blue segments acknowledged: the cap is 54 + 14 = 68. At the 30th the window is 69.
    let Some(Step::Exit {
        cwnd,
        ssthresh,
        reason,
    }) = steps.first().copied()
    else {
        panic!("no exit: window {}", path.cwnd);
    };
    assert_eq!((cwnd, ssthresh), (segments(69), segments(69)));
    assert_eq!(
        reason,
        ExitReason::AckTrain {
            train: Duration::from_micros(53_200),
            threshold: Duration::from_micros(50_000),
        }
    );
}

#[test]
fn after_two_accelerations_the_exit_sets_the_window_to_inflight() {
    let mut path = Path::new(SussConfig::default(), 100_000);
    path.round(10, 100_000);
    path.round(20, 100_000);
    let flight = path.nxt;
    path.now = 400_000;
    let mut exit = None;
    for _ in 0..20 {
        path.now += 2_500;
        exit = exit.or(path.deliver(112_501, flight));
    }
    let Some(Step::Exit {
        cwnd,
        ssthresh,
        reason,
    }) = exit
    else {
        panic!("no exit");
    };
    // The ninth sample of the round: nine of the 160 segments are acknowledged.
    assert_eq!((cwnd, ssthresh), (segments(151), segments(151)));
    assert!(matches!(reason, ExitReason::Delay { .. }), "{reason:?}");
    assert!(path.suss.pacing().is_none());
}

#[test]
fn a_loss_reduces_from_inflight_and_a_timeout_leaves_only_hystart() {
    let mut path = accelerated();
    let congestion = |kind, in_flight| Congestion {
        now: at(300_000),
        kind,
        phase: Phase::Open,
        in_flight: segments(in_flight),
        snd_nxt: 50 * SMSS.get(),
        first_of_window: true,
    };
    let loss = congestion(CongestionKind::Loss, 33);
    assert_eq!(
        path.suss.reduces_from(&loss, &window(40)),
        Some(segments(33))
    );
    path.suss.on_congestion(&loss);
    assert_eq!(path.suss.reduces_from(&loss, &window(40)), None, "once");
    assert_eq!(path.suss.after_sent(&sent(300_000, 40), &window(40)), None);
    // Off permanently: a train of unpaced ACKs ends slow start as in HyStart, and no round is
    // accelerated.
    path.suss
        .on_congestion(&congestion(CongestionKind::Timeout, 0));
    path.cwnd = 16;
    path.una = 100;
    path.now = 1_000_000;
    let mut exits = 0;
    for _ in 0..60 {
        path.now += 1_000;
        exits += u32::from(path.deliver(100_000, 300).is_some());
    }
    assert_eq!((exits, path.suss.accelerations()), (1, 1));
}

#[test]
fn a_paced_sender_runs_only_hystart() {
    let mut path = Path::new(SussConfig::default(), 100_000);
    path.now = 200_000;
    for count in 1..=10 {
        let ack = Ack {
            paced: true,
            snd_nxt: 10 * SMSS.get(),
            ..ack(
                at(200_000 + 800 * count),
                segments(1),
                count * SMSS.get(),
                Some(Duration::from_millis(100)),
            )
        };
        assert_eq!(path.suss.on_delivery(&ack, &window(9 + count)), None);
    }
    assert_eq!(path.suss.accelerations(), 0);
}
