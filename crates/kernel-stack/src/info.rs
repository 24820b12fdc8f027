//! TCP_INFO, the kernel's state of a connection. It is read as bytes, because its structure grows
//! with the kernel's version.

use std::fs::File;
use std::io::{self, Read, Seek};
use std::net::TcpStream;

use crate::sys::{self, INFO_SIZE};

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// `tcp_ca_state`, as far as it matters here.
pub(crate) const CA_RECOVERY: u8 = 3;
pub(crate) const CA_LOSS: u8 = 4;
pub(crate) const CA_CWR: u8 = 2;

/// The fields of `struct tcp_info` (linux/tcp.h) that are used. Windows are in segments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Info {
    pub(crate) ca_state: u8,
    pub(crate) snd_mss: u32,
    pub(crate) unacked: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retrans: u32,
    /// Smoothed RTT in microseconds.
    pub(crate) srtt_us: u32,
    /// `None` while unset.
    pub(crate) ssthresh: Option<u32>,
    pub(crate) cwnd: u32,
    /// Retransmissions so far, of a SYN too.
    pub(crate) total_retrans: u32,
    /// Bytes per second; `None` if unlimited.
    pub(crate) pacing_rate: Option<u64>,
    /// The SYN and the FIN count as bytes.
    pub(crate) bytes_acked: u64,
    pub(crate) segs_in: u32,
    pub(crate) min_rtt_us: u32,
    pub(crate) data_segs_out: u32,
    /// Timeouts so far, of a SYN too; `None` before Linux 6.7.
    pub(crate) total_rto: Option<u16>,
}

impl Info {
    /// Reads it from the kernel.
    pub(crate) fn read(stream: &TcpStream) -> io::Result<Self> {
        let mut bytes = [0; INFO_SIZE];
        let size = sys::tcp_info(stream, &mut bytes)?;
        Ok(Self::parse(&bytes, size))
    }

    fn parse(bytes: &[u8; INFO_SIZE], size: usize) -> Self {
        let u16_at = |at: usize| u16::from_ne_bytes([bytes[at], bytes[at + 1]]);
        let u32_at = |at: usize| {
            u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        let u64_at = |at: usize| {
            let mut value = [0; 8];
            value.copy_from_slice(&bytes[at..at + 8]);
            u64::from_ne_bytes(value)
        };
        let ssthresh = u32_at(76);
        let pacing_rate = u64_at(104);
        Self {
            ca_state: bytes[1],
            snd_mss: u32_at(16),
            unacked: u32_at(24),
            sacked: u32_at(28),
            lost: u32_at(32),
            retrans: u32_at(36),
            srtt_us: u32_at(68),
            ssthresh: (ssthresh < INFINITE).then_some(ssthresh),
            cwnd: u32_at(80),
            total_retrans: u32_at(100),
            pacing_rate: (pacing_rate < u64::MAX).then_some(pacing_rate),
            bytes_acked: u64_at(120),
            segs_in: u32_at(140),
            min_rtt_us: u32_at(148),
            data_segs_out: u32_at(156),
            total_rto: (size >= 242).then(|| u16_at(240)),
        }
    }

    /// Segments in flight, as Linux's `tcp_packets_in_flight`.
    pub(crate) const fn in_flight(&self) -> u64 {
        (self.unacked as u64 + self.retrans as u64)
            .saturating_sub(self.sacked as u64 + self.lost as u64)
    }
}

/// Counters of HyStart exits in a namespace (`TcpExt` in /proc/net/netstat).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HyStartCounters {
    /// Exits by the ACK train, and the sum of their windows.
    pub(crate) train: (u64, u64),
    /// Exits by the delay, and the sum of their windows.
    pub(crate) delay: (u64, u64),
}

/// Reads the counters of the namespace in which `file` was opened.
pub(crate) fn hystart_counters(file: &mut File) -> io::Result<HyStartCounters> {
    let mut text = String::new();
    file.rewind()?;
    file.read_to_string(&mut text)?;
    // A line of names is followed by one of values.
    let mut lines = text.lines().filter_map(|line| line.strip_prefix("TcpExt:"));
    let names = lines.next().unwrap_or_default();
    let values = lines.next().unwrap_or_default();
    let mut counters = HyStartCounters::default();
    for (name, value) in names
        .split_ascii_whitespace()
        .zip(values.split_ascii_whitespace())
    {
        let value = value.parse().unwrap_or(0);
        match name {
            "TCPHystartTrainDetect" => counters.train.0 = value,
            "TCPHystartTrainCwnd" => counters.train.1 = value,
            "TCPHystartDelayDetect" => counters.delay.0 = value,
            "TCPHystartDelayCwnd" => counters.delay.1 = value,
            _ => {}
        }
    }
    Ok(counters)
}
