//! Background traffic in the event loop: its flows start and end, and its sources send datagrams.

use congestion::PathMemory;
use engine::Component;
use measure::TrafficResult;
use network::{Ecn, Packet};
use scenario::{Direction, FULL_PACKET, Scenario, TrafficKind};
use tcp::segment::DataSegment;
use units::{Bytes, Duration, Instant};
use workload::kinds::DatagramTraffic;

use super::hosts::Way;
use super::{World, relay};
use crate::agenda::{LEFT, Part, Side};
use crate::carried::Carried;
use crate::flow::{FlowState, NOBODY, Placement};
use crate::flows::DATAGRAMS;
use crate::routes::Hop;
use crate::traffic::{Begin, Source, Totals};

/// Payload of a datagram: a full packet less the headers of IP and UDP.
const DATAGRAM: u32 = FULL_PACKET - 28;

/// A source of datagrams.
#[derive(Debug)]
pub(super) struct Datagrams {
    pub(super) table: u32,
    route: Hop,
    /// Its place in the calendar of its side.
    pub(super) component: Component,
    pub(super) side: Side,
    /// The start, counted with the first packet.
    begins: Option<Begin>,
    /// When the next packet leaves.
    pub(super) next: Instant,
    /// When the next pause starts.
    pauses: Instant,
}

impl<'a> World<'a> {
    /// Adds the sources of background traffic to the calendar.
    pub(super) fn add_traffic(&mut self) {
        for (table, traffic) in (0..).zip(&self.scenario.path.traffic) {
            let mut source = Source::new(traffic, &self.streams);
            self.totals
                .push(Totals::new(traffic, self.scenario.path.warm_up));
            if matches!(traffic.kind, TrafficKind::Datagrams { .. }) {
                while let Some(begin) = source.poll(Instant::MAX) {
                    self.add_datagrams(table, begin);
                }
            } else {
                self.parts.push(Part::Source(table));
            }
            for &delay in &traffic.extra_delays {
                self.reverse_path(delay);
            }
            self.sources.push(source);
        }
    }

    pub(super) fn way_of(&mut self, table: u32, begin: &Begin) -> Way {
        let traffic = &self.scenario.path.traffic[table as usize];
        let turn = begin.turn;
        let stream = || format!("ends of {} {turn}", traffic.name);
        let ends = self.drawn(traffic.flow.ends, stream);
        self.way(traffic.direction, ends, turn, begin.extra_delay)
    }

    /// Starts the flows that are due.
    pub(super) fn source_acts(&mut self, table: u32) {
        self.keep_order_of_flows();
        while let Some(begin) = self.sources[table as usize].poll(self.now) {
            self.begin(table, &begin);
        }
        let source = &self.sources[table as usize];
        if let Some(component) = source.component {
            let fixed = &mut self.agendas[LEFT].fixed;
            fixed.schedule(component, source.next_event());
        }
    }

    fn begin(&mut self, table: u32, begin: &Begin) {
        if let Some(dialogue) = &begin.dialogue {
            return self.begin_exchange(table, begin, dialogue);
        }
        let traffic = &self.scenario.path.traffic[table as usize];
        let legs = self.legs.of_traffic(table);
        let (config, ways) = match legs {
            None => (&traffic.flow, vec![self.way_of(table, begin)]),
            Some(course) => {
                let ends = traffic.flow.ends;
                let (turn, extra) = (begin.turn, begin.extra_delay);
                let ways = self.ways(course, traffic.direction, ends, turn, extra);
                (&course.there[0], ways)
            }
        };
        let way = ways[0];
        let web = matches!(traffic.kind, TrafficKind::Web { .. });
        let place = Placement {
            index: self.totals[table as usize].next_place(),
            data: way.data,
            acks: way.acks,
            base_rtt: way.base_rtt,
            start: begin.at,
            size: begin.size,
            stop: traffic.stop.filter(|_| !web),
            extra_delay: begin.extra_delay,
            smss: None,
        };
        let mut state = FlowState::new(config, place);
        state.source = table;
        state.reverse = traffic.direction == Direction::Reverse;
        self.turns.place_ends(&mut state);
        let Some((flow, state, pool)) = self.flows.open(state) else {
            self.totals[table as usize].rejected += 1;
            return;
        };
        // Background flows run between other hosts, so they share no path state with other flows.
        let mut memory = PathMemory::default();
        let seed = || begin.seed;
        state.start(self.now, seed, &mut memory, false, self.is_plain, pool);
        if let Some(course) = legs
            && self
                .chain(flow, &relay::behind(course, &ways), begin.seed)
                .is_none()
        {
            let _ = self.flows.close(flow);
            self.totals[table as usize].rejected += 1;
            return;
        }
        self.totals[table as usize].begin(begin);
        let component = self.component(flow);
        self.flows.get_mut(flow).component = Some(component);
        self.transmit(flow);
        self.keep_sender(flow);
    }

