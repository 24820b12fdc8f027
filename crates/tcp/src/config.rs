//! Settings of a connection. Defaults are those of Linux 6.x.

use congestion::Algorithm;
use tables::{Key, Kind, LEAST_RATE, Rules, Wrong, described, words};
use units::{Bytes, Duration, Rate};

use crate::Tick;
use crate::accecn::{EcnSupport, agreement};

/// The sending side.
#[derive(Clone, Debug, PartialEq)]
pub struct SenderConfig {
    /// Start-up, avoidance and recovery, or a monolithic congestion control.
    pub algorithm: Algorithm,
    /// Sender maximum segment size in payload bytes. 1448 fills 1500 bytes of IP with timestamps.
    pub smss: u32,
    /// Initial window in segments (RFC 6928: 10).
    pub initial_window: u32,
    /// Whether bursts are paced, as under the `fq` queue discipline.
    pub pacing: bool,
    /// Largest unpaced burst in segments, sent as one TSO packet (64 KB: 45). 1 disables TSO.
    pub tso_segments: u32,
    /// Whether idle time longer than the RTO reduces the window (`tcp_slow_start_after_idle`).
    pub restart_after_idle: bool,
    /// Floor of the RTT variance term in the RTO (`rto_min`).
    pub rto_min: Duration,
    /// Whether data segments are ECN-capable.
    pub ecn: bool,
    /// Whether the peer permitted SACK. Without SACK, NewReno repairs losses.
    pub sack: bool,
    /// Without SACK: only the first partial ACK of a recovery restarts the retransmission timer
    /// (RFC 6582, section 4, "Impatient"). Linux restarts it at each partial ACK.
    pub impatient: bool,
    /// TCP Small Queues: the sender's own device may queue 2^-n seconds of the pacing rate, where n
    /// is this value (`sk_pacing_shift`: 10; Wi-Fi drivers relax it to 8 or 7). `None` disables the
    /// limit.
    pub small_queue: Option<u8>,
    /// How losses are detected, and how a timeout is treated.
    pub loss_detection: LossDetection,
    /// Whether an ACK earns growth for all bytes that it acknowledges, as since Linux 4.0 (RFC 3465
    /// without its limit). Otherwise an ACK earns growth for one segment, as before (`tcp_abc` 0).
    pub byte_counting: bool,
    /// Seed of the random draws of the congestion control (the phase of BBR's PROBE_BW).
    pub seed: u64,
    /// The tick of the sending host.
    pub tick: Tick,
}

impl SenderConfig {
    /// What Linux 6.x does by default, with segments of `smss` bytes, without pacing and without
    /// ECN.
    #[must_use]
    pub fn linux(algorithm: Algorithm, smss: u32) -> Self {
        Self {
            algorithm,
            smss,
            initial_window: 10,
            pacing: false,
            tso_segments: 45,
            restart_after_idle: true,
            rto_min: Duration::from_millis(200),
            ecn: false,
            sack: true,
            impatient: false,
            small_queue: None,
            loss_detection: LossDetection::default(),
            byte_counting: true,
            seed: 1,
            tick: Tick::NONE,
        }
    }
}

/// How losses are detected, and how a timeout is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum LossDetection {
    /// Linux 6.x: RACK-TLP (RFC 8985). A timeout that F-RTO finds spurious is undone.
    #[default]
    Rack,
    /// Linux 2.6.24: forward acknowledgment without probes. A timeout that F-RTO finds spurious
    /// reduces the window. After a genuine timeout, everything that is not SACKed is retransmitted.
    /// Requires SACK.
    Fack,
}

words!(LossDetection: "rack" => Rack, "fack" => Fack);

/// Which ends of a connection know AccECN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AccurateEcn {
    /// None.
    #[default]
    Off,
    /// Both.
    Both,
    /// The sender, which offers it to a receiver that knows RFC 3168 alone.
    Sender,
}

words!(AccurateEcn: "off" => Off, "both" => Both, "sender" => Sender);

impl AccurateEcn {
    /// Whether the handshake ends with an agreement on AccECN.
    #[must_use]
    pub fn is_agreed(self) -> bool {
        let support = |knows| {
            if knows {
                EcnSupport::Accurate
            } else {
                EcnSupport::Classic
            }
        };
        let client = support(self != Self::Off);
        let server = support(self == Self::Both);
        agreement(client, server) == EcnSupport::Accurate
    }
}

/// The receiving side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReceiverConfig {
    /// Largest receive buffer that autotuning may reach (`tcp_rmem[2]`), in bytes of window with
    /// segments of 1,448 bytes: 5/8 of its memory.
    pub receive_buffer: Bytes,
    /// Largest window of the SYN-ACK, which is a multiple of `mss`. Twice as much memory is there at
    /// first (`tcp_rmem[1]`).
    pub initial_window: Bytes,
    /// The payload of the largest segment that the host advertises.
    pub mss: u32,
    /// A longer packet than this is one that a driver merged (GRO) of segments of this size.
    pub merged: u32,
    /// Memory that each packet takes, whatever its length (`truesize`). Zero: what the packets of a
    /// TUN device or a virtual link take, which follows their length.
    pub truesize: u32,
    /// How the buffer grows with received data. In each mode, the advertised window opens from
    /// `initial_window` with each segment that arrives, as far as the buffer permits.
    pub autotuning: Autotuning,
    /// How segments are acknowledged.
    pub ack_policy: AckPolicy,
    /// Whether the peer permitted SACK.
    pub sack: bool,
    /// The tick of the receiving host.
    pub tick: Tick,
}

