//! 6LoWPAN: sizes worked out by hand from RFC 4944, section 5.3, and properties of every datagram.

use proptest::prelude::*;
use units::{Duration, Instant};
use wireless::NodeId;
use wireless::adhoc::mac::lowpan::{Fragment, Fragmenter, LARGEST, Progress, Reassembly};

const SECOND: Duration = Duration::from_secs(1);

fn all(cut: Fragmenter, datagram: u32) -> Vec<Fragment> {
    (0..)
        .map_while(|index| cut.fragment(datagram, index))
        .collect()
}

#[test]
fn a_frame_of_116_bytes_holds_112_bytes_first_and_104_then() {
    let cut = Fragmenter::new(116);
    let counts = [60, 116, 117, 500, 1040, 1064, 1280].map(|bytes| cut.count(bytes));
    // 117: 112 + 5. 500: 112 + 3 * 104 + 76. 1040: 112 + 8 * 104 + 96. 1064: 112 + 9 * 104 + 16.
    assert_eq!(counts, [1, 1, 2, 5, 10, 11, 13]);
    let fragments = all(cut, 1064);
    let shape: Vec<_> = fragments
        .iter()
        .map(|part| (part.offset, part.bytes, part.payload))
        .collect();
    assert_eq!(shape[0], (0, 112, 116));
    assert_eq!(shape[1], (112, 104, 109));
    assert_eq!(shape[10], (1048, 16, 21));
    assert_eq!(shape.len(), 11);
}

#[test]
fn the_last_fragment_need_not_end_at_a_unit() {
    // 111 bytes follow a header of 5 bytes; 112 need another frame.
    let cut = Fragmenter::new(116);
    assert_eq!(cut.count(112 + 111), 2);
    assert_eq!(cut.count(112 + 112), 3);
    assert_eq!(all(cut, 223)[1].payload, 116);
}

#[test]
fn a_compressed_header_makes_room_in_the_first_frame_alone() {
    // 40 bytes become 7: a datagram of 149 bytes has 116 bytes in one frame.
    let cut = Fragmenter::new(116).compressing(40, 7);
    assert_eq!((cut.count(149), cut.count(150)), (1, 2));
    // 112 - 7 + 40 = 145 bytes, of which 144 are whole units; they take 4 + 7 + 104 bytes.
    let fragments = all(cut, 1064);
    assert_eq!((fragments[0].bytes, fragments[0].payload), (144, 115));
    assert_eq!(fragments[1].offset, 144);
    // 1064 - 144 = 920 = 8 * 104 + 88: one frame fewer than 11.
    assert_eq!(fragments.len(), 10);
    // A message that is no IP packet keeps its size.
    assert_eq!(cut.fragment(28, 0).map(|part| part.payload), Some(28));
}

#[test]
fn the_dispatch_byte_of_an_uncompressed_header_does_not_add_a_frame() {
    // 41 for 40 bytes: the first frame carries 104 bytes then, and the counts stay.
    let cut = Fragmenter::new(116).compressing(40, 41);
    assert_eq!(cut.fragment(1064, 0).map(|part| part.bytes), Some(104));
    let counts = [60, 500, 1040, 1064].map(|bytes| cut.count(bytes));
    assert_eq!(counts, [1, 5, 10, 11]);
}

#[test]
fn a_datagram_is_complete_with_its_last_missing_fragment() {
    let cut = Fragmenter::new(116);
    let fragments = all(cut, 500);
    let mut reassembly = Reassembly::new(SECOND, 4);
    let mut take = |tag, index: usize| {
        reassembly.insert(Instant::ZERO, NodeId(3), tag, 500, &fragments[index])
    };
    for index in [4, 0, 2, 2, 1] {
        assert_eq!(take(7, index), Progress::Incomplete);
    }
    assert_eq!(take(7, 3), Progress::Complete);
    assert_eq!(reassembly.pending(Instant::ZERO), 0);
}

#[test]
fn a_new_datagram_ends_the_wait_for_the_old_one_of_its_source() {
    let fragments = all(Fragmenter::new(116), 200);
    let mut reassembly = Reassembly::new(SECOND, 4);
    let mut take = |from, tag, index: usize| {
        reassembly.insert(Instant::ZERO, NodeId(from), tag, 200, &fragments[index])
    };
    assert_eq!(take(3, 7, 0), Progress::Incomplete);
    assert_eq!(take(4, 7, 0), Progress::Incomplete);
    assert_eq!(take(3, 8, 0), Progress::Incomplete);
    assert_eq!(take(3, 7, 1), Progress::Incomplete);
    // Another source is another datagram.
    assert_eq!(take(4, 7, 1), Progress::Complete);
    assert_eq!(reassembly.abandoned(), 2);
    assert_eq!(reassembly.pending(Instant::ZERO), 1);
}

