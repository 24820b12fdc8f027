//! Background traffic: the start times and sizes of its flows, and their totals.
//!
//! Each table draws from a random stream named after it, flow by flow in order of their starts.
//! The draws do not depend on events in the network. Sizes of web-like traffic follow a truncated
//! Pareto distribution, scaled to the configured mean (Scharf 2011; docs/reference/sources.md,
//! "Web traffic").

use engine::Component;
use measure::{TrafficFlow, TrafficResult};
use network::Streams;
use rand_chacha::ChaCha8Rng;
use rand_core::RngCore;
use scenario::{Direction, PathModel, Traffic, TrafficKind};
use units::{Bytes, Duration, Instant};

/// A Pareto distribution of sizes, truncated at its upper end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TruncatedPareto {
    /// Smallest size in bytes.
    pub scale: f64,
    shape: f64,
    /// Probability of a size below the largest one in the distribution without truncation.
    mass: f64,
}

impl TruncatedPareto {
    /// The distribution of this shape, truncated at `cut`, whose mean is `mean` (below `cut`).
    pub fn with_mean(mean: f64, shape: f64, cut: f64) -> Self {
        let (mut low, mut high) = (0.0, mean);
        // The mean grows with the scale and exceeds it, so bisection between 0 and the mean works.
        loop {
            let scale = f64::midpoint(low, high);
            if scale <= low || scale >= high {
                return Self {
                    scale,
                    shape,
                    mass: 1.0 - libm::pow(scale / cut, shape),
                };
            }
            if truncated_mean(scale, shape, cut) < mean {
                low = scale;
            } else {
                high = scale;
            }
        }
    }

    /// The size below which a fraction `below` (less than one) of all sizes lies.
    pub fn quantile(&self, below: f64) -> f64 {
        self.scale / libm::pow(1.0 - below * self.mass, 1.0 / self.shape)
    }
}

fn truncated_mean(scale: f64, shape: f64, cut: f64) -> f64 {
    let logarithm = libm::log(cut / scale);
    let rest = 1.0 - shape;
    // (cut^rest - scale^rest) / rest, also for a small or zero `rest`.
    let span = if rest == 0.0 {
        logarithm
    } else {
        libm::expm1(rest * logarithm) / rest
    };
    shape * scale * span / -libm::expm1(-shape * logarithm)
}

/// The start of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Begin {
    pub at: Instant,
    pub size: Option<Bytes>,
    pub extra_delay: Duration,
    /// Number of flows of its table before it.
    pub turn: u64,
    /// Seed of its sender.
    pub seed: u64,
}

/// The flows of one `[[traffic]]` table, in order.
#[derive(Debug)]
pub struct Source<'a> {
    traffic: &'a Traffic,
    random: ChaCha8Rng,
    sizes: Option<TruncatedPareto>,
    /// Start times drawn in advance, the next one last.
    starts: Vec<Instant>,
    started: usize,
    next: Option<Begin>,
    /// Its place in the calendar.
    pub component: Option<Component>,
}

impl<'a> Source<'a> {
    pub fn new(traffic: &'a Traffic, streams: &Streams) -> Self {
        let mut random = streams.stream(&format!("traffic {}", traffic.name));
        let (sizes, starts) = match traffic.kind {
            TrafficKind::Web {
                mean, shape, cut, ..
            } => {
                let (mean, cut) = (mean.get() as f64, cut.get() as f64);
                (
                    Some(TruncatedPareto::with_mean(mean, shape, cut)),
                    Vec::new(),
                )
            }
            TrafficKind::Bulk { count, spread, .. }
            | TrafficKind::Video { count, spread, .. }
            | TrafficKind::Datagrams { count, spread, .. } => {
                let mut starts: Vec<Instant> = (0..count)
                    .map(|_| traffic.start + fraction_of(spread, unit(&mut random)))
                    .collect();
                starts.sort_unstable_by(|a, b| b.cmp(a));
                (None, starts)
            }
        };
        let mut source = Self {
            traffic,
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
        self.next.map(|next| next.at)
    }

    /// The next flow, if it starts by `now`.
    pub fn poll(&mut self, now: Instant) -> Option<Begin> {
        let begin = self.next.filter(|next| next.at <= now)?;
        self.advance(begin.at);
        Some(begin)
    }

    /// Draws the flow after one that started at `last`.
    fn advance(&mut self, last: Instant) {
        let (at, size) = match (self.traffic.kind, self.sizes) {
            (TrafficKind::Web { arrivals_per_s, .. }, Some(sizes)) => {
                let gap_s = -libm::log(1.0 - unit(&mut self.random)) / arrivals_per_s;
                let size = libm::round(sizes.quantile(unit(&mut self.random)));
                let gap = Duration::from_nanos((gap_s * 1e9) as u64);
                (Some(last + gap), Some(Bytes::new((size as u64).max(1))))
            }
            (TrafficKind::Bulk { size, .. }, _) => (self.starts.pop(), size),
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
            });
    }
}

