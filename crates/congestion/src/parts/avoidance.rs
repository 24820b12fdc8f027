//! The contracts of an avoidance and of a recovery.

use units::{Bytes, Instant};

use super::hooks::hooks;
use crate::BuildContext;
use crate::exit::ExitReason;
use crate::signal::{Ack, Congestion, Window};

hooks! {
    ($)
    /// Uses the capacity that start-up found.
    pub trait Avoidance, listed by avoidance_hooks;

    required {
        /// By how much the window grows when `acked` of this ACK is left for congestion avoidance.
        fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes;

        /// A congestion episode begins: the new threshold. (After a timeout, [`Self::on_timeout`]
        /// follows.)
        fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes;
    }

    provided {
        /// An ACK delivered data, in any phase, before losses are marked (delay filters).
        fn on_delivery(&mut self, ack: &Ack, window: &Window) {}

        /// Whether it responds to each mark that AccECN reports, and not to an episode of them.
        fn reads_marks(&self) -> bool { false }

        /// How much of what this ACK delivered was marked.
        fn on_marks(&mut self, marked: Bytes) {}

        /// Forget what a timeout makes worthless.
        fn on_timeout(&mut self) {}

        /// The last congestion episode is undone: it was spurious.
        fn on_undo(&mut self) {}

        /// Sending resumes after nothing was outstanding since `idle_since`.
        fn on_idle(&mut self, now: Instant, idle_since: Instant) {}

        /// When the current growth epoch began, where the avoidance has epochs (CUBIC).
        fn epoch(&self) -> Option<Instant> { None }

        /// The connection begins. The window that it begins with, where the avoidance chooses that
        /// (Hybla); `None` leaves the initial window.
        fn begin(&mut self, context: &BuildContext) -> Option<Bytes> { None }

        /// The slow-start threshold that the connection begins with, in segments; `None` is none.
        fn initial_threshold(&self) -> Option<u64> { None }

        /// A full segment carried `from` and now carries `to`: what the avoidance keeps in segments
        /// keeps its bytes.
        fn on_mtu(&mut self, from: Bytes, to: Bytes) {}
        /// By how much slow start grows where start-up would grow it by `growth` (Hybla).
        fn on_slow_start(&mut self, growth: Bytes, ack: &Ack, window: &Window) -> Bytes { growth }

        /// `snd_una` advanced and no reduction is in progress. Asked before anything grows, in slow
        /// start and above it, whether or not the window is what limits the sender: `Some` is the
        /// window from now on, and nothing else changes it on this ACK (Vegas, FAST).
        fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> { None }

        /// A reduction ends. Where the window and the threshold then become something else than the
        /// threshold of [`Self::on_congestion`]: that (Westwood+).
        fn on_recovery_exit(&mut self, window: &Window) -> Option<Bytes> { None }

        /// A reduction has begun: the least window of a recovery that shrinks it step by step
        /// (`min_cwnd` of Linux 2.6; see `RateHalving`).
        fn recovery_floor(&self, window: &Window) -> Bytes { window.ssthresh }
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

hooks! {
    ($)
    /// Sets the window while a reduction is in progress.
    pub trait Recovery, listed by recovery_hooks;

    required {
        /// An episode begins with this window, toward this threshold. Returns the window at entry.
        fn enter(&mut self, window: &Window, ssthresh: Bytes, in_flight: Bytes) -> Bytes;

        /// The window after this ACK.
        fn on_ack(&mut self, ack: &Ack, window: &Window) -> Bytes;
    }

    provided {
        /// A segment left during the episode.
        fn on_sent(&mut self, size: Bytes) {}

        /// The episode that has just begun does not take the window below `floor`.
        fn bound(&mut self, floor: Bytes) {}

        /// The window when the episode ends: the threshold, where nothing else is said.
        fn on_exit(&self, window: &Window) -> Bytes { window.ssthresh }
    }
}
