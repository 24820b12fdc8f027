//! The sender's part of asking the routers: Quick-Start's request, its answer and its report (RFC
//! 4782, sections 4.1 to 4.5).
//!
//! A request goes with the first SYN alone; a SYN that is sent again has none, and the first waits
//! 3 s for its answer. An answer holds when the difference of the two times to live is that of the
//! request, the rate is not above it, and the nonce proves it. The report goes with the first data.
//!
//! ## Deviations
//!
//! The RFC leaves the report to the first data or to a packet before it; here the handshake's third
//! segment never carries it.

use units::Rate;
use units::feedback::{Feedback, HOST_TTL, Nonce, RateCode, ttl_diff};

/// What was asked, and what is still to be said about it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QuickStart {
    asked: Option<Request>,
    report: Option<RateCode>,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    rate: RateCode,
    ttl_diff: u8,
    nonce: Nonce,
}

impl QuickStart {
    /// A request for `rate`; nonce and time to live are drawn from `random`.
    pub(crate) fn ask(&mut self, rate: Rate, random: u64) -> Feedback {
        let rate = RateCode::at_least(rate);
        let ttl = (random >> 32) as u8;
        let nonce = Nonce::new(random as u32);
        self.asked = Some(Request {
            rate,
            ttl_diff: ttl_diff(HOST_TTL, ttl),
            nonce,
        });
        Feedback::RateRequest { rate, ttl, nonce }
    }

    /// The SYN that carried the request is given up.
    pub(crate) fn withdraw(&mut self) {
        self.asked = None;
    }

    /// The handshake is over: the rate that every router approved, if they did.
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

    /// What goes with the first data.
    pub(crate) fn report(&mut self) -> Option<Feedback> {
        let rate = self.report.take()?;
        let nonce = self.asked.take()?.nonce;
        Some(Feedback::RateReport { rate, nonce })
    }
}

/// Bits that differ from connection to connection (the finaliser of SplitMix64).
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
    fn an_answer_holds_when_all_three_proofs_do() {
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
        // A router that did not help, a receiver that claims more, and one that claims the
        // impossible.
        assert_eq!(settle(six, diff.wrapping_sub(1), lowered), None);
        assert_eq!(settle(RateCode::new(7), diff, lowered), None);
        assert_eq!(settle(RateCode::new(9), diff, nonce), None);
        assert_eq!(settle(RateCode::DENIED, diff, nonce), None);
    }

    #[test]
    fn whatever_comes_of_it_is_reported_once() {
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
