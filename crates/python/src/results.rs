//! `Result` and `Table`: the output of runs as JSON and as Arrow tables.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchIterator};
use arrow_schema::ArrowError;
use arrow_schema::ffi::FFI_ArrowSchema;
use measure::{RunResult, Tally, Traces, tables};
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use scenario::Scenario;
use serde_json::{Value, json};
use simulator::RunOutput;

use crate::VERSION;
use crate::errors;

/// The results of a batch, scenario by scenario and run by run.
#[pyclass(frozen, module = "slowstart")]
pub struct Result {
    scenarios: Vec<Arc<Scenario>>,
    /// Runs of each scenario.
    counts: Vec<usize>,
    /// The range of `all` that belongs to this result.
    range: Range<usize>,
    all: Arc<Outputs>,
}

struct Outputs {
    results: Vec<RunResult>,
    /// Empty, or one per result.
    traces: Vec<Traces>,
    /// Empty for simulations, else one per result.
    kernels: Vec<Kernel>,
}

/// The kernel runs whose time series are recorded.
#[cfg(target_os = "linux")]
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    None,
    /// One run of each scenario: the first that counts.
    First,
    All,
}

#[cfg(target_os = "linux")]
impl Keep {
    pub fn named(word: &str) -> PyResult<Self> {
        match word {
            "none" => Ok(Self::None),
            "first" => Ok(Self::First),
            "all" => Ok(Self::All),
            other => Err(errors::input(format!(
                "traces must be none, first or all, not {other}"
            ))),
        }
    }
}

/// Additional facts about a run on a kernel.
pub struct Kernel {
    /// Whether tables and statistics include it.
    pub counts: bool,
    /// Why it failed the timing self-check; empty if it passed.
    pub reasons: Vec<String>,
    /// Further fields of its entry in the result document: an object.
    pub facts: Value,
}

impl Result {
    pub fn new(scenarios: Vec<Arc<Scenario>>, counts: Vec<usize>, outputs: Vec<RunOutput>) -> Self {
        let mut results = Vec::with_capacity(outputs.len());
        let mut traces = Vec::new();
        for output in outputs {
            results.push(output.result);
            traces.extend(output.traces);
        }
        Self::of_kernel(scenarios, counts, results, traces, Vec::new())
    }

    /// The results of runs on a kernel, with one [`Kernel`] per run.
    pub fn of_kernel(
        scenarios: Vec<Arc<Scenario>>,
        counts: Vec<usize>,
        results: Vec<RunResult>,
        traces: Vec<Traces>,
        kernels: Vec<Kernel>,
    ) -> Self {
        Self {
            scenarios,
            counts,
            range: 0..results.len(),
            all: Arc::new(Outputs {
                results,
                traces,
                kernels,
            }),
        }
    }

    fn results(&self) -> &[RunResult] {
        &self.all.results[self.range.clone()]
    }

    fn kernels(&self) -> &[Kernel] {
        self.all.kernels.get(self.range.clone()).unwrap_or_default()
    }

    /// The results that tables and statistics include.
    fn counted(&self) -> Cow<'_, [RunResult]> {
        if self.kernels().iter().all(|kernel| kernel.counts) {
            return Cow::Borrowed(self.results());
        }
        let pairs = self.results().iter().zip(self.kernels());
        pairs
            .filter(|(_, kernel)| kernel.counts)
            .map(|(result, _)| result.clone())
            .collect()
    }

    fn traces(&self) -> PyResult<&[Traces]> {
        self.all
            .traces
            .get(self.range.clone())
            .ok_or_else(|| errors::input("no time series were recorded: run with traces=True"))
    }

    fn json(&self, to: impl Write) -> PyResult<()> {
        let scenario = scenarios_json(&self.scenarios)?;
        let counted = self.counted();
        if self.kernels().is_empty() {
            let document = measure::document(VERSION, scenario, self.results(), &counted);
            return serde_json::to_writer_pretty(to, &document).map_err(errors::run);
        }
        let pairs = self.results().iter().zip(self.kernels());
        let runs = pairs.map(|(result, kernel)| {
            let mut run = json!(result);
            if let (Some(run), Some(facts)) = (run.as_object_mut(), kernel.facts.as_object()) {
                run.extend(facts.clone());
                run.insert("counts".to_owned(), kernel.counts.into());
            }
            run
        });
        let document = measure::document(VERSION, scenario, runs, &counted);
        serde_json::to_writer_pretty(to, &document).map_err(errors::run)
    }
}

