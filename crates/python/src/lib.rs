//! The Python module `slowstart._native`: only conversions and the mapping of errors.
//!
//! Invalid input raises `slowstart.InputError`, and a failed run `slowstart.RunError`. Both are
//! defined in `python/slowstart/errors.py`. Tables are exported through the Arrow PyCapsule
//! interface.

mod analysis;
mod attend;
mod batch;
mod census;
mod classes;
mod conformance;
mod documents;
mod exit_reasons;
#[cfg(target_os = "linux")]
mod kernel_programs;
#[cfg(not(target_os = "linux"))]
use linux as kernel_programs;
mod characterize;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod linux;
mod packetdrill;
mod quic;
#[cfg(all(target_os = "linux", feature = "real"))]
mod real;
#[cfg(not(all(target_os = "linux", feature = "real")))]
#[path = "real_elsewhere.rs"]
mod real;
#[cfg(target_os = "linux")]
mod real_time;
mod results;
mod scenarios;
mod stream;
#[cfg(target_os = "linux")]
mod vm;
#[cfg(not(target_os = "linux"))]
use linux as vm;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use scenario::PathModel;

mod errors {
    use pyo3::{PyErr, import_exception};

    import_exception!(slowstart.errors, InputError);
    import_exception!(slowstart.errors, RunError);

    /// Invalid input. The message is on one line: control characters in quoted input are escaped.
    pub fn input(error: impl std::fmt::Display) -> PyErr {
        let mut sentence = String::new();
        for character in error.to_string().chars() {
            if character.is_control() {
                sentence.extend(character.escape_default());
            } else {
                sentence.push(character);
            }
        }
        InputError::new_err(sentence)
    }

    /// A failure that the input did not cause.
    pub fn run(error: impl std::fmt::Display) -> PyErr {
        RunError::new_err(error.to_string())
    }
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The version of the compiled module, which is that of the package.
const VERSION: &str = env!("CARGO_PKG_VERSION");

#[pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::analysis::{
        analyze_file, analyze_simulated, compare_file, quic_packets, replay_file, write_capture,
        write_mahimahi,
    };
    #[pymodule_export]
    use super::batch::run_batch;
    #[pymodule_export]
    use super::census::{Census, census_edges};
    #[pymodule_export]
    use super::characterize::{characterize, characterize_network, probing, topology};
    #[pymodule_export]
    use super::classes::{Ack, Congestion, Sent, View};
    #[pymodule_export]
    use super::conformance::run_vector;
    #[pymodule_export]
    use super::documents::{parse_toml, read_text};
    #[pymodule_export]
    use super::kernel_programs::{kernel_load, kernel_status, kernel_unload};
    #[pymodule_export]
    use super::linux::{
        check_linux, compare_stream, emulate, enter_user_namespace, kernel_tick_us, run_linux,
        stream_profiles,
    };
    #[pymodule_export]
    use super::packetdrill::run_script;
    #[pymodule_export]
    use super::quic::{conform_stack, foreign_stack, refusal, serve_stack, stacks};
    #[pymodule_export]
    use super::real::{check_real, run_real};
    #[pymodule_export]
    use super::results::{Result, Table};
    #[pymodule_export]
    use super::scenarios::Scenario;
    #[pymodule_export]
    use super::stream::run_to_files;
    #[pymodule_export]
    use super::vm::{check_vm, run_vm};
    #[pymodule_export]
    use super::{algorithms, median_interval, paths, version};

    /// Files can name algorithms written in Python.
    #[pymodule_init]
    fn init(_module: &Bound<'_, PyModule>) {
        scenario::find_algorithms(super::classes::find);
    }
}

#[pyfunction]
fn version() -> &'static str {
    VERSION
}

/// The registry of algorithms as a list of dictionaries.
#[pyfunction]
fn algorithms(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for part in congestion::PARTS {
        let options = PyList::empty(py);
        for option in part.options {
            let entry = PyDict::new(py);
            entry.set_item("name", option.name)?;
            entry.set_item("default", option.default)?;
            entry.set_item("help", option.help)?;
            options.append(entry)?;
        }
        let entry = PyDict::new(py);
        entry.set_item("name", part.name)?;
        entry.set_item("kind", part.kind.word())?;
        entry.set_item("summary", part.summary)?;
        entry.set_item("source", part.source)?;
        entry.set_item("provenance", part.provenance)?;
        entry.set_item("options", options)?;
        let needs: Vec<&str> = part.algorithm().needs().words().collect();
        entry.set_item("needs", needs)?;
        list.append(entry)?;
    }
    Ok(list)
}

/// The path presets as a list of dictionaries.
#[pyfunction]
fn paths(py: Python<'_>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::empty(py);
    for preset in scenario::PRESETS {
        let entry = PyDict::new(py);
        entry.set_item("name", preset.name)?;
        entry.set_item("summary", preset.summary)?;
        entry.set_item("source", preset.source)?;
        entry.set_item("toml", preset.toml.trim())?;
        let resolved = PathModel::resolve(preset.name).map_err(errors::input)?;
        let forward = &serde_json::json!(resolved)["forward"]["service"]["kind"];
        entry.set_item("model", forward.as_str())?;
        entry.set_item("page", format!("docs/reference/networks/{}", preset.page()))?;
        list.append(entry)?;
    }
    Ok(list)
}

/// The median and its distribution-free 95 % interval, as in every summary. The ends are `None`
/// for fewer than six values; all three are `None` without values.
#[pyfunction]
fn median_interval(values: Vec<f64>) -> (Option<f64>, Option<f64>, Option<f64>) {
    let interval = measure::median_with_interval(values.into_iter());
    let ends = interval.as_ref().and_then(|interval| interval.ci95);
    (
        interval.map(|interval| interval.median),
        ends.map(|ends| ends[0]),
        ends.map(|ends| ends[1]),
    )
}
