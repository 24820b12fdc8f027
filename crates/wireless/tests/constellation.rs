//! Constellations without packets: orbits, links, handovers and routes
//! (docs/reference/networks/constellation.md).

use network::Streams;
use tables::{Described, Rules, Value};
use units::{Duration, Instant};
use wireless::constellation::links::Port;
use wireless::constellation::orbit::{LIGHT_KM_PER_S, Orbits, Point};
use wireless::constellation::{
    ConstellationConfig, ConstellationPreset, HandoverRule, Phasing, Place, Terminal, Tracker,
};

fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!(
        (actual - expected).abs() <= tolerance,
        "{actual} is not {expected} +- {tolerance}"
    );
}

fn seconds(seconds: f64) -> Instant {
    Instant::from_nanos((seconds * 1e9).round() as u64)
}

fn berkeley_and_boston() -> [Terminal; 2] {
    [
        Terminal::new("berkeley", 37.9, -122.3),
        Terminal::new("boston", 42.3, -71.1),
    ]
}

fn tracker(config: &ConstellationConfig, seed: u64) -> Tracker {
    Tracker::new(config, &berkeley_and_boston(), &Streams::new(seed))
}

/// A constellation of another kind: few planes, without a seam, an odd number of satellites.
fn delta() -> ConstellationConfig {
    ConstellationConfig {
        planes: 5,
        satellites: 9,
        altitude: 1_200_000.0,
        inclination: 60.0,
        plane_separation: 72.0,
        phase_offset: 8.0,
        phasing: Phasing::Cumulative,
        seam: false,
        latitude_limit: 90.0,
        ..ConstellationConfig::iridium()
    }
}

#[test]
fn iridium_has_the_numbers_of_its_orbit() {
    let config = ConstellationConfig::iridium();
    let orbits = Orbits::new(&config);
    assert_eq!(orbits.satellites(), 66);
    near(orbits.period_s(), 6026.96, 0.005);
    let at = seconds(1234.5);
    let neighbours = orbits.position(3, at).distance(orbits.position(4, at));
    near(neighbours, 4033.3, 0.05);
    near(neighbours / LIGHT_KM_PER_S * 1e3, 13.45, 0.005);
    near(orbits.slant_range_km(90.0), 780.0, 1e-9);
    near(
        orbits.slant_range_km(90.0) / LIGHT_KM_PER_S * 1e3,
        2.60,
        0.005,
    );
    near(orbits.slant_range_km(config.elevation_mask), 2464.6, 0.05);
    near(
        orbits.slant_range_km(config.elevation_mask) / LIGHT_KM_PER_S * 1e3,
        8.22,
        0.005,
    );
    near(
        orbits.coverage_half_angle(config.elevation_mask),
        19.92,
        0.005,
    );
}

/// After one period a satellite is at the same latitude, and the Earth has rotated below it.
#[test]
fn a_satellite_returns_after_one_period_over_an_earth_that_has_turned() {
    let orbits = Orbits::new(&ConstellationConfig::iridium());
    let period = orbits.period_s();
    for satellite in [0, 17, 65] {
        let before = orbits.position(satellite, seconds(500.0)).place();
        let after = orbits.position(satellite, seconds(500.0 + period)).place();
        near(after.latitude, before.latitude, 1e-6);
        let west = (before.longitude - after.longitude).rem_euclid(360.0);
        near(west, 360.0 * period / 86_164.0, 1e-6);
    }
}

/// The formulas of spherical trigonometry for latitude and longitude.
#[test]
fn positions_follow_the_angle_from_the_ascending_node() {
    let config = ConstellationConfig::iridium();
    let orbits = Orbits::new(&config);
    for (satellite, time) in [(0_u32, 0.0), (12, 777.0), (40, 40_000.0), (65, 86_000.0)] {
        let (plane, index) = (satellite / 11, satellite % 11);
        let start = f64::from(index) * 360.0 / 11.0 + f64::from(plane % 2) * 16.36;
        let theta = (start + 360.0 * time / orbits.period_s()).to_radians();
        let inclination = config.inclination.to_radians();
        let latitude = (inclination.sin() * theta.sin()).asin().to_degrees();
        let east = (inclination.cos() * theta.sin())
            .atan2(theta.cos())
            .to_degrees();
        let longitude = f64::from(plane) * 31.6 + east - 360.0 * time / 86_164.0;
        let place = orbits.position(satellite, seconds(time)).place();
        near(place.latitude, latitude, 1e-6);
        near(
            (place.longitude - longitude + 180.0).rem_euclid(360.0),
            180.0,
            1e-6,
        );
        near(
            orbits.position(satellite, seconds(time)).radius(),
            7158.0,
            1e-6,
        );
        near(
            orbits.sine_of_latitude(satellite, seconds(time)),
            latitude.to_radians().sin(),
            1e-9,
        );
        assert_eq!(orbits.ascends(satellite, seconds(time)), theta.cos() > 0.0);
    }
}

