//! The paths that have a name. Each is written as a user would write it, and read by the same
//! parser, so that a preset shows what a file can say.
//!
//! Those that end in "-reduced" are simple forms: one bottleneck with a fixed or wandering rate, jitter, and a
//! queue. Frames, grants, handovers, ARQ and contention are not modelled; the summary of each such
//! preset says "simple form". Numbers come from network-models (the section is at each preset);
//! "chosen" marks what no source gives.

use crate::error::suggestion;

/// A path with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preset {
    /// Its name.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// Where its numbers come from.
    pub source: &'static str,
    /// The keys of its `[path]` table, as TOML.
    pub toml: &'static str,
}

impl Preset {
    /// The page about it in `docs/reference/networks`.
    #[must_use]
    pub fn page(&self) -> &'static str {
        match self.name {
            "wired" | "ethernet" => "queues.md",
            "dsl" | "docsis" => "dsl.md",
            "geo" => "geo.md",
            "leo" => "leo.md",
            "lte" => "lte.md",
            "5g" => "5g.md",
            "hsdpa" | "hsdpa-uplink" => "hsdpa.md",
            "policed" => "policer.md",
            "wifi-strong" | "wifi-weak" | "wifi-testbed" => "wifi.md",
            // The list of all of them.
            _ => "README.md",
        }
    }
}

/// Every preset, the plain ones first. `trace:FILE` comes on top of these.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "wired",
        summary: "50 Mbit/s, 100 ms, 413 packets of buffer (1 BDP): a plain bottleneck",
        source: "network-models A.1 (document 000); 1514 bytes for a full packet",
        toml: r#"
