//! The server of a link: when the service of a packet starts and when it ends, in closed form.
//!
//! Because service is first come first served and a rate depends on time alone, both are known
//! when the packet is accepted (network-models, section 0.1: service time is bits over rate).

use alloc::boxed::Box;

use rand_chacha::ChaCha8Rng;
use units::{Bytes, Instant, Rate, Transmission};

use crate::Service;
use crate::process::{Process, Steps, Varying};
use crate::trace::Follower;

#[derive(Clone, Debug)]
pub(crate) enum Server {
    Unlimited,
    /// A link that never sends: rate zero, for ever.
    Outage,
    Fixed {
        rate: Rate,
        transmission: Transmission,
    },
    Process(Box<ProcessServer>),
    Trace(Box<Follower>),
}

#[derive(Clone, Debug)]
pub(crate) struct ProcessServer {
    /// As it was at the beginning of the run.
    origin: Process,
    process: Process,
    debt: u128,
}

impl Server {
    pub(crate) fn new(service: &Service, rng: &ChaCha8Rng) -> Self {
        let process = match service {
            Service::Unlimited => return Self::Unlimited,
            Service::Fixed(Rate::ZERO)
            | Service::Varying {
                mean: Rate::ZERO, ..
            }
            | Service::Varying {
                peak: Rate::ZERO, ..
            } => return Self::Outage,
            Service::Fixed(rate) => {
                return Self::Fixed {
                    rate: *rate,
                    transmission: Transmission::default(),
                };
            }
            Service::Trace(trace) => return Self::Trace(Box::new(Follower::new(trace.clone()))),
            Service::Steps { steps } => Process::Steps(Steps::new(steps.clone())),
            Service::Varying {
                mean,
                variation,
                correlation,
                slot,
                peak,
            } => Process::Varying(Box::new(Varying::new(
                *mean,
                *variation,
                *correlation,
                *slot,
                *peak,
                rng,
            ))),
        };
        Self::Process(Box::new(ProcessServer {
            origin: process.clone(),
            process,
            debt: 0,
        }))
    }

    /// Whether a packet that arrives at `now`, while those before it leave by `busy_until`, has to wait.
    pub(crate) fn waits(&self, now: Instant, busy_until: Instant) -> bool {
        match self {
            Self::Unlimited => false,
            // Even in front of an empty queue a packet waits for the next opportunity.
            Self::Trace(_) => true,
            Self::Outage | Self::Fixed { .. } | Self::Process(_) => busy_until > now,
        }
    }

    /// Takes a packet that arrives at `now`, while those before it leave by `busy_until`: when its
    /// service starts and when it ends. [`Instant::MAX`] is never.
    #[inline]
    pub(crate) fn serve(
        &mut self,
        now: Instant,
        busy_until: Instant,
        bytes: u64,
    ) -> (Instant, Instant) {
        let start = now.max(busy_until);
        match self {
            Self::Unlimited => (now, now),
            Self::Outage => (start, Instant::MAX),
            Self::Fixed { rate, transmission } => {
                if now > busy_until {
                    transmission.reset();
                }
                (
                    start,
                    start + transmission.time_for(Bytes::new(bytes), *rate),
                )
            }
            Self::Process(server) => {
                let debt = if now > busy_until { 0 } else { server.debt };
                let (end, debt) = server.process.serve(start, bytes, debt);
                server.debt = debt;
                (start, end)
            }
            Self::Trace(follower) => follower.serve(now, busy_until, bytes),
        }
    }

    /// The bytes that could have been served before `until`; `None` where there is no end to them.
    pub(crate) fn capacity(&self, until: Instant) -> Option<Bytes> {
        match self {
            Self::Unlimited => None,
            Self::Outage => Some(Bytes::ZERO),
            Self::Fixed { rate, .. } => Some(rate.bytes_in(until - Instant::ZERO)),
            Self::Process(server) => Some(server.origin.clone().capacity(until)),
            Self::Trace(follower) => Some(follower.capacity(until)),
        }
    }
}