/// A satellite is at the zenith of the place below it, and at the mask on the edge of its coverage.
#[test]
fn elevation_is_that_of_zenith_and_of_the_edge_of_coverage() {
    let orbits = Orbits::new(&ConstellationConfig::iridium());
    let satellite = orbits.position(0, Instant::ZERO);
    let below = satellite.place();
    near(
        Point::on_ground(below).sine_of_elevation(satellite),
        1.0,
        1e-12,
    );
    for mask in [0.0, 8.2, 25.0, 60.0_f64] {
        let away = orbits.coverage_half_angle(mask);
        let edge = Place {
            latitude: below.latitude + away,
            ..below
        };
        let edge = Point::on_ground(edge);
        near(
            edge.sine_of_elevation(satellite),
            mask.to_radians().sin(),
            1e-9,
        );
        near(edge.distance(satellite), orbits.slant_range_km(mask), 1e-6);
    }
}

#[test]
fn links_are_mutual_and_join_the_planes_but_for_the_seam() {
    for (config, count) in [
        (ConstellationConfig::iridium(), 66 + 55),
        (ConstellationConfig::starlink(), 2 * 1584),
        (delta(), 2 * 45),
    ] {
        let tracker = tracker(&config, 1);
        let grid = tracker.grid();
        for satellite in 0..tracker.orbits().satellites() {
            for port in Port::ALL {
                let Some(other) = grid.neighbour(satellite, port) else {
                    continue;
                };
                assert_eq!(grid.neighbour(other, port.opposite()), Some(satellite));
                assert_ne!(other, satellite);
                let planes = (satellite / config.satellites, other / config.satellites);
                assert_eq!(planes.0 != planes.1, port.is_between_planes());
                let is_seam = planes.0.abs_diff(planes.1) > 1;
                assert!(!is_seam || config.wraps(), "{satellite} {other}");
            }
        }
        assert_eq!(tracker.links(Instant::ZERO).count(), count);
    }
}

/// Around a circle of planes, the links that close it are no longer than the others.
#[test]
fn the_links_that_close_a_circle_of_planes_have_the_lengths_of_the_others() {
    for config in [ConstellationConfig::starlink(), delta()] {
        let tracker = tracker(&config, 1);
        let orbits = tracker.orbits();
        let mut longest = [0.0_f64; 2];
        for time in [0.0, 400.0, 1000.0, 2345.0] {
            for (a, b, _) in tracker.links(seconds(time)) {
                let planes = (a / config.satellites).abs_diff(b / config.satellites);
                if planes > 0 {
                    let at = seconds(time);
                    let length = orbits.position(a, at).distance(orbits.position(b, at));
                    let kind = usize::from(planes > 1);
                    longest[kind] = longest[kind].max(length);
                }
            }
        }
        near(longest[1] / longest[0], 1.0, 0.02);
    }
}

/// A link between planes is up while both ends are at most 60 degrees from the equator: in a
/// fraction (2 asin(sin 60 / sin i) - 16.36) / 180 of the time.
#[test]
fn links_between_planes_are_up_below_the_latitude_limit() {
    let tracker = tracker(&ConstellationConfig::iridium(), 1);
    let (grid, orbits) = (tracker.grid(), tracker.orbits());
    let (mut up, mut all) = (0, 0);
    for step in 0..20_000 {
        let at = seconds(f64::from(step) * 3.01);
        let checked = seconds((at.as_secs_f64() / 10.0).floor() * 10.0);
        for satellite in [0, 30] {
            let other = grid.neighbour(satellite, Port::East).unwrap();
            let is_low = |end| orbits.position(end, checked).place().latitude.abs() <= 60.0;
            let is_up = grid.is_up(orbits, satellite, Port::East, at);
            assert_eq!(
                is_up,
                is_low(satellite) && is_low(other),
                "{satellite} {at:?}"
            );
            assert_eq!(is_up, grid.is_up(orbits, other, Port::West, at));
            assert!(grid.is_up(orbits, satellite, Port::Ahead, at));
            up += i32::from(is_up);
            all += 1;
        }
    }
    let sine = 60.0_f64.to_radians().sin() / 86.4_f64.to_radians().sin();
    let expected = (2.0 * sine.asin().to_degrees() - 16.36) / 180.0;
    near(f64::from(up) / f64::from(all), expected, 0.005);
    assert!(
        !grid.is_up(orbits, 0, Port::West, Instant::ZERO),
        "there is no link over the seam"
    );
}

