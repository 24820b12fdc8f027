//! The return link of a satellite terminal: capacity is assigned on demand (DAMA).
//!
//! Model M2 of docs/reference/sources.md, "Geostationary return link". Time is divided into frames.
//! In each frame the terminal may send the slots of its constant rate (CRA) and of its grants. A
//! packet that is present when a frame starts is sent in that frame and arrives at the frame's end.
//! The terminal periodically requests capacity for the arrivals since its last request and for its
//! queue, and may use it one grant loop later. In slow start, whose ACKs double in each round trip,
//! the grant is always late: ACKs wait, and leave in bursts.
//!
//! Grants depend on arrivals, so the model serves late: when a packet reaches the head of the
//! queue, all earlier arrivals are known, and with them every grant for the next grant loop.
//!
//! With `ack_filter` the terminal suppresses queued ACKs that have become redundant
//! (`crate::aqm::ack_filter`): of plain ACKs a frame carries the newest of each flow.
//!
//! ## Assumptions
//!
//! - A request for no more than the constant rate is not sent; the previous grant then lasts until
//!   it is `hold` old. A new grant replaces it.
//! - A packet that fits in a frame is not fragmented (a slot of 53 bytes carries an ACK of 52); a
//!   larger one is.
//! - A rate above zero is at least one slot in each frame, and a grant lasts at least one frame.
//! - A terminal without constant rate that is idle, with nothing in flight, sends its request in
//!   the next frame and not at its next turn.
//! - A packet that takes longer than the grants are known continues as if nothing more arrived.

use alloc::collections::VecDeque;
use alloc::format;

use rand_chacha::ChaCha8Rng;
use tables::{Key, Kind, MAX_DELAY, MAX_DURATION, MAX_RATE, Rules, Wrong, described};
use units::{Bytes, Duration, Instant, Rate};

use super::{AccessModel, AccessServer, Served, Serves, Surroundings};
use crate::random::{Purpose, stream, unit};

described! {
    #[derive(Clone, Copy, Debug, PartialEq)]
    #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
    pub struct DamaConfig(
        "dama",
        "a satellite's return link",
        "The return link of a satellite terminal, whose capacity is assigned on demand."
    ) {
        /// Length of a frame.
        frame: Duration = Duration::from_micros(26_500)
            => Key::of(Kind::Time(DamaConfig::LEAST_FRAME, MAX_DELAY));
        /// Bytes in a slot.
        slot: Bytes = Bytes::new(53) => Key::of(Kind::Size(Bytes::new(1), Bytes::new(1_000_000)));
        /// Constant rate that the terminal has without asking; may be zero.
        cra: Rate = Rate::from_bits_per_sec(32_000) => Key::of(Kind::Rate(Rate::ZERO, MAX_RATE));
        /// Largest sum of the constant rate and the grants.
        max: Rate = Rate::from_bits_per_sec(4_000_000) => Key::of(Kind::RATE);
        /// Frames between two requests.
        request: u32 = 8 => Key::of(Kind::Integer(1, 10_000)).resolved("request_frames");
        /// Time from a request to the first use of its grant.
        grant_loop: Duration = Duration::from_millis(560)
            => Key::of(Kind::Time(Duration::ZERO, DamaConfig::LONGEST_LOOP)).named("loop");
        /// Time after which a grant expires unless another replaces it; at least one frame.
        hold: Duration = Duration::from_millis(1500) => Key::of(Kind::Time(Duration::ZERO, MAX_DURATION));
        /// Time at which the first request is due.
        phase: Option<Duration> = None
            => Key::of(Kind::Time(Duration::ZERO, MAX_DURATION)).usually("drawn for each run");
        /// The smallest fraction of a request that is granted: each run draws its own, uniformly
        /// between this and 100 %.
        granted: f64 = 1.0 => Key::of(Kind::PERCENT);
        /// Whether a plain ACK replaces an older ACK of its flow that still waits; needs a drop-tail
        /// queue.
        ack_filter: bool = false => Key::of(Kind::Switch).only_if_said();
    }
}

