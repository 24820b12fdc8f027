//! The controller, called in the order of s2n-quic: of an ACK frame first the round-trip time, then
//! losses and ECN marks, and then what it acknowledges.

use core::time::Duration;

use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::RttEstimator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::{CongestionController, Publisher};
use s2n_quic_core::time::clock::NoopClock;
use s2n_quic_core::time::{Clock, Timestamp};
use slowstart_s2n_quic::{Record, Slowstart, SlowstartController};

const DATAGRAM: u32 = 1_200;

/// The ends of slow start that were published.
#[derive(Default)]
struct Exits(Vec<(SlowStartExitCause, u32)>);

impl Publisher for Exits {
    fn on_slow_start_exited(&mut self, cause: SlowStartExitCause, window: u32) {
        self.0.push((cause, window));
    }
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_pacing_rate_updated(&mut self, _: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {}
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

struct Zeros;

impl Generator for Zeros {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill(0);
    }
    fn private_random_fill(&mut self, dest: &mut [u8]) {
        dest.fill(0);
    }
}

/// What s2n-quic keeps for a controller.
struct Path {
    controller: SlowstartController,
    rtt: RttEstimator,
    exits: Exits,
}

fn at(millis: u64) -> Timestamp {
    NoopClock.get_time() + Duration::from_millis(1_000 + millis)
}

impl Path {
    fn new(algorithm: &str) -> Self {
        let slowstart = Slowstart::named(algorithm).expect("it runs in s2n-quic");
        Self {
            controller: slowstart.controller(1_200),
            rtt: RttEstimator::default(),
            exits: Exits::default(),
        }
    }

    fn send(&mut self, now: u64) -> Record {
        self.sent(now, DATAGRAM, Some(false))
    }

    fn sent(&mut self, now: u64, size: u32, app_limited: Option<bool>) -> Record {
        let size = size as usize;
        self.controller
            .on_packet_sent(at(now), size, app_limited, &self.rtt, &mut self.exits)
    }

    /// The record of the last of `count` packets.
    fn burst(&mut self, now: u64, count: u32) -> Record {
        let last = (0..count).map(|_| self.send(now)).last();
        last.expect("there are packets")
    }

    /// The round-trip time of a packet that left at `sent`.
    fn measure(&mut self, now: u64, sent: u64) {
        let sample = Duration::from_millis(now - sent);
        let space = PacketNumberSpace::ApplicationData;
        self.rtt
            .update_rtt(Duration::ZERO, sample, at(now), true, space);
        self.controller
            .on_rtt_update(at(sent), at(now), &self.rtt, &mut self.exits);
    }

    fn acknowledge(&mut self, now: u64, sent: u64, count: u32, newest: Record) {
        self.controller.on_ack(
            at(sent),
            (count * DATAGRAM) as usize,
            newest,
            &self.rtt,
            &mut Zeros,
            at(now),
            &mut self.exits,
        );
    }

    fn lose(&mut self, now: u64, packet: Record, is_persistent: bool) {
        self.controller.on_packet_lost(
            DATAGRAM,
            packet,
            is_persistent,
            false,
            &mut Zeros,
            at(now),
            &mut self.exits,
        );
    }

