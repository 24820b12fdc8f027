//! What hosts and routers write into a packet for each other: Quick-Start (RFC 4782), RCP and XCP
//! (fast-startup, sections A3.2 to A3.4, A4.2 and A5). The vocabulary alone; hosts and routers know
//! nothing else of one another.
//!
//! The time to live of the IP header is not part of it: every router lowers that one, and a router
//! that helps lowers the one in here too. A receiver that finds their difference changed knows that
//! some router on the way did not help.
//!
//! ## Deviations
//!
//! - RCP and XCP have no such second time to live in their texts, which assume that every router
//!   helps. Theirs is Quick-Start's (our reconstruction), so that a sender can fall back.
//! - Sizes on the wire: Quick-Start's are the RFC's; RCP's 12 bytes are an assumption of the notes, XCP's
//!   20 those of its draft as recalled.

use crate::{Duration, Rate};

/// The time to live with which hosts send.
pub const HOST_TTL: u8 = 64;

/// A rate as Quick-Start writes it: 40 kbit/s times a power of two, headers included; code 0 denies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateCode(u8);

impl RateCode {
    /// Nothing is approved.
    pub const DENIED: Self = Self(0);
    /// 1.31 Gbit/s.
    pub const LARGEST: Self = Self(15);
    /// Bit per second of the unit `K = 40,000` in `K * 2^N`.
    const UNIT: u64 = 40_000;

    /// The code `code`, at most 15.
    #[must_use]
    pub const fn new(code: u8) -> Self {
        if code > Self::LARGEST.0 {
            Self::LARGEST
        } else {
            Self(code)
        }
    }

    /// The number.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The rate that it stands for.
    #[must_use]
    pub const fn rate(self) -> Rate {
        if self.0 == 0 {
            return Rate::ZERO;
        }
        Rate::from_bits_per_sec(Self::UNIT << self.0)
    }

    /// The smallest rate that is not below `rate`, or the largest there is: a sender rounds up.
    #[must_use]
    pub const fn at_least(rate: Rate) -> Self {
        let mut code = Self(1);
        while code.0 < Self::LARGEST.0 && code.rate().bits_per_sec() < rate.bits_per_sec() {
            code.0 += 1;
        }
        code
    }

    /// The largest rate that is not above `rate`: a router rounds down.
    #[must_use]
    pub const fn at_most(rate: Rate) -> Self {
        let mut code = Self::LARGEST;
        while code.0 > 0 && code.rate().bits_per_sec() > rate.bits_per_sec() {
            code.0 -= 1;
        }
        code
    }
}

/// Quick-Start's nonce: 30 random bits, two for each step of the rate. Who lowers the rate overwrites
/// the bits of the steps that it takes away, so that a receiver cannot claim what was not approved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nonce(u32);

impl Nonce {
    /// The low 30 bits of `bits`.
    #[must_use]
    pub const fn new(bits: u32) -> Self {
        Self(bits & ((1 << 30) - 1))
    }

    /// The 30 bits.
    #[must_use]
    pub const fn get(self) -> u32 {
        self.0
    }

    /// The two bits of the step from rate code `step` down to the one below it.
    #[must_use]
    pub const fn field(self, step: u8) -> u8 {
        match step {
            1..=15 => (self.0 >> (2 * (step - 1)) & 3) as u8,
            _ => 0,
        }
    }

    /// The nonce after a rate was lowered from `from` to `to`: their steps take their bits from
    /// `random`.
    #[must_use]
    pub const fn lowered(self, from: RateCode, to: RateCode, random: u32) -> Self {
        let kept = Self::low_bits(to) | !Self::low_bits(from);
        Self::new(self.0 & kept | random & !kept)
    }

    /// Whether `echoed` proves that `code` was approved on this nonce: the bits of no step at or below
    /// `code` were overwritten.
    #[must_use]
    pub const fn proves(self, echoed: Self, code: RateCode) -> bool {
        (self.0 ^ echoed.0) & Self::low_bits(code) == 0
    }

    /// The bits of the steps at and below `code`.
    const fn low_bits(code: RateCode) -> u32 {
        (1 << (2 * code.0)) - 1
    }
}

