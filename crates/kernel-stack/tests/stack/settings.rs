//! Each setting of a scenario shows on the wire.

use std::sync::atomic::{AtomicBool, Ordering};

use emulator::Direction;
use kernel_stack::{self as stack, StackError, StackOptions};
use measure::FlowResult;
use scenario::{AckPolicy, Application, Flow, Scenario};
use units::{Bytes, Duration, Instant};

use crate::common;
use crate::helpers::{SMSS, check_complete, flow, run_in, traces, wired, with};

#[test]
fn settings_of_a_flow_show_on_the_wire() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    common::turns::with_turns("the settings of a flow", |turn| {
        // Four flows with different settings, one after the other over one path.
        let at = |millis, flow| Flow {
            start: Instant::from_millis(millis),
            ..flow
        };
        let plain = flow("reno", 300_000);
        let scenario = Scenario::new(
            wired(50, 40, 1000),
            vec![
                plain.clone(),
                at(800, with(plain.clone(), |of| of.initial_window = 40)),
                at(
                    1600,
                    with(plain.clone(), |of| {
                        of.pacing = true;
                        of.initial_window = 4;
                    }),
                ),
                at(
                    2400,
                    with(plain.clone(), |of| of.ack_policy = AckPolicy::EverySegment),
                ),
            ],
        );
        let output = run_in(turn, &scenario);
        let [first, wide, paced, quick] = &output.result.flows[..] else {
            panic!("{:?}", output.result.flows)
        };
        for flow in [first, wide, paced, quick] {
            check_complete(flow, 300_000, 40.0);
        }
        for (flow, start) in [(first, 0.0), (wide, 0.8), (paced, 1.6), (quick, 2.4)] {
            let late = flow.start_s - start;
            assert!((0.0..0.1).contains(&late), "{flow:?}");
        }
        let first_window = |flow: usize| traces(&output)[flow].cwnd_bytes[0] / SMSS;
        assert!((10..=20).contains(&first_window(0)), "{}", first_window(0));
        assert!((40..=80).contains(&first_window(1)), "{}", first_window(1));
        assert!((4..=8).contains(&first_window(2)), "{}", first_window(2));
        assert!(wide.fct_s < first.fct_s, "{wide:?}");
        assert!(paced.fct_s > first.fct_s, "{paced:?}");
        // Paced packets hardly queue; bursts do.
        let queue = |from: f64, to: f64| {
            let link = &output.traces.as_ref().expect("traces").links[0];
            let rows = link.time_s.iter().zip(&link.queue_packets);
            rows.filter(|(at, _)| (from..to).contains(*at))
                .map(|(_, queue)| *queue)
                .max()
        };
        assert!(
            queue(1.6, 2.4) < queue(0.0, 0.8),
            "{:?} {:?}",
            queue(1.6, 2.4),
            queue(0.0, 0.8)
        );
        let acks = |flow: &FlowResult| {
            let back = output.report.flows.iter().find(|facts| {
                facts.direction == Direction::Reverse
                    && u32::from(*facts.key.destination.ip()) & 0xffff == flow.flow + 1
            });
            back.expect("ACKs").packets
        };
        // One for each segment, for the SYN and for the FIN.
        assert!(
            acks(quick) >= quick.segments_sent,
            "{} for {quick:?}",
            acks(quick)
        );
        eprintln!(
            "ACKs for {} segments: {} delayed, {} at once",
            quick.segments_sent,
            acks(first),
            acks(quick)
        );
    });
}

#[test]
fn flows_over_one_path_have_their_own_round_trips() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    common::turns::with_turns("access delays", |turn| {
        let path = wired(50, 20, 1000);
        let far = |millis: u64| {
            with(flow("reno", 200_000), |of| {
                of.extra_delay = Duration::from_millis(millis);
            })
        };
        let scenario = Scenario::new(path, vec![far(0), far(15), far(40), far(15)]);
        let output = run_in(turn, &scenario);
        let never = AtomicBool::new(false);
        let simulated =
            simulator::run(&scenario, 0, &simulator::RunOptions::default(), &never).unwrap();
        let pairs = output.result.flows.iter().zip(&simulated.result.flows);
        for ((flow, ours), rtt_ms) in pairs.zip([20.0, 50.0, 100.0, 50.0]) {
            check_complete(flow, 200_000, rtt_ms);
            // Without losses, a transfer takes a known number of round trips.
            let (took, expected) = (flow.fct_s.unwrap(), ours.fct_s.unwrap());
            assert!(
                (took - expected).abs() < 0.005,
                "{took} s for {expected} s simulated: {flow:?}"
            );
        }
    });
}

