//! Results and time series as Arrow record batches, one schema per table; and a file of them.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema};

use crate::{
    Characterization, FlowResult, Interval, PathAtExit, RunResult, SlowStartExitResult, Stack,
    StartupResult, SummaryRow, Traces, TrafficResult,
};

mod exchanges;
mod file;
mod networks;

pub use exchanges::{epochs, queues, responses};
pub use file::TableFile;
pub use networks::{network_drops, networks, nodes};

/// A table under construction: columns in order.
#[derive(Default)]
pub struct Table {
    fields: Vec<Field>,
    columns: Vec<ArrayRef>,
    /// The columns to make; all without it.
    wanted: Option<Vec<String>>,
}

impl Table {
    /// A table that makes only these columns. The values of others are not even read.
    #[must_use]
    pub fn with_only(wanted: Option<&[String]>) -> Self {
        Self {
            wanted: wanted.map(<[_]>::to_vec),
            ..Self::default()
        }
    }

    fn makes(&self, name: &str) -> bool {
        let wanted = self.wanted.as_ref();
        wanted.is_none_or(|wanted| wanted.iter().any(|each| each == name))
    }

    fn column(&mut self, name: &str, array: ArrayRef) {
        let nullable = array.null_count() > 0
            || matches!(array.data_type(), DataType::Float64 | DataType::UInt64);
        self.fields
            .push(Field::new(name, array.data_type().clone(), nullable));
        self.columns.push(array);
    }

    // Each method collects its values and calls one that is compiled once: an array made from the
    // iterator itself would be compiled again for each column.
    /// Appends a column of words.
    pub fn text<S: AsRef<str>>(&mut self, name: &str, values: impl Iterator<Item = S>) {
        if !self.makes(name) {
            return;
        }
        self.words(name, &values.collect::<Vec<_>>());
    }

    fn words<S: AsRef<str>>(&mut self, name: &str, values: &[S]) {
        self.column(name, Arc::new(StringArray::from_iter_values(values)));
    }

    /// Appends a column of words, with nulls.
    pub fn maybe_text(&mut self, name: &str, values: impl Iterator<Item = Option<String>>) {
        if !self.makes(name) {
            return;
        }
        self.texts(name, values.collect());
    }

    fn texts(&mut self, name: &str, values: Vec<Option<String>>) {
        self.fields.push(Field::new(name, DataType::Utf8, true));
        self.columns.push(Arc::new(StringArray::from(values)));
    }

    /// Appends a column of small numbers.
    pub fn number(&mut self, name: &str, values: impl Iterator<Item = u32>) {
        if !self.makes(name) {
            return;
        }
        self.column(
            name,
            Arc::new(UInt32Array::from(values.collect::<Vec<_>>())),
        );
    }

    /// Appends a column of counts, with nulls.
    pub fn count(&mut self, name: &str, values: impl Iterator<Item = Option<u64>>) {
        if !self.makes(name) {
            return;
        }
        self.counts(name, values.collect());
    }

    fn counts(&mut self, name: &str, values: Vec<Option<u64>>) {
        self.column(name, Arc::new(UInt64Array::from(values)));
    }

    /// Appends a column of real numbers, with nulls.
    pub fn real(&mut self, name: &str, values: impl Iterator<Item = Option<f64>>) {
        if !self.makes(name) {
            return;
        }
        self.reals(name, values.collect());
    }

    fn reals(&mut self, name: &str, values: Vec<Option<f64>>) {
        self.column(name, Arc::new(Float64Array::from(values)));
    }

    /// Appends a column of truth values.
    pub fn truth(&mut self, name: &str, values: impl Iterator<Item = bool>) {
        if !self.makes(name) {
            return;
        }
        self.truths(name, values.collect());
    }

    fn truths(&mut self, name: &str, values: Vec<bool>) {
        self.column(name, Arc::new(BooleanArray::from(values)));
    }

    /// The table.
    ///
    /// # Errors
    /// The columns have different lengths.
    pub fn finish(self) -> Result<RecordBatch, ArrowError> {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.columns)
    }
}