/// Delays in ms in ascending order, and how many routes have how many inter-satellite links.
struct Probes {
    delays: Vec<f64>,
    hops: [u32; 12],
}

/// One probe from Berkeley to Boston every 60.01 s, through one day.
fn probe(config: &ConstellationConfig, seed: u64, first: f64) -> Probes {
    let mut tracker = tracker(config, seed);
    let mut probes = Probes {
        delays: Vec::new(),
        hops: [0; 12],
    };
    for number in 0..1439 {
        let at = seconds(first + 60.01 * f64::from(number));
        let route = tracker.route(0, 1, at).expect("Iridium covers the Earth");
        probes.delays.push(route.delay.as_secs_f64() * 1e3);
        probes.hops[route.hops()] += 1;
    }
    probes.delays.sort_by(f64::total_cmp);
    probes
}

impl Probes {
    fn percentile(&self, percent: f64) -> f64 {
        self.delays[(self.delays.len() as f64 * percent / 100.0) as usize]
    }

    fn mean(&self) -> f64 {
        self.delays.iter().sum::<f64>() / self.delays.len() as f64
    }

    /// Smallest, 5 %, median, mean, 95 %, largest.
    fn numbers(&self) -> [f64; 6] {
        let largest = self.delays[self.delays.len() - 1];
        let (median, mean) = (self.percentile(50.0), self.mean());
        [
            self.delays[0],
            self.percentile(5.0),
            median,
            mean,
            self.percentile(95.0),
            largest,
        ]
    }
}

/// Delays of an independent model of the example, which checks handovers and latitudes when a probe
/// is sent, not every 10 s.
const REFERENCE: [f64; 6] = [20.6, 22.0, 37.8, 54.3, 105.3, 133.1];
const REFERENCE_HOPS: [u32; 12] = [0, 189, 674, 64, 111, 2, 8, 359, 23, 9, 0, 0];

#[test]
fn the_first_probe_takes_two_links() {
    for seed in 1..=4 {
        let route = tracker(&ConstellationConfig::iridium(), seed).route(0, 1, seconds(1.0));
        let route = route.unwrap();
        near(route.delay.as_secs_f64() * 1e3, 33.87, 0.005);
        assert_eq!(route.hops(), 2);
    }
}

/// With checks at the instants of the probes, as in the reference, every route has its hops.
#[test]
fn berkeley_to_boston_is_the_reference_when_checks_are_at_its_instants() {
    let config = ConstellationConfig {
        start: Duration::from_secs(1),
        handover_interval: Duration::from_millis(60_010),
        routing_interval: Duration::from_millis(60_010),
        random_handover: false,
        ..ConstellationConfig::iridium()
    };
    let probes = probe(&config, 1, 0.0);
    println!("{:.2?} {:?}", probes.numbers(), probes.hops);
    assert_eq!(probes.hops, REFERENCE_HOPS);
    for (actual, expected) in probes.numbers().into_iter().zip(REFERENCE) {
        near(actual, expected, 0.0501);
    }
}

/// With checks every 10 s, handovers are earlier: within 1.5 % of the delays, and 2 % of all routes
/// have another number of hops.
#[test]
fn berkeley_to_boston_with_checks_every_ten_seconds_is_near_the_reference() {
    for seed in 0..=8 {
        let random_handover = seed > 0;
        let config = ConstellationConfig {
            random_handover,
            ..ConstellationConfig::iridium()
        };
        let probes = probe(&config, seed, 1.0);
        println!("seed {seed}: {:.2?} {:?}", probes.numbers(), probes.hops);
        for (actual, expected) in probes.numbers().into_iter().zip(REFERENCE) {
            near(actual / expected, 1.0, 0.015);
        }
        let differ = probes
            .hops
            .iter()
            .zip(REFERENCE_HOPS)
            .map(|(a, b)| a.abs_diff(b));
        assert!(differ.sum::<u32>() / 2 < 1439 * 2 / 100);
    }
}

