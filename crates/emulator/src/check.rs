//! The emulator's timing self-check: its measurements of itself, compared with bounds.

use serde::{Deserialize, Serialize};
use units::{Duration, Instant};

use crate::schedule::Scheduling;

/// The bounds of the timing self-check. A run that exceeds one fails.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bounds {
    /// 99th percentile of the lateness without the emulator's own processing time: the thread woke
    /// late or was not running.
    pub lateness_p99: Duration,
    /// Bound on the 99th percentile of the whole lateness, as a fraction of the base RTT, where
    /// that exceeds `lateness_p99`. It does not apply while [`Self::each`] holds.
    pub work: f64,
    /// Processing time per packet while packets wait for each other: packets due at once can only
    /// be written one by one, as on any host. docs/guides/accuracy.md gives the effect of this
    /// much.
    pub each: Duration,
    /// The largest lateness of a packet, the longest stall of the emulator, and the longest
    /// standstill of a processor, or a tenth of the base RTT where that is more.
    pub lateness_max: Duration,
    /// Relative deviation of the achieved rate from the configured one; judged after a second of
    /// busy time.
    pub rate: f64,
    /// How far a probe's round trip may exceed the base RTT (the latency of the hosts), or one
    /// percent of the base RTT where that is more.
    pub rtt_excess: Duration,
}

impl Default for Bounds {
    /// 0.5 ms of lateness (2 % of the base RTT, or 25 us per packet, with the emulator's
    /// processing), a rate within 0.1 %, a stall of 5 ms, a probe within 1 ms.
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

/// The emulator's measurements of its own timing. The lateness of a packet is the time from the
/// instant it was due to the instant it was written to the device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SelfCheck {
    /// Whether the run passed: every measurement is within its bound.
    pub valid: bool,
    /// One sentence for each bound that was exceeded.
    pub reasons: Vec<String>,
    /// How the emulator's thread was scheduled.
    pub scheduling: Scheduling,
    /// Packets delivered, both directions.
    pub deliveries: u64,
    /// Median lateness; null, like the next two, without deliveries.
    pub lateness_p50_us: Option<u64>,
    /// 99th percentile of the lateness.
    pub lateness_p99_us: Option<u64>,
    /// Largest lateness.
    pub lateness_max_us: Option<u64>,
    /// 99th percentile of the lateness without the emulator's processing time since it last slept,
    /// which dominates where hundreds of packets are due at once; null without deliveries.
    pub lateness_apart_p99_us: Option<u64>,
    /// Processing time of the emulator and the hosts per packet while packets waited for each
    /// other; null where none did.
    pub work_per_packet_us: Option<f64>,
    /// 99th percentile of the time from the requested end of a sleep to being awake: the kernel's
    /// part of the lateness.
    pub wake_up_p99_us: Option<u64>,
    /// The longest known time for which the emulator's thread should have run but did not, with
    /// packets to read at its end. These may have waited, which the lateness of deliveries does not
    /// show.
    pub stall_max_us: u64,
    /// The longest known time for which a processor ran neither the emulator nor the watch thread,
    /// which has priority over all others. The hosts' TCP may have been on that processor. Null
    /// where such threads are not allowed.
    pub standstill_max_us: Option<u64>,
    /// Rate of the forward link while busy, relative to the configured rate: the time that its
    /// deliveries should have taken, divided by the time that they took. Null where it was busy for
    /// less than a second.
    pub rate_ratio: Option<f64>,
    /// Median round trip of the probes before the run, over the path's delays alone; null without
    /// probes.
    pub probe_rtt_ms: Option<f64>,
    /// The path's base RTT, for comparison with `probe_rtt_ms`.
    pub base_rtt_ms: f64,
    /// Most packets of the forward link, due at different instants, that were delivered without a
    /// sleep between them.
    pub longest_burst_packets: u64,
    /// Number of bursts of more than one packet.
    pub bursts: u64,
    /// Fraction of one processor that the emulator's thread used.
    pub cpu_share: f64,
    /// Fraction of all processor time that was idle during the run; null where the kernel does not
    /// report it.
    pub cpu_idle_share: Option<f64>,
    /// Fraction of all processor time that the hypervisor took away.
    pub cpu_stolen_share: Option<f64>,
    /// Packets that a host's own device dropped, outside the path.
    pub local_drops: u64,
    /// Packets that are missing from captures and logs because the disk was too slow.
    pub unrecorded: u64,
}

