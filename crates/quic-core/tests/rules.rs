//! The rules of RFC 9002, with numbers worked from its text, and what is refused.

use std::collections::VecDeque;

use quic_core::{Capabilities, CongestionKind, Core, Pacing, Setup};
use units::{Bytes, Duration, Instant};

const DATAGRAM: Bytes = Bytes::new(1_200);

/// A stack as quinn 0.11 is one.
const PLAIN: Capabilities = Capabilities {
    stack: "plain 1",
    pacing: Pacing::Fixed,
    paces: true,
    send_times: true,
    lost_packets: false,
    handshake: false,
};

fn core(algorithm: &str) -> Core {
    let setup = Setup::new(algorithm.parse().expect("an algorithm"), DATAGRAM);
    Core::new(setup, &PLAIN).expect("it runs")
}

fn at(millis: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(millis)
}

/// Sends `count` datagrams at `sent`.
fn send(core: &mut Core, sent: u64, count: u64) {
    for _ in 0..count {
        core.on_sent(at(sent), DATAGRAM, None);
    }
}

/// Acknowledges `count` datagrams of `sent` at `now`, in one frame that leaves `left` in flight.
fn acknowledge(core: &mut Core, now: u64, sent: u64, count: u64, left: u64) {
    for _ in 0..count {
        core.on_acked(at(now), at(sent), DATAGRAM, None);
    }
    core.on_batch_end(at(now), DATAGRAM * left, false);
}

/// Section 7.2: ten datagrams, limited to max(14,720, two datagrams).
#[test]
fn the_initial_window() {
    for (datagram, window) in [(1_200, 12_000), (1_472, 14_720), (9_000, 18_000)] {
        let datagram = Bytes::new(datagram);
        let setup = Setup::new("cubic+standard".parse().expect("a name"), datagram);
        assert_eq!(setup.initial_window, Bytes::new(window));
    }
}

/// Section 7.3.1: in slow start the window grows by what was acknowledged.
#[test]
fn slow_start_doubles_and_carries_the_rest_of_a_datagram() {
    let mut core = core("cubic+standard");
    send(&mut core, 0, 10);
    acknowledge(&mut core, 100, 0, 10, 0);
    assert_eq!(core.window().cwnd, DATAGRAM * 20);
    // 20 packets of 900 bytes are 15 datagrams; no ACK by itself is a whole one.
    for _ in 0..20 {
        core.on_sent(at(100), Bytes::new(900), None);
    }
    for left in (0..20).rev() {
        core.on_acked(at(200), at(100), Bytes::new(900), None);
        core.on_batch_end(at(200), Bytes::new(900 * left), false);
    }
    assert_eq!(core.window().cwnd, DATAGRAM * 35);
}

/// Section 7.3.2: one reduction for all losses of a recovery period, which ends with the ACK of a
/// packet sent during it.
#[test]
fn one_reduction_in_a_recovery_period() {
    let mut core = core("reno+standard+newreno");
    send(&mut core, 0, 10);
    acknowledge(&mut core, 100, 0, 7, 3);
    assert_eq!(core.window().cwnd, DATAGRAM * 17);
    let lose = |core: &mut Core, now, sent| {
        core.on_congestion(at(now), at(sent), CongestionKind::Loss, DATAGRAM);
    };
    lose(&mut core, 100, 0);
    let reduced = core.window();
    assert_eq!(reduced.ssthresh, DATAGRAM * 8);
    lose(&mut core, 110, 0);
    assert_eq!(core.window(), reduced);
    send(&mut core, 120, 4);
    acknowledge(&mut core, 220, 120, 1, 3);
    lose(&mut core, 230, 120);
    assert_eq!(core.window().ssthresh, DATAGRAM * 4);
}

/// Section 7.6.2: persistent congestion leaves the minimum window of two datagrams.
#[test]
fn persistent_congestion_leaves_the_minimum_window() {
    let mut core = core("cubic+standard");
    send(&mut core, 0, 10);
    let lost = DATAGRAM * 10;
    core.on_congestion(at(900), at(0), CongestionKind::Timeout, lost);
    assert_eq!(core.window().cwnd, DATAGRAM * 2);
}

/// A round-trip time is that of the newest packet of the frame, and a round is over when what was
/// sent at its beginning has arrived.
#[test]
fn hystart_sees_rounds_and_round_trip_times() {
    let mut core = core("cubic+hystart++");
    send(&mut core, 0, 10);
    let mut flight: VecDeque<u64> = [0; 10].into();
    let mut now = 0;
    while core.slow_start_exit().is_none() && now < 3_000 {
        let sent = flight
            .pop_front()
            .expect("slow start keeps packets in flight");
        // The queue grows by 20 ms in 100 ms.
        now = sent + 100 + sent / 5;
        acknowledge(&mut core, now, sent, 1, flight.len() as u64);
        while DATAGRAM * (flight.len() as u64) < core.window().cwnd {
            send(&mut core, now, 1);
            flight.push_back(now);
        }
    }
    let exit = core.slow_start_exit().expect("the delay rises");
    // Rounds end at 100, 220, 364, 536, 743 and 991 ms. The second is 20 ms slower than the first:
    // it is the first of five rounds of conservative slow start.
    assert_eq!(exit.at, at(991), "{}", exit.reason);
    assert!(!exit.reason.is_congestion());
}

