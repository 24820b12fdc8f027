//! BIC, FAST, Hybla, Vegas and Westwood+ within a complete congestion control.

use congestion::{
    Algorithm, AnyCongestionControl, BuildContext, CongestionControl, CongestionKind, ExitReason,
    Phase,
};
use units::{Duration, Instant};

use crate::flow::{Flow, SMSS};

/// The window and the threshold after a loss at `cwnd`.
fn threshold(name: &str, cwnd: u64) -> u64 {
    let mut flow = Flow::new(name, cwnd);
    flow.congestion(CongestionKind::Loss);
    flow.ssthresh()
}

#[test]
fn thresholds_after_a_loss() {
    let bic = [10, 14, 15, 20, 50, 100, 1_000].map(|cwnd| threshold("bic", cwnd));
    assert_eq!(bic, [5, 7, 11, 15, 39, 79, 799]);
    for name in ["fast", "hybla", "vegas", "westwood"] {
        let halves = [1, 4, 5, 101].map(|cwnd| threshold(name, cwnd));
        assert_eq!(halves, [2, 2, 2, 50], "{name}");
    }
}

/// The window after a loss and a round trip of recovery.
fn recover(flow: &mut Flow, rtt: Duration) {
    flow.congestion(CongestionKind::Loss);
    flow.phase = Phase::Recovery;
    flow.round(rtt, 1);
    flow.control.on_recovery_exit(flow.now);
    flow.phase = Phase::Open;
}

/// 100 segments per 100 ms are 100 segments, whatever the window was.
#[test]
fn westwood_falls_to_what_was_delivered() {
    let mut flow = Flow::new("westwood:hz=1000+standard", 100);
    flow.control.on_congestion(&congestion::Congestion {
        now: Instant::ZERO,
        kind: CongestionKind::Ecn,
        phase: Phase::Open,
        in_flight: SMSS,
        snd_nxt: 0,
        first_of_window: true,
    });
    flow.control.on_recovery_exit(Instant::ZERO);
    assert_eq!(
        (flow.cwnd(), flow.ssthresh()),
        (2, 2),
        "nothing is known yet"
    );

    let rtt = Duration::from_millis(100);
    let mut flow = Flow::new("westwood:hz=1000+standard", 100);
    flow.cwnd_limited = false;
    flow.send();
    flow.spread(rtt);
    flow.clock_until(Instant::from_secs(20), rtt);
    flow.congestion(CongestionKind::Loss);
    assert_eq!(flow.ssthresh(), 50);
    flow.phase = Phase::Recovery;
    flow.control.on_recovery_exit(flow.now);
    // A sample ends with the first ACK after a round trip: 100 or 101 segments of 1 ms each.
    assert!((98..=101).contains(&flow.cwnd()), "{}", flow.cwnd());
    assert_eq!(flow.cwnd(), flow.ssthresh());
    flow.phase = Phase::Open;
    flow.timeout();
    assert!((98..=101).contains(&flow.ssthresh()), "{}", flow.ssthresh());
    assert_eq!(flow.cwnd(), 1);
}

/// A connection whose handshake took `millis`.
fn connection(name: &str, millis: u64) -> AnyCongestionControl {
    let algorithm: Algorithm = name.parse().expect("known");
    algorithm.build(BuildContext {
        now: Instant::ZERO,
        smss: SMSS,
        initial_window: SMSS * 10,
        seed: 1,
        handshake_rtt: Some(Duration::from_millis(millis)),
    })
}

#[test]
fn hybla_begins_with_the_ratio_of_round_trips() {
    let first =
        [10, 49, 50, 100, 600].map(|millis| connection("hybla", millis).window().cwnd_segments());
    assert_eq!(first, [1, 1, 2, 4, 24]);
    let kept = connection("hybla:initial_window=flow", 600);
    assert_eq!(kept.window().cwnd_segments(), 10);
    assert_eq!(connection("reno", 600).window().cwnd_segments(), 10);
}

/// 100 ms: 15 segments for each ACK, not past the threshold, and 16 per round trip above it.
#[test]
fn hybla_grows_by_its_ratio() {
    let mut flow = Flow::new("hybla", 512);
    flow.congestion(CongestionKind::Loss);
    flow.control.on_recovery_exit(flow.now);
    flow.timeout();
    flow.phase = Phase::Open;
    assert_eq!((flow.cwnd(), flow.ssthresh()), (1, 128));
    let rtt = Duration::from_millis(100);
    flow.send();
    flow.round(rtt, 1);
    assert_eq!(flow.cwnd(), 16);
    flow.send();
    flow.round(rtt, 1);
    // Eight ACKs of slow start, then eight of an eighth each.
    assert_eq!(flow.cwnd(), 129);
    flow.send();
    flow.round(rtt, 1);
    // The increment of an ACK falls as the window grows within the round.
    assert_eq!(flow.cwnd(), 143);
}

/// Vegas doubles each round trip until a round is slower, and then holds its segments in the queue.
#[test]
fn vegas_leaves_slow_start_by_delay() {
    let mut flow = Flow::new("vegas", 10);
    flow.send();
    flow.spread(Duration::from_millis(100));
    flow.clock_until(Instant::from_millis(300), Duration::from_millis(100));
    assert!(flow.cwnd() >= 20 && flow.control.slow_start_exit().is_none());
    flow.clock_until(Instant::from_millis(900), Duration::from_millis(125));
    let exit = flow.control.slow_start_exit().expect("the delay ends it");
    assert!(matches!(exit.reason, ExitReason::Delay { .. }), "{exit:?}");
    let after = flow.cwnd();
    flow.clock_until(Instant::from_millis(1_500), Duration::from_millis(125));
    assert!(
        (after - 6..after).contains(&flow.cwnd()),
        "{} then {}",
        after,
        flow.cwnd()
    );
}

/// FAST comes to rest where `alpha` segments of its own wait.
#[test]
fn fast_rests_at_alpha() {
    let mut flow = Flow::new("fast", 10);
    let base = Duration::from_millis(100);
    flow.send();
    flow.spread(base);
    // 100 segments per 100 ms: the round-trip time is what the window needs at that rate.
    for _ in 0..120 {
        let rtt = base.max(Duration::from_millis(flow.cwnd()));
        let end = flow.now + rtt;
        flow.clock_until(end, rtt);
        flow.now = end;
    }
    let exit = flow.control.slow_start_exit().expect("the delay ends it");
    assert!(matches!(exit.reason, ExitReason::Delay { .. }), "{exit:?}");
    assert!((115..=121).contains(&flow.cwnd()), "{}", flow.cwnd());
}

#[test]
fn bic_searches_after_a_loss() {
    let rtt = Duration::from_millis(100);
    let mut flow = Flow::new("bic:hz=1000,delayed_ack=false+standard", 100);
    flow.send();
    flow.now += rtt;
    recover(&mut flow, rtt);
    assert_eq!(flow.cwnd(), 79);
    let mut windows = vec![];
    flow.send();
    for _ in 0..6 {
        flow.round(rtt, 1);
        windows.push(flow.cwnd());
    }
    assert!(
        windows.is_sorted() && windows[5] > 90 && windows[5] < 100,
        "{windows:?}"
    );
}
