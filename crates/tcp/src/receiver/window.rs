//! The receive window and its autotuning.
//!
//! Linux 6.18: `tcp_select_initial_window`, `tcp_init_buffer_space`, `tcp_measure_rcv_mss`,
//! `tcp_grow_window`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` (dynamic right-sizing),
//! `__tcp_select_window` and the receiver's own RTT estimate. What a byte of memory is worth in
//! window follows from the segments that arrive: see `memory.rs`.
//!
//! - `space` is the window of the whole buffer (`tcp_full_space`). By default, `tcp_rmem[1]` is
//!   128 KiB, of which the SYN-ACK advertises one half in whole segments. The first segment of 1,448
//!   bytes shows that 5/8 of the memory is payload, and raises `space` to 81,920 bytes.
//! - `clamp` bounds the window (`window_clamp`). It is `space`, less one segment until a segment has
//!   changed what memory is worth.
//! - `rcv_ssthresh` limits the advertised window. Each segment that arrives raises it by two
//!   segments, up to the window of the memory that is free while the buffer holds that segment. A
//!   segment that takes a larger part of memory than the largest one raises it while it is small.
//! - Once per round trip, `space` is raised to the amount that a sender with unchanged growth could
//!   deliver in the round trip after the next, plus the out-of-order data, up to `receive_buffer`.
//!   Without autotuning (`SO_RCVBUF`), it is `receive_buffer` from the start.
//! - The application reads at once. If many segments arrive at one instant (a cell's transport
//!   block, a Wi-Fi frame), some arrive before the application has woken up. The first segment read
//!   after a round trip ends the measurement, and the data waiting behind that segment is
//!   subtracted. All the data that a retransmission puts in order waits behind that retransmission.
//!
//! ## Before 6.16
//!
//! [`Autotuning::Linux66`] adds a cushion of 16 segments to the target. It counts neither unread
//! nor out-of-order data. An older receiver therefore acknowledges each segment in some rounds in
//! which a newer one delays its ACKs. It also opens earlier if segments arrive many at a time. With
//! [`Autotuning::Linux61`], until 6.5, half of the memory always counts as payload, so the first window
//! does not grow before a round trip ends.
//!
//! The RTT estimate follows a smaller sample at once since 6.16, and in the stable kernels since June
//! 2025, 6.1.142 and 6.12.34 among them (`tcp_rcv_rtt_update`). With [`Autotuning::Linux54`] it
//! follows slowly.
//!
//! ## Deviations
//!
//! The number of segments that arrive before the reader has woken up depends on the host and on
//! chance. Here it is [`WAKING`] if that many arrive at one instant. A driver that merges segments
//! (GRO) would leave none behind the first.

use units::{Duration, Instant};

use super::memory::Memory;
use crate::config::{Autotuning, ReceiverConfig};

/// `TCP_INIT_CWND`: the first measurement of the data received in a round trip is compared with
/// this.
const INITIAL_SEGMENTS: u32 = 10;
/// Addition to the target before 6.16, in segments.
const CUSHION: u64 = 16;
/// Segments that arrive at one instant before the application reads the first of them. Measured on
/// Linux 6.18 behind the emulator, over LTE, 5G and Wi-Fi: mostly 0 to 8 segments wait when the
/// space is raised (`inq` of `tcp:tcp_rcvbuf_grow`), with a median of 4.
const WAKING: u64 = 4;
/// Largest shift of the window scale option (RFC 7323 section 2.3).
const LARGEST_SHIFT: u32 = 14;
/// Autotuning never shifts by less than a window of this needs (`net.core.rmem_max`).
const LEAST_SCALED: u64 = 4 << 20;
/// The smallest clamp (`SOCK_MIN_RCVBUF / 2`).
const LEAST_CLAMP: u32 = 1_152;

