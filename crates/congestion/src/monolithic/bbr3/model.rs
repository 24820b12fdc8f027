//! The model of the path: rounds, bandwidth, aggregation, and the delivery of the last round
//! (section "Updating Network Path Model Parameters").

use units::{Bytes, Duration, Instant, Rate};

use super::{BETA, Bbr3, State, UNIT};
use crate::Ack;
use crate::monolithic::filter::WindowedMax;

/// `BBR.ExtraAckedFilterLen`, in rounds; one in Startup.
const EXTRA_ACKED_FILTER_LEN: u64 = 10;
const STARTUP_EXTRA_ACKED_FILTER_LEN: u64 = 1;

/// `bytes` in `interval`, as a rate.
pub fn rate_of(bytes: Bytes, interval: Duration) -> Rate {
    const NANO_BITS: u64 = 8_000_000_000;
    Rate::from_bits_per_sec(NANO_BITS).mul_div(bytes.get(), interval.as_nanos().max(1))
}

/// `RS`, the rate sample of an ACK. Without a valid one, all values are zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sample {
    /// `RS.delivery_rate`; zero without a valid sample.
    pub delivery_rate: Rate,
    /// `RS.delivered`, `RS.prior_delivered`.
    pub delivered: Bytes,
    pub prior_delivered: Option<Bytes>,
    pub newly_acked: Bytes,
    pub tx_in_flight: Bytes,
    pub lost: Bytes,
    pub is_app_limited: bool,
}

/// Packet-timed round trips.
#[derive(Clone, Debug, Default)]
pub struct Rounds {
    pub count: u64,
    pub start: bool,
    /// `BBR.next_round_delivered`.
    pub next_delivered: Bytes,
    /// The same for the rounds in which losses are counted.
    pub loss_round_delivered: Bytes,
    pub loss_round_start: bool,
}

/// The short-term model, and the delivery of the latest round.
#[derive(Clone, Debug)]
pub struct ShortTerm {
    /// `BBR.bw_shortterm`, `BBR.inflight_shortterm`.
    pub bw: Rate,
    pub inflight: Bytes,
    /// `BBR.bw_latest`, `BBR.inflight_latest`.
    pub bw_latest: Rate,
    pub inflight_latest: Bytes,
}

impl Default for ShortTerm {
    fn default() -> Self {
        Self {
            bw: Rate::MAX,
            inflight: Bytes::MAX,
            bw_latest: Rate::ZERO,
            inflight_latest: Bytes::ZERO,
        }
    }
}

impl ShortTerm {
    /// `ResetShortTermModel`.
    pub fn reset(&mut self) {
        self.bw = Rate::MAX;
        self.inflight = Bytes::MAX;
    }
}

/// `BBR.extra_acked`: the excess of acknowledged data over the estimate.
#[derive(Clone, Debug)]
pub struct Aggregation {
    interval_start: Instant,
    delivered: Bytes,
    filter: WindowedMax,
}

impl Aggregation {
    pub fn new(now: Instant) -> Self {
        Self {
            interval_start: now,
            delivered: Bytes::ZERO,
            filter: WindowedMax::new(STARTUP_EXTRA_ACKED_FILTER_LEN),
        }
    }

    pub fn extra_acked(&self) -> Bytes {
        Bytes::new(self.filter.get())
    }

    /// Begins a new interval.
    pub fn restart(&mut self, now: Instant) {
        self.interval_start = now;
        self.delivered = Bytes::ZERO;
    }
}

/// The smallest RTT of 10 s, and that of 5 s, whose age starts ProbeRTT.
#[derive(Clone, Debug)]
pub struct MinRtt {
    pub min_rtt: Duration,
    pub stamp: Instant,
    pub probe_rtt_min_delay: Duration,
    pub probe_rtt_min_stamp: Instant,
    pub probe_rtt_expired: bool,
}

impl MinRtt {
    pub fn new(now: Instant, srtt: Option<Duration>) -> Self {
        Self {
            min_rtt: srtt.unwrap_or(Duration::MAX),
            stamp: now,
            probe_rtt_min_delay: Duration::MAX,
            probe_rtt_min_stamp: now,
            probe_rtt_expired: false,
        }
    }
}

impl Bbr3 {
    /// `BBR.max_bw`.
    #[inline]
    pub(super) fn max_bw(&self) -> Rate {
        self.max_bw_filter[0].max(self.max_bw_filter[1])
    }

    pub(super) fn sample(&self, ack: &Ack) -> Sample {
        let Some(rate) = &ack.rate else {
            return Sample {
                newly_acked: ack.delivered,
                is_app_limited: ack.app_limited,
                ..Sample::default()
            };
        };
        Sample {
            delivery_rate: rate_of(rate.delivered, rate.interval),
            delivered: rate.delivered,
            prior_delivered: Some(rate.prior_delivered),
            newly_acked: ack.delivered,
            tx_in_flight: rate.tx_in_flight,
            lost: rate.lost,
            is_app_limited: rate.app_limited || self.probe_rtt.limited(rate.prior_delivered),
        }
    }

