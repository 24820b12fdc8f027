//! The times of frames, to the nanosecond, and what follows a loss. A contention window of zero
//! makes every backoff zero.

use units::{Bytes, Duration, Instant};
use wireless::adhoc::energy::EnergyConfig;
use wireless::adhoc::mac::Mac;
use wireless::adhoc::mac::dcf::{DcfConfig, Preamble};
use wireless::adhoc::propagation::RadioConfig;
use wireless::{DropCause, NodeId};

use crate::harness::{Net, line, rates, short_sight};

const SIFS: Duration = Duration::from_micros(10);
const DIFS: Duration = Duration::from_micros(50);
const EIFS: Duration = Duration::from_micros(364);

fn at(micros: u64) -> Instant {
    Instant::from_micros(micros)
}

fn nanos(nanos: u64) -> Duration {
    Duration::from_nanos(nanos)
}

/// No backoff.
fn prompt(config: DcfConfig) -> DcfConfig {
    DcfConfig {
        cw_min: 0,
        cw_max: 0,
        ..config
    }
}

#[test]
fn an_exchange_takes_its_airtimes_and_gaps() {
    // 150 m are 501 ns.
    let delay = nanos(501);
    for preamble in [Preamble::Long, Preamble::Short] {
        for rts in [true, false] {
            let config = DcfConfig {
                preamble,
                ..prompt(rates(11, 2, rts))
            };
            let mut net = Net::new(config, &line(&[0.0, 150.0]));
            let start = at(1000);
            let packet = net.offer(start, 0, Some(NodeId(1)), 1052);
            net.run(at(100_000));
            let mut before = start;
            if rts {
                before = before + config.rts_time() + delay + SIFS + config.cts_time() + delay;
                before += SIFS;
            }
            let received = before + config.data_time(1052) + delay;
            let sent = received + SIFS + config.ack_time() + delay;
            assert_eq!(net.received(packet), [(received, 1)]);
            assert_eq!(net.sent(packet), Some(sent));
        }
    }
}

#[test]
fn a_second_packet_waits_for_difs() {
    let config = prompt(rates(2, 2, false));
    let mut net = Net::new(config, &line(&[0.0, 150.0]));
    let first = net.offer(at(1000), 0, Some(NodeId(1)), 500);
    let second = net.offer(at(1000), 0, Some(NodeId(1)), 500);
    net.run(at(100_000));
    let sent = net.sent(first).unwrap();
    let expected = sent + DIFS + config.data_time(500) + nanos(501);
    assert_eq!(net.received(second), [(expected, 1)]);
}

#[test]
fn a_missing_receiver_costs_seven_attempts() {
    for rts in [true, false] {
        let config = prompt(rates(2, 2, rts));
        let mut net = Net::new(config, &line(&[0.0, 5000.0]));
        let packet = net.offer(at(1000), 0, Some(NodeId(1)), 1052);
        net.run(at(1_000_000));
        let counters = net.dcf.counters();
        let (first, other) = if rts {
            (counters.rts, counters.data)
        } else {
            (counters.data, counters.rts)
        };
        assert_eq!((first, other), (7, 0));
        // A timeout is SIFS, a slot and a preamble; the medium has then been idle for DIFS.
        let time = if rts {
            config.rts_time()
        } else {
            config.data_time(1052)
        };
        let attempt = time + Duration::from_micros(10 + 20 + 192);
        let end = (0..7).fold(at(1000), |end, _| end + attempt);
        assert_eq!(net.failed(packet), Some((end, DropCause::RetryLimit)));
    }
}

#[test]
fn windows_double_up_to_the_largest_one() {
    // The time of seven attempts at a missing receiver, with means of 31, 63, ... slots over 2.
    let config = rates(2, 2, true);
    let (mut total, count) = (0.0, 2000);
    for seed in 0..count {
        let places = line(&[0.0, 5000.0]);
        let mut net = Net::with(config, &RadioConfig::DEFAULT, &places, None, seed);
        let packet = net.offer(at(1000), 0, Some(NodeId(1)), 1052);
        net.run(Instant::MAX);
        let end = net.failed(packet).unwrap().0;
        total += end.saturating_since(at(1000)).as_nanos() as f64 / 1e3;
    }
    let windows: [f64; 6] = [63.0, 127.0, 255.0, 511.0, 1023.0, 1023.0];
    let waits: f64 = windows.iter().map(|window| window / 2.0 * 20.0).sum();
    let mean = total / f64::from(count as u32);
    let expected = 7.0 * (272.0 + 222.0) + waits;
    // The variance of each wait is that of a uniform one.
    let variance: f64 = windows.iter().map(|w| (w * 20.0) * (w * 20.0) / 12.0).sum();
    let error = libm::sqrt(variance / f64::from(count as u32));
    assert!(
        (mean - expected).abs() < 4.0 * error,
        "{mean} {expected} {error}"
    );
}

#[test]
fn lost_data_after_a_cts_counts_against_the_long_limit() {
    // The energy of both nodes ends during the data frame, 2 ms after 272 us and 248 us. The sender
    // completes the frame that it has begun.
    let energy = EnergyConfig {
        initial: 0.002_520,
        transmit: 1.0,
        receive: 1.0,
        ..EnergyConfig::DEFAULT
    };
    for (long_retries, expected) in [(1, DropCause::RetryLimit), (4, DropCause::Energy)] {
        let config = DcfConfig {
            long_retries,
            ..prompt(rates(2, 2, true))
        };
        let places = line(&[0.0, 100.0]);
        let mut net = Net::with(config, &RadioConfig::DEFAULT, &places, Some(&energy), 1);
        let packet = net.offer(at(1000), 0, Some(NodeId(1)), 1052);
        net.run(at(1_000_000));
        assert!(net.received(packet).is_empty());
        let counters = net.dcf.counters();
        assert_eq!(
            (counters.rts, counters.data, counters.missing_ack),
            (1, 1, 1)
        );
        assert_eq!(net.failed(packet).unwrap().1, expected);
    }
}

