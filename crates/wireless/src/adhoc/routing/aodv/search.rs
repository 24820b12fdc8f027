//! Searches for routes, and the packets that wait for them (RFC 3561, sections 6.3 and 6.4).

use alloc::collections::VecDeque;

use units::{Duration, Instant};

use super::{Actions, Aodv, AodvMessage, RouteRequest};
use crate::adhoc::routing::{Action, Decision, Header};
use crate::{DropCause, NodeId};

/// RREQ_RATELIMIT and RERR_RATELIMIT, per second.
const RATE_LIMIT: usize = 10;

/// A search for a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Search {
    pub(super) to: NodeId,
    pub(super) ttl: u8,
    /// Requests to the whole network so far.
    pub(super) tries: u32,
    /// The next step.
    pub(super) at: Instant,
    /// The next step is to send the request, which the rate limit delayed.
    pub(super) is_delayed: bool,
    /// A local repair: one request.
    pub(super) is_repair: bool,
}

/// A packet without a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub(super) handle: u32,
    pub(super) to: NodeId,
    pub(super) is_own: bool,
    pub(super) until: Instant,
}

/// Whether a message at `now` exceeds the rate limit, and when it does not; otherwise counts it.
pub(super) fn delayed(times: &mut VecDeque<Instant>, now: Instant) -> Option<Instant> {
    const SECOND: Duration = Duration::from_secs(1);
    while times.front().is_some_and(|first| *first + SECOND <= now) {
        times.pop_front();
    }
    if times.len() < RATE_LIMIT {
        times.push_back(now);
        return None;
    }
    times.front().map(|first| *first + SECOND)
}

impl Aodv {
    pub(super) fn search(&self, to: NodeId) -> Option<usize> {
        self.searches.iter().position(|search| search.to == to)
    }

    /// Holds a packet; a full buffer drops its oldest one.
    pub(super) fn hold(&mut self, header: &Header, handle: u32, actions: &mut Actions) -> Decision {
        if self.config.buffer == 0 {
            return Decision::Drop(DropCause::NoRoute);
        }
        if self.buffer.len() >= self.config.buffer as usize
            && let Some(oldest) = self.buffer.pop_front()
        {
            actions.push(Action::Drop(oldest.handle, DropCause::NoRoute));
        }
        self.buffer.push_back(Waiting {
            handle,
            to: header.to,
            is_own: header.from == self.own,
            until: self.now + self.config.buffer_time,
        });
        Decision::Hold
    }

    /// Searches for a route, unless a search is under way.
    pub(super) fn start_search(&mut self, to: NodeId, actions: &mut Actions) {
        if self.search(to).is_some() {
            return;
        }
        let known = self.table.entry(to).map(|route| route.hops);
        let ttl = known.map_or(self.config.ttl_start, |hops| self.config.wider(hops));
        self.push_search(to, ttl.min(self.config.diameter), false, actions);
    }

    pub(super) fn push_search(
        &mut self,
        to: NodeId,
        ttl: u8,
        is_repair: bool,
        actions: &mut Actions,
    ) {
        self.searches.push(Search {
            to,
            ttl,
            tries: 0,
            at: self.now,
            is_delayed: true,
            is_repair,
        });
        self.request(self.searches.len() - 1, actions);
    }

    /// Sends the request of a search, or delays it to keep the rate limit.
    pub(super) fn request(&mut self, place: usize, actions: &mut Actions) {
        if let Some(allowed) = delayed(&mut self.requests, self.now) {
            (self.searches[place].at, self.searches[place].is_delayed) = (allowed, true);
            return;
        }
        let search = &mut self.searches[place];
        search.is_delayed = false;
        search.at = self.now + self.config.wait(search.ttl, search.tries);
        let Search { to, ttl, .. } = *search;
        if ttl >= self.config.diameter {
            search.tries += 1;
        }
        self.sequence = self.sequence.wrapping_add(1);
        self.request_id = self.request_id.wrapping_add(1);
        self.remember((self.own, self.request_id));
        let request = RouteRequest {
            ttl,
            hops: 0,
            id: self.request_id,
            to,
            to_sequence: self.table.entry(to).and_then(|route| route.sequence),
            origin: self.own,
            origin_sequence: self.sequence,
        };
        self.broadcast(AodvMessage::Request(request), Duration::ZERO, actions);
    }

    /// The next step of a search that got no reply. Returns whether the search goes on.
    pub(super) fn step(&mut self, place: usize, actions: &mut Actions) -> bool {
        let search = self.searches[place];
        if !self.buffer.iter().any(|waiting| waiting.to == search.to) {
            return false;
        }
        if search.is_delayed {
            self.request(place, actions);
            return true;
        }
        if search.is_repair {
            // What others sent is lost; what this node sent starts a search of its own.
            self.drop_waiting(search.to, false, actions);
            self.report_unreachable(search.to, actions);
            let own_wait = self.buffer.iter().any(|waiting| waiting.to == search.to);
            if own_wait {
                self.searches[place].is_repair = false;
                self.searches[place].ttl = self.config.diameter;
                self.request(place, actions);
            }
            return own_wait;
        }
        if search.ttl < self.config.diameter {
            self.searches[place].ttl = self.config.wider(search.ttl);
        } else if search.tries > self.config.retries {
            self.drop_waiting(search.to, true, actions);
            return false;
        }
        self.request(place, actions);
        true
    }

    /// Drops the packets for a destination; those of this node too if `own`.
    pub(super) fn drop_waiting(&mut self, to: NodeId, own: bool, actions: &mut Actions) {
        self.buffer.retain(|waiting| {
            let stays = waiting.to != to || waiting.is_own && !own;
            if !stays {
                actions.push(Action::Drop(waiting.handle, DropCause::NoRoute));
            }
            stays
        });
    }
}
