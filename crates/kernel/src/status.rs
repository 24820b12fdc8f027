//! What is loaded, what the machine uses, and what is missing.

use std::fs;

use crate::control::{CONTROLS, Control};
use crate::needs::{Need, needs};

/// The congestion controls and the requirements of loading them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The requirements of loading.
    pub needs: Vec<Need>,
    /// Our congestion controls.
    pub controls: Vec<ControlStatus>,
    /// The congestion control of this namespace's sockets that select none.
    pub default: Option<String>,
}

/// One of our congestion controls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlStatus {
    /// The congestion control.
    pub control: &'static Control,
    /// Whether sockets can select it.
    pub loaded: bool,
}

impl Status {
    /// The sentences about what is missing.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        self.needs
            .iter()
            .filter_map(|need| need.missing.clone())
            .collect()
    }
}

/// Reads the status, which needs no privileges.
#[must_use]
pub fn status() -> Status {
    let loaded = loaded();
    let controls = CONTROLS.iter().map(|control| ControlStatus {
        control,
        loaded: loaded.iter().any(|name| name == control.name),
    });
    Status {
        needs: needs(),
        controls: controls.collect(),
        default: setting("tcp_congestion_control").map(|name| name.trim().to_owned()),
    }
}

/// The congestion controls that sockets can select.
pub(crate) fn loaded() -> Vec<String> {
    let names = setting("tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().map(str::to_owned).collect()
}

fn setting(name: &str) -> Option<String> {
    fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()
}
