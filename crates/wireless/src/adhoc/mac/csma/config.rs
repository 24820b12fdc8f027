//! The configuration of an IEEE 802.15.4 network. Data only.

use alloc::format;

use tables::{Key, Kind, Rules, Wrong, described};
use units::{Bytes, Duration};

use super::super::lowpan::{Fragmenter, IPV6_HEADER, LARGEST};
use super::timing::MAX_PSDU;
use crate::adhoc::propagation::{PropagationModel, RadioConfig};

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct CsmaConfig(
        "802.15.4",
        "an 802.15.4 MAC",
        "IEEE 802.15.4 at 2.4 GHz (250 kbit/s) with CSMA-CA, and 6LoWPAN above it."
    ) {
        /// First backoff exponent: a node waits for up to `2^min_be - 1` periods of 320 us
        /// (macMinBe).
        min_be: u8 = 3 => Key::of(Kind::Integer(0, 8));
        /// Largest backoff exponent (macMaxBe).
        max_be: u8 = 5 => Key::of(Kind::Integer(3, 8));
        /// How often a node may find the channel busy and wait again before it gives up the frame
        /// (macMaxCsmaBackoffs).
        max_backoffs: u8 = 4 => Key::of(Kind::Integer(0, 5));
        /// Whether receivers acknowledge unicast frames, and senders retransmit.
        ack: bool = true => Key::of(Kind::Switch);
        /// Retransmissions of a frame that is not acknowledged (macMaxFrameRetries).
        retries: u8 = 3 => Key::of(Kind::Integer(0, 7));
        /// Beacon order: nodes use slotted CSMA-CA, and a beacon comes every 15.36 ms times
        /// 2^`beacon_order`.
        beacon_order: Option<u8> = None
            => Key::of(Kind::Integer(0, 14)).usually("unslotted, no beacons");
        /// Superframe order: nodes may send for 15.36 ms times 2^`superframe_order` from each
        /// beacon.
        superframe_order: Option<u8> = None
            => Key::of(Kind::Integer(0, 14)).usually("`beacon_order`");
        /// Whether frames have bit errors, by the SINR (O-QPSK). The radio's own threshold, `sinr`,
        /// applies first.
        bit_errors: bool = false => Key::of(Kind::Switch);
        /// Probability that a data frame is lost at a receiver for any other reason (fading).
        frame_loss: f64 = 0.0 => Key::of(Kind::PERCENT);
        /// MAC header and checksum of a data frame. A frame has 127 bytes.
        overhead: Bytes = Bytes::new(11) => Key::of(Kind::Size(Bytes::new(9), MOST_OVERHEAD));
        /// IP header of a packet after compression: 2 to 7 bytes with IPHC (RFC 6282) and addresses
        /// derived from the link or a context, 41 for an uncompressed IPv6 header with its dispatch
        /// byte.
        compressed_header: Option<u8> = None
            => Key::of(Kind::Integer(2, 41)).usually("not compressed");
        /// IP header of a packet before compression.
        ip_header: u8 = 40 => Key::of(Kind::Integer(20, 40));
        /// The largest packet of the network layer; the MAC drops larger ones.
        mtu: Bytes = Bytes::new(1280)
            => Key::of(Kind::Size(Bytes::new(60), Bytes::new(LARGEST as u64)));
        /// How long a node waits for the missing fragments of a packet.
        reassembly_timeout: Duration = Duration::from_secs(10)
            => Key::of(Kind::Seconds(Duration::from_millis(1), Duration::from_secs(60)));
        /// Neighbours from which a node reassembles packets at a time; it ignores the fragments of
        /// others.
        reassembly_buffers: u32 = 64 => Key::of(Kind::Integer(1, 1000));
        /// Whether lengths wrap at 256 as in ns-2: a MAC header of 7 bytes, no fragmentation, and
        /// packets whose wrapped length exceeds 127 bytes are dropped.
        ns2_compat: bool = false => Key::of(Kind::Switch);
    }
}

/// So many bytes of a frame remain for a fragment.
const MOST_OVERHEAD: Bytes = Bytes::new((MAX_PSDU - Fragmenter::LEAST) as u64);

impl Default for CsmaConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl Rules for CsmaConfig {
    fn follow(&mut self, key: &str) {
        if key == "min_be" {
            self.max_be = self.max_be.max(self.min_be);
        }
    }

    fn check(&self, said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.max_be < self.min_be {
            return Err(Wrong::value("max_be", "max_be is below min_be"));
        }
        match (self.beacon_order, self.superframe_order) {
            (None, Some(_)) => {
                let reason = "without `beacon_order` there are no superframes";
                return Err(Wrong::value("superframe_order", reason));
            }
            (Some(beacon), Some(superframe)) if superframe > beacon => {
                let reason = format!("a superframe is at most a beacon interval ({beacon})");
                return Err(Wrong::value("superframe_order", reason));
            }
            _ => {}
        }
        if said("retries") && !self.ack {
            let reason = "without acknowledgements nothing is retransmitted";
            return Err(Wrong::value("retries", reason));
        }
        if self
            .compressed_header
            .is_some_and(|compressed| compressed > self.ip_header + 1)
        {
            let reason = format!(
                "the IP header has {} bytes before compression",
                self.ip_header
            );
            return Err(Wrong::value("compressed_header", reason));
        }
        if self.ns2_compat {
            let foreign = [
                "overhead",
                "compressed_header",
                "ip_header",
                "mtu",
                "reassembly_timeout",
                "reassembly_buffers",
            ];
            if let Some(key) = foreign.into_iter().find(|key| said(key)) {
                let reason = "with `ns2_compat` nothing is fragmented, and headers have 7 bytes";
                return Err(Wrong::value(key, reason));
            }
        }
        Ok(())
    }
}

impl CsmaConfig {
    /// A radio for this MAC: 0 dBm at 2.45 GHz, with the sensitivity that the standard requires
    /// (section 12.3.4) and carrier sense as far as reception; log-distance with exponent 3, which
    /// gives a range of 31 m. The noise is thermal in 2 MHz with a noise figure of 10 dB.
    #[must_use]
    pub const fn radio() -> RadioConfig {
        RadioConfig {
            propagation: PropagationModel::LogDistance,
            power: 0.0,
            frequency: 2.45e9,
            receive_threshold: -85.0,
            sense_threshold: -85.0,
            noise: -101.0,
            ..RadioConfig::DEFAULT
        }
    }

    /// How the network cuts its packets.
    #[must_use]
    pub fn fragmenter(&self) -> Fragmenter {
        let limit = u64::from(MAX_PSDU).saturating_sub(self.overhead.get());
        let plain = Fragmenter::new(limit as u32);
        match self.compressed_header {
            Some(compressed) => plain.compressing(self.ip_header.into(), compressed.into()),
            None => plain,
        }
    }

    /// Bytes of a data frame that carries `payload` bytes.
    #[must_use]
    pub const fn psdu(&self, payload: u32) -> u32 {
        payload + self.overhead.get() as u32
    }
}

const _: () = assert!(Fragmenter::LEAST > IPV6_HEADER);
