//! Saturated nodes that contend for one channel, against references.

use units::Duration;
use wireless::DropCause;
use wireless::adhoc::mac::csma::CsmaConfig;
use wireless::adhoc::mobility::Position;

use crate::harness::{Net, no_capture, star};
use crate::reference::{Rates, Setting, pollin, slotted, unslotted};

/// Each rate is the mean of some runs: the phases between the nodes, which no frame changes,
/// matter.
const RUN: Duration = Duration::from_secs(50);
const SEEDS: u64 = 4;
const SECONDS: f64 = SEEDS as f64 * RUN.as_nanos() as f64 * 1e-9;
/// Airtime of 127 bytes, in seconds.
const AIR: f64 = 4.256e-3;

/// What is measured beside the rates.
#[derive(Default)]
struct Assessments {
    all: f64,
    busy: f64,
}

fn measure(config: &CsmaConfig, places: &[Position], bytes: u32) -> (Assessments, Rates) {
    let senders = places.len() as u32 - 1;
    let mut assessments = Assessments::default();
    let mut rates = Rates::default();
    for seed in 0..SEEDS {
        let mut net = Net::new(config, &no_capture(), places, seed);
        net.saturate(senders, bytes, RUN);
        let counters = net.mac.counters();
        let rate = |count: u64| count as f64 / SECONDS;
        rates.received += rate(net.tally.received);
        rates.sent += rate(counters.data_frames);
        rates.busy += rate(net.tally.of(DropCause::ChannelBusy));
        rates.unanswered += rate(net.tally.of(DropCause::RetryLimit));
        assessments.all += rate(counters.assessments);
        assessments.busy += rate(counters.busy);
    }
    (assessments, rates)
}

/// The mean of runs of the reference.
fn reference(setting: Setting) -> Rates {
    let mut mean = Rates::default();
    for seed in 0..SEEDS {
        let rates = unslotted(setting, RUN.as_secs_f64(), seed);
        mean.received += rates.received / SEEDS as f64;
        mean.sent += rates.sent / SEEDS as f64;
        mean.busy += rates.busy / SEEDS as f64;
        mean.unanswered += rates.unanswered / SEEDS as f64;
    }
    mean
}

/// The measured rate is within `tolerance` of the reference, or within four standard deviations of
/// counts if there are few.
fn close(what: &str, measured: f64, expected: f64, tolerance: f64) {
    let counts = (measured + expected) * SECONDS;
    let noise = 4.0 * counts.sqrt() / SECONDS;
    let error = (measured - expected).abs();
    assert!(
        error <= (tolerance * expected).max(noise),
        "{what}: {measured}, reference {expected}"
    );
}

fn against_monte_carlo(ack: bool) {
    for nodes in [1, 2, 5, 10, 20, 40] {
        let config = CsmaConfig {
            ack,
            ..CsmaConfig::DEFAULT
        };
        let (_, rates) = measure(&config, &star(nodes), 116);
        let setting = Setting {
            nodes,
            air: AIR,
            acknowledged: ack,
            hidden: false,
        };
        let expected = reference(setting);
        println!("{nodes} nodes: {rates:.1?}\n          {expected:.1?}");
        close("received", rates.received, expected.received, 0.015);
        close("sent", rates.sent, expected.sent, 0.015);
        close("busy", rates.busy, expected.busy, 0.015);
        close("unanswered", rates.unanswered, expected.unanswered, 0.05);
    }
}

#[test]
fn contention_without_acknowledgements_is_that_of_a_monte_carlo_simulation() {
    against_monte_carlo(false);
}

#[test]
fn contention_with_acknowledgements_is_that_of_a_monte_carlo_simulation() {
    against_monte_carlo(true);
}

#[test]
fn hidden_nodes_collide_as_in_a_monte_carlo_simulation() {
    // 25 m to the receiver and 50 m to each other, with a range of 31 m.
    let places = [0.0, -25.0, 25.0].map(|x| Position::new(x, 0.0));
    for ack in [false, true] {
        let config = CsmaConfig {
            ack,
            ..CsmaConfig::DEFAULT
        };
        // Frames of 31 bytes. With 127 bytes every frame meets one of the other node.
        let (assessments, rates) = measure(&config, &places, 20);
        let setting = Setting {
            nodes: 2,
            air: 37.0 * 32e-6,
            acknowledged: ack,
            hidden: true,
        };
        let expected = reference(setting);
        println!("hidden, ack {ack}: {rates:.1?}\n          {expected:.1?}");
        close("received", rates.received, expected.received, 0.02);
        close("sent", rates.sent, expected.sent, 0.02);
        close("unanswered", rates.unanswered, expected.unanswered, 0.05);
        // In range of each other they do much better.
        let (_, together) = measure(&config, &star(2), 20);
        println!("in range of each other: {together:.1?}");
        assert!(rates.received < 0.7 * together.received);
        // A node senses the acknowledgements for the other one, but never its frames.
        assert_eq!(assessments.busy > 0.0, ack);
    }
}

#[test]
fn slots_follow_a_monte_carlo_simulation_and_with_many_nodes_pollin() {
    // PSDUs of 124 bytes take 13 slots, and the space after them 2.
    for nodes in [1, 2, 5, 10, 20] {
        let config = CsmaConfig {
            ack: false,
            beacon_order: Some(14),
            ..CsmaConfig::DEFAULT
        };
        let (assessments, rates) = measure(&config, &star(nodes), 113);
        let busy = assessments.busy / assessments.all;
        let slots = SEEDS * RUN.as_nanos() / 320_000;
        let (expected, expected_busy) = slotted(nodes, 13, 2, slots, 3);
        let (model, model_busy) = pollin(nodes, 13.0, 2.0);
        println!(
            "{nodes} nodes in slots: {:.1} frames/s ({:.1}, Pollin {:.1}), busy {busy:.4} \
             ({expected_busy:.4}, Pollin {model_busy:.4})",
            rates.received,
            expected / 320e-6,
            model / 320e-6
        );
        close("slots", rates.received, expected / 320e-6, 0.015);
        assert!(
            (busy - expected_busy).abs() < 0.004,
            "{busy}, expected {expected_busy}"
        );
        if nodes >= 20 {
            close("Pollin", rates.received, model / 320e-6, 0.05);
            assert!(
                (busy - model_busy).abs() < 0.015,
                "{busy}, model {model_busy}"
            );
        }
    }
}
