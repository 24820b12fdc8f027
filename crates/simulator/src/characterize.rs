//! Measures a path without a transport: the throughput of its saturated links, and the delay of a
//! small packet over the idle path.
//!
//! The links draw from the same random streams as those of a run with the same seed. The
//! measurements therefore see the same channel as the run's flows. Each measurement has its own
//! links, which carry only its own packets.
//!
//! ## Assumptions
//!
//! - A saturated link has an unlimited queue without a queue discipline, and its medium loses
//!   nothing, so the measurement shows the server alone. The queue is refilled every [`STEP`]. A
//!   model that refuses packets (a policer) gets packets until it refuses one.
//! - Only one direction sends, so contention between the directions of a shared medium is not
//!   measured.

use std::sync::atomic::{AtomicBool, Ordering};

use measure::{Characterization, Deliveries, Probe};
use network::{
    Admission, Discipline, Ecn, Link, LinkConfig, LossConfig, Packet, QueueConfig, QueueLimit,
    Streams,
};
use scenario::{FULL_PACKET, PathModel};
use units::{Duration, Instant};

use crate::RunError;
use crate::channel::{PATH_STREAMS, router_stream};

/// How often the queue is refilled.
const STEP: Duration = Duration::from_millis(1);
/// The backlog in time at the mean rate, and at least in packets. Both exceed what a model serves
/// in a step, or looks ahead.
const BACKLOG: Duration = Duration::from_millis(200);
const BACKLOG_PACKETS: u64 = 1000;
/// Most packets recorded. A measurement of a faster link ends earlier, and reports when.
const MOST_DELIVERIES: usize = 4_000_000;
/// How long to wait for the last probe. A probe that takes longer counts as lost.
const PATIENCE: Duration = Duration::from_secs(600);
/// IP length of a probe: a ping with 56 bytes of data.
const PROBE: u32 = 84;

/// Measures `path` for `span`, with a probe every `every`.
///
/// # Errors
/// [`RunError::Cancelled`] when `cancel` became true.
pub fn characterize(
    path: &PathModel,
    seed: u64,
    span: Duration,
    every: Duration,
    cancel: &AtomicBool,
) -> Result<Characterization, RunError> {
    let streams = Streams::new(seed);
    let mut deliveries = Vec::new();
    for direction in [Direction::Forward, Direction::Reverse] {
        deliveries.extend(backlogged(path, direction, &streams, span, cancel)?);
    }
    let sent = probe_times(span, every);
    let mut there: Vec<(usize, Instant)> = sent.iter().copied().enumerate().collect();
    for router in &path.routers {
        let rng = streams.stream(&router_stream(&router.link));
        there = pass(Link::new(&router.link, rng), there, cancel)?;
    }
    let both = [&path.forward, &path.reverse];
    there = pass(Direction::Forward.link(both, &streams), there, cancel)?;
    let back = pass(
        Direction::Reverse.link(both, &streams),
        there.clone(),
        cancel,
    )?;
    let mut probes: Vec<Probe> = sent
        .iter()
        .map(|at| Probe {
            time_s: at.as_secs_f64(),
            ..Probe::default()
        })
        .collect();
    let mut arrived = vec![Instant::ZERO; sent.len()];
    for (number, at) in there {
        probes[number].forward_s = Some((at - sent[number]).as_secs_f64());
        arrived[number] = at;
    }
    for (number, at) in back {
        probes[number].reverse_s = Some((at - arrived[number]).as_secs_f64());
    }
    Ok(Characterization { deliveries, probes })
}

fn probe_times(span: Duration, every: Duration) -> Vec<Instant> {
    let every = every.max(Duration::from_nanos(1));
    let count = span.as_nanos().div_ceil(every.as_nanos());
    (0..count.min(MOST_DELIVERIES as u64))
        .map(|number| Instant::ZERO + every * number)
        .collect()
}

