//! What many runs have in common, from one pass over them: [`Tally`] takes runs one at a time and
//! keeps none of them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use serde::Serialize;

use crate::summary::interval;
use crate::{
    ExitClass, FlowResult, Interval, NetworkResult, ResponseClass, RunResult, Shares, SummaryRow,
    TrafficResult,
};

/// What the tables for a reader show of many runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Overview {
    /// One row per path and flow name, over the runs that count.
    pub summary: Vec<SummaryRow>,
    /// Background traffic; empty without any.
    pub traffic: Vec<TrafficRow>,
    /// Ad-hoc networks and constellations; empty without any.
    pub networks: Vec<NetworkRow>,
    /// Which flows differ from run to run.
    pub repeats: Vec<Repeats>,
    /// Which runs ended early.
    pub paths: Vec<PathRow>,
}

/// The background traffic of one name beside the flows of the same names: sums and means over runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TrafficRow {
    /// The path's name.
    pub path: String,
    /// The name of the traffic.
    pub name: String,
    /// The names of the measured flows in the same runs.
    pub beside: Vec<String>,
    /// Runs.
    pub runs: u64,
    /// Flows that were opened.
    pub started: u64,
    /// Of these, flows whose receiver has every byte.
    pub finished: u64,
    /// Flows that were not opened because too many were open.
    pub rejected: u64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments declared lost; of datagrams, those that the network dropped.
    pub segments_lost: u64,
    /// Mean flow completion time of the finished flows; null without any.
    pub fct_mean_s: Option<f64>,
    /// Mean of `load_offered` over the runs that have it.
    pub load_offered: Option<f64>,
    /// Mean of `load_delivered` over the runs that have it.
    pub load_delivered: Option<f64>,
    /// Response times by size, the class of all sizes first; empty for one-way traffic. Medians and
    /// percentiles are means of those of the runs, weighted by their counts.
    pub responses: Vec<ResponseClass>,
}

/// The ad-hoc network or constellation of a path beside the flows of the same names: medians over
/// the runs that count.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkRow {
    /// The path's name.
    pub path: String,
    /// The names of the measured flows in the same runs.
    pub beside: Vec<String>,
    /// Runs.
    pub runs: u64,
    /// `data.throughput_bps`.
    pub throughput_bps: Option<Interval>,
    /// `data.delay_mean_ms`.
    pub delay_mean_ms: Option<Interval>,
    /// `data.delivery_ratio`.
    pub delivery_ratio: Option<Interval>,
    /// `data.drop_ratio`.
    pub drop_ratio: Option<Interval>,
    /// `energy.used_w`.
    pub energy_used_w: Option<Interval>,
}

/// The values behind the medians of a [`NetworkRow`], in its order.
const NETWORK_VALUES: [fn(&NetworkResult) -> Option<f64>; 5] = [
    |network| network.data.throughput_bps,
    |network| network.data.delay_mean_ms,
    |network| network.data.delivery_ratio,
    |network| network.data.drop_ratio,
    |network| network.energy.as_ref().map(|energy| energy.used_w),
];

/// The runs of one [`NetworkRow`].
#[derive(Default)]
struct NetworkRuns {
    path: String,
    beside: Vec<String>,
    runs: u64,
    values: [Column; NETWORK_VALUES.len()],
}

/// Whether the runs of the flows of one name on one path are alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Repeats {
    /// The path's name.
    pub path: String,
    /// The name of the flows.
    pub name: String,
    /// Runs.
    pub runs: usize,
    /// Whether every run has the results of the first.
    pub identical: bool,
}

/// The runs over one path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PathRow {
    /// The path's name.
    pub path: String,
    /// Runs.
    pub runs: usize,
    /// Of these, runs that hit their time limit before every flow was complete.
    pub stopped: usize,
}

/// The values of a flow behind the medians of its row.
const VALUES: [fn(&FlowResult) -> Option<f64>; 10] = [
    |flow| flow.fct_s,
    |flow| Some(flow.goodput_bps),
    |flow| Some(flow.loss_ratio),
    |flow| Some(flow.segments_retransmitted as f64),
    |flow| flow.rtt_mean_ms,
    |flow| exit(flow).map(|(time_s, _)| time_s),
    |flow| exit(flow).map(|(_, cwnd)| cwnd),
    |flow| flow.capacity.true_s,
    |flow| flow.capacity.latency_offset_s,
    |flow| flow.first_loss_s,
];

