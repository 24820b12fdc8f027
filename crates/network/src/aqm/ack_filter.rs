//! Suppression of redundant queued ACKs: ACK thinning, as in many satellite terminals
//! (docs/reference/sources.md, "Geostationary return link").
//!
//! A plain ACK carries only an acknowledgment: no payload, no SACK, no flag but its own. If it
//! acknowledges more than all earlier ones of its flow, it takes the place of the last queued
//! packet of its flow, provided that this is such an ACK too. So duplicate ACKs are neither
//! suppressed nor suppress others, and no packet overtakes another of its own flow.
//!
//! Only the owner of a packet can read its acknowledgment number; it supplies the function
//! ([`crate::Link::filter_acks`]).

use alloc::collections::BTreeMap;

use super::{Fate, Waiting};
use crate::Packet;

/// The acknowledgment number of a plain ACK, which may wrap around; `None` for any other packet.
pub(crate) type PlainAck<T> = fn(&T) -> Option<u32>;

/// The state kept of a flow's last packet.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// The highest number that a plain ACK acknowledged.
    acked: Option<u32>,
    /// Whether the packet was a plain ACK that acknowledged more than all before it.
    replaceable: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct AckFilter<T> {
    pub(crate) plain_ack: PlainAck<T>,
    flows: BTreeMap<u32, Last>,
}

impl<T> Default for AckFilter<T> {
    /// Takes no packet for an ACK.
    fn default() -> Self {
        Self {
            plain_ack: |_| None,
            flows: BTreeMap::new(),
        }
    }
}

impl<T> AckFilter<T> {
    /// Whether a packet may replace the last one of its flow if that is still queued, and the state
    /// to keep once it is accepted.
    fn judge(&self, packet: &Packet<T>) -> (bool, Last) {
        let last = self.flows.get(&packet.flow).copied().unwrap_or_default();
        let number = (self.plain_ack)(&packet.payload);
        let advances = number.is_some_and(|number| {
            last.acked
                .is_none_or(|acked| (1..1 << 31).contains(&number.wrapping_sub(acked)))
        });
        let next = Last {
            acked: if advances { number } else { last.acked },
            replaceable: advances,
        };
        (advances && last.replaceable, next)
    }

    /// A packet was accepted.
    pub(crate) fn note(&mut self, packet: &Packet<T>) {
        let (_, next) = self.judge(packet);
        self.flows.insert(packet.flow, next);
    }

    /// Puts a packet in the place of the last one of its flow among the queued ones, which come
    /// newest first; returns it if that is not allowed.
    pub(crate) fn replace<'a>(
        &mut self,
        mut newer: Waiting<T>,
        mut newest_first: impl Iterator<Item = &'a mut Packet<T>>,
        fate: &mut Fate<T>,
    ) -> Option<Waiting<T>>
    where
        T: 'a,
    {
        let (may, next) = self.judge(&newer.packet);
        let flow = newer.packet.flow;
        let older = may.then(|| newest_first.find(|packet| packet.flow == flow));
        match older.flatten() {
            // Equal length takes equal time.
            Some(older) if older.size == newer.packet.size => {
                self.flows.insert(flow, next);
                core::mem::swap(older, &mut newer.packet);
                fate.drop_early(newer.at, Some(newer));
                None
            }
            _ => Some(newer),
        }
    }
}
