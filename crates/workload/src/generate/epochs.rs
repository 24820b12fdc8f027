//! Requests, responses and the times between them: what several generators draw.

use rand_chacha::ChaCha8Rng;
use units::Duration;

use super::{REQUEST, web_responses};
use crate::draw::{Sizes, Times};
use crate::{Side, Turn};

/// Distributions of the parts of an epoch.
///
/// The defaults are those of the synthetic substitute for recorded traces: requests are log-normal
/// (median 400 bytes, sigma 0.6), responses as in Scharf 2011, think times log-normal (median 1 s,
/// sigma 1.3), and the acceptor's delay is exponential (mean 20 ms).
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Epochs {
    /// Size of a request, `a`.
    pub request: Sizes,
    /// How long the acceptor works on a request.
    pub delay: Times,
    /// Size of a response, `b`.
    pub response: Sizes,
    /// How long the initiator waits after a response before its next request, `t`.
    pub think: Times,
}

impl Default for Epochs {
    fn default() -> Self {
        Self {
            request: Sizes::LogNormal {
                median: REQUEST.get() as f64,
                sigma: 0.6,
            },
            delay: Times::Exponential {
                mean: Duration::from_millis(20),
            },
            response: Sizes::Pareto(web_responses()),
            think: Times::LogNormal {
                median: Duration::from_secs(1),
                sigma: 1.3,
            },
        }
    }
}

impl Epochs {
    /// Appends an epoch whose request waits for `think`.
    pub(super) fn push(&self, turns: &mut Vec<Turn>, think: Duration, random: &mut ChaCha8Rng) {
        turns.push(Turn {
            side: Side::Initiator,
            wait: think,
            bytes: self.request.draw(random),
        });
        turns.push(Turn {
            side: Side::Acceptor,
            wait: self.delay.draw(random),
            bytes: self.response.draw(random),
        });
    }

    /// `count` epochs of a connection.
    pub(super) fn draw(&self, count: u32, random: &mut ChaCha8Rng) -> Vec<Turn> {
        let mut turns = Vec::with_capacity(2 * count as usize);
        for epoch in 0..count {
            let first = epoch == 0;
            let think = if first {
                Duration::ZERO
            } else {
                self.think.draw(random)
            };
            self.push(&mut turns, think, random);
        }
        turns
    }
}
