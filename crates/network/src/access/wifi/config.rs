//! The configuration of a Wi-Fi network. Data only.

use alloc::format;

use tables::{Field, Key, Kind, LEAST_RATE, MAX_DURATION, Rules, Value, Wrong, described, words};
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

/// How a sender selects the rate for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WifiRateMap {
    /// The highest rate times success probability, with 1.5 dB of margin.
    Snr,
    /// The fastest rate whose minimum sensitivity in the standard is met: a cautious radio.
    Sensitivity,
}

/// When the other stations have packets to send.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WifiTraffic {
    /// Always.
    Saturated,
    /// ON and OFF, each for exponentially distributed times.
    OnOff {
        /// Mean ON time.
        on: Duration,
        /// Mean OFF time.
        off: Duration,
    },
    /// Full packets as a Poisson process of this rate in each station.
    Poisson(Rate),
}

words!(WifiStandard:
    "b" => B, "g" => G, "a" => A, "n" => N, "ac" => Ac, "ax" => Ax,
);
words!(WifiWidth:
    "20 MHz" => Mhz20, "40 MHz" => Mhz40, "80 MHz" => Mhz80, "160 MHz" => Mhz160,
);
words!(WifiRateMap: "snr" => Snr, "sensitivity" => Sensitivity);

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StationTraffic(
        "wifi-traffic",
        "the traffic of a station",
        "When another station has packets: for random times of these means, or at a rate."
    ) {
        /// Mean time with packets to send.
        on: Option<Duration> = None => Key::of(Kind::Seconds(SHORTEST_TRAFFIC, MAX_DURATION));
        /// Mean time without.
        off: Option<Duration> = None => Key::of(Kind::Seconds(SHORTEST_TRAFFIC, MAX_DURATION));
        /// Rate of the full packets that arrive in each station as a Poisson process.
        rate: Option<Rate> = None => Key::of(Kind::Rate(LEAST_RATE, MOST_TRAFFIC));
    }
}

impl Rules for StationTraffic {}

/// The reader and writer of `traffic` handle a word or a table.
impl Field for WifiTraffic {
    fn value(&self) -> Value {
        Value::Nothing
    }

    fn of(_: Value) -> Option<Self> {
        None
    }
}

described! {
    #[derive(Clone, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct WifiConfig(
        "wifi",
        "a Wi-Fi network",
        "A Wi-Fi network: an access point, our station, and others on one medium. It is described in \
         the forward direction; the reverse direction shares it."
    ) {
        /// Generation of 802.11; a, b and g have one rate, and one packet in a frame.
        standard: WifiStandard = WifiStandard::Ac => Key::of(Kind::Words(WifiStandard::WORDS));
        /// Width of the channel; `40 MHz` for n, and 20 MHz alone for a, b and g.
        width: WifiWidth = WifiWidth::Mhz80 => Key::of(Kind::Words(WifiWidth::WORDS));
        /// Spatial streams; a, b and g have one.
        streams: u8 = 2 => Key::of(Kind::Integer(1, 4));
        /// Guard interval of n and ac.
        short_guard: bool = true => Key::of(Kind::Words(&["long", "short"])).named("guard");
        /// Mean received signal, the same in both directions.
        rssi: f64 = USUAL_RSSI => Key::of(Kind::Level(-120.0, 0.0));
        /// Standard deviation of the signal around its mean (an Ornstein-Uhlenbeck process).
        rssi_deviation: f64 = 2.0 => Key::of(Kind::Decibel(0.0, 20.0));
        /// Time after which the correlation of that variation has fallen to 1/e.
        rssi_correlation: Duration = Duration::from_secs(2)
            => Key::of(Kind::Seconds(Duration::from_nanos(1), MAX_DURATION));
        /// Fraction of the time in which a body attenuates the signal by 5 dB, for a mean of 1 s each.
        blocked: f64 = 0.05 => Key::of(Kind::Share(0.0, 90.0));
        /// Fixed MCS.
        mcs: Option<u8> = None => Key::of(Kind::Integer(0, 11)).usually("follows the signal");
        /// How the rate follows the signal: the highest throughput with 1.5 dB of margin, or the
        /// standard's minimum sensitivity.
        rate_map: WifiRateMap = WifiRateMap::Snr => Key::of(Kind::Words(WifiRateMap::WORDS));
        /// Whether a frame carries several packets (A-MPDU); never in a, b and g.
        aggregation: bool = true => Key::of(Kind::Switch);
        /// The longest frame.
        max_frame: Duration = LONGEST_FRAME => Key::of(Kind::Time(SHORTEST_FRAME, LONGEST_FRAME));
        /// Whether a driver assembles its next frame while one is on the air, so that packets that
        /// come later wait for the frame after it.
        assembled_ahead: bool = false => Key::of(Kind::Switch).only_if_said();
        /// Slots between SIFS and backoff; 2 for a, b and g.
        aifsn: u32 = 3 => Key::of(Kind::Integer(1, 15));
        /// The first contention window, in slots less one; 31 for b.
        cw_min: u32 = 15 => Key::of(Kind::Integer(1, MOST_SLOTS));
        /// The largest contention window, in slots less one.
        cw_max: u32 = 1023 => Key::of(Kind::Integer(1, MOST_SLOTS));
        /// Retransmissions of a packet before the radio gives it up; 7 for a, b and g.
        retries: u32 = 10 => Key::of(Kind::Integer(0, 1000));
        /// Probability that a frame collides with that of a station that does not hear the sender.
        hidden: f64 = 0.0 => Key::of(Kind::Share(0.0, 90.0));
        /// Other stations that send to the access point.
        stations: u32 = 0 => Key::of(Kind::Integer(0, 200));
        /// When the other stations have packets to send.
        traffic: WifiTraffic = WifiTraffic::Saturated => Key::of(Kind::Any(&[
            Kind::Words(&["saturated"]), Kind::Table(StationTraffic::TABLE),
        ])).usually("\"saturated\"");
        /// Full packets in a frame of another station, as far as a frame holds them.
        station_packets: u32 = 32 => Key::of(Kind::Integer(1, 256));
        /// Fixed MCS of the other stations.
        station_mcs: Option<u8> = None => Key::of(Kind::Integer(0, 11)).usually("that of the mean signal");
        /// Fraction of the time in which neighbouring networks occupy the medium.
        busy: f64 = 0.0 => Key::of(Kind::Share(0.0, 95.0));
        /// Airtime that may wait below a queue discipline (AQL of mac80211); a drop-tail queue has
        /// nothing below it.
        airtime_limit: Duration = Duration::from_millis(12) => Key::of(Kind::SPAN);
    }
}

