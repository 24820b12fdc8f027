//! Every start-up with every avoidance, and every monolithic congestion control, over every preset.
//! Each transfer completes and conserves packets. A snapshot has one line of integers for each.

mod common;

use common::{algorithm, combinations, compare_with_snapshot, known, run};
use scenario::{Flow, PRESETS, PathModel, Preset, Scenario};
use testing::snapshot::Table;
use units::Bytes;

const SIZE: u64 = 3_000_000;

/// One line for a run: completion, segments, losses, and the slow-start exit.
fn row(path: &str, name: &str) -> String {
    let model = PathModel::resolve(path).unwrap_or_else(|error| panic!("{error}"));
    let base_rtt = model.base_rtt.as_secs_f64();
    let mut flow = Flow::new(algorithm(name));
    flow.size = Some(Bytes::new(SIZE));
    let output = run(&Scenario::new(model, vec![flow]), false);
    let flow = &output.result.flows[0];
    let place = format!("{name} over {path}");

    let fct = flow
        .fct_s
        .unwrap_or_else(|| panic!("{place} does not complete"));
    assert!(
        flow.completed && fct >= 1.5 * base_rtt - 1e-9,
        "{place}: {fct} s"
    );
    assert_eq!(flow.bytes_acked, SIZE, "{place}");
    let dropped = flow.segments_dropped.expect("a simulated network");
    // Headers for routers reduce the payload.
    let payload = match name {
        "rcp" => 1436,
        "xcp" => 1428,
        _ => 1448,
    };
    let needed = SIZE.div_ceil(payload);
    assert!(
        flow.segments_sent - dropped >= needed,
        "{place}: too few segments sent for the drops"
    );
    // Where the receive window ends within a segment, the part that fits leaves. Nagle's rule permits
    // one such part in a round trip.
    let parts = (fct / base_rtt) as u64;
    assert!(
        flow.segments_sent - flow.segments_retransmitted <= needed + 1 + parts,
        "{place}"
    );
    let link = &output.result.links[0];
    // The link handles no more packets than were sent: data, and two packets of the handshake.
    let offered = link.packets + link.drops;
    assert!(
        offered <= flow.segments_sent + 2 + flow.timeouts,
        "{place}: {offered} packets"
    );

    let millis = |seconds: f64| (seconds * 1e3).round() as i64;
    let exit = flow.slow_start_exit.as_ref();
    format!(
        "{path:<12} {name:<24} {:>6} {:>5} {:>5} {:>5} {:>3} {:>6} {:>6} {}",
        millis(fct),
        flow.segments_sent,
        flow.segments_retransmitted,
        flow.segments_lost,
        flow.timeouts,
        exit.map_or(-1, |exit| millis(exit.time_s)),
        exit.map_or(-1, |exit| (exit.cwnd_bytes / 1448) as i64),
        exit.map_or("none", |exit| &*exit.reason),
    )
}

/// The snapshot's group of a row: one for all avoidances with the same start-up.
fn group(name: &str) -> String {
    match name.split_once('+') {
        Some((_, startup)) => format!("*+{startup}"),
        None => name.to_owned(),
    }
}

#[test]
fn every_combination_over_every_path() {
    let mut table = Table::new(&format!(
        "3 MB. Completion and exit in ms; exit window in segments; -1 is none.\n\
         {:<12} {:<24} {:>6} {:>5} {:>5} {:>5} {:>3} {:>6} {:>6} reason",
        "path", "algorithm", "done", "sent", "retx", "lost", "rto", "exit", "window"
    ));
    let full = |preset: &&Preset| !preset.name.ends_with("-reduced");
    for preset in PRESETS.iter().filter(full) {
        for name in combinations() {
            let (path, group) = (preset.name, group(&name));
            table.push_grouped(&group, known(path, &name), &row(path, &name));
        }
    }
    compare_with_snapshot("matrix.txt", &table);
}
