//! The stacks in virtual time: the simulated TCP, and QUIC stacks.

use std::io::{stdin, stdout};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use capture::simulated_quic::QuicRecord;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use quic_stacks::{STACKS, Stack, is_foreign};
use simulator::{RunError, RunOptions, RunOutput};

use crate::errors;

/// What runs a scenario; by default the simulated TCP.
#[derive(Clone, Default)]
pub struct On {
    stack: Option<&'static Stack>,
    /// The stack's own controller that all flows have.
    own: Option<String>,
}

impl On {
    /// The stack of this name, with one of its own controllers.
    pub fn named(name: &str, own: Option<&str>) -> PyResult<Self> {
        Ok(Self {
            stack: stack_named(name)?,
            own: own.map(str::to_owned),
        })
    }

    pub fn name(&self) -> &'static str {
        self.stack.map_or("simulated", |stack| stack.given)
    }

    /// The QUIC stack; `None` for the simulated TCP.
    #[cfg(all(target_os = "linux", feature = "real"))]
    pub const fn stack(&self) -> Option<&'static Stack> {
        self.stack
    }

    pub fn own(&self) -> Option<&str> {
        self.own.as_deref()
    }

    pub const fn is_quic(&self) -> bool {
        self.stack.is_some()
    }

    /// Raises an error if the stack does not support the scenario.
    pub fn check(&self, scenario: &scenario::Scenario) -> PyResult<()> {
        match (self.stack, self.own()) {
            (Some(stack), own) => quic_stacks::check(scenario, stack, own).map_err(errors::input),
            (None, Some(own)) => Err(errors::input(format!(
                "{own}: the simulated TCP has no controllers of its own: choose a QUIC stack, as \
                 in --stack quinn"
            ))),
            (None, None) => quic_stacks::check_named(scenario).map_err(errors::input),
        }
    }

    /// Name, version and own controller; nothing for the simulated TCP.
    pub fn described(&self) -> Option<[String; 3]> {
        let stack = self.stack?;
        let own = self.own.clone().unwrap_or_default();
        Some([stack.given.to_owned(), stack.build.to_owned(), own])
    }

    /// The stack of [`Self::described`].
    pub fn read([name, version, own]: &[String; 3]) -> PyResult<Self> {
        let own = Some(own.as_str()).filter(|own| !own.is_empty());
        let found = Self::named(name, own)?;
        match found.stack {
            Some(stack) if stack.build != version => Err(errors::input(format!(
                "{name} {version} is not here any more: it is {} now",
                stack.build
            ))),
            _ => Ok(found),
        }
    }
}

/// One run of one scenario.
pub struct Job {
    pub scenario: Arc<scenario::Scenario>,
    pub on: On,
    pub run: u32,
}

impl Job {
    pub fn execute(
        &self,
        options: &RunOptions,
        cancel: &AtomicBool,
    ) -> Result<RunOutput, RunError> {
        match self.on.stack {
            None => quic_stacks::run_named(&self.scenario, self.run, options, cancel),
            Some(stack) => {
                let own = self.on.own();
                quic_stacks::run(&self.scenario, self.run, stack, own, options, cancel)
            }
        }
    }
}

impl Job {
    /// [`Self::execute`] of a QUIC stack, with each datagram at each host.
    pub fn captured(&self, cancel: &AtomicBool) -> Result<(RunOutput, Vec<QuicRecord>), RunError> {
        let stack = self.on.stack.expect("a QUIC stack runs it");
        let mut records = Vec::new();
        let output = quic_stacks::run_observed(
            &self.scenario,
            self.run,
            stack,
            self.on.own(),
            &RunOptions::default(),
            cancel,
            &mut |each| {
                let (is_forward, arrives) = (each.is_forward, each.arrives);
                let datagram = each.datagram;
                records.push(QuicRecord::new(
                    each.now, each.flow, is_forward, arrives, datagram,
                ));
            },
        )?;
        Ok((output, records))
    }
}

/// The stack of this name; `None` is the simulated TCP.
fn stack_named(name: &str) -> PyResult<Option<&'static Stack>> {
    if name == "simulated" {
        return Ok(None);
    }
    if is_foreign(name) {
        return foreign(name).map(Some);
    }
    Stack::named(name).map(Some).ok_or_else(|| {
        let known: Vec<_> = STACKS.iter().map(|stack| stack.name).collect();
        errors::input(format!(
            "unknown stack {name:?}: in virtual time there are simulated, {}",
            known.join(", ")
        ))
    })
}

/// The stack of a shared object or a worker.
fn foreign(given: &str) -> PyResult<&'static Stack> {
    Stack::foreign(given, &host()?).map_err(errors::input)
}

/// The program that serves a shared object: this interpreter, in a process of its own.
fn host() -> PyResult<Vec<String>> {
    let interpreter = Python::attach(|py| {
        let path = py.import("sys")?.getattr("executable")?;
        path.extract::<String>()
    })?;
    let program = "import sys; from slowstart._native import serve_stack; serve_stack(sys.argv[1])";
    Ok(vec![interpreter, "-c".to_owned(), program.to_owned()])
}

/// Serves the stack of a shared object on standard input and output until the input ends.
#[pyfunction]
pub fn serve_stack(py: Python<'_>, file: PathBuf) -> PyResult<()> {
    py.detach(|| stack_host::serve_file(&file, stdin().lock(), stdout().lock()))
        .map_err(errors::run)
}

/// What a stack of others states about itself, as an entry of `stacks`; it is started once.
#[pyfunction]
pub fn foreign_stack<'py>(py: Python<'py>, given: &str) -> PyResult<Bound<'py, PyDict>> {
    entry(py, foreign(given)?)
}

/// Each rule of the interface, and what the stack did against it or `None`.
#[pyfunction]
pub fn conform_stack(py: Python<'_>, given: &str) -> PyResult<Vec<(String, Option<String>)>> {
    let host = host()?;
    let found = py.detach(|| quic_stacks::conform(given, &host));
    let found = found.map_err(errors::input)?.into_iter();
    Ok(found.map(|each| (each.rule, each.fault)).collect())
}

fn entry<'py>(py: Python<'py>, stack: &Stack) -> PyResult<Bound<'py, PyDict>> {
    let entry = PyDict::new(py);
    entry.set_item("name", stack.name)?;
    entry.set_item("version", stack.version)?;
    let own = stack.own.iter().map(|own| (own.name, own.summary));
    entry.set_item("own", own.collect::<Vec<_>>())?;
    Ok(entry)
}

/// The QUIC stacks: dictionaries with `name`, `version` and `own`, a list of pairs of a name and a
/// summary.
#[pyfunction]
pub fn stacks(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    STACKS.iter().map(|stack| entry(py, stack)).collect()
}

/// Why the QUIC stack `stack` does not run the algorithm; `None` if it does.
#[pyfunction]
pub fn refusal(stack: &str, algorithm: &str) -> PyResult<Option<String>> {
    let algorithm: congestion::Algorithm = algorithm.parse().map_err(errors::input)?;
    let Some(stack) = stack_named(stack)? else {
        return Ok(None);
    };
    if stack.is_foreign() {
        return Ok(Some(format!(
            "{} runs its own controllers only",
            stack.name
        )));
    }
    let checked = stack.capabilities.check(&algorithm);
    Ok(checked.err().map(|refusal| refusal.to_string()))
}