/// What a packet carries for routers, or brings back from them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Quick-Start: a sender asks for a rate (IP option 25, function 0).
    RateRequest {
        /// What it asks for; routers lower it.
        rate: RateCode,
        /// The second time to live (`QS TTL`).
        ttl: u8,
        /// Proof of what was approved.
        nonce: Nonce,
    },
    /// Quick-Start: what the receiver got (TCP option 27).
    RateResponse {
        /// What is left of the request.
        rate: RateCode,
        /// Time to live of IP less that of the request, modulo 256.
        ttl_diff: u8,
        /// As it arrived.
        nonce: Nonce,
    },
    /// Quick-Start: the sender tells the routers what it uses (IP option 25, function 8).
    RateReport {
        /// What was approved, or [`RateCode::DENIED`].
        rate: RateCode,
        /// That of the request.
        nonce: Nonce,
    },
    /// RCP, toward the receiver.
    Rcp {
        /// The smallest rate on the way so far; [`Rate::MAX`] as it leaves.
        rate: Rate,
        /// The sender's round-trip time; zero while it has none.
        rtt: Duration,
        /// The second time to live.
        ttl: u8,
    },
    /// RCP, back: `None` where a router did not help.
    RcpEcho {
        /// The smallest rate on the way.
        rate: Option<Rate>,
    },
    /// XCP, toward the receiver.
    Xcp {
        /// Round-trip time over the window in packets (`X`).
        interval: Duration,
        /// The sender's round-trip time; zero while it has none.
        rtt: Duration,
        /// By how much the sender's rate may change, in bytes per second; [`i64::MAX`] as it leaves.
        delta: i64,
        /// The second time to live.
        ttl: u8,
    },
    /// XCP, back: the sum since the last ACK; `None` where a router did not help.
    XcpEcho {
        /// In bytes per second.
        delta: Option<i64>,
    },
}

impl Feedback {
    /// Bytes that it adds to a packet.
    #[must_use]
    pub const fn wire_size(&self) -> u32 {
        match self {
            Self::RateRequest { .. } | Self::RateResponse { .. } | Self::RateReport { .. } => 8,
            Self::Rcp { .. } | Self::RcpEcho { .. } => 12,
            Self::Xcp { .. } | Self::XcpEcho { .. } => 20,
        }
    }
}

/// What the difference of the two times to live is at a host with `ip_ttl` and the packet's `ttl`.
#[must_use]
pub const fn ttl_diff(ip_ttl: u8, ttl: u8) -> u8 {
    ip_ttl.wrapping_sub(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// fast-startup D-Q1 and D-Q3.
    #[test]
    fn rates_are_powers_of_two_that_routers_round_down_and_senders_up() {
        assert_eq!(RateCode::new(0).rate(), Rate::ZERO);
        for code in 1..=15 {
            let bits = 40_000 * 2_u64.pow(u32::from(code));
            assert_eq!(RateCode::new(code).rate().bits_per_sec(), bits);
        }
        assert_eq!(RateCode::new(15).rate().bits_per_sec(), 1_310_720_000);
        for (bits, down, up) in [
            (1, 0, 1),
            (79_999, 0, 1),
            (80_000, 1, 1),
            (80_001, 1, 2),
            (159_999, 1, 2),
            (160_000, 2, 2),
            (1_000_000, 4, 5),
            (1_279_999, 4, 5),
            (1_280_000, 5, 5),
            (8_500_000, 7, 8),
            (10_000_000, 7, 8),
            (10_240_000, 8, 8),
            (1_310_720_000, 15, 15),
            (9_999_999_999, 15, 15),
        ] {
            let rate = Rate::from_bits_per_sec(bits);
            assert_eq!(RateCode::at_most(rate).get(), down, "{bits} down");
            assert_eq!(RateCode::at_least(rate).get(), up, "{bits} up");
        }
        assert_eq!(RateCode::new(200), RateCode::LARGEST);
    }

    /// D-Q5 and D-Q6.
    #[test]
    fn a_nonce_proves_a_rate_and_no_higher_one() {
        let nonce = Nonce::new(0x2a5c_3f19);
        let fields: [u8; 15] = core::array::from_fn(|at| nonce.field(15 - at as u8));
        assert_eq!(fields, [2, 2, 2, 1, 1, 3, 0, 0, 3, 3, 3, 0, 1, 2, 1]);
        assert_eq!((nonce.field(0), nonce.field(16)), (0, 0));
        // Steps 8 and 7 become 1 and 1, as in the table; bits elsewhere in `random` do not matter.
        let (from, to) = (RateCode::new(8), RateCode::new(6));
        let lowered = nonce.lowered(from, to, 0x3fff_5fff);
        assert_eq!(lowered.get(), 0x2a5c_5f19);
        assert_eq!(nonce.lowered(from, to, 0x5000), lowered);
        let proven = |code| nonce.proves(lowered, RateCode::new(code));
        assert_eq!((proven(6), proven(7), proven(8)), (true, false, false));
    }

    /// D-Q7.
    #[test]
    fn the_difference_of_the_times_to_live_tells_who_helped() {
        for (ip, qs, routers, approved, diffs) in [
            (64_u8, 92_u8, 3, 3, (228, 228)),
            (64, 92, 3, 2, (228, 227)),
            (64, 2, 3, 3, (62, 62)),
            (64, 1, 5, 5, (63, 63)),
            (64, 200, 1, 0, (120, 119)),
            (255, 255, 4, 4, (0, 0)),
        ] {
            let sent = ttl_diff(ip, qs);
            let received = ttl_diff(ip.wrapping_sub(routers), qs.wrapping_sub(approved));
            assert_eq!((sent, received), diffs);
        }
    }
}
