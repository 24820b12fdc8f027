//! The growth of the flight: where it is that of slow start, and where it bends.

use crate::report::{Limits, Reason};
use crate::sender::{Grown, Sender, Sign};
use crate::thresholds::{
    AVOIDANCE, BEND_NOISE, BEND_NOISE_PART, CONSERVATIVE, FAST, FULL_WINDOW_PART, GAP_PART,
    GAP_SEGMENTS, LEAST_EARLY_SLOPE, NEVER_LARGER, OVER, PAUSED, PLATEAU, RESUMED, SLOPE_OVER,
    SLOPE_SEGMENTS, STAYS, STOPPED_PART, STOPPED_SLOPE, WAITS,
};

/// What the growth of the flight shows.
#[derive(Clone, Copy, Debug)]
pub struct Fit {
    /// Index of the last point of slow start.
    pub last: usize,
    /// Whether slower growth came at the end.
    pub conservative: bool,
    /// Index of the last point before a run of slower growth that is too short for a phase.
    pub core: usize,
    /// Slope of slow start.
    pub scale: f64,
}

/// The data over which the slope at a point is taken.
pub fn near(flight: i64, mss: i64) -> i64 {
    (flight / SLOPE_OVER).max(SLOPE_SEGMENTS * mss)
}

/// Whether the receive window was full at a point.
pub fn is_full(point: &Grown, mss: i64) -> bool {
    point.window_left < (NEVER_LARGER * mss).max(point.flight / FULL_WINDOW_PART)
}

/// Seconds in all limits.
pub fn total(limits: &Limits) -> f64 {
    limits.congestion_window_s
        + limits.receive_window_s
        + limits.application_s
        + limits.pacing_s
        + limits.recovery_s
}

/// The slope at a point: over the last quarter of a window, or the last four segments.
fn slope_at(points: &[Grown], index: usize, mss: i64) -> Option<f64> {
    let here = points[index];
    let wanted = near(here.flight, mss);
    let mut from = index;
    while from > 0 && here.delivered - points[from].delivered < wanted {
        from -= 1;
    }
    let there = points[from];
    let delivered = here.delivered - there.delivered;
    (delivered > 0).then(|| (here.flight - there.flight) as f64 / delivered as f64)
}

/// The slope of slow start: the median of the first rounds, at most one.
fn early_slope(points: &[Grown], slopes: &[Option<f64>]) -> Option<f64> {
    let first = points.first()?;
    let early = slopes
        .iter()
        .zip(points)
        .filter_map(|(slope, point)| (point.round <= first.round + 3).then_some(*slope).flatten());
    let mut early: Vec<f64> = early.take(256).collect();
    if early.len() < 2 {
        return None;
    }
    early.sort_by(f64::total_cmp);
    let slope = early[early.len() / 2];
    (slope >= LEAST_EARLY_SLOPE).then(|| slope.min(1.0))
}

/// Finds the last point of slow start.
pub fn fit(points: &[Grown], mss: i64) -> Option<Fit> {
    // The first point is the initial window; growth begins with the first ACK.
    let slopes: Vec<Option<f64>> = (0..points.len())
        .map(|index| slope_at(points, index, mss))
        .collect();
    let scale = early_slope(points, &slopes)?;
    let mut fit = Fit {
        last: 0,
        conservative: false,
        core: 0,
        scale,
    };
    for index in 1..points.len() {
        let (here, last) = (points[index], points[fit.last]);
        // Nothing grew for windows although the sender waited for ACKs: it is over, unless it goes on
        // faster than CUBIC can grow. A link that delivers in bursts pauses for a few windows.
        let paused = here.delivered - last.delivered;
        let waited = here.limits.congestion_window_s - last.limits.congestion_window_s;
        let is_paused = waited > WAITS * (total(&here.limits) - total(&last.limits));
        if is_paused && paused > OVER * last.flight {
            break;
        }
        let fast = if is_paused && paused > PAUSED * last.flight {
            RESUMED
        } else {
            FAST
        };
        let Some(slope) = slopes[index] else { continue };
        // Where the receive window is full, the growth is that of the receiver.
        if slope >= fast * scale || is_full(&here, mss) {
            (fit.last, fit.conservative) = (index, false);
        } else if slope >= (CONSERVATIVE * scale).max(AVOIDANCE * mss as f64 / here.flight as f64) {
            // Only a run of it that follows without a gap.
            let step = here.delivered - points[index - 1].delivered;
            if fit.last + 1 >= index && step <= here.flight / 2 {
                (fit.last, fit.conservative) = (index, true);
            }
        }
    }
    // A short run of slower growth is the edge of the exit, not a phase.
    if fit.conservative {
        let begin = (0..fit.last)
            .rev()
            .find(|index| slopes[*index].is_some_and(|slope| slope >= FAST * scale))
            .unwrap_or(0);
        if points[fit.last].delivered - points[begin].delivered < points[begin].flight {
            (fit.core, fit.conservative) = (begin, false);
            return Some(fit);
        }
    }
    fit.core = fit.last;
    Some(fit)
}

