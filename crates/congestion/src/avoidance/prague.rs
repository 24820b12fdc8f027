//! Prague: De Schepper, Tilmans, Briscoe and Goel, "Prague Congestion Control",
//! draft-briscoe-iccrg-prague-congestion-control, sections 2.3 and 2.4.
//!
//! A scalable congestion control for L4S. Once per virtual round trip, of 25 ms or more, it
//! measures the fraction of the delivered segments that were marked, and follows it with an average
//! `alpha` of gain 1/16. A mark reduces the window by `alpha / 2`, at most once per round trip.
//! Segments that were not marked grow it, also during that round trip, by one segment per round
//! trip; below a round-trip time of 25 ms by less, so that the rate grows as at 25 ms. A loss halves
//! the window, as in Reno.
//!
//! Slow start ends with the first mark. `alpha` is one until then, so that the first mark halves the
//! window.
//!
//! It needs AccECN (`accurate_ecn`) and ECT(1). Without, it is Reno.
//!
//! ## Deviations
//!
//! - This follows an earlier revision, and what the abstract of -04 (24 July 2024) says of the
//!   changes: the text of -04 was not at hand.
//! - The virtual round trip applies from the start; Linux's `tcp_prague` begins after some round
//!   trips, and has other forms of it.
//! - Pacing is that of the connection. The draft paces at `cwnd / srtt`, twice as fast in slow start.
//! - The window has at least two segments; the draft leaves smaller ones to future work, and so does
//!   the fallback for a classic bottleneck that marks.
//! - The start-up is that of the connection (`prague+NAME`); paced chirping is not here.

use units::{Bytes, Duration, Instant};

use crate::settings;
use crate::{Ack, Avoidance, Congestion, CongestionKind, Decision, ExitReason, Window, options};

/// One in the unit of fractions.
const ONE: u64 = 1 << 20;
/// `alpha` is kept divided by its gain of 1/16, as the draft advises.
const GAIN_SHIFT: u32 = 4;
/// The least window in segments.
const LEAST: u64 = 2;

settings! {
    /// Settings of [`Prague`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct PragueConfig {
        /// The least virtual round-trip time in milliseconds.
        virtual_rtt: u64 {
            name: "virtual_rtt",
            default: "25",
            help: "least virtual round-trip time in ms; 0 is the real one",
            read: |value| options::integer(value, 0, 1000, "a number of ms up to 1000"),
        }
    }
}

/// Prague's window above slow start.
#[derive(Clone, Debug)]
pub struct Prague {
    /// In nanoseconds.
    virtual_rtt: u64,
    /// `alpha` over its gain, in fractions of [`ONE`].
    upscaled: u64,
    /// What the window has beyond whole segments, below [`ONE`].
    fraction: u64,
    /// Of this virtual round trip: delivered and marked bytes.
    delivered: u64,
    marked: u64,
    round_begins: Instant,
    /// The round does not end before this is acknowledged.
    round_end: u64,
    /// Of the ACK at hand.
    newly_marked: Bytes,
    saw_mark: bool,
    /// No second reduction before this is acknowledged.
    reduced_until: Option<u64>,
}

impl Prague {
    /// A new connection.
    #[must_use]
    pub const fn new(config: PragueConfig) -> Self {
        Self {
            virtual_rtt: config.virtual_rtt * 1_000_000,
            upscaled: ONE << GAIN_SHIFT,
            fraction: 0,
            delivered: 0,
            marked: 0,
            round_begins: Instant::ZERO,
            round_end: 0,
            newly_marked: Bytes::ZERO,
            saw_mark: false,
            reduced_until: None,
        }
    }

    /// The average fraction of marks in [`ONE`].
    const fn alpha(&self) -> u64 {
        let alpha = self.upscaled >> GAIN_SHIFT;
        if alpha < ONE { alpha } else { ONE }
    }

    /// The end of a virtual round trip, if this ACK ends one.
    fn end_round(&mut self, ack: &Ack) {
        let span = Duration::from_nanos(self.virtual_rtt).max(ack.srtt);
        if ack.snd_una < self.round_end || ack.now.saturating_since(self.round_begins) < span {
            return;
        }
        // Without a mark yet, nothing shows that an L4S queue is on the path.
        if self.saw_mark && self.delivered > 0 {
            let fraction = self.marked.min(self.delivered) * ONE / self.delivered;
            self.upscaled = self.upscaled - self.alpha() + fraction;
        }
        (self.delivered, self.marked) = (0, 0);
        self.round_begins = ack.now;
        self.round_end = ack.snd_nxt;
    }