rate = "50 Mbit/s"
rtt = "100 ms"
buffer = "413 packets"
"#,
    },
    Preset {
        name: "ethernet",
        summary: "1 Gbit/s, 10 ms, 1 BDP of buffer: a fast path over a short distance",
        source: "chosen: a metropolitan path with the buffer that TCP needs to fill it",
        toml: r#"
rate = "1 Gbit/s"
rtt = "10 ms"
buffer = "1 bdp"
"#,
    },
    // Rates: a common VDSL2 product. Sync rate and buffers: chosen. Delay: 8 ms of interleaving in each direction
    // (the delay that operators configure) and 7 ms to a server in the same country. Overhead: PPPoE over PTM with
    // a VLAN tag, as tc-cake's keywords pppoe-ptm and ether-vlan count it.
    Preset {
        name: "dsl",
        summary: "DSL: 50 Mbit/s down, shaped before a line of 60, and 10 up, 30 ms (interleaved), 625 kB (100 ms)",
        source: "chosen; the overhead from tc-cake(8)",
        toml: r#"
rate = { model = "token-bucket", rate = "50 Mbit/s", burst = "32 kB", peak = "60 Mbit/s" }
rtt = "30 ms"
buffer = "625 kB"
overhead = "34 bytes"
reverse.rate = "10 Mbit/s"
reverse.buffer = "300 packets"
"#,
    },
    // Plan, boost and buffers: chosen (20 MB at 150 Mbit/s last 3.2 s; buffers are 250 ms of the rate). Upstream:
    // 3044 bytes are DOCSIS's own maximum traffic burst; PIE with RFC 8034's target, interval, burst and gains; a request
    // and its grant take 2 to 8 ms (draft-white-tsvwg-lld), here 2 ms and up to 6 more for each MAP of 2 ms.
    // Idle round trip: about 10 ms of access (the same draft) and 20 ms to the server. Overhead: tc-cake's docsis.
    Preset {
        name: "docsis",
        summary: "cable: 100 Mbit/s down, 150 for the first 20 MB, and 10 up with PIE, 26 ms and up to 6 ms for a \
                  grant, 3.125 MB (250 ms)",
        source: "RFC 8034 (PIE, upstream), draft-white-tsvwg-lld (grants), tc-cake(8) (overhead); rates and buffers chosen",
        toml: r#"
rate = { model = "token-bucket", rate = "100 Mbit/s", burst = "20 MB", peak = "150 Mbit/s" }
forward.delay = "12 ms"
buffer = "3125 kB"
overhead = "18 bytes"
reverse.rate = { model = "token-bucket", rate = "10 Mbit/s", burst = "3044 bytes" }
reverse.delay = "14 ms"
reverse.buffer = "312500 B"
reverse.aqm = { kind = "pie", target = "10 ms", update = "16 ms", burst = "142 ms", gain = "200 %" }
reverse.jitter = { amount = "6 ms", slot = "2 ms" }
"#,
    },
    // Burst: two BDPs of 250 kB.
    Preset {
        name: "policed",
        summary: "a policer of 50 Mbit/s with a burst of 500 kB before a line of 1 Gbit/s, 40 ms",
        source: "chosen",
        toml: r#"
rate = { model = "policer", rate = "50 Mbit/s", burst = "500 kB", then = "1 Gbit/s" }
rtt = "40 ms"
buffer = "1 bdp"
"#,
    },
    // Queue: B.1.1. Return link: model M2 of B.1.3 as it stands there. Calibrated to document 001's runs with HyStart off (capacity 11.8 (2.6) s,
    // first loss 22.9 (8.7) s, RTT spectrum with its peak at 0.5 Hz): the median rate, its spread over a day of
    // runs, and a slow swing of the return delay (the amplitude of M1). See docs/reference/networks/geo.md.
    Preset {
        name: "geo",
        summary: "geostationary satellite: around 28 Mbit/s effective, 600 ms, 36 MB with 25 % random drop above half, \
                  a return link with capacity on demand",
        source: "network-models B.1 (document 001); calibration: docs/reference/networks/geo.md",
        toml: r#"
rate = { model = "geo", rate = "28 Mbit/s", spread = "60 %" }
rtt = "600 ms"
buffer = "36 MB"
aqm = { kind = "random-above", fill = "50 %", probability = "25 %" }
reverse.rate = { model = "dama" }
reverse.overhead = "0 bytes"
reverse.buffer = "10000 packets"
reverse.jitter = { amount = "480 ms", distribution = "sine", period = "2 s" }
"#,
    },
    // B.2.2 in both directions. Round trip and buffer (B.2.3: 45 to 50 ms loaded, 1.0 to 1.5 MB) are calibrated to document 001's runs
    // with HyStart off: smallest RTT about 30 ms, capacity 0.4 (0.1) s, first loss 0.6 (0.1) s. Loss: a tenth of
    // B.2.2's, because none of the document's 77 runs ended by chance. See docs/reference/networks/leo.md.
    Preset {
        name: "leo",
        summary: "low-orbit satellite: around 100 Mbit/s down and 15 up in bursts, 44 ms, 1.5 MB, \
                  a new satellite every 15 s",
        source: "network-models B.2 (document 001); calibration: docs/reference/networks/leo.md",
        toml: r#"
rate = { model = "leo", rate = "100 Mbit/s" }
rtt = "44 ms"
buffer = "1.5 MB"
loss = "0.001 %"
reverse.rate = { model = "leo", rate = "15 Mbit/s", grant = "12 ms" }
reverse.overhead = "0 bytes"
reverse.buffer = "150 kB"
reverse.loss = "0.2 %"
"#,
    },
    // B.3.3, thesis-LTE of B.3.5. The round trip counts the radio. Runs differ by place (the spread that recorded drives
    // have) and by load (from none to 4 other users), around a mean quality at which slow start meets its first loss as
    // late on average as document 001's runs with HyStart off. See docs/reference/networks/lte.md.
    Preset {
        name: "lte",
        summary: "LTE cell with up to four other users: around 50 Mbit/s by place and load, grants each 5 ms for 20 Mbit/s up, 60 ms, 4 MB",
        source: "network-models B.3 (document 001)",
        toml: r#"
rate = { model = "lte", sinr = "16 dB", sinr_spread = "8 dB", users = 0, users_most = 4 }
rtt = "60 ms"
buffer = "4 MB"
overhead = "0 bytes"
reverse.rate = { model = "cell-uplink", rate = "20 Mbit/s" }
"#,
    },
    // B.3.5: slots of 0.5 ms, DDDSU, 200 Mbit/s, 8 MB, requests each 5 ms; 10 ms of core each way come to 33 ms. Places and
    // load as in LTE.
    Preset {
        name: "5g",
        summary: "5G cell with up to four other users: around 200 Mbit/s, 50 up, 33 ms, 8 MB",
        source: "network-models B.3.2, B.3.5, E",
        toml: r#"
rate = { model = "5g", sinr_spread = "8 dB", users = 0, users_most = 4 }
rtt = "33 ms"
buffer = "8 MB"
overhead = "0 bytes"
reverse.rate = { model = "cell-uplink", rate = "50 Mbit/s", request = "5 ms", wait = "4 ms", every = "2500 us", prepare = "2 ms", retry = "4 ms" }
"#,
    },
    // Radio and busy share: E (VHT80, rho 0.3). Buffer: B.5.5. The map of rates: the example of B.5.3. Stations, their
    // times and the length of frames: fitted so that plain slow start meets its first loss when document 001 does with
    // HyStart off (0.77 s in the mean, 0.44 s of deviation) behind an effective 80 Mbit/s. Round trip: chosen, beside
    // what the medium takes.
    Preset {
        name: "wifi-strong",
        summary: "Wi-Fi (802.11ac, 80 MHz) at -53 dBm among other stations: around 80 Mbit/s, 2 ms and what the medium takes, 4 MB",
        source: "network-models B.5, E (document 001)",
        toml: r#"
rate = { model = "wifi", standard = "ac", width = "80 MHz", streams = 2, rssi = "-53 dBm", rate_map = "sensitivity", max_frame = "500 us", busy = "30 %", stations = 6, station_packets = 64, traffic = { on = "1 s", off = "1500 ms" } }
rtt = "2 ms"
buffer = "4 MB"
"#,
    },
    // The same place with less of a signal, in which the other stations share.
    Preset {
        name: "wifi-weak",
        summary: "Wi-Fi (802.11ac, 80 MHz) at -64 dBm among other stations: around 40 Mbit/s, 2 ms and what the medium takes, 4 MB",
        source: "network-models B.5, E (document 001)",
        toml: r#"
rate = { model = "wifi", standard = "ac", width = "80 MHz", streams = 2, rssi = "-64 dBm", rate_map = "sensitivity", max_frame = "500 us", busy = "30 %", stations = 6, station_packets = 64, traffic = { on = "1 s", off = "1500 ms" } }
rtt = "2 ms"
buffer = "4 MB"
"#,
    },
    // Round trip: 50 ms on the wire and 3 to 5 ms of Wi-Fi. Queue: the transmit queue of a Linux router, B.5.5, which is
    // also what the document's flows without HyStart lose at once (1012 packets). The document names no radio: a
    // laptop of 802.11n on 20 MHz, and neighbours so busy that these flows have their 18.7 Mbit/s (figure 4(a)).
    Preset {
        name: "wifi-testbed",
        summary: "Wi-Fi (802.11n, 20 MHz) among busy neighbours, behind 50 ms of wire: around 20 Mbit/s, 54 ms in all, 1000 packets",
        source: "network-models B.5.1, B.5.5 (document 000); the radio chosen",
        toml: r#"
rate = { model = "wifi", standard = "n", width = "20 MHz", streams = 1, rssi = "-66 dBm", busy = "65 %" }
rtt = "52500 us"
buffer = "1000 packets"
"#,
    },
    // Rate: B.1.4 calibrates an effective 25 Mbit/s for a sender that counts bytes, as Linux 6.x
    // does (33 Mbit/s for one that counts ACKs); the plan's peak of 144 Mbit/s cannot reproduce
    // table 5.1. Return channel: model M1 of B.1.3, 300 ms + A (1 + sin) with A = 0.35 s, so the
    // addition reaches 0.7 s. Return rate: the largest grant of model M2.
    Preset {
        name: "geo-reduced",
        summary: "geostationary satellite: 25 Mbit/s effective, 600 ms, 36 MB with 25 % random drop above half, \
                  return delay swinging by 0.7 s every 2 s (simple form)",
        source: "network-models B.1.1, B.1.3 (M1), B.1.4 (document 001)",
        toml: r#"
rate = "25 Mbit/s"
rtt = "600 ms"
buffer = "36 MB"
aqm = { kind = "random-above", fill = "50 %", probability = "25 %" }
reverse.rate = "4 Mbit/s"
reverse.jitter = { amount = "700 ms", distribution = "sine", period = "2 s" }
"#,
    },
    // Round trip and buffer: B.2.3. Rates, loss and the uplink's buffer: B.2.2. Jitter: B.2.4 (4 ms
    // between the 5th and 95th percentile, in each direction), renewed with each burst of 4.4 ms.
    Preset {
        name: "leo-reduced",
        summary: "low-orbit satellite: 100 Mbit/s down and 15 up, 45 ms with up to 4 ms of jitter each way, 1 MB, \
                  0.01 % loss (simple form)",
        source: "network-models B.2.2, B.2.3, B.2.4 (document 001)",
        toml: r#"
rate = "100 Mbit/s"
rtt = "45 ms"
buffer = "1 MB"
loss = "0.01 %"
jitter = { amount = "4 ms", slot = "4400 us" }
reverse.rate = "15 Mbit/s"
reverse.buffer = "150 kB"
reverse.loss = "0.2 %"
reverse.jitter = { amount = "4 ms", slot = "4400 us" }
"#,
    },
    // B.3.4, thesis-LTE: m = 40 Mbit/s and s = 0.35, whose lognormal has a coefficient of variation
    // of 36 %; the two processes (0.15 s and 4 s, half each) fall to 1/e together after 1.2 s.
    // Peak, round trip: B.3.1. Buffer: B.3.3. Uplink: E (20 Mbit/s), grants each 5 ms.
    Preset {
        name: "lte-reduced",
        summary: "LTE: around 40 Mbit/s down (up to 100) and 20 up, 60 ms, 4 MB (simple form)",
        source: "network-models B.3.1, B.3.3, B.3.4 (document 001)",
        toml: r#"
rate = { mean = "40 Mbit/s", variation = "36 %", correlation = "1200 ms", slot = "10 ms", peak = "100 Mbit/s" }
rtt = "60 ms"
buffer = "4 MB"
reverse.rate = "20 Mbit/s"
reverse.jitter = { amount = "5 ms", slot = "5 ms" }
"#,
    },
    // B.4: rate of B.3.4, cut by category 6; outages of a card that does not move. Round trip and buffers: B.4.3. Uplink:
    // a dedicated channel of 384 kbit/s. ACKs and data count as bytes of IP.
    Preset {
        name: "hsdpa",
        summary: "HSDPA download: around 2 Mbit/s (category 6), 120 ms, 128 KiB; ACKs over 384 kbit/s of UMTS",
        source: "network-models B.3.4, B.4 (document 002)",
        toml: r#"
rate = { model = "hsdpa" }
rtt = "120 ms"
buffer = "128 KiB"
overhead = "0 bytes"
reverse.rate = { model = "umts-uplink", rate = "384 kbit/s" }
reverse.buffer = "64 KiB"
"#,
    },
    Preset {
        name: "hsdpa-uplink",
        summary: "UMTS upload: 384 kbit/s in blocks of 10 ms, 120 ms, 64 KiB; ACKs over HSDPA",
        source: "network-models B.4 (document 002)",
        toml: r#"
rate = { model = "umts-uplink", rate = "384 kbit/s" }
rtt = "120 ms"
buffer = "64 KiB"
overhead = "0 bytes"
reverse.rate = { model = "hsdpa" }
reverse.buffer = "128 KiB"
"#,
    },
    // Effective rate: E. Buffer: B.5.5. Round trip: the 3 to 5 ms that B.5.1 gives Wi-Fi itself, the
    // upper end, because the server stands on the same campus. Jitter: a busy medium (B.5.4).
    // Variation, correlation (the 50 ms of rate control, B.5.3) and peak (twice the mean): chosen.
    Preset {
        name: "wifi-strong-reduced",
        summary: "Wi-Fi at -53 dBm: around 80 Mbit/s, 5 ms with up to 3 ms of jitter each way, 4 MB (simple form)",
        source: "network-models B.5.1, B.5.3, B.5.4, B.5.5, E (document 001)",
        toml: r#"
rate = { mean = "80 Mbit/s", variation = "30 %", correlation = "50 ms", slot = "5 ms", peak = "160 Mbit/s" }
rtt = "5 ms"
buffer = "4 MB"
jitter = { amount = "3 ms", slot = "3 ms" }
reverse.rate = "80 Mbit/s"
reverse.jitter = { amount = "3 ms", slot = "3 ms" }
"#,
    },
    // As wifi-strong; E calls the rate a guess.
    Preset {
        name: "wifi-weak-reduced",
        summary: "Wi-Fi at -64 dBm: around 45 Mbit/s, 5 ms with up to 3 ms of jitter each way, 4 MB (simple form)",
        source: "network-models B.5.1, B.5.3, B.5.4, B.5.5, E (document 001)",
        toml: r#"
rate = { mean = "45 Mbit/s", variation = "40 %", correlation = "50 ms", slot = "5 ms", peak = "90 Mbit/s" }
rtt = "5 ms"
buffer = "4 MB"
jitter = { amount = "3 ms", slot = "3 ms" }
reverse.rate = "45 Mbit/s"
reverse.jitter = { amount = "3 ms", slot = "3 ms" }
"#,
    },
];

/// The preset of that name.
pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// The nearest preset, or all of them.
pub(crate) fn hint(name: &str) -> String {
    let known: Vec<&str> = PRESETS
        .iter()
        .map(|preset| preset.name)
        .chain(["trace:FILE"])
        .collect();
    suggestion(name, known)
}
