//! The exit from slow start that each kind of rule finds: its time, its window, and their intervals.

use crate::evidence::Evidence;
use crate::growth::{self, Fit};
use crate::report::Exit;
use crate::sender::{Moment, Sender};

/// The exit at a decision of the sender: where the flight bends.
pub fn by_decision(evidence: &Evidence<'_>) -> Option<Exit> {
    let sender = evidence.sender;
    let mut fit = evidence.growth?.fit;
    fit.last = growth::bend(&sender.grown, &fit, sender.mss());
    let last = sender.grown[fit.last];
    let at = growth::reached(sender, &fit).unwrap_or(last.sender_at);
    Some(exit_of(sender, &fit, at, last.flight, None))
}

/// The exit at a sign of congestion.
pub fn by_congestion(evidence: &Evidence<'_>) -> Option<Exit> {
    let (sender, congestion) = (evidence.sender, evidence.congestion?);
    let end = sender.grown.len().checked_sub(1)?;
    let fit = evidence.growth.map_or(
        Fit {
            last: end,
            conservative: false,
            core: end,
            scale: 1.0,
        },
        |growth| growth.fit,
    );
    let last = sender.grown[fit.last];
    let flight = last.flight.max(congestion.sign.flight);
    let after = sender
        .after_recovery
        .map(|(_, flight)| flight)
        .filter(|flight| *flight > 0 && !congestion.by_timeout);
    let mut exit = exit_of(sender, &fit, congestion.at, flight, after);
    // After the last new data, the window grows unseen.
    if congestion.sign.delivered > sender.last_new.1 {
        let unseen = (congestion.sign.delivered - last.delivered).max(0);
        let [_, high] = &mut exit.cwnd_interval_bytes;
        *high = (*high).max((flight + unseen).max(0) as u64);
    }
    Some(exit)
}

/// The exit at the beginning of a drain: the sender left its start-up by the delivery rate.
pub fn by_drain(sender: &Sender, begin: &Moment) -> Exit {
    let seconds = |nanos: i64| nanos as f64 / 1e9;
    let next = sender.moments.iter().find(|each| each.at > begin.at);
    let step = next.map_or(0, |next| next.at - begin.at);
    let flight = begin.flight.max(0) as u64;
    Exit {
        time_s: seconds(begin.at),
        time_interval_s: [seconds(begin.at - 2 * step), seconds(begin.at + 2 * step)],
        cwnd_bytes: flight,
        cwnd_interval_bytes: [flight, flight + flight / 8],
        ssthresh_bytes: None,
        round: begin.round,
        conservative: false,
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