/// Time and window of the passive exit, or else of the slow-start exit.
fn exit(flow: &FlowResult) -> Option<(f64, f64)> {
    let exit = flow.passive_exit.as_deref();
    let exit = exit.or(flow.slow_start_exit.as_deref())?;
    Some((exit.time_s, exit.cwnd_bytes as f64))
}

/// The flows of one name on one path.
#[derive(Default)]
struct Group {
    path: String,
    name: String,
    algorithm: String,
    /// The flows of the first run, as long as every run has the same.
    first: Vec<FlowResult>,
    differ: bool,
    /// The last run that had such flows, how many of them are added, and the number of such runs.
    last: u64,
    place: usize,
    runs: usize,
    /// Of the runs that count:
    counted_runs: usize,
    flows: usize,
    completed: usize,
    timeouts: u64,
    exits: Shares,
    values: [Column; VALUES.len()],
    /// Packets that the links of each run marked.
    marks: Column,
}

/// The numbers of a column. The last are in memory; the others are blocks in the file.
#[derive(Default)]
struct Column {
    last: Vec<f64>,
    /// Offsets in the file.
    blocks: Vec<u64>,
}

/// The numbers in a block: a column takes 8 kB of memory.
const BLOCK: usize = 1024;

/// Sums for one [`TrafficRow`].
#[derive(Default)]
struct TrafficSums {
    row: TrafficRow,
    fct_s: f64,
    offered: (f64, u64),
    delivered: (f64, u64),
}

/// A pass over runs. With a file, memory does not grow with their number until the end: then one
/// column of numbers at a time is read and sorted, and the rank of an interval computed, which takes
/// 12 bytes a flow.
#[derive(Default)]
pub struct Tally {
    groups: Vec<Group>,
    /// Path, name, and the index in `groups`.
    named: BTreeMap<String, BTreeMap<String, usize>>,
    traffic: Vec<TrafficSums>,
    networks: Vec<NetworkRuns>,
    paths: Vec<PathRow>,
    added: u64,
    file: Option<File>,
}

impl Tally {
    /// A tally that writes the numbers behind its medians to an empty file that it may read again.
    #[must_use]
    pub fn with_file(file: File) -> Self {
        Self {
            file: Some(file),
            ..Self::default()
        }
    }

