//! Finds the TCP segment, or the QUIC packet, in a captured packet.
//!
//! `etherparse` splits the headers: Ethernet with up to three VLAN tags (802.1Q, 802.1ad), raw IP,
//! BSD loopback, Linux cooked captures of both versions, IPv4, and IPv6 with extension headers.
//! Lengths come from the IP header, so a packet that the capture truncated counts in full. Where the
//! IP header has the length zero (segmentation offload), the length on the link counts.

use std::net::{IpAddr, SocketAddr};

use etherparse::{
    EtherType, LaxNetSlice, LaxSlicedPacket, TcpHeaderSlice, TcpOptionElement, ip_number,
};

use crate::datagram::{Datagram, UDP_HEADER};
use crate::{Frame, LinkType};

/// The flags of a TCP header that the analysis reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// SYN.
    pub syn: bool,
    /// ACK.
    pub ack: bool,
    /// FIN.
    pub fin: bool,
    /// RST.
    pub rst: bool,
    /// PSH.
    pub psh: bool,
    /// ECE.
    pub ece: bool,
    /// CWR.
    pub cwr: bool,
}

/// The options of a TCP header (RFC 9293, 7323, 2018).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Shift count of the window.
    pub window_scale: Option<u8>,
    /// Whether SACK is permitted.
    pub sack_permitted: bool,
    /// `TSval` and `TSecr`.
    pub timestamps: Option<(u32, u32)>,
    /// SACK blocks: first sequence number of each, and the one after its last.
    pub sack: [Option<(u32, u32)>; 4],
}

/// A TCP segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Nanoseconds since the Unix epoch.
    pub at: i64,
    /// The interface that saw it.
    pub interface: u32,
    /// Source address and port.
    pub source: SocketAddr,
    /// Destination address and port.
    pub destination: SocketAddr,
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags.
    pub flags: Flags,
    /// Window field, without its scale.
    pub window: u16,
    /// Payload in bytes, as the headers state it.
    pub payload: u32,
    /// Whether a router marked it (ECN codepoint CE).
    pub is_marked: bool,
    /// Options.
    pub options: TcpOptions,
}

/// What a captured packet carries.
#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack for the time of one packet"
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// A TCP segment.
    Segment(Segment),
    /// A datagram with a QUIC packet.
    Datagram(Datagram),
}

/// Decodes packets, and counts those without a TCP segment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Decoder {
    /// Other protocols, and fragments other than the first.
    pub other: u64,
    /// TCP segments with less than a TCP header captured.
    pub unreadable: u64,
    /// Packets of a link type that is not supported, and the last such type.
    pub unsupported: (u64, Option<LinkType>),
}

/// Longest TCP header.
const LONGEST_HEADER: usize = 60;

#[allow(
    clippy::large_enum_variant,
    reason = "it lives on the stack for the time of one packet"
)]
enum Found<'a> {
    /// Where the bytes of the network layer begin, and its headers.
    Headers(LaxSlicedPacket<'a>),
    Nothing,
    Unsupported,
}

fn split<'a>(link: LinkType, bytes: &'a [u8]) -> Found<'a> {
    let by_type = |kind: [u8; 2], from: usize| match bytes.get(from..) {
        Some(rest) => Found::Headers(LaxSlicedPacket::from_ether_type(
            EtherType(u16::from_be_bytes(kind)),
            rest,
        )),
        None => Found::Nothing,
    };
    let ip =
        |bytes: &'a [u8]| LaxSlicedPacket::from_ip(bytes).map_or(Found::Nothing, Found::Headers);
    match link.0 {
        1 => LaxSlicedPacket::from_ethernet(bytes).map_or(Found::Nothing, Found::Headers),
        // Raw IP, as libpcap and as BSDs number it; IPv4 alone; IPv6 alone.
        101 | 12 | 14 | 228 | 229 => ip(bytes),
        // BSD loopback: four bytes of address family, in either byte order. The IP version follows.
        0 | 108 => bytes.get(4..).map_or(Found::Nothing, ip),
        // Linux cooked capture: the protocol comes last, whatever the hardware type is.
        113 => match bytes.get(14..16) {
            Some(&[high, low]) => by_type([high, low], 16),
            _ => Found::Nothing,
        },
        // Linux cooked capture v2: the protocol comes first.
        276 => match bytes {
            [high, low, ..] => by_type([*high, *low], 20),
            _ => Found::Nothing,
        },
        _ => Found::Unsupported,
    }
}

