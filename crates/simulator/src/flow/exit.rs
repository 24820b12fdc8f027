//! The exit from slow start as a result.

use congestion::{ExitReason, Fact, SlowStartExit, Unit};
use measure::SlowStartExitResult;
use units::Instant;

/// The result of an exit at `exit`, of a flow that started at `start`.
pub fn exit_result(exit: &SlowStartExit, start: Instant) -> SlowStartExitResult {
    let (reason, facts) = (exit.reason.name(), exit.reason.facts());
    let time_s = exit.at.saturating_since(start).as_secs_f64();
    if facts[0].is_none() {
        return SlowStartExitResult::without_evidence(time_s, exit.cwnd.get(), reason);
    }
    let name = |fact: &Fact| {
        let unit = match fact.unit {
            Unit::Time => "_ms",
            Unit::Bytes => "_bytes",
            Unit::Rate => "_bps",
            Unit::Ratio | Unit::Count => "",
        };
        format!("{}{unit}", fact.name)
    };
    let value = |fact: &Fact| match fact.unit {
        Unit::Time => fact.value as f64 / 1e6,
        Unit::Ratio => fact.value as f64 / 1e3,
        Unit::Bytes | Unit::Rate | Unit::Count => fact.value as f64,
    };
    let is_test = match exit.reason {
        ExitReason::AckTrain { .. }
        | ExitReason::Delay { .. }
        | ExitReason::Search { .. }
        | ExitReason::Measured { .. } => true,
        ExitReason::ConservativeRounds { .. }
        | ExitReason::Bandwidth { .. }
        | ExitReason::Named { .. }
        | ExitReason::Decision
        | ExitReason::FullPipe { .. }
        | ExitReason::Threshold
        | ExitReason::Loss
        | ExitReason::Ecn
        | ExitReason::Timeout => false,
    };
    let pair = facts[0].as_ref().zip(facts[1].as_ref());
    SlowStartExitResult {
        time_s,
        cwnd_bytes: exit.cwnd.get(),
        cwnd_packets: None,
        reason: reason.into(),
        evidence: exit.reason.to_string().into(),
        values: facts
            .iter()
            .flatten()
            .map(|fact| (name(fact), value(fact)))
            .collect(),
        measured: pair
            .filter(|_| is_test)
            .map(|(measured, threshold)| [value(measured), value(threshold)]),
        path: None,
    }
}
