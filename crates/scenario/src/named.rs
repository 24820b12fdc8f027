//! Paths by name: presets, and `trace:FILE`.

use std::path::Path;

use crate::error::Error;
use crate::link::{DELAY_SLOT, Delay};
use crate::model::PathModel;
use crate::path::PathSpec;
use crate::presets::Preset;
use crate::trace_file::{self, Problem};
use crate::traffic;
use units::Duration;

/// What `trace:FILE` adds to a trace: 30 ms each way (unless a trace of delays is given), 4 MB of
/// buffer in front of the radio, and an uplink of 20 Mbit/s. Mahimahi's own queue has no limit, and
/// slow start never loses a packet there; for that, write `buffer = "unlimited"` in a path file.
const TRACE: Preset = Preset {
    name: "trace",
    summary: "recorded trace, 60 ms, 4 MB",
    source: "mahimahi; delay, buffer and uplink chosen",
    toml: r#"
rate = "1 Mbit/s"
rtt = "60 ms"
buffer = "4 MB"
reverse.rate = "20 Mbit/s"
"#,
};

/// The path of a preset.
pub(crate) fn path(preset: &Preset) -> Result<PathModel, Error> {
    let mut spec = PathSpec::of(preset)?;
    let others = spec.traffic.take().unwrap_or_default();
    let mut path = spec
        .resolve(preset.name)
        .map_err(|reason| Error::in_file(preset.name, format!("the preset {reason}")))?;
    traffic::settle(others, Duration::ZERO, &mut path)?;
    Ok(path)
}

/// The prefix of the name of a trace of delays.
const DELAY: &str = ",delay=";

/// The path of `trace:DOWN` or `trace:DOWN,UP`, either with `,delay=FILE` after it. The name of an
/// existing file is not split.
pub(crate) fn trace(files: &str) -> Result<PathModel, Error> {
    let (rates, delays) = match files.rsplit_once(DELAY) {
        Some((rates, delays)) if !Path::new(files).exists() => (rates, Some(delays)),
        _ => (files, None),
    };
    let (down, up) = match rates.rsplit_once(',') {
        Some((down, up)) if !Path::new(rates).exists() => (down, Some(up)),
        _ => (rates, None),
    };
    let mut spec = PathSpec::of(&TRACE)?;
    for (link, file) in [(&mut spec.forward, Some(down)), (&mut spec.reverse, up)] {
        if let Some(file) = file {
            let service = trace_file::read(Path::new(file));
            link.service = Some(service.map_err(|problem| wrong_file(file, problem))?);
            link.is_recorded = true;
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