#[test]
fn what_a_stack_cannot_do_is_refused_with_one_sentence() {
    for (algorithm, sentence) in [
        (
            "cubic+jump-start",
            "plain 1 lets no controller set the pace: cubic+jump-start needs it",
        ),
        (
            "bbr",
            "plain 1 lets no controller set the pace: bbr needs it",
        ),
        (
            "cubic+quick-start",
            "plain 1 carries nothing for the routers of the path: cubic+quick-start needs it",
        ),
        (
            "cubic+oracle",
            "plain 1 does not know the capacity of the path, as the simulator does: cubic+oracle \
             needs it",
        ),
        (
            "cubic+halfback",
            "plain 1 retransmits only what it declared lost: cubic+halfback needs it",
        ),
    ] {
        let refused = PLAIN.check(&algorithm.parse().expect("a name"));
        let refused = refused.expect_err(algorithm);
        assert_eq!(refused.to_string(), sentence);
    }
    let paced = Capabilities {
        pacing: Pacing::Rate,
        ..PLAIN
    };
    for (algorithm, missing) in [
        (
            "cubic+jump-start",
            "does not report the round-trip time of the handshake before data leaves",
        ),
        (
            "cubic+stateful",
            "passes on nothing that earlier connections measured",
        ),
        ("cubic+suss", "sends nothing unpaced"),
        ("bbr3", "does not report which packets were lost"),
    ] {
        let refused = paced.check(&algorithm.parse().expect("a name"));
        let sentence = refused.expect_err(algorithm).to_string();
        assert_eq!(sentence, format!("plain 1 {missing}: {algorithm} needs it"));
    }
    assert!(paced.check(&"bbr".parse().expect("a name")).is_ok());
    let unpaced = Capabilities {
        paces: false,
        send_times: false,
        ..paced
    };
    assert!(
        unpaced
            .check(&"cubic+suss".parse().expect("a name"))
            .is_ok()
    );
    let refused = unpaced.check(&"bbr".parse().expect("a name"));
    assert_eq!(
        refused
            .expect_err("it reads samples of the rate")
            .to_string(),
        "plain 1 does not report when an acknowledged packet left: bbr needs it"
    );
}

/// RFC 9406, section 4.2: `L` is 8 datagrams for an ACK where the sender does not pace, and infinity
/// where it does.
#[test]
fn hystart_plus_plus_limits_the_growth_of_an_unpaced_sender() {
    for (paces, growth) in [(true, 10), (false, 8)] {
        let setup = Setup::new("cubic+hystart++".parse().expect("a name"), DATAGRAM);
        let capabilities = Capabilities { paces, ..PLAIN };
        let mut core = Core::new(setup, &capabilities).expect("it runs");
        let before = core.window().cwnd;
        send(&mut core, 0, 10);
        acknowledge(&mut core, 100, 0, 10, 0);
        assert_eq!(core.window().cwnd, before + DATAGRAM * growth);
    }
}

/// A transport that reports no send times matches no record; records must not pile up.
#[test]
fn packets_without_a_matching_time_are_forgotten() {
    let mut core = core("cubic");
    for round in 0..200 {
        send(&mut core, round * 100, 1);
        acknowledge(&mut core, round * 100 + 60, round * 100 + 7, 1, 0);
    }
    // Ten seconds of records remain, of 20 seconds.
    let shown = format!("{core:?}");
    assert!(shown.matches("tx_in_flight").count() <= 101);
}

/// RFC 9002, appendix B.6: a packet that was sent before the recovery period began starts no other
/// one, although its loss is found when a packet that was sent later is acknowledged.
#[test]
fn a_late_loss_of_before_the_reduction_does_not_reduce_again() {
    let mut core = core("reno+standard");
    send(&mut core, 0, 10);
    acknowledge(&mut core, 100, 0, 6, 4);
    core.on_congestion(at(100), at(0), CongestionKind::Loss, DATAGRAM);
    let reduced = core.window().ssthresh;
    send(&mut core, 101, 3);
    acknowledge(&mut core, 201, 101, 1, 4);
    core.on_congestion(at(201), at(0), CongestionKind::Loss, DATAGRAM);
    assert_eq!(core.window().ssthresh, reduced, "one reduction");
    core.on_congestion(at(202), at(101), CongestionKind::Loss, DATAGRAM);
    assert!(
        core.window().ssthresh < reduced,
        "a loss of a later packet is another"
    );
}
