//! Packets of a script as bytes: IPv4 and TCP headers, and the numbers that both sides begin with.

use std::net::Ipv4Addr;

use emulator::OFFLOAD_HEADER;
use packetdrill::{Ecn, Flags, Options, Packet, Timestamps};

/// IPv4 header without options.
const IP_SIZE: usize = 20;
/// TCP header without options.
const TCP_SIZE: usize = 20;
/// The peer's initial sequence number.
const PEER_ISN: u32 = 0x1000_0000;

/// One end of the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End {
    pub(super) address: Ipv4Addr,
    pub(super) port: u16,
}

/// How a connection's packets look on the device.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wire {
    /// The tested host. Its port is known when it listens, or from its SYN.
    pub(super) host: End,
    pub(super) peer: End,
    /// The host's initial sequence number, from its first packet.
    host_isn: Option<u32>,
    identification: u16,
}

impl Wire {
    pub(super) const fn new(host: End, peer: End) -> Self {
        Self {
            host,
            peer,
            host_isn: None,
            identification: 0,
        }
    }

    /// The header for the device, and the bytes of a packet from the peer. A packet of more than
    /// `mss` bytes consists of segments that the device merged.
    pub(super) fn inject(&mut self, packet: &Packet, mss: Option<u16>) -> Vec<u8> {
        let mut bytes = match mss {
            Some(mss) if packet.len > u32::from(mss) => merged(mss),
            _ => [0; OFFLOAD_HEADER],
        }
        .to_vec();
        bytes.extend(self.encode(packet));
        bytes
    }

