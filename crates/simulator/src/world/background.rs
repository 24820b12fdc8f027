//! Background traffic in the event loop: its flows start and end, and its sources send datagrams.

use congestion::PathMemory;
use measure::TrafficResult;
use network::{Ecn, Packet};
use scenario::{Direction, FULL_PACKET, Place, Scenario, Traffic, TrafficKind};
use tcp::segment::DataSegment;
use units::{Duration, Instant};

use super::{World, relay};
use crate::agenda::{LEFT, Part};
use crate::carried::Carried;
use crate::fabric::Way;
use crate::flow::{FlowState, Placement};
use crate::legs::Course;
use crate::routes::Hop;
use crate::starts::DATAGRAM;
use crate::traffic::Begin;

impl<'a> World<'a> {
    /// Adds the sources of background traffic to the calendar.
    pub(super) fn add_traffic(&mut self) {
        for (table, traffic) in (0..).zip(&self.scenario.path.traffic) {
            let path = &self.scenario.path;
            let datagrams = self.starts.add_table(traffic, path, &self.streams);
            if !matches!(traffic.kind, TrafficKind::Datagrams { .. }) {
                self.agendas.announce([Part::Source(table)]);
            }
            for begin in datagrams {
                let route = self.way_of(table, &begin).data;
                let index = self.starts.add_datagrams(table, route, begin);
                self.agendas.announce([Part::Datagrams(index)]);
            }
            for &delay in &traffic.extra_delays {
                self.fabric.reverse_path(delay);
            }
            self.place_added();
        }
    }

    /// The way of a flow of a table.
    pub(super) fn way_of(&mut self, table: u32, begin: &Begin) -> Way {
        let path = &self.scenario.path;
        let ends = path.traffic[table as usize].flow.ends;
        if ends.is_drawn() {
            return self.find_way(table, begin);
        }
        let hosts = [ends.from, ends.to].map(|place| match place {
            Some(Place::Hosts(hosts)) => path.hosts[hosts as usize].host(begin.turn),
            _ => 0,
        });
        if let Some(way) = self.known_ways.get(table, hosts, begin.extra_delay) {
            return way;
        }
        let way = self.find_way(table, begin);
        self.known_ways.note(table, hosts, begin.extra_delay, way);
        way
    }

    #[inline(never)]
    fn find_way(&mut self, table: u32, begin: &Begin) -> Way {
        let traffic = &self.scenario.path.traffic[table as usize];
        let turn = begin.turn;
        let stream = || format!("ends of {} {turn}", traffic.name);
        let ends = self.fabric.drawn(traffic.flow.ends, stream);
        let way = self
            .fabric
            .way(traffic.direction, ends, turn, begin.extra_delay);
        self.place_added();
        way
    }

    /// The ways of the legs of a connection that proxies split.
    pub(super) fn ways(&mut self, course: &Course, traffic: &Traffic, begin: &Begin) -> Vec<Way> {
        let (direction, ends) = (traffic.direction, traffic.flow.ends);
        let (turn, extra) = (begin.turn, begin.extra_delay);
        let ways = self
            .fabric
            .ways(&course.nodes, direction, ends, turn, extra);
        self.place_added();
        ways
    }

    /// Starts the flows that are due.
    pub(super) fn source_acts(&mut self, table: u32) {
        self.keep_order_of_flows();
        while let Some(mut begin) = self.starts.poll(table, self.now) {
            self.begin(table, &mut begin);
        }
        if let Some(component) = self.starts.component_of(table) {
            let fixed = &mut self.agendas[LEFT].fixed;
            fixed.schedule(component, self.starts.next_of(table));
        }
    }

