//! Connections of a file of connection vectors.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;
use serde::ser::SerializeMap;
use tables::{Key, Kind, Rules, Wrong, described};
use units::{Bytes, Duration};

use crate::dialogue::{Dialogues, scripts};
use crate::generate::keys::{Load, groups};
use crate::generate::traffic::{Around, Generates, Sends, TrafficKeys};
use crate::{Connection, Side};

/// Recorded connections, prepared for replay. Copies share them.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Recording {
    /// Name of the source file, for results.
    pub file: String,
    /// The connections in the order of their starts.
    pub connections: Arc<[Connection]>,
    /// The time after which they start again, positive; `None` if they do not.
    pub repeat: Option<Duration>,
}

described! {
    #[derive(Clone, Debug)]
    pub struct Replay("replay", "[[traffic]]", "How a recording becomes an experiment.") {
        /// File of connection vectors in either format of Tmix, relative to the folder of this file.
        file: String = String::new() => Key::of(Kind::Text(u32::MAX)).needed("trace.cvec");
        /// Factor on the start times of the file, in place of `load`: a smaller one gives a higher
        /// load.
        scale: f64 = 1.0 => Key::of(Kind::Number(1e-6, 1e6));
        /// Time of the file that is used, before `scale`; later connections are left out.
        length: Option<Duration> = None => Key::of(Kind::SPAN).usually("the last start");
        /// Permutes parts of 500 Mbit / rate seconds each, by the random numbers that the suite has
        /// for the file of this number, from 0.
        shuffle: Option<u32> = None => Key::of(Kind::Integer(0, 1000)).usually("no shuffle");
        /// Time in which long connections start in place of all, so that the load is soon
        /// stationary.
        prefill: Option<Duration> = None => Key::of(Kind::SPAN).usually("no prefill");
        /// Whether the file starts again after `length`.
        repeat: bool = false => Key::of(Kind::Switch);
    }
}
impl Rules for Replay {}

groups! {
    /// The keys of a recording.
    pub struct RecordingKeys { replay: Replay, load: Load }
}

impl RecordingKeys {
    /// How the recording becomes an experiment.
    #[must_use]
    pub const fn replay(&self) -> &Replay {
        &self.replay
    }
}

impl TrafficKeys for RecordingKeys {
    type Traffic = RecordingKeys;

    fn traffic(&self, _around: &Around<'_>) -> Result<Self::Traffic, Wrong> {
        Ok(self.clone())
    }
}

impl Recording {
    /// The connections, again and again if they repeat.
    fn replay(self) -> impl Iterator<Item = Connection> + Send {
        let laps = match self.repeat {
            Some(_) if !self.connections.is_empty() => u64::MAX,
            _ => 1,
        };
        let lap = self.repeat.unwrap_or_default();
        let count = self.connections.len();
        let places = move |round| (0..count).map(move |place| (round, place));
        (0..laps).flat_map(places).map(move |(round, place)| {
            let mut connection = self.connections[place].clone();
            connection.start += lap * round;
            connection
        })
    }
}

impl Sends for Recording {
    fn write<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let mut bytes = [Bytes::ZERO; 2];
        for connection in self.connections.iter() {
            for (sum, sent) in bytes.iter_mut().zip(connection.payload()) {
                *sum += sent;
            }
        }
        let last = self.connections.last().map(|one| one.start.as_secs_f64());
        map.serialize_entry("file", &self.file)?;
        map.serialize_entry("connections", &self.connections.len())?;
        map.serialize_entry("request_bytes", &bytes[Side::Initiator.index()].get())?;
        map.serialize_entry("response_bytes", &bytes[Side::Acceptor.index()].get())?;
        map.serialize_entry("last_start_s", &last)?;
        let repeat = self.repeat.map(Duration::as_secs_f64);
        map.serialize_entry("repeat_s", &repeat)
    }
}

impl Generates for Recording {
    fn dialogues(&self, _random: ChaCha8Rng) -> Dialogues {
        scripts(self.clone().replay())
    }
}
