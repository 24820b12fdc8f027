//! The receive window and its autotuning.
//!
//! Linux 6.18: `tcp_grow_window`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` (dynamic
//! right-sizing), `tcp_select_window` and the receiver's own RTT estimate. Linux counts buffer
//! memory and converts it to window by the observed ratio of payload to memory. Here everything is
//! window.
//!
//! - `space` is the capacity of the buffer (Linux `window_clamp`). It starts at 5/4 of the initial
//!   window: `tcp_rmem[1]` is 128 KiB, of which 65,535 bytes are advertised before a segment has
//!   shown that 5/8 of the memory is payload (1448 bytes in 2304).
//! - `rcv_ssthresh` limits the advertised window. Each segment that arrives raises it by two
//!   segments, up to the part of `space` that is free while the buffer holds that segment.
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
//! [`Autotuning::Linux54`] adds a cushion of 16 segments to the target. It counts neither unread
//! nor out-of-order data. The RTT estimate follows a smaller sample slowly, and `space` starts at
//! the initial window, because half of the memory counts as payload (until 6.5). An older receiver
//! therefore acknowledges each segment in some rounds in which a newer one delays its ACKs. It also
//! opens earlier if segments arrive many at a time.
//!
//! ## Deviations
//!
//! The number of segments that arrive before the reader has woken up depends on the host and on
//! chance. Here it is [`WAKING`] if that many arrive at one instant. A driver that merges segments
//! (GRO) would leave none behind the first.

use units::{Duration, Instant};

use crate::config::Autotuning;

/// `TCP_INIT_CWND`: the first measurement of the data received in a round trip is compared with
/// this.
const INITIAL_SEGMENTS: u64 = 10;
/// Addition to the target before 6.16, in segments.
const CUSHION: u64 = 16;
/// Segments that arrive at one instant before the application reads the first of them. Measured on
/// Linux 6.18 behind the emulator, over LTE, 5G and Wi-Fi: mostly 0 to 8 segments wait when the
/// space is raised (`inq` of `tcp:tcp_rcvbuf_grow`), with a median of 4.
const WAKING: u64 = 4;
/// Largest shift of the window scale option (RFC 7323 section 2.3).
const LARGEST_SHIFT: u32 = 14;

/// The receive window and the state of its autotuning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ReceiveWindow {
    autotuning: Autotuning,
    /// The window never exceeds the free space: it is rounded down, and its right edge stays.
    is_strict: bool,
    /// `receive_buffer`.
    limit: u64,
    /// The advertised window is a multiple of this (window scale).
    unit: u64,
    space: u64,
    rcv_ssthresh: u64,
    /// Last advertised window, and the `rcv_nxt` at which it starts.
    advertised: u64,
    advertised_at: u64,
    /// Round-trip time in microseconds times eight; zero before the first measurement.
    rtt_x8: u64,
    /// Measurement by window: the offset whose arrival ends the round trip, and when it began.
    round_end: u64,
    round_start: Option<Instant>,
    last_ts_ecr: u32,
    /// Bytes that the application read in the last round trip; offset and time at which the current
    /// one began.
    read_per_round: u64,
    read_at: u64,
    read_since: Option<Instant>,
    /// The round trip is over: when, and the offset that the application had read.
    measured: Option<(Instant, u64)>,
    /// Bytes in order beyond that offset at that moment.
    behind: u64,
}

impl ReceiveWindow {
    pub fn new(receive_buffer: u64, initial_window: u64, autotuning: Autotuning) -> Self {
        let shift = (receive_buffer.max(1).ilog2())
            .saturating_sub(15)
            .min(LARGEST_SHIFT);
        // The largest window that the scale option can express.
        let limit = receive_buffer.clamp(1, 0xffff << LARGEST_SHIFT);
        let initial = initial_window.clamp(1, limit);
        let space = match autotuning {
            Autotuning::Current => (initial + initial / 4).min(limit),
            Autotuning::Linux54 => initial,
            Autotuning::Off => limit,
        };
        Self {
            autotuning,
            is_strict: false,
            limit,
            unit: 1 << shift,
            space,
            rcv_ssthresh: initial,
            advertised: initial,
            advertised_at: 0,
            rtt_x8: 0,
            round_end: 0,
            round_start: None,
            last_ts_ecr: 0,
            read_per_round: 0,
            read_at: 0,
            read_since: None,
            measured: None,
            behind: 0,
        }
    }

