//! The contract of a start-up.
//!
//! A start-up implements [`Startup`], of which only [`Startup::on_ack`] is required. What a few
//! start-ups need besides stands in small traits of its own ([`JumpStarts`], [`AsksRouters`],
//! [`SteersSending`], [`KnowsPath`]); a start-up that implements one returns itself from the method of that name.

use units::{Bytes, Duration, Instant, Rate};

use super::hooks::hooks;
use super::needs::Needs;
use crate::exit::SlowStartExit;
use crate::memory::{PathMemory, Resumption};
use crate::signal::{Ack, Congestion, Established, KnownPath, Pace, Reduction, Sent, Step, Window};

hooks! {
    ($)
    /// Finds the capacity of an unknown path.
    pub trait Startup, listed by startup_hooks;

    required {
        /// What this ACK does to the window. Called only in slow start, when growth is allowed
        /// (`snd_una` advanced, limited by the window, no reduction in progress); `ack.delivered`
        /// is what may be credited.
        fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step;
    }

    provided {
        /// The connection is established. `Some` changes the window before anything is sent.
        fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> { None }

        /// A segment left.
        fn on_sent(&mut self, sent: &Sent) {}

        /// An ACK delivered data; the detectors run here. Called on every ACK that delivered data,
        /// before losses are marked and before the window grows, whatever the phase, as long as the
        /// window is in slow start (Linux's `pkts_acked` hook). `Some` leaves slow start at once;
        /// congestion avoidance then handles the same ACK.
        fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> { None }

        /// An ACK delivered data, in any phase and also after slow start; before
        /// [`Self::on_delivery`].
        fn observe(&mut self, ack: &Ack, window: &Window) {}

        /// A congestion episode begins; the initial slow start is over.
        fn on_congestion(&mut self, congestion: &Congestion) {}

        /// Slow start begins again after a timeout. (A pause shows as `idle_since` in
        /// [`Self::on_sent`].)
        fn restart(&mut self, now: Instant, snd_nxt: u64) {}

        /// The pace that the start-up needs, even where the transport does not pace otherwise. It
        /// holds in slow start; `None` leaves pacing to the transport.
        fn pacing(&self) -> Option<Pace> { None }

        // What few need: a start-up without it writes nothing.

        /// The start-up itself, where it responds to the congestion that its jump caused.
        fn jump_starts(&mut self) -> Option<&mut dyn JumpStarts> { None }

        /// The start-up itself, where it asks the routers of the path for a rate.
        fn asks_routers(&mut self) -> Option<&mut dyn AsksRouters> { None }

        /// The start-up itself, where sending changes the window or the pace. Whether it does never
        /// changes: the transport then looks at both after each segment.
        fn steers_sending(&mut self) -> Option<&mut dyn SteersSending> { None }

        /// The start-up itself, where it needs a simulator's knowledge of the path. Whether it does
        /// never changes; no real transport can serve it.
        fn knows_path(&mut self) -> Option<&mut dyn KnowsPath> { None }

        /// Whether each ACK sends a copy of a segment in flight, the last one first, until that
        /// meets what is acknowledged.
        fn sends_copies(&self) -> bool { false }

        /// What it needs of the transport. It never changes.
        fn needs(&self) -> Needs { Needs::ALL }

        /// In passive mode: the decision that was logged and not acted on.
        fn passive_decision(&self) -> Option<SlowStartExit> { None }

        /// What it made of what earlier connections had saved.
        fn resumption(&self) -> Option<Resumption> { None }

        /// The connection is over: what later ones over the same path should know.
        fn on_close(&self, now: Instant, memory: &mut PathMemory) {}
    }
}

/// A start-up that responds to the congestion that its jump caused.
pub trait JumpStarts {
    /// Asked after [`Startup::on_congestion`], unless it is a timeout, with the window before the
    /// episode. `Some` takes the episode over: window and threshold are these (the avoidance is
    /// notified of the congestion all the same), [`Self::on_recovery_ack`] sets the window until
    /// the episode ends, and [`Self::on_recovery_exit`] what it leaves.
    fn take_over(&mut self, _congestion: &Congestion, _window: &Window) -> Option<Reduction> {
        None
    }

    /// A congestion episode begins: the window that the avoidance reduces, where it is not the
    /// current one. Asked before [`Startup::on_congestion`].
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
}

/// A start-up that asks the routers of the path for a rate.
pub trait AsksRouters {
    /// The rate to ask for in the handshake, for an application that has written `queued` by then.
    /// `None` asks nothing.
    fn requested_rate(&self, queued: Bytes) -> Option<Rate>;

    /// Every router of the path approved `rate`, headers included, in a handshake of `rtt`. Called
    /// after [`Startup::on_established`].
    fn on_approval(&mut self, rate: Rate, rtt: Duration, window: &Window) -> Option<Step>;

    /// Whether the receiver sends fewer ACKs for the data that leaves at an approved rate (RFC 4782,
    /// section 4.5). It never changes.
    fn thins_acks(&self) -> bool {
        false
    }
}

/// A start-up that knows what no sender can know.
pub trait KnowsPath {
    /// The path at this moment. Called when the connection is established, before anything is sent,
    /// and after ACKs of slow start.
    fn on_path(&mut self, path: &KnownPath, window: &Window) -> Option<Step>;
}

/// A start-up whose window or pace changes as segments leave.
pub trait SteersSending {
    /// A segment left in slow start: what that does to the window (growth that sending releases,
    /// not ACKs).
    fn after_sent(&mut self, sent: &Sent, window: &Window) -> Option<Step>;

    /// A receive window to send by where the advertised one is smaller but not zero, against RFC
    /// 9293 section 3.8.6.
    fn supposed_receive_window(&self) -> Option<Bytes> {
        None
    }
}
