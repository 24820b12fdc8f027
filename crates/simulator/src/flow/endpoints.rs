//! The two halves of a running flow, at its two hosts, and what is measured of them.

use measure::{FlowProbe, FlowSample, FlowTrace, StartupProbe};
use network::Period;
use tcp::segment::{AckSegment, DataSegment};
use tcp::{Pairs, PlainAck, Receiver, ReceiverConfig, Sender, SenderConfig};
use units::{Duration, Instant, Rate};

use super::Arrived;
use crate::carried::Carried;
use crate::oracle::Oracle;

/// It waits for no number of bytes: no connection carries this many.
const NOTHING: u64 = u64::MAX;
/// It is not looked at.
const NEVER: Instant = Instant::MAX;

/// The state of a running flow.
///
/// In this order, what most packets read and write is together: the probe ends with it, and sender and
/// receiver begin with it.
#[derive(Debug)]
#[repr(C)]
pub struct Endpoints {
    /// The first time from which the bottleneck stayed busy for one base RTT.
    pub(super) capacity: Option<Instant>,
    /// What its start-up knows of the path, if it is to know.
    pub(super) oracle: Option<Box<Oracle>>,
    /// Bytes that the application still has to write.
    pub(super) unwritten: u64,
    pub(super) probe: FlowProbe,
    /// When the SYN-ACK arrived. No data left before.
    pub(super) established: Option<Instant>,
    pub(super) trace: Option<Box<FlowTrace>>,
    /// The start-up of a measured flow.
    pub(super) startup: Option<Box<StartupProbe>>,
    /// When the start-up is checked after an ACK; never in background traffic.
    pub(super) next_check: Instant,
    /// The application at the receiver waits for this many bytes, or for [`NOTHING`].
    awaited: u64,
    past_slow_start: bool,
    /// Whether a result has what the probe measures.
    is_measured: bool,
    pub(super) sender: Sender,
    pub(super) receiver: Receiver,
}

/// What a proxy has from the leg before.
#[derive(Clone, Copy, Debug)]
pub struct Stock {
    /// Bytes in order since the leg was opened.
    pub received: u64,
    /// Whether the FIN is among them.
    pub has_ended: bool,
}

impl Endpoints {
    /// The endpoints of a connection that is not open, of an application that writes nothing.
    pub(super) fn new(sender: SenderConfig, receiver: ReceiverConfig) -> Self {
        Self {
            sender: Sender::new(sender),
            receiver: Receiver::new(receiver),
            probe: FlowProbe::default(),
            trace: None,
            established: None,
            capacity: None,
            past_slow_start: false,
            is_measured: true,
            next_check: NEVER,
            startup: None,
            oracle: None,
            unwritten: 0,
            awaited: NOTHING,
        }
    }

    /// The ends have agreed on AccECN.
    pub(super) const fn count_marks(&mut self) {
        self.sender.count_marks();
        self.receiver.count_marks();
    }

    /// Makes them [`Self::new`] of these configurations, in the memory of this connection, which is
    /// over.
    pub(super) fn renew(&mut self, sender: &SenderConfig, receiver: ReceiverConfig) {
        // Each field is named, so that a new one is not forgotten.
        let Self {
            sender: old_sender,
            receiver: old_receiver,
            probe,
            trace,
            established,
            capacity,
            past_slow_start,
            is_measured,
            next_check,
            startup,
            oracle,
            unwritten,
            awaited,
        } = self;
        old_sender.renew(sender);
        old_receiver.renew(receiver);
        if *is_measured {
            probe.renew();
        } else {
            probe.look_again();
        }
        *trace = None;
        *established = None;
        *capacity = None;
        *past_slow_start = false;
        *is_measured = true;
        *next_check = NEVER;
        *startup = None;
        *oracle = None;
        *unwritten = 0;
        *awaited = NOTHING;
    }

    /// No result has what the probe measures: it measures nothing. Call it before any segment
    /// arrives.
    pub fn omit_measurements(&mut self) {
        self.is_measured = false;
        self.probe.look_away();
    }

    /// The half at the host that sends the data.
    #[inline(always)]
    pub const fn sender(&mut self) -> &mut Sender {
        &mut self.sender
    }

    /// The half at the host that gets the data.
    #[inline(always)]
    pub const fn receiver(&mut self) -> &mut Receiver {
        &mut self.receiver
    }

