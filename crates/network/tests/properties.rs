//! Random links under random arrivals: comparison with a naive server, and invariants.

use crate::common;

use std::collections::VecDeque;
use std::sync::Arc;

use common::{assert_conserved, bare, build, fixed, packet, pop_all};
use network::access::cellular::{
    BlockConfig, BlockageConfig, CellConfig, CellularConfig, ChannelConfig, DrxConfig, Duplex,
    FadingConfig, GrantsConfig, HsdpaConfig, Length, OutageConfig, ReducedConfig, RrcConfig,
    SleepConfig, UmtsUplinkConfig,
};
use network::{
    AccessConfig, Admission, Discipline, GilbertElliott, JitterConfig, JitterDistribution,
    LinkConfig, LossConfig, QueueLimit, RandomAboveConfig, Service, TraceConfig, VaryingConfig,
};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rate};

/// The results of the naive server: admissions, departures `(nanosecond, number)`, the integral of
/// the queue length, the nanoseconds in which it was busy, and the largest queue.
#[derive(Debug, Default, PartialEq)]
struct Outcome {
    taken: Vec<bool>,
    departures: Vec<(u64, u64)>,
    area: u64,
    busy: u64,
    longest: u64,
}

/// A server that steps through nanoseconds, and through packets within one. A packet leaves at the
/// start of the nanosecond in which it is finished, and passes the rest of its work to the next one
/// if that arrives before the nanosecond ends. Work is in bits x 10^9.
fn naive(
    rate_at: &dyn Fn(u64) -> u64,
    limit: QueueLimit,
    overhead: u32,
    arrivals: &[(u64, u32)],
    end: u64,
) -> Outcome {
    let mut outcome = Outcome::default();
    let mut queue: VecDeque<(u64, u64)> = VecDeque::new();
    let mut serving: Option<(u64, u64)> = None;
    let mut arrivals = (0..).zip(arrivals).peekable();
    for now in 0..end {
        let rate = rate_at(now);
        let mut debt = 0;
        let mut finish = |serving: &mut Option<(u64, u64)>, queue: &mut VecDeque<(u64, u64)>| {
            while let Some((number, work)) = *serving {
                if work >= rate && work > 0 {
                    break;
                }
                outcome.departures.push((now, number));
                debt = work;
                *serving = queue
                    .pop_front()
                    .map(|(number, bytes)| (number, bytes * 8_000_000_000 + debt));
            }
        };
        finish(&mut serving, &mut queue);
        while let Some((number, (_, size))) = arrivals.next_if(|(_, (at, _))| *at == now) {
            let bytes = u64::from(size + overhead);
            let room = match limit {
                QueueLimit::Unlimited => true,
                QueueLimit::Packets(most) => (queue.len() as u64) < most,
                QueueLimit::Bytes(most) => {
                    queue.iter().map(|(_, bytes)| bytes).sum::<u64>() + bytes <= most.get()
                }
            };
            outcome.taken.push(serving.is_none() || room);
            if serving.is_none() {
                serving = Some((number, bytes * 8_000_000_000 + debt));
                // It may finish within this nanosecond; the rest is then the debt.
                if let Some((_, work)) = serving
                    && (work < rate || work == 0)
                {
                    outcome.departures.push((now, number));
                    debt = work;
                    serving = None;
                }
            } else if room {
                queue.push_back((number, bytes));
                outcome.longest = outcome.longest.max(queue.len() as u64);
            }
        }
        outcome.area += queue.len() as u64;
        outcome.busy += u64::from(serving.is_some());
        if let Some((_, work)) = &mut serving {
            *work -= rate;
        }
    }
    outcome
}

