//! ACK aggregation: the excess of acknowledged data over the estimate (Linux
//! `bbr_update_ack_aggregation`).
//!
//! A receiver or a link that holds ACKs back and then releases them would starve a window of
//! exactly two BDP; BBR adds the excess of the last 5 to 10 rounds to the window.

use units::{Duration, Instant};

use super::rate;

/// `bbr_extra_acked_win_rtts`: rounds of one slot; the maximum covers two.
const SLOT_ROUNDS: u64 = 5;
/// `bbr_ack_epoch_acked_reset_thresh`: an epoch ends after this many segments.
const EPOCH_LIMIT: u64 = 1 << 20;
/// `bbr_extra_acked_max_us`: at most the data of this time is added.
const MOST: Duration = Duration::from_millis(100);

/// The excess of ACKs over the bandwidth estimate.
#[derive(Clone, Debug)]
pub struct Aggregation {
    epoch: Instant,
    acked: u64,
    extra: [u64; 2],
    slot: usize,
    rounds: u64,
}

impl Aggregation {
    pub fn new(now: Instant) -> Self {
        Self {
            epoch: now,
            acked: 0,
            extra: [0; 2],
            slot: 0,
            rounds: 0,
        }
    }

    /// An ACK with a bandwidth sample delivered `acked` segments.
    pub fn on_ack(
        &mut self,
        now: Instant,
        acked: u64,
        bandwidth: u64,
        cwnd: u64,
        round_start: bool,
    ) {
        if acked == 0 {
            return;
        }
        if round_start {
            self.rounds += 1;
            if self.rounds >= SLOT_ROUNDS {
                self.rounds = 0;
                self.slot = 1 - self.slot;
                self.extra[self.slot] = 0;
            }
        }
        let mut expected = rate::segments_in(bandwidth, now.saturating_since(self.epoch));
        if self.acked <= expected || self.acked + acked >= EPOCH_LIMIT {
            self.restart(now);
            expected = 0;
        }
        self.acked = (self.acked + acked).min(EPOCH_LIMIT - 1);
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.extra[self.slot] = self.extra[self.slot].max(extra);
    }

    /// Restarts the count when sending resumes.
    pub fn restart(&mut self, now: Instant) {
        self.epoch = now;
        self.acked = 0;
    }

    /// `bbr_ack_aggregation_cwnd`: the addition to the window, in segments.
    pub fn window(&self, bandwidth: u64) -> u64 {
        let extra = self.extra[0].max(self.extra[1]);
        extra.min(rate::segments_in(bandwidth, MOST))
    }
}
