//! The paths that have a name. Each is written as a user would write it, and read by the same
//! parser, so that a preset shows what a file can say.
//!
//! These are simple forms: one bottleneck with a fixed or wandering rate, jitter, and a queue.
//! Frames, grants, handovers, ARQ and contention are not modelled; the summary of each such
//! preset says "simple form". Numbers come from network-models (the section is at each preset);
//! "chosen" marks what no source gives.

use std::path::Path;

use crate::document::{Document, Table};
use crate::error::{Error, suggestion};
use crate::link::{DELAY_SLOT, Delay};
use crate::path::PathSpec;
use crate::schema::PATH;
use crate::trace_file;
use crate::{PathModel, trace_file::Problem};

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
    // Rate: B.1.4 calibrates an effective 25 Mbit/s for a sender that counts bytes, as Linux 6.x
    // does (33 Mbit/s for one that counts ACKs); the plan's peak of 144 Mbit/s cannot reproduce
    // table 5.1. Return channel: model M1 of B.1.3, 300 ms + A (1 + sin) with A = 0.35 s, so the
    // addition reaches 0.7 s. Return rate: the largest grant of model M2.
    Preset {
        name: "geo",
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
        name: "leo",
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
        name: "lte",
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
    // Effective rate: E. Buffer: B.5.5. Round trip: the 3 to 5 ms that B.5.1 gives Wi-Fi itself, the
    // upper end, because the server stands on the same campus. Jitter: a busy medium (B.5.4).
    // Variation, correlation (the 50 ms of rate control, B.5.3) and peak (twice the mean): chosen.
    Preset {
        name: "wifi-strong",
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
        name: "wifi-weak",
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

/// What `trace:FILE` adds to a trace: 30 ms each way (unless a trace of delays is given) and 4 MB in front of the radio, and an uplink
/// of 20 Mbit/s (network-models E, LTE-trace). Mahimahi's own queue has no end, in which slow
/// start never loses; write `buffer = "unlimited"` in a path file for that.
const TRACE: Preset = Preset {
    name: "trace",
    summary: "recorded trace, 60 ms, 4 MB",
    source: "network-models A.9, E",
    toml: r#"
rate = "1 Mbit/s"
rtt = "60 ms"
buffer = "4 MB"
reverse.rate = "20 Mbit/s"
"#,
};

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

/// What a preset says.
pub(crate) fn spec(preset: &Preset) -> Result<PathSpec, Error> {
    let document = Document {
        file: preset.name,
        text: preset.toml,
    };
    let tree = document.parse()?;
    let table = Table::new(document, &PATH, tree.get_ref(), 0)?;
    let mut spec = PathSpec::read(&table, Path::new(""))?;
    spec.name = Some(preset.name.to_owned());
    spec.summary = Some(preset.summary.to_owned());
    Ok(spec)
}

/// The path of a preset.
pub(crate) fn path(preset: &Preset) -> Result<PathModel, Error> {
    spec(preset)?
        .resolve(preset.name)
        .map_err(|reason| Error::in_file(preset.name, format!("the preset {reason}")))
}

/// Stands before the name of a trace of delays.
const DELAY: &str = ",delay=";

/// The path of `trace:DOWN` or `trace:DOWN,UP`, and of both with `,delay=FILE` after it. The name of
/// a file that exists is not taken apart.
pub(crate) fn trace(files: &str) -> Result<PathModel, Error> {
    let (rates, delays) = match files.rsplit_once(DELAY) {
        Some((rates, delays)) if !Path::new(files).exists() => (rates, Some(delays)),
        _ => (files, None),
    };
    let (down, up) = match rates.rsplit_once(',') {
        Some((down, up)) if !Path::new(rates).exists() => (down, Some(up)),
        _ => (rates, None),
    };
    let mut spec = spec(&TRACE)?;
    for (link, file) in [(&mut spec.forward, Some(down)), (&mut spec.reverse, up)] {
        if let Some(file) = file {
            let service = trace_file::read(Path::new(file));
            link.service = Some(service.map_err(|problem| wrong_file(file, problem))?);
            link.overhead = Some(0);
        }
        if let Some(file) = delays {
            let delays = trace_file::read_delays(Path::new(file));
            let delays = delays.map_err(|problem| wrong_file(file, problem))?;
            link.delay = Some(Delay::recorded(&delays, DELAY_SLOT));
        }
    }
    let stem = |file: &str| {
        Path::new(file).file_name().map_or_else(
            || file.to_owned(),
            |name| name.to_string_lossy().into_owned(),
        )
    };
    let up_text = up.map_or_else(|| "20 Mbit/s".to_owned(), &stem);
    spec.name = Some(format!("trace:{files}"));
    let delay_text = delays.map_or_else(
        || "60 ms".to_owned(),
        |delays| format!("{} each way", stem(delays)),
    );
    spec.summary = Some(format!(
        "{} repeated, {delay_text}, 4 MB; return {up_text}",
        stem(down)
    ));
    spec.resolve("trace")
        .map_err(|reason| Error::new(format!("trace:{files} {reason}")))
}

fn wrong_file(file: &str, problem: Problem) -> Error {
    match problem {
        Problem::File(reason) if file.is_empty() => Error::new(format!(
            "trace: needs the name of a file, as in trace:FILE or trace:FILE,delay=FILE; {reason}"
        )),
        Problem::File(reason) => Error::in_file(file, reason),
        Problem::Content(error) => error,
    }
}
