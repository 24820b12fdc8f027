//! `[[flow]]` and its application.

use tables::{Kind, MAX_DURATION, MAX_SIZE};
use units::{Bytes, Duration};

use super::table;
use crate::limits::{
    MAX_FLOWS, MAX_INITIAL_WINDOW, MAX_NAME, MAX_PACING_SHIFT, MIN_INTERVAL, RECEIVE_BUFFER,
};

const AT: Kind = Kind::Time(Duration::ZERO, MAX_DURATION);
const TRANSFER: Kind = Kind::Size(Bytes::new(1), MAX_SIZE);
const WINDOW: Kind = Kind::Size(RECEIVE_BUFFER.0, RECEIVE_BUFFER.1);

table! { FLOW = "flow", "[[flow]]",
    "A sender, its receiver, and the data it sends. It has a size or a duration, not both." {
    "name": Kind::Text(MAX_NAME), or "the algorithm", "Name in results.";
    "algorithm": Kind::Text(u32::MAX), needed "cubic+search",
        "`avoidance+startup[:option=value,...]`, as `slowstart list algorithms` shows.";
    "size": TRANSFER, or "unlimited", "Bytes to send.";
    "duration": Kind::SPAN, or "until the run's `duration`",
        "Time for which it has data to send, from its start.";
    "start": AT, is "0 s", "Time at which its SYN leaves.";
    "count": Kind::Integer(1, MAX_FLOWS as u64), is "1", "Number of such flows.";
    "stagger": AT, is "0 s", "Time from the start of one of them to the start of the next.";
    "initial_window": Kind::Integer(1, MAX_INITIAL_WINDOW), is "10", "Initial window in segments.";
    "pacing": Kind::Switch, is "false", "Whether segments are paced, as under fq.";
    "receive_buffer": WINDOW, is "64 MiB",
        "Largest receive window that autotuning may reach; the default exceeds what any preset \
         has in flight.";
    "syn_window": WINDOW, is "65535 B",
        "Receive window that the handshake advertises, at most receive_buffer. The window of a \
         SYN-ACK is not scaled; a sender that learns the window from the third segment of the \
         handshake, as a web server does, sees a scaled one.";
    "ack_policy": Kind::Words(&["delayed", "every-segment"]), is "delayed",
        "Whether the receiver delays ACKs as Linux does, or acknowledges every segment.";
    "ecn": Kind::Switch, is "false", "Whether data segments are ECN-capable.";
    "sack": Kind::Switch, is "true",
        "Whether both ends use SACK; without it, losses are repaired as by NewReno (RFC 6582, as \
         Linux implements it).";
    "impatient": Kind::Switch, is "false",
        "Without SACK: whether only the first partial ACK of a recovery restarts the \
         retransmission timer (RFC 6582); in Linux every one does.";
    "small_queue": Kind::Integer(1, MAX_PACING_SHIFT), or "no device queue",
        "TCP Small Queues (sk_pacing_shift): the first link of the path is the sender's own \
         device, and at most the bytes that the pacing rate sends in 2^-N seconds wait in it. The \
         device needs a drop-tail or random-above queue and is not Wi-Fi. Linux has 10 (1 ms); \
         Wi-Fi drivers relax it to 8 or 7.";
    "restart_after_idle": Kind::Switch, is "true",
        "Whether an idle time longer than the RTO reduces the window.";
    "tso_segments": Kind::Integer(1, 45), is "45",
        "Largest unpaced burst in segments; 1 turns TSO off.";
    "extra_delay": Kind::DELAY, is "0 s",
        "One-way delay of the flow's own access link, in both directions.";
    "autotuning": Kind::Words(&["linux-6.18", "linux-5.4", "off"]), is "linux-6.18",
        "How the receive window grows: as in Linux 6.18, as before 6.16 (to twice the bytes read \
         in a round trip and 16 segments; data that waits to be read is not deducted), or not at \
         all (`off`: `receive_buffer` from the start, as with SO_RCVBUF).";
    "loss_detection": Kind::Words(&["rack", "fack"]), is "rack",
        "How losses are detected: as Linux 6.x does, or as Linux 2.6.24 did (forward \
         acknowledgment, no tail-loss probes, and after a true timeout all data that is not \
         SACKed is retransmitted; a spurious timeout leads to a reduction).";
    "byte_counting": Kind::Switch, is "true",
        "Whether an ACK increases the window for all bytes that it acknowledges (Linux since \
         4.0), or for one segment, as before.";
    "application": Kind::Table(&APPLICATION), or "all data at the start",
        "When the application has data to send.";
}}

table! { APPLICATION = "application", "an application",
    "An application that has data from time to time: `write` with `every` or `pause`, or `rate`." {
    "write": TRANSFER, sometimes "10 kB" "needed, or rate", "Bytes of one write.";
    "every": Kind::Time(MIN_INTERVAL, MAX_DURATION), sometimes "100 ms" "needed with `write`, or pause",
        "Time from one write to the next.";
    "pause": Kind::SPAN, or "",
        "Time from the acknowledgment of all written bytes to the next write.";
    "rate": Kind::RATE, or "", "Rate at which full segments are written, one after the other.";
}}
