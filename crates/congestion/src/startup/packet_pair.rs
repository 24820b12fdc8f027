//! Slow start with a threshold from packet pairs: Abed and Jasim 2022.
//!
//! On long paths slow start overshoots, because the first threshold is arbitrarily high. Here the
//! threshold is the available bandwidth times the smallest RTT. The bandwidth is the median over
//! the packet pairs of a round: segments that left back to back and whose ACKs came apart. Each
//! round trip with enough pairs corrects the threshold, until the window has reached it. Slow start
//! then ends, and congestion avoidance follows.
//!
//! Assumes that the receiver acknowledges each segment at the beginning (Linux's quick ACKs); a
//! delayed ACK counts with all that it delivers.
//!
//! # Deviations
//! Our reconstruction: only the paper's abstract is known. The filter, the number of pairs and the
//! later behaviour are our choice: the median of one round's pairs (at most 64), at least three
//! pairs, and a threshold of at least two segments. Pairs without a round-trip time (after a
//! retransmission) are not used.

use units::{Bytes, Instant};

use super::dispersion::{Pairs, Samples, Target};
use crate::{Ack, Congestion, Needs, Startup, Step, Window};
use crate::{options, settings};

/// Number of pairs kept from a round: the last ones.
const KEPT: usize = 64;

settings! {
    /// Configuration of [`PacketPair`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PacketPairConfig {
        /// Number of pairs that a round needs to set the threshold.
        pairs: u32 {
            name: "pairs",
            default: "3",
            help: "number of pairs that a round needs to set the threshold",
            read: |value| options::integer(value, 1, KEPT as u64, "a whole number from 1 to 64"),
        }
    }
}

/// Slow start with a threshold from packet pairs.
#[derive(Clone, Debug)]
pub struct PacketPair {
    config: PacketPairConfig,
    pairs: Pairs,
    /// Bandwidth samples of this round, in bytes per second.
    round: Samples<KEPT>,
    /// The round ends when this offset is passed; known from the first ACK on.
    round_end: Option<u64>,
    target: Option<Target>,
    /// The initial slow start is over.
    over: bool,
}

impl PacketPair {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: PacketPairConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            pairs: Pairs::default(),
            round: Samples::new(),
            round_end: None,
            target: None,
            over: false,
        }
    }

    /// The threshold at which slow start will end, once it is known.
    #[must_use]
    pub fn threshold(&self) -> Option<Bytes> {
        self.target.map(|target| target.window)
    }

    fn is_active(&self, window: &Window) -> bool {
        !self.over && window.ssthresh == Bytes::MAX
    }
}

impl Startup for PacketPair {
    fn needs(&self) -> Needs {
        Needs::NONE
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        if !self.is_active(window) {
            return None;
        }
        let round_end = *self.round_end.get_or_insert(ack.snd_nxt);
        if let Some(rate) = self.pairs.on_ack(ack) {
            self.round.push(rate);
        }
        if ack.snd_una >= round_end {
            if self.round.len() >= self.config.pairs as usize
                && let Some(rate) = self.round.quantile(50)
            {
                self.target = Some(Target::new(rate, ack.min_rtt, window.smss));
            }
            self.round = Samples::new();
            self.round_end = Some(ack.snd_nxt);
        }
        None
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        match &self.target {
            Some(target) if self.is_active(window) => target.grow(ack.delivered, window),
            _ => Step::Grow(ack.delivered),
        }
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.over = true;
    }
}
