//! The result document (`"format": 2`).

use std::sync::Arc;

use serde::ser::Error as _;
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use crate::{
    CapacityPoint, ExchangeResult, ExitClass, Name, NetworkResult, QueueDistribution,
    ResumptionResult, SlowStartExitResult, StartupResult, SummaryRow, summarize,
};

/// The TCP implementation that ran.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stack {
    /// The TCP of this project, in virtual time.
    Simulated,
    /// The TCP of the running kernel.
    Linux,
    /// The TCP of a kernel in a virtual machine that runs in virtual time.
    LinuxVm,
    /// The QUIC stack quinn, in virtual time.
    Quinn,
    /// The QUIC stack noq, in virtual time.
    Noq,
    /// A stack of others, in virtual time, by the name that it states.
    #[serde(untagged)]
    Other(Name),
}

/// One flow of one run. Byte counts never include headers, segment counts never pure ACKs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// Index of the flow in the scenario.
    pub flow: u32,
    /// Name in the scenario. Flows share their names: a run may have ten thousand of them.
    pub name: Arc<str>,
    /// Algorithm, in canonical form.
    pub algorithm: Arc<str>,
    /// The stack of the flow, where that is not the stack of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack: Option<Stack>,
    /// Time at which the SYN left, in seconds since the run began.
    pub start_s: f64,
    /// Payload bytes acknowledged cumulatively.
    pub bytes_acked: u64,
    /// Whether the receiving application has every byte of a sized transfer; false for a timed one.
    pub completed: bool,
    /// Flow completion time: from the SYN to the last byte in order at the receiving application.
    /// Null where the transfer was not sized or did not complete.
    pub fct_s: Option<f64>,
    /// Bytes in order at the receiving application, per second from the SYN to completion or the
    /// flow's end.
    pub goodput_bps: f64,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Of these, retransmissions.
    pub segments_retransmitted: u64,
    /// Segments that the sender declared lost (an inference). A declaration that it reverted does
    /// not count, so the number is at most `segments_sent`.
    pub segments_lost: u64,
    /// Data segments that the network dropped (a fact); null if the network reports no drops.
    pub segments_dropped: Option<u64>,
    /// `segments_lost / segments_sent`.
    pub loss_ratio: f64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Smallest RTT sample. This field and the next two are null without samples. Samples from
    /// timestamps are whole milliseconds, so it may be 1 ms below the RTT.
    pub rtt_min_ms: Option<f64>,
    /// Mean of the RTT samples.
    pub rtt_mean_ms: Option<f64>,
    /// 95th percentile of the RTT samples (at most 0.8 % too high).
    pub rtt_p95_ms: Option<f64>,
    /// The first slow-start exit; null without one.
    pub slow_start_exit: Option<Box<SlowStartExitResult>>,
    /// The exit that a passive start-up would have made; null for other start-ups, and if slow
    /// start had ended before.
    pub passive_exit: Option<Box<SlowStartExitResult>>,
    /// The time at which the flow reached the path's capacity.
    pub capacity: CapacityPoint,
    /// Time of the first drop of one of its packets in the network; null without a drop.
    pub first_drop_s: Option<f64>,
    /// Time at which the sender first declared a loss; null without a loss.
    pub first_loss_s: Option<f64>,
    /// Class of the slow-start exit (of the passive one, if any); null without an exit, and for a
    /// flow that does not cross the bottleneck.
    pub exit_class: Option<ExitClass>,
    /// What the start-up brought; absent where the network is not simulated, and for a flow that
    /// sent nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub startup: Option<StartupResult>,
    /// What it made of what earlier connections over the path had saved (RFC 9959); absent if it
    /// used no saved state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumption: Option<Box<ResumptionResult>>,
    /// Why the connection was closed before its data had arrived; absent if it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed: Option<String>,
}

impl FlowResult {
    /// The result of a flow that sent nothing: the run ended before its start, or its connection
    /// did not open. `start_s` is in seconds since the run began.
    #[must_use]
    pub fn unopened(flow: u32, name: Arc<str>, algorithm: Arc<str>, start_s: f64) -> Self {
        Self {
            flow,
            name,
            algorithm,
            stack: None,
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
            startup: None,
            resumption: None,
            closed: None,
        }
    }
}

/// One link of one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkResult {
    /// Name of the link.
    pub name: String,
    /// Fraction of the time from the first packet to the end of the run during which the link was
    /// busy; null for a pure delay line.
    pub utilization: Option<f64>,
    /// Packets of any kind that the link delivered.
    pub packets: u64,
    /// Packets of any kind that the link dropped.
    pub drops: u64,
    /// Packets that the link marked (ECN) instead of dropping them.
    pub marks: u64,
    /// Longest queue; only waiting packets count.
    pub queue_max_packets: u64,
    /// Time average of the queue.
    pub queue_mean_packets: f64,
    /// The queue over time, if the scenario requests it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue_distribution: Option<QueueDistribution>,
}

