//! Round-trip time estimation and the retransmission timeout, as in Linux.
//!
//! Linux 6.12 `tcp_rtt_estimator`, `tcp_set_rto` and `tcp_bound_rto`, in integer microseconds.
//! `srtt` is stored times eight, `mdev` and `rttvar` times four. A falling RTT raises the mean
//! deviation eight times more slowly than a rising one. The variance term decays once per round
//! trip and never falls below `rto_min`, so that `rto >= srtt + rto_min`.
//!
//! ## Deviations
//!
//! - Linux rounds the timeout up to its timer tick (1, 4 or 10 ms). Here the timeout is exact to
//!   the microsecond, as if the tick were one; [`Tick`](crate::Tick) rounds it where a host has one.
//! - RFC 6298 weighs falling samples differently, decays the variance with each sample, and has a
//!   floor of one second on the whole timeout. [`RttEstimator::rfc6298`] implements that form.

use units::Duration;

/// Timeout of the SYN, and of data before any sample (`TCP_TIMEOUT_INIT`; RFC 6298 section 2.1).
// RFC6298-2a
pub const RTO_INITIAL: Duration = Duration::from_secs(1);
/// Timeout after a handshake that gave no sample (`TCP_TIMEOUT_FALLBACK`).
pub const RTO_FALLBACK: Duration = Duration::from_secs(3);
/// Largest timeout (`TCP_RTO_MAX`).
pub const RTO_MAX: Duration = Duration::from_secs(120);
/// Default floor of the variance term (`TCP_RTO_MIN`).
pub const RTO_MIN: Duration = Duration::from_millis(200);

/// Larger samples are clamped: far beyond any timeout, and safe from overflow when scaled.
const LONGEST_SAMPLE_US: i64 = 1 << 40;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Linux,
    Rfc6298,
}

/// Smoothed RTT, its variation, and the resulting timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttEstimator {
    form: Form,
    rto_min_us: i64,
    /// Eight times the smoothed RTT in microseconds; zero before the first sample.
    srtt_x8: i64,
    /// Four times the mean deviation in microseconds.
    mdev_x4: i64,
    /// Largest `mdev_x4` of this round trip.
    mdev_max_x4: i64,
    /// Four times the variation that the timeout uses.
    rttvar_x4: i64,
    /// The round trip ends when `snd_una` passes this offset.
    rtt_seq: u64,
}

impl RttEstimator {
    /// Linux's estimator; `rto_min` is the floor of the variance term ([`RTO_MIN`]).
    #[must_use]
    pub const fn new(rto_min: Duration) -> Self {
        Self {
            form: Form::Linux,
            rto_min_us: rto_min.as_micros() as i64,
            srtt_x8: 0,
            mdev_x4: 0,
            mdev_max_x4: 0,
            rttvar_x4: 0,
            rtt_seq: 0,
        }
    }

    /// The estimator of RFC 6298 section 2, with a floor of `rto_min` (in the RFC: one second) on
    /// the whole timeout and a clock granularity of one microsecond.
    #[must_use]
    pub const fn rfc6298(rto_min: Duration) -> Self {
        let mut estimator = Self::new(rto_min);
        estimator.form = Form::Rfc6298;
        estimator
    }

    /// Takes one sample. `snd_una` and `snd_nxt` (offsets) determine when a round trip has passed.
    #[inline]
    pub fn on_sample(&mut self, rtt: Duration, snd_una: u64, snd_nxt: u64) {
        // A duration has less than 2^55 us.
        let sample = (rtt.as_micros() as i64).min(LONGEST_SAMPLE_US);
        if self.srtt_x8 == 0 {
            // RFC6298-2b
            self.srtt_x8 = sample * 8;
            self.mdev_x4 = sample * 2;
            self.rttvar_x4 = match self.form {
                Form::Linux => self.mdev_x4.max(self.rto_min_us),
                Form::Rfc6298 => self.mdev_x4,
            };
            self.mdev_max_x4 = self.rttvar_x4;
            self.rtt_seq = snd_nxt;
        } else {
            let error = sample - (self.srtt_x8 >> 3);
            // RFC6298-2c
            self.srtt_x8 += error;
            match self.form {
                Form::Linux => self.update_deviation(error, snd_una, snd_nxt),
                Form::Rfc6298 => self.rttvar_x4 += error.abs() - (self.rttvar_x4 >> 2),
            }
        }
        // Zero means that there is no sample.
        self.srtt_x8 = self.srtt_x8.max(1);
    }

