//! The thread that moves packets between the two devices.
//!
//! It sleeps in `ppoll` until a packet arrives or the next one is due, and uses no processor time
//! while idle. A packet departs at the instant at which it is due, whatever the clock says when the
//! thread looks: a late delivery does not delay the ones after it.

use std::fs::File;
use std::io::{ErrorKind, PipeReader, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use measure::Histogram;
use network::{Admission, Dropped, Ecn, Packet};
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use units::{Duration, Instant, Rate};

use crate::check::Pace;
use crate::clock::{self, Clock};
use crate::device::MTU;
use crate::flows::FlowLog;
use crate::link::{Carried, LinkState};
use crate::live::Live;
use crate::packet;
use crate::record::{Record, Recorder, What};
use crate::schedule::{self, Scheduling};
use crate::side::{Direction, Side};

/// Size of a packet buffer.
const BUFFER_SIZE: usize = 2048;
const _: () = assert!(BUFFER_SIZE > MTU as usize);

/// Packets that are read from a device before the thread looks for due packets, and that are
/// delivered before it looks for arrivals.
const READS: usize = 16;
const DELIVERIES: usize = 8;

/// The longest sleep. Even if nothing is due, the thread hands over records, updates the live
/// numbers of an idle link, and notices when it does not get a processor.
const LONGEST_SLEEP: Duration = Duration::from_millis(5);

/// Most free buffers that are kept.
const POOL: usize = 4096;

/// The state of the thread, which it returns at the end.
pub(crate) struct Mover {
    pub(crate) clock: Clock,
    /// By side.
    pub(crate) devices: [File; 2],
    /// By direction.
    pub(crate) links: [LinkState; 2],
    pub(crate) flows: FlowLog,
    pub(crate) recorder: Option<Recorder>,
    pub(crate) live: Arc<Live>,
    pub(crate) stop: Arc<AtomicBool>,
    /// Readable once `stop` is set.
    pub(crate) wake: PipeReader,
    pub(crate) deadline: bool,
    pub(crate) spin: Duration,
    /// The shortest sleep, see [`grain`].
    grain: Duration,
    pub(crate) noted: Noted,
    /// Since the last sleep.
    awake: Awake,
    /// Devices that may have a packet, by side, so that an empty one is not read in vain.
    ready: [bool; 2],
    pool: Vec<Vec<u8>>,
}

/// The thread's measurements of itself.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    pub(crate) scheduling: Option<Scheduling>,
    /// From being due to being written.
    pub(crate) lateness: Histogram,
    /// The same without the thread's processing time since it last slept: the time for which it was
    /// not awake, or did not run, although a packet was due.
    pub(crate) apart: Histogram,
    /// Processing time and packets of the periods in which packets waited for each other.
    pub(crate) catching_up: (Duration, u64),
    pub(crate) worst_lateness: Duration,
    /// From the requested end of a sleep to being awake.
    pub(crate) wake_ups: Histogram,
    /// The longest known time for which the thread should have run but did not, and in which a
    /// packet may have arrived.
    pub(crate) worst_stall: Duration,
    /// Most packets due at different times that were delivered without a sleep between them.
    pub(crate) longest_burst: u64,
    pub(crate) bursts: u64,
    /// Of the forward link.
    pub(crate) pace: Pace,
    /// Packets that a device did not take.
    pub(crate) refused: u64,
    pub(crate) processor_time: Duration,
    pub(crate) end: Instant,
}

impl Mover {
    #[expect(clippy::too_many_arguments, reason = "each argument becomes a field")]
    pub(crate) fn new(
        clock: Clock,
        devices: [File; 2],
        links: [LinkState; 2],
        flows: FlowLog,
        recorder: Option<Recorder>,
        live: Arc<Live>,
        (stop, wake): (Arc<AtomicBool>, PipeReader),
        (deadline, spin): (bool, Duration),
    ) -> Self {
        Self {
            clock,
            devices,
            flows,
            recorder,
            live,
            stop,
            wake,
            deadline,
            spin,
            grain: grain(&links),
            links,
            noted: Noted::default(),
            awake: Awake::default(),
            ready: [true; 2],
            pool: Vec::new(),
        }
    }

