//! Shared by the tests.
#![allow(dead_code, reason = "each test file uses its part")]

use network::{Discipline, Ecn, Link, LinkConfig, Packet, QueueConfig, QueueLimit, Service};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use units::{Duration, Instant, Rate};

pub const MBIT: u64 = 1_000_000;

pub fn fixed(bits_per_sec: u64) -> Service {
    Service::Fixed(Rate::from_bits_per_sec(bits_per_sec))
}

/// A link without overhead, limit, loss, delay and jitter.
pub fn bare(service: Service) -> LinkConfig {
    LinkConfig {
        name: String::from("link"),
        service,
        overhead: 0,
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        delay: Duration::ZERO,
        ..LinkConfig::DEFAULT
    }
}

pub fn build(config: &LinkConfig) -> Link<u64> {
    Link::new(config, ChaCha8Rng::seed_from_u64(42))
}

pub fn packet(size: u32, payload: u64) -> Packet<u64> {
    Packet {
        size,
        flow: 0,
        ecn: Ecn::NotEct,
        payload,
    }
}

/// All packets that are due by `now`.
pub fn pop_all(link: &mut Link<u64>, now: Instant) -> Vec<(Instant, Packet<u64>)> {
    core::iter::from_fn(|| link.pop(now)).collect()
}

pub fn assert_conserved(link: &Link<u64>) {
    let counters = link.counters();
    assert_eq!(
        counters.packets_in,
        counters.packets_out + counters.dropped() + link.held()
    );
}
