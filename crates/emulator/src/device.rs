//! The TUN device of a namespace: creates it, gives it an address, brings it up.
//!
//! `IFF_VNET_HDR` is off: the kernel then segments its bursts into packets of the MTU before it
//! hands them over, and fills in every checksum. The device is not persistent: it disappears with
//! its file descriptor.

use std::fs::{self, File, OpenOptions};
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::fs::OpenOptionsExt;

use nix::sys::socket::{
    AddressFamily, MsgFlags, SockFlag, SockProtocol, SockType, recv, send, socket,
};

use crate::error::{EmulatorError, io_error};

/// The name of the device in each new namespace.
pub const NAME: &str = "slowstart0";

/// The name of the device on a host that is no part of an emulation. It is not [`NAME`], so that
/// other emulations of this host do not take it for an enclosing one.
pub(crate) const ON_HOST: &str = "slowstart-host";

/// Prefix of the names of all devices.
pub(crate) const STEM: &str = "slowstart";

/// The MTU: a full packet of the scenario.
pub(crate) const MTU: u32 = scenario::FULL_PACKET;

/// Packets that the device queues until the emulator has read them. With a limit below a burst,
/// packets would be dropped outside the path.
const TRANSMIT_QUEUE: u32 = 100_000;

/// The addresses of a link: `10.77.0.0/30` has two hosts.
const NETMASK: Ipv4Addr = Ipv4Addr::new(255, 255, 255, 252);

/// Opens the device file, which needs no namespace.
pub(crate) fn open() -> Result<File, EmulatorError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_CLOEXEC)
        .open("/dev/net/tun")
        .map_err(EmulatorError::NoTun)
}

/// A device that lives as long as its file. Reads and writes are whole packets and never block.
#[derive(Debug)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) file: File,
}

impl Device {
    /// Creates the device of a new namespace, which the calling thread is in, and brings up the
    /// device and the loopback.
    pub(crate) fn make(address: Ipv4Addr) -> Result<Self, EmulatorError> {
        quieten()?;
        configure(libc::SIOCSIFFLAGS, "lo", &UP.to_ne_bytes())?;
        Self::make_if_free(NAME.to_owned(), address)?.ok_or_else(|| {
            let error = io::Error::from(io::ErrorKind::AlreadyExists);
            EmulatorError::System(format!("creating {NAME}"), error)
        })
    }

    /// Creates a device in the calling thread's namespace; `None` where the name is taken.
    pub(crate) fn make_if_free(
        name: String,
        address: Ipv4Addr,
    ) -> Result<Option<Self>, EmulatorError> {
        Self::make_with(name, address, libc::IFF_TUN | libc::IFF_NO_PI)
    }

    fn make_with(
        name: String,
        address: Ipv4Addr,
        flags: libc::c_int,
    ) -> Result<Option<Self>, EmulatorError> {
        let file = open()?;
        let flags = flags as i16;
        match request(
            file.as_raw_fd(),
            libc::TUNSETIFF,
            &name,
            &flags.to_ne_bytes(),
        ) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) => return Ok(None),
            Err(error) => {
                return Err(EmulatorError::System("creating a TUN device".into(), error));
            }
        }
        configure(libc::SIOCSIFMTU, &name, &(MTU as i32).to_ne_bytes())?;
        lengthen_transmit_queue(&name)
            .map_err(EmulatorError::system(format!("configuring {name}")))?;
        configure(libc::SIOCSIFADDR, &name, &socket_address(address))?;
        configure(libc::SIOCSIFNETMASK, &name, &socket_address(NETMASK))?;
        configure(libc::SIOCSIFFLAGS, &name, &UP.to_ne_bytes())?;
        Ok(Some(Self { name, file }))
    }
}

