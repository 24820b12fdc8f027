//! `[[flow]]`: which flows send what, when and how. Defaults are those of Linux 6.x.

use congestion::Algorithm;
use tcp::{AckPolicy, Autotuning, LossDetection};
use units::{Bytes, Duration, Rate};

use crate::document::{Item, Table};
use crate::error::Error;
use crate::limits::{MIN_INTERVAL, RECEIVE_BUFFER};
use crate::model::{Application, FULL_PACKET, Flow};
use crate::quantity;
use crate::tables::APPLICATION;

/// Payload of a full segment: a full packet less headers with timestamps. A trickle writes these.
const FULL_PAYLOAD: u32 = FULL_PACKET - 52;

/// In the order of the words in the table.
pub(crate) const AUTOTUNING: &[Autotuning] =
    &[Autotuning::Current, Autotuning::Linux54, Autotuning::Off];
pub(crate) const ACK_POLICIES: &[AckPolicy] = &[AckPolicy::Delayed, AckPolicy::EverySegment];
pub(crate) const LOSS_DETECTION: &[LossDetection] = &[LossDetection::Rack, LossDetection::Fack];

/// Reads a `[[flow]]` table: as many flows as its `count`.
pub(crate) fn read(table: &Table<'_>) -> Result<Vec<Flow>, Error> {
    let mut flow = Flow::new(algorithm(&table.need("algorithm")?)?);
    table.either("size", "duration")?;
    if let Some(item) = table.get("name") {
        flow.name = item.words()?;
    }
    flow.size = table.read("size")?;
    flow.duration = table.read("duration")?;
    table.set("start", &mut flow.start)?;
    read_sender(table, &mut flow)?;
    for (key, window) in [
        ("receive_buffer", &mut flow.receive_buffer),
        ("syn_window", &mut flow.syn_window),
    ] {
        if let Some(item) = table.get(key) {
            *window = item.parse(|text| receive_buffer(quantity::size(text)?))?;
        }
    }
    if let Some(policy) = table.word("ack_policy", ACK_POLICIES)? {
        flow.ack_policy = policy;
    }
    table.set("extra_delay", &mut flow.extra_delay)?;
    if let Some(item) = table.get("application") {
        flow.application = application(&item.table(&APPLICATION)?)?;
    }
    copies(table, flow)
}

/// An algorithm by its name.
pub(crate) fn algorithm(item: &Item<'_>) -> Result<Algorithm, Error> {
    item.parse(|text| Algorithm::parse(text).map_err(|error| error.to_string()))
}

fn read_sender(table: &Table<'_>, flow: &mut Flow) -> Result<(), Error> {
    table.set("initial_window", &mut flow.initial_window)?;
    table.set("tso_segments", &mut flow.tso_segments)?;
    table.set("small_queue", &mut flow.small_queue)?;
    table.set("pacing", &mut flow.pacing)?;
    table.set("ecn", &mut flow.ecn)?;
    table.set("sack", &mut flow.sack)?;
    table.set("impatient", &mut flow.impatient)?;
    table.set("restart_after_idle", &mut flow.restart_after_idle)?;
    table.set("byte_counting", &mut flow.byte_counting)?;
    if let Some(autotuning) = table.word("autotuning", AUTOTUNING)? {
        flow.autotuning = autotuning;
    }
    if let Some(detection) = table.word("loss_detection", LOSS_DETECTION)? {
        flow.loss_detection = detection;
    }
    if !flow.sack && flow.loss_detection == LossDetection::Fack {
        return Err(table.refuse_at("loss_detection", "fack needs SACK: leave out sack = false"));
    }
    if flow.sack && flow.impatient {
        return Err(table.refuse_at(
            "impatient",
            "impatient concerns NewReno: it needs sack = false",
        ));
    }
    Ok(())
}

/// A receive buffer within its limits. The error is the end of a sentence.
pub(crate) fn receive_buffer(size: Bytes) -> Result<Bytes, String> {
    if size < RECEIVE_BUFFER.0 {
        return Err(format!(
            "the least is two segments, {}",
            quantity::format_size(RECEIVE_BUFFER.0)
        ));
    }
    if size > RECEIVE_BUFFER.1 {
        return Err("the limit is the largest TCP window, 65535 x 16 KiB".to_owned());
    }
    Ok(size)
}

fn application(table: &Table<'_>) -> Result<Application, Error> {
    table.either("write", "rate")?;
    if let Some(item) = table.get("rate") {
        if let Some(key) = ["every", "pause"].into_iter().find(|key| table.has(key)) {
            return Err(table.refuse_at(key, format!("an application with a rate has no {key}")));
        }
        let write = Bytes::new(u64::from(FULL_PAYLOAD));
        let every = table.needed::<Rate>("rate")?.time_for(write);
        if every < MIN_INTERVAL {
            return Err(item.refuse("the rate of an application is at most 11 Gbit/s"));
        }
        return Ok(Application::Periodic { write, every });
    }
    let write = table.needed("write")?;
    table.either("every", "pause")?;
    if let Some(pause) = table.read("pause")? {
        return Ok(Application::Pausing { write, pause });
    }
    let every = table.needed("every")?;
    Ok(Application::Periodic { write, every })
}

/// `count` flows, each `stagger` after the one before.
fn copies(table: &Table<'_>, flow: Flow) -> Result<Vec<Flow>, Error> {
    let count = table.or("count", 1)?;
    if let (Some(item), 1) = (table.get("stagger"), count) {
        return Err(item.refuse("there is only one flow"));
    }
    let stagger = table.or("stagger", Duration::ZERO)?;
    Ok(staggered(&flow, count, stagger))
}

/// `count` copies of a flow, each `stagger` after the one before.
pub(crate) fn staggered(flow: &Flow, count: u64, stagger: Duration) -> Vec<Flow> {
    (0..count)
        .map(|n| Flow {
            start: flow.start + stagger * n,
            ..flow.clone()
        })
        .collect()
}
