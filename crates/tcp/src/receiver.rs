//! The receiving side of a connection: reassembly, and when and what to acknowledge.
//!
//! Behaves like Linux 6.18 (`tcp_input.c`: `tcp_event_data_recv`, `tcp_data_queue`,
//! `__tcp_ack_snd_check`; `tcp.c`: `tcp_cleanup_rbuf`), within the rules of RFC 2018, 2883, 3168
//! and 7323. Assumes an application that reads everything at once, and a network device that
//! delivers single packets (no GRO). If the other direction carries data too, see `duplex.rs`; if
//! the application reads later, see `unread.rs`; if the receiver does not comply, see
//! `misbehavior.rs`.
//!
//! **ACK frequency.** A segment is acknowledged at once while quick ACKs are left: 16 at the start,
//! after a pause longer than the RTO and after a duplicate; 2 after a congestion mark. Every
//! segment that raises `rcv_ssthresh` also sets the lowest bit of that count (`tcp_grow_window`). A
//! receiver whose window still grows therefore acknowledges *every* segment. With a large buffer
//! this covers all of slow start, which matches observed receivers. Afterwards, these are
//! acknowledged at once: more than one full segment, a filled hole, out-of-order data, a small or
//! pushed segment. The delayed-ACK timer acknowledges everything else.
//!
//! ## Deviations
//!
//! - Timers are exact unless the configuration has a [`Tick`]. With it, the delayed ACK and the
//!   SYN-ACK count in ticks; the ATO is not rounded. Linux lets the SACK compression timer slip by up
//!   to 100 us.
//! - In a one-way transfer, the SYN-ACK has no retransmission timer of its own; the sender
//!   retransmits the SYN and gets an answer.
//! - In a one-way transfer, the FIN is acknowledged at once: the application closes its side, and
//!   Linux's FIN carries the acknowledgment.
//! - In a one-way transfer, the receiver's smoothed RTT is the time from its only SYN-ACK to the
//!   first data. Linux measures to the third segment of the handshake, as here if there is one.

mod beyond;
mod buffers;
mod duplex;
mod echo;
mod fast_path;
mod memory;
mod misbehavior;
mod policy;
mod sack_list;
#[cfg(test)]
mod tests;
mod thinning;
mod unread;
mod window;

use alloc::boxed::Box;

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant};

use crate::accecn::MarkCounter;
use crate::range_set::RangeSet;
use crate::rtt::{RTO_INITIAL, RTO_MIN, RttEstimator, back_off};
use crate::segment::{AckSegment, DataSegment, MAX_SACK_BLOCKS, SACK_BLOCKS_WITH_TIMESTAMPS};
use crate::{AckPolicy, ReceiverConfig, Tick};
use buffers::Buffers;
use echo::Echo;
pub use fast_path::{Pairs, PlainAck};
use misbehavior::Aside;
use policy::{ATO_MIN, QUICK_ACKS};
use sack_list::SackList;
use thinning::Thinning;
pub use thinning::quick_start_ack_ratio;
use window::ReceiveWindow;

/// `TCP_MSS_DEFAULT`: the segment size assumed before the first segment (RFC 9293 section 3.7.1).
const MSS_DEFAULT: u32 = 536;
/// `TCP_MIN_MSS`.
const MSS_MIN: u32 = 88;
/// Bytes of the IPv4 and TCP headers, and of the timestamps option with its padding.
const HEADERS: u64 = 40;
const TIMESTAMPS: u64 = 12;
/// Segments smaller than this do not grow the window (`tcp_event_data_recv`).
const SMALLEST_TO_GROW: u32 = 128;
/// Compression stops beyond this number of SACK blocks (`TCP_SACK_BLOCKS_EXPECTED`).
const COMPRESSION_BLOCKS: usize = 2;

/// Counters of a connection's receiving side.
///
/// The counts that change often are together, at the beginning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct ReceiverStats {
    /// Data segments received.
    pub segments_received: u64,
    /// ACKs sent, excluding SYN-ACKs and ACKs in data segments.
    pub acks_sent: u64,
    /// Of these, segments without new data.
    pub duplicates: u64,
    /// Of these, segments with new data beyond a hole.
    pub out_of_order: u64,
    /// Data segments beyond the advertised window, dropped.
    pub out_of_window: u64,
    /// Data segments with a congestion mark.
    pub marked: u64,
    /// ACKs that SACK compression saved.
    pub acks_compressed: u64,
}