impl ReceiverConfig {
    /// What Linux 6.18 does by default, with segments of `mss` bytes.
    #[must_use]
    pub fn linux(receive_buffer: Bytes, mss: u32) -> Self {
        Self {
            receive_buffer,
            initial_window: receive_buffer.min(Bytes::new(65_535)),
            mss,
            merged: mss,
            truesize: 0,
            autotuning: Autotuning::default(),
            ack_policy: AckPolicy::default(),
            sack: true,
            tick: Tick::NONE,
        }
    }
}

/// How the receive buffer grows with received data (dynamic right-sizing).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Autotuning {
    /// Linux 6.16 and later.
    #[default]
    Current,
    /// Linux 5.4 to 6.5, the receivers of evaluations from 2020 to 2024. Adds a cushion of 16
    /// segments. Ignores unread data and out-of-order data.
    Linux54,
    /// Stable kernels before 6.6 since June 2025, such as 6.1.142. The same, but the RTT estimate
    /// falls at once.
    Linux61,
    /// Linux 6.6 to 6.15. The same, and the first segments show what memory is worth in window.
    Linux66,
    /// No autotuning: the buffer is `receive_buffer` from the start (`SO_RCVBUF`).
    Off,
}

words!(Autotuning: "linux-6.18" => Current, "linux-6.6" => Linux66, "linux-6.1" => Linux61, "linux-5.4" => Linux54, "off" => Off);

impl Autotuning {
    /// The one with this word, if there is one.
    #[must_use]
    pub fn of_word(word: &str) -> Option<Self> {
        let place = Self::WORDS.iter().position(|each| *each == word)?;
        Some(Self::OF_WORDS[place])
    }

    /// Whether the receiver sizes its buffer as Linux before 6.16.
    pub(crate) const fn is_older(self) -> bool {
        matches!(self, Self::Linux54 | Self::Linux61 | Self::Linux66)
    }

    /// Whether half of the memory always counts as payload.
    pub(crate) const fn halves_memory(self) -> bool {
        matches!(self, Self::Linux54 | Self::Linux61)
    }
}

/// How segments are acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AckPolicy {
    /// Linux: 16 quick ACKs at the start; then an ACK of every second full segment, or after the
    /// ATO.
    #[default]
    Delayed,
    /// An immediate ACK of each segment.
    EverySegment,
}

words!(AckPolicy: "delayed" => Delayed, "every-segment" => EverySegment);

/// The fastest optimistic ACKs: 8.6 million in a second.
const MOST_OPTIMISTIC: Rate = Rate::from_bits_per_sec(100_000_000_000);

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct Misbehavior("misbehavior", "misbehavior", "What a receiver does that does not \
comply with the standards (Savage et al. 1999).") {
        /// ACK division: how many ACKs, each of an equal part of the data, leave in place of one.
        divide: u32 = 1 => Key::of(Kind::Integer(1, 1000));
        /// Duplicate-ACK spoofing: how many copies follow each ACK.
        duplicate: u32 = 0 => Key::of(Kind::Integer(0, 1000));
        /// Optimistic ACKs: from the first data on, the receiver acknowledges full segments at this
        /// rate of payload, arrived or not, and no loss is ever reported: what is lost is missing
        /// from the stream.
        optimistic: Option<Rate> = None
            => Key::of(Kind::Rate(LEAST_RATE, MOST_OPTIMISTIC))
                .usually("only data that has arrived is acknowledged");
        /// Stretch ACKs: how many full segments the receiver lets arrive before it acknowledges
        /// them. A hole, a duplicate and the end of the stream are acknowledged at once.
        stretch: u32 = 1 => Key::of(Kind::Integer(1, 1_000_000));
        /// With `stretch`: how long the first of these segments waits for its ACK at most. RFC 5681
        /// permits 500 ms.
        wait: Duration = Duration::from_millis(200)
            => Key::of(Kind::Time(Duration::from_nanos(1), Duration::from_secs(60)));
    }
}

impl Rules for Misbehavior {
    fn check(&self, said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if !Self::TABLE.keys.iter().any(|key| said(key.name)) {
            return Err(Wrong::at(
                "",
                "misbehavior: say what the receiver does: divide, duplicate, optimistic or stretch",
            ));
        }
        if said("wait") && self.stretch < 2 {
            return Err(Wrong::at(
                "wait",
                "wait needs a stretch of 2 segments or more",
            ));
        }
        if self.stretch > 1 && self.optimistic.is_some() {
            return Err(Wrong::at(
                "stretch",
                "a receiver with optimistic ACKs follows their rate: leave out stretch",
            ));
        }
        Ok(())
    }
}
