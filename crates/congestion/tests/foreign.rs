//! Start-ups, avoidances and congestion controls implemented outside of the crate.

mod startup_support;

use std::sync::atomic::{AtomicU64, Ordering};

use congestion::foreign::{
    AvoidanceKind, ControlKind, ControlState, FirstExit, ForeignKind, StartupKind,
};
use congestion::{
    Ack, Algorithm, BuildContext, Congestion, CongestionControl, CongestionKind, Decision,
    ExitReason, Phase, Sent, Step, Window,
};
use startup_support::{SMSS, ack, segments};
use units::{Bytes, Instant, Rate};

/// As a start-up: grows by one segment per ACK, and exits at 13. As an avoidance: grows by half a
/// segment per ACK. As a congestion control: a window of as many segments as it has seen calls.
struct Plain {
    open: AtomicU64,
    calls: AtomicU64,
}

impl Plain {
    const fn new() -> Self {
        Self {
            open: AtomicU64::new(0),
            calls: AtomicU64::new(20),
        }
    }

    fn called(&self) -> Option<ControlState> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.state(0)
    }
}

impl ForeignKind for Plain {
    fn name(&self) -> &str {
        "module:Plain"
    }

    fn begin(&self, _context: &BuildContext) -> u64 {
        self.open.fetch_add(1, Ordering::Relaxed)
    }

    fn copy(&self, number: u64) -> u64 {
        self.open.fetch_add(1, Ordering::Relaxed);
        number
    }

    fn end(&self, _number: u64) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }
}

impl StartupKind for Plain {
    fn on_sent(&self, _number: u64, _sent: &Sent) {}

    fn on_delivery(&self, _number: u64, _ack: &Ack, window: &Window) -> Option<Step> {
        (window.cwnd >= segments(13)).then_some(Step::Exit {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
            reason: ExitReason::Decision,
        })
    }

    fn on_ack(&self, _number: u64, _ack: &Ack, _window: &Window) -> Step {
        Step::Grow(SMSS)
    }

    fn on_congestion(&self, _number: u64, _congestion: &Congestion) {}

    fn pacing_rate(&self, _number: u64) -> Option<Rate> {
        Some(Rate::from_bits_per_sec(8_000_000))
    }
}

impl AvoidanceKind for Plain {
    fn on_delivery(&self, _number: u64, _ack: &Ack, _window: &Window) {}

    fn on_ack(&self, _number: u64, _acked: Bytes, _ack: &Ack, _window: &Window) -> Bytes {
        Bytes::new(SMSS.get() / 2)
    }

    fn decide(&self, _number: u64, _ack: &Ack, _window: &Window) -> Option<Decision> {
        None
    }

    fn on_congestion(&self, _number: u64, _congestion: &Congestion, _window: &Window) -> Bytes {
        Bytes::ZERO
    }

    fn on_recovery_exit(&self, _number: u64, _window: &Window) -> Option<Bytes> {
        None
    }

    fn on_timeout(&self, _number: u64) {}

    fn on_undo(&self, _number: u64) {}

    fn on_idle(&self, _number: u64, _now: Instant, _idle_since: Instant) {}
}

impl ControlKind for Plain {
    fn state(&self, _number: u64) -> Option<ControlState> {
        let calls = self.calls.load(Ordering::Relaxed);
        Some(ControlState {
            // The rest below a segment is cut off.
            cwnd: segments(calls) + Bytes::new(7),
            ssthresh: segments(23),
            pacing_rate: Some(Rate::from_bits_per_sec(calls)),
            exit: FirstExit::Unstated,
        })
    }

    fn steers_sending(&self) -> bool {
        true
    }

    fn on_sent(&self, _number: u64, _sent: &Sent) -> Option<ControlState> {
        None
    }

    fn on_delivery(&self, _number: u64, _ack: &Ack) -> Option<ControlState> {
        None
    }

    fn on_ack(&self, _number: u64, _ack: &Ack) -> Option<ControlState> {
        self.called()
    }

    fn on_congestion(&self, _number: u64, _congestion: &Congestion) -> Option<ControlState> {
        self.called()
    }

    fn on_recovery_exit(&self, _number: u64, _now: Instant) -> Option<ControlState> {
        None
    }

    fn on_undo(&self, _number: u64, _now: Instant) -> Option<ControlState> {
        None
    }
}

const CONTEXT: BuildContext = BuildContext {
    now: Instant::ZERO,
    smss: SMSS,
    initial_window: Bytes::new(SMSS.get() * 10),
    seed: 1,
    handshake_rtt: None,
};

const LOSS: Congestion = Congestion {
    now: Instant::from_millis(9),
    kind: CongestionKind::Loss,
    phase: Phase::Open,
    in_flight: Bytes::new(SMSS.get() * 10),
    snd_nxt: SMSS.get() * 20,
    first_of_window: true,
};

