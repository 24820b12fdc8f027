//! Ad hoc on-demand distance-vector routing (AODV, RFC 3561): a node searches for a route when it
//! needs one.
//!
//! The origin of a packet without a route floods a request, first within a few hops and then wider
//! (expanding ring). Every node that receives a request learns the route back to its origin. The
//! destination, or a node with a route that is as new as the request demands, replies along that
//! route. A node that loses a link ends its routes over it and reports them to the neighbours that
//! use them, or searches for a new route itself if the destination is near (local repair). Each
//! destination numbers its routes; a node takes a route with a newer number, or the same number and
//! fewer hops.
//!
//! The defaults are the constants of ns-2, which differ from those of RFC 3561, section 10: routes
//! live for 10 s (3 s), the first request has a hop limit of 5 (1), the network a diameter of 30 (35),
//! a hop takes 30 ms (40 ms), and three (two) further requests follow the first one to the whole
//! network. The MAC detects broken links; `hello` adds the RFC's announcements.
//!
//! ## Deviations
//!
//! - A report of broken routes is always a broadcast. The RFC prefers a unicast if one neighbour uses
//!   them (section 6.11).
//! - A report never lowers the number of a route and raises it by one at least; the RFC copies the
//!   number of the report. An entry is never deleted, so that its number is not forgotten. Both avoid
//!   loops of the RFC's rules (van Glabbeek, Höfner, Tan and Portmann, "Sequence Numbers Do Not
//!   Guarantee Loop Freedom", MSWiM 2013).
//! - The flags G, D, R and A are never set: no gratuitous replies, no acknowledgements of replies, and
//!   so no list of neighbours with unidirectional links. A reply that the MAC could not deliver breaks
//!   the link.
//! - A local repair makes one request, and does not report (flag N) that the new route is longer.
//! - A buffer that is full drops its oldest packet.
//! - Packets of a user do not announce a neighbour; only messages do.

mod config;
mod message;
mod search;
mod table;

use alloc::collections::{BTreeSet, VecDeque};
use alloc::format;
use alloc::vec::Vec;

use network::Streams;
use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

pub use self::config::AodvConfig;
pub use self::message::{AodvMessage, RouteReply, RouteRequest};
use self::search::{Search, Waiting, delayed};
use self::table::{Ended, Offer, Table, is_newer};
use super::{Action, Decision, Header, Routing};
use crate::random::span_below;
use crate::{DropCause, NodeId};

/// Random delay of a flooded message, so that neighbours do not collide.
const JITTER: Duration = Duration::from_millis(10);
/// LOCAL_ADD_TTL
const REPAIR_SPARE: u8 = 2;
/// AODV at one node.
#[derive(Debug)]
pub struct Aodv {
    own: NodeId,
    config: AodvConfig,
    rng: ChaCha8Rng,
    sequence: u32,
    request_id: u32,
    table: Table,
    seen: BTreeSet<(NodeId, u32)>,
    seen_until: VecDeque<(Instant, (NodeId, u32))>,
    searches: Vec<Search>,
    buffer: VecDeque<Waiting>,
    /// Times of the last messages under a rate limit.
    requests: VecDeque<Instant>,
    errors: VecDeque<Instant>,
    /// The last report without a broken link, and its destination.
    reported: Option<(Instant, NodeId)>,
    hello_at: Instant,
    last_broadcast: Option<Instant>,
    /// Neighbours that announced themselves, and when they count as lost.
    silent_at: Vec<(NodeId, Instant)>,
    now: Instant,
}

type Actions = Vec<Action<AodvMessage>>;

impl Aodv {
    /// The protocol at node `own`, with an empty routing table.
    #[must_use]
    pub fn new(own: NodeId, config: AodvConfig, streams: &Streams) -> Self {
        let mut rng = streams.stream(&format!("aodv {}", own.0));
        let first = Instant::ZERO + span_below(&mut rng, config.hello_interval);
        Self {
            own,
            config,
            rng,
            sequence: 0,
            request_id: 0,
            table: Table::default(),
            seen: BTreeSet::new(),
            seen_until: VecDeque::new(),
            searches: Vec::new(),
            buffer: VecDeque::new(),
            requests: VecDeque::new(),
            errors: VecDeque::new(),
            reported: None,
            hello_at: if config.hello { first } else { Instant::MAX },
            last_broadcast: None,
            silent_at: Vec::new(),
            now: Instant::ZERO,
        }
    }

