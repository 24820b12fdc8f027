//! The running kernel as the subject of a packetdrill script: real sockets in a network namespace of
//! their own, and a TUN device that injects the peer's packets and catches the host's.
//!
//! The namespace ends with the run, whatever happens, and with it its sockets, its device and its
//! sysctls. Nothing outside of it is changed. The thread has priority over ordinary ones, if that is
//! allowed.
//!
//! ## Deviations
//!
//! - The time of a packet is that of its reading: later than its departure by the time in which the
//!   thread wakes up.
//! - `fq` is used if the kernel has it; otherwise the device queues in order.
//! - Each socket is non-blocking. An `accept` waits up to a second for the connection.

mod fields;
mod ticks;
mod wire;

use std::collections::{BTreeMap, VecDeque};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::time;

use emulator::{DEVICE, Namespace, OFFLOAD_HEADER, monotonic_nanos, offloading_device, pause};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::socket::{setsockopt, sockopt};
use nix::sys::time::TimeSpec;
use packetdrill::{Call, Info, Packet, Script, Sent, SocketOption, Stack};
use units::{Duration, Instant};

use crate::{StackError, sys};
pub use ticks::tick;
use wire::{End, Wire};

const HOST: Ipv4Addr = Ipv4Addr::new(10, 77, 0, 1);
const PEER: End = End {
    address: Ipv4Addr::new(10, 77, 0, 2),
    port: 40_000,
};
const PORT: u16 = 8080;
/// The largest packet with its header.
const LARGEST: usize = 65_535 + OFFLOAD_HEADER;
/// The last part of a wait is spent looking at the clock.
const SPIN: Duration = Duration::from_micros(100);
/// The sysctl that each socket's own option replaces.
const CONGESTION: &str = "net.ipv4.tcp_congestion_control";
/// How long `accept` waits.
const PATIENCE: time::Duration = time::Duration::from_secs(1);

/// Runs `work` with the kernel as the stack of `script`. `congestion` is the kernel's name of a
/// congestion control, in place of the script's. `aligned`: time zero is the beginning of a group of
/// ticks of the kernel's timer wheel, so that its timers have a known phase, if the kernel shows its
/// ticks ([`KernelStack::is_aligned`]; to root alone).
///
/// # Errors
/// No namespace or device could be made (both need root), or a setting is refused.
pub fn with_kernel<T: Send>(
    script: &Script,
    congestion: Option<&str>,
    aligned: bool,
    work: impl FnOnce(&mut KernelStack) -> T + Send,
) -> Result<T, StackError> {
    let tso = script.settings.tso;
    let (namespace, device) = Namespace::make(|| offloading_device(HOST, tso))?;
    namespace.within(|| {
        configure(script)?;
        emulator::prefer_thread();
        let _ = nix::sys::prctl::set_timerslack(1);
        let group = aligned.then(ticks::next_beginning).flatten();
        let mut stack = KernelStack {
            device,
            start: group.unwrap_or_else(monotonic_nanos),
            is_aligned: group.is_some(),
            wire: Wire::new(
                End {
                    address: HOST,
                    port: PORT,
                },
                PEER,
            ),
            sockets: BTreeMap::new(),
            connection: None,
            congestion: congestion
                .or_else(|| script.settings.get("tcp_congestion_control"))
                .unwrap_or("cubic")
                .to_owned(),
            mss: script.mss,
            buffer: vec![0; LARGEST],
        };
        Ok(work(&mut stack))
    })?
}

/// Applies the script's settings to the calling thread's namespace.
fn configure(script: &Script) -> Result<(), StackError> {
    for (name, value) in &script.settings.sysctls {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        // A namespace may set only unrestricted ones; a privileged socket may choose any.
        if name == CONGESTION {
            continue;
        }
        match fs::write(&path, value) {
            Ok(()) => {}
            // The kernel no longer has the setting, or has it for the whole machine alone.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => {
                let sentence = format!("{}: sysctl {name}={value}: {error}", script.file);
                return Err(StackError::Unsupported(sentence));
            }
        }
    }
    if script.settings.fq {
        // A kernel without fq refuses; see the module.
        let _ = std::process::Command::new("tc")
            .args(["qdisc", "replace", "dev", DEVICE, "root", "fq"])
            .stderr(std::process::Stdio::null())
            .status();
    }
    Ok(())
}

