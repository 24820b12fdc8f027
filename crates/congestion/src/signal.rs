//! What the transport tells a congestion control, and what the parts answer.

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use crate::BuildContext;
use crate::memory::PathMemory;
use crate::rate_sample::RateSample;

/// State of the sender, with the names and meaning of Linux (`tcp_ca_state`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing suspicious.
    Open,
    /// SACKs or duplicate ACKs were seen, no loss is declared.
    Disorder,
    /// The window is being reduced for a reason other than loss (ECN).
    Cwr,
    /// Fast recovery.
    Recovery,
    /// After a retransmission timeout.
    Loss,
}

impl Phase {
    /// Whether recovery, not growth, sets the window now.
    #[must_use]
    pub const fn is_reducing(self) -> bool {
        matches!(self, Self::Cwr | Self::Recovery)
    }
}

/// The two numbers that every part may read, with the unit they are counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow-start threshold; [`Bytes::MAX`] until it is first set.
    pub ssthresh: Bytes,
    /// Sender maximum segment size (payload bytes of a full segment).
    pub smss: Bytes,
}

impl Window {
    /// Slow start iff `cwnd < ssthresh`, as in Linux.
    #[must_use]
    pub fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// The congestion window in whole segments.
    #[must_use]
    pub const fn cwnd_segments(&self) -> u64 {
        self.cwnd.segments(self.smss)
    }

    /// Linux's `tcp_current_ssthresh`: what the threshold should be after a pause, given the
    /// window that was in use (`max(ssthresh, 3/4 cwnd)`, in whole segments, outside a reduction).
    #[must_use]
    pub fn current_ssthresh(&self, phase: Phase) -> Bytes {
        if phase.is_reducing() {
            return self.ssthresh;
        }
        let cwnd = self.cwnd_segments();
        self.ssthresh.max(self.smss * (cwnd / 2 + cwnd / 4))
    }
}

/// The connection is established; nothing was sent yet.
#[derive(Clone, Copy, Debug)]
pub struct Established {
    /// When.
    pub now: Instant,
    /// Round-trip time of the handshake, where it gave one.
    pub rtt: Option<Duration>,
    /// What the application has written; [`Bytes::MAX`] never ends.
    pub queued: Bytes,
    /// What the receiver has room for.
    pub receive_window: Bytes,
    /// What earlier connections over the path left.
    pub memory: PathMemory,
}

/// One segment left the sender.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// When.
    pub now: Instant,
    /// Size as the window counts it (a whole `smss` in a transport that counts segments).
    pub size: Bytes,
    /// In flight before this segment.
    pub in_flight: Bytes,
    /// `SND.NXT` after this segment, as an offset from the initial sequence number.
    pub snd_nxt: u64,
    /// Whether it was sent before.
    pub retransmission: bool,
    /// When nothing was outstanding: the time of the send before this one.
    pub idle_since: Option<Instant>,
    /// Whether the sender was limited by the application at that time.
    pub app_limited: bool,
}

/// One segment was declared lost, for those that [watch losses](CongestionControl::watches_losses).
#[derive(Clone, Copy, Debug)]
pub struct Lost {
    /// When it was declared lost.
    pub now: Instant,
    /// Size as the window counts it.
    pub size: Bytes,
    /// Where its payload begins and ends, as offsets from the initial sequence number.
    pub seq: u64,
    /// See [`Self::seq`].
    pub end: u64,
    /// The connection's total of delivered data now.
    pub delivered: Bytes,
    /// In flight just after it was (last) sent, itself included.
    pub tx_in_flight: Bytes,
    /// Declared lost since it was (last) sent, itself included.
    pub lost: Bytes,
    /// Whether it was sent while the application limited the sender.
    pub app_limited: bool,
}

/// One acknowledgment was processed.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// When.
    pub now: Instant,
    /// Delivered by this ACK: newly acknowledged cumulatively plus newly SACKed, each segment once.
    pub delivered: Bytes,
    /// Declared lost while processing this ACK (zero in `on_delivery`).
    pub newly_lost: Bytes,
    /// In flight before this ACK.
    pub prior_in_flight: Bytes,
    /// In flight now (in `on_delivery`: before losses are marked).
    pub in_flight: Bytes,
    /// First unacknowledged offset, after this ACK. Offsets count payload bytes from zero.
    pub snd_una: u64,
    /// Next offset to be sent, before this ACK released anything.
    pub snd_nxt: u64,
    /// Whether `snd_una` advanced.
    pub advanced: bool,
    /// Payload bytes sent so far, retransmissions included.
    pub bytes_sent: u64,
    /// Round-trip time of the newest never-retransmitted segment that this ACK delivered.
    pub latest_rtt: Option<Duration>,
    /// Smoothed round-trip time.
    pub srtt: Duration,
    /// Smallest round-trip time of the connection's window of minima.
    pub min_rtt: Duration,
    /// Delivery-rate sample, where one is valid.
    pub rate: Option<RateSample>,
    /// Whether the window was what limited the sender (Linux `tcp_is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// Whether the application limits the sender: its data had run out when it wrote again, and what
    /// was in flight then is not all delivered (Linux `tp->app_limited`).
    pub app_limited: bool,
    /// The state after loss detection (in `on_delivery`: before it).
    pub phase: Phase,
    /// Whether the sender paces.
    pub paced: bool,
    /// The sender's pacing rate, computed whether it paces or not; [`Rate::MAX`] when unknown.
    pub pacing_rate: Rate,
}

