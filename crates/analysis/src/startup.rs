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
//!
//! The [rules](crate::rules) say this one by one, with their [thresholds](crate::thresholds).

use crate::evidence::{Evidence, Hidden};
use crate::growth::total;
use crate::report::{Capacity, Class, Exit, Reason, Verdict};
use crate::rules::RULES;
use crate::sender::{Round, Sender};
use crate::thresholds::{NEAR_CAPACITY, OWN_LIMIT, ROUNDS_FOR_CAPACITY};

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

/// The verdict on the start-up of a sender. `has_beginning` says that the capture has its SYN.
/// An encrypted connection has what is `hidden` in it.
pub fn verdict(sender: &Sender, has_beginning: bool, hidden: Option<&Hidden>) -> Verdict {
    let evidence = Evidence::of(sender, has_beginning, hidden);
    // The last rule holds always.
    let last = &RULES[RULES.len() - 1];
    let rule = RULES.iter().find(|rule| rule.holds(&evidence));
    let rule = rule.unwrap_or(last);
    let (reason, confidence) = (rule.reason(&evidence), rule.sureness(&evidence));
    let Some(exit) = rule.exit(&evidence) else {
        return Verdict {
            rule: rule.name,
            reason,
            confidence,
            exit: None,
            class: Class::CannotTell,
            class_confidence: 1.0,
            sentence: rule.sentence(&evidence),
        };
    };
    let (class, class_confidence) = class_of(sender, &exit, reason);
    Verdict {
        rule: rule.name,
        reason,
        confidence,
        class,
        class_confidence,
        sentence: sentence(reason, &exit, class, &evidence),
        exit: Some(exit),
    }
}

/// The exit against the capacity that the rest of the connection shows.
fn class_of(sender: &Sender, exit: &Exit, reason: Reason) -> (Class, f64) {
    let cannot = (Class::CannotTell, 1.0);
    let Some(capacity) = capacity(sender) else {
        return cannot;
    };
    let at = (exit.time_s * 1e9) as i64;
    let after = sender.rounds.iter().filter(|round| round.began >= at);
    if after.count() < ROUNDS_FOR_CAPACITY {
        return cannot;
    }
    let limits = sender.limits();
    let own = limits.receive_window_s + limits.application_s;
    let all = total(&limits).max(1e-9);
    if own > OWN_LIMIT * all {
        // What limited the flow later was not the path.
        return (Class::CannotTell, own / all);
    }
    let filled = exit.cwnd_bytes as f64 / capacity.bdp_bytes.max(1.0);
    // The nearer to the boundary, the less sure; the boundary leaves room for the headers of the rate.
    let confidence = ((filled / NEAR_CAPACITY).ln().abs() / 0.5).clamp(0.5, 0.95);
    if filled < NEAR_CAPACITY {
        return (Class::Early, confidence);
    }
    if reason == Reason::Heuristic {
        return (Class::AtCapacity, confidence);
    }
    (Class::Late, confidence)
}

fn sentence(reason: Reason, exit: &Exit, class: Class, evidence: &Evidence<'_>) -> String {
    let why = match reason {
        Reason::Loss => "a loss",
        Reason::Ecn => "a congestion mark",
        _ => "a heuristic",
    };
    let count = exit.cwnd_bytes / evidence.sender.mss().max(1) as u64;
    let what = if evidence.encrypted {
        "packets"
    } else {
        "segments"
    };
    let class = match class {
        Class::Early => ", before the path was full",
        Class::AtCapacity => ", when the path was full",
        Class::Late => ", after the path was full",
        Class::CannotTell => "",
    };
    format!(
        "Slow start ended by {why} after {:.3} s with {count} {what} in flight{class}.",
        exit.time_s
    )
}
