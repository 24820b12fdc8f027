use network::Streams;
use units::{Duration, Instant};
use wireless::NodeId;
use wireless::adhoc::mac::dcf::{Dcf, DcfConfig};
use wireless::adhoc::mac::{Mac, MacEvent, Outgoing};
use wireless::adhoc::mobility::{Area, Mobility};
use wireless::adhoc::propagation::RadioConfig;

#[test]
fn probe() {
    for capture in [100.0, 10.0, 0.0] {
        for size in [1.0, 100.0] {
            for eifs in [true, false] {
                let radio = RadioConfig {
                    capture,
                    ..RadioConfig::USUAL
                };
                let config = DcfConfig {
                    eifs,
                    ..DcfConfig::USUAL
                };
                let places = Area::square(size).uniform(40, &Streams::new(1));
                let mut dcf = Dcf::new(
                    &config,
                    &radio,
                    Mobility::fixed(&places),
                    None,
                    &Streams::new(1),
                );
                let out = |i: u32| Outgoing {
                    to: Some(NodeId((i + 1) % 40)),
                    bytes: 1064,
                    handle: 0,
                };
                for i in 0..40 {
                    dcf.send(Instant::ZERO, NodeId(i), out(i));
                }
                let mut ev = Vec::new();
                while dcf.next_event() < Instant::from_secs(60) {
                    let now = dcf.next_event();
                    dcf.step(&mut ev);
                    for e in ev.drain(..) {
                        if let MacEvent::Sent { node, .. } | MacEvent::Failed { node, .. } = e {
                            dcf.send(now, node, out(node.0));
                        }
                    }
                }
                let c = dcf.counters();
                println!(
                    "capture {capture} size {size} eifs {eifs} {:.3} {:?} {:?}",
                    c.received as f64 * 8192.0 / 60e6,
                    c,
                    dcf.air_counters()
                );
            }
        }
    }
    let _ = Duration::ZERO;
}
