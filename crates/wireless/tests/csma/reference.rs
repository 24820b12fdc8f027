//! References that share no code with the model: a Monte-Carlo simulation of CSMA-CA in ticks of two
//! symbols, and the fixed point of Pollin et al. 2008 for slots.

use rand_chacha::ChaCha8Rng;
use rand_core::{RngCore, SeedableRng};

/// Ticks of two symbols (32 us): a byte on the air.
const TICK: f64 = 32e-6;
const PERIOD: u32 = 10;
const CCA: u32 = 4;
const TURNAROUND: u32 = 6;
const ACK: u32 = 11;
const ACK_WAIT: u32 = 27;
const LIFS: u32 = 20;
const BACKOFFS: u32 = 4;
const RETRIES: u32 = 3;

/// Rates per second that all nodes reach together.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rates {
    /// Frames that the receiver got.
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
    /// Ticks until the phase ends.
    left: u32,
    busy: u32,
    tries: u32,
    /// Whether the assessment met the channel busy, or the frame another frame.
    spoilt: bool,
    /// Whether the receiver has the frame already.
    has_it: bool,
}

/// An acknowledgement under way.
struct Answer {
    to: usize,
    /// Ticks until it starts and ends.
    start: u32,
    left: u32,
    spoilt: bool,
}

/// Saturated nodes in range of each other and of a receiver, without slots; a frame takes `air`
/// ticks with everything. Any overlap of frames destroys them.
pub fn unslotted(nodes: usize, air: u32, acknowledged: bool, seconds: f64, seed: u64) -> Rates {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let draw = |rng: &mut ChaCha8Rng, busy: u32| {
        let exponent = (3 + busy).min(5);
        PERIOD * ((u64::from(rng.next_u32()) * (1 << exponent)) >> 32) as u32
    };
    let fresh = |rng: &mut ChaCha8Rng, tries, has_it| Sender {
        phase: Phase::Wait,
        left: draw(rng, 0),
        busy: 0,
        tries,
        spoilt: false,
        has_it,
    };
    let mut senders: Vec<_> = (0..nodes).map(|_| fresh(&mut rng, 0, false)).collect();
    let mut counts = [0u64; 4];
    let mut answer: Option<Answer> = None;
    let ticks = (seconds / TICK) as u64;
    for _ in 0..ticks {
        // Transitions that are due, until nothing changes: waits of zero are possible.
        for (place, sender) in senders.iter_mut().enumerate() {
            while sender.left == 0 {
                match sender.phase {
                    Phase::Wait => {
                        (sender.phase, sender.left, sender.spoilt) = (Phase::Assess, CCA, false);
                    }
                    Phase::Assess if sender.spoilt => {
                        sender.busy += 1;
                        if sender.busy > BACKOFFS {
                            counts[2] += 1;
                            *sender = fresh(&mut rng, 0, false);
                        } else {
                            (sender.phase, sender.left) =
                                (Phase::Wait, draw(&mut rng, sender.busy));
                        }
                    }
                    Phase::Assess => (sender.phase, sender.left) = (Phase::Turn, TURNAROUND),
                    Phase::Turn => {
                        counts[1] += 1;
                        (sender.phase, sender.left, sender.spoilt) = (Phase::Send, air, false);
                    }
                    Phase::Send => {
                        counts[0] += u64::from(!sender.spoilt && !sender.has_it);
                        sender.has_it |= !sender.spoilt;
                        if !acknowledged {
                            (sender.phase, sender.left) = (Phase::Space, LIFS);
                            continue;
                        }
                        (sender.phase, sender.left) = (Phase::Answer, ACK_WAIT);
                        if !sender.spoilt {
                            answer = Some(Answer {
                                to: place,
                                start: TURNAROUND,
                                left: ACK,
                                spoilt: false,
                            });
                        }
                    }
                    Phase::Answer => {
                        let tries = sender.tries + 1;
                        let gives_up = tries > RETRIES;
                        counts[3] += u64::from(gives_up);
                        let has_it = sender.has_it && !gives_up;
                        *sender = fresh(&mut rng, if gives_up { 0 } else { tries }, has_it);
                    }
                    Phase::Space => *sender = fresh(&mut rng, 0, false),
                }
            }
        }
        // The tick itself.
        let mut on_air = senders.iter().filter(|s| s.phase == Phase::Send).count();
        if let Some(answer) = &mut answer {
            if answer.start > 0 {
                answer.start -= 1;
            } else {
                on_air += 1;
                answer.left -= 1;
                answer.spoilt |= on_air > 1;
            }
        }
        for sender in &mut senders {
            match sender.phase {
                Phase::Assess => sender.spoilt |= on_air > 0,
                Phase::Send => sender.spoilt |= on_air > 1,
                _ => {}
            }
            sender.left -= 1;
        }
        if let Some(done) = answer.take_if(|answer| answer.left == 0) {
            if !done.spoilt {
                let sender = &mut senders[done.to];
                (sender.phase, sender.left) = (Phase::Space, LIFS);
            }
        }
    }
    let rate = |count: u64| count as f64 / seconds;
    Rates {
        received: rate(counts[0]),
        sent: rate(counts[1]),
        busy: rate(counts[2]),
        unanswered: rate(counts[3]),
    }
}

/// Slotted CSMA-CA without acknowledgements, saturated: frames of `length` slots, and `space` slots
/// after each. Pollin, Ergen, Ergen, Bougard, Van der Perre, Moerman, Bahai, Varaiya and Catthoor,
/// "Performance analysis of slotted carrier sense IEEE 802.15.4 medium access layer", IEEE
/// Transactions on Wireless Communications 7(9), 2008: `phi` is the probability that a node starts
/// its first assessment in a slot, `alpha` and `beta` are those that the first and the second find
/// the channel busy. Returns successful frames per slot, `alpha` and `beta`.
pub fn pollin(nodes: usize, length: f64, space: f64) -> (f64, f64, f64) {
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
    (success, alpha, beta)
}
