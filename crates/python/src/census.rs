//! `Census`: when and why slow start ended in the connections of many files.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use analysis::census::{self, Control, Plan, tally};
use pyo3::prelude::*;

use crate::attend::attend;
use crate::{VERSION, errors};

/// The input files of a census, and how they are divided into parts.
#[pyclass(frozen, module = "slowstart._native")]
pub struct Census {
    plan: Plan,
}

#[pymethods]
impl Census {
    #[new]
    fn new(py: Python<'_>, inputs: Vec<PathBuf>, folder: PathBuf) -> PyResult<Self> {
        let plan = py.detach(|| Plan::of(&inputs, &folder));
        let plan =
            plan.map_err(|(path, error)| errors::input(format!("{}: {error}", path.display())))?;
        Ok(Self { plan })
    }

    /// Number of files.
    #[getter]
    fn files(&self) -> usize {
        self.plan.files()
    }

    /// Bytes of all files.
    #[getter]
    fn bytes(&self) -> u64 {
        self.plan.bytes()
    }

    /// Number of parts.
    #[getter]
    fn parts(&self) -> usize {
        self.plan.parts()
    }

    /// A digest of the names, sizes and times of all files.
    #[getter]
    fn digest(&self) -> String {
        format!("{:016x}", self.plan.digest())
    }

    /// Reads the parts that are not in `folder` yet, on `threads` threads (one for each core).
    /// `progress` is called with the bytes that are done and with those of all files.
    #[pyo3(signature = (folder, *, threads = None, progress = None))]
    fn run(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        threads: Option<usize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        if threads == Some(0) {
            return Err(errors::input(
                "the number of threads is 0; it must be at least 1",
            ));
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = threads.unwrap_or(cores);
        let control = Control::default();
        let (done, all) = (Arc::clone(&control.done), self.plan.bytes());
        let report = || match &progress {
            Some(progress) => {
                let done = done.load(Ordering::Relaxed).min(all);
                progress.call1((done, all)).map(drop)
            }
            None => Ok(()),
        };
        let created_by = format!("slowstart {VERSION}");
        let work = || census::run(&self.plan, &folder, threads, &created_by, &control);
        attend(py, &control.cancel, report, work)?
            .map_err(|error| errors::run(format!("cannot write {}: {error}", folder.display())))
    }
}

/// The upper edges of the groups of smallest RTTs in milliseconds, and of sizes in bytes.
#[pyfunction]
pub fn census_edges() -> (Vec<f64>, Vec<u64>) {
    (tally::RTT_MS.to_vec(), tally::SIZE_BYTES.to_vec())
}
