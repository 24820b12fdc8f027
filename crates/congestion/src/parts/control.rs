//! The contract between a transport and its congestion control.

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use super::hooks::hooks;
use super::needs::Needs;
use crate::exit::SlowStartExit;
use crate::memory::{PathMemory, Resumption};
use crate::signal::{Ack, Congestion, Established, KnownPath, Lost, Sent, Window};

hooks! {
    ($)
    /// What a transport sees.
    pub trait CongestionControl, listed by congestion_control_hooks;

    required {
        /// `cwnd` and `ssthresh` now.
        fn window(&self) -> Window;

        /// A pacing rate, where the algorithm sets one itself; `None` leaves it to the transport.
        fn pacing_rate(&self) -> Option<Rate>;

        /// A segment left.
        fn on_sent(&mut self, sent: &Sent);

        /// Second call for every ACK: after losses are marked and the phase is known.
        fn on_ack(&mut self, ack: &Ack);

        /// A congestion episode begins. For a timeout the window becomes `in_flight + smss`.
        fn on_congestion(&mut self, congestion: &Congestion);

        /// The last reduction was a mistake: restore what it took.
        fn undo(&mut self, now: Instant);

        /// The end of the first slow start, once it has happened.
        fn slow_start_exit(&self) -> Option<SlowStartExit>;
    }

    provided {
        /// First call for an ACK that delivered data: before losses are marked. It changes the
        /// window in slow start only.
        fn on_delivery(&mut self, ack: &Ack) {}

        /// Whether the algorithm responds to each mark that AccECN reports. The transport then sends
        /// ECT(1), reports marks by [`Self::on_marks`], and begins no CWR episode. It never changes.
        fn reads_marks(&self) -> bool { false }

        /// Between the two calls for an ACK, if [`Self::reads_marks`]: how much of what it delivered
        /// was marked.
        fn on_marks(&mut self, marked: Bytes) {}

        /// The episode (Cwr or Recovery) ended, and was not a mistake; see [`Self::undo`].
        fn on_recovery_exit(&mut self, now: Instant) {}

        /// The application paused longer than the retransmission timeout (`idle > rto`), and
        /// restart after idle is on: Linux `tcp_cwnd_restart`, which exempts congestion controls with a
        /// model. The window may restart from `initial_window`: the connection's own, also where it
        /// began with less because its SYN was lost.
        fn on_idle_restart(
            &mut self,
            now: Instant,
            idle: Duration,
            rto: Duration,
            initial_window: Bytes,
            snd_nxt: u64,
        ) {}

        /// The application used only `used` of the window for an RTO: Linux
        /// `tcp_cwnd_application_limited`, which exempts congestion controls with a model.
        fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes) {}

        /// Whether a reduction waits for deliveries, so that one which a timer begins needs one
        /// segment granted (Linux `tcp_cwnd_reduction`). It never changes.
        fn reduces_by_deliveries(&self) -> bool { false }

        /// Whether required pacing spreads the segments from the first one on, without the quantum
        /// that Linux lets pass at first. It never changes.
        fn paces_first_segments(&self) -> bool { false }

        /// Whether the algorithm needs pacing, at this time, even where the transport is otherwise
        /// unpaced (BBR; start-ups that spread a jump).
        fn requires_pacing(&self) -> bool { false }

        /// While pacing is required: nothing leaves before this time.
        fn pacing_start(&self) -> Option<Instant> { None }

        /// The fewest segments that a paced burst has, where there are as many to send: Linux
        /// `tcp_min_tso_segs`, unless the algorithm says otherwise.
        fn least_burst_segments(&self) -> u32 { 2 }

        /// Whether sending changes window or pacing, so that the transport must look at both after
        /// each segment. It never changes.
        fn steers_sending(&mut self) -> bool { false }

        /// See [`SteersSending::supposed_receive_window`](crate::SteersSending).
        fn supposed_receive_window(&mut self) -> Option<Bytes> { None }

        /// The connection is established; nothing was sent yet.
        fn on_established(&mut self, start: &Established) {}

        /// Whether each ACK sends a copy of a segment in flight, whatever the window says.
        fn sends_copies(&self) -> bool { false }

        /// See [`AsksRouters::requested_rate`](crate::AsksRouters::requested_rate).
        fn requested_rate(&mut self, queued: Bytes) -> Option<Rate> { None }

        /// See [`AsksRouters::on_approval`](crate::AsksRouters::on_approval).
        fn on_approval(&mut self, now: Instant, rate: Rate, rtt: Duration) {}

        /// See [`AsksRouters::thins_acks`](crate::AsksRouters::thins_acks).
        fn thins_acks(&mut self) -> bool { false }

        /// Whether it needs a simulator's knowledge of the path ([`Self::on_path`]). It never
        /// changes.
        fn knows_path(&mut self) -> bool { false }

        /// See [`KnowsPath::on_path`](crate::KnowsPath::on_path).
        fn on_path(&mut self, now: Instant, path: &KnownPath) {}

        /// Bytes that every data packet carries for the routers of the path; `None` for congestion
        /// controls whose data carries nothing for routers. It never changes.
        fn header_bytes(&self) -> Option<u32> { None }

        /// What the packet that leaves now carries for the routers; asked where there is a header.
        fn feedback(&self) -> Option<Feedback> { None }

        /// What the routers wrote into a packet whose ACK is about to be handled.
        fn on_feedback(&mut self, now: Instant, feedback: &Feedback) {}

        /// Whether the transport remembers, for each segment, what was in flight and what had been
        /// lost when it left: it calls [`Self::on_lost`], and rate samples contain both. It never
        /// changes.
        fn watches_losses(&self) -> bool { false }

        /// A segment was declared lost: between [`Self::on_delivery`] and [`Self::on_congestion`]
        /// or [`Self::on_ack`], or before the [`Self::on_congestion`] of a timer. Only for those that
        /// watch losses.
        fn on_lost(&mut self, lost: &Lost) {}

        /// `count` segments left one after the other, and `first` was the first of them.
        fn on_sent_burst(&mut self, first: &Sent, count: u32) {
            let mut sent = *first;
            for _ in 0..count {
                self.on_sent(&sent);
                sent = sent.following();
            }
        }

        /// A full packet now carries `smss`: path MTU discovery succeeded, or the path changed
        /// (RFC 8899; RFC 9002, section 7.2). The window keeps its bytes, in whole segments of the
        /// new size.
        fn on_mtu(&mut self, now: Instant, smss: Bytes) {}
        /// What it needs of the transport. It never changes.
        fn needs(&self) -> Needs { Needs::ALL }

        /// The decision that a passive start-up logged and did not act on.
        fn passive_decision(&self) -> Option<SlowStartExit> { None }

        /// What it made of what earlier connections had saved.
        fn resumption(&self) -> Option<Resumption> { None }

        /// The connection is over: what later ones over the same path should know.
        fn on_close(&self, now: Instant, memory: &mut PathMemory) {}
    }
}