/// The field `scenario` of a result document. A comparison is a list of scenarios that differ by
/// path and algorithm.
pub fn scenarios_json(scenarios: &[Arc<Scenario>]) -> PyResult<Value> {
    let mut scenarios = scenarios
        .iter()
        .map(|scenario| serde_json::to_value(&**scenario))
        .collect::<std::result::Result<Vec<_>, _>>()
        .map_err(errors::run)?;
    Ok(match scenarios.len() {
        1 => scenarios.remove(0),
        _ => json!({ "scenarios": scenarios }),
    })
}

#[pymethods]
impl Result {
    /// The result document, `"format": 2`, indented by two spaces.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let mut text = Vec::new();
            self.json(&mut text)?;
            String::from_utf8(text).map_err(errors::run)
        })
    }

    /// Writes the result document to a new file, with a line end after it. The document of many
    /// runs needs no memory then.
    fn write_json(&self, py: Python<'_>, file: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let mut file = BufWriter::new(File::create_new(file).map_err(errors::run)?);
            self.json(&mut file)?;
            writeln!(file)
                .and_then(|()| file.flush())
                .map_err(errors::run)
        })
    }

    /// The number of scenarios.
    fn __len__(&self) -> usize {
        self.scenarios.len()
    }

    /// The results of the scenario at `index`, in the order in which the scenarios were given.
    fn select(&self, index: usize) -> PyResult<Self> {
        let Some(scenario) = self.scenarios.get(index) else {
            return Err(PyIndexError::new_err(format!(
                "index out of range: the result has {} scenarios",
                self.scenarios.len()
            )));
        };
        let begin = self.range.start + self.counts[..index].iter().sum::<usize>();
        Ok(Self {
            scenarios: vec![Arc::clone(scenario)],
            counts: vec![self.counts[index]],
            range: begin..begin + self.counts[index],
            all: Arc::clone(&self.all),
        })
    }

    /// One row per flow and run.
    fn flows(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::flows(&self.counted())))
    }

    /// One row per link and run.
    fn links(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::links(&self.counted())))
    }

    /// One row per table of background traffic and run; no rows without background traffic.
    fn traffic(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::traffic(&self.counted())))
    }

    /// One row per class of response sizes, table of background traffic and run; no rows without
    /// connections in which both sides write.
    fn responses(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::responses(&self.counted())))
    }

    /// One row per epoch of the tables of background traffic that list them, and run.
    fn epochs(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::epochs(&self.counted())))
    }

    /// One row per percentile of the queue, link and run; no rows unless requested.
    fn queues(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::queues(&self.counted())))
    }

    /// One row per run over an ad-hoc network or a constellation; no rows without one.
    fn networks(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::networks(&self.counted())))
    }

    /// One row per cause for which such a network lost packets, and run.
    fn network_drops(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::network_drops(&self.counted())))
    }

    /// One row per node of such a network and run.
    fn nodes(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::nodes(&self.counted())))
    }

    /// One row per path and flow name: medians with 95 % intervals.
    fn summary(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::summary(&measure::summarize(&self.counted()))))
    }

    /// What the tables in a terminal show, as JSON (`measure::Overview`).
    fn overview(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            let mut tally = Tally::default();
            let limits = self.scenarios.iter().zip(&self.counts);
            let limits = limits.flat_map(|(scenario, &count)| {
                std::iter::repeat_n(scenario.time_limit.as_secs_f64(), count)
            });
            for (place, (result, limit_s)) in self.results().iter().zip(limits).enumerate() {
                let counts = self.kernels().get(place).is_none_or(|kernel| kernel.counts);
                tally.add(result, limit_s, counts).map_err(errors::run)?;
            }
            let overview = tally.finish().map_err(errors::run)?;
            serde_json::to_string(&overview).map_err(errors::run)
        })
    }

    /// The runs that failed the timing self-check: scenario, run, and the reasons as sentences.
    fn untrusted(&self) -> Vec<(usize, u32, Vec<String>)> {
        let scenarios = self.counts.iter().enumerate();
        scenarios
            .flat_map(|(scenario, &count)| std::iter::repeat_n(scenario, count))
            .zip(self.results().iter().zip(self.kernels()))
            .filter(|(_, (_, kernel))| !kernel.reasons.is_empty())
            .map(|(scenario, (result, kernel))| (scenario, result.run, kernel.reasons.clone()))
            .collect()
    }

    /// One row per ACK; requires `traces=True`. With `columns`, only these columns, in the order of
    /// the whole table.
    #[pyo3(signature = (columns=None))]
    #[expect(clippy::needless_pass_by_value, reason = "PyO3 makes the vector")]
    fn flow_traces(&self, py: Python<'_>, columns: Option<Vec<String>>) -> PyResult<Table> {
        let traces = self.traces()?;
        if let Some(names) = &columns {
            // Before the table: one without columns cannot be made.
            let all = tables::flow_traces(&[], None).map_err(errors::run)?;
            let is_known = |name: &&String| all.schema_ref().column_with_name(name).is_some();
            if let Some(name) = names.iter().find(|name| !is_known(name)) {
                let message = format!("the time series of flows have no column {name}");
                return Err(errors::input(message));
            }
            if names.is_empty() {
                return Err(errors::input("columns names no column of the time series"));
            }
        }
        py.detach(|| Table::new(tables::flow_traces(traces, columns.as_deref())))
    }

    /// One row per packet offered to a link; requires `traces=True`.
    fn link_traces(&self, py: Python<'_>) -> PyResult<Table> {
        py.detach(|| Table::new(tables::link_traces(self.traces()?)))
    }

    fn __repr__(&self) -> String {
        format!(
            "<slowstart.Result: {} scenarios, {} runs>",
            self.scenarios.len(),
            self.range.len()
        )
    }
}

