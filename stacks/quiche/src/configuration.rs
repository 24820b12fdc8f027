//! The configuration of an endpoint: quiche's defaults, but for what the run sets.

use std::error::Error;

use boring::asn1::Asn1Time;
use boring::ec::{EcGroup, EcKey};
use boring::hash::MessageDigest;
use boring::nid::Nid;
use boring::pkey::PKey;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::X509;
use slowstart_stack::Settings;

/// quiche's own controllers; HyStart++ is on by default. `+standard` is slow start without it.
pub const CONTROLLERS: [&str; 5] = [
    "cubic",
    "reno",
    "bbr2_gcongestion",
    "cubic+standard",
    "reno+standard",
];

/// As in the QUIC stacks that slowstart has built in.
const IDLE_TIMEOUT_MS: u64 = 30_000;

pub fn new(settings: &Settings) -> Result<quiche::Config, Box<dyn Error>> {
    let tls = if settings.is_client {
        SslContextBuilder::new(SslMethod::tls())?
    } else {
        certified()?
    };
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, tls)?;
    config.verify_peer(false);
    config.set_application_protos(&[b"slowstart"])?;
    let datagram = settings.datagram as usize;
    config.set_max_recv_udp_payload_size(datagram);
    config.set_max_send_udp_payload_size(datagram);
    config.set_max_idle_timeout(IDLE_TIMEOUT_MS);
    let window = settings.receive_window;
    config.set_initial_max_data(window);
    config.set_max_connection_window(window);
    config.set_initial_max_stream_data_uni(window);
    config.set_max_stream_window(window);
    config.set_initial_max_streams_uni(1);
    config.set_initial_congestion_window_packets(settings.initial_window as usize);
    let (controller, has_hystart) = match settings.controller.strip_suffix("+standard") {
        Some(controller) => (controller, false),
        None => (settings.controller.as_str(), true),
    };
    config.set_cc_algorithm_name(controller)?;
    config.enable_hystart(has_hystart);
    Ok(config)
}

/// The server's side of TLS, with a new key and a certificate that it signs itself.
fn certified() -> Result<SslContextBuilder, Box<dyn Error>> {
    let curve = EcGroup::from_curve_name(Nid::X9_62_PRIME256V1)?;
    let key = PKey::from_ec_key(EcKey::generate(&curve)?)?;
    let mut certificate = X509::builder()?;
    certificate.set_version(2)?;
    certificate.set_pubkey(&key)?;
    let [start, end] = [Asn1Time::days_from_now(0)?, Asn1Time::days_from_now(365)?];
    certificate.set_not_before(&start)?;
    certificate.set_not_after(&end)?;
    certificate.sign(&key, MessageDigest::sha256())?;
    let mut tls = SslContextBuilder::new(SslMethod::tls())?;
    tls.set_private_key(&key)?;
    tls.set_certificate(&certificate.build())?;
    Ok(tls)
}