/// Data that waits for an ACK (Linux `icsk_ack.pending`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    /// Data waits.
    scheduled: bool,
    /// The data includes a small or pushed segment; a small one after that.
    pushed: bool,
    pushed_twice: bool,
    /// An immediate ACK is required (`ICSK_ACK_NOW`).
    immediate: bool,
    /// The decision is made: [`Receiver::poll_ack`] returns an ACK.
    now: bool,
    /// A SYN waits for its SYN-ACK.
    syn_ack: bool,
}

/// The receiving side of a connection.
///
/// After each [`Self::handle_data`] and [`Self::handle_timeout`], take all ACKs with
/// [`Self::poll_ack`], then ask [`Self::poll_timeout`] when to call [`Self::handle_timeout`].
///
/// What a segment in order reads and writes, and its ACK, is at the beginning: where many flows run,
/// it is in no cache.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(PartialEq, Eq))]
#[repr(C)]
pub struct Receiver {
    rcv_nxt: u64,
    /// Before this instant, the passing of time changes no measurement.
    quiet_until: Instant,
    last_data: Instant,
    /// Delayed-ACK timeout (`icsk_ack.ato`); zero before the first data.
    ato: Duration,
    /// When the delayed ACK and the compressed ACK are due; [`Instant::MAX`] if there is none. While
    /// the third segment is awaited, the former is the time of the next SYN-ACK.
    delayed_ack_at: Instant,
    compressed_ack_at: Instant,
    /// Segment size by which ACKs are delayed (`icsk_ack.rcv_mss`), the size of the segments that a
    /// driver merges, and the size of a small segment that may lower the first (`last_seg_size`).
    rcv_mss: u32,
    /// Quick ACKs left (`icsk_ack.quick`).
    quick: u32,
    /// All bits, or none in interactive mode, in which quick ACKs wait (`icsk_ack.pingpong`).
    quick_mask: u32,
    ts_recent: u32,
    pending: Pending,
    /// The fast path takes full segments in order.
    is_clear: bool,
    policy: AckPolicy,
    /// RFC 3168: echo marks until the sender reports a reduction (`TCP_ECN_DEMAND_CWR`).
    echo_marks: bool,
    /// At most [`policy::COMPRESSION_LIMIT`].
    compressed: u8,
    /// Duplicate ACKs counted for `duplicates_of`, at most [`policy::UNCOMPRESSED_DUPLICATES`].
    duplicate_acks: u8,
    sack: bool,
    compression: bool,
    /// RFC 9768: count marks instead.
    marks: Option<MarkCounter>,
    tick: Tick,
    aside: Option<Box<Aside>>,
    last_small: u32,
    merged: u32,
    window: ReceiveWindow,
    stats: ReceiverStats,
    beyond: RangeSet,
    sacks: SackList,
    duplicates_of: u64,
    /// One past the last sequence number; [`u64::MAX`] if the FIN has not arrived.
    end: u64,
    /// [`Instant::MAX`] before.
    finished_at: Instant,
    /// The offset up to which the application has read; [`u64::MAX`] if it reads at once.
    read_up_to: u64,
    buffers: Buffers,
    /// Whether a rate that routers approved thins the ACKs.
    thinning: Option<Box<Thinning>>,
    /// From the handshake; it bounds the delayed ACK.
    rtt: RttEstimator,
    /// When the last SYN-ACK left.
    syn_ack_sent: Option<Instant>,
    /// The routers' answer that the next ACK carries.
    echo: Echo,
    /// SYN-ACKs that have left.
    syn_acks: u32,
    /// The FIN came alone and takes the last sequence number.
    has_bare_fin: bool,
    /// This host sends too, and has not closed: the ACK of the FIN waits for its data.
    fin_waits: bool,
    /// This host opened the connection, and the SYN-ACK has arrived.
    is_connected: bool,
    /// The SYN-ACK is retransmitted until the third segment of the handshake arrives.
    awaits_third: bool,
}

