//! Files that Python validates: their text, and TOML with the line of every value.

use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::errors::input;

/// Converts a document into Python objects.
struct Reader<'py, 'a> {
    py: Python<'py>,
    name: &'a str,
    /// Where each line of the text but the last one ends.
    ends: Vec<usize>,
    /// The line of each value, by the keys and indices that lead to it.
    lines: Bound<'py, PyDict>,
}

impl<'py> Reader<'py, '_> {
    fn line(&self, at: usize) -> usize {
        self.ends.partition_point(|&end| end < at) + 1
    }

    fn refuse(&self, at: usize, message: impl std::fmt::Display) -> PyErr {
        input(format!("{}:{}: {message}", self.name, self.line(at)))
    }

    fn table(
        &self,
        table: &DeTable<'_>,
        steps: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let result = PyDict::new(self.py);
        let mut entries: Vec<_> = table.iter().collect();
        entries.sort_by_key(|(key, _)| key.span().start);
        for (key, value) in entries {
            let below = self.below(steps, key.get_ref().as_ref())?;
            self.lines.set_item(&below, self.line(key.span().start))?;
            result.set_item(key.get_ref().as_ref(), self.value(value, &below)?)?;
        }
        Ok(result)
    }

    fn below(
        &self,
        steps: &Bound<'py, PyTuple>,
        step: impl IntoPyObject<'py>,
    ) -> PyResult<Bound<'py, PyTuple>> {
        let step = PyTuple::new(self.py, [step])?;
        steps.as_sequence().concat(step.as_sequence())?.to_tuple()
    }

    fn value(
        &self,
        value: &Spanned<DeValue<'_>>,
        steps: &Bound<'py, PyTuple>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let at = value.span().start;
        Ok(match value.get_ref() {
            DeValue::String(text) => text.as_ref().into_pyobject(self.py)?.into_any(),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map_err(|_| self.refuse(at, "the number is out of range"))?
                .into_pyobject(self.py)?
                .into_any(),
            DeValue::Float(number) => number
                .as_str()
                .parse::<f64>()
                .map_err(|_| self.refuse(at, "invalid number"))?
                .into_pyobject(self.py)?
                .into_any(),
            DeValue::Boolean(value) => value.into_pyobject(self.py)?.to_owned().into_any(),
            DeValue::Datetime(value) => value.to_string().into_pyobject(self.py)?.into_any(),
            DeValue::Array(values) => {
                let list = PyList::empty(self.py);
                for (place, value) in values.iter().enumerate() {
                    let below = self.below(steps, place)?;
                    self.lines.set_item(&below, self.line(value.span().start))?;
                    list.append(self.value(value, &below)?)?;
                }
                list.into_any()
            }
            DeValue::Table(table) => self.table(table, steps)?.into_any(),
        })
    }
}

/// Parses the TOML document `text`. Returns its tables as dictionaries in the order of the text,
/// and the line of each value by the tuple of keys and indices that leads to it. Messages use
/// `name` as the file's name.
#[pyfunction]
pub fn parse_toml<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
) -> PyResult<(Bound<'py, PyDict>, Bound<'py, PyDict>)> {
    let reader = Reader {
        py,
        name,
        ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        lines: PyDict::new(py),
    };
    let tree = DeTable::parse(text).map_err(|error| {
        let at = error.span().map_or(text.len(), |span| span.start);
        reader.refuse(at, format!("invalid TOML: {}", error.message()))
    })?;
    let root = reader.table(tree.get_ref(), &PyTuple::empty(py))?;
    Ok((root, reader.lines))
}

/// Reads the text of a regular file of at most `limit` bytes.
#[pyfunction]
pub fn read_text(file: PathBuf, limit: u64) -> PyResult<String> {
    scenario::read_text(&file, limit)
        .map_err(|reason| input(format!("{}: {reason}", file.display())))
}
