//! Whether a run can be believed: the emulator's measurements of itself, against bounds.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use crate::Scheduling;

/// What a run may not exceed to be valid.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// 99th percentile of the lateness that is not the emulator's own work: it was woken late, or
    /// did not run.
    pub lateness_p99: Duration,
    /// Share of the base RTT within which the 99th percentile has to stay with its work, where that
    /// is more, unless [`Self::each`] holds.
    pub work: f64,
    /// The work for a packet where packets wait for each other: what is due at once can only be handed
    /// over one by one, as any host takes it. docs/guides/accuracy.md says what that much changes.
    pub each: Duration,
    /// The most that a packet may be late, that the emulator may not run, and that a processor may
    /// stand still, or a tenth of the base RTT where that is more.
    pub lateness_max: Duration,
    /// Deviation of the achieved rate from the configured one, as a share; judged after a second
    /// of busy time.
    pub rate: f64,
    /// What a probe's round trip may take beyond the base RTT, or one percent of it where that is
    /// more: the latency of the hosts.
    pub rtt_excess: Duration,
}

impl Default for Bounds {
    /// Half a millisecond, or with the emulator's work a fiftieth of the RTT or 25 us for each packet, a
    /// rate within 0.1 %, a stall of 5 ms, a probe within 1 ms.
    fn default() -> Self {
        Self {
            lateness_p99: Duration::from_micros(500),
            work: 0.02,
            each: Duration::from_micros(25),
            lateness_max: Duration::from_millis(5),
            rate: 0.001,
            rtt_excess: Duration::from_millis(1),
        }
    }
}

/// What the emulator measured of itself. Latenesses are from the instant that a packet was due to
/// the instant that it was written to the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Whether the run is within its bounds.
    pub valid: bool,
    /// If not, why: one sentence each.
    pub reasons: Vec<String>,
    /// How the emulator's thread was scheduled.
    pub scheduling: Scheduling,
    /// Packets delivered, both directions.
    pub deliveries: u64,
    /// Median lateness; null without deliveries, as are the next two.
    pub lateness_p50_us: Option<u64>,
    /// 99th percentile of the lateness.
    pub lateness_p99_us: Option<u64>,
    /// The most that a packet was late.
    pub lateness_max_us: Option<u64>,
    /// 99th percentile of the lateness without what the emulator worked since it last slept, which
    /// is most of it where hundreds of packets are due at once; null without deliveries.
    pub lateness_apart_p99_us: Option<u64>,
    /// What the emulator and the hosts worked for each packet while packets waited for each other; null
    /// where none did.
    pub work_per_packet_us: Option<f64>,
    /// 99th percentile of the time from the end of a sleep as asked for to being awake: the
    /// kernel's share of the lateness.
    pub wake_up_p99_us: Option<u64>,
    /// The longest time that the emulator's thread is known not to have run when it should have, with
    /// packets to read at its end: these may have waited, which no lateness of deliveries shows.
    pub stall_max_us: u64,
    /// The longest time that one of the processors is known to have stood still: neither the emulator
    /// nor a thread that goes before all others ran on it. The hosts' TCP may have been there. Null
    /// where such threads are not allowed.
    pub standstill_max_us: Option<u64>,
    /// Rate that the forward link achieved while busy, relative to the one configured: the time
    /// that its deliveries should have taken by the time that they took. Null while it was busy
    /// for less than a second.
    pub rate_ratio: Option<f64>,
    /// Median round trip of the probes over the path's delays alone, before the run; null without.
    pub probe_rtt_ms: Option<f64>,
    /// What it should have been.
    pub base_rtt_ms: f64,
    /// Most packets of the forward link, due at different instants, that were delivered in one go.
    pub longest_burst_packets: u64,
    /// How often it was more than one.
    pub bursts: u64,
    /// Share of one processor that the emulator's thread took.
    pub cpu_share: f64,
    /// Share of all processors that was idle during the run; null where the kernel does not say.
    pub cpu_idle_share: Option<f64>,
    /// Share of all processors that the hypervisor took away.
    pub cpu_stolen_share: Option<f64>,
    /// Packets that were dropped in a host's own device, outside of the path.
    pub local_drops: u64,
    /// Packets that are missing from captures and logs, because the disk was too slow.
    pub unrecorded: u64,
}

