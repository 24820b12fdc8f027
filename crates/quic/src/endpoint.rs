//! What the endpoints of quinn and of noq have in common. noq began as quinn: their types have the
//! same names and nearly the same methods. A module that uses [`endpoint!`] has `proto` as the
//! crate, and the functions in which the two differ.

/// The UDP payload of a full datagram: a packet of 1500 bytes with headers of IPv4 and UDP.
pub const DATAGRAM: u16 = 1_472;
/// Bytes that a sender keeps for retransmission: more than any preset has in flight, as the
/// simulated sender's buffer is unlimited.
pub const SEND_WINDOW: u64 = 64 << 20;
/// The application writes pieces of this. The stacks keep a reference, not a copy: copies of 64 MB would
/// take longer than a short run.
pub static ZEROS: [u8; 4 << 20] = [0; 4 << 20];

/// Defines `Epoch`, `Seal`, `Null`, `Config`, `Cids`, `Watched` and `Endpoint` for a crate `proto`.
macro_rules! endpoint {
    () => {
        use std::any::Any;
        use std::collections::VecDeque;
        use std::net::{Ipv4Addr, SocketAddr};
        use std::sync::Arc;
        use std::time;

        use bytes::{Bytes, BytesMut};
        use network::Ecn;
        use proto::congestion::{Controller, ControllerFactory};
        use proto::crypto::{self, CryptoError, KeyPair, Keys, Session};
        use proto::transport_parameters::TransportParameters;
        use proto::{
            Connection, ConnectionHandle, ConnectionId, DatagramEvent, Dir, EcnCodepoint,
            EndpointConfig, Event, Side, StreamEvent, StreamId, TransportConfig, TransportError,
            VarInt,
        };
        use simulator::{Act, Facts, Host, Transmit};
        use units::{Duration, Instant};

        use $crate::dial::{Control, Dial};
        use $crate::endpoint::{DATAGRAM, SEND_WINDOW, ZEROS};
        use $crate::observer::{Observer, State};
        use $crate::session::{self, Handshake, Progress};

        /// The stack's clock: only differences of its times mean anything.
        #[derive(Clone, Copy, Debug)]
        pub struct Epoch(time::Instant);

        impl Epoch {
            #[allow(
                clippy::disallowed_methods,
                reason = "no other value of the type can be had; it stands for the time zero"
            )]
            fn new() -> Self {
                Self(time::Instant::now())
            }

            fn there(self, at: Instant) -> time::Instant {
                self.0 + time::Duration::from_nanos(at.as_nanos())
            }

            fn here(self, at: time::Instant) -> Instant {
                let since = at.saturating_duration_since(self.0).as_nanos();
                Instant::ZERO + Duration::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
            }
        }

        /// A key that changes nothing.
        struct Null;

        impl crypto::HeaderKey for Null {
            fn decrypt(&self, _: usize, _: &mut [u8]) {}
            fn encrypt(&self, _: usize, _: &mut [u8]) {}
            fn sample_size(&self) -> usize {
                16
            }
        }

        impl Null {
            fn open(payload: &mut BytesMut) -> Result<(), CryptoError> {
                let length = session::open(payload).ok_or(CryptoError)?;
                payload.truncate(length);
                Ok(())
            }
        }

        impl crypto::HmacKey for Null {
            fn sign(&self, _: &[u8], out: &mut [u8]) {
                out.fill(0);
            }
            fn signature_len(&self) -> usize {
                32
            }
            fn verify(&self, _: &[u8], _: &[u8]) -> Result<(), CryptoError> {
                Err(CryptoError)
            }
        }

        fn packet_keys() -> KeyPair<Box<dyn crypto::PacketKey>> {
            KeyPair {
                local: Box::new(Null),
                remote: Box::new(Null),
            }
        }

        fn keys() -> Keys {
            Keys {
                header: KeyPair {
                    local: Box::new(Null),
                    remote: Box::new(Null),
                },
                packet: packet_keys(),
            }
        }

        /// A TLS session without secrets.
        struct Tls {
            side: Side,
            handshake: Handshake,
            peer: Option<TransportParameters>,
        }

        impl Tls {
            fn start(side: Side, own: &TransportParameters) -> Box<dyn Session> {
                let mut written = Vec::new();
                own.write(&mut written);
                Box::new(Self {
                    side,
                    handshake: Handshake::new(side.is_client(), written),
                    peer: None,
                })
            }

            fn read(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
                let Progress::Parameters(parameters) = self.handshake.read(bytes) else {
                    return Ok(false);
                };
                self.peer = Some(TransportParameters::read(self.side, &mut &parameters[..])?);
                Ok(true)
            }

            fn write(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
                self.handshake.write(out).then(keys)
            }
        }

        struct Config;

        /// Connection IDs of eight bytes, counted.
        struct Cids(u8, u64);

        impl proto::ConnectionIdGenerator for Cids {
            fn generate_cid(&mut self) -> ConnectionId {
                self.1 += 1;
                let mut id = self.1.to_be_bytes();
                id[0] = self.0;
                ConnectionId::new(&id)
            }
            fn cid_len(&self) -> usize {
                8
            }
            fn cid_lifetime(&self) -> Option<time::Duration> {
                None
            }
        }

        /// A controller: one of the stack's own, or one of ours.
        #[derive(Debug)]
        enum Inner {
            Own(OwnController),
            Ours(Box<Ours>),
        }

        impl std::ops::Deref for Inner {
            type Target = dyn Controller;

            fn deref(&self) -> &Self::Target {
                match self {
                    Self::Own(OwnController(own)) => &**own,
                    Self::Ours(ours) => &**ours,
                }
            }
        }

        impl std::ops::DerefMut for Inner {
            fn deref_mut(&mut self) -> &mut Self::Target {
                match self {
                    Self::Own(OwnController(own)) => &mut **own,
                    Self::Ours(ours) => &mut **ours,
                }
            }
        }

        impl Clone for Inner {
            fn clone(&self) -> Self {
                match self {
                    Self::Own(OwnController(own)) => Self::Own(OwnController(own.clone_box())),
                    Self::Ours(ours) => Self::Ours(ours.clone()),
                }
            }
        }

        /// A controller of the stack, which need not be printable.
        struct OwnController(Box<dyn Controller>);

        impl std::fmt::Debug for OwnController {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("OwnController")
            }
        }

        /// Any controller, observed.
        #[derive(Clone, Debug)]
        struct Watched {
            inner: Inner,
            observer: Observer,
            epoch: Epoch,
            in_flight: u64,
        }

        impl Watched {
            fn state(&self) -> State {
                let metrics = self.inner.metrics();
                State {
                    cwnd: metrics.congestion_window,
                    ssthresh: metrics.ssthresh,
                    in_flight: self.in_flight,
                    exit: match &self.inner {
                        Inner::Ours(ours) => ours.slow_start_exit(),
                        Inner::Own(_) => None,
                    },
                }
            }

            fn batch_ends(&mut self, now: time::Instant, before: u64) {
                let now = self.epoch.here(now);
                let state = self.state();
                self.observer.seen().on_batch_end(now, before, state);
            }

            fn congested(&mut self, now: time::Instant, before: u64, reason: &'static str) {
                let now = self.epoch.here(now);
                let state = self.state();
                self.observer
                    .seen()
                    .on_congestion(now, before, state, reason);
            }
        }

        /// Makes a controller of a new connection.
        struct Factory {
            control: Control,
            initial_window: u64,
            seed: u64,
            observer: Observer,
            epoch: Epoch,
        }

        impl ControllerFactory for Factory {
            fn build(self: Arc<Self>, now: time::Instant, mtu: u16) -> Box<dyn Controller> {
                let inner = match &self.control {
                    Control::Own(own) => {
                        let own = own_controller(own.name, self.initial_window, now, mtu);
                        Inner::Own(OwnController(own))
                    }
                    Control::Ours(algorithm) => {
                        let ours = Slowstart::new(**algorithm).expect("it was checked");
                        let ours = ours.initial_window(self.initial_window).seed(self.seed);
                        Inner::Ours(Box::new(ours.controller(now, mtu)))
                    }
                };
                Box::new(Watched {
                    inner,
                    observer: self.observer.clone(),
                    epoch: self.epoch,
                    in_flight: 0,
                })
            }
        }

        fn address(side: Side, flow: u32) -> SocketAddr {
            let host = if side.is_client() { 1 } else { 2 };
            let [_, _, high, low] = flow.to_be_bytes();
            SocketAddr::from((Ipv4Addr::new(10, host, high, low), 4433))
        }

        fn transport(dial: &Dial<'_>) -> TransportConfig {
            let mut transport = TransportConfig::default();
            let window = VarInt::try_from(dial.receive_window).unwrap_or(VarInt::MAX);
            transport
                .stream_receive_window(window)
                .receive_window(window)
                .send_window(SEND_WINDOW)
                .initial_mtu(DATAGRAM)
                .mtu_discovery_config(None)
                .enable_segmentation_offload(false);
            transport
        }

        /// The transport of the client, whose times count from `epoch`, with its controller.
        fn sending(epoch: Epoch, dial: &Dial<'_>, observer: &Observer) -> TransportConfig {
            let mut sending = transport(dial);
            sending.congestion_controller_factory(Arc::new(Factory {
                control: dial.control.clone(),
                initial_window: u64::from(dial.initial_window) * u64::from(DATAGRAM),
                seed: dial.seed,
                observer: observer.clone(),
                epoch,
            }));
            sending
        }

        /// One endpoint with one connection.
        pub struct Endpoint {
            epoch: Epoch,
            endpoint: proto::Endpoint,
            connection: Option<(ConnectionHandle, Connection)>,
            peer: SocketAddr,
            responses: VecDeque<Vec<u8>>,
            buffer: Vec<u8>,
            is_client: bool,
            stream: Option<StreamId>,
            to_write: u64,
            is_last: bool,
            facts: Facts,
        }

        /// Both endpoints of a connection; the client has begun to connect.
        pub fn connect(now: Instant, dial: &Dial<'_>, observer: &Observer) -> [Box<dyn Host>; 2] {
            // The connection begins at the flow's start; its times are those of the run.
            let epoch = Epoch::new();
            let mut server = server_config();
            server.transport_config(Arc::new(transport(dial)));
            let mut client = proto::ClientConfig::new(Arc::new(Config));
            client.initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[9; 8])));
            client.transport_config(Arc::new(sending(epoch, dial, observer)));
            let [client_seed, server_seed] = dial.seeds;
            let mut connecting = new_endpoint(1, None, client_seed);
            let listening = new_endpoint(2, Some(Arc::new(server)), server_seed);
            let peers = [Side::Server, Side::Client].map(|side| address(side, dial.flow));
            let connection = connecting
                .connect(epoch.there(now), client, peers[0], "server")
                .expect("the endpoint has connection IDs and the address a port");
            let host = |endpoint, connection, peer, is_client| -> Box<dyn Host> {
                Box::new(Endpoint {
                    epoch,
                    endpoint,
                    connection,
                    peer,
                    responses: VecDeque::new(),
                    buffer: Vec::new(),
                    is_client,
                    stream: None,
                    to_write: 0,
                    is_last: false,
                    facts: Facts::default(),
                })
            };
            [
                host(connecting, Some(connection), peers[0], true),
                host(listening, None, peers[1], false),
            ]
        }

        impl Endpoint {
            fn settle(&mut self) {
                let Some((handle, connection)) = &mut self.connection else {
                    return;
                };
                loop {
                    while let Some(event) = connection.poll_endpoint_events() {
                        if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                            connection.handle_event(answer);
                        }
                    }
                    match connection.poll() {
                        None => break,
                        Some(Event::Connected) => {
                            self.facts.is_established = true;
                            if self.is_client {
                                self.stream = connection.streams().open(Dir::Uni);
                            }
                        }
                        Some(Event::Stream(StreamEvent::Opened { dir: Dir::Uni })) => {
                            self.stream = connection.streams().accept(Dir::Uni);
                        }
                        Some(Event::ConnectionLost { reason }) => {
                            self.facts.closed = Some(reason.to_string());
                        }
                        Some(_) => {}
                    }
                }
                let Some(stream) = self.stream else {
                    return;
                };
                if self.is_client {
                    self.write(stream);
                } else if !self.facts.is_finished {
                    self.read(stream);
                }
            }

            fn write(&mut self, stream: StreamId) {
                let Some((_, connection)) = &mut self.connection else {
                    return;
                };
                let mut stream = connection.send_stream(stream);
                while self.to_write > 0 {
                    let most = usize::try_from(self.to_write).unwrap_or(usize::MAX);
                    let piece = Bytes::from_static(&ZEROS[..most.min(ZEROS.len())]);
                    match write(&mut stream, piece) {
                        Ok(written) => self.to_write -= written as u64,
                        Err(_) => return,
                    }
                }
                if std::mem::take(&mut self.is_last) {
                    // It fails where the connection is lost; `facts` says so.
                    let _ = stream.finish();
                }
            }

            fn read(&mut self, stream: StreamId) {
                let Some((_, connection)) = &mut self.connection else {
                    return;
                };
                let mut stream = connection.recv_stream(stream);
                if let Ok(mut chunks) = stream.read(true) {
                    loop {
                        match chunks.next(usize::MAX) {
                            Ok(Some(chunk)) => self.facts.received += chunk.bytes.len() as u64,
                            Ok(None) => {
                                self.facts.is_finished = true;
                                break;
                            }
                            Err(_) => break,
                        }
                    }
                    // What it returns is whether to transmit, which always follows.
                    let _ = chunks.finalize();
                }
            }
        }

        impl Host for Endpoint {
            fn receive(&mut self, now: Instant, ecn: Ecn, datagram: &[u8]) {
                let ecn = match ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect => Some(EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                    Ecn::Ce => Some(EcnCodepoint::Ce),
                };
                let at = self.epoch.there(now);
                self.buffer.clear();
                let data = BytesMut::from(datagram);
                let peer = self.peer;
                match handle(&mut self.endpoint, at, peer, ecn, data, &mut self.buffer) {
                    Some(DatagramEvent::NewConnection(incoming)) => {
                        match self.endpoint.accept(incoming, at, &mut self.buffer, None) {
                            Ok(connection) => self.connection = Some(connection),
                            Err(error) => self.facts.closed = Some(error.cause.to_string()),
                        }
                    }
                    Some(DatagramEvent::ConnectionEvent(_, event)) => {
                        if let Some((_, connection)) = &mut self.connection {
                            connection.handle_event(event);
                        }
                    }
                    Some(DatagramEvent::Response(transmit)) => {
                        self.responses
                            .push_back(self.buffer[..transmit.size].to_vec());
                    }
                    None => {}
                }
                self.settle();
            }

            fn expire(&mut self, now: Instant) {
                if let Some((_, connection)) = &mut self.connection {
                    connection.handle_timeout(self.epoch.there(now));
                }
                self.settle();
            }

            fn deadline(&mut self) -> Option<Instant> {
                let at = self.connection.as_mut()?.1.poll_timeout()?;
                Some(self.epoch.here(at))
            }

            fn transmit(&mut self, now: Instant) -> Option<Transmit> {
                self.settle();
                if let Some(datagram) = self.responses.pop_front() {
                    return Some(Transmit {
                        ecn: Ecn::NotEct,
                        datagram,
                    });
                }
                let (_, connection) = self.connection.as_mut()?;
                self.buffer.clear();
                let at = self.epoch.there(now);
                let transmit = poll_transmit(connection, at, &mut self.buffer)?;
                Some(Transmit {
                    ecn: match transmit.ecn {
                        None => Ecn::NotEct,
                        Some(EcnCodepoint::Ce) => Ecn::Ce,
                        Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                        Some(EcnCodepoint::Ect0) => Ecn::Ect,
                    },
                    datagram: self.buffer[..transmit.size].to_vec(),
                })
            }

            fn application(&mut self, _now: Instant, act: Act) {
                match act {
                    Act::Write(bytes) => self.to_write = self.to_write.saturating_add(bytes),
                    Act::Finish => {
                        // What the stack has not taken is not sent any more.
                        self.to_write = 0;
                        self.is_last = true;
                    }
                    Act::WriteLast(bytes) => {
                        self.to_write = self.to_write.saturating_add(bytes);
                        self.is_last = true;
                    }
                }
                self.settle();
            }

            fn facts(&mut self) -> Facts {
                if let Some((_, connection)) = &mut self.connection {
                    (self.facts.packets_sent, self.facts.packets_lost) = packets(connection);
                }
                self.facts.clone()
            }
        }
    };
}

pub(crate) use endpoint;
