//! Which parts of a run permit its two sides to act in turns, and by how much one side may lag.
//!
//! Each part is asked: the scenario's path names all of its fields, and each link of the fabric
//! knows what reads it. [`super::turns`] explains why the answers are right.

use scenario::{Direction, FULL_PACKET, PathModel, Place};
use units::Duration;

use super::World;
use crate::EventLoop;
use crate::fabric::{FORWARD, LinkState};

/// With fewer packets in a turn, the plain loop is faster.
const FEWEST: u64 = 8;

/// Why a run has no two sides that could act in turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tie {
    /// Links beside the path may connect its ends, or hosts at the same end.
    Links,
    /// A proxy has hosts on both sides.
    Proxies,
    /// The nodes of an ad-hoc network or constellation share one medium or one set of links.
    Cloud,
    /// Some flows end at hosts behind access links, others at the end of the path itself.
    Ends,
    /// A queue that decides at dequeue is read at past instants, by a router with explicit support
    /// or by its samples (measured where both sides of connections write). It reports its length as
    /// of its last packet, which depends on the order in which the sides act.
    Readings,
    /// Packets arrive at once, or the link shares state with the other direction (Wi-Fi, the radio
    /// of a phone that sleeps).
    Delay,
    /// A flow of another stack has hosts on both sides.
    Stacks,
    /// A turn would have few packets.
    Slowness,
}

/// What stands at the right end of the path.
enum RightEnd {
    /// The ends of all flows.
    Path,
    /// Hosts, with the shortest delay of their access links.
    Hosts(Duration),
}

/// How packets pass from one side to the other.
#[derive(Debug)]
pub(super) struct Crossing {
    /// The links from right to left, unless hosts at the right end have links of their own.
    pub back: Vec<u32>,
    /// The shortest delay of such a link.
    pub lookahead: Duration,
}

/// What parts of a path, apart from its own links, tie its two sides together.
fn tie_of(path: &PathModel) -> Option<Tie> {
    // Each field is named, so that a new part of a path is not forgotten.
    let PathModel {
        cloud,
        proxies,
        links,
        // They are links of the fabric, which are asked themselves.
        forward: _,
        reverse: _,
        router_support: _,
        routers: _,
        hosts: _,
        // Its ends are looked at with those of the measured flows.
        traffic: _,
        // Names and numbers.
        name: _,
        summary: _,
        is_absent: _,
        base_rtt: _,
        rate: _,
        bdp: _,
        buffer: _,
        nodes: _,
        warm_up: _,
    } = path;
    if !links.is_empty() {
        return Some(Tie::Links);
    }
    if !proxies.is_empty() {
        return Some(Tie::Proxies);
    }
    cloud.is_some().then_some(Tie::Cloud)
}