fn stack_name(stack: Stack) -> &'static str {
    match stack {
        Stack::Simulated => "simulated",
        Stack::Linux => "linux",
        Stack::LinuxVm => "linux-vm",
        Stack::Quinn => "quinn",
        Stack::Noq => "noq",
        Stack::Other(name) => name.as_str(),
    }
}

/// One row per flow and run, with the columns of the result document.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn flows(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<(&RunResult, &FlowResult)> = runs
        .iter()
        .flat_map(|run| run.flows.iter().map(move |flow| (run, flow)))
        .collect();
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, _)| &run.scenario));
    table.text("path", rows.iter().map(|(run, _)| &run.path));
    table.number("run", rows.iter().map(|(run, _)| run.run));
    table.count("seed", rows.iter().map(|(run, _)| Some(run.seed)));
    let stack = |(run, flow): &(&RunResult, &FlowResult)| flow.stack.unwrap_or(run.stack);
    table.text("stack", rows.iter().map(|row| stack_name(stack(row))));
    let flows = || rows.iter().map(|(_, flow)| *flow);
    table.number("flow", flows().map(|flow| flow.flow));
    table.text("name", flows().map(|flow| &flow.name));
    table.text("algorithm", flows().map(|flow| &flow.algorithm));
    table.real("start_s", flows().map(|flow| Some(flow.start_s)));
    table.count("bytes_acked", flows().map(|flow| Some(flow.bytes_acked)));
    table.truth("completed", flows().map(|flow| flow.completed));
    table.real("fct_s", flows().map(|flow| flow.fct_s));
    table.real("goodput_bps", flows().map(|flow| Some(flow.goodput_bps)));
    table.count(
        "segments_sent",
        flows().map(|flow| Some(flow.segments_sent)),
    );
    table.count(
        "segments_retransmitted",
        flows().map(|flow| Some(flow.segments_retransmitted)),
    );
    table.count(
        "segments_lost",
        flows().map(|flow| Some(flow.segments_lost)),
    );
    table.count(
        "segments_dropped",
        flows().map(|flow| flow.segments_dropped),
    );
    table.real("loss_ratio", flows().map(|flow| Some(flow.loss_ratio)));
    table.count("timeouts", flows().map(|flow| Some(flow.timeouts)));
    table.real("rtt_min_ms", flows().map(|flow| flow.rtt_min_ms));
    table.real("rtt_mean_ms", flows().map(|flow| flow.rtt_mean_ms));
    table.real("rtt_p95_ms", flows().map(|flow| flow.rtt_p95_ms));
    table.real(
        "exit_s",
        flows().map(|flow| flow.slow_start_exit.as_ref().map(|exit| exit.time_s)),
    );
    table.count(
        "exit_cwnd_bytes",
        flows().map(|flow| flow.slow_start_exit.as_ref().map(|exit| exit.cwnd_bytes)),
    );
    table.count(
        "exit_cwnd_packets",
        flows().map(|flow| {
            flow.slow_start_exit
                .as_ref()
                .and_then(|exit| exit.cwnd_packets)
        }),
    );
    table.maybe_text(
        "exit_reason",
        flows().map(|flow| {
            flow.slow_start_exit
                .as_ref()
                .map(|exit| exit.reason.to_string())
        }),
    );
    exits(&mut table, &rows);
    table.real(
        "passive_exit_s",
        flows().map(|flow| flow.passive_exit.as_ref().map(|exit| exit.time_s)),
    );
    table.count(
        "passive_exit_cwnd_bytes",
        flows().map(|flow| flow.passive_exit.as_ref().map(|exit| exit.cwnd_bytes)),
    );
    table.real("capacity_true_s", flows().map(|flow| flow.capacity.true_s));
    table.real(
        "capacity_latency_offset_s",
        flows().map(|flow| flow.capacity.latency_offset_s),
    );
    table.count(
        "capacity_median_throughput_bps",
        flows().map(|flow| flow.capacity.median_throughput_bps),
    );
    table.real("first_drop_s", flows().map(|flow| flow.first_drop_s));
    table.real("first_loss_s", flows().map(|flow| flow.first_loss_s));
    table.maybe_text(
        "exit_class",
        flows().map(|flow| flow.exit_class.map(|class| class.name().to_owned())),
    );
    startups(&mut table, &rows);
    table.finish()
}

