//! The initial state of a run: links, reverse paths, flows and background traffic.

use std::collections::BTreeMap;

use network::router::Router;
use network::{Link, LinkConfig, Streams};
use scenario::{Application, Direction, Ends, Scenario, Traffic, TrafficKind};
use units::Instant;

use super::graph::Graph;
use super::turns::Turns;
use super::{FORWARD, World, background};
use crate::agenda::Part;
use crate::carried::{Aside, Carried};
use crate::flow::{FlowState, Placement};
use crate::flows::Flows;
use crate::legs::Legs;
use crate::links::LinkState;
use crate::routes::Routes;
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

/// What a link is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// It is one of the scenario's, between two routers.
    Own,
    /// It replaces the path's reverse link for some flows.
    StandIn,
    /// It leads to a host, or only delays.
    Aside,
}

impl<'a> World<'a> {
    /// A run of `scenario` that has not started.
    pub fn new(scenario: &'a Scenario, legs: &'a Legs, run: u32, options: &RunOptions) -> Self {
        let seed = scenario.seed.wrapping_add(u64::from(run));
        let mut world = Self {
            scenario,
            legs,
            courses: BTreeMap::new(),
            run,
            seed,
            streams: Streams::new(seed),
            traced: options.traces,
            agendas: Default::default(),
            running: Vec::new(),
            parts: vec![Part::Arrivals],
            ranks: 0,
            links: Vec::new(),
            flows: Flows::new(scenario.flows.len(), background::orphans(scenario)),
            waiting: (0..scenario.flows.len() as u32).collect(),
            free: Vec::new(),
            aside: Aside::default(),
            needs_wakeups: scenario.flows.iter().any(|flow| {
                let pauses = matches!(flow.application, Application::Pausing { .. });
                pauses || flow.small_queue.is_some()
            }) || !scenario.path.proxies.is_empty(),
            radios: Vec::new(),
            routes: Routes::default(),
            graph: Graph::default(),
            cloud: None,
            accesses: BTreeMap::new(),
            sources: Vec::new(),
            totals: Vec::new(),
            datagrams: Vec::new(),
            unresolved: Vec::new(),
            memories: BTreeMap::new(),
            // Without measured flows, a run ends with its time.
            unfinished: scenario.flows.len().max(1),
            now: Instant::ZERO,
            is_plain: options.traces || options.packets || options.event_loop == EventLoop::Plain,
            turns: Turns::default(),
            packets: options
                .packets
                .then(|| vec![super::Recorded::default(); scenario.flows.len()]),
        };
        world.add_own_links();
        world.add_cloud();
        let path = &scenario.path;
        let exchanges = |traffic: &Traffic| matches!(traffic.kind, TrafficKind::Exchanges(_));
        if path.traffic.iter().any(exchanges) {
            for link in &mut world.links {
                link.measure_from(Instant::ZERO + path.warm_up);
            }
        }
        let mut turns = Vec::new();
        for (index, config) in scenario.flows.iter().enumerate() {
            let turn = next_turn(&mut turns, config.ends);
            let ends = world.drawn(config.ends, || format!("ends of flow {index}"));
            let extra = config.extra_delay;
            let (config, way) = match legs.of_flow(index) {
                None => (config, world.way(Direction::Forward, ends, turn, extra)),
                Some(course) => {
                    let ways = world.ways(course, Direction::Forward, ends, turn, extra);
                    let way = ways[0];
                    world.courses.insert(index as u32, ways);
                    (&course.there[0], way)
                }
            };
            let place = Placement {
                index: index as u32,
                data: way.data,
                acks: way.acks,
                base_rtt: way.base_rtt,
                start: config.start,
                size: config.size,
                stop: config.duration.map(|duration| config.start + duration),
                extra_delay: config.extra_delay,
                smss: None,
            };
            let state = FlowState::new(config, place);
            world.flows.measured.push(state);
        }
        world.watch_devices();
        // Shorter busy periods mark no flow's capacity point.
        let over_path = |flow: &&FlowState<'_>| world.routes.contains(flow.data, FORWARD);
        let base_rtts = world.flows.measured.iter().filter(over_path);
        if let Some(shortest) = base_rtts.map(|flow| flow.base_rtt).min() {
            world.links[FORWARD as usize]
                .link
                .keep_busy_periods(shortest);
        }
        let start = |flow: &u32| scenario.flows[*flow as usize].start;
        world
            .waiting
            .sort_by(|a, b| start(b).cmp(&start(a)).then(b.cmp(a)));
        world.add_traffic();
        world.distribute(options.event_loop);
        world
    }

    /// Adds a link, with the router in front of it.
    pub(super) fn place_link(
        &mut self,
        mut link: Link<Carried>,
        router: Option<Router>,
        role: Role,
    ) -> u32 {
        link.filter_acks(Carried::plain_ack);
        let index = self.links.len() as u32;
        self.parts.push(Part::Link(index));
        let traced = role == Role::Own && self.traced;
        let mut state = LinkState::new(link, router, traced);
        state.is_hop = role != Role::Aside;
        self.links.push(state);
        index
    }

    /// Adds a link that draws no random numbers.
    pub(super) fn add_link(&mut self, config: &LinkConfig, role: Role) -> u32 {
        let link = Link::new(config, self.streams.stream(""));
        self.place_link(link, None, role)
    }

    /// Adds a link that is only known now. It draws no random numbers.
    pub(super) fn add_late_link(&mut self, config: &LinkConfig, role: Role) -> u32 {
        let link = self.add_link(config, role);
        if self.ranks > 0 {
            self.place_parts();
        }
        link
    }
}
