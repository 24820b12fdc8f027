//! The sending side of a connection: the behaviour of Linux 6.12 in a bulk transfer (`tcp_input.c`,
//! `tcp_output.c`, `tcp_timer.c`).
//!
//! An ACK is processed in Linux's order: scoreboard and RTT samples, the congestion control's
//! `on_delivery`, loss detection and the state machine, timers, the rate sample, and `on_ack`. Then
//! [`Sender::poll_transmit`] sends what the window allows.
//!
//! Assumes that both ends use SACK and ECN as configured (for a connection without SACK, see
//! `newreno`), and that one application writes the stream. An ACK without timestamps (`ts_ecr`
//! zero) comes from a peer that does not use them.
//!
//! ## Deviations
//!
//! - Timers are exact unless the configuration has a [`Tick`](crate::Tick). With it, the timer counts
//!   in ticks; the times by which idle time and the use of the window are judged remain exact.
//!   Round-trip times are in nanoseconds until the estimator takes them in microseconds.
//! - A segment has left once it is handed out, and the send buffer never limits. With
//!   `small_queue`, the caller reports the bytes of IP queued in the sender's device
//!   ([`Sender::handle_queued`]); Linux counts memory.
//! - A FIN that rides on the last byte takes no sequence number: the stream ends with that byte.
//!   Only a FIN that leaves alone takes one.
//! - A connection never gives up: retransmissions continue with backed-off timers.
//! - Linux lets the window grow on SACKs as well as cumulative ACKs, once it has measured
//!   reordering above 3 segments. The congestion control then sees `advanced` for those SACKs.
//! - A start-up that requires pacing is paced from its first segment on; Linux does not charge the
//!   first ten.
//! - Data SACKed by an ACK below `snd_una` counts as delivered; Linux's rate samples never see it.
//! - A probe that repaired a loss causes no reduction during another reduction; Linux reduces
//!   again.
//! - A retransmission that an undo left in flight, and that is lost, is retransmitted; Linux waits
//!   for the timeout.
//! - The timeout, and not a timer of 10 ms, detects a receiver that discards SACKed data. Data sent
//!   within the last round trip is then not lost.
//! - After a timeout, Linux's F-RTO (RFC 5682, SACK form) prefers new data to retransmissions; see
//!   `frto.rs`. The behaviour of Linux 2.6.24 is in `fack.rs`.

mod accept;
mod ack;
mod bulk;
mod fack;
mod feedback;
mod frto;
mod held;
mod newreno;
mod plain;
mod portions;
mod recovery;
mod report;
mod retransmit;
#[cfg(test)]
mod shortcuts_tests;
mod timer;
mod transmit;
mod usage;

use alloc::boxed::Box;

use congestion::rate_sample::RateEstimator;
use congestion::{
    BuildContext, CongestionControl, ControlSlot, Established, Needs, PathMemory, Phase,
};
use units::{Bytes, Duration, Instant};

use crate::accecn::MarkReader;
use crate::burst::FullBurst;
use crate::cwnd::CongestionWindow;
use crate::device::DeviceQueue;
use crate::ecn::Ecn;
use crate::handshake::Handshake;
use crate::pacing::{Pacer, Quotient, window_rate};
use crate::pass::Pass;
use crate::peer_window::PeerWindow;
use crate::portions::Portions;
use crate::quick_start::QuickStart;
use crate::rack::Rack;
use crate::reordering::Reordering;
use crate::repair::Repair;
use crate::retransmission_timer::RetransmissionTimer;
use crate::round_trip::{RoundTrip, RttSample};
use crate::rtt::RTO_INITIAL;
use crate::scoreboard::Scoreboard;
use crate::segment::AckSegment;
use crate::stream::Stream;
use crate::tlp::Tlp;
use crate::undo::Undo;
use crate::validation::Validation;
use crate::{LossDetection, SenderConfig};

use fack::Suspicion;
use frto::Frto;
pub use held::Held;
use newreno::PartialAcks;
pub use report::{Limit, SenderStats};

