//! The radio of one node: which of the frames that arrive it receives.
//!
//! The air notes signals before they arrive. [`Radio::settle`] works out what happened, in the
//! order of arrivals, up to the time of a question. A signal can no longer be overtaken then: every
//! frame that is transmitted later arrives later. Until a question comes, signals wait, in notes of
//! the radio or in a log of all radios, and one pass takes them all.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;

use units::Instant;

use super::super::energy::Meter;
use super::super::propagation::{Propagation, RadioConfig, ReceptionModel, ratio, watts};
use super::log::Log;
use super::{AirCounters, Fate, FrameId, Listen, Signal};
use crate::NodeId;

mod reading;

/// What is the same at all radios. Powers in watts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) receive: f64,
    pub(super) sense: f64,
    capture: f64,
    pub(super) noise: f64,
    /// The lowest ratio, if the SINR decides.
    sinr: Option<f64>,
}

impl Rules {
    pub(super) fn new(config: &RadioConfig, propagation: &Propagation) -> Self {
        let by_sinr = config.reception == ReceptionModel::Sinr;
        Self {
            receive: propagation.receive_threshold(),
            sense: propagation.sense_threshold(),
            capture: ratio(config.capture),
            noise: watts(config.noise),
            sinr: by_sinr.then(|| ratio(config.sinr)),
        }
    }

    /// What becomes of a frame that overlaps with no other.
    #[inline(always)]
    pub(super) fn alone(&self, power: f64) -> Fate {
        if power < self.receive {
            return Fate::Weak;
        }
        match self.sinr {
            Some(least) if power / least < self.noise => Fate::Collided,
            _ => Fate::Received,
        }
    }
}

/// A frame in the air around a radio, while the SINR decides.
#[derive(Clone, Copy, Debug)]
struct Power {
    end: Instant,
    power: f64,
}

/// Signals that wait at a radio, without a question, before it works them out.
const BATCH: usize = 8;

/// What a radio is, and all that an arrival may change: a pass over the signals keeps it in
/// registers.
#[derive(Clone, Copy, Debug)]
struct Receiver {
    node: NodeId,
    asleep: bool,
    /// Whether `signal` occupies it.
    occupied: bool,
    /// What `signal` would be if it ended now.
    fate: Fate,
    /// The signal that occupies it; without meaning if none does.
    signal: Signal,
    /// The most interference with `signal` so far, in watts, if the SINR decides.
    interference: f64,
    busy_until: Instant,
    transmit_until: Instant,
}

#[derive(Debug)]
pub(super) struct Radio<L> {
    /// The signals that are not worked out, in order: the first `count`.
    pending: Box<[Signal]>,
    count: usize,
    /// When the last of them starts.
    latest: Instant,
    /// When all signals that were taken the general way have ended.
    clear: Instant,
    /// How much of the log it has read.
    read: usize,
    receiver: Receiver,
    pub(super) listener: L,
    /// All signals on the air, if the SINR decides.
    powers: Vec<Power>,
}

impl<L: Listen> Radio<L> {
    pub(super) fn new(node: NodeId) -> Self {
        Self {
            pending: Box::new([Signal::NONE; BATCH]),
            count: 0,
            latest: Instant::ZERO,
            clear: Instant::ZERO,
            read: 0,
            receiver: Receiver {
                node,
                asleep: false,
                occupied: false,
                fate: Fate::Off,
                signal: Signal::NONE,
                interference: 0.0,
                busy_until: Instant::ZERO,
                transmit_until: Instant::ZERO,
            },
            listener: L::default(),
            powers: Vec::new(),
        }
    }

    pub(super) const fn busy_until(&self) -> Instant {
        self.receiver.busy_until
    }

    pub(super) const fn transmits_until(&self) -> Instant {
        self.receiver.transmit_until
    }

