//! ABBA, an extension of CUBIC for paths whose capacity changes: Oku, "Accelerated Bottleneck
//! Bandwidth Adaptation (ABBA)", draft-kazuho-ccwg-abba, text of September 2026 in the author's
//! repository (commit dfaea8b; it had no number yet), sections "Sender State" to "Recalibration".
//!
//! While the round-trip time is at its floor, the queue is empty: the window then grows by what adds
//! about 2 ms of queue per round trip, if that is more than CUBIC's growth. Two observations guard
//! this: the floor of the round-trip time, from the minima between congestion events, and the
//! round-trip time with a full queue, from the end of slow start. If no long queue returns for long,
//! the sender goes back to slow start from its window, to observe the full queue anew; the
//! congestion that ends that slow start leaves 5/13 of the window.
//!
//! CUBIC is RFC 9438's, or with `curve=cuback` that of [`super::Cuback`].
//!
//! ## Deviations
//!
//! - The draft takes the round-trip time with a full queue when the recovery ends that followed slow
//!   start. If a start-up ends the first slow start without congestion (HyStart, SEARCH), here it is
//!   that of the first ACK in congestion avoidance; else such a sender would be CUBIC forever.
//! - A mark of the network during a recovery does not count as an observation of a long queue.
//! - Windows are whole segments. What the accelerated increase earned beyond those is kept, less
//!   what CUBIC grows meanwhile.

use units::{Bytes, Duration, Instant};

use super::cubic::{CubicConfig, CubicRfc9438, cube_root};
use super::{Cuback, CubackConfig};
use crate::settings;
use crate::{Ack, Avoidance, Congestion, CongestionKind, Decision, ExitReason, Window, options};

/// Queue that an accelerated round trip adds (section "Accelerated Increase"), in nanoseconds.
const STEP: u64 = 2_000_000;
/// Round-trip times this far apart can be distinguished.
const APART: u64 = 10_000_000;
/// Variance of the minima after the first (section "Per-Period Minima").
const FIRST_VARIANCE: u64 = 5_000_000;
/// One segment of what the accelerated increase earned.
const ONE: u64 = 1 << 20;
/// Bounds of the growth per acknowledged segment: 1/40, and half of what reverses a reduction.
const LEAST: (u64, u64) = (1, 40);
const MOST: (u64, u64) = (3, 14);
/// beta_recalibration, 1 / (2 (2 - 0.7)).
const RECALIBRATION: (u64, u64) = (5, 13);
/// (1 - beta) / 4 of the window, which acceleration has to gain before a recalibration.
const GAIN: (u64, u64) = (3, 40);

settings! {
    /// Settings of [`Abba`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct AbbaConfig {
        /// Whether the curve under it is CUBACK's.
        cuback: bool {
            name: "curve",
            default: "cubic",
            help: "the congestion avoidance that it extends: cubic (RFC 9438) or cuback",
            read: |value| {
                options::choice(value, &[("cubic", false), ("cuback", true)], "cubic or cuback")
            },
        }
    }
}

/// The congestion avoidance that ABBA extends.
#[derive(Clone, Debug)]
enum Curve {
    Cubic(CubicRfc9438),
    Cuback(Cuback),
}

impl Curve {
    fn inner(&mut self) -> &mut dyn Avoidance {
        match self {
            Self::Cubic(cubic) => cubic,
            Self::Cuback(cuback) => cuback,
        }
    }
}

/// A smoothed value and its variance, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Minima {
    smoothed: u64,
    variance: u64,
}

/// What an undo restores.
#[derive(Clone, Copy, Debug, Default)]
struct Observations {
    /// `full_rtt`, in nanoseconds.
    full_rtt: Option<u64>,
    /// `cur_period_min`.
    period_min: Option<u64>,
    /// `past_periods_min`.
    past: Option<Minima>,
    /// `bytes_accelerated`, in segments.
    accelerated: u64,
    /// `cwnd_epoch`, in segments.
    cwnd_epoch: Option<u64>,
    /// Whether this slow start began with a recalibration.
    recalibrating: bool,
}

/// ABBA.
#[derive(Clone, Debug)]
pub struct Abba {
    curve: Curve,
    now: Observations,
    before: Observations,
    /// `last_high_queue_at`.
    last_high: Instant,
    /// Smallest round-trip time of the connection; [`u64::MAX`] before the first.
    min_rtt: u64,
    /// Smoothed round-trip time at the last ACK and at the one before it.
    srtt: u64,
    srtt_before: u64,
    /// When the last ACK came.
    acked_at: Instant,
    /// Whether the reduction in progress ended slow start.
    from_slow_start: bool,
    /// What the accelerated increase earned and has not grown, in 2^-20 segments.
    credit: u64,
}