/// The columns of the evidence for the slow-start exit.
fn exits(table: &mut Table, rows: &[(&RunResult, &FlowResult)]) {
    let exits = || rows.iter().map(|(_, flow)| flow.slow_start_exit.as_deref());
    let paths = || exits().map(|exit| exit.and_then(|exit| exit.path.as_ref()));
    table.maybe_text(
        "exit_evidence",
        exits().map(|exit| exit.map(|exit| exit.evidence.to_string())),
    );
    for (place, name) in ["exit_measured", "exit_threshold"].into_iter().enumerate() {
        let value = |exit: &SlowStartExitResult| exit.measured.map(|pair| pair[place]);
        table.real(name, exits().map(|exit| exit.and_then(value)));
    }
    let mut count = |name, value: fn(&PathAtExit) -> Option<u64>| {
        table.count(name, paths().map(|path| path.and_then(value)));
    };
    count("exit_round_trips", |path| Some(path.round_trips.into()));
    count("exit_in_flight_bytes", |path| Some(path.in_flight_bytes));
    count("exit_delivered_bps", |path| path.delivered_bps);
    count("exit_queue_packets", |path| path.queue_packets);
    count("exit_queue_bytes", |path| path.queue_bytes);
}

/// The columns of what the start-up brought.
fn startups(table: &mut Table, rows: &[(&RunResult, &FlowResult)]) {
    let startups = || rows.iter().map(|(_, flow)| flow.startup.as_ref());
    let mut count = |name, value: fn(&StartupResult) -> Option<u64>| {
        table.count(name, startups().map(|startup| startup.and_then(value)));
    };
    count("delivered_1s_bytes", |startup| startup.delivered_1s_bytes);
    count("delivered_3s_bytes", |startup| startup.delivered_3s_bytes);
    count("delivered_10s_bytes", |startup| startup.delivered_10s_bytes);
    count("overshoot_bytes", |startup| Some(startup.overshoot_bytes));
    count("startup_queue_max_packets", |startup| {
        startup.queue_max_packets
    });
    table.real(
        "near_capacity_s",
        startups().map(|startup| startup.and_then(|startup| startup.near_capacity_s)),
    );
    table.truth(
        "false_exit",
        startups().map(|startup| startup.is_some_and(|startup| startup.false_exit)),
    );
}

/// One row per link and run.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn links(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<_> = runs
        .iter()
        .flat_map(|run| run.links.iter().map(move |link| (run, link)))
        .collect();
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, _)| &run.scenario));
    table.text("path", rows.iter().map(|(run, _)| &run.path));
    table.number("run", rows.iter().map(|(run, _)| run.run));
    table.text("flows", rows.iter().map(|(run, _)| flow_names(run)));
    table.text("link", rows.iter().map(|(_, link)| &link.name));
    table.real("utilization", rows.iter().map(|(_, link)| link.utilization));
    table.count("packets", rows.iter().map(|(_, link)| Some(link.packets)));
    table.count("drops", rows.iter().map(|(_, link)| Some(link.drops)));
    table.count("marks", rows.iter().map(|(_, link)| Some(link.marks)));
    table.count(
        "queue_max_packets",
        rows.iter().map(|(_, link)| Some(link.queue_max_packets)),
    );
    table.real(
        "queue_mean_packets",
        rows.iter().map(|(_, link)| Some(link.queue_mean_packets)),
    );
    table.finish()
}