    /// Adds a run that was to end at `limit_s`. The summary includes it if it `counts`.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, run: &RunResult, limit_s: f64, counts: bool) -> io::Result<()> {
        self.added += 1;
        self.add_path(run, limit_s);
        for traffic in &run.traffic {
            self.add_traffic(run, traffic);
        }
        if let (Some(network), true) = (&run.network, counts) {
            self.add_network(run, network)?;
        }
        let marks: u64 = run.links.iter().map(|link| link.marks).sum();
        for flow in &run.flows {
            let place = self.group(&run.path, flow);
            let group = &mut self.groups[place];
            let opens_run = group.last != self.added;
            group.compare(flow, self.added);
            if counts {
                if opens_run {
                    group.counted_runs += 1;
                    group.marks.push(marks as f64, self.file.as_mut())?;
                }
                group.count(flow, self.file.as_mut())?;
            }
        }
        Ok(())
    }

    fn add_path(&mut self, run: &RunResult, limit_s: f64) {
        let stopped = run.end_s >= limit_s && !run.flows.iter().all(|flow| flow.completed);
        let place = self.paths.iter().rposition(|row| row.path == run.path);
        let place = place.unwrap_or_else(|| {
            self.paths.push(PathRow {
                path: run.path.clone(),
                runs: 0,
                stopped: 0,
            });
            self.paths.len() - 1
        });
        self.paths[place].runs += 1;
        self.paths[place].stopped += usize::from(stopped);
    }

    fn add_network(&mut self, run: &RunResult, network: &NetworkResult) -> io::Result<()> {
        let beside = names(run);
        let same = |row: &NetworkRuns| row.path == run.path && row.beside == beside;
        let place = self.networks.iter().rposition(same);
        let place = place.unwrap_or_else(|| {
            self.networks.push(NetworkRuns {
                path: run.path.clone(),
                beside: beside.iter().map(|&name| name.to_owned()).collect(),
                ..NetworkRuns::default()
            });
            self.networks.len() - 1
        });
        let row = &mut self.networks[place];
        row.runs += 1;
        for (column, value) in row.values.iter_mut().zip(NETWORK_VALUES) {
            if let Some(value) = value(network) {
                column.push(value, self.file.as_mut())?;
            }
        }
        Ok(())
    }

    fn add_traffic(&mut self, run: &RunResult, traffic: &TrafficResult) {
        let beside = names(run);
        let place = self.traffic.iter().rposition(|TrafficSums { row, .. }| {
            row.path == run.path && row.name == traffic.name && row.beside == beside
        });
        let place = place.unwrap_or_else(|| {
            let row = TrafficRow {
                path: run.path.clone(),
                name: traffic.name.clone(),
                beside: beside.into_iter().map(str::to_owned).collect(),
                ..TrafficRow::default()
            };
            self.traffic.push(TrafficSums {
                row,
                ..TrafficSums::default()
            });
            self.traffic.len() - 1
        });
        let sums = &mut self.traffic[place];
        sums.row.runs += 1;
        sums.row.started += traffic.started;
        sums.row.finished += traffic.finished;
        sums.row.rejected += traffic.rejected;
        sums.row.segments_sent += traffic.segments_sent;
        sums.row.segments_lost += traffic.segments_lost;
        sums.fct_s += traffic.fct_mean_s.unwrap_or(0.0) * traffic.finished as f64;
        let classes = traffic.exchanges.iter();
        for class in classes.flat_map(|found| found.all.iter().chain(&found.responses)) {
            let row = &mut sums.row.responses;
            let key = |class: &ResponseClass| (class.to_bytes.is_some(), class.from_bytes);
            match row.binary_search_by_key(&key(class), key) {
                Ok(place) => row[place].merge(class),
                Err(place) => row.insert(place, class.clone()),
            }
        }
        for (sum, load) in [
            (&mut sums.offered, traffic.load_offered),
            (&mut sums.delivered, traffic.load_delivered),
        ] {
            sum.0 += load.unwrap_or(0.0);
            sum.1 += u64::from(load.is_some());
        }
    }

    /// The index of the group that `flow` belongs to.
    fn group(&mut self, path: &str, flow: &FlowResult) -> usize {
        let known = self.named.get(path);
        if let Some(&place) = known.and_then(|names| names.get(&*flow.name)) {
            return place;
        }
        let place = self.groups.len();
        let names = self.named.entry(path.to_owned()).or_default();
        names.insert(flow.name.to_string(), place);
        self.groups.push(Group {
            path: path.to_owned(),
            name: flow.name.to_string(),
            algorithm: flow.algorithm.to_string(),
            ..Group::default()
        });
        place
    }

    /// The overview of all runs added.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn finish(mut self) -> io::Result<Overview> {
        let repeats = self.groups.iter().map(|group| Repeats {
            path: group.path.clone(),
            name: group.name.clone(),
            runs: group.runs,
            identical: !group.differ,
        });
        let repeats = repeats.collect();
        let counted = self.groups.into_iter().filter(|group| group.flows > 0);
        let summary = counted.map(|group| group.row(self.file.as_mut()));
        Ok(Overview {
            summary: summary.collect::<io::Result<_>>()?,
            traffic: self.traffic.into_iter().map(TrafficSums::row).collect(),
            networks: self
                .networks
                .into_iter()
                .map(|runs| runs.row(self.file.as_mut()))
                .collect::<io::Result<_>>()?,
            repeats,
            paths: self.paths,
        })
    }
}

/// The names of the flows of a run, each once.
fn names(run: &RunResult) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for flow in &run.flows {
        if !names.contains(&&*flow.name) {
            names.push(&flow.name);
        }
    }
    names
}

