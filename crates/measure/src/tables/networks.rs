//! The tables of ad-hoc networks and constellations.

use arrow_array::RecordBatch;
use arrow_schema::ArrowError;

use super::{Table, flow_names};
use crate::{NetworkResult, NodeResult, RunResult};

fn networks_of(runs: &[RunResult]) -> Vec<(&RunResult, &NetworkResult)> {
    let with = runs
        .iter()
        .filter_map(|run| Some((run, run.network.as_ref()?)));
    with.collect()
}

/// One row per run over an ad-hoc network or a constellation.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn networks(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows = networks_of(runs);
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, _)| &run.scenario));
    table.text("path", rows.iter().map(|(run, _)| &run.path));
    table.number("run", rows.iter().map(|(run, _)| run.run));
    table.count("seed", rows.iter().map(|(run, _)| Some(run.seed)));
    table.text("flows", rows.iter().map(|(run, _)| flow_names(run)));
    table.real("end_s", rows.iter().map(|(run, _)| Some(run.end_s)));
    let each = || rows.iter().map(|(_, network)| *network);
    table.text("kind", each().map(|network| &network.kind));
    type Count = fn(&NetworkResult) -> Option<u64>;
    let counts: [(&str, Count); 19] = [
        ("packets_offered", |it| Some(it.packets.offered)),
        ("packets_delivered", |it| Some(it.packets.delivered)),
        ("packets_dropped", |it| Some(it.packets.dropped)),
        ("packets_inside", |it| Some(it.packets.inside)),
        ("data_sent", |it| Some(it.data.sent)),
        ("data_copies", |it| Some(it.data.copies)),
        ("data_delivered", |it| Some(it.data.delivered)),
        ("data_bytes_delivered", |it| Some(it.data.bytes_delivered)),
        ("data_dropped", |it| Some(it.data.dropped)),
        ("data_packets_hit", |it| Some(it.data.packets_hit)),
        ("frames", |it| it.air.as_ref().map(|air| air.frames)),
        ("data_frames", |it| {
            it.air.as_ref().map(|air| air.data_frames)
        }),
        ("frame_retries", |it| it.air.as_ref().map(|air| air.retries)),
        ("collisions", |it| it.air.as_ref().map(|air| air.collisions)),
        ("routing_messages", |it| {
            it.routing.as_ref().map(|routing| routing.messages)
        }),
        ("routing_bytes", |it| {
            it.routing.as_ref().map(|routing| routing.bytes)
        }),
        ("arp_requests", |it| it.arp.as_ref().map(|arp| arp.requests)),
        ("arp_replies", |it| it.arp.as_ref().map(|arp| arp.replies)),
        ("empty_nodes", |it| {
            it.energy.as_ref().map(|energy| energy.empty_nodes)
        }),
    ];
    for (name, count) in counts {
        table.count(name, each().map(count));
    }
    type Real = fn(&NetworkResult) -> Option<f64>;
    let reals: [(&str, Real); 12] = [
        ("throughput_bps", |it| it.data.throughput_bps),
        ("delay_mean_ms", |it| it.data.delay_mean_ms),
        ("delivery_ratio", |it| it.data.delivery_ratio),
        ("drop_ratio", |it| it.data.drop_ratio),
        ("air_busy", |it| it.air.as_ref().map(|air| air.busy)),
        ("energy_initial_j", |it| {
            it.energy.as_ref().map(|energy| energy.initial_j)
        }),
        ("energy_used_j", |it| {
            it.energy.as_ref().map(|energy| energy.used_j)
        }),
        ("energy_used_w", |it| {
            it.energy.as_ref().map(|energy| energy.used_w)
        }),
        ("energy_j_per_mb", |it| {
            it.energy.as_ref().and_then(|energy| energy.j_per_mb)
        }),
        ("first_empty_s", |it| {
            it.energy.as_ref().and_then(|energy| energy.first_empty_s)
        }),
        ("mean_degree", |it| {
            it.topology.as_ref().map(|topology| topology.mean_degree)
        }),
        ("pairs_connected", |it| {
            it.topology
                .as_ref()
                .map(|topology| topology.pairs_connected)
        }),
    ];
    for (name, real) in reals {
        table.real(name, each().map(real));
    }
    table.finish()
}

/// One row per cause for which a network lost packets, and run.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn network_drops(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<_> = networks_of(runs)
        .into_iter()
        .flat_map(|(run, network)| {
            let drops = network.packets.drops.iter();
            drops.map(move |(cause, packets)| (run, cause, *packets))
        })
        .collect();
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, ..)| &run.scenario));
    table.text("path", rows.iter().map(|(run, ..)| &run.path));
    table.number("run", rows.iter().map(|(run, ..)| run.run));
    table.text("flows", rows.iter().map(|(run, ..)| flow_names(run)));
    table.text("cause", rows.iter().map(|(_, cause, _)| cause));
    table.count("packets", rows.iter().map(|(.., packets)| Some(*packets)));
    table.finish()
}

/// One row per node of a network and run.
///
/// # Errors
/// None in practice: columns are built with one length.
pub fn nodes(runs: &[RunResult]) -> Result<RecordBatch, ArrowError> {
    let rows: Vec<(&RunResult, &NodeResult)> = networks_of(runs)
        .into_iter()
        .flat_map(|(run, network)| network.nodes.iter().map(move |node| (run, node)))
        .collect();
    let mut table = Table::default();
    table.text("scenario", rows.iter().map(|(run, _)| &run.scenario));
    table.text("path", rows.iter().map(|(run, _)| &run.path));
    table.number("run", rows.iter().map(|(run, _)| run.run));
    table.text("flows", rows.iter().map(|(run, _)| flow_names(run)));
    let each = || rows.iter().map(|(_, node)| *node);
    table.text("node", each().map(|node| &node.name));
    table.count("data_sent", each().map(|node| Some(node.sent)));
    table.count("data_delivered", each().map(|node| Some(node.delivered)));
    table.count(
        "bytes_delivered",
        each().map(|node| Some(node.bytes_delivered)),
    );
    table.real("throughput_bps", each().map(|node| node.throughput_bps));
    table.count("forwarded", each().map(|node| node.forwarded));
    table.count("dropped", each().map(|node| node.dropped));
    table.real("energy_used_j", each().map(|node| node.energy_used_j));
    table.real("empty_s", each().map(|node| node.empty_s));
    table.finish()
}