/// One row per table of background traffic and run.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn traffic(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<_> = runs
        .iter()
        .flat_map(|run| run.traffic.iter().map(move |traffic| (run, traffic)))
        .collect();
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, _)| &run.scenario));
    table.text("path", rows.iter().map(|(run, _)| &run.path));
    table.number("run", rows.iter().map(|(run, _)| run.run));
    table.text("flows", rows.iter().map(|(run, _)| flow_names(run)));
    let others = || rows.iter().map(|(_, traffic)| *traffic);
    table.text("traffic", others().map(|each| &each.name));
    table.text("kind", others().map(|each| &each.kind));
    table.text("direction", others().map(|each| &each.direction));
    table.maybe_text("algorithm", others().map(|each| each.algorithm.clone()));
    type Count = fn(&TrafficResult) -> Option<u64>;
    let counts: [(&str, Count); 8] = [
        ("started", |each| Some(each.started)),
        ("finished", |each| Some(each.finished)),
        ("rejected", |each| Some(each.rejected)),
        ("bytes_offered", |each| each.bytes_offered),
        ("bytes_delivered", |each| Some(each.bytes_delivered)),
        ("segments_sent", |each| Some(each.segments_sent)),
        ("segments_lost", |each| Some(each.segments_lost)),
        ("timeouts", |each| Some(each.timeouts)),
    ];
    for (name, count) in counts {
        table.count(name, others().map(count));
    }
    table.real("fct_mean_s", others().map(|each| each.fct_mean_s));
    table.real("load_offered", others().map(|each| each.load_offered));
    table.real("load_delivered", others().map(|each| each.load_delivered));
    table.finish()
}

/// The names of a run's flows, which tell apart the runs i of different algorithms.
fn flow_names(run: &RunResult) -> String {
    let names: Vec<&str> = run.flows.iter().map(|flow| &*flow.name).collect();
    names.join(" ")
}

/// One row per path and flow name.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn summary(rows: &[SummaryRow]) -> Result<RecordBatch, ArrowError> {
    let mut table = Table::default();
    table.text("path", rows.iter().map(|row| &row.path));
    table.text("name", rows.iter().map(|row| &row.name));
    table.text("algorithm", rows.iter().map(|row| &row.algorithm));
    table.count("runs", rows.iter().map(|row| Some(row.runs as u64)));
    table.count("flows", rows.iter().map(|row| Some(row.flows as u64)));
    table.count(
        "completed",
        rows.iter().map(|row| Some(row.completed as u64)),
    );
    type Read = fn(&SummaryRow) -> &Option<Interval>;
    let intervals: [(&str, Read); 11] = [
        ("fct_s", |row| &row.fct_s),
        ("goodput_bps", |row| &row.goodput_bps),
        ("loss_ratio", |row| &row.loss_ratio),
        ("segments_retransmitted", |row| &row.segments_retransmitted),
        ("marks", |row| &row.marks),
        ("rtt_mean_ms", |row| &row.rtt_mean_ms),
        ("exit_s", |row| &row.exit_s),
        ("exit_cwnd_bytes", |row| &row.exit_cwnd_bytes),
        ("capacity_s", |row| &row.capacity_s),
        ("latency_offset_s", |row| &row.latency_offset_s),
        ("first_loss_s", |row| &row.first_loss_s),
    ];
    for (name, interval) in intervals {
        let part = |value: fn(&Interval) -> Option<f64>| {
            rows.iter()
                .map(move |row| interval(row).as_ref().and_then(value))
        };
        table.real(&format!("{name}_median"), part(|i| Some(i.median)));
        table.real(
            &format!("{name}_ci95_low"),
            part(|i| i.ci95.map(|ci| ci[0])),
        );
        table.real(
            &format!("{name}_ci95_high"),
            part(|i| i.ci95.map(|ci| ci[1])),
        );
    }
    table.count("timeouts", rows.iter().map(|row| Some(row.timeouts)));
    table.count(
        "exit_early",
        rows.iter().map(|row| Some(row.exit_class.early)),
    );
    table.count(
        "exit_chokepoint",
        rows.iter().map(|row| Some(row.exit_class.chokepoint)),
    );
    table.count(
        "exit_late",
        rows.iter().map(|row| Some(row.exit_class.late)),
    );
    table.count(
        "exit_none",
        rows.iter().map(|row| Some(row.exit_class.none)),
    );
    table.finish()
}

/// One row per packet that left a saturated link.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn deliveries(found: &Characterization) -> Result<RecordBatch, ArrowError> {
    let each = || found.deliveries.iter();
    let names = each().flat_map(|link| link.time_s.iter().map(|_| &link.link));
    let times = each().flat_map(|link| link.time_s.iter().copied().map(Some));
    let mut table = Table::default();
    table.text("link", names);
    table.real("time_s", times);
    table.finish()
}

