//! The server of a link: the start and end of a packet's service, in closed form.
//!
//! Service is first come, first served, and a rate depends only on time, so both are known when the
//! packet is accepted. Service time is bits over rate.

use alloc::boxed::Box;

use units::{Bytes, Instant, Rate, Transmission};

use crate::access::{AccessServer, Model, Surroundings};
use crate::busy::BusyTime;
use crate::process::{Past, Process, Steps, Varying};
use crate::trace::Follower;
use crate::{DropReason, Ecn, Served, Service};

#[derive(Clone, Debug)]
pub(crate) enum Server {
    Unlimited,
    /// A link that never sends: a rate of zero, for ever.
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
    /// Its state at the start of the run.
    origin: Model,
    model: Model,
}

#[derive(Clone, Debug)]
pub(crate) struct ProcessServer {
    past: Past,
    process: Process,
    debt: u128,
}

impl Server {
    pub(crate) fn new(service: &Service, around: &Surroundings<'_>) -> Self {
        let process = match service {
            Service::Unlimited => return Self::Unlimited,
            Service::Fixed(Rate::ZERO) => return Self::Outage,
            Service::Varying(config) if config.mean.min(config.peak) == Rate::ZERO => {
                return Self::Outage;
            }
            Service::Fixed(rate) => {
                return Self::Fixed {
                    rate: *rate,
                    transmission: Transmission::default(),
                };
            }
            Service::Trace(trace) => return Self::Trace(Box::new(Follower::new(trace.clone()))),
            Service::Access(access) => {
                // A medium serves its packets itself.
                let Some(model) = access.server(around) else {
                    return Self::Outage;
                };
                return Self::Model(Box::new(ModelServer {
                    origin: model.clone(),
                    model,
                }));
            }
            Service::Steps { steps } => Process::Steps(Steps::new(steps.clone())),
            Service::Varying(config) => {
                Process::Varying(Box::new(Varying::new(config, around.rng)))
            }
        };
        Self::Process(Box::new(ProcessServer {
            past: Past::new(process.clone()),
            process,
            debt: 0,
        }))
    }

    /// Whether a packet that arrives at `now` has to wait; the packets before it leave by
    /// `busy_until`.
    pub(crate) fn waits(&self, now: Instant, busy_until: Instant) -> bool {
        match self {
            Self::Unlimited => false,
            // Even at an empty queue, a packet waits for the next opportunity.
            Self::Trace(_) | Self::Model(_) => true,
            Self::Outage | Self::Fixed { .. } | Self::Process(_) => busy_until > now,
        }
    }

    /// Serves a packet that arrives at `now`; the packets before it leave by `busy_until`. Returns
    /// the start and end of its service; [`Instant::MAX`] is never.
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

    /// The same for any rate that is not fixed.
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

    /// Serves a packet that arrived at `came` and reaches the head of the queue at `turn`. On a
    /// trace, a packet that waited uses the rest of the current opportunity, and others of the same
    /// millisecond; only a new arrival has to wait for a later one. The same holds for the blocks
    /// of a cell, which carry no packet that arrived after they started.
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

    /// Whether a model drops a packet offered at `now` before the queue sees it; it may mark it.
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

    /// A packet was accepted at `now`.
    #[inline]
    pub(crate) fn enters(&mut self, now: Instant, bytes: u64) {
        if let Self::Model(server) = self {
            server.model.enters(now, bytes);
        }
    }

    /// The queue's discipline dropped `bytes` of the accepted packets.
    #[inline]
    pub(crate) fn loses(&mut self, now: Instant, bytes: u64) {
        if let Self::Model(server) = self
            && bytes > 0
        {
            server.model.loses(now, bytes);
        }
    }

    /// When a packet whose last bit was served at `end` is delivered. In order, once for each
    /// packet.
    #[inline(always)]
    pub(crate) fn release(&mut self, end: Instant) -> Instant {
        match self {
            Self::Model(server) => server.model.release(end),
            _ => end,
        }
    }

    /// The bytes that could have been served before `until`; `None` if unlimited.
    pub(crate) fn capacity(&mut self, until: Instant) -> Option<Bytes> {
        match self {
            Self::Unlimited => None,
            Self::Outage => Some(Bytes::ZERO),
            Self::Fixed { rate, .. } => Some(rate.bytes_in(until - Instant::ZERO)),
            Self::Process(server) => Some(server.past.capacity(until)),
            Self::Trace(follower) => Some(follower.capacity(until)),
            Self::Model(server) => Some(server.origin.clone().capacity(until)),
        }
    }

    /// Used and available service until `now`: busy time with a constant rate, otherwise bytes, of
    /// which `served` were used.
    pub(crate) fn used(&mut self, now: Instant, busy: &BusyTime, served: u64) -> (u64, u64) {
        if let Self::Fixed { .. } = self {
            (busy.total(now).as_nanos(), now.as_nanos())
        } else {
            (served, self.capacity(now).unwrap_or(Bytes::ZERO).get())
        }
    }
}
