//! A congestion control made of three parts: what Linux's TCP core does around a classic one.
//!
//! Source: `tcp_cong_avoid`, `tcp_slow_start`, `tcp_init_cwnd_reduction`,
//! `tcp_end_cwnd_reduction`, `tcp_enter_loss`, `tcp_undo_cwnd_reduction`, `tcp_cwnd_restart` and
//! `tcp_cwnd_application_limited` of Linux 6.12, RFC 5681 in spirit. The parts return decisions;
//! the window is kept here and nowhere else.
//!
//! Assumes that the transport counts whole segments: `cwnd` is a multiple of `smss` and never
//! less than one segment. A transport that counts bytes credits whole segments and carries the
//! rest to its next ACK (the contract in the crate's head).
//!
//! ## Deviations
//!
//! - Linux's CUBIC hides round-trip times from HyStart in the first second of a growth epoch,
//!   because both live in one module. Here that is a rule between the parts: a start-up sees
//!   `latest_rtt: None` during the first second after [`Avoidance::epoch`].
//! - A start-up that leaves at a window of one segment gets a threshold of two, the least that a
//!   reduction may give (RFC 5681, equation 4).
//! - An idle restart does not restart the start-up: Linux's HyStart is not re-armed
//!   either. Start-ups that care see `idle_since` in [`Startup::on_sent`].

use units::{Bytes, Duration, Instant, Rate};

use crate::signal::whole;
use crate::{
    Ack, Avoidance, Congestion, CongestionControl, CongestionKind, Decision, Established,
    ExitReason, KnownPath, Needs, PathMemory, Phase, Recovery, Reduction, Resumption, Sent,
    SlowStartExit, Startup, Step, Window,
};

/// How long after the beginning of an epoch Linux's `cubictcp_acked` ignores round-trip times (HZ jiffies).
const EPOCH_BLIND: Duration = Duration::from_secs(1);

/// Start-up `S`, avoidance `A` and recovery `R`, put together as Linux does.
#[derive(Clone, Debug)]
pub struct Classic<S, A, R> {
    startup: S,
    avoidance: A,
    recovery: R,
    window: Window,
    /// The window before the last reduction.
    prior_cwnd: Bytes,
    /// The threshold that an undo restores; zero when nothing may be undone.
    prior_ssthresh: Bytes,
    /// Whether a Cwr or Recovery episode is in progress.
    reducing: bool,
    /// Whether the start-up, not the recovery, sets the window in it.
    taken_over: bool,
    exit: Option<SlowStartExit>,
}

impl<S: Startup, A: Avoidance, R: Recovery> Classic<S, A, R> {
    /// A connection that begins with a window of `initial_window`, in segments of `smss`.
    pub fn new(startup: S, avoidance: A, recovery: R, smss: Bytes, initial_window: Bytes) -> Self {
        let mut window = initial(initial_window, smss);
        if let Some(segments) = avoidance.initial_threshold() {
            window.ssthresh = window.smss * segments.max(2);
        }
        Self {
            startup,
            avoidance,
            recovery,
            window,
            prior_cwnd: Bytes::ZERO,
            prior_ssthresh: Bytes::ZERO,
            reducing: false,
            taken_over: false,
            exit: None,
        }
    }

    /// The start-up part.
    pub const fn startup(&self) -> &S {
        &self.startup
    }

    /// The avoidance part.
    pub const fn avoidance(&self) -> &A {
        &self.avoidance
    }

    /// The recovery part.
    pub const fn recovery(&self) -> &R {
        &self.recovery
    }

    /// [`CongestionControl::on_delivery`] and then [`CongestionControl::on_ack`], for an ordinary
    /// ACK above slow start, if the start-up observes nothing there, and the avoidance decides
    /// nothing. What is left is that `grow` adds to the window, which is returned. `None`: it is in slow
    /// start, or `grow` gives `None`, and nothing has changed.
    #[inline(always)]
    pub(crate) fn on_ordinary_ack(
        &mut self,
        grow: impl FnOnce(&mut A, &Window) -> Option<Bytes>,
    ) -> Option<Bytes> {
        if self.window.in_slow_start() {
            return None;
        }
        let growth = grow(&mut self.avoidance, &self.window)?;
        self.window.cwnd += growth;
        Some(growth)
    }

    /// A window that a congestion control around this one sets, in whole segments.
    pub(crate) fn set_cwnd(&mut self, cwnd: Bytes) {
        self.window.cwnd = whole(cwnd, self.window.smss);
    }

    fn record_exit(&mut self, at: Instant, reason: ExitReason) {
        if self.exit.is_none() {
            self.exit = Some(SlowStartExit {
                at,
                cwnd: self.window.cwnd,
                reason,
            });
        }
    }