    /// The bytes of a packet from the peer.
    fn encode(&mut self, packet: &Packet) -> Vec<u8> {
        let isn = self.host_isn.unwrap_or(0);
        let of_host = |number: u64| isn.wrapping_add(number as u32);
        let options = options(packet.options.as_ref(), of_host);
        let total = IP_SIZE + TCP_SIZE + options.len() + packet.len as usize;
        let mut tcp = Vec::with_capacity(total - IP_SIZE);
        tcp.extend(self.peer.port.to_be_bytes());
        tcp.extend(self.host.port.to_be_bytes());
        tcp.extend(PEER_ISN.wrapping_add(packet.seq as u32).to_be_bytes());
        let ack = if packet.flags.ack {
            of_host(packet.ack)
        } else {
            0
        };
        tcp.extend(ack.to_be_bytes());
        tcp.push(((TCP_SIZE + options.len()) / 4 * 16) as u8);
        tcp.push(packet.flags.bits());
        tcp.extend((packet.window.unwrap_or(0) as u16).to_be_bytes());
        // Checksum and urgent pointer.
        tcp.extend([0; 4]);
        tcp.extend(options);
        tcp.resize(total - IP_SIZE, 0);
        let (from, to) = (self.peer.address.octets(), self.host.address.octets());
        let length = (tcp.len() as u16).to_be_bytes();
        let pseudo = [
            from[0], from[1], from[2], from[3], to[0], to[1], to[2], to[3], 0, 6, length[0],
            length[1],
        ];
        let sum = checksum(&[&pseudo, &tcp]);
        tcp[16..18].copy_from_slice(&sum.to_be_bytes());
        self.identification = self.identification.wrapping_add(1);
        let mut bytes = Vec::with_capacity(total);
        bytes.push(0x45);
        bytes.push(packet.ecn.unwrap_or(Ecn::NotEct).bits());
        bytes.extend((total as u16).to_be_bytes());
        bytes.extend(self.identification.to_be_bytes());
        // Do not fragment; 64 hops; TCP; checksum.
        bytes.extend([0x40, 0, 64, 6, 0, 0]);
        bytes.extend(from);
        bytes.extend(to);
        let sum = checksum(&[&bytes]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
        bytes.extend(tcp);
        bytes
    }

    /// The packet of the tested host in `bytes`; `None` if it is another's.
    pub(super) fn decode(&mut self, bytes: &[u8]) -> Option<Packet> {
        let header = usize::from(bytes.first()? & 15) * 4;
        let is_ours = bytes.first()? >> 4 == 4
            && *bytes.get(9)? == 6
            && bytes.get(12..16)? == self.host.address.octets()
            && bytes.get(16..20)? == self.peer.address.octets();
        let tcp = bytes.get(header..).filter(|_| is_ours)?;
        let u16_at = |at: usize| Some(u16::from_be_bytes([*tcp.get(at)?, *tcp.get(at + 1)?]));
        let u32_at = |at: usize| Some(u32::from_be_bytes(tcp.get(at..at + 4)?.try_into().ok()?));
        if u16_at(2)? != self.peer.port {
            return None;
        }
        let flags = Flags::of(*tcp.get(13)?);
        let seq = u32_at(4)?;
        if flags.syn {
            self.host.port = u16_at(0)?;
            self.host_isn = Some(seq);
        }
        if u16_at(0)? != self.host.port {
            return None;
        }
        let offset = usize::from(tcp.get(12)? >> 4) * 4;
        let payload = bytes.len().checked_sub(header + offset)?;
        let isn = self.host_isn.unwrap_or(seq);
        Some(Packet {
            ecn: Some(Ecn::of(*bytes.get(1)?)),
            flags,
            seq: u64::from(seq.wrapping_sub(isn)),
            len: u32::try_from(payload).ok()?,
            ack: if flags.ack {
                u64::from(u32_at(8)?.wrapping_sub(PEER_ISN))
            } else {
                0
            },
            window: Some(u32::from(u16_at(14)?)),
            options: Some(read_options(tcp.get(TCP_SIZE..offset)?)),
        })
    }
}

/// `struct virtio_net_hdr` (virtio 1.2, section 5.1.6) of segments of `mss` bytes in one packet of TCP
/// over IPv4. Without a length of the headers, the kernel keeps the packet in one block of memory,
/// which is what it counts.
fn merged(mss: u16) -> [u8; OFFLOAD_HEADER] {
    let mut header = [0; OFFLOAD_HEADER];
    header[1] = 1;
    header[4..6].copy_from_slice(&mss.to_le_bytes());
    header
}

/// The options of a packet of the peer, padded; `of_host` makes the host's number.
fn options(options: Option<&Options>, of_host: impl Fn(u64) -> u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    let Some(options) = options else {
        return bytes;
    };
    if let Some(mss) = options.mss {
        bytes.extend([2, 4]);
        bytes.extend(mss.to_be_bytes());
    }
    if options.sack_permitted {
        bytes.extend([4, 2]);
    }
    if let Some(stamps) = options.timestamps {
        bytes.extend([8, 10]);
        bytes.extend(stamps.val.to_be_bytes());
        bytes.extend(stamps.ecr.to_be_bytes());
    }
    if let Some(shift) = options.window_scale {
        bytes.extend([3, 3, shift]);
    }
    if !options.sack.is_empty() {
        bytes.extend([5, 2 + 8 * options.sack.len() as u8]);
        for (start, end) in &options.sack {
            bytes.extend(of_host(*start).to_be_bytes());
            bytes.extend(of_host(*end).to_be_bytes());
        }
    }
    // Padding is NOP.
    bytes.resize(bytes.len().next_multiple_of(4), 1);
    bytes
}

fn read_options(mut bytes: &[u8]) -> Options {
    let mut options = Options::default();
    while let Some((&kind, rest)) = bytes.split_first() {
        let length = match (kind, rest.first()) {
            (0, _) => break,
            (1, _) => 1,
            (_, Some(&length)) => usize::from(length).max(2),
            (_, None) => break,
        };
        let Some(value) = bytes.get(2.min(length)..length) else {
            break;
        };
        let number = |at: usize| {
            let bytes: [u8; 4] = value.get(at..at + 4)?.try_into().ok()?;
            Some(u32::from_be_bytes(bytes))
        };
        match kind {
            2 => options.mss = value.try_into().ok().map(u16::from_be_bytes),
            3 => options.window_scale = value.first().copied(),
            4 => options.sack_permitted = true,
            5 => {
                let count = value.len() / 8;
                let block = |at: usize| {
                    let end = |at| Some(u64::from(number(at)?.wrapping_sub(PEER_ISN)));
                    Some((end(8 * at)?, end(8 * at + 4)?))
                };
                options.sack = (0..count).filter_map(block).collect();
            }
            8 => {
                options.timestamps = number(0)
                    .zip(number(4))
                    .map(|(val, ecr)| Timestamps { val, ecr });
            }
            _ => {}
        }
        bytes = &bytes[length..];
    }
    options
}

/// The Internet checksum (RFC 1071); all parts but the last have an even length.
fn checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0_u64;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u64::from(pair[0]) << 8 | u64::from(pair.get(1).copied().unwrap_or(0));
        }
    }
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_survives_the_wire() {
        let host = End {
            address: Ipv4Addr::new(10, 77, 0, 1),
            port: 8080,
        };
        let peer = End {
            address: Ipv4Addr::new(10, 77, 0, 2),
            port: 40_000,
        };
        let packet = Packet {
            ecn: Some(Ecn::Ect0),
            flags: Flags::of(0x18),
            seq: 1,
            len: 999,
            ack: 1,
            window: Some(257),
            options: Some(Options {
                sack: vec![(2001, 3001), (5001, 6001)],
                timestamps: Some(Timestamps { val: 7, ecr: 9 }),
                ..Options::default()
            }),
        };
        let mut wire = Wire::new(host, peer);
        wire.host_isn = Some(PEER_ISN);
        let bytes = wire.encode(&packet);
        // A correct checksum makes the sum of all words zero.
        assert_eq!(checksum(&[&bytes[..IP_SIZE]]), 0);
        let mut back = Wire::new(peer, host);
        back.host_isn = Some(PEER_ISN);
        assert_eq!(back.decode(&bytes), Some(packet));
        for cut in 0..bytes.len() {
            let _ = back.decode(&bytes[..cut]);
        }
    }
}
