//! Careful Resume: values computed by hand from RFC 9959, and which connection may use the saved
//! state.

mod startup_support;

use congestion::startup::{CarefulResume, CarefulResumeConfig};
use congestion::{Ack, CongestionKind, JumpStarts, PathMemory, Sent, Startup, Step, Window};
use startup_support::{SMSS, ack, at, congestion, established, micros, segments, window};
use units::{Bytes, Duration, Instant};

fn resuming(config: CarefulResumeConfig) -> CarefulResume {
    let mut startup = CarefulResume::new(config, Instant::ZERO, 0);
    startup.on_established(&established(PathMemory::default(), 100_000), &window(10));
    startup
}

/// The ACK of the whole initial window, with `in_flight` bytes in flight.
fn initial_window_came_back(rtt_us: u64, in_flight: u64) -> Ack {
    Ack {
        in_flight: segments(in_flight),
        snd_nxt: segments(10 + in_flight).get(),
        ..ack(at(rtt_us), SMSS, segments(10).get(), Some(micros(rtt_us)))
    }
}

#[test]
fn careful_resume_spreads_its_jump_over_an_rtt() {
    for (saved, max, rtt_us, jump, spacing_ns) in [
        (300, 0, 100_000, 150, 666_666),
        (300, 100, 100_000, 100, 1_000_000),
        (400, 0, 600_000, 200, 3_000_000),
        (60, 0, 40_000, 30, 1_333_333),
    ] {
        let mut startup = resuming(CarefulResumeConfig {
            saved_cwnd: saved,
            saved_rtt: micros(rtt_us),
            max_jump: max,
            ..CarefulResumeConfig::default()
        });
        let step = startup.on_delivery(&initial_window_came_back(rtt_us, 18), &window(19));
        assert_eq!(step, Some(Step::Set(segments(jump))));
        let rate = startup.pacing().expect("the jump is paced").rate;
        let spacing = rate.time_for(SMSS).as_nanos();
        assert!(spacing.abs_diff(spacing_ns) <= 1, "{spacing} {spacing_ns}");
        assert!(startup.pacing().is_some());
    }
}

/// An RTT of at most half the saved one means another path; a longer one is accepted.
#[test]
fn careful_resume_checks_the_rtt() {
    for (saved_ms, rtt_us, jumps) in [
        (100, 49_900, false),
        (100, 50_000, false),
        (100, 50_100, true),
        (100, 100_000, true),
        (100, 999_000, true),
        (100, 1_000_000, true),
        (100, 1_001_000, true),
        (600, 300_000, false),
        (600, 301_000, true),
    ] {
        let mut startup = resuming(CarefulResumeConfig {
            saved_cwnd: 300,
            saved_rtt: Duration::from_millis(saved_ms),
            ..CarefulResumeConfig::default()
        });
        let step = startup.on_delivery(&initial_window_came_back(rtt_us, 18), &window(19));
        assert_eq!(step.is_some(), jumps, "{saved_ms} ms, {rtt_us} us");
        let phase = if jumps { "unvalidated" } else { "normal" };
        assert_eq!(startup.phase(), phase);
    }
}

