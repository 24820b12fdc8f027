//! `run_vector`: runs a conformance vector with the algorithm that it names.

use std::path::{Path, PathBuf};

use ::conformance::{Report, files_in, run_text};
use pyo3::prelude::*;
use serde_json::{Value, json};

use crate::errors;

/// Largest size of a vector in bytes. The vectors of this project have some hundred kB at most.
const MAX_VECTOR: u64 = 16_000_000;

/// Runs the vector in a file. An error is one sentence.
fn run_file(path: &Path) -> Result<Report, String> {
    let file = path.display().to_string();
    let text =
        scenario::read_text(path, MAX_VECTOR).map_err(|reason| format!("{file}: {reason}"))?;
    run_text(&file, &text).map_err(|error| error.to_string())
}

fn value(report: &Report) -> Value {
    let mismatches: Vec<Value> = report
        .mismatches
        .iter()
        .map(|mismatch| {
            json!({
                "line": mismatch.line,
                "time_s": mismatch.now.as_secs_f64(),
                "event": mismatch.event,
                "quantity": mismatch.quantity,
                "expected": mismatch.expected,
                "actual": mismatch.actual,
            })
        })
        .collect();
    json!({
        "file": report.file,
        "title": report.title,
        "form": report.form,
        "algorithm": report.algorithm,
        "passed": report.passed(),
        "events": report.events,
        "checks": report.checks,
        "mismatches": mismatches,
        "text": report.to_string(),
    })
}

/// Runs the vector in a file, or each `*.vec` in a folder. Returns a JSON list of reports.
#[pyfunction]
pub fn run_vector(py: Python<'_>, file: PathBuf) -> PyResult<String> {
    py.detach(|| {
        let files = if file.is_dir() {
            files_in(&file).map_err(errors::input)?
        } else {
            vec![file.clone()]
        };
        if files.is_empty() {
            let folder = file.display();
            return Err(errors::input(format!("{folder}: contains no *.vec file")));
        }
        let reports = files
            .iter()
            .map(|file| run_file(file).map(|report| value(&report)))
            .collect::<Result<Vec<_>, _>>()
            .map_err(errors::input)?;
        serde_json::to_string(&reports).map_err(errors::run)
    })
}