/// Makes the device of a new namespace, which the calling thread is in, for a program that reads
/// packets before the kernel segments them. Each read and write begins with a `struct
/// virtio_net_hdr` of [`OFFLOAD_HEADER`] bytes. `tso`: the device takes whole bursts; otherwise the
/// kernel segments them.
///
/// # Errors
/// A device could not be made, or configured.
pub fn offloading_device(address: Ipv4Addr, tso: bool) -> Result<File, EmulatorError> {
    quieten()?;
    configure(libc::SIOCSIFFLAGS, "lo", &UP.to_ne_bytes())?;
    let flags = libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR;
    let device = Device::make_with(NAME.to_owned(), address, flags)?.ok_or_else(|| {
        let error = io::Error::from(io::ErrorKind::AlreadyExists);
        EmulatorError::System(format!("creating {NAME}"), error)
    })?;
    let offloads = if tso {
        libc::TUN_F_CSUM | libc::TUN_F_TSO4 | libc::TUN_F_TSO_ECN
    } else {
        0
    };
    set_offloads(&device.file, offloads)
        .map_err(EmulatorError::system(format!("configuring {NAME}")))?;
    Ok(device.file)
}

/// Bytes of the header of each packet of [`offloading_device`].
pub const OFFLOAD_HEADER: usize = 10;

#[expect(unsafe_code, reason = "tun(4) is configured by ioctl(2)")]
fn set_offloads(file: &File, offloads: libc::c_uint) -> io::Result<()> {
    let value = libc::c_ulong::from(offloads);
    // SAFETY: this ioctl takes an integer and touches no memory of the caller.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETOFFLOAD, value) } {
        status if status < 0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

const UP: i16 = libc::IFF_UP as i16;

/// The address of a device in the calling thread's namespace.
pub(crate) fn address(name: &str) -> Option<Ipv4Addr> {
    let socket = any_socket().ok()?;
    let code = libc::SIOCGIFADDR as libc::Ioctl;
    let answer = request(socket.as_raw_fd(), code, name, &[]).ok()?;
    // A `sockaddr_in`: family, port, address.
    let octets = <[u8; 4]>::try_from(answer.get(4..8)?).ok()?;
    Some(octets.into())
}

/// Interfaces are configured through any socket of their namespace; this one sends nothing.
fn any_socket() -> Result<UdpSocket, EmulatorError> {
    UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))
        .map_err(EmulatorError::system("opening a socket in a namespace"))
}

fn configure(code: libc::c_ulong, name: &str, data: &[u8]) -> Result<(), EmulatorError> {
    request(any_socket()?.as_raw_fd(), code as libc::Ioctl, name, data)
        .map(drop)
        .map_err(EmulatorError::system(format!("configuring {name}")))
}

/// Settings of the calling thread's namespace. A setting that the kernel lacks, or denies to a user
/// namespace, does not matter.
fn quieten() -> Result<(), EmulatorError> {
    // No unsolicited packets: without IPv6, no router solicitation occupies a queue.
    set("net/ipv6/conf/all/disable_ipv6", "1");
    set("net/ipv6/conf/default/disable_ipv6", "1");
    // No metrics carry over from one connection to the next.
    set("net/ipv4/tcp_no_metrics_save", "1");
    set("net/ipv4/tcp_rmem", "4096 131072 67108864");
    set("net/ipv4/tcp_wmem", "4096 16384 67108864");
    // `ping` without privileges.
    set("net/ipv4/ping_group_range", "0 0");
    if fs::metadata("/proc/sys/net/ipv4").is_err() {
        let error = io::Error::from(io::ErrorKind::NotFound);
        return Err(EmulatorError::System("/proc/sys/net/ipv4".into(), error));
    }
    Ok(())
}

fn set(key: &str, value: &str) {
    let _ = fs::write(format!("/proc/sys/{key}"), value);
}

/// Packets that a device of the calling thread's namespace dropped on their way to the emulator,
/// or that its host refused.
pub(crate) fn local_drops(name: &str) -> u64 {
    let Ok(table) = fs::read_to_string("/proc/thread-self/net/dev") else {
        return 0;
    };
    table
        .lines()
        .filter_map(|line| line.trim_start().strip_prefix(name)?.strip_prefix(':'))
        .map(|columns| {
            let columns: Vec<u64> = columns
                .split_ascii_whitespace()
                .map(|column| column.parse().unwrap_or(0))
                .collect();
            // Receive: bytes packets errs drop ...; transmit follows from the ninth column on.
            [3, 11]
                .iter()
                .filter_map(|&at| columns.get(at))
                .sum::<u64>()
        })
        .sum()
}

