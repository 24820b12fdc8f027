//! The header fields of a packet that the emulator reads, and the one that it may write.

use std::net::{Ipv4Addr, SocketAddrV4};

use etherparse::{NetSlice, SlicedPacket, TcpOptionElement, TransportSlice};
use network::Ecn;

/// A connection in one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowKey {
    /// Address and port of the sender.
    pub source: SocketAddrV4,
    /// Address and port of the receiver.
    pub destination: SocketAddrV4,
    /// Whether it is TCP; UDP otherwise.
    pub tcp: bool,
}

/// The headers of a packet, as far as the emulator needs them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Headers {
    pub(crate) key: FlowKey,
    pub(crate) tcp: Option<TcpHeader>,
    /// Bytes after the transport header.
    pub(crate) payload: u32,
}

/// The fields that are read of a TCP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TcpHeader {
    pub(crate) seq: u32,
    pub(crate) syn: bool,
}

/// Reads the headers of an IPv4 packet of TCP or UDP; `None` for any other.
pub(crate) fn parse(bytes: &[u8]) -> Option<Headers> {
    let packet = SlicedPacket::from_ip(bytes).ok()?;
    let Some(NetSlice::Ipv4(ip)) = packet.net else {
        return None;
    };
    let (source_port, destination_port, payload, tcp) = match packet.transport? {
        TransportSlice::Tcp(tcp) => (
            tcp.source_port(),
            tcp.destination_port(),
            tcp.payload().len(),
            Some(TcpHeader {
                seq: tcp.sequence_number(),
                syn: tcp.syn(),
            }),
        ),
        TransportSlice::Udp(udp) => (
            udp.source_port(),
            udp.destination_port(),
            udp.payload().len(),
            None,
        ),
        _ => return None,
    };
    Some(Headers {
        key: FlowKey {
            source: SocketAddrV4::new(ip.header().source_addr(), source_port),
            destination: SocketAddrV4::new(ip.header().destination_addr(), destination_port),
            tcp: tcp.is_some(),
        },
        tcp,
        payload: payload as u32,
    })
}

/// The acknowledgment number of a plain ACK: no payload, no flag but ACK, no option but a
/// timestamp, and so no SACK.
pub(crate) fn plain_ack(bytes: &[u8]) -> Option<u32> {
    let Some(TransportSlice::Tcp(tcp)) = SlicedPacket::from_ip(bytes).ok()?.transport else {
        return None;
    };
    let others = tcp.ns()
        || tcp.cwr()
        || tcp.ece()
        || tcp.urg()
        || tcp.psh()
        || tcp.rst()
        || tcp.syn()
        || tcp.fin();
    let plain = tcp.options_iterator().all(|option| {
        matches!(
            option,
            Ok(TcpOptionElement::Noop | TcpOptionElement::Timestamp(..))
        )
    });
    (tcp.ack() && !others && tcp.payload().is_empty() && plain).then(|| tcp.acknowledgment_number())
}

/// Offset of the destination address in an IPv4 header.
const DESTINATION: usize = 16;

/// The destination of an IPv4 packet; `None` for any other.
pub(crate) fn destination(bytes: &[u8]) -> Option<Ipv4Addr> {
    let address: [u8; 4] = bytes.get(DESTINATION..DESTINATION + 4)?.try_into().ok()?;
    (bytes[0] >> 4 == 4).then(|| Ipv4Addr::from(address))
}

/// Offset of the type of service in an IPv4 header; its last two bits are the ECN field.
const TOS: usize = 1;
const CHECKSUM: usize = 10;
const ECN_MASK: u8 = 0b11;

/// The ECN field of an IPv4 packet (RFC 3168, section 5).
pub(crate) fn ecn(bytes: &[u8]) -> Ecn {
    match bytes {
        [version, tos, ..] if version >> 4 == 4 => match tos & ECN_MASK {
            0 => Ecn::NotEct,
            1 => Ecn::Ect1,
            3 => Ecn::Ce,
            _ => Ecn::Ect,
        },
        _ => Ecn::NotEct,
    }
}

