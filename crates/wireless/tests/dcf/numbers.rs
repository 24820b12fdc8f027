//! One sender and one receiver.

use units::Instant;
use wireless::DropCause;
use wireless::NodeId;
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::MacEvent;
use wireless::adhoc::propagation::RadioConfig;

use crate::harness::{Net, close, line, rates};

#[test]
fn one_sender_has_the_throughput_of_its_airtimes() {
    // Payload of 1024 bytes in IP packets of 1052, mean backoff of 15.5 slots.
    for (data, basic, rts, expected) in [
        (2, 2, true, 1.439),
        (2, 2, false, 1.589),
        (2, 1, true, 1.392),
        (11, 1, true, 3.513),
        (11, 1, false, 4.947),
    ] {
        let mut net = Net::new(rates(data, basic, rts), &line(&[0.0, 10.0]));
        net.saturate(0, Some(1), 1052);
        net.run(Instant::from_secs(100));
        let what = format!("{data}/{basic} rts {rts}");
        close(&what, net.goodput(1024, 100), expected, 0.001);
        let counters = net.dcf.counters();
        assert_eq!(
            counters.missing_cts + counters.missing_ack + counters.dropped,
            0
        );
    }
    // 5.694 ms for each packet with RTS at 2 Mbit/s.
    let mut net = Net::new(rates(2, 2, true), &line(&[0.0, 10.0]));
    net.saturate(0, Some(1), 1052);
    net.run(Instant::from_secs(100));
    close("time", 100e3 / net.dcf.counters().sent as f64, 5.694, 0.001);
}

/// Data of 1064 bytes one way and 40 bytes the other way, in turns.
#[test]
fn data_and_acknowledgements_in_turns() {
    // The model has a full backoff before each packet: 15.5 slots. Here the backoff after the last
    // packet has counted during the other node's. If A's backoff a is above B's b (31/64 of the
    // time), a - b = 11 slots remain on average; otherwise it is over, and the busy medium demands
    // a new one.
    let slots = 31.0 / 64.0 * 11.0 + 33.0 / 64.0 * 15.5;
    for (data, basic, rts, expected) in [
        (2, 2, true, 1.109),
        (2, 1, true, 1.054),
        (11, 1, true, 2.081),
        (11, 1, false, 3.170),
    ] {
        let mut net = Net::new(rates(data, basic, rts), &line(&[0.0, 10.0]));
        net.offer(Instant::ZERO, 0, Some(NodeId(1)), 1064);
        let end = Instant::from_secs(60);
        let mut packets = 0_u64;
        while let Some(reports) = net.step(end) {
            for (at, event) in reports {
                if let MacEvent::Received { node, .. } = event {
                    packets += u64::from(node.0 == 1);
                    let (to, bytes) = if node.0 == 1 { (0, 40) } else { (1, 1064) };
                    net.offer(at, node.0, Some(NodeId(to)), bytes);
                }
            }
        }
        let cycle = 60e6 / packets as f64;
        let full = 8.0 * 1024.0 / expected;
        let what = format!("{data}/{basic} rts {rts}");
        close(&what, cycle, full - 2.0 * (15.5 - slots) * 20.0, 0.003);
    }
}

#[test]
fn a_node_that_is_always_active_dies_when_its_energy_says() {
    // 300 J at 75 W while frames are on the air and at 40 W otherwise: 4 s to 7.5 s.
    let energy = EnergyConfig {
        initial: 300.0,
        transmit: 75.0,
        receive: 75.0,
        idle: 40.0,
        sleep: 40.0,
    };
    let places = line(&[0.0, 10.0, 3000.0]);
    let config = rates(2, 2, true);
    let mut net = Net::with(config, &RadioConfig::DEFAULT, &places, Some(&energy), 1);
    net.saturate(0, Some(1), 1052);
    let late = Instant::from_secs(8);
    net.run(late);
    let mut died = |node| {
        net.dcf
            .energy(late, NodeId(node))
            .unwrap()
            .died
            .unwrap()
            .as_secs_f64()
    };
    let active = (272.0 + 248.0 + 4536.0 + 248.0) / 5694.0;
    let expected = 300.0 / (75.0 * active + 40.0 * (1.0 - active));
    close("sender", died(0), expected, 0.001);
    close("receiver", died(1), expected, 0.001);
    // Nobody is in its range.
    assert_eq!(died(2), 7.5);
    let failures = net.log.iter().filter_map(|(at, event)| match event {
        MacEvent::Failed { cause, .. } => Some((at.as_secs_f64(), *cause)),
        _ => None,
    });
    for (at, cause) in failures {
        assert!(at > expected - 0.01, "{at}");
        assert_eq!(cause, DropCause::Energy);
    }
    let receptions = net.log.iter().rev().filter_map(|(at, event)| {
        matches!(event, MacEvent::Received { .. }).then_some(at.as_secs_f64())
    });
    let last = receptions.max_by(f64::total_cmp).unwrap();
    assert!((last - expected).abs() < 0.02, "{last}");
    assert!(net.dcf.counters().dead > 0);
}
