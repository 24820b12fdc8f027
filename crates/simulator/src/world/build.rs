//! The initial state of a run: links, reverse paths, flows and background traffic.

use std::collections::BTreeMap;

use network::router::RouterSupport;
use network::{Link, LinkConfig, LossConfig, Service, Streams};
use scenario::{Application, Direction, Ends, Scenario, Traffic, TrafficKind};
use units::feedback::HOST_TTL;
use units::{Duration, Instant};

use super::turns::Turns;
use super::{FORWARD, REVERSE, World, background};
use crate::agenda::Part;
use crate::carried::{Aside, Carried};
use crate::flow::{FlowState, Placement};
use crate::flows::Flows;
use crate::links::LinkState;
use crate::routes::{Hop, Routes};
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

/// The names of the streams of the path's links.
const PATH_FORWARD: &str = "path.forward";
const PATH_REVERSE: &str = "path.reverse";

impl<'a> World<'a> {
    /// A run of `scenario` that has not started.
    pub fn new(scenario: &'a Scenario, run: u32, options: &RunOptions) -> Self {
        let seed = scenario.seed.wrapping_add(u64::from(run));
        let mut routes = Routes::default();
        // Routers stand before the forward link, and their links behind the path's in the list.
        let routers = (REVERSE + 1..).take(scenario.path.routers.len());
        let forward: Vec<u32> = routers.chain([FORWARD]).collect();
        let [forward_path, reverse_path] =
            [&forward[..], &[REVERSE]].map(|links| routes.over(links));
        let mut world = Self {
            scenario,
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
            }),
            routes,
            forward_path,
            reverse_paths: BTreeMap::from([(Duration::ZERO, reverse_path)]),
            accesses: BTreeMap::new(),
            sources: Vec::new(),
            totals: Vec::new(),
            datagrams: Vec::new(),
            ttl: HOST_TTL,
            unresolved: Vec::new(),
            memories: BTreeMap::new(),
            // Without measured flows, a run ends with its time.
            unfinished: scenario.flows.len().max(1),
            now: Instant::ZERO,
            is_plain: options.traces || options.event_loop == EventLoop::Plain,
            turns: Turns::default(),
        };
        let path = &scenario.path;
        let rngs = [PATH_FORWARD, PATH_REVERSE].map(|name| world.streams.stream(name));
        let [forward, reverse] = Link::pair([&path.forward, &path.reverse], rngs);
        world.place_link(
            forward,
            &path.forward,
            &path.router_support,
            PATH_FORWARD,
            true,
        );
        world.place_link(
            reverse,
            &path.reverse,
            &RouterSupport::None,
            PATH_REVERSE,
            true,
        );
        world.ttl -= 1;
        for router in &path.routers {
            let stream = format!("path.{}", router.link.name);
            world.add_link(&router.link, &router.router_support, &stream, true);
            world.ttl = world.ttl.wrapping_sub(1);
        }
        let exchanges = |traffic: &Traffic| matches!(traffic.kind, TrafficKind::Exchanges(_));
        if path.traffic.iter().any(exchanges) {
            for link in &mut world.links {
                link.measure_from(Instant::ZERO + path.warm_up);
            }
        }
        let mut turns = Vec::new();
        for (index, config) in scenario.flows.iter().enumerate() {
            let turn = next_turn(&mut turns, config.ends);
            let way = world.way(Direction::Forward, config.ends, turn, config.extra_delay);
            let place = Placement {
                index: index as u32,
                data: way.data,
                acks: way.acks,
                access_delay: way.access_delay,
                start: config.start,
                size: config.size,
                stop: config.duration.map(|duration| config.start + duration),
                extra_delay: config.extra_delay,
                smss: None,
            };
            let state = FlowState::new(scenario, config, place);
            world.flows.measured.push(state);
        }
        // Shorter busy periods mark no flow's capacity point.
        if let Some(shortest) = world.flows.measured.iter().map(|flow| flow.base_rtt).min() {
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

    pub(super) fn add_link(
        &mut self,
        config: &LinkConfig,
        router_support: &RouterSupport,
        stream: &str,
        traced: bool,
    ) -> u32 {
        let link = Link::new(config, self.streams.stream(stream));
        self.place_link(link, config, router_support, stream, traced)
    }

    fn place_link(
        &mut self,
        mut link: Link<Carried>,
        config: &LinkConfig,
        router_support: &RouterSupport,
        stream: &str,
        traced: bool,
    ) -> u32 {
        link.filter_acks(Carried::plain_ack);
        let index = self.links.len() as u32;
        self.parts.push(Part::Link(index));
        let rng = self.streams.stream(stream);
        let traced = traced && self.traced;
        self.links
            .push(LinkState::new(link, config, router_support, &rng, traced));
        index
    }

    /// The reverse path for an access delay of `extra_delay` in each direction. Flows with equal
    /// access delays share one delay line, which adds no queueing.
    pub(super) fn reverse_path(&mut self, extra_delay: Duration) -> Hop {
        let extra = extra_delay * 2;
        if let Some(&route) = self.reverse_paths.get(&extra) {
            return route;
        }
        let links = self.longer_reverse_path(&self.scenario.path.reverse, extra);
        let route = self.routes.over(&links);
        self.reverse_paths.insert(extra, route);
        route
    }

    /// The links of a reverse path that is `delay` longer than the path's own. If the path's own is
    /// only a delay, one delay line replaces both.
    fn longer_reverse_path(&mut self, shared: &LinkConfig, delay: Duration) -> Vec<u32> {
        let mut own = LinkConfig {
            service: Service::Unlimited,
            loss: LossConfig::None,
            jitter: None,
            delay,
            ..shared.clone()
        };
        let is_only_delay = LinkConfig {
            delay: shared.delay,
            ..own.clone()
        } == *shared;
        if is_only_delay {
            own.delay = shared.delay + delay;
        }
        let link = self.add_link(&own, &RouterSupport::None, "", false);
        if is_only_delay {
            vec![link]
        } else {
            vec![REVERSE, link]
        }
    }
}
