//! Routers with explicit support for congestion control: they read and write feedback in packets.
//!
//! A [`Router`] is in front of one link and sees every packet that is offered to it, with or
//! without feedback; no other element reads [`Feedback`]. A link without one is a router that does
//! not support the scheme: it does not change the packet's second time to live, which sender and
//! receiver detect.
//!
//! A router keeps a few numbers for its link and no state for a flow. Its timers need no event: due
//! updates are made when the next packet arrives, before that is counted, with the queue and the
//! utilization of their own time. An idle link costs nothing.
//!
//! A router lies if it takes its link to be faster than it is (`overstate`): it then grants more than
//! the link carries.
//!
//! ## Deviations
//!
//! - A link whose rate changes with time counts with its mean rate: a router knows its
//!   configuration.
//! - Rates, queues and packets include the link's overhead.

mod quick_start;
mod rcp;
pub mod xcp;

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, Rules, choice};
use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use crate::{Link, Payload};
pub use quick_start::{QuickStartConfig, QuickStartRouter};
pub use rcp::{RcpConfig, RcpRouter};
pub use xcp::{XcpConfig, XcpRouter};

choice! {
    /// The explicit support of the router in front of a link.
    #[derive(Clone, Copy, Debug, Default, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub enum RouterSupport("the router support") {
        /// None.
        #[default]
        None = "none";
        /// It approves rates (RFC 4782).
        QuickStart(QuickStartConfig) = "quick-start";
        /// It assigns one rate to all flows.
        Rcp(RcpConfig) = "rcp";
        /// It assigns each packet a change of its flow's rate.
        Xcp(XcpConfig) = "xcp";
    }
}

/// `overstate` of each kind.
const OVERSTATE: Key = Key::of(Kind::Number(1.0, 1000.0)).only_if_said();

/// No rules, and the defaults of the description.
macro_rules! settings {
    ($($config:ty),+) => { $(
        impl Rules for $config {}

        impl Default for $config {
            fn default() -> Self {
                Self::DEFAULT
            }
        }
    )+ };
}
settings!(QuickStartConfig, RcpConfig, XcpConfig);

impl RouterSupport {
    /// Whether it draws random numbers, or a flow that asks it does.
    #[must_use]
    pub const fn is_random(&self) -> bool {
        match self {
            Self::None => false,
            Self::QuickStart(_) | Self::Rcp(_) | Self::Xcp(_) => true,
        }
    }
}

/// A router with explicit support.
#[derive(Clone, Debug)]
pub enum Router {
    /// It approves rates.
    QuickStart(Box<QuickStartRouter>),
    /// It assigns one rate to all flows.
    Rcp(Box<RcpRouter>),
    /// It assigns each packet a change of its flow's rate.
    Xcp(Box<XcpRouter>),
}

/// The state of a link that its router can see.
pub trait View {
    /// Bytes queued at `at`, overhead included. Times do not go back.
    fn queued(&mut self, at: Instant) -> Bytes;

    /// Busy time of the link from the start of the run to `at`.
    fn busy(&self, at: Instant) -> Duration;
}

impl<T: Payload> View for Link<T> {
    fn queued(&mut self, at: Instant) -> Bytes {
        self.queue_len(at).1
    }

    fn busy(&self, at: Instant) -> Duration {
        self.busy_time(at)
    }
}

impl Router {
    /// The router in front of a link of `rate`; `None` without explicit support.
    #[must_use]
    pub fn new(router_support: &RouterSupport, rate: Rate, rng: &ChaCha8Rng) -> Option<Self> {
        let router = match router_support {
            RouterSupport::None => return None,
            RouterSupport::QuickStart(config) => {
                Self::QuickStart(Box::new(QuickStartRouter::new(config, rate, rng)))
            }
            RouterSupport::Rcp(config) => Self::Rcp(Box::new(RcpRouter::new(config, rate, rng))),
            RouterSupport::Xcp(config) => Self::Xcp(Box::new(XcpRouter::new(config, rate))),
        };
        Some(router)
    }

    /// A packet of `size` bytes, overhead included, is about to be offered to the link with its
    /// `feedback`. Times do not go back.
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
