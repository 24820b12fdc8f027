//! References that share no code with the model: a Monte-Carlo simulation of CSMA-CA in continuous
//! time, and the fixed point of Pollin et al. 2008 for slots.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

const SYMBOL: f64 = 16e-6;
const PERIOD: f64 = 20.0 * SYMBOL;
const CCA: f64 = 8.0 * SYMBOL;
const TURNAROUND: f64 = 12.0 * SYMBOL;
const ACK: f64 = 22.0 * SYMBOL;
const ACK_WAIT: f64 = 54.0 * SYMBOL;
const LIFS: f64 = 40.0 * SYMBOL;
const BACKOFFS: u32 = 4;
const RETRIES: u32 = 3;

/// Rates per second that all nodes reach together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Frames that the receiver got, without duplicates.
    pub received: f64,
    /// Frames on the air, with retransmissions.
    pub sent: f64,
    /// Frames that a node gave up because the channel was busy.
    pub busy: f64,
    /// Frames that a node gave up for want of an acknowledgement.
    pub unanswered: f64,
}

#[derive(Clone, Copy, PartialEq)]
enum Phase {
    Wait,
    Assess,
    Turn,
    Send,
    Answer,
    Space,
}

#[derive(Clone, Copy)]
struct Sender {
    phase: Phase,
    /// When the phase ends.
    due: f64,
    busy: u32,
    tries: u32,
    /// Whether the frame met another frame.
    spoilt: bool,
    /// Whether the receiver has the frame already.
    has_it: bool,
}

/// The acknowledgement under way, of which there is at most one.
#[derive(Clone, Copy)]
struct Answer {
    to: usize,
    due: f64,
    started: bool,
    spoilt: bool,
}

/// What is simulated.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Saturated nodes in range of a receiver.
    pub nodes: usize,
    /// Airtime of a frame, in seconds.
    pub air: f64,
    pub acknowledged: bool,
    /// Whether the nodes are out of range of each other.
    pub hidden: bool,
}