/// The running kernel's TCP behind a TUN device.
#[derive(Debug)]
pub struct KernelStack {
    device: File,
    /// Monotonic clock at time zero.
    start: u64,
    is_aligned: bool,
    wire: Wire,
    /// The script's numbers.
    sockets: BTreeMap<i64, Socket>,
    /// The script's number of the connection.
    connection: Option<i64>,
    /// Of each new socket.
    congestion: String,
    /// Size of the segments in larger packets.
    mss: Option<u16>,
    buffer: Vec<u8>,
}

#[derive(Debug)]
enum Socket {
    Stream(TcpStream),
    Listener(TcpListener),
}

impl KernelStack {
    /// Whether time zero is the beginning of a group of ticks. If not, the phase of the kernel's timers
    /// is unknown.
    #[must_use]
    pub fn is_aligned(&self) -> bool {
        self.is_aligned
    }

    fn elapsed(&self) -> Instant {
        Instant::from_nanos(monotonic_nanos().saturating_sub(self.start))
    }

    /// Reads the packets that wait.
    fn read(&mut self, sent: &mut VecDeque<Sent>) -> Result<(), String> {
        loop {
            match (&self.device).read(&mut self.buffer) {
                Ok(length) => {
                    let at = self.elapsed();
                    let bytes = self.buffer.get(OFFLOAD_HEADER..length).unwrap_or(&[]);
                    if let Some(packet) = self.wire.decode(bytes) {
                        sent.push_back(Sent { at, packet });
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) => return Err(format!("reading {DEVICE}: {error}")),
            }
        }
    }

    fn stream(&mut self, fd: i64) -> Result<&mut TcpStream, String> {
        match self.sockets.get_mut(&fd) {
            Some(Socket::Stream(stream)) => Ok(stream),
            Some(Socket::Listener(_)) => Err(format!("socket {fd} listens")),
            None => Err(format!("the script has no socket {fd}")),
        }
    }

    fn accept(&mut self, fd: i64) -> Result<io::Result<TcpStream>, String> {
        let Some(Socket::Listener(listener)) = self.sockets.get(&fd) else {
            return Err(format!("socket {fd} does not listen"));
        };
        let begin = time::Duration::from_nanos(monotonic_nanos());
        loop {
            match listener.accept() {
                Ok((stream, _)) => return Ok(stream.set_nonblocking(true).map(|()| stream)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if time::Duration::from_nanos(monotonic_nanos()) - begin > PATIENCE {
                        return Ok(Err(error));
                    }
                    pause(Duration::from_micros(50));
                }
                Err(error) => return Ok(Err(error)),
            }
        }
    }

    fn set_option(&mut self, fd: i64, option: &SocketOption) -> Result<io::Result<()>, String> {
        let stream = match self.sockets.get(&fd) {
            Some(Socket::Stream(stream)) => stream.as_fd(),
            Some(Socket::Listener(listener)) => listener.as_fd(),
            None => return Err(format!("the script has no socket {fd}")),
        };
        let size = |bytes: u32| bytes as usize;
        Ok(match option {
            SocketOption::Indifferent => setsockopt(&stream, sockopt::ReuseAddr, &true),
            SocketOption::SendBuffer(bytes) => setsockopt(&stream, sockopt::SndBuf, &size(*bytes)),
            SocketOption::ReceiveBuffer(bytes) => {
                setsockopt(&stream, sockopt::RcvBuf, &size(*bytes))
            }
            SocketOption::NoDelay(on) => setsockopt(&stream, sockopt::TcpNoDelay, on),
            SocketOption::Congestion(name) => {
                setsockopt(&stream, sockopt::TcpCongestion, &name.clone().into())
            }
        }
        .map_err(io::Error::from))
    }
}

impl Stack for KernelStack {
    fn name(&self) -> &str {
        "linux"
    }

    fn now(&mut self) -> Instant {
        self.elapsed()
    }

