//! The requirements on a TCP sender or receiver, one entry each.
//!
//! `id` is the document, the section, and a letter for each requirement of the section in order.
//! The sentences are ours. They, and the sections, were written from memory of the published
//! documents, without their text at hand: the document decides.

use super::{Level, Requirement};
use Level::{Must, Should, Step};

const fn met(id: &'static str, level: Level, text: &'static str) -> Requirement {
    Requirement {
        id,
        level,
        text,
        exception: None,
    }
}

const fn excepted(
    id: &'static str,
    level: Level,
    text: &'static str,
    exception: &'static str,
) -> Requirement {
    Requirement {
        id,
        level,
        text,
        exception: Some(exception),
    }
}

/// The documents of the list.
pub const DOCUMENTS: &[(&str, &str)] = &[
    (
        "RFC5681",
        "Allman, Paxson, Blanton, TCP Congestion Control, 2009",
    ),
    (
        "RFC6298",
        "Paxson, Allman, Chu, Sargent, Computing TCP's Retransmission Timer, 2011",
    ),
    (
        "RFC8985",
        "Cheng, Cardwell, Dukkipati, Jha, The RACK-TLP Loss Detection Algorithm for TCP, 2021",
    ),
    (
        "RFC9406",
        "Balasubramanian, Huang, Olson, HyStart++: Modified Slow Start for TCP, 2023",
    ),
    (
        "RFC9438",
        "Xu, Ha, Rhee, Goel, Eggert, CUBIC for Fast and Long-Distance Networks, 2023",
    ),
    (
        "RFC9937",
        "Mathis, Cardwell, Cheng, Dukkipati, Proportional Rate Reduction, 2025",
    ),
];

