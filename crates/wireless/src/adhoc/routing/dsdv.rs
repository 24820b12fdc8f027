//! Destination-sequenced distance-vector routing (DSDV): every node keeps a route to every other.
//!
//! Perkins and Bhagwat, "Highly Dynamic Destination-Sequenced Distance-Vector Routing (DSDV) for
//! Mobile Computers", SIGCOMM 1994. Each destination numbers its own advertisements with even
//! numbers. A node prefers a route with a newer number, and among equal numbers the one with fewer
//! hops. A node that loses a link advertises the routes over it with an infinite metric and the next
//! odd number. Sequence numbers never decrease along a route and metrics decrease among equal
//! numbers, so that next hops never form a loop.
//!
//! Details that the paper leaves open follow ns-2:
//!
//! - A node broadcasts a full update every 11.25 to 15 s (`period` times a uniform factor from 0.75
//!   to 1), the first within 2 s of the start. It raises its own number by two first.
//! - An update takes 20 bytes of IP and 12 bytes for each route.
//! - A route to a new destination is advertised at once. So is a broken route, and a good route when
//!   an older one is advertised as broken. A metric that changed is advertised after twice the
//!   destination's settling time, unless it returns to the one that was advertised last; until then
//!   no update mentions the route. A newer number with the same metric waits for the next full update.
//! - The settling time is a moving average (weights 7/8 and 1/8) of the time from the first route with
//!   a new number to the last better one with the same number, from 6 s at the start.
//! - These changes leave in a partial update, at least 1 s after the update before. If more than three
//!   routes and more than a third of the table changed, the update is a full one.
//! - A link is broken when the MAC gives up a frame (`mac_detection`), or when no update arrived for
//!   three periods.
//! - A packet without a route waits, at most five for each destination; a sixth displaces the oldest.
//!   They leave when a route arrives.
//!
//! ## Deviations
//!
//! - A node whose own address is advertised as unreachable replies with a full update only if the
//!   advertised number is newer than its own. The reports of several neighbours cause one update.
//! - A full update that a trigger causes restarts the period.
//! - Only full updates include the node's own address.

use alloc::collections::VecDeque;
use alloc::format;
use alloc::sync::Arc;
use alloc::vec::Vec;

use network::Streams;
use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, MAX_DURATION, Rules, described};
use units::{Duration, Instant};

use super::{Action, Decision, Header, Routing};
use crate::random::span_below;
use crate::{DropCause, NodeId};

/// The metric of a route that does not exist.
pub const UNREACHABLE: u8 = 250;
/// Bytes of IP of an update without its routes.
const HEADER: u32 = 20;
/// Bytes of a route in an update.
const ENTRY: u32 = 12;
/// Random delay of an update, so that neighbours that react to the same update do not collide.
const JITTER: Duration = Duration::from_millis(10);
/// The first update follows within this time.
const FIRST: Duration = Duration::from_secs(2);
/// Packets that wait for a route to one destination.
const HELD: usize = 5;

const SHORTEST: Duration = Duration::from_millis(1);

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct DsdvConfig(
        "dsdv",
        "DSDV",
        "Every node keeps a route to every other and advertises its table to its neighbours."
    ) {
        /// Longest time between full updates; the mean is 7/8 of it.
        period: Duration = Duration::from_secs(15) => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Periods without an update from a neighbour after which its link is broken.
        allowed_losses: u32 = 3 => Key::of(Kind::Integer(1, 1000));
        /// Settling time of a destination at the start.
        settling: Duration = Duration::from_secs(6)
            => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION));
        /// Whether changes are advertised before the next full update.
        triggered: bool = true => Key::of(Kind::Switch);
        /// Whether a newer sequence number alone counts as a change (DSDV-SQ of Broch et al. 1998).
        sequence_triggers: bool = false => Key::of(Kind::Switch);
        /// Minimum time between a triggered update and the update before it.
        trigger_spacing: Duration = Duration::from_secs(1)
            => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION));
        /// Whether a frame that the MAC gave up breaks the link. Otherwise only missing updates do, and
        /// the packet of the frame is lost.
        mac_detection: bool = true => Key::of(Kind::Switch);
        /// Whether packets for a neighbour are taken out of the interface queue and routed anew as soon
        /// as its link breaks. Otherwise each is routed anew after its own failed transmission.
        recall: bool = false => Key::of(Kind::Switch);
    }
}

impl Rules for DsdvConfig {}