#[test]
fn settings_of_a_namespace_show_on_the_wire() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    common::turns::with_turns("the settings of a namespace", |turn| {
        // A receive window of 200 kB over a path with a BDP of 250 kB and a queue of the same size.
        let small = with(flow("reno", 3_000_000), |of| {
            of.receive_buffer = Bytes::new(200_000);
            of.tso_segments = 1;
        });
        let output = run_in(turn, &Scenario::new(wired(50, 40, 165), vec![small]));
        check_complete(&output.result.flows[0], 3_000_000, 40.0);
        let in_flight = traces(&output)[0]
            .in_flight_bytes
            .iter()
            .max()
            .copied()
            .unwrap_or(0);
        eprintln!("at most {in_flight} bytes in flight of a receive buffer of 200,000");
        assert!((150_000..=202_000).contains(&in_flight), "{in_flight}");
        assert_eq!(output.result.flows[0].slow_start_exit, None);

        // Writes with pauses longer than the RTO: the window restarts at ten segments, or stays.
        let periodic = |restart_after_idle| Flow {
            application: Application::Periodic {
                write: Bytes::new(150_000),
                every: Duration::from_millis(900),
            },
            ..with(flow("reno", 450_000), |of| {
                of.restart_after_idle = restart_after_idle
            })
        };
        let mut windows = Vec::new();
        for restart in [true, false] {
            let output = run_in(
                turn,
                &Scenario::new(wired(50, 40, 1000), vec![periodic(restart)]),
            );
            let result = &output.result.flows[0];
            assert!(
                result.completed && result.bytes_acked == 450_000,
                "{result:?}"
            );
            assert!(
                result.fct_s.is_some_and(|fct| (1.8..2.5).contains(&fct)),
                "{result:?}"
            );
            let trace = &traces(&output)[0];
            // The first row of the third write.
            let row = trace
                .acked_bytes
                .iter()
                .position(|&acked| acked > 300_000)
                .expect("a row");
            windows.push(trace.cwnd_bytes[row] / SMSS);
        }
        eprintln!(
            "window after a pause: {} with a restart, {} without",
            windows[0], windows[1]
        );
        assert!(windows[0] < 30 && windows[1] > 50, "{windows:?}");
    });
}

#[test]
fn timed_flows_stop_and_a_run_can_be_cancelled() {
    let Some(_turn) = common::may_emulate() else {
        return;
    };
    common::turns::with_turns("when timed flows stop", |turn| {
        let timed = Flow {
            size: None,
            duration: Some(Duration::from_millis(700)),
            ..flow("cubic", 0)
        };
        let later = Flow {
            start: Instant::from_millis(200),
            ..timed.clone()
        };
        let never = Flow {
            start: Instant::from_secs(9),
            ..timed.clone()
        };
        let scenario = Scenario {
            duration: Some(Duration::from_millis(1500)),
            ..Scenario::new(wired(20, 30, 50), vec![timed, later, never])
        };
        let output = run_in(turn, &scenario);
        assert!(
            (1.5..1.6).contains(&output.result.end_s),
            "{}",
            output.result.end_s
        );
        for flow in &output.result.flows[..2] {
            assert!(!flow.completed && flow.fct_s.is_none(), "{flow:?}");
            assert!(
                flow.bytes_acked > 100_000 && flow.goodput_bps > 1e6,
                "{flow:?}"
            );
        }
        let end = traces(&output)[1].time_s.last().copied().unwrap_or(0.0);
        assert!((0.8..1.0).contains(&end), "{end}");
        assert_eq!(output.result.flows[2].bytes_acked, 0);
        assert_eq!(output.result.flows[2].segments_sent, 0);

        let cancel = AtomicBool::new(false);
        let endless = Scenario::new(wired(20, 30, 50), vec![flow("reno", 1 << 40)]);
        std::thread::scope(|scope| {
            let run = scope.spawn(|| stack::run(&endless, 0, &StackOptions::default(), &cancel));
            while !run.is_finished() {
                // Long enough to be in the middle of the run; nothing depends on the exact time.
                let _ = nix::poll::poll(&mut [], 400_u16);
                cancel.store(true, Ordering::Relaxed);
            }
            let outcome = run.join().expect("no panic");
            assert!(matches!(outcome, Err(StackError::Cancelled)), "{outcome:?}");
        });
    });
}
