//! Conclusions about a flow from repeated observations.
//!
//! The observations come from TCP_INFO each millisecond ([`crate::sampler`]), or, where the kernel
//! may be probed, from each ACK ([`crate::acks`]). With the probe, times, RTT samples and the
//! window before a loss are exact; nothing else differs.
//!
//! ## What the kernel does not report
//!
//! - RTT samples, without the probe: TCP_INFO has only the smoothed RTT. The filter of RFC 6298 is
//!   inverted: after `k` samples of `m`, `srtt' = m + (7/8)^k (srtt - m)`, where `k` is the number
//!   of segments received. With an observation each millisecond, the mean of the samples in between
//!   is accurate to some microseconds. The smallest RTT is the kernel's own, and exact.
//! - The window before a loss, without the probe: the threshold gives it to within one segment
//!   (`kind.decrease`), and the last observation before the loss selects among the possible values.
//! - That BBR found the pipe full while it measured the smallest RTT: Linux then sets no threshold
//!   (`bbr_check_drain` does so in STARTUP alone). The pacing rate shows it, because BBR lowers it
//!   only after that (`bbr_set_pacing_rate`).
//! - Segments that were declared lost: those retransmitted, and those marked lost and not yet
//!   retransmitted. A tail loss probe (TLP) that was a retransmission counts too.

use measure::{FlowProbe, FlowSample, FlowTrace};
use units::{Bytes, Duration, Instant, Rate};

use crate::info::{CA_CWR, CA_LOSS, CA_RECOVERY, HyStartCounters, Info};
use crate::names::Kind;

/// An observation of a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Observation {
    /// Its time.
    pub(crate) now: Instant,
    /// The state of the connection.
    pub(crate) info: Info,
    /// The RTT samples since the last observation: their mean and their number.
    pub(crate) rtt: Option<(Duration, u32)>,
    /// Bytes that the receiving application has received in order, read a moment later.
    pub(crate) delivered: u64,
    /// Segments received since the last observation.
    pub(crate) acks: u32,
    /// The window before the reduction that this observation shows, if known.
    pub(crate) before: Option<u32>,
}

/// The end of the first slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Exit {
    pub(crate) at: Instant,
    pub(crate) cwnd_segments: u64,
    pub(crate) reason: &'static str,
    /// A loss, mark or timeout ended it.
    pub(crate) by_congestion: bool,
}

/// What is known of a flow.
#[derive(Debug)]
pub(crate) struct Observer {
    kind: Kind,
    size: Option<u64>,
    /// When the SYN left.
    pub(crate) start: Instant,
    /// The state when the connection opened; what was counted before is not the flow's.
    base: Info,
    last: Info,
    pub(crate) probe: FlowProbe,
    pub(crate) trace: Option<FlowTrace>,
    pub(crate) exit: Option<Exit>,
    pub(crate) first_loss: Option<Instant>,
    /// Each new minimum of the RTT.
    pub(crate) min_rtts: Vec<(Instant, Duration)>,
    /// Entries into the state after a timeout, for kernels that do not count timeouts.
    losses_entered: u64,
}

impl Observer {
    /// The connection is open: `first` was read before any data was sent.
    pub(crate) fn new(
        kind: Kind,
        size: Option<u64>,
        (start, now): (Instant, Instant),
        first: Info,
        trace: Option<FlowTrace>,
    ) -> Self {
        let mut observer = Self {
            kind,
            size,
            start,
            base: first,
            last: first,
            probe: FlowProbe::default(),
            trace,
            exit: None,
            first_loss: None,
            min_rtts: Vec::new(),
            losses_entered: 0,
        };
        if first.srtt_us > 0 {
            // The handshake gives the first sample.
            observer.record_rtt(now, Duration::from_micros(u64::from(first.srtt_us)), 1);
        }
        observer
    }

    /// Payload bytes acknowledged cumulatively.
    pub(crate) fn acked(&self) -> u64 {
        let acked = self.last.bytes_acked.saturating_sub(self.base.bytes_acked);
        // The FIN counts as one byte.
        acked.min(self.size.unwrap_or(u64::MAX))
    }

    /// Whether the kernel reports all data as acknowledged.
    pub(crate) fn is_complete(&self, info: &Info) -> bool {
        let acked = info.bytes_acked.saturating_sub(self.base.bytes_acked);
        self.size.is_some_and(|size| acked >= size)
    }

    /// The congestion control reports that it ended slow start; false where slow start was over
    /// before.
    pub(crate) fn note_exit(
        &mut self,
        at: Instant,
        cwnd_segments: u32,
        reason: Option<&'static str>,
    ) -> bool {
        let first = self.exit.is_none();
        self.exit.get_or_insert(Exit {
            at,
            cwnd_segments: u64::from(cwnd_segments),
            reason: reason.unwrap_or(self.kind.exit),
            by_congestion: false,
        });
        first
    }

