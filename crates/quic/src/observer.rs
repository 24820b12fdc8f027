//! What is seen of a sender through its congestion controller, whichever that is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use congestion::SlowStartExit;
use measure::{FlowProbe, FlowSample, FlowTrace, QuicEvent, QuicPacket};
use units::{Bytes, Duration, Instant, Rate};

/// An exit of one of a stack's own controllers: when, with which window, and the word for why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnExit {
    pub at: Instant,
    pub cwnd: u64,
    pub reason: &'static str,
}

/// The observations.
#[derive(Debug, Default)]
pub struct Seen {
    pub probe: FlowProbe,
    pub exit: Option<SlowStartExit>,
    pub own_exit: Option<OwnExit>,
    pub first_loss: Option<Instant>,
    pub persistent: u64,
    pub acked: u64,
    newest_sent: Option<Instant>,
    /// ACK frames that have ended.
    frames: u64,
    /// Bytes in order at the receiver, as the driver last saw them.
    pub delivered: u64,
    pub trace: Option<FlowTrace>,
    /// With a trace: packets neither acknowledged nor lost, by the time at which they left, and
    /// the number and the space of the latest one.
    outstanding: BTreeMap<(Instant, u64), QuicPacket>,
    latest: Option<(u64, u32)>,
}

/// A controller's state after an event.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub cwnd: u64,
    pub ssthresh: Option<u64>,
    pub in_flight: u64,
    /// Of an algorithm of ours.
    pub exit: Option<SlowStartExit>,
}

/// Observations that a controller and the driver share.
#[derive(Clone, Debug, Default)]
pub struct Observer(Arc<Mutex<Seen>>);

impl Observer {
    pub fn new(trace: Option<FlowTrace>) -> Self {
        Self(Arc::new(Mutex::new(Seen {
            trace,
            ..Seen::default()
        })))
    }

    /// Nothing panics while it holds the observations, so they are whole.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Seen {
    /// A packet leaves. Numbers begin again with each packet number space.
    pub fn on_sent(&mut self, now: Instant, bytes: u64, number: u64) {
        if self.trace.is_none() {
            return;
        }
        let space = match self.latest {
            Some((before, space)) if number > before => space,
            Some((_, space)) => space + 1,
            None => 0,
        };
        self.latest = Some((number, space));
        let packet = QuicPacket {
            at_ns: now.as_nanos(),
            event: QuicEvent::Sent,
            number,
            space,
            bytes,
            frame: 0,
        };
        self.outstanding.insert((now, number), packet);
        self.note(packet);
    }

    fn note(&mut self, packet: QuicPacket) {
        if let Some(trace) = &mut self.trace {
            trace.quic.push(packet);
        }
    }

    /// The packets that left at `sent`, or earlier, and that make up `bytes`, are lost. The trait of
    /// quinn reports their bytes and no numbers; they are the oldest ones.
    pub fn on_lost(&mut self, now: Instant, sent: Instant, bytes: u64) {
        let mut left = bytes;
        while left > 0
            && let Some(entry) = self.outstanding.first_entry()
            && entry.key().0 <= sent
        {
            let packet = entry.remove();
            left = left.saturating_sub(packet.bytes);
            self.note(QuicPacket {
                at_ns: now.as_nanos(),
                event: QuicEvent::Lost,
                ..packet
            });
        }
    }

    /// A packet of an ACK frame that arrives at `now`.
    pub fn on_acked(&mut self, now: Instant, sent: Instant, bytes: u64) {
        self.acked += bytes;
        let mut there = self.outstanding.range((sent, 0)..=(sent, u64::MAX));
        if let Some((&key, _)) = there.next()
            && let Some(packet) = self.outstanding.remove(&key)
        {
            self.note(QuicPacket {
                at_ns: now.as_nanos(),
                event: QuicEvent::Acked,
                frame: self.frames,
                ..packet
            });
        }
        self.newest_sent = Some(self.newest_sent.map_or(sent, |newest| newest.max(sent)));
    }

    /// The ACK frame ends; `before` is the window before it.
    pub fn on_batch_end(&mut self, now: Instant, before: u64, state: State) {
        let sent = self.newest_sent.take();
        self.frames += 1;
        let rtt = sent.map(|sent| now.saturating_since(sent));
        self.on_sample(now, before, state, rtt);
    }

    /// Packets were acknowledged, with this RTT; `before` is the window before it.
    pub fn on_sample(&mut self, now: Instant, before: u64, state: State, rtt: Option<Duration>) {
        self.note_exit(now, before, state, "stack");
        let is_past = self.exit.is_some() || self.own_exit.is_some();
        self.probe.on_ack(now, self.acked, rtt, is_past);
        self.sample(now, state, rtt);
    }

    /// Congestion; `before` is the window before it.
    pub fn on_congestion(&mut self, now: Instant, before: u64, state: State, reason: &'static str) {
        if reason != "ecn" {
            self.first_loss.get_or_insert(now);
        }
        if reason == "timeout" {
            self.persistent += 1;
        }
        self.note_exit(now, before, state, reason);
        self.sample(now, state, None);
    }

    fn note_exit(&mut self, at: Instant, before: u64, state: State, reason: &'static str) {
        self.exit = self.exit.or(state.exit);
        let is_set = state
            .ssthresh
            .is_some_and(|ssthresh| ssthresh != u64::MAX && state.cwnd >= ssthresh);
        if is_set && self.own_exit.is_none() {
            self.own_exit = Some(OwnExit {
                at,
                cwnd: before,
                reason,
            });
        }
    }

    fn sample(&mut self, now: Instant, state: State, rtt: Option<Duration>) {
        if let Some(trace) = &mut self.trace {
            trace.push(&FlowSample {
                now,
                cwnd: Bytes::new(state.cwnd),
                ssthresh: state.ssthresh.map_or(Bytes::MAX, Bytes::new),
                in_flight: Bytes::new(state.in_flight),
                rtt,
                acked: self.acked,
                delivered: self.delivered,
                pacing_rate: Rate::MAX,
            });
        }
    }
}
