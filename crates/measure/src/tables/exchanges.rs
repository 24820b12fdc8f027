//! The tables of response times and queues.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::Table;
use crate::{ExchangeResult, ResponseClass, RunResult, Spread, TrafficResult};

/// One row per table of background traffic, run and class of response sizes; the row of all sizes
/// has no `to_bytes`.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn responses(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<(&RunResult, &TrafficResult, &ResponseClass)> = exchanges(runs)
        .flat_map(|(run, traffic, exchanges)| {
            let classes = exchanges.all.iter().chain(&exchanges.responses);
            classes.map(move |class| (run, traffic, class))
        })
        .collect();
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, ..)| &run.scenario));
    table.text("path", rows.iter().map(|(run, ..)| &run.path));
    table.number("run", rows.iter().map(|(run, ..)| run.run));
    table.text("traffic", rows.iter().map(|(_, traffic, _)| &traffic.name));
    table.maybe_text(
        "algorithm",
        rows.iter().map(|(_, traffic, _)| traffic.algorithm.clone()),
    );
    let classes = || rows.iter().map(|(.., class)| *class);
    table.count("from_bytes", classes().map(|class| Some(class.from_bytes)));
    table.count("to_bytes", classes().map(|class| class.to_bytes));
    table.count("count", classes().map(|class| Some(class.count)));
    type Times = fn(&ResponseClass) -> &Spread;
    type Statistic = fn(&Spread) -> f64;
    let times: [(&str, Times); 2] = [
        ("duration", |class| &class.duration),
        ("transfer", |class| &class.transfer),
    ];
    let statistics: [(&str, Statistic); 4] = [
        ("mean_s", |times| times.mean_s),
        ("geometric_mean_s", |times| times.geometric_mean_s),
        ("median_s", |times| times.median_s),
        ("p95_s", |times| times.p95_s),
    ];
    for (name, of) in times {
        for (statistic, value) in statistics {
            let values = classes().map(|class| Some(value(of(class))));
            table.real(&format!("{name}_{statistic}"), values);
        }
    }
    table.real(
        "think_mean_s",
        classes().map(|class| Some(class.think_mean_s)),
    );
    table.finish()
}

/// One row per epoch, table of background traffic and run, of the tables that list them.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn epochs(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let each = || {
        exchanges(runs).flat_map(|(run, traffic, exchanges)| {
            let epochs = exchanges.list.iter().flatten();
            epochs.map(move |epoch| (run, traffic, epoch))
        })
    };
    let mut table = Table::default();
    table.text("scenario", each().map(|(run, ..)| &run.scenario));
    table.text("path", each().map(|(run, ..)| &run.path));
    table.number("run", each().map(|(run, ..)| run.run));
    table.text("traffic", each().map(|(_, traffic, _)| &traffic.name));
    let epochs = || each().map(|(.., epoch)| epoch);
    table.count("connection", epochs().map(|epoch| Some(epoch.connection)));
    table.number("epoch", epochs().map(|epoch| epoch.number));
    table.real("start_s", epochs().map(|epoch| Some(epoch.start_s)));
    table.count(
        "request_bytes",
        epochs().map(|epoch| Some(epoch.request_bytes)),
    );
    table.count(
        "response_bytes",
        epochs().map(|epoch| Some(epoch.response_bytes)),
    );
    table.real("duration_s", epochs().map(|epoch| Some(epoch.duration_s)));
    table.real("think_s", epochs().map(|epoch| Some(epoch.think_s)));
    table.finish()
}

/// One row per percentile of the queue, link and run, of the links whose queue is sampled.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn queues(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let each = || {
        let links = runs
            .iter()
            .flat_map(|run| run.links.iter().map(move |link| (run, link)));
        links.flat_map(|(run, link)| {
            let queue = link.queue_distribution.iter();
            let percentiles = queue.flat_map(|queue| (0..).zip(&queue.percentiles_packets));
            percentiles.map(move |(percent, packets)| (run, link, percent, *packets))
        })
    };
    let mut table = Table::default();
    table.text("scenario", each().map(|(run, ..)| &run.scenario));
    table.text("path", each().map(|(run, ..)| &run.path));
    table.number("run", each().map(|(run, ..)| run.run));
    table.text("link", each().map(|(_, link, ..)| &link.name));
    table.number("percent", each().map(|(_, _, percent, _)| percent));
    table.count("queue_packets", each().map(|(.., packets)| Some(packets)));
    table.finish()
}