impl Rules for DamaConfig {
    fn check(&self, said: &dyn Fn(&str) -> bool) -> Result<(), Wrong> {
        if self.max < self.cra {
            let key = if said("cra") { "cra" } else { "max" };
            let reason = format!(
                "the constant rate is cra = {}, and the largest total max = {}",
                self.cra, self.max
            );
            return Err(Wrong::at(key, reason));
        }
        if self.granted < Self::LEAST_GRANTED {
            return Err(Wrong::at(
                "granted",
                "at least 1 % of a request must be granted",
            ));
        }
        Ok(())
    }
}

impl DamaConfig {
    /// Shortest frame, because each may cost a step.
    pub const LEAST_FRAME: Duration = Duration::from_millis(1);
    /// Longest grant loop, because each pending request is kept.
    pub const LONGEST_LOOP: Duration = Duration::from_secs(10);

    /// Smallest granted fraction, so that every packet leaves.
    pub const LEAST_GRANTED: f64 = 0.01;
}

impl AccessModel for DamaConfig {
    fn mean_rate(&self) -> Rate {
        self.max
    }

    /// The wait for a frame and the frame. Without a constant rate, also the wait for the next
    /// request and the grant loop.
    fn idle_delay(&self) -> Duration {
        let frames = self.frame.mul_div(3, 2);
        if self.cra == Rate::ZERO {
            frames + self.grant_loop + self.frame.mul_div(1, 2)
        } else {
            frames
        }
    }

    fn serves_late(&self) -> bool {
        true
    }

    fn filters_acks(&self) -> bool {
        self.ack_filter
    }
}

impl Serves for DamaConfig {
    type Server = Dama;

    fn server(&self, around: &Surroundings<'_>) -> Dama {
        Dama::new(self, around.rng)
    }
}

/// Bytes taken in each of several frames.
#[derive(Clone, Copy, Debug)]
struct Taken {
    from: u64,
    /// The first frame after them.
    until: u64,
    each: u64,
}

#[derive(Clone, Copy, Debug)]
struct Grant {
    from: Instant,
    rate: u64,
}

/// The server.
#[derive(Clone, Debug)]
pub struct Dama {
    config: DamaConfig,
    /// The granted fraction of a request in this run.
    share: f64,
    /// In nanoseconds.
    frame: u64,
    /// Time from the start of frame n to n times the frame length.
    back: u64,
    demand: Demand,
    /// The last frame used, its capacity, and what is left of that.
    current: u64,
    whole: u64,
    left: u64,
}

/// The requests and grants of the terminal.
#[derive(Clone, Debug, Default)]
struct Demand {
    /// Bytes since the last request.
    arrived: u64,
    /// Bytes not yet taken at the last request, and those since.
    waiting: u64,
    /// Of these, the bytes taken since, in order.
    taken: VecDeque<Taken>,
    /// The frame of the next request.
    next: u64,
    /// In order; the first may be in force.
    grants: VecDeque<Grant>,
}

impl Dama {
    fn new(config: &DamaConfig, rng: &ChaCha8Rng) -> Self {
        let frame = config.frame.max(DamaConfig::LEAST_FRAME);
        let config = DamaConfig {
            frame,
            // A grant covers the start of a frame.
            hold: config.hold.max(frame),
            slot: config.slot.max(Bytes::new(1)),
            max: config.max.max(Rate::from_bits_per_sec(1)),
            request: config.request.max(1),
            grant_loop: config.grant_loop.min(DamaConfig::LONGEST_LOOP),
            ..*config
        };
        let frame = config.frame.as_nanos();
        let cycle = frame.saturating_mul(u64::from(config.request));
        let phase = config.phase.map_or_else(
            || (unit(&mut stream(rng, Purpose::Rate)) * cycle as f64) as u64,
            |phase| phase.as_nanos() % cycle,
        );
        // Frame zero, a request frame, is `back` before the start.
        let back = (cycle - phase) % cycle;
        let least = config.granted.clamp(DamaConfig::LEAST_GRANTED, 1.0);
        let share = least + (1.0 - least) * unit(&mut stream(rng, Purpose::Run));
        Self {
            share,
            frame,
            back,
            demand: Demand::default(),
            current: 0,
            whole: 0,
            left: 0,
            config,
        }
    }

    fn begin(&self, frame: u64) -> Instant {
        Instant::from_nanos(frame.saturating_mul(self.frame).saturating_sub(self.back))
    }