/// The first sign of congestion: what it was, and when the sender reacted.
#[derive(Clone, Copy)]
pub struct Congestion {
    pub reason: Reason,
    /// When the growth had to stop: the first hole or echo.
    pub sign: Sign,
    /// When the sender reacted, by its own clock.
    pub at: i64,
    pub by_timeout: bool,
}

/// Finds the first sign of congestion.
pub fn congestion(sender: &Sender) -> Option<Congestion> {
    let loss = sender.first_retransmission.map(|(sign, by_timeout)| {
        let hole = sender.first_hole.filter(|hole| hole.at <= sign.at);
        Congestion {
            reason: Reason::Loss,
            sign: hole.unwrap_or(sign),
            at: sign.sender_at,
            by_timeout,
        }
    });
    let mark = sender.first_echo.map(|sign| Congestion {
        reason: Reason::Ecn,
        sign,
        at: sign.sender_at,
        by_timeout: false,
    });
    match (loss, mark) {
        (Some(loss), Some(mark)) if mark.at <= loss.at => Some(mark),
        (loss, mark) => loss.or(mark),
    }
}

/// The first gap that the ACKs of an encrypted connection report.
pub fn reported_gap(sender: &Sender) -> Option<Congestion> {
    sender.first_hole.map(|sign| Congestion {
        reason: Reason::Loss,
        sign,
        at: sign.sender_at,
        by_timeout: false,
    })
}

/// When the window had reached the flight of the exit, if the receive window held the flight back
/// until later. The window grows by what is delivered, also while the flight is held.
pub fn reached(sender: &Sender, fit: &Fit) -> Option<i64> {
    let last = sender.grown[fit.last];
    let wanted = last.flight - sender.initial_window? - sender.mss();
    let moment = sender
        .moments
        .iter()
        .find(|moment| moment.delivered >= wanted)?;
    let is_held = |point: &&Grown| point.window_left < NEVER_LARGER * sender.mss();
    let between = sender.grown[..fit.last].iter().rev();
    let mut between = between.take_while(|point| point.sender_at >= moment.at);
    (!fit.conservative && moment.at < last.sender_at && between.any(|point| is_held(&point)))
        .then_some(moment.at)
}

/// Whether the flight stays for longer than the start-up of BBR does without growth.
pub fn holds_flight(sender: &Sender, last: &Grown) -> bool {
    let after = sender.moments.iter();
    let after: Vec<_> = after
        .filter(|moment| moment.round > last.round + 1)
        .collect();
    let rounds = sender.round.saturating_sub(last.round);
    let low = after
        .iter()
        .filter(|moment| (moment.flight as f64) < STAYS * last.flight as f64);
    rounds > PLATEAU && low.count() * 4 < after.len()
}

/// Whether hidden losses are at the last growth.
pub fn loses(sender: &Sender, last: &Grown, hidden: &[[i64; 2]]) -> bool {
    let slack = sender.rtt_min.unwrap_or(0) / 4;
    let at = last.sender_at;
    hidden
        .iter()
        .any(|[since, until]| *since <= at + slack && *until >= at - slack)
}

/// The bend of the flight near the last point of slow start. The slope is that of a quarter of a
/// window, so it falls only some time after the sender has decided.
pub fn bend(points: &[Grown], fit: &Fit, mss: i64) -> usize {
    let last = points[fit.last];
    let near = (last.flight / SLOPE_OVER).max(1);
    let slope = if fit.conservative { CONSERVATIVE } else { FAST };
    let rise = |point: &Grown| point.flight as f64 - slope * fit.scale * point.delivered as f64;
    let begin = points[..fit.last].partition_point(|point| last.delivered - point.delivered > near);
    let near = &points[begin..=fit.last];
    let highest = near.iter().map(rise).fold(f64::MIN, f64::max);
    let noise = (BEND_NOISE * mss).max(last.flight / BEND_NOISE_PART) as f64;
    let found = near
        .iter()
        .rposition(|point| rise(point) >= highest - noise);
    begin + found.unwrap_or(near.len() - 1)
}

/// Whether the flight stopped to grow clearly before congestion showed, although within a quarter of
/// a window.
pub fn stopped_before(sender: &Sender, fit: &Fit, congestion: &Congestion, horizon: i64) -> bool {
    let (points, mss) = (&sender.grown, sender.mss());
    let bend = points[bend(points, fit, mss)];
    // At the receiver, lost data is never in flight: the growth stops with the first gap.
    if let Some(gap) = sender.first_gap
        && gap.delivered <= bend.delivered + (bend.flight / GAP_PART).max(GAP_SEGMENTS * mss)
    {
        return false;
    }
    let idle = horizon - bend.delivered;
    let highest = points[fit.last].flight.max(congestion.sign.flight);
    !fit.conservative
        && idle > (bend.flight / STOPPED_PART).max(GAP_SEGMENTS * mss)
        && ((highest - bend.flight) as f64) < STOPPED_SLOPE * fit.scale * idle as f64
}