impl Decoder {
    /// The TCP segment of a packet, if it has one.
    pub fn decode(&mut self, frame: &Frame<'_>) -> Option<Segment> {
        match self.decode_any(frame)? {
            Carried::Segment(segment) => Some(segment),
            Carried::Datagram(_) => {
                self.other += 1;
                None
            }
        }
    }

    /// The TCP segment or QUIC packet of a packet, if it has one.
    pub fn decode_any(&mut self, frame: &Frame<'_>) -> Option<Carried> {
        let headers = match split(frame.link, frame.bytes) {
            Found::Headers(headers) => headers,
            Found::Nothing => {
                self.other += 1;
                return None;
            }
            Found::Unsupported => {
                self.unsupported = (self.unsupported.0 + 1, Some(frame.link));
                return None;
            }
        };
        let Some((ip, payload)) = headers.net.as_ref().and_then(network) else {
            self.other += 1;
            return None;
        };
        // Offsets within the captured bytes: where IP begins, and where its payload does.
        let start = frame.bytes.as_ptr() as usize;
        let ip_starts = ip.start - start;
        let begins = payload.payload.as_ptr() as usize - start;
        let length = match ip.length {
            0 => (frame.length as usize).saturating_sub(ip_starts),
            length => length,
        };
        let length = length.saturating_sub(begins - ip_starts);
        let bytes = frame.bytes.get(begins..).unwrap_or_default();
        match payload.ip_number {
            _ if ip.is_later_fragment => {}
            ip_number::TCP => {
                let Some(segment) = self.tcp(bytes) else {
                    self.unreadable += 1;
                    return None;
                };
                let (header_length, source, destination, mut segment) = segment;
                segment.at = frame.at;
                segment.interface = frame.interface;
                segment.source = SocketAddr::new(ip.source, source);
                segment.destination = SocketAddr::new(ip.destination, destination);
                segment.payload = u32::try_from(length.saturating_sub(header_length)).unwrap_or(0);
                segment.is_marked = ip.is_marked;
                return Some(Carried::Segment(segment));
            }
            ip_number::UDP => {
                if let Some((source, destination, packet)) = crate::datagram::udp(bytes) {
                    return Some(Carried::Datagram(Datagram {
                        at: frame.at,
                        interface: frame.interface,
                        source: SocketAddr::new(ip.source, source),
                        destination: SocketAddr::new(ip.destination, destination),
                        payload: u32::try_from(length.saturating_sub(UDP_HEADER)).unwrap_or(0),
                        packet,
                    }));
                }
            }
            _ => {}
        }
        self.other += 1;
        None
    }

