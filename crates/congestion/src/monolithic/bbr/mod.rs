//! BBR version 1 as in Linux 6.12 (`tcp_bbr.c`): `bbr_main` and what it calls.
//!
//! A model of the path (the largest bandwidth of 10 rounds, the smallest RTT of 10 s) sets the
//! pacing rate and the window; losses do not. A windowed maximum keeps the bandwidth, `rate` does
//! the arithmetic, `aggregation` measures bunched ACKs, `policer` detects policers, and `modes`
//! moves between STARTUP, DRAIN, PROBE_BW and PROBE_RTT. This file computes the pacing rate and the
//! window.
//!
//! The handshake's RTT is the first sample of the RTT filter and sets the pacing rate of the first
//! window. Without it, that pacing rate assumes 1 ms, as in Linux.
//!
//! Assumes delivery-rate samples (`RateSample`) and a sender that paces at the pacing rate.
//!
//! ## Deviations
//!
//! - PROBE_RTT cannot mark the transport as application-limited. Instead, samples of segments sent
//!   while Linux would have it marked count as application-limited here.
//! - The time of the next paced departure, which Linux reads from the socket, is modelled from the
//!   segments sent and the pacing rate. A late departure earns a credit per segment, not per burst.
//! - The phase in which PROBE_BW begins is drawn from the connection's seed.

mod aggregation;
mod modes;
mod policer;
mod rate;

use units::{Bytes, Duration, Instant, Rate};

use self::aggregation::Aggregation;
use self::modes::Mode;
use self::policer::{Policer, Seen};
use crate::monolithic::filter::WindowedMax;
use crate::options::{OptionError, OptionInfo, Options};
use crate::rate_sample::RateSample;
use crate::{
    Ack, BuildContext, Congestion, CongestionControl, CongestionKind, Established, Needs, Phase,
    Sent, SlowStartExit, Window,
};

/// `bbr_high_gain`: 2/ln(2), the smallest gain that doubles the delivery rate each round.
const HIGH_GAIN: u64 = 739;
/// `bbr_bw_rtts`: rounds of the bandwidth filter.
const BANDWIDTH_ROUNDS: u64 = 10;
/// `bbr_cwnd_min_target`, in segments.
const MIN_CWND: u64 = 4;
/// `TCP_INIT_CWND`: the window grows until this many segments are delivered.
const INITIAL_DELIVERED: u64 = 10;
/// Pace of plain BBR, in thousandths of the pacing rate.
const ORDINARY_PACE: u64 = 1_000;

/// Configuration of [`Bbr`]. The name `bbr` has no options; `bbrp` sets the pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BbrConfig {
    /// The rate at which segments leave outside DRAIN and PROBE_RTT, in thousandths of the pacing
    /// rate.
    pub pace_permille: u64,
}

impl Default for BbrConfig {
    fn default() -> Self {
        Self {
            pace_permille: ORDINARY_PACE,
        }
    }
}

impl Options for BbrConfig {
    const OPTIONS: &'static [OptionInfo] = &[];

    fn set(&mut self, _name: &str, _value: &str) -> Result<(), OptionError> {
        Err(OptionError::Unknown)
    }
}

/// BBR version 1. Windows are in segments.
#[derive(Clone, Debug)]
pub struct Bbr {
    /// What it counts in: the segment size that the connection began with.
    smss: Bytes,
    /// The segment size now; see [`CongestionControl::on_mtu`].
    segment: Bytes,
    cwnd: u64,
    ssthresh: Bytes,
    /// The window to restore after recovery or PROBE_RTT.
    prior_cwnd: u64,

    bandwidth: WindowedMax,
    min_rtt: Option<Duration>,
    min_rtt_stamp: Instant,
    aggregation: Aggregation,
    policer: Policer,

    /// Segments delivered and lost so far, as of the last sample.
    delivered: u64,
    lost: u64,
    round: u64,
    round_start: bool,
    /// The round ends with the delivery of a segment sent after this much was delivered.
    next_round_delivered: u64,

    mode: Mode,
    pacing_gain: u64,
    cwnd_gain: u64,
    cycle: modes::Cycle,
    probe_rtt: modes::ProbeRtt,
    full: modes::FullPipe,
    exit: Option<SlowStartExit>,

    pacing_rate: Rate,
    /// See [`BbrConfig::pace_permille`].
    pace_permille: u64,
    seen_rtt: bool,
    /// When pacing allows the next segment.
    next_departure: Instant,
    /// Sending resumed after an application pause, and nothing has been delivered since.
    idle_restart: bool,
    phase: Phase,
    packet_conservation: bool,
}

