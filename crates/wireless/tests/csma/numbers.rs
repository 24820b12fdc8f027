//! Times and rates worked out from IEEE 802.15.4-2015.

use units::{Duration, Instant};
use wireless::adhoc::air::Frame;
use wireless::adhoc::mac::csma::timing::{ACK_PSDU, ACK_WAIT, airtime};
use wireless::adhoc::mac::csma::{CsmaConfig, bit_error_rate, frame_error_rate};
use wireless::adhoc::mac::{Mac as _, MacEvent};
use wireless::adhoc::mobility::Position;
use wireless::adhoc::propagation::{Propagation, RadioConfig, ReceptionModel};
use wireless::{DropCause, NodeId};

use crate::harness::{Net, no_capture, star};

const MICROS: fn(u64) -> Duration = Duration::from_micros;
const RUN: Duration = Duration::from_secs(100);
/// Standard deviation of the first backoff: uniform over eight periods of 320 us.
const BACKOFF_DEVIATION: f64 = 2.291_288 * 320e-6;

#[test]
fn airtimes_are_32_us_per_byte() {
    assert_eq!(airtime(127), MICROS(4256));
    assert_eq!(airtime(ACK_PSDU), MICROS(352));
    assert_eq!(airtime(51), MICROS(1824));
    assert_eq!(ACK_WAIT, MICROS(864));
}

/// Packets per second of one saturated sender, against a mean cycle, within four standard errors.
fn rate_of_cycle(config: &CsmaConfig, bytes: u32, cycle: f64) -> f64 {
    let mut net = Net::new(config, &no_capture(), &star(1), 1);
    net.saturate(1, bytes, RUN);
    let rate = net.tally.received as f64 / RUN.as_secs_f64();
    let error = BACKOFF_DEVIATION / cycle / (RUN.as_secs_f64() / cycle).sqrt();
    let expected = 1.0 / cycle;
    assert!(
        (rate / expected - 1.0).abs() < 4.0 * error,
        "{rate} packets/s, expected {expected} within {:.3} %",
        400.0 * error
    );
    println!(
        "{bytes} bytes: {rate} /s (expected {expected:.2}), {} bit/s",
        rate * f64::from(8 * bytes)
    );
    rate
}

#[test]
fn a_saturated_hop_carries_145_acknowledged_frames_a_second() {
    // Backoff 1120, assessment 128, turnaround 192, frame 4256, turnaround 192, ACK 352, space 640.
    let rate = rate_of_cycle(&CsmaConfig::DEFAULT, 116, 6.880e-3);
    assert!((rate - 145.3).abs() < 0.5);
    assert!((rate * 928.0 - 134_900.0).abs() < 500.0);
}

#[test]
fn a_saturated_hop_carries_158_frames_a_second_without_acknowledgements() {
    let config = CsmaConfig {
        ack: false,
        ..CsmaConfig::DEFAULT
    };
    let rate = rate_of_cycle(&config, 116, 6.336e-3);
    assert!((rate * 928.0 - 146_500.0).abs() < 500.0);
}

#[test]
fn frames_of_51_bytes_take_half_the_throughput_away() {
    let rate = rate_of_cycle(&CsmaConfig::DEFAULT, 40, 4.448e-3);
    assert!((rate * 320.0 - 71_900.0).abs() < 400.0);
}

#[test]
fn a_short_frame_is_followed_by_the_short_space() {
    // PSDUs of 18 and 19 bytes: airtimes of 768 and 800 us, spaces of 192 and 640 us.
    rate_of_cycle(&CsmaConfig::DEFAULT, 7, 2.944e-3);
    rate_of_cycle(&CsmaConfig::DEFAULT, 8, 3.424e-3);
}