    /// Hops to a destination; `None` without an active route.
    #[must_use]
    pub fn hops(&self, to: NodeId) -> Option<u8> {
        let route = self.table.entry(to)?;
        route.is_active(self.now).then_some(route.hops)
    }

    /// The last known sequence number of a destination.
    #[must_use]
    pub fn sequence(&self, to: NodeId) -> Option<u32> {
        if to == self.own {
            return Some(self.sequence);
        }
        self.table.entry(to)?.sequence
    }

    /// Packets that wait for a route.
    #[must_use]
    pub fn held(&self) -> usize {
        self.buffer.len()
    }

    fn broadcast(&mut self, message: AodvMessage, after: Duration, actions: &mut Actions) {
        self.last_broadcast = Some(self.now);
        actions.push(Action::Send {
            message,
            to: None,
            after,
        });
    }

    fn jitter(&mut self) -> Duration {
        span_below(&mut self.rng, JITTER)
    }

    /// Uses an active route for a packet: the routes to both ends and to both neighbours live on.
    fn forward(&mut self, header: &Header) -> Option<NodeId> {
        let until = self.now + self.config.active_route;
        let route = self.table.active(self.now, header.to)?;
        route.until = route.until.max(until);
        let next_hop = route.next_hop;
        self.table.extend(self.now, next_hop, until);
        if header.from != self.own
            && let Some(back) = self.table.active(self.now, header.from)
        {
            back.until = back.until.max(until);
            let previous = back.next_hop;
            self.table.extend(self.now, previous, until);
        }
        Some(next_hop)
    }

    /// Takes a route, and releases the packets that wait for it. Returns whether it is used.
    fn learn(&mut self, offer: Offer, actions: &mut Actions) -> bool {
        if offer.to == self.own || !self.table.offer(self.now, offer) {
            return false;
        }
        if let Some(place) = self.search(offer.to) {
            self.searches.remove(place);
        }
        self.buffer.retain(|waiting| {
            let stays = waiting.to != offer.to;
            if !stays {
                actions.push(Action::Release(waiting.handle));
            }
            stays
        });
        true
    }

    /// Takes note of a neighbour from which a message came.
    fn learn_neighbour(&mut self, from: NodeId, sequence: Option<u32>, actions: &mut Actions) {
        let offer = Offer {
            to: from,
            next_hop: from,
            hops: 1,
            sequence,
            until: self.now + self.config.reverse_route,
        };
        self.learn(offer, actions);
    }

    fn remember(&mut self, request: (NodeId, u32)) {
        while let Some((until, oldest)) = self.seen_until.front()
            && *until <= self.now
        {
            self.seen.remove(oldest);
            self.seen_until.pop_front();
        }
        let until = self.now + self.config.request_memory;
        if self.seen.insert(request) {
            self.seen_until.push_back((until, request));
        }
    }

    /// Reports destinations as unreachable.
    fn report(&mut self, ended: &[(NodeId, u32)], actions: &mut Actions) {
        if ended.is_empty() || delayed(&mut self.errors, self.now).is_some() {
            return;
        }
        let after = self.jitter();
        self.broadcast(AodvMessage::Error(ended.into()), after, actions);
    }

    /// Reports a destination for which a packet came without a route; once at an instant.
    fn report_unreachable(&mut self, to: NodeId, actions: &mut Actions) {
        if self.reported != Some((self.now, to)) {
            self.reported = Some((self.now, to));
            let sequence = self.table.entry(to).and_then(|route| route.sequence);
            self.report(&[(to, sequence.unwrap_or(0))], actions);
        }
    }

    /// Ends the routes over a neighbour and reports those that others use, and `also`, but not
    /// `repaired`.
    fn lose(
        &mut self,
        neighbour: NodeId,
        also: Option<NodeId>,
        repaired: Option<NodeId>,
        actions: &mut Actions,
    ) {
        self.silent_at.retain(|(silent, _)| *silent != neighbour);
        let ended = self.table.lose(self.now, neighbour);
        let is_reported = |ended: &&Ended| {
            (ended.is_used || also == Some(ended.to)) && repaired != Some(ended.to)
        };
        let report: Vec<_> = ended
            .iter()
            .filter(is_reported)
            .map(|e| (e.to, e.sequence))
            .collect();
        if let Some(also) = also
            && report.iter().any(|(to, _)| *to == also)
        {
            // The packets behind this one do not repeat the report.
            self.reported = Some((self.now, also));
        }
        self.report(&report, actions);
    }