/// The tables of background traffic with connections in which both sides write.
fn exchanges(
    runs: &[RunResult],
) -> impl Iterator<Item = (&RunResult, &TrafficResult, &ExchangeResult)> {
    runs.iter().flat_map(|run| {
        let tables = run.traffic.iter();
        tables.filter_map(move |traffic| Some((run, traffic, traffic.exchanges.as_ref()?)))
    })
}

#[cfg(test)]
mod tests {
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, UInt64Type};
    use units::{Bytes, Duration, Instant};

    use super::*;
    use crate::{Epoch, LinkResult, QueueSampler, Responses, Stack};

    fn traffic(name: &str, exchanges: Option<ExchangeResult>) -> TrafficResult {
        let json = serde_json::json!({
            "name": name, "kind": "http", "direction": "forward", "algorithm": "cubic",
            "started": 2, "finished": 2, "rejected": 0, "bytes_offered": 9000,
            "bytes_delivered": 9000, "fct_mean_s": null, "load_offered": null,
            "load_delivered": null, "segments_sent": 9, "segments_lost": 0, "timeouts": 0,
            "exchanges": exchanges,
        });
        serde_json::from_value(json).expect("a traffic result")
    }

    fn run() -> RunResult {
        let mut responses = Responses::new(true);
        for (connection, bytes, millis) in [(1, 700, 60), (0, 14_600, 120)] {
            responses.add(&Epoch {
                connection,
                number: 0,
                request_bytes: Bytes::new(400),
                response_bytes: Bytes::new(bytes),
                start: Instant::from_millis(5),
                duration: Duration::from_millis(millis),
                think: Duration::from_millis(20),
            });
        }
        let mut queue = QueueSampler::new(Instant::ZERO);
        queue.observe(Instant::from_millis(3), |_| 7);
        RunResult {
            run: 3,
            seed: 4,
            stack: Stack::Simulated,
            stack_version: None,
            scenario: "halves".to_owned(),
            path: "dumbbell".to_owned(),
            end_s: 1.0,
            flows: Vec::new(),
            links: vec![LinkResult {
                name: "bottleneck".to_owned(),
                utilization: Some(0.35),
                packets: 10,
                drops: 0,
                marks: 0,
                queue_max_packets: 7,
                queue_mean_packets: 7.0,
                queue_distribution: queue.result(),
            }],
            traffic: vec![
                traffic("one-way", None),
                traffic("web", Some(responses.result())),
            ],
            network: None,
        }
    }

    #[test]
    fn a_row_per_class_the_first_of_all_sizes() {
        let batch = responses(&[run()]).expect("a table");
        let counts = batch["count"].as_primitive::<UInt64Type>();
        assert_eq!(counts.values(), &[2, 1, 1]);
        let from = batch["from_bytes"].as_primitive::<UInt64Type>();
        assert_eq!(from.values(), &[0, 500, 10_000]);
        let to = batch["to_bytes"].as_primitive::<UInt64Type>();
        let to: Vec<_> = to.iter().collect();
        assert_eq!(to, [None, Some(1000), Some(20_000)]);
        let means = batch["transfer_mean_s"].as_primitive::<Float64Type>();
        assert_eq!(means.values(), &[0.07, 0.04, 0.1]);
        assert!(
            batch["traffic"]
                .as_string::<i32>()
                .iter()
                .all(|name| name == Some("web"))
        );
        let schema = responses(&[]).expect("an empty table").schema();
        assert_eq!(schema.fields().len(), batch.num_columns());
    }

    #[test]
    fn a_row_per_epoch_and_per_percentile() {
        let batch = epochs(&[run(), run()]).expect("a table");
        let sizes = batch["response_bytes"].as_primitive::<UInt64Type>();
        assert_eq!(sizes.values(), &[14_600, 700, 14_600, 700]);
        let batch = queues(&[run()]).expect("a table");
        assert_eq!(batch.num_rows(), 101);
        let packets = batch["queue_packets"].as_primitive::<UInt64Type>();
        assert!(packets.values().iter().all(|&packets| packets == 7));
    }
}
