//! Address resolution (ARP, RFC 826): a node asks for the hardware address of a neighbour before it
//! sends the first packet to it.
//!
//! A node broadcasts a request and the neighbour answers with a unicast reply. Until then the node
//! holds one packet for the neighbour; a further packet displaces it, as in ns-2 and BSD. The target
//! of a request learns the address of the sender, so that its reply needs no request (RFC 826, "Packet
//! Reception"). A node that is not the target learns from a request or a reply only about a neighbour
//! whose address it is waiting for.
//!
//! [`Arp`] is the state of one node and does no input or output: it appends what the node has to do
//! to a list of [`ArpAction`].
//!
//! ## Deviations
//!
//! - Each packet for an unresolved neighbour sends a request, as in ns-2. RFC 1122, section 2.3.2.1,
//!   requires a limit, with one request per second as its recommendation; `interval` sets one.
//! - A node never retransmits a request by a timer; the next packet sends one. Linux sends up to
//!   three requests, one per second (arp(7), `mcast_solicit`).
//! - An address never expires: the neighbours of a model do not change theirs.

use alloc::vec::Vec;

use tables::{Key, Kind, MAX_DURATION, Rules, described};
use units::{Duration, Instant};

use crate::NodeId;

/// Bytes of a message over IEEE 802 addresses and IPv4: 8 and two pairs of addresses (RFC 826).
pub const ARP_BYTES: u32 = 28;

described! {
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct ArpConfig(
        "arp",
        "ARP",
        "A node broadcasts a request for the address of a neighbour and holds one packet meanwhile."
    ) {
        /// Minimum time between two requests for the same neighbour; `0 s` sends one with each packet.
        interval: Duration = Duration::ZERO => Key::of(Kind::Seconds(Duration::ZERO, MAX_DURATION));
        /// Time after the last packet for a neighbour at which the held packet is dropped.
        timeout: Duration = Duration::from_secs(3)
            => Key::of(Kind::Seconds(Duration::from_nanos(1), MAX_DURATION));
    }
}

impl Rules for ArpConfig {}

/// A message of ARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpMessage {
    /// A broadcast: `from` asks for the address of `target`.
    Request {
        /// The sender.
        from: NodeId,
        /// The neighbour.
        target: NodeId,
    },
    /// A unicast: `from` reports its address to `to`.
    Reply {
        /// The sender.
        from: NodeId,
        /// The node that asked.
        to: NodeId,
    },
}

impl ArpMessage {
    /// The neighbour to which the message goes; `None` is a broadcast.
    #[must_use]
    pub const fn to(self) -> Option<NodeId> {
        match self {
            Self::Request { .. } => None,
            Self::Reply { to, .. } => Some(to),
        }
    }
}

/// What a node has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArpAction {
    /// Puts a message of [`ARP_BYTES`] into the interface queue, to [`ArpMessage::to`].
    Send(ArpMessage),
    /// Puts the packet with this handle, which ARP held, into the interface queue, to this neighbour.
    Release(u32, NodeId),
    /// Drops the packet with this handle, which ARP held; the cause is
    /// [`DropCause::Arp`](crate::DropCause::Arp).
    Drop(u32),
}

/// A neighbour whose address is not known.
#[derive(Clone, Copy, Debug)]
struct Pending {
    neighbour: NodeId,
    handle: u32,
    requested: Instant,
    until: Instant,
}

/// The address resolution of one node.
#[derive(Clone, Debug)]
pub struct Arp {
    own: NodeId,
    config: ArpConfig,
    /// A bit for each neighbour whose address is known.
    known: Vec<u64>,
    /// In order of their first packet.
    pending: Vec<Pending>,
}

impl Arp {
    /// The state of node `own`, which knows no address.
    #[must_use]
    pub const fn new(own: NodeId, config: ArpConfig) -> Self {
        Self {
            own,
            config,
            known: Vec::new(),
            pending: Vec::new(),
        }
    }

    /// Whether the address of `neighbour` is known.
    #[must_use]
    pub fn knows(&self, neighbour: NodeId) -> bool {
        let (word, bit) = (neighbour.index() / 64, neighbour.index() % 64);
        self.known
            .get(word)
            .is_some_and(|bits| bits >> bit & 1 == 1)
    }

    /// How many packets are held.
    #[must_use]
    pub const fn held(&self) -> usize {
        self.pending.len()
    }

    /// Whether the packet `handle` can go to `neighbour` at once. Otherwise ARP holds it, drops the one
    /// that it held for this neighbour before, and sends a request.
    pub fn resolve(
        &mut self,
        now: Instant,
        neighbour: NodeId,
        handle: u32,
        actions: &mut Vec<ArpAction>,
    ) -> bool {
        if self.knows(neighbour) {
            return true;
        }
        let (from, until) = (self.own, now + self.config.timeout);
        let request = ArpAction::Send(ArpMessage::Request {
            from,
            target: neighbour,
        });
        if let Some(pending) = self.pending(neighbour) {
            let pending = &mut self.pending[pending];
            actions.push(ArpAction::Drop(pending.handle));
            (pending.handle, pending.until) = (handle, until);
            if now.saturating_since(pending.requested) >= self.config.interval {
                pending.requested = now;
                actions.push(request);
            }
        } else {
            self.pending.push(Pending {
                neighbour,
                handle,
                requested: now,
                until,
            });
            actions.push(request);
        }
        false
    }

    /// Takes a message that this node received.
    pub fn receive(&mut self, message: ArpMessage, actions: &mut Vec<ArpAction>) {
        let (from, target, asks) = match message {
            ArpMessage::Request { from, target } => (from, target, true),
            ArpMessage::Reply { from, to } => (from, to, false),
        };
        if target == self.own || self.pending(from).is_some() {
            self.learn(from, actions);
        }
        if target == self.own && asks {
            let reply = ArpMessage::Reply {
                from: self.own,
                to: from,
            };
            actions.push(ArpAction::Send(reply));
        }
    }