    /// Moves packets until stopped.
    pub(crate) fn run(mut self) -> Self {
        self.noted.scheduling = Some(schedule::prepare_thread(self.deadline));
        let before = clock::thread_time();
        let mut burst = Burst::default();
        // The run may have begun before this thread ran.
        let mut stall = self.clock.now().saturating_since(Instant::ZERO);
        let mut seen = 0;
        while !self.stop.load(Ordering::Relaxed) {
            let mut idle = true;
            for side in [Side::Sender, Side::Receiver] {
                idle &= self.read(side);
            }
            let offered = self.links.iter().map(LinkState::offered).sum();
            if offered != seen {
                self.noted.worst_stall = self.noted.worst_stall.max(stall);
                seen = offered;
            }
            stall = Duration::ZERO;
            for direction in Direction::BOTH {
                idle &= self.deliver(direction, &mut burst);
            }
            // Answers to a delivery are read before the thread sleeps.
            idle &= self.ready == [false; 2];
            let now = self.clock.now();
            for direction in Direction::BOTH {
                let index = direction.index();
                self.live.links[index].store(now, &mut self.links[index]);
            }
            if idle {
                burst.end(&mut self.noted);
                stall = self.sleep(now);
                self.awake.end(&mut self.noted);
            }
        }
        burst.end(&mut self.noted);
        self.awake.end(&mut self.noted);
        let end = self.clock.now();
        for direction in Direction::BOTH {
            self.links[direction.index()].end(end);
            self.note_dropped(direction);
        }
        self.noted.pace.end();
        self.noted.end = end;
        self.noted.processor_time = clock::thread_time().saturating_sub(before);
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
        self
    }

    /// Reads the packets that a side has sent. True when none is left.
    fn read(&mut self, side: Side) -> bool {
        if !self.ready[side.index()] {
            return true;
        }
        for _ in 0..READS {
            let mut bytes = self.pool.pop().unwrap_or_else(|| vec![0; BUFFER_SIZE]);
            match (&self.devices[side.index()]).read(&mut bytes) {
                Ok(0) => return true,
                Ok(length) => self.arrive(side, bytes, length),
                Err(error) => {
                    self.pool.push(bytes);
                    self.ready[side.index()] = error.kind() == ErrorKind::Interrupted;
                    return true;
                }
            }
        }
        false
    }

    fn arrive(&mut self, side: Side, bytes: Vec<u8>, length: usize) {
        let now = self.clock.now();
        let direction = side.sends_on();
        let size = length as u32;
        let headers = packet::parse(&bytes[..length]);
        let ecn = packet::ecn(&bytes[..length]);
        let kept = self.recorder.as_ref().map(|recorder| {
            let keep = (recorder.keeps(side) as usize).min(length);
            bytes[..keep].to_vec()
        });
        let flow = self.flows.find_flow(now, direction, headers.as_ref());
        let packet = Packet {
            size,
            flow,
            ecn,
            payload: Carried {
                bytes,
                payload: headers.map_or(0, |headers| headers.payload),
                flow,
                ..Carried::default()
            },
        };
        let admission = self.links[direction.index()].push(now, packet);
        self.flows
            .offered(now, direction, flow, headers.as_ref(), admission);
        if let (Some(recorder), Some(bytes)) = (&mut self.recorder, kept) {
            recorder.record(Record {
                at: now,
                direction,
                size,
                what: What::Arrival(match admission {
                    Admission::Accepted => None,
                    Admission::Dropped(reason) => Some(reason),
                }),
                bytes,
            });
        }
        self.note_dropped(direction);
    }

