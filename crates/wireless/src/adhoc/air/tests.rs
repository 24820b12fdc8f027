use core::mem;

use super::super::propagation::ReceptionModel;
use super::log::Log as FrameLog;
use super::*;

/// What a node of the tests has heard.
#[derive(Debug, Default, PartialEq)]
struct Log {
    heard: Vec<(NodeId, u64)>,
    garbled: Vec<Instant>,
    busy: Vec<(Instant, Instant)>,
    /// It does not note when the medium is busy.
    is_quiet: bool,
}

impl Listen for Log {
    fn minds_busy(&self) -> bool {
        !self.is_quiet
    }

    fn busy(&mut self, at: Instant, idle: Instant) {
        if !self.is_quiet {
            self.busy.push((at, idle));
        }
    }

    fn heard(&mut self, node: NodeId, frame: &Signal, _: Instant) {
        assert_ne!(node, frame.from);
        self.heard.push((frame.from, frame.note));
    }

    fn garbled(&mut self, end: Instant) {
        self.garbled.push(end);
    }
}

fn air(places: &[f64]) -> Air<Log> {
    with(&RadioConfig::DEFAULT, places, None)
}

fn with(config: &RadioConfig, places: &[f64], energy: Option<&EnergyConfig>) -> Air<Log> {
    let positions: Vec<_> = places.iter().map(|x| Position::new(*x, 0.0)).collect();
    Air::new(
        config,
        Mobility::fixed(&positions),
        energy,
        &Streams::new(1),
    )
}

fn frame(to: u32, micros: u64) -> Frame {
    Frame {
        duration: Duration::from_micros(micros),
        to: Some(NodeId(to)),
        note: micros,
    }
}

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

const ALL: [Fate; Fate::COUNT] = [
    Fate::Received,
    Fate::Weak,
    Fate::Collided,
    Fate::Ignored,
    Fate::Transmitting,
    Fate::Off,
];

/// Every arrival has exactly one fate.
fn conserve(air: &mut Air<Log>) {
    air.settle(Instant::from_secs(1000));
    assert_eq!(air.counters().arrivals, air.counters().settled());
    let sum: u64 = ALL.iter().map(|fate| air.counters().of(*fate)).sum();
    assert_eq!(sum, air.counters().settled());
}

#[test]
fn a_frame_is_received_at_250_metres_and_sensed_at_550() {
    for (metres, receives, senses) in [
        (0.0, true, true),
        (250.0, true, true),
        (250.1, false, true),
        (550.0, false, true),
        (550.1, false, false),
    ] {
        let mut air = air(&[0.0, metres]);
        let sent = air.transmit(at(5), NodeId(0), frame(1, 100)).unwrap();
        assert_eq!(sent.end, at(105));
        assert_eq!(sent.arrives.is_some(), senses, "{metres}");
        let Some(end) = sent.arrives else {
            assert!(!air.is_busy(at(50), NodeId(1)));
            conserve(&mut air);
            continue;
        };
        let delay = libm::ceil(metres / 0.299_792_458).max(1.0) as u64;
        assert_eq!(end, at(105) + Duration::from_nanos(delay));
        assert!(!air.is_busy(at(5), NodeId(1)));
        assert!(air.is_busy(at(50), NodeId(1)));
        assert_eq!(air.busy_until(at(50), NodeId(1)), end);
        assert_eq!(
            air.received(end, NodeId(1), sent.frame),
            receives,
            "{metres}"
        );
        assert!(!air.is_busy(at(110), NodeId(1)));
        assert!(air.is_busy_since(at(110), NodeId(1), at(100)));
        assert!(!air.is_busy_since(at(110), NodeId(1), at(108)));
        let log = air.listener(at(200), NodeId(1));
        assert_eq!(log.heard.len(), usize::from(receives));
        assert_eq!(log.garbled.len(), usize::from(!receives));
        assert_eq!(log.busy.len(), 1);
        conserve(&mut air);
    }
}

