//! A flow among those of its connection: the end of handshakes at its host, and what has arrived at
//! the end.

use units::{Bytes, Instant};

use super::FlowState;
use crate::connection::{Member, Opened, Others};

/// What has arrived at the last receiver of a split connection.
#[derive(Clone, Copy, Debug)]
pub struct Arrived {
    pub delivered: Bytes,
    pub finished_at: Option<Instant>,
    /// Whether the last sender has all acknowledged.
    pub is_complete: bool,
}

impl FlowState<'_> {
    /// Its place in its connection, unless it is the only flow of that.
    pub fn member(&self) -> Option<&Member> {
        self.member.as_deref()
    }

    /// Makes it one of the flows of a connection.
    pub fn join(&mut self, member: Box<Member>) {
        self.others = member.others();
        self.peer = member.peer().unwrap_or_default();
        self.member = Some(member);
    }

    /// The flow in the other direction of the same connection, between the same neighbours.
    #[inline]
    pub fn peer(&self) -> Option<u32> {
        match self.others {
            Others::None => None,
            Others::Peer => Some(self.peer),
            Others::Legs => self.member.as_ref()?.peer(),
        }
    }

    /// The leg before, if a proxy sends its data.
    #[inline]
    pub fn before(&self) -> Option<u32> {
        self.member.as_ref()?.before()
    }

    /// The next leg of the same connection, if a proxy receives its data.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        if self.others != Others::Legs {
            return None;
        }
        self.member.as_ref()?.next()
    }

    /// Whether proxies split its connection.
    pub fn is_split(&self) -> bool {
        self.others == Others::Legs
    }

    /// Whether other flows take note of each segment that arrives over it.
    #[inline(always)]
    pub fn concerns_others(&self) -> bool {
        self.others != Others::None
    }

    /// Whether its sender waits for the end of a handshake that the other end began.
    pub fn awaits_handshake(&self) -> bool {
        self.member.as_ref().is_some_and(|it| it.awaits_handshake())
    }

    /// The handshake that the other end began has ended: the application there begins.
    pub fn end_handshake(&mut self, now: Instant, opened: Opened) {
        if let Some(member) = &mut self.member {
            member.accept(opened);
        }
        if let Some(conversation) = &mut self.conversation {
            conversation.begin(now);
        }
    }

    /// Establishes the sender's connection after a handshake that the other end began, now that it
    /// has data.
    pub fn accept(&mut self, now: Instant) {
        let Some(endpoints) = &mut self.endpoints else {
            return;
        };
        if let Some(member) = &mut self.member
            && !endpoints.sender.is_established()
            && let Some(opened) = member.take_opened()
        {
            let Opened {
                third,
                rtt,
                retransmitted,
            } = opened;
            endpoints.sender.accept(now, &third, rtt, retransmitted);
            self.asks_routers = endpoints.sender.asks_routers();
        }
    }

    /// Sends the SYN of a leg, if the leg before is opened only now.
    pub fn open_leg(&mut self, now: Instant) {
        if let (Some(member), Some(endpoints)) = (&mut self.member, &mut self.endpoints)
            && member.take_syn()
        {
            if member.peer().is_some() {
                endpoints.receiver.listen();
            }
            endpoints.sender.open(now);
            self.asks_routers = endpoints.sender.asks_routers();
        }
    }
}