#[test]
fn a_datagram_in_one_frame_needs_no_buffer() {
    let mut reassembly = Reassembly::new(SECOND, 0);
    let whole = Fragmenter::new(116).fragment(60, 0).unwrap();
    let taken = reassembly.insert(Instant::ZERO, NodeId(1), 0, 60, &whole);
    assert_eq!(taken, Progress::Complete);
}

#[test]
fn a_datagram_whose_last_fragment_is_late_is_lost() {
    let fragments = all(Fragmenter::new(116), 200);
    for (late, expected) in [(0, Progress::Incomplete), (1, Progress::Complete)] {
        let mut reassembly = Reassembly::new(SECOND, 1);
        let start = Instant::from_millis(5);
        let end = start + SECOND;
        let at = Instant::from_nanos(end.as_nanos() - late);
        let first = reassembly.insert(start, NodeId(1), 9, 200, &fragments[0]);
        assert_eq!(first, Progress::Incomplete);
        assert_eq!(
            reassembly.insert(at, NodeId(1), 9, 200, &fragments[1]),
            expected
        );
        assert_eq!(
            reassembly.abandoned(),
            1 - late,
            "{late} ns before the deadline"
        );
    }
}

#[test]
fn buffers_are_limited_until_their_timeout() {
    let fragments = all(Fragmenter::new(116), 200);
    let mut reassembly = Reassembly::new(SECOND, 2);
    let mut first = |at, from| reassembly.insert(at, NodeId(from), 0, 200, &fragments[0]);
    assert_eq!(first(Instant::ZERO, 1), Progress::Incomplete);
    assert_eq!(first(Instant::from_millis(500), 2), Progress::Incomplete);
    assert_eq!(first(Instant::from_millis(999), 3), Progress::Refused);
    assert_eq!(first(Instant::from_millis(1000), 3), Progress::Incomplete);
}

#[test]
fn fragments_that_contradict_their_datagram_are_refused() {
    let mut reassembly = Reassembly::new(SECOND, 4);
    let mut take = |datagram, offset, bytes| {
        let fragment = Fragment {
            offset,
            bytes,
            payload: bytes,
        };
        reassembly.insert(Instant::ZERO, NodeId(0), 0, datagram, &fragment)
    };
    assert_eq!(take(200, 112, 89), Progress::Refused);
    assert_eq!(take(200, 113, 80), Progress::Refused);
    assert_eq!(take(LARGEST + 1, 0, 112), Progress::Refused);
    assert_eq!(take(200, u32::MAX - 7, 80), Progress::Refused);
}

proptest! {
    /// Every datagram is covered once, in order, in the fewest frames that the rules allow.
    #[test]
    fn fragments_cover_the_datagram(
        datagram in 1..=LARGEST,
        limit in Fragmenter::LEAST..=118,
        header in 20u32..=40,
        compressed in 2u32..=41,
    ) {
        let cut = Fragmenter::new(limit).compressing(header, compressed);
        let saved = i64::from(header) - i64::from(compressed.min(header + 1));
        let fragments = all(cut, datagram);
        prop_assert_eq!(fragments.len() as u32, cut.count(datagram));
        let mut at = 0;
        for (index, part) in fragments.iter().enumerate() {
            let is_last = index + 1 == fragments.len();
            prop_assert_eq!(part.offset, at);
            prop_assert!(part.bytes > 0 && part.payload <= limit);
            prop_assert!(is_last || part.bytes % 8 == 0);
            at += part.bytes;
            let own = match (fragments.len(), index) {
                (1, _) => 0,
                (_, 0) => 4,
                _ => 5,
            };
            let saved = if index == 0 && datagram >= header { saved } else { 0 };
            prop_assert_eq!(i64::from(part.payload), i64::from(part.bytes) + own - saved);
            // One more unit would not have fitted.
            prop_assert!(is_last || part.payload + 8 > limit);
        }
        prop_assert_eq!(at, datagram);
    }

    /// In any order, and with duplicates, the datagram is complete exactly when nothing is missing.
    #[test]
    fn any_order_completes(
        datagram in 117..=LARGEST,
        order in prop::collection::vec(0usize..20, 1..120),
    ) {
        let fragments = all(Fragmenter::new(116), datagram);
        let mut reassembly = Reassembly::new(SECOND, 1);
        let mut seen = vec![false; fragments.len()];
        for index in order {
            let index = index % fragments.len();
            seen[index] = true;
            let done = seen.iter().all(|seen| *seen);
            let progress =
                reassembly.insert(Instant::ZERO, NodeId(0), 1, datagram, &fragments[index]);
            prop_assert_eq!(progress == Progress::Complete, done);
            if done {
                seen.fill(false);
            }
        }
    }
}