/// Two frames at node 1, the first from node 0 at a distance of 100 m, the second from node 2.
fn two(config: &RadioConfig, distance: f64, later: u64) -> (bool, bool, Instant) {
    let mut air = with(config, &[0.0, 100.0, 100.0 + distance], None);
    let first = air.transmit(at(10), NodeId(0), frame(1, 100)).unwrap();
    let one = first.arrives.unwrap();
    let mut intact = false;
    if one < at(10 + later) {
        intact = air.received(one, NodeId(1), first.frame);
    }
    let second = air
        .transmit(at(10 + later), NodeId(2), frame(1, 100))
        .unwrap();
    if one > at(10 + later) {
        intact = air.received(one, NodeId(1), first.frame);
    }
    let other = second.arrives.unwrap();
    let second = air.received(other, NodeId(1), second.frame);
    let busy = air.busy_until(other, NodeId(1));
    conserve(&mut air);
    (intact, second, busy)
}

#[test]
fn the_first_of_two_frames_survives_if_it_is_ten_times_as_strong() {
    // The ratio of distances is 10^(1/4) = 1.778.
    let config = RadioConfig::DEFAULT;
    assert!(!two(&config, 177.7, 50).0);
    assert!(two(&config, 177.9, 50).0);
    // The second never does, however strong it is.
    for distance in [1.0, 50.0, 100.0, 177.7, 177.9, 200.0] {
        let (_, second, busy) = two(&config, distance, 50);
        assert!(!second, "{distance}");
        assert!(busy >= at(160));
        assert!(two(&config, distance, 200).0);
        assert!(two(&config, distance, 200).1);
    }
}

#[test]
fn arrivals_count_and_not_transmissions() {
    // Node 2 begins 0.2 us after node 0, but is so close to node 1 that its frame arrives first and
    // is ten times as strong.
    let mut air = air(&[0.0, 240.0, 250.0]);
    let first = air.transmit(Instant::from_nanos(10_000), NodeId(0), frame(1, 100));
    let second = air.transmit(Instant::from_nanos(10_200), NodeId(2), frame(1, 100));
    let (first, second) = (first.unwrap(), second.unwrap());
    assert!(second.arrives.unwrap() < first.arrives.unwrap());
    assert!(air.received(second.arrives.unwrap(), NodeId(1), second.frame));
    assert!(!air.received(first.arrives.unwrap(), NodeId(1), first.frame));
    conserve(&mut air);
}

#[test]
fn interference_adds_up_under_sinr_and_not_under_capture() {
    // Each of two interferers is 11 times weaker; both together are not.
    let near = 100.0;
    let far = near * libm::pow(11.0, 0.25);
    let places = [0.0, near, near + far, near - far];
    for (reception, expected) in [
        (ReceptionModel::Capture, true),
        (ReceptionModel::Sinr, false),
    ] {
        let config = RadioConfig {
            reception,
            ..RadioConfig::DEFAULT
        };
        let mut air = with(&config, &places, None);
        let sent = air.transmit(at(10), NodeId(0), frame(1, 100)).unwrap();
        air.transmit(at(20), NodeId(2), frame(9, 50)).unwrap();
        air.transmit(at(30), NodeId(3), frame(9, 50)).unwrap();
        let end = sent.arrives.unwrap();
        assert_eq!(air.received(end, NodeId(1), sent.frame), expected);
        if reception == ReceptionModel::Sinr {
            let sinr = air.lowest_sinr(NodeId(1));
            assert!((5.4..5.6).contains(&sinr), "{sinr}");
        }
        conserve(&mut air);
    }
    // One alone does no harm.
    let config = RadioConfig {
        reception: ReceptionModel::Sinr,
        ..RadioConfig::DEFAULT
    };
    assert!(two(&config, far, 50).0);
    assert!(!two(&config, near * 1.7, 50).0);
}

