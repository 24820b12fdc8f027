//! Loads this project's congestion controls into the running kernel, unloads them, and reports
//! their status.

use kernel::{Control, Error, Wanted};
use pyo3::prelude::*;
use serde_json::json;

use crate::errors;

fn kernel_error(error: &Error) -> PyErr {
    match error {
        Error::Refused(_) => errors::run(error),
        Error::Missing(_) | Error::Invalid(_) => errors::input(error),
    }
}

/// The congestion controls that `names` selects, by kernel name or by algorithm.
fn wanted(names: &[String]) -> PyResult<Vec<Wanted>> {
    let named = |name: &String| Wanted::named(name).map_err(|error| kernel_error(&error));
    names.iter().map(named).collect()
}

/// The options that can be chosen, with their words if it does not take all.
fn options(control: &Control) -> Vec<String> {
    let shown = control.options.iter().map(|held| match held.words {
        [] => held.key.to_owned(),
        words => format!("{}={}", held.key, words.join("|")),
    });
    shown.collect()
}

fn names_of(controls: &[&Control]) -> Vec<(String, String, String)> {
    let owned = |control: &&Control| {
        let words = [control.name, control.algorithm, control.summary];
        words.map(str::to_owned).into()
    };
    controls.iter().map(owned).collect()
}

/// Registers congestion controls until they are unloaded or the machine restarts. Without names, it
/// registers the default selection. Returns kernel name, algorithm and summary of each.
#[pyfunction]
pub fn kernel_load(py: Python<'_>, names: Vec<String>) -> PyResult<Vec<(String, String, String)>> {
    let wanted = wanted(&names)?;
    let loaded = py.detach(|| kernel::load(&wanted));
    loaded
        .map(|done| names_of(&done))
        .map_err(|error| kernel_error(&error))
}

/// Unregisters congestion controls; without names, all of this project.
#[pyfunction]
pub fn kernel_unload(
    py: Python<'_>,
    names: Vec<String>,
) -> PyResult<Vec<(String, String, String)>> {
    let wanted = wanted(&names)?;
    let controls: Vec<_> = wanted.iter().map(|wanted| wanted.control).collect();
    let unloaded = py.detach(|| kernel::unload(&controls));
    unloaded
        .map(|done| names_of(&done))
        .map_err(|error| kernel_error(&error))
}

/// The requirements, found or missing, and the congestion controls (all, or those in `names`), as
/// a JSON document.
#[pyfunction]
pub fn kernel_status(py: Python<'_>, names: Vec<String>) -> PyResult<String> {
    let wanted = wanted(&names)?;
    let named = |control| wanted.is_empty() || wanted.iter().any(|one| one.control == control);
    let status = py.detach(kernel::status);
    let needs = status
        .needs
        .iter()
        .map(|need| json!({"what": need.what, "found": need.found, "missing": need.missing}));
    let controls = status.controls.iter().filter(|there| named(there.control));
    let controls = controls.map(|there| {
        json!({
            "name": there.control.name,
            "algorithm": there.control.algorithm,
            "summary": there.control.summary,
            "options": options(there.control),
            "loaded": there.loaded,
        })
    });
    let document = json!({
        "needs": needs.collect::<Vec<_>>(),
        "controls": controls.collect::<Vec<_>>(),
        "default": status.default,
    });
    Ok(document.to_string())
}
