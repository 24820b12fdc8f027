//! The receive window and its autotuning.
//!
//! Linux 6.18: `tcp_grow_window`, `tcp_rcv_space_adjust` and `tcp_rcvbuf_grow` (dynamic
//! right-sizing), `tcp_select_window` and the receiver's own RTT estimate. Linux counts buffer memory
//! and converts it into window by the ratio of payload to memory that it observes; here everything
//! is window.
//!
//! - `space` is what the buffer holds (Linux `window_clamp`). It begins at
//!   5/4 of the initial window: `tcp_rmem[1]` is 128 KiB, of which 65,535 bytes are announced
//!   before a segment has shown that 5/8 of the memory is payload (1448 bytes in 2304).
//! - `rcv_ssthresh` is what may be announced. Each segment that arrives raises it by two of its
//!   kind, up to what `space` has left with that segment in it.
//! - Once per round trip `space` is raised to what a sender that goes on growing as it did could
//!   deliver in the round trip after the next, and by what lies out of order, up to
//!   `receive_buffer`. Without autotuning (`SO_RCVBUF`) it is `receive_buffer` from the start.
//! - The application reads at once, but of what comes at one instant (a cell's block, a frame of Wi-Fi) some
//!   is there before it has woken up. The first segment that it reads after a round trip ends the measure,
//!   and what waits behind that segment is taken from it.
//!
//! ## Before 6.16
//!
//! [`Autotuning::Linux54`]: 16 segments of cushion are added to the target; neither what waits to be read nor
//! what lies out of order counts; the RTT estimate follows a smaller sample slowly; and `space`
//! begins at the initial window, as half of the memory counts as payload (until 6.5). So an older receiver
//! acknowledges each segment in some rounds in which a newer one delays its ACKs, and opens sooner where
//! segments come many at a time.
//!
//! ## Deviations
//!
//! How many segments come until a reader has woken up is the host's matter and chance; here it is [`WAKING`]
//! where so many come at one instant. A driver that merges segments (GRO) would leave none behind the first.

use units::Instant;

use crate::config::Autotuning;

/// `TCP_INIT_CWND`: the first measure of what arrives in a round trip is compared with this.
const INITIAL_SEGMENTS: u64 = 10;
/// What was added to the target before 6.16, in segments.
const CUSHION: u64 = 16;
/// Segments that come at one instant before the application reads the first of them. On Linux 6.18 behind the
/// emulator, over LTE, 5G and Wi-Fi, mostly 0 to 8 wait when the space is raised (`inq` of
/// `tcp:tcp_rcvbuf_grow`), 4 in the median.
const WAKING: u64 = 4;
/// Largest shift of the window scale option (RFC 7323 section 2.3).
const LARGEST_SHIFT: u32 = 14;

/// See the module.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReceiveWindow {
    autotuning: Autotuning,
    /// `receive_buffer`.
    limit: u64,
    /// The announced window is a multiple of this (window scale).
    unit: u64,
    space: u64,
    rcv_ssthresh: u64,
    /// Last announced window, and the `rcv_nxt` it counts from.
    announced: u64,
    announced_at: u64,
    /// Round-trip time in microseconds times eight, zero before the first measure.
    rtt_x8: u64,
    /// By window: a round trip has passed when this offset arrives, and when it began.
    round_end: u64,
    round_start: Option<Instant>,
    last_ts_ecr: u32,
    /// What the application read in the last round trip, and where and when the present one began.
    read_per_round: u64,
    read_at: u64,
    read_since: Option<Instant>,
    /// The round trip is over: since when, and up to where was read then.
    measured: Option<(Instant, u64)>,
}

impl ReceiveWindow {
    pub fn new(receive_buffer: u64, initial_window: u64, autotuning: Autotuning) -> Self {
        let shift = (receive_buffer.max(1).ilog2())
            .saturating_sub(15)
            .min(LARGEST_SHIFT);
        // The largest window that the scale option can announce.
        let limit = receive_buffer.clamp(1, 0xffff << LARGEST_SHIFT);
        let initial = initial_window.clamp(1, limit);
        let space = match autotuning {
            Autotuning::Current => (initial + initial / 4).min(limit),
            Autotuning::Linux54 => initial,
            Autotuning::Off => limit,
        };
        Self {
            autotuning,
            limit,
            unit: 1 << shift,
            space,
            rcv_ssthresh: initial,
            announced: initial,
            announced_at: 0,
            rtt_x8: 0,
            round_end: 0,
            round_start: None,
            last_ts_ecr: 0,
            read_per_round: 0,
            read_at: 0,
            read_since: None,
            measured: None,
        }
    }

