//! The result document (`"format": 2`).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{CapacityPoint, ExitClass, summarize};

/// What ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// The TCP of this project, in virtual time.
    Simulated,
    /// The TCP of the running kernel.
    Linux,
    /// The TCP of a kernel in a virtual machine, in virtual time.
    LinuxVm,
}

/// The end of the first slow start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SlowStartExitResult {
    /// Seconds since the SYN left.
    pub time_s: f64,
    /// The window when it was decided, before any reduction.
    pub cwnd_bytes: u64,
    /// What ended it.
    pub reason: String,
}

/// One flow of one run. Byte counts never include headers, segment counts never pure ACKs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Its place in the scenario.
    pub flow: u32,
    /// What the scenario calls it.
    pub name: String,
    /// Its algorithm, in canonical form.
    pub algorithm: String,
    /// When its SYN left, in seconds since the run began.
    pub start_s: f64,
    /// Payload bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Whether the receiving application has every byte of a sized transfer. False for a timed one.
    pub completed: bool,
    /// Flow completion time: from the SYN to the last byte in order at the receiving application.
    /// Null where the transfer was not sized or did not complete.
    pub fct_s: Option<f64>,
    /// Bytes in order at the receiving application, per second from the SYN to completion or the
    /// flow's end.
    pub goodput_bps: f64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Of these, sent before.
    pub segments_retransmitted: u64,
    /// Segments that the sender declared lost (an inference), without those whose declaration it took
    /// back: at most `segments_sent`.
    pub segments_lost: u64,
    /// Data segments that the network dropped (a fact); null where the network is not ours.
    pub segments_dropped: Option<u64>,
    /// `segments_lost / segments_sent`.
    pub loss_ratio: f64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Smallest RTT sample; null without any, as are the next two. Samples from timestamps are whole
    /// milliseconds, so it may be 1 ms below the RTT.
    pub rtt_min_ms: Option<f64>,
    /// Mean of the RTT samples.
    pub rtt_mean_ms: Option<f64>,
    /// 95th percentile of the RTT samples (at most 0.8 % too high).
    pub rtt_p95_ms: Option<f64>,
    /// The end of the first slow start; null while in it.
    pub slow_start_exit: Option<SlowStartExitResult>,
    /// What a passive start-up decided without acting; null for others, and where slow start had
    /// ended before.
    pub passive_exit: Option<SlowStartExitResult>,
    /// When the path's capacity was reached.
    pub capacity: CapacityPoint,
    /// First drop of one of its packets by the network; null without any.
    pub first_drop_s: Option<f64>,
    /// First time its sender declared a loss; null without any.
    pub first_loss_s: Option<f64>,
    /// Where slow start ended (of the passive decision, where there is one); null while in it.
    pub exit_class: Option<ExitClass>,
}

impl FlowResult {
    /// A flow that sent nothing: its time did not come before the run ended, or its connection did
    /// not open. `start_s` is in seconds since the run began.
    #[must_use]
    pub fn unopened(flow: u32, name: &str, algorithm: &str, start_s: f64) -> Self {
        Self {
            flow,
            name: name.to_owned(),
            algorithm: algorithm.to_owned(),
            start_s,
            bytes_acked: 0,
            completed: false,
            fct_s: None,
            goodput_bps: 0.0,
            segments_sent: 0,
            segments_retransmitted: 0,
            segments_lost: 0,
            segments_dropped: Some(0),
            loss_ratio: 0.0,
            timeouts: 0,
            rtt_min_ms: None,
            rtt_mean_ms: None,
            rtt_p95_ms: None,
            slow_start_exit: None,
            passive_exit: None,
            capacity: CapacityPoint::default(),
            first_drop_s: None,
            first_loss_s: None,
            exit_class: None,
        }
    }
}

/// One link of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Its name.
    pub name: String,
    /// Share of the time (from the first packet to the end) in which it was busy; null for a pure
    /// delay line.
    pub utilization: Option<f64>,
    /// Packets that it delivered, of any kind.
    pub packets: u64,
    /// Packets that it dropped, of any kind.
    pub drops: u64,
    /// Packets that it marked as having met congestion (ECN) instead of dropping them.
    pub marks: u64,
    /// Longest queue, waiting packets only.
    pub queue_max_packets: u64,
    /// Mean queue over time.
    pub queue_mean_packets: f64,
}

/// One flow of other traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficFlow {
    /// When its SYN left, in seconds since the run began.
    pub start_s: f64,
    /// What it sends; null without an end.
    pub size_bytes: Option<u64>,
    /// Flow completion time; null where it did not complete.
    pub fct_s: Option<f64>,
}

/// The other traffic of one kind in one run. Byte counts never include headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficResult {
    /// What the scenario calls it.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// Where its data travels: `forward` or `reverse`.
    pub direction: String,
    /// The algorithm of its connections, in canonical form; null where it has none.
    pub algorithm: Option<String>,
    /// Flows that were opened.
    pub started: u64,
    /// Of these, the ones whose receivers have every byte.
    pub finished: u64,
    /// Flows that were not started because too many were open.
    pub rejected: u64,
    /// What its applications had to send; null for flows without an end.
    pub bytes_offered: Option<u64>,
    /// Bytes in order at the receiving applications; of datagrams, those that arrived.
    pub bytes_delivered: u64,
    /// Mean flow completion time of those that finished; null without any.
    pub fct_mean_s: Option<f64>,
    /// `bytes_offered` as a share of what the direction's rate carries from the traffic's start to its
    /// end; null where one of them has none.
    pub load_offered: Option<f64>,
    /// The same of `bytes_delivered`, to the end of its last flow.
    pub load_delivered: Option<f64>,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments that senders declared lost; of datagrams, those that the network dropped.
    pub segments_lost: u64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Its flows in the order in which they began, where the scenario asks for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<TrafficFlow>>,
}

/// One run of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Its number.
    pub run: u32,
    /// Its seed. Runs of the same number share it across algorithms.
    pub seed: u64,
    /// What ran.
    pub stack: Stack,
    /// The path's name.
    pub path: String,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// Its flows.
    pub flows: Vec<FlowResult>,
    /// Its links.
    pub links: Vec<LinkResult>,
    /// The other traffic; absent where there is none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficResult>,
}

/// The whole document: what was run, each run, and the summary.
#[must_use]
pub fn document(version: &str, scenario: Value, runs: &[RunResult]) -> Value {
    json!({
        "format": 2,
        "version": version,
        "scenario": scenario,
        "runs": runs,
        "summary": summarize(runs),
    })
}