/// An Arrow table. `polars.DataFrame(table)`, `pyarrow.table(table)` and
/// `pandas.DataFrame.from_arrow(table)` take it without copying.
#[pyclass(frozen, module = "slowstart")]
pub struct Table {
    batch: RecordBatch,
}

impl Table {
    pub fn new(batch: std::result::Result<RecordBatch, ArrowError>) -> PyResult<Self> {
        batch.map(|batch| Self { batch }).map_err(errors::run)
    }
}

#[pymethods]
impl Table {
    /// The Arrow PyCapsule interface, <https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>.
    /// A requested schema may be ignored: the caller then casts.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        drop(requested_schema);
        let batches = [Ok(self.batch.clone())];
        let reader = RecordBatchIterator::new(batches, self.batch.schema());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.batch.schema()).map_err(errors::run)?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    /// Names of the columns, which include their units.
    #[getter]
    fn column_names(&self) -> Vec<String> {
        let schema = self.batch.schema();
        schema
            .fields()
            .iter()
            .map(|field| field.name().clone())
            .collect()
    }

    /// The number of rows.
    fn __len__(&self) -> usize {
        self.batch.num_rows()
    }

    fn __repr__(&self) -> String {
        format!(
            "<slowstart.Table: {} rows x {} columns>",
            self.batch.num_rows(),
            self.batch.num_columns()
        )
    }
}
