//! Routes with metrics: settings of a flow for which there is no socket option.
//!
//! Each flow has its own address on both sides, and a route to it. In the sender's namespace, the
//! metrics of the route set the initial window (`initcwnd`) and request ECN (`features ecn`); in
//! the receiver's, they request an immediate ACK of every segment (`quickack`). A prefix of type
//! `local` makes a namespace answer for all addresses of its side. Messages are those of
//! rtnetlink(7).

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::Ipv4Addr;

use nix::net::if_::if_nametoindex;
use nix::sys::socket::{AddressFamily, SockFlag, SockProtocol, SockType, socket};

// linux/rtnetlink.h, linux/if_link.h
const RTM_NEWLINK: u16 = 16;
const RTM_NEWROUTE: u16 = 24;
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_METRICS: u16 = 8;
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
const RTAX_QUICKACK: u16 = 15;
const RTAX_FEATURE_ECN: u32 = 1;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const NLM_F_REQUEST: u16 = 1;
const NLM_F_ACK: u16 = 4;
const NLM_F_REPLACE: u16 = 0x100;
const NLM_F_CREATE: u16 = 0x400;
const NLMSG_ERROR: u16 = 2;
const HEADER: usize = 16;

const AF_INET: u8 = 2;
const TABLE_MAIN: u8 = 254;
const TABLE_LOCAL: u8 = 255;
const PROTOCOL_STATIC: u8 = 4;
const SCOPE_LINK: u8 = 253;
const SCOPE_HOST: u8 = 254;
const TYPE_UNICAST: u8 = 1;
const TYPE_LOCAL: u8 = 2;

/// Settings of a route; the default changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Metrics {
    /// Initial window in segments.
    pub initial_window: Option<u32>,
    /// ECN is requested.
    pub ecn: bool,
    /// Every segment is acknowledged immediately.
    pub quick_ack: bool,
}

/// The routing tables of the namespace of the thread that opened them.
pub struct Routes {
    socket: File,
    sequence: u32,
}

impl Routes {
    /// Those of the calling thread's namespace.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn open() -> io::Result<Self> {
        Ok(Self {
            socket: File::from(socket(
                AddressFamily::Netlink,
                SockType::Raw,
                SockFlag::SOCK_CLOEXEC,
                SockProtocol::NetlinkRoute,
            )?),
            sequence: 0,
        })
    }

    /// Makes the namespace answer for the addresses of `prefix`.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn answer_for(&mut self, prefix: (Ipv4Addr, u8)) -> io::Result<()> {
        let device = interface_index("lo")?;
        self.route(prefix, device, true, Metrics::default())
    }

    /// Routes packets to `prefix` through `device`.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn send_to(
        &mut self,
        prefix: (Ipv4Addr, u8),
        device: &str,
        metrics: Metrics,
    ) -> io::Result<()> {
        let device = interface_index(device)?;
        self.route(prefix, device, false, metrics)
    }

    fn route(
        &mut self,
        (network, length): (Ipv4Addr, u8),
        device: u32,
        local: bool,
        metrics: Metrics,
    ) -> io::Result<()> {
        let (table, scope, kind) = if local {
            (TABLE_LOCAL, SCOPE_HOST, TYPE_LOCAL)
        } else {
            (TABLE_MAIN, SCOPE_LINK, TYPE_UNICAST)
        };
        // struct rtmsg: family, lengths of both prefixes, TOS, table, protocol, scope, type, flags.
        let mut body = vec![AF_INET, length, 0, 0, table, PROTOCOL_STATIC, scope, kind];
        body.extend(0_u32.to_ne_bytes());
        attribute(&mut body, RTA_DST, &network.octets());
        attribute(&mut body, RTA_OIF, &device.to_ne_bytes());
        let mut nested = Vec::new();
        if let Some(segments) = metrics.initial_window {
            attribute(&mut nested, RTAX_INITCWND, &segments.to_ne_bytes());
        }
        if metrics.ecn {
            attribute(&mut nested, RTAX_FEATURES, &RTAX_FEATURE_ECN.to_ne_bytes());
        }
        if metrics.quick_ack {
            attribute(&mut nested, RTAX_QUICKACK, &1_u32.to_ne_bytes());
        }
        if !nested.is_empty() {
            attribute(&mut body, RTA_METRICS, &nested);
        }
        self.ask(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_REPLACE, &body)
    }

    /// Limits the packets that TCP hands to `device` to `segments` segments.
    ///
    /// # Errors
    /// As the kernel reports them.
    pub fn limit_bursts(&mut self, device: &str, segments: u32) -> io::Result<()> {
        let device = interface_index(device)?;
        // struct ifinfomsg: family, type, index, flags, mask of changed flags.
        let mut body = vec![0; 4];
        body.extend(device.to_ne_bytes());
        body.extend([0; 8]);
        attribute(&mut body, IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
        self.ask(RTM_NEWLINK, 0, &body)
    }

    fn ask(&mut self, kind: u16, flags: u16, body: &[u8]) -> io::Result<()> {
        self.sequence += 1;
        let mut message = Vec::with_capacity(HEADER + body.len());
        message.extend(((HEADER + body.len()) as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((flags | NLM_F_REQUEST | NLM_F_ACK).to_ne_bytes());
        message.extend(self.sequence.to_ne_bytes());
        message.extend([0; 4]);
        message.extend(body);
        self.socket.write_all(&message)?;
        // The answer is one NLMSG_ERROR with an error number, zero for success.
        let mut answer = [0; 4096];
        let size = self.socket.read(&mut answer)?;
        let answer = answer.get(..size).unwrap_or_default();
        let kind = answer.get(4..6).map(|b| u16::from_ne_bytes([b[0], b[1]]));
        let error = answer
            .get(HEADER..HEADER + 4)
            .map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]]));
        match (kind, error) {
            (Some(NLMSG_ERROR), Some(0)) => Ok(()),
            (Some(NLMSG_ERROR), Some(error)) => Err(io::Error::from_raw_os_error(-error)),
            _ => Err(io::Error::from(io::ErrorKind::InvalidData)),
        }
    }
}

/// The index of an interface of the calling thread's namespace.
fn interface_index(name: &str) -> io::Result<u32> {
    Ok(if_nametoindex(name)?)
}

/// Appends an attribute, padded to four bytes.
fn attribute(message: &mut Vec<u8>, kind: u16, data: &[u8]) {
    message.extend((4 + data.len() as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(data);
    message.resize(message.len().next_multiple_of(4), 0);
}