#[test]
fn a_terminal_keeps_its_satellite_until_it_sinks_below_the_mask() {
    for rule in [HandoverRule::Highest, HandoverRule::NextInPlane] {
        let config = ConstellationConfig {
            handover_rule: rule,
            ..ConstellationConfig::iridium()
        };
        let mut tracker = tracker(&config, 3);
        let ground = Point::on_ground(berkeley_and_boston()[0].place);
        let elevation = |tracker: &Tracker, satellite, at| {
            let position = tracker.orbits().position(satellite, at);
            ground.sine_of_elevation(position).asin().to_degrees()
        };
        let mut before = tracker.satellite(0, Instant::ZERO).unwrap();
        let mut changes = Vec::new();
        for second in 1..20_000 {
            let at = Instant::from_secs(second);
            let satellite = tracker.satellite(0, at).unwrap();
            if satellite == before {
                continue;
            }
            // The check was within the last second, and the one before it 10 s earlier.
            assert!(elevation(&tracker, before, at) < 8.2);
            let earlier = Instant::from_secs(second.saturating_sub(11));
            assert!(elevation(&tracker, before, earlier) > 8.1);
            assert!(elevation(&tracker, satellite, at) > 8.1);
            if rule == HandoverRule::Highest {
                let all = 0..tracker.orbits().satellites();
                let best = all
                    .map(|other| elevation(&tracker, other, at))
                    .fold(0.0, f64::max);
                near(elevation(&tracker, satellite, at), best, 0.2);
            } else {
                let next = tracker.grid().neighbour(before, Port::Behind);
                if elevation(&tracker, next.unwrap(), at) > 8.3 {
                    assert_eq!(Some(satellite), next);
                }
            }
            changes.push(at);
            before = satellite;
        }
        assert_eq!(tracker.handovers(0), changes.len() as u64);
        assert!((30..60).contains(&changes.len()), "{}", changes.len());
        // All checks of a terminal have one phase, to the second of these looks.
        let phase = |at: &Instant| (at.as_millis() / 1000) % 10;
        assert!(changes.iter().all(|at| phase(at) == phase(&changes[0])));
    }
}

/// The closed form of a link's length is the distance between the positions of its ends.
#[test]
fn spans_are_distances() {
    for config in [
        ConstellationConfig::iridium(),
        ConstellationConfig::starlink(),
        delta(),
    ] {
        let tracker = tracker(&config, 1);
        let orbits = tracker.orbits();
        for time in [0.0, 1.5, 2000.0, 86_399.0] {
            let at = seconds(time);
            for (one, other, _) in tracker.links(at) {
                let distance = orbits
                    .position(one, at)
                    .distance(orbits.position(other, at));
                let delay = orbits.span_delay(&orbits.span(one, other), at).as_nanos() as f64;
                near(delay, distance / LIGHT_KM_PER_S * 1e9, 0.501);
            }
        }
    }
}

/// The next link of Dijkstra's routes leads along a shortest path (Bellman-Ford finds its length).
#[test]
fn routes_are_shortest() {
    for config in [ConstellationConfig::iridium(), delta()] {
        let mut tracker = tracker(&config, 1);
        for step in 0..40 {
            // At the instant of an update, delays of routes and of the links they rest on agree.
            let at = Instant::from_secs(step * 613);
            let route = tracker
                .route(0, 1, at)
                .expect("all places here are covered");
            let count = tracker.orbits().satellites() as usize;
            let orbits = tracker.orbits();
            let link = |one, other| orbits.span_delay(&orbits.span(one, other), at);
            let mut best = vec![u64::MAX; count];
            best[route.satellites[0] as usize] = 0;
            for _ in 0..count {
                for (a, b, is_up) in tracker.links(at) {
                    if is_up {
                        let link = link(a, b).as_nanos();
                        let (a, b) = (a as usize, b as usize);
                        best[b] = best[b].min(best[a].saturating_add(link));
                        best[a] = best[a].min(best[b].saturating_add(link));
                    }
                }
            }
            let between: u64 = route
                .satellites
                .windows(2)
                .map(|pair| link(pair[0], pair[1]).as_nanos())
                .sum();
            let last = *route.satellites.last().unwrap() as usize;
            assert_eq!(between, best[last], "{at:?}");
            let [here, there] =
                berkeley_and_boston().map(|terminal| Point::on_ground(terminal.place));
            let ground = here.delay(orbits.position(route.satellites[0], at))
                + there.delay(orbits.position(last as u32, at));
            assert_eq!(route.delay, Duration::from_nanos(between) + ground);
        }
    }
}

#[test]
fn answers_do_not_depend_on_the_order_of_questions() {
    let config = ConstellationConfig::iridium();
    let times: Vec<_> = (0..60)
        .map(|step| seconds(f64::from(step) * 97.3))
        .collect();
    let mut ahead = tracker(&config, 5);
    let forward: Vec<_> = times.iter().map(|at| ahead.route(0, 1, *at)).collect();
    let mut back = tracker(&config, 5);
    let mut backward: Vec<_> = times.iter().rev().map(|at| back.route(0, 1, *at)).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    let alone: Vec<_> = times
        .iter()
        .map(|at| tracker(&config, 5).route(0, 1, *at))
        .collect();
    assert_eq!(forward, alone);
}