    /// The first frame that starts at `at` or later.
    fn frame_from(&self, at: Instant) -> u64 {
        at.as_nanos().saturating_add(self.back).div_ceil(self.frame)
    }

    /// The bytes of a frame at a rate.
    fn bytes(&self, rate: u64) -> u64 {
        if rate == 0 {
            return 0;
        }
        let slot = self.config.slot.get();
        let nanos = u128::from(rate) * u128::from(self.frame);
        let slots = (nanos / (u128::from(slot) * 8_000_000_000)).max(1);
        u64::try_from(slots).map_or(u64::MAX, |slots| slots.saturating_mul(slot))
    }

    /// Sends the requests that are due before `at`.
    fn ask_before(&self, demand: &mut Demand, at: Instant) {
        while self.begin(demand.next) < at {
            if demand.arrived == 0 && demand.waiting == 0 {
                // There is nothing to request until `at`.
                let every = u64::from(self.config.request);
                let cycles = (self.frame_from(at) - demand.next).div_ceil(every);
                demand.next = demand.next.saturating_add(cycles * every);
                return;
            }
            self.ask(demand);
        }
    }

    /// Sends the next request.
    fn ask(&self, demand: &mut Demand) {
        let config = &self.config;
        let frame = demand.next;
        demand.account(frame);
        let nanos = u128::from(self.frame) * u128::from(config.request);
        let rate = u128::from(demand.arrived) * 8_000_000_000 / nanos;
        let twice = u128::from(config.grant_loop.as_nanos().max(1)) * 2;
        let backlog = (u128::from(demand.waiting) * 8_000_000_000).div_ceil(twice);
        demand.arrived = 0;
        demand.next = frame.saturating_add(u64::from(config.request));
        let asked = u64::try_from(rate + backlog).unwrap_or(u64::MAX);
        // Even the smallest request is granted something: without a constant rate the queue would
        // wait for ever.
        let rate = ((asked as f64 * self.share) as u64)
            .max(1)
            .min(config.max.bits_per_sec())
            .saturating_sub(config.cra.bits_per_sec());
        if rate > 0 {
            let from = self.begin(frame) + config.grant_loop;
            demand.grants.push_back(Grant { from, rate });
        }
    }

    /// The capacity of a frame that starts at `begin`, and until when it holds. Frames come in
    /// order.
    fn granted(&self, demand: &mut Demand, begin: Instant) -> (u64, Instant) {
        while demand.grants.get(1).is_some_and(|next| next.from <= begin) {
            demand.grants.pop_front();
        }
        let mut rate = self.config.cra.bits_per_sec();
        let mut until = Instant::MAX;
        if let Some(grant) = demand.grants.front().copied() {
            let end = grant.from + self.config.hold;
            if end <= begin {
                demand.grants.pop_front();
                // The next one starts after `begin`.
                until = demand.grants.front().map_or(until, |next| next.from);
            } else if grant.from <= begin {
                rate = rate.saturating_add(grant.rate);
                until = demand.grants.get(1).map_or(end, |next| end.min(next.from));
            } else {
                until = grant.from;
            }
        }
        (self.bytes(rate), until)
    }
}

impl AccessServer for Dama {
    /// A packet arrives at `now`.
    fn enters(&mut self, now: Instant, bytes: u64) {
        let mut demand = core::mem::take(&mut self.demand);
        self.ask_before(&mut demand, now);
        demand.account(self.frame_from(now));
        if self.config.cra == Rate::ZERO && demand.is_idle(now, self.config.hold) {
            demand.next = self.frame_from(now);
        }
        demand.arrived = demand.arrived.saturating_add(bytes);
        demand.waiting = demand.waiting.saturating_add(bytes);
        self.demand = demand;
    }

    /// The queue drops `bytes` at `now`.
    fn loses(&mut self, now: Instant, bytes: u64) {
        let mut demand = core::mem::take(&mut self.demand);
        self.ask_before(&mut demand, now);
        demand.waiting = demand.waiting.saturating_sub(bytes);
        self.demand = demand;
    }