/// Marks an ECN-capable IPv4 packet as having experienced congestion, and updates the header's
/// checksum (RFC 1624, equation 3).
pub(crate) fn mark(bytes: &mut [u8]) {
    if bytes.len() <= CHECKSUM + 1 || !matches!(ecn(bytes), Ecn::Ect | Ecn::Ect1) {
        return;
    }
    let word = |bytes: &[u8], at: usize| u32::from(u16::from_be_bytes([bytes[at], bytes[at + 1]]));
    let old = word(bytes, 0);
    bytes[TOS] |= ECN_MASK;
    let new = word(bytes, 0);
    let mut sum = (!word(bytes, CHECKSUM) & 0xffff) + (!old & 0xffff) + new;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    bytes[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use etherparse::{IpFragOffset, IpNumber, Ipv4Header, PacketBuilder};

    use super::*;

    fn segment(payload: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64)
            .tcp(1234, 80, 99, 1000)
            .syn()
            .write(&mut bytes, &vec![7; payload])
            .unwrap();
        bytes
    }

    #[test]
    fn a_plain_ack_does_nothing_else() {
        use TcpOptionElement::{Noop, SelectiveAcknowledgement, Timestamp};
        let ack = |number: u32, options: &[TcpOptionElement], payload: &[u8]| {
            let mut bytes = Vec::new();
            let builder = PacketBuilder::ipv4([10, 77, 0, 2], [10, 77, 0, 1], 64);
            let builder = builder.tcp(80, 1234, 7, 1000).ack(number);
            let builder = builder.options(options).unwrap();
            builder.write(&mut bytes, payload).unwrap();
            // A buffer may be longer than its packet.
            bytes.resize(2000, 0);
            bytes
        };
        let stamp = [Noop, Noop, Timestamp(3, 4)];
        assert_eq!(plain_ack(&ack(100, &stamp, &[])), Some(100));
        assert_eq!(plain_ack(&ack(100, &[], &[])), Some(100));
        let sack = [SelectiveAcknowledgement((300, 400), [None, None, None])];
        for other in [
            ack(150, &sack, &[]),
            ack(150, &stamp, &[1]),
            segment(0),
            vec![0; 60],
            Vec::new(),
        ] {
            assert_eq!(plain_ack(&other), None);
        }
    }

    #[test]
    fn headers_are_read() {
        let headers = parse(&segment(33)).unwrap();
        assert_eq!(headers.key.source.to_string(), "10.77.0.1:1234");
        assert_eq!(headers.key.destination.to_string(), "10.77.0.2:80");
        assert_eq!(headers.payload, 33);
        assert_eq!(destination(&segment(33)), Some(Ipv4Addr::new(10, 77, 0, 2)));
        assert_eq!(destination(&segment(0)[..19]), None);
        assert_eq!(destination(&[0x60; 40]), None);
        assert_eq!(headers.tcp, Some(TcpHeader { seq: 99, syn: true }));
        for cut in 0..40 {
            assert_eq!(parse(&segment(33)[..cut]), None, "cut after {cut}");
        }
    }

    #[test]
    fn marking_keeps_the_checksum_right() {
        for identification in [0, 1, 0x1234, 0xfffe, 0xffff] {
            for tos in 0..=255_u8 {
                let mut header =
                    Ipv4Header::new(100, 64, IpNumber::TCP, [10, 77, 0, 1], [10, 77, 0, 2])
                        .unwrap();
                header.identification = identification;
                header.fragment_offset = IpFragOffset::ZERO;
                let mut bytes = Vec::new();
                header.write(&mut bytes).unwrap();
                // The ECN field is set by hand.
                bytes[TOS] = tos;
                let (mut ip, _) = Ipv4Header::from_slice(&bytes).unwrap();
                ip.header_checksum = ip.calc_header_checksum();
                let mut bytes = Vec::new();
                ip.write_raw(&mut bytes).unwrap();
                let before = ecn(&bytes);
                mark(&mut bytes);
                let expected = match before {
                    Ecn::Ect | Ecn::Ect1 => Ecn::Ce,
                    other => other,
                };
                assert_eq!(ecn(&bytes), expected);
                let (marked, _) = Ipv4Header::from_slice(&bytes).unwrap();
                assert_eq!(marked.calc_header_checksum(), marked.header_checksum);
            }
        }
        mark(&mut [0x45, 1, 0]);
    }
}
