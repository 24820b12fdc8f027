//! The scenarios of `slowstart compare`: the same path and seeds for each algorithm.

use congestion::Algorithm;
use tables::MAX_DURATION;
use tcp::AckPolicy;
use units::{Bytes, Duration};

use crate::error::Error;
use crate::flow::staggered;
use crate::limits::{MAX_FLOWS, MAX_INITIAL_WINDOW, MAX_RUNS, MAX_SEED, RECEIVE_BUFFER};
use crate::model::{DEFAULT_TIME_LIMIT, Ends, Flow, FlowSettings, PathModel, Scenario};

/// What to compare, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CompareOptions {
    /// How much each flow sends; either this or `duration`.
    pub size: Option<Bytes>,
    /// How long each flow sends; either this or `size`.
    pub duration: Option<Duration>,
    /// Runs for each algorithm.
    pub runs: u32,
    /// Seed of the first run.
    pub seed: u64,
    /// Initial window in segments.
    pub initial_window: u32,
    /// Whether segments are paced.
    pub pacing: bool,
    /// Largest receive window.
    pub receive_buffer: Bytes,
    /// How receivers acknowledge.
    pub ack_policy: AckPolicy,
    /// Flows of each algorithm in a run.
    pub flows: u32,
    /// Time from the start of one flow to the next.
    pub stagger: Duration,
    /// Whether all algorithms share the path in one run; otherwise each has runs of its own.
    pub together: bool,
    /// Safety limit of a run.
    pub time_limit: Duration,
}

impl Default for CompareOptions {
    fn default() -> Self {
        Self {
            size: None,
            duration: None,
            runs: 1,
            seed: 1,
            initial_window: FlowSettings::DEFAULT.initial_window,
            pacing: FlowSettings::DEFAULT.pacing,
            receive_buffer: FlowSettings::DEFAULT.receive_buffer,
            ack_policy: FlowSettings::DEFAULT.ack_policy,
            flows: 1,
            stagger: Duration::ZERO,
            together: false,
            time_limit: DEFAULT_TIME_LIMIT,
        }
    }
}

impl Scenario {
    /// One scenario for each algorithm, which differ in nothing else; a single one with `together`.
    ///
    /// # Errors
    /// One sentence: no algorithm, neither or both of size and duration, or a value out of range.
    pub fn compare(
        path: &PathModel,
        algorithms: &[Algorithm],
        options: &CompareOptions,
    ) -> Result<Vec<Self>, Error> {
        options.check().map_err(Error::new)?;
        if algorithms.is_empty() {
            return Err(Error::new("there is no algorithm to compare"));
        }
        let groups: Vec<&[Algorithm]> = if options.together {
            vec![algorithms]
        } else {
            algorithms.chunks(1).collect()
        };
        groups
            .into_iter()
            .map(|group| options.scenario(path, group).map_err(Error::new))
            .collect()
    }
}

impl CompareOptions {
    fn scenario(&self, path: &PathModel, algorithms: &[Algorithm]) -> Result<Scenario, String> {
        let mut flows = Vec::new();
        for algorithm in algorithms {
            let mut flow = Flow::new(*algorithm);
            if path.is_absent {
                flow.ends = Ends::ANY;
            }
            flow.size = self.size;
            flow.duration = self.duration;
            flow.initial_window = self.initial_window;
            flow.pacing = self.pacing;
            flow.receive_buffer = self.receive_buffer;
            flow.ack_policy = self.ack_policy;
            flow.start += path.warm_up + self.stagger * flows.len() as u64;
            flows.extend(staggered(&flow, u64::from(self.flows), self.stagger));
            if flows.len() > MAX_FLOWS as usize {
                return Err(format!("the limit is {MAX_FLOWS} flows"));
            }
        }
        if flows.len() == 1 && !self.stagger.is_zero() {
            return Err("there is only one flow: the stagger is the time to the next".to_owned());
        }
        let mut scenario = Scenario::new(path.clone(), flows);
        scenario.runs = self.runs;
        scenario.seed = self.seed;
        scenario.time_limit = self.time_limit + path.warm_up;
        if let (Some(duration), Some(last)) = (self.duration, scenario.flows.last()) {
            let end = Duration::from_nanos(last.start.as_nanos()) + duration;
            scenario.duration = Some(end);
            scenario.time_limit = scenario.time_limit.max(end);
        }
        scenario.check()?;
        Ok(scenario)
    }

    fn check(&self) -> Result<(), String> {
        match (self.size, self.duration) {
            (None, None) => {
                return Err("give a size or a duration of the transfer".to_owned());
            }
            (Some(_), Some(_)) => return Err("give a size or a duration, not both".to_owned()),
            (Some(Bytes::ZERO), None) => return Err("a transfer has at least one byte".to_owned()),
            (None, Some(Duration::ZERO)) => return Err("the duration is zero".to_owned()),
            _ => {}
        }
        let ranges = [
            ("the number of runs", u64::from(self.runs), 1, MAX_RUNS),
            ("the seed", self.seed, 0, MAX_SEED),
            (
                "the initial window in segments",
                u64::from(self.initial_window),
                1,
                MAX_INITIAL_WINDOW,
            ),
            (
                "the number of flows",
                u64::from(self.flows),
                1,
                u64::from(MAX_FLOWS),
            ),
        ];
        for (what, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!(
                    "{what} is {value}; it must be from {least} to {most}"
                ));
            }
        }
        let (least, most) = RECEIVE_BUFFER;
        if !(least..=most).contains(&self.receive_buffer) {
            return Err(format!(
                "the receive buffer is {}; it has to be from {least} to {most}",
                self.receive_buffer
            ));
        }
        let longest = self
            .time_limit
            .max(self.stagger)
            .max(self.duration.unwrap_or_default());
        if self.time_limit.is_zero() || longest > MAX_DURATION {
            return Err(format!(
                "times must be above zero, and at most {}",
                MAX_DURATION
            ));
        }
        Ok(())
    }
}
