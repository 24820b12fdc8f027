//! qlog, as one document or as a sequence of JSON texts.
//!
//! Names of events and fields: draft-ietf-quic-qlog-main-schema and -quic-events; both the names up
//! to 0.3 (`recovery:metrics_updated`) and the later ones (`quic:recovery_metrics_updated`). The
//! values are read from the JSON and not into the types of a version, because files of the field
//! mix versions. Events of a document are read one by one, so its memory is that of one event.

use std::cell::RefCell;
use std::fmt;
use std::io::BufRead;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::lines::Lines;
use super::{Entry, LogSummary, Owner, Sample, quic};
use crate::{Ending, ReadError};

/// Collects the metrics of the events: each event has only those that changed.
struct Metrics<'a> {
    take: &'a mut dyn FnMut(&Owner, Entry<'_>),
    owner: Owner,
    sample: Sample,
    lost: u64,
    /// Time of the previous event, where times are differences.
    previous: f64,
    is_relative_to_previous: bool,
    summary: LogSummary,
    traces: u64,
}

impl<'a> Metrics<'a> {
    fn new(take: &'a mut dyn FnMut(&Owner, Entry<'_>)) -> Self {
        Self {
            take,
            owner: Owner::default(),
            sample: Sample::default(),
            lost: 0,
            previous: 0.0,
            is_relative_to_previous: false,
            summary: LogSummary::default(),
            traces: 0,
        }
    }

    /// Begins a trace.
    fn begin(&mut self) {
        self.traces += 1;
        self.owner = Owner {
            name: format!("trace {}", self.traces),
            algorithm: None,
        };
        self.sample = Sample {
            ssthresh: Some(u64::MAX),
            ..Sample::default()
        };
        (self.lost, self.previous, self.is_relative_to_previous) = (0, 0.0, false);
    }

    /// Reads the fields of a trace that are not events.
    fn describe(&mut self, key: &str, value: &Value) {
        match key {
            "title" | "name" => {
                if let Some(title) = value.as_str() {
                    self.owner.name = title.chars().take(200).collect();
                }
            }
            "common_fields" => {
                if let Some(group) = value.get("group_id").or_else(|| value.get("ODCID")) {
                    let name = group
                        .as_str()
                        .map_or_else(|| group.to_string(), str::to_owned);
                    self.owner.name = name.chars().take(200).collect();
                }
                let format = value.get("time_format").and_then(Value::as_str);
                self.is_relative_to_previous =
                    matches!(format, Some("delta" | "relative_to_previous_event"));
            }
            _ => {}
        }
    }

    fn event(&mut self, event: &Value) {
        let name = event
            .get("name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let short = name.rsplit([':', '.']).next().unwrap_or_default();
        let short = short.strip_prefix("recovery_").unwrap_or(short);
        let time = event.get("time").and_then(Value::as_f64).unwrap_or(0.0);
        let time = if self.is_relative_to_previous {
            self.previous += time;
            self.previous
        } else {
            time
        };
        let nothing = Value::Null;
        let data = event.get("data").unwrap_or(&nothing);
        // Milliseconds; a cast of a float saturates.
        let at = (time * 1e6) as i64;
        let packets = quic::of_event(short, data).filter(|_| time.is_finite());
        let is_sample = match short {
            "metrics_updated" => self.metrics(data),
            "packet_lost" => {
                self.lost += 1;
                self.sample.lost = Some(self.lost);
                false
            }
            "congestion_state_updated" => {
                let state = data.get("new").and_then(Value::as_str).unwrap_or_default();
                self.sample.in_recovery = Some(state.contains("recovery"));
                if data.get("trigger").and_then(Value::as_str) == Some("ecn") {
                    self.sample.marked = Some(self.sample.marked.unwrap_or(0) + 1);
                }
                self.sample.cwnd.is_some()
            }
            _ => false,
        };
        if is_sample && time.is_finite() {
            self.sample.at = at;
            self.summary.samples += 1;
            (self.take)(&self.owner, Entry::Sample(&self.sample));
        } else {
            self.summary.skipped += 1;
        }
        if let Some(packets) = packets {
            (self.take)(&self.owner, Entry::Packet(at, packets));
        }
    }

    fn metrics(&mut self, data: &Value) -> bool {
        let number = |key: &str| {
            let value = data.get(key)?;
            let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
            (number.is_finite() && number >= 0.0).then_some(number)
        };
        let count = |key: &str| number(key).map(|value| value as u64);
        let millis = |key: &str| number(key).map(|value| (value * 1e6) as u64);
        let sample = &mut self.sample;
        sample.cwnd = count("congestion_window").or(sample.cwnd);
        // 2^53 and more stand for "not set".
        let ssthresh = count("ssthresh").map(|value| match value {
            0x1f_ffff_ffff_ffff.. => u64::MAX,
            value if value == u64::from(u32::MAX) => u64::MAX,
            value => value,
        });
        sample.ssthresh = ssthresh.or(sample.ssthresh);
        sample.in_flight = count("bytes_in_flight").or(sample.in_flight);
        sample.latest_rtt = millis("latest_rtt").or(sample.latest_rtt);
        sample.smoothed_rtt = millis("smoothed_rtt").or(sample.smoothed_rtt);
        sample.min_rtt = millis("min_rtt").or(sample.min_rtt);
        sample.pacing_rate = count("pacing_rate").or(sample.pacing_rate);
        sample.delivery_rate = count("delivery_rate").or(sample.delivery_rate);
        sample.cwnd.is_some()
    }
}

