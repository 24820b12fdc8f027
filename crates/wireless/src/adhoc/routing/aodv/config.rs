//! The configuration of AODV, and the times that follow from it.

use tables::{Key, Kind, MAX_DURATION, Rules, Wrong, described};
use units::Duration;

const SHORTEST: Duration = Duration::from_millis(1);

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct AodvConfig(
        "aodv",
        "AODV",
        "A node searches for a route when it needs one."
    ) {
        /// Lifetime of a route that packets use (ACTIVE_ROUTE_TIMEOUT).
        active_route: Duration = Duration::from_secs(10)
            => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Lifetime of the route back to the origin of a request.
        reverse_route: Duration = Duration::from_secs(6)
            => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Time for which a node recognises a request that it has seen (PATH_DISCOVERY_TIME).
        request_memory: Duration = Duration::from_secs(6)
            => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Hop limit of the first request for a destination (TTL_START).
        ttl_start: u8 = 5 => Key::of(Kind::Integer(1, 255));
        /// Increase of the hop limit from one request to the next (TTL_INCREMENT).
        ttl_increment: u8 = 2 => Key::of(Kind::Integer(1, 255));
        /// Highest hop limit before requests go to the whole network (TTL_THRESHOLD).
        ttl_threshold: u8 = 7 => Key::of(Kind::Integer(1, 255));
        /// Hop limit of a request to the whole network (NET_DIAMETER).
        diameter: u8 = 30 => Key::of(Kind::Integer(1, 255));
        /// Estimate of the time for one hop, queueing included (NODE_TRAVERSAL_TIME).
        node_traversal: Duration = Duration::from_millis(30)
            => Key::of(Kind::Time(SHORTEST, MAX_DURATION));
        /// Requests to the whole network after the first one (RREQ_RETRIES).
        retries: u32 = 3 => Key::of(Kind::Integer(0, 100));
        /// Longest wait for a reply; the wait doubles with each request to the whole network.
        longest_wait: Duration = Duration::from_secs(10)
            => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Whether a node that forwards packets searches for a new route itself when a link breaks.
        local_repair: bool = true => Key::of(Kind::Switch);
        /// Packets that a node holds while it searches for routes.
        buffer: u32 = 64 => Key::of(Kind::Integer(0, 100_000));
        /// Longest time for which it holds one.
        buffer_time: Duration = Duration::from_secs(30)
            => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Whether nodes announce themselves periodically. Otherwise only the MAC detects a broken
        /// link.
        hello: bool = false => Key::of(Kind::Switch);
        /// Time between two announcements (HELLO_INTERVAL).
        hello_interval: Duration = Duration::from_secs(1)
            => Key::of(Kind::Seconds(SHORTEST, MAX_DURATION));
        /// Announcements of a neighbour that may be missing (ALLOWED_HELLO_LOSS).
        allowed_losses: u32 = 3 => Key::of(Kind::Integer(1, 1000));
    }
}

impl Rules for AodvConfig {
    fn check(&self, _said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.ttl_threshold > self.diameter {
            return Err(Wrong::at(
                "ttl_threshold",
                "the threshold is above `diameter`",
            ));
        }
        Ok(())
    }
}

impl AodvConfig {
    /// How long a node waits for the reply to a request (RFC 3561, section 6.4); `tries` counts the
    /// requests to the whole network before it.
    pub(super) fn wait(&self, ttl: u8, tries: u32) -> Duration {
        // TIMEOUT_BUFFER
        const SPARE: u64 = 2;
        let hops = if ttl < self.diameter {
            u64::from(ttl) + SPARE
        } else {
            u64::from(self.diameter) << tries.min(16)
        };
        (self.node_traversal * (2 * hops)).min(self.longest_wait)
    }

    /// The hop limit after one of `ttl`.
    pub(super) fn wider(&self, ttl: u8) -> u8 {
        let wider = ttl.saturating_add(self.ttl_increment);
        if wider > self.ttl_threshold {
            self.diameter
        } else {
            wider
        }
    }

    /// The farthest destination for which a node repairs a route (MAX_REPAIR_TTL), in hops.
    pub(super) fn farthest_repair(&self) -> u8 {
        (u32::from(self.diameter) * 3 / 10) as u8
    }
}
