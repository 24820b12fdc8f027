//! The tables and keys of a scenario file: what the parser knows, and what the published JSON
//! Schema (`docs/reference/scenario.schema.json`) has to list.

/// A kind of table and the keys it may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownTable {
    /// Its name in the schema's `$defs`.
    pub name: &'static str,
    /// How a message calls it.
    pub title: &'static str,
    /// Its keys.
    pub keys: &'static [&'static str],
}

pub(crate) const SCENARIO: KnownTable = KnownTable {
    name: "scenario",
    title: "the scenario",
    keys: &[
        "name",
        "summary",
        "runs",
        "seed",
        "duration",
        "time_limit",
        "path",
        "flow",
        "traffic",
    ],
};

pub(crate) const PATH: KnownTable = KnownTable {
    name: "path",
    title: "[path]",
    keys: &[
        "name", "summary", "preset", "rate", "trace", "rtt", "delay", "buffer", "loss", "jitter",
        "aqm", "ecn", "overhead", "forward", "reverse", "helps", "router", "traffic", "rrc",
    ],
};

pub(crate) const DIRECTION: KnownTable = KnownTable {
    name: "direction",
    title: "a direction of the path",
    keys: &[
        "rate", "trace", "delay", "buffer", "loss", "jitter", "aqm", "ecn", "overhead",
    ],
};

pub(crate) const ROUTER: KnownTable = KnownTable {
    name: "router",
    title: "[[path.router]]",
    keys: &[
        "rate", "trace", "delay", "buffer", "loss", "jitter", "aqm", "ecn", "overhead", "helps",
    ],
};

pub(crate) const HELPS: KnownTable = KnownTable {
    name: "helps",
    title: "a router's help",
    keys: &["kind", "threshold", "alpha", "beta"],
};

pub(crate) const VARYING: KnownTable = KnownTable {
    name: "varying-rate",
    title: "a varying rate",
    keys: &["mean", "variation", "correlation", "slot", "peak"],
};

pub(crate) const TOKEN_BUCKET: KnownTable = KnownTable {
    name: "token-bucket",
    title: "a token bucket",
    keys: &["model", "rate", "burst", "peak", "peak_burst"],
};

pub(crate) const POLICER: KnownTable = KnownTable {
    name: "policer",
    title: "a policer",
    keys: &["model", "rate", "burst", "then", "exceed"],
};

pub(crate) const LTE: KnownTable = KnownTable {
    name: "lte",
    title: "an LTE cell",
    keys: &[
        "model",
        "sinr",
        "sinr_spread",
        "shadow",
        "shadow_tau",
        "doppler",
        "prbs",
        "layers",
        "users",
        "users_most",
        "on",
        "off",
        "error",
        "handovers",
    ],
};

pub(crate) const NR: KnownTable = KnownTable {
    name: "5g",
    title: "a 5G cell",
    keys: &[
        "model",
        "sinr",
        "sinr_spread",
        "shadow",
        "shadow_tau",
        "doppler",
        "prbs",
        "layers",
        "users",
        "users_most",
        "on",
        "off",
        "error",
        "handovers",
        "blockage",
    ],
};

pub(crate) const CELL_UPLINK: KnownTable = KnownTable {
    name: "cell-uplink",
    title: "a cell's uplink",
    keys: &[
        "model", "rate", "request", "wait", "every", "prepare", "error", "retry",
    ],
};

pub(crate) const CELL_REDUCED: KnownTable = KnownTable {
    name: "cell-reduced",
    title: "a cell's reduced model",
    keys: &[
        "model", "mean", "spread", "fast", "tau_fast", "tau_slow", "grid", "peak", "tti", "error",
        "outages", "outage", "longest",
    ],
};

pub(crate) const HSDPA: KnownTable = KnownTable {
    name: "hsdpa",
    title: "an HSDPA downlink",
    keys: &[
        "model", "mean", "spread", "fast", "tau_fast", "tau_slow", "grid", "peak", "block",
        "error", "residual", "discard", "outages", "outage", "longest",
    ],
};

pub(crate) const UMTS_UPLINK: KnownTable = KnownTable {
    name: "umts-uplink",
    title: "a UMTS uplink",
    keys: &["model", "rate", "tti", "error"],
};

pub(crate) const RRC: KnownTable = KnownTable {
    name: "rrc",
    title: "a radio's states",
    keys: &["begins", "inactivity", "cycle", "idle", "promotion"],
};

pub(crate) const RRC_UMTS: KnownTable = KnownTable {
    name: "rrc-umts",
    title: "a UMTS radio's states",
    keys: &["begins", "fach", "fach_promotion", "idle", "promotion"],
};

pub(crate) const WIFI: KnownTable = KnownTable {
    name: "wifi",
    title: "a Wi-Fi network",
    keys: &[
        "model",
        "standard",
        "width",
        "streams",
        "guard",
        "rssi",
        "rssi_deviation",
        "rssi_correlation",
        "blocked",
        "mcs",
        "rate_map",
        "aggregation",
        "max_frame",
        "aifsn",
        "cw_min",
        "cw_max",
        "retries",
        "hidden",
        "stations",
        "traffic",
        "station_packets",
        "station_mcs",
        "busy",
        "airtime_limit",
    ],
};