    /// Segments with payload that were sent, retransmissions included.
    pub(crate) fn segments_sent(&self) -> u64 {
        u64::from(
            self.last
                .data_segs_out
                .wrapping_sub(self.base.data_segs_out),
        )
    }

    /// Retransmitted segments among these.
    pub(crate) fn segments_retransmitted(&self) -> u64 {
        u64::from(
            self.last
                .total_retrans
                .wrapping_sub(self.base.total_retrans),
        )
    }

    /// Segments that the sender declared lost, as far as the kernel shows it.
    pub(crate) fn segments_lost(&self) -> u64 {
        let waiting = self.last.lost.saturating_sub(self.last.retrans);
        self.segments_retransmitted() + u64::from(waiting)
    }

    /// Timeouts.
    pub(crate) fn timeouts(&self) -> u64 {
        match (self.last.total_rto, self.base.total_rto) {
            (Some(last), Some(base)) => u64::from(last.wrapping_sub(base)),
            _ => self.losses_entered,
        }
    }

    /// The smallest RTT, from the kernel.
    pub(crate) fn min_rtt(&self) -> Option<Duration> {
        let micros = self.last.min_rtt_us;
        // Before the first sample the kernel has the largest number there.
        (micros != u32::MAX && self.last.srtt_us > 0)
            .then(|| Duration::from_micros(u64::from(micros)))
    }

    /// Sender maximum segment size.
    pub(crate) fn smss(&self) -> u64 {
        u64::from(self.last.snd_mss)
    }

    /// The observation that TCP_INFO gives.
    pub(crate) fn observe(&self, now: Instant, info: Info, delivered: u64) -> Observation {
        Observation {
            now,
            info,
            rtt: self.invert_smoothed(&info),
            delivered,
            acks: info.segs_in.wrapping_sub(self.last.segs_in),
            before: None,
        }
    }

    /// The mean of the RTT samples since the last observation, from the smoothed RTT.
    fn invert_smoothed(&self, info: &Info) -> Option<(Duration, u32)> {
        let count = info.segs_in.wrapping_sub(self.last.segs_in);
        if count == 0 || info.srtt_us == 0 {
            return None;
        }
        // After some hundred samples nothing is left of the value before them.
        let mut kept = 1.0;
        for _ in 0..count.min(256) {
            kept *= 7.0 / 8.0;
        }
        let (before, after) = (f64::from(self.last.srtt_us), f64::from(info.srtt_us));
        let mean = (after - kept * before) / (1.0 - kept);
        let mean = mean.max(f64::from(info.min_rtt_us.min(info.srtt_us)));
        Some((Duration::from_nanos((mean * 1000.0) as u64), count))
    }

    /// Takes an observation. `counters` returns what HyStart counted in this namespace since the
    /// last call; it is called when this flow has left slow start.
    pub(crate) fn take(
        &mut self,
        observation: &Observation,
        counters: &mut dyn FnMut() -> HyStartCounters,
    ) {
        let Observation { now, info, .. } = *observation;
        // The kernel has undone a reduction, as for packets that were only late: slow start goes on.
        if info.ssthresh.is_none() && self.exit.is_some_and(|exit| exit.by_congestion) {
            self.exit = None;
        }
        if self.exit.is_none() {
            self.exit = self.exit_in(observation, counters);
        }
        if self.first_loss.is_none()
            && (info.lost > 0 || matches!(info.ca_state, CA_RECOVERY | CA_LOSS))
        {
            self.first_loss = Some(now);
        }
        if info.ca_state == CA_LOSS && self.last.ca_state != CA_LOSS {
            self.losses_entered += 1;
        }
        self.last = info;
        if observation.acks == 0 {
            return;
        }
        if let Some((rtt, count)) = observation.rtt {
            self.record_rtt(now, rtt, count);
        }
        let acked = self.acked();
        let past_slow_start = self.exit.is_some_and(|exit| exit.at <= now);
        let smss = Bytes::new(self.smss());
        let delivered = acked + (smss * u64::from(info.sacked)).get();
        self.probe.on_ack(now, delivered, None, past_slow_start);
        if let Some(trace) = &mut self.trace {
            trace.push(&FlowSample {
                now,
                cwnd: smss * u64::from(info.cwnd),
                ssthresh: info
                    .ssthresh
                    .map_or(Bytes::MAX, |segments| smss * u64::from(segments)),
                in_flight: smss * info.in_flight(),
                rtt: observation.rtt.map(|(rtt, _)| rtt),
                acked,
                delivered: observation.delivered,
                pacing_rate: info.pacing_rate.map_or(Rate::MAX, Rate::from_bytes_per_sec),
            });
        }
    }

