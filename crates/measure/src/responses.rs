//! Response times of connections in which both sides write.
//!
//! An epoch is a request of the initiator and the response of the acceptor (Weigle et al. 2006,
//! "Tmix", the a-b-t model). Its duration lasts from the initiator's write of the request to the
//! delivery of the last byte of the response to the initiator's application (Scharf 2011, "epoch
//! duration"). The acceptor may wait between request and response; the duration contains this wait,
//! and the transfer time does not. The handshake belongs to no epoch.
//!
//! Epochs are grouped by the size of their response: three classes per decade, which begin at 1, 2
//! and 5 times a power of ten. Memory is bounded by the number of classes unless a list of epochs is
//! requested.

use serde::{Deserialize, Serialize};
use units::{Bytes, Duration, Instant};

use crate::Histogram;

/// The smallest response outside of the first class.
const FIRST_EDGE: u64 = 100;

/// One request and its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Epoch {
    /// Number of the connection among those of its table, in order of their starts.
    pub connection: u64,
    /// Number of the epoch within its connection, from 0.
    pub number: u32,
    /// Size of the request.
    pub request_bytes: Bytes,
    /// Size of the response.
    pub response_bytes: Bytes,
    /// When the initiator's application wrote the request, since the run began.
    pub start: Instant,
    /// From `start` to the delivery of the last byte of the response.
    pub duration: Duration,
    /// The acceptor's own wait between request and response, part of `duration`.
    pub think: Duration,
}

impl Epoch {
    /// The duration without the acceptor's wait.
    #[must_use]
    pub fn transfer(&self) -> Duration {
        self.duration.saturating_sub(self.think)
    }
}

/// The epochs and handshakes of one table in one run.
#[derive(Clone, Debug)]
pub struct Responses {
    measured_from: Instant,
    connections: Times,
    all: Class,
    /// By class. [`Class::default`] has no memory of its own.
    classes: Vec<Class>,
    list: Option<Vec<EpochResult>>,
}

#[derive(Clone, Debug, Default)]
struct Class {
    duration: Times,
    transfer: Times,
    think_nanos: u128,
}

/// A histogram that also has a geometric mean.
#[derive(Clone, Debug, Default)]
struct Times {
    histogram: Histogram,
    logarithms: f64,
}

/// A time with its logarithm, which takes long.
#[derive(Clone, Copy)]
struct Logged {
    time: Duration,
    logarithm: f64,
}

impl Logged {
    fn new(time: Duration) -> Self {
        Self {
            time,
            logarithm: libm::log(time.as_nanos().max(1) as f64),
        }
    }
}

impl Times {
    fn record(&mut self, time: Logged) {
        self.histogram.record(time.time);
        self.logarithms += time.logarithm;
    }

    fn spread(&self) -> Option<Spread> {
        let seconds = |time: Duration| time.as_secs_f64();
        let histogram = &self.histogram;
        Some(Spread {
            mean_s: seconds(histogram.mean()?),
            geometric_mean_s: libm::exp(self.logarithms / histogram.count() as f64) / 1e9,
            median_s: seconds(histogram.quantile(500)?),
            p95_s: seconds(histogram.quantile(950)?),
        })
    }
}

impl Class {
    fn add(&mut self, [duration, transfer]: [Logged; 2], think: Duration) {
        self.duration.record(duration);
        self.transfer.record(transfer);
        self.think_nanos += u128::from(think.as_nanos());
    }

    fn result(&self, from: u64, to: Option<u64>) -> Option<ResponseClass> {
        let count = self.duration.histogram.count();
        Some(ResponseClass {
            from_bytes: from,
            to_bytes: to,
            count,
            duration: self.duration.spread()?,
            transfer: self.transfer.spread()?,
            think_mean_s: self.think_nanos as f64 / count as f64 / 1e9,
        })
    }
}

impl Responses {
    /// A collector, which also keeps a list of the epochs if `list` is set.
    #[must_use]
    pub fn new(list: bool) -> Self {
        Self {
            measured_from: Instant::ZERO,
            connections: Times::default(),
            all: Class::default(),
            classes: Vec::new(),
            list: list.then(Vec::new),
        }
    }

    /// Ignores epochs that start before `measured_from`, as those of a warm-up.
    #[must_use]
    pub const fn since(mut self, measured_from: Instant) -> Self {
        self.measured_from = measured_from;
        self
    }

    /// Counts an epoch that ended.
    pub fn add(&mut self, epoch: &Epoch) {
        if epoch.start < self.measured_from {
            return;
        }
        let class = class_of(epoch.response_bytes.get());
        if class >= self.classes.len() {
            self.classes.resize_with(class + 1, Class::default);
        }
        let duration = Logged::new(epoch.duration);
        let transfer = if epoch.think.is_zero() {
            duration
        } else {
            Logged::new(epoch.transfer())
        };
        for class in [&mut self.classes[class], &mut self.all] {
            class.add([duration, transfer], epoch.think);
        }
        if let Some(list) = &mut self.list {
            list.push(EpochResult {
                connection: epoch.connection,
                number: epoch.number,
                start_s: epoch.start.as_secs_f64(),
                request_bytes: epoch.request_bytes.get(),
                response_bytes: epoch.response_bytes.get(),
                duration_s: epoch.duration.as_secs_f64(),
                think_s: epoch.think.as_secs_f64(),
            });
        }
    }

