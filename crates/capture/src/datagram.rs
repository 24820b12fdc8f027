//! What an observer sees of QUIC in a UDP datagram: the invariants (RFC 8999), and of version 1 and 2
//! the kind of a long header and the spin bit (RFC 9000, section 17; RFC 9369, section 3.2).
//!
//! A datagram may hold several packets; the first one counts. Header protection does not cover what
//! is read here (RFC 9001, section 5.4).

use std::net::SocketAddr;

/// Bytes of a UDP header.
pub(crate) const UDP_HEADER: usize = 8;

/// The header of a QUIC packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    /// A packet of the handshake, or one with early data.
    Long {
        /// Whether it is an Initial packet.
        is_initial: bool,
    },
    /// A packet under the keys of the connection.
    Short {
        /// The spin bit (RFC 9000, section 17.4).
        spin: bool,
    },
}

/// A datagram with a QUIC packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// Nanoseconds since the Unix epoch.
    pub at: i64,
    /// The interface that saw it.
    pub interface: u32,
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// UDP payload in bytes, as the headers state it.
    pub payload: u32,
    /// Its first packet. A short header has no mark of QUIC: only a connection whose long headers
    /// were seen has it.
    pub packet: Header,
}

/// Versions whose long headers are known.
const VERSION_1: u32 = 1;
const VERSION_2: u32 = 0x6b33_43cf;
/// Drafts of version 1 have this and their number.
const DRAFT: u32 = 0xff00_0000;

/// Ports, and the header of the first QUIC packet, if the datagram can have one.
pub(crate) fn udp(bytes: &[u8]) -> Option<(u16, u16, Header)> {
    let [source, source_low, destination, destination_low, ..] = *bytes else {
        return None;
    };
    let ports = [[source, source_low], [destination, destination_low]].map(u16::from_be_bytes);
    let header = header(bytes.get(UDP_HEADER..)?)?;
    Some((ports[0], ports[1], header))
}

fn header(packet: &[u8]) -> Option<Header> {
    let first = *packet.first()?;
    // The fixed bit says nothing: a peer may clear it (RFC 9287).
    if first & 0x80 == 0 {
        return Some(Header::Short {
            spin: first & 0x20 != 0,
        });
    }
    let version = u32::from_be_bytes(packet.get(1..5)?.try_into().ok()?);
    let initial = match version {
        VERSION_1 => 0,
        VERSION_2 => 1,
        _ if version & 0xffff_ff00 == DRAFT => 0,
        _ => return None,
    };
    let connection_id = *packet.get(5)?;
    (connection_id <= 20).then_some(Header::Long {
        is_initial: first >> 4 & 3 == initial,
    })
}

#[cfg(test)]
mod tests {
    use super::{Header, header};

    /// The client's Initial of RFC 9001, appendix A.2, and of RFC 9369, appendix A.2.
    #[test]
    fn initial_packets_of_both_versions_are_found() {
        let first = [
            0xc0, 0, 0, 0, 1, 8, 0x83, 0x94, 0xc8, 0xf0, 0x3e, 0x51, 0x57, 8,
        ];
        assert_eq!(header(&first), Some(Header::Long { is_initial: true }));
        let second = [0xd7, 0x6b, 0x33, 0x43, 0xcf, 8, 0x83, 0x94, 0xc8, 0xf0];
        assert_eq!(header(&second), Some(Header::Long { is_initial: true }));
        // Its fixed bit is clear.
        let handshake = [0xa0, 0, 0, 0, 1, 8];
        assert_eq!(header(&handshake), Some(Header::Long { is_initial: false }));
    }

    #[test]
    fn the_spin_bit_is_that_of_the_short_header() {
        assert_eq!(header(&[0x40]), Some(Header::Short { spin: false }));
        assert_eq!(header(&[0x7f]), Some(Header::Short { spin: true }));
    }

    #[test]
    fn other_protocols_have_no_long_header() {
        assert_eq!(header(&[]), None);
        // DTLS begins with a content type below 64; a version that is negotiated is not one of QUIC.
        assert_eq!(header(&[0xc0, 0, 0, 0, 0, 8]), None);
        assert_eq!(header(&[0xc0, 0, 0]), None);
    }
}
