//! The routing table of AODV (RFC 3561, sections 6.1 and 6.2).

use alloc::vec::Vec;

use units::Instant;

use crate::NodeId;

/// Whether sequence number `a` is newer than `b`, with rollover (section 6.1).
pub(super) const fn is_newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

/// A route. It stays in the table when it ends, with the number that a better one has to have.
#[derive(Clone, Debug)]
pub(super) struct Route {
    pub(super) next_hop: NodeId,
    pub(super) hops: u8,
    /// `None` if no message had the destination's number.
    pub(super) sequence: Option<u32>,
    is_active: bool,
    pub(super) until: Instant,
    /// Neighbours that use it.
    pub(super) precursors: Vec<NodeId>,
}

impl Route {
    pub(super) fn is_active(&self, now: Instant) -> bool {
        self.is_active && self.until > now
    }

    /// Ends the route; its number rises, so that only newer information starts it again.
    fn end(&mut self) {
        if self.is_active {
            self.is_active = false;
            self.sequence = self.sequence.map(|sequence| sequence.wrapping_add(1));
        }
    }

    pub(super) fn add_precursor(&mut self, node: NodeId) {
        if !self.precursors.contains(&node) {
            self.precursors.push(node);
        }
    }
}

/// What a message says about a route.
#[derive(Clone, Copy, Debug)]
pub(super) struct Offer {
    pub(super) to: NodeId,
    pub(super) next_hop: NodeId,
    pub(super) hops: u8,
    pub(super) sequence: Option<u32>,
    pub(super) until: Instant,
}

/// A destination that became unreachable.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) to: NodeId,
    pub(super) sequence: u32,
    /// Whether neighbours use it.
    pub(super) is_used: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    routes: Vec<Option<Route>>,
}

impl Table {
    /// The entry of a destination, also of a route that ended.
    pub(super) fn entry(&self, to: NodeId) -> Option<&Route> {
        self.routes.get(to.index())?.as_ref()
    }

    /// The active route to a destination.
    pub(super) fn active(&mut self, now: Instant, to: NodeId) -> Option<&mut Route> {
        let route = self.routes.get_mut(to.index())?.as_mut()?;
        if route.until <= now {
            route.end();
        }
        Some(route).filter(|route| route.is_active)
    }

    /// Whether any route is active.
    pub(super) fn is_in_use(&self, now: Instant) -> bool {
        self.routes
            .iter()
            .flatten()
            .any(|route| route.is_active(now))
    }

    /// Extends the lifetime of an active route.
    pub(super) fn extend(&mut self, now: Instant, to: NodeId, until: Instant) {
        if let Some(route) = self.active(now, to) {
            route.until = route.until.max(until);
        }
    }

    /// Takes a route if it is better than the known one: its number is newer, or the same with fewer
    /// hops or after the known route ended. A direct route to a neighbour is always taken. Returns
    /// whether the entry is this route now.
    pub(super) fn offer(&mut self, now: Instant, offer: Offer) -> bool {
        let place = offer.to.index();
        if self.routes.len() <= place {
            self.routes.resize_with(place + 1, || None);
        }
        // Ends it if its time is over.
        let is_active = self.active(now, offer.to).is_some();
        let Some(route) = &mut self.routes[place] else {
            self.routes[place] = Some(Route {
                next_hop: offer.next_hop,
                hops: offer.hops,
                sequence: offer.sequence,
                is_active: true,
                until: offer.until,
                precursors: Vec::new(),
            });
            return true;
        };
        let is_direct = offer.next_hop == offer.to;
        let is_better = match (offer.sequence, route.sequence) {
            (Some(new), Some(old)) => {
                is_newer(new, old) || new == old && (offer.hops < route.hops || !is_active)
            }
            (Some(_), None) => true,
            (None, _) => is_direct,
        };
        let is_same = is_active
            && route.next_hop == offer.next_hop
            && route.hops == offer.hops
            && (is_direct || route.sequence == offer.sequence);
        if !is_better && !is_same {
            return false;
        }
        if !is_active {
            route.until = offer.until;
        }
        (route.next_hop, route.hops) = (offer.next_hop, offer.hops);
        if is_better {
            route.sequence = offer.sequence.or(route.sequence);
        }
        route.until = route.until.max(offer.until);
        route.is_active = true;
        true
    }

    /// Ends all routes over a neighbour.
    pub(super) fn lose(&mut self, now: Instant, neighbour: NodeId) -> Vec<Ended> {
        self.end_where(now, |_, route| (route.next_hop == neighbour).then_some(0))
    }