impl Rules for WifiConfig {
    fn follow(&mut self, key: &str) {
        match key {
            "standard" => {
                *self = Self::new(self.standard, self.rssi);
                if self.is_legacy() {
                    // One packet is one frame.
                    self.station_packets = 1;
                }
            }
            "cw_min" => self.cw_max = self.cw_max.max(self.cw_min),
            _ => {}
        }
    }

    fn check(&self, said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        const NOT_LEGACY: [&str; 10] = [
            "width",
            "streams",
            "guard",
            "mcs",
            "aggregation",
            "rate_map",
            "max_frame",
            "assembled_ahead",
            "station_mcs",
            "station_packets",
        ];
        let foreign = NOT_LEGACY.into_iter().find(|key| said(key));
        if let (true, Some(key)) = (self.is_legacy(), foreign) {
            let reason = "802.11a, b and g have one rate and one packet in a frame";
            return Err(Wrong::value(key, reason));
        }
        let is_wide = matches!(self.width, WifiWidth::Mhz80 | WifiWidth::Mhz160);
        if self.standard == WifiStandard::N && is_wide {
            return Err(Wrong::value(
                "width",
                "802.11n has channels of 20 and 40 MHz",
            ));
        }
        if self.standard == WifiStandard::Ax && said("guard") {
            let reason = "802.11ax is modelled with its guard interval of 0.8 us";
            return Err(Wrong::value("guard", reason));
        }
        let most = match self.standard {
            WifiStandard::N => 7,
            WifiStandard::Ac => 9,
            _ => 11,
        };
        for (key, mcs) in [("mcs", self.mcs), ("station_mcs", self.station_mcs)] {
            if mcs.is_some_and(|mcs| mcs > most) {
                let reason = format!("expected a whole number from 0 to {most}");
                return Err(Wrong::value(key, reason));
            }
        }
        if self.cw_max < self.cw_min {
            let key = if said("cw_max") { "cw_max" } else { "cw_min" };
            return Err(Wrong::value(key, "cw_max is below cw_min"));
        }
        Ok(())
    }
}

impl WifiConfig {
    /// A network of 80 MHz and two streams at `rssi` dBm without other stations.
    #[must_use]
    pub fn new(standard: WifiStandard, rssi: f64) -> Self {
        let usual = Self {
            standard,
            rssi,
            ..Self::DEFAULT
        };
        if usual.is_legacy() {
            return Self {
                width: WifiWidth::Mhz20,
                streams: 1,
                aggregation: false,
                aifsn: 2,
                cw_min: if standard == WifiStandard::B { 31 } else { 15 },
                retries: 7,
                ..usual
            };
        }
        Self {
            width: match standard {
                WifiStandard::N => WifiWidth::Mhz40,
                _ => WifiWidth::Mhz80,
            },
            ..usual
        }
    }

    /// Whether one packet is one frame.
    const fn is_legacy(&self) -> bool {
        matches!(
            self.standard,
            WifiStandard::A | WifiStandard::B | WifiStandard::G
        )
    }

    /// Throughput of a saturated direction, in bits of IP per second of full packets, at the mean
    /// signal, while the other stations have their mean load and the other direction none:
    /// Bianchi's formula, less the fraction of neighbouring networks. An estimate for buffers in
    /// BDPs, not a promise.
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
        // A frame of ours without contention.
        let success = tau * libm::pow(1.0 - tau, others);
        let busy = 1.0 - idle;
        // The rest is a frame of another station, or a collision of about the same length.
        let mean = idle * nanos(phy.slot)
            + success * nanos(own + phy.aifs)
            + (busy - success) * nanos(theirs + phy.aifs);
        let bits = success * f64::from(packets * FULL_PACKET * 8);
        let rate = bits / mean * 1e9 * (1.0 - self.busy);
        Rate::from_bits_per_sec((rate as u64).max(1))
    }

    /// The fraction of time in which another station has packets to send.
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
/// The longest frame that the standard allows.
pub(super) const LONGEST_FRAME: Duration = Duration::from_micros(5484);

/// Shorter frames would carry no packet.
const SHORTEST_FRAME: Duration = Duration::from_micros(100);
/// Shorter times of traffic, and more packets, take too long to simulate.
const SHORTEST_TRAFFIC: Duration = Duration::from_millis(1);
const MOST_TRAFFIC: Rate = Rate::from_bits_per_sec(10_000_000_000);
/// A strong signal, dBm.
const USUAL_RSSI: f64 = -53.0;
const MOST_SLOTS: u64 = 32_767;

fn nanos(span: Duration) -> f64 {
    span.as_nanos() as f64
}
