//! Measurements of a path without a transport: see `simulator::characterize` and `simulator::characterize_network`.

use serde::Serialize;

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
pub struct Characterization {
    /// Of the forward and the reverse link, if their rates are limited.
    pub deliveries: Vec<Deliveries>,
    /// In order of time.
    pub probes: Vec<Probe>,
}

/// An ad-hoc network or a constellation over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkCharacterization {
    /// Its kind in the scenario.
    pub kind: String,
    /// The names of its nodes.
    pub nodes: Vec<String>,
    /// Whether anything in it moves.
    pub moves: bool,
    /// Width and height of the area, in metres; null on a globe.
    pub area_m: Option<[f64; 2]>,
    /// Some moments; one, if nothing moves.
    pub frames: Vec<NetworkFrame>,
    /// The routes between the ends of flows.
    pub routes: Vec<RouteSeries>,
}

/// One moment of a network.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkFrame {
    /// In seconds since the start.
    pub time_s: f64,
    /// The nodes, and behind them other stations: metres, or degrees of longitude and latitude.
    pub points: Vec<[f64; 2]>,
    /// Pairs of points that hear each other.
    pub links: Vec<[u32; 2]>,
    /// The routes, in the order of [`NetworkCharacterization::routes`].
    pub routes: Vec<NetworkRoute>,
}

/// A route at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NetworkRoute {
    /// The points that it passes; null if no route is known.
    pub points: Option<Vec<u32>>,
}

/// A route over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RouteSeries {
    /// The node at which it begins.
    pub from: String,
    /// The node at which it ends.
    pub to: String,
    /// In seconds since the start.
    pub time_s: Vec<f64>,
    /// Links on it; null while no route is known.
    pub hops: Vec<Option<u64>>,
    /// Propagation over it; null while no route is known.
    pub delay_ms: Vec<Option<f64>>,
}
