//! Every ACK that arrives, as the kernel sees it: the tracepoints `tcp_probe` and
//! `tcp_cong_state_set`, through a ring buffer without wake-ups. Each ACK costs about 0.2
//! microseconds.

use std::fmt;
use std::net::Ipv4Addr;

use units::Instant;

use crate::error::Error;
use crate::guest::array;
use crate::libbpf::{self, Attached};
use crate::needs::missing_for_guests;

/// `struct ss_row` of `bpf/ss_probe.bpf.c`.
const RECORD: usize = 96;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: u32 = 0x7fff_ffff;

/// Reports every ACK on the open connections of one network namespace, as long as it lives.
pub struct Probe {
    attached: Attached,
}

/// The reason for a [`Row`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowKind {
    /// A segment arrived and is not processed yet: the row has the state that the previous one
    /// left.
    Segment,
    /// The congestion state changes: threshold and `prior_cwnd` are set, the window not always.
    State,
}

/// A connection at one moment. Windows are in segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its time (CLOCK_MONOTONIC).
    pub at: Instant,
    /// The reason for it.
    pub kind: RowKind,
    /// Own address.
    pub source: Ipv4Addr,
    /// `icsk_ca_state`: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Congestion window.
    pub cwnd: u32,
    /// `None` while unset.
    pub ssthresh: Option<u32>,
    /// The window before the last reduction.
    pub prior_cwnd: u32,
    /// Smoothed RTT in eighths of microseconds, as the kernel keeps it.
    pub srtt_eighths: u32,
    /// Smallest RTT in microseconds.
    pub min_rtt_us: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub packets_out: u32,
    /// Of these, acknowledged selectively.
    pub sacked_out: u32,
    /// Of these, marked lost.
    pub lost_out: u32,
    /// Of these, retransmitted and in flight.
    pub retrans_out: u32,
    /// Retransmissions so far, of a SYN too.
    pub total_retrans: u32,
    /// Segments with payload that were sent.
    pub data_segs_out: u32,
    /// Segments received, including the present one.
    pub segs_in: u32,
    /// Segment size in bytes.
    pub mss: u32,
    /// Timeouts so far; `None` before Linux 6.7.
    pub total_rto: Option<u32>,
    /// Bytes acknowledged, with the SYN.
    pub bytes_acked: u64,
    /// Bytes per second; `None` where it is unlimited.
    pub pacing_rate: Option<u64>,
}

impl Probe {
    /// Attaches a probe to the namespace with this cookie (`SO_NETNS_COOKIE`).
    ///
    /// # Errors
    /// What is missing, or why the kernel refuses.
    pub fn attach(namespace_cookie: u64) -> Result<Self, Error> {
        let missing = missing_for_guests();
        if !missing.is_empty() {
            return Err(Error::Missing(missing));
        }
        let attached = libbpf::attach_probe(namespace_cookie, RECORD)?;
        Ok(Self { attached })
    }

    /// Hands over the rows that were not handed over before, in order.
    pub fn take(&mut self, each: &mut dyn FnMut(Row)) {
        self.attached.take(&mut |record| each(Row::parse(record)));
    }

    /// Rows that were dropped because the ring buffer was full.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.attached.lost()
    }
}

impl fmt::Debug for Probe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Probe").finish_non_exhaustive()
    }
}

impl Row {
    fn parse(record: &[u8]) -> Self {
        let long = |at| u64::from_ne_bytes(array(record, at));
        let word = |index: usize| u32::from_ne_bytes(array(record, 24 + 4 * index));
        let (ssthresh, pacing_rate, total_rto) = (word(4), long(16), word(16));
        Self {
            at: Instant::from_nanos(long(0)),
            bytes_acked: long(8),
            pacing_rate: (pacing_rate < u64::MAX).then_some(pacing_rate),
            kind: if word(0) == 0 {
                RowKind::Segment
            } else {
                RowKind::State
            },
            source: Ipv4Addr::from(array::<4>(record, 28)),
            ca_state: word(2) as u8,
            cwnd: word(3),
            ssthresh: (ssthresh < INFINITE).then_some(ssthresh),
            prior_cwnd: word(5),
            srtt_eighths: word(6),
            min_rtt_us: word(7),
            packets_out: word(8),
            sacked_out: word(9),
            lost_out: word(10),
            retrans_out: word(11),
            total_retrans: word(12),
            data_segs_out: word(13),
            segs_in: word(14),
            mss: word(15),
            total_rto: (total_rto != u32::MAX).then_some(total_rto),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_read_as_they_are_written() {
        let mut record = Vec::new();
        for long in [7_u64, 14_481, u64::MAX] {
            record.extend(long.to_ne_bytes());
        }
        record.extend(1_u32.to_ne_bytes());
        record.extend([10, 78, 0, 1]);
        let words = [
            3,
            20,
            INFINITE,
            40,
            800,
            99,
            21,
            4,
            3,
            2,
            1,
            50,
            33,
            1448,
            u32::MAX,
            0,
        ];
        for word in words {
            record.extend(word.to_ne_bytes());
        }
        assert_eq!(record.len(), RECORD);
        let row = Row::parse(&record);
        assert_eq!((row.at, row.bytes_acked), (Instant::from_nanos(7), 14_481));
        assert_eq!(
            (row.kind, row.source),
            (RowKind::State, Ipv4Addr::new(10, 78, 0, 1))
        );
        assert_eq!(
            (row.ca_state, row.cwnd, row.ssthresh, row.prior_cwnd),
            (3, 20, None, 40)
        );
        assert_eq!((row.srtt_eighths, row.min_rtt_us), (800, 99));
        let out = [
            row.packets_out,
            row.sacked_out,
            row.lost_out,
            row.retrans_out,
        ];
        assert_eq!(out, [21, 4, 3, 2]);
        let sent = [row.total_retrans, row.data_segs_out, row.segs_in, row.mss];
        assert_eq!(sent, [1, 50, 33, 1448]);
        assert_eq!((row.total_rto, row.pacing_rate), (None, None));
    }
}
