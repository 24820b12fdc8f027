//! The signals from the transport to a congestion control, and the decisions of its parts.

use units::{Bytes, Duration, Instant, Rate};

use crate::exit::ExitReason;
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

    /// What an ACK acknowledged in whole segments. Nearly always these are one or two.
    #[inline]
    #[must_use]
    pub fn segments(&self, acked: Bytes) -> u64 {
        if acked == self.smss * 2 {
            2
        } else if acked == self.smss {
            1
        } else {
            acked.segments(self.smss)
        }
    }

    /// The same bytes in whole segments of `smss`, rounded down: at least one segment, and a
    /// threshold of at least two.
    pub(crate) fn in_segments_of(&self, smss: Bytes) -> Self {
        Self {
            cwnd: whole(self.cwnd, smss),
            ssthresh: whole(self.ssthresh, smss).max(smss * 2),
            smss,
        }
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

/// `size` in whole segments, at least one; "not yet known" stays what it is.
pub(crate) fn whole(size: Bytes, smss: Bytes) -> Bytes {
    if size == Bytes::MAX {
        return size;
    }
    (smss * size.segments(smss)).max(smss)
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

/// What a simulator knows of the path of a connection at this moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KnownPath {
    /// The rate of payload that the bottleneck carries, as a mean over a base RTT from now on;
    /// [`Rate::MAX`] without a bottleneck.
    pub rate: Rate,
    /// The round-trip time of a path without queues.
    pub base_rtt: Duration,
    /// How long a packet that arrives now waits at the bottleneck.
    pub queue_delay: Duration,
    /// How long the bottleneck has been busy without a pause.
    pub busy_for: Duration,
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

impl Sent {
    /// The next segment of a burst of full segments, none of which was sent before.
    #[must_use]
    pub fn following(&self) -> Self {
        Self {
            in_flight: self.in_flight + self.size,
            snd_nxt: self.snd_nxt + self.size.get(),
            idle_since: None,
            ..*self
        }
    }
}

/// One segment was declared lost, for those that [watch losses](crate::CongestionControl::watches_losses).
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

/// What an ACK above slow start reports that only says that data has arrived, in the state Open,
/// with nothing lost: all that the common congestion controls read of its [`Ack`].
#[derive(Clone, Copy, Debug)]
pub struct OrdinaryAck {
    /// When.
    pub now: Instant,
    /// What may be credited of that which it delivered.
    pub delivered: Bytes,
    /// Round-trip time of the newest segment that it delivered.
    pub rtt: Duration,
    /// Whether the window was what limited the sender.
    pub cwnd_limited: bool,
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

/// The pace that a start-up needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The rate at which segments leave.
    pub rate: Rate,
    /// Nothing leaves before this time.
    pub not_before: Option<Instant>,
}

impl Pace {
    /// At `rate`, from this moment on.
    #[must_use]
    pub const fn at(rate: Rate) -> Self {
        Self {
            rate,
            not_before: None,
        }
    }
}

/// A window and a threshold that a start-up sets itself, around an episode that it takes over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reduction {
    /// The window.
    pub cwnd: Bytes,
    /// The threshold.
    pub ssthresh: Bytes,
}
