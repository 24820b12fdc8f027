//! How a radio reads the log.
//!
//! Shortcut: a frame that has ended before the next one is transmitted overlaps with none, and is
//! taken in one step. The others become notes of the radio and go the general way, and so does the
//! one that lasts at the time of the question. Batteries and a log exclude each other.

use units::Instant;

use super::super::log::{Log, Reach};
use super::super::{AirCounters, Fate, Listen, Signal};
use super::{Radio, Receiver, Rules};

impl<L: Listen> Radio<L> {
    /// Reads the rest of the log, and works out what happened before `now`.
    pub(super) fn read(
        &mut self,
        now: Instant,
        log: &Log,
        rules: &Rules,
        counters: &mut AirCounters,
    ) {
        let (mut frames, reaches) = (log.from(self.read), log.reaches(self.receiver.node));
        self.read = log.len();
        loop {
            while let [frame, rest @ ..] = frames {
                let reach = &reaches[frame.from.index()];
                if reach.alone.is_some() {
                    if frame.start > self.clear && !self.receiver.asleep {
                        break;
                    }
                    self.note(reach.signal(frame));
                }
                frames = rest;
            }
            // Every frame from here on arrives after its transmission.
            let until = frames.first().map_or(now, |frame| frame.start);
            self.settle_noted(until, rules, None, counters);
            let Some(first) = frames.first() else {
                return;
            };
            let (receiver, listener) = (&mut self.receiver, &mut self.listener);
            let is_quiet = !listener.minds_busy() && first.start >= receiver.transmit_until;
            frames = if is_quiet {
                receiver.take_frames::<L, true>(frames, reaches, rules, listener, counters)
            } else {
                receiver.take_frames::<L, false>(frames, reaches, rules, listener, counters)
            };
            let [frame, rest @ ..] = frames else {
                return;
            };
            frames = rest;
            let reach = &reaches[frame.from.index()];
            if reach.alone.is_none() {
                continue;
            }
            self.begin(now, reach.signal(frame), rest.is_empty(), rules, counters);
        }
    }

    /// A signal arrives that overlaps with others, or with `now`.
    #[inline(never)]
    fn begin(
        &mut self,
        now: Instant,
        signal: Signal,
        is_last: bool,
        rules: &Rules,
        counters: &mut AirCounters,
    ) {
        if is_last && signal.start < now {
            self.clear = self.clear.max(signal.end);
            let (powers, listener) = (&mut self.powers, &mut self.listener);
            let receiver = &mut self.receiver;
            receiver.arrive(&signal, rules, listener, powers, counters);
        } else {
            self.note(signal);
        }
    }

    /// Notes a signal of the log.
    fn note(&mut self, signal: Signal) {
        self.clear = self.clear.max(signal.end);
        if !self.offer(signal) {
            self.grow();
            let _ = self.offer(signal);
        }
    }

    /// The log that it has read is empty.
    pub(in crate::adhoc::air) const fn forget_log(&mut self) {
        self.read = 0;
    }
}

impl Receiver {
    /// Takes the frames at the head of `frames` that end here before the next one that reaches it is
    /// transmitted, and returns the rest, at least the last one. Shortcut: [`Self::arrive`] and
    /// [`Self::conclude`] of a receiver that nothing occupies, without energy and without sleep. If it
    /// is quiet, its node does not transmit in that time, and does not mind when the medium is busy.
    #[inline(always)]
    fn take_frames<'a, L: Listen, const QUIET: bool>(
        &mut self,
        frames: &'a [Signal],
        reaches: &[Reach],
        rules: &Rules,
        listener: &mut L,
        counters: &mut AirCounters,
    ) -> &'a [Signal] {
        let (node, transmit_until) = (self.node, self.transmit_until);
        let mut busy_until = self.busy_until;
        let mut frames = frames;
        while let [frame, rest @ ..] = frames
            && let [next, ..] = rest
        {
            let reach = &reaches[frame.from.index()];
            let (start, end) = (reach.at(frame.start), reach.at(frame.end));
            if end >= next.start && reach.alone.is_some() && overlaps(end, rest, reaches) {
                break;
            }
            if reach.is_sensed {
                if !QUIET && busy_until <= start {
                    listener.busy(start, busy_until);
                }
                busy_until = if QUIET { end } else { busy_until.max(end) };
            }
            let hears = QUIET || start >= transmit_until;
            match reach.alone {
                None => {}
                Some(Fate::Received) if hears => {
                    *counters += Fate::Received;
                    listener.heard(node, frame, end);
                }
                Some(Fate::Weak) if rules.sinr.is_some() => *counters += Fate::Weak,
                Some(fate) if hears => {
                    *counters += fate;
                    listener.garbled(end);
                }
                Some(_) => self.report(frame, end, Fate::Transmitting, listener, counters),
            }
            frames = rest;
        }
        self.busy_until = busy_until;
        frames
    }
}

/// Whether the first of `frames` that reaches a radio is transmitted before `end`, or none does.
#[cold]
#[inline(never)]
fn overlaps(end: Instant, frames: &[Signal], reaches: &[Reach]) -> bool {
    let reaches_it = |frame: &&Signal| reaches[frame.from.index()].alone.is_some();
    let next = frames.iter().find(reaches_it);
    next.is_none_or(|next| end >= next.start)
}
