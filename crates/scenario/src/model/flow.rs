//! Flows as data, without a file.

use core::ops::{Deref, DerefMut};
use std::sync::Arc;

use congestion::Algorithm;
use tables::{Key, Kind, Rules, Wrong, described};
use tcp::{AccurateEcn, AckPolicy, Autotuning, LossDetection, Misbehavior};
use units::{Bytes, Duration, Instant};

use super::Ends;
use crate::limits::{MAX_INITIAL_WINDOW, MAX_PACING_SHIFT, MSS, RECEIVE_BUFFER};

/// A sender, its receiver, and the data it sends.
#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    /// Its name in results; the algorithm where none is given.
    pub name: String,
    /// Start-up and avoidance, or a monolithic congestion control. Flows share it: its canonical name
    /// takes half a kilobyte, and a scenario may have ten thousand flows.
    pub algorithm: Arc<Algorithm>,
    /// What stands at both of its ends.
    pub stack: FlowStack,
    /// Bytes to send; `None` for as many as it can.
    pub size: Option<Bytes>,
    /// Time for which it has data to send, from `start`; `None` until `size` is sent or the run
    /// ends.
    pub duration: Option<Duration>,
    /// When its SYN leaves.
    pub start: Instant,
    /// The settings of its connection.
    pub settings: FlowSettings,
    /// When the application has data to send.
    pub application: Application,
    /// Its hosts.
    pub ends: Ends,
}

/// The stack at both ends of a flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowStack {
    /// The simulated TCP.
    #[default]
    Simulated,
    /// The QUIC stack quinn.
    Quinn,
    /// The QUIC stack noq.
    Noq,
    /// A stack that the program gives; no word of a scenario names it.
    #[serde(skip)]
    Given,
}

impl FlowStack {
    /// Every stack, in the order of [`Self::WORDS`].
    pub const ALL: &[Self] = &[Self::Simulated, Self::Quinn, Self::Noq];
    /// Their names.
    pub const WORDS: &[&str] = &["simulated", "quinn", "noq"];

    /// Its name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Given => "given",
            named => Self::WORDS[named as usize],
        }
    }

    /// Whether it is not the simulated TCP.
    #[must_use]
    pub const fn is_foreign(self) -> bool {
        !matches!(self, Self::Simulated)
    }
}

/// The tick of Linux with 100 Hz.
const LONGEST_TICK: Duration = Duration::from_millis(10);
const WINDOW: Kind = Kind::Size(RECEIVE_BUFFER.0, RECEIVE_BUFFER.1);

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
    pub struct FlowSettings("flow", "[[flow]]", "How both ends of a flow behave, by default as Linux.") {
        /// Initial window in segments.
        initial_window: u32 = 10
            => Key::of(Kind::Integer(1, MAX_INITIAL_WINDOW)).resolved("initial_window_segments");
        /// Largest payload of a segment. The default fills a packet of 1500 bytes, with the
        /// timestamp option.
        mss: Bytes = Bytes::new(1448) => Key::of(Kind::Size(MSS.0, MSS.1));
        /// Whether segments are paced, as under fq.
        pacing: bool = false => Key::of(Kind::Switch);
        /// Largest receive window that autotuning may reach, with segments of 1448 bytes; the default
        /// exceeds what any preset has in flight.
        receive_buffer: Bytes = Bytes::new(64 << 20) => Key::of(WINDOW);
        /// How the receive window grows: as in Linux 6.18; as from 6.6 to 6.15 (to twice the bytes
        /// read in a round trip and 16 segments; data that waits to be read is not deducted); as
        /// before 6.6 (`linux-6.1`: the same, with half of the memory as window, so that the first
        /// window grows later; `linux-5.4`, as before June 2025: and with a slowly falling RTT
        /// estimate); or not at all (`off`: `receive_buffer` from the start, as with SO_RCVBUF).
        autotuning: Autotuning = Autotuning::Current => Key::of(Kind::Words(Autotuning::WORDS));
        /// Receive window that the handshake advertises, in whole segments, at most receive_buffer.
        /// The receiver begins with twice as much memory (`tcp_rmem[1]`). The window of a SYN-ACK is not scaled; a sender that learns the window from the third segment of the
        /// handshake, as a web server does, sees a scaled one.
        syn_window: Bytes = Bytes::new(65_535) => Key::of(WINDOW);
        /// Memory that each packet takes at the receiver, whatever its length (Linux `truesize`); the
        /// receive window follows the part of memory that is payload. A driver that gives each packet
        /// a page takes about 4.9 kB.
        truesize: Option<Bytes> = None
            => Key::of(Kind::Size(Bytes::new(256), Bytes::new(1 << 20)))
                .usually("2304 bytes for a full segment, less for a small one, as on a TUN device");
        /// Whether the receiver delays ACKs as Linux does, or acknowledges every segment.
        ack_policy: AckPolicy = AckPolicy::Delayed => Key::of(Kind::Words(AckPolicy::WORDS));
        /// How the receiver misbehaves: it divides its ACKs, copies them, acknowledges data that
        /// has not arrived, or acknowledges rarely.
        misbehavior: Option<Misbehavior> = None
            => Key::of(Kind::Table(Misbehavior::TABLE))
                .usually("the receiver complies")
                .only_if_said();
        /// Whether data segments are ECN-capable.
        ecn: bool = false => Key::of(Kind::Switch);
        /// Which ends know AccECN (RFC 9768), which counts the marks in each ACK; where one does
        /// not, feedback is that of RFC 3168. Data of a congestion control that reads the count
        /// (prague) then carries ECT(1). Needs `ecn`.
        accurate_ecn: AccurateEcn = AccurateEcn::Off
            => Key::of(Kind::Words(AccurateEcn::WORDS)).only_if_said();
        /// Whether both ends use SACK; without it, losses are repaired as by NewReno (RFC 6582, as
        /// Linux implements it).
        sack: bool = true => Key::of(Kind::Switch);
        /// Without SACK: whether only the first partial ACK of a recovery restarts the
        /// retransmission timer (RFC 6582); in Linux every one does.
        impatient: bool = false => Key::of(Kind::Switch);
        /// TCP Small Queues (sk_pacing_shift): the first link of the path is the sender's own
        /// device, and at most the bytes that the pacing rate sends in 2^-N seconds wait in it. The
        /// device is Wi-Fi, or has a drop-tail or random-above queue. Linux has 10 (1 ms), and 7
        /// (8 ms) where the device is Wi-Fi.
        small_queue: Option<u8> = None
            => Key::of(Kind::Integer(1, MAX_PACING_SHIFT)).usually("no device queue");
        /// Whether an idle time longer than the RTO reduces the window.
        restart_after_idle: bool = true => Key::of(Kind::Switch);
        /// Largest unpaced burst in segments; 1 turns TSO off.
        tso_segments: u32 = 45 => Key::of(Kind::Integer(1, 45));
        /// One-way delay of the flow's own access link, in both directions.
        extra_delay: Duration = Duration::ZERO => Key::of(Kind::DELAY);
        /// How losses are detected: as Linux 6.x does, or as Linux 2.6.24 did (forward
        /// acknowledgment, no tail-loss probes, and after a true timeout all data that is not
        /// SACKed is retransmitted; a spurious timeout leads to a reduction).
        loss_detection: LossDetection = LossDetection::Rack
            => Key::of(Kind::Words(LossDetection::WORDS));
        /// The tick of both hosts, in which Linux counts timers: 4 ms with 250 Hz, 1 ms with 1000 Hz.
        /// The phase of each host is drawn. Zero makes timers exact.
        tick: Duration = Duration::ZERO
            => Key::of(Kind::Time(Duration::ZERO, LONGEST_TICK));
        /// Whether an ACK increases the window for all bytes that it acknowledges (Linux since
        /// 4.0), or for one segment, as before.
        byte_counting: bool = true => Key::of(Kind::Switch);
    }
}