#[test]
fn a_foreign_avoidance_replaces_a_named_one() {
    static KIND: Plain = Plain::new();
    let named = |text: &str| {
        let algorithm = Algorithm::parse(text).unwrap();
        algorithm.with_foreign_avoidance(&KIND)
    };
    for (text, name) in [
        ("reno", "module:Plain+standard"),
        ("reno+hystart++", "module:Plain+hystart++"),
        (
            "reno+search:version=4.0+plain",
            "module:Plain+search:version=4.0+plain",
        ),
    ] {
        let algorithm = named(text).expect("it has an avoidance");
        assert_eq!(algorithm.name(), name);
        assert!(algorithm.is_foreign() && algorithm.classic().is_none());
    }
    assert_eq!(named("bbr"), None);
    let both = named("reno").unwrap().with_foreign_startup(&KIND).unwrap();
    assert_eq!(both.name(), "module:Plain+module:Plain");
    assert_ne!(both, named("reno").unwrap());

    let mut control = named("reno+standard+plain").unwrap().build(CONTEXT);
    let copy = control.clone();
    assert_eq!(KIND.open.load(Ordering::Relaxed), 2);
    // A threshold of nothing is one of two segments.
    control.on_congestion(&LOSS);
    control.on_recovery_exit(LOSS.now);
    assert_eq!(control.window().cwnd, segments(2));
    // Two halves of a segment are one.
    for (una, cwnd) in [(1, 2), (2, 3), (3, 3), (4, 4)] {
        let one = ack(Instant::from_millis(10), SMSS, segments(una).get(), None);
        control.on_delivery(&one);
        control.on_ack(&one);
        assert_eq!(control.window().cwnd, segments(cwnd));
    }
    drop((control, copy));
    assert_eq!(KIND.open.load(Ordering::Relaxed), 0);
}

#[test]
fn a_foreign_congestion_control_sets_window_and_pace() {
    static KIND: Plain = Plain::new();
    let algorithm = Algorithm::foreign(&KIND).unwrap();
    assert_eq!(algorithm.name(), "module:Plain");
    assert!(algorithm.is_foreign() && algorithm.classic().is_none());
    assert_eq!(algorithm.parts().count(), 0);
    assert_eq!(algorithm.with_foreign_startup(&KIND), None);
    assert!(algorithm.needs().rate_samples && !algorithm.needs().copies);

    let mut control = algorithm.build(CONTEXT);
    assert_eq!(control.window().cwnd, segments(20));
    assert!(control.requires_pacing() && control.steers_sending());
    let copy = control.clone();
    assert_eq!(KIND.open.load(Ordering::Relaxed), 2);
    for una in 1..=2 {
        control.on_ack(&ack(
            Instant::from_millis(una),
            SMSS,
            segments(una).get(),
            None,
        ));
        assert_eq!(control.slow_start_exit(), None);
    }
    let third = ack(Instant::from_millis(3), SMSS, segments(3).get(), None);
    control.on_ack(&third);
    let exit = control
        .slow_start_exit()
        .expect("the window is the threshold");
    assert_eq!(exit.reason, ExitReason::Threshold);
    assert_eq!((exit.at, exit.cwnd), (third.now, segments(23)));
    assert_eq!(
        control.pacing_rate(),
        Some(Rate::from_bits_per_sec(23)),
        "the state of the last call"
    );
    drop((control, copy));
    assert_eq!(KIND.open.load(Ordering::Relaxed), 0);

    KIND.calls.store(20, Ordering::Relaxed);
    let mut control = algorithm.build(CONTEXT);
    control.on_congestion(&LOSS);
    let exit = control.slow_start_exit().expect("an episode began");
    assert_eq!((exit.reason, exit.cwnd), (ExitReason::Loss, segments(20)));
}

#[test]
fn a_foreign_start_up_replaces_a_named_one() {
    static KIND: Plain = Plain::new();
    let named = |text: &str| {
        let algorithm = Algorithm::parse(text).unwrap();
        algorithm.with_foreign_startup(&KIND)
    };
    for (text, name) in [
        ("cubic", "cubic+module:Plain"),
        ("reno+hystart++", "reno+module:Plain"),
        ("cubic+search:version=4.0+plain", "cubic+module:Plain+plain"),
    ] {
        let algorithm = named(text).expect("it has a start-up");
        assert_eq!(algorithm.name(), name);
        assert!(algorithm.is_foreign());
    }
    assert_eq!(named("bbr"), None);
    assert!(!Algorithm::parse("cubic").unwrap().is_foreign());

    let mut control = named("reno").unwrap().build(CONTEXT);
    assert!(control.requires_pacing());
    let copy = control.clone();
    assert_eq!(KIND.open.load(Ordering::Relaxed), 2);
    for una in 1..=4 {
        let one = ack(Instant::from_millis(una), SMSS, segments(una).get(), None);
        control.on_delivery(&one);
        control.on_ack(&one);
    }
    assert_eq!(control.window().ssthresh, segments(13));
    assert_eq!(control.slow_start_exit().unwrap().reason.name(), "decision");
    assert!(!control.requires_pacing(), "slow start is over");
    drop((control, copy));
    assert_eq!(KIND.open.load(Ordering::Relaxed), 0);
}