    fn begin(&mut self, table: u32, begin: &mut Begin) {
        if let Some(dialogue) = begin.dialogue.take() {
            return self.begin_exchange(table, begin, *dialogue);
        }
        let traffic = &self.scenario.path.traffic[table as usize];
        let legs = self.starts.legs().of_traffic(table);
        let (config, way, ways) = match legs {
            None => (&traffic.flow, self.way_of(table, begin), Vec::new()),
            Some(course) => {
                let ways = self.ways(course, traffic, begin);
                (&course.there[0], ways[0], ways)
            }
        };
        let web = matches!(traffic.kind, TrafficKind::Web { .. });
        let mut state = FlowState::new(Placement {
            index: self.starts.totals(table).next_place(),
            source: table,
            reverse: traffic.direction == Direction::Reverse,
            size: begin.size,
            stop: traffic.stop.filter(|_| !web).unwrap_or(Instant::MAX),
            extra_delay: begin.extra_delay,
            ..Placement::new(config, way, begin.at)
        });
        self.turns.place_ends(&mut state);
        let Some((flow, state, pool)) = self.flows.open(state) else {
            self.starts.totals(table).rejected += 1;
            return;
        };
        // Background flows run between other hosts, so they share no path state with other flows.
        let mut memory = PathMemory::default();
        let seed = || begin.seed;
        state.start(self.now, seed, &mut memory, false, self.is_plain, pool);
        state.omit_measurements();
        if let Some(course) = legs
            && !self.split(flow, &relay::behind(course, &ways), begin.seed)
        {
            let _ = self.flows.close(flow);
            self.starts.totals(table).rejected += 1;
            return;
        }
        self.starts.totals(table).begin(begin);
        let component = self.component(flow);
        self.flows.get_mut(flow).enter_calendar(component);
        self.transmit(flow);
    }

    /// Ends a flow of background traffic, finished or not.
    pub(super) fn finish_background(&mut self, flow: u32) {
        self.catch_up();
        let (mut flow, mut arrived) = (flow, None);
        if self.flows.get_mut(flow).is_split() {
            let (first, behind) = self.flows.legs(flow);
            (flow, arrived) = (first, self.end_legs(&behind));
        }
        let Some((state, pool)) = self.flows.close(flow) else {
            return;
        };
        let is_complete = state.is_complete() && arrived.is_none_or(|it| it.is_complete);
        let (peer, source) = (state.peer(), state.place().source);
        state.account(self.now, arrived, self.starts.totals(source), pool);
        if let Some(component) = state.leave_calendar() {
            self.release(component);
        }
        if is_complete && peer.is_some_and(|peer| !self.flows.is_open(peer)) {
            self.starts.totals(source).finished += 1;
        }
    }

    /// Ends all background traffic and returns its results.
    pub(super) fn finish_traffic(&mut self) -> Vec<TrafficResult> {
        for flow in self.flows.open_background() {
            self.finish_background(flow);
        }
        self.starts.finish(&self.scenario.path, self.now)
    }

    /// A source of datagrams sends one.
    pub(super) fn datagrams_act(&mut self, index: u32) {
        let now = self.now;
        let table = self.starts.table_of_datagrams(index);
        let traffic = &self.scenario.path.traffic[table as usize];
        let Some(sent) = self.starts.send(index, traffic, now) else {
            return;
        };
        let fixed = &mut self.agendas[sent.side].fixed;
        fixed.schedule(sent.component, sent.next);
        let datagram = DataSegment {
            seq: 0,
            len: DATAGRAM,
            ts_val: 0,
            ts_ecr: 0,
            syn: false,
            fin: false,
            psh: false,
            cwr: false,
            retransmission: false,
        };
        let packet = Packet {
            size: FULL_PACKET,
            flow: sent.flow,
            ecn: Ecn::NotEct,
            payload: Carried::data(&datagram, now, sent.route),
        };
        self.offer(packet);
    }

    /// Counts arrived data without a flow: a datagram, or a packet that outlived its flow.
    #[cold]
    pub(super) fn note_unclaimed(&mut self, flow: u32, carried: &Carried) {
        let now = self.now;
        if let Some(totals) = self.starts.totals_of_datagram(flow) {
            totals.delivered += u64::from(carried.data_segment().len);
            totals.last = totals.last.max(now);
        }
    }

    /// Counts a dropped packet without a flow.
    #[cold]
    pub(super) fn note_lost_datagram(&mut self, flow: u32) {
        if let Some(totals) = self.starts.totals_of_datagram(flow) {
            totals.segments_lost += 1;
        }
    }
}

/// The state that receives packets of flows that have ended.
pub(super) fn orphans(scenario: &Scenario) -> Option<FlowState<'_>> {
    let path = &scenario.path;
    let flow = match path.traffic.first() {
        Some(traffic) => &traffic.flow,
        None if path.proxies.is_empty() => return None,
        None => scenario.flows.first()?,
    };
    let nowhere = Way {
        data: Hop(0),
        acks: Hop(0),
        base_rtt: Duration::ZERO,
    };
    Some(FlowState::new(Placement::new(flow, nowhere, Instant::ZERO)))
}