    /// Whether this node searches itself for a new route of a packet whose link failed, and with what
    /// hop limit (section 6.12).
    fn repair(&self, neighbour: NodeId, header: &Header) -> Option<u8> {
        let route = self.table.entry(header.to)?;
        let fits = route.is_active(self.now)
            && route.next_hop == neighbour
            && route.hops <= self.config.farthest_repair();
        if !self.config.local_repair || header.from == self.own || !fits {
            return None;
        }
        let back = self.table.entry(header.from).map_or(0, |route| route.hops);
        let ttl = route.hops.max(back / 2).saturating_add(REPAIR_SPARE);
        Some(ttl.min(self.config.diameter))
    }

    /// A search whose request has arrived.
    fn receive_request(&mut self, from: NodeId, request: &RouteRequest, actions: &mut Actions) {
        let hops = request.hops.saturating_add(1);
        if request.origin == self.own || self.seen.contains(&(request.origin, request.id)) {
            return;
        }
        self.remember((request.origin, request.id));
        let back = Offer {
            to: request.origin,
            next_hop: from,
            hops,
            sequence: Some(request.origin_sequence),
            until: self.now + self.config.reverse_route,
        };
        self.learn(back, actions);
        if request.to == self.own {
            if let Some(known) = request.to_sequence
                && is_newer(known, self.sequence)
            {
                self.sequence = known;
            }
            let lifetime = self.config.active_route * 2;
            self.reply(from, 0, request, self.sequence, lifetime, actions);
            return;
        }
        if let Some(route) = self.table.active(self.now, request.to)
            && let Some(sequence) = route.sequence
            && route.next_hop != from
            && request
                .to_sequence
                .is_none_or(|known| !is_newer(known, sequence))
        {
            route.add_precursor(from);
            let (hops, next_hop) = (route.hops, route.next_hop);
            let lifetime = route.until.saturating_since(self.now);
            if let Some(back) = self.table.active(self.now, request.origin) {
                back.add_precursor(next_hop);
            }
            self.reply(from, hops, request, sequence, lifetime, actions);
            return;
        }
        if request.ttl > 1 {
            let known = self
                .table
                .entry(request.to)
                .and_then(|route| route.sequence);
            let to_sequence = match (request.to_sequence, known) {
                (Some(asked), Some(known)) if is_newer(known, asked) => Some(known),
                (asked, known) => asked.or(known),
            };
            let further = RouteRequest {
                ttl: request.ttl - 1,
                hops,
                to_sequence,
                ..*request
            };
            let after = self.jitter();
            self.broadcast(AodvMessage::Request(further), after, actions);
        }
    }

    fn reply(
        &self,
        to: NodeId,
        hops: u8,
        request: &RouteRequest,
        sequence: u32,
        lifetime: Duration,
        actions: &mut Actions,
    ) {
        let reply = RouteReply {
            hops,
            to: request.to,
            sequence,
            origin: request.origin,
            lifetime,
        };
        actions.push(Action::Send {
            message: AodvMessage::Reply(reply),
            to: Some(to),
            after: Duration::ZERO,
        });
    }

    /// A route that a neighbour offers; it goes on to the node that searched.
    fn receive_reply(&mut self, from: NodeId, reply: &RouteReply, actions: &mut Actions) {
        let offer = Offer {
            to: reply.to,
            next_hop: from,
            hops: reply.hops.saturating_add(1),
            sequence: Some(reply.sequence),
            until: self.now + reply.lifetime,
        };
        if !self.learn(offer, actions) || reply.origin == self.own {
            return;
        }
        let until = self.now + self.config.active_route;
        let Some(back) = self.table.active(self.now, reply.origin) else {
            return;
        };
        back.until = back.until.max(until);
        let previous = back.next_hop;
        for to in [offer.to, offer.next_hop] {
            if let Some(route) = self.table.active(self.now, to) {
                route.add_precursor(previous);
            }
        }
        let further = RouteReply {
            hops: offer.hops,
            ..*reply
        };
        actions.push(Action::Send {
            message: AodvMessage::Reply(further),
            to: Some(previous),
            after: Duration::ZERO,
        });
    }

    /// Announces this node, and ends the links of neighbours that were silent.
    fn greet(&mut self, actions: &mut Actions) {
        let now = self.now;
        self.hello_at = now + self.config.hello_interval;
        let quiet = |last: Instant| now.saturating_since(last) >= self.config.hello_interval;
        if self.table.is_in_use(now) && self.last_broadcast.is_none_or(quiet) {
            self.broadcast(AodvMessage::Hello(self.sequence), Duration::ZERO, actions);
        }
        while let Some(place) = self.silent_at.iter().position(|(_, silent)| *silent <= now) {
            let (neighbour, _) = self.silent_at.remove(place);
            self.lose(neighbour, None, None, actions);
        }
    }