    pub(super) fn receiving(&self, now: Instant) -> Option<&Signal> {
        let receiver = &self.receiver;
        (receiver.occupied && receiver.signal.end > now).then_some(&receiver.signal)
    }

    /// Whether it has received a frame that ends now.
    pub(super) fn received(&self, frame: FrameId) -> bool {
        let receiver = &self.receiver;
        receiver.occupied && receiver.signal.frame == frame && receiver.fate == Fate::Received
    }

    /// The power of the signal that occupies it, and the most interference with it, in watts.
    pub(super) const fn powers(&self) -> (f64, f64) {
        (self.receiver.signal.power, self.receiver.interference)
    }

    /// Notes a signal. False if no further signal can wait: then [`Self::make_room`] helps.
    #[inline(always)]
    #[must_use]
    pub(super) fn offer(&mut self, signal: Signal) -> bool {
        let Some(place) = self.pending.get_mut(self.count) else {
            return false;
        };
        *place = signal;
        self.count += 1;
        if signal.start < self.latest {
            self.overtake();
        } else {
            self.latest = signal.start;
        }
        true
    }

    /// How many signals wait.
    #[cfg(test)]
    pub(super) const fn waiting(&self) -> usize {
        self.count
    }

    /// Makes room for a signal that arrives after `now`.
    #[cold]
    #[inline(never)]
    pub(super) fn make_room(
        &mut self,
        now: Instant,
        rules: &Rules,
        meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        self.settle_noted(now, rules, meter, counters);
        if self.count == self.pending.len() {
            self.grow();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&mut self) {
        let mut pending = mem::take(&mut self.pending).into_vec();
        pending.resize(2 * self.count, Signal::NONE);
        self.pending = pending.into_boxed_slice();
    }

    /// The last signal arrives before others: it takes its place behind those that start no later.
    #[cold]
    #[inline(never)]
    fn overtake(&mut self) {
        let (others, last) = self.pending[..self.count].split_at(self.count - 1);
        let start = last[0].start;
        let place = others.partition_point(|other| other.start <= start);
        self.pending[place..self.count].rotate_right(1);
    }

    /// Whether something happened before `now` that is not worked out.
    #[inline(always)]
    pub(super) fn is_behind(&self, now: Instant, log: &Log) -> bool {
        self.read < log.len()
            || self.receiver.occupied && self.receiver.signal.end < now
            || self.count > 0 && self.pending[0].start < now
    }

    /// Works out what happened before `now`.
    #[inline(always)]
    pub(super) fn settle(
        &mut self,
        now: Instant,
        log: &Log,
        rules: &Rules,
        meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        if self.read < log.len() {
            self.read(now, log, rules, counters);
        } else {
            self.settle_noted(now, rules, meter, counters);
        }
    }

    /// Works out what its notes say about the time before `now`.
    #[inline(always)]
    fn settle_noted(
        &mut self,
        now: Instant,
        rules: &Rules,
        meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        if self.count > 0 && self.pending[0].start < now {
            self.work_out(now, rules, meter, counters);
        } else if self.receiver.occupied && self.receiver.signal.end < now {
            self.receiver.conclude(&mut self.listener, meter, counters);
        }
    }

    #[inline(never)]
    fn work_out(
        &mut self,
        now: Instant,
        rules: &Rules,
        mut meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        let mut receiver = self.receiver;
        let is_usual = meter.is_none() && rules.sinr.is_none() && !receiver.asleep;
        let pending = &self.pending[..self.count];
        let mut done = 0;
        while let Some(signal) = pending.get(done)
            && signal.start < now
        {
            if is_usual && !receiver.occupied {
                let rest = &pending[done..];
                let alone = receiver.take_alone(rest, now, rules, &mut self.listener, counters);
                if alone > 0 {
                    done += alone;
                    continue;
                }
            }
            done += 1;
            if receiver.occupied && receiver.signal.end <= signal.start {
                receiver.conclude(&mut self.listener, meter.as_deref_mut(), counters);
            }
            if let Some(meter) = meter.as_deref_mut() {
                receiver.account(signal.start, meter);
                if meter.died() <= signal.start {
                    *counters += Fate::Off;
                    continue;
                }
            }
            if receiver.asleep {
                *counters += Fate::Off;
                continue;
            }
            let (listener, powers) = (&mut self.listener, &mut self.powers);
            receiver.arrive(signal, rules, listener, powers, counters);
        }
        if done < self.count {
            self.pending.copy_within(done..self.count, 0);
        }
        self.count -= done;
        if receiver.occupied && receiver.signal.end < now {
            receiver.conclude(&mut self.listener, meter, counters);
        }
        self.receiver = receiver;
    }

    /// The energy until `now`. Nothing has changed since the last time but at that time.
    pub(super) fn account(&self, now: Instant, meter: &mut Meter) {
        self.receiver.account(now, meter);
    }

    /// The node transmits from `now` until `end`; false if it cannot. What happened before `now` is
    /// worked out.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        end: Instant,
        meter: Option<&mut Meter>,
    ) -> bool {
        let receiver = &mut self.receiver;
        if let Some(meter) = meter {
            receiver.account(now, meter);
            if meter.died() <= now {
                return false;
            }
        }
        if receiver.asleep {
            return false;
        }
        if receiver.occupied && receiver.signal.end > now && receiver.fate == Fate::Received {
            receiver.fate = Fate::Transmitting;
        }
        if receiver.busy_until <= now {
            self.listener.busy(now, receiver.busy_until);
        }
        receiver.busy_until = receiver.busy_until.max(end);
        receiver.transmit_until = receiver.transmit_until.max(end);
        true
    }

