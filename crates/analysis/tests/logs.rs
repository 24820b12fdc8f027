//! Logs of senders: M-Lab's sample, which is the data of others and read only where it is, and logs
//! made here.

use analysis::{Class, FileReport, Options, Reason, Vantage};

/// M-Lab's sample (repository m-lab/tcp-info, netlink/testdata), 63 kB.
const SAMPLE: &str = "mlab-ndt-7hhhv_1559749627_0000000000062D84.00000.jsonl.zst";

/// 891 snapshots of 10.6 s of a CUBIC flow. Read from the file by hand: at 0.35 s the threshold and
/// the window become 38 segments without a loss, and the receive window limits 10.10 of 10.61 s.
#[test]
fn the_receiver_limits_the_sample_of_mlab_after_a_heuristic_exit() {
    let Some(file) = testing::traces::capture(SAMPLE) else {
        return;
    };
    let report = analysis::analyze(&file, &with_points(500)).expect("an archive");
    assert_eq!(
        (report.format, report.records, report.notes.len()),
        ("tcp-info", 891, 0)
    );
    let [connection] = &report.connections[..] else {
        panic!("{} connections", report.connections.len());
    };
    assert_eq!(connection.vantage, Vantage::Log);
    assert_eq!(connection.algorithm.as_deref(), Some("cubic"));
    let verdict = &connection.verdict;
    assert_eq!(
        (verdict.reason, verdict.class),
        (Reason::Heuristic, Class::CannotTell)
    );
    let exit = verdict.exit.as_ref().expect("an exit");
    assert!((0.33..0.37).contains(&exit.time_s), "{}", exit.time_s);
    assert_eq!(
        exit.cwnd_bytes / u64::from(connection.largest_segment_bytes),
        38
    );
    assert_eq!(exit.ssthresh_bytes, Some(exit.cwnd_bytes));
    let limits = &connection.limits;
    assert!(
        (10.0..10.2).contains(&limits.receive_window_s),
        "{limits:?}"
    );
    assert!(
        verdict
            .sentence
            .contains("by a heuristic after 0.35 s at 38 segments; the receiver was the limit"),
        "{}",
        verdict.sentence
    );
    assert_eq!(connection.series.len(), 446);
}

/// A log of `ss` with one line per 100 ms: window, threshold, and segments retransmitted.
fn ss(rows: &[(u32, Option<u32>, u32)]) -> Vec<u8> {
    let mut text = String::new();
    for (index, (cwnd, ssthresh, retransmitted)) in rows.iter().enumerate() {
        let ssthresh = ssthresh.map_or(String::new(), |value| format!("ssthresh:{value} "));
        text.push_str(&format!(
            "1700000000.{index}00\nESTAB 0 0 10.0.0.1:5000 10.0.0.2:80\n\t cubic rto:204 rtt:50/2 \
             mss:1000 cwnd:{cwnd} {ssthresh}bytes_acked:{} unacked:{cwnd} retrans:0/{retransmitted} \
             busy:{}ms minrtt:48\n",
            index * 10_000,
            index * 100,
        ));
    }
    text.into_bytes()
}

fn with_points(points: usize) -> Options {
    Options {
        points,
        ..Options::default()
    }
}

fn log(bytes: Vec<u8>) -> FileReport {
    let bytes = std::io::Cursor::new(bytes);
    analysis::analyze_reader(bytes, &Options::default()).expect("a log")
}

/// A qlog of one sender: times in milliseconds, windows, and thresholds where they are set.
fn qlog(rows: &[(u64, u32, Option<u32>)]) -> Vec<u8> {
    let event = |&(time, window, threshold): &(u64, u32, Option<u32>)| {
        let threshold = threshold.map_or(String::new(), |it| format!(",\"ssthresh\":{it}"));
        format!(
            "{{\"time\":{time},\"name\":\"recovery:metrics_updated\",\"data\":\
             {{\"congestion_window\":{window},\"bytes_in_flight\":100{threshold}}}}}"
        )
    };
    let events: Vec<String> = rows.iter().map(event).collect();
    format!(
        "{{\"qlog_version\":\"0.3\",\"traces\":[{{\"events\":[{}]}}]}}",
        events.join(",")
    )
    .into_bytes()
}

#[test]
fn a_log_whose_times_go_backwards_gets_a_note_and_no_verdict() {
    let report = log(qlog(&[(9_000_000, 14_520, None), (3, 7_000, Some(7_000))]));
    assert_eq!(
        report.notes,
        ["The times of 1 senders go backwards; they get no verdict."]
    );
    let [connection] = &report.connections[..] else {
        panic!("{} connections", report.connections.len());
    };
    let verdict = &connection.verdict;
    assert_eq!((verdict.reason, &verdict.exit), (Reason::CannotTell, &None));
    assert!(connection.duration_s >= 0.0);
    // Threads that write one log may be 10 ms apart.
    let near = log(qlog(&[
        (20, 14_520, None),
        (11, 29_040, None),
        (90, 7_000, Some(7_000)),
    ]));
    assert_eq!(near.connections[0].verdict.reason, Reason::Heuristic);
    assert!(near.notes.is_empty());
}

#[test]
fn a_window_stays_in_bytes_where_the_log_does_not_have_the_mss() {
    let report = log(qlog(&[(1, 14_520, None), (90, 7_000, Some(7_000))]));
    let connection = &report.connections[0];
    assert_eq!(
        connection.verdict.sentence,
        "Slow start ended by a heuristic after 0.09 s at 7000 bytes."
    );
    assert_eq!(
        (connection.segments, connection.largest_segment_bytes),
        (0, 0)
    );
}

fn verdict(rows: &[(u32, Option<u32>, u32)]) -> analysis::Verdict {
    let mut report = log(ss(rows));
    assert_eq!(report.connections.len(), 1);
    report.connections.remove(0).verdict
}

#[test]
fn the_counters_between_two_samples_tell_the_reason() {
    let loss = verdict(&[
        (10, None, 0),
        (20, None, 0),
        (14, Some(14), 3),
        (15, Some(14), 3),
    ]);
    assert_eq!(loss.reason, Reason::Loss);
    let exit = loss.exit.expect("an exit");
    assert_eq!(
        (exit.cwnd_bytes, exit.ssthresh_bytes),
        (20_000, Some(14_000))
    );
    assert!((exit.time_s - 0.2).abs() < 1e-6 && (exit.time_interval_s[0] - 0.1).abs() < 1e-6);
    let heuristic = verdict(&[(10, None, 0), (20, None, 0), (38, Some(38), 0)]);
    assert_eq!(heuristic.reason, Reason::Heuristic);
    assert_eq!(heuristic.exit.expect("an exit").cwnd_bytes, 38_000);
    let none = verdict(&[(10, None, 0), (20, None, 0), (40, None, 0)]);
    assert_eq!((none.reason, none.exit), (Reason::Completed, None));
    let late = verdict(&[(30, Some(20), 0), (31, Some(20), 0)]);
    assert_eq!((late.reason, late.exit), (Reason::CannotTell, None));
}
