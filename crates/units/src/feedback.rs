//! Feedback between hosts and routers in packet headers: Quick-Start (RFC 4782), RCP (Dukkipati and
//! McKeown) and XCP (Katabi et al. 2002). These types are the only interface between hosts and
//! routers.
//!
//! The TTL of the IP header is not included. Every router decrements it, and a router with explicit
//! support decrements the TTL here too. If the difference of the two TTLs has changed at the
//! receiver, a router on the path has no support.
//!
//! ## Deviations
//!
//! - The descriptions of RCP and XCP have no second TTL, and assume that every router supports
//!   them. Here they use that of Quick-Start (our reconstruction), so that a sender can fall back.
//! - Sizes on the wire: Quick-Start's are the RFC's; RCP's 12 bytes are our assumption, and XCP's
//!   20 are those of its draft as recalled.

use crate::{Duration, Rate};

/// The initial TTL of hosts.
pub const HOST_TTL: u8 = 64;

/// A rate in Quick-Start's encoding: 40 kbit/s times a power of two, headers included. Code 0
/// denies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct RateCode(u8);

impl RateCode {
    /// No rate is approved.
    pub const DENIED: Self = Self(0);
    /// 1.31 Gbit/s.
    pub const LARGEST: Self = Self(15);
    /// The unit `K = 40,000` of `K * 2^N`, in bits per second.
    const UNIT: u64 = 40_000;

    /// The rate with code `code`, at most 15.
    #[must_use]
    pub const fn new(code: u8) -> Self {
        if code > Self::LARGEST.0 {
            Self::LARGEST
        } else {
            Self(code)
        }
    }

    /// The code.
    #[must_use]
    pub const fn get(self) -> u8 {
        self.0
    }

    /// The rate that the code represents.
    #[must_use]
    pub const fn rate(self) -> Rate {
        if self.0 == 0 {
            return Rate::ZERO;
        }
        Rate::from_bits_per_sec(Self::UNIT << self.0)
    }

    /// The smallest code whose rate is at least `rate`, or the largest code: a sender rounds up.
    #[must_use]
    pub const fn at_least(rate: Rate) -> Self {
        let mut code = Self(1);
        while code.0 < Self::LARGEST.0 && code.rate().bits_per_sec() < rate.bits_per_sec() {
            code.0 += 1;
        }
        code
    }

    /// The largest code whose rate is at most `rate`: a router rounds down.
    #[must_use]
    pub const fn at_most(rate: Rate) -> Self {
        let mut code = Self::LARGEST;
        while code.0 > 0 && code.rate().bits_per_sec() > rate.bits_per_sec() {
            code.0 -= 1;
        }
        code
    }
}

/// Quick-Start's nonce: 30 random bits, two for each step of the rate. A router that lowers the
/// rate overwrites the bits of the removed steps, so that a receiver cannot claim a rate that was
/// not approved.
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

    /// The nonce after the rate was lowered from `from` to `to`. The removed steps take their bits
    /// from `random`.
    #[must_use]
    pub const fn lowered(self, from: RateCode, to: RateCode, random: u32) -> Self {
        let kept = Self::low_bits(to) | !Self::low_bits(from);
        Self::new(self.0 & kept | random & !kept)
    }

    /// Whether `echoed` proves that `code` was approved with this nonce: the bits of all steps at
    /// or below `code` are intact.
    #[must_use]
    pub const fn proves(self, echoed: Self, code: RateCode) -> bool {
        (self.0 ^ echoed.0) & Self::low_bits(code) == 0
    }

    /// The bits of the steps at and below `code`.
    const fn low_bits(code: RateCode) -> u32 {
        (1 << (2 * code.0)) - 1
    }
}

/// The feedback in a packet, toward routers or back to the sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feedback {
    /// Quick-Start: a sender asks for a rate (IP option 25, function 0).
    RateRequest {
        /// The requested rate, which routers may lower.
        rate: RateCode,
        /// The second TTL (`QS TTL`).
        ttl: u8,
        /// Proof of the approved rate.
        nonce: Nonce,
    },
    /// Quick-Start: the request as received (TCP option 27).
    RateResponse {
        /// The rate of the request as received.
        rate: RateCode,
        /// The TTL of IP less that of the request, modulo 256.
        ttl_diff: u8,
        /// The nonce as received.
        nonce: Nonce,
    },
    /// Quick-Start: the sender reports the rate that it uses to the routers (IP option 25, function
    /// 8).
    RateReport {
        /// The approved rate, or [`RateCode::DENIED`].
        rate: RateCode,
        /// The nonce of the request.
        nonce: Nonce,
    },
    /// RCP, toward the receiver.
    Rcp {
        /// The smallest rate on the path so far; [`Rate::MAX`] at the sender.
        rate: Rate,
        /// The sender's round-trip time; zero before it has one.
        rtt: Duration,
        /// The second TTL.
        ttl: u8,
    },
    /// RCP, back to the sender: `None` if a router did not support it.
    RcpEcho {
        /// The smallest rate on the path.
        rate: Option<Rate>,
    },
    /// XCP, toward the receiver.
    Xcp {
        /// Round-trip time over the window in packets (`X`).
        interval: Duration,
        /// The sender's round-trip time; zero before it has one.
        rtt: Duration,
        /// The permitted change of the sender's rate, in bytes per second; [`i64::MAX`] at the
        /// sender.
        delta: i64,
        /// The second TTL.
        ttl: u8,
    },
    /// XCP, back to the sender: the sum since the last ACK; `None` if a router did not support it.
    XcpEcho {
        /// In bytes per second.
        delta: Option<i64>,
    },
}

impl Feedback {
    /// Bytes that the feedback adds to a packet.
    #[must_use]
    pub const fn wire_size(&self) -> u32 {
        match self {
            Self::RateRequest { .. } | Self::RateResponse { .. } | Self::RateReport { .. } => 8,
            Self::Rcp { .. } | Self::RcpEcho { .. } => 12,
            Self::Xcp { .. } | Self::XcpEcho { .. } => 20,
        }
    }
}

/// The difference of the two TTLs at a host that received `ip_ttl` and the packet's `ttl`.
#[must_use]
pub const fn ttl_diff(ip_ttl: u8, ttl: u8) -> u8 {
    ip_ttl.wrapping_sub(ttl)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values computed by hand from RFC 4782.
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

    /// Values computed by hand from RFC 4782.
    #[test]
    fn a_nonce_proves_a_rate_and_no_higher_one() {
        let nonce = Nonce::new(0x2a5c_3f19);
        let fields: [u8; 15] = core::array::from_fn(|at| nonce.field(15 - at as u8));
        assert_eq!(fields, [2, 2, 2, 1, 1, 3, 0, 0, 3, 3, 3, 0, 1, 2, 1]);
        assert_eq!((nonce.field(0), nonce.field(16)), (0, 0));
        // Steps 8 and 7 become 1 and 1. Other bits of `random` do not matter.
        let (from, to) = (RateCode::new(8), RateCode::new(6));
        let lowered = nonce.lowered(from, to, 0x3fff_5fff);
        assert_eq!(lowered.get(), 0x2a5c_5f19);
        assert_eq!(nonce.lowered(from, to, 0x5000), lowered);
        let proven = |code| nonce.proves(lowered, RateCode::new(code));
        assert_eq!((proven(6), proven(7), proven(8)), (true, false, false));
    }

    /// Values computed by hand from RFC 4782.
    #[test]
    fn the_difference_of_the_ttls_shows_missing_router_support() {
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
