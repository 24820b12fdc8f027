//! Statistics of placements and of mobility.
#![allow(clippy::print_stdout, reason = "tests print their measurements")]

use network::Streams;
use proptest::prelude::*;
use tables::Rules;
use units::{Duration, Instant};
use wireless::NodeId;
use wireless::adhoc::mobility::{
    Area, Mobility, Position, RandomWaypointConfig, Waypoint, WaypointError, WaypointStart,
};
use wireless::adhoc::topology::Topology;

const SQUARE: Area = Area::square(500.0);

fn speeds(min_speed: f64, max_speed: f64) -> RandomWaypointConfig {
    RandomWaypointConfig {
        min_speed,
        max_speed,
        ..RandomWaypointConfig::DEFAULT
    }
}

/// Mean and standard error.
fn mean(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let (mut count, mut sum, mut squares) = (0.0, 0.0, 0.0);
    for value in values {
        count += 1.0;
        sum += value;
        squares += value * value;
    }
    let mean: f64 = sum / count;
    let variance: f64 = squares / count - mean * mean;
    (mean, (variance / count).sqrt())
}

#[track_caller]
fn within_four_errors((mean, error): (f64, f64), expected: f64, what: &str) {
    println!("{what}: {mean:.4} +- {error:.4}, expected {expected:.4}");
    assert!((mean - expected).abs() < 4.0 * error, "{what}");
}

#[test]
fn the_mean_leg_is_the_mean_distance_of_two_points() {
    assert!((Area::square(1.0).mean_distance() - 0.521_405).abs() < 1e-6);
    assert!((SQUARE.mean_distance() - 260.7).abs() < 0.05);
    // A long rectangle tends to a line, whose mean distance is a third.
    let line = Area {
        width: 3e4,
        height: 1.0,
    };
    assert!((line.mean_distance() / 1e4 - 1.0).abs() < 1e-3);
    for area in [
        SQUARE,
        Area {
            width: 1500.0,
            height: 300.0,
        },
    ] {
        let (from, to) = (Streams::new(1), Streams::new(2));
        let pairs = area
            .uniform(20_000, &from)
            .into_iter()
            .zip(area.uniform(20_000, &to));
        let measured = mean(pairs.map(|(from, to)| from.distance(to)));
        within_four_errors(measured, area.mean_distance(), "mean leg");
    }
}

#[test]
fn legs_have_the_mean_length_and_the_speeds_of_the_model() {
    // The first pause ends at 1000 s, the first leg ends before 1708 s, and the second pause lasts
    // until 2000 s at least.
    let config = RandomWaypointConfig {
        pause: Duration::from_secs(1000),
        start: WaypointStart::Uniform,
        ..speeds(1.0, 19.0)
    };
    let count = 2000;
    let mut mobility = Mobility::random_waypoint(SQUARE, count, &config, &Streams::new(3));
    let (mut legs, mut leg_speeds) = (Vec::new(), Vec::new());
    for node in (0..count as u32).map(NodeId) {
        let start = mobility.position(node, Instant::from_secs(1000));
        leg_speeds.push(mobility.speed(node, Instant::from_nanos(1_000_000_000_001)));
        let end = mobility.position(node, Instant::from_secs(1800));
        legs.push(start.distance(end));
    }
    within_four_errors(mean(legs.into_iter()), SQUARE.mean_distance(), "leg");
    within_four_errors(mean(leg_speeds.into_iter()), 10.0, "speed of a leg");
}

#[test]
fn stationary_speeds_are_those_of_theory_from_the_start_and_stay() {
    for (min, max, expected) in [(1.0, 19.0, 6.11), (5.0, 15.0, 9.10), (0.1, 10.0, 2.15)] {
        let config = speeds(min, max);
        assert!(
            (config.mean_speed() - expected).abs() < 0.005,
            "{}",
            config.mean_speed()
        );
        let mut mobility = Mobility::random_waypoint(SQUARE, 20_000, &config, &Streams::new(4));
        for seconds in [0, 100, 1000] {
            let at = Instant::from_secs(seconds);
            let all = (0..20_000).map(NodeId).map(|node| mobility.speed(node, at));
            let measured = mean(all);
            within_four_errors(measured, config.mean_speed(), "stationary speed");
        }
    }
    assert!(speeds(0.0, 20.0).mean_speed().abs() < 1e-9);
}

