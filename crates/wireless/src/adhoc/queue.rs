//! The interface queue of a node, between its network layer and its MAC.
//!
//! The queue is that of ns-2's wireless nodes, with a limit in packets. Data joins the tail and is
//! dropped when the queue is full. A routing message joins the head; if the queue then exceeds its
//! limit, its last packet is dropped. Of two routing messages in the queue, the later one therefore
//! leaves first. The frame that the MAC has in service is not in the queue.
//!
//! ## Assumptions
//!
//! - A node has one queue for all neighbours. A frame to a neighbour that does not answer delays all
//!   others until the MAC gives it up.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use super::mac::Outgoing;
use crate::NodeId;

/// The limit of ns-2's scripts, in packets.
pub const QUEUE_LIMIT: usize = 50;

/// An interface queue.
#[derive(Clone, Debug)]
pub struct InterfaceQueue {
    frames: VecDeque<Outgoing>,
    limit: usize,
}

impl InterfaceQueue {
    /// An empty queue for at most `limit` packets.
    #[must_use]
    pub const fn new(limit: usize) -> Self {
        Self {
            frames: VecDeque::new(),
            limit,
        }
    }

    /// Adds a data packet, or a message of ARP, at the tail. Returns the packet that the queue drops:
    /// this one, if the queue is full.
    #[must_use = "the packet that is returned is dropped"]
    pub fn push(&mut self, frame: Outgoing) -> Option<Outgoing> {
        if self.frames.len() >= self.limit {
            return Some(frame);
        }
        self.frames.push_back(frame);
        None
    }

    /// Adds a routing message at the head. Returns the packet that the queue drops: the last one, if
    /// the queue exceeds its limit.
    #[must_use = "the packet that is returned is dropped"]
    pub fn push_routing(&mut self, frame: Outgoing) -> Option<Outgoing> {
        self.frames.push_front(frame);
        if self.frames.len() > self.limit {
            return self.frames.pop_back();
        }
        None
    }

    /// Takes the packet at the head.
    pub fn pop(&mut self) -> Option<Outgoing> {
        self.frames.pop_front()
    }

    /// Takes all packets for `neighbour` out, in their order, and appends them to `recalled`.
    /// Broadcasts stay.
    pub fn recall(&mut self, neighbour: NodeId, recalled: &mut Vec<Outgoing>) {
        self.frames.retain(|frame| {
            let stays = frame.to != Some(neighbour);
            if !stays {
                recalled.push(*frame);
            }
            stays
        });
    }

    /// How many packets wait.
    #[must_use]
    pub fn len(&self) -> usize {
        self.frames.len()
    }

    /// Whether no packet waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(handle: u32, to: u32) -> Outgoing {
        Outgoing {
            to: Some(NodeId(to)),
            bytes: 100,
            handle,
        }
    }

    fn handles(queue: &mut InterfaceQueue) -> Vec<u32> {
        core::iter::from_fn(|| queue.pop())
            .map(|frame| frame.handle)
            .collect()
    }

    #[test]
    fn data_is_dropped_at_the_tail() {
        let mut queue = InterfaceQueue::new(QUEUE_LIMIT);
        for handle in 0..50 {
            assert_eq!(queue.push(frame(handle, 1)), None);
        }
        assert_eq!(queue.push(frame(50, 1)), Some(frame(50, 1)));
        assert_eq!(queue.len(), 50);
        assert_eq!(handles(&mut queue), (0..50).collect::<Vec<_>>());
    }

    #[test]
    fn a_routing_message_joins_the_head_and_displaces_the_last_packet() {
        let mut queue = InterfaceQueue::new(3);
        for handle in 0..3 {
            assert_eq!(queue.push(frame(handle, 1)), None);
        }
        assert_eq!(queue.push_routing(frame(10, 1)), Some(frame(2, 1)));
        assert_eq!(queue.push_routing(frame(11, 1)), Some(frame(1, 1)));
        assert_eq!(handles(&mut queue), [11, 10, 0]);
    }

    #[test]
    fn a_recall_takes_the_packets_of_one_neighbour_in_order() {
        let mut queue = InterfaceQueue::new(10);
        for (handle, to) in [(0, 1), (1, 2), (2, 1), (3, 3), (4, 1)] {
            assert_eq!(queue.push(frame(handle, to)), None);
        }
        let broadcast = Outgoing {
            to: None,
            ..frame(5, 0)
        };
        assert_eq!(queue.push(broadcast), None);
        let mut recalled = Vec::new();
        queue.recall(NodeId(1), &mut recalled);
        assert_eq!(recalled, [frame(0, 1), frame(2, 1), frame(4, 1)]);
        assert_eq!(handles(&mut queue), [1, 3, 5]);
    }

    #[test]
    fn a_queue_without_room_drops_all() {
        let mut queue = InterfaceQueue::new(0);
        assert_eq!(queue.push(frame(0, 1)), Some(frame(0, 1)));
        assert_eq!(queue.push_routing(frame(1, 1)), Some(frame(1, 1)));
        assert!(queue.is_empty());
    }
}