    /// Sets a window and a threshold that a part chose.
    fn set(&mut self, Reduction { cwnd, ssthresh }: Reduction) {
        let window = &mut self.window;
        window.cwnd = whole(cwnd, window.smss);
        window.ssthresh = whole(ssthresh, window.smss).max(window.smss * 2);
    }

    /// Applies what the avoidance decided, in slow start or above it. Without a threshold, slow start
    /// begins again in mid-connection (ABBA), and the start-up with it.
    fn accept(&mut self, decision: Decision, ack: &Ack) {
        let now = ack.now;
        let before = self.window;
        let Decision { cwnd, ssthresh, .. } = decision;
        self.set(Reduction { cwnd, ssthresh });
        if before.in_slow_start() && !self.window.in_slow_start() && self.exit.is_none() {
            self.exit = Some(SlowStartExit {
                at: now,
                cwnd: before.cwnd,
                reason: decision.reason,
            });
        }
        if !before.in_slow_start() && ssthresh == Bytes::MAX {
            self.startup.restart(now, ack.snd_nxt);
        }
    }

    /// A delivery in slow start: the start-up's detectors run.
    #[inline(never)]
    fn detect(&mut self, ack: &Ack) {
        let blind = self
            .avoidance
            .epoch()
            .is_some_and(|epoch| ack.now.saturating_since(epoch) < EPOCH_BLIND);
        let step = if blind && ack.latest_rtt.is_some() {
            let blinded = Ack {
                latest_rtt: None,
                ..*ack
            };
            self.startup.on_delivery(&blinded, &self.window)
        } else {
            self.startup.on_delivery(ack, &self.window)
        };
        if let Some(step) = step {
            self.apply(step, ack.now, Bytes::ZERO);
        }
    }

    /// Growth in slow start. Returns what of the ACK is left for avoidance.
    #[inline(never)]
    fn start_slowly(&mut self, ack: &Ack) -> Bytes {
        let mut step = self.startup.on_ack(ack, &self.window);
        if let Step::Grow(growth) = &mut step {
            *growth = self.avoidance.on_slow_start(*growth, ack, &self.window);
        }
        self.apply(step, ack.now, ack.delivered)
    }

    /// An ACK during a reduction.
    #[inline(never)]
    fn reduce(&mut self, ack: &Ack) {
        let cwnd = match self.startup.jump_starts() {
            Some(startup) if self.taken_over => startup.on_recovery_ack(ack, &self.window),
            _ => self.recovery.on_ack(ack, &self.window),
        };
        self.window.cwnd = whole(cwnd, self.window.smss);
    }

    /// Applies what the start-up wants; returns what of `delivered` is left for avoidance.
    #[inline]
    fn apply(&mut self, step: Step, now: Instant, delivered: Bytes) -> Bytes {
        let window = &mut self.window;
        match step {
            Step::Grow(growth) => {
                let room = window.ssthresh.saturating_sub(window.cwnd);
                if growth < room {
                    window.cwnd += growth;
                    return Bytes::ZERO;
                }
                window.cwnd = window.ssthresh;
                self.record_exit(now, ExitReason::Threshold);
                delivered.saturating_sub(room)
            }
            Step::Set(cwnd) => {
                window.cwnd = whole(cwnd, window.smss);
                Bytes::ZERO
            }
            Step::Exit {
                cwnd,
                ssthresh,
                reason,
            } => {
                self.record_exit(now, reason);
                self.set(Reduction { cwnd, ssthresh });
                Bytes::ZERO
            }
        }
    }
}

/// The window that a connection begins with.
pub(crate) fn initial(initial_window: Bytes, smss: Bytes) -> Window {
    let smss = smss.max(Bytes::new(1));
    Window {
        // RFC5681-3.1b
        cwnd: whole(initial_window, smss),
        // RFC5681-3.1e
        ssthresh: Bytes::MAX,
        smss,
    }
}

impl<S: Startup, A: Avoidance, R: Recovery> CongestionControl for Classic<S, A, R> {
    #[inline]
    fn window(&self) -> Window {
        self.window
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        if self.window.in_slow_start() {
            self.startup.pacing().map(|pace| pace.rate)
        } else {
            None
        }
    }

    #[inline]
    fn requires_pacing(&self) -> bool {
        self.pacing_rate().is_some()
    }

    fn paces_first_segments(&self) -> bool {
        true
    }

    fn reduces_by_deliveries(&self) -> bool {
        true
    }

    fn sends_copies(&self) -> bool {
        self.startup.sends_copies()
    }

    #[inline]
    fn pacing_start(&self) -> Option<Instant> {
        self.startup.pacing().and_then(|pace| pace.not_before)
    }

    #[inline]
    fn steers_sending(&mut self) -> bool {
        self.startup.steers_sending().is_some()
    }

