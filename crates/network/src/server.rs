//! The server of a link: when the service of a packet starts and when it ends, in closed form.
//!
//! Because service is first come first served and a rate depends on time alone, both are known
//! when the packet is accepted (network-models, section 0.1: service time is bits over rate).

use alloc::boxed::Box;

use units::{Bytes, Instant, Rate, Transmission};

use crate::access::{AccessServer, Model, Surroundings};
use crate::busy::BusyTime;
use crate::process::{Process, Steps, Varying};
use crate::trace::Follower;
use crate::{DropReason, Ecn, Served, Service};

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
    Model(Box<ModelServer>),
}

#[derive(Clone, Debug)]
pub(crate) struct ModelServer {
    /// As it was at the beginning of the run.
    origin: Model,
    model: Model,
}

#[derive(Clone, Debug)]
pub(crate) struct ProcessServer {
    /// As it was at the beginning of the run.
    origin: Process,
    process: Process,
    debt: u128,
}

impl Server {
    pub(crate) fn new(service: &Service, around: &Surroundings<'_>) -> Self {
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
            Service::Access(access) => {
                // What a medium serves does not come here.
                let Some(model) = access.server(around) else {
                    return Self::Outage;
                };
                return Self::Model(Box::new(ModelServer {
                    origin: model.clone(),
                    model,
                }));
            }
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
                around.rng,
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
            Self::Trace(_) | Self::Model(_) => true,
            Self::Outage | Self::Fixed { .. } | Self::Process(_) => busy_until > now,
        }
    }

    /// Takes a packet that arrives at `now`, while those before it leave by `busy_until`: when its
    /// service starts and when it ends. [`Instant::MAX`] is never.
    #[inline]
    pub(crate) fn serve(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let Self::Fixed { rate, transmission } = self else {
            return self.serve_unsteadily(now, busy_until, bytes);
        };
        let start = now.max(busy_until);
        let after_gap = now > busy_until;
        if after_gap {
            transmission.reset();
        }
        Served {
            start,
            end: start + transmission.time_for(Bytes::new(bytes), *rate),
            after_gap,
        }
    }

    /// The same where the rate is not fixed; a fixed one does not come here.
    #[inline(never)]
    fn serve_unsteadily(&mut self, now: Instant, busy_until: Instant, bytes: u64) -> Served {
        let start = now.max(busy_until);
        let after_gap = now > busy_until;
        let end = match self {
            Self::Unlimited => now,
            Self::Outage | Self::Fixed { .. } => Instant::MAX,
            Self::Process(server) => {
                let debt = if after_gap { 0 } else { server.debt };
                let (end, debt) = server.process.serve(start, bytes, debt);
                server.debt = debt;
                end
            }
            Self::Trace(follower) => return follower.serve(now, busy_until, bytes),
            Self::Model(server) => return server.model.serve(now, busy_until, bytes),
        };
        Served {
            start,
            end,
            after_gap,
        }
    }

    /// Takes a packet that came at `came` and whose turn is at `turn`. On a trace whoever waited goes on with what the
    /// opportunity before has left, and with others of the same millisecond; only who comes now has to wait for a later one.
    /// So it is with the blocks of a cell, which carry nobody who came after they began.
    pub(crate) fn serve_in_turn(
        &mut self,
        (came, turn): (Instant, Instant),
        busy_until: Instant,
        bytes: u64,
    ) -> Served {
        match self {
            Self::Trace(follower) => follower.serve(came, busy_until, bytes),
            Self::Model(server) => {
                let asks_when_it_came = server.model.asks_when_it_came();
                let at = if asks_when_it_came { came } else { turn };
                server.model.serve(at, busy_until, bytes)
            }
            _ => self.serve(turn, busy_until, bytes),
        }
    }

    /// Whether a model drops a packet that is offered at `now` before it could queue; it may mark it.
    #[inline]
    pub(crate) fn refuses(
        &mut self,
        now: Instant,
        bytes: u64,
        ecn: &mut Ecn,
    ) -> Option<DropReason> {
        match self {
            Self::Model(server) => server.model.refuses(now, bytes, ecn),
            _ => None,
        }
    }

    /// A packet was taken at `now`.
    #[inline]
    pub(crate) fn enters(&mut self, now: Instant, bytes: u64) {
        if let Self::Model(server) = self {
            server.model.enters(now, bytes);
        }
    }

    /// The queue's discipline dropped so many bytes of those that had entered.
    #[inline]
    pub(crate) fn loses(&mut self, now: Instant, bytes: u64) {
        if let Self::Model(server) = self
            && bytes > 0
        {
            server.model.loses(now, bytes);
        }
    }

    /// When a packet is handed on whose last bit was served at `end`. In order, once for each.
    #[inline(always)]
    pub(crate) fn release(&mut self, end: Instant) -> Instant {
        match self {
            Self::Model(server) => server.model.release(end),
            _ => end,
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
            Self::Model(server) => Some(server.origin.clone().capacity(until)),
        }
    }

    /// What was used until `now`, and what was available: busy time with a constant rate, otherwise
    /// bytes, of which `served` were used.
    pub(crate) fn used(&self, now: Instant, busy: &BusyTime, served: u64) -> (u64, u64) {
        if let Self::Fixed { .. } = self {
            (busy.total(now).as_nanos(), now.as_nanos())
        } else {
            (served, self.capacity(now).unwrap_or(Bytes::ZERO).get())
        }
    }
}
