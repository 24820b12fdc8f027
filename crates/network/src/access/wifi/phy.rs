//! Rates, frames and the spaces between them (IEEE 802.11; docs/reference/sources.md, "Wi-Fi").
//!
//! ## Deviations
//!
//! - 802.11n is taken at 5 GHz: at 2.4 GHz a frame is followed by 6 us more.
//! - Propagation takes 1 us in 802.11a, b and g and no time in the others, as in the reference
//!   values for each (docs/reference/networks/wifi.md).
//! - With the short guard interval a frame is not rounded up to whole 4 us.

use units::Duration;

use super::config::{FULL_PACKET, LONGEST_FRAME, WifiConfig, WifiRateMap, WifiStandard, WifiWidth};

/// LLC/SNAP, QoS header and checksum around a packet, and in a frame of its own without QoS.
const MPDU: u32 = 8 + 26 + 4;
const MPDU_LEGACY: u32 = 8 + 24 + 4;
/// The delimiter before a packet of an A-MPDU.
const DELIMITER: u32 = 4;
/// Service field and tail, bits.
const EXTRA_BITS: u64 = 16 + 6;

/// Bits of a subcarrier in sixths, by MCS.
const SIXTHS: [u64; 12] = [3, 6, 9, 12, 18, 24, 27, 30, 36, 40, 45, 50];
/// SNR at which one in ten packets of 1500 bytes is lost, for one stream, dB.
const NEEDED: [f64; 12] = [
    2.0, 5.0, 9.0, 11.0, 15.0, 18.0, 20.0, 25.0, 29.0, 31.0, 34.0, 37.0,
];
/// The standard's minimum sensitivity at 20 MHz, dBm.
const SENSITIVITY: [f64; 12] = [
    -82.0, -79.0, -77.0, -74.0, -70.0, -66.0, -65.0, -64.0, -59.0, -57.0, -54.0, -52.0,
];
/// Increase of the SNR in dB that reduces the loss to a tenth.
const STEEPNESS: f64 = 1.2;
/// Margin of a sender between the signal and its rate, dB.
const MARGIN: f64 = 1.5;
/// Highest success probability that a sender assumes (minstrel).
const BELIEVED: f64 = 0.9;

/// The parameters of a standard on a channel.
#[derive(Clone, Debug)]
pub(super) struct Phy {
    legacy: bool,
    bits_per_symbol: [u64; 12],
    symbol: Duration,
    preamble: Duration,
    /// After a frame and after its answer.
    extension: Duration,
    max_mcs: u8,
    aggregates: bool,
    max_bytes: u64,
    max_frame: Duration,
    /// Window from the oldest unacknowledged packet to the newest that may be sent.
    pub(super) window: usize,
    pub(super) slot: Duration,
    pub(super) sifs: Duration,
    pub(super) aifs: Duration,
    ack: Duration,
    /// Propagation time.
    air: Duration,
    /// Noise floor and the cost of streams, dBm and dB.
    noise: f64,
    streams_cost: f64,
    wider: f64,
}