#[test]
fn under_sinr_interference_from_before_counts_until_it_ends() {
    let config = RadioConfig {
        reception: ReceptionModel::Sinr,
        ..RadioConfig::DEFAULT
    };
    // Node 2 is sensed but not decoded at node 1, 13.7 dB or more below the threshold of reception.
    for (later, strong) in [(50, true), (50, false), (200, false)] {
        let near = if strong { 100.0 } else { 250.0 };
        let mut air = with(&config, &[0.0, near, near + 400.0], None);
        air.transmit(at(10), NodeId(2), frame(9, 100)).unwrap();
        let sent = air
            .transmit(at(10 + later), NodeId(0), frame(1, 100))
            .unwrap();
        let received = air.received(sent.arrives.unwrap(), NodeId(1), sent.frame);
        assert_eq!(received, strong || later > 100, "{later} {strong}");
        conserve(&mut air);
    }
}

#[test]
fn a_radio_that_transmits_receives_nothing() {
    for (start, receives) in [(0, true), (50, false), (120, false), (250, true)] {
        let mut air = air(&[0.0, 100.0]);
        air.transmit(at(100), NodeId(1), frame(9, 50)).unwrap();
        if start < 100 {
            // A frame that began before is lost as well.
            let mut other = self::air(&[0.0, 100.0]);
            let sent = other.transmit(at(start), NodeId(0), frame(1, 100)).unwrap();
            other
                .transmit(at(start + 60), NodeId(1), frame(9, 10))
                .unwrap();
            assert!(!other.received(sent.arrives.unwrap(), NodeId(1), sent.frame));
            conserve(&mut other);
            continue;
        }
        let sent = air.transmit(at(start), NodeId(0), frame(1, 100)).unwrap();
        let got = air.received(sent.arrives.unwrap(), NodeId(1), sent.frame);
        assert_eq!(got, receives, "{start}");
        conserve(&mut air);
    }
}

#[test]
fn a_broadcast_lists_the_nodes_in_range_of_reception() {
    let mut air = air(&[0.0, 100.0, 200.0, 300.0, 900.0]);
    let sent = air
        .transmit(
            at(1),
            NodeId(1),
            Frame {
                to: None,
                ..frame(0, 10)
            },
        )
        .unwrap();
    assert_eq!(sent.arrives, None);
    let receivers = air.receivers().to_vec();
    let nodes: Vec<u32> = receivers.iter().map(|to| to.node.0).collect();
    assert_eq!(nodes, [0, 2, 3]);
    for to in receivers {
        assert!(air.received(to.end, to.node, sent.frame));
    }
    assert_eq!(air.counters().arrivals, 3);
    conserve(&mut air);
}

#[test]
fn energy_goes_by_state_and_ends() {
    let energy = EnergyConfig {
        initial: 300.0,
        transmit: 75.0,
        receive: 75.0,
        idle: 40.0,
        sleep: 1.0,
    };
    let places = [0.0, 100.0, 500.0, 2000.0];
    let second = |secs: u64| Frame {
        duration: Duration::from_secs(secs),
        to: Some(NodeId(1)),
        note: 0,
    };
    let mut air = with(&RadioConfig::DEFAULT, &places, Some(&energy));
    let sent = air.transmit(Instant::ZERO, NodeId(0), second(2)).unwrap();
    assert!(air.received(sent.arrives.unwrap(), NodeId(1), sent.frame));
    let reports: Vec<_> = (0..4)
        .map(|node| air.energy(Instant::from_secs(3), NodeId(node)).unwrap())
        .collect();
    for (report, left) in reports.iter().zip([110.0, 110.0, 110.0, 180.0]) {
        assert!((report.left - left).abs() < 1e-3, "{report:?}");
        assert_eq!(report.left + report.used, 300.0);
        let all = report.transmitting + report.receiving + report.idle + report.sleeping;
        assert_eq!(all, Duration::from_secs(3));
    }
    assert_eq!(reports[0].transmitting, Duration::from_secs(2));
    // The node at 500 m only senses the frame, and pays for it.
    assert_eq!(reports[2].receiving, Duration::from_secs(2));
    air.set_asleep(Instant::from_secs(3), NodeId(3), true);
    // 110 J last for another 1.467 s of transmission.
    let sent = air
        .transmit(Instant::from_secs(3), NodeId(0), second(2))
        .unwrap();
    assert!(!air.received(sent.arrives.unwrap(), NodeId(1), sent.frame));
    let report = air.energy(Instant::from_secs(9), NodeId(0)).unwrap();
    let died = report.died.unwrap().as_secs_f64();
    assert!((died - (3.0 + 110.0 / 75.0)).abs() < 1e-6, "{died}");
    assert_eq!(report.left, 0.0);
    assert!(!air.is_alive(Instant::from_secs(9), NodeId(0)));
    assert_eq!(
        air.transmit(Instant::from_secs(9), NodeId(0), second(1)),
        None
    );
    let sleeper = air.energy(Instant::from_secs(9), NodeId(3)).unwrap();
    assert!((sleeper.left - 174.0).abs() < 1e-9);
    conserve(&mut air);
}

