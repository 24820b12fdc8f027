//! The first ACK that reports a gap, by the size of its packet.
//!
//! An ACK frame has a first range, and two more numbers for each gap below it (RFC 9000, section
//! 19.3.1). Packets arrive in order until the first loss, so ACKs have one range, and their size
//! varies by the few bytes of their variable-length numbers. With the first loss it grows, and stays
//! large for a round trip at least, because a receiver repeats its ranges (RFC 9000, section 13.2.3).

use crate::spin::Sight;
use crate::thresholds::{ACK_GROWS, ACK_RUN, ACK_USUAL};

/// The rank, from above, of the usual size among the latest ones: frames that open a flow control
/// window are rare, and count as no usual size.
const RANK: usize = 3;

/// Fewer answers before show no usual size, because the numbers of an ACK grow.
const LEAST: usize = 32;

/// The place, among the answers to `from`, of the first that reports a gap.
pub fn first(sights: &[Sight], from: u8) -> Option<usize> {
    let sent = sights.iter().filter(|sight| sight.from == from);
    // A packet with data of the peer's own is no plain ACK.
    let most = sent.map(|sight| sight.size).max()? / 2;
    let (places, sizes): (Vec<usize>, Vec<u16>) = sights
        .iter()
        .filter(|sight| sight.from != from)
        .map(|sight| sight.size)
        .enumerate()
        .filter(|(_, size)| *size <= most)
        .unzip();
    (LEAST..(sizes.len() + 1).saturating_sub(ACK_RUN))
        .find(|&place| {
            let mut before = sizes[place.saturating_sub(ACK_USUAL)..place].to_vec();
            let rank = before.len() - RANK;
            let (_, usual, _) = before.select_nth_unstable(rank);
            let grown = *usual + ACK_GROWS;
            sizes[place..place + ACK_RUN]
                .iter()
                .all(|size| *size >= grown)
        })
        .map(|place| places[place])
}

/// Whether all answers to `from` have one size, so that no gap shows.
pub fn pads(sights: &[Sight], from: u8) -> bool {
    let mut sizes = sights
        .iter()
        .filter(|sight| sight.from != from)
        .map(|sight| sight.size);
    let one = sizes.next();
    sizes.all(|size| Some(size) == one)
}

#[cfg(test)]
mod tests {
    use super::{first, pads};
    use crate::spin::Sight;

    /// A packet of 1200 bytes and the answers of these sizes.
    fn sights(sizes: &[u16]) -> Vec<Sight> {
        let sight = |from, size| Sight {
            at: 0,
            size,
            from,
            spin: false,
        };
        let answers = sizes.iter().map(|size| sight(1, *size));
        std::iter::once(sight(0, 1200)).chain(answers).collect()
    }

    #[test]
    fn three_large_acks_in_a_row_report_a_gap() {
        let mut sizes = [34, 36, 35, 37, 34, 38, 36, 36, 35, 39].repeat(4);
        // Data of the peer, and one frame that opens a window.
        sizes.extend([900, 50, 36, 37]);
        assert_eq!(first(&sights(&sizes), 0), None);
        sizes.extend((40..=60).step_by(2));
        assert_eq!(first(&sights(&sizes), 0), Some(52));
        assert_eq!(first(&sights(&sizes[..54]), 0), None);
        assert!(!pads(&sights(&sizes), 0) && pads(&sights(&[40; 50]), 0));
    }

    #[test]
    fn acks_without_packets_report_nothing() {
        assert_eq!(first(&sights(&[40; 3])[1..], 0), None);
        assert_eq!(first(&[], 0), None);
    }
}
