//! Many connections at a time: which one ends when too many are open.

use analysis::{Tracker, tracker::MOST_OPEN};
use capture::{Flags, Segment, TcpOptions};

const SECOND: i64 = 1_000_000_000;

/// A segment from host `number`, at a time.
fn segment(number: u32, at: i64, flags: Flags) -> Segment {
    let address = std::net::Ipv4Addr::from(0x0a00_0000 + number);
    Segment {
        at,
        source: (address, 1024).into(),
        destination: (std::net::Ipv4Addr::new(192, 0, 2, 1), 80).into(),
        flags,
        interface: 0,
        seq: 0,
        ack: 0,
        window: 65_535,
        payload: 0,
        is_marked: false,
        options: TcpOptions::default(),
    }
}

const SYN: Flags = Flags {
    syn: true,
    ack: false,
    fin: false,
    rst: false,
    psh: false,
    ece: false,
    cwr: false,
};
const RST: Flags = Flags {
    rst: true,
    syn: false,
    ..SYN
};
const ACK: Flags = Flags {
    ack: true,
    syn: false,
    ..SYN
};

#[test]
fn the_connection_that_was_silent_for_longest_ends_first() {
    let mut tracker = Tracker::new(0);
    let most = MOST_OPEN as u32;
    for number in 0..most {
        tracker.take(&segment(number, i64::from(number), SYN));
    }
    // The first three are heard once more, so the fourth is silent for longest.
    for number in 0..3 {
        tracker.take(&segment(number, SECOND + i64::from(number), ACK));
    }
    tracker.take(&segment(most, 2 * SECOND, SYN));
    let ended: Vec<u64> = tracker.take_ended().iter().map(|it| it.number).collect();
    assert_eq!((ended, tracker.evicted), (vec![4], 1));
    // A closed connection ends before all that are open.
    tracker.take(&segment(100, 3 * SECOND, RST));
    tracker.take(&segment(most + 1, 3 * SECOND, SYN));
    let ended: Vec<u64> = tracker.take_ended().iter().map(|it| it.number).collect();
    assert_eq!((ended, tracker.evicted), (vec![101], 2));
    assert_eq!(tracker.finish().len(), MOST_OPEN);
}

#[test]
fn silent_and_closed_connections_end_when_time_has_passed() {
    let mut tracker = Tracker::new(0);
    for number in 0..4 {
        tracker.take(&segment(number, 0, SYN));
    }
    tracker.take(&segment(1, SECOND, RST));
    tracker.take(&segment(2, 500 * SECOND, ACK));
    // The reset one lingers for 5 s, the others for 10 minutes.
    let numbers = |tracker: &mut Tracker| -> Vec<u64> {
        tracker.take_ended().iter().map(|it| it.number).collect()
    };
    assert_eq!(numbers(&mut tracker), [2]);
    tracker.take(&segment(9, 700 * SECOND, SYN));
    assert_eq!(numbers(&mut tracker), [1, 4]);
    tracker.take(&segment(9, 1200 * SECOND, ACK));
    assert_eq!(numbers(&mut tracker), [3]);
}
