//! In place of `linux` where there is no Linux: every function refuses.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors;

fn refuse() -> PyErr {
    errors::input("the kernel's TCP and emulated paths need Linux")
}

#[pyfunction]
pub fn enter_user_namespace() -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn check_linux(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn run_linux(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn emulate(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn kernel_load(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn kernel_unload(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn kernel_status(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn check_vm(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}

#[pyfunction]
#[pyo3(signature = (*_arguments, **_options))]
pub fn run_vm(
    _arguments: &Bound<'_, PyTuple>,
    _options: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    Err(refuse())
}
