//! BBR version 3: draft-ietf-ccwg-bbr (text of August 2026), section "Detailed Algorithm".
//!
//! As in version 1, a model of the path (bandwidth and smallest RTT) sets the pacing rate and the
//! window. Here losses are part of the model. A loss above 2 % of a flight ends Startup and each
//! bandwidth probe, and bounds the inflight data from then on (`inflight_longterm`). A smaller loss
//! lowers a short-term bound that lasts until the next probe. `model` keeps bandwidth, RTT and
//! bounds, `startup` has Startup and Drain, `cycle` the four states of ProbeBW, `probe_rtt` the
//! smallest RTT, and `loss` the response to a lost segment and its undo. This file computes the
//! window and the pacing rate. Names are the draft's.
//!
//! Assumes delivery-rate samples, a sender that paces at the pacing rate, and a transport that
//! reports each lost segment.
//!
//! ## Deviations
//!
//! - Rates are whole bits per second and volumes whole bytes, rounded down; the transport sends
//!   whole segments of the window.
//! - SACK is assumed (`C.has_selective_acks`): without it, losses are handled as with it.
//! - An ACK without a valid rate sample (one shorter than the smallest RTT) counts no round, as in
//!   Linux; the draft would count it.
//! - The draft leaves the response to ECN open and asks that a mark count as congestion: here a
//!   mark counts as a loss in the round, and ends a bandwidth probe.
//! - `MarkConnectionAppLimited` of ProbeRTT cannot mark the transport. Samples of segments sent
//!   while the draft would have it marked count as application-limited here.
//! - The state before a loss is saved at the first loss, and not again when the transport enters
//!   recovery for it, which would save the changes made by that loss.
//! - A negative fraction of a segment (`InflightAtLoss`) counts as zero. A cycle without any sample
//!   keeps the maximum bandwidth of the previous cycle. After a pause, data acknowledged earlier
//!   does not count as excess (`extra_acked_delivered` restarts with its interval, as in Linux).
//! - A loss that ends Startup also sets `full_bw_now`, as in the draft's second test case.
//! - The draft has no slow-start threshold. It is infinite in Startup and one BDP afterwards, as
//!   Linux reports it for version 1.
//! - Google's Linux code uses other numbers than the draft (Drain at 0.34, losses counted in ACKs,
//!   two initial windows at the start); the draft's are used here.

mod cycle;
mod loss;
mod model;
mod probe_rtt;
mod startup;

use units::{Bytes, Duration, Instant, Rate};

use self::cycle::{AckPhase, Cycle};
use self::loss::{Losses, Undo};
use self::model::{Aggregation, MinRtt, Rounds, Sample, ShortTerm};
use self::probe_rtt::ProbeRtt;
use self::startup::FullBw;
use crate::settings;
use crate::{
    Ack, BuildContext, Congestion, CongestionControl, CongestionKind, Lost, Needs, Phase, Sent,
    SlowStartExit, Window,
};

/// Gains, thresholds and margins are in percent.
const UNIT: u64 = 100;
/// `BBR.StartupPacingGain`: 4 ln 2.
const STARTUP_PACING_GAIN: u64 = 277;
/// `BBR.DrainPacingGain`.
const DRAIN_PACING_GAIN: u64 = 50;
/// Pacing gains of `ProbeBW_DOWN` and `ProbeBW_UP`.
const PROBE_DOWN_PACING_GAIN: u64 = 90;
const PROBE_UP_PACING_GAIN: u64 = 125;
/// `BBR.DefaultCwndGain`, and that of `ProbeBW_UP`.
const DEFAULT_CWND_GAIN: u64 = 200;
const PROBE_UP_CWND_GAIN: u64 = 225;
/// `BBR.ProbeRTTCwndGain`.
const PROBE_RTT_CWND_GAIN: u64 = 50;
/// `BBR.PacingMarginPercent`.
const PACING_MARGIN_PERCENT: u64 = 1;
/// `BBR.LossThresh`.
const LOSS_THRESH: u64 = 2;
/// `BBR.Beta`.
const BETA: u64 = 70;
/// `BBR.Headroom`.
const HEADROOM: u64 = 15;
/// `BBR.MinPipeCwnd`, in segments.
const MIN_PIPE_CWND: u64 = 4;
/// Assumed RTT until one is known (`InitPacingRate`).
const UNKNOWN_RTT: Duration = Duration::from_millis(1);
/// `SetSendQuantum`: the data of 1 ms, limited to `MAX_QUANTUM`.
const QUANTUM_TIME: Duration = Duration::from_millis(1);
const MAX_QUANTUM: Bytes = Bytes::new(65_536);
/// The offload budget of TCP, in quanta (`UpdateOffloadBudget`).
const OFFLOAD_QUANTA: u64 = 3;