#[test]
fn a_uniform_start_slows_down() {
    let uniform = |min, max| RandomWaypointConfig {
        start: WaypointStart::Uniform,
        ..speeds(min, max)
    };
    let mut slow = Mobility::random_waypoint(SQUARE, 5000, &uniform(0.0, 20.0), &Streams::new(5));
    let mut at = |seconds| {
        let at = Instant::from_secs(seconds) + Duration::from_nanos(1);
        mean((0..5000).map(NodeId).map(|node| slow.speed(node, at))).0
    };
    let speeds = [at(0), at(100), at(1000), at(10_000)];
    println!("speed decay: {speeds:?}");
    assert!((speeds[0] - 10.0).abs() < 0.4);
    assert!(
        speeds.windows(2).all(|pair| pair[1] < 0.8 * pair[0]),
        "{speeds:?}"
    );
}

#[test]
fn pauses_take_their_fraction_of_the_time() {
    let config = RandomWaypointConfig {
        pause: Duration::from_secs(30),
        ..speeds(5.0, 15.0)
    };
    // 260.7 m at a mean slowness of ln(3)/10 s/m: 28.64 s of 58.64 s.
    assert!((config.pausing(SQUARE) - 30.0 / 58.642).abs() < 1e-4);
    let mut mobility = Mobility::random_waypoint(SQUARE, 20_000, &config, &Streams::new(6));
    for seconds in [0, 7, 500] {
        let at = Instant::from_secs(seconds);
        let still = |node| f64::from(u8::from(mobility.speed(NodeId(node), at) <= 0.0));
        let measured = mean((0..20_000).map(still));
        within_four_errors(measured, config.pausing(SQUARE), "pausing");
    }
}

/// The fraction of nodes in the central square of half the side.
fn in_the_centre(positions: &[Position]) -> (f64, f64) {
    let inside = |x: f64| (125.0..375.0).contains(&x);
    mean(
        positions
            .iter()
            .map(|at| f64::from(u8::from(inside(at.x) && inside(at.y)))),
    )
}

#[test]
fn the_density_is_centre_heavy() {
    let uniform = SQUARE.uniform(20_000, &Streams::new(7));
    within_four_errors(in_the_centre(&uniform), 0.25, "uniform");
    let config = speeds(5.0, 15.0);
    let mut mobility = Mobility::random_waypoint(SQUARE, 20_000, &config, &Streams::new(8));
    for seconds in [0, 1000] {
        let positions = mobility.positions(Instant::from_secs(seconds));
        within_four_errors(in_the_centre(&positions), CENTRE, "moving");
    }
    let config = RandomWaypointConfig {
        start: WaypointStart::Uniform,
        ..config
    };
    let mut mobility = Mobility::random_waypoint(SQUARE, 20_000, &config, &Streams::new(9));
    within_four_errors(
        in_the_centre(&mobility.positions(Instant::ZERO)),
        0.25,
        "uniform start",
    );
    let later = mobility.positions(Instant::from_secs(1000));
    within_four_errors(in_the_centre(&later), CENTRE, "a thousand seconds later");
}

/// The mean length of a leg inside the central square over its mean length, from a separate
/// integration over 1e7 pairs of endpoints (standard error 0.0001).
const CENTRE: f64 = 0.4545;