    /// Lets the sender's timer expire, if it is due. Returns whether it was.
    pub fn expire_sender(&mut self, now: Instant) -> bool {
        let due = self.sender.poll_timeout();
        let is_due = due.is_some_and(|due| due <= now);
        if is_due {
            self.sender.handle_timeout(now);
        }
        is_due
    }

    /// Lets the receiver's timer expire, if it is due. Returns whether it was.
    pub fn expire_receiver(&mut self, now: Instant) -> bool {
        let due = self.receiver.poll_timeout();
        let is_due = due.is_some_and(|due| due <= now);
        if is_due {
            self.receiver.handle_timeout(now);
        }
        is_due
    }

    /// A data segment without flags, marks, feedback and acknowledgment arrives.
    #[inline(always)]
    pub fn handle_plain_data(&mut self, now: Instant, carried: &Carried) {
        let latency = now.saturating_since(carried.sent);
        self.probe.on_arrival(now, latency);
        let (seq, len, ts_val, ts_ecr) = carried.fields();
        let receiver = &mut self.receiver;
        if !receiver.handle_full_segment(now, seq, len, ts_val, ts_ecr) {
            self.take_other(now, carried);
        }
    }

    /// A plain segment that is no full one in order: the receiver takes it.
    #[inline(always)]
    fn take_other(&mut self, now: Instant, carried: &Carried) {
        let (seq, len, ts_val, _) = carried.fields();
        if !self.receiver.prolong_beyond(now, seq, len, ts_val) {
            let data = carried.data_segment();
            self.receiver.handle_any_data(now, &data, false);
        }
    }

    /// The next segment of a train, `carried`, arrives: the first half of
    /// [`Self::handle_plain_data`]. Returns whether it is a full one in order.
    #[inline(always)]
    pub fn begin_segment(&mut self, now: Instant, carried: &Carried) -> bool {
        let (seq, len, _, ts_ecr) = carried.fields();
        self.receiver.begin_full_segment(now, seq, len, ts_ecr)
    }

    /// The second half, if it `is_full`.
    #[inline(always)]
    pub fn take_segment(&mut self, now: Instant, carried: &Carried, is_full: bool) {
        self.probe
            .on_arrival(now, now.saturating_since(carried.sent));
        if is_full {
            let (_, len, ts_val, _) = carried.fields();
            self.receiver.take_full_segment(now, len, ts_val);
        } else {
            self.take_other(now, carried);
        }
    }

    /// Whether segments may be taken by [`Self::handle_plain_pair`], from `carried` on, which has begun.
    #[inline(always)]
    pub fn expect_pairs(&self, carried: &Carried) -> Option<Pairs> {
        let (seq, len, _, ts_ecr) = carried.fields();
        self.receiver.expect_pairs(seq, len, ts_ecr)
    }

    /// The next two such segments arrive, at `first` and at `second`; they are like `carried`. Returns the
    /// ACK of both; `None`, and nothing is done, where they have to be handled one by one.
    #[inline(always)]
    pub fn handle_plain_pair(
        &mut self,
        pairs: &Pairs,
        (first, second): (Instant, Instant),
        carried: &Carried,
    ) -> Option<PlainAck> {
        let (.., ts_val, _) = carried.fields();
        let ack = self.receiver.take_pair(pairs, (first, second), ts_val)?;
        for at in [first, second] {
            self.probe.on_arrival(at, at.saturating_since(carried.sent));
        }
        Some(ack)
    }

    /// Any segment from the sender arrives.
    #[inline]
    pub fn handle_data(
        &mut self,
        now: Instant,
        carried: &Carried,
        data: &DataSegment,
        is_marked: bool,
    ) {
        if carried.has_payload() {
            let latency = now.saturating_since(carried.sent);
            self.probe.on_arrival(now, latency);
        }
        self.receiver.handle_any_data(now, data, is_marked);
    }

    /// Whether the receiver has an ACK to send.
    #[inline(always)]
    pub fn has_ack(&self) -> bool {
        self.receiver.has_ack()
    }

    /// Whether the receiver has the bytes that its application waits for, or all.
    #[inline]
    pub fn has_awaited(&self) -> bool {
        let receiver = &self.receiver;
        receiver.delivered().get() >= self.awaited || receiver.finished_at().is_some()
    }