#[test]
fn moving_nodes_hear_what_fixed_nodes_at_the_same_places_hear() {
    use super::super::mobility::{Area, RandomWaypointConfig};
    let streams = Streams::new(3);
    for propagation in [
        super::super::propagation::PropagationModel::TwoRay,
        super::super::propagation::PropagationModel::Shadowing,
    ] {
        let config = RadioConfig {
            propagation,
            range_multiplier: 0.5,
            ..RadioConfig::DEFAULT
        };
        let waypoints = RandomWaypointConfig::DEFAULT;
        let mobility = || Mobility::random_waypoint(Area::square(2000.0), 60, &waypoints, &streams);
        let mut moving: Air<Log> = Air::new(&config, mobility(), None, &streams);
        let mut reference = mobility();
        let mut total = 0;
        for step in 0..40 {
            let now = Instant::from_millis(step * 1_730);
            let fixed = Mobility::fixed(&reference.positions(now));
            let mut fixed: Air<Log> = Air::new(&config, fixed, None, &streams);
            for node in 0..60 {
                let expected = fixed.links(now, NodeId(node));
                total += expected.len();
                assert_eq!(moving.links(now, NodeId(node)), expected);
            }
        }
        assert!(total > 1000, "{total}");
    }
}

#[test]
fn fates_do_not_depend_on_questions() {
    let run = |questions: bool| {
        let places: Vec<f64> = (0..12).map(|node| f64::from(node * node) * 9.0).collect();
        let energy = EnergyConfig {
            initial: 0.02,
            ..EnergyConfig::DEFAULT
        };
        let mut air = with(&RadioConfig::DEFAULT, &places, Some(&energy));
        let mut rng = Streams::new(7).stream("frames");
        let mut now = at(0);
        for _ in 0..3000 {
            let next = now + crate::random::span_below(&mut rng, Duration::from_micros(60));
            let from = crate::random::below(&mut rng, 12) as u32;
            let micros = 1 + crate::random::below(&mut rng, 80);
            if questions {
                for node in 0..12 {
                    for share in 1..4 {
                        let since = next.saturating_since(now).mul_div(share, 4);
                        air.is_busy(now + since, NodeId(node));
                        air.energy(now + since, NodeId(node));
                    }
                }
            }
            air.transmit(next, NodeId(from), frame((from + 1) % 12, micros));
            now = next;
        }
        conserve(&mut air);
        let reports: Vec<_> = (0..12)
            .map(|node| air.energy(Instant::from_secs(1), NodeId(node)).unwrap())
            .collect();
        let logs: Vec<_> = (0..12)
            .map(|node| {
                let log = air.listener(Instant::from_secs(1), NodeId(node));
                (log.heard.clone(), log.garbled.clone(), log.busy.clone())
            })
            .collect();
        (air.counters().clone(), reports, logs)
    };
    let (counters, reports, logs) = run(false);
    assert_eq!((counters.clone(), reports.clone(), logs), run(true));
    for fate in ALL {
        assert!(counters.of(fate) > 10, "{fate:?} {counters:?}");
    }
    assert!(reports.iter().any(|report| report.died.is_some()));
}

