//! What a Wi-Fi network is made of. Data only.

use units::{Duration, Rate};

use super::phy::Phy;
use super::saturation::saturation;

/// A generation of 802.11.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WifiStandard {
    /// 802.11b at 11 Mbit/s with the long preamble.
    B,
    /// 802.11g at 54 Mbit/s, without protection.
    G,
    /// 802.11a at 54 Mbit/s.
    A,
    /// 802.11n (HT), 5 GHz.
    N,
    /// 802.11ac (VHT).
    Ac,
    /// 802.11ax (HE), one user at a time, guard interval of 0.8 us.
    Ax,
}

/// Width of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WifiWidth {
    /// 20 MHz.
    Mhz20,
    /// 40 MHz.
    Mhz40,
    /// 80 MHz.
    Mhz80,
    /// 160 MHz.
    Mhz160,
}

/// What a sender takes for the best rate at a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WifiRateMap {
    /// The most bits times the share that arrives, 1.5 dB of margin kept (section B.5.3).
    Snr,
    /// The fastest whose minimum sensitivity in the standard is reached: a cautious radio.
    Sensitivity,
}

/// When the other stations have something to send.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WifiTraffic {
    /// Always.
    Saturated,
    /// For exponentially distributed times, with exponentially distributed rests.
    OnOff {
        /// Mean time with something to send.
        on: Duration,
        /// Mean rest.
        off: Duration,
    },
    /// Full packets as a Poisson process of this rate in each station.
    Poisson(Rate),
}

/// A Wi-Fi network: an access point, our station, and others on one medium.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WifiConfig {
    /// Its generation.
    pub standard: WifiStandard,
    /// Its channel; 802.11a, b and g have one of 20 MHz.
    pub width: WifiWidth,
    /// Spatial streams, 1 to 4; 802.11a, b and g have one.
    pub streams: u8,
    /// The short guard interval of 802.11n and ac.
    pub short_guard: bool,
    /// Mean signal at the receiver, dBm, the same in both directions.
    pub rssi: f64,
    /// Standard deviation of the signal around its mean, dB (an Ornstein-Uhlenbeck process).
    pub rssi_deviation: f64,
    /// Time after which the deviation's correlation has fallen to 1/e.
    pub rssi_correlation: Duration,
    /// Share of the time in which a body takes 5 dB away, for a second in the mean each time.
    pub blocked: f64,
    /// The rate, in place of the one that follows the signal.
    pub mcs: Option<u8>,
    /// How the rate follows the signal.
    pub rate_map: WifiRateMap,
    /// Whether several packets go in one frame (A-MPDU); never in 802.11a, b and g.
    pub aggregation: bool,
    /// The longest frame in time; the standard allows 5.484 ms.
    pub max_frame: Duration,
    /// Slots between SIFS and backoff (EDCA best effort has 3; DIFS is 2).
    pub aifsn: u32,
    /// The first contention window, slots less one.
    pub cw_min: u32,
    /// The largest.
    pub cw_max: u32,
    /// How often a packet is sent again before it is given up.
    pub retries: u32,
    /// Probability that a frame is lost to a station that does not hear us.
    pub hidden: f64,
    /// Other stations, which send to the access point.
    pub stations: u32,
    /// When they have something to send.
    pub traffic: WifiTraffic,
    /// Full packets that another station sends at a time, as far as a frame holds them.
    pub station_packets: u32,
    /// The rate of the other stations; that of the mean signal where there is none.
    pub station_mcs: Option<u8>,
    /// Share of the time in which networks beside ours take the medium, 0 to 1 (excluded).
    pub busy: f64,
    /// Airtime that may wait below a queue discipline (mac80211's AQL); a drop-tail queue stands
    /// right above the radio and has nothing below it.
    pub airtime_limit: Duration,
}

impl WifiConfig {
    /// A network of 80 MHz and two streams at `rssi` dBm with nobody else in it.
    #[must_use]
    pub fn new(standard: WifiStandard, rssi: f64) -> Self {
        let legacy = matches!(
            standard,
            WifiStandard::A | WifiStandard::B | WifiStandard::G
        );
        Self {
            standard,
            width: match standard {
                WifiStandard::N => WifiWidth::Mhz40,
                WifiStandard::Ac | WifiStandard::Ax => WifiWidth::Mhz80,
                _ => WifiWidth::Mhz20,
            },
            streams: if legacy { 1 } else { 2 },
            short_guard: true,
            rssi,
            rssi_deviation: 2.0,
            rssi_correlation: Duration::from_secs(2),
            blocked: 0.05,
            mcs: None,
            rate_map: WifiRateMap::Snr,
            aggregation: !legacy,
            max_frame: LONGEST_FRAME,
            aifsn: if legacy { 2 } else { 3 },
            cw_min: if standard == WifiStandard::B { 31 } else { 15 },
            cw_max: 1023,
            retries: if legacy { 7 } else { 10 },
            hidden: 0.0,
            stations: 0,
            traffic: WifiTraffic::Saturated,
            station_packets: 32,
            station_mcs: None,
            busy: 0.0,
            airtime_limit: Duration::from_millis(12),
        }
    }

    /// What a saturated direction carries, in bits of IP per second of full packets, at the mean
    /// signal, when everybody else has as much to send as he ever has in the mean and the other
    /// direction nothing: Bianchi's formula, less the share of the networks beside ours. A
    /// reckoning for buffers in bandwidth-delay products, not a promise.
    #[must_use]
    pub fn mean_rate(&self) -> Rate {
        let phy = Phy::new(self);
        let others = f64::from(self.stations) * self.activity(&phy);
        let mcs = phy.usual_mcs(self);
        let packets = phy.most_packets(mcs, FULL_PACKET);
        let own = phy.exchange(mcs, packets, FULL_PACKET);
        let theirs = phy.station_exchange(self);
        let (tau, _) = saturation(1.0 + others, self.cw_min, self.cw_max);
        let idle = libm::pow(1.0 - tau, 1.0 + others);
        // One of ours, alone on the air.
        let success = tau * libm::pow(1.0 - tau, others);
        let busy = 1.0 - idle;
        // The rest is somebody else's, or a collision, which is about as long.
        let mean = idle * nanos(phy.slot)
            + success * nanos(own + phy.aifs)
            + (busy - success) * nanos(theirs + phy.aifs);
        let bits = success * f64::from(packets * FULL_PACKET * 8);
        let rate = bits / mean * 1e9 * (1.0 - self.busy);
        Rate::from_bits_per_sec((rate as u64).max(1))
    }

    /// The share of the time in which another station has something to send.
    fn activity(&self, phy: &Phy) -> f64 {
        match self.traffic {
            WifiTraffic::Saturated => 1.0,
            WifiTraffic::OnOff { on, off } => {
                let both = nanos(on) + nanos(off);
                if both > 0.0 { nanos(on) / both } else { 1.0 }
            }
            WifiTraffic::Poisson(rate) => {
                let packets = self.station_packets.max(1);
                let span = nanos(phy.station_exchange(self) + phy.aifs) * 1e-9;
                let bits = f64::from(packets * FULL_PACKET * 8);
                (rate.bits_per_sec() as f64 * span / bits).min(1.0)
            }
        }
    }
}

/// Bytes of IP in a full packet.
pub(super) const FULL_PACKET: u32 = 1500;
/// The longest frame that the standard allows (section B.5.2).
pub(super) const LONGEST_FRAME: Duration = Duration::from_micros(5484);

fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}
