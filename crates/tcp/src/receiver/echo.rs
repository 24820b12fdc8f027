//! What the receiver tells the sender of what the routers wrote (RFC 4782, section 3.3 and 4.4; fast-startup,
//! sections A4.2 and A5).

use units::Rate;
use units::feedback::{Feedback, RateCode, ttl_diff};

/// What the next ACK carries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Echo {
    /// Nothing.
    #[default]
    Nothing,
    /// Once, with the SYN-ACK.
    Response(Feedback),
    /// The last rate; `None` where a router did not help.
    Rcp(Option<Rate>),
    /// The sum since the last ACK.
    Xcp(Option<i64>),
}

impl Echo {
    /// A packet brought `feedback`, with the time to live `ip_ttl` of its IP header.
    pub(super) fn take(&mut self, feedback: &Feedback, ip_ttl: u8) {
        match *feedback {
            Feedback::RateRequest { rate, ttl, nonce } => {
                // A request for nothing is not answered.
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

    /// What an ACK that leaves carries.
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