/// How the radios come to know of signals.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Way {
    /// One by one: a battery that nothing drains sends every signal the general way.
    General,
    /// From notes of their own.
    Notes,
    /// From the log.
    Log,
}

/// Runs of many frames over 40 nodes, of which each reaches some. Nodes sleep at times.
fn run(
    config: &RadioConfig,
    way: Way,
    questions: u64,
    seed: u64,
) -> (AirCounters, Vec<Log>, usize) {
    let full = EnergyConfig {
        initial: 1.0,
        transmit: 0.0,
        receive: 0.0,
        idle: 0.0,
        sleep: 0.0,
    };
    let places: Vec<f64> = (0..40).map(|node| f64::from(node * node) * 0.7).collect();
    let mut air = with(config, &places, (way == Way::General).then_some(&full));
    assert_eq!(air.log.is_kept(), way != Way::General);
    if way == Way::Notes {
        air.log = FrameLog::default();
    }
    let mut rng = Streams::new(seed).stream("frames");
    let mut asked = Streams::new(seed).stream("questions");
    let (mut now, mut most) = (at(1), 0);
    for step in 0..4000 {
        let crowded = step % 500 < 20;
        let kinds = if crowded { 1 } else { 4 };
        let gap = match crate::random::below(&mut rng, kinds) {
            0 => Duration::ZERO,
            1 => Duration::from_nanos(crate::random::below(&mut rng, 2000)),
            2 => Duration::from_nanos(crate::random::below(&mut rng, 40_000)),
            // Often after the end of all others.
            _ => Duration::from_nanos(80_000 + crate::random::below(&mut rng, 10_000)),
        };
        now += gap;
        let from = crate::random::below(&mut rng, 40) as u32;
        let to = crate::random::below(&mut rng, 40) as u32;
        let micros = 1 + crate::random::below(&mut rng, 80);
        air.transmit(now, NodeId(from), frame(to, micros));
        if step % 10 == 0 {
            air.listener(now, NodeId(from)).is_quiet = to.is_multiple_of(2);
        }
        if step % 50 == 0 {
            air.set_asleep(now, NodeId(to), step % 100 == 0);
        }
        most = most.max(air.radios.iter().map(Radio::waiting).max().unwrap());
        for _ in 0..questions {
            air.is_busy(now, NodeId(crate::random::below(&mut asked, 40) as u32));
        }
    }
    conserve(&mut air);
    let logs = (0..40).map(|node| {
        let log = air.listener(Instant::from_secs(1000), NodeId(node));
        mem::take(log)
    });
    let logs = logs.collect();
    (air.counters().clone(), logs, most)
}

#[test]
fn signals_taken_together_have_the_fates_of_signals_taken_one_by_one() {
    let sinr = RadioConfig {
        reception: ReceptionModel::Sinr,
        // Weak signals alone are lost in it.
        noise: -74.0,
        ..RadioConfig::DEFAULT
    };
    let mut most = 0;
    for config in [RadioConfig::DEFAULT, sinr] {
        for seed in 0..20 {
            let (counters, logs, _) = run(&config, Way::General, 0, seed);
            for questions in [0, 3] {
                for way in [Way::General, Way::Notes, Way::Log] {
                    let (others, theirs, waiting) = run(&config, way, questions, seed);
                    assert_eq!(counters, others, "{seed} {questions} {way:?}");
                    assert!(logs == theirs, "{seed} {questions} {way:?}");
                    most = most.max(waiting);
                }
            }
            for fate in ALL {
                assert!(counters.of(fate) > 10, "{fate:?} {counters:?}");
            }
        }
    }
    // At one instant, more frames than usually wait: room is made.
    assert!(most > 8, "{most}");
}
