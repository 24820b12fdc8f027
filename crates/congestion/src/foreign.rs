//! Start-ups, avoidances and congestion controls implemented outside of this crate, for example in
//! Python.
//!
//! A kind ([`StartupKind`], [`AvoidanceKind`], [`ControlKind`]) creates instances and
//! identifies each by a number; [`ForeignStartup`], [`ForeignAvoidance`] and
//! [`ForeignControl`] adapt one of them to the contract. A kind lives as long as the
//! program.
//!
//! The name of an algorithm cannot refer to code outside of the registry, so a kind is added with
//! [`Algorithm::with_foreign_startup`](crate::Algorithm::with_foreign_startup),
//! [`Algorithm::with_foreign_avoidance`](crate::Algorithm::with_foreign_avoidance) or
//! [`Algorithm::foreign`](crate::Algorithm::foreign).

use core::fmt;

use units::{Bytes, Instant, Rate};

use crate::signal::whole;
use crate::{
    Ack, Avoidance, BuildContext, Congestion, CongestionControl, Decision, ExitReason, Needs, Pace,
    Sent, SlowStartExit, Startup, Step, Window,
};

/// Instances of one kind, by number.
pub trait ForeignKind: Sync {
    /// Its part of an algorithm's name.
    fn name(&self) -> &str;

    /// Creates an instance for a new connection.
    fn begin(&self, context: &BuildContext) -> u64;

    /// Copies an instance.
    fn copy(&self, number: u64) -> u64;

    /// Releases an instance.
    fn end(&self, number: u64);
}

/// Start-ups of one kind.
pub trait StartupKind: ForeignKind {
    /// See [`Startup::on_sent`].
    fn on_sent(&self, number: u64, sent: &Sent);

    /// See [`Startup::on_delivery`].
    fn on_delivery(&self, number: u64, ack: &Ack, window: &Window) -> Option<Step>;

    /// See [`Startup::on_ack`].
    fn on_ack(&self, number: u64, ack: &Ack, window: &Window) -> Step;

    /// See [`Startup::on_congestion`].
    fn on_congestion(&self, number: u64, congestion: &Congestion);

    /// The pacing rate that a start-up requests at this time; `None` leaves pacing to the
    /// transport.
    fn pacing_rate(&self, number: u64) -> Option<Rate>;
}

/// Avoidances of one kind.
pub trait AvoidanceKind: ForeignKind {
    /// See [`Avoidance::on_delivery`].
    fn on_delivery(&self, number: u64, ack: &Ack, window: &Window);

    /// See [`Avoidance::on_ack`].
    fn on_ack(&self, number: u64, acked: Bytes, ack: &Ack, window: &Window) -> Bytes;

    /// See [`Avoidance::decide`].
    fn decide(&self, number: u64, ack: &Ack, window: &Window) -> Option<Decision>;

    /// See [`Avoidance::on_congestion`].
    fn on_congestion(&self, number: u64, congestion: &Congestion, window: &Window) -> Bytes;

    /// See [`Avoidance::on_recovery_exit`].
    fn on_recovery_exit(&self, number: u64, window: &Window) -> Option<Bytes>;

    /// See [`Avoidance::on_timeout`].
    fn on_timeout(&self, number: u64);

    /// See [`Avoidance::on_undo`].
    fn on_undo(&self, number: u64);

    /// See [`Avoidance::on_idle`].
    fn on_idle(&self, number: u64, now: Instant, idle_since: Instant);
}

/// Congestion controls of one kind. A hook that may have changed the state returns it.
pub trait ControlKind: ForeignKind {
    /// The state of an instance; `None` after a failure.
    fn state(&self, number: u64) -> Option<ControlState>;

    /// Whether [`Self::on_sent`] changes the state at times.
    fn steers_sending(&self) -> bool;

    /// See [`CongestionControl::on_sent`].
    fn on_sent(&self, number: u64, sent: &Sent) -> Option<ControlState>;

    /// See [`CongestionControl::on_delivery`].
    fn on_delivery(&self, number: u64, ack: &Ack) -> Option<ControlState>;

    /// See [`CongestionControl::on_ack`].
    fn on_ack(&self, number: u64, ack: &Ack) -> Option<ControlState>;

    /// See [`CongestionControl::on_congestion`].
    fn on_congestion(&self, number: u64, congestion: &Congestion) -> Option<ControlState>;

    /// See [`CongestionControl::on_recovery_exit`].
    fn on_recovery_exit(&self, number: u64, now: Instant) -> Option<ControlState>;

    /// See [`CongestionControl::undo`].
    fn on_undo(&self, number: u64, now: Instant) -> Option<ControlState>;
}

