//! What the handshake of a script agrees on, and the configurations that follow from it.

use congestion::Algorithm;
use packetdrill::{Options, Packet, Settings};
use tcp::{
    AckPolicy, Autotuning, LossDetection, Receiver, ReceiverConfig, Sender, SenderConfig, Tick,
};
use units::{Bytes, Duration};

use super::{MSS, Simulated};

/// Bytes of the timestamps option in each segment, with padding.
const TIMESTAMPS_SIZE: u32 = 12;
/// Largest unpaced burst in bytes (`GSO_MAX_SIZE`).
const BURST: u32 = 65_536;

/// What the handshake agreed on.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Peer {
    pub(super) mss: u32,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    /// Shifts of the window that the peer advertises, and of ours.
    pub(super) scales: Option<(u8, u8)>,
    pub(super) ecn: bool,
}

impl Simulated {
    pub(super) fn sender_config(
        settings: &Settings,
        algorithm: &Algorithm,
        peer: &Peer,
        tick: Tick,
    ) -> SenderConfig {
        let option_bytes = if peer.timestamps { TIMESTAMPS_SIZE } else { 0 };
        let smss = peer
            .mss
            .min(u32::from(MSS))
            .saturating_sub(option_bytes)
            .max(1);
        // A large divisor turns the deferral of bursts off, as a device without TSO does.
        let defers = settings.tso && settings.number("tcp_tso_win_divisor").unwrap_or(3) < 10;
        SenderConfig {
            algorithm: *algorithm,
            smss,
            initial_window: 10,
            pacing: settings.fq,
            tso_segments: if defers { (BURST / smss).max(2) } else { 1 },
            restart_after_idle: settings.number("tcp_slow_start_after_idle") != Some(0),
            rto_min: Duration::from_millis(200),
            ecn: peer.ecn,
            sack: peer.sack,
            impatient: false,
            small_queue: None,
            loss_detection: LossDetection::default(),
            byte_counting: true,
            seed: 1,
            tick,
        }
    }

    /// The receiver of a host whose segments have no options. Segments of the peer that are longer
    /// than `merged` are several.
    pub(super) fn receiver_config(
        settings: &Settings,
        buffer: Option<u32>,
        merged: Option<u16>,
        tick: Tick,
    ) -> ReceiverConfig {
        let (memory, first, autotuning) = match buffer {
            // The kernel doubles SO_RCVBUF.
            Some(bytes) => (2 * u64::from(bytes), 2 * u64::from(bytes), Autotuning::Off),
            None => (
                settings.part("tcp_rmem", 2).unwrap_or(6 << 20),
                settings.part("tcp_rmem", 1).unwrap_or(131_072),
                Autotuning::Current,
            ),
        };
        ReceiverConfig {
            receive_buffer: Bytes::new(memory * 5 / 8),
            initial_window: Bytes::new(first / 2),
            mss: u32::from(MSS),
            merged: u32::from(merged.unwrap_or(MSS)),
            truesize: 0,
            autotuning,
            ack_policy: AckPolicy::Delayed,
            sack: true,
            tick,
        }
    }

    /// The receiver before the handshake.
    pub(super) fn own_receiver(&self) -> ReceiverConfig {
        Self::receiver_config(&self.settings, self.receive_buffer, self.merged, self.tick)
    }

    /// Takes what the peer's SYN or SYN-ACK offers.
    pub(super) fn agree(&mut self, packet: &Packet) {
        let none = Options::default();
        let offer = packet.options.as_ref().unwrap_or(&none);
        let is_on = |name: &str| self.settings.number(name) != Some(0);
        let timestamps = is_on("tcp_timestamps") && offer.timestamps.is_some();
        let sack = is_on("tcp_sack") && offer.sack_permitted;
        let option_bytes = if timestamps { TIMESTAMPS_SIZE } else { 0 };
        self.receiver = Receiver::new(ReceiverConfig {
            sack,
            mss: u32::from(MSS) - option_bytes,
            ..self.own_receiver()
        });
        let shift = self.receiver.window_shift();
        let scales = is_on("tcp_window_scaling")
            .then_some(())
            .and(offer.window_scale);
        let ecn = match self.settings.number("tcp_ecn") {
            Some(1) => true,
            Some(2) => !packet.flags.ack,
            _ => false,
        };
        self.peer = Peer {
            mss: u32::from(offer.mss.unwrap_or(536)),
            sack,
            timestamps,
            scales: scales.map(|peer| (peer, shift)),
            ecn: ecn && packet.flags.ece,
        };
        let config = Self::sender_config(&self.settings, &self.algorithm, &self.peer, self.tick);
        self.sender = Sender::new(config);
        if self.is_prompt {
            self.sender.send_promptly();
        }
    }
}