    /// Counts a connection that `opened`, `setup` after the initiator's SYN left for the first time:
    /// the time until the initiator may send data.
    pub fn connection(&mut self, opened: Instant, setup: Duration) {
        if opened >= self.measured_from {
            self.connections.record(Logged::new(setup));
        }
    }

    /// The result at the end of a run. The list is in order of the connections and their epochs.
    #[must_use]
    pub fn result(self) -> ExchangeResult {
        let classes = self.classes.iter().enumerate();
        let classes = classes.filter_map(|(class, times)| {
            let from = if class == 0 { 0 } else { edge(class - 1) };
            times.result(from, Some(edge(class)))
        });
        let mut list = self.list;
        if let Some(list) = &mut list {
            list.sort_unstable_by_key(|epoch| (epoch.connection, epoch.number));
        }
        ExchangeResult {
            connections: self.connections.histogram.count(),
            setup: self.connections.spread(),
            epochs: self.all.duration.histogram.count(),
            all: self.all.result(0, None),
            responses: classes.collect(),
            list,
        }
    }
}

/// The class of a response: number k > 0 begins at `edge(k - 1)`.
fn class_of(bytes: u64) -> usize {
    let below = EDGES.iter().take_while(|&&edge| bytes >= edge);
    below.count()
}

/// All edges: the last one is beyond every size.
static EDGES: [u64; 64] = {
    let mut edges = [0; 64];
    let mut number = 0;
    while number < edges.len() {
        edges[number] = edge(number);
        number += 1;
    }
    edges
};

/// 100, 200, 500, 1000, ...; the largest is beyond every size.
const fn edge(number: usize) -> u64 {
    let Some(decade) = 10u64.checked_pow((number / 3) as u32) else {
        return u64::MAX;
    };
    match decade.checked_mul(FIRST_EDGE * [1, 2, 5][number % 3]) {
        Some(edge) => edge,
        None => u64::MAX,
    }
}

/// Mean, median and 95th percentile of times in seconds. The percentiles are at most 0.8 % too
/// high, the means are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Arithmetic mean.
    pub mean_s: f64,
    /// Geometric mean. The ratio of two geometric means over the same epochs is the geometric mean
    /// of the ratios of each epoch.
    pub geometric_mean_s: f64,
    /// Median.
    pub median_s: f64,
    /// 95th percentile.
    pub p95_s: f64,
}

/// Epochs whose responses have similar sizes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResponseClass {
    /// The smallest response of the class.
    pub from_bytes: u64,
    /// Responses of the class are smaller; null if the class has no such bound.
    pub to_bytes: Option<u64>,
    /// Number of epochs.
    pub count: u64,
    /// From the write of the request to the delivery of the last byte of the response.
    pub duration: Spread,
    /// The same without the acceptor's wait.
    pub transfer: Spread,
    /// Mean of the acceptor's waits.
    pub think_mean_s: f64,
}

impl Spread {
    /// Adds `other` with its `weight` between 0 and 1: means are exact, percentiles are averaged.
    fn mix(&mut self, other: &Self, weight: f64) {
        let mix = |one: &mut f64, other: f64| *one += weight * (other - *one);
        mix(&mut self.mean_s, other.mean_s);
        mix(&mut self.median_s, other.median_s);
        mix(&mut self.p95_s, other.p95_s);
        let (one, other) = (self.geometric_mean_s, other.geometric_mean_s);
        let logarithm = libm::log(one) * (1.0 - weight) + libm::log(other) * weight;
        self.geometric_mean_s = libm::exp(logarithm);
    }
}

impl ResponseClass {
    /// Adds the epochs of `other`, of the same class in another run. Means are exact. Median and
    /// percentile become means of both, weighted by the counts.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        if self.count == 0 {
            return;
        }
        let weight = other.count as f64 / self.count as f64;
        self.duration.mix(&other.duration, weight);
        self.transfer.mix(&other.transfer, weight);
        self.think_mean_s += weight * (other.think_mean_s - self.think_mean_s);
    }
}

/// One epoch in a list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EpochResult {
    /// Number of the connection among those of its table, in order of their starts.
    pub connection: u64,
    /// Number of the epoch within its connection, from 0.
    pub number: u32,
    /// When the initiator wrote the request, in seconds since the run began.
    pub start_s: f64,
    /// Size of the request.
    pub request_bytes: u64,
    /// Size of the response.
    pub response_bytes: u64,
    /// From the write of the request to the delivery of the last byte of the response.
    pub duration_s: f64,
    /// The acceptor's wait, part of `duration_s`.
    pub think_s: f64,
}

