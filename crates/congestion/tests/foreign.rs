//! Start-ups implemented outside of the crate.

mod startup_support;

use std::sync::atomic::{AtomicU64, Ordering};

use congestion::startup::ForeignKind;
use congestion::{
    Ack, Algorithm, BuildContext, Congestion, CongestionControl, ExitReason, Sent, Step, Window,
};
use startup_support::{SMSS, ack, segments};
use units::{Instant, Rate};

/// Grows by one segment per ACK, and exits at 13.
struct Plain {
    open: AtomicU64,
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

#[test]
fn a_foreign_start_up_replaces_a_named_one() {
    static KIND: Plain = Plain {
        open: AtomicU64::new(0),
    };
    let named = |text: &str| Algorithm::parse(text).unwrap().with_foreign(&KIND);
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

    let mut control = named("reno").unwrap().build(BuildContext {
        now: Instant::ZERO,
        smss: SMSS,
        initial_window: segments(10),
        seed: 1,
        handshake_rtt: None,
    });
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
