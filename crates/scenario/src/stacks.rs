//! The stacks that run scenarios, each with the keys that it supports: one constant per stack.
//!
//! To add a stack, write its [`Stack`] here and add it to [`STACKS`]. List the tables of which it
//! knows only some keys, usually `flow` and `application`, with how it implements each key; give the
//! reason of a key that users may miss. Then call [`crate::refusal`] before a run. The reference
//! and the test `support` follow from this.

use tables::{Lack, Stack, Supported};

/// Every stack that `--stack` names.
pub const STACKS: &[&Stack] = &[&SIMULATED, &LINUX, &LINUX_VM, &QUIC, &QUIC_REAL];

/// The simulated TCP over simulated paths: every key.
pub const SIMULATED: Stack = Stack {
    name: "simulated",
    place: "in simulations",
    tables: &[],
    lacks: &[],
};

/// A path between two network namespaces, without flows: `slowstart emulate`.
pub const EMULATED: Stack = Stack {
    name: "emulated",
    place: "on an emulated path",
    tables: &[("scenario", &[]), ("path", &[])],
    lacks: EMULATED_LACKS,
};

/// The TCP of the running kernel over an emulated path.
pub const LINUX: Stack = Stack {
    name: "linux",
    place: "on the kernel",
    tables: &[
        ("scenario", SCENARIO),
        (
            "path",
            &[Supported::new("traffic", "as `[[traffic]]` of the file")],
        ),
        ("flow", FLOW),
        ("application", APPLICATION),
        ("traffic", TRAFFIC),
    ],
    lacks: LINUX_LACKS,
};

/// The TCP of a kernel in a virtual machine, which runs a scenario as the running kernel does.
pub const LINUX_VM: Stack = Stack {
    name: "linux-vm",
    ..LINUX
};

/// The QUIC stacks, such as quinn, in virtual time over simulated paths.
pub const QUIC: Stack = Stack {
    name: "QUIC",
    place: "on QUIC stacks",
    tables: &[
        ("scenario", QUIC_SCENARIO),
        ("path", &[]),
        ("flow", QUIC_FLOW),
        ("application", QUIC_APPLICATION),
    ],
    lacks: QUIC_LACKS,
};

/// The QUIC stacks in real time: their own sockets and timers, over an emulated path.
pub const QUIC_REAL: Stack = Stack {
    name: "QUIC in real time",
    place: "on QUIC stacks in real time",
    tables: &[
        ("scenario", without_first(QUIC_SCENARIO)),
        ("path", &[]),
        ("flow", without_first(QUIC_FLOW)),
        ("application", QUIC_APPLICATION),
        ("traffic", &[]),
    ],
    lacks: QUIC_REAL_LACKS,
};

/// All but the first entry: that of both clocks from the list of one.
const fn without_first<T>(list: &[T]) -> &[T] {
    match list {
        [_, rest @ ..] => rest,
        [] => &[],
    }
}

/// The first in virtual time only.
const QUIC_SCENARIO: &[Supported] = &[
    Supported::new("traffic", "background traffic is simulated TCP"),
    Supported::new("flow", "a connection with one stream for each flow"),
    Supported::new("duration", "all connections end at this time"),
    Supported::new("time_limit", "as `duration`; its flows are incomplete"),
];

/// The first in virtual time only.
const QUIC_FLOW: &[Supported] = &[
    Supported::new("stack", "flows of other stacks may share the path"),
    Supported::new(
        "algorithm",
        "the stack's own controller, or one of this project in its place",
    ),
    Supported::new("size", "bytes that the client writes"),
    Supported::new("duration", "the flow ends, whatever the stack has buffered"),
    Supported::new("start", "time of the first packet of the handshake"),
    Supported::new("application", "times at which the client writes"),
    Supported::new("initial_window", "the controller's, in datagrams"),
    Supported::new("pacing", "QUIC stacks pace whatever the value is"),
    Supported::new(
        "receive_buffer",
        "the windows of the stream and of the connection",
    ),
    Supported::new("ecn", "packets that the stack sends as ECN-capable stay so"),
];

const QUIC_APPLICATION: &[Supported] = &[
    Supported::new("write", "bytes of one write"),
    Supported::new("every", "time between two writes"),
    Supported::new("rate", "1448 bytes each time"),
];

const QUIC_LACKS: &[Lack] = without_first(without_first(QUIC_REAL_LACKS));

/// The first two in real time only.
const QUIC_REAL_LACKS: &[Lack] = &[
    lack(
        "scenario",
        "traffic",
        "background traffic beside QUIC stacks is simulated TCP",
    ),
    lack("flow", "stack", "a run in real time has one stack"),
    lack("scenario", "network", QUIC_PATH),
    lack("scenario", "node", QUIC_PATH),
    lack("scenario", "link", QUIC_PATH),
    lack("scenario", "hosts", QUIC_PATH),
    lack("path", "router", QUIC_PATH),
    lack(
        "path",
        "router_support",
        "QUIC carries nothing for the routers of the path",
    ),
    lack(
        "application",
        "pause",
        "an application does not learn when all data are acknowledged; `every` is supported",
    ),
    lack("flow", "from", ONE_PATH),
    lack("flow", "to", ONE_PATH),
    lack("flow", "sack", "QUIC acknowledges ranges of packets"),
    lack("flow", "impatient", "QUIC acknowledges ranges of packets"),
    lack("flow", "mss", "packets have 1500 bytes"),
    lack("flow", "ack_policy", "each stack has its own policy"),
    lack("flow", "truesize", "each stack has its own buffers"),
    lack("flow", "loss_detection", "each stack has its own"),
    lack("flow", "byte_counting", "each controller has its own"),
];

