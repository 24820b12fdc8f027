//! The signals of congestion: excess of RTT, losses and marks (sections "Handling of congestion
//! signals" and "Applying congestion signals").

use units::Duration;

use super::{C4, LEAST_MAX_RTT, ONE, RECOVERY, SLOWER_RECOVERY, SMOOTHING, State, UNIT};
use crate::{Ack, ExitReason};

/// The largest reduction, `beta`.
const BETA: u64 = ONE / 4;
/// Sensitivity at 50 kB/s is zero, at 1 MB/s 0.92, at 10 MB/s one.
const SENSITIVITY: [(u64, u64); 3] = [(400_000, 0), (8_000_000, ONE * 92 / 100), (80_000_000, ONE)];
const MAX_DELAY_THRESHOLD: Duration = Duration::from_millis(25);
/// Eras without growth after which delay and marks end Initial.
const ERAS_BEFORE_DELAY: u32 = 2;
/// Segments that must have arrived before a loss ends Initial.
const SEGMENTS_BEFORE_LOSS: u64 = 20;

/// A signal of congestion.
#[derive(Clone, Copy, Debug)]
pub(super) enum Signal {
    Loss,
    /// The excess over the threshold, as a fraction of it in [`ONE`]s.
    Marks(u64),
    /// The same, with the RTT, what it could be, and the nominal max RTT.
    Delay(u64, [Duration; 3]),
}

impl C4 {
    /// The sensitivity, in [`ONE`]s.
    fn sensitivity(&self) -> u64 {
        let rate = self.nominal_rate.bits_per_sec();
        for pair in SENSITIVITY.windows(2) {
            let ((from, low), (to, high)) = (pair[0], pair[1]);
            if rate < to {
                return low + rate.saturating_sub(from) * (high - low) / (to - from);
            }
        }
        ONE
    }

    fn delay_threshold(&self) -> Duration {
        let fraction = ONE + 3 * (ONE - self.sensitivity());
        let threshold = self.nominal_max_rtt.mul_div(fraction, 16 * ONE);
        threshold.min(MAX_DELAY_THRESHOLD)
    }

    /// The signal of this ACK.
    pub(super) fn signal(&mut self, ack: &Ack) -> Option<Signal> {
        let sensitivity = self.sensitivity();
        if core::mem::take(&mut self.saw_loss) {
            let threshold = ONE * 2 / 100 + (ONE - sensitivity) / 2;
            if self.loss > threshold {
                return Some(Signal::Loss);
            }
        }
        self.counted += ack.delivered;
        let has_news = if self.is_picoquic() {
            !self.marked.is_zero()
        } else {
            self.has_marks
        };
        if has_news {
            self.follow_marks();
            let threshold = (2 * ONE - sensitivity) * 3 / 32;
            if self.ecn_alpha > threshold {
                return Some(Signal::Marks(
                    (self.ecn_alpha - threshold) * ONE / threshold,
                ));
            }
        }
        let rtt = ack.latest_rtt?;
        let threshold = self.delay_threshold();
        let most = self.nominal_max_rtt + threshold;
        if self.is_picoquic() && self.state != State::Initial && self.era.alpha_previous <= UNIT {
            return None;
        }
        (rtt > most && !threshold.is_zero()).then(|| {
            let excess = (rtt - most).as_nanos().min(threshold.as_nanos());
            let seen = [rtt, most, self.nominal_max_rtt];
            Signal::Delay(excess * ONE / threshold.as_nanos(), seen)
        })
    }

    /// Follows the fraction of marks in what was counted since the last call.
    pub(super) fn follow_marks(&mut self) {
        let counted = core::mem::take(&mut self.counted);
        let marked = core::mem::take(&mut self.marked).min(counted);
        if counted.is_zero() {
            return;
        }
        let fraction = marked.get() * ONE / counted.get();
        let jumps = fraction >= ONE / 2 && (fraction > self.ecn_alpha || !self.is_picoquic());
        self.ecn_alpha = if jumps {
            fraction
        } else {
            (self.ecn_alpha * (SMOOTHING - 1) + fraction) / SMOOTHING
        };
    }

    pub(super) fn on_signal(&mut self, signal: Signal, ack: &Ack) {
        match self.state {
            State::Initial => self.on_initial_signal(signal, ack),
            State::Recovery => {
                self.is_congested = true;
                if self.is_picoquic() && self.alpha == RECOVERY {
                    self.alpha = SLOWER_RECOVERY;
                    self.era.sequence = ack.snd_nxt;
                }
            }
            State::Cruising => {
                self.reduce(signal);
                self.enter_recovery(true, ack.snd_nxt);
            }
            State::Resuming => {
                self.leave_slow_start(reason_of(signal), ack);
                self.enter_recovery(true, ack.snd_nxt);
            }
            State::Probing | State::Pushing => self.enter_recovery(true, ack.snd_nxt),
        }
    }

    fn on_initial_signal(&mut self, signal: Signal, ack: &Ack) {
        let may_exit = match signal {
            Signal::Loss => self.received.segments(self.smss) > SEGMENTS_BEFORE_LOSS,
            Signal::Marks(_) | Signal::Delay(..) => self.eras_no_increase >= ERAS_BEFORE_DELAY,
        };
        if may_exit {
            self.exit_initial(reason_of(signal), ack);
        }
    }

    /// Lowers the nominal rate.
    fn reduce(&mut self, signal: Signal) {
        let beta = match signal {
            Signal::Loss if self.is_picoquic() => (BETA + BETA * self.sensitivity() / ONE) / 2,
            Signal::Loss => BETA,
            Signal::Marks(excess) | Signal::Delay(excess, ..) => excess.min(BETA),
        };
        self.nominal_rate = self.nominal_rate.mul_div(ONE - beta, ONE);
        if self.is_picoquic() && matches!(signal, Signal::Loss) {
            let max_rtt = self.nominal_max_rtt.mul_div(ONE - beta, ONE);
            self.nominal_max_rtt = max_rtt.max(LEAST_MAX_RTT);
        }
    }
}

fn reason_of(signal: Signal) -> ExitReason {
    match signal {
        Signal::Loss => ExitReason::Loss,
        Signal::Marks(_) => ExitReason::Ecn,
        Signal::Delay(_, [rtt, threshold, base]) => ExitReason::Delay {
            rtt,
            threshold,
            base,
            samples: 0,
        },
    }
}