settings! {
    /// BBR version 3 has no options.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Bbr3Config {}
}

/// The states of the draft.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Doubling the rate each round.
    Startup,
    /// Draining the queue of Startup.
    Drain,
    /// Sending below the estimate.
    ProbeBwDown,
    /// Sending at the estimate.
    ProbeBwCruise,
    /// Filling the pipe before a probe.
    ProbeBwRefill,
    /// Sending above the estimate.
    ProbeBwUp,
    /// Half a BDP in flight, to measure the path without a queue.
    ProbeRtt,
}

impl State {
    /// The draft's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Startup => "Startup",
            Self::Drain => "Drain",
            Self::ProbeBwDown => "ProbeBW_DOWN",
            Self::ProbeBwCruise => "ProbeBW_CRUISE",
            Self::ProbeBwRefill => "ProbeBW_REFILL",
            Self::ProbeBwUp => "ProbeBW_UP",
            Self::ProbeRtt => "ProbeRTT",
        }
    }

    /// `IsInAProbeBWState`.
    const fn is_probe_bw(self) -> bool {
        matches!(
            self,
            Self::ProbeBwDown | Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeBwUp
        )
    }

    /// `IsProbingBW`.
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::ProbeBwRefill | Self::ProbeBwUp)
    }

    /// `BBR.pacing_gain`.
    const fn pacing_gain(self) -> u64 {
        match self {
            Self::Startup => STARTUP_PACING_GAIN,
            Self::Drain => DRAIN_PACING_GAIN,
            Self::ProbeBwDown => PROBE_DOWN_PACING_GAIN,
            Self::ProbeBwUp => PROBE_UP_PACING_GAIN,
            Self::ProbeBwCruise | Self::ProbeBwRefill | Self::ProbeRtt => UNIT,
        }
    }

    /// `BBR.cwnd_gain`.
    const fn cwnd_gain(self) -> u64 {
        match self {
            Self::ProbeBwUp => PROBE_UP_CWND_GAIN,
            Self::ProbeRtt => PROBE_RTT_CWND_GAIN,
            _ => DEFAULT_CWND_GAIN,
        }
    }
}

/// BBR's model of the path and its state, for observers. `MAX` stands for infinity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Model {
    /// The current state.
    pub state: State,
    /// Gains in percent.
    pub pacing_gain: u64,
    /// See [`Self::pacing_gain`].
    pub cwnd_gain: u64,
    /// `BBR.max_bw`, `BBR.bw`, `BBR.bw_shortterm`.
    pub max_bw: Rate,
    /// See [`Self::max_bw`].
    pub bw: Rate,
    /// See [`Self::max_bw`].
    pub bw_shortterm: Rate,
    /// `BBR.inflight_longterm`, `BBR.inflight_shortterm`.
    pub inflight_longterm: Bytes,
    /// See [`Self::inflight_longterm`].
    pub inflight_shortterm: Bytes,
    /// `BBR.min_rtt`.
    pub min_rtt: Duration,
    /// `BBR.extra_acked`.
    pub extra_acked: Bytes,
    /// `BBR.round_count`.
    pub round_count: u64,
    /// `BBR.full_bw_count`, `BBR.full_bw_now`, `BBR.full_bw_reached`.
    pub full_bw_count: u32,
    /// See [`Self::full_bw_count`].
    pub full_bw_now: bool,
    /// See [`Self::full_bw_count`].
    pub full_bw_reached: bool,
    /// `BBR.idle_restart`.
    pub idle_restart: bool,
    /// `Inflight(1.0)` and `InflightWithHeadroom()`.
    pub inflight_target: Bytes,
    /// See [`Self::inflight_target`].
    pub inflight_with_headroom: Bytes,
}

