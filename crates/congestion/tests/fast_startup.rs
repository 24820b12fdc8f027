//! Start-ups that estimate, use saved state or jump: values computed by hand from the rules in
//! their module heads.

mod startup_support;

use congestion::startup::rapid_start::{Draft, Threshold};
use congestion::startup::stateful::GapCompensated;
use congestion::startup::{
    Best, BestConfig, Fbe, FbeConfig, PacketPair, PacketPairConfig, RapidStart, RapidStartConfig,
    Stateful, StatefulConfig,
};
use congestion::{Ack, CongestionKind, Established, ExitReason, PathMemory, Startup, Step, Window};
use startup_support::{SMSS, ack, at, congestion, established, micros, segments, window};
use units::{Bytes, Duration, Instant, Rate};

const MS: u64 = 1_000;

/// ACKs of one flight of segments sent together at zero: the first after `rtt`, the others after
/// these spacings, all in microseconds.
fn flight(rtt: u64, spacings: &[u64], smss: Bytes) -> Vec<Ack> {
    let mut now = rtt;
    let mut una = 0;
    let end = smss.get() * (spacings.len() as u64 + 1);
    [0].iter()
        .chain(spacings)
        .map(|spacing| {
            now += spacing;
            una += smss.get();
            Ack {
                snd_nxt: end,
                min_rtt: micros(rtt),
                ..ack(at(now), smss, una, Some(micros(now)))
            }
        })
        .collect()
}

/// 1500-byte packets, spacing 1.2 ms, smallest RTT 600 ms: 10 Mbit/s, 500 packets; and the same for
/// spacings of 1.0, 1.2 and 4.8 ms, whose median is 1.2 ms.
#[test]
fn packet_pairs_set_the_threshold() {
    let smss = Bytes::new(1_500);
    let path = Window {
        smss,
        cwnd: smss * 10,
        ..window(10)
    };
    for spacings in [[1_200, 1_200, 1_200], [1_000, 1_200, 4_800]] {
        let mut startup = PacketPair::new(PacketPairConfig::default(), Instant::ZERO, 0);
        for ack in flight(600 * MS, &spacings, smss) {
            assert_eq!(startup.on_delivery(&ack, &path), None);
        }
        assert_eq!(startup.threshold(), Some(smss * 500), "{spacings:?}");
    }
    // Two pairs are too few.
    let mut startup = PacketPair::new(PacketPairConfig::default(), Instant::ZERO, 0);
    for ack in flight(600 * MS, &[1_200, 1_200], smss) {
        startup.on_delivery(&ack, &path);
    }
    assert_eq!(startup.threshold(), None);
}

#[test]
fn packet_pairs_end_slow_start_at_their_threshold() {
    let smss = Bytes::new(1_500);
    let mut path = Window {
        smss,
        cwnd: smss * 10,
        ..window(10)
    };
    let mut startup = PacketPair::new(PacketPairConfig::default(), Instant::ZERO, 0);
    let acks = flight(600 * MS, &[1_200; 3], smss);
    for ack in &acks {
        startup.on_delivery(ack, &path);
    }
    path.cwnd = smss * 498;
    let one = acks[0];
    assert_eq!(startup.on_ack(&one, &path), Step::Grow(smss));
    path.cwnd = smss * 499;
    let reason = ExitReason::Bandwidth {
        estimate: Rate::from_bits_per_sec(10_000_000),
        min_rtt: micros(600 * MS),
    };
    let expected = Step::Exit {
        cwnd: smss * 500,
        ssthresh: smss * 500,
        reason,
    };
    assert_eq!(startup.on_ack(&one, &path), expected);
    // A loss ends the initial slow start, and with it the threshold.
    startup.on_congestion(&congestion(CongestionKind::Loss, 0));
    assert_eq!(startup.on_ack(&one, &path), Step::Grow(smss));
}

#[test]
fn segments_sent_apart_are_not_a_pair() {
    let mut startup = PacketPair::new(PacketPairConfig::default(), Instant::ZERO, 0);
    let path = window(10);
    for index in 0..10 {
        // Each left 51 us after the previous one.
        let now = 100 * MS + 1_200 * index;
        let mut one = ack(
            at(now),
            SMSS,
            SMSS.get() * (index + 1),
            Some(micros(now - 51 * index)),
        );
        one.snd_nxt = SMSS.get() * 10;
        startup.on_delivery(&one, &path);
    }
    assert_eq!(startup.threshold(), None);
}