    /// Records the packets that a link dropped after it had accepted them.
    fn note_dropped(&mut self, direction: Direction) {
        while let Some(dropped) = self.links[direction.index()].link.take_dropped() {
            let Dropped { at, reason, packet } = dropped;
            let carried = packet.payload;
            let headers = packet::parse(&carried.bytes[..packet.size as usize]);
            let flow = carried.flow;
            self.flows
                .dropped(at, direction, flow, headers.as_ref(), reason);
            if let Some(recorder) = &mut self.recorder {
                recorder.record(Record {
                    at,
                    direction,
                    size: packet.size,
                    what: What::Drop,
                    bytes: Vec::new(),
                });
            }
            if self.pool.len() < POOL {
                self.pool.push(carried.bytes);
            }
        }
    }

    /// Delivers the packets that are due on a link. True when none is left.
    fn deliver(&mut self, direction: Direction, burst: &mut Burst) -> bool {
        for _ in 0..DELIVERIES {
            let now = self.clock.now();
            let Some((due, packet, service)) = self.links[direction.index()].pop(now) else {
                self.note_dropped(direction);
                return true;
            };
            let Packet {
                size,
                ecn,
                payload: mut carried,
                ..
            } = packet;
            let to = match direction {
                Direction::Forward => Side::Receiver,
                Direction::Reverse => Side::Sender,
            };
            let bytes = &mut carried.bytes[..size as usize];
            if ecn == Ecn::Ce {
                packet::mark(bytes);
            }
            if (&self.devices[to.index()]).write(bytes).is_err() {
                self.noted.refused += 1;
            }
            // Its host may have answered at once.
            self.ready[to.index()] = true;
            let late = now.saturating_since(due);
            let apart = self.awake.apart(now, late);
            self.noted.lateness.record(late);
            self.noted.apart.record(apart);
            if late > self.noted.worst_lateness {
                self.noted.worst_lateness = late;
                self.live
                    .worst_lateness
                    .store(late.as_nanos(), Ordering::Relaxed);
            }
            if direction == Direction::Forward {
                self.noted.pace.delivered(service.period, due, now);
                burst.delivered(due);
            }
            self.flows.delivered(
                due,
                due.saturating_since(carried.arrived),
                carried.flow,
                carried.payload,
            );
            if let Some(recorder) = &mut self.recorder {
                let keep = (recorder.keeps(to) as usize).min(size as usize);
                recorder.record(Record {
                    at: now,
                    direction,
                    size,
                    what: What::Delivery {
                        arrived: carried.arrived,
                        leaves: service.leaves,
                    },
                    bytes: carried.bytes[..keep].to_vec(),
                });
            }
            if self.pool.len() < POOL {
                self.pool.push(carried.bytes);
            }
        }
        false
    }

    /// Waits for a packet, the next due instant, or the end. Returns by how much the sleep was too
    /// long.
    fn sleep(&mut self, now: Instant) -> Duration {
        let next = self
            .links
            .iter()
            .filter_map(LinkState::next_event)
            .min()
            .unwrap_or(Instant::MAX);
        let wait = next.saturating_since(now);
        if wait <= self.spin {
            // Awake until the packet is due, still reading.
            self.ready = [true; 2];
            std::hint::spin_loop();
            return Duration::ZERO;
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.flush();
        }
        let wait = wait.saturating_sub(self.spin);
        let wait = wait.max(self.grain).min(LONGEST_SLEEP);
        let [sender, receiver] = &self.devices;
        let mut watched = [
            PollFd::new(sender.as_fd(), PollFlags::POLLIN),
            PollFd::new(receiver.as_fd(), PollFlags::POLLIN),
            PollFd::new(self.wake.as_fd(), PollFlags::POLLIN),
        ];
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(wait.as_nanos()));
        let events = ppoll(&mut watched, Some(timeout), None);
        self.ready = [0, 1].map(|side| watched[side].any() != Some(false));
        let lag = self.clock.now().saturating_since(now + wait);
        if events == Ok(0) {
            self.noted.wake_ups.record(lag);
        }
        lag
    }
}