/// What a foreign congestion control decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ControlState {
    /// The window.
    pub cwnd: Bytes,
    /// The slow-start threshold; [`Bytes::MAX`] without one.
    pub ssthresh: Bytes,
    /// The rate at which segments leave; `None` leaves pacing to the transport.
    pub pacing_rate: Option<Rate>,
    /// The end of the first slow start.
    pub exit: FirstExit,
}

/// What a foreign congestion control states of the end of its first slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstExit {
    /// Nothing: it ends with a congestion episode, or when the window reaches the threshold.
    Unstated,
    /// It has not ended.
    Ahead,
    /// It has ended.
    Past {
        /// The window when it was decided.
        cwnd: Bytes,
        /// Why.
        reason: ExitReason,
    },
}

/// A kind, compared by identity.
pub struct ForeignRef<K: ?Sized + 'static>(pub &'static K);

impl<K: ?Sized> Clone for ForeignRef<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K: ?Sized> Copy for ForeignRef<K> {}

impl<K: ?Sized> PartialEq for ForeignRef<K> {
    fn eq(&self, other: &Self) -> bool {
        core::ptr::addr_eq(self.0, other.0)
    }
}

impl<K: ?Sized + ForeignKind> fmt::Debug for ForeignRef<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

/// An instance of a kind.
struct Instance<K: ?Sized + ForeignKind + 'static> {
    kind: ForeignRef<K>,
    number: u64,
}

impl<K: ?Sized + ForeignKind> Instance<K> {
    fn new(kind: ForeignRef<K>, context: &BuildContext) -> Self {
        let number = kind.0.begin(context);
        Self { kind, number }
    }

    fn parts(&self) -> (&'static K, u64) {
        (self.kind.0, self.number)
    }
}

impl<K: ?Sized + ForeignKind> fmt::Debug for Instance<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}", self.kind, self.number)
    }
}

impl<K: ?Sized + ForeignKind> Clone for Instance<K> {
    fn clone(&self) -> Self {
        Self {
            kind: self.kind,
            number: self.kind.0.copy(self.number),
        }
    }
}

impl<K: ?Sized + ForeignKind> Drop for Instance<K> {
    fn drop(&mut self) {
        self.kind.0.end(self.number);
    }
}

/// A start-up implemented outside of this crate.
#[derive(Clone, Debug)]
pub struct ForeignStartup {
    instance: Instance<dyn StartupKind>,
    /// The last requested rate.
    pacing_rate: Option<Rate>,
}

impl ForeignStartup {
    /// A start-up for a new connection.
    pub(crate) fn new(kind: ForeignRef<dyn StartupKind>, context: &BuildContext) -> Self {
        let mut made = Self {
            instance: Instance::new(kind, context),
            pacing_rate: None,
        };
        made.read_pacing();
        made
    }

    fn read_pacing(&mut self) {
        let (kind, number) = self.instance.parts();
        self.pacing_rate = kind.pacing_rate(number);
    }
}

impl Startup for ForeignStartup {
    fn on_sent(&mut self, sent: &Sent) {
        let (kind, number) = self.instance.parts();
        kind.on_sent(number, sent);
        self.read_pacing();
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let (kind, number) = self.instance.parts();
        let step = kind.on_delivery(number, ack, window);
        self.read_pacing();
        step
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let (kind, number) = self.instance.parts();
        let step = kind.on_ack(number, ack, window);
        self.read_pacing();
        step
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let (kind, number) = self.instance.parts();
        kind.on_congestion(number, congestion);
        self.read_pacing();
    }

    fn pacing(&self) -> Option<Pace> {
        self.pacing_rate.map(Pace::at)
    }
}

/// An avoidance implemented outside of this crate.
#[derive(Clone, Debug)]
pub struct ForeignAvoidance {
    instance: Instance<dyn AvoidanceKind>,
    /// Growth below a segment, which waits for the next ACK.
    credit: Bytes,
}

impl ForeignAvoidance {
    /// An avoidance for a new connection.
    pub(crate) fn new(kind: ForeignRef<dyn AvoidanceKind>, context: &BuildContext) -> Self {
        Self {
            instance: Instance::new(kind, context),
            credit: Bytes::ZERO,
        }
    }
}