/// The median of sixteen dispersions; nothing below a window of sixteen segments or sixteen
/// samples; the exit when the window reaches the threshold.
#[test]
fn best_needs_sixteen_of_both() {
    let smss = Bytes::new(1_500);
    let at_window = |segments: u64| Window {
        smss,
        cwnd: smss * segments,
        ..window(1)
    };
    let acks = flight(120 * MS, &[1_200; 20], smss);
    let mut startup = Best::new(BestConfig::default(), Instant::ZERO, 0);
    for ack in &acks[..16] {
        assert_eq!(startup.on_delivery(ack, &at_window(40)), None);
    }
    assert_eq!(startup.threshold(), None, "fifteen pairs");
    assert_eq!(startup.on_delivery(&acks[16], &at_window(15)), None);
    assert_eq!(startup.threshold(), None, "fifteen segments");
    assert_eq!(startup.on_delivery(&acks[17], &at_window(16)), None);
    // 10 Mbit/s in 120 ms: 100 packets.
    assert_eq!(startup.threshold(), Some(smss * 100));
    assert_eq!(startup.on_delivery(&acks[18], &at_window(99)), None);
    let step = startup.on_delivery(&acks[19], &at_window(100));
    assert!(
        matches!(step, Some(Step::Exit { cwnd, ssthresh, .. }) if cwnd == smss * 100 && ssthresh == cwnd),
        "{step:?}"
    );
}

/// The patent's rule: half RTTs that deliver 10, 20, 40, 49, 50 ... segments. After 40 none reaches
/// 5/4 of the best before it, so the third of them ends slow start. (A period begins with the first
/// ACK, shortly after the ones counted here.)
#[test]
fn best_by_periods_ends_after_three_flat_ones() {
    let mut startup = Best::new(BestConfig { period: true }, Instant::ZERO, 0);
    let path = window(64);
    let mut steps = Vec::new();
    for (index, count) in [10, 20, 40, 49, 50, 50, 50].into_iter().enumerate() {
        for part in 0..count {
            let now = 50_000 * index as u64 + 50_000 * (part + 1) / count;
            let mut one = ack(at(now), SMSS, 0, Some(micros(100_000)));
            one.min_rtt = micros(100_000);
            steps.push((index, startup.on_delivery(&one, &path)));
        }
    }
    let ended = steps
        .iter()
        .position(|(_, step)| step.is_some())
        .expect("the path is full");
    assert_eq!(steps[ended].0, 6);
}

/// Chunks whose ACKs arrive 1.2 ms apart agree at once; an aggregate does not raise the rate.
#[test]
fn fbe_agrees_on_refined_intervals() {
    let smss = Bytes::new(1_500);
    let path = Window {
        smss,
        cwnd: smss * 10,
        ..window(10)
    };
    let mut spacings = vec![1_200; 7];
    spacings.extend([1_200; 8]);
    let mut startup = Fbe::new(FbeConfig::default(), Instant::ZERO, 0);
    for ack in flight(120 * MS, &spacings, smss) {
        startup.on_delivery(&ack, &path);
    }
    assert_eq!(startup.threshold(), Some(smss * 100));
    // The second chunk ends with an aggregate: intervals of 2.4 ms, zero and 1.2 ms.
    let mut startup = Fbe::new(FbeConfig::default(), Instant::ZERO, 0);
    spacings = vec![
        1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 1_200, 2_400, 0, 1_200, 1_200,
        1_200, 1_200,
    ];
    for ack in flight(120 * MS, &spacings, smss) {
        startup.on_delivery(&ack, &path);
    }
    assert_eq!(startup.threshold(), Some(smss * 100));
}

/// ACKs spaced like the segments show the rate of the sender, not of the path.
#[test]
fn fbe_does_not_measure_its_own_pace() {
    let mut startup = Fbe::new(FbeConfig::default(), Instant::ZERO, 0);
    let path = window(10);
    for index in 0..64 {
        let now = 100 * MS + 1_200 * index;
        startup.on_delivery(&ack(at(now), SMSS, 0, Some(micros(100 * MS))), &path);
    }
    assert_eq!(startup.threshold(), None);
}