impl Phy {
    pub(super) fn new(config: &WifiConfig) -> Self {
        use WifiStandard::{A, Ac, Ax, B, G, N};
        let micros = Duration::from_micros;
        let standard = config.standard;
        let legacy = matches!(standard, A | B | G);
        let width = if legacy {
            WifiWidth::Mhz20
        } else {
            config.width
        };
        let streams = if legacy {
            1
        } else {
            u64::from(config.streams.clamp(1, 4))
        };
        let doublings = match width {
            WifiWidth::Mhz20 => 0,
            WifiWidth::Mhz40 => 1,
            WifiWidth::Mhz80 => 2,
            WifiWidth::Mhz160 => 3,
        };
        let subcarriers = match standard {
            Ax => [234, 468, 980, 1960],
            _ => [52, 108, 234, 468],
        }[doublings];
        let bits_per_symbol = match standard {
            // Of 8 us, with 11 bits in each; of 4 us.
            B => [88; 12],
            A | G => [216; 12],
            N | Ac | Ax => SIXTHS.map(|sixths| subcarriers * sixths * streams / 6),
        };
        let training = if streams == 3 { 4 } else { streams };
        let (preamble, symbol) = match standard {
            B => (micros(192), micros(8)),
            A | G => (micros(20), micros(4)),
            N => (micros(32 + 4 * training), guarded(config)),
            Ac => (micros(36 + 4 * training), guarded(config)),
            Ax => (micros(44 + 4 * training), Duration::from_nanos(13_600)),
        };
        let (slot, sifs) = match standard {
            B => (micros(20), micros(10)),
            G => (micros(9), micros(10)),
            A | N | Ac | Ax => (micros(9), micros(16)),
        };
        let (max_mcs, max_bytes, window) = match standard {
            A | B | G => (0, u64::MAX, 1),
            N => (7, 65_535, 64),
            Ac => (9, 1_048_575, 64),
            Ax => (11, 6_500_631, 256),
        };
        let aggregates = config.aggregation && !legacy;
        Self {
            legacy,
            bits_per_symbol,
            symbol,
            preamble,
            extension: if standard == G {
                micros(6)
            } else {
                Duration::ZERO
            },
            max_mcs,
            aggregates,
            max_bytes,
            max_frame: config.max_frame.min(LONGEST_FRAME),
            window: if aggregates { window } else { 1 },
            slot,
            sifs,
            aifs: sifs + slot * u64::from(config.aifsn),
            ack: match standard {
                B => micros(248),
                A | G => micros(28),
                N | Ac | Ax => micros(32),
            },
            air: if legacy { micros(1) } else { Duration::ZERO },
            noise: -94.0 + 3.0 * doublings as f64,
            streams_cost: 10.0 * libm::log10(streams as f64),
            wider: 3.0 * doublings as f64,
        }
    }

    /// Bytes of a packet of `size` bytes of IP in a frame.
    pub(super) fn frame_bytes(&self, size: u32) -> u64 {
        let header = if self.legacy { MPDU_LEGACY } else { MPDU };
        let mpdu = u64::from(size) + u64::from(header);
        if self.aggregates {
            mpdu.next_multiple_of(4) + u64::from(DELIMITER)
        } else {
            mpdu
        }
    }

    /// Airtime of a frame of `bytes`.
    pub(super) fn frame_time(&self, mcs: u8, bytes: u64) -> Duration {
        let extra = if self.bits_per_symbol[0] == 88 {
            0
        } else {
            EXTRA_BITS
        };
        let bits = extra + 8 * bytes;
        let per_symbol = self.bits_per_symbol[usize::from(mcs)];
        let payload = if extra == 0 {
            // 11 Mbit/s, to the nanosecond.
            Duration::from_nanos(bits * 1000 / 11)
        } else {
            self.symbol * bits.div_ceil(per_symbol)
        };
        self.preamble + payload + self.extension
    }

    /// The bytes that a frame may hold.
    pub(super) fn max_frame_bytes(&self, mcs: u8) -> u64 {
        if !self.aggregates {
            return u64::MAX;
        }
        let room = self
            .max_frame
            .saturating_sub(self.preamble + self.extension);
        let symbols = room.as_nanos() / self.symbol.as_nanos();
        let bits = symbols * self.bits_per_symbol[usize::from(mcs)];
        (bits.saturating_sub(EXTRA_BITS) / 8).min(self.max_bytes)
    }

    /// Time from the end of a frame of `packets` to the end of its acknowledgment.
    pub(super) fn answer(&self, packets: usize) -> Duration {
        // The bitmap of more than 64 packets takes 24 bytes more, at 24 Mbit/s.
        let longer = if packets > 64 {
            Duration::from_micros(8)
        } else {
            Duration::ZERO
        };
        self.sifs + self.ack + longer + self.extension + self.air * 2
    }

