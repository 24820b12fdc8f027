//! Standard and Limited Slow Start: RFC 5681, RFC 3742.

mod startup_support;

use congestion::options::{OptionError, Options};
use congestion::startup::{Limited, LimitedConfig, Standard, StandardConfig};
use congestion::{Startup, Step, Window};
use proptest::prelude::*;
use startup_support::{SMSS, ack, segments, window};
use units::{Bytes, Instant};

fn grown(startup: &mut impl Startup, delivered: Bytes, window: &Window) -> Bytes {
    match startup.on_ack(&ack(Instant::ZERO, delivered, 0, None), window) {
        Step::Grow(growth) => growth,
        other => panic!("{other:?}"),
    }
}

#[test]
fn standard_has_no_stretch_ack_limit() {
    let mut standard = Standard::new(StandardConfig {}, Instant::ZERO, 0);
    assert_eq!(
        grown(&mut standard, segments(44), &window(10)),
        segments(44)
    );
    assert_eq!(grown(&mut standard, segments(2), &window(10)), segments(2));
    assert_eq!(
        StandardConfig::default().set("l", "2"),
        Err(OptionError::Unknown)
    );
}

/// The real-valued window after each round, with one ACK per round: the division of deliveries into
/// ACKs does not matter (`stretch_acks_change_nothing`).
fn rounds(initial: u64, config: LimitedConfig, until: u64) -> Vec<f64> {
    let mut limited = Limited::new(config, Instant::ZERO, 0);
    let mut window = window(initial);
    let mut sizes = vec![];
    while window.cwnd_segments() < until {
        window.cwnd += grown(&mut limited, window.cwnd, &window);
        assert_eq!(
            window.cwnd.get() % SMSS.get(),
            0,
            "the window is a whole number of segments"
        );
        sizes.push((window.cwnd + limited.carried()).get() as f64 / SMSS.get() as f64);
    }
    sizes
}

#[test]
fn limited_slow_start_adds_half_of_max_ssthresh_per_round() {
    for (initial, expected) in [
        (2, &[4.0, 8.0, 16.0, 32.0, 64.0, 114.5, 164.333, 214.25][..]),
        (10, &[20.0, 40.0, 80.0, 130.5, 180.3, 230.3, 280.2][..]),
    ] {
        let sizes = rounds(initial, LimitedConfig::default(), 200);
        for (size, expected) in sizes.iter().zip(expected) {
            assert!((size - expected).abs() < 0.06, "from {initial}: {sizes:?}");
        }
        assert!(sizes.len() >= expected.len() - 1);
    }
}

#[test]
fn the_rfc_example_takes_twice_as_long_as_it_says() {
    // log2(100) + 82900/50 = 1664.6; RFC 3742 says 836.
    let count = rounds(2, LimitedConfig::default(), 83_000).len();
    assert!((1663..=1666).contains(&count), "{count}");
}

#[test]
fn k_counts_half_limits() {
    // K = 2 for 101..149, 3 for 150..199, 4 for 200..249: K segments add one.
    for (cwnd, k) in [
        (100, 1),
        (101, 2),
        (149, 2),
        (150, 3),
        (199, 3),
        (200, 4),
        (249, 4),
        (250, 5),
    ] {
        let mut limited = Limited::new(LimitedConfig::default(), Instant::ZERO, 0);
        let window = window(cwnd);
        let needed = (1..).find(|_| !grown(&mut limited, SMSS, &window).is_zero());
        assert_eq!(needed, Some(k), "cwnd {cwnd}");
    }
}

#[test]
fn the_limit_is_an_option() {
    let mut config = LimitedConfig::default();
    assert_eq!(config.set("max_ssthresh", "50"), Ok(()));
    // One for the first, 24 for the next 48 (K = 2), and a third at the window of 75 (K = 3).
    assert!((rounds(50, config, 70)[0] - 75.333).abs() < 0.01);
    assert!(matches!(
        config.set("max_ssthresh", "0"),
        Err(OptionError::Invalid { .. })
    ));
    assert!(matches!(
        config.set("max_ssthresh", "many"),
        Err(OptionError::Invalid { .. })
    ));
    assert_eq!(config.set("max", "1"), Err(OptionError::Unknown));
    for option in LimitedConfig::OPTIONS {
        let mut config = LimitedConfig::default();
        assert_eq!(config.set(option.name, option.default), Ok(()));
        assert_eq!(config, LimitedConfig::default());
    }
}

proptest! {
    /// The division of deliveries into ACKs does not matter.
    #[test]
    fn stretch_acks_change_nothing(cuts in prop::collection::vec(1u64..40, 1..60), initial in 1u64..400, limit in 1u32..200) {
        let config = LimitedConfig { max_ssthresh: limit };
        let total: u64 = cuts.iter().sum();
        let run = |sizes: &mut dyn Iterator<Item = u64>| {
            let mut limited = Limited::new(config, Instant::ZERO, 0);
            let mut window = window(initial);
            for size in sizes {
                let growth = grown(&mut limited, segments(size), &window);
                assert!(growth <= segments(size), "grows more than was delivered");
                window.cwnd += growth;
            }
            window.cwnd
        };
        let one_by_one = run(&mut std::iter::repeat_n(1, total as usize));
        prop_assert_eq!(run(&mut cuts.iter().copied()), one_by_one);
    }
}
