//! Receivers that do not comply: the attacks of Savage, Cardwell, Wetherall and Anderson ("TCP
//! Congestion Control with a Misbehaving Receiver", 1999), and stretch ACKs.
//!
//! A scheme changes what [`Receiver::poll_ack`] returns; the receiver below it is the ordinary one.
//!
//! - **ACK division** (section 2.1). One ACK becomes several, each of an equal part of its data. A
//!   sender that credits a segment for each ACK grows as often faster. RFC 5681, section 3.1, and
//!   RFC 3465 credit the bytes acknowledged, and Linux the whole segments.
//! - **Duplicate-ACK spoofing** (section 2.2). Copies follow each ACK. A sender without SACK takes
//!   each for a segment that has left the network. With SACK, only a block reports that.
//! - **Optimistic ACKs** (section 2.3). Beside the ordinary ACKs, ACKs of full segments leave at a
//!   rate that the receiver chose, whether or not the data has arrived, up to twice what that rate
//!   carries in a round trip. The sender ignores an ACK of data that it never sent (RFC 9293,
//!   section 3.10.7.4; RFC 5961, section 5), and an ordinary one of data that is acknowledged
//!   already. What is lost stays lost: the receiver continues with the data behind the hole and
//!   reports nothing. Without data for a retransmission timeout, it rests until more arrives.
//! - **Stretch ACKs** (RFC 5681, section 4.2, wants an ACK of at least every second full segment).
//!   An ACK waits for a number of segments or a time. Holes, duplicates and the end of the stream are
//!   acknowledged at once.
//!
//! ## Deviations
//!
//! - Savage et al. divide the ACK of each segment; here, each ACK is divided, which may be of two
//!   segments.
//! - An optimistic receiver acknowledges multiples of the segment size only, and echoes the
//!   timestamps and congestion marks of the data that has arrived.

use alloc::boxed::Box;

use units::{Bytes, Duration, Instant, Rate};

use super::{Receiver, timestamp};
use crate::Misbehavior;
use crate::rtt::RTO_INITIAL;
use crate::segment::{AckSegment, SackBlocks};

/// What few receivers have.
#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(PartialEq, Eq))]
pub(super) struct Aside {
    /// An ACK that had to be built before the data after it was processed.
    pub(super) early_ack: Option<AckSegment>,
    /// How the receiver misbehaves.
    scheme: Option<Box<Scheme>>,
}

/// A scheme under way.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
struct Scheme {
    plan: Misbehavior,
    /// The ACKs that are still to be sent for one.
    batch: Batch,
    /// The largest ACK number so far.
    acked: u64,
    /// Bytes of holes that were concealed.
    concealed: u64,
    /// Optimistic: everything below is acknowledged, and the next segment is at this time
    /// ([`Instant::MAX`] while the receiver rests).
    claimed: u64,
    claim_at: Instant,
    /// Stretched: when the first segment that waits for its ACK arrived; [`Instant::MAX`] for none.
    waits_since: Instant,
}

/// Equal parts of an ACK, and its copies.
#[derive(Clone, Debug, Default)]
#[cfg_attr(test, derive(PartialEq, Eq))]
struct Batch {
    /// The last part.
    ack: AckSegment,
    /// The ACK number before the first part.
    from: u64,
    parts: u64,
    /// Parts and copies that were sent, and how many there are.
    sent: u64,
    count: u64,
}

impl Batch {
    fn of(ack: AckSegment, from: u64, plan: &Misbehavior) -> Self {
        let parts = u64::from(plan.divide).min(ack.ack.saturating_sub(from).max(1));
        Self {
            ack,
            from,
            parts,
            sent: 0,
            count: parts + u64::from(plan.duplicate),
        }
    }

    fn next(&mut self) -> Option<AckSegment> {
        if self.sent == self.count {
            return None;
        }
        self.sent += 1;
        if self.sent >= self.parts {
            return Some(self.ack);
        }
        let span = u128::from(self.ack.ack - self.from);
        let part = span * u128::from(self.sent) / u128::from(self.parts);
        let ack = self.from + part as u64;
        // The right edge of the window is the same for all parts.
        let ahead = u32::try_from(self.ack.ack - ack).unwrap_or(u32::MAX);
        Some(AckSegment {
            ack,
            window: self.ack.window.saturating_add(ahead),
            sack: SackBlocks::default(),
            ..self.ack
        })
    }
}

impl Receiver {
    /// An ACK that a receiver seldom has: an early one, the SYN-ACK, or that of a scheme.
    #[cold]
    pub(super) fn poll_rare_ack(&mut self, now: Instant) -> Option<AckSegment> {
        if let Some(aside) = &mut self.aside {
            let early = aside.early_ack.take();
            if aside.scheme.is_none() {
                self.aside = None;
            }
            if let Some(ack) = early {
                self.note_early_ack(ack.ack);
                return early;
            }
        }
        if self.pending.syn_ack {
            self.pending.syn_ack = false;
            return Some(self.make_syn_ack(now));
        }
        self.poll_schemed_ack(now)
    }

    /// Lets the receiver misbehave. Call it before the SYN arrives, and not on a receiver whose data
    /// a proxy passes on.
    pub fn misbehave(&mut self, plan: Misbehavior) {
        self.aside.get_or_insert_default().scheme = Some(Box::new(Scheme {
            plan,
            batch: Batch::default(),
            acked: 0,
            concealed: 0,
            claimed: 0,
            claim_at: Instant::MAX,
            waits_since: Instant::MAX,
        }));
    }