/// BBR version 3. Windows are in bytes.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    smss: Bytes,
    initial_cwnd: Bytes,
    cwnd: Bytes,
    ssthresh: Bytes,
    prior_cwnd: Bytes,
    pacing_rate: Rate,
    /// Whether a measured RTT has set the pacing rate.
    seen_rtt: bool,

    state: State,
    /// `C.delivered`.
    delivered: Bytes,
    /// The state of the transport, as of the last ACK.
    phase: Phase,
    idle_restart: bool,

    /// `BBR.max_bw_filter`: this cycle's maximum and that of the one before.
    max_bw_filter: [Rate; 2],
    bw: Rate,
    rounds: Rounds,
    short_term: ShortTerm,
    inflight_longterm: Bytes,
    aggregation: Aggregation,
    min_rtt: MinRtt,
    full_bw: FullBw,
    drain_start_round: u64,
    cycle: Cycle,
    probe_rtt: ProbeRtt,
    losses: Losses,
    undo: Undo,
    exit: Option<SlowStartExit>,
}

impl Bbr3 {
    /// A new connection (`OnInit`).
    #[must_use]
    pub fn new(_config: Bbr3Config, context: &BuildContext) -> Self {
        let smss = context.smss.max(Bytes::new(1));
        let cwnd = context.initial_window.max(smss);
        let srtt = context.handshake_rtt.filter(|rtt| !rtt.is_zero());
        Self {
            smss,
            initial_cwnd: cwnd,
            cwnd,
            ssthresh: Bytes::MAX,
            prior_cwnd: Bytes::ZERO,
            pacing_rate: initial_pacing_rate(cwnd, srtt.unwrap_or(UNKNOWN_RTT)),
            seen_rtt: srtt.is_some(),
            state: State::Startup,
            delivered: Bytes::ZERO,
            phase: Phase::Open,
            idle_restart: false,
            max_bw_filter: [Rate::ZERO; 2],
            bw: Rate::ZERO,
            rounds: Rounds::default(),
            short_term: ShortTerm::default(),
            inflight_longterm: Bytes::MAX,
            aggregation: Aggregation::new(context.now),
            min_rtt: MinRtt::new(context.now, srtt),
            full_bw: FullBw::default(),
            drain_start_round: 0,
            cycle: Cycle::new(context.seed),
            probe_rtt: ProbeRtt::default(),
            losses: Losses::default(),
            undo: Undo::default(),
            exit: None,
        }
    }

    /// The current state.
    #[must_use]
    pub const fn state(&self) -> State {
        self.state
    }

    /// The model of the path.
    #[must_use]
    pub fn model(&self) -> Model {
        Model {
            state: self.state,
            pacing_gain: self.state.pacing_gain(),
            cwnd_gain: self.state.cwnd_gain(),
            max_bw: self.max_bw(),
            bw: self.bw,
            bw_shortterm: self.short_term.bw,
            inflight_longterm: self.inflight_longterm,
            inflight_shortterm: self.short_term.inflight,
            min_rtt: self.min_rtt.min_rtt,
            extra_acked: self.aggregation.extra_acked(),
            round_count: self.rounds.count,
            full_bw_count: self.full_bw.count,
            full_bw_now: self.full_bw.now,
            full_bw_reached: self.full_bw.reached,
            idle_restart: self.idle_restart,
            inflight_target: self.inflight(self.bw, UNIT),
            inflight_with_headroom: self.inflight_with_headroom(),
        }
    }