const QUIC_PATH: &str = "QUIC stacks run over one link in each direction";

/// Why an emulated path lacks a key.
const EMULATED_LACKS: &[Lack] = &[
    lack(
        "scenario",
        "traffic",
        "background traffic is available in simulations only",
    ),
    lack(
        "scenario",
        "network",
        "an ad-hoc network or a constellation is available in simulations only",
    ),
    SEVERAL_NODES,
    SEVERAL_LINKS,
    HOSTS,
    ROUTER_SUPPORT,
    ROUTERS,
];

const SEVERAL_NODES: Lack = lack("scenario", "node", NETWORK);
const SEVERAL_LINKS: Lack = lack("scenario", "link", NETWORK);
const NETWORK: &str = "a network of several links is available in simulations only";
const HOSTS: Lack = lack(
    "scenario",
    "hosts",
    "hosts behind access links are available in simulations only",
);
const ROUTER_SUPPORT: Lack = lack("path", "router_support", ONE_LINK);
const ROUTERS: Lack = lack("path", "router", ONE_LINK);
const ONE_LINK: &str =
    "an emulated path is one link in each direction, whose routers have no explicit support";

/// What runs a scenario.
const SCENARIO: &[Supported] = &[
    Supported::new("flow", "a pair of real sockets for each flow"),
    Supported::new(
        "traffic",
        "real sockets; clients at the receiver's side, servers at the sender's",
    ),
    Supported::new("duration", "all connections are reset at this time"),
    Supported::new("time_limit", "as `duration`; its flows are incomplete"),
];

const FLOW: &[Supported] = &[
    Supported::new("algorithm", "TCP_CONGESTION; see the table of algorithms"),
    Supported::new("size", "bytes that the sender writes"),
    Supported::new("duration", "the sender stops to write"),
    Supported::new("start", "time of the connect() call"),
    Supported::new("application", "times at which the sender writes"),
    Supported::new("initial_window", "`initcwnd` of the flow's own route"),
    Supported::new(
        "pacing",
        "SO_MAX_PACING_RATE at its largest value, which limits nothing: TCP's own timer paces, \
         without `fq`",
    ),
    Supported::new("receive_buffer", "`tcp_rmem` of the receivers' namespace").shared(),
    Supported::new("ack_policy", "`quickack` of the reverse route"),
    Supported::new("ecn", "`features ecn` of the flow's own route"),
    Supported::new(
        "restart_after_idle",
        "`tcp_slow_start_after_idle` of the senders' namespace",
    )
    .shared(),
    Supported::new("tso_segments", "`gso_max_segs` of the device").shared(),
    Supported::new(
        "extra_delay",
        "the emulator delays what is sent to the flow's own address, by both directions' delays",
    ),
];

const APPLICATION: &[Supported] = &[
    Supported::new("write", "bytes of one write"),
    Supported::new("every", "time between two writes"),
    Supported::new("rate", "a full segment each time"),
];

const TRAFFIC: &[Supported] = &[
    Supported::new("kind", "scripts of requests and responses").only(&[
        "tmix",
        "synthetic",
        "http10",
        "persistent",
        "multiplexed",
        "request-response",
        "on-off",
    ]),
    Supported::new("direction", "the servers are at the sender's side").only(&["forward"]),
    Supported::new("algorithm", "TCP_CONGESTION of both sides"),
    Supported::new(
        "extra_delay",
        "an address of the servers for each delay, at most 254",
    ),
    Supported::new("restart_after_idle", "as of a flow").shared(),
    Supported::new("receive_buffer", "as of a flow").shared(),
    Supported::new("start", "time of the first connection"),
    Supported::new("duration", "the clients reset what is open"),
    Supported::new("list_flows", "requests and responses with their times"),
];

const LINUX_LACKS: &[Lack] = &[
    lack(
        "scenario",
        "network",
        "a kernel runs over an emulated path, and an ad-hoc network or a constellation is \
         available in simulations only",
    ),
    SEVERAL_NODES,
    SEVERAL_LINKS,
    HOSTS,
    ROUTER_SUPPORT,
    ROUTERS,
    lack("flow", "from", ONE_PATH),
    lack("flow", "to", ONE_PATH),
    lack("flow", "stack", "a run on a kernel has one stack"),
    lack("flow", "autotuning", "the kernel has its own autotuning"),
    lack(
        "flow",
        "syn_window",
        "the kernel chooses the window of its SYN-ACK",
    ),
    lack("flow", "mss", "the kernel derives its own from the device"),
    lack(
        "flow",
        "truesize",
        "the kernel's packets have their own memory",
    ),
    lack(
        "flow",
        "tick",
        "the kernel has the tick with which it was built",
    ),
    lack("flow", "misbehavior", "the kernel's receivers comply"),
    lack("flow", "sack", "the kernel's flows use SACK"),
    lack("flow", "impatient", "the kernel's flows use SACK"),
    lack(
        "flow",
        "small_queue",
        "the kernel uses its own TCP small queues",
    ),
    lack("flow", "loss_detection", "the kernel has its own"),
    lack("flow", "byte_counting", "the kernel has its own"),
    lack(
        "application",
        "pause",
        "an application does not learn when all data are acknowledged; `every` is supported",
    ),
    lack(
        "traffic",
        "kind",
        "background traffic of this kind is available in simulations only",
    ),
    lack(
        "traffic",
        "direction",
        "the servers are at the sender's side",
    ),
];

const ONE_PATH: &str = "all flows share one path";

const fn lack(table: &'static str, key: &'static str, reason: &'static str) -> Lack {
    Lack { table, key, reason }
}