    /// Bytes that were lost and acknowledged all the same ([`Misbehavior::optimistic`]): offsets of
    /// the stream count them as delivered.
    #[must_use]
    pub fn concealed(&self) -> Bytes {
        let scheme = self.aside.as_ref().and_then(|aside| aside.scheme.as_ref());
        Bytes::new(scheme.map_or(0, |scheme| scheme.concealed))
    }

    fn scheme(&mut self) -> Option<&mut Scheme> {
        self.aside.as_mut()?.scheme.as_deref_mut()
    }

    /// Data from `start` on arrives beyond a hole: an optimistic receiver does not wait for the rest.
    #[cold]
    pub(super) fn conceal_hole(&mut self, start: u64) {
        let missing = start - self.rcv_nxt;
        if let Some(scheme) = self.scheme()
            && scheme.plan.optimistic.is_some()
        {
            scheme.concealed += missing;
            self.rcv_nxt = start;
        }
    }

    /// A segment has been processed; it was in order or not.
    #[cold]
    pub(super) fn follow_scheme(&mut self, now: Instant, is_in_order: bool) {
        let waits = self.unacknowledged() > 0;
        let (mss, rcv_nxt, has_ended) = (self.rcv_mss, self.rcv_nxt, self.has_ended());
        let Some(scheme) = self.scheme() else {
            return;
        };
        if waits && scheme.waits_since == Instant::MAX {
            scheme.waits_since = now;
        }
        if let Some(rate) = scheme.plan.optimistic {
            if has_ended {
                scheme.claim_at = Instant::MAX;
            } else if is_in_order && scheme.claim_at == Instant::MAX {
                scheme.claimed = rcv_nxt;
                scheme.claim_at = now + interval(rate, mss);
            }
            // Without holes, no ACK is compressed: the timer is free.
            self.compressed_ack_at = scheme.claim_at;
        }
        self.hold_back(now);
    }

    /// Keeps an ACK back that is not due under a stretch.
    fn hold_back(&mut self, now: Instant) {
        let is_urgent = self.has_ended()
            || self.pending.immediate
            || !self.beyond.is_empty()
            || !self.sacks.is_empty();
        let (waiting, full) = (self.unacknowledged(), u64::from(self.rcv_mss));
        let Some(scheme) = self.scheme().filter(|scheme| scheme.plan.stretch > 1) else {
            return;
        };
        if is_urgent || waiting == 0 || scheme.waits_since == Instant::MAX {
            return;
        }
        let due = scheme.waits_since + scheme.plan.wait;
        let is_due = waiting >= full * u64::from(scheme.plan.stretch) || due <= now;
        self.pending.now = is_due;
        self.delayed_ack_at = if is_due { Instant::MAX } else { due };
    }

    /// The next ACK of a receiver that misbehaves.
    fn poll_schemed_ack(&mut self, now: Instant) -> Option<AckSegment> {
        let scheme = self.scheme()?;
        if let Some(ack) = scheme.batch.next() {
            self.stats.acks_sent += 1;
            return Some(ack);
        }
        let ack = match self.claim(now) {
            Some(ack) => {
                self.stats.acks_sent += 1;
                ack
            }
            None => {
                self.hold_back(now);
                let ack = self.pending.now.then(|| self.make_ack(now))?;
                self.scheme()?.waits_since = Instant::MAX;
                ack
            }
        };
        let scheme = self.scheme()?;
        scheme.batch = Batch::of(ack, scheme.acked, &scheme.plan);
        scheme.acked = scheme.acked.max(ack.ack);
        scheme.batch.next()
    }

    /// The optimistic ACK that is due, if any.
    fn claim(&mut self, now: Instant) -> Option<AckSegment> {
        let (mss, rcv_nxt) = (self.rcv_mss, self.rcv_nxt);
        let is_idle = now.saturating_since(self.last_data) > self.rtt.rto();
        let round_trip = self.rtt.srtt().unwrap_or(RTO_INITIAL);
        let scheme = self.scheme().filter(|scheme| scheme.claim_at <= now)?;
        let rate = scheme.plan.optimistic?;
        scheme.claim_at = if is_idle {
            Instant::MAX
        } else {
            scheme.claim_at + interval(rate, mss)
        };
        let before = scheme.claimed;
        let most = rcv_nxt + rate.bytes_in(round_trip * 2).get();
        scheme.claimed = (before + u64::from(mss)).min(most).max(rcv_nxt);
        let claimed = scheme.claimed;
        let is_ahead = claimed > before.max(rcv_nxt) && !is_idle;
        self.compressed_ack_at = scheme.claim_at;
        is_ahead.then(|| AckSegment {
            ack: claimed,
            window: self.window.advertised(),
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            ece: self.echo_marks,
            ace: self.report_marks(),
            ..AckSegment::default()
        })
    }

    /// An ACK left that the scheme did not make.
    fn note_early_ack(&mut self, ack: u64) {
        if let Some(scheme) = self.scheme() {
            scheme.acked = scheme.acked.max(ack);
        }
    }
}

/// The time from one optimistic ACK to the next.
fn interval(rate: Rate, mss: u32) -> Duration {
    rate.time_for(Bytes::new(mss.into()))
        .max(Duration::from_nanos(1))
}