/// Uniform in [0, 1).
fn unit(random: &mut ChaCha8Rng) -> f64 {
    (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64
}

fn fraction_of(span: Duration, fraction: f64) -> Duration {
    Duration::from_nanos((span.as_nanos() as f64 * fraction) as u64)
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
}

impl Totals {
    pub fn new(traffic: &Traffic) -> Self {
        Self {
            listed: traffic.list_flows.then(Vec::new),
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
        let endless = matches!(traffic.kind, TrafficKind::Bulk { size: None, .. });
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
            fct_mean_s: (self.finished > 0)
                .then(|| self.fct_nanos as f64 / self.finished as f64 / 1e9),
            load_offered: offered.and_then(|offered| load(offered, end)),
            // Web-like flows continue after the last one has started, and datagrams leave queues later.
            load_delivered: load(self.delivered, end.max(self.last)),
            segments_sent: self.segments_sent,
            segments_lost: self.segments_lost,
            timeouts: self.timeouts,
            flows: self.listed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_match_scharf_2011() {
        let sizes = TruncatedPareto::with_mean(14_000.0, 1.1, 1e7);
        assert!((sizes.scale - 2238.6).abs() < 0.1, "{}", sizes.scale);
        let below = |size: f64| (1.0 - libm::pow(sizes.scale / size, 1.1)) / sizes.mass;
        let near = |found: f64, expected: f64, half_a_digit: f64| {
            assert!(
                (found - expected).abs() <= half_a_digit,
                "{found}, not {expected}"
            );
        };
        near(sizes.quantile(0.5), 4203.0, 0.5);
        near(sizes.quantile(0.9), 18_100.0, 50.0);
        near(sizes.quantile(0.99), 146_000.0, 500.0);
        near(1.0 - below(10_000.0), 0.193, 0.0005);
        near(below(14_600.0), 0.873, 0.0005);
        near(sizes.quantile(0.0), sizes.scale, 1e-9);
        assert!(sizes.quantile(1.0 - f64::EPSILON) <= 1e7);
    }

    #[test]
    fn any_mean_below_the_cut_is_reached() {
        for shape in [0.1, 0.9, 1.0, 1.1, 3.0, 10.0] {
            for (mean, cut) in [(2.0, 1e15), (14e3, 1e7), (9.9e6, 1e7)] {
                let sizes = TruncatedPareto::with_mean(mean, shape, cut);
                let found = truncated_mean(sizes.scale, shape, cut);
                assert!(
                    (found / mean - 1.0).abs() < 1e-9,
                    "{shape} {mean} {cut}: {found}"
                );
                // The quantile function has the same mean, by the midpoint rule over (0, 1).
                if shape >= 3.0 {
                    let steps = 100_000;
                    let sum: f64 = (0..steps)
                        .map(|step| sizes.quantile((f64::from(step) + 0.5) / f64::from(steps)))
                        .sum();
                    let found = sum / f64::from(steps);
                    assert!(
                        (found / mean - 1.0).abs() < 1e-3,
                        "{shape} {mean} {cut}: {found}"
                    );
                }
            }
        }
    }
}