    /// `StartRound`.
    pub(super) fn start_round(&mut self) {
        self.rounds.next_delivered = self.delivered;
    }

    /// `UpdateRound`.
    fn update_round(&mut self, sample: &Sample) {
        let end = self.rounds.next_delivered;
        self.rounds.start = sample.prior_delivered.is_some_and(|prior| prior >= end);
        if self.rounds.start {
            self.start_round();
            self.rounds.count += 1;
            self.cycle.rounds_since_probe_up += 1;
        }
    }

    /// `UpdateLatestDeliverySignals`.
    pub(super) fn update_latest_delivery_signals(&mut self, sample: &Sample) {
        let latest = &mut self.short_term;
        latest.bw_latest = latest.bw_latest.max(sample.delivery_rate);
        latest.inflight_latest = latest.inflight_latest.max(sample.delivered);
        self.rounds.loss_round_start = sample
            .prior_delivered
            .is_some_and(|prior| prior >= self.rounds.loss_round_delivered);
        if self.rounds.loss_round_start {
            self.rounds.loss_round_delivered = self.delivered;
        }
    }

    /// `AdvanceLatestDeliverySignals`.
    pub(super) fn advance_latest_delivery_signals(&mut self, sample: &Sample) {
        if self.rounds.loss_round_start {
            self.short_term.bw_latest = sample.delivery_rate;
            self.short_term.inflight_latest = sample.delivered;
        }
    }

    /// `ResetCongestionSignals`.
    pub(super) fn reset_congestion_signals(&mut self) {
        self.losses.in_round = false;
        self.short_term.bw_latest = Rate::ZERO;
        self.short_term.inflight_latest = Bytes::ZERO;
    }

    /// `UpdateCongestionSignals`.
    pub(super) fn update_congestion_signals(&mut self, sample: &Sample) {
        self.update_max_bw(sample);
        if self.rounds.loss_round_start {
            self.adapt_lower_bounds_from_congestion();
            self.losses.in_round = false;
        }
    }

    /// `UpdateMaxBw`.
    fn update_max_bw(&mut self, sample: &Sample) {
        self.update_round(sample);
        if sample.delivery_rate >= self.max_bw() || !sample.is_app_limited {
            self.max_bw_filter[0] = self.max_bw_filter[0].max(sample.delivery_rate);
        }
    }

    /// `AdvanceMaxBwFilter`: a cycle has ended.
    pub(super) fn advance_max_bw_filter(&mut self) {
        if self.max_bw_filter[0] > Rate::ZERO {
            self.max_bw_filter = [Rate::ZERO, self.max_bw_filter[0]];
        }
    }

    /// `AdaptLowerBoundsFromCongestion`: `InitLowerBounds` and `LossLowerBounds`.
    fn adapt_lower_bounds_from_congestion(&mut self) {
        if self.state.is_probing() || !self.losses.in_round {
            return;
        }
        let max_bw = self.max_bw();
        let bounds = &mut self.short_term;
        if bounds.bw == Rate::MAX {
            bounds.bw = max_bw;
        }
        if bounds.inflight == Bytes::MAX {
            bounds.inflight = self.cwnd;
        }
        bounds.bw = bounds.bw_latest.max(bounds.bw.mul_div(BETA, UNIT));
        bounds.inflight = bounds
            .inflight_latest
            .max(bounds.inflight.mul_div(BETA, UNIT));
    }

    /// `UpdateACKAggregation`.
    pub(super) fn update_ack_aggregation(&mut self, ack: &Ack) {
        if ack.delivered.is_zero() {
            return;
        }
        let interval = ack.now.saturating_since(self.aggregation.interval_start);
        let mut expected = self.bw.bytes_in(interval);
        if self.aggregation.delivered <= expected {
            self.aggregation.restart(ack.now);
            expected = Bytes::ZERO;
        }
        let aggregation = &mut self.aggregation;
        aggregation.delivered += ack.delivered;
        let extra = aggregation
            .delivered
            .saturating_sub(expected)
            .min(self.cwnd);
        aggregation.filter.set_window(if self.full_bw.reached {
            EXTRA_ACKED_FILTER_LEN
        } else {
            STARTUP_EXTRA_ACKED_FILTER_LEN
        });
        aggregation.filter.update(self.rounds.count, extra.get());
    }

    /// Sets the threshold reported to the transport: infinite in Startup.
    pub(super) fn update_ssthresh(&mut self) {
        self.ssthresh = if self.state == State::Startup {
            Bytes::MAX
        } else {
            self.inflight(self.max_bw(), UNIT)
        };
    }
}