/// A route in an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// The destination.
    pub to: NodeId,
    /// Hops from the sender of the update; [`UNREACHABLE`] for a broken route.
    pub metric: u8,
    /// The sequence number; even if the destination issued it, odd if a broken link did.
    pub sequence: u32,
}

/// An update.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsdvUpdate {
    /// Its routes, in the order of their destinations.
    pub routes: Arc<[Advertised]>,
}

/// A route of the table.
#[derive(Clone, Copy, Debug)]
struct Route {
    next_hop: NodeId,
    metric: u8,
    sequence: u32,
    /// The metric of the last update that mentioned it; `None` if none did.
    advertised: Option<u8>,
    /// It changed since then in a way that neighbours want to know.
    is_news: bool,
    /// No update mentions it before.
    settled_at: Instant,
    /// The first route with this number arrived.
    numbered_at: Instant,
    /// The route was chosen.
    chosen_at: Instant,
    settling: Duration,
}

impl Route {
    const fn is_good(&self) -> bool {
        self.metric < UNREACHABLE
    }
}

/// DSDV at one node.
#[derive(Debug)]
pub struct Dsdv {
    own: NodeId,
    config: DsdvConfig,
    rng: ChaCha8Rng,
    sequence: u32,
    /// For each destination; the own address has none.
    routes: Vec<Option<Route>>,
    /// Destinations in `routes`.
    known: usize,
    /// For each neighbour, when its link breaks unless an update arrives.
    silent_at: Vec<Option<Instant>>,
    /// No entry of `silent_at` is earlier.
    check_at: Instant,
    full_at: Instant,
    trigger_at: Instant,
    last_update: Option<Instant>,
    /// Packets without a route, per destination, oldest first.
    held: Vec<(NodeId, VecDeque<u32>)>,
}

impl Dsdv {
    /// The protocol at node `own`, with an empty routing table.
    #[must_use]
    pub fn new(own: NodeId, config: DsdvConfig, streams: &Streams) -> Self {
        let mut rng = streams.stream(&format!("dsdv {}", own.0));
        let full_at = Instant::ZERO + span_below(&mut rng, FIRST);
        Self {
            own,
            config,
            rng,
            sequence: 0,
            routes: Vec::new(),
            known: 0,
            silent_at: Vec::new(),
            check_at: Instant::MAX,
            full_at,
            trigger_at: Instant::MAX,
            last_update: None,
            held: Vec::new(),
        }
    }

    /// Hops to a destination; `None` without a route.
    #[must_use]
    pub fn metric(&self, to: NodeId) -> Option<u8> {
        let route = self.route_to(to).filter(|route| route.is_good());
        route.map(|route| route.metric)
    }

    /// The sequence number of the route to a destination, also of a broken one.
    #[must_use]
    pub fn sequence(&self, to: NodeId) -> Option<u32> {
        if to == self.own {
            return Some(self.sequence);
        }
        self.route_to(to).map(|route| route.sequence)
    }

    /// Packets that wait for a route.
    #[must_use]
    pub fn held(&self) -> usize {
        self.held.iter().map(|(_, packets)| packets.len()).sum()
    }

    fn route_to(&self, to: NodeId) -> Option<&Route> {
        self.routes.get(to.index())?.as_ref()
    }

    fn silence(&self) -> Duration {
        self.config.period * u64::from(self.config.allowed_losses)
    }

    /// Broadcasts the table, or the settled news in it.
    fn advertise(&mut self, now: Instant, full: bool, actions: &mut Vec<Action<DsdvUpdate>>) {
        let settled = |route: &&mut Route| route.settled_at <= now;
        let news = self.routes.iter_mut().flatten().filter(settled);
        let news = news.filter(|route| route.is_news).count();
        let full = full || news > 3 && news * 3 > self.known + 1;
        self.trigger_at = Instant::MAX;
        if !full && news == 0 {
            self.schedule_trigger();
            return;
        }
        let mut routes = Vec::with_capacity(if full { self.known + 1 } else { news });
        if full {
            self.sequence += 2;
            let (eighth, spread) = (self.config.period / 8, self.config.period / 4);
            self.full_at = now + eighth * 6 + span_below(&mut self.rng, spread);
        }
        self.routes
            .resize_with(self.routes.len().max(self.own.index() + 1), || None);
        for (to, route) in self.routes.iter_mut().enumerate() {
            let to = NodeId(to as u32);
            if to == self.own && full {
                routes.push(Advertised {
                    to,
                    metric: 0,
                    sequence: self.sequence,
                });
            }
            let Some(route) = route.as_mut().filter(|route| route.settled_at <= now) else {
                continue;
            };
            if !full && !route.is_news {
                continue;
            }
            route.is_news = false;
            route.advertised = Some(route.metric);
            routes.push(Advertised {
                to,
                metric: route.metric,
                sequence: route.sequence,
            });
        }
        self.last_update = Some(now);
        self.schedule_trigger();
        actions.push(Action::Send {
            message: DsdvUpdate {
                routes: routes.into(),
            },
            to: None,
            after: span_below(&mut self.rng, JITTER),
        });
    }

