//! An endpoint of quiche: the client sends one stream, the server receives it.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::time;

use quiche::{Connection, ConnectionId, RecvInfo};
use slowstart_stack::{Act, Ecn, Endpoint, Report, Settings, Transmit};
use units::{Duration, Instant};

use crate::configuration;

unsafe extern "C" {
    /// Sets what every clock of the process shows.
    safe fn slowstart_clock_set(now: u64);
    /// Makes the random numbers of the process depend on `word`.
    safe fn slowstart_random_mix(word: u64);
}

/// The client's first stream in one direction.
const STREAM: u64 = 2;
static ZEROS: [u8; 65_536] = [0; 65_536];

pub struct Quiche {
    connection: Connection,
    is_client: bool,
    now: Instant,
    datagram: usize,
    /// The next datagram, and when quiche lets it leave.
    paced: Option<(time::Instant, Vec<u8>)>,
    /// Bytes that the application has written and quiche has not taken.
    pending: u64,
    /// The application writes no more.
    is_last: bool,
    /// quiche has the end of the stream.
    is_ended: bool,
    received: u64,
    is_finished: bool,
    failure: Option<String>,
}

impl Quiche {
    pub fn open(now: Instant, settings: &Settings) -> Result<Self, Box<dyn Error>> {
        slowstart_clock_set(now.as_nanos());
        for word in settings.seed.as_chunks().0 {
            slowstart_random_mix(u64::from_le_bytes(*word));
        }
        let mut config = configuration::new(settings)?;
        let [own, peer] = addresses(settings.is_client);
        let id = [u8::from(settings.is_client); 8];
        let id = ConnectionId::from_ref(&id);
        let connection = if settings.is_client {
            quiche::connect(None, &id, own, peer, &mut config)?
        } else {
            quiche::accept(&id, None, own, peer, &mut config)?
        };
        Ok(Self {
            connection,
            is_client: settings.is_client,
            now,
            datagram: settings.datagram as usize,
            paced: None,
            pending: 0,
            is_last: false,
            is_ended: false,
            received: 0,
            is_finished: false,
            failure: None,
        })
    }

    fn at(&mut self, now: Instant) {
        self.now = now;
        slowstart_clock_set(now.as_nanos());
    }

    /// Gives quiche as much of the stream as it takes.
    fn write(&mut self) {
        while self.is_client && !self.is_ended && (self.pending > 0 || self.is_last) {
            let length = self.pending.min(ZEROS.len() as u64);
            let is_end = self.is_last && length == self.pending;
            let bytes = &ZEROS[..length as usize];
            match self.connection.stream_send(STREAM, bytes, is_end) {
                Ok(taken) => {
                    self.pending -= taken as u64;
                    self.is_ended = is_end && taken as u64 == length;
                    if (taken as u64) < length {
                        return;
                    }
                }
                // No room, no stream yet before the handshake, or closed.
                Err(_) => return,
            }
        }
    }

    fn read(&mut self) {
        let mut buffer = [0; 65_536];
        for stream in self.connection.readable() {
            while let Ok((length, is_end)) = self.connection.stream_recv(stream, &mut buffer) {
                self.received += length as u64;
                self.is_finished |= is_end;
            }
        }
    }

    /// Why the connection was closed.
    fn closed(&self) -> Option<String> {
        if let Some(failure) = &self.failure {
            return Some(failure.clone());
        }
        let by = |who: &str, error: &quiche::ConnectionError| {
            let reason = String::from_utf8_lossy(&error.reason);
            format!(
                "{who} closed it with error {:#x} {reason}",
                error.error_code
            )
            .trim_end()
            .to_owned()
        };
        if self.connection.is_timed_out() {
            return Some("timed out".to_owned());
        }
        self.connection
            .peer_error()
            .map(|error| by("the peer", error))
            .or_else(|| self.connection.local_error().map(|error| by("it", error)))
    }
}

impl Endpoint for Quiche {
    fn receive(&mut self, now: Instant, _ecn: Ecn, datagram: &[u8]) {
        self.at(now);
        let [to, from] = addresses(self.is_client);
        // An error of a datagram that is not for this connection does not matter; any other closes
        // the connection, and `closed` says so.
        let _ = self
            .connection
            .recv(&mut datagram.to_vec(), RecvInfo { from, to });
        self.read();
    }

    fn expire(&mut self, now: Instant) {
        self.at(now);
        self.connection.on_timeout();
    }

    fn deadline(&mut self) -> Option<Instant> {
        let release = self.paced.as_ref().map(|(at, _)| *at);
        let first = self
            .connection
            .timeout_instant()
            .into_iter()
            .chain(release)
            .min()?;
        let wait = first.saturating_duration_since(clock());
        let wait = u64::try_from(wait.as_nanos()).unwrap_or(u64::MAX);
        Some(self.now + Duration::from_nanos(wait))
    }

    fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        self.at(now);
        if self.paced.is_none() {
            self.write();
            let mut datagram = vec![0; self.datagram];
            match self.connection.send(&mut datagram) {
                Ok((length, info)) => {
                    datagram.truncate(length);
                    self.paced = Some((info.at, datagram));
                }
                Err(quiche::Error::Done) => {}
                Err(error) => self.failure = Some(error.to_string()),
            }
        }
        let (_, datagram) = self.paced.take_if(|(at, _)| *at <= clock())?;
        Some(Transmit {
            // quiche does not use ECN.
            ecn: Ecn::NotEct,
            datagram,
        })
    }

    fn application(&mut self, now: Instant, act: Act) {
        self.at(now);
        match act {
            Act::Write(bytes) => self.pending += bytes,
            Act::WriteLast(bytes) => {
                self.pending += bytes;
                self.is_last = true;
            }
            Act::Finish => {
                self.pending = 0;
                self.is_last = true;
            }
        }
    }

    fn report(&mut self) -> Report {
        let stats = self.connection.stats();
        let path = self.connection.path_stats().next();
        let settled = stats.acked_bytes + stats.lost_bytes;
        Report {
            is_established: self.connection.is_established(),
            is_finished: self.is_finished,
            closed: self.closed(),
            received: self.received,
            // quiche counts packets of every kind.
            packets_sent: stats.sent as u64,
            packets_lost: stats.lost as u64,
            // It does not report persistent congestion.
            timeouts: 0,
            acked: stats.acked_bytes,
            cwnd: path.as_ref().map_or(0, |path| path.cwnd as u64),
            // It reports the window at the first exit, and no later threshold.
            ssthresh: path
                .and_then(|path| path.startup_exit)
                .map(|exit| exit.cwnd as u64),
            // With its packets that carry an ACK only, which are not in flight.
            in_flight: stats.sent_bytes.saturating_sub(settled),
            // It reports a smoothed RTT, and no sample.
            rtt: None,
        }
    }
}

/// What quiche sees when it asks: the simulated time.
#[allow(
    clippy::disallowed_methods,
    reason = "the clock of this process is the simulated one"
)]
fn clock() -> time::Instant {
    time::Instant::now()
}

/// The own address and the peer's.
fn addresses(is_client: bool) -> [SocketAddr; 2] {
    let [own, peer] = if is_client { [1, 2] } else { [2, 1] };
    [own, peer].map(|host| SocketAddr::from((Ipv4Addr::new(192, 0, 2, host), 443)))
}