    /// Data may stay in the buffer from now on.
    pub const fn limit_to_free_space(&mut self) {
        self.is_strict = true;
    }

    /// The window that the last ACK advertised.
    pub const fn advertised(&self) -> u64 {
        self.advertised
    }

    /// The remainder of the advertised window (`tcp_receive_window`).
    pub const fn remaining(&self, rcv_nxt: u64) -> u64 {
        (self.advertised_at + self.advertised).saturating_sub(rcv_nxt)
    }

    /// Whether at most half of the space is left of the advertised window.
    #[inline]
    pub const fn is_half_used(&self, rcv_nxt: u64) -> bool {
        2 * self.remaining(rcv_nxt) <= self.space
    }

    /// `rcv_nxt` of the last ACK (`rcv_wup`).
    pub const fn advertised_at(&self) -> u64 {
        self.advertised_at
    }

    /// The capacity of the buffer.
    pub const fn space(&self) -> u64 {
        self.space
    }

    /// This side's estimate of the round-trip time times eight, in microseconds; zero if there is
    /// none.
    pub const fn rtt_x8(&self) -> u64 {
        self.rtt_x8
    }

    /// A segment of `len` bytes arrived while the buffer holds `held` bytes: raises the limit of
    /// the advertised window. Returns whether it rose.
    pub fn grow(&mut self, len: u64, rcv_mss: u64, held: u64) -> bool {
        let free = self
            .space
            .saturating_sub(held)
            .saturating_sub(self.rcv_ssthresh);
        if free == 0 {
            return false;
        }
        self.rcv_ssthresh += free.min(2 * rcv_mss.max(len));
        true
    }

    /// The window to advertise with `held` bytes out of order (`__tcp_select_window`).
    #[inline(always)]
    pub fn candidate(&self, rcv_mss: u64, held: u64) -> u64 {
        let mut free = self.space.saturating_sub(held);
        if free < self.space / 2 {
            if self.is_strict {
                free = self.round(free);
            }
            if free < self.space / 16 || free < rcv_mss {
                return 0;
            }
        }
        self.round(free.min(self.rcv_ssthresh))
    }

    /// The next multiple of the unit, which is a power of two, or the previous one.
    const fn round(&self, window: u64) -> u64 {
        if self.is_strict {
            window & !(self.unit - 1)
        } else {
            (window + self.unit - 1) & !(self.unit - 1)
        }
    }

    /// Whether the buffer holds so much that the receiver leaves quick-ACK mode.
    pub const fn is_crowded(&self, held: u64) -> bool {
        self.space.saturating_sub(held) < self.space / 2
    }