#[test]
fn the_first_backoff_is_uniform_over_eight_periods() {
    let config = CsmaConfig {
        ack: false,
        ..CsmaConfig::DEFAULT
    };
    let mut net = Net::new(&config, &no_capture(), &star(1), 2);
    net.saturate(1, 116, RUN);
    let sent = net
        .log
        .iter()
        .filter(|(_, event)| matches!(event, MacEvent::Sent { .. }));
    let times: Vec<u64> = sent.map(|(at, _)| at.as_nanos()).collect();
    let mut counts = [0u32; 8];
    for pair in times.windows(2) {
        let backoff = pair[1] - pair[0] - MICROS(6336 - 1120).as_nanos();
        assert_eq!(backoff % 320_000, 0);
        counts[(backoff / 320_000) as usize] += 1;
    }
    let total = f64::from(counts.iter().sum::<u32>());
    let each = total / 8.0;
    for count in counts {
        // Four standard deviations of a binomial with 1/8.
        assert!(
            (f64::from(count) - each).abs() < 4.0 * (each * 7.0 / 8.0).sqrt(),
            "{counts:?}"
        );
    }
    let sum: f64 = counts
        .iter()
        .zip(0..)
        .map(|(n, k)| f64::from(*n) * f64::from(k))
        .sum();
    let mean = sum / total * 0.320;
    println!("mean first backoff {mean:.4} ms");
    assert!(
        (mean - 1.12).abs() < 4e3 * BACKOFF_DEVIATION / total.sqrt(),
        "{mean} ms"
    );
}

/// Sends packets while another node jams the channel; returns when each was given up.
fn jammed(config: &CsmaConfig, count: usize) -> Vec<f64> {
    let mut net = Net::new(config, &no_capture(), &star(2), 3);
    let jam = Frame {
        duration: Duration::from_secs(1_000_000),
        to: None,
        note: 0,
    };
    net.mac.air_mut().transmit(Instant::ZERO, NodeId(2), jam);
    let mut at = Instant::from_millis(1);
    let mut times = Vec::new();
    for handle in 0..count as u32 {
        net.send(at, 1, Some(0), 60, handle);
        net.finish();
        let (end, event) = *net.log.last().expect("a report");
        assert_eq!(
            event,
            MacEvent::Failed {
                node: NodeId(1),
                handle,
                cause: DropCause::ChannelBusy
            }
        );
        times.push(end.saturating_since(at).as_secs_f64());
        at = end;
    }
    times
}

#[test]
fn a_node_gives_up_a_busy_channel_after_at_most_37_4_ms() {
    let count = 20_000;
    let times = jammed(&CsmaConfig::DEFAULT, count);
    let longest = times.iter().copied().fold(0.0, f64::max);
    // 7 + 15 + 31 + 31 + 31 periods and five assessments. That all are the longest has a
    // probability of 2e-7; 100 periods are exceeded in 0.5 % of all cases.
    assert!(
        longest <= 37.44e-3 + 1e-9 && longest > 100.0 * 0.32e-3,
        "{longest}"
    );
    let mean = times.iter().sum::<f64>() / count as f64;
    // 57.5 periods on average; their variance is (63 + 255 + 3 * 1023) / 12.
    let deviation = (3387.0f64 / 12.0).sqrt() * 0.32e-3 / (count as f64).sqrt();
    println!("mean {:.3} ms, longest {:.3} ms", mean * 1e3, longest * 1e3);
    assert!((mean - 19.04e-3).abs() < 4.0 * deviation, "{mean}");
}

#[test]
fn the_backoff_follows_its_configuration() {
    // Windows of 1, 2 and 4 periods: between 3 assessments and 4 periods more.
    let config = CsmaConfig {
        min_be: 0,
        max_backoffs: 2,
        ..CsmaConfig::DEFAULT
    };
    let mut times = jammed(&config, 2000);
    times.sort_by(f64::total_cmp);
    let ends = [times[0], times[1999]].map(|time| (time * 1e6).round() as u64);
    assert_eq!(ends, [384, 384 + 4 * 320]);
}

#[test]
fn a_frame_without_an_answer_is_sent_four_times() {
    // The addressed node is out of range.
    let places = [Position::new(0.0, 0.0), Position::new(200.0, 0.0)];
    let mut net = Net::new(&CsmaConfig::DEFAULT, &CsmaConfig::radio(), &places, 1);
    net.send(Instant::ZERO, 0, Some(1), 116, 7);
    net.finish();
    let (end, event) = net.log[0];
    let cause = DropCause::RetryLimit;
    let expected = MacEvent::Failed {
        node: NodeId(0),
        handle: 7,
        cause,
    };
    assert_eq!((net.log.len(), event), (1, expected));
    let counters = net.mac.counters();
    assert_eq!(
        (counters.data_frames, counters.retries, counters.acks),
        (4, 3, 0)
    );
    // Four times assessment, turnaround, frame and wait, and some backoff periods.
    let backoff = end.as_nanos() - 4 * MICROS(128 + 192 + 4256 + 864).as_nanos();
    assert!(backoff.is_multiple_of(320_000) && backoff <= 4 * 7 * 320_000);
}

