//! The kinds of `[[traffic]]`: an entry of [`KINDS`] has the word of a kind, one sentence, and its
//! keys. The readers stand in the same order in the module `traffic`.

/// A kind of traffic, as `[[traffic]]` describes it.
#[derive(Clone, Copy, Debug)]
pub struct KnownTraffic {
    /// Its word.
    pub name: &'static str,
    /// What it sends, as the end of a sentence.
    pub summary: &'static str,
    /// The keys that it has beside those of every kind, in groups.
    pub keys: &'static [&'static [&'static str]],
    /// The keys that it needs, as TOML.
    pub example: &'static str,
    /// Whether its data travels over connections.
    pub(crate) connects: bool,
}

/// How many connections start per second.
const OPEN: &[&str] = &["load", "arrivals"];
const SOURCES: &[&str] = &["count", "spread"];
const PARETO: &[&str] = &["mean", "shape", "cut"];
const RESPONSES: &[&str] = &["mean", "shape", "cut", "truncation", "size"];
const REQUESTS: &[&str] = &["request", "request_sigma", "server_delay"];
const EPOCHS: &[&str] = &["requests", "think", "think_sigma"];

/// Every kind.
pub(crate) const KINDS: [KnownTraffic; 12] = [
    KnownTraffic {
        name: "web",
        summary: "responses of random size, without requests",
        keys: &[OPEN, PARETO],
        example: "load = \"35 %\"",
        connects: true,
    },
    KnownTraffic {
        name: "bulk",
        summary: "flows that send without pause",
        keys: &[SOURCES, &["size"]],
        example: "",
        connects: true,
    },
    KnownTraffic {
        name: "video",
        summary: "a segment every few seconds over one connection, whatever the path carries",
        keys: &[SOURCES, &["bitrate", "segment"]],
        example: "bitrate = \"5 Mbit/s\"",
        connects: true,
    },
    KnownTraffic {
        name: "datagrams",
        summary: "packets that nobody acknowledges",
        keys: &[SOURCES, &["rate", "on", "off"]],
        example: "rate = \"5 Mbit/s\"",
        connects: false,
    },
    KnownTraffic {
        name: "tmix",
        summary: "the connections of a file of connection vectors",
        keys: &[&[
            "file", "scale", "load", "length", "shuffle", "prefill", "repeat",
        ]],
        example: "file = \"trace.cvec\"",
        connects: true,
    },
    KnownTraffic {
        name: "synthetic",
        summary: "a substitute for recorded connection vectors",
        keys: &[
            OPEN,
            RESPONSES,
            REQUESTS,
            EPOCHS,
            &["concurrent", "small_segments"],
        ],
        example: "load = \"35 %\"",
        connects: true,
    },
    KnownTraffic {
        name: "http10",
        summary: "one request and its response per connection",
        keys: &[OPEN, RESPONSES, REQUESTS],
        example: "load = \"35 %\"",
        connects: true,
    },
    KnownTraffic {
        name: "persistent",
        summary: "sessions of requests that use a connection again until the server closes it, as \
                  under HTTP/1.1",
        keys: &[OPEN, RESPONSES, REQUESTS, EPOCHS, &["idle_timeout"]],
        example: "load = \"35 %\"",
        connects: true,
    },
    KnownTraffic {
        name: "multiplexed",
        summary: "a page per connection: a document, then all its objects at once, as under HTTP/2",
        keys: &[OPEN, RESPONSES, REQUESTS, &["objects", "parse"]],
        example: "load = \"35 %\"",
        connects: true,
    },
    KnownTraffic {
        name: "request-response",
        summary: "clients that wait for each response, think, and send the next request",
        keys: &[SOURCES, RESPONSES, REQUESTS, EPOCHS],
        example: "",
        connects: true,
    },
    KnownTraffic {
        name: "on-off",
        summary: "sources that write a burst at once and pause, for random times",
        keys: &[SOURCES, &["rate", "on", "off"]],
        example: "rate = \"5 Mbit/s\"",
        connects: true,
    },
    KnownTraffic {
        name: "adaptive-video",
        summary: "clients that choose the bitrate of each segment by the video that they have \
                  buffered",
        keys: &[
            SOURCES,
            &[
                "bitrates",
                "segment",
                "segments",
                "request",
                "reservoir",
                "cushion",
                "playback_buffer",
            ],
        ],
        example: "bitrates = [\"1 Mbit/s\", \"3 Mbit/s\", \"5 Mbit/s\"]",
        connects: true,
    },
];

/// The words of [`KINDS`].
pub(crate) const WORDS: [&str; KINDS.len()] = {
    let mut words = [""; KINDS.len()];
    let mut place = 0;
    while place < words.len() {
        words[place] = KINDS[place].name;
        place += 1;
    }
    words
};

impl KnownTraffic {
    /// Every kind.
    #[must_use]
    pub const fn all() -> &'static [Self] {
        &KINDS
    }

    /// The keys that it has beside those of every kind.
    pub fn own_keys(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().copied().flatten().copied()
    }
}