/// 8081 kbit/s, where bytes divided by time give 4044.
#[test]
fn gap_compensation_removes_the_longest_gap() {
    let mut estimator = GapCompensated::default();
    for tenth_ms in [0, 12, 24, 136, 148, 160, 172, 401] {
        estimator.on_ack(at(tenth_ms * 100), Bytes::new(2_896));
    }
    assert_eq!(estimator.elapsed(), micros(40_100));
    let rate = estimator.estimate(SMSS).expect("enough came");
    assert_eq!(rate * 8 / 1_000, 8_081);
    let mut few = GapCompensated::default();
    for now in [0, 1_200, 2_400] {
        few.on_ack(at(now), Bytes::new(2_896));
    }
    assert_eq!(few.estimate(SMSS), None, "three ACKs are too few");
}

#[test]
fn stateful_jumps_to_the_saved_bdp() {
    for (rate, rtt_us, jump) in [
        (1_250_000, 100_000, Some(86)),
        (1_250_000, 10_000, None),
        (12_500_000, 50_000, Some(431)),
        (200_000, 60_000, None),
    ] {
        let config = StatefulConfig {
            rate,
            min_rtt: micros(rtt_us),
            ..StatefulConfig::default()
        };
        let mut startup = Stateful::new(config, Instant::ZERO, 0);
        let step = startup.on_established(&established(PathMemory::default(), rtt_us), &window(10));
        assert_eq!(step, jump.map(|count| Step::Set(segments(count))));
        assert_eq!(startup.pacing().is_some(), jump.is_some());
        let pace = jump.map(|_| Rate::from_bytes_per_sec(rate));
        assert_eq!(startup.pacing().map(|pace| pace.rate), pace);
    }
}

/// The first ACK among eleven with more than five segments in flight ends the jump; otherwise the
/// twelfth does.
#[test]
fn a_stateful_jump_ends_with_inflight_as_window() {
    let config = StatefulConfig {
        rate: 1_250_000,
        min_rtt: micros(100_000),
        ..StatefulConfig::default()
    };
    let jumping = || {
        let mut startup = Stateful::new(config, Instant::ZERO, 0);
        startup.on_established(&established(PathMemory::default(), 100_000), &window(10));
        startup
    };
    let with = |in_flight: u64| Ack {
        in_flight: segments(in_flight),
        ..ack(at(100_000), SMSS, SMSS.get(), Some(micros(100_000)))
    };
    let mut startup = jumping();
    assert_eq!(startup.on_delivery(&with(5), &window(86)), None);
    assert_eq!(
        startup.on_ack(&with(5), &window(86)),
        Step::Grow(Bytes::ZERO)
    );
    let step = startup.on_delivery(&with(85), &window(86));
    assert_eq!(step, Some(Step::Set(segments(85))));
    assert!(startup.pacing().is_none());
    assert_eq!(startup.on_ack(&with(85), &window(85)), Step::Grow(SMSS));

    let mut startup = jumping();
    assert_eq!(
        startup.on_delivery(&with(6), &window(86)),
        Some(Step::Set(segments(10)))
    );
    let mut startup = jumping();
    for _ in 0..11 {
        assert_eq!(startup.on_delivery(&with(5), &window(86)), None);
    }
    let step = startup.on_delivery(&with(5), &window(86));
    assert_eq!(step, Some(Step::Set(segments(10))));
}

/// A connection jumps to what the previous one saved, unless that is too old.
#[test]
fn stateful_saves_the_largest_of_its_last_samples() {
    let first = {
        let mut startup = Stateful::new(StatefulConfig::default(), Instant::ZERO, 0);
        // Nine ACKs of four segments, 4.6336 ms apart: 10 Mbit/s over an RTT of 40 ms.
        for index in 0..40_u64 {
            let now = Instant::from_nanos(100_000_000 + 4_633_600 * index);
            let one = ack(now, segments(4), 0, Some(micros(40_000)));
            startup.observe(&one, &window(40));
        }
        startup
    };
    let mut memory = PathMemory::default();
    let mut kept = memory.lend();
    assert_eq!(kept, memory, "nothing is measured yet");
    first.on_close(at(1_000_000), &mut kept);
    memory = kept;
    let jump = |config: StatefulConfig, now: u64| {
        let start = Established {
            now: at(now),
            ..established(memory, 40_000)
        };
        Stateful::new(config, Instant::ZERO, 0).on_established(&start, &window(10))
    };
    // 1.25 MB/s in 40 ms: 34.5 segments.
    let config = StatefulConfig::default();
    assert_eq!(jump(config, 999_000_000), Some(Step::Set(segments(34))));
    let ageing = StatefulConfig {
        lifetime: Duration::from_secs(300),
        ..config
    };
    assert_eq!(jump(ageing, 301_000_000), Some(Step::Set(segments(34))));
    assert_eq!(jump(ageing, 301_000_001), None);
    let half = StatefulConfig {
        part: 500,
        ..config
    };
    assert_eq!(jump(half, 1), Some(Step::Set(segments(17))));
}

