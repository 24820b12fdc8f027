//! Random events: the core and the simulator's code answer every one of them alike.

use conformance::{Driver, Event, Header, Kind};
use congestion::{Algorithm, BuildContext, CongestionControl};
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};

use crate::core::{Compiled, CoreSubject};

const SMSS: Bytes = Bytes::new(1_448);

/// What happens next; what is impossible then is passed over.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// Send what the window allows, but no more than this many segments.
    Send(u64),
    /// An ACK for this many segments, after so many microseconds, with this sample.
    Ack {
        segments: u64,
        after: u64,
        rtt: Option<u64>,
        flags: u8,
    },
    /// The next segments are SACKed, and the head is lost.
    Lose {
        segments: u64,
    },
    Resend,
    Mark,
    Timeout,
    /// Nothing happens for so many microseconds.
    Wait(u64),
}

fn operation(base: u64) -> impl Strategy<Value = Operation> {
    let ack = (
        1..60_u64,
        prop_oneof![0..base / 8, 0..base * 3],
        prop_oneof![
            1 => Just(None),
            20 => (base..base + base / 2).prop_map(Some),
            1 => (0..base * 8).prop_map(Some),
        ],
        any::<u8>(),
    );
    let ack = ack.prop_map(|(segments, after, rtt, flags)| Operation::Ack {
        segments,
        after,
        rtt,
        flags,
    });
    prop_oneof![
        40 => ack,
        30 => Just(Operation::Send(u64::MAX)),
        3 => (1..20_u64).prop_map(Operation::Send),
        1 => (1..9_u64).prop_map(|segments| Operation::Lose { segments }),
        1 => Just(Operation::Resend),
        1 => Just(Operation::Timeout),
        1 => (0..400_000_u64).prop_map(Operation::Wait),
        1 => prop_oneof![9 => Just(Operation::Wait(1)), 1 => Just(Operation::Mark)],
    ]
}

/// A connection: its round-trip time in microseconds, and what happens.
fn connection() -> impl Strategy<Value = (u64, Vec<Operation>)> {
    prop_oneof![Just(8), 1_000..20_000_u64, Just(100_000), Just(600_000)].prop_flat_map(|base| {
        prop::collection::vec(operation(base), 1..400)
            .prop_map(move |operations| (base, operations))
    })
}

fn algorithm() -> impl Strategy<Value = String> {
    let search = (
        prop::sample::select(vec!["2.0", "3.1", "4.0"]),
        prop::sample::select(vec!["plain", "rollback", "drain"]),
        prop::sample::select(vec!["version", "10", "26", "0", "35", "45"]),
        prop::sample::select(vec!["keep", "reset"]),
        1..4_u32,
    );
    let search = search.prop_map(|(version, exit, threshold, missed, alpha)| {
        let threshold = match threshold {
            "version" => String::new(),
            percent => format!("threshold={percent},"),
        };
        format!(
            "reno+search:version={version},exit={exit},{threshold}missed={missed},alpha={alpha},arithmetic=percent"
        )
    });
    let forms = prop::sample::select(vec!["rfc", "patch"]);
    let hystart = (1..10_u32, 1..6_u32, 1..6_u32, 1..12_u32, forms);
    let hystart = hystart.prop_map(|(samples, divisor, rounds, limit, form)| {
        format!(
            "reno+hystart++:n_rtt_sample={samples},css_growth_divisor={divisor},css_rounds={rounds},limit={limit},form={form}"
        )
    });
    let paper = (any::<bool>(), any::<bool>());
    let paper = paper.prop_map(|(train, delay)| {
        format!("reno+hystart:variant=paper,train={train},delay={delay}")
    });
    let suss = (prop::sample::select(vec!["code", "talk"]), 0..11_u32);
    let suss = suss.prop_map(|(form, max)| format!("reno+suss:form={form},max={max}"));
    let hz = || prop::sample::select(vec![100, 250, 300, 1000]);
    let bic = (hz(), any::<bool>(), any::<bool>());
    let bic = bic.prop_map(|(hz, fast, delayed)| {
        format!("bic:hz={hz},fast_convergence={fast},delayed_ack={delayed}+standard")
    });
    let westwood = hz().prop_map(|hz| format!("westwood:hz={hz}+standard"));
    prop_oneof![3 => search, 1 => hystart, 1 => paper, 2 => suss, 1 => bic, 1 => westwood]
}

