//! The identity of the servers of a run.

use std::sync::Arc;

use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::PrivatePkcs8KeyDer;
use quinn::{ClientConfig, ServerConfig};
use rcgen::{CertificateParams, CustomExtension, KeyPair};

use crate::error::RealError;

/// The name that the certificate is for.
pub(crate) const NAME: &str = "server";
/// Bytes that the certificate carries beside its own, so that it has the 1.2 kB of the handshake in
/// virtual time.
const FILLING: usize = 850;
/// An object identifier of the arc for examples (2.999).
const FILLER: &[u64] = &[2, 999, 1];

/// The configurations of the server and of the client, which trusts the server's certificate alone.
pub(crate) fn configs() -> Result<(ServerConfig, ClientConfig), RealError> {
    let key = KeyPair::generate().map_err(RealError::system("generating a key"))?;
    let certificate = {
        let mut wanted = CertificateParams::new(vec![NAME.to_owned()])
            .map_err(RealError::system("making a certificate"))?;
        wanted
            .custom_extensions
            .push(CustomExtension::from_oid_content(FILLER, vec![0; FILLING]));
        let made = wanted.self_signed(&key);
        made.map_err(RealError::system("making a certificate"))?
    };
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    let certificate = certificate.der().clone();
    let server = ServerConfig::with_single_cert(vec![certificate.clone()], key.into())
        .map_err(RealError::system("configuring TLS"))?;
    let mut roots = RootCertStore::empty();
    roots
        .add(certificate)
        .map_err(RealError::system("configuring TLS"))?;
    let client = ClientConfig::with_root_certificates(Arc::new(roots))
        .map_err(RealError::system("configuring TLS"))?;
    Ok((server, client))
}
