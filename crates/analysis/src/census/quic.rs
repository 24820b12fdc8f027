//! How many QUIC connections a capture has. A census counts them by their Initial packets, and does
//! not analyze them: `analyze` keeps the packets of a connection, and a census keeps none.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use capture::{Datagram, Header};

use super::reading::MOST_OPEN;
use crate::encrypted::SILENCE;

/// The connections whose Initial packets may repeat.
#[derive(Debug, Default)]
pub struct Counter {
    latest: BTreeMap<(u32, SocketAddr, SocketAddr), i64>,
    /// How many there were.
    pub connections: u64,
}

impl Counter {
    /// Counts the connection that a datagram begins.
    pub fn take(&mut self, datagram: &Datagram) {
        if datagram.packet != (Header::Long { is_initial: true }) {
            return;
        }
        let (source, destination) = (datagram.source, datagram.destination);
        let hosts = (source.min(destination), source.max(destination));
        let key = (datagram.interface, hosts.0, hosts.1);
        let at = datagram.at;
        if self.latest.len() >= MOST_OPEN {
            // The half that was silent for longest will repeat nothing.
            let mut times: Vec<i64> = self.latest.values().copied().collect();
            let (_, &mut middle, _) = times.select_nth_unstable(MOST_OPEN / 2);
            self.latest.retain(|_, latest| *latest > middle);
        }
        let before = self.latest.insert(key, at);
        let is_known = before.is_some_and(|before| at.saturating_sub(before) <= SILENCE);
        self.connections += u64::from(!is_known);
    }
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, SocketAddr};

    use capture::{Datagram, Header};

    use super::{Counter, MOST_OPEN, SILENCE};

    fn datagram(at: i64, client: u16, answers: bool, is_initial: bool) -> Datagram {
        let mut hosts = [client, 443].map(|port| SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port));
        if answers {
            hosts.reverse();
        }
        Datagram {
            at,
            interface: 0,
            source: hosts[0],
            destination: hosts[1],
            payload: 1200,
            packet: Header::Long { is_initial },
        }
    }

    #[test]
    fn a_connection_counts_once() {
        let mut counter = Counter::default();
        counter.take(&datagram(0, 1, false, true));
        counter.take(&datagram(1, 1, true, true));
        counter.take(&datagram(2, 1, true, false));
        counter.take(&datagram(3, 2, false, true));
        assert_eq!(counter.connections, 2);
        counter.take(&datagram(4 + SILENCE, 1, false, true));
        assert_eq!(counter.connections, 3);
    }

    #[test]
    fn what_is_remembered_is_bounded() {
        let mut counter = Counter::default();
        let most = MOST_OPEN as i64;
        for number in 0..most + 10 {
            let mut each = datagram(number, 1, false, true);
            each.interface = number as u32;
            counter.take(&each);
        }
        assert_eq!(counter.connections, most as u64 + 10);
        assert!(counter.latest.len() <= MOST_OPEN);
    }
}