    /// Time from the end of an unanswered frame to the idle medium.
    pub(super) const fn no_answer(&self) -> Duration {
        self.air
    }

    /// How many packets of `size` fill a frame, at least one.
    pub(super) fn most_packets(&self, mcs: u8, size: u32) -> u32 {
        let fits = self.max_frame_bytes(mcs) / self.frame_bytes(size);
        (fits.min(self.window as u64) as u32).max(1)
    }

    /// A frame of `packets` of `size` and its acknowledgement.
    pub(super) fn exchange(&self, mcs: u8, packets: u32, size: u32) -> Duration {
        let bytes = self.frame_bytes(size) * u64::from(packets);
        self.frame_time(mcs, bytes) + self.answer(packets as usize)
    }

    /// Bits per second of a frame's bytes.
    pub(super) fn bit_rate(&self, mcs: u8) -> f64 {
        if self.bits_per_symbol[0] == 88 {
            return 11e6;
        }
        let nanos = self.symbol.as_nanos() as f64;
        self.bits_per_symbol[usize::from(mcs)] as f64 / nanos * 1e9
    }

    pub(super) const fn max_mcs(&self) -> u8 {
        self.max_mcs
    }

    /// SNR of one stream at a signal of `rssi` dBm.
    pub(super) fn snr(&self, rssi: f64) -> f64 {
        rssi - self.noise - self.streams_cost
    }

    /// Loss rate of packets of 1500 bytes in a frame.
    pub(super) fn loss(&self, mcs: u8, snr: f64) -> f64 {
        if self.legacy {
            return 0.0;
        }
        let above = snr - NEEDED[usize::from(mcs)];
        (0.1 * libm::pow(10.0, -above / STEEPNESS)).min(1.0)
    }

    /// The rate that a sender selects at `rssi`.
    pub(super) fn best_mcs(&self, map: WifiRateMap, rssi: f64) -> u8 {
        let all = 0..=self.max_mcs;
        match map {
            WifiRateMap::Sensitivity => {
                let reached = |mcs: &u8| rssi >= SENSITIVITY[usize::from(*mcs)] + self.wider;
                all.rev().find(reached).unwrap_or(0)
            }
            WifiRateMap::Snr => {
                let snr = self.snr(rssi) - MARGIN;
                let worth = |mcs: u8| {
                    let arrives = (1.0 - self.loss(mcs, snr)).min(BELIEVED);
                    self.bits_per_symbol[usize::from(mcs)] as f64 * arrives
                };
                all.fold(
                    0,
                    |best, mcs| {
                        if worth(mcs) > worth(best) { mcs } else { best }
                    },
                )
            }
        }
    }

    /// The rate at the mean signal.
    pub(super) fn usual_mcs(&self, config: &WifiConfig) -> u8 {
        let mcs = config
            .mcs
            .unwrap_or_else(|| self.best_mcs(config.rate_map, config.rssi));
        mcs.min(self.max_mcs)
    }

    /// The rate of the other stations.
    pub(super) fn station_mcs(&self, config: &WifiConfig) -> u8 {
        let mcs = config.station_mcs.unwrap_or_else(|| self.usual_mcs(config));
        mcs.min(self.max_mcs)
    }

    /// The exchange of another station that has enough packets for a full frame.
    pub(super) fn station_exchange(&self, config: &WifiConfig) -> Duration {
        let mcs = self.station_mcs(config);
        let most = self.most_packets(mcs, FULL_PACKET);
        let packets = config.station_packets.clamp(1, most);
        self.exchange(mcs, packets, FULL_PACKET)
    }
}

/// A symbol of 802.11n or ac with its guard interval.
fn guarded(config: &WifiConfig) -> Duration {
    Duration::from_nanos(if config.short_guard { 3600 } else { 4000 })
}
