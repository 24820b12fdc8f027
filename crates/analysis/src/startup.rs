//! When and why slow start ended.
//!
//! In slow start each delivered byte lets the flight grow by one byte (RFC 5681, section 3.1; Linux,
//! RFC 9438 and QUIC alike), so over a quarter of a window the flight's *slope*, its growth per
//! delivered byte, is near one. In the conservative slow start of HyStart++ it is a quarter (RFC
//! 9406, section 4.2), and in congestion avoidance far less. The exit is the last point of the
//! growing flight whose slope is that of slow start. What came next is the reason:
//!
//! - a retransmission or a mark while the flight still grew: loss or ECN;
//! - a full receive window: the receiver;
//! - waits that the application caused: the application;
//! - the end of the data while the flight still grew: completed;
//! - else a decision of the sender, a heuristic.
//!
//! The method needs the beginning of the connection and at least two rounds of growth.

use crate::drain;
use crate::report::{Capacity, Class, Exit, Limits, Reason, Vantage, Verdict};
use crate::sender::{Grown, Moment, Round, Sender, Sign};

/// Slope of slow start, as a fraction of the connection's own early slope.
const FAST: f64 = 0.5;

/// Slope of a slow start that goes on after a pause, likewise.
const RESUMED: f64 = 0.7;

/// Slope of conservative slow start, likewise: half of its quarter.
const CONSERVATIVE: f64 = 0.125;

/// Congestion avoidance grows by a segment per window; this many segments are more.
const AVOIDANCE: f64 = 2.0;

/// Windows without growth, before the data ends, that a decision of the sender needs.
const LEAST_IDLE: f64 = 0.6;

/// Likewise away from the sender, where bursts and the order of packets are less sure.
const LEAST_IDLE_ELSEWHERE: f64 = 1.2;

/// Rounds in which BBR's start-up may go on without growth, and two more.
const PLATEAU: u32 = 6;

/// What stays of a flight that a sender holds.
const STAYS: f64 = 0.75;

/// Rounds after the exit that a statement about capacity needs.
const ROUNDS_FOR_CAPACITY: usize = 5;

/// Shortest RTT whose rounds a clock of 1 ms resolves, in nanoseconds.
const LEAST_RTT: i64 = 5_000_000;

/// What the growth of the flight shows.
#[derive(Clone, Copy, Debug)]
struct Fit {
    /// Index of the last point of slow start.
    last: usize,
    /// Whether slower growth came at the end.
    conservative: bool,
    /// Index of the last point before a run of slower growth that is too short for a phase.
    core: usize,
    /// Slope of slow start.
    scale: f64,
}

/// The slope at a point: over the last quarter of a window, or the last four segments.
fn slope_at(points: &[Grown], index: usize, mss: i64) -> Option<f64> {
    let here = points[index];
    let wanted = (here.flight / 4).max(4 * mss);
    let mut from = index;
    while from > 0 && here.delivered - points[from].delivered < wanted {
        from -= 1;
    }
    let there = points[from];
    let delivered = here.delivered - there.delivered;
    (delivered > 0).then(|| (here.flight - there.flight) as f64 / delivered as f64)
}

