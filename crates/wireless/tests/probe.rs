use network::Streams;
use units::{Bytes, Duration, Instant, Rate};
use wireless::NodeId;
use wireless::adhoc::mac::dcf::{Dcf, DcfConfig};
use wireless::adhoc::mac::{Mac, MacEvent, Outgoing};
use wireless::adhoc::mobility::{Mobility, Position};
use wireless::adhoc::propagation::RadioConfig;

fn run(n: u32, config: &DcfConfig, bytes: u32, secs: u64, capture: f64) -> (f64, f64, f64) {
    let mut places = vec![Position::new(0.0, 0.0)];
    for i in 0..n {
        let a = f64::from(i) / f64::from(n) * std::f64::consts::TAU;
        places.push(Position::new(10.0 * a.cos(), 10.0 * a.sin()));
    }
    let radio = RadioConfig {
        capture,
        ..RadioConfig::USUAL
    };
    let mut dcf = Dcf::new(
        config,
        &radio,
        Mobility::fixed(&places),
        None,
        &Streams::new(1),
    );
    let out = Outgoing {
        to: Some(NodeId(0)),
        bytes,
        handle: 0,
    };
    for i in 1..=n {
        dcf.send(Instant::ZERO, NodeId(i), out);
    }
    let mut ev = Vec::new();
    while dcf.next_event() < Instant::from_secs(secs) {
        let now = dcf.next_event();
        dcf.step(&mut ev);
        for e in ev.drain(..) {
            if let MacEvent::Sent { node, .. } | MacEvent::Failed { node, .. } = e {
                dcf.send(now, node, out);
            }
        }
    }
    let c = dcf.counters();
    let first = if config.uses_rts(bytes) {
        (c.missing_cts, c.rts)
    } else {
        (c.missing_ack, c.data)
    };
    (
        c.received as f64 * 8192.0 / secs as f64 / 1e6,
        first.0 as f64 / first.1 as f64,
        c.dropped as f64 / (c.dropped + c.sent) as f64,
    )
}

#[test]
fn probe() {
    let m = |x: u64| Rate::from_bits_per_sec(x * 1_000_000);
    for eifs in [false, true] {
        for capture in [100.0, 10.0] {
            for retries in [7, 100] {
                for (d, b, rts) in [
                    (2, 2, true),
                    (2, 2, false),
                    (2, 1, true),
                    (11, 1, true),
                    (11, 1, false),
                ] {
                    let config = DcfConfig {
                        data_rate: m(d),
                        basic_rate: m(b),
                        eifs,
                        short_retries: retries,
                        long_retries: if retries == 7 { 4 } else { 100 },
                        rts_threshold: Bytes::new(if rts { 0 } else { 65535 }),
                        ..DcfConfig::USUAL
                    };
                    print!("eifs {eifs} capture {capture} retries {retries} {d}/{b} rts {rts}:");
                    for n in [1, 5, 10, 20, 40, 50] {
                        let r = run(n, &config, 1064, 60, capture);
                        print!(" {:.3} ({:.3} {:.3})", r.0, r.1, r.2);
                    }
                    println!();
                }
            }
        }
    }
    for (d, b, rts) in [
        (2, 2, true),
        (2, 2, false),
        (2, 1, true),
        (11, 1, true),
        (11, 1, false),
    ] {
        let config = DcfConfig {
            data_rate: m(d),
            basic_rate: m(b),
            rts_threshold: Bytes::new(if rts { 0 } else { 65535 }),
            ..DcfConfig::USUAL
        };
        println!("{d}/{b} {rts} {:?}", run(1, &config, 1052, 100, 10.0));
    }
    let _ = Duration::ZERO;
}