    /// Ends a flow of background traffic, finished or not.
    pub(super) fn finish_background(&mut self, flow: u32) {
        self.catch_up();
        let flow = self.first_leg(flow);
        let arrived = self.end_legs(flow);
        let Some((state, pool)) = self.flows.close(flow) else {
            return;
        };
        let is_complete = state.is_complete() && arrived.is_none_or(|it| it.is_complete);
        let (peer, source) = (state.peer, state.source as usize);
        state.account(self.now, arrived, &mut self.totals[source], pool);
        if let Some(component) = state.component.take() {
            self.release(component);
        }
        if peer != NOBODY && is_complete && !self.flows.is_open(peer) {
            self.totals[source].finished += 1;
        }
    }

    /// Ends all background traffic and returns its results.
    pub(super) fn finish_traffic(&mut self) -> Vec<TrafficResult> {
        for flow in self.flows.open_background() {
            self.finish_background(flow);
        }
        let path = &self.scenario.path;
        let totals = std::mem::take(&mut self.totals);
        path.traffic
            .iter()
            .zip(totals)
            .map(|(traffic, totals)| totals.result(traffic, path, self.now))
            .collect()
    }

    fn datagrams_of(&self, flow: u32) -> Option<&Datagrams> {
        let is_one = flow & DATAGRAMS == DATAGRAMS;
        let source = self.datagrams.get((flow & !DATAGRAMS) as usize);
        source.filter(|_| is_one)
    }

    fn add_datagrams(&mut self, table: u32, begin: Begin) {
        let route = self.way_of(table, &begin).data;
        let index = self.datagrams.len() as u32;
        self.parts.push(Part::Datagrams(index));
        self.datagrams.push(Datagrams {
            table,
            route,
            component: Component::default(),
            side: LEFT,
            next: begin.at,
            pauses: begin.at,
            begins: Some(begin),
        });
    }

    /// A source of datagrams sends one.
    pub(super) fn datagrams_act(&mut self, index: u32) {
        let now = self.now;
        let source = &mut self.datagrams[index as usize];
        let traffic = &self.scenario.path.traffic[source.table as usize];
        let TrafficKind::Datagrams(DatagramTraffic { rate, on, off, .. }) = traffic.kind else {
            return;
        };
        let totals = &mut self.totals[source.table as usize];
        if let Some(begin) = source.begins.take() {
            totals.begin(&begin);
            source.pauses = now + on;
        }
        totals.offered += u64::from(DATAGRAM);
        totals.segments_sent += 1;
        source.next += rate.time_for(Bytes::new(u64::from(FULL_PACKET)));
        if source.next >= source.pauses {
            source.next = source.next.max(source.pauses + off);
            source.pauses = source.next + on;
        }
        let next = Some(source.next).filter(|&next| traffic.stop.is_none_or(|stop| next < stop));
        let fixed = &mut self.agendas[source.side].fixed;
        fixed.schedule(source.component, next);
        let route = source.route;
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
            flow: DATAGRAMS | index,
            ecn: Ecn::NotEct,
            payload: Carried::data(&datagram, now, route),
        };
        self.offer(packet);
    }

    /// Counts arrived data without a flow: a datagram, or a packet that outlived its flow.
    #[cold]
    pub(super) fn note_unclaimed(&mut self, flow: u32, carried: &Carried) {
        if let Some(table) = self.datagrams_of(flow).map(|source| source.table) {
            let totals = &mut self.totals[table as usize];
            totals.delivered += u64::from(carried.data_segment().len);
            totals.last = totals.last.max(self.now);
        }
    }

    /// Counts a dropped packet without a flow.
    #[cold]
    pub(super) fn note_lost_datagram(&mut self, flow: u32) {
        if let Some(table) = self.datagrams_of(flow).map(|source| source.table) {
            self.totals[table as usize].segments_lost += 1;
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
    let place = Placement {
        index: 0,
        data: Hop(0),
        acks: Hop(0),
        base_rtt: Duration::ZERO,
        start: Instant::ZERO,
        size: None,
        stop: None,
        extra_delay: Duration::ZERO,
        smss: None,
    };
    Some(FlowState::new(flow, place))
}