impl Bbr {
    /// A new connection.
    #[must_use]
    pub fn new(config: impl Into<BbrConfig>, context: &BuildContext) -> Self {
        let smss = context.smss.max(Bytes::new(1));
        let cwnd = context.initial_window.segments(smss).max(1);
        let unknown = rate::bandwidth(cwnd, Duration::from_millis(1));
        Self {
            smss,
            segment: smss,
            cwnd,
            ssthresh: Bytes::MAX,
            prior_cwnd: 0,
            bandwidth: WindowedMax::new(BANDWIDTH_ROUNDS),
            min_rtt: None,
            min_rtt_stamp: context.now,
            aggregation: Aggregation::new(context.now),
            policer: Policer::default(),
            delivered: 0,
            lost: 0,
            round: 0,
            round_start: false,
            next_round_delivered: 0,
            mode: Mode::Startup,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            cycle: modes::Cycle::new(context.seed),
            probe_rtt: modes::ProbeRtt::default(),
            full: modes::FullPipe::default(),
            exit: None,
            pacing_rate: rate::pacing_rate(unknown, HIGH_GAIN, smss),
            pace_permille: config.into().pace_permille,
            seen_rtt: false,
            next_departure: context.now,
            idle_restart: false,
            phase: Phase::Open,
            packet_conservation: false,
        }
    }

    /// The rate at which segments leave.
    #[inline]
    fn departure_rate(&self) -> Rate {
        if self.pace_permille == ORDINARY_PACE || matches!(self.mode, Mode::Drain | Mode::ProbeRtt)
        {
            self.pacing_rate
        } else {
            self.pacing_rate.mul_div(self.pace_permille, ORDINARY_PACE)
        }
    }

