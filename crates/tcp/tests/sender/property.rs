//! Random paths: the counters stay consistent and every transfer completes.

use proptest::prelude::*;
use tcp::{AckPolicy, LossDetection};
use testing::random::Random;
use units::{Duration, Instant};

use super::support::{Faults, Path, config};

fn faults() -> impl Strategy<Value = Faults> {
    let down = prop_oneof![3 => Just((0, 0)), 1 => (50_u64..400, 0_u64..900).prop_map(|(from, len)| (from, from + len))];
    (
        any::<u64>(),
        0_u64..80,
        0_u64..50,
        0_u64..100,
        0_u64..60_000,
        down,
    )
        .prop_map(|(seed, loss, duplicate, reorder, extra, down)| Faults {
            random: Random::new(seed),
            loss,
            duplicate,
            reorder,
            extra,
            down,
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn every_transfer_completes_and_the_counters_agree(
        forward in faults(),
        backward in faults(),
        algorithm in prop_oneof![Just("cubic"), Just("reno+standard"), Just("cubic+standard"), Just("reno+hystart++"), Just("bbr"), Just("westwood+standard+rate-halving"), Just("cubic:version=2.1+standard+rate-halving")],
        bytes in prop_oneof![1_u64..3_000, 1_u64..1_000_000],
        writes in 1_u64..4,
        pacing in any::<bool>(),
        tso in prop_oneof![Just(1_u32), Just(45)],
        every in any::<bool>(),
        sack in any::<bool>(),
        impatient in any::<bool>(),
        fack in any::<bool>(),
        byte_counting in any::<bool>(),
        buffer in prop_oneof![Just(1_u64), Just(50), Just(5_000)],
        receive_buffer in prop_oneof![Just(20_000_u64), Just(6_000_000)],
        packet_time in prop_oneof![Just(20_u64), Just(1_000)],
    ) {
        let mut config = config(algorithm);
        config.pacing = pacing;
        config.tso_segments = tso;
        config.sack = sack;
        config.impatient = impatient;
        config.byte_counting = byte_counting;
        if fack {
            config.loss_detection = LossDetection::Fack;
        }
        let policy = if every { AckPolicy::EverySegment } else { AckPolicy::Delayed };
        let mut path = Path::new(config, policy, receive_buffer, forward, backward);
        path.buffer = buffer;
        path.packet_time = Duration::from_micros(packet_time);
        path.sender.open(Instant::ZERO);
        let mut left = bytes;
        for write in 0..writes {
            let part = if write + 1 == writes { left } else { left / 2 };
            left -= part;
            path.sender.write(path.now, part);
            for _ in 0..200 {
                if !path.step() { break; }
                check(&path)?;
            }
        }
        // The FIN takes a sequence number only if it leaves alone.
        let fin = u64::from(path.sender.snd_nxt() == bytes);
        path.sender.close();
        while !path.sender.is_complete() {
            prop_assert!(path.step(), "no event is pending: {:?}", path.sender.stats());
            prop_assert!(
                path.now < Instant::from_secs(3_600),
                "the transfer took an hour: {:?}",
                path.sender.stats()
            );
            prop_assert!(path.events < 2_000_000, "livelock");
            check(&path)?;
        }
        prop_assert_eq!(path.sender.snd_una(), bytes + fin);
        prop_assert_eq!(path.sender.stats().bytes_acked, bytes);
        prop_assert_eq!(path.receiver.delivered().get(), bytes);
        prop_assert!(path.receiver.finished_at().is_some());
        prop_assert_eq!(path.sender.segments_out(), 0);
        prop_assert!(path.sender.bytes_in_flight().is_zero());
    }
}

fn check(path: &Path) -> Result<(), TestCaseError> {
    let sender = &path.sender;
    prop_assert!(sender.is_consistent(), "{:?}", sender.stats());
    let stats = sender.stats();
    prop_assert!(stats.bytes_acked <= stats.bytes_sent);
    prop_assert!(stats.segments_retransmitted <= stats.segments_sent);
    prop_assert!(sender.window().cwnd >= sender.window().smss);
    Ok(())
}