fn fit(points: &[Grown], mss: i64) -> Option<Fit> {
    // The first point is the initial window; growth begins with the first ACK.
    let slopes: Vec<Option<f64>> = (0..points.len())
        .map(|index| slope_at(points, index, mss))
        .collect();
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
    if slope < 0.3 {
        return None;
    }
    let scale = slope.min(1.0);
    let mut fit = Fit {
        last: 0,
        conservative: false,
        core: 0,
        scale,
    };
    for index in 1..points.len() {
        let (here, last) = (points[index], points[fit.last]);
        // Nothing grew for windows although the sender waited for ACKs: it is over, unless it goes on
        // faster than CUBIC can grow (Linux: one segment for two delivered). A link that delivers in
        // bursts pauses for a few windows.
        let paused = here.delivered - last.delivered;
        let waited = here.limits.congestion_window_s - last.limits.congestion_window_s;
        let is_paused = waited > 0.5 * (total(&here.limits) - total(&last.limits));
        if is_paused && paused > 8 * last.flight {
            break;
        }
        let fast = if is_paused && paused > 2 * last.flight {
            RESUMED
        } else {
            FAST
        };
        let Some(slope) = slopes[index] else { continue };
        if slope >= fast * scale {
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

fn total(limits: &Limits) -> f64 {
    limits.congestion_window_s
        + limits.receive_window_s
        + limits.application_s
        + limits.pacing_s
        + limits.recovery_s
}

/// The first sign of congestion: what it was, and when the sender reacted.
#[derive(Clone, Copy)]
struct Congestion {
    reason: Reason,
    /// When the growth had to stop: the first hole or echo.
    sign: Sign,
    /// When the sender reacted, by its own clock.
    at: i64,
    by_timeout: bool,
}

fn congestion(sender: &Sender) -> Option<Congestion> {
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

/// The path's capacity, from the rounds of the whole connection.
pub fn capacity(sender: &Sender) -> Option<Capacity> {
    let min_rtt = sender.rtt_min?;
    let mut rates: Vec<f64> = sender
        .rounds
        .iter()
        .filter(|round| round.ended - round.began >= min_rtt)
        .map(Round::rate)
        .collect();
    if rates.is_empty() {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    // ACKs that a queue compressed make single rounds too fast.
    let rate = rates[(rates.len() - 1) * 9 / 10];
    Some(Capacity {
        delivery_rate_bps: rate,
        bdp_bytes: rate / 8.0 * min_rtt as f64 / 1e9,
    })
}

/// The verdict of a connection without an exit.
fn without_exit(reason: Reason, confidence: f64, sentence: String) -> Verdict {
    Verdict {
        reason,
        confidence,
        exit: None,
        class: Class::CannotTell,
        class_confidence: 1.0,
        cost_s: (reason != Reason::CannotTell).then_some(0.0),
        sentence,
    }
}

/// The verdict on the start-up of a sender. `has_beginning` says that the capture has its SYN.
pub fn verdict(sender: &Sender, has_beginning: bool) -> Verdict {
    let mss = sender.mss();
    let cannot = |why: &str| without_exit(Reason::CannotTell, 1.0, format!("Cannot tell: {why}."));
    if !has_beginning {
        return cannot("the capture began after the connection");
    }
    if sender.segments == 0 {
        return cannot("the sender sent no data");
    }
    let elsewhere = matches!(sender.vantage, Vantage::Receiver | Vantage::Middle);
    // The samples count from the ticks of the sender; at the receiver, the handshake is exact.
    let handshake = (sender.vantage == Vantage::Receiver).then_some(sender.to_sender);
    let shortest = sender.rtt_min.map(|rtt| rtt.min(handshake.unwrap_or(rtt)));
    if elsewhere && shortest.is_none_or(|rtt| rtt < LEAST_RTT) {
        return cannot("away from the sender, the timestamps do not resolve so short a round trip");
    }
    let points = &sender.grown;
    let mut congestion = congestion(sender);
    let is_ignored = congestion.is_some_and(|it| {
        drain::is_ignored(sender, &it.sign, it.reason == Reason::Ecn) && !it.by_timeout
    });
    let drain = drain::begin(sender);
    if let Some(begin) = drain
        && congestion
            .is_none_or(|it| is_ignored || begin.delivered + begin.flight / 2 < it.sign.delivered)
    {
        return by_drain(sender, &begin, is_ignored);
    }
    if is_ignored && congestion.is_some_and(|it| it.reason == Reason::Ecn) {
        congestion = None;
    }
    let rounds = points.last().map_or(0, |last| last.round);
    let Some(fit) = fit(points, mss).filter(|_| rounds >= 2) else {
        return short(sender, congestion)
            .unwrap_or_else(|| cannot("the flight grew for less than two round trips"));
    };
    // Slower growth until a loss or until the end, however short: slow start lasted until then.
    let mut fit = fit;
    // A loss that shows only after the last new data still belongs to the growth before.
    let until = sender.last_new.1;
    let horizon = congestion.map_or(until, |it| it.sign.delivered.min(until));
    let near = |point: &Grown| horizon - point.delivered <= (point.flight / 4).max(4 * mss);
    if !near(&points[fit.last]) {
        fit.last = fit.core;
    }
    let last = points[fit.last];
    // Bytes delivered without growth before the congestion, or before the data ended.
    let idle = (horizon - last.delivered).max(0);
    let grows_until_then = near(&last);
    if let Some(congestion) = congestion
        && grows_until_then
        && !stopped_before(sender, &fit, &congestion, horizon)
    {
        if sender.is_paced() && !drain::is_answered(sender, &congestion.sign) {
            return cannot("the sender paces its data, and the sign of congestion may not be why");
        }
        return by_congestion(sender, &fit, congestion, idle);
    }
    // After the last new data, the sender only waits for its ACKs.
    let until = sender.last_new_limits;
    let limits = Limits {
        congestion_window_s: until.congestion_window_s - last.limits.congestion_window_s,
        receive_window_s: until.receive_window_s - last.limits.receive_window_s,
        application_s: until.application_s - last.limits.application_s,
        pacing_s: until.pacing_s - last.limits.pacing_s,
        recovery_s: 0.0,
    };
    let kibi = |bytes: i64| format!("{:.0} kB", bytes as f64 / 1e3);
    if grows_until_then && congestion.is_none() {
        // Evidence: how much grew in the last window.
        return without_exit(
            Reason::Completed,
            0.9,
            format!(
                "Slow start did not end: the transfer was complete at {} in flight.",
                kibi(last.flight)
            ),
        );
    }
    let all = total(&limits).max(1e-9);
    // The window of the receiver was never larger than the flight.
    let never_larger = sender.largest_window <= last.flight + 2 * mss;
    let blocked = never_larger
        || sender
            .grown
            .last()
            .is_some_and(|point| point.window_left < (2 * mss).max(point.flight / 16));
    if never_larger || blocked && limits.receive_window_s > 0.3 * all {
        return without_exit(
            Reason::ReceiverLimited,
            (0.5 + limits.receive_window_s / all / 2.0).min(0.99),
            format!(
                "Slow start did not end: the receive window stopped it at {} in flight.",
                kibi(last.flight)
            ),
        );
    }
    if limits.application_s > 0.5 * all {
        return without_exit(
            Reason::ApplicationLimited,
            (limits.application_s / all).min(0.95),
            format!(
                "Slow start did not end: the application had no more data at {} in flight.",
                kibi(last.flight)
            ),
        );
    }
    // A sender by the rate holds its flight, too, before it decides.
    if sender.is_paced() && !holds_flight(sender, &last) {
        return cannot("the sender paces its data, and the flight does not show its decision");
    }
    // A decision of the sender. The more was delivered without growth, the surer.
    let windows = idle as f64 / last.flight.max(1) as f64;
    let least = if elsewhere {
        LEAST_IDLE_ELSEWHERE
    } else {
        LEAST_IDLE
    };
    if windows < least && congestion.is_none() {
        return cannot("the data ended within a round trip after the growth");
    }
    let confidence = (0.5 + windows / 4.0).min(0.97);
    fit.last = bend(points, &fit, mss);
    let last = points[fit.last];
    let at = reached(sender, &fit).unwrap_or(last.sender_at);
    let exit = exit_of(sender, &fit, at, last.flight, None);
    let (class, class_confidence, cost_s) = class_of(sender, &exit, Reason::Heuristic);
    let sentence = sentence(Reason::Heuristic, &exit, class, sender);
    Verdict {
        reason: Reason::Heuristic,
        confidence,
        exit: Some(exit),
        class,
        class_confidence,
        cost_s,
        sentence,
    }
}

/// When the window had reached the flight of the exit, if the receive window held the flight back
/// until later. The window grows by what is delivered, also while the flight is held.
fn reached(sender: &Sender, fit: &Fit) -> Option<i64> {
    let last = sender.grown[fit.last];
    let wanted = last.flight - sender.initial_window? - sender.mss();
    let moment = sender
        .moments
        .iter()
        .find(|moment| moment.delivered >= wanted)?;
    let is_held = |point: &&Grown| point.window_left < 2 * sender.mss();
    let between = sender.grown[..fit.last].iter().rev();
    let mut between = between.take_while(|point| point.sender_at >= moment.at);
    (!fit.conservative && moment.at < last.sender_at && between.any(|point| is_held(&point)))
        .then_some(moment.at)
}

/// Whether the flight stays for longer than the start-up of BBR does without growth.
fn holds_flight(sender: &Sender, last: &Grown) -> bool {
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

/// The bend of the flight near the last point of slow start. The slope is that of a quarter of a
/// window, so it falls only some time after the sender has decided.
fn bend(points: &[Grown], fit: &Fit, mss: i64) -> usize {
    let last = points[fit.last];
    let near = (last.flight / 4).max(1);
    let slope = if fit.conservative { CONSERVATIVE } else { FAST };
    let rise = |point: &Grown| point.flight as f64 - slope * fit.scale * point.delivered as f64;
    let begin = points[..fit.last].partition_point(|point| last.delivered - point.delivered > near);
    let near = &points[begin..=fit.last];
    let highest = near.iter().map(rise).fold(f64::MIN, f64::max);
    let noise = (2 * mss).max(last.flight / 128) as f64;
    let found = near
        .iter()
        .rposition(|point| rise(point) >= highest - noise);
    begin + found.unwrap_or(near.len() - 1)
}

/// Whether the flight stopped to grow clearly before congestion showed, although within a quarter of
/// a window.
fn stopped_before(sender: &Sender, fit: &Fit, congestion: &Congestion, horizon: i64) -> bool {
    let (points, mss) = (&sender.grown, sender.mss());
    let bend = points[bend(points, fit, mss)];
    // At the receiver, lost data is never in flight: the growth stops with the first gap.
    if let Some(gap) = sender.first_gap
        && gap.delivered <= bend.delivered + (bend.flight / 32).max(8 * mss)
    {
        return false;
    }
    let idle = horizon - bend.delivered;
    let highest = points[fit.last].flight.max(congestion.sign.flight);
    !fit.conservative
        && idle > (bend.flight / 6).max(8 * mss)
        && ((highest - bend.flight) as f64) < 0.15 * fit.scale * idle as f64
}

/// A connection without two rounds of growth: a loss may still have ended it.
fn short(sender: &Sender, congestion: Option<Congestion>) -> Option<Verdict> {
    let congestion = congestion?;
    let last = sender.grown.last()?;
    let idle = congestion.sign.delivered - last.delivered;
    if idle > last.flight {
        return None;
    }
    let fit = Fit {
        last: sender.grown.len() - 1,
        conservative: false,
        core: sender.grown.len() - 1,
        scale: 1.0,
    };
    let mut verdict = by_congestion(sender, &fit, congestion, idle);
    verdict.confidence *= 0.7;
    Some(verdict)
}

fn by_congestion(sender: &Sender, fit: &Fit, congestion: Congestion, idle: i64) -> Verdict {
    let last = sender.grown[fit.last];
    let flight = last.flight.max(congestion.sign.flight);
    let after = sender
        .after_recovery
        .map(|(_, flight)| flight)
        .filter(|flight| *flight > 0 && !congestion.by_timeout);
    let mut exit = exit_of(sender, fit, congestion.at, flight, after);
    // After the last new data, the window grows unseen.
    if congestion.sign.delivered > sender.last_new.1 {
        let unseen = (congestion.sign.delivered - last.delivered).max(0);
        let [_, high] = &mut exit.cwnd_interval_bytes;
        *high = (*high).max((flight + unseen).max(0) as u64);
    }
    let (class, class_confidence, cost_s) = class_of(sender, &exit, congestion.reason);
    let unsure = idle as f64 / last.flight.max(1) as f64;
    let sentence = sentence(congestion.reason, &exit, class, sender);
    Verdict {
        reason: congestion.reason,
        confidence: (0.97 - unsure).max(0.6),
        exit: Some(exit),
        class,
        class_confidence,
        cost_s,
        sentence,
    }
}

/// The sender drained a queue: it left its start-up by the delivery rate.
fn by_drain(sender: &Sender, begin: &Moment, is_sure: bool) -> Verdict {
    let seconds = |nanos: i64| nanos as f64 / 1e9;
    let next = sender.moments.iter().find(|each| each.at > begin.at);
    let step = next.map_or(0, |next| next.at - begin.at);
    let flight = begin.flight.max(0) as u64;
    let exit = Exit {
        time_s: seconds(begin.at),
        time_interval_s: [seconds(begin.at - 2 * step), seconds(begin.at + 2 * step)],
        cwnd_bytes: flight,
        cwnd_interval_bytes: [flight, flight + flight / 8],
        ssthresh_bytes: None,
        round: begin.round,
        conservative: false,
    };
    let (class, class_confidence, cost_s) = class_of(sender, &exit, Reason::Heuristic);
    let sentence = sentence(Reason::Heuristic, &exit, class, sender);
    Verdict {
        reason: Reason::Heuristic,
        confidence: if is_sure { 0.95 } else { 0.9 },
        exit: Some(exit),
        class,
        class_confidence,
        cost_s,
        sentence,
    }
}

fn exit_of(sender: &Sender, fit: &Fit, at: i64, flight: i64, after: Option<i64>) -> Exit {
    let points = &sender.grown;
    let last = points[fit.last];
    let seconds = |nanos: i64| nanos as f64 / 1e9;
    let next = points.get(fit.last + 1).map_or(at, |next| next.sender_at);
    let rtt = sender.rtt_min.unwrap_or(0);
    // One burst may still have been on its way into the flight.
    let step = fit
        .last
        .checked_sub(1)
        .map_or(0, |before| last.flight - points[before].flight)
        .max(sender.mss());
    Exit {
        time_s: seconds(at),
        time_interval_s: [
            seconds(last.sender_at.min(at)),
            seconds(at.max(next.min(at + rtt)) + rtt / 4),
        ],
        cwnd_bytes: flight.max(0) as u64,
        cwnd_interval_bytes: [flight.max(0) as u64, (flight + step).max(0) as u64],
        ssthresh_bytes: after.map(|flight| flight as u64),
        round: last.round,
        conservative: fit.conservative,
    }
}

/// The exit against the capacity that the rest of the connection shows.
fn class_of(sender: &Sender, exit: &Exit, reason: Reason) -> (Class, f64, Option<f64>) {
    let cannot = (Class::CannotTell, 1.0, None);
    let Some(capacity) = capacity(sender) else {
        return cannot;
    };
    let at = (exit.time_s * 1e9) as i64;
    let after = sender.rounds.iter().filter(|round| round.began >= at);
    let after: Vec<&Round> = after.collect();
    if after.len() < ROUNDS_FOR_CAPACITY {
        return cannot;
    }
    let limits = sender.limits();
    let own = limits.receive_window_s + limits.application_s;
    let all = total(&limits).max(1e-9);
    if own > 0.5 * all {
        // What limited the flow later was not the path.
        return (Class::CannotTell, own / all, Some(0.0));
    }
    let filled = exit.cwnd_bytes as f64 / capacity.bdp_bytes.max(1.0);
    // The nearer to the boundary, the less sure; 0.9 leaves room for the headers of the rate.
    let confidence = ((filled / 0.9).ln().abs() / 0.5).clamp(0.5, 0.95);
    if filled < 0.9 {
        let full = after
            .iter()
            .find(|round| round.rate() >= 0.9 * capacity.delivery_rate_bps);
        let ideal = sender.rtt_min.unwrap_or(0) as f64 / 1e9 * (1.0 / filled).log2().max(0.0);
        let cost = full.map(|round| (round.began as f64 / 1e9 - exit.time_s - ideal).max(0.0));
        return (Class::Early, confidence, cost);
    }
    if reason == Reason::Heuristic {
        return (Class::AtCapacity, confidence, Some(0.0));
    }
    let repaired = sender.retransmissions.bytes as f64 * 8.0 / capacity.delivery_rate_bps;
    (Class::Late, confidence, Some(repaired))
}

fn sentence(reason: Reason, exit: &Exit, class: Class, sender: &Sender) -> String {
    let why = match reason {
        Reason::Loss => "a loss",
        Reason::Ecn => "a congestion mark",
        _ => "a heuristic",
    };
    let segments = exit.cwnd_bytes / sender.mss().max(1) as u64;
    let class = match class {
        Class::Early => ", before the path was full",
        Class::AtCapacity => ", when the path was full",
        Class::Late => ", after the path was full",
        Class::CannotTell => "",
    };
    format!(
        "Slow start ended by {why} after {:.3} s with {segments} segments in flight{class}.",
        exit.time_s
    )
}
