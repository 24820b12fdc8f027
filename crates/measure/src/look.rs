//! What a path does to packets that no transport sends: see `simulator::look`.

/// What a link gives a queue that is never empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deliveries {
    /// The link's name.
    pub link: String,
    /// Until when it was watched, in seconds.
    pub end_s: f64,
    /// When each full packet came out, without propagation, in seconds since the beginning.
    pub time_s: Vec<f64>,
    /// Bytes of each as the link counts them, overhead included.
    pub packet_bytes: u32,
}

/// A small packet with nothing before it, and the answer to it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Probe {
    /// When it left, in seconds since the beginning.
    pub time_s: f64,
    /// How long it took to the receiver; `None` where it was lost.
    pub forward_s: Option<f64>,
    /// How long the answer took back; `None` where there was none, or it was lost.
    pub reverse_s: Option<f64>,
}

/// A look at a path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Look {
    /// Of the forward link and the reverse one, where their rate has an end.
    pub deliveries: Vec<Deliveries>,
    /// In order of time.
    pub probes: Vec<Probe>,
}