/// What is judged, as measured.
pub(crate) struct Measured {
    pub(crate) stall: Duration,
    pub(crate) standstill: Option<Duration>,
    pub(crate) lateness: [Option<Duration>; 3],
    /// The 99th percentile without the emulator's work.
    pub(crate) apart: Option<Duration>,
    /// The work for a packet while packets waited for each other.
    pub(crate) each: Option<Duration>,
    pub(crate) busy: Duration,
    pub(crate) rate_ratio: Option<f64>,
    pub(crate) probe: Option<Duration>,
    pub(crate) base_rtt: Duration,
    pub(crate) local_drops: u64,
    pub(crate) unrecorded: u64,
    pub(crate) conserved: bool,
}

fn ms(span: Duration) -> f64 {
    span.as_nanos() as f64 / 1e6
}

/// The reasons why a run is not valid.
pub(crate) fn judge(bounds: &Bounds, measured: &Measured) -> Vec<String> {
    let mut reasons = Vec::new();
    let [_, p99, max] = measured.lateness;
    let work = Duration::from_nanos((bounds.work * measured.base_rtt.as_nanos() as f64) as u64);
    let work = bounds.lateness_p99.max(work);
    if let Some(apart) = measured.apart.filter(|late| *late > bounds.lateness_p99) {
        reasons.push(format!(
            "one packet in a hundred was delivered more than {} ms late; the bound is {} ms",
            ms(apart),
            ms(bounds.lateness_p99)
        ));
    } else if let Some(p99) = p99.filter(|late| *late > work)
        && measured.each.is_none_or(|each| each > bounds.each)
    {
        reasons.push(format!(
            "one packet in a hundred was delivered more than {} ms late, after others that were \
             due with it, of which each took {} us; the bounds are {} ms and {} us",
            ms(p99),
            1e3 * ms(measured.each.unwrap_or_default()),
            ms(work),
            1e3 * ms(bounds.each)
        ));
    }
    let longest = bounds.lateness_max.max(measured.base_rtt / 10);
    if let Some(max) = max.filter(|max| *max > longest) {
        reasons.push(format!(
            "a packet was delivered {:.1} ms late; the bound is {} ms",
            ms(max),
            ms(longest)
        ));
    }
    if measured.stall > longest {
        reasons.push(format!(
            "the emulator did not run for {:.1} ms, and packets waited for it; the bound is {} ms",
            ms(measured.stall),
            ms(longest)
        ));
    }
    if let Some(standstill) = measured.standstill.filter(|span| *span > longest) {
        reasons.push(format!(
            "a processor stood still for {:.1} ms, and a host's TCP may have been on it; the bound is \
             {} ms",
            ms(standstill),
            ms(longest)
        ));
    }
    if let Some(ratio) = measured
        .rate_ratio
        .filter(|ratio| (ratio - 1.0).abs() > bounds.rate)
    {
        reasons.push(format!(
            "the link achieved {:.2} % of its rate in {:.1} s of busy time",
            100.0 * ratio,
            measured.busy.as_secs_f64()
        ));
    }
    let excess = bounds.rtt_excess.max(measured.base_rtt / 100);
    if let Some(probe) = measured
        .probe
        .filter(|probe| *probe > measured.base_rtt + excess)
    {
        reasons.push(format!(
            "a probe's round trip took {:.2} ms where the path has {} ms",
            ms(probe),
            ms(measured.base_rtt)
        ));
    }
    if measured.local_drops > 0 {
        reasons.push(format!(
            "{} packets were dropped in a host's own device, outside of the path",
            measured.local_drops
        ));
    }
    if measured.unrecorded > 0 {
        reasons.push(format!(
            "{} packets are missing from the capture or log, because the disk was too slow",
            measured.unrecorded
        ));
    }
    if !measured.conserved {
        reasons.push("a link lost count of its packets".to_owned());
    }
    reasons
}

/// The shortest busy period whose pace says something about the rate, rather than about the
/// lateness of its first and last packet, which is judged by itself.
const SHORTEST: Duration = Duration::from_millis(200);

/// How the deliveries of a link keep pace with their due instants, over its busy periods.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    period: u64,
    first: (Instant, Instant),
    last: (Instant, Instant),
    due: Duration,
    actual: Duration,
}

impl Pace {
    /// A packet that was served in busy period number `period` (from one) was delivered.
    pub(crate) fn delivered(&mut self, period: u64, due: Instant, actual: Instant) {
        if period != self.period {
            self.end();
            self.period = period;
            self.first = (due, actual);
        }
        self.last = (due, actual);
    }

    /// The period is over.
    pub(crate) fn end(&mut self) {
        let due = self.last.0.saturating_since(self.first.0);
        if self.period > 0 && due >= SHORTEST {
            self.due += due;
            self.actual += self.last.1.saturating_since(self.first.1);
        }
        self.period = 0;
    }