impl Receiver {
    /// A receiver that waits for a SYN (or for data, if a test omits the handshake).
    #[must_use]
    pub fn new(config: ReceiverConfig) -> Self {
        let window = ReceiveWindow::new(&config);
        let half = window.advertised() / 2;
        Self {
            policy: config.ack_policy,
            tick: config.tick,
            sack: config.sack,
            compression: config.sack,
            rcv_nxt: 0,
            window,
            pending: Pending::default(),
            quick: 0,
            quick_mask: u32::MAX,
            rcv_mss: MSS_DEFAULT.min(config.mss).min(half).max(MSS_MIN),
            merged: config.merged,
            last_small: 0,
            ato: Duration::ZERO,
            last_data: Instant::ZERO,
            delayed_ack_at: Instant::MAX,
            compressed_ack_at: Instant::MAX,
            compressed: 0,
            duplicate_acks: 0,
            duplicates_of: 0,
            aside: None,
            ts_recent: 0,
            echo_marks: false,
            marks: None,
            beyond: RangeSet::new(),
            buffers: Buffers::default(),
            sacks: SackList::default(),
            rtt: RttEstimator::new(RTO_MIN),
            syn_ack_sent: None,
            syn_acks: 0,
            echo: Echo::Nothing,
            end: u64::MAX,
            has_bare_fin: false,
            fin_waits: false,
            is_connected: false,
            awaits_third: false,
            thinning: None,
            finished_at: Instant::MAX,
            read_up_to: u64::MAX,
            is_clear: false,
            quiet_until: Instant::ZERO,
            stats: ReceiverStats::default(),
        }
    }

    /// Makes the receiver [`Self::new`] of this configuration. It keeps the memory that the last one
    /// allocated, and nothing else of it.
    pub fn renew(&mut self, config: ReceiverConfig) {
        let new_window = ReceiveWindow::new(&config);
        let half = new_window.advertised() / 2;
        // Each field is named, so that a new one is not forgotten, and set in its place: the whole
        // is large.
        let Self {
            policy,
            tick,
            sack,
            compression,
            rcv_nxt,
            window,
            pending,
            quick,
            quick_mask,
            rcv_mss,
            merged,
            last_small,
            ato,
            last_data,
            delayed_ack_at,
            compressed_ack_at,
            compressed,
            duplicate_acks,
            duplicates_of,
            aside,
            ts_recent,
            echo_marks,
            marks,
            beyond,
            buffers,
            sacks,
            rtt,
            syn_ack_sent,
            syn_acks,
            echo,
            end,
            has_bare_fin,
            fin_waits,
            is_connected,
            awaits_third,
            thinning,
            finished_at,
            read_up_to,
            is_clear,
            quiet_until,
            stats,
        } = self;
        *policy = config.ack_policy;
        *tick = config.tick;
        *sack = config.sack;
        *compression = config.sack;
        *rcv_nxt = 0;
        *window = new_window;
        *pending = Pending::default();
        *quick = 0;
        *quick_mask = u32::MAX;
        *rcv_mss = MSS_DEFAULT.min(config.mss).min(half).max(MSS_MIN);
        *merged = config.merged;
        *last_small = 0;
        *ato = Duration::ZERO;
        *last_data = Instant::ZERO;
        *delayed_ack_at = Instant::MAX;
        *compressed_ack_at = Instant::MAX;
        *compressed = 0;
        *duplicate_acks = 0;
        *duplicates_of = 0;
        *aside = None;
        *ts_recent = 0;
        *echo_marks = false;
        *marks = None;
        beyond.clear();
        *buffers = Buffers::default();
        *sacks = SackList::default();
        *rtt = RttEstimator::new(RTO_MIN);
        *syn_ack_sent = None;
        *syn_acks = 0;
        *echo = Echo::Nothing;
        *end = u64::MAX;
        *has_bare_fin = false;
        *fin_waits = false;
        *is_connected = false;
        *awaits_third = false;
        *thinning = None;
        *finished_at = Instant::MAX;
        *read_up_to = u64::MAX;
        *is_clear = false;
        *quiet_until = Instant::ZERO;
        *stats = ReceiverStats::default();
    }

    /// Turns SACK compression off (`tcp_comp_sack_nr = 0`); it is on by default.
    #[must_use]
    pub const fn without_sack_compression(mut self) -> Self {
        self.compression = false;
        self
    }

    /// The counters.
    #[must_use]
    pub const fn stats(&self) -> &ReceiverStats {
        &self.stats
    }