    fn record_rtt(&mut self, now: Instant, rtt: Duration, count: u32) {
        if self.probe.rtt.min().is_none_or(|min| rtt < min) {
            self.min_rtts.push((now, rtt));
        }
        for _ in 0..count {
            self.probe.rtt.record(rtt);
        }
    }

    fn exit_in(
        &self,
        observation: &Observation,
        counters: &mut dyn FnMut() -> HyStartCounters,
    ) -> Option<Exit> {
        let Observation { now, info, .. } = *observation;
        let exit = |cwnd_segments, reason, by_congestion| {
            Some(Exit {
                at: now,
                cwnd_segments,
                reason,
                by_congestion,
            })
        };
        let before = u64::from(self.last.cwnd);
        if self.kind.decrease.is_none() {
            // BBR sets a threshold when it leaves start-up, but not at a loss.
            let left = info.ssthresh.is_some() || self.paces_slower(&info);
            let cwnd = before.max(u64::from(info.cwnd));
            return if left {
                exit(cwnd, self.kind.exit, false)
            } else {
                None
            };
        }
        let ssthresh = u64::from(info.ssthresh?);
        if self.kind.hystart {
            // The counters show an exit even if a loss followed at once.
            let HyStartCounters { train, delay } = counters();
            let by_hystart = match (train.0, delay.0) {
                (0, 0) => None,
                (1, 0) => Some((train.1, "ack-train")),
                (0, 1) => Some((delay.1, "delay")),
                // Several flows in one millisecond; HyStart's threshold is its window.
                (trains, delays) if trains >= delays => Some((ssthresh, "ack-train")),
                _ => Some((ssthresh, "delay")),
            };
            if let Some((cwnd, reason)) = by_hystart {
                return exit(cwnd, reason, false);
            }
        }
        let reduced = || match observation.before {
            Some(before) => u64::from(before),
            None => self.before_loss(ssthresh, before),
        };
        match info.ca_state {
            CA_RECOVERY => exit(reduced(), "loss", true),
            CA_LOSS => exit(reduced(), "timeout", true),
            CA_CWR => exit(reduced(), "ecn", true),
            _ => exit(before.max(u64::from(info.cwnd)), self.kind.exit, false),
        }
    }

    /// Whether the pacing rate has fallen. The first RTT may lower it, too.
    fn paces_slower(&self, info: &Info) -> bool {
        let rates = self.last.pacing_rate.zip(info.pacing_rate);
        self.last.srtt_us > 0 && rates.is_some_and(|(before, now)| now < before)
    }

