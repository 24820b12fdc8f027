//! Token-bucket policers: Linux's long-term bandwidth (`bbr_lt_bw_sampling`).
//!
//! Two consecutive intervals, each of 4 to 16 rounds ending in loss, with at least 19.5 % lost and
//! about the same rate, indicate a policer at that rate. BBR then sends at that rate for 48 rounds.

use units::{Bytes, Duration, Instant, Rate};

use super::rate;

/// `bbr_lt_intvl_min_rtts`.
const SHORTEST: u64 = 4;
/// An interval is abandoned after four times the shortest.
const LONGEST: u64 = 4 * SHORTEST;
/// `bbr_lt_loss_thresh`: lost segments per delivered segment, in 1/256.
const LOSS_THRESHOLD: u64 = 50;
/// `bbr_lt_bw_ratio`: the rates of two intervals differ by at most 1/8 ...
const RATIO: u64 = rate::UNIT / 8;
/// `bbr_lt_bw_diff`: ... or by at most 4 kbit/s.
const DIFFERENCE: Rate = Rate::from_bits_per_sec(4_000);
/// `bbr_lt_bw_max_rtts`: rounds of PROBE_BW at the policed rate.
const ROUNDS: u64 = 48;

/// Input of the policer detector from an ACK with a bandwidth sample; counts in segments.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    pub now: Instant,
    pub round_start: bool,
    pub app_limited: bool,
    /// Whether the ACK marked losses.
    pub losses: bool,
    /// Totals of the connection.
    pub delivered: u64,
    pub lost: u64,
    /// Whether BBR is in PROBE_BW.
    pub probing: bool,
    pub smss: Bytes,
}

/// The policer detector.
#[derive(Clone, Debug, Default)]
pub struct Policer {
    sampling: bool,
    /// The rate in use is `bandwidth`.
    active: bool,
    /// Bandwidth of the last interval; zero if there was none.
    bandwidth: u64,
    rounds: u64,
    start: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The policed bandwidth, while it is in use.
    #[inline]
    pub fn bandwidth(&self) -> Option<u64> {
        self.active.then_some(self.bandwidth)
    }

    /// Processes an ACK; true if the policed rate was used long enough and probing begins again.
    pub fn on_ack(&mut self, seen: &Seen) -> bool {
        if self.active {
            if seen.probing && seen.round_start {
                self.rounds += 1;
                if self.rounds >= ROUNDS {
                    self.reset(seen);
                    return true;
                }
            }
            return false;
        }
        if !self.sampling {
            if !seen.losses {
                return false;
            }
            self.begin(seen);
            self.sampling = true;
        }
        if seen.app_limited {
            self.reset(seen);
            return false;
        }
        self.rounds += u64::from(seen.round_start);
        if self.rounds > LONGEST {
            self.reset(seen);
        } else if self.rounds >= SHORTEST && seen.losses {
            self.end(seen);
        }
        false
    }

    /// An interval may end with this loss.
    fn end(&mut self, seen: &Seen) {
        let delivered = seen.delivered.saturating_sub(self.delivered);
        let lost = seen.lost.saturating_sub(self.lost);
        if delivered == 0 || lost << 8 < LOSS_THRESHOLD * delivered {
            return;
        }
        let millis = seen.now.as_millis() - self.start.as_millis();
        if millis == 0 {
            return;
        }
        let bandwidth = rate::bandwidth(delivered, Duration::from_millis(millis));
        let difference = bandwidth.abs_diff(self.bandwidth);
        let near = difference * rate::UNIT <= RATIO * self.bandwidth
            || rate::pacing_rate(difference, rate::UNIT, seen.smss) <= DIFFERENCE;
        if self.bandwidth != 0 && near {
            self.bandwidth = u64::midpoint(bandwidth, self.bandwidth);
            self.active = true;
            self.rounds = 0;
            return;
        }
        self.bandwidth = bandwidth;
        self.begin(seen);
    }

    /// Begins an interval.
    fn begin(&mut self, seen: &Seen) {
        self.start = seen.now;
        self.delivered = seen.delivered;
        self.lost = seen.lost;
        self.rounds = 0;
    }

    /// Resets the detector.
    pub fn reset(&mut self, seen: &Seen) {
        *self = Self::default();
        self.begin(seen);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Feeds `policer` a round of 100 ms that delivers 80 segments and loses `lost`.
    fn round(policer: &mut Policer, seen: &mut Seen, lost: u64) -> bool {
        seen.now += Duration::from_millis(100);
        seen.delivered += 80;
        seen.lost += lost;
        seen.losses = lost > 0;
        policer.on_ack(seen)
    }

    fn start() -> (Policer, Seen) {
        let seen = Seen {
            now: Instant::from_secs(1),
            round_start: true,
            app_limited: false,
            losses: false,
            delivered: 0,
            lost: 0,
            probing: true,
            smss: Bytes::new(1_448),
        };
        (Policer::default(), seen)
    }

    #[test]
    fn two_lossy_intervals_of_one_rate_are_a_policer() {
        let (mut policer, mut seen) = start();
        let mut rounds = 0;
        while policer.bandwidth().is_none() {
            assert!(!round(&mut policer, &mut seen, 20));
            rounds += 1;
        }
        // The interval that the first loss begins counts that round; each takes four.
        assert_eq!(rounds, 8);
        let expected = rate::bandwidth(80, Duration::from_millis(100));
        assert!(
            policer
                .bandwidth()
                .is_some_and(|used| used.abs_diff(expected) <= 1)
        );
        // 48 rounds at that rate, and probing begins again.
        for _ in 1..48 {
            assert!(!round(&mut policer, &mut seen, 0));
        }
        assert!(round(&mut policer, &mut seen, 0));
        assert_eq!(policer.bandwidth(), None);
    }

    #[test]
    fn less_than_a_fifth_lost_is_no_policer() {
        let (mut policer, mut seen) = start();
        for _ in 0..100 {
            // 15 of 80 delivered is 18.75 %, the threshold 19.5 %.
            round(&mut policer, &mut seen, 15);
        }
        assert_eq!(policer.bandwidth(), None);
    }

    #[test]
    fn an_application_pause_begins_anew() {
        let (mut policer, mut seen) = start();
        for step in 0..100 {
            seen.app_limited = step % 5 == 4;
            round(&mut policer, &mut seen, 20);
        }
        assert_eq!(policer.bandwidth(), None);
    }
}
