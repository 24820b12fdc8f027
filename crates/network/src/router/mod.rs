//! Routers that help: they read what a packet carries for them, and write into it.
//!
//! A [`Router`] stands in front of one link and sees every packet that is offered to it, whether the
//! packet carries feedback or not; no other element looks at [`Feedback`]. Without one a router is
//! what the text of each scheme calls one that does not understand: it leaves the packet's second
//! time to live alone, and sender and receiver see that.
//!
//! A router keeps a few numbers for its link and nothing for a flow. Its timers need no event: what
//! they would have done is done when the next packet arrives, before it is counted, with the queue
//! and the utilization of their time. An idle link costs nothing.
//!
//! ## Deviations
//!
//! - The rate of a link that changes with time is taken as its mean: a router knows what it was
//!   configured with.
//! - Rates, queues and packets are counted with the link's overhead.

mod quick_start;
mod rcp;
pub mod xcp;

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use crate::Link;
pub use quick_start::{QuickStartConfig, QuickStartRouter};
pub use rcp::{RcpConfig, RcpRouter};
pub use xcp::{XcpConfig, XcpRouter};

/// How the router in front of a link helps.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Help {
    /// Not at all.
    #[default]
    None,
    /// It approves rates (RFC 4782).
    QuickStart(QuickStartConfig),
    /// It tells every flow one rate.
    Rcp(RcpConfig),
    /// It tells each packet by how much its flow's rate may change.
    Xcp(XcpConfig),
}

/// A router that helps.
#[derive(Clone, Debug)]
pub enum Router {
    /// It approves rates.
    QuickStart(Box<QuickStartRouter>),
    /// It tells every flow one rate.
    Rcp(Box<RcpRouter>),
    /// It tells each packet by how much its flow's rate may change.
    Xcp(Box<XcpRouter>),
}

/// What a router can see of its link at a time.
pub trait View {
    /// Bytes that wait at `at`, overhead included. Times do not go back.
    fn queued(&mut self, at: Instant) -> Bytes;

    /// How long the link was busy from the beginning of the run to `at`.
    fn busy(&self, at: Instant) -> Duration;
}

impl<T> View for Link<T> {
    fn queued(&mut self, at: Instant) -> Bytes {
        self.queue_len(at).1
    }

    fn busy(&self, at: Instant) -> Duration {
        self.busy_time(at)
    }
}

impl Router {
    /// The router in front of a link of `rate`; `None` for one that does not help.
    #[must_use]
    pub fn new(help: &Help, rate: Rate, rng: &ChaCha8Rng) -> Option<Self> {
        let router = match help {
            Help::None => return None,
            Help::QuickStart(config) => {
                Self::QuickStart(Box::new(QuickStartRouter::new(config, rate, rng)))
            }
            Help::Rcp(config) => Self::Rcp(Box::new(RcpRouter::new(config, rate, rng))),
            Help::Xcp(config) => Self::Xcp(Box::new(XcpRouter::new(config, rate))),
        };
        Some(router)
    }

    /// A packet of `size` bytes, overhead included, is about to be offered to the link; `feedback` is
    /// what it carries. Times do not go back.
    pub fn on_arrival(
        &mut self,
        now: Instant,
        size: u64,
        link: &mut impl View,
        feedback: Option<&mut Feedback>,
    ) {
        match self {
            Self::QuickStart(router) => router.on_arrival(now, link, feedback),
            Self::Rcp(router) => router.on_arrival(now, size, link, feedback),
            Self::Xcp(router) => router.on_arrival(now, size, link, feedback),
        }
    }
}
