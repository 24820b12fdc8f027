//! CUBACK: the curves of CUBIC as functions of acknowledged data instead of time.
//! draft-kazuho-ccwg-cuback-00 (Oku, "CUBACK: CUBIC Driven by the ACK Clock", 25 September 2026),
//! sections 3 to 3.3; its constants are those of RFC 9438.
//!
//! At a congestion event the sender records the window, and the rate of delivery as that window
//! over the smoothed round-trip time. The curve of CUBIC then says how many segments have to be
//! acknowledged until the window reaches a value, and each segment of growth costs the difference
//! to the next value, two segments at least. So a flow that delivers more than it recorded, as a
//! newcomer does, follows the curve faster than time would.
//!
//! Arithmetic is in integers: W_max in twentieths of a segment, times in nanoseconds, and what is
//! to be acknowledged in 2^-20 segments.
//!
//! ## Deviations
//!
//! - None in what the window does. The draft leaves the sampling of the smoothed round-trip time
//!   open: here it is that of the last ACK that delivered data before the event.

use units::Bytes;

use super::cubic::cube_root;
use crate::settings;
use crate::{Ack, Avoidance, Congestion, Window, options};

/// One segment of acknowledged data.
const ONE: i128 = 1 << 20;
/// One segment of `w_max`.
const PARTS: i128 = 20;
/// beta = 7/10 (RFC 9438, section 4.6).
const BETA: (u64, u64) = (7, 10);
/// (1 + beta) / 2 in parts of `w_max` (section 3.1): 17/20.
const CONVERGENCE: i128 = 17;
/// 1 / (2 alpha), where alpha is 9/17 (section 3): 17/18.
const HALF_PER_ALPHA: (i128, i128) = (17, 18);
/// 1/C in cubic nanoseconds for one part of a segment: 10^27 / 0.4 / 20.
const CUBE: u128 = 125_000_000_000_000_000_000_000_000;
/// Windows farther from the maximum have no time of their own.
const FARTHEST: u128 = 600_000_000_000;

settings! {
    /// Settings of [`Cuback`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CubackConfig {
        /// Whether a flow that lost below its last maximum gives way (section 3.1).
        fast_convergence: bool {
            name: "fast_convergence",
            default: "true",
            help: "whether a flow that lost below its last maximum gives way",
            read: options::boolean,
        }
    }
}

/// What stays from one congestion event to the next (section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stage {
    /// W_max in [`PARTS`] of a segment.
    w_max: i128,
    /// The window before the event, in segments.
    cwnd_prior: i128,
    /// The smoothed round-trip time at the event, in nanoseconds. The rate is `cwnd_prior` over it.
    srtt: i128,
    /// The window at the beginning of congestion avoidance; none before the first ACK there.
    cwnd_epoch: Option<i128>,
}

/// The cube root of a signed distance over C, in nanoseconds.
fn time(distance: i128) -> i128 {
    let cube = distance.unsigned_abs().min(FARTHEST) * CUBE;
    i128::from(cube_root(cube)) * distance.signum()
}

impl Stage {
    /// `A(w)`: what has to be acknowledged until the window is `w`, in 2^-20 segments.
    fn acknowledged(&self, w: i128) -> i128 {
        let epoch = self.cwnd_epoch.unwrap_or(w);
        let curve = time(self.w_max - epoch * PARTS) + time(w * PARTS - self.w_max);
        let cubic = self.cwnd_prior * ONE * curve / self.srtt;
        let (numerator, denominator) = HALF_PER_ALPHA;
        let slow = w.min(self.cwnd_prior);
        let reno = (slow - epoch) * (slow + epoch - 1) * ONE * numerator / denominator;
        let prior = self.cwnd_prior;
        let beyond = (w - slow) * (w + prior - 1) * ONE / 2;
        cubic.min(reno + beyond)
    }

    /// `D(w)`: what a segment of growth costs at a window of `w`.
    fn cost(&self, w: i128) -> i128 {
        (self.acknowledged(w + 1) - self.acknowledged(w)).max(2 * ONE)
    }
}

/// CUBACK.
#[derive(Clone, Debug)]
pub struct Cuback {
    config: CubackConfig,
    stage: Option<Stage>,
    /// The stage before the last congestion event, which an undo restores.
    before: Option<Stage>,
    /// Acknowledged and not yet spent.
    pending: i128,
    /// A window of this stage and what a segment of growth costs there.
    cost: Option<(u64, i128)>,
    /// Of the last ACK, in nanoseconds.
    srtt: i128,
}

impl Cuback {
    /// A new connection.
    #[must_use]
    pub const fn new(config: CubackConfig) -> Self {
        Self {
            config,
            stage: None,
            before: None,
            pending: 0,
            cost: None,
            srtt: 1,
        }
    }

    /// The stage whose first ACK finds a window of `cwnd`. Without an event before it, the curve
    /// begins at its plateau.
    fn stage(&mut self, cwnd: u64) -> Stage {
        let cwnd = i128::from(cwnd);
        let mut stage = self.stage.unwrap_or(Stage {
            w_max: cwnd * PARTS,
            cwnd_prior: cwnd,
            srtt: self.srtt,
            cwnd_epoch: None,
        });
        if stage.cwnd_epoch.is_none() {
            stage.cwnd_epoch = Some(cwnd);
            stage.w_max = stage.w_max.max(cwnd * PARTS);
            stage.cwnd_prior = stage.cwnd_prior.max(cwnd);
            self.pending = 0;
            self.cost = None;
        }
        self.stage = Some(stage);
        stage
    }

