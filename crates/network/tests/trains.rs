//! Trains of packets, the short ways of plain links, and their counted queue: the same answers as
//! with one packet after the other over the general stage.

use crate::common;

use std::sync::Arc;

use common::{bare, build};
use network::{
    AccessConfig, Admission, CoDelConfig, Counters, Discipline, Dropped, Ecn, FqCoDelConfig,
    JitterConfig, JitterDistribution, Link, LinkConfig, LossConfig, Packet, Payload, PieConfig,
    QueueLimit, RandomAboveConfig, RedConfig, Sample, Service, Summary, TraceConfig,
};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant, Rate};

/// What a test does with a link, after a pause in nanoseconds.
#[derive(Clone, Copy, Debug)]
enum Step {
    Push(u32),
    Train(u32, u32),
    /// At most so many packets that are due.
    Pop(usize),
    /// The same with a bound so much earlier than now, where that changes nothing else.
    PopBefore(usize, u64),
    Advance,
    Queue,
    Sample,
    Summary,
    BusyPeriods,
}

/// All that a link says of itself without advancing.
#[derive(Debug, PartialEq)]
struct Words {
    counters: Counters,
    held: u64,
    next: Option<Instant>,
    first_due: Instant,
    busy: (u64, Option<Instant>, Instant, Option<(Instant, Instant)>),
    busy_time: Duration,
    longest: u64,
    first_packet: Option<Instant>,
    front_left: Option<(Instant, u64)>,
}

fn words(link: &Link<u64>, now: Instant) -> Words {
    let next = link.next_event();
    Words {
        counters: link.counters(),
        held: link.held(),
        next,
        first_due: link.first_due(),
        busy: (
            link.busy_periods(),
            link.busy_since(now),
            link.busy_until(),
            link.last_busy_period(now),
        ),
        busy_time: link.busy_time(now),
        longest: link.queue_max_packets(),
        first_packet: link.first_packet(),
        front_left: link.front_left(),
    }
}

/// What a step returns.
#[derive(Debug, PartialEq)]
enum Answer {
    Accepted(u32),
    Popped(Vec<(Instant, Packet<u64>)>),
    Queue((u64, Bytes)),
    Sample(Sample),
    Summary(Summary, Option<Bytes>),
    Periods(Vec<(Instant, Instant)>),
    Nothing,
}

fn data(size: u32, number: u64) -> Packet<u64> {
    Packet {
        size,
        flow: size % 3,
        ecn: Ecn::Ect,
        payload: number,
    }
}

/// Takes the step on `link`, with the short ways or without them.
fn take(link: &mut Link<u64>, now: Instant, number: u64, step: Step, short: bool) -> Answer {
    match step {
        Step::Push(size) => Answer::Accepted(u32::from(
            link.push(now, data(size, number)) == Admission::Accepted,
        )),
        Step::Train(size, count) if short => {
            Answer::Accepted(link.push_train(now, data(size, number), count))
        }
        Step::Train(size, count) => {
            let packets = (0..u64::from(count)).map(|k| data(size, number + k));
            let accepted = packets.filter(|packet| link.push(now, *packet) == Admission::Accepted);
            Answer::Accepted(accepted.count() as u32)
        }
        Step::Pop(most) => {
            let packets = core::iter::from_fn(|| link.pop(now));
            Answer::Popped(packets.take(most).collect())
        }
        Step::PopBefore(most, ago) => {
            let ago = if link.decides_late() { 0 } else { ago };
            let bound = (now.as_nanos() + 1).saturating_sub(ago);
            if short && number.is_multiple_of(2) && !link.decides_late() {
                return Answer::Popped(pop_together(link, Instant::from_nanos(bound), most));
            }
            let packets = core::iter::from_fn(|| {
                if short {
                    link.receive(Instant::from_nanos(bound.checked_sub(1)?));
                    link.pop_before(Instant::from_nanos(bound))
                } else {
                    link.pop(Instant::from_nanos(bound.checked_sub(1)?))
                }
            });
            Answer::Popped(packets.take(most).collect())
        }
        Step::Advance => {
            link.advance(now);
            Answer::Nothing
        }
        Step::Queue => Answer::Queue(link.queue_len(now)),
        Step::Sample => Answer::Sample(link.sample(now)),
        Step::Summary => Answer::Summary(link.summary(now), link.capacity(now)),
        Step::BusyPeriods => {
            Answer::Periods(core::iter::from_fn(|| link.take_busy_period()).collect())
        }
    }
}

/// Pops at most so many packets that are due before `bound`, those of a train at once.
fn pop_together(link: &mut Link<u64>, bound: Instant, most: usize) -> Vec<(Instant, Packet<u64>)> {
    let mut popped = Vec::new();
    while popped.len() < most && link.first_due() < bound {
        let entry = link
            .entry()
            .filter(|_| link.has_train() || most.is_multiple_of(2));
        if let Some((mut train, &front)) = entry {
            while popped.len() < most && train.due() < bound {
                let payload = front.payload.following(train.number());
                popped.push((train.due(), Packet { payload, ..front }));
                train.pass();
            }
            link.pass(&train, front.size);
        } else if let Some(&front) = link.front() {
            popped.push((link.first_due(), front));
            link.drop_front();
        } else {
            popped.extend(link.pop_before(bound));
        }
    }
    popped
}

