//! CUBIC, as Linux computes it (the default) and as RFC 9438 states it.

mod linux;

pub use linux::CubicLinux;

use crate::options::{self, OptionError, OptionInfo, Options};

/// Settings of [`Cubic`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CubicConfig {
    /// Ticks per second of the kernel (`HZ`): 250 on Debian.
    pub hz: u32,
    /// Whether a flow that lost below its last maximum gives way (`fast_convergence`).
    pub fast_convergence: bool,
    /// Whether the window is at least Reno's (`tcp_friendliness`).
    pub tcp_friendliness: bool,
    /// Whether the arithmetic is RFC 9438's.
    pub rfc9438: bool,
}

impl Default for CubicConfig {
    fn default() -> Self {
        Self {
            hz: 250,
            fast_convergence: true,
            tcp_friendliness: true,
            rfc9438: false,
        }
    }
}

impl Options for CubicConfig {
    const OPTIONS: &'static [OptionInfo] = &[
        OptionInfo {
            name: "hz",
            default: "250",
            help: "ticks per second of the kernel: 100, 250 (Debian), 300 or 1000",
        },
        OptionInfo {
            name: "fast_convergence",
            default: "true",
            help: "whether a flow that lost below its last maximum gives way",
        },
        OptionInfo {
            name: "tcp_friendliness",
            default: "true",
            help: "whether the window is at least Reno's",
        },
        OptionInfo {
            name: "rfc9438",
            default: "false",
            help: "whether the arithmetic is RFC 9438's instead of Linux's",
        },
    ];

    fn set(&mut self, name: &str, value: &str) -> Result<(), OptionError> {
        match name {
            "hz" => {
                let known = [("100", 100), ("250", 250), ("300", 300), ("1000", 1000)];
                self.hz = options::choice(value, &known, "100, 250, 300 or 1000")?;
            }
            "fast_convergence" => self.fast_convergence = options::boolean(value)?,
            "tcp_friendliness" => self.tcp_friendliness = options::boolean(value)?,
            "rfc9438" => self.rfc9438 = options::boolean(value)?,
            _ => return Err(OptionError::Unknown),
        }
        Ok(())
    }
}

/// CUBIC in one of its two forms.
pub type Cubic = CubicLinux;
