//! A tracker of a census: bounded by count, and by time.

use std::net::SocketAddr;

use analysis::tracker::End;
use analysis::{Connection, Tracker};
use capture::{Flags, Segment, TcpOptions};

const SECOND: i64 = 1_000_000_000;

fn address(host: u32, port: u16) -> SocketAddr {
    SocketAddr::new(std::net::Ipv4Addr::from(host).into(), port)
}

/// A segment between host 1 and `peer`.
fn segment(at: i64, peer: u32, from_peer: bool, flags: Flags, payload: u32) -> Segment {
    let (mut source, mut destination) = (address(1, 443), address(peer, 50_000));
    if from_peer {
        std::mem::swap(&mut source, &mut destination);
    }
    Segment {
        at,
        interface: 0,
        source,
        destination,
        seq: if flags.syn { 100 } else { 101 },
        ack: 101,
        flags,
        window: 1000,
        payload,
        is_marked: false,
        options: TcpOptions::default(),
    }
}

const SYN: Flags = flags(true, false);
const ANSWER: Flags = flags(true, true);
const ACK: Flags = flags(false, true);

const fn flags(syn: bool, ack: bool) -> Flags {
    Flags {
        syn,
        ack,
        fin: false,
        rst: false,
        psh: false,
        ece: false,
        cwr: false,
    }
}

/// The handshake of a connection that `peer` opens, and a segment of data.
fn connection(tracker: &mut Tracker, at: i64, peer: u32) {
    tracker.take(&segment(at, peer, true, SYN, 0));
    tracker.take(&segment(at + 1, peer, false, ANSWER, 0));
    tracker.take(&segment(at + 2, peer, true, ACK, 0));
    tracker.take(&segment(at + 3, peer, false, ACK, 1000));
}

#[test]
fn a_scan_evicts_its_own_syns_and_no_connection_with_an_answer() {
    const MOST: usize = 100;
    let mut tracker = Tracker::bounded(MOST);
    for peer in 0..50 {
        connection(&mut tracker, i64::from(peer), 10 + peer);
    }
    for scanned in 0..10_000_u32 {
        tracker.take(&segment(
            1000 + i64::from(scanned),
            5000 + scanned,
            false,
            SYN,
            0,
        ));
    }
    let ended = tracker.take_ended_with_cause();
    assert_eq!(tracker.evicted, 10_000 - 50);
    assert_eq!(ended.len(), 10_000 - 50);
    assert!(ended.iter().all(|each| each.end == End::Evicted));
    let first = |connection: &Connection| connection.number;
    // The oldest SYN goes first.
    let numbers: Vec<u64> = ended.iter().map(|each| first(&each.connection)).collect();
    assert_eq!(numbers, (51..=10_000).collect::<Vec<u64>>());
    let rest = tracker.take_all();
    let with_data = rest.iter().filter(|each| each.connection.bytes == 1000);
    assert_eq!((rest.len(), with_data.count()), (MOST, 50));
}

#[test]
fn without_syns_the_most_silent_connection_is_evicted() {
    let mut tracker = Tracker::bounded(3);
    for peer in 0..3 {
        connection(&mut tracker, i64::from(peer) * 10, 10 + peer);
    }
    // The first connection speaks again, so the second was silent for longest.
    tracker.take(&segment(100, 10, true, ACK, 0));
    connection(&mut tracker, 200, 99);
    let ended = tracker.take_ended_with_cause();
    let numbers: Vec<u64> = ended.iter().map(|each| each.connection.number).collect();
    assert_eq!(numbers, [2]);
}

#[test]
fn connections_end_by_silence_within_a_second_of_it() {
    let mut tracker = Tracker::bounded(100);
    connection(&mut tracker, 0, 10);
    tracker.take(&segment(600 * SECOND, 11, true, SYN, 0));
    assert!(tracker.take_ended().is_empty());
    tracker.take(&segment(602 * SECOND, 12, true, SYN, 0));
    let ended = tracker.take_ended_with_cause();
    assert_eq!(ended.len(), 1);
    assert_eq!(ended[0].end, End::Silent);
    assert_eq!(ended[0].connection.bytes, 1000);
}