    /// Serves the packet that reaches the head of the queue at `turn`.
    fn serve(&mut self, turn: Instant, busy_until: Instant, bytes: u64) -> Served {
        let mut demand = core::mem::take(&mut self.demand);
        let start = turn.max(busy_until);
        self.ask_before(&mut demand, start);
        // The grants that become usable before this time are known.
        let known = start + self.config.grant_loop;
        let mut frame = self.frame_from(start);
        let mut unused = 0;
        if frame > self.current {
            let between = (frame - self.current - 1).saturating_mul(self.whole);
            unused = self.left.saturating_add(between);
            self.left = 0;
        }
        frame = frame.max(self.current);
        let mut guess: Option<Demand> = None;
        let mut rest = bytes;
        loop {
            if frame > self.current || self.whole == 0 {
                let begin = self.begin(frame);
                let mut change = Instant::MAX;
                if begin >= known {
                    let guess = guess.get_or_insert_with(|| demand.clone());
                    let asked = begin.as_nanos() - self.config.grant_loop.as_nanos();
                    let asked = Instant::from_nanos(asked).max(start);
                    self.ask_before(guess, asked + Duration::from_nanos(1));
                    change = self.begin(guess.next) + self.config.grant_loop;
                }
                let source = guess.as_mut().unwrap_or(&mut demand);
                let (whole, until) = self.granted(source, begin);
                if begin < known {
                    change = known;
                }
                (self.current, self.whole, self.left) = (frame, whole, whole);
                // A packet of many frames skips those that are like this one.
                let like = self.frame_from(until.min(change)).max(frame + 1) - frame;
                let wanted = rest.saturating_sub(1).checked_div(whole).unwrap_or(like);
                let passed = like.min(wanted);
                if passed > 1 || whole == 0 {
                    let taken = Taken {
                        from: frame,
                        until: frame.saturating_add(passed),
                        each: whole,
                    };
                    demand.takes(taken);
                    if let Some(guess) = &mut guess {
                        guess.takes(taken);
                    }
                    rest -= passed.saturating_mul(whole).min(rest);
                    frame = frame.saturating_add(passed);
                    if frame == u64::MAX {
                        break;
                    }
                    continue;
                }
            }
            let fits = rest <= self.left;
            let takes = match (fits, rest <= self.whole) {
                (true, _) => rest,
                // It waits for a frame of its own.
                (false, true) => 0,
                (false, false) => self.left,
            };
            let taken = Taken {
                from: frame,
                until: frame + 1,
                each: takes,
            };
            demand.takes(taken);
            if let Some(guess) = &mut guess {
                guess.takes(taken);
            }
            rest -= takes;
            self.left -= takes;
            if fits {
                break;
            }
            frame += 1;
        }
        self.demand = demand;
        Served {
            start: turn,
            end: self.begin(frame),
            after_gap: unused >= bytes,
        }
    }

    /// The data of a frame arrives at its end.
    fn release(&mut self, end: Instant) -> Instant {
        end + Duration::from_nanos(self.frame)
    }

    fn capacity(&mut self, until: Instant) -> Bytes {
        let frames = until.as_nanos() / self.frame;
        let most = self.config.max.max(self.config.cra).bits_per_sec();
        Bytes::new(self.bytes(most).saturating_mul(frames))
    }
}

impl Demand {
    /// Whether nothing is queued, granted or requested at `now`.
    fn is_idle(&self, now: Instant, hold: Duration) -> bool {
        self.arrived == 0
            && self.waiting == 0
            && self
                .grants
                .back()
                .is_none_or(|last| last.from + hold <= now)
    }

    /// Data taken in the frames before `frame` is no longer queued.
    fn account(&mut self, frame: u64) {
        while let Some(first) = self.taken.front_mut()
            && first.from < frame
        {
            let until = first.until.min(frame);
            let bytes = (until - first.from).saturating_mul(first.each);
            self.waiting = self.waiting.saturating_sub(bytes);
            first.from = until;
            if until == first.until {
                self.taken.pop_front();
            }
        }
    }

    fn takes(&mut self, taken: Taken) {
        if taken.each == 0 {
            return;
        }
        match self.taken.back_mut() {
            // Many packets in one frame are one entry.
            Some(last) if last.from == taken.from && last.until == taken.until => {
                last.each += taken.each;
            }
            _ => self.taken.push_back(taken),
        }
    }
}