/// The same link, which takes every packet through the general stage: its jitter is zero.
fn general(config: &LinkConfig) -> LinkConfig {
    let mut config = config.clone();
    config.jitter.get_or_insert(JitterConfig {
        amount: Duration::ZERO,
        distribution: JitterDistribution::Recorded {
            additions: Arc::from([]),
        },
        slot: Duration::from_millis(1),
    });
    config
}

fn compare(config: &LinkConfig, steps: &[(u64, Step)]) -> Result<(), TestCaseError> {
    let mut links = [build(config), build(config), build(&general(config))];
    for link in &mut links {
        link.keep_busy_periods(Duration::from_nanos(500));
    }
    let shortest = links[0].shortest_delay();
    let (mut now, mut number) = (Instant::ZERO, 0);
    let mut pushed: Vec<Instant> = Vec::new();
    for (pause, step) in steps {
        now += Duration::from_nanos(*pause);
        let [trains, singles, general] = &mut links;
        let answer = take(trains, now, number, *step, true);
        prop_assert_eq!(
            &answer,
            &take(singles, now, number, *step, false),
            "{:?}",
            step
        );
        prop_assert_eq!(
            &answer,
            &take(general, now, number, *step, false),
            "{:?}",
            step
        );
        prop_assert_eq!(words(trains, now), words(singles, now), "{:?}", step);
        prop_assert_eq!(words(trains, now), words(general, now), "{:?}", step);
        let dropped = |link: &mut Link<u64>| -> Vec<Dropped<u64>> {
            core::iter::from_fn(|| link.take_dropped()).collect()
        };
        let lost = dropped(trains);
        prop_assert_eq!(&lost, &dropped(singles));
        prop_assert_eq!(&lost, &dropped(general));
        common::assert_conserved(trains);
        match step {
            Step::Push(_) => pushed.push(now),
            Step::Train(_, count) => pushed.extend((0..*count).map(|_| now)),
            _ => {}
        }
        number = pushed.len() as u64;
        if let Answer::Popped(packets) = answer {
            for (due, packet) in packets {
                prop_assert!(due >= pushed[packet.payload as usize] + shortest);
            }
        }
    }
    Ok(())
}

fn services() -> impl Strategy<Value = Service> {
    let fixed = prop_oneof![
        1_000_000_u64..1_000_000_000,
        1_000_000_000_u64..1_000_000_000_000,
        1_u64..u64::MAX,
    ];
    let trace = TraceConfig {
        opportunities_ms: vec![0, 1, 1, 3],
        repeat: true,
    };
    let step = |millis, rate| (Duration::from_millis(millis), Rate::from_bits_per_sec(rate));
    let models = prop::sample::select(AccessConfig::described());
    prop_oneof![
        12 => fixed.prop_map(|rate| Service::Fixed(Rate::from_bits_per_sec(rate))),
        4 => Just(Service::Unlimited),
        1 => Just(Service::Fixed(Rate::ZERO)),
        1 => Just(Service::Trace(Arc::new(trace))),
        1 => Just(Service::Steps {
            steps: Arc::from([step(1, 50_000_000), step(2, 0), step(3, 1_000_000_000)]),
        }),
        3 => models.prop_map(|model| Service::Access(Arc::new(model))),
    ]
}

fn disciplines() -> impl Strategy<Value = Discipline> {
    prop_oneof![
        12 => Just(Discipline::DropTail),
        1 => (0.0..1.0, 0.0..1.0)
            .prop_map(|(fill, probability)| Discipline::RandomAbove(RandomAboveConfig { fill, probability })),
        1 => Just(Discipline::CoDel(CoDelConfig::default())),
        1 => Just(Discipline::FqCoDel(FqCoDelConfig::default())),
        1 => Just(Discipline::Pie(PieConfig::default())),
        1 => Just(Discipline::Red(RedConfig::default())),
    ]
}

fn links() -> impl Strategy<Value = LinkConfig> {
    let limit = prop_oneof![
        Just(QueueLimit::Unlimited),
        (0_u64..50).prop_map(QueueLimit::Packets),
        (0_u64..50_000).prop_map(|bytes| QueueLimit::Bytes(Bytes::new(bytes))),
    ];
    let loss = prop_oneof![
        6 => Just(LossConfig::None),
        1 => (0.0..0.5).prop_map(LossConfig::Bernoulli),
    ];
    let jitter = prop_oneof![
        6 => Just(None),
        1 => Just(Some(JitterConfig {
            amount: Duration::from_millis(1),
            distribution: JitterDistribution::Uniform,
            slot: Duration::from_micros(20),
        })),
    ];
    let delay = prop_oneof![Just(0_u64), 0_u64..2_000, 0_u64..50_000_000];
    (
        services(),
        limit,
        disciplines(),
        loss,
        jitter,
        0_u32..40,
        delay,
    )
        .prop_map(
            |(service, limit, discipline, loss, jitter, overhead, delay)| {
                let mut config = bare(service);
                config.queue.limit = limit;
                config.queue.discipline = discipline;
                config.loss = loss;
                config.jitter = jitter;
                config.overhead = overhead;
                config.delay = Duration::from_nanos(delay);
                config
            },
        )
}