/// The sending side of a connection.
///
/// After each call that changes the state, call [`Self::poll_transmit`] until it returns `None`,
/// then ask [`Self::poll_timeout`] when to call [`Self::handle_timeout`].
///
/// What most ACKs and bursts read and write lies together: where many flows run, it is in no cache.
/// From `stats` on, little of it is used often.
#[derive(Clone, Debug)]
#[repr(C)]
pub struct Sender {
    snd_una: u64,
    snd_nxt: u64,
    /// Recovery point.
    high_seq: u64,
    /// The write queue, where it matters in which portions it was written.
    portions: Option<Box<Portions>>,
    peer_window: PeerWindow,
    shortcuts: Shortcuts,
    needs: Wanted,
    pass: Pass,
    /// The peer's last timestamp, to be echoed.
    ts_recent: u32,
    ecn: Ecn,
    /// AccECN: what the ACKs count.
    marks: Option<MarkReader>,
    frto: Frto,
    /// The start-up changes window and pacing as segments leave.
    is_steered: bool,
    phase: Phase,
    config: Settings,
    stream: Stream,
    tlp: Tlp,
    timer: RetransmissionTimer,
    cwnd: CongestionWindow,
    rate: RateEstimator,
    full_burst: FullBurst,
    rack: Rack,
    validation: Validation,
    repair: Repair,
    pacer: Pacer,
    rtt: RoundTrip,
    board: Scoreboard,
    cc: Control,
    stats: SenderStats,
    handshake: Handshake,
    undo: Undo,
    device: DeviceQueue,
    /// A timeout that may be spurious, with loss detection by forward acknowledgment.
    suspicion: Option<Box<Suspicion>>,
    reordering: Reordering,
    partial_acks: PartialAcks,
    quick_start: QuickStart,
    /// State left by earlier connections over the path, if they left any.
    memory: Option<Box<PathMemory>>,
}

/// The shortcuts that the connection may take, where each ACK or burst permits it. Nothing before
/// the connection is established.
#[derive(Clone, Copy, Debug, Default)]
struct Shortcuts {
    /// See `plain.rs`.
    acks: bool,
    /// See `bulk.rs`.
    bursts: bool,
    /// The sender never paces, its device holds whole bursts, and nothing limits what waits there:
    /// see [`Sender::begin_burst`].
    unpaced: bool,
    /// Comparisons need a sender that takes none.
    are_forbidden: bool,
}

/// Of the needs of a congestion control, those that the sender looks up on its way.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    rate_samples: bool,
    pacing_rate: bool,
    pacing: bool,
    copies: bool,
}

impl From<Needs> for Wanted {
    fn from(needs: Needs) -> Self {
        Self {
            rate_samples: needs.rate_samples,
            pacing_rate: needs.pacing_rate,
            pacing: needs.pacing,
            copies: needs.copies,
        }
    }
}

/// The congestion control of a connection: in place where it is common, else in a box.
pub type Control = ControlSlot<Held>;

/// A [`SenderConfig`] in range, without the algorithm, which `cc` has.
#[derive(Clone, Copy, Debug)]
struct Settings {
    smss: u32,
    initial_window: u32,
    tso_segments: u32,
    pacing: bool,
    restart_after_idle: bool,
    ecn: bool,
    sack: bool,
    impatient: bool,
    small_queue: Option<u8>,
    loss_detection: LossDetection,
    byte_counting: bool,
    seed: u64,
}

impl Settings {
    fn of(config: &SenderConfig) -> Self {
        // Header bytes for routers in every segment reduce the payload.
        let header = config.algorithm.header_bytes().unwrap_or(0);
        let smss = config.smss.clamp(1, u32::from(u16::MAX));
        Self {
            smss: smss.saturating_sub(header).max(1),
            initial_window: config.initial_window.max(1),
            tso_segments: config.tso_segments.max(1),
            pacing: config.pacing,
            restart_after_idle: config.restart_after_idle,
            ecn: config.ecn,
            sack: config.sack,
            impatient: config.impatient,
            small_queue: config.small_queue,
            loss_detection: config.loss_detection,
            byte_counting: config.byte_counting,
            seed: config.seed,
        }
    }

    /// How the congestion control of the connection begins.
    fn context(
        &self,
        now: Instant,
        initial_window: u32,
        handshake_rtt: Option<Duration>,
    ) -> BuildContext {
        let smss = Bytes::new(u64::from(self.smss));
        BuildContext {
            now,
            smss,
            initial_window: smss * u64::from(initial_window),
            seed: self.seed,
            handshake_rtt,
        }
    }
}

