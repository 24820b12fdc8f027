//! Background traffic: the start times and sizes of its flows, and their totals.
//!
//! Each table draws from a random stream named after it, flow by flow in order of their starts.
//! The draws do not depend on events in the network. Sizes of web-like traffic follow a truncated
//! Pareto distribution, scaled to the configured mean (Scharf 2011; docs/reference/sources.md,
//! "Web traffic"). The crate `workload` has the distributions.

use engine::Component;
use measure::{Epoch, Responses, TrafficFlow, TrafficResult};
use network::Streams;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenario::{Direction, PathModel, Traffic, TrafficKind};
use units::{Bytes, Duration, Instant};
use workload::draw::{poisson_gap, spread_starts};
use workload::kinds::{BulkTraffic, DatagramTraffic, VideoTraffic, WebTraffic};
use workload::{Dialogue, Dialogues, TruncatedPareto};

/// The start of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Begin {
    pub at: Instant,
    pub size: Option<Bytes>,
    pub extra_delay: Duration,
    /// Number of flows of its table before it.
    pub turn: u64,
    /// Seed of its sender.
    pub seed: u64,
    /// What its sides write, if both do.
    pub dialogue: Option<Box<Dialogue>>,
}

/// The flows of one `[[traffic]]` table, in order.
pub struct Source<'a> {
    traffic: &'a Traffic,
    random: ChaCha8Rng,
    sizes: Option<TruncatedPareto>,
    /// Start times drawn in advance, the next one last.
    starts: Vec<Instant>,
    /// Connections in which both sides write.
    dialogues: Option<Dialogues>,
    started: usize,
    next: Option<Begin>,
    /// Its place in the calendar.
    pub component: Option<Component>,
}

impl<'a> Source<'a> {
    pub fn new(traffic: &'a Traffic, streams: &Streams) -> Self {
        let mut random = streams.stream(&format!("traffic {}", traffic.name));
        let (sizes, starts) = match traffic.kind {
            TrafficKind::Web(WebTraffic {
                mean, shape, cut, ..
            }) => {
                let (mean, cut) = (mean.get() as f64, cut.get() as f64);
                (
                    Some(TruncatedPareto::with_mean(mean, shape, cut)),
                    Vec::new(),
                )
            }
            TrafficKind::Bulk(BulkTraffic { count, spread, .. })
            | TrafficKind::Video(VideoTraffic { count, spread, .. })
            | TrafficKind::Datagrams(DatagramTraffic { count, spread, .. }) => {
                let starts = spread_starts(&mut random, traffic.start, count, spread);
                (None, starts)
            }
            TrafficKind::Exchanges(_) => (None, Vec::new()),
        };
        // The workload has a stream of its own: it draws as many numbers as it likes.
        let dialogues = match &traffic.kind {
            TrafficKind::Exchanges(plan) => {
                let stream = format!("connections {}", traffic.name);
                Some(plan.dialogues(streams.stream(&stream)))
            }
            _ => None,
        };
        let mut source = Self {
            traffic,
            dialogues,
            random,
            sizes,
            starts,
            started: 0,
            next: None,
            component: None,
        };
        source.advance(traffic.start);
        source
    }

    /// When the next flow starts.
    pub fn next_event(&self) -> Option<Instant> {
        self.next.as_ref().map(|next| next.at)
    }

    /// The next flow, if it starts by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Begin> {
        let begin = self.next.take_if(|next| next.at <= now)?;
        self.advance(begin.at);
        Some(begin)
    }

    /// Draws the flow after one that started at `last`.
    fn advance(&mut self, last: Instant) {
        let dialogue = self.dialogues.as_mut().and_then(Iterator::next);
        let (at, size) = match (&self.traffic.kind, self.sizes) {
            (TrafficKind::Web(web), Some(sizes)) => {
                let gap = poisson_gap(&mut self.random, web.arrivals_per_s);
                let size = sizes.draw(&mut self.random);
                (Some(last + gap), Some(size))
            }
            (TrafficKind::Bulk(bulk), _) => (self.starts.pop(), bulk.size),
            (TrafficKind::Exchanges(_), _) => {
                let after = |dialogue: &Dialogue| dialogue.start().saturating_since(Instant::ZERO);
                let at = dialogue.as_ref().map(after);
                (at.map(|after| self.traffic.start + after), None)
            }
            _ => (self.starts.pop(), None),
        };
        let delays = &self.traffic.extra_delays;
        let extra_delay = delays.get(self.started % delays.len().max(1));
        let seed = self.random.next_u64();
        let turn = self.started as u64;
        self.started += 1;
        self.next = at
            .filter(|&at| self.traffic.stop.is_none_or(|stop| at < stop))
            .map(|at| Begin {
                at,
                size,
                extra_delay: extra_delay.copied().unwrap_or_default(),
                turn,
                seed,
                dialogue: dialogue.map(Box::new),
            });
    }
}

