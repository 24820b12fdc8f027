//! The radio of one node: which of the frames that arrive it receives.
//!
//! The air notes signals before they arrive. [`Radio::settle`] works out what happened, in the
//! order of arrivals, up to the time of a question. A signal can no longer be overtaken then: every
//! frame that is transmitted later arrives later.

use alloc::vec::Vec;

use units::Instant;

use super::super::energy::Meter;
use super::super::propagation::{Propagation, RadioConfig, ReceptionModel, ratio, watts};
use super::{AirCounters, Fate, FrameId, Listen, Signal};
use crate::NodeId;

/// What is the same at all radios. Powers in watts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    pub(super) receive: f64,
    sense: f64,
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
}

/// A frame in the air around a radio, while the SINR decides.
#[derive(Clone, Copy, Debug)]
struct Power {
    end: Instant,
    power: f64,
}

#[derive(Debug)]
pub(super) struct Radio<L> {
    node: NodeId,
    asleep: bool,
    /// Whether `signal` occupies the receiver.
    occupied: bool,
    /// What `signal` would be if it ended now.
    fate: Fate,
    /// The next signal that is not worked out; none starts at [`Instant::MAX`].
    next: Signal,
    /// Those after it, in order.
    later: Vec<Signal>,
    /// The signal that occupies the receiver, or did so last.
    signal: Signal,
    /// The most interference with `signal` so far, in watts, if the SINR decides.
    interference: f64,
    /// All signals on the air, if the SINR decides.
    powers: Vec<Power>,
    busy_until: Instant,
    transmit_until: Instant,
    pub(super) listener: L,
}

impl<L: Listen> Radio<L> {
    pub(super) fn new(node: NodeId) -> Self {
        Self {
            node,
            asleep: false,
            occupied: false,
            fate: Fate::Off,
            next: Signal::NONE,
            later: Vec::new(),
            signal: Signal::NONE,
            interference: 0.0,
            powers: Vec::new(),
            busy_until: Instant::ZERO,
            transmit_until: Instant::ZERO,
            listener: L::default(),
        }
    }

    pub(super) const fn busy_until(&self) -> Instant {
        self.busy_until
    }

    pub(super) const fn transmits_until(&self) -> Instant {
        self.transmit_until
    }

    pub(super) fn receiving(&self, now: Instant) -> Option<&Signal> {
        (self.occupied && self.signal.end > now).then_some(&self.signal)
    }

    /// Whether it has received a frame that ends now.
    pub(super) fn received(&self, frame: FrameId) -> bool {
        self.occupied && self.signal.frame == frame && self.fate == Fate::Received
    }

    /// The power of `signal`, and the most interference with it, in watts.
    pub(super) const fn powers(&self) -> (f64, f64) {
        (self.signal.power, self.interference)
    }

    /// Notes a signal, which arrives after `now`.
    pub(super) fn offer(
        &mut self,
        now: Instant,
        signal: &Signal,
        rules: &Rules,
        meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        if self.next.start < now {
            self.settle(now, rules, meter, counters);
        }
        if self.next.start == Instant::MAX {
            self.next = *signal;
        } else {
            self.insert(signal);
        }
    }

    #[cold]
    fn insert(&mut self, signal: &Signal) {
        let mut last = *signal;
        if last.start < self.next.start {
            core::mem::swap(&mut self.next, &mut last);
        }
        let place = self
            .later
            .partition_point(|other| other.start <= last.start);
        self.later.insert(place, last);
    }

    /// Works out what happened before `now`.
    pub(super) fn settle(
        &mut self,
        now: Instant,
        rules: &Rules,
        mut meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        while self.next.start < now {
            let signal = self.next;
            self.next = if self.later.is_empty() {
                Signal::NONE
            } else {
                self.later.remove(0)
            };
            if self.occupied && self.signal.end <= signal.start {
                self.conclude(meter.as_deref_mut(), counters);
            }
            if let Some(meter) = meter.as_deref_mut() {
                self.account(signal.start, meter);
                if meter.died() <= signal.start {
                    *counters += Fate::Off;
                    continue;
                }
            }
            self.arrive(&signal, rules, counters);
        }
        if self.occupied && self.signal.end < now {
            self.conclude(meter, counters);
        }
    }

