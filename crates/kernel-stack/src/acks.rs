//! Turns the rows of the probe in the kernel ([`kernel::Probe`]) into observations.
//!
//! `tcp_probe` fires before an ACK is processed. So the state that an ACK left is in the next row,
//! and is given the time of the ACK that left it; TCP_INFO gives the state after the last ACK. A
//! timeout between two ACKs has a row of its own when it happens (`tcp_cong_state_set`), with the
//! window before it, and so has every other change of the congestion state.

use kernel::{Row, RowKind};
use units::{Duration, Instant};

use crate::info::{CA_CWR, CA_LOSS, CA_RECOVERY, Info};
use crate::observe::Observation;

/// The rows of one connection, so far.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Acks {
    /// When the last segment arrived whose effect is not known yet.
    pending: Option<Instant>,
    /// The time of the last observation.
    latest: Instant,
    /// Smoothed RTT of the last row of a segment.
    srtt_eighths: u32,
    bytes_acked: u64,
}

impl Acks {
    /// An open connection, with a smoothed RTT in microseconds.
    pub(crate) fn new(srtt_us: u32) -> Self {
        Self {
            srtt_eighths: srtt_us.saturating_mul(8),
            ..Self::default()
        }
    }

    /// The observation that `row`, recorded at `at`, makes possible; none with the first segment.
    /// The caller adds what was delivered by then.
    pub(crate) fn observe(&mut self, row: &Row, at: Instant) -> Option<Observation> {
        let mut observation = Observation {
            now: at,
            info: info(row),
            rtt: None,
            delivered: 0,
            acks: 0,
            before: None,
        };
        match row.kind {
            RowKind::Segment => {
                observation.now = self.pending.replace(at)?;
                observation.acks = 1;
                observation.rtt = self.sample(row).map(|rtt| (rtt, 1));
            }
            RowKind::State => {
                let reduced = matches!(observation.info.ca_state, CA_CWR | CA_RECOVERY | CA_LOSS);
                observation.before = reduced.then_some(row.prior_cwnd);
            }
        }
        // A change of state is recorded some microseconds after the ACK that caused it.
        observation.now = observation.now.max(self.latest);
        self.latest = observation.now;
        Some(observation)
    }

    /// The state after the last segment, from TCP_INFO.
    pub(crate) fn last(&mut self, info: Info, delivered: u64) -> Option<Observation> {
        Some(Observation {
            now: self.pending.take()?.max(self.latest),
            info,
            rtt: None,
            delivered,
            acks: 1,
            before: None,
        })
    }

    /// The sample behind the change of the smoothed RTT: `srtt' = srtt + m - srtt / 8`, in eighths.
    fn sample(&mut self, row: &Row) -> Option<Duration> {
        let (before, after) = (self.srtt_eighths, row.srtt_eighths);
        let acked = row.bytes_acked != self.bytes_acked;
        self.srtt_eighths = after;
        self.bytes_acked = row.bytes_acked;
        // The handshake's sample is known already; an ACK without progress has none.
        if before == 0 || after == before && !acked {
            return None;
        }
        let sample = i64::from(after) - i64::from(before) + i64::from(before >> 3);
        let sample = u64::try_from(sample).ok()?.max(u64::from(row.min_rtt_us));
        Some(Duration::from_micros(sample))
    }
}

fn info(row: &Row) -> Info {
    Info {
        ca_state: row.ca_state,
        snd_mss: row.mss,
        unacked: row.packets_out,
        sacked: row.sacked_out,
        lost: row.lost_out,
        retrans: row.retrans_out,
        srtt_us: row.srtt_eighths >> 3,
        ssthresh: row.ssthresh,
        cwnd: row.cwnd,
        total_retrans: row.total_retrans,
        pacing_rate: row.pacing_rate,
        bytes_acked: row.bytes_acked,
        segs_in: row.segs_in,
        min_rtt_us: row.min_rtt_us,
        data_segs_out: row.data_segs_out,
        total_rto: row.total_rto.map(|count| count as u16),
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;

    use super::*;

    fn row(kind: RowKind, cwnd: u32, srtt_eighths: u32, bytes_acked: u64) -> Row {
        Row {
            at: Instant::ZERO,
            kind,
            source: Ipv4Addr::LOCALHOST,
            ca_state: 0,
            cwnd,
            ssthresh: None,
            prior_cwnd: 77,
            srtt_eighths,
            min_rtt_us: 1,
            packets_out: cwnd,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            total_retrans: 0,
            data_segs_out: 0,
            segs_in: 0,
            mss: 1448,
            total_rto: None,
            bytes_acked,
            pacing_rate: None,
        }
    }

    #[test]
    fn an_ack_has_the_state_that_the_next_one_finds() {
        let at = Instant::from_millis;
        let mut acks = Acks::new(100_000);
        let first = row(RowKind::Segment, 10, 800_000, 1);
        assert!(acks.observe(&first, at(100)).is_none());
        // The first ACK had a sample of 140 ms.
        let second = row(RowKind::Segment, 12, 840_000, 2897);
        let observation = acks.observe(&second, at(103)).expect("the first ACK's");
        assert_eq!(
            (observation.now, observation.info.cwnd, observation.acks),
            (at(100), 12, 1)
        );
        assert_eq!(observation.rtt, Some((Duration::from_millis(140), 1)));
        // The second one puts the sender into recovery.
        let mut state = row(RowKind::State, 12, 840_000, 2897);
        state.ca_state = CA_RECOVERY;
        let observation = acks.observe(&state, at(104)).expect("the change");
        assert_eq!(
            (observation.now, observation.acks, observation.before),
            (at(104), 0, Some(77))
        );
        let third = row(RowKind::Segment, 6, 840_000, 2897);
        let observation = acks.observe(&third, at(110)).expect("the second ACK's");
        assert_eq!(
            (observation.now, observation.info.cwnd, observation.rtt),
            (at(104), 6, None)
        );
        let observation = acks.last(Info::default(), 5).expect("the third ACK's");
        assert_eq!(
            (observation.now, observation.delivered, observation.acks),
            (at(110), 5, 1)
        );
        assert!(acks.last(Info::default(), 5).is_none());
    }
}
