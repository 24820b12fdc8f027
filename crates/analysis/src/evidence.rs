//! What the rules of the verdict look at, computed once for a connection.

use crate::drain;
use crate::growth::{self, Congestion, Fit, total};
use crate::report::{Limits, Reason, Vantage};
use crate::sender::{Grown, Moment, Sender};
use crate::thresholds::{GAP_PART, GAP_SEGMENTS, LEAST_ROUNDS, NEVER_LARGER};

/// The growth of the flight, if it lasted for two rounds.
#[derive(Clone, Copy)]
pub struct Growth {
    pub fit: Fit,
    /// The last point of slow start.
    pub last: Grown,
    /// Bytes delivered without growth before the congestion, or before the data ended.
    pub idle: i64,
    /// Whether it lasts until the sign of congestion, or until the data ends.
    pub goes_on: bool,
    /// Whether it stopped clearly before the sign of congestion.
    pub stopped: bool,
    /// What held the sender between the last point and the last new data.
    pub rest: Limits,
    /// Whether the receive window was never larger than the flight.
    pub never_larger: bool,
    /// Whether the receive window was full at the largest flight.
    pub blocked: bool,
    /// Whether the flight stays for longer than the start-up of BBR does without growth.
    pub holds_flight: bool,
    /// Whether hidden losses end it.
    pub loses: bool,
}

/// What is known of the losses of an encrypted connection.
#[derive(Clone, Debug, Default)]
pub struct Hidden {
    /// Times between which ACKs were missing.
    pub losses: Vec<[i64; 2]>,
    /// Whether what was lost never reached the capture.
    pub unseen: bool,
    /// Whether all ACKs have one size, which shows no gap.
    pub pads: bool,
}

/// What the rules look at.
pub struct Evidence<'a> {
    pub sender: &'a Sender,
    /// Whether the capture has the SYN.
    pub has_beginning: bool,
    /// Whether it is encrypted.
    pub encrypted: bool,
    /// Whether it is encrypted, and what was lost never reached the capture.
    pub unseen_losses: bool,
    /// Whether it is encrypted, and its ACKs have one size.
    pub padded_acks: bool,
    /// Whether the capture is away from the sender.
    pub elsewhere: bool,
    /// The smallest RTT, in nanoseconds.
    pub shortest_rtt: Option<i64>,
    /// Whether the flight stays through the first sign of congestion.
    pub is_ignored: bool,
    /// The beginning of a drain that no response to congestion came before.
    pub drain: Option<Moment>,
    /// The first sign of congestion, but for a mark that the sender ignored.
    pub congestion: Option<Congestion>,
    pub growth: Option<Growth>,
}

impl<'a> Evidence<'a> {
    /// Collects it.
    pub fn of(sender: &'a Sender, has_beginning: bool, hidden: Option<&Hidden>) -> Self {
        let encrypted = hidden.is_some();
        let elsewhere = matches!(sender.vantage, Vantage::Receiver | Vantage::Middle);
        // The samples count from the ticks of the sender; at the receiver, the handshake is exact.
        let handshake = (sender.vantage == Vantage::Receiver).then_some(sender.to_sender);
        let shortest_rtt = sender.rtt_min.map(|rtt| rtt.min(handshake.unwrap_or(rtt)));
        let mut congestion = if encrypted {
            growth::reported_gap(sender)
        } else {
            growth::congestion(sender)
        };
        let is_ignored = congestion.is_some_and(|it| {
            drain::is_ignored(sender, &it.sign, it.reason == Reason::Ecn) && !it.by_timeout
        });
        // A response to a hidden loss looks like a drain.
        let drain = drain::begin(sender).filter(|begin| {
            !encrypted
                && congestion.is_none_or(|it| {
                    is_ignored || begin.delivered + begin.flight / 2 < it.sign.delivered
                })
        });
        if is_ignored {
            congestion = congestion.filter(|it| it.reason != Reason::Ecn);
        }
        Self {
            sender,
            has_beginning,
            encrypted,
            unseen_losses: hidden.is_some_and(|hidden| hidden.unseen),
            padded_acks: hidden.is_some_and(|hidden| hidden.pads),
            elsewhere,
            shortest_rtt,
            is_ignored,
            drain,
            congestion,
            growth: grown(sender, congestion.as_ref(), hidden),
        }
    }