#[test]
fn a_broadcast_goes_once_at_the_basic_rate() {
    let config = prompt(rates(11, 1, true));
    let mut net = Net::new(config, &line(&[0.0, 150.0, 240.0, 300.0, 2000.0]));
    let packet = net.offer(at(1000), 0, None, 500);
    net.run(at(1_000_000));
    let end = at(1000) + Duration::from_micros(192 + 8 * 534);
    assert_eq!(
        net.received(packet),
        [(end + nanos(501), 1), (end + nanos(801), 2)]
    );
    assert_eq!(net.sent(packet), Some(end + nanos(801)));
    assert_eq!(net.dcf.counters().frames(), 1);
    // Nobody hears the next one, and nobody repeats it.
    let lonely = net.offer(at(2_000_000), 4, None, 500);
    net.run(at(3_000_000));
    assert!(net.received(lonely).is_empty());
    assert!(net.sent(lonely).is_some());
    assert_eq!(net.dcf.counters().frames(), 2);
}

#[test]
fn a_node_that_hears_only_the_cts_defers_to_the_end_of_the_ack() {
    // 0 sends to 1; 2 is out of sight of 0; 3 receives from 2.
    let config = prompt(rates(2, 2, true));
    let places = line(&[0.0, 200.0, 400.0, 600.0]);
    let mut net = Net::with(config, &short_sight(), &places, None, 1);
    let first = net.offer(at(1000), 0, Some(NodeId(1)), 1052);
    // In the middle of the data frame.
    net.run(at(3000));
    let second = net.offer(at(3000), 2, None, 100);
    net.run(at(100_000));
    let hop = nanos(668);
    // It does not hear the data frame, and would have sent at once.
    let ack = net.sent(first).unwrap();
    let end = ack + DIFS + config.broadcast_time(100) + hop;
    assert_eq!(net.received(second), [(end, 1), (end, 3)]);
    // Without the CTS nobody keeps it from sending into the frame.
    let config = prompt(rates(2, 2, false));
    let mut net = Net::with(config, &short_sight(), &places, None, 1);
    let first = net.offer(at(1000), 0, Some(NodeId(1)), 1052);
    net.run(at(3000));
    let second = net.offer(at(3000), 2, None, 100);
    net.run(at(4000));
    let end = at(3000) + config.broadcast_time(100) + hop;
    assert_eq!(net.received(second), [(end, 3)]);
    net.run(at(5600));
    assert!(net.received(first).is_empty());
}

#[test]
fn a_frame_with_errors_costs_eifs() {
    for (eifs, wait) in [(true, EIFS), (false, DIFS)] {
        let config = DcfConfig {
            eifs,
            ..prompt(rates(2, 2, true))
        };
        // Node 1 senses node 0 and cannot decode it.
        let mut net = Net::new(config, &line(&[0.0, 300.0, 500.0]));
        net.offer(at(1000), 0, None, 500);
        net.run(at(2000));
        let packet = net.offer(at(2000), 1, None, 100);
        net.run(at(100_000));
        let busy = at(1000) + config.broadcast_time(500) + nanos(1001);
        let end = busy + wait + config.broadcast_time(100) + nanos(668);
        assert_eq!(net.received(packet), [(end, 2)], "{eifs}");
    }
}

#[test]
fn a_node_that_is_reserved_by_others_sends_no_cts() {
    // 2 reserves 1's surroundings for a long exchange with 3 before 0 asks for a CTS.
    let config = prompt(rates(1, 1, true));
    let places = line(&[0.0, 200.0, 400.0, 600.0]);
    let mut net = Net::with(config, &short_sight(), &places, None, 1);
    let long = net.offer(at(1000), 2, Some(NodeId(3)), 2000);
    net.run(at(2500));
    let packet = net.offer(at(2500), 0, Some(NodeId(1)), 100);
    net.run(at(1_000_000));
    // Node 1 has heard the RTS of 2 and answers nobody. Without a backoff node 0 asks once in 562
    // us (RTS, SIFS, a slot and a preamble), and gives up before the data frame of 16 ms has ended.
    assert!(net.sent(long).unwrap() > at(1000 + 16_000));
    assert_eq!(net.dcf.counters().missing_cts, 7);
    assert_eq!(net.failed(packet).unwrap().1, DropCause::RetryLimit);
    // Afterwards it answers.
    let later = net.offer(at(2_000_000), 0, Some(NodeId(1)), 100);
    net.run(at(3_000_000));
    assert!(net.sent(later).is_some());
}

#[test]
fn a_backoff_that_ends_before_the_frame_arrives_collides() {
    // Two nodes at 240 m of each other, both at 120 m of the receiver, start within the 801 ns that
    // a frame takes between them, or just after.
    let config = prompt(DcfConfig {
        rts_threshold: Bytes::new(65_535),
        ..DcfConfig::DEFAULT
    });
    for (later, both) in [
        (0, true),
        (500, true),
        (801, true),
        (802, false),
        (5000, false),
    ] {
        let mut net = Net::new(config, &line(&[0.0, 120.0, 240.0]));
        let start = at(1000);
        let first = net.offer(start, 0, None, 100);
        while net.dcf.next_event() <= start {
            net.step(start);
        }
        let second = net.offer(start + nanos(later), 2, None, 100);
        net.run(at(100_000));
        let intact = !net.received(first).is_empty();
        assert_eq!(intact, !both, "{later}");
        assert_eq!(net.received(second).is_empty(), both, "{later}");
    }
}
