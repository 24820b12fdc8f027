//! A socket of quinn that counts what it sends.

use std::io::{self, IoSliceMut};
use std::net::{SocketAddr, SocketAddrV4, UdpSocket};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};

use nix::sys::socket::{setsockopt, sockopt};
use quinn::udp::{RecvMeta, Transmit};
use quinn::{AsyncUdpSocket, Runtime, TokioRuntime, UdpPoller};

/// The receive buffer of a socket.
pub const BUFFER: usize = 8 << 20;

/// What a socket sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sent {
    /// System calls.
    pub calls: u64,
    /// Datagrams.
    pub datagrams: u64,
    /// Most datagrams in one call.
    pub most: usize,
    /// Most datagrams that the kernel takes in one call: 1 without segmentation offload.
    pub offered: usize,
}

/// A socket of the calling thread's network namespace.
pub(crate) fn bind(own: SocketAddrV4) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind(own)?;
    // Only root exceeds the limit of the system; a smaller buffer serves, too.
    if setsockopt(&socket, sockopt::RcvBufForce, &BUFFER).is_err() {
        let _ = setsockopt(&socket, sockopt::RcvBuf, &BUFFER);
    }
    Ok(socket)
}

/// The socket.
#[derive(Debug)]
pub(crate) struct Counted {
    inner: Arc<dyn AsyncUdpSocket>,
    /// Whether packets stay ECN-capable.
    ecn: bool,
    calls: AtomicU64,
    datagrams: AtomicU64,
    most: AtomicUsize,
}

impl Counted {
    /// quinn's own socket of tokio; the calling thread is in a runtime.
    pub(crate) fn new(socket: UdpSocket, ecn: bool) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            inner: TokioRuntime.wrap_udp_socket(socket)?,
            ecn,
            calls: AtomicU64::new(0),
            datagrams: AtomicU64::new(0),
            most: AtomicUsize::new(0),
        }))
    }

    pub(crate) fn sent(&self) -> Sent {
        Sent {
            calls: self.calls.load(Ordering::Relaxed),
            datagrams: self.datagrams.load(Ordering::Relaxed),
            most: self.most.load(Ordering::Relaxed),
            offered: self.inner.max_transmit_segments(),
        }
    }
}

impl AsyncUdpSocket for Counted {
    fn create_io_poller(self: Arc<Self>) -> Pin<Box<dyn UdpPoller>> {
        Arc::clone(&self.inner).create_io_poller()
    }

    fn try_send(&self, transmit: &Transmit<'_>) -> io::Result<()> {
        self.inner.try_send(&Transmit {
            ecn: transmit.ecn.filter(|_| self.ecn),
            ..*transmit
        })?;
        let whole = transmit.contents.len();
        let datagrams = whole.div_ceil(transmit.segment_size.unwrap_or(whole).max(1));
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.datagrams
            .fetch_add(datagrams as u64, Ordering::Relaxed);
        self.most.fetch_max(datagrams, Ordering::Relaxed);
        Ok(())
    }

    fn poll_recv(
        &self,
        cx: &mut Context<'_>,
        buffers: &mut [IoSliceMut<'_>],
        meta: &mut [RecvMeta],
    ) -> Poll<io::Result<usize>> {
        self.inner.poll_recv(cx, buffers, meta)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.inner.local_addr()
    }

    fn max_transmit_segments(&self) -> usize {
        self.inner.max_transmit_segments()
    }

    fn max_receive_segments(&self) -> usize {
        self.inner.max_receive_segments()
    }

    fn may_fragment(&self) -> bool {
        self.inner.may_fragment()
    }
}

/// Datagrams that sockets of the calling thread's network namespace had no space for.
pub(crate) fn refused() -> u64 {
    let Ok(table) = std::fs::read_to_string("/proc/thread-self/net/snmp") else {
        return 0;
    };
    refused_of(&table).unwrap_or(0)
}

/// The column `RcvbufErrors` of the two lines of UDP (proc_net_snmp(5)).
fn refused_of(table: &str) -> Option<u64> {
    let mut lines = table.lines().filter_map(|line| line.strip_prefix("Udp: "));
    let names = lines.next()?.split_ascii_whitespace();
    let values = lines.next()?.split_ascii_whitespace();
    let (_, value) = names
        .zip(values)
        .find(|(name, _)| *name == "RcvbufErrors")?;
    value.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_that_a_socket_refused_are_read() {
        let table = "Tcp: RtoAlgorithm RcvbufErrors\nTcp: 1 9\n\
                     Udp: InDatagrams InErrors RcvbufErrors SndbufErrors\nUdp: 5 4 3 2\n";
        assert_eq!(refused_of(table), Some(3));
        assert_eq!(refused_of("Tcp: RcvbufErrors\nTcp: 1\n"), None);
        // This kernel has the column.
        let table = std::fs::read_to_string("/proc/thread-self/net/snmp").expect("Linux");
        assert!(refused_of(&table).is_some(), "{table}");
    }
}
