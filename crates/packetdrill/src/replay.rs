//! A script whose times are absolute, fed to a stack whatever that sends: what the stack does after
//! each event is recorded, and the records of two stacks are compared.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::ops::Range;

use units::{Duration, Instant};

use crate::{
    Action, Call, Event, Flags, Info, Outcome, Packet, Script, Sent, Settings, Stack, When, field,
};

/// Fields of `tcp_info` that must be equal.
const EQUAL: &[&str] = &[
    "tcpi_ca_state",
    "tcpi_snd_cwnd",
    "tcpi_snd_ssthresh",
    "tcpi_unacked",
    "tcpi_sacked",
    "tcpi_lost",
    "tcpi_retrans",
    "tcpi_total_retrans",
    "tcpi_reordering",
];
/// Fields that may differ by as many microseconds: the RTT by a tick, the RTO by its rounding.
const NEAR: &[(&str, i64)] = &[("tcpi_rtt", 4_000), ("tcpi_rto", 9_000)];
/// Times of packets may differ by this.
const TOLERANCE: Duration = Duration::from_millis(14);
/// The events of a stream are 0.1 ms apart and more, and its pauses end near timers. A host that takes
/// this long for one event may change the order of both.
const PUNCTUAL: Duration = Duration::from_millis(2);
/// The stack is watched for this long after the last event.
const AFTERWARDS: Duration = Duration::from_millis(100);

/// What happened after one event: packets as ranges, and the state.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// Contiguous packets of one kind are one.
    pub sent: Vec<Sent>,
    /// At once after the event.
    pub info: Info,
    /// Between these two moments the stack took the event.
    pub taken: (Duration, Duration),
    /// From the time in the script to the moment when the stack had reported its state.
    pub late: Duration,
}

/// Feeds `script` to `stack`, whatever that sends, and records it.
///
/// # Errors
/// The stack failed, in a sentence.
pub fn replay(script: &Script, stack: &mut dyn Stack) -> Result<Vec<Step>, String> {
    let mut steps: Vec<Step> = Vec::new();
    let mut sent = VecDeque::new();
    let mut stamps = Stamps::default();
    let mut last = Instant::ZERO;
    for event in &script.events {
        let When::Absolute(at, _) = event.when else {
            return Err("a stream has absolute times".into());
        };
        last = Instant::ZERO + at;
        stack.wait(last, false, &mut sent)?;
        stamps.note(&sent);
        file_under(steps.last_mut(), &mut sent);
        let begin = stack.now() - Instant::ZERO;
        match &event.action {
            Action::Inject(packet) => stack.inject(&stamps.translated(packet))?,
            Action::Call(call, Outcome::Value(value)) => {
                stack
                    .call(call, *value)?
                    .map_err(|error| format!("{call:?}: {error}"))?;
            }
            _ => return Err("a stream has packets and calls alone".into()),
        }
        let now = stack.now();
        let taken = (begin, now - Instant::ZERO);
        stack.wait(now, false, &mut sent)?;
        stamps.note(&sent);
        let mut step = Step {
            sent: Vec::new(),
            info: stack.info()?,
            taken,
            late: stack.now().saturating_since(last),
        };
        file_under(Some(&mut step), &mut sent);
        steps.push(step);
    }
    stack.wait(last + AFTERWARDS, false, &mut sent)?;
    file_under(steps.last_mut(), &mut sent);
    Ok(steps)
}

/// Whether the host was in time for every event. If not, a difference says nothing about the stack.
#[must_use]
pub fn is_punctual(steps: &[Step]) -> bool {
    steps.iter().all(|step| step.late <= PUNCTUAL)
}

/// `script` with its events at the moments in `steps` at which a stack took them: the earliest and
/// the latest possible ones. A host feeds no kernel to the microsecond, and where TCP compares two
/// times, microseconds may decide.
#[must_use]
pub fn as_taken(script: &Script, steps: &[Step]) -> [Script; 2] {
    let earliest: fn(&Step) -> Duration = |step| step.taken.0;
    [earliest, |step| step.taken.1].map(|moment| {
        let mut taken = script.clone();
        for (event, step) in taken.events.iter_mut().zip(steps) {
            if let When::Absolute(at, _) = &mut event.when {
                *at = moment(step);
            }
        }
        taken
    })
}

/// The timestamps of a stack, which the peer echoes in place of the simulation's.
#[derive(Default)]
struct Stamps {
    /// Of each packet with one, in order.
    sent: Vec<u32>,
}

/// The simulation sends its SYN-ACK at 10 ms.
const FIRST_STAMP: u32 = 11;

