//! `[[flow]]`: who sends what, when and how. Defaults are those of Linux 6.x.

use congestion::Algorithm;
use tcp::{AckPolicy, Autotuning, LossDetection};
use units::{Bytes, Duration, Instant};

use crate::document::Table;
use crate::error::Error;
use crate::model::{Application, DEFAULT_TSO_SEGMENTS, FULL_PACKET, Flow};
use crate::quantity::{self, MAX_DURATION};
use crate::read::{MAX_RTT, positive, time_up_to};
use crate::schema::APPLICATION;

/// Most flows of a scenario.
pub(crate) const MAX_FLOWS: usize = 100_000;
/// Largest initial window in segments; a jump start over a whole BDP stays below it.
pub(crate) const MAX_INITIAL_WINDOW: u64 = 65_535;
/// A part of a second as a power of two: 60 us.
const MAX_PACING_SHIFT: u64 = 14;
/// A window field of 16 bits scaled by 2^14 (RFC 7323, section 2.3).
pub(crate) const MAX_RECEIVE_BUFFER: Bytes = Bytes::new(65_535 << 14);
/// A receiver that takes less than two full segments deadlocks with delayed ACKs.
const MIN_RECEIVE_BUFFER: Bytes = Bytes::new(2 * 1448);
/// Least time between two writes of an application, so that a run ends.
const MIN_INTERVAL: Duration = Duration::from_micros(1);

/// What a full segment carries: a full packet less headers with timestamps. A trickle is written so.
const FULL_PAYLOAD: u32 = FULL_PACKET - 52;

/// The words for how a receive window grows.
pub(crate) const AUTOTUNING: [(&str, Autotuning); 3] = [
    ("linux-6.18", Autotuning::Current),
    ("linux-5.4", Autotuning::Linux54),
    ("off", Autotuning::Off),
];

/// Reads a `[[flow]]` table: as many flows as its `count` says.
pub(crate) fn read(table: &Table<'_>) -> Result<Vec<Flow>, Error> {
    let algorithm = table
        .need("algorithm", "\"cubic+search\"")?
        .read("\"cubic+search\"", |text| {
            Algorithm::parse(text).map_err(|error| error.to_string())
        })?;
    table.either("size", "duration")?;
    let mut flow = Flow::new(algorithm);
    if let Some(item) = table.get("name") {
        flow.name = item.words(80)?;
    }
    flow.size = table
        .get("size")
        .map(|item| item.read("\"20 MB\"", transfer))
        .transpose()?;
    flow.duration = table
        .get("duration")
        .map(|item| item.read("\"10 s\"", positive))
        .transpose()?;
    if let Some(item) = table.get("start") {
        flow.start = Instant::ZERO + item.read("\"2 s\"", |text| time_up_to(text, MAX_DURATION))?;
    }
    read_sender(table, &mut flow)?;
    read_receiver(table, &mut flow)?;
    if let Some(item) = table.get("extra_delay") {
        flow.extra_delay = item.read("\"10 ms\"", |text| time_up_to(text, MAX_RTT))?;
    }
    if let Some(item) = table.get("application") {
        flow.application = application(&item.table(&APPLICATION)?)?;
    }
    copies(table, flow)
}

fn read_sender(table: &Table<'_>, flow: &mut Flow) -> Result<(), Error> {
    initial_window(table, flow)?;
    if let Some(item) = table.get("tso_segments") {
        flow.tso_segments = item.integer(1, u64::from(DEFAULT_TSO_SEGMENTS))? as u32;
    }
    if let Some(item) = table.get("small_queue") {
        flow.small_queue = Some(item.integer(1, MAX_PACING_SHIFT)? as u8);
    }
    let switches = [
        ("pacing", &mut flow.pacing),
        ("ecn", &mut flow.ecn),
        ("sack", &mut flow.sack),
        ("impatient", &mut flow.impatient),
        ("restart_after_idle", &mut flow.restart_after_idle),
        ("byte_counting", &mut flow.byte_counting),
    ];
    for (key, switch) in switches {
        if let Some(item) = table.get(key) {
            *switch = item.boolean()?;
        }
    }
    if let Some(item) = table.get("autotuning") {
        flow.autotuning = item.choice(&AUTOTUNING)?;
    }
    if let Some(item) = table.get("loss_detection") {
        let choices = [("rack", LossDetection::Rack), ("fack", LossDetection::Fack)];
        flow.loss_detection = item.choice(&choices)?;
    }
    if !flow.sack && flow.loss_detection == LossDetection::Fack {
        return Err(table.refuse_at(
            "loss_detection",
            "fack is found from SACKs: leave out sack = false beside it",
        ));
    }
    if flow.sack && flow.impatient {
        return Err(table.refuse_at(
            "impatient",
            "impatient speaks of NewReno: say sack = false beside it",
        ));
    }
    Ok(())
}