/// A direction of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Forward,
    Reverse,
}

impl Direction {
    /// The link as in a run with the same seed. The other direction of a shared medium is idle.
    fn link(self, configs: [&LinkConfig; 2], streams: &Streams) -> Link<usize> {
        let rngs = PATH_STREAMS.map(|name| streams.stream(name));
        let [forward, reverse] = Link::pair(configs, rngs);
        match self {
            Self::Forward => forward,
            Self::Reverse => reverse,
        }
    }
}

fn packet(size: u32, payload: usize) -> Packet<usize> {
    Packet {
        size,
        flow: 0,
        ecn: Ecn::NotEct,
        payload,
    }
}

/// The deliveries of a saturated link; `None` if its rate is unlimited.
fn backlogged(
    path: &PathModel,
    direction: Direction,
    streams: &Streams,
    span: Duration,
    cancel: &AtomicBool,
) -> Result<Option<Deliveries>, RunError> {
    let config = match direction {
        Direction::Forward => &path.forward,
        Direction::Reverse => &path.reverse,
    };
    let Some(rate) = config.service.mean_rate() else {
        return Ok(None);
    };
    let bare = LinkConfig {
        queue: QueueConfig {
            limit: QueueLimit::Unlimited,
            discipline: Discipline::DropTail,
        },
        loss: LossConfig::None,
        reordering: None,
        delay: Duration::ZERO,
        ..config.clone()
    };
    let mut link = match direction {
        Direction::Forward => direction.link([&bare, &path.reverse], streams),
        Direction::Reverse => direction.link([&path.forward, &bare], streams),
    };
    let packet_bytes = FULL_PACKET + link.overhead();
    let backlog = rate.bytes_in(BACKLOG).get() / u64::from(packet_bytes);
    let backlog = backlog.clamp(BACKLOG_PACKETS, MOST_DELIVERIES as u64);
    let end = Instant::ZERO + span;
    let mut found = Deliveries {
        link: config.name.clone(),
        packet_bytes,
        ..Deliveries::default()
    };
    let mut now = Instant::ZERO;
    loop {
        stop(cancel)?;
        while let Some((due, _)) = link.pop(now) {
            found.time_s.push(due.as_secs_f64());
        }
        if now >= end || found.time_s.len() >= MOST_DELIVERIES {
            break;
        }
        let (waiting, _) = link.queue_len(now);
        for _ in waiting..backlog {
            stop(cancel)?;
            if link.push(now, packet(FULL_PACKET, 0)) != Admission::Accepted {
                break;
            }
        }
        now = end.min(now + STEP);
    }
    found.end_s = now.as_secs_f64();
    Ok(Some(found))
}

/// Offers `arrivals` to a link and returns the packets that leave it, with their times.
fn pass(
    mut link: Link<usize>,
    arrivals: Vec<(usize, Instant)>,
    cancel: &AtomicBool,
) -> Result<Vec<(usize, Instant)>, RunError> {
    let mut last = Instant::ZERO;
    let mut out = Vec::with_capacity(arrivals.len());
    let take = |link: &mut Link<usize>, now, out: &mut Vec<(usize, Instant)>| {
        while let Some((due, packet)) = link.pop(now) {
            out.push((packet.payload, due));
        }
    };
    for (number, at) in arrivals {
        stop(cancel)?;
        take(&mut link, at, &mut out);
        let _ = link.push(at, packet(PROBE, number));
        last = at;
    }
    // The limit is needed because a server may stall for good, and a medium has events forever.
    while let Some(next) = link.next_event().filter(|next| *next <= last + PATIENCE) {
        stop(cancel)?;
        take(&mut link, next, &mut out);
    }
    Ok(out)
}

fn stop(cancel: &AtomicBool) -> Result<(), RunError> {
    if cancel.load(Ordering::Relaxed) {
        return Err(RunError::Cancelled);
    }
    Ok(())
}
