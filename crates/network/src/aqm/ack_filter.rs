//! Suppression of redundant ACKs while they wait: ACK thinning, as many satellite terminals do it
//! (network-models, section B.1.3).
//!
//! A plain ACK acknowledges and does nothing else: no payload, no SACK, no flag beside its own. One that acknowledges more than all
//! before it of its flow takes the place of the last packet that its flow has waiting, if that is
//! such an ACK too. So a duplicate ACK is neither suppressed nor does it suppress, nor is anything passed by a packet of
//! its own flow.
//!
//! What a packet acknowledges only its owner knows, who says it ([`crate::Link::filter_acks`]).

use alloc::collections::BTreeMap;

use super::{Fate, Waiting};
use crate::Packet;

/// The number that a plain ACK acknowledges, which may wrap around; `None` for any other packet.
pub(crate) type PlainAck<T> = fn(&T) -> Option<u32>;

/// What is remembered of the last packet of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Last {
    /// The most that a plain ACK acknowledged.
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
    /// Whether a packet may replace the last one of its flow, if that still waits; and what to remember once it is
    /// taken.
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

    /// A packet was taken.
    pub(crate) fn note(&mut self, packet: &Packet<T>) {
        let (_, next) = self.judge(packet);
        self.flows.insert(packet.flow, next);
    }

    /// Puts a packet in the place of the last of its flow among those that wait, which come newest first; gives it back if
    /// that may not be.
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
            // What is as long takes as long.
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