    /// Finds the time of the next triggered update.
    fn schedule_trigger(&mut self) {
        let news = self.routes.iter().flatten().filter(|route| route.is_news);
        if let Some(at) = news.map(|route| route.settled_at).min() {
            self.trigger(at);
        }
    }

    /// Makes sure that news that settles at `at` leaves.
    fn trigger(&mut self, at: Instant) {
        if !self.config.triggered {
            return;
        }
        let spaced = self
            .last_update
            .map_or(at, |last| last + self.config.trigger_spacing);
        self.trigger_at = self.trigger_at.min(at.max(spaced));
    }

    /// Breaks all routes over `neighbour`.
    fn lose(&mut self, now: Instant, neighbour: NodeId) {
        if let Some(silent_at) = self.silent_at.get_mut(neighbour.index()) {
            *silent_at = None;
        }
        let mut lost = false;
        for route in self.routes.iter_mut().flatten() {
            if route.next_hop == neighbour && route.is_good() {
                route.metric = UNREACHABLE;
                route.sequence += 1;
                (route.settled_at, route.numbered_at, route.chosen_at) = (now, now, now);
                route.is_news = true;
                lost = true;
            }
        }
        if lost {
            self.trigger(now);
        }
    }

    /// Renews the time at which `neighbour` counts as lost.
    fn hear(&mut self, now: Instant, neighbour: NodeId) {
        let place = neighbour.index();
        if self.silent_at.len() <= place {
            self.silent_at.resize(place + 1, None);
        }
        let silent_at = now + self.silence();
        self.silent_at[place] = Some(silent_at);
        self.check_at = self.check_at.min(silent_at);
    }

    /// Takes a route from an update of `from`. Returns whether a destination became reachable.
    #[inline(always)]
    fn learn(&mut self, now: Instant, from: NodeId, heard: Advertised) -> bool {
        let metric = heard.metric.saturating_add(1).min(UNREACHABLE);
        if let Some(old) = self.route_to(heard.to)
            && heard.sequence == old.sequence
            && metric >= old.metric
        {
            return false;
        }
        self.learn_news(now, from, heard, metric)
    }

    /// [`Self::learn`], if the table has no better route with the same number.
    #[inline(never)]
    fn learn_news(&mut self, now: Instant, from: NodeId, heard: Advertised, metric: u8) -> bool {
        if heard.to == self.own {
            if heard.metric >= UNREACHABLE && heard.sequence > self.sequence {
                // The next full update has a newer number than the one that is advertised.
                self.sequence = heard.sequence - 1;
                self.full_at = now;
            }
            return false;
        }
        let place = heard.to.index();
        if self.routes.len() <= place {
            self.routes.resize_with(place + 1, || None);
        }
        let good = metric < UNREACHABLE;
        let Some(old) = self.routes[place] else {
            if good {
                self.known += 1;
                self.routes[place] = Some(Route {
                    next_hop: from,
                    metric,
                    sequence: heard.sequence,
                    advertised: None,
                    is_news: true,
                    settled_at: now,
                    numbered_at: now,
                    chosen_at: now,
                    settling: self.config.settling,
                });
                self.trigger(now);
            }
            return good;
        };
        if heard.sequence < old.sequence {
            if !good && old.is_good() {
                self.repeat(now, place);
            }
            return false;
        }
        let is_newer = heard.sequence > old.sequence;
        let mut route = Route {
            next_hop: from,
            metric,
            sequence: heard.sequence,
            chosen_at: now,
            ..old
        };
        if is_newer {
            let settled = old.chosen_at.saturating_since(old.numbered_at);
            route.settling = (old.settling * 7 + settled) / 8;
            route.numbered_at = now;
        }
        if !good {
            (route.settled_at, route.is_news) = (now, old.advertised != Some(UNREACHABLE));
        } else if old.advertised == Some(metric) {
            (route.settled_at, route.is_news) = (now, is_newer && self.config.sequence_triggers);
        } else if metric != old.metric {
            (route.settled_at, route.is_news) = (now + route.settling * 2, true);
        }
        if route.is_news {
            self.trigger(route.settled_at);
        }
        self.routes[place] = Some(route);
        good && !old.is_good()
    }

