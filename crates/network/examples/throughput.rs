//! Nanoseconds per packet through a link, one `push` and one `pop` for each.
//!
//! `cargo run --release -p slowstart-network --example throughput`
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a benchmark reads the clock and prints"
)]

use std::hint::black_box;
use std::sync::Arc;

use network::access::cellular::{CellConfig, CellularConfig, HsdpaConfig};
use network::{
    AccessConfig, Discipline, Ecn, JitterConfig, JitterDistribution, Link, LinkConfig, LossConfig,
    Packet, QueueConfig, QueueLimit, RandomAboveConfig, Service, TraceConfig, VaryingConfig,
};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use units::{Bytes, Duration, Instant, Rate};

/// As large as a TCP segment of the simulator.
type Payload = [u64; 6];

/// Packets in a stretch, and how many stretches there are.
const STRETCH: u64 = 50_000;
const STRETCHES: usize = 100;
const MBIT: u64 = 1_000_000;

fn link(service: Service, limit: QueueLimit) -> LinkConfig {
    LinkConfig {
        name: String::from("bottleneck"),
        service,
        overhead: 14,
        queue: QueueConfig {
            limit,
            discipline: Discipline::DropTail,
        },
        delay: Duration::from_millis(50),
        ..LinkConfig::DEFAULT
    }
}

/// Pushes one packet for each that comes out, `window` of them inside. The best of many short
/// stretches is what the link costs when nobody else has the core.
fn measure(what: &str, config: &LinkConfig, window: u64) {
    let packet = |number| Packet {
        size: 1500,
        flow: 0,
        ecn: Ecn::NotEct,
        payload: [number; 6],
    };
    let mut link: Link<Payload> = Link::new(config, ChaCha8Rng::seed_from_u64(1));
    let mut now = Instant::ZERO;
    for number in 0..window {
        let _ = link.push(now, packet(number));
    }
    let mut best = f64::MAX;
    let mut number = 0;
    for _ in 0..STRETCHES {
        let begin = std::time::Instant::now();
        let end = number + STRETCH;
        while number < end {
            let Some(event) = link.next_event() else {
                break;
            };
            now = event;
            while let Some((due, out)) = link.pop(now) {
                black_box((due, out.payload[0]));
                let _ = link.push(now, packet(number));
                number += 1;
            }
        }
        best = best.min(begin.elapsed().as_nanos() as f64 / STRETCH as f64);
    }
    black_box((link.counters(), link.queue_mean_packets(now)));
    println!("{best:6.1} ns per packet  {what}");
}

fn main() {
    let fixed = Service::Fixed(Rate::from_bits_per_sec(50 * MBIT));
    let wired = link(fixed.clone(), QueueLimit::Packets(413));
    measure(
        "fixed rate, drop-tail, constant delay, 600 inside",
        &wired,
        600,
    );
    measure("the same, never a queue (100 inside)", &wired, 100);
    let geo = link(
        Service::Fixed(Rate::from_bits_per_sec(144 * MBIT)),
        QueueLimit::Bytes(Bytes::new(36_000_000)),
    );
    measure("fixed rate, GEO, 30,000 inside", &geo, 30_000);
    measure(
        "delay line, 600 inside",
        &link(Service::Unlimited, QueueLimit::Unlimited),
        600,
    );
    let mut early = wired.clone();
    early.queue.discipline = Discipline::RandomAbove(RandomAboveConfig {
        fill: 0.9,
        probability: 0.25,
    });
    measure("fixed rate, random drop above 0.9", &early, 600);
    let mut lossy = wired.clone();
    lossy.loss = LossConfig::Bernoulli(1e-9);
    measure("fixed rate, Bernoulli loss", &lossy, 600);
    let mut jittery = wired.clone();
    jittery.jitter = Some(JitterConfig {
        amount: Duration::from_millis(1),
        distribution: JitterDistribution::Uniform,
        slot: Duration::from_millis(1),
    });
    measure("fixed rate, uniform jitter by 1 ms", &jittery, 600);
    let varying = Service::Varying(VaryingConfig {
        mean: Rate::from_bits_per_sec(50 * MBIT),
        variation: 0.35,
        correlation: Duration::from_millis(100),
        slot: Duration::from_millis(10),
        peak: Rate::from_bits_per_sec(150 * MBIT),
    });
    measure(
        "wandering rate by 10 ms",
        &link(varying, QueueLimit::Packets(413)),
        600,
    );
    for (what, config) in [
        ("LTE cell, 40 Mbit/s", CellularConfig::Cell(CellConfig::LTE)),
        ("5G cell, 200 Mbit/s", CellularConfig::Cell(CellConfig::NR)),
        (
            "HSDPA, 2 Mbit/s",
            CellularConfig::Hsdpa(HsdpaConfig {
                discard: 0.0,
                ..HsdpaConfig::DEFAULT
            }),
        ),
    ] {
        let cell = Service::Access(Arc::new(AccessConfig::Cellular(Box::new(config))));
        measure(what, &link(cell, QueueLimit::Unlimited), 600);
    }
    let trace = TraceConfig {
        opportunities_ms: (1..=10_000).flat_map(|ms| [ms; 4]).collect(),
        repeat: true,
    };
    measure(
        "trace, 48 Mbit/s",
        &link(Service::Trace(Arc::new(trace)), QueueLimit::Unlimited),
        600,
    );
}