/// The receive window and the state of its autotuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    autotuning: Autotuning,
    memory: Memory,
    /// The advertised window is a multiple of this (window scale).
    unit: u32,
    /// The window of the whole buffer, the most that is advertised, and the limit of the next ACK.
    space: u32,
    clamp: u32,
    rcv_ssthresh: u32,
    /// The largest segment that the host advertised, in payload (`advmss`).
    mss: u32,
    /// A full segment: its memory, how far it raises the limit, and how far at once (zero if that
    /// depends on the limit).
    full_memory: u32,
    full_limit: u32,
    full_step: u32,
    /// Last advertised window, and the `rcv_nxt` at which it starts.
    advertised: u32,
    advertised_at: u64,
    /// Round-trip time in microseconds times eight; zero before the first measurement.
    rtt_x8: u64,
    /// Measurement by window: the offset whose arrival ends the round trip, and when it began
    /// ([`Instant::MAX`] before).
    round_end: u64,
    round_start: Instant,
    last_ts_ecr: u32,
    /// Bytes that the application read in the last round trip; offset and time at which the current
    /// one began ([`Instant::MAX`] before).
    read_per_round: u32,
    read_at: u64,
    read_since: Instant,
    /// The round trip is over: when ([`Instant::MAX`] before), and the offset that the application
    /// had read.
    measured: (Instant, u64),
    /// Bytes in order beyond that offset at that moment.
    behind: u64,
}

impl ReceiveWindow {
    pub fn new(config: &ReceiverConfig) -> Self {
        let autotuning = config.autotuning;
        // The largest window that the scale option can express.
        let buffer = config
            .receive_buffer
            .get()
            .clamp(1, 0xffff << LARGEST_SHIFT);
        let initial = config.initial_window.get().clamp(1, buffer.max(65_535));
        let is_measured = !autotuning.halves_memory();
        // `receive_buffer` is the window of this memory with segments of 1,448 bytes.
        let most = if is_measured {
            (8 * buffer).div_ceil(5)
        } else {
            2 * buffer
        };
        // 65,535 bytes are what the header can say of a window of 64 KiB.
        let size = match autotuning {
            Autotuning::Off => most,
            _ => most.min(2 * initial.next_multiple_of(2)),
        };
        let memory = Memory::new(size, most, is_measured, config.truesize);
        let space = memory.window();
        let scaled = match autotuning {
            Autotuning::Off => u64::from(space),
            _ => most.max(LEAST_SCALED),
        };
        let shift = scaled.max(1).ilog2().saturating_sub(15).min(LARGEST_SHIFT);
        let mss = config.mss.max(1);
        let offered = u64::from(space).min(initial) as u32;
        let advertised = if offered > mss {
            offered - offered % mss
        } else {
            offered
        };
        let mut clamp = space.min(0xffff << shift);
        if clamp > 2 * mss && clamp + mss > space {
            clamp = (2 * mss).max(space - mss);
        }
        let rcv_ssthresh = advertised.min(clamp);
        Self {
            autotuning,
            memory,
            unit: 1 << shift,
            space,
            clamp,
            rcv_ssthresh,
            mss,
            full_memory: 0,
            full_limit: 0,
            full_step: 0,
            advertised,
            advertised_at: 0,
            rtt_x8: 0,
            round_end: 0,
            round_start: Instant::MAX,
            last_ts_ecr: 0,
            read_per_round: rcv_ssthresh.min(INITIAL_SEGMENTS * mss),
            read_at: 0,
            read_since: Instant::MAX,
            measured: (Instant::MAX, 0),
            behind: 0,
        }
    }

    /// The shift of the window scale option.
    pub const fn shift(&self) -> u32 {
        self.unit.trailing_zeros()
    }

    /// The connection is open: the first round trip of the application begins.
    pub fn open(&mut self, now: Instant) {
        self.read_since = self.read_since.min(now);
    }

    /// The memory of a packet.
    pub const fn memory_of(&self, len: u64, headers: u64) -> u64 {
        self.memory.of_packet(len, headers)
    }

    /// What such a packet can still take.
    pub const fn tail_room(&self, memory: u64, len: u64, headers: u64) -> u64 {
        self.memory.tail_room(memory, len, headers)
    }

    /// A packet of `len` bytes, larger than all before it, takes `memory` (`tcp_measure_rcv_mss`).
    pub fn observe(&mut self, len: u64, memory: u64) {
        if !self.memory.observe(len, memory) {
            return;
        }
        self.space = self.memory.window();
        // `tcp_set_window_clamp`.
        let clamp = self.space.max(LEAST_CLAMP);
        if clamp < self.clamp {
            self.rcv_ssthresh = self.rcv_ssthresh.min(clamp);
        } else if clamp > self.clamp {
            self.rcv_ssthresh = self.rcv_ssthresh.max(self.advertised.min(clamp));
        }
        self.clamp = clamp;
        self.read_per_round = self.read_per_round.min(clamp);
    }