    /// Takes note that the address of `neighbour` is known, and releases the packet for it.
    pub fn learn(&mut self, neighbour: NodeId, actions: &mut Vec<ArpAction>) {
        let (word, bit) = (neighbour.index() / 64, neighbour.index() % 64);
        if self.known.len() <= word {
            self.known.resize(word + 1, 0);
        }
        self.known[word] |= 1 << bit;
        if let Some(pending) = self.pending(neighbour) {
            let pending = self.pending.remove(pending);
            actions.push(ArpAction::Release(pending.handle, neighbour));
        }
    }

    /// Takes the packet back that ARP holds for `neighbour`; its owner decides anew on it.
    pub fn recall(&mut self, neighbour: NodeId) -> Option<u32> {
        let pending = self.pending(neighbour)?;
        Some(self.pending.remove(pending).handle)
    }

    /// When [`Self::handle_timeout`] is due; [`Instant::MAX`] is never.
    #[must_use]
    pub fn next_event(&self) -> Instant {
        let until = self.pending.iter().map(|pending| pending.until);
        until.min().unwrap_or(Instant::MAX)
    }

    /// Drops the packets that were held for too long.
    pub fn handle_timeout(&mut self, now: Instant, actions: &mut Vec<ArpAction>) {
        self.pending.retain(|pending| {
            let stays = pending.until > now;
            if !stays {
                actions.push(ArpAction::Drop(pending.handle));
            }
            stays
        });
    }

    fn pending(&self, neighbour: NodeId) -> Option<usize> {
        let same = |pending: &Pending| pending.neighbour == neighbour;
        self.pending.iter().position(same)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: NodeId = NodeId(0);
    const B: NodeId = NodeId(70);
    const C: NodeId = NodeId(2);

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    fn request(from: NodeId, target: NodeId) -> ArpMessage {
        ArpMessage::Request { from, target }
    }

    #[test]
    fn a_request_and_a_reply_release_the_packet() {
        let [mut a, mut b] = [A, B].map(|own| Arp::new(own, ArpConfig::DEFAULT));
        let mut actions = Vec::new();
        assert!(!a.resolve(at(0), B, 7, &mut actions));
        assert_eq!(actions, [ArpAction::Send(request(A, B))]);
        assert_eq!(request(A, B).to(), None);
        actions.clear();

        b.receive(request(A, B), &mut actions);
        let reply = ArpMessage::Reply { from: B, to: A };
        assert_eq!(actions, [ArpAction::Send(reply)]);
        assert_eq!(reply.to(), Some(A));
        assert!(b.knows(A), "the target learns from the request");
        actions.clear();

        a.receive(reply, &mut actions);
        assert_eq!(actions, [ArpAction::Release(7, B)]);
        actions.clear();
        assert!(a.resolve(at(1), B, 8, &mut actions));
        assert!(b.resolve(at(1), A, 9, &mut actions));
        assert_eq!(actions, []);
        assert_eq!(a.next_event(), Instant::MAX);
    }

    #[test]
    fn a_further_packet_displaces_the_first() {
        let mut arp = Arp::new(A, ArpConfig::DEFAULT);
        let mut actions = Vec::new();
        assert!(!arp.resolve(at(0), B, 1, &mut actions));
        assert!(!arp.resolve(at(0), C, 2, &mut actions));
        actions.clear();
        assert!(!arp.resolve(at(0), B, 3, &mut actions));
        let expected = [ArpAction::Drop(1), ArpAction::Send(request(A, B))];
        assert_eq!(actions, expected);
        assert_eq!(arp.held(), 2, "one for each neighbour");
        assert_eq!(arp.recall(B), Some(3));
        assert_eq!(arp.recall(B), None);
        assert_eq!(arp.held(), 1);
    }

    #[test]
    fn an_interval_limits_the_requests() {
        let interval = Duration::from_secs(1);
        let mut arp = Arp::new(
            A,
            ArpConfig {
                interval,
                ..ArpConfig::DEFAULT
            },
        );
        let mut actions = Vec::new();
        for millis in (0..2000).step_by(10) {
            assert!(!arp.resolve(at(millis), B, millis as u32, &mut actions));
        }
        let sent = |action: &&ArpAction| matches!(action, ArpAction::Send(_));
        assert_eq!(actions.iter().filter(sent).count(), 2);
        assert_eq!(actions.len() - 2, 199, "all but the last are dropped");
    }

    #[test]
    fn a_packet_is_not_held_forever() {
        let mut arp = Arp::new(A, ArpConfig::DEFAULT);
        let mut actions = Vec::new();
        assert!(!arp.resolve(at(0), B, 1, &mut actions));
        assert!(!arp.resolve(at(500), C, 2, &mut actions));
        actions.clear();
        assert_eq!(arp.next_event(), at(3000));
        arp.handle_timeout(at(3000), &mut actions);
        assert_eq!(actions, [ArpAction::Drop(1)]);
        assert_eq!(arp.next_event(), at(3500));
    }

    #[test]
    fn a_bystander_learns_about_those_that_it_waits_for_alone() {
        let mut arp = Arp::new(A, ArpConfig::DEFAULT);
        let mut actions = Vec::new();
        arp.receive(request(B, C), &mut actions);
        assert!(!arp.knows(B) && actions.is_empty());
        assert!(!arp.resolve(at(0), B, 1, &mut actions));
        actions.clear();
        arp.receive(request(B, C), &mut actions);
        assert_eq!(actions, [ArpAction::Release(1, B)]);
        assert!(arp.knows(B));
    }
}
