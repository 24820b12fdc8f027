//! What a user sets of 802.11, and the airtimes that follow.

use tables::{Key, Kind, Rules, Wrong, described, words};
use units::{Bytes, Duration, Rate};

/// A slot of the backoff (IEEE 802.11-2016, table 16-4).
pub(super) const SLOT: Duration = Duration::from_micros(20);
/// The time between a frame and its response.
pub(super) const SIFS: Duration = Duration::from_micros(10);
/// The time for which the medium is idle before a backoff counts: SIFS and two slots.
pub(super) const DIFS: Duration = Duration::from_micros(50);
/// SIFS, DIFS and an ACK at 1 Mbit/s: the wait after a frame with errors.
pub(super) const EIFS: Duration = Duration::from_micros(364);
/// The header of a data frame with four addresses, and the frame check sequence.
pub const DATA_OVERHEAD: u32 = 30 + 4;
/// Bytes of an RTS frame.
pub const RTS_BYTES: u32 = 20;
/// Bytes of a CTS frame.
pub const CTS_BYTES: u32 = 14;
/// Bytes of an ACK frame.
pub const ACK_BYTES: u32 = 14;

const RATES: [u64; 4] = [1_000_000, 2_000_000, 5_500_000, 11_000_000];

/// The preamble and header of the physical layer (IEEE 802.11-2016, section 16.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Preamble {
    /// 144 and 48 bits at 1 Mbit/s: 192 us.
    Long,
    /// 72 bits at 1 Mbit/s and 48 at 2 Mbit/s: 96 us.
    Short,
}

words!(Preamble: "long" => Long, "short" => Short);

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct DcfConfig(
        "802.11",
        "802.11",
        "Medium access by the distributed coordination function of 802.11 (DSSS)."
    ) {
        /// Rate of unicast data frames: 1, 2, 5.5 or 11 Mbit/s.
        data_rate: Rate = Rate::from_bits_per_sec(2_000_000) => Key::of(Kind::RATE);
        /// Rate of RTS, CTS, ACK and broadcast frames: 1, 2, 5.5 or 11 Mbit/s.
        basic_rate: Rate = Rate::from_bits_per_sec(2_000_000) => Key::of(Kind::RATE);
        /// Preamble and header of the physical layer: 192 us or 96 us.
        preamble: Preamble = Preamble::Long => Key::of(Kind::Words(Preamble::WORDS));
        /// Longest frame, with its MAC header, that is sent without RTS and CTS.
        rts_threshold: Bytes = Bytes::ZERO => Key::of(Kind::Size(Bytes::ZERO, Bytes::new(65_535)));
        /// Smallest contention window: the backoff is uniform between 0 and this many slots.
        cw_min: u32 = 31 => Key::of(Kind::Integer(0, 32_767));
        /// Largest contention window.
        cw_max: u32 = 1023 => Key::of(Kind::Integer(0, 32_767));
        /// How often an RTS frame, or a data frame without one, is sent before its packet is
        /// dropped.
        short_retries: u32 = 7 => Key::of(Kind::Integer(1, 255));
        /// How often a data frame that follows an RTS frame is sent before its packet is dropped.
        long_retries: u32 = 4 => Key::of(Kind::Integer(1, 255));
        /// Whether a node waits for EIFS, and not only for DIFS, after a frame with errors.
        eifs: bool = true => Key::of(Kind::Switch);
        /// Whether a node takes a backoff also if the medium has been idle for long, as in ns-2. The
        /// standard lets it send at once, so that nodes which begin together collide.
        idle_backoff: bool = true => Key::of(Kind::Switch);
    }
}

impl Rules for DcfConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        for (key, rate) in [
            ("data_rate", self.data_rate),
            ("basic_rate", self.basic_rate),
        ] {
            if !RATES.contains(&rate.bits_per_sec()) {
                return Err(Wrong::value(key, "the rates are 1, 2, 5.5 and 11 Mbit/s"));
            }
        }
        if self.preamble == Preamble::Short
            && self.data_rate.min(self.basic_rate).bits_per_sec() == RATES[0]
        {
            return Err(Wrong::at(
                "preamble",
                "a frame with a short preamble has at least 2 Mbit/s",
            ));
        }
        if self.cw_min > self.cw_max {
            return Err(Wrong::at(
                "cw_min",
                "the smallest contention window is larger than the largest",
            ));
        }
        Ok(())
    }
}