    /// The last point at which the flight was larger than ever before.
    pub fn last_grown(&self) -> Option<Grown> {
        self.growth
            .map(|growth| growth.last)
            .or_else(|| self.sender.grown.last().copied())
    }

    /// Whether the growth lasts until the sign of congestion.
    pub fn ends_by_congestion(&self) -> bool {
        let growth = self.growth;
        self.congestion.is_some() && growth.is_some_and(|growth| growth.goes_on && !growth.stopped)
    }

    /// How sure a sign of congestion is the reason.
    pub fn congestion_confidence(&self) -> f64 {
        let Some((last, congestion)) = self.last_grown().zip(self.congestion) else {
            return 0.0;
        };
        let idle = self
            .growth
            .map_or(congestion.sign.delivered - last.delivered, |growth| {
                growth.idle
            });
        (0.97 - idle as f64 / last.flight.max(1) as f64).max(0.6)
    }

    /// Windows delivered without growth before the congestion, or before the data ended.
    pub fn idle_windows(&self) -> f64 {
        self.growth.map_or(0.0, |growth| {
            growth.idle as f64 / growth.last.flight.max(1) as f64
        })
    }

    /// The part of the time after the growth that a limit has.
    pub fn rest_in(&self, limit: fn(&Limits) -> f64) -> f64 {
        self.growth.map_or(0.0, |growth| {
            limit(&growth.rest) / total(&growth.rest).max(1e-9)
        })
    }
}

fn grown(
    sender: &Sender,
    congestion: Option<&Congestion>,
    hidden: Option<&Hidden>,
) -> Option<Growth> {
    let (points, mss) = (&sender.grown, sender.mss());
    let largest = points.last()?;
    let mut fit = growth::fit(points, mss).filter(|_| largest.round >= LEAST_ROUNDS)?;
    // Slower growth until a loss or until the end, however short: slow start lasted until then.
    // A loss that shows only after the last new data still belongs to the growth before.
    let until = sender.last_new.1;
    let mut horizon = congestion.map_or(until, |it| it.sign.delivered.min(until));
    // Which data of an encrypted connection is new is not seen. What leaves after a loss may repeat data,
    // so if nothing left between the growth and the loss, the new data ended with the growth.
    if hidden.is_some()
        && congestion.is_some_and(|it| {
            let sent = it.sign.delivered + it.sign.flight;
            let slack = (GAP_SEGMENTS * mss).max(largest.flight / GAP_PART);
            sent <= largest.delivered + largest.flight + slack
        })
    {
        horizon = horizon.min(largest.delivered);
    }
    let goes_on = |point: &Grown| horizon - point.delivered <= growth::near(point.flight, mss);
    if !goes_on(&points[fit.last]) {
        fit.last = fit.core;
    }
    let last = points[fit.last];
    // After the last new data, the sender only waits for its ACKs.
    let until = sender.last_new_limits;
    let rest = Limits {
        congestion_window_s: until.congestion_window_s - last.limits.congestion_window_s,
        receive_window_s: until.receive_window_s - last.limits.receive_window_s,
        application_s: until.application_s - last.limits.application_s,
        pacing_s: until.pacing_s - last.limits.pacing_s,
        recovery_s: 0.0,
    };
    let never_larger = sender.largest_window <= last.flight + NEVER_LARGER * mss;
    Some(Growth {
        fit,
        last,
        idle: (horizon - last.delivered).max(0),
        goes_on: goes_on(&last),
        stopped: congestion.is_some_and(|it| growth::stopped_before(sender, &fit, it, horizon)),
        rest,
        never_larger,
        blocked: never_larger || growth::is_full(largest, mss),
        holds_flight: growth::holds_flight(sender, &last),
        loses: hidden.is_some_and(|hidden| growth::loses(sender, &last, &hidden.losses)),
    })
}