pub fn read_sequence(
    reader: impl BufRead,
    take: &mut dyn FnMut(&Owner, Entry<'_>),
) -> Result<LogSummary, ReadError> {
    let mut reader = reader;
    let is_sequence = reader.fill_buf()?.first() == Some(&0x1e);
    let mut lines = Lines::new(reader, if is_sequence { 0x1e } else { b'\n' });
    let mut metrics = Metrics::new(take);
    metrics.begin();
    let mut is_header = true;
    while let Some(line) = lines.next()? {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let value: Value = match serde_json::from_str(line) {
            Ok(value) => value,
            // The last record of a sequence has no separator behind it, whether complete or cut.
            Err(_) if lines.is_open() => {
                lines.cut();
                break;
            }
            Err(error) => return Err(lines.invalid(format!("no qlog event: {error}"))),
        };
        if is_header {
            is_header = false;
            if let Some(fields) = value.get("trace").and_then(Value::as_object) {
                for (key, value) in fields {
                    metrics.describe(key, value);
                }
                continue;
            }
        }
        metrics.event(&value);
    }
    metrics.summary.ending = lines.ending;
    Ok(metrics.summary)
}

pub fn read_document(
    reader: impl BufRead,
    take: &mut dyn FnMut(&Owner, Entry<'_>),
) -> Result<LogSummary, ReadError> {
    let metrics = RefCell::new(Metrics::new(take));
    let mut json = serde_json::Deserializer::from_reader(reader);
    let result = Place::File(&metrics).deserialize(&mut json);
    let mut metrics = metrics.into_inner();
    if let Err(error) = result {
        if error.is_io() {
            return Err(std::io::Error::from(error).into());
        }
        if !error.is_eof() {
            return Err(ReadError::Invalid {
                line: error.line() as u64,
                reason: format!("invalid JSON: {error}"),
            });
        }
        // serde_json counts lines; the bytes of a cut document are not known to it.
        metrics.summary.ending = Ending::Cut(json_position(&error));
    }
    Ok(metrics.summary)
}

/// Where a document on one line is cut; 0 if it has several.
fn json_position(error: &serde_json::Error) -> u64 {
    if error.line() == 1 {
        error.column() as u64
    } else {
        0
    }
}

/// A place in the document.
#[derive(Clone, Copy)]
enum Place<'b, 'a> {
    File(&'b RefCell<Metrics<'a>>),
    Traces(&'b RefCell<Metrics<'a>>),
    Trace(&'b RefCell<Metrics<'a>>),
    Events(&'b RefCell<Metrics<'a>>),
}

impl<'de> DeserializeSeed<'de> for Place<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        // A field of another type than expected is passed over.
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Place<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::File(_) => "a qlog document",
            Self::Traces(_) => "an array of traces",
            Self::Trace(_) => "a trace",
            Self::Events(_) => "an array of events",
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        match self {
            Self::File(metrics) => {
                while let Some(key) = map.next_key::<String>()? {
                    match key.as_str() {
                        "traces" => map.next_value_seed(Self::Traces(metrics))?,
                        "trace" => map.next_value_seed(Self::Trace(metrics))?,
                        _ => {
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                }
            }
            Self::Trace(metrics) => {
                metrics.borrow_mut().begin();
                while let Some(key) = map.next_key::<String>()? {
                    if key == "events" {
                        map.next_value_seed(Self::Events(metrics))?;
                    } else {
                        let value = map.next_value::<Value>()?;
                        metrics.borrow_mut().describe(&key, &value);
                    }
                }
            }
            Self::Traces(_) | Self::Events(_) => {
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        match self {
            Self::Traces(metrics) => {
                while seq.next_element_seed(Self::Trace(metrics))?.is_some() {}
            }
            Self::Events(metrics) => {
                while let Some(event) = seq.next_element::<Value>()? {
                    metrics.borrow_mut().event(&event);
                }
            }
            Self::File(_) | Self::Trace(_) => while seq.next_element::<IgnoredAny>()?.is_some() {},
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVENTS: [&str; 3] = [
        r#"{"time":1.5,"name":"recovery:metrics_updated","data":{"congestion_window":14520,"bytes_in_flight":100,"min_rtt":20.5}}"#,
        r#"{"time":2,"name":"recovery:packet_lost","data":{}}"#,
        r#"{"time":3.25,"name":"quic:recovery_metrics_updated","data":{"congestion_window":7000,"ssthresh":7000}}"#,
    ];

    fn collect(
        read: impl FnOnce(&mut dyn FnMut(&Owner, Entry<'_>)) -> Result<LogSummary, ReadError>,
    ) -> (LogSummary, Vec<(String, Sample)>) {
        let mut found = Vec::new();
        let summary = read(&mut |owner, entry| {
            if let Entry::Sample(sample) = entry {
                found.push((owner.name.clone(), sample.clone()));
            }
        });
        (summary.expect("a qlog"), found)
    }

    fn check(found: &[(String, Sample)]) {
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].0, "abcd");
        assert_eq!((found[0].1.at, found[0].1.cwnd), (1_500_000, Some(14_520)));
        assert_eq!(found[0].1.ssthresh, Some(u64::MAX));
        let last = &found[1].1;
        assert_eq!(
            (last.at, last.cwnd, last.ssthresh),
            (3_250_000, Some(7000), Some(7000))
        );
        assert_eq!(
            (last.lost, last.min_rtt, last.in_flight),
            (Some(1), Some(20_500_000), Some(100))
        );
    }

    #[test]
    fn a_document_and_a_sequence_have_the_same_samples() {
        let trace = r#""common_fields":{"group_id":"abcd"}"#;
        let events = EVENTS.join(",");
        let document =
            format!(r#"{{"qlog_version":"0.3","traces":[{{{trace},"events":[{events}]}}]}}"#);
        let (summary, found) = collect(|take| read_document(document.as_bytes(), take));
        check(&found);
        assert_eq!(summary.ending, Ending::Whole);
        let header = format!(
            r#"{{"file_schema":"urn:ietf:params:qlog:file:sequential","trace":{{{trace}}}}}"#
        );
        let sequence: String = std::iter::once(header.as_str())
            .chain(EVENTS)
            .map(|text| format!("\u{1e}{text}\n"))
            .collect();
        let (summary, found) = collect(|take| read_sequence(sequence.as_bytes(), take));
        check(&found);
        assert_eq!(summary.ending, Ending::Whole);
    }

    #[test]
    fn a_cut_document_keeps_the_events_before_the_cut() {
        let document = format!(
            r#"{{"traces":[{{"events":[{},{}"#,
            EVENTS[0],
            &EVENTS[1][..20]
        );
        let (summary, found) = collect(|take| read_document(document.as_bytes(), take));
        assert_eq!(found.len(), 1);
        assert!(matches!(summary.ending, Ending::Cut(_)));
    }
}
