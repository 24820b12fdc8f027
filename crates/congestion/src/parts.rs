//! The contracts: a start-up, an avoidance and a recovery, of which [`Classic`](crate::Classic) makes a
//! congestion control, and the congestion control that a transport sees.

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use crate::BuildContext;
use crate::memory::PathMemory;
use crate::signal::{
    Ack, Congestion, Established, ExitReason, Lost, Reduction, Sent, SlowStartExit, Step, Window,
};

/// Finds the capacity of an unknown path.
pub trait Startup {
    /// The connection is established. `Some` changes the window before anything is sent.
    fn on_established(&mut self, _start: &Established, _window: &Window) -> Option<Step> {
        None
    }

    /// A segment left.
    fn on_sent(&mut self, _sent: &Sent) {}

    /// An ACK delivered data; the detectors run here. Called on every ACK that delivered data,
    /// before losses are marked and before the window grows, whatever the phase, as long as the
    /// window is in slow start (Linux's `pkts_acked` hook). `Some` leaves slow start at once; the
    /// same ACK is then handled by congestion avoidance.
    fn on_delivery(&mut self, _ack: &Ack, _window: &Window) -> Option<Step> {
        None
    }

    /// An ACK delivered data, in any phase and also after slow start; before [`Self::on_delivery`].
    fn observe(&mut self, _ack: &Ack, _window: &Window) {}

    /// What this ACK does to the window. Called only in slow start, when growth is allowed
    /// (`snd_una` advanced, limited by the window, no reduction in progress); `ack.delivered` is
    /// what may be credited.
    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step;

    /// A congestion episode begins; the initial slow start is over.
    fn on_congestion(&mut self, _congestion: &Congestion) {}

    /// Asked after [`Self::on_congestion`], unless it is a timeout, with the window before the
    /// episode. `Some` takes the episode over: window and threshold are these (the avoidance is
    /// told of the congestion all the same), [`Self::on_recovery_ack`] sets the window until the
    /// episode ends, and [`Self::on_recovery_exit`] what it leaves.
    fn take_over(&mut self, _congestion: &Congestion, _window: &Window) -> Option<Reduction> {
        None
    }

    /// A congestion episode begins: the window that the avoidance reduces, where it is not the one
    /// at hand.
    fn reduces_from(&mut self, _congestion: &Congestion, _window: &Window) -> Option<Bytes> {
        None
    }

    /// The window after an ACK of an episode that was taken over.
    fn on_recovery_ack(&mut self, _ack: &Ack, window: &Window) -> Bytes {
        window.cwnd
    }

    /// An episode that was taken over ends: what remains. A window below the threshold means slow
    /// start.
    fn on_recovery_exit(&mut self, _now: Instant, window: &Window) -> Reduction {
        Reduction {
            cwnd: window.cwnd,
            ssthresh: window.cwnd,
        }
    }

    /// Slow start begins again after a timeout. (A pause shows as `idle_since` in [`Self::on_sent`].)
    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {}

    /// A pacing rate of its own, overriding the transport's.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// Whether [`Self::pacing_rate`] holds even where the transport is otherwise unpaced.
    fn requires_pacing(&self) -> bool {
        false
    }

    /// While pacing is required: nothing leaves before this time.
    fn pacing_start(&self) -> Option<Instant> {
        None
    }

    /// The fewest segments that a paced burst has, where there are as many to send: Linux
    /// `tcp_min_tso_segs`, unless the algorithm says otherwise.
    fn least_burst_segments(&self) -> u32 {
        2
    }

    /// Whether sending changes the window or the pacing: [`Self::after_sent`] is asked of such a
    /// start-up alone, and the transport looks at the three above after each segment. It never
    /// changes.
    fn steers_sending(&self) -> bool {
        false
    }

    /// A receive window that the sender supposes, whatever smaller one is announced, as long as any
    /// is. Against RFC 9293 section 3.8.6; asked of start-ups that steer sending.
    fn supposed_receive_window(&self) -> Option<Bytes> {
        None
    }

    /// A segment left in slow start: what that does to the window (growth that sending releases, not
    /// ACKs).
    fn after_sent(&mut self, _sent: &Sent, _window: &Window) -> Option<Step> {
        None
    }