    fn supposed_receive_window(&mut self) -> Option<Bytes> {
        self.startup.steers_sending()?.supposed_receive_window()
    }

    fn on_established(&mut self, start: &Established) {
        if let Some(step) = self.startup.on_established(start, &self.window) {
            self.apply(step, start.now, Bytes::ZERO);
        }
    }

    fn requested_rate(&mut self, queued: Bytes) -> Option<Rate> {
        self.startup.asks_routers()?.requested_rate(queued)
    }

    fn thins_acks(&mut self) -> bool {
        let startup = self.startup.asks_routers();
        startup.is_some_and(|startup| startup.thins_acks())
    }

    fn knows_path(&mut self) -> bool {
        self.startup.knows_path().is_some()
    }

    fn on_path(&mut self, now: Instant, path: &KnownPath) {
        if self.window.in_slow_start()
            && let Some(startup) = self.startup.knows_path()
            && let Some(step) = startup.on_path(path, &self.window)
        {
            self.apply(step, now, Bytes::ZERO);
        }
    }

    fn on_approval(&mut self, now: Instant, rate: Rate, rtt: Duration) {
        if let Some(startup) = self.startup.asks_routers()
            && let Some(step) = startup.on_approval(rate, rtt, &self.window)
        {
            self.apply(step, now, Bytes::ZERO);
        }
    }

    #[inline]
    fn on_sent(&mut self, sent: &Sent) {
        self.startup.on_sent(sent);
        if let Some(idle_since) = sent.idle_since {
            self.avoidance.on_idle(sent.now, idle_since);
        }
        if self.reducing && !self.taken_over {
            self.recovery.on_sent(sent.size);
        }
        if self.window.in_slow_start()
            && let Some(startup) = self.startup.steers_sending()
            && let Some(step) = startup.after_sent(sent, &self.window)
        {
            self.apply(step, sent.now, Bytes::ZERO);
        }
    }

    #[inline]
    fn on_sent_burst(&mut self, first: &Sent, count: u32) {
        if self.startup.needs().sent || self.startup.steers_sending().is_some() {
            let mut sent = *first;
            for _ in 0..count {
                self.on_sent(&sent);
                sent = sent.following();
            }
            return;
        }
        if let Some(idle_since) = first.idle_since {
            self.avoidance.on_idle(first.now, idle_since);
        }
        if self.reducing && !self.taken_over {
            for _ in 0..count {
                self.recovery.on_sent(first.size);
            }
        }
    }

    #[inline]
    fn on_delivery(&mut self, ack: &Ack) {
        self.avoidance.on_delivery(ack, &self.window);
        self.startup.observe(ack, &self.window);
        if self.window.in_slow_start() {
            self.detect(ack);
        }
    }

    #[inline]
    fn reads_marks(&self) -> bool {
        self.avoidance.reads_marks()
    }

    fn on_marks(&mut self, marked: Bytes) {
        self.avoidance.on_marks(marked);
    }

    #[inline]
    fn on_ack(&mut self, ack: &Ack) {
        if ack.phase.is_reducing() {
            self.reduce(ack);
            return;
        }
        if !ack.advanced {
            return;
        }
        if let Some(decision) = self.avoidance.decide(ack, &self.window) {
            self.accept(decision, ack);
            return;
        }
        // RFC9438-4.6c
        if !ack.cwnd_limited {
            return;
        }
        let mut acked = ack.delivered;
        // RFC9438-4.10a
        if self.window.in_slow_start() {
            acked = self.start_slowly(ack);
            if acked.is_zero() {
                return;
            }
        }
        // RFC5681-3.1a
        self.window.cwnd += self.avoidance.on_ack(acked, ack, &self.window);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let undoable = congestion.kind != CongestionKind::Ecn;
        let timeout = congestion.kind == CongestionKind::Timeout;
        // A loss during CWR, or a mark during recovery or after a timeout, reduces nothing more: but
        // what was reduced can no longer be undone.
        let marked = congestion.kind == CongestionKind::Ecn && congestion.phase == Phase::Loss;
        // RFC5681-4.3a
        if !timeout && congestion.phase.is_reducing() || marked {
            self.prior_ssthresh = Bytes::ZERO;
            return;
        }
        self.record_exit(congestion.now, congestion.kind.into());
        let before = self.window;
        // RFC5681-3.1i
        if !timeout || congestion.first_of_window {
            self.prior_cwnd = self.window.cwnd;
            self.prior_ssthresh = if undoable {
                self.window.current_ssthresh(congestion.phase)
            } else {
                Bytes::ZERO
            };
            let mut reduced = self.window;
            if let Some(startup) = self.startup.jump_starts()
                && let Some(cwnd) = startup.reduces_from(congestion, &self.window)
            {
                reduced.cwnd = cwnd;
            }
            // RFC9438-4.8a
            let threshold = self.avoidance.on_congestion(congestion, &reduced);
            self.window.ssthresh = whole(threshold, self.window.smss);
        }
        self.startup.on_congestion(congestion);
        let taken_over = match self.startup.jump_starts() {
            Some(startup) if !timeout => startup.take_over(congestion, &before),
            _ => None,
        };
        self.taken_over = taken_over.is_some();
        if timeout {
            self.reducing = false;
            // RFC5681-3.1j
            self.window.cwnd = whole(congestion.in_flight + self.window.smss, self.window.smss);
            self.avoidance.on_timeout();
            self.startup.restart(congestion.now, congestion.snd_nxt);
        } else if let Some(reduction) = taken_over {
            self.reducing = true;
            self.set(reduction);
        } else {
            self.reducing = true;
            let cwnd =
                self.recovery
                    .enter(&self.window, self.window.ssthresh, congestion.in_flight);
            self.recovery
                .bound(self.avoidance.recovery_floor(&self.window));
            self.window.cwnd = whole(cwnd, self.window.smss);
        }
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        self.reducing = false;
        if core::mem::take(&mut self.taken_over)
            && let Some(startup) = self.startup.jump_starts()
        {
            let reduction = startup.on_recovery_exit(now, &self.window);
            self.set(reduction);
            return;
        }
        if let Some(cwnd) = self.avoidance.on_recovery_exit(&self.window) {
            self.window.ssthresh = whole(cwnd, self.window.smss).max(self.window.smss * 2);
        }
        // RFC5681-3.2f
        if self.window.ssthresh != Bytes::MAX {
            self.window.cwnd = whole(self.recovery.on_exit(&self.window), self.window.smss);
        }
    }