/// Cases: flight on entry, saved window, unvalidated segments, first lost one, number lost, and the
/// result of the retreat.
#[test]
fn safe_retreat_follows_the_rules() {
    for (flight, saved, sent, first_lost, lost, cwnd, beta, ssthresh) in [
        (20, 400, 180, 50, 1, 24, 500, 99),
        (20, 400, 180, 50, 1, 24, 700, 139),
        (29, 300, 121, 64, 1, 31, 500, 74),
        (40, 200, 60, 70, 20, 34, 500, 40),
    ] {
        let mut startup = resuming(CarefulResumeConfig {
            saved_cwnd: saved,
            saved_rtt: micros(100_000),
            beta,
            ..CarefulResumeConfig::default()
        });
        let offset = |segment: u64| segments(10 + segment).get();
        let step = startup.on_delivery(&initial_window_came_back(100_000, flight), &window(25));
        let jump = u64::from(saved) / 2;
        assert_eq!(step, Some(Step::Set(segments(jump))));
        // The jump sends packets `flight + 1` to `flight + sent`, which fills the window.
        for packet in 0..sent {
            startup.on_sent(&Sent {
                now: at(100_000),
                size: SMSS,
                in_flight: segments(flight + packet),
                snd_nxt: offset(flight + packet + 1),
                retransmission: false,
                idle_since: None,
                app_limited: false,
            });
        }
        let end = flight + sent;
        let deliver = |startup: &mut CarefulResume, packets: u64, una: u64| {
            let one = Ack {
                in_flight: segments(end - una),
                snd_nxt: offset(end),
                ..ack(at(150_000), segments(packets), offset(una), None)
            };
            startup.observe(&one, &window(jump));
            startup.on_delivery(&one, &window(jump));
        };
        deliver(&mut startup, first_lost - 1, first_lost - 1);
        startup.on_congestion(&congestion(CongestionKind::Loss, offset(end)));
        let reduction = startup
            .take_over(
                &congestion(CongestionKind::Loss, offset(end)),
                &window(jump),
            )
            .expect("the lost segment belongs to the jump");
        assert_eq!(reduction.cwnd.segments(SMSS), cwnd);
        assert_eq!(startup.phase(), "safe retreat");
        let frozen = Window {
            cwnd: segments(cwnd),
            ssthresh: segments(cwnd),
            smss: SMSS,
        };
        // One retransmission at once, then nothing above the window.
        let one = ack(at(160_000), Bytes::ZERO, offset(first_lost - 1), None);
        let full = Ack {
            in_flight: segments(100),
            ..one
        };
        assert_eq!(startup.on_recovery_ack(&full, &frozen), segments(101));
        for _ in 0..lost {
            startup.on_sent(&Sent {
                now: at(160_000),
                size: SMSS,
                in_flight: segments(50),
                snd_nxt: offset(end),
                retransmission: true,
                idle_since: None,
                app_limited: false,
            });
        }
        assert_eq!(startup.on_recovery_ack(&full, &frozen), segments(cwnd));
        deliver(&mut startup, end - first_lost + 1, end);
        let after = startup.on_recovery_exit(at(300_000), &frozen);
        assert_eq!(after.cwnd, segments(cwnd));
        assert_eq!(after.ssthresh.segments(SMSS), ssthresh);
        assert_eq!(startup.phase(), "normal");
        // The saved state was wrong: it is deleted.
        let mut memory = PathMemory::default();
        startup.on_close(at(400_000), &mut memory);
        assert_eq!(memory, PathMemory::default());
    }
}

/// Of two concurrent connections, the second may not use the saved state that the first holds.
#[test]
fn one_connection_at_a_time_uses_the_saved_state() {
    let observer = {
        let mut startup = resuming(CarefulResumeConfig::default());
        for round in 0..6 {
            let mut one = ack(
                at(100_000 * round),
                segments(50),
                segments(50 * round).get(),
                Some(micros(100_000)),
            );
            one.snd_nxt = segments(50 * (round + 1)).get();
            startup.observe(&one, &window(50));
        }
        startup
    };
    let mut memory = PathMemory::default();
    let lent = memory.lend();
    observer.on_close(at(1_000_000), &mut memory);
    memory.give_back(&lent);
    let phase = |memory: PathMemory| {
        let mut startup = CarefulResume::new(CarefulResumeConfig::default(), Instant::ZERO, 0);
        startup.on_established(&established(memory, 100_000), &window(10));
        startup.phase()
    };
    let first = memory.lend();
    assert_eq!(phase(first), "reconnaissance");
    let second = memory.lend();
    assert_eq!(phase(second), "normal");
    memory.give_back(&first);
    memory.give_back(&second);
    assert_eq!(phase(memory.lend()), "reconnaissance");
}