    /// Whether each ACK sends a copy of a segment in flight, the last one first, until that meets
    /// what is acknowledged.
    fn sends_copies(&self) -> bool {
        false
    }

    /// The rate that the routers of the path are asked for in the handshake, for an application that
    /// has written `queued` by then. `None` asks nothing.
    fn requested_rate(&self, _queued: Bytes) -> Option<Rate> {
        None
    }

    /// Every router of the path approved `rate`, headers included, in a handshake of `rtt`. Called
    /// after [`Self::on_established`].
    fn on_approval(&mut self, _rate: Rate, _rtt: Duration, _window: &Window) -> Option<Step> {
        None
    }

    /// In passive mode: the decision that was logged and not acted on.
    fn passive_decision(&self) -> Option<SlowStartExit> {
        None
    }

    /// The connection is over: what later ones over the same path should know.
    fn on_close(&self, _now: Instant, _memory: &mut PathMemory) {}
}

/// Uses the capacity that start-up found.
pub trait Avoidance {
    /// An ACK delivered data, in any phase, before losses are marked (delay filters).
    fn on_delivery(&mut self, _ack: &Ack, _window: &Window) {}

    /// By how much the window grows when `acked` of this ACK is left for congestion avoidance.
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes;

    /// A congestion episode begins: the new threshold. (After a timeout, [`Self::on_timeout`] follows.)
    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes;

    /// Forget what a timeout makes worthless.
    fn on_timeout(&mut self) {}

    /// Sending resumes after nothing was outstanding since `idle_since`.
    fn on_idle(&mut self, _now: Instant, _idle_since: Instant) {}

    /// When the current growth epoch began, where the avoidance has epochs (CUBIC).
    fn epoch(&self) -> Option<Instant> {
        None
    }

    /// The connection begins. The window that it begins with, where the avoidance chooses that
    /// (Hybla); `None` leaves the initial window.
    fn begin(&mut self, _context: &BuildContext) -> Option<Bytes> {
        None
    }

    /// By how much slow start grows where start-up would grow it by `growth` (Hybla).
    fn on_slow_start(&mut self, growth: Bytes, _ack: &Ack, _window: &Window) -> Bytes {
        growth
    }

    /// `snd_una` advanced and no reduction is in progress. Asked before anything grows, in slow
    /// start and above it, whether or not the window is what limits the sender: `Some` is the
    /// window from now on, and nothing else changes it on this ACK (Vegas, FAST).
    fn decide(&mut self, _ack: &Ack, _window: &Window) -> Option<Decision> {
        None
    }

    /// A reduction ends. Where the window and the threshold then become something else than the
    /// threshold of [`Self::on_congestion`]: that (Westwood+).
    fn on_recovery_exit(&mut self, _window: &Window) -> Option<Bytes> {
        None
    }

    /// A reduction has begun: below this a recovery that shrinks the window step by step does not
    /// take it (`min_cwnd` of Linux 2.6; see `RateHalving`).
    fn recovery_floor(&self, window: &Window) -> Bytes {
        window.ssthresh
    }
}

/// The window that an avoidance decides on for itself; see [`Avoidance::decide`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The window from now on.
    pub cwnd: Bytes,
    /// The threshold from now on.
    pub ssthresh: Bytes,
    /// Why slow start ended, if this ends it.
    pub reason: ExitReason,
}

/// Sets the window while a reduction is in progress.
pub trait Recovery {
    /// An episode begins with this window, toward this threshold. Returns the window at entry.
    fn enter(&mut self, window: &Window, ssthresh: Bytes, in_flight: Bytes) -> Bytes;

    /// The window after this ACK.
    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Bytes;

    /// A segment left during the episode.
    fn on_sent(&mut self, _size: Bytes) {}

    /// The episode that has just begun does not take the window below `floor`.
    fn bound(&mut self, _floor: Bytes) {}

    /// The window when the episode ends: the threshold, where nothing else is said.
    fn on_exit(&self, window: &Window) -> Bytes {
        window.ssthresh
    }
}

/// What a transport sees.
pub trait CongestionControl {
    /// `cwnd` and `ssthresh` now.
    fn window(&self) -> Window;

