//! `run_script`: runs a packetdrill script against the simulated TCP or the running kernel.

use std::path::{Path, PathBuf};

use ::conformance::scripts::Simulated;
use ::packetdrill::{Difference, Run, Script, parse, run};
use pyo3::prelude::*;
use serde_json::{Map, Value, json};
use units::Duration;

use crate::errors;
use crate::linux;

/// Largest size of a script in bytes.
const MAX_SCRIPT: u64 = 4_000_000;
/// Timers may expire one tick late, with 250 ticks in a second.
const TICK: Duration = Duration::from_millis(4);

fn read(path: &Path) -> Result<Script, String> {
    let file = path.display().to_string();
    let text =
        scenario::read_text(path, MAX_SCRIPT).map_err(|reason| format!("{file}: {reason}"))?;
    parse(&file, &text).map_err(|error| error.to_string())
}

fn simulated(script: &Script, algorithm: Option<&str>, tolerance: Duration) -> Result<Run, String> {
    let algorithm = algorithm
        .map(congestion::Algorithm::parse)
        .transpose()
        .map_err(|error| error.to_string())?;
    let mut stack = Simulated::new(script, algorithm.as_ref(), Duration::ZERO)
        .map_err(|reason| format!("{}: {reason}", script.file))?;
    run(script, &mut stack, tolerance).map_err(|error| error.to_string())
}

fn of_difference(difference: &Difference) -> Value {
    let state: Map<String, Value> = difference
        .state
        .iter()
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect();
    json!({
        "line": difference.line,
        "event": difference.text,
        "expected": difference.expected,
        "got": difference.got,
        "time_s": difference.at.as_secs_f64(),
        "state": state,
        "text": difference.to_string(),
    })
}

/// Runs the script in a file on a stack, `simulated` or `linux`. Times may differ by
/// `tolerance_ms`, or what the script permits if that is more. Returns a JSON object.
#[pyfunction]
#[pyo3(signature = (file, stack, algorithm=None, tolerance_ms=10))]
pub fn run_script(
    py: Python<'_>,
    file: PathBuf,
    stack: &str,
    algorithm: Option<&str>,
    tolerance_ms: u32,
) -> PyResult<String> {
    py.detach(|| {
        let script = read(&file).map_err(errors::input)?;
        let wanted = Duration::from_millis(u64::from(tolerance_ms));
        let tolerance = script.tolerance.unwrap_or(wanted).max(wanted) + TICK;
        let outcome = match stack {
            "simulated" => simulated(&script, algorithm, tolerance).map_err(errors::input)?,
            "linux" => linux::run_script_on_kernel(&script, algorithm, tolerance)?,
            _ => return Err(errors::input(format!("there is no stack `{stack}`"))),
        };
        let notes: Vec<Value> = script
            .notes
            .iter()
            .map(|(line, note)| json!({"line": line, "note": note}))
            .collect();
        let report = json!({
            "file": script.file,
            "stack": stack,
            "passed": outcome.difference.is_none(),
            "packets": outcome.packets,
            "assertions": outcome.assertions,
            "notes": notes,
            "difference": outcome.difference.as_ref().map(of_difference),
        });
        serde_json::to_string(&report).map_err(errors::run)
    })
}
