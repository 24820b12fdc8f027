//! The table of a census: one row per connection. docs/reference/analysis.md lists the columns.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;
use measure::tables::Table;

use crate::logs;
use crate::report::{Connection, Exit, Reason};
use crate::tracker::End;

/// A connection of a census.
#[derive(Clone, Debug)]
pub struct Row {
    /// The file, with the member of an archive behind a colon.
    pub file: Arc<str>,
    /// What the analysis says. Its number is that of its first packet in the file, from 1; in a log,
    /// that of the sender.
    pub connection: Connection,
    /// What ended it.
    pub end: End,
}

impl Row {
    /// Why the verdict is "cannot tell": the rule that says so, for a log what is wrong with it.
    #[must_use]
    pub fn cannot_tell(&self) -> Option<&'static str> {
        let verdict = &self.connection.verdict;
        (verdict.reason == Reason::CannotTell).then_some(match verdict.sentence.as_str() {
            logs::GOES_BACKWARDS => "log-goes-backwards",
            logs::BEGINS_LATE => "log-begins-late",
            _ => verdict.rule,
        })
    }
}

/// The name of a value of an enumeration, as documents have it.
pub(super) fn word(value: impl serde::Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The table of some rows.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn table(rows: &[Row]) -> Result<RecordBatch, ArrowError> {
    let mut table = Table::default();
    let all = || rows.iter().map(|row| &row.connection);
    table.text("file", rows.iter().map(|row| &*row.file));
    table.count("first_packet", all().map(|it| Some(it.number)));
    table.text("sender", all().map(|it| &it.sender));
    table.text("receiver", all().map(|it| &it.receiver));
    table.number("interface", all().map(|it| it.interface));
    table.truth("opened_by_sender", all().map(|it| it.opened_by_sender));
    table.text("vantage", all().map(|it| word(it.vantage)));
    table.maybe_text("algorithm", all().map(|it| it.algorithm.clone()));
    table.real("start_unix_s", all().map(|it| Some(it.start_unix_s)));
    table.real("duration_s", all().map(|it| Some(it.duration_s)));
    table.text("ended_by", rows.iter().map(|row| row.end.name()));
    handshake(&mut table, rows);
    traffic(&mut table, rows);
    limits(&mut table, rows);
    verdict(&mut table, rows);
    table.finish()
}

fn handshake(table: &mut Table, rows: &[Row]) {
    let all = || rows.iter().map(|row| &row.connection.handshake);
    table.truth("handshake_complete", all().map(|it| it.complete));
    table.real("handshake_rtt_ms", all().map(|it| it.rtt_ms));
    table.count(
        "handshake_mss_bytes",
        all().map(|it| it.mss_bytes.map(u64::from)),
    );
    table.count(
        "handshake_window_scale",
        all().map(|it| it.window_scale.map(u64::from)),
    );
    table.truth("handshake_sack", all().map(|it| it.sack));
    table.truth("handshake_timestamps", all().map(|it| it.timestamps));
}

fn traffic(table: &mut Table, rows: &[Row]) {
    let all = || rows.iter().map(|row| &row.connection);
    let repeated = || all().map(|it| &it.retransmissions);
    table.count("bytes", all().map(|it| Some(it.bytes)));
    table.count("segments", all().map(|it| Some(it.segments)));
    table.count("packets_sent", all().map(|it| Some(it.packets[0])));
    table.count("packets_received", all().map(|it| Some(it.packets[1])));
    table.number(
        "largest_segment_bytes",
        all().map(|it| it.largest_segment_bytes),
    );
    table.count(
        "retransmissions_segments",
        repeated().map(|it| Some(it.segments)),
    );
    table.count("retransmissions_bytes", repeated().map(|it| Some(it.bytes)));
    table.count("retransmissions_fast", repeated().map(|it| Some(it.fast)));
    table.count(
        "retransmissions_timeout",
        repeated().map(|it| Some(it.timeout)),
    );
    table.count(
        "retransmissions_tail_probe",
        repeated().map(|it| Some(it.tail_probe)),
    );
    table.count(
        "retransmissions_spurious",
        repeated().map(|it| Some(it.spurious)),
    );
    table.count("missing_bytes", all().map(|it| Some(it.missing_bytes)));
    table.real("rtt_min_ms", all().map(|it| it.rtt_ms.map(|rtt| rtt[0])));
    table.real("rtt_mean_ms", all().map(|it| it.rtt_ms.map(|rtt| rtt[1])));
    table.real("rtt_max_ms", all().map(|it| it.rtt_ms.map(|rtt| rtt[2])));
    table.count("rtt_samples", all().map(|it| Some(it.rtt_samples)));
    table.count(
        "initial_window_bytes",
        all().map(|it| it.initial_window_bytes),
    );
    table.number("rounds", all().map(|it| it.rounds));
    table.count(
        "max_in_flight_bytes",
        all().map(|it| Some(it.max_in_flight_bytes)),
    );
    table.real("goodput_bps", all().map(|it| Some(it.goodput_bps)));
}

fn limits(table: &mut Table, rows: &[Row]) {
    let all = || rows.iter().map(|row| &row.connection.limits);
    table.real(
        "limits_congestion_window_s",
        all().map(|it| Some(it.congestion_window_s)),
    );
    table.real(
        "limits_receive_window_s",
        all().map(|it| Some(it.receive_window_s)),
    );
    table.real(
        "limits_application_s",
        all().map(|it| Some(it.application_s)),
    );
    table.real("limits_pacing_s", all().map(|it| Some(it.pacing_s)));
    table.real("limits_recovery_s", all().map(|it| Some(it.recovery_s)));
    let capacity = || rows.iter().map(|row| row.connection.capacity.as_ref());
    table.real(
        "capacity_delivery_rate_bps",
        capacity().map(|it| it.map(|it| it.delivery_rate_bps)),
    );
    table.real(
        "capacity_bdp_bytes",
        capacity().map(|it| it.map(|it| it.bdp_bytes)),
    );
}

fn verdict(table: &mut Table, rows: &[Row]) {
    let all = || rows.iter().map(|row| &row.connection.verdict);
    table.text("verdict_reason", all().map(|it| it.reason.name()));
    table.text("verdict_rule", all().map(|it| it.rule));
    table.real("verdict_confidence", all().map(|it| Some(it.confidence)));
    table.maybe_text(
        "cannot_tell_because",
        rows.iter().map(|row| row.cannot_tell().map(str::to_owned)),
    );
    table.text("verdict_class", all().map(|it| it.class.name()));
    table.real(
        "verdict_class_confidence",
        all().map(|it| Some(it.class_confidence)),
    );
    let mut time = |name: &str, of: fn(&Exit) -> f64| {
        table.real(name, all().map(|it| it.exit.as_ref().map(of)));
    };
    time("exit_time_s", |exit| exit.time_s);
    time("exit_time_low_s", |exit| exit.time_interval_s[0]);
    time("exit_time_high_s", |exit| exit.time_interval_s[1]);
    let mut count = |name: &str, of: fn(&Exit) -> Option<u64>| {
        table.count(name, all().map(|it| it.exit.as_ref().and_then(of)));
    };
    count("exit_cwnd_bytes", |exit| Some(exit.cwnd_bytes));
    count("exit_cwnd_low_bytes", |exit| {
        Some(exit.cwnd_interval_bytes[0])
    });
    count("exit_cwnd_high_bytes", |exit| {
        Some(exit.cwnd_interval_bytes[1])
    });
    count("exit_ssthresh_bytes", |exit| exit.ssthresh_bytes);
    count("exit_round", |exit| Some(u64::from(exit.round)));
    count("exit_conservative", |exit| {
        Some(u64::from(exit.conservative))
    });
}