impl Sender {
    /// A connection that is not open. A segment size outside 1 to 65,535 bytes is clamped to this
    /// range; an initial window or a burst of zero segments becomes one.
    #[must_use]
    pub fn new(config: SenderConfig) -> Self {
        let (algorithm, tick, rto_min) = (&config.algorithm, config.tick, config.rto_min);
        let config = Settings::of(&config);
        let context = config.context(Instant::ZERO, config.initial_window, None);
        let cc = Control::new(algorithm, &context, |built| Held::in_memory_of(None, built));
        Self {
            cwnd: CongestionWindow::new(cc.window()),
            validation: Validation::default(),
            pacer: Pacer::new(config.pacing || cc.requires_pacing()),
            cc,
            full_burst: FullBurst::default(),
            pass: Pass::default(),
            repair: Repair::new(),
            board: Scoreboard::new(u64::from(config.smss)),
            rack: Rack::new(),
            tlp: Tlp::default(),
            undo: Undo::default(),
            frto: Frto::default(),
            suspicion: None,
            reordering: Reordering::new(),
            partial_acks: PartialAcks::default(),
            rate: RateEstimator::default(),
            rtt: RoundTrip::new(rto_min),
            timer: RetransmissionTimer::new(tick),
            handshake: Handshake::new(),
            phase: Phase::Open,
            snd_una: 0,
            snd_nxt: 0,
            high_seq: 0,
            stream: Stream::default(),
            portions: None,
            peer_window: PeerWindow::default(),
            device: DeviceQueue::default(),
            ecn: Ecn::new(config.ecn),
            marks: None,
            quick_start: QuickStart::default(),
            ts_recent: 0,
            is_steered: false,
            needs: Needs::ALL.into(),
            shortcuts: Shortcuts::default(),
            memory: None,
            config,
            stats: SenderStats::default(),
        }
    }

    /// Makes the connection [`Self::new`] of this configuration. It keeps the memory that the last
    /// one allocated, and nothing else of it.
    pub fn renew(&mut self, config: &SenderConfig) {
        let control = self.cc.take_other();
        let settings = Settings::of(config);
        let context = settings.context(Instant::ZERO, settings.initial_window, None);
        // Each field is named, so that a new one is not forgotten, and set in its place: the whole
        // is large.
        let Self {
            cc,
            cwnd,
            validation,
            pacer,
            full_burst,
            pass,
            repair,
            board,
            rack,
            tlp,
            undo,
            frto,
            suspicion,
            reordering,
            partial_acks,
            rate,
            rtt,
            timer,
            handshake,
            phase,
            snd_una,
            snd_nxt,
            high_seq,
            stream,
            portions,
            peer_window,
            device,
            ecn,
            marks,
            quick_start,
            ts_recent,
            is_steered,
            needs,
            shortcuts,
            memory,
            config: old_settings,
            stats,
        } = self;
        *cc = Control::new(&config.algorithm, &context, |built| {
            Held::in_memory_of(control, built)
        });
        *cwnd = CongestionWindow::new(cc.window());
        *validation = Validation::default();
        *pacer = Pacer::new(settings.pacing || cc.requires_pacing());
        *full_burst = FullBurst::default();
        *pass = Pass::default();
        *repair = Repair::new();
        board.renew(u64::from(settings.smss));
        *rack = Rack::new();
        *tlp = Tlp::default();
        *undo = Undo::default();
        *frto = Frto::default();
        *suspicion = None;
        *reordering = Reordering::new();
        *partial_acks = PartialAcks::default();
        *rate = RateEstimator::default();
        *rtt = RoundTrip::new(config.rto_min);
        *timer = RetransmissionTimer::new(config.tick);
        *handshake = Handshake::new();
        *phase = Phase::Open;
        (*snd_una, *snd_nxt, *high_seq) = (0, 0, 0);
        *stream = Stream::default();
        *portions = None;
        *peer_window = PeerWindow::default();
        *device = DeviceQueue::default();
        *ecn = Ecn::new(settings.ecn);
        *marks = None;
        *quick_start = QuickStart::default();
        *ts_recent = 0;
        *is_steered = false;
        *needs = Needs::ALL.into();
        *shortcuts = Shortcuts::default();
        *memory = None;
        *old_settings = settings;
        *stats = SenderStats::default();
    }

    /// The ends have agreed on AccECN (RFC 9768): each ACK counts the marks, and no flag asks for a
    /// reduction or reports one. Call it before [`Self::open`].
    pub const fn count_marks(&mut self) {
        self.ecn = Ecn::new(false);
        self.marks = Some(MarkReader::new());
    }

    /// Whether the congestion control responds to each mark, so that segments carry ECT(1) where
    /// the ends have agreed on AccECN (RFC 9331, section 4.1).
    #[must_use]
    pub fn sends_ect1(&self) -> bool {
        self.marks.is_some() && self.cc.reads_marks()
    }

