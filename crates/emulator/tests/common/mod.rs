//! Shared by the tests of real emulations.
#![allow(dead_code, reason = "each test file uses some of it")]
#![allow(clippy::unwrap_used, clippy::print_stderr, reason = "as in a test")]

pub mod turns;

pub use testing::notes::skip;

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};
use std::thread::{self, JoinHandle};

use emulator::{Emulation, EmulationOptions, Side};
use network::{Discipline, LinkConfig, QueueConfig, QueueLimit, Service};
use nix::sys::socket::{setsockopt, sockopt};
use scenario::PathModel;
use units::{Duration, Instant, Rate};

/// Emulations of one test binary run one after the other, so that they do not disturb each other.
static ONE: Mutex<()> = Mutex::new(());

/// The right to run an emulation; `None`, with a note of the reason, where this machine gives none.
/// Where skipping is not acceptable, it panics (see [`skip`]).
pub fn may_emulate() -> Option<MutexGuard<'static, ()>> {
    let guard = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let Some(sentence) = emulator::missing() else {
        return Some(guard);
    };
    skip(&sentence);
    None
}

/// A link without loss and jitter that counts IP bytes only.
pub fn link(name: &str, service: Service, packets: u64, one_way: Duration) -> LinkConfig {
    LinkConfig {
        name: name.to_owned(),
        service,
        overhead: 0,
        queue: QueueConfig {
            limit: QueueLimit::Packets(packets),
            discipline: Discipline::DropTail,
        },
        delay: one_way,
        ..LinkConfig::DEFAULT
    }
}

/// A path with a forward bottleneck, and nothing but delay on the reverse path.
pub fn path(mbits: u64, rtt: Duration, packets: u64) -> PathModel {
    let rate = Rate::from_bits_per_sec(mbits * 1_000_000);
    PathModel::from_links(
        format!("{mbits} Mbit/s"),
        "",
        link("forward", Service::Fixed(rate), packets, rtt / 2),
        link("reverse", Service::Unlimited, 1, rtt / 2),
    )
}

/// A new folder for a test's files, removed at its end.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slowstart-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A connection from sender to receiver whose receive window stays near `window` bytes.
pub fn connect(emulation: &Emulation, window: usize) -> (TcpStream, TcpStream) {
    let address = emulation.address(Side::Receiver);
    let listener = emulation
        .within(Side::Receiver, move || {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, 5000)).unwrap();
            setsockopt(&listener, sockopt::RcvBufForce, &window).unwrap();
            listener
        })
        .unwrap();
    let sender = emulation
        .within(Side::Sender, move || {
            TcpStream::connect((address, 5000)).unwrap()
        })
        .unwrap();
    // Standard slow start: the window grows to the receive window, whatever the machine's default
    // congestion control does.
    setsockopt(&sender, sockopt::TcpCongestion, &"reno".into()).unwrap();
    let (receiver, _) = listener.accept().unwrap();
    (sender, receiver)
}

/// Sends `total` bytes on a thread of its own, then closes.
pub fn send(mut stream: TcpStream, total: u64) -> JoinHandle<()> {
    thread::spawn(move || {
        let block = vec![7; 256 << 10];
        let mut left = total;
        while left > 0 {
            let size = left.min(block.len() as u64);
            // The receiver may have closed already.
            if stream.write_all(&block[..size as usize]).is_err() {
                return;
            }
            left -= size;
        }
    })
}

/// Reads to the end; calls `each` with the bytes so far.
pub fn receive(mut stream: TcpStream, mut each: impl FnMut(u64) -> bool) -> u64 {
    let mut block = vec![0; 256 << 10];
    let mut total = 0;
    loop {
        match stream.read(&mut block) {
            Ok(0) | Err(_) => return total,
            Ok(length) => total += length as u64,
        }
        if !each(total) {
            return total;
        }
    }
}

/// Slope of a straight line through the points (time in s, bytes), in bits per second. A reader
/// that is late now and then changes it little, but would shift the two ends of an interval.
fn slope(points: &[(Instant, u64)]) -> f64 {
    let count = points.len() as f64;
    let xy: Vec<(f64, f64)> = points
        .iter()
        .map(|&(at, bytes)| (at.as_secs_f64(), bytes as f64))
        .collect();
    let mean_x = xy.iter().map(|p| p.0).sum::<f64>() / count;
    let mean_y = xy.iter().map(|p| p.1).sum::<f64>() / count;
    let covariance: f64 = xy.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum();
    let variance: f64 = xy.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
    8.0 * covariance / variance
}

/// Steady goodput of the kernel's TCP over a link that it keeps saturated without overflowing it,
/// and the emulator's self-check.
pub fn goodput(mbits: u64, rtt: Duration, seconds: u64) -> (f64, emulator::Report) {
    let bdp = mbits * 1_000_000 / 8 * rtt.as_millis() / 1000;
    // The kernel's window is the buffer divided by 1 to 1.5: between one BDP and what the queue
    // holds.
    let window = (bdp * 3 / 2) as usize;
    let path = path(mbits, rtt, 3 * bdp / 1500 + 100);
    let emulation = Emulation::start(&path, 1, EmulationOptions::default()).unwrap();
    let (sender, receiver) = connect(&emulation, window);
    let sending = send(sender, u64::MAX);
    let (from, until) = (
        emulation.now() + Duration::from_secs(1),
        emulation.now() + Duration::from_secs(1 + seconds),
    );
    let mut points = Vec::new();
    receive(receiver, |bytes| {
        let now = emulation.now();
        if now >= from {
            points.push((now, bytes));
        }
        now < until
    });
    sending.join().unwrap();
    let report = emulation.finish().unwrap();
    (slope(&points), report)
}
