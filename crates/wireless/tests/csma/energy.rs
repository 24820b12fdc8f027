//! Energy of 802.15.4 nodes.

use units::{Duration, Instant};
use wireless::adhoc::air::Frame;
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::MacEvent;
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::{DropCause, NodeId};

use crate::harness::{Net, no_capture, star};

const CONFIG: CsmaConfig = CsmaConfig::DEFAULT;

/// 300 J, and powers of 40 (idle, asleep) and 75 (active) times `unit` watts.
fn energy(unit: f64) -> EnergyConfig {
    EnergyConfig {
        initial: 300.0,
        transmit: 75.0 * unit,
        receive: 75.0 * unit,
        idle: 40.0 * unit,
        sleep: 40.0 * unit,
    }
}

fn network(unit: f64) -> Net {
    Net::with_energy(&CONFIG, &no_capture(), &star(2), 1, Some(&energy(unit)))
}

fn died(net: &mut Net, node: u32) -> Option<Instant> {
    let air = net.mac.air_mut();
    air.energy(Instant::from_secs(20_000), NodeId(node))
        .and_then(|report| report.died)
}

#[test]
fn nodes_live_for_7_5_s_at_40_w_and_4_s_at_75_w() {
    let mut idle = network(1.0);
    assert_eq!(died(&mut idle, 0), Some(Instant::from_millis(7500)));
    let mut busy = network(1.0);
    let frame = Frame {
        duration: Duration::from_secs(100),
        to: None,
        note: 0,
    };
    busy.mac.air_mut().transmit(Instant::ZERO, NodeId(1), frame);
    assert_eq!(died(&mut busy, 1), Some(Instant::from_secs(4)));
    // The others are idle for the 17 ns that the frame takes, at 40 instead of 75 W.
    let receiver = died(&mut busy, 0).unwrap();
    let later = receiver.as_nanos() - Instant::from_secs(4).as_nanos();
    assert!(later <= 17, "{later} ns");
}

#[test]
fn in_milliwatts_nodes_live_for_two_hours() {
    let mut net = network(1e-3);
    assert_eq!(died(&mut net, 0), Some(Instant::from_secs(7500)));
}

#[test]
fn a_dead_node_neither_sends_nor_receives() {
    let mut net = network(1.0);
    net.send(Instant::from_secs(7), 1, Some(0), 60, 1);
    net.finish();
    assert_eq!((net.tally.received, net.tally.sent), (1, 1));
    net.send(Instant::from_secs(8), 1, Some(0), 60, 2);
    net.finish();
    let failed = MacEvent::Failed {
        node: NodeId(1),
        handle: 2,
        cause: DropCause::Energy,
    };
    assert_eq!(net.log.last().map(|(_, event)| *event), Some(failed));
    assert_eq!((net.tally.received, net.tally.failed), (1, 1));
}

#[test]
fn times_of_the_radio_are_the_airtimes_of_the_frames() {
    let places = star(1);
    let mut net = Net::with_energy(&CONFIG, &no_capture(), &places, 1, Some(&energy(1e-3)));
    net.saturate(1, 116, Duration::from_secs(10));
    net.run(Instant::from_secs(11), |_, _, _| {});
    let frames = net.mac.counters().data_frames;
    assert_eq!(frames, net.mac.counters().acks);
    let (data, ack) = (
        Duration::from_micros(4256 * frames),
        Duration::from_micros(352 * frames),
    );
    let at = Instant::from_secs(12);
    let mut report = |node| net.mac.air_mut().energy(at, NodeId(node)).unwrap();
    let (sender, receiver) = (report(1), report(0));
    assert_eq!((sender.transmitting, sender.receiving), (data, ack));
    assert_eq!((receiver.transmitting, receiver.receiving), (ack, data));
    assert_eq!(sender.idle, receiver.idle);
    let active = (data + ack).as_secs_f64();
    let expected = 0.075 * active + 0.040 * (12.0 - active);
    println!(
        "{frames} frames in 10 s: {:.4} J each",
        expected / frames as f64
    );
    assert!(
        (sender.used - expected).abs() < 1e-9,
        "{}, {expected}",
        sender.used
    );
}