    /// The application at the receiver is to hear when this many bytes have arrived.
    pub const fn await_bytes(&mut self, bytes: u64) {
        self.awaited = bytes;
    }

    /// The receiver stands at a proxy: it keeps what arrives until the next leg has delivered it.
    pub fn hold(&mut self) {
        self.receiver.hold();
    }

    /// Gives up what the next leg has delivered, its first `released` bytes. Returns what the proxy
    /// has.
    pub fn release(&mut self, now: Instant, released: u64) -> Stock {
        let receiver = &mut self.receiver;
        let free = released.saturating_sub(receiver.delivered().get());
        receiver.read(now, free);
        Stock {
            received: receiver.received().get(),
            has_ended: receiver.has_ended(),
        }
    }

    /// Bytes that the application, or a proxy, has written to the sender, and how many of them have
    /// been acknowledged.
    pub fn written_and_acknowledged(&self) -> (u64, u64) {
        let written = self.sender.written();
        (written, self.sender.snd_una().min(written))
    }

    /// Records a segment of the flow that the network dropped.
    #[cold]
    pub fn on_drop(&mut self, at: Instant, dropped: &Carried) {
        if !self.is_measured {
            return;
        }
        self.probe.on_drop(at);
        if let Some(startup) = &mut self.startup {
            let (_, len, ..) = dropped.fields();
            startup.on_drop(dropped.sent, u64::from(len));
        }
    }

    /// Passes an ACK to the sender and records its samples; `rides` says that it came with data.
    #[inline]
    pub fn handle_ack(&mut self, now: Instant, ack: &AckSegment, rides: bool) {
        if rides {
            self.sender.handle_ack_with_data(now, ack);
        } else {
            self.sender.handle_ack(now, ack);
        }
        self.measure_ack(now);
    }

    /// The same for an ACK without SACK blocks and flags, if it is an ordinary one. Otherwise it does
    /// nothing and returns false.
    #[inline(always)]
    pub fn handle_ordinary_ack(&mut self, now: Instant, ack: &PlainAck) -> bool {
        let is_ordinary = self.sender.handle_ordinary_ack(now, ack);
        if is_ordinary {
            self.measure_ack(now);
        }
        is_ordinary
    }

    /// Records the samples of an ACK that the sender has processed.
    #[inline(always)]
    fn measure_ack(&mut self, now: Instant) {
        if !self.past_slow_start {
            self.established.get_or_insert(now);
            if !self.is_measured {
                return;
            }
            self.past_slow_start = self.sender.slow_start_exit().is_some();
        }
        let rtt = self.sender.rtt_sample();
        let delivered = self.sender.delivered().get();
        self.probe.on_ack(now, delivered, rtt, self.past_slow_start);
        if self.trace.is_some() {
            self.trace_ack(now, rtt);
        }
    }

    #[cold]
    #[inline(never)]
    fn trace_ack(&mut self, now: Instant, rtt: Option<Duration>) {
        if let Some(trace) = &mut self.trace {
            let window = self.sender.window();
            trace.push(&FlowSample {
                now,
                cwnd: window.cwnd,
                ssthresh: window.ssthresh,
                in_flight: self.sender.bytes_in_flight(),
                rtt,
                acked: self.sender.snd_una(),
                delivered: self.receiver.delivered().get(),
                pacing_rate: Rate::min(self.sender.pacing_rate(), Rate::MAX),
            });
        }
    }

    /// When the SYN-ACK arrived.
    pub const fn established(&self) -> Option<Instant> {
        self.established
    }

    /// Whether the flow's capacity point is known.
    pub const fn has_capacity(&self) -> bool {
        self.capacity.is_some()
    }

    /// A busy period of the bottleneck sets the capacity point if it lasts one base RTT while the
    /// flow sends data. (A SYN that waits on a slow trace does not indicate capacity.)
    pub fn note_busy(&mut self, (since, until): Period, base_rtt: Duration) {
        if self.capacity.is_none()
            && let Some(established) = self.established
        {
            let start = since.max(established);
            if until.saturating_since(start) >= base_rtt {
                self.capacity = Some(start);
            }
        }
    }

    /// What has arrived at the receiver.
    pub(super) fn arrived(&self) -> Arrived {
        Arrived {
            delivered: self.receiver.delivered() - self.receiver.concealed(),
            finished_at: self.receiver.finished_at(),
            is_complete: self.sender.is_complete(),
        }
    }
}
