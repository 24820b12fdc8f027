//! `Scenario`: the input of runs, built from arguments or read from a file.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyDict;
use scenario::{Autotuning, CompareOptions, ExactScenario, PathModel};
use units::{Duration, Rate};

use crate::classes;
use crate::errors::input;
use crate::quic::On;

/// A resolved, immutable scenario, and the stack in virtual time that runs it.
#[pyclass(frozen, module = "slowstart")]
pub struct Scenario {
    pub inner: Arc<scenario::Scenario>,
    pub on: On,
    /// The resolved form as a dictionary, built on first access.
    resolved: PyOnceLock<Py<PyDict>>,
}

/// The scenarios and the number of runs of each: `runs`, or the scenario's own number.
pub fn runs_of(
    scenarios: &[PyRef<'_, Scenario>],
    runs: Option<u32>,
) -> (Vec<Arc<scenario::Scenario>>, Vec<usize>) {
    scenarios
        .iter()
        .map(|scenario| {
            let count = runs.unwrap_or(scenario.inner.runs) as usize;
            (Arc::clone(&scenario.inner), count)
        })
        .unzip()
}

impl Scenario {
    pub fn new(inner: scenario::Scenario) -> Self {
        Self::with(Arc::new(inner), On::default())
    }

    fn with(inner: Arc<scenario::Scenario>, on: On) -> Self {
        Self {
            inner,
            on,
            resolved: PyOnceLock::new(),
        }
    }

    /// Refuses a name that no flow has.
    fn has_flows<'a>(&self, names: impl IntoIterator<Item = &'a String>) -> PyResult<()> {
        let mut there: Vec<&str> = self.inner.flows.iter().map(|flow| &*flow.name).collect();
        let mut names = names.into_iter();
        let Some(unknown) = names.find(|name| !there.contains(&name.as_str())) else {
            return Ok(());
        };
        there.dedup();
        let there = match there.len() {
            0 => "it has none".to_owned(),
            _ => format!("it has {}", there.join(", ")),
        };
        let owner = &self.inner.name;
        Err(input(format!("{owner} has no flow `{unknown}`; {there}")))
    }

    /// Another scenario on the same stack.
    fn changed(&self, inner: scenario::Scenario) -> Self {
        Self::with(Arc::new(inner), self.on.clone())
    }
}

fn options(
    size: Option<&str>,
    duration: Option<&str>,
    stagger: Option<&str>,
    others: CompareOptions,
) -> PyResult<CompareOptions> {
    Ok(CompareOptions {
        size: size.map(scenario::parse_size).transpose().map_err(input)?,
        duration: duration
            .map(scenario::parse_duration)
            .transpose()
            .map_err(input)?,
        stagger: stagger
            .map(scenario::parse_duration)
            .transpose()
            .map_err(input)?
            .unwrap_or(Duration::ZERO),
        ..others
    })
}

