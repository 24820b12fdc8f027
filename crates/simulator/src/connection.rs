//! A connection of more than one flow: its two directions, and its legs.
//!
//! A flow brings data from one host, or proxy, to the next one. Most connections are one flow. If
//! both sides write, there is a flow in each direction; if n proxies split the connection, there
//! are n + 1 flows in each direction, its legs. A [`Connection`] is the one record of which they
//! are. Their states stand in `flows`, because the number in a packet finds a state in one
//! step, and because the directions of a connection end one after the other.

use std::ops::Deref;
use std::rc::Rc;

use tcp::segment::AckSegment;
use units::Duration;
use workload::Side;

/// The flows of a connection.
#[derive(Clone, Debug)]
pub struct Connection {
    /// The legs from the initiator to the acceptor, then those back, if the acceptor writes: the
    /// order in which data would pass over them on a round trip.
    round: Round,
    /// The number of legs.
    legs: usize,
}

/// Flows in the order of a round trip.
#[derive(Clone, Debug)]
enum Round {
    /// Both sides write, and no proxy splits the connection: most connections of several flows.
    Pair([u32; 2]),
    Legs(Rc<[u32]>),
}

impl Deref for Round {
    type Target = [u32];

    fn deref(&self) -> &[u32] {
        match self {
            Self::Pair(pair) => pair,
            Self::Legs(legs) => legs,
        }
    }
}

impl Connection {
    /// The connection with these legs, in the order in which data passes over them: from the
    /// initiator to the acceptor, and back if the acceptor writes.
    pub fn new(there: &[u32], back: &[u32]) -> Self {
        debug_assert!(back.is_empty() || back.len() == there.len());
        Self {
            round: Round::Legs([there, back].concat().into()),
            legs: there.len(),
        }
    }

    /// The connection with one leg there and one back.
    pub const fn pair(pair: [u32; 2]) -> Self {
        Self {
            round: Round::Pair(pair),
            legs: 1,
        }
    }

    /// Each of its flows, in the order of a round trip, with its membership.
    pub fn members(&self) -> impl Iterator<Item = (u32, Member)> {
        self.round.iter().enumerate().map(|(place, &flow)| {
            let member = Member {
                connection: self.clone(),
                place,
                opening: self.opening(place),
            };
            (flow, member)
        })
    }

    /// How the connection of the flow at `place` begins.
    const fn opening(&self, place: usize) -> Opening {
        match place {
            0 => Opening::AtStart,
            _ if place < self.legs => Opening::AfterLegBefore,
            _ => Opening::Awaited,
        }
    }
}

/// How the connection of a leg is opened, at its sender.
#[derive(Clone, Debug)]
enum Opening {
    /// A SYN leaves at the start of the flow.
    AtStart,
    /// A SYN leaves once the leg before is opened.
    AfterLegBefore,
    /// It has left.
    Sent,
    /// The other end sends the SYN. The handshake has not ended here.
    Awaited,
    /// It has ended. The sender takes this with its first data.
    Accepted(Opened),
    /// The sender has taken it.
    Taken,
}

/// The end of a handshake: the arguments of [`tcp::Sender::accept`].
#[derive(Clone, Copy, Debug)]
pub struct Opened {
    pub third: AckSegment,
    pub rtt: Option<Duration>,
    pub retransmitted: u32,
}

/// The flows of a connection that take note of each segment that arrives over one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    None,
    /// The flow of the other direction, which echoes its timestamp, and nothing else.
    Peer,
    /// The connection has several legs: others may, too.
    Legs,
}

/// A flow's place in its connection.
#[derive(Debug)]
pub struct Member {
    connection: Connection,
    /// Its index in the round trip.
    place: usize,
    opening: Opening,
}

impl Member {
    /// The side of the connection whose data it brings.
    pub const fn side(&self) -> Side {
        if self.place < self.connection.legs {
            Side::Initiator
        } else {
            Side::Acceptor
        }
    }

    /// The flow of the other direction between the same two neighbours.
    #[inline]
    pub fn peer(&self) -> Option<u32> {
        let Connection { round, legs } = &self.connection;
        if round.len() == *legs {
            return None;
        }
        round.get(2 * legs - 1 - self.place).copied()
    }

    /// The legs of its direction.
    fn direction(&self) -> &[u32] {
        let Connection { round, legs } = &self.connection;
        match self.side() {
            Side::Initiator => &round[..*legs],
            Side::Acceptor => &round[*legs..],
        }
    }

    /// The leg before, whose data its sender gets, unless it is the first one.
    pub fn before(&self) -> Option<u32> {
        let Connection { round, legs } = &self.connection;
        if self.place == *legs {
            return None;
        }
        Some(round[self.place.checked_sub(1)?])
    }