/// Where full packets follow each other in less than 30 us, a sleep for each would cost more time
/// than there is and use up the reservation. Being at most 40 us late is better than being
/// throttled for 200 us.
fn grain(links: &[LinkState; 2]) -> Duration {
    const FAST: Rate = Rate::from_bits_per_sec(400_000_000);
    let fast = |state: &LinkState| state.rate.is_some_and(|rate| rate > FAST);
    if links.iter().any(fast) {
        Duration::from_micros(40)
    } else {
        Duration::ZERO
    }
}

/// A lateness below this is not split: reading the processor time takes a third of a microsecond.
const SMALL: Duration = Duration::from_micros(100);

/// The time since the thread last slept. Packets that are due at once, or faster than they can be
/// written, wait for each other while the thread works without a pause, as on a real host. The rest
/// of their lateness is not processing time: the thread woke late or did not run.
#[derive(Clone, Copy, Debug, Default)]
struct Awake {
    /// The first delivery: its time, its lateness, and the thread's processor time.
    began: Option<(Instant, Duration, Duration)>,
    /// Deliveries after it.
    deliveries: u64,
    /// Processing time and deliveries since then, up to the last late packet.
    caught_up: (Duration, u64),
}

impl Awake {
    /// The part of a packet's lateness that is not the thread's own processing time.
    fn apart(&mut self, now: Instant, late: Duration) -> Duration {
        self.apart_at(now, late, clock::thread_time)
    }

    fn apart_at(&mut self, now: Instant, late: Duration, ran: impl Fn() -> Duration) -> Duration {
        let Some((since, first, ran_before)) = self.began else {
            self.began = Some((now, late, ran()));
            return late;
        };
        self.deliveries += 1;
        if late < SMALL {
            return late;
        }
        let worked = ran().saturating_sub(ran_before);
        self.caught_up = (worked, self.deliveries);
        let paused = now.saturating_since(since).saturating_sub(worked);
        late.min(first + paused)
    }

    /// The thread has slept, or will do nothing more.
    fn end(&mut self, noted: &mut Noted) {
        let (worked, deliveries) = self.caught_up;
        noted.catching_up.0 += worked;
        noted.catching_up.1 += deliveries;
        *self = Self::default();
    }
}

/// Packets of the forward link that are delivered without a sleep between them.
#[derive(Debug, Default)]
struct Burst {
    packets: u64,
    last_due: Option<Instant>,
}

impl Burst {
    fn delivered(&mut self, due: Instant) {
        // Packets due at the same time belong together (a trace's opportunity, a slot).
        if self.last_due != Some(due) {
            self.packets += 1;
            self.last_due = Some(due);
        }
    }

    fn end(&mut self, noted: &mut Noted) {
        if self.packets > 1 {
            noted.bursts += 1;
        }
        noted.longest_burst = noted.longest_burst.max(self.packets);
        self.packets = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processing_time_is_separated_from_time_not_running() {
        let at = |micros| Instant::ZERO + Duration::from_micros(micros);
        let micros = Duration::from_micros;
        let mut awake = Awake::default();
        // Time, lateness, and processing time so far; the thread woke 30 us late.
        let lates = [
            (30, 30, 0),
            (400, 400, 370),
            // Throttled for 200 us.
            (1_000, 1_000, 770),
            // Due shortly before.
            (1_100, 120, 870),
            (1_200, 90, 0),
        ]
        .map(|(now, late, ran)| {
            let apart = awake.apart_at(at(now), micros(late), || micros(ran));
            apart.as_micros()
        });
        assert_eq!(lates, [30, 30, 230, 120, 90]);
        // Up to the last late packet: three packets in 870 us.
        let mut noted = Noted::default();
        awake.end(&mut noted);
        assert_eq!(noted.catching_up, (micros(870), 3));
        awake.end(&mut noted);
        assert_eq!(noted.catching_up, (micros(870), 3));
    }
}
