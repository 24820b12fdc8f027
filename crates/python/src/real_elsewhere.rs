//! Replaces `real` where QUIC stacks have no real time: both functions raise an error.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors;

const LACKS: &str = if cfg!(target_os = "linux") {
    "this build of slowstart has no QUIC stack in real time: build it from a checkout (`make real`), \
     or with the cargo feature `real`"
} else {
    "QUIC stacks in real time need Linux"
};

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn check_real(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(errors::input(LACKS))
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn run_real(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(errors::input(LACKS))
}
