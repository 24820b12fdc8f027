//! The system calls that the standard library lacks: socket options, and a connection that is
//! prepared before it is opened.

#![expect(
    unsafe_code,
    reason = "socket options before connect(2), and TCP_INFO, have no safe wrapper here"
)]

use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use nix::sys::socket::MsgFlags;

/// Not in the C library's headers of every target: `linux/socket.h`.
const SO_MAX_PACING_RATE: libc::c_int = 47;
const SO_NETNS_COOKIE: libc::c_int = 71;

fn check(status: libc::c_int) -> io::Result<libc::c_int> {
    if status < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(status)
    }
}

fn socket(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: socket(2) takes three integers; the descriptor that it returns has no other owner.
    unsafe {
        let descriptor = check(libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol))?;
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// A non-blocking TCP socket in the calling thread's namespace, not yet connected.
pub(crate) fn tcp_socket() -> io::Result<TcpStream> {
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
    Ok(TcpStream::from(socket(
        libc::AF_INET,
        kind,
        libc::IPPROTO_TCP,
    )?))
}

fn set_option(
    stream: &TcpStream,
    level: libc::c_int,
    name: libc::c_int,
    value: &[u8],
) -> io::Result<()> {
    // SAFETY: the kernel reads `value.len()` bytes of `value`, which outlives the call.
    check(unsafe {
        libc::setsockopt(
            stream.as_raw_fd(),
            level,
            name,
            value.as_ptr().cast(),
            value.len() as libc::socklen_t,
        )
    })?;
    Ok(())
}

/// Chooses the congestion control.
pub(crate) fn set_congestion(stream: &TcpStream, name: &str) -> io::Result<()> {
    set_option(
        stream,
        libc::IPPROTO_TCP,
        libc::TCP_CONGESTION,
        name.as_bytes(),
    )
}

/// Turns on pacing by TCP's own timer. Any finite limit does; the largest one limits nothing.
pub(crate) fn set_pacing(stream: &TcpStream) -> io::Result<()> {
    let limit = libc::c_ulong::MAX - 1;
    set_option(
        stream,
        libc::SOL_SOCKET,
        SO_MAX_PACING_RATE,
        &limit.to_ne_bytes(),
    )
}

/// Makes closing end the connection at once with a reset. Otherwise the kernel would keep it, with
/// its namespace and congestion control, for minutes after the path is gone.
pub(crate) fn reset_on_close(stream: &TcpStream) -> io::Result<()> {
    // `struct linger`: on, for no time.
    let linger = [1, 0].map(libc::c_int::to_ne_bytes);
    set_option(
        stream,
        libc::SOL_SOCKET,
        libc::SO_LINGER,
        linger.as_flattened(),
    )
}

fn address(family: libc::c_int, address: SocketAddrV4) -> libc::sockaddr_in {
    libc::sockaddr_in {
        sin_family: family as libc::sa_family_t,
        sin_port: address.port().to_be(),
        sin_addr: libc::in_addr {
            s_addr: u32::from(*address.ip()).to_be(),
        },
        sin_zero: [0; 8],
    }
}

const ADDRESS_SIZE: libc::socklen_t = size_of::<libc::sockaddr_in>() as libc::socklen_t;

/// Binds a socket to its own address, with any port.
pub(crate) fn bind(stream: &TcpStream, own: Ipv4Addr) -> io::Result<()> {
    bind_port(stream, own, 0)
}

/// Binds a socket to its own address and port.
pub(crate) fn bind_port(stream: &TcpStream, own: Ipv4Addr, port: u16) -> io::Result<()> {
    let own = address(libc::AF_INET, SocketAddrV4::new(own, port));
    // SAFETY: the kernel reads ADDRESS_SIZE bytes of `own`, which outlives the call.
    check(unsafe { libc::bind(stream.as_raw_fd(), (&raw const own).cast(), ADDRESS_SIZE) })?;
    Ok(())
}

/// Connections that wait to be accepted.
const BACKLOG: libc::c_int = 4096;

/// Listens on a port of all addresses. The accepted connections use the congestion control given.
pub(crate) fn listener(port: u16, congestion: &str) -> io::Result<TcpListener> {
    let stream = tcp_socket()?;
    set_congestion(&stream, congestion)?;
    bind_port(&stream, Ipv4Addr::UNSPECIFIED, port)?;
    listen(&stream)?;
    Ok(TcpListener::from(OwnedFd::from(stream)))
}

/// Makes a bound socket a listener.
pub(crate) fn listen(stream: &TcpStream) -> io::Result<()> {
    // SAFETY: listen(2) takes two integers.
    check(unsafe { libc::listen(stream.as_raw_fd(), BACKLOG) })?;
    Ok(())
}

/// Raises the limit of open files to the largest that is allowed.
pub(crate) fn raise_file_limit() {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel writes and reads the structure, which outlives the calls. A refusal changes
    // nothing.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}

/// Sends the SYN; the socket becomes writable when the connection is open.
pub(crate) fn connect(stream: &TcpStream, to: SocketAddrV4) -> io::Result<()> {
    match connect_any(stream, address(libc::AF_INET, to)) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        other => other,
    }
}

/// Ends the connection at once with a reset; unsent data are lost.
pub(crate) fn abort(stream: &TcpStream) -> io::Result<()> {
    let nobody = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    connect_any(stream, address(libc::AF_UNSPEC, nobody))
}

fn connect_any(stream: &TcpStream, to: libc::sockaddr_in) -> io::Result<()> {
    // SAFETY: the kernel reads ADDRESS_SIZE bytes of `to`, which outlives the call.
    check(unsafe { libc::connect(stream.as_raw_fd(), (&raw const to).cast(), ADDRESS_SIZE) })?;
    Ok(())
}

/// Size of `struct tcp_info` in kernels up to 6.18, and some more.
pub(crate) const INFO_SIZE: usize = 320;

/// Reads an option as bytes; returns how many there are.
fn get_option(
    stream: &TcpStream,
    level: libc::c_int,
    name: libc::c_int,
    value: &mut [u8],
) -> io::Result<usize> {
    let mut size = value.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes to `value`, and to `size` how many.
    check(unsafe {
        libc::getsockopt(
            stream.as_raw_fd(),
            level,
            name,
            value.as_mut_ptr().cast(),
            &raw mut size,
        )
    })?;
    Ok(size as usize)
}

/// Reads TCP_INFO as bytes; returns how many there are.
pub(crate) fn tcp_info(stream: &TcpStream, info: &mut [u8; INFO_SIZE]) -> io::Result<usize> {
    get_option(stream, libc::IPPROTO_TCP, libc::TCP_INFO, info)
}

/// A number that no other network namespace has had since boot.
pub(crate) fn namespace_cookie(stream: &TcpStream) -> io::Result<u64> {
    let mut cookie = [0; 8];
    get_option(stream, libc::SOL_SOCKET, SO_NETNS_COOKIE, &mut cookie)?;
    Ok(u64::from_ne_bytes(cookie))
}

/// Writes as `write` does; after the `last` bytes the kernel need not wait for more data to fill a
/// TSO packet.
pub(crate) fn send(stream: &TcpStream, bytes: &[u8], last: bool) -> io::Result<usize> {
    let flags = if last {
        MsgFlags::MSG_EOR
    } else {
        MsgFlags::empty()
    };
    Ok(nix::sys::socket::send(
        stream.as_raw_fd(),
        bytes,
        flags | MsgFlags::MSG_NOSIGNAL,
    )?)
}

/// Tries to lock a file, alone or with others, in place of the lock held on it; false where another
/// process has it. The lock ends with the file.
pub(crate) fn try_lock(file: &File, alone: bool) -> io::Result<bool> {
    let kind = if alone { libc::LOCK_EX } else { libc::LOCK_SH };
    // SAFETY: flock(2) takes two integers.
    match check(unsafe { libc::flock(file.as_raw_fd(), kind | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(error) => Err(error),
    }
}
