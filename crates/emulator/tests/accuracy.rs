//! How accurately the emulator does what it was configured to do: rate, delay, and its own
//! lateness.

#![allow(clippy::unwrap_used, reason = "a test panics if it cannot continue")]

mod common;

use common::turns::with_turns;
use common::{goodput, may_emulate, path};
use emulator::{Emulation, EmulationOptions, Scheduling, Side};
use std::net::UdpSocket;
use units::Duration;

#[test]
fn goodput_is_within_a_thousandth_of_the_ideal_up_to_144_mbits() {
    let Some(_guard) = may_emulate() else { return };
    for (mbits, rtt, seconds) in [(10, 60, 3), (50, 100, 3), (144, 100, 3)] {
        with_turns("goodput and lateness", |turn| {
            let (measured, report) = goodput(mbits, Duration::from_millis(rtt), seconds);
            turn.note(&report.check);
            // 1448 bytes of payload in each packet of 1500.
            let ideal = mbits as f64 * 1e6 * 1448.0 / 1500.0;
            let check = &report.check;
            println!(
                "{mbits} Mbit/s: goodput {:.4} of ideal, lateness p50/p99/max {:?}/{:?}/{:?} us, \
             {:.0} % of a processor, idle {:?}, {:?}, {:?}",
                measured / ideal,
                check.lateness_p50_us,
                check.lateness_p99_us,
                check.lateness_max_us,
                100.0 * check.cpu_share,
                check.cpu_idle_share,
                check.scheduling,
                check.reasons
            );
            assert_eq!(
                report.forward.counters.dropped(),
                0,
                "the window was too large"
            );
            assert!(
                (measured / ideal - 1.0).abs() <= 0.001,
                "{mbits} Mbit/s: {measured} bit/s of {ideal}"
            );
            // Without a reservation the machine determines the lateness, and the self-check reports
            // it.
            if check.scheduling == Scheduling::Deadline {
                assert!(check.lateness_p99_us < Some(500), "{check:?}");
            }
            assert_eq!(check.local_drops, 0);
        });
    }
}

#[test]
fn a_round_trip_takes_the_base_rtt() {
    let Some(_guard) = may_emulate() else { return };
    let rtt = Duration::from_millis(40);
    with_turns("the round trip", |turn| {
        let emulation =
            Emulation::start(&path(100, rtt, 100), 1, EmulationOptions::default()).unwrap();
        let [near, far] = [Side::Sender, Side::Receiver].map(|side| {
            let address = emulation.address(side);
            emulation
                .within(side, move || UdpSocket::bind((address, 7000)).unwrap())
                .unwrap()
        });
        near.connect(far.local_addr().unwrap()).unwrap();
        let mut times = Vec::new();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut byte = [0];
                for _ in 0..20 {
                    let (_, from) = far.recv_from(&mut byte).unwrap();
                    far.send_to(&byte, from).unwrap();
                }
            });
            for _ in 0..20 {
                let sent = emulation.now();
                near.send(&[1]).unwrap();
                near.recv(&mut [0]).unwrap();
                times.push(emulation.now() - sent);
            }
        });
        times.sort();
        assert!(times[0] >= rtt, "{times:?}");
        let median = times[10];
        println!("median round trip {median:?} over {rtt:?}");
        let report = emulation.finish().unwrap();
        turn.note(&report.check);
        assert!(median < rtt + Duration::from_millis(1), "{times:?}");
        let probe = report.check.probe_rtt_ms.unwrap();
        assert!((40.0..41.5).contains(&probe), "{probe}");
    });
}