impl NetworkRuns {
    fn row(self, mut file: Option<&mut File>) -> io::Result<NetworkRow> {
        let mut intervals = Vec::with_capacity(NETWORK_VALUES.len());
        for column in self.values {
            intervals.push(column.interval(file.as_deref_mut())?);
        }
        let mut intervals = intervals.into_iter();
        let mut next = || intervals.next().flatten();
        Ok(NetworkRow {
            throughput_bps: next(),
            delay_mean_ms: next(),
            delivery_ratio: next(),
            drop_ratio: next(),
            energy_used_w: next(),
            path: self.path,
            beside: self.beside,
            runs: self.runs,
        })
    }
}

impl Group {
    /// Compares a flow of run number `run` with the flow at the same place of the first run.
    fn compare(&mut self, flow: &FlowResult, run: u64) {
        if self.last != run {
            self.last = run;
            self.place = 0;
            self.runs += 1;
        }
        if self.runs == 1 {
            self.first.push(flow.clone());
        } else if !self.differ && self.first.get(self.place) != Some(flow) {
            self.differ = true;
            self.first = Vec::new();
        }
        self.place += 1;
    }

    /// Adds a flow to the summary.
    fn count(&mut self, flow: &FlowResult, mut file: Option<&mut File>) -> io::Result<()> {
        self.flows += 1;
        self.completed += usize::from(flow.completed);
        self.timeouts += flow.timeouts;
        *match flow.exit_class {
            Some(ExitClass::Early) => &mut self.exits.early,
            Some(ExitClass::Chokepoint) => &mut self.exits.chokepoint,
            Some(ExitClass::Late) => &mut self.exits.late,
            None => &mut self.exits.none,
        } += 1;
        for (column, value) in self.values.iter_mut().zip(VALUES) {
            if let Some(value) = value(flow) {
                column.push(value, file.as_deref_mut())?;
            }
        }
        Ok(())
    }

    fn row(self, mut file: Option<&mut File>) -> io::Result<SummaryRow> {
        let mut intervals = Vec::with_capacity(VALUES.len());
        for column in self.values {
            intervals.push(column.interval(file.as_deref_mut())?);
        }
        let marks = self.marks.interval(file)?;
        // In the order of `VALUES`.
        let mut intervals = intervals.into_iter();
        let mut next = || intervals.next().flatten();
        Ok(SummaryRow {
            fct_s: next(),
            goodput_bps: next(),
            loss_ratio: next(),
            segments_retransmitted: next(),
            rtt_mean_ms: next(),
            exit_s: next(),
            exit_cwnd_bytes: next(),
            capacity_s: next(),
            latency_offset_s: next(),
            first_loss_s: next(),
            marks,
            path: self.path,
            name: self.name,
            algorithm: self.algorithm,
            runs: self.counted_runs,
            flows: self.flows,
            completed: self.completed,
            timeouts: self.timeouts,
            exit_class: self.exits,
        })
    }
}

impl Column {
    fn push(&mut self, value: f64, file: Option<&mut File>) -> io::Result<()> {
        if !value.is_finite() {
            return Ok(());
        }
        if let Some(file) = file
            && self.last.len() == BLOCK
        {
            self.blocks.push(file.seek(SeekFrom::End(0))?);
            let bytes: Vec<u8> = self.last.drain(..).flat_map(f64::to_le_bytes).collect();
            file.write_all(&bytes)?;
        }
        self.last.push(value);
        Ok(())
    }

    fn interval(self, file: Option<&mut File>) -> io::Result<Option<Interval>> {
        let mut values = self.last;
        if let Some(file) = file {
            values.reserve_exact(self.blocks.len() * BLOCK);
            let mut bytes = vec![0; BLOCK * size_of::<f64>()];
            for offset in self.blocks {
                file.seek(SeekFrom::Start(offset))?;
                file.read_exact(&mut bytes)?;
                let (numbers, _) = bytes.as_chunks();
                values.extend(numbers.iter().copied().map(f64::from_le_bytes));
            }
        }
        Ok(interval(values))
    }
}