impl Stamps {
    fn note(&mut self, sent: &VecDeque<Sent>) {
        let options = sent.iter().filter_map(|sent| sent.packet.options.as_ref());
        let stamps = options.filter_map(|options| Some(options.timestamps?.val));
        self.sent.extend(stamps);
        self.sent.dedup();
    }

    /// The stack's timestamp for the simulation's. A timer of the stack may be late, and with it the
    /// timestamp: the echo is that of the packet nearest in time.
    fn nearest(&self, simulated: u32) -> u32 {
        let Some(first) = self.sent.first() else {
            return simulated;
        };
        let stamp = first.wrapping_add(simulated.wrapping_sub(FIRST_STAMP));
        let distance = |sent: &u32| (sent.wrapping_sub(stamp) as i32).unsigned_abs();
        let tolerance = TOLERANCE.as_millis() as u32;
        let near = self.sent.iter().copied().min_by_key(distance);
        near.filter(|near| distance(near) <= tolerance)
            .unwrap_or(stamp)
    }

    fn translated(&self, packet: &Packet) -> Packet {
        let mut packet = packet.clone();
        let stamps = packet
            .options
            .as_mut()
            .and_then(|options| options.timestamps.as_mut());
        if let Some(stamps) = stamps.filter(|stamps| stamps.ecr > 0) {
            stamps.ecr = self.nearest(stamps.ecr);
        }
        packet
    }
}

/// Moves packets to a step, and merges those that follow each other at one moment.
fn file_under(step: Option<&mut Step>, sent: &mut VecDeque<Sent>) {
    let Some(step) = step else {
        sent.clear();
        return;
    };
    for next in sent.drain(..) {
        let follows = |last: &&mut Sent| {
            last.packet.end() == next.packet.seq
                && last.packet.len > 0
                && next.packet.len > 0
                && last.packet.flags.fin == next.packet.flags.fin
                && next.at.saturating_since(last.at) < Duration::from_millis(2)
        };
        match step.sent.last_mut().filter(follows) {
            Some(last) => last.packet.len += next.packet.len,
            None => step.sent.push(next),
        }
    }
}

/// The first event after which two runs of one stream differ, and how.
#[must_use]
pub fn compare(simulated: &[Step], kernel: &[Step]) -> Option<(usize, String)> {
    simulated
        .iter()
        .zip(kernel)
        .enumerate()
        .find_map(|(at, (ours, theirs))| {
            compare_states(&ours.info, &theirs.info)
                .or_else(|| compare_packets(&ours.sent, &theirs.sent))
                .map(|difference| (at, difference))
        })
}

fn compare_states(ours: &Info, theirs: &Info) -> Option<String> {
    let limits = EQUAL
        .iter()
        .map(|name| (*name, 0))
        .chain(NEAR.iter().copied());
    limits.into_iter().find_map(|(name, limit)| {
        let (ours, theirs) = (field(ours, name)?, field(theirs, name)?);
        (ours.abs_diff(theirs) > limit as u64)
            .then(|| format!("{name}: simulated {ours}, kernel {theirs}"))
    })
}

fn compare_packets(ours: &[Sent], theirs: &[Sent]) -> Option<String> {
    let show = |sent: Option<&Sent>| match sent {
        Some(sent) => format!("{} at {:.6} s", sent.packet, sent.at.as_secs_f64()),
        None => "no packet".into(),
    };
    (0..ours.len().max(theirs.len())).find_map(|at| {
        let (ours, theirs) = (ours.get(at), theirs.get(at));
        let same = match (ours, theirs) {
            (Some(a), Some(b)) => {
                let (p, q) = (&a.packet, &b.packet);
                let late = a.at.max(b.at).saturating_since(a.at.min(b.at));
                let of = |flags: Flags| (flags.syn, flags.fin, flags.rst, flags.ece, flags.cwr);
                (p.seq, p.len, p.ack, of(p.flags), p.ecn)
                    == (q.seq, q.len, q.ack, of(q.flags), q.ecn)
                    && late <= TOLERANCE
            }
            _ => false,
        };
        (!same).then(|| format!("simulated {}, kernel {}", show(ours), show(theirs)))
    })
}

