//! Other stations, and neighbouring networks (docs/reference/networks/wifi.md).
//!
//! Their arrivals are drawn by time from a stream for each, independently of our traffic; only the
//! time at which they get the medium depends on it.

use rand_chacha::ChaCha8Rng;
use units::{Duration, Instant};

use super::config::{FULL_PACKET, WifiConfig, WifiTraffic};
use super::contention::Contender;
use super::phy::Phy;
use crate::random::unit;

/// Queue limit of a station; further packets are dropped.
const MOST_WAITING: u32 = 1000;

fn exponential(mean: Duration, rng: &mut ChaCha8Rng) -> Duration {
    let nanos = -libm::log(1.0 - unit(rng)) * mean.as_nanos() as f64;
    Duration::from_nanos(nanos as u64)
}

/// Another station, which sends to the access point. It loses frames only in collisions.
#[derive(Clone, Debug)]
pub(super) struct Station {
    pub(super) contender: Contender,
    rng: ChaCha8Rng,
    traffic: WifiTraffic,
    /// It has packets to send from `from` until `until`.
    from: Instant,
    until: Instant,
    /// With Poisson traffic: the packets that have arrived, and the time of the next arrival.
    waiting: u32,
    next: Instant,
    mcs: u8,
    most: u32,
    retries: u32,
    attempts: u32,
}

impl Station {
    pub(super) fn new(
        config: &WifiConfig,
        phy: &Phy,
        backoff: ChaCha8Rng,
        mut rng: ChaCha8Rng,
    ) -> Self {
        let mcs = phy.station_mcs(config);
        let most = phy.most_packets(mcs, FULL_PACKET);
        let (mut from, mut until, mut next) = (Instant::ZERO, Instant::MAX, Instant::MAX);
        match config.traffic {
            WifiTraffic::Saturated => {}
            WifiTraffic::OnOff { on, off } => {
                // The run starts at a random point of its cycle.
                let both = (on + off).as_nanos() as f64;
                if unit(&mut rng) * both >= on.as_nanos() as f64 {
                    from += exponential(off, &mut rng);
                }
                until = from + exponential(on, &mut rng);
            }
            WifiTraffic::Poisson(rate) => {
                next = Instant::ZERO + exponential(gap(rate), &mut rng);
                from = next;
            }
        }
        Self {
            contender: Contender::new(config, backoff),
            rng,
            traffic: config.traffic,
            from,
            until,
            waiting: 0,
            next,
            mcs,
            most: config.station_packets.clamp(1, most),
            retries: config.retries,
            attempts: 0,
        }
    }

    /// When it sends, if the medium is idle from `idle` on. This may start a new ON time, which
    /// finds the medium as it is.
    pub(super) fn start(&mut self, idle: Instant, phy: &Phy) -> Instant {
        loop {
            let start = self.contender.start(idle, self.from, phy);
            let WifiTraffic::OnOff { on, off } = self.traffic else {
                return start;
            };
            if start < self.until || on.is_zero() {
                return start;
            }
            self.from = self.until + exponential(off, &mut self.rng);
            // At least a nanosecond, so that time advances.
            self.until = self.from + Duration::from_nanos(1) + exponential(on, &mut self.rng);
            self.attempts = 0;
        }
    }

    /// The medium is busy from `at` to `end`.
    pub(super) fn freeze(&mut self, idle: Instant, at: Instant, end: Instant, phy: &Phy) {
        self.contender.freeze(idle, at, phy);
        if self.from > at && self.from < end {
            self.contender.meets_busy();
        }
    }

    /// The packets of the frame that it sends at `at`.
    pub(super) fn packets(&mut self, at: Instant) -> u32 {
        if let WifiTraffic::Poisson(rate) = self.traffic {
            while self.next <= at {
                self.waiting = (self.waiting + 1).min(MOST_WAITING);
                self.next += Duration::from_nanos(1) + exponential(gap(rate), &mut self.rng);
            }
            return self.waiting.clamp(1, self.most);
        }
        self.most
    }

    /// Airtime of a frame of `packets`.
    pub(super) fn frame_time(&self, packets: u32, phy: &Phy) -> Duration {
        phy.frame_time(self.mcs, phy.frame_bytes(FULL_PACKET) * u64::from(packets))
    }

    /// Its frame of `packets` succeeded or failed, and the medium is idle at `end`.
    pub(super) fn sent(&mut self, success: bool, packets: u32, end: Instant) {
        self.attempts = if success { 0 } else { self.attempts + 1 };
        let gone = success || self.attempts > self.retries;
        if gone {
            self.attempts = 0;
            self.contender.succeeded();
        } else {
            self.contender.failed();
        }
        if let (true, WifiTraffic::Poisson(_)) = (gone, self.traffic) {
            self.waiting = self.waiting.saturating_sub(packets);
            if self.waiting == 0 {
                self.from = self.next;
                if self.from < end {
                    self.contender.meets_busy();
                }
            }
        }
    }
}

/// The mean time between full packets at `rate`.
fn gap(rate: units::Rate) -> Duration {
    rate.time_for(units::Bytes::new(u64::from(FULL_PACKET)))
}

/// Lengths of the bursts of neighbouring networks, us.
const BURST: (f64, f64) = (300.0, 3000.0);

/// Neighbouring networks: bursts with given start times and a given fraction of the time, which
/// wait only for the end of a frame. They take the medium as soon as it is idle, so their fraction
/// of the time is as configured, and they never collide.
#[derive(Clone, Debug)]
pub(super) struct Neighbours {
    rng: ChaCha8Rng,
    rest: Duration,
    /// The start and length of the next burst.
    pub(super) next: Instant,
    pub(super) length: Duration,
}

impl Neighbours {
    pub(super) fn new(config: &WifiConfig, rng: ChaCha8Rng) -> Option<Self> {
        let share = config.busy.clamp(0.0, 0.99);
        if share <= 0.0 {
            return None;
        }
        let mean = (BURST.0 + BURST.1) / 2.0 * (1.0 - share) / share;
        let mut neighbours = Self {
            rng,
            rest: Duration::from_nanos((mean * 1000.0) as u64),
            next: Instant::ZERO,
            length: Duration::ZERO,
        };
        neighbours.step();
        Some(neighbours)
    }

    /// Advances to the next burst.
    pub(super) fn step(&mut self) {
        let rest = exponential(self.rest, &mut self.rng);
        self.next = self.next + self.length + rest;
        let length = BURST.0 + (BURST.1 - BURST.0) * unit(&mut self.rng);
        self.length = Duration::from_nanos((length * 1000.0) as u64);
    }
}