    /// The next segments are likely to have `len` bytes, and take `memory`. `grows`: they are long
    /// enough to raise the limit.
    #[inline]
    pub fn expect_full(&mut self, len: u64, memory: u64, grows: bool) {
        self.full_memory = if grows { memory as u32 } else { u32::MAX };
        self.limit_full();
        self.full_step = if u64::from(self.memory.window_of(memory)) <= len {
            2 * (len as u32).max(self.mss)
        } else {
            0
        };
    }

    fn limit_full(&mut self) {
        let free = self.memory.free(u64::from(self.full_memory));
        self.full_limit = self.clamp.min(free);
    }

    /// The largest segment that the host advertised, in payload.
    pub const fn mss(&self) -> u32 {
        self.mss
    }

    /// The window that the last ACK advertised.
    pub const fn advertised(&self) -> u32 {
        self.advertised
    }

    /// The remainder of the advertised window (`tcp_receive_window`).
    pub const fn remaining(&self, rcv_nxt: u64) -> u64 {
        (self.advertised_at + self.advertised as u64).saturating_sub(rcv_nxt)
    }

    /// Whether at most half of the clamp is left of the advertised window.
    #[inline]
    pub const fn is_half_used(&self, rcv_nxt: u64) -> bool {
        2 * self.remaining(rcv_nxt) <= self.clamp as u64
    }

    /// `rcv_nxt` of the last ACK (`rcv_wup`).
    pub const fn advertised_at(&self) -> u64 {
        self.advertised_at
    }

    /// The capacity of the buffer.
    pub const fn space(&self) -> u64 {
        self.space as u64
    }

    /// This side's estimate of the round-trip time times eight, in microseconds; zero if there is
    /// none.
    pub const fn rtt_x8(&self) -> u64 {
        self.rtt_x8
    }

    /// A segment of `len` bytes that takes `memory` arrived, while the packets in the buffer take
    /// `held`: raises the limit of the advertised window. Returns whether it rose.
    pub fn grow(&mut self, len: u32, memory: u64, rcv_mss: u32, held: u64) -> bool {
        let limit = self.clamp.min(self.memory.free(held));
        let room = limit.saturating_sub(self.rcv_ssthresh);
        if room == 0 {
            return false;
        }
        let step = if self.memory.window_of(memory) <= len {
            2 * self.mss
        } else if self.permits(len, memory) {
            2 * rcv_mss
        } else {
            return false;
        };
        self.rcv_ssthresh += room.min(step.max(2 * len));
        true
    }

    /// Whether a segment that takes more memory than its payload is worth raises the limit: only
    /// while that is small (`__tcp_grow_window`).
    fn permits(&self, len: u32, memory: u64) -> bool {
        let mut worth = self.memory.window_of(memory) / 2;
        let mut window = self.memory.half_of_most();
        while self.rcv_ssthresh <= window {
            if worth <= len {
                return true;
            }
            worth /= 2;
            window /= 2;
        }
        false
    }

    /// Whether [`Self::grow_by_full`] may raise the limit.
    #[inline(always)]
    pub const fn grows(&self) -> bool {
        self.rcv_ssthresh < self.full_limit
    }

    /// [`Self::grow`] for a segment that is alone in the buffer, and like [`Self::expect_full`] said.
    #[inline(always)]
    pub fn grow_by_full(&mut self, len: u32) -> bool {
        if !self.grows() {
            return false;
        }
        if self.full_step == 0 {
            let memory = u64::from(self.full_memory);
            return self.grow(len, memory, len, memory);
        }
        self.rcv_ssthresh = (self.rcv_ssthresh + self.full_step).min(self.full_limit);
        true
    }

    /// The window to advertise while the packets in the buffer take `held` (`__tcp_select_window`).
    #[inline(always)]
    pub fn candidate(&self, rcv_mss: u32, held: u64) -> u32 {
        let mut free = if held == 0 {
            self.space
        } else {
            self.memory.free(held)
        };
        let most = self.clamp.min(self.space);
        let full = rcv_mss.min(most);
        if free < most / 2 {
            free &= !(self.unit - 1);
            if free < self.space / 16 || free < full {
                return 0;
            }
        }
        free = free.min(self.rcv_ssthresh);
        if self.unit > 1 {
            self.round(free)
        } else {
            self.in_segments(free, full, most)
        }
    }