fn compare(
    config: &LinkConfig,
    rate_at: &dyn Fn(u64) -> u64,
    arrivals: &[(u64, u32)],
) -> Result<(), TestCaseError> {
    const END: u64 = 3000;
    let mut link = build(config);
    let mut taken = Vec::new();
    for (number, (at, size)) in (0..).zip(arrivals) {
        let admission = link.push(Instant::from_nanos(*at), packet(*size, number));
        taken.push(admission == Admission::Accepted);
    }
    // The naive server's last nanosecond begins at END - 1.
    let departures = pop_all(&mut link, Instant::from_nanos(END - 1))
        .into_iter()
        .map(|(due, packet)| (due.as_nanos(), packet.payload))
        .collect();
    let end = Instant::from_nanos(END);
    let outcome = Outcome {
        taken,
        departures,
        area: (link.queue_mean_packets(end) * END as f64).round() as u64,
        busy: link.busy_time(end).as_nanos(),
        longest: link.queue_max_packets(),
    };
    prop_assert_eq!(
        outcome,
        naive(rate_at, config.queue.limit, config.overhead, arrivals, END)
    );
    assert_conserved(&link);
    Ok(())
}

fn limits() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        Just(QueueLimit::Unlimited),
        (0_u64..6).prop_map(QueueLimit::Packets),
        (0_u64..200).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
    ]
}

/// Arrivals within 2000 ns, with bursts.
fn arrivals(packets: usize) -> impl Strategy<Value = Vec<(u64, u32)>> {
    let gap = prop_oneof![Just(0_u64), 0_u64..10, 0_u64..200];
    prop::collection::vec((gap, 1_u32..60), 1..packets).prop_map(|gaps| {
        let mut at = 0;
        let arrivals = gaps.into_iter().map(move |(gap, size)| {
            at += gap;
            (at, size)
        });
        arrivals.filter(|(at, _)| *at < 2000).collect()
    })
}

/// A rate at which such packets take from less than one to some hundred nanoseconds.
fn rates() -> impl Strategy<Value = u64> {
    prop_oneof![
        1_000_000_000_u64..40_000_000_000,
        1_000_000_000_u64..1_000_000_000_000
    ]
}

fn jitters() -> impl Strategy<Value = Option<JitterConfig>> {
    let distribution = prop_oneof![
        Just(JitterDistribution::Uniform),
        Just(JitterDistribution::Exponential),
        Just(JitterDistribution::Sine {
            period: Duration::from_millis(200)
        }),
        prop::collection::vec(0_u64..50_000, 0..20).prop_map(|micros| {
            JitterDistribution::Recorded {
                additions: micros.into_iter().map(Duration::from_micros).collect(),
            }
        }),
    ];
    let jitter =
        (0_u64..50_000, distribution, 0_u64..5_000).prop_map(|(amount, distribution, slot)| {
            JitterConfig {
                amount: Duration::from_micros(amount),
                distribution,
                slot: Duration::from_micros(slot),
            }
        });
    prop::option::of(jitter)
}

fn services() -> impl Strategy<Value = Service> {
    let rate = || {
        (3_u32..38)
            .prop_flat_map(|bits| 1_u64 << bits..2 << bits)
            .prop_map(Rate::from_bits_per_sec)
    };
    let step = (0_u64..50, prop_oneof![Just(Rate::ZERO), rate()]);
    let steps = prop::collection::vec(step, 0..5).prop_map(|steps| Service::Steps {
        steps: steps
            .into_iter()
            .map(|(ms, rate)| (Duration::from_millis(ms), rate))
            .collect(),
    });
    let fast = (20_u32..38)
        .prop_flat_map(|bits| 1_u64 << bits..2 << bits)
        .prop_map(Rate::from_bits_per_sec);
    let varying = (fast, 0.0..2.0, 0_u64..500, 0_u64..50, 1_u64..4).prop_map(
        |(mean, variation, correlation, slot, factor)| {
            Service::Varying(VaryingConfig {
                mean,
                variation,
                correlation: Duration::from_millis(correlation),
                slot: Duration::from_millis(slot),
                peak: mean.mul_div(factor, 2),
            })
        },
    );
    let trace = (prop::collection::vec(0_u32..20, 0..9), any::<bool>()).prop_map(
        |(mut opportunities_ms, repeat)| {
            opportunities_ms.sort_unstable();
            Service::Trace(Arc::new(TraceConfig {
                opportunities_ms,
                repeat,
            }))
        },
    );
    prop_oneof![
        Just(Service::Unlimited),
        rate().prop_map(Service::Fixed),
        steps,
        varying,
        trace,
        cellular(),
    ]
}

