//! S-CUBIC, a start-up that remembers the path: Guo and Lee 2020, with the arithmetic of the
//! authors' kernel module S-CUBIC 1.0; draft-lee-tcpm-stateful-tcp.
//!
//! A connection that closes saves the path's bandwidth (the largest of its last five samples) and
//! its smallest RTT. The next one jumps: if the BDP is more than ten segments, it is the first
//! window, paced at the bandwidth. The jump ends at the first of the first eleven ACKs that leaves
//! more than five segments in flight. The window is then what is in flight, at least ten segments,
//! and slow start continues with HyStart and without pacing. If none of the eleven ACKs ends the
//! jump, the twelfth sets ten segments.
//!
//! Bandwidth is sampled by *gap-compensated bandwidth estimation* ([`GapCompensated`]): over one
//! RTT of ACKs, the longest gap between two of them, which is the pause between two flights, is cut
//! out.
//!
//! The first connection over a path has no saved state and uses slow start with HyStart. `rate`
//! with `min_rtt` supplies the saved state directly.
//!
//! # Deviations
//! - The module neither ages its saved state nor reacts to a jump that was too large, and neither
//!   does this; `lifetime` and `part` are ours, and have no effect unless set.
//! - The module raises a smaller advertised window to its own window. Here the advertised window
//!   holds, because no receiver would keep data outside it.
//! - A sampling window ends with the first ACK at least one RTT after its start that satisfies the
//!   module's other conditions (more than three ACKs, at least three segments).

use units::{Bytes, Duration, Instant, Rate};

use super::dispersion::{Samples, bytes_per_second};
use super::{HyStart, HyStartConfig};
use crate::memory::Measured;
use crate::{Ack, Congestion, Established, Needs, Pace, PathMemory, Startup, Step, Window};
use crate::{options, settings};

/// A jump must be larger than this many segments; also the smallest window after it.
const LEAST_WINDOW: u64 = 10;
/// Number of ACKs that may end the jump with the flight as window.
const ACKS: u32 = 11;
/// More segments than this must be in flight to end the jump.
const FEW_IN_FLIGHT: u64 = 5;
/// Number of samples of which the largest is saved.
const SAMPLES: usize = 5;
/// A sample needs more ACKs than this, and at least this many segments.
const FEW_ACKS: u32 = 3;

settings! {
    /// Configuration of [`Stateful`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct StatefulConfig {
        /// Configured bandwidth in bytes per second; zero for none.
        rate: u64 {
            name: "rate",
            default: "0",
            help: "saved bandwidth, in bytes per second; 0: use what earlier connections saved",
            read: |value| {
                options::integer(
                    value,
                    0,
                    LARGEST_RATE,
                    "bytes per second from 0 to 12500000000",
                )
            },
        }

        /// Configured smallest RTT.
        min_rtt: Duration {
            name: "min_rtt",
            default: "0s",
            help: "saved smallest RTT that belongs to rate",
            read: |value| {
                options::duration(value, LONGEST_RTT, "a time from 0 to 60 s, such as 100ms")
            },
        }

        /// How long saved state is valid.
        lifetime: Duration {
            name: "lifetime",
            default: "forever",
            help: "how long saved state is valid: a time, or forever",
            read: |value| {
                Ok(if value == "forever" {
                    Duration::MAX
                } else {
                    let span = "forever, or a time up to a year, such as 300s";
                    options::duration(value, LONGEST_LIFE, span)?
                })
            },
        }

        /// The first window in thousandths of the BDP.
        part: u32 {
            name: "part",
            default: "1",
            help: "first window as a fraction of the BDP",
            read: |value| options::thousandths(value, 1, 1_000, "a number from 0.001 to 1"),
        }
    }
}

/// The longest RTT and the longest lifetime that options take.
const LONGEST_RTT: Duration = Duration::from_secs(60);
const LONGEST_LIFE: Duration = Duration::from_secs(31_536_000);
/// 100 Gbit/s.
const LARGEST_RATE: u64 = 12_500_000_000;

/// Gap-compensated bandwidth estimation over one window of ACKs.
#[derive(Clone, Copy, Debug, Default)]
pub struct GapCompensated {
    began: Instant,
    last: Instant,
    acks: u32,
    bytes: Bytes,
    first: Bytes,
    gap: Duration,
    /// Bytes delivered by the ACK that ended the longest gap.
    after_gap: Bytes,
}

