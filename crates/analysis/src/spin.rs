//! The round trips that the spin bit shows (RFC 9000, section 17.4; RFC 9312, section 3.8).
//!
//! The client inverts the bit of the last packet that it received, and the server repeats it, so the
//! first packet of a host with another bit answers the first packet of its peer with the bit before.

use crate::report::Vantage;

/// A round trip that is shorter than this fraction of the handshake's is none: packets were reordered,
/// or the bit is random.
const SHORTEST: f64 = 0.7;

/// Fewer round trips show nothing.
const LEAST: usize = 2;

/// Two round trips whose answers acknowledge equal amounts, up to this fraction, show the usual one.
const STEADY: f64 = 0.02;

/// A bit that changes more often than so many times in a round trip and direction is random.
const CHANGES: usize = 3;

/// A packet with a short header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sight {
    /// When it was seen.
    pub at: i64,
    /// UDP payload.
    pub size: u16,
    /// 0 for the client, 1 for the server.
    pub from: u8,
    /// Its spin bit.
    pub spin: bool,
}

/// One round trip as the capture sees it: the sender's packet, the answer to it, and the packet that
/// the sender sent when the answer had arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Loop {
    data: i64,
    answer: i64,
    next: i64,
    /// Bytes of the sender up to the first packet, and packets of the peer up to the answer.
    bytes: i64,
    answers: usize,
}

/// The round trips of a connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loops {
    loops: Vec<Loop>,
    vantage: Vantage,
}

impl Loops {
    /// Finds the round trips of the data of `from`; none if the bit does not show them.
    pub fn find(sights: &[Sight], from: u8, handshake: Option<i64>) -> Option<Self> {
        let shortest = handshake.map_or(0.0, |rtt| SHORTEST * rtt as f64);
        let mut loops = Vec::new();
        // The edge that is waited for: of whom, and its bit.
        let mut waits: Option<(u8, bool)> = None;
        let mut open = Loop::default();
        let (mut sent, mut answers, mut short, mut changes) = (0, 0, 0, 0);
        let mut before = [None; 2];
        for sight in sights {
            if sight.from == from {
                sent += i64::from(sight.size);
            } else {
                answers += 1;
            }
            let place = usize::from(sight.from);
            changes += usize::from(before[place].is_some_and(|spin| spin != sight.spin));
            before[place] = Some(sight.spin);
            let is_edge = match waits {
                Some(edge) => edge == (sight.from, sight.spin),
                None => sight.from == from,
            };
            if !is_edge {
                continue;
            }
            if sight.from != from {
                (open.answer, open.answers) = (sight.at, answers);
            } else {
                open.next = sight.at;
                if waits.is_some() && ((open.next - open.data) as f64) < shortest {
                    short += 1;
                } else if waits.is_some() {
                    loops.push(open);
                }
                (open.data, open.bytes) = (sight.at, sent);
            }
            waits = Some((1 - sight.from, answered(1 - sight.from, sight.spin)));
        }
        // The first answer may have left before the data arrived: the bit had that value before.
        if let [first, second, third, ..] = loops[..]
            && first.next - first.data < (second.next - second.data).min(third.next - third.data)
        {
            loops.remove(0);
        }
        if loops.len() < LEAST
            || short > loops.len() / 2
            || changes > 2 * CHANGES * (loops.len() + short)
        {
            return None;
        }
        let mut parts: Vec<f64> = loops
            .iter()
            .map(|each| (each.answer - each.data) as f64 / (each.next - each.data).max(1) as f64)
            .collect();
        parts.sort_by(f64::total_cmp);
        let part = (1000.0 * parts[parts.len() / 2]) as i64;
        Some(Self {
            loops,
            vantage: Vantage::between(1000 - part, part),
        })
    }

    /// Where the capture was made.
    pub const fn vantage(&self) -> Vantage {
        self.vantage
    }

    /// How many there are.
    pub const fn count(&self) -> usize {
        self.loops.len()
    }

    /// Smallest, mean and largest.
    pub fn rtt_ms(&self) -> [f64; 3] {
        let each = self.loops.iter();
        let all: Vec<f64> = each.map(|each| self.rtt(each) as f64 / 1e6).collect();
        let least = all.iter().copied().fold(f64::MAX, f64::min);
        let most = all.iter().copied().fold(0.0, f64::max);
        [least, all.iter().sum::<f64>() / all.len() as f64, most]
    }