#[test]
fn datagrams_of_1064_bytes_take_eleven_frames() {
    // Backoffs and everything else that is the same for each frame: 6880 - 4256 us. The PSDUs have
    // 127, 9 times 120, and 32 bytes.
    let frames: f64 = 11.0 * (6.880e-3 - 4.256e-3) + (133.0 + 9.0 * 126.0 + 38.0) * 32e-6;
    assert!((frames - 70.624e-3).abs() < 1e-9);
    let mut net = Net::new(&CsmaConfig::DEFAULT, &no_capture(), &star(1), 4);
    net.saturate(1, 1064, RUN);
    let rate = net.tally.received as f64 / 100.0;
    let error = BACKOFF_DEVIATION * 11f64.sqrt() / frames / (100.0 / frames).sqrt();
    println!("{rate} datagrams/s, {} bit/s of 1024 bytes", rate * 8192.0);
    assert!(
        (rate * frames - 1.0).abs() < 4.0 * error,
        "{rate} datagrams/s"
    );
    let per_datagram = net.mac.counters().data_frames as f64 / net.tally.received as f64;
    assert!((per_datagram - 11.0).abs() < 0.01);
    // Frames that are all full would take 75.7 ms: 13.2 datagrams/s are a lower bound.
    assert!(rate > 13.2 && rate < 13.2 * 75.7 / 70.6 * 1.01);
}

#[test]
fn bit_errors_follow_the_formula() {
    // The same sum with 50 digits.
    for (db, expected) in [
        (-20.0, 4.836_689_985_555_914e-1),
        (-10.0, 3.220_506_778_452_64e-1),
        (-3.0, 1.641_863_778_181_462e-2),
        (-1.0, 1.148_943_716_041_401e-3),
        (0.0, 1.615_266_879_229_479e-4),
        (1.0, 1.291_186_626_482_86e-5),
        (3.0, 8.597_191_274_693_29e-9),
        (5.0, 7.386_009_413_195_052e-14),
    ] {
        let rate = bit_error_rate(10f64.powf(db / 10.0));
        assert!((rate / expected - 1.0).abs() < 1e-10, "{db} dB: {rate}");
    }
    assert_eq!(bit_error_rate(0.0), 0.5);
    let frame = frame_error_rate(1.0, 8 * 127);
    assert!((frame - 0.151_363_53).abs() < 1e-9, "{frame}");
}

#[test]
fn a_weak_link_loses_frames_by_its_sinr() {
    let radio = RadioConfig {
        reception: ReceptionModel::Sinr,
        sinr: -30.0,
        receive_threshold: -110.0,
        sense_threshold: -110.0,
        ..CsmaConfig::radio()
    };
    let config = CsmaConfig {
        ack: false,
        bit_errors: true,
        ..CsmaConfig::DEFAULT
    };
    let propagation = Propagation::new(&radio, &network::Streams::new(0));
    let noise = wireless::adhoc::propagation::watts(radio.noise);
    // 0 dB, and half a decibel to both sides.
    for db in [-0.5, 0.0, 0.5] {
        let metres = propagation.distance(noise * 10f64.powf(db / 10.0));
        let places = [Position::new(0.0, 0.0), Position::new(metres, 0.0)];
        let mut net = Net::new(&config, &radio, &places, 5);
        net.saturate(1, 116, RUN);
        let sent = net.tally.sent as f64;
        let lost = 1.0 - net.tally.received as f64 / sent;
        let expected = frame_error_rate(10f64.powf(db / 10.0), 8 * 127);
        println!("{db} dB: {lost:.4} lost ({expected:.4})");
        let deviation = (expected * (1.0 - expected) / sent).sqrt();
        assert!(
            (lost - expected).abs() < 4.0 * deviation,
            "{db} dB: {lost}, {expected}"
        );
        assert_eq!(net.mac.counters().lost, net.tally.sent - net.tally.received);
    }
}

#[test]
fn nothing_is_due_in_an_idle_network() {
    let net = Net::new(&CsmaConfig::DEFAULT, &no_capture(), &star(3), 1);
    assert_eq!(net.mac.next_event(), Instant::MAX);
}