    /// A pacing rate, where the algorithm sets one itself; `None` leaves it to the transport.
    fn pacing_rate(&self) -> Option<Rate>;

    /// Whether the algorithm needs pacing, at this time, even where the transport is otherwise
    /// unpaced (BBR; start-ups that spread a jump).
    fn requires_pacing(&self) -> bool {
        false
    }

    /// While pacing is required: nothing leaves before this time.
    fn pacing_start(&self) -> Option<Instant> {
        None
    }

    /// The fewest segments that a paced burst has, where there are as many to send: Linux
    /// `tcp_min_tso_segs`, unless the algorithm says otherwise.
    fn least_burst_segments(&self) -> u32 {
        2
    }

    /// Whether sending changes window or pacing, so that the transport must look at both after each
    /// segment. It never changes.
    fn steers_sending(&self) -> bool {
        false
    }

    /// A receive window that the sender supposes, whatever smaller one is announced, as long as any
    /// is; asked of those that steer sending.
    fn supposed_receive_window(&self) -> Option<Bytes> {
        None
    }

    /// The connection is established; nothing was sent yet.
    fn on_established(&mut self, _start: &Established) {}

    /// Whether each ACK sends a copy of a segment in flight, whatever the window says.
    fn sends_copies(&self) -> bool {
        false
    }

    /// As [`Startup::requested_rate`].
    fn requested_rate(&self, _queued: Bytes) -> Option<Rate> {
        None
    }

    /// As [`Startup::on_approval`].
    fn on_approval(&mut self, _now: Instant, _rate: Rate, _rtt: Duration) {}

    /// Bytes that every data packet carries for the routers of the path; `None` for the congestion
    /// controls that talk to no router with data. It never changes.
    fn header_bytes(&self) -> Option<u32> {
        None
    }

    /// What the packet that leaves now carries for the routers; asked where there is a header.
    fn feedback(&self) -> Option<Feedback> {
        None
    }

    /// What the routers told a packet whose ACK is about to be handled.
    fn on_feedback(&mut self, _now: Instant, _feedback: &Feedback) {}

    /// Whether the transport remembers, for each segment, what was in flight and what had been lost
    /// when it left: [`Self::on_lost`] is called, and rate samples tell both. It never changes.
    fn watches_losses(&self) -> bool {
        false
    }

    /// A segment was declared lost: between [`Self::on_delivery`] and [`Self::on_congestion`] or
    /// [`Self::on_ack`], or before the [`Self::on_congestion`] of a timer. Only for those that watch
    /// losses.
    fn on_lost(&mut self, _lost: &Lost) {}

    /// A segment left.
    fn on_sent(&mut self, sent: &Sent);

    /// First call for an ACK that delivered data: before losses are marked.
    fn on_delivery(&mut self, ack: &Ack);

    /// Second call for every ACK: after losses are marked and the phase is known.
    fn on_ack(&mut self, ack: &Ack);

    /// A congestion episode begins. For a timeout the window becomes `in_flight + smss`.
    fn on_congestion(&mut self, congestion: &Congestion);

    /// The episode (Cwr or Recovery) ended. `undone` is false; see [`Self::undo`].
    fn on_recovery_exit(&mut self, now: Instant);

    /// The last reduction was a mistake: restore what it took.
    fn undo(&mut self, now: Instant);

    /// The application paused longer than the retransmission timeout (`idle > rto`), and restart
    /// after idle is on: Linux `tcp_cwnd_restart`. `initial_window` is what it may restart from.
    fn on_idle_restart(
        &mut self,
        now: Instant,
        idle: Duration,
        rto: Duration,
        initial_window: Bytes,
        snd_nxt: u64,
    );

    /// The application used only `used` of the window for an RTO: Linux `tcp_cwnd_application_limited`.
    fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes);

    /// The end of the first slow start, once it has happened.
    fn slow_start_exit(&self) -> Option<SlowStartExit>;

    /// The decision that a passive start-up logged and did not act on.
    fn passive_decision(&self) -> Option<SlowStartExit> {
        None
    }

    /// The connection is over: what later ones over the same path should know.
    fn on_close(&self, _now: Instant, _memory: &mut PathMemory) {}
}