    /// The window that the last ACK advertised, or that the first one will.
    #[must_use]
    pub const fn window(&self) -> u32 {
        self.window.advertised()
    }

    /// The size of the peer's segments, by which ACKs are delayed (`tcpi_rcv_mss`).
    #[must_use]
    pub const fn segment_size(&self) -> u32 {
        self.rcv_mss
    }

    /// The shift of the window scale option of this host.
    #[must_use]
    pub const fn window_shift(&self) -> u8 {
        self.window.shift() as u8
    }

    /// Bytes of full segments that the buffer can hold at present.
    #[must_use]
    pub const fn buffer_space(&self) -> Bytes {
        Bytes::new(self.window.space())
    }

    /// The router feedback in the packet that is handled next, and the TTL of its IP header.
    pub fn handle_feedback(&mut self, feedback: &Feedback, ip_ttl: u8) {
        if let Feedback::RateReport { rate, .. } = feedback {
            self.note_approval(rate.rate());
        }
        self.echo.take(feedback, ip_ttl);
    }

    /// The router feedback in `ack`, which leaves at once. If the sender asks routers, call it for
    /// each ACK.
    pub fn feedback(&mut self, ack: &AckSegment) -> Option<Feedback> {
        self.echo.give(ack.syn)
    }

    /// The router feedback in the third segment of a handshake: the answer to a request in the
    /// SYN-ACK.
    pub fn answer_to_syn_ack(&mut self) -> Option<Feedback> {
        self.echo.give(true)
    }

    /// A data segment or SYN arrived. `ecn_ce`: it has a congestion mark.
    #[inline(always)]
    pub fn handle_data(&mut self, now: Instant, segment: &DataSegment, ecn_ce: bool) {
        let &DataSegment {
            seq,
            len,
            ts_val,
            ts_ecr,
            ..
        } = segment;
        let is_plain = !(segment.syn | segment.fin | segment.psh | segment.cwr | ecn_ce);
        let is_taken = is_plain
            && (self.handle_full_segment(now, seq, len, ts_val, ts_ecr)
                || self.prolong_beyond(now, seq, len, ts_val));
        if !is_taken {
            self.handle_any_data(now, segment, ecn_ce);
        }
    }

    /// [`Self::handle_data`] without the fast path; the results are the same.
    #[inline(never)]
    pub fn handle_any_data(&mut self, now: Instant, segment: &DataSegment, ecn_ce: bool) {
        self.is_clear = false;
        if segment.syn {
            self.ts_recent = segment.ts_val;
            self.pending.syn_ack = true;
            return;
        }
        self.stats.segments_received += 1;
        let (beyond, rcv_nxt) = (&self.beyond, self.rcv_nxt);
        self.window
            .settle(now, rcv_nxt, u64::from(self.rcv_mss), || {
                span(beyond, rcv_nxt)
            });
        let start = segment.seq;
        let end = segment.end();
        // RFC 7323 section 4.3: the segment that the last ACK expected sets the echo. Linux ignores
        // a segment wholly below that ACK, so an old duplicate does not set it.
        let last_ack = self.window.advertised_at();
        let is_newer = segment.ts_val.wrapping_sub(self.ts_recent) as i32 >= 0;
        if start <= last_ack && end >= last_ack && is_newer {
            self.ts_recent = segment.ts_val;
        }
        if segment.cwr {
            self.echo_marks = false;
            self.pending.immediate |= segment.len > 0;
        }
        self.stats.marked += u64::from(ecn_ce);
        if ecn_ce || start != self.rcv_nxt {
            self.thinning = None;
        }
        if segment.fin && end >= self.rcv_nxt {
            self.end = end;
            self.has_bare_fin = segment.is_bare_fin();
        }
        if segment.len > 0 {
            self.sacks.forget_duplicate();
        }
        if start > self.rcv_nxt && self.aside.is_some() {
            self.conceal_hole(start);
        }
        let is_in_order = start <= self.rcv_nxt && end > self.rcv_nxt;
        if end <= self.rcv_nxt {
            self.refuse_duplicate(segment);
        } else if self.is_beyond_window(start, start + u64::from(segment.len)) {
            self.refuse_beyond_window();
        } else if is_in_order {
            self.take_in_order(now, segment, ecn_ce);
        } else {
            self.take_out_of_order(now, segment, ecn_ce);
        }
        if self.end <= self.rcv_nxt && self.finished_at == Instant::MAX {
            self.note_end(now);
            self.pending.now |= !self.fin_waits;
        }
        if self.policy == AckPolicy::EverySegment {
            self.pending.now = true;
        }
        if is_in_order {
            self.look_ahead(headers(segment.ts_val));
        }
        if self.aside.is_some() {
            self.follow_scheme(now, is_in_order);
        }
    }