impl World<'_> {
    /// How packets pass from one side to the other, or what ties the sides together.
    pub(super) fn crossing(&self, wanted: EventLoop) -> Result<Crossing, Tie> {
        if let Some(tie) = tie_of(&self.scenario.path) {
            return Err(tie);
        }
        if self
            .scenario
            .flows
            .iter()
            .any(|flow| flow.stack.is_foreign())
        {
            return Err(Tie::Stacks);
        }
        let links = self.fabric.links();
        let delay = |link: u32| links[link as usize].link.shortest_delay();
        let (back, lookahead, there) = match self.right_end().ok_or(Tie::Ends)? {
            RightEnd::Hosts(delay) => (Vec::new(), delay, delay),
            RightEnd::Path => {
                let back = self.fabric.reverse_links();
                let shortest = back.iter().copied().map(delay).min();
                (back, shortest.unwrap_or_default(), delay(FORWARD))
            }
        };
        let reads = |(number, link): (u32, &LinkState)| link.is_read_late(number == FORWARD);
        if (0..).zip(links).any(reads) {
            return Err(Tie::Readings);
        }
        // Without a delay, a packet could arrive in the instant in which it leaves its sender.
        if lookahead.is_zero() || there.is_zero() {
            return Err(Tie::Delay);
        }
        if wanted != EventLoop::Turns && !self.turns_pay(lookahead) {
            return Err(Tie::Slowness);
        }
        Ok(Crossing { back, lookahead })
    }

    /// Whether enough packets fall into a turn of `lookahead`.
    fn turns_pay(&self, lookahead: Duration) -> bool {
        let rate = self.scenario.path.forward.service.mean_rate();
        let packets = rate.map_or(u64::MAX, |rate| {
            rate.bytes_in(lookahead).get() / u64::from(FULL_PACKET)
        });
        packets >= FEWEST
    }

    /// What stands at the right end of the path; `None` if flows end both at hosts and at the
    /// path's own end.
    fn right_end(&self) -> Option<RightEnd> {
        let path = &self.scenario.path;
        let measured = self.scenario.flows.iter().map(|flow| flow.ends.to);
        let background = path.traffic.iter().map(|traffic| match traffic.direction {
            Direction::Forward => traffic.flow.ends.to,
            Direction::Reverse => traffic.flow.ends.from,
        });
        let mut shortest = Duration::MAX;
        let (mut at_hosts, mut at_path) = (false, false);
        for end in measured.chain(background) {
            match end {
                None | Some(Place::Node(_) | Place::Any) => at_path = true,
                Some(Place::Hosts(table)) => {
                    at_hosts = true;
                    let hosts = &path.hosts[table as usize];
                    let least = hosts.delays.iter().min().copied().unwrap_or_default();
                    shortest = shortest.min(least);
                }
            }
        }
        match (at_hosts, at_path) {
            (true, true) => None,
            (true, false) => Some(RightEnd::Hosts(shortest)),
            (false, _) => Some(RightEnd::Path),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use scenario::Scenario;

    use super::*;
    use crate::RunOptions;
    use crate::legs::Legs;

    /// What ties the sides of a scenario together, unless they may act in turns.
    fn tie(text: &str) -> Option<Tie> {
        let scenario = Scenario::parse(text, "test.toml", Path::new(".")).expect("a scenario");
        let legs = Legs::of(&scenario);
        let options = RunOptions {
            event_loop: EventLoop::Plain,
            ..RunOptions::default()
        };
        let world = World::new(&scenario, &legs, 0, &options);
        world.crossing(EventLoop::Fastest).err()
    }

    const PATH: &str = "[path]\nrate = '50 Mbit/s'\nrtt = '100 ms'\n";
    const FLOW: &str = "[[flow]]\nalgorithm = 'cubic'\nsize = '1 MB'\n";
    const HOSTS: &str = "[[hosts]]\nname = 'clients'\nat = 'right'\ncount = 2\nrate = '1 Gbit/s'\n\
                         delay = '5 ms'\n";

    /// One scenario for each reason; the match fails to compile for a reason without one.
    fn example(tie: Tie) -> String {
        match tie {
            Tie::Links => format!(
                "{PATH}[[node]]\nname = 'far'\n[[link]]\nfrom = 'right'\nto = 'far'\n\
                 rate = '10 Mbit/s'\ndelay = '5 ms'\n{FLOW}"
            ),
            Tie::Proxies => format!(
                "{PATH}[[node]]\nname = 'right'\nproxy = {{ buffer = '1 MB' }}\n\
                 {HOSTS}{FLOW}to = 'clients'\n"
            ),
            Tie::Cloud => format!(
                "[network]\nkind = 'ideal'\nnodes = 3\nrate = '10 Mbit/s'\ndelay = '20 ms'\n\
                 {FLOW}from = 'node 0'\nto = 'node 2'\n"
            ),
            Tie::Ends => format!("{PATH}{HOSTS}{FLOW}{FLOW}to = 'clients'\n"),
            Tie::Readings => format!("{PATH}aqm = 'codel'\nrouter_support = 'xcp'\n{FLOW}"),
            Tie::Delay => format!("[path]\npreset = 'wifi-strong'\n{FLOW}"),
            Tie::Stacks => format!("{PATH}{FLOW}stack = 'quinn'\n"),
            Tie::Slowness => format!("[path]\nrate = '1 Mbit/s'\nrtt = '100 ms'\n{FLOW}"),
        }
    }

    #[test]
    fn each_reason_for_the_plain_loop_has_a_scenario() {
        let all = [
            Tie::Links,
            Tie::Proxies,
            Tie::Cloud,
            Tie::Ends,
            Tie::Readings,
            Tie::Delay,
            Tie::Stacks,
            Tie::Slowness,
        ];
        for reason in all {
            let text = example(reason);
            assert_eq!(tie(&text), Some(reason), "{text}");
        }
        for free in [
            format!("{PATH}{FLOW}"),
            format!("{PATH}aqm = 'codel'\n{FLOW}"),
            format!("{PATH}router_support = 'xcp'\n{FLOW}"),
            format!("{PATH}{HOSTS}{FLOW}to = 'clients'\n"),
        ] {
            assert_eq!(tie(&free), None, "{free}");
        }
    }
}