/// One flow of background traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficFlow {
    /// Time at which the SYN left, in seconds since the run began.
    pub start_s: f64,
    /// Bytes to send; null for an unlimited flow.
    pub size_bytes: Option<u64>,
    /// Flow completion time; null if it did not complete.
    pub fct_s: Option<f64>,
}

/// The background traffic of one table in one run. Byte counts never include headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrafficResult {
    /// Name in the scenario.
    pub name: String,
    /// Kind of traffic.
    pub kind: String,
    /// Direction of its data: `forward` or `reverse`.
    pub direction: String,
    /// Algorithm of its connections, in canonical form; null for datagrams.
    pub algorithm: Option<String>,
    /// Flows that were opened.
    pub started: u64,
    /// Of these, flows whose receiver has every byte.
    pub finished: u64,
    /// Flows that were not started because too many were open.
    pub rejected: u64,
    /// Bytes that its applications had to send; null for unlimited flows.
    pub bytes_offered: Option<u64>,
    /// Bytes in order at the receiving applications; of datagrams, those that arrived.
    pub bytes_delivered: u64,
    /// Mean flow completion time of the finished flows; null without any, and for connections in
    /// which both sides write.
    pub fct_mean_s: Option<f64>,
    /// `bytes_offered` as a fraction of what the direction's mean rate carries from the traffic's
    /// start to its end; null without a size or a rate.
    pub load_offered: Option<f64>,
    /// The same of `bytes_delivered`, to the end of its last flow.
    pub load_delivered: Option<f64>,
    /// Data segments sent, retransmissions included.
    pub segments_sent: u64,
    /// Segments that senders declared lost; of datagrams, those that the network dropped.
    pub segments_lost: u64,
    /// Retransmission timeouts of data.
    pub timeouts: u64,
    /// Its flows in the order of their starts, if the scenario requests them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Vec<TrafficFlow>>,
    /// Response times, if both sides of its connections write; absent for one-way traffic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exchanges: Option<ExchangeResult>,
}

/// One run of one scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Its number.
    pub run: u32,
    /// Its seed. Run i of every algorithm has the same seed.
    pub seed: u64,
    /// The TCP implementation that ran.
    pub stack: Stack,
    /// Its version; absent for the simulated TCP, which is that of the document.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stack_version: Option<String>,
    /// The scenario's name. Tables show it; the result document has the whole scenario once.
    #[serde(skip)]
    pub scenario: String,
    /// The path's name.
    pub path: String,
    /// When it ended, in seconds.
    pub end_s: f64,
    /// Its flows.
    pub flows: Vec<FlowResult>,
    /// Its links.
    pub links: Vec<LinkResult>,
    /// Background traffic; absent without any.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic: Vec<TrafficResult>,
    /// The ad-hoc network or constellation; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<NetworkResult>,
}

/// The whole document: the scenario, each run, and the summary. Keys are in alphabetical order on
/// every level. Runs are written one at a time, so the document needs no memory of its own.
#[derive(Debug, Serialize)]
#[serde(bound(serialize = "R: IntoIterator<Item: Serialize> + Clone"))]
pub struct Document<'a, R> {
    format: u32,
    #[serde(serialize_with = "in_turn")]
    runs: R,
    scenario: Value,
    #[serde(serialize_with = "in_order")]
    summary: Vec<SummaryRow>,
    version: &'a str,
}

/// The result document of `runs`. The summary covers the runs in `counted`.
#[must_use]
pub fn document<'a, R>(
    version: &'a str,
    scenario: Value,
    runs: R,
    counted: &[RunResult],
) -> Document<'a, R>
where
    R: IntoIterator<Item: Serialize> + Clone,
{
    Document {
        format: 2,
        runs,
        scenario,
        summary: summarize(counted),
        version,
    }
}

fn in_turn<R, S>(runs: &R, serializer: S) -> Result<S::Ok, S::Error>
where
    R: IntoIterator<Item: Serialize> + Clone,
    S: Serializer,
{
    serializer.collect_seq(runs.clone().into_iter().map(InOrder))
}

fn in_order<S: Serializer>(value: &impl Serialize, serializer: S) -> Result<S::Ok, S::Error> {
    InOrder(value).serialize(serializer)
}

/// A value that is serialized with its keys in alphabetical order.
struct InOrder<T>(T);

impl<T: Serialize> Serialize for InOrder<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let value = serde_json::to_value(&self.0).map_err(S::Error::custom)?;
        value.serialize(serializer)
    }
}
