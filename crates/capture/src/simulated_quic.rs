//! Writes the datagrams of QUIC stacks in virtual time as the captures of their hosts.
//!
//! Flow i leaves 10.77.0.1 from port 49152 + i for 10.77.0.2, port 443, and its run begins as that of
//! [`simulated`](crate::simulated) does. Only headers are captured. These stacks have no
//! cryptography, so all of a header can be read; real ones protect the packet number.

use std::collections::BTreeMap;
use std::io::{self, Write};

use etherparse::{IpNumber, Ipv4Header, UdpHeader};
use measure::Vantage;
use units::{Duration, Instant};

use crate::datagram::UDP_HEADER;
use crate::simulated::{BEGIN, Remark, begin};

/// Bytes of UDP payload that are kept: a long header with connection IDs of eight bytes.
const KEPT: usize = 32;
const IP_HEADER: usize = 20;

/// A datagram at a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuicRecord {
    /// When.
    pub at: Instant,
    /// The flow.
    pub flow: u32,
    /// Whether the client sends it, which sends the data.
    pub is_forward: bool,
    /// Where it is seen.
    pub seen_by: Vantage,
    /// UDP payload.
    pub size: u16,
    /// Its first bytes.
    pub head: [u8; KEPT],
}

impl QuicRecord {
    /// A datagram that leaves a host, or `arrives` at one.
    #[must_use]
    pub fn new(at: Instant, flow: u32, is_forward: bool, arrives: bool, datagram: &[u8]) -> Self {
        let mut head = [0; KEPT];
        let kept = datagram.len().min(KEPT);
        head[..kept].copy_from_slice(&datagram[..kept]);
        Self {
            at,
            flow,
            is_forward,
            seen_by: if is_forward == arrives {
                Vantage::Receiver
            } else {
                Vantage::Sender
            },
            size: u16::try_from(datagram.len()).unwrap_or(u16::MAX),
            head,
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let hosts = [[10, 77, 0, 1], [10, 77, 0, 2]];
        let ports = [49_152 + (self.flow % 16_384) as u16, 443];
        let (from, to) = if self.is_forward { (0, 1) } else { (1, 0) };
        let length = self.size.saturating_add(UDP_HEADER as u16);
        let ip = Ipv4Header::new(length, 64, IpNumber::UDP, hosts[from], hosts[to]);
        let mut ip = ip.unwrap_or_default();
        ip.dont_fragment = true;
        ip.header_checksum = ip.calc_header_checksum();
        // Without its payload, the sum cannot be checked: zero means that there is none.
        let udp = UdpHeader {
            source_port: ports[from],
            destination_port: ports[to],
            length,
            checksum: 0,
        };
        let mut bytes = ip.to_bytes().to_vec();
        bytes.extend(udp.to_bytes());
        bytes.extend(&self.head[..usize::from(self.size).min(KEPT)]);
        bytes
    }
}

/// Adds what a point between the hosts sees, as [`add_middle`](crate::simulated::add_middle) does.
pub fn add_middle(records: &mut Vec<QuicRecord>) {
    let at_sender = |each: &&QuicRecord| each.seen_by == Vantage::Sender;
    // When the first datagram of each flow left, and when the first answer came.
    let mut handshakes: BTreeMap<u32, [Option<Instant>; 2]> = BTreeMap::new();
    for each in records.iter().filter(at_sender) {
        let place = usize::from(!each.is_forward);
        handshakes.entry(each.flow).or_default()[place].get_or_insert(each.at);
    }
    let seen: Vec<_> = records
        .iter()
        .filter(at_sender)
        .map(|each| {
            let shift = match handshakes[&each.flow] {
                [Some(first), Some(answer)] => answer.saturating_since(first) / 4,
                _ => Duration::ZERO,
            };
            let at = if each.is_forward {
                each.at + shift
            } else {
                each.at - shift
            };
            QuicRecord {
                at,
                seen_by: Vantage::Middle,
                ..*each
            }
        })
        .collect();
    records.extend(seen);
    records.sort_by_key(|each| each.at);
}

/// Writes the datagrams that `vantages` see, in the order of time, to one pcapng file with an
/// interface for each vantage.
///
/// # Errors
/// Errors of `writer`.
pub fn write<W: Write>(
    writer: W,
    comment: &str,
    records: &[QuicRecord],
    vantages: &[Vantage],
    remarks: &[Remark],
) -> io::Result<W> {
    let snap_length = (IP_HEADER + UDP_HEADER + KEPT) as u32;
    let mut writer = begin(writer, comment, vantages, snap_length)?;
    let mut remarks: Vec<_> = remarks.iter().collect();
    for record in records {
        let Some(interface) = vantages.iter().position(|each| *each == record.seen_by) else {
            continue;
        };
        let due = remarks.iter().position(|remark| {
            let is_its = remark.flow == record.flow && record.at >= remark.at;
            is_its && record.seen_by == Vantage::Sender
        });
        let text = due.map(|place| remarks.remove(place).text.as_str());
        let length = (IP_HEADER + UDP_HEADER) as u32 + u32::from(record.size);
        let at = BEGIN + record.at.as_nanos();
        writer.packet(interface as u32, at, length, &record.bytes(), text)?;
    }
    writer.finish()
}