    /// Without a scale, the window is a multiple of the segment, and stays while that changes little.
    #[inline(never)]
    const fn in_segments(&self, free: u32, full: u32, most: u32) -> u32 {
        let window = self.advertised;
        if full == 0 {
            0
        } else if window + full <= free || window > free {
            free - free % full
        } else if full == most && free > window + most / 2 {
            free
        } else {
            window
        }
    }

    /// The next multiple of the unit, which is a power of two.
    const fn round(&self, window: u32) -> u32 {
        (window + self.unit - 1) & !(self.unit - 1)
    }

    /// Whether the packets in the buffer take so much that the receiver leaves quick-ACK mode.
    pub const fn is_crowded(&self, held: u64) -> bool {
        let most = if self.clamp < self.space {
            self.clamp
        } else {
            self.space
        };
        self.memory.free(held) < most / 2
    }

    /// Advertises the window for an ACK of `rcv_nxt`. Its right edge never moves back.
    pub fn advertise(&mut self, rcv_nxt: u64, rcv_mss: u32, held: u64) -> u32 {
        let candidate = self.candidate(rcv_mss, held);
        self.advertise_candidate(rcv_nxt, candidate)
    }

    /// The same where the window to advertise is known.
    #[inline(always)]
    pub fn advertise_candidate(&mut self, rcv_nxt: u64, candidate: u32) -> u32 {
        // At most what was advertised.
        let left = self.remaining(rcv_nxt) as u32;
        let mut window = candidate;
        if window < left {
            window = self.round(left);
        }
        self.advertised = window;
        self.advertised_at = rcv_nxt;
        window
    }

    /// Measures the round trip by the time in which one window arrives (`tcp_rcv_rtt_measure`). It
    /// can only lower the estimate.
    pub fn measure_by_window(&mut self, now: Instant, rcv_nxt: u64) {
        let has_begun = self.round_start != Instant::MAX;
        if has_begun && rcv_nxt < self.round_end {
            return;
        }
        if has_begun {
            let elapsed = now.saturating_since(self.round_start);
            let sample = elapsed.as_micros().max(1) * 8;
            if self.rtt_x8 == 0 || sample < self.rtt_x8 {
                self.rtt_x8 = sample;
            }
        }
        self.round_end = rcv_nxt + u64::from(self.advertised);
        self.round_start = now;
    }

    /// Whether [`Self::measure_by_window`] has something to do for a segment that ends at `end`.
    #[inline]
    pub const fn ends_round(&self, end: u64) -> bool {
        end >= self.round_end
    }

    /// Whether [`Self::measure_by_timestamp`] has something to do.
    #[inline]
    pub const fn is_new_echo(&self, ts_ecr: u32) -> bool {
        ts_ecr != self.last_ts_ecr
    }

    /// Measures the round trip by the echo of this side's timestamp (`tcp_rcv_rtt_measure_ts`):
    /// full segments only, once per timestamp.
    pub fn measure_by_timestamp(&mut self, now_ms: u32, ts_ecr: u32, is_full: bool) {
        if ts_ecr == self.last_ts_ecr || ts_ecr == 0 {
            return;
        }
        self.last_ts_ecr = ts_ecr;
        let elapsed = now_ms.wrapping_sub(ts_ecr);
        if !is_full || elapsed == 0 || elapsed > i32::MAX as u32 {
            return;
        }
        let sample = u64::from(elapsed) * 1_000;
        // The estimate falls at once and rises slowly (`tcp_rcv_rtt_update`).
        let falls = self.autotuning != Autotuning::Linux54;
        self.rtt_x8 = match self.rtt_x8 {
            rtt_x8 if rtt_x8 == 0 || (falls && sample * 8 < rtt_x8) => sample * 8,
            rtt_x8 => rtt_x8 - (rtt_x8 >> 3) + sample,
        };
    }