    /// Ends the routes over `neighbour` that it reports as unreachable, with their numbers.
    pub(super) fn revoke(
        &mut self,
        now: Instant,
        neighbour: NodeId,
        reported: &[(NodeId, u32)],
    ) -> Vec<Ended> {
        self.end_where(now, |to, route| {
            let report = reported.iter().find(|(reported, _)| *reported == to)?;
            (route.next_hop == neighbour).then_some(report.1)
        })
    }

    /// Ends the active routes for which `number` gives one; the number of a route rises to it, and by
    /// one at least.
    fn end_where(
        &mut self,
        now: Instant,
        number: impl Fn(NodeId, &Route) -> Option<u32>,
    ) -> Vec<Ended> {
        let mut ended = Vec::new();
        for (to, route) in self.routes.iter_mut().enumerate() {
            let to = NodeId(to as u32);
            let Some(route) = route.as_mut().filter(|route| route.is_active(now)) else {
                continue;
            };
            let Some(number) = number(to, route) else {
                continue;
            };
            route.end();
            if let Some(sequence) = &mut route.sequence
                && number != 0
                && is_newer(number, *sequence)
            {
                *sequence = number;
            }
            ended.push(Ended {
                to,
                sequence: route.sequence.unwrap_or(0),
                is_used: !route.precursors.is_empty(),
            });
            route.precursors.clear();
        }
        ended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Instant = Instant::from_secs(1);

    fn offer(hops: u8, sequence: Option<u32>, next_hop: u32) -> Offer {
        Offer {
            to: NodeId(7),
            next_hop: NodeId(next_hop),
            hops,
            sequence,
            until: Instant::from_secs(11),
        }
    }

    #[test]
    fn sequence_numbers_roll_over() {
        assert!(is_newer(2, 1) && !is_newer(1, 2) && !is_newer(1, 1));
        assert!(is_newer(0, u32::MAX) && !is_newer(u32::MAX, 0));
    }

    #[test]
    fn a_better_route_is_newer_or_shorter() {
        let mut table = Table::default();
        assert!(table.offer(NOW, offer(3, Some(10), 1)));
        assert!(!table.offer(NOW, offer(3, Some(10), 2)), "as good");
        assert!(!table.offer(NOW, offer(1, Some(9), 2)), "older");
        assert!(table.offer(NOW, offer(2, Some(10), 2)), "shorter");
        assert!(table.offer(NOW, offer(9, Some(11), 3)), "newer");
        assert!(table.offer(NOW, offer(1, None, 7)), "direct");
        assert_eq!(
            table.entry(NodeId(7)).and_then(|route| route.sequence),
            Some(11)
        );
        assert!(
            !table.offer(NOW, offer(2, None, 4)),
            "neither direct nor numbered"
        );
    }

    #[test]
    fn a_route_that_ended_wants_a_newer_number() {
        let mut table = Table::default();
        assert!(table.offer(NOW, offer(3, Some(10), 1)));
        let ended = table.lose(NOW, NodeId(1));
        assert_eq!(
            (ended.len(), ended[0].sequence, ended[0].is_used),
            (1, 11, false)
        );
        assert!(table.active(NOW, NodeId(7)).is_none());
        assert!(!table.offer(NOW, offer(1, Some(10), 2)));
        assert!(table.offer(NOW, offer(5, Some(11), 2)));
        // Its time ends, and the number rises again.
        let late = Instant::from_secs(11);
        assert!(table.active(late, NodeId(7)).is_none());
        assert_eq!(
            table.entry(NodeId(7)).and_then(|route| route.sequence),
            Some(12)
        );
        assert!(table.lose(late, NodeId(2)).is_empty());
    }

    #[test]
    fn a_report_raises_the_number() {
        let mut table = Table::default();
        assert!(table.offer(NOW, offer(3, Some(10), 1)));
        assert!(
            table.revoke(NOW, NodeId(2), &[(NodeId(7), 20)]).is_empty(),
            "not the next hop"
        );
        let ended = table.revoke(NOW, NodeId(1), &[(NodeId(6), 5), (NodeId(7), 20)]);
        assert_eq!((ended.len(), ended[0].sequence), (1, 20));
        assert!(table.offer(NOW, offer(3, Some(20), 1)));
        let ended = table.revoke(NOW, NodeId(1), &[(NodeId(7), 3)]);
        assert_eq!(ended[0].sequence, 21, "it never falls");
    }
}