impl Rules for FlowSettings {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if !self.sack && self.loss_detection == LossDetection::Fack {
            return Err(Wrong::at(
                "loss_detection",
                "fack needs SACK: leave out sack = false",
            ));
        }
        if self.accurate_ecn != AccurateEcn::Off && !self.ecn {
            return Err(Wrong::at(
                "accurate_ecn",
                "accurate_ecn counts the marks of ECN-capable segments: it needs ecn = true",
            ));
        }
        if self.sack && self.impatient {
            return Err(Wrong::at(
                "impatient",
                "impatient concerns NewReno: it needs sack = false",
            ));
        }
        if self.ack_policy == AckPolicy::EverySegment
            && self.misbehavior.is_some_and(|scheme| scheme.stretch > 1)
        {
            return Err(Wrong::at(
                "ack_policy",
                "a receiver that acknowledges every segment does not stretch its ACKs: leave out \
                 ack_policy or the stretch of misbehavior",
            ));
        }
        Ok(())
    }
}

/// When an application has data to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Application {
    /// Always, until everything is sent.
    #[default]
    Bulk,
    /// `write` bytes at the start, and again each `every`.
    Periodic {
        /// Bytes of one write.
        write: Bytes,
        /// Time from one write to the next.
        every: Duration,
    },
    /// `write` bytes at the start, and again `pause` after all of it is acknowledged.
    Pausing {
        /// Bytes of one write.
        write: Bytes,
        /// Time between the acknowledgment and the next write.
        pause: Duration,
    },
}

impl Deref for Flow {
    type Target = FlowSettings;

    fn deref(&self) -> &FlowSettings {
        &self.settings
    }
}

impl DerefMut for Flow {
    fn deref_mut(&mut self) -> &mut FlowSettings {
        &mut self.settings
    }
}

impl Flow {
    /// A bulk flow with Linux's settings that starts at once and ends with the run.
    #[must_use]
    pub fn new(algorithm: impl Into<Arc<Algorithm>>) -> Self {
        let algorithm = algorithm.into();
        Self {
            name: algorithm.to_string(),
            algorithm,
            stack: FlowStack::Simulated,
            size: None,
            duration: None,
            start: Instant::ZERO,
            settings: FlowSettings::DEFAULT,
            application: Application::Bulk,
            ends: Ends::default(),
        }
    }
}
