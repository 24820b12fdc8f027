//! Packets on their way in one direction.

use std::collections::BTreeMap;

use units::Instant;

/// Packets in order of arrival. Of two that arrive at the same time, the one that left first is
/// first.
#[derive(Clone, Debug)]
pub struct Wire<T> {
    packets: BTreeMap<(Instant, u64), T>,
    sent: u64,
}

impl<T> Default for Wire<T> {
    fn default() -> Self {
        Self {
            packets: BTreeMap::new(),
            sent: 0,
        }
    }
}

impl<T> Wire<T> {
    /// Sends `packet`, which arrives at `at`.
    pub fn send(&mut self, at: Instant, packet: T) {
        self.sent += 1;
        self.packets.insert((at, self.sent), packet);
    }

    /// When the next packet arrives.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.packets.first_key_value().map(|((at, _), _)| *at)
    }

    /// The next packet, if it has arrived by `now`.
    pub fn receive(&mut self, now: Instant) -> Option<T> {
        let first = self.packets.first_entry()?;
        (first.key().0 <= now).then(|| first.remove())
    }
}

#[cfg(test)]
mod tests {
    use super::Wire;
    use units::Instant;

    #[test]
    fn packets_arrive_by_time_and_then_in_the_order_of_sending() {
        let mut wire = Wire::default();
        for (at, packet) in [(3, 'd'), (1, 'a'), (2, 'b'), (2, 'c')] {
            wire.send(Instant::from_millis(at), packet);
        }
        assert_eq!(wire.due(), Some(Instant::from_millis(1)));
        assert_eq!(wire.receive(Instant::ZERO), None);
        let arrived: String =
            std::iter::from_fn(|| wire.receive(Instant::from_millis(2))).collect();
        assert_eq!(arrived, "abc");
        assert_eq!(wire.receive(Instant::from_millis(3)), Some('d'));
        assert_eq!(wire.due(), None);
    }
}
