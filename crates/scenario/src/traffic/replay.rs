//! `kind = "tmix"`: the connections of a file of connection vectors, fitted to the experiment as in
//! the Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01): scaled, shuffled and prefilled,
//! in this order.

use std::path::Path;
use std::sync::Arc;

use units::{Duration, Instant, Rate};
use workload::suite::{
    Estimate, Framing, Offered, Prefill, Shuffle, bin_length, scale, suite_stream,
};
use workload::tmix::Reader;
use workload::{Connection, Plan, Recording, Side, TrafficKind, kinds};

use super::{Load, Pending, Read};
use crate::document::Table;
use crate::error::Error;
use crate::limits::{ARRIVALS, MAX_VECTOR_FILE, MAX_VECTORS};
use crate::trace_file::read_pieces;

/// How a recording becomes an experiment.
#[derive(Clone, Debug)]
pub(super) struct Replay {
    recording: Recording,
    /// The time of the trace that is used.
    length: Duration,
    /// Either the scale or the load is given.
    scale: f64,
    load: Option<Load>,
    shuffle: Option<u32>,
    prefill: Option<Duration>,
    repeat: bool,
    /// The error where a step needs a rate that the direction does not have.
    unrated: Error,
    /// The error where a load needs data that the acceptors do not send.
    silent: Error,
    /// The error where the repeated trace has too many starts per second.
    too_many: Error,
}

pub(super) fn tmix(keys: &kinds::Replay, table: &Table<'_>, folder: &Path) -> Read {
    let recording = recording(keys, table, folder)?;
    table.either("scale", "load")?;
    let repeat = keys.repeat;
    let last = recording.connections.last();
    let last = last.map_or(Instant::ZERO, |connection| connection.start);
    let length = keys.length;
    let length = length.unwrap_or(last.saturating_since(Instant::ZERO));
    let load = table.has("load").then(|| Load::read(table, !repeat));
    let load = load.transpose()?;
    let steps = ["load", "shuffle", "prefill", "repeat"];
    let mut asked = steps.into_iter().filter(|key| table.has(key));
    let step = asked.find(|&key| key != "repeat" || repeat);
    if let (Some(key), true) = (step, length.is_zero()) {
        return Err(table.refuse_at(
            key,
            format!("all connections of the file start at once: give the table a length for {key}"),
        ));
    }
    let rated = step.filter(|&key| key != "repeat").unwrap_or("file");
    let replay = Replay {
        recording: recording.clone(),
        length,
        scale: keys.scale,
        load,
        shuffle: keys.shuffle,
        prefill: keys.prefill,
        repeat,
        unrated: table.refuse_at(
            rated,
            format!("{rated} needs a direction with a rate limit"),
        ),
        silent: table.refuse_at(
            "load",
            "the acceptors of the file send no data to load a link with",
        ),
        too_many: table.refuse_at(
            "repeat",
            format!("this gives more than {} starts per second", ARRIVALS.1),
        ),
    };
    let kind = TrafficKind::Exchanges(Plan::Recorded(recording));
    Ok((kind, Pending::Replay(Box::new(replay))))
}

/// The connections of `file`, in the order of their starts. Those that start at or after `length`
/// are left out.
fn recording(keys: &kinds::Replay, table: &Table<'_>, folder: &Path) -> Result<Recording, Error> {
    let item = table.need("file")?;
    let file = keys.file.clone();
    let path = folder.join(&file);
    let input = read_pieces(&path, MAX_VECTOR_FILE).map_err(|reason| item.refuse(reason))?;
    let wrong = |error: workload::tmix::TmixError| Error::new(error.to_string());
    let reader = Reader::new(path.to_string_lossy(), input).map_err(wrong)?;
    let end = keys.length.map(|length| Instant::ZERO + length);
    let mut connections: Vec<Connection> = Vec::new();
    for connection in reader {
        let connection = connection.map_err(wrong)?;
        if end.is_some_and(|end| connection.start >= end) {
            continue;
        }
        if connections.len() >= MAX_VECTORS {
            return Err(item.refuse(format!("the limit is {MAX_VECTORS} connections")));
        }
        connections.push(connection);
    }
    if connections.is_empty() {
        return Err(item.refuse(match end {
            Some(_) => "no connection of the file starts within length",
            None => "the file has no connection",
        }));
    }
    connections.sort_by_key(|connection| connection.start);
    Ok(Recording {
        file,
        connections: connections.into(),
        repeat: None,
    })
}

impl Replay {
    /// The experiment over a direction of this rate.
    pub(super) fn settle(self, rate: Option<Rate>) -> Result<TrafficKind, Error> {
        let framing = Framing::default();
        let mut factor = self.scale;
        let recorded = &self.recording.connections;
        let mut offered = Offered::default();
        if self.load.is_some() || self.prefill.is_some() {
            recorded.iter().for_each(|one| offered.add(one, framing));
        }
        let rated = || rate.ok_or_else(|| self.unrated.clone());
        if let Some(load) = &self.load {
            let rate = rate.ok_or_else(|| load.refusals[0].clone())?;
            factor = offered.scale_for(load.fraction, Side::Acceptor, rate, self.length);
            if factor <= 0.0 {
                return Err(self.silent);
            }
        }
        let scaled =
            |span: Duration| Duration::from_nanos((span.as_nanos() as f64 * factor) as u64);
        let length = scaled(self.length);
        let mut connections: Vec<Connection> = recorded.to_vec();
        for connection in &mut connections {
            scale(connection, factor);
        }
        if let Some(number) = self.shuffle {
            let bin = bin_length(rated()?).ok_or_else(|| self.unrated.clone())?;
            let mut random = suite_stream(number);
            // The last connection belongs to the trace.
            let length = length + Duration::from_nanos(1);
            Shuffle::new(bin, length, || random.uniform()).apply(&mut connections);
        }
        if let Some(time) = self.prefill {
            let rate = rated()?;
            let prefill = Prefill {
                time,
                rate,
                load: offered.load(Side::Acceptor, rate, length),
                sender: Side::Acceptor,
                estimate: Estimate { rate, framing },
            };
            prefill.apply(&mut connections);
        }
        if self.repeat && recorded.len() as f64 > ARRIVALS.1 * length.as_secs_f64() {
            return Err(self.too_many);
        }
        Ok(TrafficKind::Exchanges(Plan::Recorded(Recording {
            file: self.recording.file,
            connections: Arc::from(connections),
            repeat: self.repeat.then_some(length),
        })))
    }
}
