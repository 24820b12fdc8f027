//! The sender's part of Quick-Start: the request to the routers, their answer and the report (RFC
//! 4782, sections 4.1 to 4.5).
//!
//! Only the first SYN carries a request, and waits 3 s for its answer. A retransmitted SYN carries
//! none. The same holds for the SYN-ACK of a passive opener (`sender/accept.rs`). An answer is valid if its difference of the two TTLs equals that of the request, its rate
//! is not above the request, and the nonce proves the rate. The first data segment carries the
//! report.
//!
//! ## Deviations
//!
//! The RFC allows the report in the first data segment or in an earlier packet. Here the third
//! segment of the handshake never carries it.

use units::Rate;
use units::feedback::{Feedback, HOST_TTL, Nonce, RateCode, ttl_diff};

/// The request, and the report still to be sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickStart {
    asked: Option<Request>,
    report: Option<RateCode>,
    has_asked: bool,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    rate: RateCode,
    ttl_diff: u8,
    nonce: Nonce,
}

impl QuickStart {
    /// A request for `rate`. The nonce and the TTL are drawn from `random`.
    pub(crate) fn ask(&mut self, rate: Rate, random: u64) -> Feedback {
        let rate = RateCode::at_least(rate);
        let ttl = (random >> 32) as u8;
        let nonce = Nonce::new(random as u32);
        self.has_asked = true;
        self.asked = Some(Request {
            rate,
            ttl_diff: ttl_diff(HOST_TTL, ttl),
            nonce,
        });
        Feedback::RateRequest { rate, ttl, nonce }
    }

    /// Whether a packet has carried a request.
    pub(crate) const fn has_asked(&self) -> bool {
        self.has_asked
    }

    /// Withdraws the request.
    pub(crate) fn withdraw(&mut self) {
        self.asked = None;
    }

    /// The handshake is over. Returns the rate that every router approved, if they did.
    pub(crate) fn settle(&mut self, answer: Option<&Feedback>) -> Option<Rate> {
        let asked = self.asked?;
        let approved = match answer {
            Some(Feedback::RateResponse {
                rate,
                ttl_diff,
                nonce,
            }) if *ttl_diff == asked.ttl_diff
                && *rate <= asked.rate
                && asked.nonce.proves(*nonce, *rate) =>
            {
                *rate
            }
            _ => RateCode::DENIED,
        };
        self.report = Some(approved);
        (approved != RateCode::DENIED).then(|| approved.rate())
    }

    /// The report for the first data segment.
    pub(crate) fn report(&mut self) -> Option<Feedback> {
        let rate = self.report.take()?;
        let nonce = self.asked.take()?.nonce;
        Some(Feedback::RateReport { rate, nonce })
    }
}

/// Bits that differ between connections (the finalizer of SplitMix64).
pub(crate) const fn drawn(seed: u64) -> u64 {
    let value = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked() -> (QuickStart, RateCode, u8, Nonce) {
        let mut state = QuickStart::default();
        let random = drawn(7);
        match state.ask(Rate::from_bits_per_sec(8_000_000), random) {
            Feedback::RateRequest { rate, ttl, nonce } => (state, rate, ttl, nonce),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn an_answer_is_valid_when_all_three_proofs_are() {
        let (state, rate, ttl, nonce) = asked();
        assert_eq!(rate, RateCode::new(8), "a sender rounds up");
        let diff = ttl_diff(HOST_TTL, ttl);
        let settle = |rate, ttl_diff, nonce| {
            let mut state = state;
            state.settle(Some(&Feedback::RateResponse {
                rate,
                ttl_diff,
                nonce,
            }))
        };
        let lowered = nonce.lowered(rate, RateCode::new(6), !nonce.get());
        assert_eq!(settle(rate, diff, nonce), Some(rate.rate()));
        let six = RateCode::new(6);
        assert_eq!(settle(six, diff, lowered), Some(six.rate()));
        // A router without Quick-Start, a receiver that claims a higher rate, and one that claims
        // more than was requested.
        assert_eq!(settle(six, diff.wrapping_sub(1), lowered), None);
        assert_eq!(settle(RateCode::new(7), diff, lowered), None);
        assert_eq!(settle(RateCode::new(9), diff, nonce), None);
        assert_eq!(settle(RateCode::DENIED, diff, nonce), None);
    }

    #[test]
    fn the_outcome_is_reported_once() {
        let (mut state, rate, ttl, nonce) = asked();
        let mut silent = state;
        let answer = Feedback::RateResponse {
            rate,
            ttl_diff: ttl_diff(HOST_TTL, ttl),
            nonce,
        };
        state.settle(Some(&answer));
        assert_eq!(state.report(), Some(Feedback::RateReport { rate, nonce }));
        assert_eq!(state.report(), None);
        assert_eq!(silent.settle(None), None);
        let denied = RateCode::DENIED;
        assert_eq!(
            silent.report(),
            Some(Feedback::RateReport {
                rate: denied,
                nonce
            })
        );
        let mut withdrawn = asked().0;
        withdrawn.withdraw();
        assert_eq!(
            (withdrawn.settle(Some(&answer)), withdrawn.report()),
            (None, None)
        );
    }
}