    /// What happened before `now` is worked out.
    pub(super) fn set_asleep(
        &mut self,
        now: Instant,
        asleep: bool,
        meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        let receiver = &mut self.receiver;
        if let Some(meter) = meter {
            receiver.account(now, meter);
        }
        receiver.asleep = asleep;
        if asleep {
            if receiver.occupied {
                receiver.occupied = false;
                *counters += Fate::Off;
            }
            receiver.busy_until = receiver.busy_until.min(now);
            receiver.transmit_until = receiver.transmit_until.min(now);
            self.powers.clear();
        }
    }
}

impl Receiver {
    fn account(&self, now: Instant, meter: &mut Meter) {
        if self.asleep {
            meter.sleep(now);
        } else {
            meter.advance(now, self.transmit_until, self.busy_until);
        }
    }

    /// The signal that occupied it has ended.
    #[inline(always)]
    fn conclude<L: Listen>(
        &mut self,
        listener: &mut L,
        meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        self.occupied = false;
        if let Some(meter) = meter {
            self.account(self.signal.end, meter);
            if meter.died() < self.signal.end {
                self.fate = Fate::Off;
            }
        }
        let signal = self.signal;
        self.report(&signal, signal.end, self.fate, listener, counters);
    }

    /// A signal that occupied it ended at `end`.
    #[inline(always)]
    fn report<L: Listen>(
        &self,
        frame: &Signal,
        end: Instant,
        fate: Fate,
        listener: &mut L,
        counters: &mut AirCounters,
    ) {
        *counters += fate;
        match fate {
            Fate::Received => listener.heard(self.node, frame, end),
            Fate::Off => {}
            // It ended before the radio listened again.
            Fate::Transmitting if end <= self.transmit_until => {}
            _ => listener.garbled(end),
        }
    }

