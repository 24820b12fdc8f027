//! The sender's knowledge of the round-trip time: the estimator behind the timeout (RFC 6298), the
//! smallest sample of the last five minutes, and the samples of the ACKs (Linux 6.12
//! `tcp_ack_update_rtt`).
//!
//! Assumes that the caller omits ambiguous samples (Karn's rule).

use units::{Duration, Instant};

use crate::min_filter::{MIN_RTT_WINDOW, MinFilter};
use crate::rack::timestamp;
use crate::rtt::RttEstimator;

/// The samples of an ACK.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttSample {
    /// Of the oldest and of the newest segment that it acknowledged.
    pub(crate) oldest: Duration,
    pub(crate) newest: Duration,
    /// The receiver may have delayed the ACK: such a sample may lower the minimum, and never renews
    /// it.
    pub(crate) maybe_delayed: bool,
}

/// The estimates derived from the samples.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrip {
    estimator: RttEstimator,
    min_filter: MinFilter,
    min: Option<Duration>,
    latest: Option<Duration>,
    /// The sample of the ACK handled last.
    of_ack: Option<Duration>,
}

impl RoundTrip {
    /// An estimator without samples. `rto_min` is the floor of the variance term.
    pub(crate) fn new(rto_min: Duration) -> Self {
        Self {
            estimator: RttEstimator::new(rto_min),
            min_filter: MinFilter::new(MIN_RTT_WINDOW),
            min: None,
            latest: None,
            of_ack: None,
        }
    }

    /// Begins an ACK, which has not given a sample yet.
    #[inline]
    pub(crate) const fn begin_ack(&mut self) {
        self.of_ack = None;
    }

    /// Takes the samples of an ACK. `snd_una` and `snd_nxt` mark the end of a round trip. Returns
    /// the resulting retransmission timeout.
    #[inline(always)]
    pub(crate) fn on_sample(
        &mut self,
        now: Instant,
        sample: RttSample,
        snd_una: u64,
        snd_nxt: u64,
    ) -> Duration {
        let newest = sample.newest;
        if !(sample.maybe_delayed && self.min.is_some_and(|min| newest > min)) {
            self.min = Some(self.min_filter.update(now, newest));
        }
        self.latest = Some(newest);
        self.of_ack = Some(newest);
        self.estimator.on_sample(sample.oldest, snd_una, snd_nxt);
        self.estimator.rto()
    }

    /// The floor of the variance term.
    #[inline]
    pub(crate) const fn rto_min(&self) -> Duration {
        self.estimator.rto_min()
    }

    /// The smoothed RTT.
    #[inline]
    pub(crate) const fn srtt(&self) -> Option<Duration> {
        self.estimator.srtt()
    }

    /// The smoothed RTT in microseconds; zero before the first sample.
    #[inline]
    pub(crate) const fn srtt_micros(&self) -> u64 {
        self.estimator.srtt_micros()
    }

    /// The smallest sample of the last five minutes.
    #[inline]
    pub(crate) const fn min(&self) -> Option<Duration> {
        self.min
    }

    /// The latest sample of any ACK.
    #[inline]
    pub(crate) const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    /// The sample of the current or last ACK, if it gave one.
    #[inline]
    pub(crate) const fn of_ack(&self) -> Option<Duration> {
        self.of_ack
    }
}

/// The round-trip time from a timestamp echo, to a millisecond. `None` without an echo (`ts_ecr`
/// zero).
pub(crate) fn echoed_rtt(now: Instant, ts_ecr: u32) -> Option<Duration> {
    if ts_ecr == 0 {
        return None;
    }
    let elapsed = timestamp(now).wrapping_sub(ts_ecr) as i32;
    u64::try_from(elapsed)
        .ok()
        .map(|ms| Duration::from_millis(ms.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delayed_ack_may_lower_the_minimum_and_never_renews_it() {
        let mut rtt = RoundTrip::new(crate::rtt::RTO_MIN);
        let mut take = |seconds: u64, millis: u64, maybe_delayed: bool| {
            let newest = Duration::from_millis(millis);
            let sample = RttSample {
                oldest: newest,
                newest,
                maybe_delayed,
            };
            rtt.begin_ack();
            rtt.on_sample(Instant::from_secs(seconds), sample, 0, 0);
            assert_eq!((rtt.latest(), rtt.of_ack()), (Some(newest), Some(newest)));
            rtt.min()
        };
        assert_eq!(take(0, 100, true), Some(Duration::from_millis(100)));
        assert_eq!(take(1, 90, true), Some(Duration::from_millis(90)));
        // After the filter's window has passed, only a sample that was not delayed may replace the
        // minimum.
        assert_eq!(take(400, 140, true), Some(Duration::from_millis(90)));
        assert_eq!(take(401, 100, false), Some(Duration::from_millis(100)));
    }
}