    /// Renews the time at which a neighbour that announces itself counts as lost.
    fn hear(&mut self, from: NodeId, is_hello: bool) {
        let silence = self.config.hello_interval * u64::from(self.config.allowed_losses);
        let silent_at = self.now + silence;
        let known = self
            .silent_at
            .iter_mut()
            .find(|(neighbour, _)| *neighbour == from);
        if let Some((_, known)) = known {
            *known = silent_at;
        } else if is_hello && self.config.hello {
            self.silent_at.push((from, silent_at));
        }
    }
}

impl Routing for Aodv {
    type Message = AodvMessage;

    fn bytes(message: &AodvMessage) -> u32 {
        message.bytes()
    }

    fn next_event(&self) -> Instant {
        let searches = self.searches.iter().map(|search| search.at);
        let buffer = self.buffer.front().map(|waiting| waiting.until);
        searches.chain(buffer).fold(self.hello_at, Instant::min)
    }

    fn handle_timeout(&mut self, now: Instant, actions: &mut Actions) {
        self.now = now;
        while let Some(oldest) = self.buffer.front()
            && oldest.until <= now
        {
            actions.push(Action::Drop(oldest.handle, DropCause::NoRoute));
            self.buffer.pop_front();
        }
        let mut place = 0;
        while place < self.searches.len() {
            if self.searches[place].at > now || self.step(place, actions) {
                place += 1;
            } else {
                self.searches.remove(place);
            }
        }
        if self.hello_at <= now {
            self.greet(actions);
        }
    }

    fn route(
        &mut self,
        now: Instant,
        header: &Header,
        handle: u32,
        actions: &mut Actions,
    ) -> Decision {
        self.now = now;
        if let Some(next_hop) = self.forward(header) {
            return Decision::Forward(next_hop);
        }
        if header.from == self.own {
            let decision = self.hold(header, handle, actions);
            self.start_search(header.to, actions);
            return decision;
        }
        let search = self.search(header.to).map(|place| self.searches[place]);
        if search.is_some_and(|search| search.is_repair) {
            return self.hold(header, handle, actions);
        }
        self.report_unreachable(header.to, actions);
        Decision::Drop(DropCause::NoRoute)
    }

    fn receive(&mut self, now: Instant, from: NodeId, message: AodvMessage, actions: &mut Actions) {
        self.now = now;
        self.hear(from, matches!(message, AodvMessage::Hello(_)));
        match message {
            AodvMessage::Request(request) => {
                self.learn_neighbour(from, None, actions);
                self.receive_request(from, &request, actions);
            }
            AodvMessage::Reply(reply) => {
                self.learn_neighbour(from, None, actions);
                self.receive_reply(from, &reply, actions);
            }
            AodvMessage::Error(reported) => {
                let ended = self.table.revoke(now, from, &reported);
                let used = ended.iter().filter(|ended| ended.is_used);
                let report: Vec<_> = used.map(|ended| (ended.to, ended.sequence)).collect();
                self.report(&report, actions);
            }
            AodvMessage::Hello(sequence) => self.learn_neighbour(from, Some(sequence), actions),
        }
    }

    fn link_failed(
        &mut self,
        now: Instant,
        neighbour: NodeId,
        header: &Header,
        handle: u32,
        actions: &mut Actions,
    ) -> Decision {
        self.now = now;
        let repair = self.repair(neighbour, header);
        let others = (header.from != self.own && repair.is_none()).then_some(header.to);
        self.lose(neighbour, others, repair.map(|_| header.to), actions);
        actions.push(Action::Recall(neighbour));
        if let Some(ttl) = repair
            && self.search(header.to).is_none()
        {
            let decision = self.hold(header, handle, actions);
            self.push_search(header.to, ttl, true, actions);
            return decision;
        }
        self.route(now, header, handle, actions)
    }

    fn message_failed(&mut self, now: Instant, neighbour: NodeId, actions: &mut Actions) {
        self.now = now;
        self.lose(neighbour, None, None, actions);
        actions.push(Action::Recall(neighbour));
    }

    fn next_hop(&self, to: NodeId) -> Option<NodeId> {
        let route = self.table.entry(to)?;
        route.is_active(self.now).then_some(route.next_hop)
    }
}
