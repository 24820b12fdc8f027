//! The rules of the verdict, in their order: the first whose test holds decides.
//!
//! Each rule is one entry of [`RULES`]: what it is called, which reason it gives, what it tests, how
//! sure it is, and where it comes from. docs/reference/analysis.md prints them with the
//! [thresholds](crate::thresholds); a test compares.

use crate::drain;
use crate::evidence::Evidence;
use crate::exits;
use crate::report::{Exit, Reason};
use crate::thresholds::{
    APPLICATION_TIME, LEAST_IDLE, LEAST_IDLE_ELSEWHERE, LEAST_RTT, RECEIVER_TIME,
};

/// How sure a rule is.
pub struct Confidence {
    /// In words, for the reference.
    pub words: &'static str,
    of: fn(&Evidence<'_>) -> f64,
}

/// A rule of the verdict.
pub struct Rule {
    /// Its name, which a verdict carries.
    pub name: &'static str,
    /// What it concludes: one reason, or that of the sign of congestion.
    pub reasons: &'static [Reason],
    /// Its test in words.
    pub when: &'static str,
    /// Document and section, or on what the rule was made.
    pub source: &'static str,
    /// How sure it is.
    pub confidence: Confidence,
    test: fn(&Evidence<'_>) -> bool,
    exit: fn(&Evidence<'_>) -> Option<Exit>,
    /// The end of the sentence, where slow start did not end.
    says: &'static str,
}

impl Rule {
    /// Whether it decides.
    pub fn holds(&self, evidence: &Evidence<'_>) -> bool {
        (self.test)(evidence)
    }

    /// What it concludes.
    pub fn reason(&self, evidence: &Evidence<'_>) -> Reason {
        match (self.reasons, evidence.congestion) {
            ([reason], _) => *reason,
            (_, congestion) => congestion.map_or(Reason::CannotTell, |it| it.reason),
        }
    }

    /// The exit, if slow start ended.
    pub fn exit(&self, evidence: &Evidence<'_>) -> Option<Exit> {
        (self.exit)(evidence)
    }

    /// From 0 to 1.
    pub fn sureness(&self, evidence: &Evidence<'_>) -> f64 {
        (self.confidence.of)(evidence)
    }

    /// The sentence of a verdict without an exit.
    pub fn sentence(&self, evidence: &Evidence<'_>) -> String {
        if self.reasons == CANNOT_TELL {
            return format!("Cannot tell: {}.", self.says);
        }
        let flight = evidence.growth.map_or(0, |growth| growth.last.flight);
        let kilobytes = flight as f64 / 1e3;
        format!(
            "Slow start did not end: {} at {kilobytes:.0} kB in flight.",
            self.says
        )
    }
}

const CANNOT_TELL: &[Reason] = &[Reason::CannotTell];
const SIGN: &[Reason] = &[Reason::Loss, Reason::Ecn];
const CERTAIN: Confidence = Confidence {
    words: "1",
    of: |_| 1.0,
};

/// A rule that gives no verdict.
const fn abstains(
    name: &'static str,
    when: &'static str,
    source: &'static str,
    says: &'static str,
    test: fn(&Evidence<'_>) -> bool,
) -> Rule {
    Rule {
        name,
        reasons: CANNOT_TELL,
        when,
        source,
        confidence: CERTAIN,
        test,
        exit: |_| None,
        says,
    }
}

/// All rules.
pub const RULES: &[Rule] = &[
    abstains(
        "no-beginning",
        "The capture does not have the SYN.",
        "without the beginning, neither the initial window nor the first rounds are known",
        "the capture began after the connection",
        |evidence| !evidence.has_beginning,
    ),
    abstains(
        "no-data",
        "The sender sent no data.",
        "definition",
        "the sender sent no data",
        |evidence| evidence.sender.segments == 0,
    ),
    abstains(
        "short-round-trip",
        "The capture is away from the sender, and no RTT reaches `LEAST_RTT`.",
        "RFC 7323, section 5.4: timestamps count milliseconds",
        "away from the sender, the timestamps do not resolve so short a round trip",
        |evidence| evidence.elsewhere && evidence.shortest_rtt.is_none_or(|rtt| rtt < LEAST_RTT),
    ),
    Rule {
        name: "drain",
        reasons: &[Reason::Heuristic],
        when: "The sender drains the queue of its start-up, before a sign of congestion or after \
               one that it ignored.",
        source: "Cardwell et al., \"BBR: Congestion-Based Congestion Control\", 2016; the gains of \
                 DRAIN are 0.35 and 0.5",
        confidence: Confidence {
            words: "0.95 after an ignored sign, else 0.9",
            of: |evidence| if evidence.is_ignored { 0.95 } else { 0.9 },
        },
        test: |evidence| evidence.drain.is_some(),
        exit: |evidence| {
            let begin = evidence.drain.as_ref()?;
            Some(exits::by_drain(evidence.sender, begin))
        },
        says: "",
    },
    Rule {
        name: "early-congestion",
        reasons: SIGN,
        when: "The growth is shorter than `LEAST_ROUNDS`, and the sign of congestion follows within \
               a window of it.",
        source: "RFC 5681, section 3.1: a loss ends slow start in any round",
        confidence: Confidence {
            words: "0.7 of that of `congestion`",
            of: |evidence| 0.7 * evidence.congestion_confidence(),
        },
        test: |evidence| {
            evidence.growth.is_none()
                && evidence
                    .last_grown()
                    .zip(evidence.congestion)
                    .is_some_and(|(last, it)| it.sign.delivered - last.delivered <= last.flight)
        },
        exit: exits::by_congestion,
        says: "",
    },
    abstains(
        "little-growth",
        "The growth is shorter than `LEAST_ROUNDS`, or slower than `LEAST_EARLY_SLOPE`.",
        "RFC 5681, section 3.1",
        "the flight grew for less than two round trips",
        |evidence| evidence.growth.is_none(),
    ),
    abstains(
        "paced-congestion",
        "The flight grows until the sign of congestion, the sender paces, and it does not respond \
         as a window does.",
        "BBR responds to a loss for one round only (draft \"BBR Congestion Control\", section 5.6.4)",
        "the sender paces its data, so the loss or mark may not have ended slow start",
        |evidence| {
            !evidence.encrypted
                && evidence.ends_by_congestion()
                && evidence.sender.is_paced()
                && evidence
                    .congestion
                    .is_some_and(|it| !drain::is_answered(evidence.sender, &it.sign))
        },
    ),
    Rule {
        name: "reported-gap",
        reasons: &[Reason::Loss],
        when: "The connection is encrypted, and the flight grows until its ACKs grow (`ACK_GROWS`), and \
               did not bend before.",
        source: "RFC 9000, section 19.3.1: an ACK frame is as long as it has gaps",
        confidence: Confidence {
            words: "0.9",
            of: |_| 0.9,
        },
        test: |evidence| {
            evidence.encrypted && !evidence.unseen_losses && evidence.ends_by_congestion()
        },
        exit: exits::by_congestion,
        says: "",
    },
    Rule {
        name: "congestion",
        reasons: SIGN,
        when: "The flight grows until a retransmission or an echoed mark, and did not bend before.",
        source: "RFC 5681, section 3.1; RFC 3168, section 6.1.2",
        confidence: Confidence {
            words: "0.97 less the windows without growth before it, at least 0.6",
            of: |evidence| evidence.congestion_confidence(),
        },
        test: |evidence| !evidence.encrypted && evidence.ends_by_congestion(),
        exit: exits::by_congestion,
        says: "",
    },
    Rule {
        name: "completed",
        reasons: &[Reason::Completed],
        when: "The flight grows until the data ends, without a sign of congestion.",
        source: "RFC 5681, section 3.1",
        confidence: Confidence {
            words: "0.9",
            of: |_| 0.9,
        },
        test: |evidence| {
            evidence.congestion.is_none() && evidence.growth.is_some_and(|growth| growth.goes_on)
        },
        exit: |_| None,
        says: "the transfer was complete",
    },
    abstains(
        "unseen-loss",
        "The connection is encrypted, and the capture is at the receiver.",
        "RFC 9001, section 5.4: packet numbers are protected, so a gap in them does not show",
        "the connection is encrypted, and a loss before the capture does not show",
        |evidence| evidence.unseen_losses,
    ),
    Rule {
        name: "hidden-loss",
        reasons: &[Reason::Loss],
        when: "The connection is encrypted, its ACKs have one size, and at the last growth fewer of them \
               than before answer its packets.",
        source: "RFC 9000, section 13.2.1: each ACK answers the same number of packets, and no lost \
                 one; a decision within a round trip before a loss looks the same",
        confidence: Confidence {
            words: "0.5",
            of: |_| 0.5,
        },
        test: |evidence| evidence.padded_acks && evidence.growth.is_some_and(|growth| growth.loses),
        exit: exits::by_decision,
        says: "",
    },
    abstains(
        "hidden-pause",
        "The connection is encrypted, and its sender pauses for `APPLICATION_TIME` of the rest.",
        "an empty window and an idle application look the same; grid",
        "the connection is encrypted, and it does not show why its sender paused",
        |evidence| {
            evidence.encrypted && evidence.rest_in(|rest| rest.application_s) > APPLICATION_TIME
        },
    ),
    Rule {
        name: "held-congestion",
        reasons: SIGN,
        when: "The receive window was full at the largest flight (`FULL_WINDOW_PART`), and a sign of \
               congestion follows.",
        source: "RFC 5681, section 3.1: the smaller of cwnd and rwnd limits the sender, so that the flight \
                 does not show whether cwnd grew until the loss",
        confidence: Confidence {
            words: "0.6",
            of: |_| 0.6,
        },
        test: |evidence| {
            !evidence.encrypted
                && evidence.congestion.is_some()
                && evidence.growth.is_some_and(|growth| growth.blocked)
        },
        exit: exits::by_congestion,
        says: "",
    },
    Rule {
        name: "receive-window",
        reasons: &[Reason::ReceiverLimited],
        when: "The receive window was never larger than the flight (`NEVER_LARGER`), or it was full \
               (`FULL_WINDOW_PART`) for `RECEIVER_TIME` of the rest.",
        source: "RFC 5681, section 3.1: the smaller of cwnd and rwnd limits the sender; grid",
        confidence: Confidence {
            words: "0.5, and half of that part of the time, at most 0.99",
            of: |evidence| (0.5 + evidence.rest_in(|rest| rest.receive_window_s) / 2.0).min(0.99),
        },
        test: |evidence| {
            evidence.growth.is_some_and(|growth| {
                growth.never_larger
                    || growth.blocked
                        && evidence.rest_in(|rest| rest.receive_window_s) > RECEIVER_TIME
            })
        },
        exit: |_| None,
        says: "the receive window stopped it",
    },
    Rule {
        name: "application",
        reasons: &[Reason::ApplicationLimited],
        when: "The application had no data for `APPLICATION_TIME` of the rest.",
        source: "RFC 7661, section 1: an application-limited sender; grid",
        confidence: Confidence {
            words: "that part of the time, at most 0.95",
            of: |evidence| evidence.rest_in(|rest| rest.application_s).min(0.95),
        },
        test: |evidence| evidence.rest_in(|rest| rest.application_s) > APPLICATION_TIME,
        exit: |_| None,
        says: "the application had no more data",
    },
    abstains(
        "paced-flight",
        "The sender paces, and its flight does not stay (`PLATEAU`, `STAYS`).",
        "a sender by the rate stops to grow rounds before it decides; grid",
        "the sender paces its data, so bytes in flight do not show its window",
        |evidence| {
            let growth = evidence.growth;
            !evidence.encrypted
                && evidence.sender.is_paced()
                && growth.is_some_and(|growth| !growth.holds_flight)
        },
    ),
    abstains(
        "data-ends",
        "Less than `LEAST_IDLE` (away from the sender `LEAST_IDLE_ELSEWHERE`) is delivered after the \
         growth, without a sign of congestion.",
        "the gap between two bursts looks the same; grid",
        "the data ended within a round trip after the growth",
        |evidence| {
            let least = if evidence.elsewhere {
                LEAST_IDLE_ELSEWHERE
            } else {
                LEAST_IDLE
            };
            evidence.congestion.is_none() && evidence.idle_windows() < least
        },
    ),
    Rule {
        name: "hidden-decision",
        reasons: &[Reason::Heuristic],
        when: "The connection is encrypted, and nothing else stopped the growth.",
        source: "as `decision`, but a loss of few packets does not show; three of four are right in the QUIC training \
                 flows",
        confidence: Confidence {
            words: "0.7",
            of: |_| 0.7,
        },
        test: |evidence| evidence.encrypted,
        exit: exits::by_decision,
        says: "",
    },
    Rule {
        name: "decision",
        reasons: &[Reason::Heuristic],
        when: "Nothing else stopped the growth: the sender decided.",
        source: "what remains; HyStart (Ha and Rhee, 2011), RFC 9406 and SEARCH decide so",
        confidence: Confidence {
            words: "0.5, and a quarter of the windows without growth, at most 0.97",
            of: |evidence| (0.5 + evidence.idle_windows() / 4.0).min(0.97),
        },
        test: |_| true,
        exit: exits::by_decision,
        says: "",
    },
];
