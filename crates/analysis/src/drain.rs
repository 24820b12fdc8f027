//! The drain of a start-up that decides by the delivery rate.
//!
//! BBR leaves its STARTUP when the filtered bandwidth grew by less than 25 % in three rounds
//! (Cardwell et al., "BBR: Congestion-Based Congestion Control", ACM Queue 14(5), 2016; draft
//! "BBR Congestion Control", section 5.3.1). Until then its window holds the flight at a multiple of
//! the BDP; after that DRAIN sends more slowly than the path delivers (0.35 of it in version 1, 0.5
//! in version 3), until one BDP is in flight. Packets show the beginning of the drain, which is the
//! moment of the decision: bytes sent per bytes delivered fall from one to the gain of the drain.
//! BBR holds its flight through losses and marks, so a sign of congestion after which the flight
//! stays where it was is not why the start-up ended.

use std::ops::RangeInclusive;

use crate::sender::{Moment, Sender, Sign};

/// Bytes sent per byte delivered: before a drain at least, and in it.
const FULL: f64 = 0.8;
const DRAINING: RangeInclusive<f64> = 0.1..=0.68;

/// What a drain leaves of the flight, and what is in flight in the rounds after it, at most.
const LEFT: RangeInclusive<f64> = 0.15..=0.68;
const STAYS: f64 = 0.8;

/// Fewest segments in flight before a drain.
const LEAST: i64 = 12;

/// Rounds after the flight has grown last in which the start-up ends.
const LATEST: u32 = 8;

/// Moments in half a round.
const HALF: usize = 8;

/// Rounds in which a sender that responds to congestion stays below the flight before it.
const RESPONSE: u32 = 4;

/// What a response leaves of the flight (CUBIC: 0.7, Reno: 0.5).
const ANSWERED: RangeInclusive<f64> = 0.33..=0.9;

/// Below this part of the flight before, it was drained: a second response leaves more (0.7 squared).
const DRAINED: f64 = 0.45;

/// Bytes sent per byte delivered between two moments.
fn gain(from: &Moment, to: &Moment) -> f64 {
    (to.sent - from.sent) as f64 / (to.delivered - from.delivered).max(1) as f64
}

/// Whether the flight stays where it was after a mark, or returns there after a loss, sooner than
/// congestion avoidance grows.
pub fn is_ignored(sender: &Sender, sign: &Sign, is_mark: bool) -> bool {
    let moments = &sender.moments;
    let begin = moments.partition_point(|moment| moment.delivered <= sign.delivered);
    let Some(first) = moments.get(begin) else {
        return false;
    };
    let flight = sign.flight as f64;
    let rounds = |from: u32, to: u32| {
        moments[begin..]
            .iter()
            .filter(move |moment| (first.round + from..=first.round + to).contains(&moment.round))
    };
    // Data sent until the end shows nothing.
    if sender
        .moments
        .last()
        .is_none_or(|last| last.round < first.round + RESPONSE)
    {
        return false;
    }
    if is_mark && rounds(1, 1).all(|moment| moment.flight as f64 >= 0.9 * flight) {
        return true;
    }
    rounds(if is_mark { 2 } else { 1 }, RESPONSE)
        .any(|moment| moment.flight as f64 >= 0.97 * flight)
}

/// Whether the flight after a sign of congestion is that of a sender that responds to it: for three
/// rounds between a third and nine tenths of the flight before, and no drain follows.
pub fn is_answered(sender: &Sender, sign: &Sign) -> bool {
    let moments = &sender.moments;
    let begin = moments.partition_point(|moment| moment.delivered <= sign.delivered);
    let Some(first) = moments.get(begin) else {
        return false;
    };
    let rounds = first.round + 2..=first.round + RESPONSE;
    let mut after: Vec<i64> = moments[begin..]
        .iter()
        .filter(|moment| rounds.contains(&moment.round))
        .map(|moment| moment.flight)
        .collect();
    after.sort_unstable();
    let share = |flight: i64| flight as f64 / sign.flight.max(1) as f64;
    let later = first.round + RESPONSE + 1..=first.round + RESPONSE + LATEST;
    let later = moments[begin..]
        .iter()
        .filter(|moment| later.contains(&moment.round));
    let (low, all) = later.fold((0, 0), |(low, all), moment| {
        (low + u32::from(share(moment.flight) < DRAINED), all + 1)
    });
    if low * 5 > all {
        return false;
    }
    let has_all = moments
        .last()
        .is_some_and(|last| last.round >= first.round + RESPONSE);
    has_all
        && after
            .get(after.len() / 2)
            .is_some_and(|&flight| ANSWERED.contains(&share(flight)))
}

/// When the sender began to drain the queue that its start-up had built: the last moment before.
pub fn begin(sender: &Sender) -> Option<Moment> {
    let moments = &sender.moments;
    let mss = sender.mss();
    let highest = moments.iter().map(|moment| moment.flight).max()?;
    let candidates = HALF..moments.len().saturating_sub(2 * HALF);
    candidates
        .into_iter()
        .find(|&index| is_drain(sender, &moments[index - HALF..], highest, mss))
        .map(|index| moments[index])
}

/// Whether a drain begins at the moment `HALF` of `moments`.
fn is_drain(sender: &Sender, moments: &[Moment], highest: i64, mss: i64) -> bool {
    let here = &moments[HALF];
    let after = &moments[HALF..];
    // Three rounds without growth decide; the flight may stop to grow some rounds earlier.
    let grown = sender.grown.last().map_or(0, |last| last.round);
    if here.round > grown + LATEST {
        return false;
    }
    if here.flight < (LEAST * mss).max(highest / 2) || gain(&moments[0], here) < FULL {
        return false;
    }
    // The same flight long before: the start-up had ended then.
    let reached = sender
        .moments
        .iter()
        .find(|moment| moment.flight * 10 >= here.flight * 9)
        .map_or(0, |moment| moment.round);
    if here.round > reached + LATEST {
        return false;
    }
    // It sends all the time, and more slowly than the path delivers.
    let quarters = [(0, HALF / 2), (HALF / 2, HALF)].map(|(a, b)| gain(&after[a], &after[b]));
    if quarters.iter().any(|gain| !DRAINING.contains(gain)) {
        return false;
    }
    if after[..=HALF]
        .iter()
        .any(|moment| moment.window_left < 4 * mss)
    {
        return false;
    }
    let next = |from: u32, to: u32| {
        after
            .iter()
            .filter(move |moment| (here.round + from..=here.round + to).contains(&moment.round))
    };
    let Some(lowest) = next(0, 3).min_by_key(|moment| moment.flight) else {
        return false;
    };
    // The queue stays away, and data goes on.
    let mut later: Vec<i64> = next(2, 6).map(|moment| moment.flight).collect();
    if later.is_empty() || sender.last_new.1 <= lowest.delivered + lowest.flight {
        return false;
    }
    later.sort_unstable();
    let share = |flight: i64| flight as f64 / here.flight.max(1) as f64;
    LEFT.contains(&share(lowest.flight)) && share(later[later.len() / 2]) < STAYS
}