    /// Takes no shortcuts from now on: every ACK and every segment goes through the general code. The
    /// results are the same. Call it before [`Self::open`].
    pub const fn forbid_shortcuts(&mut self) {
        self.shortcuts.are_forbidden = true;
    }

    /// The application writes `bytes` more bytes; `u64::MAX` never ends.
    pub fn write(&mut self, now: Instant, bytes: u64) {
        if self.stream.is_closed() || bytes == 0 {
            return;
        }
        if self.handshake.is_established() {
            self.check_app_limited();
            self.restart_after_idle(now);
        }
        let queued = self.stream.end();
        self.stream.write(bytes);
        if self.handshake.is_established() {
            self.write_portions(queued);
        }
        self.pass.resume();
    }

    /// Bytes that the application has written so far.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.stream.written()
    }

    /// A partial segment leaves at once from now on, although an earlier one is not acknowledged
    /// (`TCP_NODELAY`).
    pub const fn send_promptly(&mut self) {
        self.stream.send_promptly();
    }

    /// Sets the state left by earlier connections over the path, for algorithms that use it. Call
    /// it before [`Self::open`].
    pub fn remember(&mut self, memory: PathMemory) {
        self.memory = (memory != PathMemory::default()).then(|| Box::new(memory));
    }

    /// The connection is over: stores state for later connections over the path.
    pub fn leave_memory(&self, now: Instant, memory: &mut PathMemory) {
        self.cc.on_close(now, memory);
        if let Some(lent) = &self.memory {
            memory.give_back(lent);
        }
    }

    /// The application writes no more. The segment with the last byte carries the FIN. If that byte
    /// has left before (or if there is none), the FIN leaves alone, in a segment without data that
    /// takes one sequence number ([`DataSegment::end`]) and is retransmitted like data.
    ///
    /// [`DataSegment::end`]: crate::segment::DataSegment::end
    pub fn close(&mut self) {
        if self.stream.close(self.snd_nxt) {
            // The shortcut counts sequence numbers as payload.
            self.shortcuts.acks = false;
        }
        self.pass.resume();
    }

    /// Opens the connection: a SYN is due.
    pub fn open(&mut self, now: Instant) {
        self.pass.resume();
        if self.handshake.open(now) {
            self.timer.start(now, RTO_INITIAL);
        }
    }

    /// Asks for the memory beside that of [`Self`] which an ACK will read. It changes nothing.
    #[inline(always)]
    pub fn expect_ack(&self) {
        self.board.expect_head();
    }

    /// An ACK or the SYN-ACK has arrived.
    #[inline]
    pub fn handle_ack(&mut self, now: Instant, ack: &AckSegment) {
        self.take_ack(now, ack, false);
    }

    /// `rides`: a data segment carries the ACK. That makes no difference to an ordinary ACK, which
    /// is no duplicate.
    #[inline(never)]
    fn take_ack(&mut self, now: Instant, ack: &AckSegment, rides: bool) {
        self.pass.begin();
        if !self.process_plain_ack(now, ack) {
            self.handle_any_ack(now, ack, rides);
        }
    }

    #[inline(never)]
    fn handle_any_ack(&mut self, now: Instant, ack: &AckSegment, rides: bool) {
        self.rtt.begin_ack();
        if self.handshake.is_established() {
            if !ack.syn && ack.ack <= self.snd_nxt {
                self.process_ack(now, ack, rides);
            }
        } else if self.handshake.is_under_way() && ack.syn {
            self.handle_syn_ack(now, ack);
        }
    }

    fn handle_syn_ack(&mut self, now: Instant, ack: &AckSegment) {
        let lost_syns = self.stats.syn_retransmitted;
        let rtt = self.handshake.complete(now, ack.ts_ecr, lost_syns > 0);
        self.establish(now, ack, rtt, lost_syns);
    }

    /// The handshake ends with `ack`: the SYN-ACK or, for a passive opener, the third segment. It
    /// took `rtt`, and `retransmitted` retransmissions of this side's SYN or SYN-ACK.
    fn establish(
        &mut self,
        now: Instant,
        ack: &AckSegment,
        rtt: Option<Duration>,
        retransmitted: u64,
    ) {
        self.timer.on_established();
        self.ts_recent = ack.ts_val;
        self.peer_window.open(ack.window);
        if let Some(rtt) = rtt {
            self.take_rtt_sample(
                now,
                RttSample {
                    oldest: rtt,
                    newest: rtt,
                    maybe_delayed: false,
                },
            );
        }
        // Linux `tcp_init_transfer`: one segment when more than one SYN or SYN-ACK was lost.
        // RFC5681-3.1c, RFC5681-3.1d
        let initial_window = if retransmitted > 1 {
            1
        } else {
            self.config.initial_window
        };
        let context = self.config.context(now, initial_window, rtt);
        self.cc.establish(&context);
        if let Some(held) = self.cc.other() {
            held.establish(&context);
        }
        self.is_steered = self.cc.steers_sending();
        self.needs = self.cc.needs().into();
        if self.cc.watches_losses() {
            self.board.begin_watch(self.smss());
        }
        self.find_shortcuts();
        self.write_portions(self.snd_nxt);
        self.cc.on_established(&Established {
            now,
            rtt,
            queued: Bytes::new(self.unsent()),
            receive_window: Bytes::new(self.peer_window.advertised()),
            memory: self.memory.as_deref().copied().unwrap_or_default(),
        });
        self.settle_feedback(now, rtt);
        self.read_window();
        self.validation.on_established(now);
        // Linux: the first write finds nothing in flight, so the first flight is marked.
        self.rate.on_app_limited(Bytes::ZERO);
        self.update_pacing_rate();
    }

    /// Chooses the shortcuts, all of which are exact; no condition but the portions changes later.
    fn find_shortcuts(&mut self) {
        if self.shortcuts.are_forbidden {
            self.needs = Needs::ALL.into();
            return;
        }
        if !self.needs.rate_samples {
            self.board.omit_samples();
        }
        self.shortcuts.acks = self.config.sack
            && !self.is_fack()
            && !self.stream.has_bare_fin()
            && self.marks.is_none();
        self.find_burst_shortcuts();
    }

    fn find_burst_shortcuts(&mut self) {
        let is_queued = self.portions.as_ref().is_none_or(|it| it.are_settled());
        let permitted = !self.shortcuts.are_forbidden && is_queued;
        self.shortcuts.bursts = permitted && !self.is_steered && !self.asks_routers();
        self.shortcuts.unpaced = permitted
            && !self.needs.pacing
            && !self.pacer.is_on()
            && self.config.tso_segments > 1
            && self.config.small_queue.is_none();
    }

    fn smss(&self) -> u64 {
        u64::from(self.config.smss)
    }

    /// Whether losses are detected by forward acknowledgment; see `fack.rs`.
    #[inline]
    fn is_fack(&self) -> bool {
        self.config.loss_detection == LossDetection::Fack && self.config.sack
    }

    /// The size of `segments` as the window counts them.
    #[inline]
    fn size(&self, segments: u32) -> Bytes {
        Bytes::new(self.smss() * u64::from(segments))
    }

    /// Reads the congestion control's window after it may have changed.
    #[inline]
    fn read_window(&mut self) {
        self.cwnd.update(self.cc.window());
    }

    /// Segments that the congestion window still permits.
    #[inline]
    fn cwnd_left(&self) -> u32 {
        self.cwnd.available(self.board.in_flight())
    }

    #[inline]
    fn has_cwnd_left(&self) -> bool {
        self.cwnd_left() > 0
    }

    #[inline]
    fn update_pacing_rate(&mut self) {
        if self.needs.pacing {
            self.ask_for_pacing();
        } else {
            let rate = self.window_rate();
            self.pacer.set_rate(rate);
        }
    }

    #[inline]
    fn window_rate(&self) -> Quotient {
        window_rate(
            &self.cwnd.get(),
            self.board.packets_out(),
            self.rtt.srtt_micros(),
        )
    }

    /// The same for a congestion control that paces at times.
    fn ask_for_pacing(&mut self) {
        let rate = match self.cc.pacing_rate() {
            Some(rate) => Quotient::of(rate),
            None => self.window_rate(),
        };
        let requires_pacing = self.cc.requires_pacing();
        let is_spread = requires_pacing && self.cc.paces_first_segments();
        self.pacer
            .set(rate, self.config.pacing || requires_pacing, is_spread);
        if let Some(start) = self.cc.pacing_start() {
            self.pacer.hold_until(start);
        }
        if self.is_steered
            && let Some(window) = self.cc.supposed_receive_window()
        {
            self.peer_window.exceed(self.snd_una + window.get());
        }
    }
}