impl GapCompensated {
    /// An ACK delivered this much.
    pub fn on_ack(&mut self, now: Instant, delivered: Bytes) {
        if self.acks == 0 {
            *self = Self {
                began: now,
                last: now,
                acks: 1,
                bytes: delivered,
                first: delivered,
                ..Self::default()
            };
            return;
        }
        let gap = now.saturating_since(self.last);
        if gap > self.gap {
            self.gap = gap;
            self.after_gap = delivered;
        }
        self.last = now;
        self.acks = self.acks.saturating_add(1);
        self.bytes += delivered;
    }

    /// How long ago the first ACK of the window came.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.last.saturating_since(self.began)
    }

    /// The bandwidth in bytes per second, without the bytes of the first ACK, and without the
    /// longest gap and the ACK that ended it. `None` if too little was delivered.
    #[must_use]
    pub fn estimate(&self, smss: Bytes) -> Option<u64> {
        if self.acks <= FEW_ACKS || self.bytes < smss * u64::from(FEW_ACKS) {
            return None;
        }
        let received = self
            .bytes
            .saturating_sub(self.first)
            .saturating_sub(self.after_gap);
        bytes_per_second(received, self.elapsed().saturating_sub(self.gap))
    }
}

/// S-CUBIC's start-up.
#[derive(Clone, Debug)]
pub struct Stateful {
    config: StatefulConfig,
    /// The start-up after the jump.
    rest: HyStart,
    /// The jump in progress: its rate, and the number of ACKs since its start.
    jump: Option<(Rate, u32)>,
    window: GapCompensated,
    rates: Samples<SAMPLES>,
    min_rtt: Duration,
}

impl Stateful {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: StatefulConfig, now: Instant, snd_nxt: u64) -> Self {
        Self {
            config,
            rest: HyStart::new(HyStartConfig::default(), now, snd_nxt),
            jump: None,
            window: GapCompensated::default(),
            rates: Samples::new(),
            min_rtt: Duration::ZERO,
        }
    }

    /// The saved state, from the options or from earlier connections.
    fn remembered(&self, start: &Established) -> Option<Measured> {
        if self.config.rate > 0 {
            return Some(Measured {
                rate: Rate::from_bytes_per_sec(self.config.rate),
                min_rtt: self.config.min_rtt,
                at: None,
            });
        }
        start.memory.measured.filter(|known| {
            let age = known.at.map(|at| start.now.saturating_since(at));
            age.is_none_or(|age| age <= self.config.lifetime)
        })
    }
}

impl Startup for Stateful {
    fn needs(&self) -> Needs {
        Needs {
            pacing_rate: true,
            memory: self.config.rate == 0,
            ..Needs::PACING
        }
    }

    fn on_established(&mut self, start: &Established, window: &Window) -> Option<Step> {
        let known = self.remembered(start)?;
        let product = known.rate.bytes_in(known.min_rtt);
        let bdp = product.mul_div(u64::from(self.config.part), 1_000);
        let segments = bdp.segments(window.smss);
        if segments <= LEAST_WINDOW {
            return None;
        }
        self.jump = Some((known.rate, 0));
        Some(Step::Set(window.smss * segments))
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        let Some((_, acks)) = &mut self.jump else {
            return self.rest.on_delivery(ack, window);
        };
        *acks += 1;
        let least = window.smss * LEAST_WINDOW;
        let cwnd = if *acks > ACKS {
            least
        } else if ack.in_flight > window.smss * FEW_IN_FLIGHT {
            ack.in_flight.max(least)
        } else {
            return None;
        };
        self.jump = None;
        Some(Step::Set(cwnd))
    }

    fn observe(&mut self, ack: &Ack, window: &Window) {
        self.min_rtt = ack.min_rtt;
        self.window.on_ack(ack.now, ack.delivered);
        let rtt = ack.latest_rtt.unwrap_or(ack.srtt);
        if self.window.elapsed() < rtt {
            return;
        }
        if let Some(rate) = self.window.estimate(window.smss) {
            self.rates.push(rate);
            self.window = GapCompensated::default();
        }
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        if self.jump.is_some() {
            return Step::Grow(Bytes::ZERO);
        }
        self.rest.on_ack(ack, window)
    }

    fn on_congestion(&mut self, congestion: &Congestion) {
        self.jump = None;
        self.rest.on_congestion(congestion);
    }

    fn restart(&mut self, now: Instant, snd_nxt: u64) {
        self.rest.restart(now, snd_nxt);
    }

    fn pacing(&self) -> Option<Pace> {
        self.jump.map(|(rate, _)| Pace::at(rate))
    }

    fn on_close(&self, now: Instant, memory: &mut PathMemory) {
        if let Some(rate) = self.rates.max() {
            memory.measured = Some(Measured {
                rate: Rate::from_bytes_per_sec(rate),
                min_rtt: self.min_rtt,
                at: Some(now),
            });
        }
    }
}