#[test]
fn link_probability_and_mean_degree() {
    for (range, expected) in [(15.0, 0.11), (40.0, 0.73), (100.0, 4.10), (250.0, 18.8)] {
        let Some(probability) = SQUARE.link_probability(range) else {
            panic!("{range} m is less than the side");
        };
        let degree = 39.0 * probability;
        assert!((degree - expected).abs() < 0.06, "{range}: {degree}");
        let degrees = (0..2000).map(|seed| {
            let positions = SQUARE.uniform(40, &Streams::new(seed));
            Topology::new(&positions, range).mean_degree()
        });
        within_four_errors(mean(degrees), degree, "mean degree");
    }
    assert_eq!(SQUARE.link_probability(501.0), None);
    let area = Area {
        width: 300.0,
        height: 100.0,
    };
    let near = |seed| {
        let places = area.uniform(2, &Streams::new(seed));
        f64::from(u8::from(places[0].distance(places[1]) <= 80.0))
    };
    let expected = area.link_probability(80.0).unwrap_or_default();
    within_four_errors(mean((0..20_000).map(near)), expected, "rectangle");
}

#[test]
fn most_random_topologies_are_disconnected_below_a_mean_degree_of_seven() {
    let fraction = |range| {
        let disconnected = |seed: &u64| {
            let positions = SQUARE.uniform(40, &Streams::new(*seed));
            !Topology::new(&positions, range).is_connected()
        };
        (0..1000).filter(disconnected).count() as f64 / 1000.0
    };
    let ranges = [15.0, 40.0, 100.0, 125.0, 150.0, 175.0, 200.0, 250.0];
    let fractions = ranges.map(fraction);
    println!("disconnected at {ranges:?} m: {fractions:?}");
    assert!(fractions[1] > 0.999);
    assert!(fractions[7] < 0.02);
    assert!(fractions.windows(2).all(|pair| pair[1] <= pair[0]));
}

#[test]
fn hops_and_components_of_a_small_topology() {
    // 0 - 1 - 2 - 3   and   4 - 5
    let places = [0.0, 10.0, 20.0, 30.0, 100.0, 110.0].map(|x| Position::new(x, 0.0));
    let topology = Topology::new(&places, 10.0);
    let expected = [Some(0), Some(1), Some(2), Some(3), None, None];
    assert_eq!(topology.hops(NodeId(0)), expected);
    assert_eq!(topology.components(), [0, 0, 0, 0, 1, 1]);
    assert!(!topology.is_connected());
    assert!((topology.connected_pairs() - 14.0 / 30.0).abs() < 1e-12);
    assert_eq!(topology.next_hops(NodeId(3))[0], Some(NodeId(1)));
    assert_eq!(topology.next_hops(NodeId(3))[3], None);
    assert_eq!(topology.next_hops(NodeId(3))[4], None);
    assert!(Topology::new(&places[..4], 10.0).is_connected());
    assert!(!Topology::new(&places[..4], 9.99).is_connected());
}

#[test]
fn a_grid_is_even() {
    let grid = SQUARE.grid(25);
    assert_eq!(grid[0], Position::new(50.0, 50.0));
    assert_eq!(grid[1], Position::new(150.0, 50.0));
    assert_eq!(grid[5], Position::new(50.0, 150.0));
    assert_eq!(grid[24], Position::new(450.0, 450.0));
    let line = Area {
        width: 1000.0,
        height: 1.0,
    }
    .grid(5);
    assert!(
        line.windows(2)
            .all(|pair| (pair[0].distance(pair[1]) - 200.0).abs() < 1e-9)
    );
    for count in 0..50 {
        let grid = SQUARE.grid(count);
        assert_eq!(grid.len(), count);
        assert!(
            grid.iter()
                .all(|at| (0.0..=500.0).contains(&at.x) && (0.0..=500.0).contains(&at.y))
        );
    }
}

#[test]
fn more_nodes_do_not_move_the_first_ones() {
    let streams = Streams::new(10);
    assert_eq!(
        SQUARE.uniform(5, &streams)[..],
        SQUARE.uniform(50, &streams)[..5]
    );
    let config = speeds(5.0, 15.0);
    let at = Instant::from_secs(77);
    let few = Mobility::random_waypoint(SQUARE, 5, &config, &streams).positions(at);
    let many = Mobility::random_waypoint(SQUARE, 50, &config, &streams).positions(at);
    assert_eq!(few[..], many[..5]);
}

