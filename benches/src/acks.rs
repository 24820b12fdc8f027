//! What an algorithm costs for each ACK: the calls for it and for the segments that it releases.
//!
//! A synthetic sender, without packets and without a network, calls the congestion control as a
//! transport does: one segment for each ACK, 100 us apart, a round trip of 100 ms, at most 2000
//! segments in flight.

use congestion::rate_sample::RateSample;
use congestion::{
    Ack, Algorithm, AnyCongestionControl, BuildContext, Congestion, CongestionControl,
    CongestionKind, PARTS, PartKind, Phase, Sent,
};
use units::{Bytes, Duration, Instant, Rate};

const SMSS: Bytes = Bytes::new(1448);
/// The most that is in flight, in segments.
const CAP: u64 = 2_000;
const SPACING: Duration = Duration::from_micros(100);
const RTT: Duration = Duration::from_millis(100);

/// A sender of one algorithm.
pub struct Sender {
    control: AnyCongestionControl,
    now: Instant,
    snd_una: u64,
    snd_nxt: u64,
    phase: Phase,
}

impl Sender {
    /// A connection that begins.
    pub fn new(algorithm: &Algorithm) -> Self {
        let now = Instant::from_secs(1);
        Self {
            control: algorithm.build(BuildContext {
                now,
                smss: SMSS,
                initial_window: SMSS * 10,
                seed: 1,
                handshake_rtt: Some(RTT),
            }),
            now,
            snd_una: 0,
            snd_nxt: 0,
            phase: Phase::Open,
        }
    }

    /// Whether the window is below the threshold.
    pub fn in_slow_start(&self) -> bool {
        self.control.window().in_slow_start()
    }

    fn in_flight(&self) -> Bytes {
        Bytes::new(self.snd_nxt - self.snd_una)
    }

    /// Sends what the window allows.
    pub fn fill(&mut self) {
        let room = self.control.window().cwnd.min(SMSS * CAP);
        while self.in_flight() < room {
            let in_flight = self.in_flight();
            self.snd_nxt += SMSS.get();
            self.control.on_sent(&Sent {
                now: self.now,
                size: SMSS,
                in_flight,
                snd_nxt: self.snd_nxt,
                retransmission: false,
                idle_since: None,
                app_limited: false,
            });
        }
    }

    /// One ACK, and what it releases.
    pub fn ack(&mut self) {
        if self.in_flight().is_zero() {
            self.fill();
        }
        self.now += SPACING;
        let prior_in_flight = self.in_flight();
        self.snd_una += SMSS.get();
        // The queue comes and goes within a millisecond.
        let rtt = RTT + Duration::from_micros(self.snd_una / SMSS.get() % 1_000);
        let mut ack = Ack {
            now: self.now,
            delivered: SMSS,
            newly_lost: Bytes::ZERO,
            prior_in_flight,
            in_flight: self.in_flight(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            advanced: true,
            bytes_sent: self.snd_nxt,
            latest_rtt: Some(rtt),
            srtt: RTT,
            min_rtt: RTT,
            rate: None,
            cwnd_limited: self.control.window().cwnd <= SMSS * CAP,
            app_limited: false,
            phase: self.phase,
            paced: false,
            pacing_rate: Rate::from_bits_per_sec(100_000_000),
        };
        self.control.on_delivery(&ack);
        ack.rate = Some(RateSample {
            delivered: prior_in_flight,
            interval: RTT,
            prior_delivered: Bytes::new(self.snd_una).saturating_sub(prior_in_flight),
            total_delivered: Bytes::new(self.snd_una),
            total_lost: Bytes::ZERO,
            tx_in_flight: prior_in_flight,
            lost: Bytes::ZERO,
            app_limited: false,
            ack_delayed: false,
        });
        self.control.on_ack(&ack);
        self.fill();
    }

    /// A loss or a timeout, or a mark; `recovered` ends it.
    pub fn congest(&mut self, kind: CongestionKind) {
        self.control.on_congestion(&Congestion {
            now: self.now,
            kind,
            phase: self.phase,
            in_flight: self.in_flight(),
            snd_nxt: self.snd_nxt,
            first_of_window: true,
        });
        self.phase = match kind {
            CongestionKind::Loss => Phase::Recovery,
            CongestionKind::Ecn => Phase::Cwr,
            CongestionKind::Timeout => Phase::Loss,
        };
    }

    /// The episode ends.
    pub fn recovered(&mut self) {
        if self.phase.is_reducing() {
            self.control.on_recovery_exit(self.now);
        }
        self.phase = Phase::Open;
    }
}

/// Each part within the simplest algorithm that has it.
pub fn algorithms() -> Vec<Algorithm> {
    let parse = |name: String| {
        Algorithm::parse(&name).unwrap_or_else(|error| unreachable!("{name}: {error}"))
    };
    let parts = PARTS.iter().filter_map(|part| match part.kind {
        PartKind::Startup => Some(format!("reno+{}", part.name)),
        PartKind::Avoidance if part.name != "reno" => Some(format!("{}+standard", part.name)),
        PartKind::Avoidance | PartKind::Recovery => None,
        PartKind::Monolithic => Some(part.name.to_owned()),
    });
    parts.map(parse).collect()
}

/// `count` ACKs in slow start; one that ends begins anew.
pub fn slow_start(algorithm: &Algorithm, count: u64) {
    let mut sender = Sender::new(algorithm);
    for number in 1..=count {
        sender.ack();
        if number.is_multiple_of(CAP) || !sender.in_slow_start() {
            sender = Sender::new(algorithm);
        }
    }
}

/// `count` ACKs after a loss, and a loss again every 5000.
pub fn after_a_loss(algorithm: &Algorithm, count: u64) {
    let mut sender = Sender::new(algorithm);
    for number in 0..count {
        match number % 5_000 {
            500 => sender.congest(CongestionKind::Loss),
            1_000 => sender.recovered(),
            _ => {}
        }
        sender.ack();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Everything that happens to a connection, without an allocation.
    #[test]
    fn no_algorithm_allocates() {
        for algorithm in algorithms() {
            let info = allocation_counter::measure(|| {
                slow_start(&algorithm, 10_000);
                after_a_loss(&algorithm, 20_000);
                let mut sender = Sender::new(&algorithm);
                for kind in [
                    CongestionKind::Ecn,
                    CongestionKind::Timeout,
                    CongestionKind::Loss,
                ] {
                    (0..100).for_each(|_| sender.ack());
                    sender.congest(kind);
                    (0..100).for_each(|_| sender.ack());
                    sender.recovered();
                }
            });
            assert_eq!(info.count_total, 0, "{algorithm} allocates");
        }
    }

    /// The counter counts, and the senders see slow start, recovery and what follows.
    #[test]
    fn the_measurement_measures() {
        let info = allocation_counter::measure(|| drop(algorithms()));
        assert!(info.count_total > 0);
        for algorithm in algorithms() {
            let mut sender = Sender::new(&algorithm);
            let before = sender.control.window().cwnd;
            (0..60).for_each(|_| sender.ack());
            assert!(
                sender.control.window().cwnd > before,
                "{algorithm} does not grow"
            );
            sender.congest(CongestionKind::Loss);
            assert!(
                !sender.in_slow_start() || sender.control.pacing_rate().is_some(),
                "{algorithm}"
            );
        }
    }
}