    #[inline]
    fn update_deviation(&mut self, error: i64, snd_una: u64, snd_nxt: u64) {
        let change = error.abs() - (self.mdev_x4 >> 2);
        // The sign of the error is chance, so no branch depends on it.
        let is_slow = (error < 0) & (change > 0);
        self.mdev_x4 += change >> (3 * u32::from(is_slow));
        if self.mdev_x4 > self.mdev_max_x4 {
            self.mdev_max_x4 = self.mdev_x4;
            self.rttvar_x4 = self.rttvar_x4.max(self.mdev_max_x4);
        }
        if snd_una > self.rtt_seq {
            if self.mdev_max_x4 < self.rttvar_x4 {
                self.rttvar_x4 -= (self.rttvar_x4 - self.mdev_max_x4) >> 2;
            }
            self.rtt_seq = snd_nxt;
            self.mdev_max_x4 = self.rto_min_us;
        }
    }

    /// The floor of the variance term.
    #[inline]
    #[must_use]
    pub const fn rto_min(&self) -> Duration {
        Duration::from_micros(self.rto_min_us as u64)
    }

    /// The smoothed RTT in microseconds; zero before the first sample.
    #[inline]
    #[must_use]
    pub const fn srtt_micros(&self) -> u64 {
        (self.srtt_x8 >> 3) as u64
    }

    /// The smoothed RTT, once there is a sample.
    #[inline]
    #[must_use]
    pub const fn srtt(&self) -> Option<Duration> {
        if self.srtt_x8 == 0 {
            None
        } else {
            Some(Duration::from_micros((self.srtt_x8 >> 3) as u64))
        }
    }

    /// The variation of the RTT as the timeout uses it, already times four (Linux `rttvar_us`).
    #[must_use]
    pub const fn rttvar(&self) -> Duration {
        Duration::from_micros(self.rttvar_x4 as u64)
    }

    /// The timeout without back-off.
    #[inline]
    #[must_use]
    pub fn rto(&self) -> Duration {
        if self.srtt_x8 == 0 {
            return RTO_INITIAL;
        }
        let sum = (self.srtt_x8 >> 3) + self.rttvar_x4;
        // RFC6298-2d
        let micros = match self.form {
            Form::Linux => sum,
            Form::Rfc6298 => sum.max(self.rto_min_us),
        };
        Duration::from_micros((micros as u64).min(RTO_MAX.as_micros()))
    }

    /// The timeout after `expirations` consecutive expirations, each of which doubles it up to
    /// [`RTO_MAX`].
    #[must_use]
    pub fn rto_backed_off(&self, expirations: u32) -> Duration {
        back_off(self.rto(), expirations)
    }
}