/// The largest RTT that shows no queue, in exact microseconds.
#[test]
fn rapid_start_thresholds() {
    for (rtt_us, draft, code) in [
        (10_000, 11_000, 14_000),
        (20_000, 22_000, 24_000),
        (39_000, 42_900, 43_000),
        (40_000, 44_000, 44_000),
        (41_000, 45_000, 45_000),
        (100_000, 104_000, 109_375),
        (600_000, 604_000, 656_250),
    ] {
        let largest = |threshold| {
            let config = RapidStartConfig {
                threshold,
                ..RapidStartConfig::default()
            };
            config.largest_rtt(micros(rtt_us)).as_micros()
        };
        assert_eq!(largest(Threshold::Draft), draft);
        assert_eq!(largest(Threshold::Code), code);
    }
}

/// The factors of section 3.3.1 of -02 and of -00, and what remains after a loss of this part of 18
/// million bytes, in millionths.
#[test]
fn rapid_start_losses() {
    let before = 18_000_000_u64;
    for (draft, beta, silence, ack, ends) in [
        // 5/6 and 1/3; 9/10 and 1/5.
        (
            Draft::V02,
            500,
            15_000,
            6_000,
            [500_000, 375_000, 333_333, 166_667],
        ),
        (
            Draft::V02,
            700,
            16_200,
            3_600,
            [700_000, 525_000, 466_667, 233_333],
        ),
        // 29/36 and 11/36; 53/60 and 11/60.
        (
            Draft::V00,
            500,
            14_500,
            5_500,
            [500_000, 375_000, 333_333, 166_667],
        ),
        (
            Draft::V00,
            700,
            15_900,
            3_300,
            [700_000, 525_000, 466_667, 233_333],
        ),
    ] {
        let config = RapidStartConfig {
            draft,
            beta,
            ..RapidStartConfig::default()
        };
        assert_eq!(config.shares(), (silence, ack));
        let lost_parts = [0, before / 4, before / 3, before / 3 * 2];
        for (lost, end) in lost_parts.into_iter().zip(ends) {
            let left = config.reduced(
                Bytes::new(before),
                Bytes::new(before - lost),
                Bytes::new(lost),
            );
            let millionths = left.get() / 18;
            assert!(millionths.abs_diff(end) <= 1, "{beta} {lost}: {millionths}");
        }
        // At least a third of beta remains.
        let least = config.reduced(Bytes::new(before), Bytes::ZERO, Bytes::new(before));
        assert_eq!(least.get() / 18, ends[3] - u64::from(beta == 500));
    }
}

/// Appendix A of -02: of three BDPs in flight two are lost. The sender resumes when what is in flight
/// equals the window: after `1 - beta` of the full BDP was delivered, and with `K = 11/18` later.
#[test]
fn rapid_start_is_silent_for_one_minus_beta() {
    const BDP: u64 = 1_000_000;
    for (draft, beta, silent) in [
        (Draft::V02, 500, 500_000),
        (Draft::V02, 700, 300_000),
        (Draft::V02, 850, 150_000),
        (Draft::V00, 500, 538_462),
        (Draft::V00, 700, 333_334),
    ] {
        let config = RapidStartConfig {
            draft,
            beta,
            ..RapidStartConfig::default()
        };
        let may_send = |acked: u64| {
            let cwnd = config.reduced(
                Bytes::new(3 * BDP),
                Bytes::new(acked),
                Bytes::new(2 * acked),
            );
            cwnd.get() >= 3 * (BDP - acked)
        };
        let resumes = (0..=BDP).find(|&acked| may_send(acked));
        let off = resumes.map(|acked| acked.abs_diff(silent));
        assert!(
            off.is_some_and(|off| off <= 2),
            "{draft:?} {beta}: {resumes:?}"
        );
    }
}