pub(crate) const WIFI_TRAFFIC: KnownTable = KnownTable {
    name: "wifi-traffic",
    title: "the traffic of a station",
    keys: &["on", "off", "rate"],
};

pub(crate) const GEO: KnownTable = KnownTable {
    name: "geo",
    title: "a satellite's forward link",
    keys: &["model", "rate", "spread", "frame", "acm"],
};

pub(crate) const ACM: KnownTable = KnownTable {
    name: "acm",
    title: "adaptive coding",
    keys: &[
        "clear_sky",
        "deviation",
        "correlation",
        "margin",
        "every",
        "lag",
        "rain",
    ],
};

pub(crate) const RAIN: KnownTable = KnownTable {
    name: "rain",
    title: "a shower",
    keys: &["depth", "start", "ramp", "hold"],
};

pub(crate) const DAMA: KnownTable = KnownTable {
    name: "dama",
    title: "a satellite's return link",
    keys: &[
        "model",
        "frame",
        "slot",
        "cra",
        "max",
        "request",
        "loop",
        "hold",
        "phase",
        "ack_filter",
        "granted",
    ],
};

pub(crate) const LEO: KnownTable = KnownTable {
    name: "leo",
    title: "a low-orbit link",
    keys: &[
        "model",
        "rate",
        "interval",
        "phase",
        "spread",
        "wander",
        "correlation",
        "burst",
        "step",
        "drift",
        "jitter",
        "outage",
        "outage_mean",
        "outage_max",
        "drop",
        "drop_packets",
        "grant",
    ],
};

pub(crate) const STEP: KnownTable = KnownTable {
    name: "rate-step",
    title: "a step of the rate",
    keys: &["for", "rate"],
};

pub(crate) const TRACE: KnownTable = KnownTable {
    name: "trace",
    title: "a trace",
    keys: &["file", "repeat"],
};

pub(crate) const DELAY: KnownTable = KnownTable {
    name: "delay-trace",
    title: "a trace of delays",
    keys: &["trace", "slot"],
};

pub(crate) const LOSS: KnownTable = KnownTable {
    name: "gilbert-elliott",
    title: "a loss model",
    keys: &["p", "r", "bad_loss", "good_loss"],
};

pub(crate) const JITTER: KnownTable = KnownTable {
    name: "jitter",
    title: "a jitter model",
    keys: &["amount", "distribution", "period", "slot"],
};

pub(crate) const AQM: KnownTable = KnownTable {
    name: "aqm",
    title: "a queue discipline",
    keys: &[
        "kind",
        "fill",
        "probability",
        "target",
        "interval",
        "quantum",
        "flows",
        "update",
        "burst",
        "gain",
        "min",
        "max",
        "weight",
        "gentle",
        "adaptive",
    ],
};

pub(crate) const FLOW: KnownTable = KnownTable {
    name: "flow",
    title: "[[flow]]",
    keys: &[
        "name",
        "algorithm",
        "size",
        "duration",
        "start",
        "count",
        "stagger",
        "initial_window",
        "pacing",
        "receive_buffer",
        "syn_window",
        "ack_policy",
        "ecn",
        "sack",
        "impatient",
        "small_queue",
        "restart_after_idle",
        "tso_segments",
        "extra_delay",
        "autotuning",
        "loss_detection",
        "byte_counting",
        "application",
    ],
};

pub(crate) const APPLICATION: KnownTable = KnownTable {
    name: "application",
    title: "an application",
    keys: &["write", "every", "pause", "rate"],
};

pub(crate) const TRAFFIC: KnownTable = KnownTable {
    name: "traffic",
    title: "[[traffic]]",
    keys: &[
        "name",
        "kind",
        "direction",
        "load",
        "arrivals",
        "mean",
        "shape",
        "cut",
        "count",
        "spread",
        "size",
        "bitrate",
        "segment",
        "rate",
        "on",
        "off",
        "algorithm",
        "initial_window",
        "pacing",
        "ecn",
        "extra_delay",
        "start",
        "warm_up",
        "duration",
        "list",
    ],
};

/// Every kind of table, the file as a whole first.
#[must_use]
pub const fn known_tables() -> &'static [&'static KnownTable] {
    &[
        &SCENARIO,
        &PATH,
        &DIRECTION,
        &ROUTER,
        &HELPS,
        &VARYING,
        &TOKEN_BUCKET,
        &POLICER,
        &LTE,
        &NR,
        &CELL_UPLINK,
        &CELL_REDUCED,
        &HSDPA,
        &UMTS_UPLINK,
        &RRC,
        &RRC_UMTS,
        &WIFI,
        &WIFI_TRAFFIC,
        &GEO,
        &ACM,
        &RAIN,
        &DAMA,
        &LEO,
        &STEP,
        &TRACE,
        &DELAY,
        &LOSS,
        &JITTER,
        &AQM,
        &FLOW,
        &APPLICATION,
        &TRAFFIC,
    ]
}