/// `rto` doubled `expirations` times, at most [`RTO_MAX`].
#[must_use]
pub fn back_off(rto: Duration, expirations: u32) -> Duration {
    // 2^20 times any valid timeout exceeds the maximum; a timeout of zero stays zero.
    (rto * (1 << expirations.min(20))).min(RTO_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// One sample per round trip (milliseconds in, microseconds of timeout out).
    fn timeouts(estimator: &mut RttEstimator, samples: &[u64]) -> Vec<u64> {
        let step = |(round, ms): (usize, &u64)| {
            let (snd_una, snd_nxt) = (round as u64 * 1_000, round as u64 * 1_000 + 999);
            estimator.on_sample(Duration::from_millis(*ms), snd_una, snd_nxt);
            estimator.rto().as_micros()
        };
        samples.iter().enumerate().map(step).collect()
    }

    fn linux(samples: &[u64]) -> Vec<u64> {
        timeouts(&mut RttEstimator::new(RTO_MIN), samples)
    }

    /// To a tenth of a millisecond, the precision of the reference values.
    fn tenths(micros: &[u64]) -> Vec<u64> {
        micros.iter().map(|us| (us + 50) / 100).collect()
    }

    // Tests RFC6298-2a
    #[test]
    fn before_any_sample() {
        let estimator = RttEstimator::new(RTO_MIN);
        assert_eq!(estimator.srtt(), None);
        assert_eq!(estimator.rto(), RTO_INITIAL);
    }

    // Tests RFC6298-2b
    #[test]
    fn first_sample() {
        for (ms, rto) in [(10, 210), (50, 250), (100, 300), (150, 450), (300, 900)] {
            assert_eq!(linux(&[ms]), [rto * 1_000], "first RTT {ms} ms");
        }
    }

    #[test]
    fn steady_samples_let_the_variation_decay() {
        assert_eq!(
            tenths(&linux(&[300; 8])),
            [9000, 9000, 8344, 7641, 6980, 6485, 6114, 5836]
        );
    }

    #[test]
    fn one_late_sample() {
        assert_eq!(
            tenths(&linux(&[100, 100, 200, 100, 100])),
            [3000, 3000, 3250, 3203, 3166]
        );
    }

    #[test]
    fn the_variance_term_never_falls_below_its_floor() {
        let rto = linux(&[100; 200]);
        assert_eq!(rto.last(), Some(&300_000));
        assert!(rto.iter().all(|us| *us >= 300_000));
    }

    #[test]
    fn several_samples_in_one_round_trip_decay_nothing() {
        let mut estimator = RttEstimator::new(RTO_MIN);
        for _ in 0..50 {
            estimator.on_sample(Duration::from_millis(300), 0, 10_000);
        }
        assert_eq!(estimator.rto(), Duration::from_millis(900));
    }

    #[test]
    fn a_round_trip_ends_when_its_mark_is_passed_not_reached() {
        let mut estimator = RttEstimator::new(RTO_MIN);
        let mut sample = |snd_una, snd_nxt| {
            estimator.on_sample(Duration::from_millis(300), snd_una, snd_nxt);
            estimator.rto().as_millis()
        };
        assert_eq!(
            [sample(0, 1_000), sample(1_001, 2_000), sample(2_000, 3_000)],
            [900; 3]
        );
        assert!(sample(2_001, 4_000) < 900);
    }

    // Tests RFC6298-2c
    #[test]
    fn falling_samples_raise_the_deviation_eight_times_more_slowly() {
        let deviation_after = |ms| {
            let mut estimator = RttEstimator::new(RTO_MIN);
            for _ in 0..40 {
                estimator.on_sample(Duration::from_millis(500), 0, 1);
            }
            let before = estimator.mdev_x4;
            estimator.on_sample(Duration::from_millis(ms), 0, 1);
            estimator.mdev_x4 - before
        };
        let (up, down) = (deviation_after(700), deviation_after(300));
        assert!(up > 0 && (up / 8 - down).abs() <= 1, "up {up} down {down}");
    }

    // Tests RFC6298-2b, RFC6298-2c, RFC6298-2d
    #[test]
    fn rfc_6298() {
        let mut estimator = RttEstimator::rfc6298(Duration::ZERO);
        assert_eq!(
            timeouts(&mut estimator, &[300; 4]),
            [900_000, 750_000, 637_500, 553_125]
        );
        let mut estimator = RttEstimator::rfc6298(Duration::from_secs(1));
        assert_eq!(timeouts(&mut estimator, &[300; 4]), [1_000_000; 4]);
    }

    #[test]
    fn back_off_doubles_up_to_two_minutes() {
        let mut estimator = RttEstimator::new(RTO_MIN);
        estimator.on_sample(Duration::from_millis(100), 0, 0);
        assert_eq!(estimator.rto_backed_off(0), Duration::from_millis(300));
        assert_eq!(estimator.rto_backed_off(3), Duration::from_millis(2_400));
        assert_eq!(estimator.rto_backed_off(9), RTO_MAX);
        assert_eq!(estimator.rto_backed_off(u32::MAX), RTO_MAX);
    }

    #[test]
    fn absurd_samples_do_not_overflow() {
        let mut estimator = RttEstimator::new(RTO_MIN);
        for rtt in [
            Duration::MAX,
            Duration::ZERO,
            Duration::MAX,
            Duration::from_nanos(1),
        ] {
            estimator.on_sample(rtt, u64::MAX, u64::MAX);
            assert!(estimator.rto() <= RTO_MAX);
        }
        let mut estimator = RttEstimator::new(RTO_MIN);
        estimator.on_sample(Duration::ZERO, 0, 0);
        assert_eq!(
            (estimator.srtt(), estimator.rto()),
            (Some(Duration::ZERO), RTO_MIN)
        );
    }
}