/// `work` on each of `items`, in order, on all cores.
fn on_all_cores<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let size = items.len().div_ceil(cores).max(1);
    thread::scope(|scope| {
        let threads: Vec<_> = items
            .chunks(size)
            .map(|part| scope.spawn(|| part.iter().map(&work).collect::<Vec<R>>()))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined
            .flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// What [`Scenario::definition`] writes.
fn definition_of(scenario: &scenario::Scenario, on: &On) -> Result<String, serde_json::Error> {
    let mut plain = scenario.clone();
    plain.summary.clear();
    plain.path.summary.clear();
    plain.runs = 1;
    plain.seed = 0;
    exact(ExactScenario(plain), on)
}

/// A scenario with every field as JSON; with its stack, unless that is the simulated TCP.
fn exact(scenario: ExactScenario, on: &On) -> Result<String, serde_json::Error> {
    match on.described() {
        None => serde_json::to_string(&scenario),
        Some(stack) => serde_json::to_string(&(stack, scenario)),
    }
}

/// Converts a Python integer of any size, or returns an error.
pub fn whole<T: TryFrom<u64>>(value: &Bound<'_, PyAny>, what: &str) -> PyResult<T> {
    let number: Option<u64> = value.extract().ok();
    number
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| input(format!("{what} is out of range")))
}

#[pymethods]
impl Scenario {
    /// Reads a scenario file (TOML). Raises InputError with file, line, column, and the nearest
    /// known key.
    #[staticmethod]
    #[pyo3(signature = (file))]
    fn from_file(file: PathBuf) -> PyResult<Self> {
        scenario::Scenario::load(&file)
            .map(Self::new)
            .map_err(input)
    }

    /// Reads a scenario from `text`. Messages use `name` as the file's name, and trace files are
    /// relative to `folder`.
    #[staticmethod]
    #[pyo3(signature = (text, *, name = "text", folder = PathBuf::new()))]
    fn from_toml(text: &str, name: &str, folder: PathBuf) -> PyResult<Self> {
        scenario::Scenario::parse(text, name, Path::new(&folder))
            .map(Self::new)
            .map_err(input)
    }

    /// The scenarios of many texts as `from_toml` reads them, each with one run and the seed `seed`;
    /// on all cores, without the interpreter lock.
    #[staticmethod]
    #[pyo3(signature = (texts, *, name = "text", folder = PathBuf::new(), seed))]
    fn from_tomls(
        py: Python<'_>,
        texts: Vec<String>,
        name: &str,
        folder: PathBuf,
        seed: Bound<'_, PyAny>,
    ) -> PyResult<Vec<Self>> {
        let seed = whole(&seed, "the seed")?;
        let read = |text: &String| {
            let mut made = scenario::Scenario::parse(text, name, &folder)?;
            made.runs = 1;
            made.seed = seed;
            Ok::<_, scenario::Error>(made)
        };
        py.detach(|| on_all_cores(&texts, read))
            .into_iter()
            .map(|made| made.map(Self::new).map_err(input))
            .collect()
    }

    /// The definition of each scenario, computed on all cores, without the interpreter lock.
    #[staticmethod]
    fn definitions(py: Python<'_>, scenarios: Vec<PyRef<'_, Self>>) -> PyResult<Vec<String>> {
        let scenarios: Vec<_> = scenarios
            .iter()
            .map(|scenario| (Arc::clone(&scenario.inner), scenario.on.clone()))
            .collect();
        py.detach(|| on_all_cores(&scenarios, |(scenario, on)| definition_of(scenario, on)))
            .into_iter()
            .map(|made| made.map_err(crate::errors::run))
            .collect()
    }

    /// One scenario per algorithm, or, with `together`, one in which they share the path.
    #[staticmethod]
    #[pyo3(signature = (path, algorithms, *, size = None, duration = None, runs, seed,
        initial_window, pacing = false, flows, stagger = None, together = false))]
    #[allow(
        clippy::too_many_arguments,
        reason = "they are keyword arguments in Python"
    )]
    fn compare(
        py: Python<'_>,
        path: &str,
        algorithms: Vec<String>,
        size: Option<&str>,
        duration: Option<&str>,
        runs: Bound<'_, PyAny>,
        seed: Bound<'_, PyAny>,
        initial_window: Bound<'_, PyAny>,
        pacing: bool,
        flows: Bound<'_, PyAny>,
        stagger: Option<&str>,
        together: bool,
    ) -> PyResult<Vec<Self>> {
        let others = CompareOptions {
            runs: whole(&runs, "the number of runs")?,
            seed: whole(&seed, "the seed")?,
            initial_window: whole(&initial_window, "the initial window in segments")?,
            pacing,
            flows: whole(&flows, "the number of flows")?,
            together,
            ..CompareOptions::default()
        };
        let options = options(size, duration, stagger, others)?;
        let algorithms = algorithms
            .iter()
            .map(|algorithm| classes::parse(py, algorithm))
            .collect::<PyResult<Vec<_>>>()?;
        let path = PathModel::resolve(path).map_err(input)?;
        scenario::Scenario::compare(&path, &algorithms, &options)
            .map(|scenarios| scenarios.into_iter().map(Self::new).collect())
            .map_err(input)
    }

    /// The same scenario with another number of runs or another seed.
    #[pyo3(signature = (*, runs = None, seed = None))]
    fn with_runs(
        &self,
        runs: Option<Bound<'_, PyAny>>,
        seed: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut changed = (*self.inner).clone();
        if let Some(runs) = runs {
            changed.runs = whole(&runs, "the number of runs")?;
        }
        if let Some(seed) = seed {
            changed.seed = whole(&seed, "the seed")?;
        }
        if changed.runs == 0 {
            return Err(input("the number of runs is 0; it must be at least 1"));
        }
        Ok(self.changed(changed))
    }

    /// The same scenario with another name, and other names of its flows, by their present ones.
    #[pyo3(signature = (name = None, *, flows = BTreeMap::new()))]
    fn with_names(&self, name: Option<String>, flows: BTreeMap<String, String>) -> PyResult<Self> {
        self.has_flows(flows.keys())?;
        let mut changed = (*self.inner).clone();
        if let Some(name) = name {
            changed.name = name;
        }
        for flow in &mut changed.flows {
            if let Some(name) = flows.get(&flow.name) {
                flow.name.clone_from(name);
            }
        }
        Ok(self.changed(changed))
    }

    /// The same scenario with other algorithms of its flows, by their names.
    #[pyo3(signature = (algorithms))]
    fn with_algorithms(
        &self,
        py: Python<'_>,
        algorithms: BTreeMap<String, String>,
    ) -> PyResult<Self> {
        self.has_flows(algorithms.keys())?;
        let mut changed = (*self.inner).clone();
        for flow in &mut changed.flows {
            if let Some(algorithm) = algorithms.get(&flow.name) {
                flow.algorithm = classes::parse(py, algorithm)?.into();
            }
        }
        Ok(self.changed(changed))
    }

    /// The same scenario with hosts as a kernel has them: the length of their tick, how the receivers
    /// size their windows, and the rate at which a burst leaves.
    #[pyo3(signature = (*, tick_us, autotuning = None, burst_bps = None))]
    fn with_hosts(
        &self,
        tick_us: u32,
        autotuning: Option<&str>,
        burst_bps: Option<NonZero<u64>>,
    ) -> PyResult<Self> {
        let autotuning = autotuning
            .map(|word| {
                Autotuning::of_word(word).ok_or_else(|| {
                    let known = Autotuning::WORDS.join(", ");
                    input(format!("autotuning is one of {known}, not `{word}`"))
                })
            })
            .transpose()?;
        let mut changed = (*self.inner).clone();
        let traffic = &mut changed.path.traffic;
        let flows = traffic.iter_mut().map(|traffic| &mut traffic.flow);
        for flow in flows.chain(&mut changed.flows) {
            flow.settings.tick = Duration::from_micros(tick_us.into());
            if let Some(autotuning) = autotuning {
                flow.settings.autotuning = autotuning;
            }
        }
        if let Some(rate) = burst_bps {
            changed.limit_bursts(Rate::from_bits_per_sec(rate.get()));
        }
        Ok(self.changed(changed))
    }

    /// The same scenario on another stack in virtual time: `simulated`, or a QUIC stack; with `own`,
    /// all flows have a controller of the stack.
    #[pyo3(signature = (stack, own = None))]
    fn on(&self, stack: &str, own: Option<&str>) -> PyResult<Self> {
        let on = On::named(stack, own)?;
        on.check(&self.inner)?;
        Ok(Self::with(Arc::clone(&self.inner), on))
    }

    /// The stack that runs it.
    #[getter]
    fn stack(&self) -> &'static str {
        self.on.name()
    }

    /// The stack's own controller that all flows have.
    #[getter]
    fn own(&self) -> Option<&str> {
        self.on.own()
    }

    /// Its name.
    #[getter]
    fn name(&self) -> &str {
        &self.inner.name
    }

    /// The name of its path.
    #[getter]
    fn path(&self) -> &str {
        &self.inner.path.name
    }

    /// Whether two of its runs may differ.
    #[getter]
    fn is_random(&self) -> bool {
        // QUIC stacks skip packet numbers at random (RFC 9000, section 21.4).
        self.on.is_quic() || self.inner.is_random()
    }

    /// The number of runs.
    #[getter]
    fn runs(&self) -> u32 {
        self.inner.runs
    }

    /// Seed of the first run.
    #[getter]
    fn seed(&self) -> u64 {
        self.inner.seed
    }

    /// The names of its flows, in order.
    #[getter]
    fn flows(&self) -> Vec<&str> {
        self.inner
            .flows
            .iter()
            .map(|flow| flow.name.as_str())
            .collect()
    }

    /// The resolved scenario as JSON, as in the field `scenario` of a result document.
    fn to_json(&self) -> PyResult<String> {
        serde_json::to_string(&*self.inner).map_err(crate::errors::run)
    }

    /// The resolved scenario as a dictionary. It is built once and shared: do not change it.
    #[getter]
    fn resolved(&self, py: Python<'_>) -> PyResult<Py<PyDict>> {
        let made = self.resolved.get_or_try_init(py, || {
            let read = py
                .import("json")?
                .call_method1("loads", (self.to_json()?,))?;
            Ok::<_, PyErr>(read.cast_into::<PyDict>()?.unbind())
        })?;
        Ok(made.clone_ref(py))
    }

    /// Everything that determines the measurements of a run with a given seed, including recorded
    /// traces, as JSON with every field. Two scenarios with the same definition differ at most in
    /// summaries, seed and number of runs.
    fn definition(&self) -> PyResult<String> {
        definition_of(&self.inner, &self.on).map_err(crate::errors::run)
    }

    /// The whole scenario as JSON, for [`Self::from_exact_json`] of the same version.
    fn to_exact_json(&self) -> PyResult<String> {
        exact(ExactScenario((*self.inner).clone()), &self.on).map_err(crate::errors::run)
    }

    /// The scenario of [`Self::to_exact_json`].
    #[staticmethod]
    fn from_exact_json(text: &str) -> PyResult<Self> {
        if !text.starts_with('[') {
            let ExactScenario(scenario) = serde_json::from_str(text).map_err(input)?;
            return Ok(Self::new(scenario));
        }
        let (described, ExactScenario(scenario)): ([String; 3], _) =
            serde_json::from_str(text).map_err(input)?;
        let on = On::read(&described)?;
        Ok(Self::with(Arc::new(scenario), on))
    }

    fn __repr__(&self) -> String {
        format!(
            "<slowstart.Scenario {:?}: path {:?}, {} flows, {} runs, seed {}>",
            self.inner.name,
            self.inner.path.name,
            self.inner.flows.len(),
            self.inner.runs,
            self.inner.seed
        )
    }
}
