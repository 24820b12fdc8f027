//! What a Python class receives. The comment of a field is its documentation in Python, too.

use congestion::{CongestionKind, Phase};
use pyo3::prelude::*;
use units::{Bytes, Duration};

/// A segment that was sent.
#[pyclass(frozen, get_all, module = "slowstart")]
pub struct Sent {
    /// Time, in nanoseconds since the run began.
    now_ns: u64,
    /// Size in bytes, as counted in the window: a full segment counts `smss`.
    size: u64,
    /// Bytes in flight before this segment.
    in_flight: u64,
    /// Offset of the next byte to send, after this segment. Offsets count payload bytes from zero.
    snd_nxt: u64,
    /// Whether the segment was sent before.
    retransmission: bool,
    /// Whether the application, not the window, limited the sender.
    app_limited: bool,
}

/// An acknowledgment.
#[pyclass(frozen, get_all, module = "slowstart")]
pub struct Ack {
    /// Time, in nanoseconds since the run began.
    now_ns: u64,
    /// Bytes that this ACK reports as delivered, SACKed bytes included, each byte once.
    delivered: u64,
    /// Bytes declared lost while this ACK was processed; 0 in `on_delivery`, which comes before.
    newly_lost: u64,
    /// Bytes in flight before this ACK.
    prior_in_flight: u64,
    /// Bytes in flight after this ACK; in `on_delivery` before losses are marked.
    in_flight: u64,
    /// Offset of the first byte not acknowledged, after this ACK. Offsets count payload bytes from
    /// zero.
    snd_una: u64,
    /// Offset of the next byte to send, before this ACK releases any segment.
    snd_nxt: u64,
    /// Whether `snd_una` advanced.
    advanced: bool,
    /// Payload bytes sent so far, retransmissions included.
    bytes_sent: u64,
    /// Round-trip time in nanoseconds of the newest segment that this ACK delivered and that was
    /// sent once; `None` if there is no such segment.
    latest_rtt_ns: Option<u64>,
    /// Smoothed round-trip time, in nanoseconds.
    srtt_ns: u64,
    /// Smallest round-trip time of the last five minutes, in nanoseconds.
    min_rtt_ns: u64,
    /// Delivery rate in bit/s, measured over the flight of the newest segment that this ACK
    /// delivered, as in Linux. `None` without a valid sample, in `on_delivery`, and for an avoidance.
    delivery_rate: Option<u64>,
    /// Whether the window limited the sender.
    cwnd_limited: bool,
    /// Whether the application limited the sender: it had no data to send, and what was in flight
    /// then is not all delivered.
    app_limited: bool,
    /// State of the sender, as in Linux: `"open"`, `"disorder"`, `"cwr"` (a reduction after a mark),
    /// `"recovery"` (a reduction after a loss) or `"loss"` (after a timeout).
    phase: &'static str,
}

/// The window.
#[pyclass(frozen, get_all, name = "Window", module = "slowstart")]
pub struct View {
    /// Congestion window, in bytes.
    cwnd: u64,
    /// Slow-start threshold, in bytes; `None` until it is first set. The sender is in slow start
    /// while `cwnd` is below it.
    ssthresh: Option<u64>,
    /// Sender maximum segment size: payload bytes of a full segment.
    smss: u64,
}

/// The beginning of a congestion episode.
#[pyclass(frozen, get_all, module = "slowstart")]
pub struct Congestion {
    /// Time, in nanoseconds since the run began.
    now_ns: u64,
    /// `"loss"`, `"ecn"` (a mark) or `"timeout"`.
    kind: &'static str,
    /// State of the sender before the episode, as in `Ack.phase`.
    phase: &'static str,
    /// Bytes in flight, without what was lost.
    in_flight: u64,
    /// Offset of the next byte to send. Offsets count payload bytes from zero.
    snd_nxt: u64,
    /// False if a timeout repeats for the same window.
    first_of_window: bool,
}

impl Sent {
    pub fn new(sent: &congestion::Sent) -> Self {
        Self {
            now_ns: sent.now.as_nanos(),
            size: sent.size.get(),
            in_flight: sent.in_flight.get(),
            snd_nxt: sent.snd_nxt,
            retransmission: sent.retransmission,
            app_limited: sent.app_limited,
        }
    }
}

impl Ack {
    pub fn new(ack: &congestion::Ack) -> Self {
        let rate = ack.rate.filter(|rate| !rate.interval.is_zero());
        let bits_per_second = |rate: congestion::rate_sample::RateSample| {
            let bits = u128::from(rate.delivered.get()) * 8 * 1_000_000_000;
            u64::try_from(bits / u128::from(rate.interval.as_nanos())).unwrap_or(u64::MAX)
        };
        Self {
            now_ns: ack.now.as_nanos(),
            delivered: ack.delivered.get(),
            newly_lost: ack.newly_lost.get(),
            prior_in_flight: ack.prior_in_flight.get(),
            in_flight: ack.in_flight.get(),
            snd_una: ack.snd_una,
            snd_nxt: ack.snd_nxt,
            advanced: ack.advanced,
            bytes_sent: ack.bytes_sent,
            latest_rtt_ns: ack.latest_rtt.map(Duration::as_nanos),
            srtt_ns: ack.srtt.as_nanos(),
            min_rtt_ns: ack.min_rtt.as_nanos(),
            delivery_rate: rate.map(bits_per_second),
            cwnd_limited: ack.cwnd_limited,
            app_limited: ack.app_limited,
            phase: phase(ack.phase),
        }
    }

    /// For an avoidance, whose transport takes no rate samples.
    pub fn without_rate(ack: &congestion::Ack) -> Self {
        Self::new(&congestion::Ack { rate: None, ..*ack })
    }
}

impl View {
    pub fn new(window: &congestion::Window) -> Self {
        Self {
            cwnd: window.cwnd.get(),
            ssthresh: (window.ssthresh != Bytes::MAX).then(|| window.ssthresh.get()),
            smss: window.smss.get(),
        }
    }
}

impl Congestion {
    pub fn new(congestion: &congestion::Congestion) -> Self {
        Self {
            now_ns: congestion.now.as_nanos(),
            kind: kind(congestion.kind),
            phase: phase(congestion.phase),
            in_flight: congestion.in_flight.get(),
            snd_nxt: congestion.snd_nxt,
            first_of_window: congestion.first_of_window,
        }
    }
}

/// The name of a kind of congestion.
pub const fn kind(kind: CongestionKind) -> &'static str {
    match kind {
        CongestionKind::Loss => "loss",
        CongestionKind::Ecn => "ecn",
        CongestionKind::Timeout => "timeout",
    }
}

const fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Open => "open",
        Phase::Disorder => "disorder",
        Phase::Cwr => "cwr",
        Phase::Recovery => "recovery",
        Phase::Loss => "loss",
    }
}
