//! `ns2_compat`: lengths of 8 bits, and no fragments.

use network::{Ecn, Packet, Streams};
use units::{Duration, Instant};
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mac::csma::timing::airtime;
use wireless::adhoc::mac::{Mac as _, MacEvent};
use wireless::adhoc::mobility::Area;
use wireless::adhoc::routing::dsdv::DsdvConfig;
use wireless::adhoc::{AdHocConfig, MacConfig, MobilityConfig, RoutingConfig};
use wireless::{Cloud, DropCause, NodeId};

use crate::harness::{Net, no_capture, star};

fn config(ns2_compat: bool) -> CsmaConfig {
    CsmaConfig {
        min_be: 0,
        ns2_compat,
        ..CsmaConfig::DEFAULT
    }
}

/// How long the frame of a packet is on the air, or why it is not.
fn on_air(bytes: u32, to: Option<u32>) -> Result<Duration, DropCause> {
    let mut net = Net::new(&config(true), &no_capture(), &star(1), 1);
    net.send(Instant::ZERO, 1, to, bytes, 0);
    net.finish();
    match net.log[0].1 {
        MacEvent::Received { .. } => {
            // Assessment and turnaround before, and 17 ns over 5 m.
            let at = net.log[0].0.as_nanos();
            assert_eq!(net.mac.counters().data_frames, 1);
            Ok(Duration::from_nanos(at - 320_000 - 17))
        }
        MacEvent::Failed { cause, .. } => {
            assert_eq!((net.log.len(), net.mac.counters().data_frames), (1, 0));
            Err(cause)
        }
        other @ MacEvent::Sent { .. } => panic!("{other:?}"),
    }
}

#[test]
fn lengths_wrap_at_256_bytes() {
    for (bytes, psdu) in [
        (1064, Some(47)),
        (1000, None),
        (1024, Some(7)),
        (120, Some(127)),
        (121, None),
        (60, Some(67)),
        (248, None),
        (249, Some(0)),
    ] {
        let expected = psdu.map(airtime).ok_or(DropCause::Length);
        assert_eq!(on_air(bytes, Some(0)), expected, "{bytes} bytes");
    }
}

#[test]
fn half_of_the_sizes_of_dsdv_updates_are_dropped() {
    let lost = [9..=19, 30..=40, 52..=61, 73..=83, 94..=104];
    for entries in 1..=104u32 {
        let outcome = on_air(12 * entries + 20, None);
        let is_lost = lost.iter().any(|range| range.contains(&entries));
        assert_eq!(
            outcome == Err(DropCause::Length),
            is_lost,
            "{entries} entries: {outcome:?}"
        );
        if entries <= 8 {
            // Correct sizes: 39 to 123 bytes.
            assert_eq!(outcome, Ok(airtime(12 * entries + 27)));
        } else if let Ok(time) = outcome {
            assert!(time <= airtime(127), "{entries} entries");
        }
    }
}

#[test]
fn a_dropped_packet_has_contended_for_the_channel() {
    let mut net = Net::new(&config(true), &no_capture(), &star(1), 1);
    net.send(Instant::ZERO, 1, None, 500, 0);
    net.finish();
    assert_eq!(net.log[0].0, Instant::from_micros(128 + 192));
    assert_eq!(net.mac.counters().assessments, 1);
}

#[test]
fn a_node_without_energy_reports_that_and_not_the_length() {
    let energy = EnergyConfig {
        initial: 300.0,
        transmit: 75.0,
        receive: 75.0,
        idle: 40.0,
        sleep: 40.0,
    };
    for (seconds, cause) in [(7, DropCause::Length), (8, DropCause::Energy)] {
        let places = star(1);
        let mut net = Net::with_energy(&config(true), &no_capture(), &places, 1, Some(&energy));
        net.send(Instant::from_secs(seconds), 1, None, 500, 0);
        net.finish();
        assert_eq!(net.tally.of(cause), 1, "at {seconds} s");
    }
}

#[test]
fn by_default_nothing_wraps() {
    for bytes in [500, 1000, 1024, 1064] {
        let mut net = Net::new(&config(false), &no_capture(), &star(1), 1);
        net.send(Instant::ZERO, 1, Some(0), bytes, 0);
        net.finish();
        assert_eq!((net.tally.received, net.tally.sent), (1, 1));
        let frames = net.mac.counters().data_frames;
        assert_eq!(frames, u64::from(config(false).fragmenter().count(bytes)));
        assert!(frames > 1 && net.mac.is_idle(NodeId(1)));
    }
}

/// The fraction of 450 packets of 100 bytes that arrive between five pairs of 40 nodes on 100 m by
/// 100 m, after a minute for the routes.
fn delivered(ns2_compat: bool, routing: RoutingConfig) -> f64 {
    let config = AdHocConfig {
        area: Area::square(100.0),
        mobility: MobilityConfig::Grid,
        radio: CsmaConfig::radio(),
        mac: MacConfig::Csma(CsmaConfig {
            ns2_compat,
            ..CsmaConfig::DEFAULT
        }),
        routing,
        ..AdHocConfig::new(40)
    };
    let mut cloud: Box<dyn Cloud<u32>> = config.build(&Streams::new(3));
    for payload in 0..450 {
        let at = Instant::from_secs(60) + Duration::from_millis(200) * u64::from(payload);
        while cloud.next_event() <= at {
            let now = cloud.next_event();
            cloud.advance(now);
            while cloud.pop().is_some() || cloud.take_lost().is_some() {}
        }
        let from = payload % 5;
        let packet = Packet {
            size: 100,
            flow: 0,
            ecn: Ecn::default(),
            payload,
        };
        cloud.send(at, NodeId(from), NodeId(39 - from), packet);
    }
    let counters = cloud.counters();
    assert!(counters.conserve(cloud.held()));
    counters.delivered as f64 / 450.0
}

#[test]
fn wrapped_lengths_keep_dsdv_from_spreading_its_routes() {
    let dsdv = RoutingConfig::Dsdv(DsdvConfig::DEFAULT);
    let [proper, wrapped] = [false, true].map(|ns2| delivered(ns2, dsdv));
    let given = delivered(true, RoutingConfig::Fixed);
    println!("DSDV: {proper:.3}, with wrapped lengths {wrapped:.3}; with given routes {given:.3}");
    // The packets of 100 bytes themselves are short enough in both.
    assert!(given > 0.99, "{given}");
    assert!(proper > 0.9, "{proper}");
    assert!(wrapped < 0.5 && wrapped > 0.05, "{wrapped}");
}
