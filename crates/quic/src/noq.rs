//! noq-proto 1.

use noq_proto as proto;
use slowstart_noq::{Slowstart, SlowstartController as Ours};

use crate::endpoint::endpoint;

endpoint!();

impl crypto::PacketKey for Null {
    fn encrypt(&self, _: proto::PathId, _: u64, packet: &mut [u8], _: usize) {
        session::seal(packet);
    }
    fn decrypt(
        &self,
        _: proto::PathId,
        _: u64,
        _: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        Self::open(payload)
    }
    fn tag_len(&self) -> usize {
        session::TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl crypto::HandshakeTokenKey for Null {
    fn seal(&self, _: u128, data: &mut Vec<u8>) -> Result<(), CryptoError> {
        data.extend([0; session::TAG]);
        Ok(())
    }
    fn open<'a>(&self, _: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        let length = data.len().checked_sub(session::TAG).ok_or(CryptoError)?;
        Ok(&data[..length])
    }
}

impl Session for Tls {
    fn initial_keys(&self, _: ConnectionId, _: Side) -> Keys {
        keys()
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn crypto::HeaderKey>, Box<dyn crypto::PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        self.handshake.is_in_progress()
    }
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.read(bytes)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        self.write(out)
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn crypto::PacketKey>>> {
        Some(packet_keys())
    }
    fn is_valid_retry(&self, _: ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }
    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), crypto::ExportKeyingMaterialError> {
        Err(crypto::ExportKeyingMaterialError)
    }
}

impl crypto::ClientConfig for Config {
    fn start_session(
        &self,
        _: u32,
        _: &str,
        own: &TransportParameters,
    ) -> Result<Box<dyn Session>, proto::ConnectError> {
        Ok(Tls::start(Side::Client, own))
    }
}

impl crypto::ServerConfig for Config {
    fn initial_keys(&self, _: u32, _: ConnectionId) -> Result<Keys, crypto::UnsupportedVersion> {
        Ok(keys())
    }
    fn retry_tag(&self, _: u32, _: ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(&self, _: u32, own: &TransportParameters) -> Box<dyn Session> {
        Tls::start(Side::Server, own)
    }
}

impl Controller for Watched {
    fn on_sent(&mut self, now: time::Instant, bytes: u64, last: u64) {
        let at = self.epoch.here(now);
        self.observer.seen().on_sent(at, bytes, last);
        self.inner.on_sent(now, bytes, last);
    }
    fn on_packet_sent(&mut self, now: time::Instant, bytes: u16, number: u64) {
        self.inner.on_packet_sent(now, bytes, number);
    }
    fn on_packet_lost(&mut self, bytes: u16, number: u64, now: time::Instant) {
        self.inner.on_packet_lost(bytes, number, now);
    }
    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }
    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }
    fn on_ack_frequency_update(&mut self, threshold: u64, max_delay: time::Duration) {
        self.inner.on_ack_frequency_update(threshold, max_delay);
    }
    fn on_ack(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        bytes: u64,
        number: u64,
        app_limited: bool,
        rtt: &proto::RttEstimator,
    ) {
        let [at, left] = [now, sent].map(|at| self.epoch.here(at));
        self.observer.seen().on_acked(at, left, bytes);
        self.inner
            .on_ack(now, sent, bytes, number, app_limited, rtt);
    }
    fn on_end_acks(
        &mut self,
        now: time::Instant,
        in_flight: u64,
        app_limited: bool,
        largest: Option<u64>,
    ) {
        let before = self.inner.window();
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
        self.in_flight = in_flight;
        self.batch_ends(now, before);
    }
    fn on_congestion_event(
        &mut self,
        now: time::Instant,
        sent: time::Instant,
        is_persistent: bool,
        is_ecn: bool,
        lost: u64,
        largest: u64,
    ) {
        let before = self.inner.window();
        self.inner
            .on_congestion_event(now, sent, is_persistent, is_ecn, lost, largest);
        self.in_flight = self.in_flight.saturating_sub(lost);
        let [at, left] = [now, sent].map(|at| self.epoch.here(at));
        self.observer.seen().on_lost(at, left, lost);
        let reason = match (is_persistent, is_ecn) {
            (true, _) => "timeout",
            (false, true) => "ecn",
            (false, false) => "loss",
        };
        self.congested(now, before, reason);
    }
    fn on_mtu_update(&mut self, mtu: u16) {
        self.inner.on_mtu_update(mtu);
    }
    fn window(&self) -> u64 {
        self.inner.window()
    }
    fn metrics(&self) -> proto::congestion::ControllerMetrics {
        self.inner.metrics()
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

fn own_controller(
    name: &str,
    initial_window: u64,
    now: time::Instant,
    mtu: u16,
) -> Box<dyn Controller> {
    use proto::congestion::{Bbr3Config, CubicConfig, NewRenoConfig};
    match name {
        "bbr" => {
            let mut config = Bbr3Config::default();
            config.initial_window(initial_window);
            Arc::new(config).build(now, mtu)
        }
        "newreno" => {
            let mut config = NewRenoConfig::default();
            config.initial_window(initial_window);
            Arc::new(config).build(now, mtu)
        }
        _ => {
            let mut config = CubicConfig::default();
            config.initial_window(initial_window);
            Arc::new(config).build(now, mtu)
        }
    }
}

fn server_config() -> proto::ServerConfig {
    proto::ServerConfig::new(Arc::new(Config), Arc::new(Null))
}

fn new_endpoint(
    side: u8,
    server: Option<Arc<proto::ServerConfig>>,
    seed: [u8; 32],
) -> proto::Endpoint {
    let mut config = EndpointConfig::new(Arc::new(Null));
    config.cid_generator(Arc::new(move || Box::new(Cids(side, 0))));
    config.rng_seed(Some(seed));
    config
        .max_udp_payload_size(DATAGRAM)
        .expect("a datagram has at least 1200 bytes");
    proto::Endpoint::new(Arc::new(config), server, false)
}

fn handle(
    endpoint: &mut proto::Endpoint,
    now: time::Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    response: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, proto::FourTuple::new(peer, None), ecn, data, response)
}

/// How many bytes of the piece the stream takes.
fn write(stream: &mut proto::SendStream<'_>, piece: Bytes) -> Result<usize, proto::WriteError> {
    stream.write_chunks(&mut &mut [piece][..])
}

fn poll_transmit(
    connection: &mut Connection,
    now: time::Instant,
    buffer: &mut Vec<u8>,
) -> Option<proto::Transmit> {
    connection.poll_transmit(now, std::num::NonZeroUsize::MIN, buffer)
}

/// Packets with stream data sent, and packets lost.
fn packets(connection: &mut Connection) -> (u64, u64) {
    let stats = connection.stats();
    (stats.frame_tx.stream, stats.lost_packets)
}