impl DcfConfig {
    /// The time of the preamble and header of the physical layer.
    #[must_use]
    pub const fn preamble_time(&self) -> Duration {
        match self.preamble {
            Preamble::Long => Duration::from_micros(192),
            Preamble::Short => Duration::from_micros(96),
        }
    }

    /// The time that a frame of `bytes` occupies the medium at `rate`, in whole nanoseconds.
    #[must_use]
    pub fn airtime(&self, bytes: u32, rate: Rate) -> Duration {
        let nanos = u64::from(bytes) * 8_000_000_000;
        self.preamble_time() + Duration::from_nanos(nanos.div_ceil(rate.bits_per_sec().max(1)))
    }

    /// The airtime of an RTS frame.
    #[must_use]
    pub fn rts_time(&self) -> Duration {
        self.airtime(RTS_BYTES, self.basic_rate)
    }

    /// The airtime of a CTS frame.
    #[must_use]
    pub fn cts_time(&self) -> Duration {
        self.airtime(CTS_BYTES, self.basic_rate)
    }

    /// The airtime of an ACK frame.
    #[must_use]
    pub fn ack_time(&self) -> Duration {
        self.airtime(ACK_BYTES, self.basic_rate)
    }

    /// The airtime of a unicast frame that carries a network-layer packet of `bytes`.
    #[must_use]
    pub fn data_time(&self, bytes: u32) -> Duration {
        self.airtime(bytes + DATA_OVERHEAD, self.data_rate)
    }

    /// The airtime of a broadcast frame that carries a network-layer packet of `bytes`.
    #[must_use]
    pub fn broadcast_time(&self, bytes: u32) -> Duration {
        self.airtime(bytes + DATA_OVERHEAD, self.basic_rate)
    }

    /// Whether RTS and CTS precede a unicast frame that carries a network-layer packet of `bytes`.
    #[must_use]
    pub const fn uses_rts(&self, bytes: u32) -> bool {
        (bytes + DATA_OVERHEAD) as u64 > self.rts_threshold.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn airtimes_are_those_of_the_standard() {
        let mut config = DcfConfig::DEFAULT;
        let micros = Duration::from_micros;
        assert_eq!(config.rts_time(), micros(192 + 80));
        assert_eq!(config.cts_time(), micros(192 + 56));
        assert_eq!(config.ack_time(), micros(192 + 56));
        assert_eq!(config.data_time(1052), micros(192 + 4 * 1086));
        // An update of DSDV with 40 entries.
        assert_eq!(config.broadcast_time(500), micros(2328));
        config.data_rate = Rate::from_bits_per_sec(11_000_000);
        config.basic_rate = Rate::from_bits_per_sec(1_000_000);
        assert_eq!(
            config.data_time(1052),
            Duration::from_nanos(192_000 + 789_819)
        );
        assert_eq!(SIFS + DIFS + config.ack_time(), EIFS);
        assert_eq!(SIFS + SLOT + SLOT, DIFS);
        config.basic_rate = Rate::from_bits_per_sec(2_000_000);
        config.preamble = Preamble::Short;
        assert_eq!(config.ack_time(), micros(96 + 56));
    }

    #[test]
    fn rules_refuse_other_rates_and_windows() {
        let check = |config: DcfConfig| config.check(&|_| true).map_err(|wrong| wrong.key);
        assert_eq!(check(DcfConfig::DEFAULT), Ok(()));
        let rate = Rate::from_bits_per_sec(3_000_000);
        let data = DcfConfig {
            data_rate: rate,
            ..DcfConfig::DEFAULT
        };
        assert_eq!(check(data), Err("data_rate"));
        let basic = DcfConfig {
            basic_rate: rate,
            ..DcfConfig::DEFAULT
        };
        assert_eq!(check(basic), Err("basic_rate"));
        let short = DcfConfig {
            preamble: Preamble::Short,
            ..DcfConfig::DEFAULT
        };
        assert_eq!(check(short), Ok(()));
        let slow = DcfConfig {
            basic_rate: Rate::from_bits_per_sec(1_000_000),
            ..short
        };
        assert_eq!(check(slow), Err("preamble"));
        let window = DcfConfig {
            cw_min: 2000,
            ..DcfConfig::DEFAULT
        };
        assert_eq!(check(window), Err("cw_min"));
    }

    #[test]
    fn rts_precedes_frames_above_the_threshold() {
        let config = DcfConfig {
            rts_threshold: Bytes::new(534),
            ..DcfConfig::DEFAULT
        };
        assert!(!config.uses_rts(500));
        assert!(config.uses_rts(501));
        assert!(DcfConfig::DEFAULT.uses_rts(0));
    }
}