    /// The leg behind, which gets what its receiver has, unless it is the last one.
    #[inline]
    pub fn next(&self) -> Option<u32> {
        let Connection { round, legs } = &self.connection;
        let next = self.place + 1;
        if next == *legs {
            return None;
        }
        round.get(next).copied()
    }

    /// The flows that take note of each segment that arrives over it.
    pub fn others(&self) -> Others {
        match self.peer() {
            _ if self.connection.legs > 1 => Others::Legs,
            Some(_) => Others::Peer,
            None => Others::None,
        }
    }

    /// The first leg of its direction, and those behind it.
    pub fn legs(&self) -> (u32, &[u32]) {
        let direction = self.direction();
        (direction[0], &direction[1..])
    }

    /// The first leg of the direction of the answers to what it brings.
    pub fn answers(&self) -> Option<u32> {
        let Connection { round, legs } = &self.connection;
        match self.side() {
            Side::Initiator => round.get(*legs).copied(),
            Side::Acceptor => Some(round[0]),
        }
    }

    /// Whether a SYN is to leave now that the leg before is opened. It is sent once.
    pub fn take_syn(&mut self) -> bool {
        let is_due = matches!(self.opening, Opening::AfterLegBefore);
        if is_due {
            self.opening = Opening::Sent;
        }
        is_due
    }

    /// Whether its sender waits for the end of a handshake that the other end began.
    pub const fn awaits_handshake(&self) -> bool {
        matches!(self.opening, Opening::Awaited)
    }

    /// The handshake that the other end began has ended.
    pub fn accept(&mut self, opened: Opened) {
        self.opening = Opening::Accepted(opened);
    }

    /// How the handshake that the other end began has ended. It is returned once.
    pub fn take_opened(&mut self) -> Option<Opened> {
        if !matches!(self.opening, Opening::Accepted(_)) {
            return None;
        }
        match std::mem::replace(&mut self.opening, Opening::Taken) {
            Opening::Accepted(opened) => Some(opened),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_proxies_split_both_directions_into_three_legs() {
        // host 0 - proxy - proxy - host 1; data there takes 1, 2, 3, and back 4, 5, 6.
        let connection = Connection::new(&[1, 2, 3], &[4, 5, 6]);
        let of = |flow: u32| {
            let mut members = connection.members();
            let found = members.find(|(number, _)| *number == flow);
            found.expect("a member").1
        };
        let peers = [1, 2, 3, 4, 5, 6].map(|flow| of(flow).peer());
        assert_eq!(peers, [6, 5, 4, 3, 2, 1].map(Some));
        let before = [1, 2, 3, 4, 5, 6].map(|flow| of(flow).before());
        assert_eq!(before, [None, Some(1), Some(2), None, Some(4), Some(5)]);
        let next = [1, 2, 3, 4, 5, 6].map(|flow| of(flow).next());
        assert_eq!(next, [Some(2), Some(3), None, Some(5), Some(6), None]);
        assert_eq!(of(2).legs(), (1, &[2, 3][..]));
        assert_eq!(of(6).legs(), (4, &[5, 6][..]));
        assert_eq!((of(3).answers(), of(5).answers()), (Some(4), Some(1)));
        let [there, back] = [of(3), of(4)].map(|member| member.side());
        assert_eq!((there, back), (Side::Initiator, Side::Acceptor));
    }

    #[test]
    fn a_leg_opens_once_and_the_other_direction_waits() {
        let connection = Connection::new(&[1, 2], &[3, 4]);
        let mut members: Vec<Member> = connection.members().map(|(_, member)| member).collect();
        let syns: Vec<bool> = members.iter_mut().map(Member::take_syn).collect();
        assert_eq!(syns, [false, true, false, false]);
        assert!(!members.iter_mut().any(Member::take_syn));
        let waits: Vec<bool> = members.iter().map(Member::awaits_handshake).collect();
        assert_eq!(waits, [false, false, true, true]);
        members[2].accept(Opened {
            third: AckSegment::default(),
            rtt: None,
            retransmitted: 1,
        });
        assert!(!members[2].awaits_handshake() && members[3].awaits_handshake());
        let mut opened = || members[2].take_opened().map(|it| it.retransmitted);
        assert_eq!([opened(), opened()], [Some(1), None]);
    }

    #[test]
    fn one_way_data_has_no_peer() {
        let connection = Connection::new(&[7, 8], &[]);
        for (_, member) in connection.members() {
            assert_eq!((member.peer(), member.answers()), (None, None));
        }
    }
}