/// The list, by document and section.
pub const REQUIREMENTS: &[Requirement] = &[
    met(
        "RFC5681-3.1a",
        Must,
        "A sender uses slow start and congestion avoidance.",
    ),
    excepted(
        "RFC5681-3.1b",
        Must,
        "The initial window is two to four segments, depending on the segment size.",
        "RFC 6928 permits ten, the default of Linux and of `initial_window`.",
    ),
    met(
        "RFC5681-3.1c",
        Must,
        "The SYN-ACK and its acknowledgment do not increase cwnd.",
    ),
    excepted(
        "RFC5681-3.1d",
        Must,
        "If a SYN or SYN-ACK was lost, the initial window is one segment.",
        "Linux reduces it only if more than one SYN or SYN-ACK was retransmitted \
         (`tcp_init_transfer`).",
    ),
    met(
        "RFC5681-3.1e",
        Should,
        "The first ssthresh is arbitrarily high.",
    ),
    excepted(
        "RFC5681-3.1f",
        Should,
        "In slow start an ACK adds the bytes that it acknowledges, at most one segment.",
        "Linux credits every segment that an ACK delivers, also those of a stretch ACK.",
    ),
    met(
        "RFC5681-3.1g",
        Must,
        "In congestion avoidance cwnd grows by at most one segment in each round trip.",
    ),
    excepted(
        "RFC5681-3.1h",
        Must,
        "After the first timeout of a segment, ssthresh is at most half of FlightSize, or two \
         segments.",
        "Linux's Reno halves cwnd, not FlightSize; CUBIC keeps seven tenths (RFC 9438).",
    ),
    met(
        "RFC5681-3.1i",
        Step,
        "A repeated timeout of a retransmitted segment keeps ssthresh.",
    ),
    met(
        "RFC5681-3.1j",
        Must,
        "After a timeout cwnd is at most one segment, whatever the initial window was.",
    ),
    met(
        "RFC5681-3.2a",
        Should,
        "A receiver acknowledges out-of-order data at once.",
    ),
    met(
        "RFC5681-3.2b",
        Should,
        "A receiver acknowledges at once a segment that fills a gap.",
    ),
    met(
        "RFC5681-3.2c",
        Should,
        "The third duplicate ACK starts a fast retransmit.",
    ),
    met(
        "RFC5681-3.2d",
        Should,
        "The first two duplicate ACKs each permit one new segment (limited transmit).",
    ),
    excepted(
        "RFC5681-3.2e",
        Must,
        "Fast retransmit sets cwnd to ssthresh plus three segments, and each further duplicate ACK \
         adds one.",
        "Linux counts the data in flight, and reduces cwnd by PRR (RFC 9937) instead of inflating \
         it.",
    ),
    met(
        "RFC5681-3.2f",
        Must,
        "At the end of fast recovery cwnd is ssthresh.",
    ),
    excepted(
        "RFC5681-4.1a",
        Should,
        "After an idle time longer than the RTO, cwnd is at most the restart window.",
        "Linux halves cwnd for each RTO of idleness (RFC 2861), down to the restart window.",
    ),
    met(
        "RFC5681-4.2a",
        Should,
        "A receiver that delays ACKs acknowledges at least every second full segment.",
    ),
    met("RFC5681-4.2b", Must, "A delayed ACK leaves within 500 ms."),
    excepted(
        "RFC5681-4.3a",
        Must,
        "The loss of a retransmission reduces cwnd and ssthresh a second time.",
        "Linux reduces once in a recovery; a retransmission lost within it is retransmitted again.",
    ),
    met(
        "RFC6298-2a",
        Should,
        "Before a sample the RTO is one second.",
    ),
    excepted(
        "RFC6298-2b",
        Must,
        "The first sample R gives SRTT = R, RTTVAR = R/2, and RTO = SRTT + 4 RTTVAR.",
        "Linux bounds the variance term below by `rto_min`; `RttEstimator::rfc6298` has the \
         document's form.",
    ),
    excepted(
        "RFC6298-2c",
        Must,
        "Later samples move RTTVAR by a quarter and SRTT by an eighth of the difference.",
        "Linux decays the variance once in each round trip and weighs falling samples less; \
         `RttEstimator::rfc6298` has the document's form.",
    ),
    excepted(
        "RFC6298-2d",
        Should,
        "An RTO below one second is rounded up to one second.",
        "Linux's floor is 200 ms above SRTT.",
    ),
    met(
        "RFC6298-3a",
        Must,
        "A retransmitted segment gives no RTT sample, unless a timestamp identifies its \
         transmission (Karn's rule).",
    ),
    met(
        "RFC6298-5a",
        Step,
        "When all data is acknowledged, the timer stops.",
    ),
    met(
        "RFC6298-5b",
        Step,
        "When the timer expires, the first unacknowledged segment is retransmitted.",
    ),
    met(
        "RFC6298-5c",
        Must,
        "When the timer expires, the RTO doubles and the timer starts again.",
    ),
    met(
        "RFC6298-5d",
        Must,
        "If the timer expired for a SYN, the RTO is three seconds when data begins.",
    ),
    met(
        "RFC8985-6.2a",
        Step,
        "The sender keeps, of the segments delivered, the one sent last, and its round-trip time.",
    ),
    met(
        "RFC8985-6.2b",
        Step,
        "The delivery of a retransmitted segment is ignored if the echoed timestamp is older than the retransmission, or if it is acknowledged sooner than the smallest RTT.",
    ),
    met(
        "RFC8985-6.2c",
        Should,
        "Until reordering was seen, the reordering window is zero during recovery, and once three segments are SACKed.",
    ),
    met(
        "RFC8985-6.2d",
        Should,
        "The reordering window starts at a quarter of the smallest RTT, and is never longer than the smoothed RTT.",
    ),
    met(
        "RFC8985-6.2e",
        Step,
        "A DSACK widens the reordering window by a quarter of the smallest RTT, at most once in a round trip.",
    ),
    met(
        "RFC8985-6.2f",
        Step,
        "The wider window lasts for sixteen recoveries.",
    ),
    met(
        "RFC8985-6.2g",
        Step,
        "A segment is lost if a segment sent later was delivered, and the RTT of that one and the reordering window have passed since it was sent.",
    ),
    met(
        "RFC8985-6.2h",
        Must,
        "If segments may still arrive, a timer waits for them, and the sender looks for losses again when it expires.",
    ),
    met(
        "RFC8985-7.2a",
        Should,
        "The probe timeout is two smoothed round trips.",
    ),
    excepted(
        "RFC8985-7.2b",
        Should,
        "With one segment in flight, the probe timeout adds the longest delay of an ACK.",
        "Linux adds the least retransmission timeout (200 ms), not a separate constant.",
    ),
    met(
        "RFC8985-7.2c",
        Must,
        "The probe timeout is not later than the retransmission timeout.",
    ),
    excepted(
        "RFC8985-7.2d",
        Must,
        "A probe is scheduled only with SACK, outside of recovery, and if no probe is in flight.",
        "Linux looks for a probe in flight when the timer expires, not when it is armed.",
    ),
    met(
        "RFC8985-7.3a",
        Must,
        "A probe is new data if the receive window permits, or else the last segment sent.",
    ),
    met(
        "RFC8985-7.3b",
        Must,
        "While a probe is in flight, no further one leaves.",
    ),
    met(
        "RFC8985-7.4a",
        Step,
        "A probe reported as a duplicate, by a DSACK or by an ACK that changes nothing, shows that nothing was lost.",
    ),
    met(
        "RFC8985-7.4b",
        Must,
        "If the probe repaired a loss, the sender reduces its window once.",
    ),
    met(
        "RFC9406-4.2a",
        Step,
        "Conservative slow start begins when a round's minimum RTT, after N_RTT_SAMPLE samples, \
         exceeds that of the last round by the threshold, an eighth of it from 4 to 16 ms.",
    ),
    met(
        "RFC9406-4.2b",
        Step,
        "In conservative slow start, a round whose minimum RTT after N_RTT_SAMPLE samples is below \
         the baseline resumes slow start.",
    ),
    met(
        "RFC9406-4.2c",
        Step,
        "After CSS_ROUNDS rounds of conservative slow start, ssthresh becomes cwnd.",
    ),
    met(
        "RFC9406-4.2d",
        Should,
        "A sender that paces grows without the limit L for each ACK; another one by at most L \
         segments.",
    ),
    met(
        "RFC9406-4.3a",
        Should,
        "The constants have the recommended values.",
    ),
    met(
        "RFC9406-4.3b",
        Should,
        "HyStart++ serves only the initial slow start; later ones are standard.",
    ),
    met(
        "RFC9438-4.2a",
        Step,
        "The window follows W_max + C (t - K)^3, t after the reduction.",
    ),
    met(
        "RFC9438-4.3a",
        Should,
        "Where Reno's estimated window exceeds the curve, cwnd follows the estimate.",
    ),
    excepted(
        "RFC9438-4.3b",
        Should,
        "Once the estimate has reached the window before the reduction, it grows by one segment.",
        "Linux keeps the slope of 9/17; `cubic:rfc9438=true` changes it.",
    ),
    met(
        "RFC9438-4.4a",
        Must,
        "Below W_max each ACK adds the difference to the target, divided by cwnd.",
    ),
    met("RFC9438-4.5a", Must, "Above W_max the same holds."),
    met(
        "RFC9438-4.6a",
        Should,
        "A congestion event leaves seven tenths of the window.",
    ),
    met("RFC9438-4.6b", Must, "ssthresh is at least two segments."),
    met(
        "RFC9438-4.6c",
        Must,
        "If cwnd is reduced in place of FlightSize, it does not grow beyond what is in use.",
    ),
    met(
        "RFC9438-4.7a",
        Should,
        "A flow that loses below its last maximum lowers the maximum further.",
    ),
    met(
        "RFC9438-4.8a",
        Must,
        "A timeout reduces cwnd as in RFC 5681, and ssthresh to seven tenths.",
    ),
    excepted(
        "RFC9438-4.9a",
        Should,
        "A spurious reduction is undone, with the state of the curve.",
        "As in Linux the undo restores cwnd and ssthresh, and a new epoch begins.",
    ),
    met(
        "RFC9438-4.10a",
        Must,
        "Below ssthresh a slow start governs cwnd.",
    ),
    met("RFC9438-5.1a", Should, "C is 0.4."),
    excepted(
        "RFC9937-6a",
        Step,
        "RecoverFS is what was in flight when the episode began.",
        "Linux (the default, prr) scales by the window at entry; prr:rfc=9937 by the flight.",
    ),
    met(
        "RFC9937-6b",
        Must,
        "While more than ssthresh is in flight, the data sent is the delivered part times ssthresh over RecoverFS.",
    ),
    met(
        "RFC9937-6c",
        Must,
        "At or below ssthresh, the sender sends as much as was delivered, and no more than reaches ssthresh.",
    ),
    met(
        "RFC9937-6d",
        Must,
        "An ACK that advances and reports no new loss permits one segment more there.",
    ),
    met(
        "RFC9937-6e",
        Must,
        "The first retransmission of an episode leaves at once, whatever the formula permits.",
    ),
];