    /// Linux's name of the current mode.
    #[must_use]
    pub const fn mode(&self) -> &'static str {
        self.mode.name()
    }

    /// `bbr_bw`: the bandwidth in use.
    #[inline]
    fn bandwidth(&self) -> u64 {
        match self.policer.bandwidth() {
            Some(policed) => policed,
            None => self.bandwidth.get(),
        }
    }

    #[inline]
    fn segments(&self, bytes: Bytes) -> u64 {
        bytes.segments(self.smss)
    }

    /// `bbr_update_bw`, and the policer and aggregation, which see the same samples.
    fn update_bandwidth(&mut self, ack: &Ack, sample: &RateSample, app_limited: bool) {
        let smss = self.smss;
        if sample.prior_delivered >= smss * self.next_round_delivered {
            self.next_round_delivered = self.delivered;
            self.round += 1;
            self.round_start = true;
            self.packet_conservation = false;
        }
        self.watch_policer(ack.now, !ack.newly_lost.is_zero(), app_limited);
        let bandwidth = rate::bandwidth(self.segments(sample.delivered), sample.interval);
        if !app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.update(self.round, bandwidth);
        }
        let acked = self.segments(ack.delivered);
        let estimate = self.bandwidth();
        self.aggregation
            .on_ack(ack.now, acked, estimate, self.cwnd, self.round_start);
    }

    fn seen(&self, now: Instant, losses: bool, app_limited: bool) -> Seen {
        Seen {
            now,
            round_start: self.round_start,
            app_limited,
            losses,
            delivered: self.delivered,
            lost: self.lost,
            probing: self.mode == Mode::ProbeBw,
            smss: self.smss,
        }
    }

    fn watch_policer(&mut self, now: Instant, losses: bool, app_limited: bool) {
        let seen = self.seen(now, losses, app_limited);
        if self.policer.on_ack(&seen) {
            self.enter_probe_bw(now);
        }
    }

    /// `bbr_set_pacing_rate`.
    fn set_pacing_rate(&mut self, gain: u64, srtt: Duration) {
        if !self.seen_rtt && !srtt.is_zero() {
            self.seen_rtt = true;
            let bandwidth = rate::bandwidth(self.cwnd, srtt);
            self.pacing_rate = rate::pacing_rate(bandwidth, HIGH_GAIN, self.smss);
        }
        let rate = rate::pacing_rate(self.bandwidth(), gain, self.smss);
        if self.full.reached() || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `bbr_quantization_budget`: allowance for bursts of the sender and delayed ACKs.
    fn quantized(&self, cwnd: u64) -> u64 {
        let cwnd = cwnd + 3 * rate::burst(self.pacing_rate, self.smss);
        let even = (cwnd + 1) & !1;
        if self.mode == Mode::ProbeBw && self.cycle.is_probing() {
            even + 2
        } else {
            even
        }
    }

    /// `bbr_inflight`: target inflight at `gain` times the estimated bandwidth.
    fn inflight(&self, gain: u64) -> u64 {
        self.quantized(rate::bdp(self.bandwidth.get(), self.min_rtt, gain))
    }

    /// `bbr_packets_in_net_at_edt`: the part of `in_flight` still in the network when the next
    /// segment leaves.
    fn in_net_at_departure(&self, in_flight: u64, now: Instant) -> u64 {
        let wait = self.next_departure.saturating_since(now);
        let delivered = rate::segments_in(self.bandwidth(), wait);
        let burst = if self.pacing_gain > rate::UNIT {
            rate::burst(self.pacing_rate, self.smss)
        } else {
            0
        };
        (in_flight + burst).saturating_sub(delivered)
    }

    /// `bbr_save_cwnd`.
    fn save_cwnd(&mut self) {
        let undisturbed = !matches!(self.phase, Phase::Recovery | Phase::Loss);
        self.prior_cwnd = if undisturbed && self.mode != Mode::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// `bbr_set_cwnd`.
    fn set_cwnd(&mut self, ack: &Ack) {
        let acked = self.segments(ack.delivered);
        if acked > 0 {
            let cwnd = self.recover_or_restore(ack, acked);
            self.cwnd = if self.packet_conservation {
                cwnd.max(self.segments(ack.in_flight) + acked)
            } else {
                self.toward_target(cwnd, acked)
            };
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(MIN_CWND);
        }
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: lost segments reduce the window, recovery begins with
    /// one round of packet conservation, and its end restores the earlier window.
    fn recover_or_restore(&mut self, ack: &Ack, acked: u64) -> u64 {
        let lost = self.segments(ack.newly_lost);
        let mut cwnd = self.cwnd.saturating_sub(lost).max(1);
        let disturbed = |phase| matches!(phase, Phase::Recovery | Phase::Loss);
        if ack.phase == Phase::Recovery && self.phase != Phase::Recovery {
            self.packet_conservation = true;
            self.next_round_delivered = self.delivered;
            cwnd = self.segments(ack.in_flight) + acked;
        } else if disturbed(self.phase) && !disturbed(ack.phase) {
            cwnd = cwnd.max(self.prior_cwnd);
            self.packet_conservation = false;
        }
        self.phase = ack.phase;
        cwnd
    }

    fn toward_target(&self, cwnd: u64, acked: u64) -> u64 {
        let bandwidth = self.bandwidth();
        let mut target = rate::bdp(bandwidth, self.min_rtt, self.cwnd_gain);
        if self.full.reached() {
            target += self.aggregation.window(bandwidth);
        }
        let target = self.quantized(target);
        let cwnd = if self.full.reached() {
            (cwnd + acked).min(target)
        } else if cwnd < target || self.delivered < INITIAL_DELIVERED {
            cwnd + acked
        } else {
            cwnd
        };
        cwnd.max(MIN_CWND)
    }
}

impl CongestionControl for Bbr {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: true,
            sent: true,
            draws: true,
            ..Needs::PACING
        }
    }

    #[inline]
    fn window(&self) -> Window {
        let window = Window {
            cwnd: self.smss * self.cwnd,
            ssthresh: self.ssthresh,
            smss: self.smss,
        };
        if self.segment == self.smss {
            window
        } else {
            window.in_segments_of(self.segment)
        }
    }

    /// Bandwidth and window stay in the segments that the connection began with; what
    /// [`Self::window`] reports is whole in the new size.
    fn on_mtu(&mut self, _now: Instant, smss: Bytes) {
        self.segment = smss.max(Bytes::new(1));
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.departure_rate())
    }

    fn requires_pacing(&self) -> bool {
        true
    }

    #[inline]
    fn least_burst_segments(&self) -> u32 {
        rate::least_burst(self.pacing_rate)
    }

    /// `bbr_init`: the handshake's RTT starts the RTT filter, and paces the first window.
    fn on_established(&mut self, start: &Established) {
        self.min_rtt = start.rtt;
        self.min_rtt_stamp = start.now;
        self.set_pacing_rate(HIGH_GAIN, start.rtt.unwrap_or_default());
    }

    fn on_sent(&mut self, sent: &Sent) {
        if sent.idle_since.is_some() && sent.app_limited {
            self.idle_restart = true;
            self.aggregation.restart(sent.now);
            if self.mode == Mode::ProbeBw {
                self.set_pacing_rate(rate::UNIT, Duration::ZERO);
            } else if self.mode == Mode::ProbeRtt {
                self.check_probe_rtt_done(sent.now);
            }
        }
        let time = self.departure_rate().time_for(sent.size);
        self.next_departure = rate::next_departure(self.next_departure, sent.now, time);
    }

    /// `bbr_main`; it also ends the recovery of BBR.
    fn on_ack(&mut self, ack: &Ack) {
        self.round_start = false;
        let mut app_limited = ack.app_limited;
        match &ack.rate {
            Some(sample) => {
                self.delivered = self.segments(sample.total_delivered);
                self.lost = self.segments(sample.total_lost);
                app_limited = sample.app_limited
                    || self
                        .probe_rtt
                        .limited(self.segments(sample.prior_delivered));
                self.update_bandwidth(ack, sample, app_limited);
            }
            None => {
                self.delivered += self.segments(ack.delivered);
                self.lost += self.segments(ack.newly_lost);
            }
        }
        self.update_mode(ack, app_limited);
        self.set_pacing_rate(self.pacing_gain, ack.srtt);
        self.set_cwnd(ack);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let timeout = congestion.kind == CongestionKind::Timeout;
        let first = if timeout {
            congestion.first_of_window
        } else {
            !congestion.phase.is_reducing()
        };
        if first {
            self.save_cwnd();
        }
        if timeout {
            self.phase = Phase::Loss;
            self.full.forget();
            self.round_start = true;
            self.watch_policer(congestion.now, true, false);
            self.cwnd = self.segments(congestion.in_flight) + 1;
        }
    }

    fn undo(&mut self, now: Instant) {
        self.full.forget();
        let seen = self.seen(now, false, false);
        self.policer.reset(&seen);
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.exit
    }
}