fn cellular() -> impl Strategy<Value = Service> {
    let rate = (13_u32..34).prop_flat_map(|bits| 1_u64 << bits..2 << bits);
    let millis = || (0_u64..3_000).prop_map(Duration::from_millis);
    let outages = (millis(), millis(), 0.0..2.0).prop_map(|(every, median, sigma)| OutageConfig {
        every,
        length: Length::LogNormal {
            median,
            sigma,
            most: median * 3,
        },
    });
    let fading = (
        rate,
        0.0..2.0,
        0.0..1.0,
        (millis(), millis(), millis()),
        prop::option::of(outages),
    )
        .prop_map(
            |(mean, spread, fast, (tau_fast, tau_slow, grid), outages)| FadingConfig {
                mean: Rate::from_bits_per_sec(mean),
                spread,
                fast,
                tau_fast,
                tau_slow,
                grid,
                peak: Rate::from_bits_per_sec(mean.saturating_mul(3)),
                outages,
            },
        );
    let blocks = (0.0..1.0, 0.0..1.0, 0_u32..9, millis(), 0.0..1.0).prop_map(
        |(error, again, transmissions, retry, residual)| BlockConfig {
            error,
            again,
            transmissions,
            retry,
            residual,
            recovery: (retry, retry * 2),
        },
    );
    let cell = (
        (0_u32..300, 0_u32..9, 0_u32..12, 0_u32..300),
        (
            -30.0..60.0,
            0.0..20.0,
            prop_oneof![Just(0.0), 0.0..500.0],
            0_u32..10,
        ),
        (millis(), millis(), millis(), millis()),
        any::<(bool, bool, bool)>(),
    );
    (
        0..6,
        fading,
        blocks,
        cell,
        (1_u64..20).prop_map(Duration::from_millis),
        millis(),
        0.0..1.0,
    )
        .prop_map(|(which, fading, blocks, cell, tti, latency, discard)| {
            let (spans, flags) = (cell.2, cell.3);
            let sleep = |after, least, most| SleepConfig {
                after,
                promotion: (least, most),
            };
            let rrc = flags.0.then_some(RrcConfig {
                drx: flags.1.then_some(DrxConfig {
                    after: spans.0,
                    cycle: spans.1,
                }),
                fach: flags.2.then_some(sleep(spans.2, spans.3, spans.1)),
                idle: sleep(spans.3, spans.0, spans.2),
                begins_connected: flags.1,
            });
            let config = match which {
                0 => CellularConfig::Reduced(ReducedConfig {
                    fading,
                    tti,
                    blocks,
                    latency,
                    rrc,
                }),
                1 => CellularConfig::Hsdpa(HsdpaConfig {
                    fading,
                    block: 400 + fading.mean.bits_per_sec() as u32 % 80_000,
                    horizon: tti,
                    blocks,
                    latency,
                    discard,
                    rrc,
                }),
                3 => CellularConfig::Cell({
                    let (sizes, channel, spans, flags) = cell;
                    let (prbs, layers, users, window) = sizes;
                    let (sinr_db, shadow_db, doppler_hz, antennas) = channel;
                    CellConfig {
                        slot: tti,
                        duplex: if flags.0 { Duplex::Tdd } else { Duplex::Fdd },
                        prbs,
                        layers,
                        channel: ChannelConfig {
                            sinr_db,
                            shadow_db,
                            shadow_tau: spans.0,
                            doppler_hz,
                            antennas,
                        },
                        report: (spans.1, spans.2),
                        sinr_spread_db: shadow_db,
                        users,
                        more_users: users % 5,
                        on: spans.3,
                        off: spans.0,
                        window,
                        blocks,
                        latency,
                        outages: flags.1.then_some(CellConfig::HANDOVERS),
                        blockage: flags.2.then_some(BlockageConfig {
                            free: spans.1,
                            blocked: spans.2,
                            factor: discard,
                        }),
                        rrc,
                        mean: fading.mean,
                    }
                }),
                4 => CellularConfig::Grants(GrantsConfig {
                    rate: fading.mean,
                    request: cell.2.0,
                    wait: cell.2.1,
                    every: tti,
                    prepare: cell.2.2,
                    blocks,
                    latency,
                }),
                _ => CellularConfig::UmtsUplink(UmtsUplinkConfig {
                    rate: fading.mean,
                    tti,
                    blocks,
                    latency,
                }),
            };
            Service::Access(Arc::new(AccessConfig::Cellular(Box::new(config))))
        })
}