    /// The window after a reduction by half of `alpha`.
    fn reduced(&mut self, window: &Window) -> Bytes {
        let exact = window.cwnd_segments() * ONE + self.fraction;
        let less = exact / (2 * ONE) * self.alpha() + exact % (2 * ONE) * self.alpha() / (2 * ONE);
        let exact = (exact - less).max(LEAST * ONE);
        self.fraction = exact % ONE;
        window.smss * (exact / ONE)
    }

    /// Segments per round trip, in [`ONE`]: the square of real over virtual round-trip time.
    fn increase(&self, srtt: Duration) -> u64 {
        let srtt = srtt.as_nanos();
        if srtt == 0 || srtt >= self.virtual_rtt {
            return ONE;
        }
        let ratio = srtt * ONE / self.virtual_rtt;
        ratio * ratio / ONE
    }
}

impl Avoidance for Prague {
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        let unmarked = window.segments(acked.saturating_sub(self.newly_marked));
        let growth = unmarked * self.increase(ack.srtt) / window.cwnd_segments().max(1);
        let exact = self.fraction + growth;
        self.fraction = exact % ONE;
        window.smss * (exact / ONE)
    }

    /// A loss is answered as by Reno; so is a classic echo, where AccECN is not agreed on.
    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
        self.fraction = 0;
        if congestion.kind != CongestionKind::Ecn {
            self.reduced_until = Some(congestion.snd_nxt);
        }
        window.smss * (window.cwnd_segments() / 2).max(LEAST)
    }

    fn reads_marks(&self) -> bool {
        true
    }

    fn on_marks(&mut self, marked: Bytes) {
        self.newly_marked = marked;
        self.marked += marked.get();
        self.saw_mark |= !marked.is_zero();
    }

    fn on_delivery(&mut self, ack: &Ack, _window: &Window) {
        self.newly_marked = Bytes::ZERO;
        self.delivered += ack.delivered.get();
    }

    fn decide(&mut self, ack: &Ack, window: &Window) -> Option<Decision> {
        self.end_round(ack);
        if self.reduced_until.is_some_and(|until| ack.snd_una >= until) {
            self.reduced_until = None;
        }
        if self.newly_marked.is_zero() || self.reduced_until.is_some() {
            return None;
        }
        self.reduced_until = Some(ack.snd_nxt);
        let cwnd = self.reduced(window);
        Some(Decision {
            cwnd,
            ssthresh: cwnd,
            reason: ExitReason::Ecn,
        })
    }

    fn on_timeout(&mut self) {
        self.fraction = 0;
    }

    fn on_mtu(&mut self, _from: Bytes, _to: Bytes) {
        self.fraction = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: Bytes = Bytes::new(1000);

    fn prague() -> Prague {
        Prague::new(PragueConfig::default())
    }

    fn window(segments: u64) -> Window {
        Window {
            cwnd: SMSS * segments,
            ssthresh: SMSS * 2,
            smss: SMSS,
        }
    }

    /// `alpha` after rounds with these fractions of marks, worked out by hand: one, then
    /// `15/16 alpha + fraction / 16`.
    #[test]
    fn the_average_follows_with_a_sixteenth() {
        let mut prague = prague();
        prague.saw_mark = true;
        let mut expected = 1.0_f64;
        for fraction in [0.5, 0.0, 0.25, 1.0, 0.0] {
            let marked = (fraction * 1000.0) as u64;
            prague.upscaled = prague.upscaled - prague.alpha() + marked * ONE / 1000;
            expected += (fraction - expected) / 16.0;
            let found = prague.alpha() as f64 / ONE as f64;
            assert!((found - expected).abs() < 1e-5, "{found} {expected}");
        }
    }

    #[test]
    fn a_mark_takes_half_of_alpha_and_keeps_the_fraction() {
        let mut prague = prague();
        assert_eq!(prague.reduced(&window(40)), SMSS * 20);
        // A fraction of 1/8: 41 segments become 41 * 15/16 = 38.4375.
        prague.upscaled = ONE * 2;
        prague.fraction = 0;
        assert_eq!(prague.reduced(&window(41)), SMSS * 38);
        assert_eq!(prague.fraction, ONE * 7 / 16);
        prague.upscaled = ONE << GAIN_SHIFT;
        assert_eq!(prague.reduced(&window(3)), SMSS * 2);
    }

    #[test]
    fn a_short_path_grows_by_the_square_of_its_time() {
        let prague = prague();
        assert_eq!(prague.increase(Duration::from_millis(25)), ONE);
        assert_eq!(prague.increase(Duration::from_millis(80)), ONE);
        let fifth = prague.increase(Duration::from_millis(5));
        assert!(fifth.abs_diff(ONE / 25) < 2, "{fifth}");
    }
}