#[test]
fn listed_nodes_pass_their_waypoints() {
    let point = |at, node, x, y| Waypoint {
        at: Instant::from_secs(at),
        node: NodeId(node),
        position: Position::new(x, y),
    };
    let list = [
        point(0, 1, 5.0, 5.0),
        point(10, 0, 0.0, 0.0),
        point(20, 0, 100.0, 0.0),
        point(25, 0, 100.0, 50.0),
    ];
    let mut mobility = Mobility::listed(2, &list).expect("the list is right");
    assert!((mobility.max_speed() - 10.0).abs() < 1e-9);
    let mut at = |millis| mobility.position(NodeId(0), Instant::from_millis(millis));
    assert_eq!(at(3_000), Position::new(0.0, 0.0));
    assert_eq!(at(10_000), Position::new(0.0, 0.0));
    assert!(at(12_500).distance(Position::new(25.0, 0.0)) < 1e-9);
    assert!(at(22_500).distance(Position::new(100.0, 25.0)) < 1e-9);
    assert_eq!(at(90_000), Position::new(100.0, 50.0));
    assert_eq!(
        mobility.position(NodeId(1), Instant::MAX),
        Position::new(5.0, 5.0)
    );

    let refused = |count, list: &[Waypoint]| Mobility::listed(count, list).err();
    assert_eq!(refused(1, &list), Some(WaypointError::UnknownNode(0)));
    assert_eq!(refused(3, &list), Some(WaypointError::Missing(NodeId(2))));
    let twice = [list[0], list[0]];
    assert_eq!(refused(2, &twice), Some(WaypointError::NotLater(1)));
    let nowhere = [point(0, 0, f64::NAN, 0.0)];
    assert_eq!(refused(1, &nowhere), Some(WaypointError::NotFinite(0)));
}

#[test]
fn a_stationary_state_needs_a_lowest_speed() {
    let check = |config: RandomWaypointConfig| config.check(&|_| false);
    assert!(check(RandomWaypointConfig::DEFAULT).is_ok());
    assert!(check(speeds(0.0, 10.0)).is_err());
    assert!(check(speeds(11.0, 10.0)).is_err());
    let uniform = RandomWaypointConfig {
        start: WaypointStart::Uniform,
        ..speeds(0.0, 10.0)
    };
    assert!(check(uniform).is_ok());
}

proptest! {
    /// Nodes stay in the area and never exceed the highest speed; the path does not depend on how
    /// often it is asked for.
    #[test]
    fn motion_is_continuous(
        seed in 0_u64..1000,
        min in 0.1_f64..20.0,
        more in 0.0_f64..20.0,
        pause in 0_u64..20,
        steps in proptest::collection::vec(1_u64..20_000, 1..60),
    ) {
        let config = RandomWaypointConfig {
            pause: Duration::from_secs(pause),
            ..speeds(min, min + more)
        };
        let area = Area { width: 300.0, height: 80.0 };
        let mut mobility = Mobility::random_waypoint(area, 3, &config, &Streams::new(seed));
        let mut rarely = mobility.clone();
        let mut at = Instant::ZERO;
        let mut last = mobility.positions(at);
        for millis in steps {
            let step = Duration::from_millis(millis);
            at += step;
            let now = mobility.positions(at);
            for (before, after) in last.iter().zip(&now) {
                let most = mobility.max_speed() * step.as_secs_f64();
                prop_assert!(before.distance(*after) <= most + 1e-6);
                prop_assert!(after.x >= -1e-9 && after.x <= 300.0 + 1e-9);
                prop_assert!(after.y >= -1e-9 && after.y <= 80.0 + 1e-9);
            }
            last = now;
        }
        prop_assert_eq!(last, rarely.positions(at));
    }
}
