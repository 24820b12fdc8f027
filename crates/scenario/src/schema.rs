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
    ],
};

pub(crate) const PATH: KnownTable = KnownTable {
    name: "path",
    title: "[path]",
    keys: &[
        "name", "summary", "preset", "rate", "trace", "rtt", "delay", "buffer", "loss", "jitter",
        "aqm", "ecn", "overhead", "forward", "reverse", "helps", "router",
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
        "application",
    ],
};

pub(crate) const APPLICATION: KnownTable = KnownTable {
    name: "application",
    title: "an application",
    keys: &["write", "every"],
};

/// Every kind of table, the file as a whole first.
#[must_use]
pub const fn known_tables() -> [&'static KnownTable; 14] {
    [
        &SCENARIO,
        &PATH,
        &DIRECTION,
        &ROUTER,
        &HELPS,
        &VARYING,
        &STEP,
        &TRACE,
        &DELAY,
        &LOSS,
        &JITTER,
        &AQM,
        &FLOW,
        &APPLICATION,
    ]
}