    /// Takes the signals at the head of `signals` that end before `now` and before the next one
    /// starts, and returns how many. Shortcut: [`Self::sense`], [`Self::capture`] and
    /// [`Self::conclude`] of a receiver that nothing occupies, without energy and without sleep.
    #[inline(always)]
    fn take_alone<L: Listen>(
        &mut self,
        signals: &[Signal],
        now: Instant,
        rules: &Rules,
        listener: &mut L,
        counters: &mut AirCounters,
    ) -> usize {
        let (mut busy_until, transmit_until) = (self.busy_until, self.transmit_until);
        let mut signals = signals;
        let mut taken = 0;
        while let [signal, rest @ ..] = signals {
            let next = rest.first().map_or(now, |next| next.start.min(now));
            if signal.end >= next {
                break;
            }
            if signal.power >= rules.sense {
                if busy_until <= signal.start {
                    listener.busy(signal.start, busy_until);
                }
                busy_until = busy_until.max(signal.end);
            }
            if signal.start < transmit_until {
                *counters += Fate::Transmitting;
                if signal.end > transmit_until {
                    listener.garbled(signal.end);
                }
            } else if signal.power < rules.receive {
                *counters += Fate::Weak;
                listener.garbled(signal.end);
            } else {
                *counters += Fate::Received;
                listener.heard(self.node, signal, signal.end);
            }
            taken += 1;
            signals = rest;
        }
        self.busy_until = busy_until;
        taken
    }

    /// A signal arrives.
    #[inline(always)]
    fn arrive<L: Listen>(
        &mut self,
        signal: &Signal,
        rules: &Rules,
        listener: &mut L,
        powers: &mut Vec<Power>,
        counters: &mut AirCounters,
    ) {
        if signal.power >= rules.sense {
            self.sense(signal.start, signal.end, listener);
        }
        match rules.sinr {
            None => self.capture(signal, rules, listener, counters),
            Some(least) => self.interfere(signal, rules, least, powers, counters),
        }
    }

    /// A signal makes the medium busy.
    #[inline(always)]
    fn sense<L: Listen>(&mut self, start: Instant, end: Instant, listener: &mut L) {
        if self.busy_until <= start {
            listener.busy(start, self.busy_until);
        }
        self.busy_until = self.busy_until.max(end);
    }

    /// A signal arrives, and pairs of signals decide.
    #[inline(always)]
    fn capture<L: Listen>(
        &mut self,
        signal: &Signal,
        rules: &Rules,
        listener: &mut L,
        counters: &mut AirCounters,
    ) {
        if !self.occupied {
            self.occupy(signal, rules.receive);
        } else if self.signal.power >= rules.capture * signal.power {
            *counters += Fate::Ignored;
            listener.garbled(signal.end);
        } else {
            *counters += Fate::Collided;
            self.fate = Fate::Collided;
            if signal.end > self.signal.end {
                self.signal = *signal;
            }
        }
    }

    #[inline(always)]
    fn occupy(&mut self, signal: &Signal, receive: f64) {
        self.occupied = true;
        self.signal = *signal;
        self.fate = if signal.start < self.transmit_until {
            Fate::Transmitting
        } else if signal.power < receive {
            Fate::Weak
        } else {
            Fate::Received
        };
    }

    /// A signal arrives, and the SINR decides.
    fn interfere(
        &mut self,
        signal: &Signal,
        rules: &Rules,
        least: f64,
        powers: &mut Vec<Power>,
        counters: &mut AirCounters,
    ) {
        powers.retain(|other| other.end > signal.start);
        let others: f64 = powers.iter().map(|other| other.power).sum();
        if self.occupied {
            let interference = others - self.signal.power + signal.power;
            self.interference = self.interference.max(interference);
            *counters += if signal.power < rules.receive {
                Fate::Weak
            } else {
                Fate::Ignored
            };
        } else if signal.power < rules.receive {
            *counters += Fate::Weak;
        } else {
            self.occupy(signal, rules.receive);
            self.interference = others;
        }
        let most = self.signal.power / least - rules.noise;
        if self.occupied && self.fate == Fate::Received && self.interference > most {
            self.fate = Fate::Collided;
        }
        powers.push(Power {
            end: signal.end,
            power: signal.power,
        });
    }
}
