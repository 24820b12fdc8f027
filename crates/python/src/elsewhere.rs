//! Replaces `linux` and `vm` on other systems: every function raises an error.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use crate::errors;

/// Functions that raise an error for any arguments.
macro_rules! refusing {
    ($( $name:ident ),* $(,)?) => {
        $(
            #[pyfunction]
            #[pyo3(signature = (*_arguments, **_options))]
            pub fn $name(
                _arguments: &Bound<'_, PyTuple>,
                _options: Option<&Bound<'_, PyDict>>,
            ) -> PyResult<()> {
                Err(errors::input(
                    "the kernel's TCP and emulated paths need Linux",
                ))
            }
        )*
    };
}

refusing!(
    enter_user_namespace,
    check_linux,
    run_linux,
    compare_stream,
    stream_profiles,
    emulate,
    kernel_load,
    kernel_unload,
    kernel_status,
    kernel_tick_us,
    check_vm,
    run_vm,
);

/// See `linux`.
pub(crate) fn run_script_on_kernel(
    _: &::packetdrill::Script,
    _: Option<&str>,
    _: units::Duration,
) -> PyResult<::packetdrill::Run> {
    Err(errors::input("the stack linux needs Linux"))
}
