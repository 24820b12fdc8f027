//! What starts in a run, and when: the measured flows, the flows of background traffic, and sources
//! of datagrams. It counts what background traffic does.
//!
//! It decides times and sizes alone. Its caller opens the flows and offers the packets.

use std::collections::BTreeMap;

use engine::Component;
use measure::TrafficResult;
use network::Streams;
use scenario::{FULL_PACKET, PathModel, Traffic, TrafficKind};
use units::{Bytes, Instant};
use workload::kinds::DatagramTraffic;

use crate::agenda::{LEFT, Side};
use crate::fabric::Way;
use crate::legs::{Course, Legs};
use crate::numbers::{DATAGRAMS, is_datagrams};
use crate::routes::Hop;
use crate::traffic::{Begin, Source, Totals};

/// Payload of a datagram: a full packet less the headers of IP and UDP.
pub const DATAGRAM: u32 = FULL_PACKET - 28;

/// The flows that have not started, and the background traffic of a run.
pub struct Starts<'a> {
    /// How proxies split connections.
    legs: &'a Legs,
    /// The ways of the legs of measured flows that proxies split.
    courses: BTreeMap<u32, Vec<Way>>,
    /// Measured flows that have not started, the next one last.
    waiting: Vec<(Instant, u32)>,
    /// A source and the totals of each table of traffic.
    sources: Vec<Source<'a>>,
    totals: Vec<Totals>,
    datagrams: Vec<Datagrams>,
}

/// A source of datagrams.
#[derive(Debug)]
struct Datagrams {
    table: u32,
    route: Hop,
    /// Its place in the calendar of its side.
    component: Component,
    side: Side,
    /// The start, counted with the first packet.
    begins: Option<Begin>,
    /// When the next packet leaves.
    next: Instant,
    /// When the next pause starts.
    pauses: Instant,
}

/// A datagram that leaves its source now, and the place of the source in a calendar.
pub struct Datagram {
    /// The number of its source, which the packet carries.
    pub flow: u32,
    pub route: Hop,
    pub side: Side,
    pub component: Component,
    /// When the next one leaves.
    pub next: Option<Instant>,
}

impl<'a> Starts<'a> {
    /// The start of measured flows at the times `starts`, in the order of their numbers.
    pub fn new(legs: &'a Legs, starts: impl Iterator<Item = Instant>) -> Self {
        let mut waiting: Vec<(Instant, u32)> = starts.zip(0..).collect();
        waiting.sort_by(|a, b| b.cmp(a));
        Self {
            legs,
            courses: BTreeMap::new(),
            waiting,
            sources: Vec::new(),
            totals: Vec::new(),
            datagrams: Vec::new(),
        }
    }

    /// How proxies split connections.
    pub const fn legs(&self) -> &'a Legs {
        self.legs
    }

    /// Sets the ways of the legs of a measured flow that starts later.
    pub fn set_course(&mut self, flow: u32, ways: Vec<Way>) {
        self.courses.insert(flow, ways);
    }

    /// How a measured flow that starts now is split, and the ways of its legs.
    pub fn take_course(&mut self, flow: u32) -> Option<(&'a Course, Vec<Way>)> {
        let course = self.legs.of_flow(flow as usize)?;
        Some((course, self.courses.remove(&flow)?))
    }

    /// When the next measured flow starts.
    pub fn next_flow(&self) -> Option<Instant> {
        self.waiting.last().map(|(start, _)| *start)
    }

    /// The next measured flow, if it starts by `now`.
    pub fn poll_flow(&mut self, now: Instant) -> Option<u32> {
        self.waiting
            .pop_if(|(start, _)| *start <= now)
            .map(|(_, flow)| flow)
    }

    /// Adds the next table of traffic. Returns the starts of its sources of datagrams, if it has
    /// any.
    pub fn add_table(
        &mut self,
        traffic: &'a Traffic,
        path: &PathModel,
        streams: &Streams,
    ) -> Vec<Begin> {
        let mut source = Source::new(traffic, streams);
        self.totals.push(Totals::new(traffic, path.warm_up));
        let mut datagrams = Vec::new();
        if matches!(traffic.kind, TrafficKind::Datagrams { .. }) {
            datagrams.extend(std::iter::from_fn(|| source.poll(Instant::MAX)));
        }
        self.sources.push(source);
        datagrams
    }

    /// The counts of a table of traffic.
    pub fn totals(&mut self, table: u32) -> &mut Totals {
        &mut self.totals[table as usize]
    }

    /// The next flow of a table of traffic, if it starts by `now`.
    pub fn poll(&mut self, table: u32, now: Instant) -> Option<Begin> {
        self.sources[table as usize].poll(now)
    }

    /// When the next flow of a table starts.
    pub fn next_of(&self, table: u32) -> Option<Instant> {
        self.sources[table as usize].next_event()
    }

    /// The place of a table's source in the calendar.
    pub fn component_of(&self, table: u32) -> Option<Component> {
        self.sources[table as usize].component
    }

    /// Gives a table's source its place in the calendar. Returns when it acts first.
    pub fn place_source(&mut self, table: u32, component: Component) -> Option<Instant> {
        self.sources[table as usize].component = Some(component);
        self.next_of(table)
    }

    /// Adds a source of datagrams of a table, which take `route`. Returns its index.
    pub fn add_datagrams(&mut self, table: u32, route: Hop, begin: Begin) -> u32 {
        self.datagrams.push(Datagrams {
            table,
            route,
            component: Component::default(),
            side: LEFT,
            next: begin.at,
            pauses: begin.at,
            begins: Some(begin),
        });
        self.datagrams.len() as u32 - 1
    }

    /// The table of a source of datagrams.
    pub fn table_of_datagrams(&self, index: u32) -> u32 {
        self.datagrams[index as usize].table
    }

    /// Gives a source of datagrams its place in the calendar of a side. Returns when it acts first.
    pub fn place_datagrams(&mut self, index: u32, side: Side, component: Component) -> Instant {
        let source = &mut self.datagrams[index as usize];
        (source.side, source.component) = (side, component);
        source.next
    }

    /// A source of datagrams, whose table is `traffic`, sends one.
    pub fn send(&mut self, index: u32, traffic: &Traffic, now: Instant) -> Option<Datagram> {
        let TrafficKind::Datagrams(DatagramTraffic { rate, on, off, .. }) = traffic.kind else {
            return None;
        };
        let source = &mut self.datagrams[index as usize];
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
        Some(Datagram {
            flow: DATAGRAMS | index,
            route: source.route,
            side: source.side,
            component: source.component,
            next: Some(source.next).filter(|&next| traffic.stop.is_none_or(|stop| next < stop)),
        })
    }

    /// The counts of the table whose datagram has the number `flow`; `None` for a packet of a flow.
    pub fn totals_of_datagram(&mut self, flow: u32) -> Option<&mut Totals> {
        let source = self.datagrams.get((flow & !DATAGRAMS) as usize);
        let table = source.filter(|_| is_datagrams(flow))?.table;
        Some(self.totals(table))
    }

    /// The results of background traffic at the end of a run.
    pub fn finish(&mut self, path: &PathModel, now: Instant) -> Vec<TrafficResult> {
        let totals = std::mem::take(&mut self.totals);
        path.traffic
            .iter()
            .zip(totals)
            .map(|(traffic, totals)| totals.result(traffic, path, now))
            .collect()
    }
}