    /// Advertises a good route again, since a neighbour takes it for broken.
    fn repeat(&mut self, now: Instant, place: usize) {
        if let Some(route) = &mut self.routes[place] {
            (route.is_news, route.settled_at) = (true, now);
            self.trigger(now);
        }
    }

    /// Holds a packet without a route; the oldest of its destination may have to go.
    fn hold(&mut self, to: NodeId, handle: u32, actions: &mut Vec<Action<DsdvUpdate>>) -> Decision {
        let place = self.held.iter().position(|(held, _)| *held == to);
        let place = place.unwrap_or_else(|| {
            self.held.push((to, VecDeque::new()));
            self.held.len() - 1
        });
        let packets = &mut self.held[place].1;
        if packets.len() == HELD
            && let Some(oldest) = packets.pop_front()
        {
            actions.push(Action::Drop(oldest, DropCause::NoRoute));
        }
        packets.push_back(handle);
        Decision::Hold
    }

    fn release(&mut self, to: NodeId, actions: &mut Vec<Action<DsdvUpdate>>) {
        if let Some(place) = self.held.iter().position(|(held, _)| *held == to) {
            let (_, packets) = self.held.remove(place);
            actions.extend(packets.into_iter().map(Action::Release));
        }
    }

    /// Breaks the links of neighbours that have been silent for too long.
    fn check(&mut self, now: Instant) {
        for place in 0..self.silent_at.len() {
            if self.silent_at[place].is_some_and(|silent_at| silent_at <= now) {
                self.lose(now, NodeId(place as u32));
            }
        }
        let left = self.silent_at.iter().flatten();
        self.check_at = left.min().copied().unwrap_or(Instant::MAX);
    }
}

impl Routing for Dsdv {
    type Message = DsdvUpdate;

    fn bytes(message: &DsdvUpdate) -> u32 {
        HEADER + ENTRY * message.routes.len() as u32
    }

    fn next_event(&self) -> Instant {
        self.full_at.min(self.trigger_at).min(self.check_at)
    }

    fn handle_timeout(&mut self, now: Instant, actions: &mut Vec<Action<DsdvUpdate>>) {
        if self.check_at <= now {
            self.check(now);
        }
        if self.full_at <= now {
            self.advertise(now, true, actions);
        } else if self.trigger_at <= now {
            self.advertise(now, false, actions);
        }
    }

    fn route(
        &mut self,
        _now: Instant,
        header: &Header,
        handle: u32,
        actions: &mut Vec<Action<DsdvUpdate>>,
    ) -> Decision {
        match self.next_hop(header.to) {
            Some(next_hop) => Decision::Forward(next_hop),
            None => self.hold(header.to, handle, actions),
        }
    }

    fn receive(
        &mut self,
        now: Instant,
        from: NodeId,
        message: DsdvUpdate,
        actions: &mut Vec<Action<DsdvUpdate>>,
    ) {
        self.hear(now, from);
        for heard in message.routes.iter() {
            if self.learn(now, from, *heard) {
                self.release(heard.to, actions);
            }
        }
    }

    fn link_failed(
        &mut self,
        now: Instant,
        neighbour: NodeId,
        header: &Header,
        handle: u32,
        actions: &mut Vec<Action<DsdvUpdate>>,
    ) -> Decision {
        if !self.config.mac_detection {
            return Decision::Drop(DropCause::RetryLimit);
        }
        self.message_failed(now, neighbour, actions);
        self.route(now, header, handle, actions)
    }

    fn message_failed(
        &mut self,
        now: Instant,
        neighbour: NodeId,
        actions: &mut Vec<Action<DsdvUpdate>>,
    ) {
        if !self.config.mac_detection {
            return;
        }
        self.lose(now, neighbour);
        if self.config.recall {
            actions.push(Action::Recall(neighbour));
        }
    }

    fn next_hop(&self, to: NodeId) -> Option<NodeId> {
        let route = self.route_to(to).filter(|route| route.is_good())?;
        Some(route.next_hop)
    }
}
