//! Router feedback that the receiver returns to the sender (RFC 4782, sections 3.3 and 4.4; RCP and
//! XCP as described in `units::feedback`).

use units::Rate;
use units::feedback::{Feedback, RateCode, ttl_diff};

/// The feedback in the next ACK.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Echo {
    /// Nothing.
    #[default]
    Nothing,
    /// Once, with the SYN-ACK.
    Response(Feedback),
    /// The last rate; `None` if a router did not support RCP.
    Rcp(Option<Rate>),
    /// The sum since the last ACK.
    Xcp(Option<i64>),
}

impl Echo {
    /// A packet carried `feedback`, with the TTL `ip_ttl` in its IP header.
    pub(super) fn take(&mut self, feedback: &Feedback, ip_ttl: u8) {
        match *feedback {
            Feedback::RateRequest { rate, ttl, nonce } => {
                // A denied request gets no answer.
                if rate != RateCode::DENIED {
                    *self = Self::Response(Feedback::RateResponse {
                        rate,
                        ttl_diff: ttl_diff(ip_ttl, ttl),
                        nonce,
                    });
                }
            }
            Feedback::Rcp { rate, ttl, .. } => {
                *self = Self::Rcp((ttl == ip_ttl).then_some(rate));
            }
            Feedback::Xcp { delta, ttl, .. } => {
                let before = match self {
                    Self::Xcp(sum) => *sum,
                    _ => Some(0),
                };
                let helped = before.filter(|_| ttl == ip_ttl);
                *self = Self::Xcp(helped.map(|sum| sum.saturating_add(delta)));
            }
            Feedback::RateReport { .. }
            | Feedback::RateResponse { .. }
            | Feedback::RcpEcho { .. }
            | Feedback::XcpEcho { .. } => {}
        }
    }

    /// The feedback in an ACK that leaves.
    pub(super) fn give(&mut self, syn: bool) -> Option<Feedback> {
        match *self {
            Self::Nothing => None,
            Self::Response(response) => {
                *self = Self::Nothing;
                syn.then_some(response)
            }
            Self::Rcp(rate) => Some(Feedback::RcpEcho { rate }),
            Self::Xcp(delta) => {
                *self = Self::Xcp(delta.map(|_| 0));
                Some(Feedback::XcpEcho { delta })
            }
        }
    }
}