    /// Advertises the window for an ACK of `rcv_nxt`. Its right edge never moves back.
    pub fn advertise(&mut self, rcv_nxt: u64, rcv_mss: u64, held: u64) -> u32 {
        let left = self.remaining(rcv_nxt);
        let mut window = self.candidate(rcv_mss, held);
        if window < left {
            window = if self.is_strict {
                left
            } else {
                self.round(left)
            };
        }
        self.advertised = window;
        self.advertised_at = rcv_nxt;
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// Measures the round trip by the time in which one window arrives (`tcp_rcv_rtt_measure`). It
    /// can only lower the estimate.
    pub fn measure_by_window(&mut self, now: Instant, rcv_nxt: u64) {
        match self.round_start {
            Some(_) if rcv_nxt < self.round_end => return,
            Some(start) => {
                let sample = now.saturating_since(start).as_micros().max(1) * 8;
                if self.rtt_x8 == 0 || sample < self.rtt_x8 {
                    self.rtt_x8 = sample;
                }
            }
            None => {}
        }
        self.round_end = rcv_nxt + self.advertised;
        self.round_start = Some(now);
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
    pub fn on_read(&mut self, now: Instant, copied: u64, behind: u64, rcv_mss: u64) {
        let Some(since) = self.read_since else {
            self.read_since = Some(now);
            self.read_per_round = self
                .rcv_ssthresh
                .min(self.advertised)
                .min(INITIAL_SEGMENTS * rcv_mss);
            return;
        };
        let elapsed = now.saturating_since(since).as_micros();
        if self.measured.is_none() && self.rtt_x8 != 0 && elapsed >= self.rtt_x8 >> 3 {
            self.measured = Some((now, copied));
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
        self.on_read(now, copied, 0, rcv_mss);
        let Some((since, copied)) = self.measured.take() else {
            return;
        };
        let (waiting, cushion) = match self.autotuning {
            Autotuning::Linux54 => (0, CUSHION * rcv_mss),
            _ => (rcv_nxt - copied, 0),
        };
        self.end_measurement(since, copied, (waiting, cushion), span);
    }

    /// A segment arrives at `now`. If a round trip ended at an earlier instant, all data of that
    /// instant has arrived, up to `rcv_nxt`, and out-of-order data ends `span()` bytes beyond:
    /// raises the space.
    #[inline]
    pub fn settle(&mut self, now: Instant, rcv_nxt: u64, rcv_mss: u64, span: impl FnOnce() -> u64) {
        let Some((since, copied)) = self.measured.filter(|(since, _)| *since < now) else {
            return;
        };
        self.measured = None;
        let (waiting, cushion) = match self.autotuning {
            Autotuning::Linux54 => (0, CUSHION * rcv_mss),
            _ => {
                let later = rcv_nxt - copied - self.behind;
                (self.behind + later.min(WAKING * rcv_mss), 0)
            }
        };
        self.end_measurement(since, copied, (waiting, cushion), span);
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
        if read > self.read_per_round {
            self.right_size(read, cushion, span);
        }
        self.read_at = copied;
        self.read_since = Some(since);
    }

    /// Before this instant, neither [`Self::on_read`] nor [`Self::settle`] changes anything, unless
    /// the RTT estimate changes.
    pub fn quiet_until(&self) -> Instant {
        match (self.measured, self.read_since) {
            // `settle` acts at the next instant.
            (Some((over, _)), _) => over + Duration::from_nanos(1),
            // The first read begins the first round trip.
            (None, None) => Instant::ZERO,
            (None, Some(_)) if self.rtt_x8 == 0 => Instant::MAX,
            (None, Some(since)) => since + Duration::from_micros(self.rtt_x8 >> 3),
        }
    }

    /// A segment arrived out of order. The last out-of-order data ends `span` bytes beyond the hole
    /// (`tcp_data_queue_ofo`).
    #[inline]
    pub fn grow_for_out_of_order(&mut self, span: u64) {
        if self.read_since.is_some() && self.autotuning == Autotuning::Current {
            self.raise_space(2 * self.read_per_round + span);
        }
    }

    /// Twice the data read, because this is one round trip late, plus twice its growth since the
    /// previous round trip, plus the out-of-order data (`tcp_rcvbuf_grow`).
    fn right_size(&mut self, read: u64, cushion: u64, span: impl FnOnce() -> u64) {
        let before = self.read_per_round.max(1);
        self.read_per_round = read;
        let steady = u128::from(read) * 2 + u128::from(cushion);
        let growth = steady * u128::from(read.saturating_sub(before)) / u128::from(before);
        let span = match self.autotuning {
            Autotuning::Linux54 => 0,
            _ => span(),
        };
        let target = steady + 2 * growth + u128::from(span);
        self.raise_space(u64::try_from(target).unwrap_or(u64::MAX));
    }

    #[inline]
    fn raise_space(&mut self, target: u64) {
        if self.autotuning != Autotuning::Off {
            self.space = self.space.max(target.min(self.limit));
        }
    }
}