/// Sets a device's transmit queue to the wanted length, or to as much of it as the kernel allows:
/// Debian's 6.1 refuses more than about ten thousand packets.
fn lengthen_transmit_queue(name: &str) -> io::Result<()> {
    let mut packets = TRANSMIT_QUEUE;
    loop {
        match set_transmit_queue(name, packets) {
            Err(error) if error.raw_os_error() == Some(libc::ERANGE) && packets > 1000 => {
                packets /= 2;
            }
            outcome => return outcome,
        }
    }
}

/// Sets the length of a device's transmit queue with rtnetlink(7), because a user namespace may not
/// use the ioctl.
fn set_transmit_queue(name: &str, packets: u32) -> io::Result<()> {
    const ATTRIBUTE: usize = size_of::<libc::nlattr>();
    let mut attributes = Vec::new();
    for (kind, value) in [
        (libc::IFLA_IFNAME, padded(name)),
        (libc::IFLA_TXQLEN, packets.to_ne_bytes().to_vec()),
    ] {
        // Attributes begin at multiples of four bytes; a name is padded with zeros.
        attributes.extend(((ATTRIBUTE + value.len()) as u16).to_ne_bytes());
        attributes.extend(kind.to_ne_bytes());
        attributes.extend(&value);
        debug_assert!(attributes.len().is_multiple_of(4), "attributes are aligned");
    }
    let length = size_of::<libc::nlmsghdr>() + size_of::<libc::ifinfomsg>() + attributes.len();
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let mut message = Vec::with_capacity(length);
    // `struct nlmsghdr`: length, type, flags, sequence, port.
    message.extend((length as u32).to_ne_bytes());
    message.extend(libc::RTM_SETLINK.to_ne_bytes());
    message.extend(flags.to_ne_bytes());
    message.extend([0; 8]);
    // `struct ifinfomsg`: the name identifies the device; nothing else changes.
    message.extend([0; size_of::<libc::ifinfomsg>()]);
    message.extend(attributes);
    let socket = socket(
        AddressFamily::Netlink,
        SockType::Raw,
        SockFlag::SOCK_CLOEXEC,
        SockProtocol::NetlinkRoute,
    )
    .map_err(io_error)?;
    send(socket.as_raw_fd(), &message, MsgFlags::empty()).map_err(io_error)?;
    let mut answer = [0; 256];
    let length = recv(socket.as_raw_fd(), &mut answer, MsgFlags::empty()).map_err(io_error)?;
    // `struct nlmsgerr` begins with the negated error number, or zero.
    match answer[..length].get(16..20) {
        Some(&[a, b, c, d]) => match i32::from_ne_bytes([a, b, c, d]) {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        },
        _ => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
    }
}

/// A name, padded with at least one zero to a multiple of four bytes.
fn padded(name: &str) -> Vec<u8> {
    let mut bytes = name.as_bytes().to_vec();
    bytes.resize((bytes.len() + 1).next_multiple_of(4), 0);
    bytes
}

/// A `sockaddr_in` without a port.
fn socket_address(address: Ipv4Addr) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..2].copy_from_slice(&(libc::AF_INET as u16).to_ne_bytes());
    bytes[4..].copy_from_slice(&address.octets());
    bytes
}

/// `struct ifreq` of netdevice(7), as bytes.
#[repr(C, align(8))]
struct Request {
    name: [u8; libc::IFNAMSIZ],
    data: [u8; 24],
}

#[expect(
    unsafe_code,
    reason = "interfaces are configured by ioctl(2) with a structure of bytes"
)]
fn request(descriptor: RawFd, code: libc::Ioctl, name: &str, data: &[u8]) -> io::Result<[u8; 24]> {
    let mut request = Request {
        name: [0; libc::IFNAMSIZ],
        data: [0; 24],
    };
    // The last byte of the name stays zero.
    for (to, from) in request.name[..libc::IFNAMSIZ - 1]
        .iter_mut()
        .zip(name.bytes())
    {
        *to = from;
    }
    request.data[..data.len()].copy_from_slice(data);
    // SAFETY: each of the codes used here reads and writes one `struct ifreq`. `Request` has its
    // size and alignment, and lives until the call returns.
    let status = unsafe { libc::ioctl(descriptor, code, &raw mut request) };
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(request.data)
    }
}
