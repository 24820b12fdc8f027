//! Measures the latency that the hosts add: round trips of a few small datagrams over the path's
//! delays, before a run.

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::thread;

use units::{Duration, Instant};

use crate::clock::{self, Clock};
use crate::error::EmulatorError;
use crate::namespace::Namespace;

/// Time between two probes, so that they do not meet.
const INTERVAL: Duration = Duration::from_millis(5);

/// How late an answer may be.
const PATIENCE: Duration = Duration::from_millis(500);

/// Sends `count` datagrams and returns the median round trip; `None` without an answer in time.
pub(crate) fn median_rtt(
    namespaces: &[Namespace; 2],
    addresses: [Ipv4Addr; 2],
    base_rtt: Duration,
    count: u32,
) -> Result<Option<Duration>, EmulatorError> {
    let fail = || EmulatorError::system("probing the path");
    let [near, far] = [0, 1].map(|side| {
        namespaces[side].within(|| UdpSocket::bind((addresses[side], 0)).map_err(fail()))
    });
    let (near, far) = (near??, far??);
    let target = far.local_addr().map_err(fail())?;
    let longest = base_rtt + INTERVAL * u64::from(count) + PATIENCE;
    let longest = std::time::Duration::from_nanos(longest.as_nanos());
    near.set_read_timeout(Some(longest)).map_err(fail())?;
    far.set_read_timeout(Some(longest)).map_err(fail())?;
    thread::scope(|scope| {
        scope.spawn(|| echo(&far, count));
        let clock = Clock::begin();
        let near = &near;
        let listening = scope.spawn(move || listen(near, clock, count));
        for _ in 0..count {
            let sent = clock.now().as_nanos().to_le_bytes();
            near.send_to(&sent, target).map_err(fail())?;
            clock::pause(INTERVAL);
        }
        let mut times = listening.join().unwrap_or_default();
        times.sort_unstable();
        Ok(times.get(times.len() / 2).copied())
    })
}

fn echo(socket: &UdpSocket, count: u32) {
    let mut bytes = [0; 8];
    for _ in 0..count {
        let Ok((length, from)) = socket.recv_from(&mut bytes) else {
            return;
        };
        let from: SocketAddr = from;
        if socket.send_to(&bytes[..length], from).is_err() {
            return;
        }
    }
}

fn listen(socket: &UdpSocket, clock: Clock, count: u32) -> Vec<Duration> {
    let mut times = Vec::new();
    let mut bytes = [0; 8];
    for _ in 0..count {
        if !matches!(socket.recv(&mut bytes), Ok(8)) {
            break;
        }
        let sent = Instant::from_nanos(u64::from_le_bytes(bytes));
        times.push(clock.now().saturating_since(sent));
    }
    times
}