fn steps() -> impl Strategy<Value = Vec<(u64, Step)>> {
    let size = || prop_oneof![4 => Just(1500_u32), 1 => Just(52), 1 => 0_u32..3000];
    let most = || prop_oneof![1_usize..4, Just(usize::MAX)];
    let step = prop_oneof![
        4 => size().prop_map(Step::Push),
        6 => (size(), prop_oneof![0_u32..4, 0_u32..60]).prop_map(|(size, count)| Step::Train(size, count)),
        4 => most().prop_map(Step::Pop),
        4 => (most(), prop_oneof![Just(0_u64), 0_u64..100_000]).prop_map(|(most, ago)| Step::PopBefore(most, ago)),
        1 => Just(Step::Advance),
        2 => Just(Step::Queue),
        1 => Just(Step::Sample),
        1 => Just(Step::Summary),
        1 => Just(Step::BusyPeriods),
    ];
    // Pauses from none to many packets' times, at any of the rates.
    let pause = prop_oneof![
        3 => Just(0_u64),
        2 => 0_u64..30,
        4 => 0_u64..20_000,
        3 => 0_u64..2_000_000,
        1 => 0_u64..100_000_000,
    ];
    prop::collection::vec((pause, step), 1..150)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn every_link_answers_as_with_single_packets(config in links(), steps in steps()) {
        compare(&config, &steps)?;
    }

    #[test]
    fn plain_links_answer_as_with_single_packets(
        rate in prop_oneof![1_000_000_u64..1_000_000_000, 1_000_000_000_u64..1_000_000_000_000],
        limit in 0_u64..100,
        delay in prop_oneof![Just(0_u64), 0_u64..2_000, 0_u64..5_000_000],
        steps in steps(),
    ) {
        let mut config = bare(common::fixed(rate));
        config.queue.limit = QueueLimit::Packets(limit);
        config.delay = Duration::from_nanos(delay);
        config.overhead = 14;
        compare(&config, &steps)?;
    }

    /// The caller keeps the packets: the same drops, and the same due times in the same order, each
    /// later than the arrival.
    #[test]
    fn a_link_serves_packets_that_its_caller_keeps_as_its_own(
        rate in prop_oneof![
            1 => Just(None),
            3 => (1_000_000_u64..1_000_000_000).prop_map(Some),
            3 => (1_000_000_000_u64..200_000_000_000).prop_map(Some),
        ],
        limit in 0_u64..20,
        delay in prop_oneof![Just(0), 0_u64..5_000_000],
        packets in prop::collection::vec((prop_oneof![Just(0_u64), 0_u64..200_000], 20_u32..3000), 1..100),
    ) {
        let mut config = bare(rate.map_or(Service::Unlimited, common::fixed));
        config.queue.limit = QueueLimit::Packets(limit);
        config.delay = Duration::from_nanos(delay);
        let [mut own, mut lent] = [build(&config), build(&config)];
        let can_send = rate.map_or(delay > 0, |rate| rate <= 160_000_000_000);
        prop_assert_eq!(lent.can_send(), can_send);
        prop_assume!(can_send);
        let (mut now, mut dues) = (Instant::ZERO, Vec::new());
        for (number, (pause, size)) in (0..).zip(packets) {
            now += Duration::from_nanos(pause);
            let accepted = own.push(now, data(size, number)) == Admission::Accepted;
            let leaves = lent.send(now, size);
            prop_assert_eq!(leaves.is_some(), accepted);
            let due = leaves.map(|at| at + lent.delay());
            prop_assert!(due.is_none_or(|due| due > now));
            dues.extend(due.map(|due| (due, size)));
        }
        prop_assert!(dues.is_sorted_by_key(|(due, _)| *due));
        let arrived = dues.partition_point(|(due, _)| *due <= now);
        for (due, size) in dues.drain(..arrived) {
            let popped = own.pop(now).map(|(at, packet)| (at, packet.size));
            prop_assert_eq!(popped, Some((due, size)));
        }
        for (_, size) in dues {
            lent.recall(size);
        }
        prop_assert!(lent.counters().conserve(lent.held()));
        let numbers = |link: &Link<u64>| Words { next: None, first_due: Instant::ZERO, ..words(link, now) };
        prop_assert_eq!(numbers(&lent), numbers(&own));
        prop_assert_eq!(lent.summary(now), own.summary(now));
    }
}