/// The event that an operation is now, if it is possible.
fn event(operation: Operation, now: &mut Instant, driver: &Driver, cwnd: Bytes) -> Option<Event> {
    let flight = driver.flight();
    let outstanding = (flight.snd_nxt() - flight.snd_una()) / SMSS.get();
    let sacked = flight.sacked().segments(SMSS);
    let kind = match operation {
        Operation::Send(most) => {
            let room = cwnd.saturating_sub(flight.in_flight()).segments(SMSS);
            let segments = room.min(most).min(20_000);
            (segments > 0).then_some(Kind::Send {
                size: SMSS * segments,
            })
        }
        Operation::Ack {
            segments,
            after,
            rtt,
            flags,
        } => {
            if outstanding == 0 {
                return None;
            }
            *now += Duration::from_micros(after);
            let segments = (segments + sacked).min(outstanding);
            let above = sacked.min(outstanding - segments);
            Some(Kind::Ack {
                cumulative: flight.snd_una() + SMSS.get() * segments,
                sacked: SMSS * above.saturating_sub(segments),
                lost: Bytes::ZERO,
                rtt: rtt.map(Duration::from_micros),
                window_limited: flags & 15 != 0,
                app_limited: flags >> 4 == 0,
                sample: None,
                feedback: None,
            })
        }
        Operation::Lose { segments } => Some(Kind::Ack {
            cumulative: flight.snd_una(),
            sacked: SMSS
                * (sacked + segments)
                    .min(outstanding.saturating_sub(1))
                    .max(sacked),
            lost: SMSS,
            rtt: Some(Duration::from_micros(100_000)),
            window_limited: true,
            app_limited: false,
            sample: None,
            feedback: None,
        }),
        Operation::Resend => (!flight.waiting().is_zero()).then_some(Kind::Resend { size: SMSS }),
        Operation::Mark => Some(Kind::Mark),
        Operation::Timeout => (outstanding > 0).then_some(Kind::Timeout),
        Operation::Wait(micros) => {
            *now += Duration::from_micros(micros);
            None
        }
    };
    Some(Event {
        now: *now,
        kind: kind?,
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(32) })]

    #[test]
    fn the_core_and_the_simulator_answer_alike(
        connections in prop::collection::vec((algorithm(), connection(), any::<bool>()), 16)
    ) {
        let Some(core) = Compiled::new() else { return Ok(()) };
        for (algorithm, (base, operations), paced) in connections {
            let header = Header {
                title: String::new(),
                source: String::new(),
                form: String::new(),
                algorithm: algorithm.clone(),
                smss: SMSS,
                initial_window: SMSS * 10,
                paced,
                pacing_rate: None,
            };
            let mut ours = Algorithm::parse(&algorithm).expect("known").build(BuildContext {
                now: Instant::ZERO,
                smss: SMSS,
                initial_window: header.initial_window,
                seed: 1,
                handshake_rtt: None,
            });
            let mut theirs = CoreSubject::new(&core, &header);
            let (mut our_driver, mut their_driver) = (Driver::new(&header), Driver::new(&header));
            let mut now = Instant::from_millis(1);
            for (number, operation) in operations.into_iter().enumerate() {
                let cwnd = ours.window().cwnd;
                let Some(event) = event(operation, &mut now, &our_driver, cwnd) else { continue };
                let Ok(expected) = our_driver.apply(&event, &mut ours) else { continue };
                let actual = their_driver.apply(&event, &mut theirs);
                prop_assert_eq!(
                    Ok(expected), actual,
                    "event {} of {} at {} us: {:?}", number, algorithm, base, event
                );
            }
        }
    }
}