    fn wait(
        &mut self,
        until: Instant,
        stops: bool,
        sent: &mut VecDeque<Sent>,
    ) -> Result<(), String> {
        loop {
            self.read(sent)?;
            let left = until.saturating_since(self.elapsed());
            if left.is_zero() || (stops && !sent.is_empty()) {
                return Ok(());
            }
            let pause = left.saturating_sub(SPIN);
            if !pause.is_zero() {
                let mut polled = [PollFd::new(self.device.as_fd(), PollFlags::POLLIN)];
                let pause = TimeSpec::from_duration(time::Duration::from_nanos(pause.as_nanos()));
                match ppoll(&mut polled, Some(pause), None) {
                    Ok(_) | Err(nix::errno::Errno::EINTR) => {}
                    Err(error) => return Err(format!("waiting for {DEVICE}: {error}")),
                }
            }
        }
    }

    fn inject(&mut self, packet: &Packet) -> Result<(), String> {
        let bytes = self.wire.inject(packet, self.mss);
        // A packet is written whole or not at all.
        (&self.device)
            .write_all(&bytes)
            .map_err(|error| format!("writing to {DEVICE}: {error}"))
    }

    fn call(&mut self, call: &Call, expected: i64) -> Result<Result<i64, String>, String> {
        let zero = |done: io::Result<()>| done.map(|()| 0);
        let done = match call {
            Call::Socket => match sys::tcp_socket() {
                Ok(stream) => {
                    sys::set_congestion(&stream, &self.congestion).map_err(|error| {
                        format!("the congestion control {}: {error}", self.congestion)
                    })?;
                    self.sockets.insert(expected, Socket::Stream(stream));
                    Ok(expected)
                }
                Err(error) => Err(error),
            },
            Call::Bind { fd } => {
                let port = PORT;
                zero(sys::bind_port(
                    self.stream(*fd)?,
                    Ipv4Addr::UNSPECIFIED,
                    port,
                ))
            }
            Call::Fcntl { .. } => Ok(0),
            Call::Listen { fd } => match self.sockets.remove(fd) {
                Some(Socket::Stream(stream)) => {
                    let done = zero(sys::listen(&stream));
                    let listener = TcpListener::from(OwnedFd::from(stream));
                    self.sockets.insert(*fd, Socket::Listener(listener));
                    done
                }
                _ => return Err(format!("the script has no socket {fd}")),
            },
            Call::Accept { fd } => match self.accept(*fd)? {
                Ok(stream) => {
                    self.sockets.insert(expected, Socket::Stream(stream));
                    self.connection = Some(expected);
                    Ok(expected)
                }
                Err(error) => Err(error),
            },
            Call::Connect { fd } => {
                self.connection = Some(*fd);
                let to = SocketAddrV4::new(PEER.address, PEER.port);
                match sys::connect(self.stream(*fd)?, to) {
                    // It is under way.
                    Ok(()) => Err(io::Error::from_raw_os_error(libc::EINPROGRESS)),
                    Err(error) => Err(error),
                }
            }
            Call::SetOption { fd, option } => zero(self.set_option(*fd, option)?),
            Call::Write { fd, len } => {
                let bytes = vec![0; *len as usize];
                self.stream(*fd)?
                    .write(&bytes)
                    .map(|written| written as i64)
            }
            Call::Read { fd, len } => {
                let mut bytes = vec![0; *len as usize];
                self.stream(*fd)?.read(&mut bytes).map(|read| read as i64)
            }
            Call::Close { fd } => {
                drop(self.sockets.remove(fd));
                Ok(0)
            }
            Call::Shutdown { fd } => zero(self.stream(*fd)?.shutdown(Shutdown::Write)),
        };
        Ok(done.map_err(|error| {
            let errno = nix::errno::Errno::from_raw(error.raw_os_error().unwrap_or(0));
            format!("{errno:?}")
        }))
    }

    fn info(&mut self) -> Result<Info, String> {
        let Some(Socket::Stream(stream)) = self.connection.and_then(|fd| self.sockets.get(&fd))
        else {
            return Ok(Info::new());
        };
        let mut bytes = [0; sys::INFO_SIZE];
        let size = sys::tcp_info(stream, &mut bytes).map_err(|error| error.to_string())?;
        Ok(fields::read(&bytes[..size]))
    }
}
