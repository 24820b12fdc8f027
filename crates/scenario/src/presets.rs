//! Paths by name. Each preset is written as a user would write it and read by the same parser, so
//! it also shows what a file can contain.
//!
//! A name that ends in "-reduced" is a simple form: one bottleneck with a fixed or varying rate,
//! jitter, and a queue. It does not model frames, grants, handovers, ARQ or contention; its summary
//! says "simple form". Sources are the keys of docs/reference/sources.md; "chosen" marks what no
//! source gives.

use crate::error::suggestion;

/// A named path.
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
    /// Its page in `docs/reference/networks`.
    #[must_use]
    pub fn page(&self) -> &'static str {
        match self.name {
            "wired" | "ethernet" => "queues.md",
            "dsl" | "docsis" => "dsl.md",
            "geo" => "geo.md",
            "leo" => "leo.md",
            "starlink" | "starlink-remote" => "starlink.md",
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
        source: "SUSS developers 2025 (413 packets); 1514 bytes for a full packet",
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
    // Rates: a common VDSL2 product. Sync rate and buffers: chosen. Delay: 8 ms of interleaving in
    // each direction (the delay that operators configure) and 7 ms to a server in the same country.
    // Overhead: PPPoE over PTM with a VLAN tag, as tc-cake's keywords pppoe-ptm and ether-vlan
    // count it.
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
    // Plan, boost and buffers: chosen (20 MB at 150 Mbit/s last 3.2 s; buffers are 250 ms of the
    // rate). Upstream: 3044 bytes are DOCSIS's own maximum traffic burst; PIE has the target,
    // interval, burst and gains of RFC 8034; a request and its grant take 2 to 8 ms
    // (draft-white-tsvwg-lld), here 2 ms and up to 6 more for each MAP of 2 ms. Idle round trip:
    // about 10 ms of access (the same draft) and 20 ms to the server. Overhead: tc-cake's docsis.
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
    // Queue: Kachooei 2024, chapter 5. Return link: model M2 of docs/reference/sources.md.
    // Calibrated to the runs of Kachooei 2024 with HyStart off (capacity 11.8 (2.6) s, first loss
    // 22.9 (8.7) s, RTT spectrum with its peak at 0.5 Hz): the median rate, its spread over a day
    // of runs, and a slow swing of the return delay (the amplitude of model M1). See
    // docs/reference/networks/geo.md.
    Preset {
        name: "geo",
        summary: "geostationary satellite: around 28 Mbit/s effective, 600 ms, 36 MB with 25 % random drop above half, \
                  a return link with capacity on demand",
        source: "Kachooei 2024; calibration: docs/reference/networks/geo.md",
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
    // Both directions: LeoCC. Round trip and buffer are the chosen point of those that the runs of
    // Kachooei 2024 with HyStart off allow (1.3 to 2 MB: smallest RTT about 30 ms, capacity 0.4
    // (0.1) s, first loss 0.6 (0.1) s; calibration.toml of the study `search-thesis`). Loss: a tenth
    // of the forward loss of the LeoReplayer authors, because none of the thesis' 77 runs left slow
    // start on random loss. See docs/reference/networks/leo.md.
    Preset {
        name: "leo",
        summary: "low-orbit satellite: around 100 Mbit/s down and 15 up in bursts, 41 ms, 1.75 MB, \
                  a new satellite every 15 s",
        source: "Kachooei 2024; calibration: docs/reference/networks/leo.md",
        toml: r#"
rate = { model = "leo", rate = "100 Mbit/s" }
rtt = "41 ms"
buffer = "1.75 MB"
loss = "0.001 %"
reverse.rate = { model = "leo", rate = "15 Mbit/s", grant = "12 ms" }
reverse.overhead = "0 bytes"
reverse.buffer = "150 kB"
reverse.loss = "0.2 %"
"#,
    },
    // Each number: docs/reference/networks/starlink.md. A run begins at second 0 of a minute, and the
    // reconfigurations are at seconds 12, 27, 42 and 57.
    Preset {
        name: "starlink",
        summary: "Starlink near a gateway: around 300 Mbit/s down and 18 up, 45 ms, 5.25 MB, another rate and RTT every \
                  15 s after 0.1 s without service, 0.05 % loss",
        source: "public recordings; docs/reference/networks/starlink.md",
        toml: r#"
rate = { model = "leo", rate = "300 Mbit/s", phase = "12 s", spread = "18 %", wander = "15 %", step = "2 ms", outage = "80 ms", outage_mean = "40 ms", outage_max = "300 ms", drop = "8 %", drop_packets = 0, drop_time = "100 ms" }
rtt = "45 ms"
buffer = "5.25 MB"
loss = "0.05 %"
reverse.rate = { model = "leo", rate = "18 Mbit/s", phase = "12 s", spread = "18 %", wander = "15 %", step = "2 ms", outage = "80 ms", outage_mean = "40 ms", outage_max = "300 ms", drop = "8 %", drop_packets = 0, drop_time = "100 ms", grant = "12 ms" }
reverse.overhead = "0 bytes"
reverse.buffer = "315 kB"
reverse.loss = "0.1 %"
"#,
    },
    Preset {
        name: "starlink-remote",
        summary: "Starlink over laser links, far from any gateway: around 100 Mbit/s down and 15 up, 155 ms, 1.75 MB, \
                  another RTT every 15 s after 0.6 s without service, 0.05 % loss",
        source: "public recordings; docs/reference/networks/starlink.md",
        toml: r#"
rate = { model = "leo", rate = "100 Mbit/s", phase = "12 s", step = "9 ms", outage = "600 ms", outage_mean = "15 ms", outage_max = "700 ms", drop = "100 %", drop_packets = 0, drop_time = "430 ms" }
rtt = "155 ms"
buffer = "1.75 MB"
loss = "0.05 %"
reverse.rate = { model = "leo", rate = "15 Mbit/s", phase = "12 s", step = "9 ms", outage = "600 ms", outage_mean = "15 ms", outage_max = "700 ms", drop = "100 %", drop_packets = 0, drop_time = "430 ms", grant = "12 ms" }
reverse.overhead = "0 bytes"
reverse.buffer = "150 kB"
reverse.loss = "0.05 %"
"#,
    },
    // The round trip includes the radio. Runs differ by place (with the spread of recorded drives)
    // and by load (none to 4 other users). At the mean SINR slow start meets its first loss as late
    // on average as in the runs of Kachooei 2024 with HyStart off. See
    // docs/reference/networks/lte.md.
    Preset {
        name: "lte",
        summary: "LTE cell with up to four other users: around 50 Mbit/s by place and load, grants each 5 ms for 20 Mbit/s up, 60 ms, 4 MB",
        source: "Kachooei 2024; calibration: docs/reference/networks/lte.md",
        toml: r#"
rate = { model = "lte", sinr = "16 dB", sinr_spread = "8 dB", users = 0, users_most = 4 }
rtt = "60 ms"
buffer = "4 MB"
overhead = "0 bytes"
reverse.rate = { model = "cell-uplink", rate = "20 Mbit/s" }
"#,
    },
    // Slots of 0.5 ms, DDDSU, 200 Mbit/s, 8 MB, requests every 5 ms; 10 ms of core network each way
    // give 33 ms. Places and load as in `lte`.
    Preset {
        name: "5g",
        summary: "5G cell with up to four other users: around 200 Mbit/s, 50 up, 33 ms, 8 MB",
        source: "docs/reference/sources.md, \"Cells of LTE and 5G\"",
        toml: r#"
rate = { model = "5g", sinr_spread = "8 dB", users = 0, users_most = 4 }
rtt = "33 ms"
buffer = "8 MB"
overhead = "0 bytes"
reverse.rate = { model = "cell-uplink", rate = "50 Mbit/s", request = "5 ms", wait = "4 ms", every = "2500 us", prepare = "2 ms", retry = "4 ms" }
"#,
    },
    // Radio (VHT80): chosen. Busy fraction, buffer and round trip: the heaviest of the points that the
    // flows of Kachooei 2024 without HyStart allow (figure 5.10: slow start ends after about 0.2 s,
    // about 2600 packets are retransmitted); calibration.toml of the study `search-thesis`. The medium
    // adds its own delay to the round trip.
    Preset {
        name: "wifi-strong",
        summary: "Wi-Fi (802.11ac, 80 MHz) at -53 dBm beside busy networks: around 200 Mbit/s, 1 ms and what the medium takes, 2 MB",
        source: "Kachooei 2024; docs/reference/networks/wifi.md",
        toml: r#"
rate = { model = "wifi", standard = "ac", width = "80 MHz", streams = 2, rssi = "-53 dBm", busy = "60 %" }
rtt = "1 ms"
buffer = "2 MB"
"#,
    },
    // The same network with a weaker signal.
    Preset {
        name: "wifi-weak",
        summary: "Wi-Fi (802.11ac, 80 MHz) at -64 dBm beside busy networks: around 130 Mbit/s, 1 ms and what the medium takes, 2 MB",
        source: "Kachooei 2024; docs/reference/networks/wifi.md",
        toml: r#"
rate = { model = "wifi", standard = "ac", width = "80 MHz", streams = 2, rssi = "-64 dBm", busy = "60 %" }
rtt = "1 ms"
buffer = "2 MB"
"#,
    },
    // Round trip: 50 ms on the wire and 3 to 5 ms of Wi-Fi. Queue: the transmit queue of a Linux
    // router, which is also what the flows of SUSS developers 2025 without HyStart lose at once
    // (1012 packets). The authors name no radio: chosen are a laptop of 802.11n on 20 MHz, and
    // neighbours so busy that these flows get their 18.7 Mbit/s (figure 4(a)).
    Preset {
        name: "wifi-testbed",
        summary: "Wi-Fi (802.11n, 20 MHz) among busy neighbours, behind 50 ms of wire: around 20 Mbit/s, 54 ms in all, 1000 packets",
        source: "SUSS developers 2025; the radio chosen",
        toml: r#"
rate = { model = "wifi", standard = "n", width = "20 MHz", streams = 1, rssi = "-66 dBm", busy = "65 %" }
rtt = "52500 us"
buffer = "1000 packets"
"#,
    },
    // Rate: calibrated to an effective 25 Mbit/s for a sender that counts bytes, as Linux 6.x does
    // (33 Mbit/s for one that counts ACKs); the plan's peak of 144 Mbit/s cannot reproduce table
    // 5.1 of Kachooei 2024. Return channel: model M1 of docs/reference/sources.md, 300 ms + A (1 +
    // sin) with A = 0.35 s, so up to 0.7 s are added. Return rate: the largest grant of model M2.
    Preset {
        name: "geo-reduced",
        summary: "geostationary satellite: 25 Mbit/s effective, 600 ms, 36 MB with 25 % random drop above half, \
                  return delay swinging by 0.7 s every 2 s (simple form)",
        source: "Kachooei 2024; return link: docs/reference/sources.md (model M1)",
        toml: r#"
rate = "25 Mbit/s"
rtt = "600 ms"
buffer = "36 MB"
aqm = { kind = "random-above", fill = "50 %", probability = "25 %" }
reverse.rate = "4 Mbit/s"
reverse.jitter = { amount = "700 ms", distribution = "sine", period = "2 s" }
"#,
    },
    // Round trip and buffer: Kachooei 2024, table 5.1. Rates, loss and the uplink's buffer: LeoCC.
    // Jitter: 4 ms between the 5th and 95th percentile in each direction, renewed with each burst
    // of 4.4 ms.
    Preset {
        name: "leo-reduced",
        summary: "low-orbit satellite: 100 Mbit/s down and 15 up, 45 ms with up to 4 ms of jitter each way, 1 MB, \
                  0.01 % loss (simple form)",
        source: "Kachooei 2024",
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
    // Rate: m = 40 Mbit/s and s = 0.35, whose log-normal has a coefficient of variation of 36 %;
    // the two processes (0.15 s and 4 s, half each) fall to 1/e together after 1.2 s. Peak and
    // round trip: Kachooei 2024, chapter 5. Buffer, uplink (20 Mbit/s) and its grants every 5 ms:
    // docs/reference/networks/lte.md.
    Preset {
        name: "lte-reduced",
        summary: "LTE: around 40 Mbit/s down (up to 100) and 20 up, 60 ms, 4 MB (simple form)",
        source: "Kachooei 2024",
        toml: r#"
rate = { mean = "40 Mbit/s", variation = "36 %", correlation = "1200 ms", slot = "10 ms", peak = "100 Mbit/s" }
rtt = "60 ms"
buffer = "4 MB"
reverse.rate = "20 Mbit/s"
reverse.jitter = { amount = "5 ms", slot = "5 ms" }
"#,
    },
    // Rate: fitted to a recorded trace of UMTS, limited by category 6; outages of a card that does
    // not move. Round trip and buffers: docs/reference/networks/hsdpa.md. Uplink: a dedicated
    // channel of 384 kbit/s. ACKs and data count as bytes of IP.
    Preset {
        name: "hsdpa",
        summary: "HSDPA download: around 2 Mbit/s (category 6), 120 ms, 128 KiB; ACKs over 384 kbit/s of UMTS",
        source: "De Cicco and Mascolo 2012; docs/reference/networks/hsdpa.md",
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
        source: "De Cicco and Mascolo 2012; docs/reference/networks/hsdpa.md",
        toml: r#"
rate = { model = "umts-uplink", rate = "384 kbit/s" }
rtt = "120 ms"
buffer = "64 KiB"
overhead = "0 bytes"
reverse.rate = { model = "hsdpa" }
reverse.buffer = "128 KiB"
"#,
    },
    // Effective rate and buffer: docs/reference/networks/wifi.md. Round trip: the upper end of the
    // 3 to 5 ms that Wi-Fi itself takes, because the server is on the same campus. Jitter: a busy
    // medium. Variation, correlation (the 50 ms of rate control) and peak (twice the mean): chosen.
    Preset {
        name: "wifi-strong-reduced",
        summary: "Wi-Fi at -53 dBm: around 80 Mbit/s, 5 ms with up to 3 ms of jitter each way, 4 MB (simple form)",
        source: "Kachooei 2024; the variation chosen",
        toml: r#"
rate = { mean = "80 Mbit/s", variation = "30 %", correlation = "50 ms", slot = "5 ms", peak = "160 Mbit/s" }
rtt = "5 ms"
buffer = "4 MB"
jitter = { amount = "3 ms", slot = "3 ms" }
reverse.rate = "80 Mbit/s"
reverse.jitter = { amount = "3 ms", slot = "3 ms" }
"#,
    },
    // As wifi-strong-reduced; the rate is chosen.
    Preset {
        name: "wifi-weak-reduced",
        summary: "Wi-Fi at -64 dBm: around 45 Mbit/s, 5 ms with up to 3 ms of jitter each way, 4 MB (simple form)",
        source: "Kachooei 2024; rate and variation chosen",
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

/// The nearest preset, or a list of all presets.
pub(crate) fn hint(name: &str) -> String {
    let known: Vec<&str> = PRESETS
        .iter()
        .map(|preset| preset.name)
        .chain(["trace:FILE"])
        .collect();
    suggestion(name, known)
}
