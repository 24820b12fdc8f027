//! HyStart as in the paper (Ha and Rhee 2011), and as ported to ns-2 (Shahgir).
//!
//! *The paper* (Ha and Rhee 2011). A round ends when the data outstanding at its start is
//! acknowledged. A train as long as half the smallest RTT ends slow start (`>=`, no allowance,
//! paced or not). So does a round whose smallest of the first eight RTTs is a sixteenth (rounded
//! up, 2 to 8 ms) above that of the *previous round*. Below 16 segments neither counts.
//!
//! *The port* (Shahgir, `tcp_cubic.c` of ns-2.35). Trains allow 4 ms between ACKs and end slow
//! start above half the smallest RTT; the delay test is Linux's. The ACK that opens a round is
//! neither a member of the train nor a sample, and does not update the smallest RTT, so the tenth
//! ACK of a round is the first that decides. There is no low window, and nothing rearms the
//! detectors. In ns-2.35, `measure_delay` keeps the smallest RTT in eighths of a millisecond, and the
//! excerpt compares half of that number with microseconds: `variant=ns2-units`. A train then needs
//! four microseconds for each millisecond of the RTT, so two ACKs within 4 ms are one.
//!
//! # Deviations
//! - The paper's clamps and its ratio of 1/16 are taken from two independent programs that quote
//!   it. The paper uses milliseconds; microseconds are used here.
//! - The published excerpt of the port resets the round's smallest RTT to 2^32 - 1 and never shows
//!   it being lowered. `variant=ns2` assumes that the measurement function it calls lowers it;
//!   `variant=ns2-excerpt` follows the excerpt literally, so that the first test of a round always
//!   ends slow start. Test: `hystart_variants.rs` (`the_excerpt_leaves_at_the_tenth_ack`).
//! - The port does not say whether its author converted the unit: `variant=ns2` assumes it. With
//!   `variant=ns2-units` the delay test still compares times of one unit, because nothing shows what
//!   the round's smallest RTT is measured in. Test: `hystart_variants.rs`
//!   (`in_the_units_of_ns2_two_acks_are_a_train`).
//! - `measure_delay` of ns-2.35 measures nothing in the first second of a simulation. Here it does.
//! - The port also runs when window and threshold are equal; here that is not slow start.

use units::Duration;

use super::{HyStart, HyStartVariant};
use crate::{Ack, ExitReason, Window};

/// The port's round minimum until something lowers it, in microseconds.
const UNMEASURED: u64 = u32::MAX as u64;

impl HyStart {
    pub(super) fn detect_as_paper(
        &mut self,
        rtt: u64,
        ack: &Ack,
        window: &Window,
    ) -> Option<ExitReason> {
        self.observe(rtt);
        if self.found {
            return None;
        }
        let now = ack.now.as_micros();
        if ack.snd_una >= self.end_seq {
            self.last_rtt = self.curr_rtt;
            self.begin_round(now, ack.snd_nxt);
        }
        let mut reason = None;
        if self.config.train && self.extends_train(now) {
            let (train, threshold) = (self.round_length(now), self.delay_min / 2);
            reason = (train >= threshold && train > 0).then_some(ExitReason::AckTrain {
                train: Duration::from_micros(train),
                threshold: Duration::from_micros(threshold),
            });
        }
        if self.config.delay && self.sample_cnt < self.config.min_samples {
            self.lower_round_min(rtt);
            self.sample_cnt += 1;
        }
        let judged = self.config.delay && self.sample_cnt >= self.config.min_samples;
        if reason.is_none() && judged && self.last_rtt != u64::MAX {
            let threshold = self.last_rtt + self.increase(self.last_rtt.div_ceil(16));
            reason = (self.curr_rtt >= threshold).then_some(ExitReason::Delay {
                rtt: Duration::from_micros(self.curr_rtt),
                threshold: Duration::from_micros(threshold),
                base: Duration::from_micros(self.last_rtt),
                samples: self.config.min_samples,
            });
        }
        reason.filter(|_| window.cwnd_segments() >= u64::from(self.config.low_window))
    }

    pub(super) fn detect_as_port(
        &mut self,
        rtt: u64,
        ack: &Ack,
        window: &Window,
    ) -> Option<ExitReason> {
        if self.found || window.cwnd_segments() < u64::from(self.config.low_window) {
            return None;
        }
        let now = ack.now.as_micros();
        if ack.snd_una > self.end_seq {
            self.begin_round(now, ack.snd_nxt);
            self.curr_rtt = UNMEASURED;
            return None;
        }
        self.observe(rtt);
        if self.config.train && self.extends_train(now) {
            let smallest = match self.config.variant {
                // Whole milliseconds, times eight; a delay of zero counts as one.
                HyStartVariant::Ns2Units => (self.delay_min / 1_000 * 8).max(1),
                _ => self.delay_min,
            };
            let (train, threshold) = (self.round_length(now), smallest / 2);
            if train > threshold {
                return Some(ExitReason::AckTrain {
                    train: Duration::from_micros(train),
                    threshold: Duration::from_micros(threshold),
                });
            }
        }
        if !self.config.delay {
            return None;
        }
        if self.config.variant != HyStartVariant::Ns2Excerpt {
            self.lower_round_min(rtt);
        }
        self.judge_delay()
    }
}