/// `initial_window`, if it is there.
pub(crate) fn initial_window(table: &Table<'_>, flow: &mut Flow) -> Result<(), Error> {
    if let Some(item) = table.get("initial_window") {
        flow.initial_window = item.integer(1, MAX_INITIAL_WINDOW)? as u32;
    }
    Ok(())
}

fn read_receiver(table: &Table<'_>, flow: &mut Flow) -> Result<(), Error> {
    if let Some(item) = table.get("receive_buffer") {
        flow.receive_buffer =
            item.read("\"6 MiB\"", |text| receive_buffer(quantity::size(text)?))?;
    }
    if let Some(item) = table.get("syn_window") {
        flow.syn_window = item.read("\"64 KiB\"", |text| receive_buffer(quantity::size(text)?))?;
    }
    if let Some(item) = table.get("ack_policy") {
        let choices = [
            ("delayed", AckPolicy::Delayed),
            ("every-segment", AckPolicy::EverySegment),
        ];
        flow.ack_policy = item.choice(&choices)?;
    }
    Ok(())
}

/// A receive buffer within its limits. The error is the end of a sentence.
pub(crate) fn receive_buffer(size: Bytes) -> Result<Bytes, String> {
    if size < MIN_RECEIVE_BUFFER {
        return Err(format!(
            "the least is two segments, {}",
            quantity::format_size(MIN_RECEIVE_BUFFER)
        ));
    }
    if size > MAX_RECEIVE_BUFFER {
        return Err("the limit is what TCP's window can say, 65535 x 16 KiB".to_owned());
    }
    Ok(size)
}

/// A number of bytes to send.
pub(crate) fn transfer(text: &str) -> Result<Bytes, String> {
    let size = quantity::size(text)?;
    if size.is_zero() {
        Err("a transfer has at least one byte".to_owned())
    } else {
        Ok(size)
    }
}

/// The time from one event of a source to its next.
pub(crate) fn interval(text: &str) -> Result<Duration, String> {
    let span = positive(text)?;
    if span < MIN_INTERVAL {
        return Err("the least is 1 us".to_owned());
    }
    Ok(span)
}

fn application(table: &Table<'_>) -> Result<Application, Error> {
    table.either("write", "rate")?;
    if let Some(item) = table.get("rate") {
        if let Some(key) = ["every", "pause"].into_iter().find(|key| table.has(key)) {
            return Err(table.refuse_at(key, format!("a trickle of a rate has no {key}")));
        }
        let write = Bytes::new(u64::from(FULL_PAYLOAD));
        let every = item.read("\"64 kbit/s\"", quantity::rate)?.time_for(write);
        if every < MIN_INTERVAL {
            return Err(item.refuse("a trickle has at most 11 Gbit/s"));
        }
        return Ok(Application::Periodic { write, every });
    }
    let write = table
        .need("write", "\"10 kB\"")?
        .read("\"10 kB\"", transfer)?;
    table.either("every", "pause")?;
    if let Some(item) = table.get("pause") {
        let pause = item.read("\"2 s\"", positive)?;
        return Ok(Application::Pausing { write, pause });
    }
    let every = table
        .need("every", "\"100 ms\"")?
        .read("\"100 ms\"", interval)?;
    Ok(Application::Periodic { write, every })
}

/// `count` flows, each `stagger` after the one before.
fn copies(table: &Table<'_>, flow: Flow) -> Result<Vec<Flow>, Error> {
    let count = table
        .get("count")
        .map_or(Ok(1), |item| item.integer(1, MAX_FLOWS as u64))?;
    let stagger = match table.get("stagger") {
        None => Duration::ZERO,
        Some(item) if count == 1 => return Err(item.refuse("there is one flow alone")),
        Some(item) => item.read("\"1 s\"", |text| time_up_to(text, MAX_DURATION))?,
    };
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