impl TrafficSums {
    fn row(self) -> TrafficRow {
        let mean = |(sum, count)| (count > 0).then(|| sum / count as f64);
        TrafficRow {
            fct_mean_s: mean((self.fct_s, self.row.finished)),
            load_offered: mean(self.offered),
            load_delivered: mean(self.delivered),
            ..self.row
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LinkResult, Stack, median_with_interval};

    /// Three flows of two names; `number` spreads their times, and every third has none.
    fn run(path: &str, number: u32) -> RunResult {
        let time_s = |flow: u32| f64::from(number.wrapping_mul(2_654_435_761) % 10_007 + flow);
        let name = |flow: u32| ["one", "two", "one"][flow as usize].into();
        let flows = (0..3).map(|flow| FlowResult {
            fct_s: (!(number + flow).is_multiple_of(3)).then(|| time_s(flow)),
            completed: !(number + flow).is_multiple_of(3),
            timeouts: u64::from(flow),
            ..FlowResult::unopened(flow, name(flow), "cubic".into(), 0.0)
        });
        RunResult {
            run: number,
            seed: u64::from(number),
            stack: Stack::Simulated,
            stack_version: None,
            scenario: path.to_owned(),
            path: path.to_owned(),
            end_s: f64::from(number),
            flows: flows.collect(),
            links: vec![LinkResult {
                name: "bottleneck".to_owned(),
                utilization: None,
                packets: 0,
                drops: 0,
                marks: u64::from(number % 5),
                queue_max_packets: 0,
                queue_mean_packets: 0.0,
                queue_distribution: None,
            }],
            traffic: Vec::new(),
            network: None,
        }
    }

    fn scratch() -> File {
        let name = format!("slowstart-tally-{}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut options = File::options();
        options.read(true).write(true).create_new(true);
        let file = options.open(&path).expect("a new file");
        std::fs::remove_file(path).expect("it is ours");
        file
    }

    #[test]
    fn a_file_changes_nothing() {
        let (mut with, mut without) = (Tally::with_file(scratch()), Tally::default());
        for number in 0..5_000 {
            for path in ["here", "there"] {
                for tally in [&mut with, &mut without] {
                    let result = run(path, number);
                    tally
                        .add(&result, 4_990.0, number != 7)
                        .expect("it is added");
                }
            }
        }
        assert!(
            with.groups
                .iter()
                .all(|group| group.values[0].blocks.len() > 2)
        );
        let overview = with.finish().expect("it is read");
        assert_eq!(overview, without.finish().expect("there is no file"));
        assert_eq!(overview.paths[1].runs, 5_000);
        assert_eq!(overview.paths[1].stopped, 10);
    }

    #[test]
    fn rows_hold_the_medians_of_the_runs_that_count() {
        let mut tally = Tally::default();
        let runs: Vec<RunResult> = (0..100).map(|number| run("here", number)).collect();
        for each in &runs {
            tally
                .add(each, f64::INFINITY, each.run >= 40)
                .expect("it is added");
        }
        let overview = tally.finish().expect("there is no file");
        let names = overview.summary.iter().map(|row| row.name.as_str());
        assert_eq!(names.collect::<Vec<_>>(), ["one", "two"]);
        let row = &overview.summary[0];
        let flows = || {
            runs[40..]
                .iter()
                .flat_map(|run| [&run.flows[0], &run.flows[2]])
        };
        assert_eq!((row.runs, row.flows, row.timeouts), (60, 120, 120));
        assert_eq!(row.completed, flows().filter(|flow| flow.completed).count());
        assert_eq!(
            row.fct_s,
            median_with_interval(flows().filter_map(|flow| flow.fct_s))
        );
        let marks = runs[40..].iter().map(|run| run.links[0].marks as f64);
        assert_eq!(row.marks, median_with_interval(marks));
        assert_eq!(overview.summary, crate::summarize(&runs[40..]));
    }

    #[test]
    fn repeats_compare_every_flow_of_a_name() {
        let mut tally = Tally::default();
        for number in 0..4 {
            let mut result = run("here", 1);
            result.run = number;
            if number == 3 {
                result.flows[2].segments_sent += 1; // the second flow of its name
            }
            tally
                .add(&result, f64::INFINITY, true)
                .expect("it is added");
        }
        let repeats = tally.finish().expect("there is no file").repeats;
        let found: Vec<_> = repeats
            .iter()
            .map(|row| (row.runs, row.identical))
            .collect();
        assert_eq!(found, [(4, false), (4, true)]);
    }
}