    fn packets(&self) -> u32 {
        self.controller.congestion_window() / DATAGRAM
    }
}

#[test]
fn slow_start_doubles_and_paces_two_windows_in_a_round() {
    let mut path = Path::new("cubic+standard");
    let newest = path.burst(0, 10);
    assert!(path.controller.is_congestion_limited());
    assert_eq!(path.controller.earliest_departure_time(), None);
    path.measure(100, 0);
    path.acknowledge(100, 0, 10, newest);
    assert_eq!(path.controller.bytes_in_flight(), 0);
    assert_eq!(path.packets(), 20);
    // A silent sender may send ten datagrams; the next ten wait for 2.5 ms each.
    path.burst(100, 10);
    assert_eq!(path.controller.earliest_departure_time(), Some(at(100)));
    path.burst(100, 2);
    assert_eq!(path.controller.earliest_departure_time(), Some(at(105)));
    assert!(path.exits.0.is_empty());
}

#[test]
fn a_short_path_is_not_paced() {
    let mut path = Path::new("cubic+standard");
    let newest = path.burst(0, 10);
    path.measure(1, 0);
    path.acknowledge(1, 0, 10, newest);
    path.burst(1, 20);
    assert_eq!(path.controller.earliest_departure_time(), None);
}

#[test]
fn losses_of_a_round_reduce_once() {
    let mut path = Path::new("reno+standard+newreno");
    let lost: Vec<_> = (0..3).map(|_| path.send(0)).collect();
    let newest = path.burst(0, 7);
    path.measure(100, 0);
    for packet in lost {
        path.lose(100, packet, false);
    }
    path.acknowledge(100, 0, 7, newest);
    assert_eq!(path.packets(), 5);
    assert_eq!(path.controller.bytes_in_flight(), 0);
    let [(SlowStartExitCause::PacketLoss, 12_000)] = path.exits.0[..] else {
        panic!("one end of slow start, at ten datagrams");
    };
}

/// s2n-quic says it with each packet of it; RFC 9002, section 7.6.2: the window is the smallest.
#[test]
fn persistent_congestion_is_one_event() {
    let mut path = Path::new("reno+standard+newreno");
    let lost: Vec<_> = (0..10).map(|_| path.send(0)).collect();
    path.measure(100, 0);
    for packet in lost {
        path.lose(5_000, packet, true);
    }
    assert_eq!(path.packets(), 2);
    assert_eq!(path.controller.bytes_in_flight(), 0);
    // Slow start to a threshold of five datagrams, which a second event would have made two.
    for round in 1..=3 {
        let count = path.packets();
        let newest = path.burst(5_000 + 100 * round, count);
        path.measure(5_100 + 100 * round, 5_000 + 100 * round);
        path.acknowledge(5_100 + 100 * round, 5_000 + 100 * round, count, newest);
    }
    assert_eq!(path.packets(), 6);
}

#[test]
fn a_mark_reduces_and_ends_slow_start() {
    let mut path = Path::new("reno+standard+newreno");
    let newest = path.burst(0, 10);
    path.measure(100, 0);
    path.controller
        .on_explicit_congestion(1, at(100), &mut path.exits);
    path.acknowledge(100, 0, 10, newest);
    assert_eq!(path.packets(), 5);
    assert!(matches!(path.exits.0[..], [(SlowStartExitCause::Ecn, _)]));
}

/// The flight begins with the data, paced over the round-trip time of the handshake, whose packets do
/// not end it.
#[test]
fn jump_start_begins_with_the_data() {
    let mut path = Path::new("cubic+jump-start:cap=60000");
    let hello = path.sent(0, DATAGRAM, None);
    path.measure(100, 0);
    path.acknowledge(100, 0, 1, hello);
    let finished = path.sent(100, DATAGRAM, None);
    assert_eq!(path.packets(), 10);
    path.send(100);
    assert_eq!(path.packets(), 50);
    path.measure(150, 100);
    path.acknowledge(150, 100, 1, finished);
    assert_eq!(path.packets(), 50);
    assert_eq!(path.controller.bytes_in_flight(), DATAGRAM);
    // One packet every 2 ms, after ten at once; the rate is rounded to a bit per second.
    path.burst(150, 20);
    let departure = path.controller.earliest_departure_time();
    let wait = departure.map(|at_last| at_last - at(150));
    assert_eq!(wait.map(|wait| (wait.as_micros() + 1) / 1_000), Some(20));
}

#[test]
fn discarded_packets_are_not_in_flight_and_acknowledgements_are_free() {
    let mut path = Path::new("cubic+standard");
    let hello = path.sent(0, DATAGRAM, None);
    path.sent(0, DATAGRAM, None);
    path.send(0);
    path.lose(0, hello, false);
    path.controller.on_packet_discarded(1_200, &mut path.exits);
    assert_eq!(path.controller.bytes_in_flight(), DATAGRAM);
    assert_eq!(path.packets(), 10);
    assert!(matches!(path.sent(0, 0, Some(true)), Record::Free));
    assert_eq!(path.controller.bytes_in_flight(), DATAGRAM);
    // A probe of the path's MTU that did not arrive.
    path.controller.on_packet_discarded(1_200, &mut path.exits);
    assert_eq!(path.controller.bytes_in_flight(), 0);
    path.controller.on_mtu_update(1_472, &mut path.exits);
    assert_eq!(path.controller.congestion_window() % 1_472, 0);
}