/// Connections in which both sides write, of one table in one run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ExchangeResult {
    /// Connections that were established in the measured time.
    pub connections: u64,
    /// Times from the first SYN to the moment from which the initiator may send data; null without
    /// connections.
    pub setup: Option<Spread>,
    /// Epochs that started in the measured time and ended.
    pub epochs: u64,
    /// All of these together; null without epochs.
    pub all: Option<ResponseClass>,
    /// The same by size of the response, in order of size. Empty classes are absent.
    pub responses: Vec<ResponseClass>,
    /// Each epoch, in order of connections, if the scenario requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub list: Option<Vec<EpochResult>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(connection: u64, number: u32, response: u64, millis: u64, think: u64) -> Epoch {
        Epoch {
            connection,
            number,
            request_bytes: Bytes::new(400),
            response_bytes: Bytes::new(response),
            start: Instant::from_millis(1000 * connection),
            duration: Duration::from_millis(millis),
            think: Duration::from_millis(think),
        }
    }

    #[test]
    fn classes_are_1_2_5_per_decade_and_include_their_lower_edge() {
        let edges: Vec<u64> = (0..8).map(edge).collect();
        assert_eq!(edges, [100, 200, 500, 1000, 2000, 5000, 10_000, 20_000]);
        for (bytes, class) in [
            (0, 0),
            (99, 0),
            (100, 1),
            (9_999, 6),
            (10_000, 7),
            (14_600, 7),
        ] {
            assert_eq!(class_of(bytes), class, "{bytes} bytes");
        }
        assert!(edge(class_of(1 << 50)) > 1 << 50);
        assert!(class_of(u64::MAX - 1) < 64);
    }

    #[test]
    fn durations_contain_the_acceptors_wait_and_transfers_do_not() {
        let mut responses = Responses::new(false);
        for (millis, think) in [(120, 20), (240, 40), (480, 80)] {
            responses.add(&epoch(0, 0, 14_600, millis, think));
        }
        responses.add(&epoch(1, 0, 700, 60, 0));
        responses.connection(Instant::ZERO, Duration::from_millis(100));
        let result = responses.result();
        assert_eq!((result.connections, result.epochs), (1, 4));
        assert_eq!(result.setup.map(|setup| setup.mean_s), Some(0.1));
        let [small, large] = &result.responses[..] else {
            panic!("two classes: {:?}", result.responses);
        };
        assert_eq!((small.from_bytes, small.to_bytes), (500, Some(1000)));
        assert_eq!((large.from_bytes, large.to_bytes), (10_000, Some(20_000)));
        assert_eq!((small.count, large.count), (1, 3));
        assert_eq!(large.duration.mean_s, 0.28);
        assert!((large.transfer.mean_s - (0.1 + 0.2 + 0.4) / 3.0).abs() < 1e-9);
        assert!((large.transfer.geometric_mean_s - 0.2).abs() < 1e-12);
        assert!((large.transfer.median_s / 0.2 - 1.0).abs() < 0.008);
        assert!((large.think_mean_s - 0.14 / 3.0).abs() < 1e-12);
        assert_eq!(result.all.map(|all| all.duration.mean_s), Some(0.225));
        assert_eq!(result.list, None);
    }

    #[test]
    fn classes_of_several_runs_merge_by_their_counts() {
        let class = |times: &[u64]| {
            let mut responses = Responses::new(false);
            for &millis in times {
                responses.add(&epoch(0, 0, 700, millis, 10));
            }
            responses.result().all.expect("epochs")
        };
        let mut merged = class(&[110, 210]);
        merged.merge(&class(&[410, 50, 90, 130]));
        let whole = class(&[110, 210, 410, 50, 90, 130]);
        assert_eq!(merged.count, 6);
        for (one, other) in [
            (merged.duration.mean_s, whole.duration.mean_s),
            (merged.transfer.mean_s, whole.transfer.mean_s),
            (
                merged.transfer.geometric_mean_s,
                whole.transfer.geometric_mean_s,
            ),
            (merged.think_mean_s, 0.01),
        ] {
            // A mean is whole nanoseconds.
            assert!((one - other).abs() < 3e-9, "{one} {other}");
        }
    }

    #[test]
    fn epochs_of_the_warm_up_do_not_count() {
        let mut responses = Responses::new(true).since(Instant::from_secs(2));
        for connection in [3, 2, 1] {
            for number in [1, 0] {
                responses.add(&epoch(connection, number, 5_000, 100, 0));
            }
        }
        responses.connection(Instant::from_secs(1), Duration::from_millis(9));
        let result = responses.result();
        assert_eq!((result.epochs, result.connections), (4, 0));
        assert_eq!(result.setup, None);
        let list = result.list.expect("it was requested");
        let order: Vec<_> = list.iter().map(|e| (e.connection, e.number)).collect();
        assert_eq!(order, [(2, 0), (2, 1), (3, 0), (3, 1)]);
        let json = serde_json::to_value(ExchangeResult::default()).expect("plain data");
        assert!(json.get("list").is_none());
    }
}