    /// `tcp_data_queue`, in order.
    fn take_in_order(&mut self, now: Instant, segment: &DataSegment, ecn_ce: bool) {
        if segment.seq < self.rcv_nxt {
            self.sacks.set_duplicate(segment.seq, self.rcv_nxt);
        }
        let end = segment.end();
        // Linux takes a FIN although no memory is left, and reports that at once.
        self.pending.immediate |= segment.is_bare_fin() && self.is_full();
        self.rcv_nxt = end;
        if segment.is_bare_fin() {
            self.pending.scheduled = true;
        } else {
            self.on_data_received(now, segment, ecn_ce);
        }
        if !self.beyond.is_empty() {
            self.take_what_follows(end);
        }
        if self.sacks.remembered() > 0 {
            self.sacks.acknowledge(self.rcv_nxt);
        }
        if self.fin_waits && self.end <= self.rcv_nxt {
            self.on_fin();
        }
        self.decide(now);
        if self.reads_at_once() {
            // The application reads (`tcp_recvmsg`), after which an ACK may be due.
            let behind = self.rcv_nxt - end;
            self.window.on_read(now, end, behind);
            self.decide_after_read();
        }
    }

    /// `tcp_ofo_queue`: held data that is in order after this segment, which ends at `end`.
    fn take_what_follows(&mut self, end: u64) {
        let whole = self.beyond.total();
        while let Some((from, to)) = self.beyond.first() {
            if from > self.rcv_nxt {
                break;
            }
            if from < self.rcv_nxt {
                self.sacks.add_duplicate(from, to.min(self.rcv_nxt));
            }
            self.rcv_nxt = self.rcv_nxt.max(to);
            self.beyond.remove_below(to);
        }
        let memory = self
            .buffers
            .release_beyond(whole - self.beyond.total(), whole);
        if !self.reads_at_once() {
            let full = u64::from(self.rcv_mss);
            self.buffers.queue_all(end, self.rcv_nxt, memory, full);
        }
        // RFC5681-3.2b
        // RFC 5681 section 4.2: an immediate ACK when the gap is filled.
        self.pending.immediate |= self.beyond.is_empty();
    }

    /// No new data: acknowledges at once, and enters quick-ACK mode (`tcp_send_dupack`,
    /// `tcp_data_queue`).
    fn refuse_duplicate(&mut self, segment: &DataSegment) {
        let end = segment.end();
        if end > segment.seq {
            self.stats.duplicates += 1;
            self.enter_quick_acks(QUICK_ACKS);
            self.sacks.set_duplicate(segment.seq, end);
            self.pending.scheduled |= end >= self.window.advertised_at();
        }
        self.pending.now = true;
    }

    /// `tcp_sequence`: the segment begins beyond the window, or ends there while data is unread.
    fn is_beyond_window(&self, start: u64, end: u64) -> bool {
        let edge = self.rcv_nxt + self.window.remaining(self.rcv_nxt);
        start > edge || end > edge && self.unread() > 0
    }

    /// The window does not hold the segment (`tcp_validate_incoming`).
    fn refuse_beyond_window(&mut self) {
        self.stats.out_of_window += 1;
        self.pending.now = true;
    }