/// Totals over the flows of one table.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    pub started: u64,
    pub finished: u64,
    pub rejected: u64,
    pub offered: u64,
    pub delivered: u64,
    pub segments_sent: u64,
    pub segments_lost: u64,
    pub timeouts: u64,
    /// When the last of its flows ended, or the last of its datagrams arrived.
    pub last: Instant,
    fct_nanos: u128,
    listed: Option<Vec<TrafficFlow>>,
    /// Of connections in which both sides write.
    responses: Option<Box<Responses>>,
}

impl Totals {
    /// Counts from zero; epochs are measured from the end of `warm_up` on.
    pub fn new(traffic: &Traffic, warm_up: Duration) -> Self {
        let is_exchange = matches!(traffic.kind, TrafficKind::Exchanges(_));
        let list = traffic.list_flows;
        let responses = || Box::new(Responses::new(list).since(Instant::ZERO + warm_up));
        Self {
            listed: (list && !is_exchange).then(Vec::new),
            responses: is_exchange.then(responses),
            ..Self::default()
        }
    }

    /// The next flow's index in the list, or 0 without a list.
    pub fn next_place(&self) -> u32 {
        self.listed.as_ref().map_or(0, |listed| listed.len() as u32)
    }

    /// Counts a flow that starts.
    pub fn begin(&mut self, begin: &Begin) {
        self.started += 1;
        self.offered += begin.size.map_or(0, Bytes::get);
        if let Some(listed) = &mut self.listed {
            listed.push(TrafficFlow {
                start_s: begin.at.as_secs_f64(),
                size_bytes: begin.size.map(Bytes::get),
                fct_s: None,
            });
        }
    }

    /// Counts a flow, at `place` of the list, that completed after `fct`.
    pub fn finish(&mut self, place: u32, fct: Duration) {
        self.finished += 1;
        self.fct_nanos += u128::from(fct.as_nanos());
        let listed = self.listed.as_mut();
        if let Some(flow) = listed.and_then(|listed| listed.get_mut(place as usize)) {
            flow.fct_s = Some(fct.as_secs_f64());
        }
    }

    /// Counts a request whose response is complete.
    pub fn note_epoch(&mut self, epoch: &Epoch) {
        if let Some(responses) = &mut self.responses {
            responses.add(epoch);
        }
    }

    /// Counts a connection whose SYN left at `opened`, and which was established `setup` later.
    pub fn note_setup(&mut self, opened: Instant, setup: Duration) {
        if let Some(responses) = &mut self.responses {
            responses.connection(opened, setup);
        }
    }

    /// The result at the end of a run.
    pub fn result(self, traffic: &Traffic, path: &PathModel, now: Instant) -> TrafficResult {
        let end = traffic.stop.map_or(now, |stop| stop.min(now));
        let rate = path.rate_of(traffic.direction);
        let load = |bytes: u64, end: Instant| {
            let seconds = end.saturating_since(traffic.start).as_secs_f64();
            rate.map(|rate| rate.bits_per_sec() as f64 * seconds / 8.0)
                .filter(|&capacity| capacity > 0.0)
                .map(|capacity| bytes as f64 / capacity)
        };
        let endless = matches!(
            traffic.kind,
            TrafficKind::Bulk(BulkTraffic { size: None, .. })
        );
        let offered = (!endless).then_some(self.offered);
        let connects = !matches!(traffic.kind, TrafficKind::Datagrams { .. });
        TrafficResult {
            name: traffic.name.clone(),
            kind: traffic.kind.name().to_owned(),
            direction: match traffic.direction {
                Direction::Forward => "forward",
                Direction::Reverse => "reverse",
            }
            .to_owned(),
            algorithm: connects.then(|| traffic.flow.algorithm.to_string()),
            started: self.started,
            finished: self.finished,
            rejected: self.rejected,
            bytes_offered: offered,
            bytes_delivered: self.delivered,
            fct_mean_s: (self.finished > 0 && self.responses.is_none())
                .then(|| self.fct_nanos as f64 / self.finished as f64 / 1e9),
            load_offered: offered.and_then(|offered| load(offered, end)),
            // Web-like flows continue after the last one has started, and datagrams leave queues
            // later.
            load_delivered: load(self.delivered, end.max(self.last)),
            segments_sent: self.segments_sent,
            segments_lost: self.segments_lost,
            timeouts: self.timeouts,
            flows: self.listed,
            exchanges: self.responses.map(|responses| responses.result()),
        }
    }
}