impl Abba {
    /// A new connection.
    #[must_use]
    pub fn new(config: AbbaConfig) -> Self {
        let curve = match config.cuback {
            true => Curve::Cuback(Cuback::new(CubackConfig::default())),
            false => Curve::Cubic(CubicRfc9438::new(CubicConfig::default())),
        };
        Self {
            curve,
            now: Observations::default(),
            before: Observations::default(),
            last_high: Instant::ZERO,
            min_rtt: u64::MAX,
            srtt: 0,
            srtt_before: 0,
            acked_at: Instant::ZERO,
            from_slow_start: false,
            credit: 0,
        }
    }

    /// `bottom_rtt()`.
    fn bottom_rtt(&self) -> u64 {
        let past = self.now.past;
        let low = past.map_or(0, |past| past.smoothed.saturating_sub(past.variance));
        let floor = low.max(self.min_rtt);
        self.now.period_min.map_or(floor, |least| floor.min(least))
    }

    /// `drain_threshold()`.
    fn drain_threshold(&self, past: Minima) -> u64 {
        let floor = past.smoothed.saturating_sub(past.variance / 2);
        let threshold = floor.max(self.min_rtt.saturating_add(STEP));
        let least = self.now.period_min;
        least.map_or(threshold, |least| threshold.min(least + STEP))
    }

    /// `ratio()` in 2^-20, if the accelerated increase applies to this ACK.
    fn ratio(&self, latest: u64) -> Option<u64> {
        let (past, full) = (self.now.past?, self.now.full_rtt?);
        let drain = self.drain_threshold(past);
        let applies = full > self.bottom_rtt() + APART && full * 20 > latest * 21 && latest < drain;
        let part = |(numerator, denominator)| ONE * numerator / denominator;
        applies.then(|| (ONE * STEP / drain.max(1)).max(part(LEAST)).min(part(MOST)))
    }

    /// `expected_high_queue_interval()` in nanoseconds.
    fn expected_interval(&self, full: u64) -> u128 {
        let epoch = u128::from(self.now.cwnd_epoch.unwrap_or(1).min(50_000_000_000));
        // K = cbrt((e / 0.7 - e) / 0.4) = cbrt(15/14 e), and the Reno-friendly 17/21 e full_rtt.
        let k = cube_root(epoch * 15 * 1_000_000_000_000_000_000_000_000_000 / 14);
        let reno = epoch * 17 * u128::from(full) / 21;
        let stretch = cube_root((u128::from(full) << 60) / u128::from(self.bottom_rtt().max(1)));
        (u128::from(k).min(reno) * u128::from(stretch)) >> 20
    }

    /// `recalibration_interval()` in nanoseconds; `None` is infinity.
    fn recalibration_interval(&self, full: u64, cwnd: u64) -> Option<u128> {
        if full > self.bottom_rtt() + APART {
            let has_gained = self.now.accelerated * GAIN.1 >= cwnd * GAIN.0;
            return has_gained.then(|| 2 * self.expected_interval(full));
        }
        Some(8 * self.expected_interval(full))
    }

    /// Notes the round-trip time with a full queue.
    fn observe_full(&mut self, rtt: u64) {
        self.now.full_rtt = Some(rtt);
        self.last_high = self.acked_at;
    }

    /// Forgets the maximum of the curve and where it began.
    fn forget_curve(&mut self) {
        match &mut self.curve {
            Curve::Cubic(cubic) => cubic.forget_maximum(),
            Curve::Cuback(cuback) => cuback.forget_maximum(),
        }
        self.now.cwnd_epoch = None;
        self.credit = 0;
    }
}

fn nanos(span: Duration) -> u64 {
    span.as_nanos()
}

