//! The routes of packets: each is the list of the links that a packet takes, one after the other,
//! up to a host.
//!
//! All routes stand in one table, one behind the other. A packet in flight carries its position in
//! the table, so forwarding it reads neither its flow nor its host: a packet that outlives its flow
//! goes on along its route. Equal routes are stored once.
//!
//! A crossing of the cloud has a number like a link, but no link has so high a one.

use hashbrown::HashTable;
use wireless::NodeId;

/// The end of a route.
const HOST: u32 = u32::MAX;
/// From here on, the numbers of hops are those of crossings of the cloud.
const CROSSINGS: u32 = 1 << 31;
/// A packet has 24 bits for its position.
const MOST_HOPS: usize = 1 << 24;

/// The position of a link in the table. A route is its first hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hop(pub u32);

/// All routes of a run.
#[derive(Debug, Default)]
pub struct Routes {
    /// The links of each route, and [`HOST`] behind them.
    hops: Vec<u32>,
    /// All of them, by the hash of their links. Nothing goes through it in its order.
    known: HashTable<Hop>,
    /// The links of the route that [`Self::between`] looks for.
    looked_for: Vec<u32>,
    /// Where packets enter the cloud and leave it, for each crossing.
    crossings: Vec<[NodeId; 2]>,
}

impl Routes {
    /// The route over `links`.
    pub fn over(&mut self, links: &[u32]) -> Hop {
        let hash = hash(links.iter().copied());
        let is_it = |route: &Hop| links_from(&self.hops, *route).eq(links.iter().copied());
        if let Some(&route) = self.known.find(hash, is_it) {
            return route;
        }
        let route = Hop(self.hops.len() as u32);
        self.hops.extend(links);
        self.hops.push(HOST);
        assert!(self.hops.len() <= MOST_HOPS, "too many routes");
        let hash_of = |route: &Hop| self::hash(links_from(&self.hops, *route));
        self.known.insert_unique(hash, route, hash_of);
        route
    }

    /// The number that stands for a crossing of the cloud in a route.
    pub fn crossing(&mut self, from: NodeId, to: NodeId) -> u32 {
        let ends = [from, to];
        let place = match self.crossings.iter().position(|known| *known == ends) {
            Some(place) => place,
            None => {
                self.crossings.push(ends);
                self.crossings.len() - 1
            }
        };
        CROSSINGS + place as u32
    }

    /// The ends of a crossing, by its number.
    pub fn crossing_ends(&self, number: u32) -> [NodeId; 2] {
        self.crossings[(number - CROSSINGS) as usize]
    }

    /// The route over the link `first`, then those of `route`, then the link `last`.
    pub fn between(&mut self, first: Option<u32>, route: Hop, last: Option<u32>) -> Hop {
        let mut links = std::mem::take(&mut self.looked_for);
        links.clear();
        links.extend(first);
        links.extend(self.links(route));
        links.extend(last);
        let route = self.over(&links);
        self.looked_for = links;
        route
    }

    /// The link at `hop`.
    #[inline(always)]
    pub fn link(&self, hop: Hop) -> u32 {
        self.hops[hop.0 as usize]
    }

    /// The link behind the one at `hop`, unless that is the last of its route.
    #[inline(always)]
    pub fn behind(&self, hop: Hop) -> Option<u32> {
        let link = self.hops[hop.0 as usize + 1];
        (link != HOST).then_some(link)
    }

    /// The links of a route from `hop` on.
    pub fn links(&self, hop: Hop) -> impl Iterator<Item = u32> {
        links_from(&self.hops, hop)
    }

    /// The links of a route up to the one at `hop`, backwards.
    pub fn links_to(&self, hop: Hop) -> impl Iterator<Item = u32> {
        let before = self.hops[..=hop.0 as usize].iter().rev().copied();
        before.take_while(|&link| link != HOST)
    }

    /// Whether a route takes `link`.
    pub fn contains(&self, route: Hop, link: u32) -> bool {
        self.links(route).any(|own| own == link)
    }

    /// Whether the link at `hop` is the last of its route.
    #[inline(always)]
    pub fn is_last(&self, hop: Hop) -> bool {
        self.behind(hop).is_none()
    }
}

/// The links in the table from `hop` to the end of its route.
fn links_from(hops: &[u32], hop: Hop) -> impl Iterator<Item = u32> {
    let rest = hops[hop.0 as usize..].iter().copied();
    rest.take_while(|&link| link != HOST)
}

/// A hash that is the same in each run: a product for each link (Knuth 1998, section 6.4).
fn hash(links: impl Iterator<Item = u32>) -> u64 {
    const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;
    links.fold(0, |hash: u64, link| {
        let product = (hash ^ u64::from(link)).wrapping_mul(GOLDEN);
        product ^ product >> 32
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crossings_have_numbers_that_no_link_has() {
        let mut routes = Routes::default();
        let ends = [[NodeId(3), NodeId(17)], [NodeId(17), NodeId(3)]];
        let numbers = ends.map(|[from, to]| routes.crossing(from, to));
        assert_eq!(routes.crossing(NodeId(3), NodeId(17)), numbers[0]);
        assert_eq!(numbers.map(|number| routes.crossing_ends(number)), ends);
        assert!(numbers[0] != numbers[1] && numbers.iter().all(|&number| number >= CROSSINGS));
    }

    #[test]
    fn equal_routes_are_stored_once_and_end_at_a_host() {
        let mut routes = Routes::default();
        let [long, short] = [routes.over(&[3, 1, 2]), routes.over(&[1])];
        assert_eq!([routes.over(&[3, 1, 2]), routes.over(&[1])], [long, short]);
        assert_ne!(routes.over(&[1, 2]), routes.over(&[3, 1]));
        assert_eq!(routes.between(Some(3), short, Some(2)), long);
        assert_eq!(routes.between(None, long, None), long);
        let last = Hop(long.0 + 2);
        assert_eq!((routes.link(long), routes.link(last)), (3, 2));
        assert_eq!((routes.behind(long), routes.behind(last)), (Some(1), None));
        assert!(!routes.is_last(long) && routes.is_last(last) && routes.is_last(short));
        assert_eq!(routes.links(long).collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(routes.links_to(last).collect::<Vec<_>>(), [2, 1, 3]);
        assert_eq!(routes.links_to(short).collect::<Vec<_>>(), [1]);
        assert!(routes.contains(long, 2) && !routes.contains(short, 2));
    }
}