    /// `tcp_data_queue_ofo`.
    fn take_out_of_order(&mut self, now: Instant, segment: &DataSegment, ecn_ce: bool) {
        // RFC5681-3.2a
        let (start, end) = (segment.seq, segment.end());
        if ecn_ce {
            self.on_mark();
        } else if let Some(marks) = &mut self.marks {
            marks.on_unmarked();
        }
        let memory = self.memory_of(segment);
        self.measure_segment(segment, memory);
        self.pending.scheduled = true;
        // The parts already received: below, within and above the new data.
        let mut covered = start;
        let mut duplicate = None;
        let new = self.beyond.insert(start, end, |from, to| {
            if from > covered {
                duplicate.get_or_insert((covered, from));
            }
            covered = to;
        });
        if new == 0 {
            self.stats.duplicates += 1;
            self.sacks.set_duplicate(start, end);
        } else {
            self.stats.out_of_order += 1;
            if covered < end {
                duplicate.get_or_insert((covered, end));
            }
            if let Some((from, to)) = duplicate {
                self.sacks.set_duplicate(from, to);
            }
        }
        if self.compressed > 0 && self.sacks.place_of(start, end) >= COMPRESSION_BLOCKS {
            // The list is about to drop a block not yet reported (`tcp_sack_compress_send_ack`).
            let ack = self.make_ack(now);
            self.aside.get_or_insert_default().early_ack = Some(ack);
            self.pending.scheduled = true;
        }
        self.sacks.add(start, end);
        if new > 0 {
            if self.sack {
                // Without SACK the window must not grow: an ACK that opens it is not a duplicate.
                self.grow_window(segment.len, memory, self.held_memory());
            }
            self.buffers.hold_beyond(memory);
        }
        self.window
            .grow_for_out_of_order(span(&self.beyond, self.rcv_nxt));
        self.decide(now);
    }

    /// `tcp_event_data_recv`.
    fn on_data_received(&mut self, now: Instant, segment: &DataSegment, ecn_ce: bool) {
        self.pending.scheduled = true;
        let is_full = self.counted_size(segment) >= self.rcv_mss;
        let memory = self.memory_of(segment);
        self.measure_segment(segment, memory);
        self.window.measure_by_window(now, self.rcv_nxt);
        if self.ato.is_zero() {
            self.on_first_data(now);
        } else {
            self.adapt_ato(now.saturating_since(self.last_data));
        }
        self.window
            .measure_by_timestamp(timestamp(now), segment.ts_ecr, is_full);
        self.last_data = now;
        self.thin(now, segment.len);
        if ecn_ce {
            self.on_mark();
        } else if let Some(marks) = &mut self.marks {
            marks.on_unmarked();
        }
        // The segment itself occupies the buffer until the application reads it.
        let own = if self.reads_at_once() {
            memory
        } else {
            self.queue_unread(segment, memory);
            0
        };
        if segment.len >= SMALLEST_TO_GROW {
            self.grow_window(segment.len, memory, self.held_memory() + own);
        }
    }

    /// What `segment` counts for where segments are counted (`gso_size`).
    fn counted_size(&self, segment: &DataSegment) -> u32 {
        segment.len.min(self.merged)
    }

    /// `tcp_measure_rcv_mss`: the size of the peer's segments, and whether the application should be
    /// awaited.
    fn measure_segment(&mut self, segment: &DataSegment, memory: u64) {
        let last = core::mem::take(&mut self.last_small);
        let len = self.counted_size(segment);
        if len >= self.rcv_mss {
            if len != self.rcv_mss {
                self.window.observe(u64::from(segment.len), memory);
            }
            self.rcv_mss = len.min(self.window.mss());
            self.pending.pushed |= segment.psh;
            return;
        }
        // Without a push, a peer sends full segments.
        let least = if segment.psh || segment.fin {
            MSS_DEFAULT.saturating_sub((headers(segment.ts_val) - HEADERS) as u32)
        } else {
            MSS_MIN.saturating_sub((headers(segment.ts_val) - HEADERS) as u32)
        };
        if len >= least {
            self.last_small = len;
            if len == last {
                self.rcv_mss = len;
                return;
            }
        }
        self.pending.pushed_twice |= self.pending.pushed;
        self.pending.pushed = true;
    }

    fn on_first_data(&mut self, now: Instant) {
        if let (Some(sent), 1) = (self.syn_ack_sent, self.syn_acks) {
            self.rtt.on_sample(now.saturating_since(sent), 0, 0);
        }
        self.raise_quick_acks(QUICK_ACKS);
        self.ato = ATO_MIN;
    }

    /// `tcp_grow_window`.
    fn grow_window(&mut self, len: u32, memory: u64, held: u64) {
        if self.window.grow(len, memory, self.rcv_mss, held) {
            self.quick |= 1;
        }
    }