    /// The application reads a segment that ends at `copied`, with `behind` bytes in order behind it
    /// (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn on_read(&mut self, now: Instant, copied: u64, behind: u64) {
        if self.read_since == Instant::MAX {
            self.read_since = now;
            return;
        }
        let elapsed = now.saturating_since(self.read_since).as_micros();
        let is_new = self.measured.0 == Instant::MAX;
        if is_new && self.rtt_x8 != 0 && elapsed >= self.rtt_x8 >> 3 {
            self.measured = (now, copied);
            self.behind = behind;
        }
    }

    /// [`Self::on_read`] and [`Self::settle`] at once, for an application that has read up to
    /// `copied` of the data up to `rcv_nxt`: what is still unread is subtracted.
    pub fn on_late_read(
        &mut self,
        now: Instant,
        copied: u64,
        rcv_nxt: u64,
        rcv_mss: u64,
        span: impl FnOnce() -> u64,
    ) {
        self.on_read(now, copied, 0);
        let Some((since, copied)) = self.take_measured(Instant::MAX) else {
            return;
        };
        let (waiting, cushion) = if self.autotuning.is_older() {
            (0, CUSHION * rcv_mss)
        } else {
            (rcv_nxt - copied, 0)
        };
        self.end_measurement(since, copied, (waiting, cushion), span);
    }

    /// A segment arrives at `now`. If a round trip ended at an earlier instant, all data of that
    /// instant has arrived, up to `rcv_nxt`, and out-of-order data ends `span()` bytes beyond:
    /// raises the space.
    #[inline]
    pub fn settle(&mut self, now: Instant, rcv_nxt: u64, rcv_mss: u64, span: impl FnOnce() -> u64) {
        let Some((since, copied)) = self.take_measured(now) else {
            return;
        };
        let (waiting, cushion) = if self.autotuning.is_older() {
            (0, CUSHION * rcv_mss)
        } else {
            let later = rcv_nxt - copied - self.behind;
            (self.behind + later.min(WAKING * rcv_mss), 0)
        };
        self.end_measurement(since, copied, (waiting, cushion), span);
    }

    /// Whether [`Self::settle`] has something to do at `now`.
    #[inline]
    pub fn is_measured_before(&self, now: Instant) -> bool {
        self.measured.0 < now
    }

    /// The round trip that was over before `now`, once.
    #[inline]
    fn take_measured(&mut self, now: Instant) -> Option<(Instant, u64)> {
        let measured = self.measured;
        self.is_measured_before(now).then(|| {
            self.measured = (Instant::MAX, 0);
            measured
        })
    }

    /// The round trip is over at `since`, with `copied` read, of which `waiting` do not count.
    #[inline]
    fn end_measurement(
        &mut self,
        since: Instant,
        copied: u64,
        (waiting, cushion): (u64, u64),
        span: impl FnOnce() -> u64,
    ) {
        let read = (copied - self.read_at).saturating_sub(waiting);
        if read > u64::from(self.read_per_round) {
            self.right_size(read, cushion, span);
        }
        self.read_at = copied;
        self.read_since = since;
    }

    /// Before this instant, neither [`Self::on_read`] nor [`Self::settle`] changes anything, unless
    /// the RTT estimate changes.
    pub fn quiet_until(&self) -> Instant {
        if self.measured.0 != Instant::MAX {
            // `settle` acts at the next instant.
            self.measured.0 + Duration::from_nanos(1)
        } else if self.read_since == Instant::MAX {
            // The first read begins the first round trip.
            Instant::ZERO
        } else if self.rtt_x8 == 0 {
            Instant::MAX
        } else {
            self.read_since + Duration::from_micros(self.rtt_x8 >> 3)
        }
    }

    /// A segment arrived out of order. The last out-of-order data ends `span` bytes beyond the hole
    /// (`tcp_data_queue_ofo`).
    #[inline]
    pub fn grow_for_out_of_order(&mut self, span: u64) {
        if self.read_since != Instant::MAX && self.autotuning == Autotuning::Current {
            self.raise_space(2 * u64::from(self.read_per_round) + span);
        }
    }

    /// Twice the data read, because this is one round trip late, plus twice its growth since the
    /// previous round trip, plus the out-of-order data (`tcp_rcvbuf_grow`).
    fn right_size(&mut self, read: u64, cushion: u64, span: impl FnOnce() -> u64) {
        let before = u64::from(self.read_per_round.max(1));
        self.read_per_round = u32::try_from(read).unwrap_or(u32::MAX);
        let steady = u128::from(read) * 2 + u128::from(cushion);
        let growth = steady * u128::from(read.saturating_sub(before)) / u128::from(before);
        let span = if self.autotuning.is_older() {
            0
        } else {
            span()
        };
        let target = steady + 2 * growth + u128::from(span);
        self.raise_space(u64::try_from(target).unwrap_or(u64::MAX));
    }

    #[inline]
    fn raise_space(&mut self, target: u64) {
        if self.autotuning != Autotuning::Off && self.memory.raise(target) {
            self.space = self.memory.window();
            self.clamp = self.space;
            self.limit_full();
        }
    }
}
