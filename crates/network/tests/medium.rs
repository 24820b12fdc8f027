//! A shared medium outside the crate, with any number of stations.

use crate::common;

use std::collections::VecDeque;
use std::sync::Arc;

use atomic_refcell::AtomicRefCell;
use common::{assert_conserved, bare, packet};
use network::medium::{Medium, Passage, SharedMedium};
use network::{AirCounters, Busy, Counters, DropReason, Dropped, Link, Packet, Service};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use units::{Bytes, Duration, Instant};

/// The time of a packet on the medium.
const AIRTIME: Duration = Duration::from_millis(1);
/// Queue limit of a station, in packets.
const LIMIT: usize = 3;

/// Stations that send one packet each in turn; stations without packets are skipped.
#[derive(Debug)]
struct Ring<T> {
    stations: Vec<Station<T>>,
    /// The station whose turn it is, and when the medium becomes idle.
    turn: usize,
    free: Instant,
    frames: u64,
}

#[derive(Debug)]
struct Station<T> {
    waiting: VecDeque<(Instant, Packet<T>)>,
    through: VecDeque<Passage<T>>,
    busy: Busy,
}

impl<T> Ring<T> {
    fn new(stations: usize) -> Self {
        let station = |_| Station {
            waiting: VecDeque::new(),
            through: VecDeque::new(),
            busy: Busy::default(),
        };
        Self {
            stations: (0..stations).map(station).collect(),
            turn: 0,
            free: Instant::ZERO,
            frames: 0,
        }
    }

    /// When the next frame starts.
    fn next(&self) -> Option<Instant> {
        let came = self.stations.iter().filter_map(|s| s.waiting.front());
        came.map(|(came, _)| self.free.max(*came)).min()
    }

    fn advance(&mut self, now: Instant) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            let count = self.stations.len();
            let order = (0..count).map(|step| (self.turn + step) % count);
            let is_ready = |&index: &usize| {
                let front = self.stations[index].waiting.front();
                front.is_some_and(|(came, _)| *came <= at)
            };
            let index = order
                .into_iter()
                .find(is_ready)
                .expect("a station is ready");
            self.turn = (index + 1) % count;
            self.free = at + AIRTIME;
            self.frames += 1;
            let station = &mut self.stations[index];
            let (came, packet) = station.waiting.pop_front().expect("it is ready");
            let after_gap = came > station.busy.time().until;
            station.busy.extend(came, self.free, after_gap);
            station.through.push_back(Passage {
                at: self.free,
                period: station.busy.time().periods,
                packet,
            });
        }
    }
}

impl<T: core::fmt::Debug + Send + Sync> Medium<T> for Ring<T> {
    fn push(
        &mut self,
        station: usize,
        now: Instant,
        packet: Packet<T>,
        _bytes: u64,
    ) -> Result<(), DropReason> {
        self.advance(now);
        let waiting = &mut self.stations[station].waiting;
        if waiting.len() == LIMIT {
            return Err(DropReason::Overflow);
        }
        waiting.push_back((now, packet));
        Ok(())
    }

    fn pop(&mut self, station: usize, now: Instant) -> Option<Passage<T>> {
        self.advance(now);
        self.stations[station].through.pop_front()
    }

    fn next_event(&self, station: usize) -> Instant {
        let through = self.stations[station].through.front();
        let sends = self.next().unwrap_or(Instant::MAX);
        through.map_or(sends, |through| through.at.min(sends))
    }

    fn queue_len(&self, station: usize) -> (u64, Bytes) {
        let waiting = &self.stations[station].waiting;
        let bytes = waiting.iter().map(|(_, packet)| u64::from(packet.size));
        (waiting.len() as u64, Bytes::new(bytes.sum()))
    }

    fn queue_max_packets(&self, _station: usize) -> u64 {
        LIMIT as u64
    }

    fn queue_mean_packets(&mut self, _station: usize, _now: Instant) -> f64 {
        0.0
    }

    fn held(&self, station: usize) -> u64 {
        let station = &self.stations[station];
        (station.waiting.len() + station.through.len()) as u64
    }

    fn count(&self, _station: usize, _counters: &mut Counters) {}

    fn has_dropped(&self, _station: usize) -> bool {
        false
    }

    fn take_dropped(&mut self, _station: usize) -> Option<Dropped<T>> {
        None
    }

    fn busy(&self, station: usize) -> &Busy {
        &self.stations[station].busy
    }

    fn busy_mut(&mut self, station: usize) -> &mut Busy {
        &mut self.stations[station].busy
    }

    fn air(&self) -> AirCounters {
        AirCounters {
            frames: self.frames,
            collisions: 0,
        }
    }
}

fn links(count: usize) -> Vec<Link<u64>> {
    let medium: SharedMedium<u64> = Arc::new(AtomicRefCell::new(Ring::new(count)));
    let mut config = bare(Service::Unlimited);
    config.delay = Duration::from_millis(5);
    let rng = ChaCha8Rng::seed_from_u64(1);
    (0..count)
        .map(|station| Link::over(&config, medium.clone(), station, &rng))
        .collect()
}

#[test]
fn three_stations_share_a_medium_of_another_crate() {
    let mut links = links(3);
    // Station 0 has three packets, 1 has none, 2 has one.
    for (station, number) in [(0, 1), (0, 2), (0, 3), (2, 4)] {
        let _ = links[station].push(Instant::ZERO, packet(1500, number));
    }
    links[0].keep_busy_periods(Duration::from_millis(1));
    let mut out = Vec::new();
    while let Some(at) = links.iter().filter_map(Link::next_event).min() {
        for link in &mut links {
            out.extend(core::iter::from_fn(|| link.pop(at)).map(|(due, p)| (due, p.payload)));
        }
    }
    let at = Instant::from_millis;
    // One millisecond on the air, five of propagation, in turn.
    assert_eq!(out, [(at(6), 1), (at(7), 4), (at(8), 2), (at(9), 3)]);
    assert_eq!(links[1].air().map(|air| air.frames), Some(4));
    let busy = links[0].last_busy_period(at(9));
    assert_eq!(busy, Some((at(0), at(4))));
    let _ = links[0].push(at(10), packet(1500, 5));
    links[0].advance(at(11));
    assert_eq!(links[0].take_busy_period(), busy);
    for link in &links {
        assert_conserved(link);
    }
}

#[test]
fn a_queue_of_its_own_may_refuse() {
    let mut links = links(2);
    for number in 0..5 {
        let _ = links[0].push(Instant::ZERO, packet(1500, number));
    }
    // One of the four accepted packets is on the air.
    let counters = links[0].counters();
    assert_eq!((counters.packets_in, counters.drops_overflow), (5, 1));
    assert_eq!(links[0].held(), 4);
    assert_conserved(&links[0]);
}
