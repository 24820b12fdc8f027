//! Delivery-rate samples by hand: Linux `tcp_rate.c` and section 4.1 of the BBR draft.

use congestion::rate_sample::{Newest, RateEstimator, SendStamp};
use units::{Bytes, Duration, Instant};

use crate::flow::SMSS;

const RTT: Duration = Duration::from_millis(100);

fn millis(millis: u64) -> Instant {
    Instant::from_millis(millis)
}

fn newest(stamp: SendStamp, sent: Instant) -> Option<Newest> {
    Some(Newest {
        stamp,
        sent,
        tx_in_flight: Bytes::ZERO,
        lost: Bytes::ZERO,
    })
}

#[test]
fn the_longer_of_the_send_and_the_ack_interval_counts() {
    let mut rate = RateEstimator::default();
    // Two segments at once, then one every 10 ms.
    let first = rate.on_sent(millis(0), true);
    let second = rate.on_sent(millis(0), false);
    let third = rate.on_sent(millis(10), false);
    assert_eq!(
        (first, second.first_sent, third.first_sent),
        (second, millis(0), millis(0))
    );
    // Both come back together: the ACK interval is the RTT.
    rate.on_delivered(millis(100), SMSS * 2);
    let sample = rate.sample(
        millis(100),
        newest(second, millis(0)),
        RTT,
        Bytes::ZERO,
        false,
    );
    let sample = sample.expect("a valid sample");
    assert_eq!((sample.delivered, sample.interval), (SMSS * 2, RTT));
    assert_eq!(
        (sample.prior_delivered, sample.total_delivered),
        (Bytes::ZERO, SMSS * 2)
    );
    // The third is compressed: it was sent 10 ms after the flight began, and arrives with no delay.
    rate.on_delivered(millis(110), SMSS);
    let sample = rate.sample(millis(110), newest(third, millis(10)), RTT, SMSS, true);
    let sample = sample.expect("a valid sample");
    assert_eq!(
        (sample.delivered, sample.interval),
        (SMSS * 3, Duration::from_millis(110))
    );
    assert_eq!((sample.total_lost, sample.ack_delayed), (SMSS, true));
    // The next flight begins with the send time of the newest that was delivered.
    let fourth = rate.on_sent(millis(111), false);
    assert_eq!(
        (fourth.first_sent, fourth.delivered),
        (millis(10), SMSS * 3)
    );
    assert_eq!(fourth.delivered_time, millis(110));
}

#[test]
fn a_sample_shorter_than_the_smallest_rtt_is_none() {
    let mut rate = RateEstimator::default();
    let stamp = rate.on_sent(millis(0), true);
    rate.on_delivered(millis(99), SMSS);
    assert_eq!(
        rate.sample(
            millis(99),
            newest(stamp, millis(0)),
            RTT,
            Bytes::ZERO,
            false
        ),
        None
    );
    assert_eq!(
        rate.sample(millis(200), None, RTT, Bytes::ZERO, false),
        None
    );
}

#[test]
fn the_bubble_of_a_silent_application_passes_with_what_was_in_flight() {
    let mut rate = RateEstimator::default();
    let before = rate.on_sent(millis(0), true);
    rate.on_app_limited(SMSS);
    let inside = rate.on_sent(millis(50), false);
    assert!(!before.app_limited && inside.app_limited);
    rate.on_delivered(millis(100), SMSS);
    rate.sample(
        millis(100),
        newest(before, millis(0)),
        RTT,
        Bytes::ZERO,
        false,
    );
    assert!(
        rate.on_sent(millis(101), false).app_limited,
        "delivered has not passed the mark"
    );
    rate.on_delivered(millis(150), SMSS);
    let sample = rate.sample(
        millis(150),
        newest(inside, millis(50)),
        RTT,
        Bytes::ZERO,
        false,
    );
    assert!(sample.is_some_and(|sample| sample.app_limited));
    assert!(!rate.on_sent(millis(151), false).app_limited);
}