/// The measurements that are judged.
pub(crate) struct Measured {
    pub(crate) stall: Duration,
    pub(crate) standstill: Option<Duration>,
    pub(crate) lateness: [Option<Duration>; 3],
    /// 99th percentile of the lateness without the emulator's processing time.
    pub(crate) apart: Option<Duration>,
    /// Processing time per packet while packets waited for each other.
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

/// The reasons why a run failed; none where it passed.
pub(crate) fn judge(bounds: &Bounds, measured: &Measured) -> Vec<String> {
    let mut reasons = Vec::new();
    let [_, p99, max] = measured.lateness;
    let work = Duration::from_nanos((bounds.work * measured.base_rtt.as_nanos() as f64) as u64);
    let work = bounds.lateness_p99.max(work);
    if let Some(apart) = measured.apart.filter(|late| *late > bounds.lateness_p99) {
        reasons.push(format!(
            "1 % of the packets were delivered more than {} ms late; the bound is {} ms",
            ms(apart),
            ms(bounds.lateness_p99)
        ));
    } else if let Some(p99) = p99.filter(|late| *late > work)
        && measured.each.is_none_or(|each| each > bounds.each)
    {
        reasons.push(format!(
            "1 % of the packets were delivered more than {} ms late, behind others due at the \
             same time that took {} us each; the bounds are {} ms and {} us",
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
            "the emulator's thread did not run for {:.1} ms while packets waited; the bound is {} \
             ms",
            ms(measured.stall),
            ms(longest)
        ));
    }
    if let Some(standstill) = measured.standstill.filter(|span| *span > longest) {
        reasons.push(format!(
            "a processor stood still for {:.1} ms, possibly with a host's TCP on it; the bound is \
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
            "a probe's round trip took {:.2} ms; the base RTT is {} ms",
            ms(probe),
            ms(measured.base_rtt)
        ));
    }
    if measured.local_drops > 0 {
        reasons.push(format!(
            "a host's own device dropped {} packets, outside the path",
            measured.local_drops
        ));
    }
    if measured.unrecorded > 0 {
        reasons.push(format!(
            "{} packets are missing from the capture or log because the disk was too slow",
            measured.unrecorded
        ));
    }
    if !measured.conserved {
        reasons.push("the packet counts of a link do not add up".to_owned());
    }
    reasons
}

/// The shortest busy period that counts. In a shorter one the lateness of the first and last packet
/// would dominate the rate; lateness is judged by itself.
const SHORTEST: Duration = Duration::from_millis(200);

/// Compares the deliveries of a link with their due instants, over its busy periods.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Pace {
    period: u64,
    first: (Instant, Instant),
    last: (Instant, Instant),
    due: Duration,
    actual: Duration,
}

impl Pace {
    /// A packet of busy period number `period` (from one) was delivered.
    pub(crate) fn delivered(&mut self, period: u64, due: Instant, actual: Instant) {
        if period != self.period {
            self.end();
            self.period = period;
            self.first = (due, actual);
        }
        self.last = (due, actual);
    }

    /// The busy period is over.
    pub(crate) fn end(&mut self) {
        let due = self.last.0.saturating_since(self.first.0);
        if self.period > 0 && due >= SHORTEST {
            self.due += due;
            self.actual += self.last.1.saturating_since(self.first.1);
        }
        self.period = 0;
    }

    /// Busy time that counted.
    pub(crate) const fn busy(&self) -> Duration {
        self.due
    }

    /// The time that the deliveries should have taken, divided by the time that they took.
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
                "due at the same time that took 26 us each; the bounds are 0.5 ms and 25 us",
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
            (|m| m.local_drops = 3, "dropped 3 packets"),
            (|m| m.unrecorded = 4, "4 packets are missing"),
            (|m| m.conserved = false, "do not add up"),
        ];
        for (spoil, expected) in spoil {
            let mut measured = good();
            spoil(&mut measured);
            let reasons = judge(&bounds, &measured);
            assert_eq!(reasons.len(), 1, "{reasons:?}");
            assert!(reasons[0].contains(expected), "{reasons:?}");
        }
        // A stall of a tenth of a long RTT is within the bound.
        let mut long = good();
        long.base_rtt = Duration::from_millis(600);
        long.stall = Duration::from_millis(59);
        long.lateness[2] = Some(Duration::from_millis(59));
        // So is a lateness of a fiftieth of it, but only of packets that wait for each other.
        long.lateness[1] = Some(Duration::from_millis(12));
        long.probe = Some(Duration::from_millis(606));
        assert_eq!(judge(&bounds, &long), [""; 0]);
        long.apart = long.lateness[1];
        assert_eq!(judge(&bounds, &long).len(), 1);
        long.apart = Some(Duration::from_micros(400));
        long.lateness[1] = Some(Duration::from_micros(12_001));
        assert_eq!(judge(&bounds, &long).len(), 1);
        // More is within the bound if each packet is written as fast as a host accepts it.
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