/// CSMA-CA without slots. Any overlap of frames at a node destroys them there.
pub fn unslotted(setting: Setting, seconds: f64, seed: u64) -> Rates {
    let Setting {
        nodes,
        air,
        acknowledged,
        hidden,
    } = setting;
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let wait = |rng: &mut ChaCha8Rng, busy: u32| {
        let window = f64::from(1 << (3 + busy).min(5));
        PERIOD * (f64::from(rng.next_u32()) / 2f64.powi(32) * window).floor()
    };
    let fresh = |rng: &mut ChaCha8Rng, now, tries, has_it| Sender {
        phase: Phase::Wait,
        due: now + wait(rng, 0),
        busy: 0,
        tries,
        spoilt: false,
        has_it,
    };
    let mut senders: Vec<Sender> = Vec::new();
    for _ in 0..nodes {
        let start = f64::from(rng.next_u32()) / 2f64.powi(32) * 0.01;
        senders.push(fresh(&mut rng, start, 0, false));
    }
    let mut counts = [0u64; 4];
    let mut answer: Option<Answer> = None;
    // The latest end of all transmissions so far that nodes sense.
    let mut last_end = 0.0;
    // Starts a transmission: everything on the air is spoilt if there is something. A frame of a
    // hidden node does not reach the node to which an acknowledgement goes.
    let collide = |senders: &mut [Sender], answer: &mut Option<Answer>| {
        let mut others = false;
        for sender in senders
            .iter_mut()
            .filter(|other| other.phase == Phase::Send)
        {
            (sender.spoilt, others) = (true, true);
        }
        if let Some(answer) = answer.as_mut().filter(|answer| answer.started) {
            (answer.spoilt, others) = (!hidden, true);
        }
        others
    };
    loop {
        let (place, due) = senders
            .iter()
            .map(|sender| sender.due)
            .enumerate()
            .min_by(|(_, one), (_, other)| one.total_cmp(other))
            .expect("there are senders");
        if let Some(now) = answer.map(|answer| answer.due).filter(|at| *at <= due) {
            let done = answer.take().expect("it is due");
            if done.started {
                if !done.spoilt {
                    let sender = &mut senders[done.to];
                    (sender.phase, sender.due) = (Phase::Space, now + LIFS);
                }
            } else {
                let spoilt = collide(&mut senders, &mut None) && !hidden;
                last_end = f64::max(last_end, now + ACK);
                answer = Some(Answer {
                    due: now + ACK,
                    started: true,
                    spoilt,
                    ..done
                });
            }
            continue;
        }
        let now = due;
        if now > seconds {
            break;
        }
        let sender = senders[place];
        senders[place] = match sender.phase {
            Phase::Wait => Sender {
                phase: Phase::Assess,
                due: now + CCA,
                ..sender
            },
            Phase::Assess if last_end > now - CCA => {
                let busy = sender.busy + 1;
                if busy > BACKOFFS {
                    counts[2] += 1;
                    fresh(&mut rng, now, 0, false)
                } else {
                    Sender {
                        phase: Phase::Wait,
                        due: now + wait(&mut rng, busy),
                        busy,
                        ..sender
                    }
                }
            }
            Phase::Assess => Sender {
                phase: Phase::Turn,
                due: now + TURNAROUND,
                ..sender
            },
            Phase::Turn => {
                counts[1] += 1;
                let spoilt = collide(&mut senders, &mut answer);
                if !hidden {
                    last_end = f64::max(last_end, now + air);
                }
                Sender {
                    phase: Phase::Send,
                    due: now + air,
                    spoilt,
                    ..sender
                }
            }
            Phase::Send => {
                counts[0] += u64::from(!sender.spoilt && !sender.has_it);
                if acknowledged && !sender.spoilt {
                    answer = Some(Answer {
                        to: place,
                        due: now + TURNAROUND,
                        started: false,
                        spoilt: false,
                    });
                }
                let (phase, span) = match acknowledged {
                    true => (Phase::Answer, ACK_WAIT),
                    false => (Phase::Space, LIFS),
                };
                Sender {
                    phase,
                    due: now + span,
                    has_it: sender.has_it || !sender.spoilt,
                    ..sender
                }
            }
            Phase::Answer if sender.tries == RETRIES => {
                counts[3] += 1;
                fresh(&mut rng, now, 0, false)
            }
            Phase::Answer => fresh(&mut rng, now, sender.tries + 1, sender.has_it),
            Phase::Space => fresh(&mut rng, now, 0, false),
        };
    }
    let rate = |count: u64| count as f64 / seconds;
    Rates {
        received: rate(counts[0]),
        sent: rate(counts[1]),
        busy: rate(counts[2]),
        unanswered: rate(counts[3]),
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Slot {
    Wait,
    First,
    Second,
    Send,
    Space,
}

/// Slotted CSMA-CA without acknowledgements, saturated, slot by slot: frames of `length` slots, and
/// `space` slots after each. Returns successful frames per slot, and the fraction of assessments
/// that find the channel busy.
pub fn slotted(nodes: usize, length: u32, space: u32, slots: u64, seed: u64) -> (f64, f64) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut wait = |busy: u32| {
        let window = f64::from(1 << (3 + busy).min(5));
        (f64::from(rng.next_u32()) / 2f64.powi(32) * window).floor() as u32
    };
    // Each node: what it does, for how many more slots, busy channels so far, whether it collided.
    let mut senders: Vec<_> = (0..nodes)
        .map(|_| (Slot::Wait, wait(0), 0, false))
        .collect();
    let (mut successes, mut assessments, mut busy) = (0u64, 0u64, 0u64);
    for _ in 0..slots {
        let on_air = senders.iter().filter(|node| node.0 == Slot::Send).count();
        for node in &mut senders {
            if node.0 == Slot::Wait && node.1 == 0 {
                node.0 = Slot::First;
            }
            match node.0 {
                Slot::Wait => node.1 -= 1,
                Slot::First | Slot::Second => {
                    assessments += 1;
                    if on_air == 0 {
                        *node = match node.0 {
                            Slot::First => (Slot::Second, 0, node.2, false),
                            _ => (Slot::Send, length, 0, false),
                        };
                        continue;
                    }
                    busy += 1;
                    let tries = if node.2 == BACKOFFS { 0 } else { node.2 + 1 };
                    *node = (Slot::Wait, wait(tries), tries, false);
                }
                Slot::Send => {
                    node.3 |= on_air > 1;
                    node.1 -= 1;
                    if node.1 == 0 {
                        successes += u64::from(!node.3);
                        *node = (Slot::Space, space, 0, false);
                    }
                }
                Slot::Space => {
                    node.1 -= 1;
                    if node.1 == 0 {
                        *node = (Slot::Wait, wait(0), 0, false);
                    }
                }
            }
        }
    }
    let fraction = busy as f64 / assessments as f64;
    (successes as f64 / slots as f64, fraction)
}

/// The same as a fixed point, after Pollin, Ergen, Ergen, Bougard, Van der Perre, Moerman, Bahai,
/// Varaiya and Catthoor, "Performance analysis of slotted carrier sense IEEE 802.15.4 medium access
/// layer", IEEE Transactions on Wireless Communications 7(9), 2008. `phi` is the probability that a
/// node starts its first assessment in a slot: the mean number of such assessments for a frame over
/// its mean time. `alpha` and `beta` are the probabilities that the first and the second assessment
/// find the channel busy. Another node starts to send after two idle slots, with `any`, so that
/// `beta` is the fraction of idle slots that end an idle period. Nodes are independent of each
/// other in it, which holds if they are many. Returns the same as [`slotted`].
pub fn pollin(nodes: usize, length: f64, space: f64) -> (f64, f64) {
    let others = nodes as f64 - 1.0;
    let windows = [8.0, 16.0, 32.0, 32.0, 32.0];
    let mut phi = 0.02;
    let (mut alpha, mut beta) = (0.0, 0.0);
    for _ in 0..20_000 {
        let any = 1.0 - f64::powf(1.0 - phi, others);
        beta = any / (1.0 + any);
        // alpha = length * any * (1 - alpha) * (1 - beta), solved for alpha.
        let load = length * any * (1.0 - beta);
        alpha = load / (1.0 + load);
        let fails: f64 = alpha + (1.0 - alpha) * beta;
        let mut visits = 0.0;
        let mut slots = 0.0;
        let mut reach = 1.0;
        for window in windows {
            visits += reach;
            slots += reach * ((window - 1.0) / 2.0 + 1.0 + (1.0 - alpha));
            reach *= fails;
        }
        slots += (1.0 - reach) * (length + space);
        phi += 0.05 * (visits / slots - phi);
    }
    let idle = (1.0 - alpha) * (1.0 - beta);
    let success = nodes as f64 * phi * f64::powf(1.0 - phi, others) * idle;
    let busy = (alpha + (1.0 - alpha) * beta) / (2.0 - alpha);
    (success, busy)
}