    /// The latest one that an answer seen until `at` shows.
    pub fn latest_ms(&self, at: i64) -> Option<f64> {
        let after = self.loops.partition_point(|each| each.answer <= at);
        let latest = &self.loops[after.checked_sub(1)?];
        Some(self.rtt(latest) as f64 / 1e6)
    }

    /// At the sender, the time until its next packet is its own.
    fn rtt(&self, each: &Loop) -> i64 {
        match self.vantage {
            Vantage::Sender => each.answer - each.data,
            _ => each.next - each.data,
        }
    }

    /// How long before the capture saw it the data seen at `at` left; `near` before the first round
    /// trip.
    pub fn lag(&self, at: i64, near: i64) -> i64 {
        if self.vantage == Vantage::Sender {
            return 0;
        }
        let knot = |each: &Loop| (each.next, each.next - each.answer);
        let first = self.loops.first().map(|each| (each.data, near));
        interpolated(first, &self.loops, knot, at).unwrap_or(near)
    }

    /// The bytes that each answer of the peer acknowledges, in their order.
    ///
    /// Between two edges, each answer acknowledges as much as every other. Where that is more than
    /// what it was before, packets were lost, and nothing answers them: an answer still acknowledges
    /// what it did before, and the edge the rest. So it is where the answer at the place `gap` reports
    /// the first loss.
    pub fn acknowledged(&self, sights: &[Sight], from: u8, gap: Option<usize>) -> Acknowledged {
        let answers = sights.iter().filter(|sight| sight.from != from).count();
        let mut bytes = vec![0; answers];
        let mut losses = Vec::new();
        let (mut place, mut acked, mut since) = (0, 0, 0);
        let mut usual = [f64::MAX; 2];
        for found in &self.loops {
            let until = found.answers;
            if until <= place {
                continue;
            }
            let mut each = (found.bytes - acked) as f64 / (until - place) as f64;
            let [before, latest] = usual;
            if (latest / before - 1.0).abs() < STEADY && each > (1.0 + STEADY) * latest {
                losses.push([since, found.answer]);
                each = latest;
            } else if gap.is_some_and(|gap| (place..until).contains(&gap)) && latest < f64::MAX {
                each = each.min(latest);
            } else {
                usual = [latest, each];
            }
            for (count, bytes) in bytes[place..until].iter_mut().enumerate() {
                *bytes = acked + (each * (count + 1) as f64) as i64;
            }
            bytes[until - 1] = found.bytes;
            (place, acked, since) = (until, found.bytes, found.answer);
        }
        let each = usual[1].min(usual[0]);
        let each = if each == f64::MAX { 0.0 } else { each };
        for (count, bytes) in bytes[place..].iter_mut().enumerate() {
            *bytes = acked + (each * (count + 1) as f64) as i64;
        }
        Acknowledged { bytes, losses }
    }
}

/// What the answers of a peer show.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Acknowledged {
    /// Bytes that each acknowledges, in their order.
    pub bytes: Vec<i64>,
    /// Between which times answers were missing.
    pub losses: Vec<[i64; 2]>,
}

/// The bit of the answer of a host to a packet with this bit.
const fn answered(host: u8, spin: bool) -> bool {
    if host == 0 { !spin } else { spin }
}

/// A quantity at `at`, between the values of the loops before and after.
fn interpolated(
    first: Option<(i64, i64)>,
    loops: &[Loop],
    knot: impl Fn(&Loop) -> (i64, i64),
    at: i64,
) -> Option<i64> {
    let after = loops.partition_point(|each| knot(each).0 <= at);
    let before = match after.checked_sub(1) {
        Some(place) => Some(knot(&loops[place])),
        None => first.filter(|(when, _)| *when <= at),
    };
    match (before, loops.get(after).map(knot)) {
        (Some((since, from)), Some((until, to))) => {
            let part = (at - since) as f64 / (until - since).max(1) as f64;
            Some(from + ((to - from) as f64 * part) as i64)
        }
        (Some((_, value)), None) => Some(value),
        (None, Some(_)) => first.map(|(_, value)| value),
        (None, None) => None,
    }
}
