//! Random conversations over paths with faults: everything arrives, both FINs are acknowledged, and
//! nothing blocks.

use proptest::prelude::*;
use tcp::{LossDetection, SenderConfig};
use testing::random::Random;
use units::{Bytes, Duration, Instant};

use super::support::*;

fn exchanges() -> impl Strategy<Value = Vec<Exchange>> {
    let bytes = || prop_oneof![2 => 1_u64..3_000, 1 => 1_u64..60_000, 1 => Just(14_480_u64)];
    let think = prop_oneof![3 => Just(0_u64), 2 => 1_u64..300, 1 => 1_000_u64..20_000];
    prop::collection::vec(
        (bytes(), prop_oneof![4 => bytes(), 1 => Just(0_u64)], think)
            .prop_map(|(request, response, think)| Exchange::new(request, response, think)),
        1..8,
    )
}

fn faults() -> impl Strategy<Value = Faults> {
    let rare = || prop_oneof![1 => Just(0_u64), 1 => 0_u64..30, 1 => 0_u64..200];
    (any::<u64>(), rare(), rare(), rare(), rare()).prop_map(
        |(seed, loss, duplicate, reorder, marks)| Faults {
            random: Random::new(seed),
            loss,
            duplicate,
            reorder,
            marks,
        },
    )
}

fn config() -> impl Strategy<Value = SenderConfig> {
    (
        prop::sample::select(
            &[
                "cubic",
                "reno",
                "bbr",
                "cubic+rapid-start",
                "cubic+jump-start",
            ][..],
        ),
        any::<bool>(),
        prop_oneof![Just(1_u32), Just(45)],
        prop::bool::weighted(0.1),
        any::<bool>(),
        prop_oneof![4 => Just(1_448_u32), 1 => Just(100_u32), 1 => Just(536)],
    )
        .prop_map(|(algorithm, pacing, tso, fack, ecn, smss)| SenderConfig {
            pacing,
            tso_segments: tso,
            loss_detection: if fack {
                LossDetection::Fack
            } else {
                LossDetection::Rack
            },
            ecn,
            smss,
            ..sender_config(algorithm)
        })
}

/// Runs a connection to its end, and checks what must hold then.
fn check(path: &mut Duplex, exchanges: &[Exchange]) -> Result<(), TestCaseError> {
    path.open();
    let mut events = 0;
    while !(path.is_over() && path.all_is_read()) {
        let stats = path.hosts.each_ref().map(|host| *host.sender.stats());
        prop_assert!(path.step(), "no event is pending: {stats:?}");
        events += 1;
        prop_assert!(
            path.now < Instant::from_secs(50_000),
            "it takes hours: {stats:?}"
        );
        prop_assert!(events < 2_000_000, "livelock: {stats:?}");
    }
    let requests: u64 = exchanges.iter().map(|exchange| exchange.request).sum();
    let responses: u64 = exchanges.iter().map(|exchange| exchange.response).sum();
    for (from, to, bytes) in [(CLIENT, SERVER, requests), (SERVER, CLIENT, responses)] {
        let (sender, receiver) = (&path.hosts[from].sender, &path.hosts[to].receiver);
        prop_assert_eq!(sender.written(), bytes);
        prop_assert_eq!(sender.stats().bytes_acked, bytes);
        prop_assert_eq!(receiver.delivered(), Bytes::new(bytes));
        prop_assert!(receiver.finished_at().is_some());
        prop_assert_eq!(sender.segments_out(), 0);
        prop_assert!(sender.stats().bytes_sent >= bytes);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4 * ProptestConfig::default().cases, ..ProptestConfig::default() })]

    #[test]
    fn every_conversation_ends(
        configs in (config(), config()),
        sack in any::<bool>(),
        exchanges in exchanges(),
        faults in faults(),
        close in prop_oneof![Just(Close::AtLastWrite), Just(Close::AfterAll)],
        takes_bursts in any::<bool>(),
        prompt in any::<bool>(),
        delay in prop_oneof![Just(50_000_u64), 1_u64..400_000],
        slow in prop::option::weighted(0.3, (2_000_u64..200_000, 100_u64..100_000)),
    ) {
        let configs = [configs.0, configs.1].map(|config| SenderConfig {
            loss_detection: if sack { config.loss_detection } else { LossDetection::Rack },
            sack,
            ..config
        });
        let mut path = Duplex::new(configs, &exchanges).with(faults, close, takes_bursts);
        path.delay = Duration::from_micros(delay);
        if let Some((most, pause)) = slow {
            path = path.with_slow_readers(most, Duration::from_micros(pause));
        }
        if prompt {
            for host in &mut path.hosts {
                host.sender.send_promptly();
            }
        }
        check(&mut path, &exchanges)?;
    }

    /// Nothing of a connection is left in the next one that uses its memory.
    #[test]
    fn a_renewed_connection_is_a_new_one(
        configs in (config(), config()),
        first in exchanges(),
        second in exchanges(),
        faults in faults(),
        close in prop_oneof![Just(Close::AtLastWrite), Just(Close::AfterAll)],
    ) {
        let configs = [configs.0, configs.1];
        let mut used = Duplex::new(configs.clone(), &first)
            .with(faults.clone(), close, false)
            .with_slow_readers(20_000, Duration::from_millis(5));
        check(&mut used, &first)?;
        let mut hosts = used.hosts;
        for (host, config) in hosts.iter_mut().zip(&configs) {
            host.sender.renew(config);
            host.receiver.renew(receiver_config(true));
        }
        let mut renewed = Duplex::of(hosts, &second).with(faults.clone(), close, false);
        let mut new = Duplex::new(configs, &second).with(faults, close, false);
        check(&mut renewed, &second)?;
        check(&mut new, &second)?;
        prop_assert_eq!(renewed.log, new.log);
    }
}