    /// The ends have agreed on AccECN (RFC 9768): ACKs count the marks. Call it before any segment
    /// arrives.
    pub const fn count_marks(&mut self) {
        self.marks = Some(MarkCounter::new());
        self.is_clear = false;
    }

    /// Whether [`Self::poll_ack`] may return an ACK.
    #[inline]
    #[must_use]
    pub const fn has_ack(&self) -> bool {
        self.pending.now || self.pending.syn_ack || self.aside.is_some()
    }

    /// The next ACK to send alone, or `None`.
    #[inline]
    pub fn poll_ack(&mut self, now: Instant) -> Option<AckSegment> {
        // The rare cases come first, and cost one comparison.
        if self.pending.syn_ack || self.aside.is_some() {
            return self.poll_rare_ack(now);
        }
        self.pending.now.then(|| self.make_ack(now))
    }

    fn make_syn_ack(&mut self, now: Instant) -> AckSegment {
        self.syn_acks += 1;
        self.syn_ack_sent = Some(now);
        if self.awaits_third {
            let timeout = back_off(RTO_INITIAL, self.syn_acks - 1);
            self.delayed_ack_at = self.tick.expiry(now, timeout);
        }
        AckSegment {
            ack: self.rcv_nxt,
            window: u32::try_from(self.window.remaining(self.rcv_nxt)).unwrap_or(u32::MAX),
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            syn: true,
            ..AckSegment::default()
        }
    }

    /// `tcp_send_ack`, `tcp_select_window` and `tcp_event_ack_sent`.
    fn make_ack(&mut self, now: Instant) -> AckSegment {
        let held = self.held_memory();
        if self.window.is_crowded(held) {
            self.quick = 0;
        }
        let window = self.window.advertise(self.rcv_nxt, self.rcv_mss, held);
        if self.quick > 0 && self.pending.scheduled {
            self.use_quick_ack();
        }
        self.pending = Pending {
            syn_ack: self.pending.syn_ack,
            ..Pending::default()
        };
        self.delayed_ack_at = Instant::MAX;
        if self.compressed > 0 {
            self.stats.acks_compressed += u64::from(self.compressed);
            self.compressed = 0;
            self.compressed_ack_at = Instant::MAX;
        }
        self.stats.acks_sent += 1;
        let mut ack = AckSegment {
            ack: self.rcv_nxt,
            window,
            ts_val: timestamp(now),
            ts_ecr: self.ts_recent,
            ece: self.echo_marks,
            ace: self.report_marks(),
            ..AckSegment::default()
        };
        if !self.sacks.is_empty() {
            // Timestamps leave space for three blocks (Linux `tcp_established_options`).
            let most = if self.ts_recent == 0 {
                MAX_SACK_BLOCKS
            } else {
                SACK_BLOCKS_WITH_TIMESTAMPS
            };
            let blocks = self.sacks.take(self.rcv_nxt, most);
            if self.sack {
                ack.sack = blocks;
            }
        }
        ack
    }

    /// When [`Self::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        let due = self.delayed_ack_at.min(self.compressed_ack_at);
        (due != Instant::MAX).then_some(due)
    }

    /// Fires the timers that are due.
    pub fn handle_timeout(&mut self, now: Instant) {
        if self.delayed_ack_at <= now {
            self.delayed_ack_at = Instant::MAX;
            self.on_delayed_ack();
        }
        if self.compressed_ack_at <= now {
            self.compressed_ack_at = Instant::MAX;
            // Of a receiver that misbehaves, the timer may be another.
            self.pending.now |= self.compressed > 0;
        }
    }
}

/// The timestamp clock in milliseconds; never zero within the first 49 days, because zero means
/// that there is no timestamp.
const fn timestamp(now: Instant) -> u32 {
    (now.as_millis() as u32).wrapping_add(1)
}

/// The headers of a segment with this timestamp, where zero is none.
const fn headers(ts_val: u32) -> u64 {
    if ts_val == 0 {
        HEADERS
    } else {
        HEADERS + TIMESTAMPS
    }
}

/// The distance from `rcv_nxt` to the end of the last out-of-order data.
fn span(beyond: &RangeSet, rcv_nxt: u64) -> u64 {
    beyond
        .last()
        .map_or(0, |(_, end)| end.saturating_sub(rcv_nxt))
}
