//! ProbeRTT: half a BDP in flight for 200 ms, if no RTT as small was measured for 5 s (section
//! "ProbeRTT").

use units::{Bytes, Duration, Instant};

use super::model::Sample;
use super::{AckPhase, Bbr3, State};
use crate::Ack;

/// `BBR.MinRTTFilterLen`.
const MIN_RTT_FILTER_LEN: Duration = Duration::from_secs(10);
/// `BBR.ProbeRTTInterval`.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// `BBR.ProbeRTTDuration`.
const PROBE_RTT_DURATION: Duration = Duration::from_millis(200);

/// The state of ProbeRTT.
#[derive(Clone, Debug, Default)]
pub struct ProbeRtt {
    /// `BBR.probe_rtt_done_stamp`.
    done: Option<Instant>,
    round_done: bool,
    /// Samples of segments sent between these totals of delivered data are application-limited.
    limited: Option<(Bytes, Bytes)>,
}

impl ProbeRtt {
    /// Whether ProbeRTT limited a segment sent when the total was `delivered`.
    #[inline]
    pub fn limited(&self, delivered: Bytes) -> bool {
        self.limited
            .is_some_and(|(from, to)| (from..=to).contains(&delivered))
    }
}

impl Bbr3 {
    /// `UpdateMinRTT`.
    pub(super) fn update_min_rtt(&mut self, ack: &Ack) {
        let min = &mut self.min_rtt;
        min.probe_rtt_expired = ack.now > min.probe_rtt_min_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.latest_rtt
            && (rtt < min.probe_rtt_min_delay || min.probe_rtt_expired)
        {
            min.probe_rtt_min_delay = rtt;
            min.probe_rtt_min_stamp = ack.now;
        }
        let expired = ack.now > min.stamp + MIN_RTT_FILTER_LEN;
        if min.probe_rtt_min_delay < min.min_rtt || expired {
            min.min_rtt = min.probe_rtt_min_delay;
            min.stamp = min.probe_rtt_min_stamp;
        }
    }

    /// `CheckProbeRTT`.
    pub(super) fn check_probe_rtt(&mut self, ack: &Ack, sample: &Sample) {
        if self.state != State::ProbeRtt && self.min_rtt.probe_rtt_expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.probe_rtt = ProbeRtt::default();
            self.cycle.ack_phase = AckPhase::ProbeStopping;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(ack);
        }
        if !sample.delivered.is_zero() {
            self.idle_restart = false;
        }
    }

    /// `HandleProbeRTT`.
    fn handle_probe_rtt(&mut self, ack: &Ack) {
        let from = self
            .probe_rtt
            .limited
            .map_or(self.delivered, |(from, _)| from);
        let until = (self.delivered + ack.in_flight).max(Bytes::new(1));
        self.probe_rtt.limited = Some((from, until));
        if self.probe_rtt.done.is_none() {
            if ack.in_flight <= self.probe_rtt_cwnd() {
                self.probe_rtt.done = Some(ack.now + PROBE_RTT_DURATION);
                self.probe_rtt.round_done = false;
                self.start_round();
            }
            return;
        }
        self.probe_rtt.round_done |= self.rounds.start;
        if self.probe_rtt.round_done {
            self.check_probe_rtt_done(ack.now);
        }
    }

    /// `CheckProbeRTTDone` and `ExitProbeRTT`.
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.probe_rtt.done.is_none_or(|done| now <= done) {
            return;
        }
        self.min_rtt.probe_rtt_min_stamp = now;
        self.restore_cwnd();
        self.short_term.reset();
        if self.full_bw.reached {
            self.start_probe_bw_down(now);
            self.start_probe_bw_cruise();
        } else {
            self.enter_startup();
        }
    }
}