/// Why the window must be reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CongestionKind {
    /// Loss was detected; fast recovery begins.
    Loss,
    /// The network marked a packet; the CWR state begins.
    Ecn,
    /// The retransmission timer expired.
    Timeout,
}

/// A congestion episode begins.
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    /// When.
    pub now: Instant,
    /// Why.
    pub kind: CongestionKind,
    /// The state before the episode.
    pub phase: Phase,
    /// In flight when it began, lost segments excluded.
    pub in_flight: Bytes,
    /// `SND.NXT` when it began.
    pub snd_nxt: u64,
    /// False when a timeout repeats for the same window: the threshold is then kept.
    pub first_of_window: bool,
}

/// What a start-up wants done with the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Grow by this much, not past the threshold.
    Grow(Bytes),
    /// Set the window (a drain phase), staying in start-up.
    Set(Bytes),
    /// Leave start-up.
    Exit {
        /// The window from now on.
        cwnd: Bytes,
        /// The threshold from now on.
        ssthresh: Bytes,
        /// Why, with the evidence.
        reason: ExitReason,
    },
}

/// A window and a threshold that a start-up sets itself, around an episode that it takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The window.
    pub cwnd: Bytes,
    /// The threshold.
    pub ssthresh: Bytes,
}

/// Why slow start ended, with the evidence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitReason {
    /// HyStart: the ACK train of the round became as long as the threshold.
    AckTrain {
        /// How long the train of the round was.
        train: Duration,
        /// How long it could be.
        threshold: Duration,
    },
    /// HyStart: the round's smallest RTT rose above the threshold.
    Delay {
        /// Smallest RTT of the round.
        rtt: Duration,
        /// What it could be.
        threshold: Duration,
    },
    /// HyStart++: conservative slow start lasted its rounds.
    ConservativeRounds {
        /// Smallest RTT of the round that began conservative slow start.
        baseline_rtt: Duration,
        /// How many rounds it lasted.
        rounds: u32,
    },
    /// SEARCH: delivery fell behind; the norm in thousandths, the two windows in bytes.
    Search {
        /// How far delivery fell behind what was expected, in thousandths of that.
        norm_permille: i64,
        /// Delivered in the window that ends now.
        current: Bytes,
        /// Delivered (2.0, 3.x) or sent (4.0) in the window that ended one RTT before.
        previous: Bytes,
    },
    /// The window reached the product of an estimated bandwidth and the smallest RTT.
    Bandwidth {
        /// The estimate.
        estimate: Rate,
        /// The smallest RTT.
        min_rtt: Duration,
    },
    /// A start-up that lives outside of this crate said so.
    Decision,
    /// BBR: bandwidth stopped growing.
    FullPipe,
    /// The window reached a threshold set before.
    Threshold,
    /// A loss ended it.
    Loss,
    /// An ECN mark ended it.
    Ecn,
    /// A retransmission timeout ended it.
    Timeout,
}

impl ExitReason {
    /// The word for it in results.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        match self {
            Self::AckTrain { .. } => "ack-train",
            Self::Delay { .. } => "delay",
            Self::ConservativeRounds { .. } => "css-rounds",
            Self::Search { .. } => "search",
            Self::Bandwidth { .. } => "bandwidth",
            Self::Decision => "decision",
            Self::FullPipe => "full-pipe",
            Self::Threshold => "ssthresh",
            Self::Loss => "loss",
            Self::Ecn => "ecn",
            Self::Timeout => "timeout",
        }
    }

    /// Whether slow start ended only because the network lost or marked packets.
    #[must_use]
    pub const fn is_congestion(&self) -> bool {
        matches!(self, Self::Loss | Self::Ecn | Self::Timeout)
    }
}

/// The end of a slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlowStartExit {
    /// When.
    pub at: Instant,
    /// The window when it was decided, before any reduction.
    pub cwnd: Bytes,
    /// Why.
    pub reason: ExitReason,
}

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
