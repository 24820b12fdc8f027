//! The reason that a start-up written in Python gives for its exit.

use std::sync::{Mutex, PoisonError};

use congestion::{Criterion, ExitReason, Unit};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The most reasons of all start-ups in a process: each is a word, not a number.
const MOST: usize = 1_000;
/// The longest word.
const LONGEST: usize = 40;
/// Words that results already use, for what no start-up decides.
const TAKEN: [&str; 4] = ["loss", "ecn", "timeout", "ssthresh"];
/// Units by their names in Python, and how many of the criterion's parts make one.
const UNITS: [(&str, Unit, f64); 5] = [
    ("", Unit::Ratio, 1e3),
    ("ns", Unit::Time, 1.0),
    ("bytes", Unit::Bytes, 1.0),
    ("bit/s", Unit::Rate, 1.0),
    ("count", Unit::Count, 1.0),
];

/// The reasons given so far. They live as long as the process.
static REASONS: Mutex<Vec<&'static Criterion>> = Mutex::new(Vec::new());

/// The reason of an exit that a method returned.
pub fn of(answer: &Bound<'_, PyAny>) -> PyResult<ExitReason> {
    let Some(reason) = attribute::<String>(answer, "reason", "a string")? else {
        return Ok(ExitReason::Decision);
    };
    let measured = attribute::<f64>(answer, "measured", "a number")?;
    let threshold = attribute::<f64>(answer, "threshold", "a number")?;
    let unit = attribute::<String>(answer, "unit", "a string")?.unwrap_or_default();
    let Some(&(_, unit, parts)) = UNITS.iter().find(|(name, ..)| *name == unit) else {
        return Err(PyValueError::new_err(format!(
            "unit is {unit:?}; it must be \"ns\", \"bytes\", \"bit/s\", \"count\", or \"\" for a ratio"
        )));
    };
    let (Some(measured), Some(threshold)) = (measured, threshold) else {
        if measured.is_some() || threshold.is_some() {
            return Err(PyValueError::new_err(
                "give measured and threshold together, or neither",
            ));
        }
        let name = criterion(&reason, unit, true)?.name;
        return Ok(match name {
            "decision" => ExitReason::Decision,
            _ => ExitReason::Named { name },
        });
    };
    let whole = |value: f64| (value * parts).round() as i64; // saturates
    let criterion = criterion(&reason, unit, measured >= threshold)?;
    Ok(criterion.met(whole(measured), whole(threshold)))
}

fn attribute<'py, T: FromPyObjectOwned<'py>>(
    answer: &Bound<'py, PyAny>,
    name: &str,
    what: &str,
) -> PyResult<Option<T>> {
    let value = answer.getattr_opt(name)?.filter(|value| !value.is_none());
    let Some(value) = value else {
        return Ok(None);
    };
    let wrong = || PyValueError::new_err(format!("{name} of an exit must be {what}"));
    value.extract().map(Some).map_err(|_| wrong())
}

/// The criterion of this name, which is kept.
fn criterion(name: &str, unit: Unit, is_above: bool) -> PyResult<&'static Criterion> {
    let is_word = name.starts_with(|c: char| c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    if !is_word || name.len() > LONGEST || TAKEN.contains(&name) {
        return Err(PyValueError::new_err(format!(
            "the reason of an exit is {name:?}; it must be a word of at most {LONGEST} lowercase \
             letters, digits and hyphens, and none of {}",
            TAKEN.join(", ")
        )));
    }
    let mut reasons = REASONS.lock().unwrap_or_else(PoisonError::into_inner);
    let known = reasons
        .iter()
        .find(|known| known.name == name && known.unit == unit && known.is_above == is_above);
    if let Some(known) = known {
        return Ok(known);
    }
    if reasons.len() == MOST {
        return Err(PyValueError::new_err(format!(
            "there are more than {MOST} different reasons; put numbers into measured and threshold"
        )));
    }
    let name: &'static str = match reasons.iter().find(|known| known.name == name) {
        Some(known) => known.name,
        None => Box::leak(name.to_owned().into_boxed_str()),
    };
    let new: &'static Criterion = Box::leak(Box::new(Criterion {
        name,
        unit,
        is_above,
    }));
    reasons.push(new);
    Ok(new)
}