    /// What is left of the announced window (`tcp_receive_window`).
    pub const fn remaining(&self, rcv_nxt: u64) -> u64 {
        (self.announced_at + self.announced).saturating_sub(rcv_nxt)
    }

    /// `rcv_nxt` of the last ACK (`rcv_wup`).
    pub const fn announced_at(&self) -> u64 {
        self.announced_at
    }

    /// What the buffer may hold in all.
    pub const fn space(&self) -> u64 {
        self.space
    }

    /// The round-trip time times eight in microseconds, as this side knows it; zero if it does not.
    pub const fn rtt_x8(&self) -> u64 {
        self.rtt_x8
    }

    /// A segment of `len` bytes arrived while `held` bytes are in the buffer: raises what may be
    /// announced. Returns whether it rose.
    pub fn grow(&mut self, len: u64, rcv_mss: u64, held: u64) -> bool {
        let room = self
            .space
            .saturating_sub(held)
            .saturating_sub(self.rcv_ssthresh);
        if room == 0 {
            return false;
        }
        self.rcv_ssthresh += room.min(2 * rcv_mss.max(len));
        true
    }

    /// What would be announced now with `held` bytes out of order (`__tcp_select_window`).
    pub fn candidate(&self, rcv_mss: u64, held: u64) -> u64 {
        let free = self.space.saturating_sub(held);
        if free < self.space / 2 && (free < self.space / 16 || free < rcv_mss) {
            return 0;
        }
        free.min(self.rcv_ssthresh).next_multiple_of(self.unit)
    }

    /// Whether so much is held that the receiver leaves quick-ACK mode.
    pub const fn is_crowded(&self, held: u64) -> bool {
        self.space.saturating_sub(held) < self.space / 2
    }

    /// Announces the window for an ACK of `rcv_nxt`. Its right edge never moves back.
    pub fn announce(&mut self, rcv_nxt: u64, rcv_mss: u64, held: u64) -> u32 {
        let left = self.remaining(rcv_nxt);
        let mut window = self.candidate(rcv_mss, held);
        if window < left {
            window = left.next_multiple_of(self.unit);
        }
        self.announced = window;
        self.announced_at = rcv_nxt;
        u32::try_from(window).unwrap_or(u32::MAX)
    }

    /// Measures the round trip by the time that one window takes to arrive (`tcp_rcv_rtt_measure`);
    /// only ever lowers the estimate.
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
        self.round_end = rcv_nxt + self.announced;
        self.round_start = Some(now);
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

    /// The application reads up to `copied` (`tcp_rcv_space_adjust`).
    #[inline]
    pub fn on_read(&mut self, now: Instant, copied: u64, rcv_mss: u64) {
        let Some(since) = self.read_since else {
            self.read_since = Some(now);
            self.read_per_round = self
                .rcv_ssthresh
                .min(self.announced)
                .min(INITIAL_SEGMENTS * rcv_mss);
            return;
        };
        let elapsed = now.saturating_since(since).as_micros();
        if self.measured.is_none() && self.rtt_x8 != 0 && elapsed >= self.rtt_x8 >> 3 {
            self.measured = Some((now, copied));
        }
    }

    /// A segment comes at `now`. If a round trip was over before, all of that instant is there, up to
    /// `rcv_nxt`, and what lies out of order ends `span()` bytes beyond: raises the space.
    #[inline]
    pub fn settle(&mut self, now: Instant, rcv_nxt: u64, rcv_mss: u64, span: impl FnOnce() -> u64) {
        let Some((since, copied)) = self.measured.filter(|(since, _)| *since < now) else {
            return;
        };
        self.measured = None;
        let (waiting, cushion) = match self.autotuning {
            Autotuning::Linux54 => (0, CUSHION * rcv_mss),
            _ => ((rcv_nxt - copied).min(WAKING * rcv_mss), 0),
        };
        let read = (copied - self.read_at).saturating_sub(waiting);
        if read > self.read_per_round {
            self.right_size(read, cushion, span);
        }
        self.read_at = copied;
        self.read_since = Some(since);
    }

    /// A segment arrived out of order, and the last of its kind ends `span` bytes beyond the hole
    /// (`tcp_data_queue_ofo`).
    #[inline]
    pub fn make_room_beyond(&mut self, span: u64) {
        if self.read_since.is_some() && self.autotuning == Autotuning::Current {
            self.raise_space(2 * self.read_per_round + span);
        }
    }

    /// Twice what was read, as this is one round trip late, twice again by as much as it grew since
    /// the round trip before, and what lies out of order (`tcp_rcvbuf_grow`).
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