    /// The energy until `now`. Nothing has changed since the last time but at that time.
    pub(super) fn account(&self, now: Instant, meter: &mut Meter) {
        if self.asleep {
            meter.sleep(now);
        } else {
            meter.advance(now, self.transmit_until, self.busy_until);
        }
    }

    /// The signal that occupied the receiver has ended.
    fn conclude(&mut self, meter: Option<&mut Meter>, counters: &mut AirCounters) {
        self.occupied = false;
        if let Some(meter) = meter {
            self.account(self.signal.end, meter);
            if meter.died() < self.signal.end {
                self.fate = Fate::Off;
            }
        }
        *counters += self.fate;
        match self.fate {
            Fate::Received => self.listener.heard(self.node, &self.signal),
            Fate::Off => {}
            // It ended before the radio listened again.
            Fate::Transmitting if self.signal.end <= self.transmit_until => {}
            _ => self.listener.garbled(self.signal.end),
        }
    }

    fn arrive(&mut self, signal: &Signal, rules: &Rules, counters: &mut AirCounters) {
        if self.asleep {
            *counters += Fate::Off;
            return;
        }
        if signal.power >= rules.sense {
            if self.busy_until <= signal.start {
                self.listener.busy(signal.start, self.busy_until);
            }
            self.busy_until = self.busy_until.max(signal.end);
        }
        if let Some(least) = rules.sinr {
            self.interfere(signal, rules, least, counters);
            return;
        }
        if !self.occupied {
            self.occupy(signal, rules.receive);
        } else if self.signal.power >= rules.capture * signal.power {
            *counters += Fate::Ignored;
            self.listener.garbled(signal.end);
        } else {
            *counters += Fate::Collided;
            self.fate = Fate::Collided;
            if signal.end > self.signal.end {
                self.signal = *signal;
            }
        }
    }

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
        counters: &mut AirCounters,
    ) {
        self.powers.retain(|other| other.end > signal.start);
        let others: f64 = self.powers.iter().map(|other| other.power).sum();
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
        self.powers.push(Power {
            end: signal.end,
            power: signal.power,
        });
    }

    /// The node transmits from `now` until `end`; false if it cannot.
    pub(super) fn transmit(
        &mut self,
        now: Instant,
        end: Instant,
        rules: &Rules,
        mut meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) -> bool {
        self.settle(now, rules, meter.as_deref_mut(), counters);
        if let Some(meter) = meter {
            self.account(now, meter);
            if meter.died() <= now {
                return false;
            }
        }
        if self.asleep {
            return false;
        }
        if self.occupied && self.signal.end > now && self.fate == Fate::Received {
            self.fate = Fate::Transmitting;
        }
        if self.busy_until <= now {
            self.listener.busy(now, self.busy_until);
        }
        self.busy_until = self.busy_until.max(end);
        self.transmit_until = self.transmit_until.max(end);
        true
    }

    pub(super) fn set_asleep(
        &mut self,
        now: Instant,
        asleep: bool,
        rules: &Rules,
        mut meter: Option<&mut Meter>,
        counters: &mut AirCounters,
    ) {
        self.settle(now, rules, meter.as_deref_mut(), counters);
        if let Some(meter) = meter {
            self.account(now, meter);
        }
        self.asleep = asleep;
        if asleep {
            if self.occupied {
                self.occupied = false;
                *counters += Fate::Off;
            }
            self.powers.clear();
            self.busy_until = self.busy_until.min(now);
            self.transmit_until = self.transmit_until.min(now);
        }
    }
}