    // RFC9438-4.9a
    fn undo(&mut self, _now: Instant) {
        self.reducing = false;
        self.taken_over = false;
        if self.prior_ssthresh.is_zero() {
            return;
        }
        self.window.cwnd = self.window.cwnd.max(self.prior_cwnd);
        self.window.ssthresh = self.window.ssthresh.max(self.prior_ssthresh);
        self.prior_ssthresh = Bytes::ZERO;
        self.avoidance.on_undo();
        let was_congestion = self.exit.is_some_and(|exit| exit.reason.is_congestion());
        if was_congestion && self.window.ssthresh == Bytes::MAX {
            self.exit = None;
        }
    }

    fn on_idle_restart(
        &mut self,
        _now: Instant,
        idle: Duration,
        rto: Duration,
        initial_window: Bytes,
        _snd_nxt: u64,
    ) {
        let window = &mut self.window;
        window.ssthresh = window.current_ssthresh(Phase::Open);
        let floor = whole(initial_window, window.smss).min(window.cwnd);
        let rto = rto.max(Duration::from_nanos(1));
        let mut idle = idle.saturating_sub(rto);
        let mut cwnd = window.cwnd_segments();
        // RFC5681-4.1a
        while !idle.is_zero() && window.smss * cwnd > floor {
            cwnd /= 2;
            idle = idle.saturating_sub(rto);
        }
        window.cwnd = (window.smss * cwnd).max(floor);
    }

    fn on_window_unused(&mut self, _now: Instant, used: Bytes, initial_window: Bytes) {
        let window = &mut self.window;
        let used = used.max(initial_window).segments(window.smss);
        let cwnd = window.cwnd_segments();
        if used < cwnd {
            window.ssthresh = window.current_ssthresh(Phase::Open);
            window.cwnd = (window.smss * ((cwnd + used) / 2)).max(window.smss);
        }
    }

    /// As Linux `tcp_mtup_probe_success` keeps the bytes of the window; nothing below a segment
    /// remains.
    fn on_mtu(&mut self, _now: Instant, smss: Bytes) {
        let from = core::mem::replace(&mut self.window.smss, smss.max(Bytes::new(1)));
        let to = self.window.smss;
        if from == to {
            return;
        }
        self.window = self.window.in_segments_of(to);
        self.prior_cwnd = whole(self.prior_cwnd, to);
        if !self.prior_ssthresh.is_zero() {
            self.prior_ssthresh = whole(self.prior_ssthresh, to).max(to * 2);
        }
        self.avoidance.on_mtu(from, to);
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.exit
    }

    fn needs(&self) -> Needs {
        Needs {
            marks: self.avoidance.reads_marks(),
            ..self.startup.needs()
        }
    }

    fn passive_decision(&self) -> Option<SlowStartExit> {
        self.startup.passive_decision()
    }

    fn resumption(&self) -> Option<Resumption> {
        self.startup.resumption()
    }

    fn on_close(&self, now: Instant, memory: &mut PathMemory) {
        self.startup.on_close(now, memory);
    }
}