    /// Length of the header, ports, and the header's fields.
    fn tcp(&self, bytes: &[u8]) -> Option<(usize, u16, u16, Segment)> {
        let header = TcpHeaderSlice::from_slice(bytes);
        // Options that are not captured count as absent: zero ends the list of options.
        let mut padded = [0; LONGEST_HEADER];
        let header = match header {
            Ok(header) => header,
            Err(_) if bytes.len() >= 20 => {
                let kept = bytes.len().min(LONGEST_HEADER);
                padded[..kept].copy_from_slice(&bytes[..kept]);
                TcpHeaderSlice::from_slice(&padded).ok()?
            }
            Err(_) => return None,
        };
        let mut options = TcpOptions::default();
        let captured = bytes.len().saturating_sub(20);
        let all = header.options().len();
        let mut iterator = header.options_iterator();
        while let Some(option) = iterator.next() {
            if all - iterator.rest().len() > captured {
                break;
            }
            match option {
                Ok(TcpOptionElement::MaximumSegmentSize(mss)) => options.mss = Some(mss),
                Ok(TcpOptionElement::WindowScale(shift)) => {
                    // RFC 7323, section 2.3: at most 14.
                    options.window_scale = Some(shift.min(14));
                }
                Ok(TcpOptionElement::SelectiveAcknowledgementPermitted) => {
                    options.sack_permitted = true;
                }
                Ok(TcpOptionElement::SelectiveAcknowledgement(first, others)) => {
                    let [second, third, fourth] = others;
                    options.sack = [Some(first), second, third, fourth];
                }
                Ok(TcpOptionElement::Timestamp(value, echo)) => {
                    options.timestamps = Some((value, echo));
                }
                Ok(TcpOptionElement::Noop) => {}
                // An unknown option; `etherparse` stops there.
                Err(_) => break,
            }
        }
        let nowhere = SocketAddr::new(IpAddr::from([0; 4]), 0);
        let segment = Segment {
            at: 0,
            interface: 0,
            source: nowhere,
            destination: nowhere,
            seq: header.sequence_number(),
            ack: header.acknowledgment_number(),
            flags: Flags {
                syn: header.syn(),
                ack: header.ack(),
                fin: header.fin(),
                rst: header.rst(),
                psh: header.psh(),
                ece: header.ece(),
                cwr: header.cwr(),
            },
            window: header.window_size(),
            payload: 0,
            is_marked: false,
            options,
        };
        let ports = (header.source_port(), header.destination_port());
        Some((header.slice().len(), ports.0, ports.1, segment))
    }
}

/// What the analysis needs of an IP header.
struct Ip {
    /// Address of its first byte in memory.
    start: usize,
    /// Length of the packet; 0 if the header does not state it.
    length: usize,
    source: IpAddr,
    destination: IpAddr,
    is_marked: bool,
    is_later_fragment: bool,
}

/// Whether a fragment header that is not of the first fragment is among extension headers.
///
/// The iterator of etherparse 0.21 reads beyond a truncated extension header: its bytes end before
/// the header that its first number announces.
fn has_later_fragment(first: etherparse::IpNumber, mut rest: &[u8]) -> bool {
    let mut kind = first;
    while let [next, length, ..] = *rest {
        let size = match kind {
            ip_number::IPV6_FRAG => {
                let offset = rest
                    .get(2..4)
                    .is_some_and(|field| field[0] > 0 || field[1] & 0xf8 > 0);
                if offset {
                    return true;
                }
                8
            }
            ip_number::AUTH => (usize::from(length) + 2) * 4,
            _ if kind.is_ipv6_ext_header_value() => (usize::from(length) + 1) * 8,
            _ => return false,
        };
        kind = etherparse::IpNumber(next);
        rest = rest.get(size..).unwrap_or_default();
    }
    false
}

fn network<'a, 'b>(
    net: &'b LaxNetSlice<'a>,
) -> Option<(Ip, &'b etherparse::LaxIpPayloadSlice<'a>)> {
    match net {
        LaxNetSlice::Ipv4(ip) => {
            let header = ip.header();
            let description = Ip {
                start: header.slice().as_ptr() as usize,
                length: header.total_len().into(),
                source: header.source_addr().into(),
                destination: header.destination_addr().into(),
                is_marked: header.ecn().value() == 3,
                is_later_fragment: header.fragments_offset().value() > 0,
            };
            Some((description, ip.payload()))
        }
        LaxNetSlice::Ipv6(ip) => {
            let header = ip.header();
            let length = match header.payload_length() {
                0 => 0,
                length => usize::from(length) + header.slice().len(),
            };
            let description = Ip {
                start: header.slice().as_ptr() as usize,
                length,
                source: header.source_addr().into(),
                destination: header.destination_addr().into(),
                is_marked: header.traffic_class() & 3 == 3,
                // The payload of a later fragment has no header to find.
                is_later_fragment: ip
                    .extensions()
                    .first_header()
                    .is_some_and(|first| has_later_fragment(first, ip.extensions().slice())),
            };
            Some((description, ip.payload()))
        }
        LaxNetSlice::Arp(_) => None,
    }
}