    /// The window before a reduction to `ssthresh`, given the window `seen` at the last
    /// observation.
    fn before_loss(&self, ssthresh: u64, seen: u64) -> u64 {
        let Some((numerator @ 1.., denominator)) = self.kind.decrease else {
            return seen;
        };
        let least = (ssthresh * denominator).div_ceil(numerator);
        let most = ((ssthresh + 1) * denominator).div_ceil(numerator) - 1;
        seen.clamp(least.min(most), most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CUBIC: Kind = Kind {
        exit: "delay",
        decrease: Some((717, 1024)),
        hystart: true,
    };

    fn open(srtt_us: u32) -> Info {
        Info {
            snd_mss: 1448,
            cwnd: 10,
            srtt_us,
            min_rtt_us: 1,
            bytes_acked: 1,
            segs_in: 1,
            ..Info::default()
        }
    }

    fn observer(kind: Kind, size: Option<u64>) -> Observer {
        let times = (Instant::from_millis(5), Instant::from_millis(105));
        Observer::new(kind, size, times, open(100_000), None)
    }

    fn observation_at(millis: u64, info: Info) -> Observation {
        Observation {
            now: Instant::from_millis(millis),
            info,
            rtt: None,
            delivered: 0,
            acks: 1,
            before: None,
        }
    }

    #[test]
    fn the_smoothed_rtt_is_inverted() {
        // Four samples of 140 ms after 100 ms, smoothed as in the kernel: in eighths, rounded down.
        let mut eighths: i64 = 800_000;
        for _ in 0..4 {
            eighths += 140_000 - (eighths >> 3);
        }
        let mut info = open((eighths >> 3) as u32);
        info.segs_in = 5;
        let (mean, count) = observer(CUBIC, None)
            .invert_smoothed(&info)
            .expect("a sample");
        assert_eq!(count, 4);
        let error = mean.as_nanos().abs_diff(140_000_000);
        assert!(error < 10_000, "{error} ns");
        assert_eq!(observer(CUBIC, None).invert_smoothed(&open(100_000)), None);
    }

    #[test]
    fn an_exit_by_hystart_follows_from_its_counters() {
        let mut observer = observer(CUBIC, None);
        let mut info = open(100_000);
        info.ssthresh = Some(400);
        info.cwnd = 401;
        let mut counters = || HyStartCounters {
            train: (1, 400),
            delay: (0, 0),
        };
        observer.take(&observation_at(700, info), &mut counters);
        let exit = observer.exit.expect("an exit");
        assert_eq!((exit.cwnd_segments, exit.reason), (400, "ack-train"));
        assert!(!exit.by_congestion);
        assert_eq!(exit.at, Instant::from_millis(700));
    }

    #[test]
    fn the_window_before_a_loss_follows_from_the_threshold() {
        // CUBIC: 1000 * 717 / 1024 = 700; windows of 1000 and 1001 have this threshold.
        for (seen, expected) in [(990, 1000), (1001, 1001), (1010, 1001)] {
            let mut observer = observer(CUBIC, None);
            observer.last.cwnd = seen;
            let mut info = open(100_000);
            info.ssthresh = Some(700);
            info.ca_state = CA_RECOVERY;
            info.lost = 3;
            observer.take(&observation_at(900, info), &mut HyStartCounters::default);
            let exit = observer.exit.expect("an exit");
            assert_eq!((exit.cwnd_segments, exit.reason), (expected, "loss"));
            assert_eq!(observer.first_loss, Some(Instant::from_millis(900)));
            assert_eq!(observer.segments_lost(), 3);
            // A known window takes precedence.
            let mut observer = Observer {
                exit: None,
                ..observer
            };
            let observation = Observation {
                before: Some(1003),
                ..observation_at(901, info)
            };
            observer.take(&observation, &mut HyStartCounters::default);
            assert_eq!(observer.exit.expect("an exit").cwnd_segments, 1003);
        }
    }

    /// Linux 6.12 over 20 Mbit/s, 600 ms, 2 BDP: no threshold, and a pacing rate that falls.
    #[test]
    fn bbr_paces_slower_once_the_pipe_is_full() {
        const BBR: Kind = Kind {
            exit: "full-pipe",
            decrease: None,
            hystart: false,
        };
        let paced = |srtt_us, rate| Info {
            cwnd: 4,
            pacing_rate: Some(rate),
            ..open(srtt_us)
        };
        let mut observer = observer(BBR, None);
        observer.last = paced(0, 41_760_000);
        let rates = [68_816, 6_833_798, 6_833_798, 2_367_323];
        let exits = [601, 10_600, 10_856, 10_858].iter().zip(rates);
        let exits: Vec<_> = exits
            .map(|(&at, rate)| {
                let observation = observation_at(at, paced(600_000, rate));
                observer.take(&observation, &mut HyStartCounters::default);
                observer.exit.map(|exit| (exit.at, exit.reason))
            })
            .collect();
        let found = Some((Instant::from_millis(10_858), "full-pipe"));
        assert_eq!(exits, [None, None, None, found]);
    }

    #[test]
    fn a_loss_that_the_kernel_takes_back_ends_no_slow_start() {
        let mut observer = observer(CUBIC, None);
        let mut info = open(100_000);
        (info.ssthresh, info.ca_state) = (Some(70), CA_RECOVERY);
        observer.take(&observation_at(300, info), &mut HyStartCounters::default);
        assert_eq!(observer.exit.expect("a loss").reason, "loss");
        (info.ssthresh, info.ca_state) = (None, 0);
        observer.take(&observation_at(400, info), &mut HyStartCounters::default);
        assert_eq!(observer.exit, None);
        info.ssthresh = Some(400);
        let mut counters = || HyStartCounters {
            train: (1, 400),
            delay: (0, 0),
        };
        observer.take(&observation_at(700, info), &mut counters);
        let exit = observer.exit.expect("an exit");
        assert_eq!(
            (exit.reason, exit.at),
            ("ack-train", Instant::from_millis(700))
        );
    }

    #[test]
    fn the_syn_and_the_fin_are_no_payload() {
        let mut observer = observer(CUBIC, Some(1000));
        let mut info = open(100_000);
        info.segs_in = 2;
        info.bytes_acked = 1000;
        observer.take(&observation_at(200, info), &mut HyStartCounters::default);
        assert_eq!(
            (observer.acked(), observer.is_complete(&info)),
            (999, false)
        );
        info.bytes_acked = 1002;
        observer.take(&observation_at(201, info), &mut HyStartCounters::default);
        assert_eq!(
            (observer.acked(), observer.is_complete(&info)),
            (1000, true)
        );
    }
}