    fn min_pipe_cwnd(&self) -> Bytes {
        self.smss * MIN_PIPE_CWND
    }

    /// `SetPacingRateWithGain`.
    fn set_pacing_rate(&mut self, gain: u64) {
        let rate = self
            .bw
            .mul_div(gain * (UNIT - PACING_MARGIN_PERCENT), UNIT * UNIT);
        if self.full_bw.reached && rate > Rate::ZERO || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// `SetSendQuantum`.
    fn send_quantum(&self) -> Bytes {
        let quantum = self.pacing_rate.bytes_in(QUANTUM_TIME);
        quantum.min(MAX_QUANTUM).max(self.smss * 2)
    }

    /// `QuantizationBudget`.
    fn quantization_budget(&self, inflight_cap: Bytes) -> Bytes {
        let cap = inflight_cap
            .max(self.send_quantum() * OFFLOAD_QUANTA)
            .max(self.min_pipe_cwnd());
        if self.state == State::ProbeBwUp {
            cap + self.smss * 2
        } else {
            cap
        }
    }

    /// `BDPMultiple`, of the bandwidth `bw`.
    fn bdp_multiple(&self, bw: Rate, gain: u64) -> Bytes {
        match self.min_rtt.min_rtt {
            Duration::MAX => self.initial_cwnd,
            min_rtt => bw.bytes_in(min_rtt).mul_div(gain, UNIT),
        }
    }

    /// `Inflight`.
    fn inflight(&self, bw: Rate, gain: u64) -> Bytes {
        self.quantization_budget(self.bdp_multiple(bw, gain))
    }

    /// `TargetInflight`: the estimated BDP, limited by the window.
    fn target_inflight(&self) -> Bytes {
        self.bdp_multiple(self.bw, UNIT).min(self.cwnd)
    }

    /// `ProbeRTTCwnd`.
    fn probe_rtt_cwnd(&self) -> Bytes {
        self.bdp_multiple(self.bw, PROBE_RTT_CWND_GAIN)
            .max(self.min_pipe_cwnd())
    }

    /// `SetCwnd`.
    fn set_cwnd(&mut self, newly_acked: Bytes) {
        let cap = self.bdp_multiple(self.bw, self.state.cwnd_gain());
        let max_inflight = self.quantization_budget(cap + self.aggregation.extra_acked());
        let mut cwnd = self.cwnd;
        if self.full_bw.reached {
            cwnd = (cwnd + newly_acked).min(max_inflight);
        } else if cwnd < max_inflight || self.delivered < self.initial_cwnd {
            cwnd += newly_acked;
        }
        cwnd = cwnd.max(self.min_pipe_cwnd());
        if self.state == State::ProbeRtt {
            cwnd = cwnd.min(self.probe_rtt_cwnd());
        }
        self.cwnd = cwnd.min(self.model_cap());
    }

    /// The bound of `BoundCwndForModel`.
    fn model_cap(&self) -> Bytes {
        let cap = match self.state {
            State::ProbeBwDown | State::ProbeBwRefill | State::ProbeBwUp => self.inflight_longterm,
            State::ProbeBwCruise | State::ProbeRtt => self.inflight_with_headroom(),
            State::Startup | State::Drain => Bytes::MAX,
        };
        cap.min(self.short_term.inflight).max(self.min_pipe_cwnd())
    }

    /// Whether `phase` is a loss recovery.
    const fn in_loss_recovery(phase: Phase) -> bool {
        matches!(phase, Phase::Recovery | Phase::Loss)
    }

    /// `SaveCwnd`.
    fn save_cwnd(&mut self) {
        self.prior_cwnd = if !Self::in_loss_recovery(self.phase) && self.state != State::ProbeRtt {
            self.cwnd
        } else {
            self.prior_cwnd.max(self.cwnd)
        };
    }

    /// `RestoreCwnd`.
    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    /// The pacing rate of the first flight follows from the first RTT.
    fn see_rtt(&mut self, srtt: Duration) {
        if !self.seen_rtt && !srtt.is_zero() {
            self.seen_rtt = true;
            self.pacing_rate = initial_pacing_rate(self.initial_cwnd, srtt);
        }
    }

    /// `UpdateModelAndState`.
    fn update_model_and_state(&mut self, ack: &Ack, sample: &Sample) {
        self.update_latest_delivery_signals(sample);
        self.update_congestion_signals(sample);
        self.update_ack_aggregation(ack);
        self.check_full_bw_reached(sample);
        self.check_startup_done(ack, sample);
        self.check_drain_done(ack);
        self.update_probe_bw_cycle_phase(ack, sample);
        self.update_min_rtt(ack);
        self.check_probe_rtt(ack, sample);
        self.advance_latest_delivery_signals(sample);
        self.bw = self.max_bw().min(self.short_term.bw);
    }
}

/// `InitPacingRate`.
fn initial_pacing_rate(initial_cwnd: Bytes, srtt: Duration) -> Rate {
    model::rate_of(initial_cwnd, srtt).mul_div(STARTUP_PACING_GAIN, UNIT)
}

impl CongestionControl for Bbr3 {
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
        let whole = |bytes: Bytes| self.smss * bytes.segments(self.smss);
        Window {
            cwnd: whole(self.cwnd.max(self.smss)),
            ssthresh: match self.ssthresh {
                Bytes::MAX => Bytes::MAX,
                ssthresh => whole(ssthresh.max(self.smss * 2)),
            },
            smss: self.smss,
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        Some(self.pacing_rate)
    }