impl Avoidance for ForeignAvoidance {
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        let (kind, number) = self.instance.parts();
        self.credit += kind.on_ack(number, acked, ack, window);
        // The window stays in whole segments.
        let growth = window.smss * self.credit.segments(window.smss);
        self.credit -= growth;
        growth
    }

    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
        self.credit = Bytes::ZERO;
        let (kind, number) = self.instance.parts();
        let threshold = kind.on_congestion(number, congestion, window);
        // RFC5681-3.1h: two segments at least.
        threshold.max(window.smss * 2)
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        let (kind, number) = self.instance.parts();
        kind.on_delivery(number, ack, window);
    }

    fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> {
        let (kind, number) = self.instance.parts();
        kind.decide(number, ack, window)
    }

    fn on_recovery_exit(&mut self, window: &Window) -> Option<Bytes> {
        let (kind, number) = self.instance.parts();
        kind.on_recovery_exit(number, window)
    }

    fn on_timeout(&mut self) {
        let (kind, number) = self.instance.parts();
        kind.on_timeout(number);
    }

    fn on_undo(&mut self) {
        let (kind, number) = self.instance.parts();
        kind.on_undo(number);
    }

    fn on_idle(&mut self, now: Instant, idle_since: Instant) {
        let (kind, number) = self.instance.parts();
        kind.on_idle(number, now, idle_since);
    }
}

/// A congestion control implemented outside of this crate.
#[derive(Clone, Debug)]
pub struct ForeignControl {
    instance: Instance<dyn ControlKind>,
    window: Window,
    pacing_rate: Option<Rate>,
    exit: Option<SlowStartExit>,
}

impl ForeignControl {
    /// A congestion control for a new connection.
    pub(crate) fn new(kind: ForeignRef<dyn ControlKind>, context: &BuildContext) -> Self {
        let mut made = Self {
            instance: Instance::new(kind, context),
            window: crate::classic::initial(context.initial_window, context.smss),
            pacing_rate: None,
            exit: None,
        };
        let (kind, number) = made.instance.parts();
        made.accept(context.now, kind.state(number), None);
        made
    }

    /// Takes over a state. `episode` is the congestion that led to it.
    fn accept(&mut self, now: Instant, state: Option<ControlState>, episode: Option<ExitReason>) {
        let Some(state) = state else {
            return;
        };
        let before = self.window.cwnd;
        let smss = self.window.smss;
        self.window.cwnd = whole(state.cwnd, smss);
        self.window.ssthresh = whole(state.ssthresh, smss).max(smss * 2);
        self.pacing_rate = state.pacing_rate;
        let reached = (!self.window.in_slow_start()).then_some(ExitReason::Threshold);
        // As in `Classic`: the window when it was decided, before any reduction.
        let decided = match (state.exit, episode) {
            (FirstExit::Past { cwnd, reason }, _) => Some((reason, whole(cwnd, smss))),
            (FirstExit::Unstated, Some(reason)) => Some((reason, before)),
            (FirstExit::Unstated, None) => reached.map(|reason| (reason, self.window.cwnd)),
            (FirstExit::Ahead, _) => None,
        };
        if self.exit.is_none() {
            self.exit = decided.map(|(reason, cwnd)| SlowStartExit {
                at: now,
                cwnd,
                reason,
            });
        }
    }
}

impl CongestionControl for ForeignControl {
    fn window(&self) -> Window {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn requires_pacing(&self) -> bool {
        self.pacing_rate.is_some()
    }

    fn paces_first_segments(&self) -> bool {
        true
    }

    fn steers_sending(&mut self) -> bool {
        self.instance.kind.0.steers_sending()
    }

    fn on_sent(&mut self, sent: &Sent) {
        let (kind, number) = self.instance.parts();
        self.accept(sent.now, kind.on_sent(number, sent), None);
    }

    fn on_delivery(&mut self, ack: &Ack) {
        let (kind, number) = self.instance.parts();
        self.accept(ack.now, kind.on_delivery(number, ack), None);
    }

    fn on_ack(&mut self, ack: &Ack) {
        let (kind, number) = self.instance.parts();
        self.accept(ack.now, kind.on_ack(number, ack), None);
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        let (kind, number) = self.instance.parts();
        let state = kind.on_congestion(number, congestion);
        self.accept(congestion.now, state, Some(congestion.kind.into()));
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        let (kind, number) = self.instance.parts();
        self.accept(now, kind.on_recovery_exit(number, now), None);
    }

    fn undo(&mut self, now: Instant) {
        let (kind, number) = self.instance.parts();
        let state = kind.on_undo(number, now);
        self.accept(now, state, None);
        // As in `Classic`: what ended slow start did not happen.
        let was_congestion = self.exit.is_some_and(|exit| exit.reason.is_congestion());
        if was_congestion && self.window.ssthresh == Bytes::MAX {
            self.exit = None;
        }
    }

    fn on_mtu(&mut self, _now: Instant, smss: Bytes) {
        self.window = self.window.in_segments_of(smss.max(Bytes::new(1)));
    }

    fn needs(&self) -> Needs {
        Needs {
            copies: false,
            handshake_rtt: false,
            memory: false,
            draws: false,
            unpaced: false,
            ..Needs::ALL
        }
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.exit
    }
}
