//! Measurements of a path without a transport: see `simulator::look`.

/// The deliveries of a saturated link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deliveries {
    /// The link's name.
    pub link: String,
    /// The end of the measurement, in seconds.
    pub end_s: f64,
    /// When each full packet left the link, without propagation, in seconds since the start.
    pub time_s: Vec<f64>,
    /// Size of each packet as the link counts it, with overhead.
    pub packet_bytes: u32,
}

/// A small packet over the idle path, and its reply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probe {
    /// When it left, in seconds since the start.
    pub time_s: f64,
    /// Its delay to the receiver; `None` if it was lost.
    pub forward_s: Option<f64>,
    /// The delay of the reply; `None` if there was none, or if it was lost.
    pub reverse_s: Option<f64>,
}

/// The measurements of a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Of the forward and the reverse link, if their rates are limited.
    pub deliveries: Vec<Deliveries>,
    /// In order of time.
    pub probes: Vec<Probe>,
}