    fn requires_pacing(&self) -> bool {
        true
    }

    fn on_mtu(&mut self, _now: Instant, smss: Bytes) {
        self.smss = smss.max(Bytes::new(1));
    }

    fn watches_losses(&self) -> bool {
        true
    }

    /// `HandleRestartFromIdle`.
    fn on_sent(&mut self, sent: &Sent) {
        if sent.idle_since.is_none() || !sent.app_limited {
            return;
        }
        self.idle_restart = true;
        self.aggregation.restart(sent.now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(sent.now);
        }
    }

    fn on_lost(&mut self, lost: &Lost) {
        self.handle_lost_packet(lost);
    }

    /// `UpdateOnACK`.
    fn on_ack(&mut self, ack: &Ack) {
        match &ack.rate {
            Some(sample) => self.delivered = sample.total_delivered,
            None => self.delivered += ack.delivered,
        }
        self.see_rtt(ack.srtt);
        if Self::in_loss_recovery(self.phase) && !Self::in_loss_recovery(ack.phase) {
            self.restore_cwnd();
        }
        self.phase = ack.phase;
        let sample = self.sample(ack);
        self.update_model_and_state(ack, &sample);
        self.losses.saved = false;
        self.set_pacing_rate(self.state.pacing_gain());
        self.set_cwnd(ack.delivered);
    }

    /// `OnEnterRTO`, `OnEnterFastRecovery`, and the response to an ECN mark.
    fn on_congestion(&mut self, congestion: &Congestion) {
        self.note_loss();
        if !self.losses.saved {
            self.save_state_upon_loss();
        }
        match congestion.kind {
            CongestionKind::Loss => self.losses.begin_recovery(self.delivered),
            CongestionKind::Ecn => self.handle_mark(congestion),
            CongestionKind::Timeout => {
                self.cwnd = congestion.in_flight + self.smss;
                self.phase = Phase::Loss;
            }
        }
    }

    fn undo(&mut self, now: Instant) {
        self.handle_spurious_loss_detection(now);
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.exit
    }
}
