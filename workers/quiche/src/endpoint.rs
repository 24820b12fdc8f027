//! One end of a connection of quiche.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use quiche::{ConnectionId, RecvInfo};
use slowstart_stack::{Act, Ecn, Endpoint, Report, Settings, Transmit};
use units::Instant;

use crate::system;

/// The client's first unidirectional stream.
const STREAM: u64 = 2;
static ZEROS: [u8; 65_536] = [0; 65_536];

pub struct Connection {
    inner: quiche::Connection,
    /// The clock of the process at time zero of the run.
    zero: std::time::Instant,
    local: SocketAddr,
    peer: SocketAddr,
    datagram: usize,
    unwritten: u64,
    is_last: bool,
    is_ended: bool,
    received: u64,
    is_finished: bool,
    /// A datagram that the pacer holds back, and until when.
    held: Option<(Instant, Vec<u8>)>,
}

impl Connection {
    /// An endpoint with a congestion controller of quiche.
    pub fn open(settings: &Settings, name: &str, hystart: bool) -> quiche::Result<Self> {
        let mut config = quiche::Config::new(quiche::PROTOCOL_VERSION)?;
        config.set_application_protos(&[b"slowstart"])?;
        config.verify_peer(false);
        config.grease(false);
        config.set_cc_algorithm_name(name)?;
        config.enable_hystart(hystart);
        let window = settings.receive_window;
        config.set_initial_congestion_window_packets(settings.initial_window as usize);
        config.set_max_recv_udp_payload_size(settings.datagram as usize);
        config.set_max_send_udp_payload_size(settings.datagram as usize);
        config.set_initial_max_data(window);
        config.set_initial_max_stream_data_uni(window);
        config.set_max_connection_window(window);
        config.set_max_stream_window(window);
        config.set_initial_max_streams_uni(1);
        let address = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
        let mut id = [0; 16];
        id[..].copy_from_slice(&settings.seed[..16]);
        id[0] = u8::from(settings.is_client);
        let id = ConnectionId::from_ref(&id);
        let (local, peer, inner);
        if settings.is_client {
            (local, peer) = (address(1), address(2));
            inner = quiche::connect(None, &id, local, peer, &mut config)?;
        } else {
            (local, peer) = (address(2), address(1));
            let folder = env!("OUT_DIR");
            config.load_cert_chain_from_pem_file(&format!("{folder}/certificate.pem"))?;
            config.load_priv_key_from_pem_file(&format!("{folder}/key.pem"))?;
            inner = quiche::accept(&id, None, local, peer, &mut config)?;
        }
        #[allow(
            clippy::disallowed_methods,
            reason = "the clock of this process is the simulated one"
        )]
        let now = std::time::Instant::now();
        Ok(Self {
            inner,
            zero: now - system::since_start(),
            local,
            peer,
            datagram: settings.datagram as usize,
            unwritten: 0,
            is_last: false,
            is_ended: false,
            received: 0,
            is_finished: false,
            held: None,
        })
    }

    fn instant(&self, at: std::time::Instant) -> Instant {
        let since: Duration = at.saturating_duration_since(self.zero);
        Instant::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Gives the stream what it takes of the application's data.
    fn write(&mut self) {
        while self.inner.is_established() && !self.is_ended {
            let length = self.unwritten.min(ZEROS.len() as u64);
            let is_end = self.is_last && length == self.unwritten;
            if length == 0 && !is_end {
                return;
            }
            match self
                .inner
                .stream_send(STREAM, &ZEROS[..length as usize], is_end)
            {
                Ok(taken) => {
                    self.unwritten -= taken as u64;
                    self.is_ended = is_end && taken as u64 == length;
                    if taken == 0 && !self.is_ended {
                        return;
                    }
                }
                Err(_) => return,
            }
        }
    }

    fn read(&mut self) {
        let mut buffer = [0; 65_536];
        for stream in self.inner.readable() {
            while let Ok((length, is_end)) = self.inner.stream_recv(stream, &mut buffer) {
                self.received += length as u64;
                self.is_finished |= is_end;
            }
        }
    }
}

impl Endpoint for Connection {
    fn receive(&mut self, now: Instant, _ecn: Ecn, datagram: &[u8]) {
        system::set_time(now.as_nanos());
        let mut datagram = datagram.to_vec();
        let info = RecvInfo {
            from: self.peer,
            to: self.local,
        };
        // What it cannot use it drops; a fatal error closes the connection, which `report` shows.
        let _ = self.inner.recv(&mut datagram, info);
        self.read();
    }

    fn expire(&mut self, now: Instant) {
        system::set_time(now.as_nanos());
        if self
            .inner
            .timeout_instant()
            .is_some_and(|at| self.instant(at) <= now)
        {
            self.inner.on_timeout();
        }
    }

    fn deadline(&mut self) -> Option<Instant> {
        let timer = self.inner.timeout_instant().map(|at| self.instant(at));
        let held = self.held.as_ref().map(|(at, _)| *at);
        let next = timer.into_iter().chain(held).min()?;
        Some(next.max(Instant::from_nanos(system::time())))
    }

    fn transmit(&mut self, now: Instant) -> Option<Transmit> {
        system::set_time(now.as_nanos());
        if self.held.is_none() {
            self.write();
            let mut datagram = vec![0; self.datagram];
            let (length, info) = self.inner.send(&mut datagram).ok()?;
            datagram.truncate(length);
            self.held = Some((self.instant(info.at), datagram));
        }
        let (_, datagram) = self.held.take_if(|(at, _)| *at <= now)?;
        Some(Transmit {
            ecn: Ecn::NotEct,
            datagram,
        })
    }

    fn application(&mut self, now: Instant, act: Act) {
        system::set_time(now.as_nanos());
        match act {
            Act::Write(bytes) => self.unwritten += bytes,
            Act::WriteLast(bytes) => {
                self.unwritten += bytes;
                self.is_last = true;
            }
            Act::Finish => {
                self.unwritten = 0;
                self.is_last = true;
            }
        }
    }

    fn report(&mut self) -> Report {
        let stats = self.inner.stats();
        let path = self.inner.path_stats().next();
        let error = self.inner.local_error().or_else(|| self.inner.peer_error());
        let closed = error.map(|error| {
            let reason = String::from_utf8_lossy(&error.reason).into_owned();
            format!("error {:#x} {reason}", error.error_code)
        });
        Report {
            is_established: self.inner.is_established(),
            is_finished: self.is_finished,
            closed: closed.filter(|_| !self.is_finished),
            received: self.received,
            packets_sent: stats.sent as u64,
            packets_lost: stats.lost as u64,
            timeouts: 0,
            acked: stats.acked_bytes,
            cwnd: path.as_ref().map_or(0, |path| path.cwnd as u64),
            // quiche shows the threshold of the first exit, not those after it.
            ssthresh: path
                .and_then(|path| path.startup_exit)
                .map(|exit| exit.cwnd as u64),
            in_flight: stats
                .sent_bytes
                .saturating_sub(stats.acked_bytes + stats.lost_bytes),
            // quiche shows the smoothed RTT only.
            rtt: None,
        }
    }
}