    /// Busy time that was judged.
    pub(crate) const fn busy(&self) -> Duration {
        self.due
    }

    /// Time that it should have taken by the time that it took.
    pub(crate) fn ratio(&self) -> Option<f64> {
        (self.due >= Duration::from_secs(1) && !self.actual.is_zero())
            .then(|| self.due.as_nanos() as f64 / self.actual.as_nanos() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn good() -> Measured {
        Measured {
            stall: Duration::from_micros(5_000),
            standstill: Some(Duration::from_micros(5_000)),
            lateness: [20, 400, 4_000].map(|us| Some(Duration::from_micros(us))),
            apart: Some(Duration::from_micros(400)),
            each: Some(Duration::from_micros(26)),
            busy: Duration::from_secs(2),
            rate_ratio: Some(1.0005),
            probe: Some(Duration::from_micros(10_900)),
            base_rtt: Duration::from_millis(10),
            local_drops: 0,
            unrecorded: 0,
            conserved: true,
        }
    }

    #[test]
    fn each_bound_gives_its_own_reason() {
        let bounds = Bounds::default();
        assert_eq!(judge(&bounds, &good()), [""; 0]);
        type Spoil = (fn(&mut Measured), &'static str);
        let spoil: [Spoil; 10] = [
            (
                |m| {
                    m.lateness[1] = Some(Duration::from_micros(501));
                    m.apart = m.lateness[1];
                },
                "more than 0.501 ms late; the bound is 0.5 ms",
            ),
            (
                |m| m.lateness[1] = Some(Duration::from_micros(501)),
                "due with it, of which each took 26 us; the bounds are 0.5 ms and 25 us",
            ),
            (
                |m| m.lateness[2] = Some(Duration::from_micros(5_001)),
                "5.0 ms late",
            ),
            (|m| m.stall = Duration::from_millis(6), "run for 6.0 ms"),
            (
                |m| m.standstill = Some(Duration::from_millis(6)),
                "stood still for 6.0 ms",
            ),
            (|m| m.rate_ratio = Some(0.998), "99.80 % of its rate"),
            (
                |m| m.probe = Some(Duration::from_micros(11_001)),
                "took 11.00 ms",
            ),
            (|m| m.local_drops = 3, "3 packets were dropped"),
            (|m| m.unrecorded = 4, "4 packets are missing"),
            (|m| m.conserved = false, "lost count"),
        ];
        for (spoil, expected) in spoil {
            let mut measured = good();
            spoil(&mut measured);
            let reasons = judge(&bounds, &measured);
            assert_eq!(reasons.len(), 1, "{reasons:?}");
            assert!(reasons[0].contains(expected), "{reasons:?}");
        }
        // A tenth of a long RTT may be lost at once.
        let mut long = good();
        long.base_rtt = Duration::from_millis(600);
        long.stall = Duration::from_millis(59);
        long.lateness[2] = Some(Duration::from_millis(59));
        // So may a fiftieth of it by packets that wait for each other, and by no others.
        long.lateness[1] = Some(Duration::from_millis(12));
        long.probe = Some(Duration::from_millis(606));
        assert_eq!(judge(&bounds, &long), [""; 0]);
        long.apart = long.lateness[1];
        assert_eq!(judge(&bounds, &long).len(), 1);
        long.apart = Some(Duration::from_micros(400));
        long.lateness[1] = Some(Duration::from_micros(12_001));
        assert_eq!(judge(&bounds, &long).len(), 1);
        // Or by more, if each is handed over as fast as a host takes it.
        long.each = Some(Duration::from_micros(25));
        assert_eq!(judge(&bounds, &long), [""; 0]);
        long.apart = Some(Duration::from_micros(501));
        assert_eq!(judge(&bounds, &long).len(), 1);
    }

    #[test]
    fn pace_counts_busy_periods_alone() {
        let at = Instant::from_millis;
        let mut pace = Pace::default();
        for (period, due, actual) in [
            (1, 0, 1),
            (1, 600, 600),
            (2, 700, 700),
            (2, 750, 790),
            (3, 9_000, 9_000),
            (3, 9_900, 9_902),
        ] {
            pace.delivered(period, at(due), at(actual));
        }
        pace.end();
        assert_eq!(pace.busy(), Duration::from_millis(1_500));
        assert_eq!(pace.ratio(), Some(1_500.0 / 1_501.0));
    }
}
