//! The initial state of a run: links, reverse paths, flows and background traffic.

use std::collections::BTreeMap;

use network::Streams;
use scenario::{Application, Direction, Ends, Scenario, Traffic, TrafficKind};
use units::Instant;

use super::ahead::Ahead;
use super::foreign::ForeignStacks;
use super::turns::Turns;
use super::{World, background};
use crate::agenda::{Agendas, Part};
use crate::fabric::{FORWARD, Fabric};
use crate::flow::{FlowState, Placement};
use crate::flows::Flows;
use crate::legs::Legs;
use crate::recorder::Recorder;
use crate::starts::Starts;
use crate::ways::Ways;
use crate::{EventLoop, RunOptions};

/// The number of earlier flows between `ends`.
fn next_turn(turns: &mut Vec<(Ends, u64)>, ends: Ends) -> u64 {
    if let Some((_, turn)) = turns.iter_mut().find(|(other, _)| *other == ends) {
        *turn += 1;
        return *turn;
    }
    turns.push((ends, 0));
    0
}

impl<'a> World<'a> {
    /// A run of `scenario` that has not started.
    pub fn new(scenario: &'a Scenario, legs: &'a Legs, run: u32, options: &RunOptions) -> Self {
        let seed = scenario.seed.wrapping_add(u64::from(run));
        let traces_links = options.traces && !options.flows_only;
        let is_plain = options.traces || options.packets || options.event_loop == EventLoop::Plain;
        let mut world = Self {
            scenario,
            run,
            seed,
            streams: Streams::new(seed),
            agendas: Agendas::default(),
            fabric: Fabric::new(&scenario.path, Streams::new(seed), traces_links, is_plain),
            running: Vec::new(),
            flows: Flows::new(scenario.flows.len(), background::orphans(scenario)),
            free: Vec::new(),
            needs_wakeups: scenario.flows.iter().any(|flow| {
                let pauses = matches!(flow.application, Application::Pausing { .. });
                pauses || flow.small_queue.is_some()
            }) || !scenario.path.proxies.is_empty(),
            starts: Starts::new(legs, scenario.flows.iter().map(|flow| flow.start)),
            recorder: Recorder::new(options, scenario.flows.len()),
            memories: BTreeMap::new(),
            // Without measured flows, a run ends with its time.
            unfinished: scenario.flows.len().max(1),
            now: Instant::ZERO,
            ahead: Ahead::default(),
            is_plain,
            turns: Turns::default(),
            known_ways: Ways::default(),
            foreign: ForeignStacks::default(),
            watching: Vec::new(),
            watched: Vec::new(),
        };
        world.place_added();
        if world.fabric.has_cloud() {
            world.agendas.announce([Part::Cloud]);
        }
        let path = &scenario.path;
        let exchanges = |traffic: &Traffic| matches!(traffic.kind, TrafficKind::Exchanges(_));
        if path.traffic.iter().any(exchanges) {
            world.fabric.measure_from(Instant::ZERO + path.warm_up);
        }
        let mut turns = Vec::new();
        for (index, config) in scenario.flows.iter().enumerate() {
            let turn = next_turn(&mut turns, config.ends);
            let ends = world
                .fabric
                .drawn(config.ends, || format!("ends of flow {index}"));
            let extra = config.extra_delay;
            let (config, way) = match legs.of_flow(index) {
                None => {
                    let way = world.fabric.way(Direction::Forward, ends, turn, extra);
                    (config, way)
                }
                Some(course) => {
                    let ways =
                        world
                            .fabric
                            .ways(&course.nodes, Direction::Forward, ends, turn, extra);
                    let way = ways[0];
                    world.starts.set_course(index as u32, ways);
                    (&course.there[0], way)
                }
            };
            world.place_added();
            let stop = config.duration.map(|duration| config.start + duration);
            world.flows.measured.push(FlowState::new(Placement {
                index: index as u32,
                size: config.size,
                stop: stop.unwrap_or(Instant::MAX),
                extra_delay: config.extra_delay,
                ..Placement::new(config, way, config.start)
            }));
        }
        world.watch_devices();
        // Shorter busy periods mark no flow's capacity point.
        let over_path = |flow: &&FlowState<'_>| world.fabric.takes_path(flow.place().data);
        let base_rtts = world.flows.measured.iter().filter(over_path);
        if let Some(shortest) = base_rtts.map(|flow| flow.place().base_rtt).min() {
            world.fabric.link(FORWARD).link.keep_busy_periods(shortest);
        }
        world.add_traffic();
        world.distribute(options.event_loop);
        world
    }
}