fn losses() -> impl Strategy<Value = LossConfig> {
    prop_oneof![
        Just(LossConfig::None),
        (0.0..1.0).prop_map(LossConfig::Bernoulli),
        (0.0..1.0, 0.0..1.0, 0.0..1.0, 0.0..0.5).prop_map(|(p, r, bad_loss, good_loss)| {
            LossConfig::GilbertElliott(GilbertElliott {
                p,
                r,
                bad_loss,
                good_loss,
            })
        }),
    ]
}

fn links() -> impl Strategy<Value = LinkConfig> {
    let limit = prop_oneof![
        Just(QueueLimit::Unlimited),
        (0_u64..50).prop_map(QueueLimit::Packets),
        (0_u64..50_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
    ];
    let discipline = prop_oneof![
        Just(Discipline::DropTail),
        (0.0..1.0, 0.0..1.0).prop_map(|(fill, probability)| Discipline::RandomAbove(
            RandomAboveConfig { fill, probability }
        )),
    ];
    (
        services(),
        limit,
        discipline,
        losses(),
        jitters(),
        0_u32..40,
        0_u64..100,
    )
        .prop_map(
            |(service, limit, discipline, loss, jitter, overhead, delay)| {
                let mut config = bare(service);
                config.queue.limit = limit;
                config.queue.discipline = discipline;
                config.loss = loss;
                config.jitter = jitter;
                config.overhead = overhead;
                config.delay = Duration::from_millis(delay);
                config
            },
        )
}

/// Runs a link by its own events: departures, and the invariants on the way.
fn drive(
    config: &LinkConfig,
    arrivals: &[(u64, u32)],
) -> Result<Vec<(Instant, u64)>, TestCaseError> {
    let mut link = build(config);
    let mut out: Vec<(Instant, u64)> = Vec::new();
    let mut arrivals = (0..).zip(arrivals).peekable();
    // Packets due after a minute stay inside.
    let end = Instant::from_secs(60);
    let mut now = Instant::ZERO;
    loop {
        let arrival = arrivals
            .peek()
            .map(|(_, (at, _))| Instant::from_micros(*at));
        let event = link.next_event().filter(|event| *event <= end);
        let Some(next) = [arrival, event].into_iter().flatten().min() else {
            break;
        };
        prop_assert!(next >= now, "an event in the past");
        // Just before the event nothing is delivered.
        if let Some(before) = next.as_nanos().checked_sub(1).map(Instant::from_nanos)
            && before >= now
        {
            prop_assert_eq!(link.pop(before).map(|(due, _)| due), None);
        }
        now = next;
        while let Some((due, packet)) = link.pop(now) {
            prop_assert_eq!(due, now, "an event was late");
            if let Some((last_due, last)) = out.last() {
                prop_assert!(due >= *last_due && packet.payload > *last);
            }
            out.push((due, packet.payload));
        }
        if arrival == Some(now) {
            let (number, (_, size)) = arrivals.next().expect("peeked");
            let _ = link.push(now, packet(*size, number));
        }
        let (packets, bytes) = link.queue_len(now);
        prop_assert!(packets <= link.held() && packets <= link.queue_max_packets());
        match config.queue.limit {
            QueueLimit::Unlimited => {}
            QueueLimit::Packets(most) => prop_assert!(packets <= most),
            QueueLimit::Bytes(most) => prop_assert!(bytes <= most),
        }
        prop_assert!(link.busy_time(now) <= now - Instant::ZERO);
        assert_conserved(&link);
    }
    let utilization = link.utilization(now);
    prop_assert!((0.0..=1.0).contains(&utilization));
    Ok(out)
}

proptest! {
    #[test]
    fn a_fixed_rate_is_as_the_naive_server(
        rate in rates(), limit in limits(), overhead in 0_u32..20, arrivals in arrivals(80),
    ) {
        let mut config = bare(fixed(rate));
        config.queue.limit = limit;
        config.overhead = overhead;
        compare(&config, &|_| rate, &arrivals)?;
    }

    #[test]
    fn steps_are_as_the_naive_server(
        steps in prop::collection::vec((0_u64..60, prop_oneof![Just(0), rates()]), 1..6),
        limit in limits(),
        arrivals in arrivals(60),
    ) {
        let cycle: Vec<u64> = steps.iter().flat_map(|(span, rate)| vec![*rate; *span as usize]).collect();
        let mut config = bare(Service::Steps {
            steps: steps.iter().map(|(span, rate)| (Duration::from_nanos(*span), Rate::from_bits_per_sec(*rate))).collect(),
        });
        config.queue.limit = limit;
        let rate_at = |now: u64| if cycle.is_empty() { 0 } else { cycle[now as usize % cycle.len()] };
        compare(&config, &rate_at, &arrivals)?;
    }

    #[test]
    fn every_link_keeps_order_and_conserves_packets(
        config in links(),
        gaps in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..2_000, 0_u64..500_000], 0_u32..3000), 1..120),
    ) {
        let mut at = 0;
        let arrivals: Vec<_> = gaps.into_iter().map(|(gap, size)| { at += gap; (at, size) }).collect();
        let out = drive(&config, &arrivals)?;
        prop_assert_eq!(&out, &drive(&config, &arrivals)?, "the same seed");
    }

    /// Two senders meet the same channel: with full queues of packets of different sizes a link of
    /// varying rate has carried the same bytes at any time, up to a packet.
    #[test]
    fn a_varying_link_does_not_depend_on_its_packets(
        seed_rate in 1_000_000_u64..100_000_000, sizes in (40_u32..1500, 40_u32..1500), start in 0_u64..500,
    ) {
        let config = bare(Service::Varying(VaryingConfig {
            mean: Rate::from_bits_per_sec(seed_rate),
            variation: 0.6,
            correlation: Duration::from_millis(100),
            slot: Duration::from_millis(10),
            peak: Rate::MAX,
        }));
        // Each is saturated from `start` to a second; the second one carries a packet before that.
        let carried = |size: u32, early: bool| {
            let mut link = build(&config);
            if early {
                let _ = link.push(Instant::ZERO, packet(1, 0));
                prop_assume!(link.busy_until() < Instant::from_millis(start));
            }
            while link.busy_until() < Instant::from_secs(1) {
                let _ = link.push(Instant::from_millis(start), packet(size, 0));
            }
            let out = pop_all(&mut link, Instant::from_secs(1));
            Ok(out.iter().map(|(_, packet)| u64::from(packet.size)).sum::<u64>())
        };
        let (one, other) = (carried(sizes.0, false)?, carried(sizes.1, true)?);
        prop_assert!(one.abs_diff(other) <= u64::from(sizes.0.max(sizes.1)) + 1, "{one} {other}");
    }
}