    /// Forgets the last maximum, so that the next stage begins at its plateau.
    pub(super) fn forget_maximum(&mut self) {
        self.stage = None;
        self.cost = None;
    }
}

impl Avoidance for Cuback {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, _window: &Window) {
        self.srtt = i128::from(ack.srtt.as_nanos()).max(1);
    }

    fn on_ack(&mut self, acked: Bytes, _ack: &Ack, window: &Window) -> Bytes {
        let mut cwnd = window.cwnd_segments();
        let stage = self.stage(cwnd);
        self.pending += i128::from(acked.segments(window.smss)) * ONE;
        loop {
            let cost = match self.cost {
                Some((at, cost)) if at == cwnd => cost,
                _ => stage.cost(i128::from(cwnd)),
            };
            self.cost = Some((cwnd, cost));
            if self.pending < cost {
                break;
            }
            self.pending -= cost;
            cwnd += 1;
        }
        window.smss * (cwnd - window.cwnd_segments())
    }

    fn on_congestion(&mut self, _congestion: &Congestion, window: &Window) -> Bytes {
        let segments = window.cwnd_segments();
        let cwnd = i128::from(segments);
        let last = self.stage.map(|stage| stage.w_max);
        let gives_way = self.config.fast_convergence && last.is_some_and(|max| cwnd * PARTS < max);
        self.before = self.stage;
        self.stage = Some(Stage {
            w_max: cwnd * if gives_way { CONVERGENCE } else { PARTS },
            cwnd_prior: cwnd,
            srtt: self.srtt,
            cwnd_epoch: None,
        });
        self.cost = None;
        // RFC9438-4.6a, RFC9438-4.6b
        window.smss * (segments * BETA.0 / BETA.1).max(2)
    }

    /// After a timeout the curve begins at its plateau (RFC 9438, section 4.8).
    fn on_timeout(&mut self) {
        self.forget_maximum();
    }

    fn on_undo(&mut self) {
        self.stage = self.before.take();
        self.cost = None;
    }

    fn on_mtu(&mut self, from: Bytes, to: Bytes) {
        let [from, to] = [from, to].map(|smss| i128::from(smss.get().max(1)));
        if let Some(stage) = &mut self.stage {
            stage.w_max = stage.w_max * from / to;
            stage.cwnd_prior = (stage.cwnd_prior * from / to).max(1);
            stage.cwnd_epoch = None;
        }
        self.cost = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Draft, appendix B, first table: cwnd_epoch 7, cwnd_prior and W_max 10, RTT 0.1 s.
    #[test]
    fn the_reno_friendly_vector_of_the_draft() {
        let stage = Stage {
            w_max: 10 * PARTS,
            cwnd_prior: 10,
            srtt: 100_000_000,
            cwnd_epoch: Some(7),
        };
        let ten_thousandths = |value: i128| (value * 10_000 + ONE / 2) / ONE;
        let a = [0, 132_222, 283_333, 453_333, 553_333, 663_333];
        let d = [132_222, 151_111, 170_000, 100_000, 110_000];
        for (w, expected) in (7..).zip(a) {
            assert_eq!(ten_thousandths(stage.acknowledged(w)), expected, "A({w})");
        }
        for (w, expected) in (7..).zip(d) {
            assert_eq!(ten_thousandths(stage.cost(w)), expected, "D({w})");
        }
    }

    /// Second table: cwnd_epoch 600, cwnd_prior and W_max 1000, RTT 0.1 s; K is 10 s.
    #[test]
    fn the_cubic_vector_of_the_draft() {
        let stage = Stage {
            w_max: 1000 * PARTS,
            cwnd_prior: 1000,
            srtt: 100_000_000,
            cwnd_epoch: Some(600),
        };
        assert_eq!(time(400 * PARTS), 10_000_000_000);
        for (w, expected) in [
            (600, 0),
            (950, 50_000),
            (1000, 100_000),
            (1050, 150_000),
            (1400, 200_000),
        ] {
            let a = (stage.acknowledged(w) + ONE / 2) / ONE;
            assert_eq!(a, expected, "A({w})");
        }
    }

    fn window(cwnd: u64) -> Window {
        Window {
            cwnd: Bytes::new(cwnd),
            ssthresh: Bytes::new(2),
            smss: Bytes::new(1),
        }
    }

    fn congestion() -> Congestion {
        Congestion {
            now: units::Instant::ZERO,
            kind: crate::CongestionKind::Loss,
            phase: crate::Phase::Open,
            in_flight: Bytes::new(10),
            snd_nxt: 0,
            first_of_window: true,
        }
    }

    /// Sections 3.1 and 3.2.
    #[test]
    fn fast_convergence_and_undo() {
        let mut cuback = Cuback::new(CubackConfig::default());
        assert_eq!(cuback.on_congestion(&congestion(), &window(100)).get(), 70);
        let first = cuback.stage(70);
        assert_eq!((first.w_max, first.cwnd_epoch), (100 * PARTS, Some(70)));
        assert_eq!(cuback.on_congestion(&congestion(), &window(90)).get(), 63);
        assert_eq!(cuback.stage(63).w_max, 90 * 17);
        assert_eq!(cuback.stage(63).cwnd_prior, 90);
        cuback.on_undo();
        assert_eq!(cuback.stage, Some(first));
    }
}
