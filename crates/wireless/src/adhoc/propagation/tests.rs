use super::*;

fn default() -> Propagation {
    Propagation::new(&RadioConfig::DEFAULT, &Streams::new(1))
}

fn close(value: f64, expected: f64, relative: f64) {
    assert!(
        (value / expected - 1.0).abs() <= relative,
        "{value} instead of {expected}"
    );
}

#[test]
fn the_default_radio_has_the_powers_of_the_wavelan_card() {
    let radio = default();
    close(radio.power(), 0.281_838_15, 1e-6);
    close(radio.crossover(), 86.2, 1e-3);
    for (metres, expected) in [
        (15.0, 8.534e-7),
        (40.0, 1.2001e-7),
        (250.0, 3.6526e-10),
        (550.0, 1.5592e-11),
    ] {
        close(radio.received(metres), expected, 1e-4);
    }
    close(radio.receive_threshold(), 3.652e-10, 1e-6);
    close(radio.sense_threshold(), 1.559e-11, 1e-6);
    assert!((250.0..250.1).contains(&radio.range()), "{}", radio.range());
    let sensed = radio.sense_range();
    assert!((550.0..550.1).contains(&sensed), "{sensed}");
    // Beyond the crossover distance, 10 dB are a ratio of distances of 10^(1/4).
    let farther = radio.distance(radio.received(100.0) / ratio(10.0));
    close(farther / 100.0, 1.778, 1e-3);
}

#[test]
fn powers_meet_at_the_crossover_distance() {
    let radio = default();
    let corner = radio.crossover();
    close(
        radio.received(corner * (1.0 + 1e-9)),
        radio.received(corner * (1.0 - 1e-9)),
        1e-7,
    );
    // Slopes of 20 and 40 dB per decade.
    close(radio.received(4.0) / radio.received(40.0), 1e2, 1e-9);
    close(radio.received(100.0) / radio.received(1000.0), 1e4, 1e-9);
}

#[test]
fn the_range_multiplier_scales_the_range() {
    for (factor, power) in [
        (1.0, 0.2818),
        (2.0, 4.51),
        (3.0, 22.83),
        (4.0, 72.15),
        (5.0, 176.1),
    ] {
        let config = RadioConfig {
            range_multiplier: factor,
            ..RadioConfig::DEFAULT
        };
        let radio = Propagation::new(&config, &Streams::new(1));
        close(radio.power(), power, 1e-3);
        close(radio.range(), 250.0 * factor, 1e-3);
        close(radio.sense_range(), 550.0 * factor, 1e-3);
    }
}

#[test]
fn every_model_inverts_its_distance() {
    for model in [
        PropagationModel::TwoRay,
        PropagationModel::Friis,
        PropagationModel::LogDistance,
        PropagationModel::Shadowing,
    ] {
        let config = RadioConfig {
            propagation: model,
            exponent: 2.7,
            ..RadioConfig::DEFAULT
        };
        let radio = Propagation::new(&config, &Streams::new(1));
        for metres in [0.5, 1.0, 7.0, 86.0, 87.0, 300.0, 5000.0] {
            close(radio.distance(radio.received(metres)), metres, 1e-9);
        }
        assert!(radio.received(0.0) <= radio.power());
    }
}

#[test]
fn log_distance_starts_at_its_reference_distance() {
    let config = RadioConfig {
        propagation: PropagationModel::LogDistance,
        exponent: 3.5,
        reference_distance: 2.0,
        ..RadioConfig::DEFAULT
    };
    let radio = Propagation::new(&config, &Streams::new(1));
    let free = RadioConfig {
        propagation: PropagationModel::Friis,
        ..config
    };
    let free = Propagation::new(&free, &Streams::new(1));
    close(radio.received(2.0), free.received(2.0), 1e-12);
    close(
        radio.received(2.0) / radio.received(20.0),
        ratio(35.0),
        1e-9,
    );
}

#[test]
fn shadowing_is_symmetric_constant_and_normal() {
    let config = RadioConfig {
        propagation: PropagationModel::Shadowing,
        deviation: 6.0,
        ..RadioConfig::DEFAULT
    };
    let radio = Propagation::new(&config, &Streams::new(1));
    let (mut sum, mut squares, mut count) = (0.0, 0.0, 0.0);
    for one in 0..200 {
        for other in 0..one {
            let gain = radio.shadow(NodeId(one), NodeId(other));
            assert_eq!(gain, radio.shadow(NodeId(other), NodeId(one)));
            assert!(gain <= radio.most_shadow());
            let db = 10.0 * log10(gain);
            sum += db;
            squares += db * db;
            count += 1.0;
        }
    }
    // Four standard errors: 19,900 pairs.
    assert!((sum / count).abs() < 4.0 * 6.0 / sqrt(count));
    let deviation = sqrt(squares / count);
    assert!(
        (deviation / 6.0 - 1.0).abs() < 4.0 / sqrt(2.0 * count),
        "{deviation}"
    );
    let other = Propagation::new(&config, &Streams::new(2));
    assert_ne!(
        other.shadow(NodeId(0), NodeId(1)),
        radio.shadow(NodeId(0), NodeId(1))
    );
}

#[test]
fn a_detour_never_arrives_first() {
    for (a, b) in [
        (0.0, 0.0),
        (0.1, 0.1),
        (0.12, 0.12),
        (100.0, 33.3),
        (0.2997, 0.2999),
    ] {
        assert!(delay(a + b) <= delay(a) + delay(b), "{a} {b}");
    }
    assert_eq!(delay(250.0), Duration::from_nanos(834));
}