impl Avoidance for Abba {
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        self.curve.inner().on_delivery(ack, window);
        self.acked_at = ack.now;
        self.srtt_before = self.srtt;
        self.srtt = nanos(ack.srtt);
        if let Some(rtt) = ack.latest_rtt.map(nanos) {
            self.min_rtt = self.min_rtt.min(rtt);
            if !ack.phase.is_reducing() {
                let least = self.now.period_min;
                self.now.period_min = Some(least.map_or(rtt, |least| least.min(rtt)));
            }
        }
    }

    /// Recalibrates where no long queue has returned for long.
    fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> {
        if window.in_slow_start() || !ack.cwnd_limited || ack.latest_rtt.is_none() {
            return None;
        }
        let Some(full) = self.now.full_rtt else {
            self.observe_full(self.srtt);
            return None;
        };
        if self.srtt >= self.bottom_rtt() + APART {
            self.last_high = ack.now;
            return None;
        }
        let quiet = u128::from(nanos(ack.now.saturating_since(self.last_high)));
        let interval = self.recalibration_interval(full, window.cwnd_segments())?;
        if self.now.cwnd_epoch.is_none() || quiet < interval {
            return None;
        }
        self.forget_curve();
        self.now.recalibrating = true;
        Some(Decision {
            cwnd: window.cwnd,
            ssthresh: Bytes::MAX,
            reason: ExitReason::Threshold,
        })
    }

    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        let cwnd = window.cwnd_segments();
        self.now.cwnd_epoch.get_or_insert(cwnd);
        self.now.recalibrating = false;
        let curve = self.curve.inner().on_ack(acked, ack, window);
        let curve = curve.segments(window.smss);
        let latest = ack.latest_rtt.map(nanos);
        let Some(ratio) = latest.and_then(|latest| self.ratio(latest)) else {
            self.credit = 0;
            return window.smss * curve;
        };
        self.credit += window.segments(acked) * ratio;
        let growth = curve.max(self.credit / ONE);
        if growth > curve {
            self.now.accelerated += growth;
        }
        self.credit = self.credit.saturating_sub(growth * ONE);
        window.smss * growth
    }

    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
        self.before = self.now;
        if let Some(least) = self.now.period_min.take() {
            self.now.past = Some(match self.now.past {
                None => Minima {
                    smoothed: least,
                    variance: FIRST_VARIANCE,
                },
                Some(Minima { smoothed, variance }) => Minima {
                    variance: variance * 3 / 4 + smoothed.abs_diff(least) / 4,
                    smoothed: smoothed * 7 / 8 + least / 8,
                },
            });
        }
        if congestion.kind == CongestionKind::Ecn {
            self.last_high = congestion.now;
        }
        self.from_slow_start = window.in_slow_start();
        self.now.accelerated = 0;
        self.now.cwnd_epoch = None;
        self.credit = 0;
        if !core::mem::take(&mut self.now.recalibrating) || !self.from_slow_start {
            return self.curve.inner().on_congestion(congestion, window);
        }
        self.forget_curve();
        let (numerator, denominator) = RECALIBRATION;
        window.smss * (window.cwnd_segments() * numerator / denominator).max(2)
    }

    fn on_recovery_exit(&mut self, _window: &Window) -> Option<Bytes> {
        if core::mem::take(&mut self.from_slow_start) {
            self.observe_full(self.srtt_before);
        }
        None
    }

    fn on_timeout(&mut self) {
        self.from_slow_start = false;
        self.curve.inner().on_timeout();
    }

    fn on_undo(&mut self) {
        self.now = self.before;
        self.from_slow_start = false;
        self.credit = 0;
        self.curve.inner().on_undo();
    }

    fn on_idle(&mut self, now: Instant, idle_since: Instant) {
        self.curve.inner().on_idle(now, idle_since);
    }

    fn on_mtu(&mut self, from: Bytes, to: Bytes) {
        self.now.cwnd_epoch = None;
        self.credit = 0;
        self.curve.inner().on_mtu(from, to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// A sender that has seen floors of 100 ms and, with a full queue, 200 ms.
    fn abba() -> Abba {
        let mut abba = Abba::new(AbbaConfig::default());
        abba.min_rtt = 100 * MS;
        abba.now.full_rtt = Some(200 * MS);
        abba.now.past = Some(Minima {
            smoothed: 110 * MS,
            variance: 5 * MS,
        });
        abba
    }

    #[test]
    fn the_floor_and_the_threshold_of_a_drained_queue() {
        let mut abba = abba();
        let past = abba.now.past.unwrap();
        assert_eq!(abba.bottom_rtt(), 105 * MS);
        assert_eq!(abba.drain_threshold(past), 107 * MS + MS / 2);
        abba.now.period_min = Some(101 * MS);
        assert_eq!(abba.bottom_rtt(), 101 * MS);
        assert_eq!(abba.drain_threshold(past), 103 * MS);
    }

    #[test]
    fn acceleration_needs_a_drained_queue_and_a_visible_full_one() {
        let mut abba = abba();
        // 2 ms of 107.5 ms are less than a fortieth.
        assert_eq!(abba.ratio(107 * MS), Some(ONE / 40));
        assert_eq!(abba.ratio(108 * MS), None);
        abba.now.full_rtt = Some(115 * MS);
        assert_eq!(abba.ratio(107 * MS), None);
        abba.now.full_rtt = Some(200 * MS);
        // A floor of 6 ms: a quarter would be 2 ms, and 3/14 is the most.
        abba.min_rtt = 6 * MS;
        abba.now.past = Some(Minima {
            smoothed: 7 * MS,
            variance: 0,
        });
        assert_eq!(abba.ratio(7 * MS), Some(ONE * 3 / 14));
    }

    #[test]
    fn a_queue_is_awaited_for_multiples_of_the_time_to_refill_it() {
        let mut abba = abba();
        abba.now.period_min = Some(100 * MS);
        abba.now.cwnd_epoch = Some(700);
        // K = cbrt(750) = 9.0856 s, below Reno's 113 s, times cbrt(2).
        let interval = abba.expected_interval(200 * MS) as f64 / 1e9;
        assert!((interval - 11.4471).abs() < 1e-3, "{interval}");
        // 75 of 1000 segments have to come from acceleration.
        abba.now.accelerated = 74;
        assert_eq!(abba.recalibration_interval(200 * MS, 1000), None);
        abba.now.accelerated = 75;
        let twice = abba.recalibration_interval(200 * MS, 1000).unwrap();
        assert_eq!(twice, 2 * abba.expected_interval(200 * MS));
        // A full queue that cannot be distinguished from an empty one: eight times.
        let long = abba.recalibration_interval(110 * MS, 1000).unwrap();
        assert_eq!(long, 8 * abba.expected_interval(110 * MS));
    }

    #[test]
    fn minima_are_smoothed_and_a_recalibration_leaves_five_thirteenths() {
        let mut abba = abba();
        abba.now.period_min = Some(102 * MS);
        abba.now.recalibrating = true;
        let window = Window {
            cwnd: Bytes::new(1300),
            ssthresh: Bytes::MAX,
            smss: Bytes::new(1),
        };
        let congestion = Congestion {
            now: Instant::ZERO,
            kind: CongestionKind::Loss,
            phase: crate::Phase::Open,
            in_flight: Bytes::new(10),
            snd_nxt: 0,
            first_of_window: true,
        };
        assert_eq!(abba.on_congestion(&congestion, &window).get(), 500);
        // 5 * 3/4 + 8/4 and 110 * 7/8 + 102/8.
        let past = abba.now.past.unwrap();
        assert_eq!((past.variance, past.smoothed), (5_750_000, 109_000_000));
        abba.on_undo();
        assert_eq!(abba.now.period_min, Some(102 * MS));
        assert!(abba.now.recalibrating);
    }

    /// A drained queue for longer than the interval: slow start again, from the same window.
    #[test]
    fn without_a_queue_for_long_it_returns_to_slow_start() {
        let mut abba = abba();
        abba.now.period_min = Some(100 * MS);
        abba.now.cwnd_epoch = Some(700);
        abba.now.accelerated = 75;
        abba.srtt = 100 * MS;
        let window = Window {
            cwnd: Bytes::new(1000),
            ssthresh: Bytes::new(700),
            smss: Bytes::new(1),
        };
        let rtt = Duration::from_millis(100);
        let mut ack = Ack {
            now: Instant::from_millis(22_800),
            delivered: Bytes::new(1),
            newly_lost: Bytes::ZERO,
            prior_in_flight: Bytes::new(1000),
            in_flight: Bytes::new(999),
            snd_una: 1,
            snd_nxt: 1000,
            advanced: true,
            bytes_sent: 1000,
            latest_rtt: Some(rtt),
            srtt: rtt,
            min_rtt: rtt,
            rate: None,
            cwnd_limited: true,
            app_limited: false,
            phase: crate::Phase::Open,
            paced: false,
            pacing_rate: units::Rate::MAX,
        };
        // Twice 11.447 s since the last long queue, which was at 0 s.
        assert_eq!(abba.decide(&ack, &window), None);
        ack.now = Instant::from_millis(22_900);
        let decision = abba.decide(&ack, &window).expect("it recalibrates");
        assert_eq!(
            (decision.cwnd, decision.ssthresh),
            (window.cwnd, Bytes::MAX)
        );
        assert!(abba.now.recalibrating && abba.now.cwnd_epoch.is_none());
    }
}