/// One row per probe.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn probes(found: &Characterization) -> Result<RecordBatch, ArrowError> {
    let rows = || found.probes.iter();
    let mut table = Table::default();
    table.real("time_s", rows().map(|probe| Some(probe.time_s)));
    table.real("forward_s", rows().map(|probe| probe.forward_s));
    table.real("reverse_s", rows().map(|probe| probe.reverse_s));
    table.finish()
}

/// One row per ACK, flow and run; with `wanted`, only these columns.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn flow_traces(
    traces: &[Traces],
    wanted: Option<&[String]>,
) -> Result<RecordBatch, ArrowError> {
    let all = || {
        traces
            .iter()
            .flat_map(|trace| trace.flows.iter().map(move |flow| (trace, flow)))
    };
    let each =
        || all().flat_map(|(trace, flow)| std::iter::repeat_n((trace, flow), flow.time_s.len()));
    let mut table = Table::with_only(wanted);
    table.text("scenario", each().map(|(trace, _)| &trace.scenario));
    table.text("path", each().map(|(trace, _)| &trace.path));
    table.number("run", each().map(|(trace, _)| trace.run));
    table.number("flow", each().map(|(_, flow)| flow.flow));
    table.text("name", each().map(|(_, flow)| &flow.name));
    table.text("algorithm", each().map(|(_, flow)| &flow.algorithm));
    table.real(
        "time_s",
        all().flat_map(|(_, flow)| flow.time_s.iter().copied().map(Some)),
    );
    table.count(
        "cwnd_bytes",
        all().flat_map(|(_, flow)| flow.cwnd_bytes.iter().copied().map(Some)),
    );
    table.count(
        "ssthresh_bytes",
        all().flat_map(|(_, flow)| flow.ssthresh_bytes.iter().copied()),
    );
    table.count(
        "in_flight_bytes",
        all().flat_map(|(_, flow)| flow.in_flight_bytes.iter().copied().map(Some)),
    );
    table.real(
        "rtt_ms",
        all().flat_map(|(_, flow)| flow.rtt_ms.iter().copied()),
    );
    table.count(
        "acked_bytes",
        all().flat_map(|(_, flow)| flow.acked_bytes.iter().copied().map(Some)),
    );
    table.count(
        "delivered_bytes",
        all().flat_map(|(_, flow)| flow.delivered_bytes.iter().copied().map(Some)),
    );
    table.count(
        "pacing_rate_bps",
        all().flat_map(|(_, flow)| flow.pacing_rate_bps.iter().copied()),
    );
    table.finish()
}

/// One row per packet offered to a link with a queue.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn link_traces(traces: &[Traces]) -> Result<RecordBatch, ArrowError> {
    let all = || {
        traces
            .iter()
            .flat_map(|trace| trace.links.iter().map(move |link| (trace, link)))
    };
    let each =
        || all().flat_map(|(trace, link)| std::iter::repeat_n((trace, link), link.time_s.len()));
    let mut table = Table::default();
    table.text("scenario", each().map(|(trace, _)| &trace.scenario));
    table.text("path", each().map(|(trace, _)| &trace.path));
    table.number("run", each().map(|(trace, _)| trace.run));
    table.text(
        "flows",
        each().map(|(trace, _)| {
            trace
                .flows
                .iter()
                .map(|flow| flow.name.as_str())
                .collect::<Vec<_>>()
                .join(" ")
        }),
    );
    table.text("link", each().map(|(_, link)| &link.link));
    table.real(
        "time_s",
        all().flat_map(|(_, link)| link.time_s.iter().copied().map(Some)),
    );
    table.count(
        "queue_packets",
        all().flat_map(|(_, link)| link.queue_packets.iter().copied().map(Some)),
    );
    table.count(
        "queue_bytes",
        all().flat_map(|(_, link)| link.queue_bytes.iter().copied().map(Some)),
    );
    table.count(
        "drops",
        all().flat_map(|(_, link)| link.drops.iter().copied().map(Some)),
    );
    table.count(
        "transmitted_bytes",
        all().flat_map(|(_, link)| link.transmitted_bytes.iter().copied().map(Some)),
    );
    table.finish()
}