/// A further terminal does not change when others check, and a terminal's name decides it.
#[test]
fn a_terminal_has_a_stream_of_its_own() {
    let config = ConstellationConfig::iridium();
    let satellites = |terminals: &[Terminal], terminal, seed| {
        let mut tracker = Tracker::new(&config, terminals, &Streams::new(seed));
        let times = (0..4000).map(|second| Instant::from_secs(second * 2));
        times
            .map(|at| tracker.satellite(terminal, at))
            .collect::<Vec<_>>()
    };
    let [berkeley, boston] = berkeley_and_boston();
    let alone = satellites(core::slice::from_ref(&boston), 0, 1);
    assert_eq!(alone, satellites(&[berkeley, boston.clone()], 1, 1));
    assert_ne!(
        alone,
        satellites(core::slice::from_ref(&boston), 0, 2),
        "the seed decides, too"
    );
    let other = Terminal {
        name: "other".into(),
        ..boston
    };
    assert_ne!(alone, satellites(&[other], 0, 1));
}

#[test]
fn a_run_may_start_later_in_the_orbit() {
    let config = ConstellationConfig::iridium();
    let later = ConstellationConfig {
        start: Duration::from_secs(4321),
        ..config.clone()
    };
    let (now, shifted) = (Orbits::new(&config), Orbits::new(&later));
    assert_eq!(
        now.position(9, seconds(4331.0)),
        shifted.position(9, seconds(10.0))
    );
    assert_ne!(
        now.position(9, seconds(10.0)),
        shifted.position(9, seconds(10.0))
    );
}

/// From New York to London through a shell of Starlink. With satellites that fly in the same
/// direction the delay is above that of light along the ground, and below that of light in a fibre
/// of that length (refractive index 1.47). From a satellite that flies north to one that flies
/// south the grid has only routes around the turn of the orbits. Nobody is covered near the poles.
#[test]
fn the_model_is_not_only_iridium() {
    let terminals = [
        Terminal::new("new-york", 40.7, -74.0),
        Terminal::new("london", 51.5, -0.1),
        Terminal::new("pole", 80.0, 20.0),
    ];
    let config = ConstellationConfig::starlink();
    let mut tracker = Tracker::new(&config, &terminals, &Streams::new(1));
    assert_eq!(tracker.orbits().satellites(), 1584);
    near(tracker.orbits().period_s() / 60.0, 95.6, 0.1);
    let [from, to] = [0, 1].map(|index| Point::on_ground(terminals[index].place));
    let ground = 2.0 * 6378.0 * (from.distance(to) / 2.0 / 6378.0).asin();
    near(ground, 5577.0, 10.0);
    let light = ground / LIGHT_KM_PER_S;
    let (mut least, mut most) = (f64::MAX, 0.0_f64);
    for step in 0..400 {
        let at = seconds(f64::from(step) * 215.0);
        let delay = tracker.route(0, 1, at).unwrap().delay.as_secs_f64();
        (least, most) = (least.min(delay), most.max(delay));
        assert_eq!(tracker.satellite(2, at), None);
        assert_eq!(tracker.route(0, 2, at), None);
    }
    println!("light {light} least {least} most {most}");
    assert!(least > light && least < 1.47 * light, "{least} {light}");
    assert!(most > 2.0 * light && most < 4.0 * light, "{most} {light}");
}

#[test]
fn a_preset_sets_the_defaults_of_the_other_keys() {
    let mut config = ConstellationConfig::default();
    assert_eq!(config, ConstellationConfig::iridium());
    config.set(0, Value::Word(1));
    config.follow("preset");
    assert_eq!(
        config,
        ConstellationConfig::new(ConstellationPreset::Starlink)
    );
    let nothing = |_: &str| false;
    assert_eq!(config.check(&nothing), Ok(()));
    assert_eq!(ConstellationConfig::iridium().check(&nothing), Ok(()));
    let gap = ConstellationConfig {
        planes: 71,
        ..config.clone()
    };
    assert_eq!(gap.check(&nothing).unwrap_err().key, "plane_separation");
    let blocked = ConstellationConfig {
        satellites: 3,
        ..config
    };
    assert_eq!(blocked.check(&nothing).unwrap_err().key, "satellites");
}