/// Section 3.3: the sender may stop the reduction at beta times the initial window.
#[test]
fn rapid_start_may_keep_beta_initial_windows() {
    for (keep_initial, left) in [(false, 4), (true, 7)] {
        let config = RapidStartConfig {
            keep_initial,
            ..RapidStartConfig::default()
        };
        let mut startup = RapidStart::new(config, Instant::ZERO, 0);
        startup.on_established(&established(PathMemory::default(), 100_000), &window(10));
        startup.on_congestion(&congestion(CongestionKind::Loss, 0));
        let jump = startup.jump_starts().expect("it responds to the loss");
        let reduced = jump.take_over(&congestion(CongestionKind::Loss, 0), &window(20));
        assert_eq!(reduced.map(|reduced| reduced.cwnd), Some(segments(18)));
        let one = Ack {
            newly_lost: segments(14),
            delivered: segments(6),
            ..ack(at(200_000), SMSS, 0, None)
        };
        assert_eq!(jump.on_recovery_ack(&one, &window(18)), segments(left));
    }
}

#[test]
fn rapid_start_triples_until_a_queue_shows() {
    let old = RapidStartConfig {
        draft: Draft::V00,
        ..RapidStartConfig::default()
    };
    triples(RapidStartConfig::default());
    triples(old);
}

fn triples(config: RapidStartConfig) {
    let mut startup = RapidStart::new(config, Instant::ZERO, 0);
    let step = startup.on_established(&established(PathMemory::default(), 100_000), &window(10));
    assert_eq!(step, Some(Step::Set(segments(20))));
    let pace = startup.pacing().expect("the first window is paced").rate;
    assert_eq!(pace.bytes_per_sec(), SMSS.get() * 200);
    let round = |startup: &mut RapidStart, number: u64, rtt_us: u64| {
        let one = Ack {
            min_rtt: micros(100_000),
            snd_nxt: segments(20 * (number + 1)).get(),
            ..ack(
                at(100_000 * number),
                SMSS,
                segments(20 * number).get(),
                Some(micros(rtt_us)),
            )
        };
        startup.on_delivery(&one, &window(20));
        startup.on_ack(&one, &window(20))
    };
    assert_eq!(round(&mut startup, 1, 100_000), Step::Grow(segments(2)));
    assert_eq!(
        startup.pacing().map(|pace| pace.rate),
        None,
        "the first window has left"
    );
    assert_eq!(round(&mut startup, 2, 104_000), Step::Grow(segments(2)));
    assert_eq!(round(&mut startup, 3, 104_001), Step::Grow(segments(1)));
    assert_eq!(round(&mut startup, 4, 100_000), Step::Grow(segments(2)));
}

/// The forecast's logarithm and its inverse agree within their resolution.
#[test]
fn the_forecasts_logarithm_is_inverted() {
    use congestion::startup::forecast::{exp2, log2};
    for (value, logarithm) in [(0, 0), (1, 0), (2, 256), (3, 384), (4, 512), (1_000, 2_548)] {
        assert_eq!(log2(value), logarithm);
    }
    for power in 0..55_u32 {
        for part in 0..256_u64 {
            let value = (256 + part) << power >> 8;
            assert!(exp2(log2(value)) <= value && exp2(log2(value) + 1) >= value);
        }
    }
    assert_eq!(exp2(-1), 1);
    assert!(exp2(i64::MAX) <= 1 << 63);
}

/// The network gives a result for any observations.
#[test]
fn a_forecast_of_anything_is_a_number() {
    use congestion::startup::forecast::{Observed, TrainedOn};
    for extreme in [0, 1, u64::from(u32::MAX)] {
        for times in [[0; 20], [u64::from(u32::MAX); 20]] {
            let observed = Observed {
                rtts: [extreme; 20],
                times,
                acked: u64::MAX,
                in_flight: extreme,
            };
            for trained in [TrainedOn::Fixed, TrainedOn::Varying] {
                assert!(observed.kbit_per_second(trained) > 0);
            }
        }
    }
}