/// Shortens `script` while `differs` holds: nothing after the difference, then without half of the
/// optional events, without a quarter of them, and so on, down to single events, from the last to the
/// first (Zeller and Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002). Single
/// events are tried until none can go. `differs` returns the event of the difference; it is asked at
/// most `tries` times.
pub fn shrink(
    script: &Script,
    at: usize,
    tries: usize,
    mut differs: impl FnMut(&Script) -> Option<usize>,
) -> Script {
    let mut shortest = script.clone();
    shortest.events.truncate(at + 1);
    let mut left = tries;
    let mut size = optional(&shortest).len().div_ceil(2);
    while size > 0 {
        let mut is_shorter = false;
        // Optional events from this one on were tried.
        let mut tried = optional(&shortest).len();
        while tried > 0 {
            if left == 0 {
                return shortest;
            }
            left -= 1;
            let places = optional(&shortest);
            let first = tried.saturating_sub(size);
            let mut shorter = shortest.clone();
            shorter
                .events
                .drain(places.start + first..places.start + tried);
            tried = first;
            if let Some(at) = differs(&shorter) {
                shorter.events.truncate(at + 1);
                shortest = shorter;
                is_shorter = true;
                tried = tried.min(optional(&shortest).len());
            }
        }
        if size > 1 || !is_shorter {
            size /= 2;
        }
    }
    shortest
}

/// Whether the packets up to event `at` acknowledge only what the stack that made `steps` had sent. Linux
/// answers any other ACK, so a stream that lost some events would show that answer alone.
#[must_use]
pub fn acknowledges_what_was_sent(script: &Script, steps: &[Step], at: usize) -> bool {
    let mut end = 0;
    for (event, step) in script.events.iter().zip(steps).take(at + 1) {
        if let Action::Inject(packet) = &event.action
            && packet.flags.ack
            && packet.ack > end
        {
            return false;
        }
        for Sent { packet, .. } in &step.sent {
            let flag = u64::from(packet.flags.syn || packet.flags.fin);
            end = end.max(packet.end() + flag);
        }
    }
    true
}

/// The places of the events after the connection was accepted: without them, it is still one.
fn optional(script: &Script) -> Range<usize> {
    let accepts = |event: &Event| matches!(event.action, Action::Call(Call::Accept { .. }, _));
    let accepted = script.events.iter().position(accepts);
    let first = accepted.map_or(script.events.len(), |place| place + 1);
    first..script.events.len()
}

/// `script` as text, with what a stack sent as the expectation.
#[must_use]
pub fn text(script: &Script, steps: &[Step]) -> String {
    let mut lines = String::new();
    for (name, value) in &script.settings.sysctls {
        if Settings::default()
            .sysctls
            .contains(&(name.clone(), value.clone()))
        {
            continue;
        }
        let _ = writeln!(lines, "`sysctl -q {name}={value}`");
    }
    for (event, step) in script.events.iter().zip(steps) {
        let When::Absolute(at, _) = event.when else {
            continue;
        };
        let at = at.as_secs_f64();
        let _ = match &event.action {
            Action::Inject(packet) => writeln!(lines, "{at:.6} < {packet}"),
            Action::Call(call, Outcome::Value(value)) => {
                writeln!(lines, "{at:.6} {} = {value}", call_text(call))
            }
            _ => Ok(()),
        };
        for sent in &step.sent {
            let mut packet = sent.packet.clone();
            packet.window = None;
            if let Some(stamps) = packet
                .options
                .as_mut()
                .and_then(|it| it.timestamps.as_mut())
            {
                // The clock of the stream.
                (stamps.val, stamps.ecr) = (sent.at.as_millis() as u32 + 1, 0);
            }
            let _ = writeln!(lines, "{:.6} > {packet}", sent.at.as_secs_f64());
        }
    }
    lines
}

fn call_text(call: &Call) -> String {
    match call {
        Call::Socket => "socket(..., SOCK_STREAM, IPPROTO_TCP)".into(),
        Call::Bind { fd } => format!("bind({fd}, ..., ...)"),
        Call::Listen { fd } => format!("listen({fd}, 1)"),
        Call::Accept { fd } => format!("accept({fd}, ..., ...)"),
        Call::Write { fd, len } => format!("write({fd}, ..., {len})"),
        other => format!("{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_event_makes_a_run_late() {
        let step = |late| Step {
            late: Duration::from_micros(late),
            ..Step::default()
        };
        assert!(is_punctual(&[step(0), step(2_000)]));
        assert!(!is_punctual(&[step(0), step(2_001), step(0)]));
    }

    #[test]
    fn an_echo_is_that_of_the_nearest_packet() {
        let stamps = Stamps {
            sent: vec![1_011, 1_071, 1_158, 1_199],
        };
        // The timer of the stack was 2 ms late.
        assert_eq!(stamps.nearest(156), 1_158);
        assert_eq!(stamps.nearest(71), 1_071);
        // The stack sent nothing near.
        assert_eq!(stamps.nearest(120), 1_120);
        assert_eq!(Stamps::default().nearest(5), 5);
    }
}
