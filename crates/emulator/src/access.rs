//! Access delays of single hosts: what they are sent leaves the link earlier than it reaches them.

use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;

use network::Packet;
use units::{Duration, Instant};

use crate::link::{Carried, Service};
use crate::packet;

/// A packet that has left the link, when it is due at its host, and its service on the link.
type Due = (Instant, Packet<Carried>, Service);

/// The hosts with access delays, and the packets on their way from the link to a host.
///
/// Hosts with equal delays share one delay line, in which the order of the link is the order of the
/// times.
#[derive(Debug, Default)]
pub(crate) struct AccessDelays {
    /// The line of each host with a delay; line 0 is that of all the others.
    line_of: BTreeMap<Ipv4Addr, usize>,
    lines: Vec<(Duration, VecDeque<Due>)>,
}

impl AccessDelays {
    /// `delays` are the times that a packet takes from the link to its host.
    pub(crate) fn new(delays: impl IntoIterator<Item = (Ipv4Addr, Duration)>) -> Self {
        let mut this = Self::default();
        for (host, delay) in delays {
            if delay == Duration::ZERO {
                continue;
            }
            if this.lines.is_empty() {
                this.lines.push((Duration::ZERO, VecDeque::new()));
            }
            let there = this.lines.iter().position(|(other, _)| *other == delay);
            let line = there.unwrap_or_else(|| {
                this.lines.push((delay, VecDeque::new()));
                this.lines.len() - 1
            });
            this.line_of.insert(host, line);
        }
        this
    }

    /// Whether no host has a delay.
    pub(crate) const fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Takes a packet that has left the link at the instant given.
    pub(crate) fn push(&mut self, (left, packet, service): Due) {
        let host = packet::destination(&packet.payload.bytes[..packet.size as usize]);
        let line = host.and_then(|host| self.line_of.get(&host)).copied();
        let (delay, line) = &mut self.lines[line.unwrap_or(0)];
        line.push_back((left + *delay, packet, service));
    }

    /// When the next packet is due at its host.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.first().map(|(due, _)| due)
    }

    /// The next packet that is due at `now`.
    pub(crate) fn pop(&mut self, now: Instant) -> Option<Due> {
        let (due, line) = self.first()?;
        if due > now {
            return None;
        }
        self.lines[line].1.pop_front()
    }

    /// The line whose first packet is due first, and when that is.
    fn first(&self) -> Option<(Instant, usize)> {
        let lines = self.lines.iter().enumerate();
        lines
            .filter_map(|(index, (_, line))| Some((line.front()?.0, index)))
            .min()
    }
}

#[cfg(test)]
mod tests {
    use etherparse::PacketBuilder;
    use network::Ecn;

    use super::*;

    fn packet(host: u8, tag: u32) -> Packet<Carried> {
        let mut bytes = Vec::new();
        PacketBuilder::ipv4([10, 79, 0, 1], [10, 78, 0, host], 64)
            .udp(1, 2)
            .write(&mut bytes, &[])
            .unwrap();
        let size = bytes.len() as u32;
        bytes.resize(2048, 0);
        let payload = Carried {
            bytes,
            flow: tag,
            ..Carried::default()
        };
        Packet {
            size,
            flow: tag,
            ecn: Ecn::NotEct,
            payload,
        }
    }

    #[test]
    fn each_host_has_its_delay_and_keeps_the_order() {
        let millis = Duration::from_millis;
        let host = |last| Ipv4Addr::new(10, 78, 0, last);
        let delays = [(1, 10), (2, 0), (3, 4), (4, 10)];
        let mut access = AccessDelays::new(delays.map(|(last, delay)| (host(last), millis(delay))));
        assert_eq!(access.lines.len(), 3);
        let service = Service {
            leaves: Instant::ZERO,
            period: 0,
        };
        // The packet for host 9 has no delay, like those of a host that no scenario names.
        let left = [(0, 1), (1, 3), (2, 2), (3, 1), (4, 4), (5, 9)];
        for (tag, (at, last)) in left.into_iter().enumerate() {
            access.push((Instant::from_millis(at), packet(last, tag as u32), service));
        }
        let mut order = Vec::new();
        for now in 0..20 {
            let now = Instant::from_millis(now);
            while let Some((due, packet, _)) = access.pop(now) {
                assert!(due <= now);
                order.push((due.as_nanos() / 1_000_000, packet.flow));
            }
        }
        let expected = [(2, 2), (5, 1), (5, 5), (10, 0), (13, 3), (14, 4)];
        assert_eq!(order.len(), expected.len());
        assert!(
            expected.iter().all(|each| order.contains(each)),
            "{order:?}"
        );
        assert!(order.is_sorted_by_key(|(due, _)| *due), "{order:?}");
        assert_eq!(access.next(), None);
        assert!(AccessDelays::new([(host(1), Duration::ZERO)]).is_empty());
    }
}
