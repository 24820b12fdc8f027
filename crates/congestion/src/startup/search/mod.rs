//! SEARCH: Slow start Exit At Right CHokepoint.
//!
//! In slow start a window of time delivers twice what the window one RTT earlier delivered, which
//! is also what was sent in that earlier window. If it delivers clearly less, the path is full:
//!
//! ```text
//! norm = (expected - delivered(window ending now)) / expected        exit when norm >= THRESH
//! expected = 2 * delivered(window ending one RTT ago)    (2.0, 3.0, 3.1)
//!          = sent(window ending one RTT ago)             (1.0, 4.0)
//! ```
//!
//! A window is 3.5 initial RTTs in 10 bins; the test runs when a bin ends. One RTT ago falls
//! between two bins, so the test blends the two windows that end there.
//!
//! Sources: Kachooei 2024, Algorithm 1, for 2.0; the netdev patch of January 2025 for 3.1;
//! draft-chung-ccwg-search-09 and its ports for 4.0; Kachooei 2024, section 4.3, for 1.0; and the
//! authors' repository for the intent of 3.0: 2.0 with cumulative bins, which look back one bin
//! less. `published.rs` describes `as_published=true`.
//!
//! Assumes that `ack.snd_una` counts the cumulatively acknowledged bytes (as in Linux, without
//! SACKed bytes) and `ack.bytes_sent` the bytes sent before this ACK released any. ACKs without an
//! RTT sample are skipped; the next ACK includes their bytes.
//!
//! Counts are cumulative over the connection: only differences matter, and no difference spans a
//! reset. A reset therefore needs no base, and re-entering slow start loses no precision.
//!
//! # During loss recovery
//!
//! SEARCH tests whenever the window is below the threshold, because the Linux modules of 3.1 and
//! 4.0 do (`tcp_in_slow_start` in `bictcp_acked`). Where so many segments are lost that
//! proportional rate reduction holds the window below the threshold that the loss has set, this
//! includes fast recovery. Delivery has collapsed there, the test finds a full path, and the exit
//! lowers the threshold to the window of the moment: a few segments. The modules rely on the reset
//! of missed bins to prevent that, and their default switches it off; the published 2.0 stopped at
//! the first loss. RFC 5681 (section 3.2) leaves the threshold alone in fast recovery.
//! `in_recovery=rest` does, too; `missed=reset`, 4.0 and `as_published=true` (2.0) avoid most of
//! it. Behind RED with 1000 packets (50 Mbit/s, 40 ms, 782 segments lost), the default then
//! repairs hundreds of them with a window of two segments, and has 2 Mbit/s in ten seconds, where
//! `in_recovery=rest` has what standard slow start has (`crates/simulator/tests/disciplines.rs`).
//!
//! # Deviations
//!
//! The versions are the published ones with their errata repaired (`as_published=true` keeps them);
//! `tests/search_streams.rs` shows where the results differ.
//!
//! - 2.0 clears the bins beyond the last one (Algorithm 1 erases the last one too), looks back at
//!   most 14 bins (15 would reach the slot being written), blends the two windows (the Linux module
//!   picks one) and has no sticky stop: a restart initializes it again.
//! - 3.1 and 4.0 test only with a whole bin before the oldest window (`p > W`). The Linux modules
//!   use bin 0 in its place, which after a reset holds the connection's total and causes false
//!   exits.
//! - 3.1's rollback counts bytes; the Linux module forgets the shift.
//! - 4.0 uses the threshold of the draft (26 %; the Linux module has 35 %). If an ACK has no rate
//!   sample, the connection decides whether it was application-limited.
//! - Linux resets when it restarts the window after idling for longer than the retransmission
//!   timeout. A start-up does not know that timeout; the shortest one of Linux, SRTT + 200 ms, is
//!   used.
//! - `missed=reset` is off by default, as in the Linux repository, though its text says `alpha` is
//!   2.
//! - `missed=freeze`, `few_bins=shrink` and `few_bins=hold` are our readings of Kachooei 2024, chapter
//!   7, which names them as future work without a specification. The last two read one sentence, on
//!   "the congestion window size when there are insufficient bins"; the published 3.2 intends
//!   the first of them and does not compile.
//! - `arithmetic=shifted` keeps 16-bit counts as Linux 3.1 and 4.0 do. The stored value is the
//!   count shifted right by the smallest shift that makes all counts fit, computed when it is read.

mod config;
mod exit;
mod norm;
mod published;
mod ring;

pub use config::{
    AppLimited, Arithmetic, Boundary, Comparison, Exit, FewBins, LookBack, MAX_BINS,
    MAX_EXTRA_BINS, Missed, NormBase, SearchConfig, Version,
};
pub use norm::Measurement;

use units::{Bytes, Duration, Instant};

use self::exit::Drain;
use self::norm::Norm;
use self::ring::{Ring, SLOTS};
use crate::{Ack, Congestion, ExitReason, Needs, Sent, SlowStartExit, Startup, Step, Window};

/// Longer RTTs count as this one, so that no product overflows.
const LONGEST_RTT: Duration = Duration::from_secs(3_600);
/// The shortest bin (Linux 4.0).
const SHORTEST_BIN: Duration = Duration::from_micros(1);

/// `TCP_RTO_MIN`: Linux's retransmission timeout is at least this much longer than SRTT.
const RTO_MIN: Duration = Duration::from_millis(200);

/// The bins while they are open.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// End of the bin being filled.
    end: Instant,
    /// Index of the last bin that ended; 0 when the bins were opened.
    index: u64,
    /// Right shift of the counts where they are kept in 16 bits, else 0.
    shift: u32,
}

/// The values fixed by the first sample: the bin's duration and the sample.
#[derive(Clone, Copy, Debug)]
struct Scale {
    bin: Duration,
    initial_rtt: Duration,
}

/// SEARCH.
#[derive(Clone, Debug)]
pub struct Search {
    config: SearchConfig,
    /// Before the first opening of the bins: 2.0 counts what the first ACK acknowledged.
    first: bool,
    scale: Option<Scale>,
    open: Option<Open>,
    acked: Ring,
    /// Used only by 4.0.
    sent: Ring,
    measurement: Option<Measurement>,
    /// Whether the last bin ended with a look-back beyond the bins.
    lacks_bins: bool,
    decision: Option<SlowStartExit>,
    drain: Option<Drain>,
    /// Smoothed RTT at the last ACK.
    srtt: Duration,
    /// Stopped permanently, as published 2.0 and 3.0 are after they left slow start.
    stopped: bool,
}

impl Search {
    /// A start-up for a new connection.
    #[must_use]
    pub fn new(config: SearchConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            first: true,
            scale: None,
            open: None,
            acked: Ring::new(),
            sent: Ring::new(),
            measurement: None,
            lacks_bins: false,
            decision: None,
            drain: None,
            srtt: Duration::ZERO,
            stopped: false,
        }
    }

    /// The configuration.
    #[must_use]
    pub const fn config(&self) -> &SearchConfig {
        &self.config
    }

    /// The last test, for traces.
    #[must_use]
    pub const fn measurement(&self) -> Option<Measurement> {
        self.measurement
    }

    /// The first decision to exit slow start, whether or not it was applied. With `exit=drain` the
    /// threshold is set later, when the window has drained.
    #[must_use]
    pub const fn decision(&self) -> Option<SlowStartExit> {
        self.decision
    }

    /// Whether the window is being drained.
    #[must_use]
    pub const fn is_draining(&self) -> bool {
        self.drain.is_some()
    }

    /// The bin's duration, once the first sample fixed it.
    #[must_use]
    pub fn bin_duration(&self) -> Option<Duration> {
        self.scale.map(|scale| scale.bin)
    }

    /// Index of the last bin that ended, while bins are open; bin 0 is their opening.
    #[must_use]
    pub fn index(&self) -> Option<u64> {
        self.open.map(|open| open.index)
    }

    /// End of the bin that is being filled, while bins are open.
    #[must_use]
    pub fn bin_end(&self) -> Option<Instant> {
        self.open.map(|open| open.end)
    }

    /// Right shift of the stored counts (`arithmetic=shifted`), while bins are open.
    #[must_use]
    pub fn shift(&self) -> Option<u32> {
        self.open.map(|open| open.shift)
    }

    fn bins(&self) -> u64 {
        u64::from(self.config.bins.clamp(1, MAX_BINS))
    }

    /// `count` initial RTTs in bins, rounded down and up, independent of the RTT.
    fn rtts_in_bins(&self, count: u64) -> (u64, u64) {
        let bins = count * self.bins() * 1_000;
        let window = u64::from(self.config.window_permille.max(1));
        (bins / window, bins.div_ceil(window))
    }

    /// A time or an RTT sample in the resolution of the arithmetic, in nanoseconds.
    fn quantized(&self, nanos: u64) -> u64 {
        if self.counts_micros() {
            nanos / 1_000 * 1_000
        } else {
            nanos
        }
    }

    /// Whether the application limits the sender.
    fn is_app_limited(&self, ack: &Ack) -> bool {
        match (self.config.version, &ack.rate) {
            (Version::V4_0, Some(rate)) => rate.app_limited,
            _ => ack.app_limited,
        }
    }

    /// Clears the bins, and with `full` also their duration.
    fn reset(&mut self, full: bool) {
        self.open = None;
        self.measurement = None;
        self.lacks_bins = false;
        if full {
            self.scale = None;
        }
    }

    fn open_bins(&mut self, now: Instant, rtt: Duration, ack: &Ack) {
        let scale = self.scale.unwrap_or_else(|| {
            let parts = 1_000 * u64::from(self.config.bins.max(1));
            let bin = rtt.mul_div(u64::from(self.config.window_permille), parts);
            let bin = Duration::from_nanos(self.quantized(bin.as_nanos()));
            Scale {
                bin: bin.max(SHORTEST_BIN),
                initial_rtt: rtt,
            }
        });
        self.scale = Some(scale);
        let from_start = self.first && matches!(self.config.version, Version::V2_0 | Version::V3_0);
        self.first = false;
        self.open = Some(Open {
            end: now + scale.bin,
            index: 0,
            shift: 0,
        });
        self.store(0, if from_start { 0 } else { ack.snd_una }, ack.bytes_sent);
    }

    /// Bin `index` ended with these counts.
    fn store(&mut self, index: u64, acked: u64, sent: u64) {
        self.acked.set(index, acked);
        let mut largest = acked;
        if self.config.compares_sent() {
            self.sent.set(index, sent);
            largest = largest.max(sent);
        }
        let is_shifted = self.arithmetic() == Arithmetic::Shifted;
        if let Some(open) = &mut self.open {
            open.index = index;
            if is_shifted {
                open.shift = open
                    .shift
                    .max((u64::BITS - largest.leading_zeros()).saturating_sub(16));
            }
        }
    }

    /// The count between the ends of bins `from` and `to`, as stored.
    fn between(&self, ring: &Ring, open: Open, from: u64, to: u64) -> u64 {
        (ring.get(to) >> open.shift).saturating_sub(ring.get(from) >> open.shift)
    }

    /// Bytes acknowledged in the last `count` bins; `None` if there are fewer bins.
    fn acked_in_last(&self, count: u64) -> Option<Bytes> {
        let open = self.open?;
        let from = open.index.checked_sub(count.min(SLOTS as u64 - 1))?;
        Some(Bytes::new(
            self.between(&self.acked, open, from, open.index) << open.shift,
        ))
    }

    /// Bins in the windows of a test with this look-back; `None` if there are too few.
    fn width(&self, look_back: u64) -> Option<u64> {
        let missing = look_back.saturating_sub(self.config.longest_lookback());
        match self.config.few_bins {
            _ if missing == 0 => Some(self.bins()),
            FewBins::Mute | FewBins::Hold => None,
            FewBins::Shrink => {
                let left = self.bins().checked_sub(missing)?;
                (2 * left >= self.bins()).then_some(left)
            }
        }
    }

    /// The look-back of a test in whole bins, and the remainder in nanoseconds.
    fn look_back(&self, rtt: Duration, scale: Scale) -> (u64, u64) {
        let back = match self.config.lookback {
            LookBack::Current => rtt,
            LookBack::Initial => scale.initial_rtt,
        };
        self.split(back.as_nanos(), scale.bin.as_nanos())
    }

    /// The test at the end of a bin, with windows of `width` bins, if so many were counted.
    fn test(
        &self,
        at: Instant,
        scale: Scale,
        (look_back, rest): (u64, u64),
        width: u64,
    ) -> Option<Measurement> {
        let open = self.open?;
        let bin = scale.bin.as_nanos();
        let last = open.index.checked_sub(look_back)?;
        if last < self.first_tested(width) {
            return None;
        }
        let (ring, factor) = if self.config.compares_sent() {
            (&self.sent, 1)
        } else {
            (&self.acked, 2)
        };
        let current = self.between(&self.acked, open, open.index - width, open.index);
        let newer = u128::from(self.between(ring, open, last - width, last));
        // As published, nothing was counted before bin 0.
        let before = (last - 1).checked_sub(width);
        let count = |index: Option<u64>| index.map_or(0, |index| ring.get(index) >> open.shift);
        let older = u128::from(count(Some(last - 1)).saturating_sub(count(before)));
        let percent = u128::from(rest) * 100 / u128::from(bin);
        let (previous, denominator) = if let Some(picked) = self.picks() {
            let late = (at + scale.bin).saturating_since(open.end).as_nanos();
            (picked(self, newer, older, late >= rest, look_back)?, 1)
        } else {
            match self.arithmetic() {
                Arithmetic::Exact => (
                    newer * u128::from(bin - rest) + older * u128::from(rest),
                    bin,
                ),
                Arithmetic::Percent => ((older * percent + newer * (100 - percent)) / 100, 1),
                Arithmetic::Shifted => {
                    let part = |from: u64, to: u64, weight| {
                        u128::from(to.saturating_sub(from)) * weight / 100
                    };
                    let whole = u128::from(self.between(ring, open, last - width, last - 1));
                    let first = part(count(before), count(Some(last - width)), percent);
                    let newest = part(count(Some(last - 1)), count(Some(last)), 100 - percent);
                    (whole + first + newest, 1)
                }
            }
        };
        let norm = Norm::new(current, previous * factor, denominator)?;
        let norm = match self.config.norm_of {
            NormBase::Expected => norm,
            NormBase::Delivered => norm.of_delivered()?,
        };
        let threshold = self.config.threshold();
        let bytes =
            |count: u128| Bytes::new(u64::try_from(count << open.shift).unwrap_or(u64::MAX));
        Some(Measurement {
            at,
            index: open.index,
            look_back,
            current: bytes(u128::from(current)),
            previous: bytes(previous / u128::from(denominator)),
            norm_permille: norm.permille(),
            hit: match self.comparison() {
                Comparison::AtLeast => norm.is_at_least(threshold),
                Comparison::Above => norm.is_above(threshold),
            },
        })
    }

    /// Adds the ACK to the bins; returns the test if a bin ended and there are enough bins.
    fn measure(&mut self, ack: &Ack) -> Option<Measurement> {
        let rtt = ack
            .latest_rtt?
            .max(Duration::from_micros(1))
            .min(LONGEST_RTT);
        let rtt = Duration::from_nanos(self.quantized(rtt.as_nanos()));
        let now = Instant::from_nanos(self.quantized(ack.now.as_nanos()));
        let app_limited = self.is_app_limited(ack);
        if app_limited && self.config.app_limited() == AppLimited::Skip {
            return None;
        }
        let (Some(open), Some(scale)) = (self.open, self.scale) else {
            self.open_bins(now, rtt, ack);
            return None;
        };
        let ended = match self.config.boundary() {
            Boundary::At => now >= open.end,
            Boundary::After => now > open.end,
        };
        if !ended {
            return None;
        }
        let passed = now.saturating_since(open.end).as_nanos() / scale.bin.as_nanos() + 1;
        let limited = app_limited && self.config.app_limited() == AppLimited::Reset;
        let tolerated = u64::from(self.config.alpha) * self.rtts_in_bins(1).0;
        let silent = passed > tolerated;
        if limited || (silent && self.config.missed == Missed::Reset) {
            self.reset(!limited && passed > self.bins());
            self.open_bins(now, rtt, ack);
            return None;
        }
        let frozen = silent && self.config.missed == Missed::Freeze;
        let bins = if frozen { 1 } else { passed };
        self.acked.extend(open.index, bins - 1);
        if self.config.compares_sent() {
            self.sent.extend(open.index, bins - 1);
        }
        self.open = Some(Open {
            end: open.end + scale.bin * passed,
            ..open
        });
        self.store(open.index.saturating_add(bins), ack.snd_una, ack.bytes_sent);
        let look_back = self.look_back(rtt, scale);
        let width = self.width(look_back.0);
        self.lacks_bins = width.is_none();
        self.measurement = width.and_then(|width| self.test(now, scale, look_back, width));
        self.measurement
    }
}

impl Startup for Search {
    fn needs(&self) -> Needs {
        Needs {
            rate_samples: self.config.version == Version::V4_0,
            sent: true,
            ..Needs::NONE
        }
    }

    fn on_sent(&mut self, sent: &Sent) {
        if let Some(since) = sent.idle_since
            && sent.now.saturating_since(since) > self.srtt + RTO_MIN
        {
            self.stopped = false;
            self.restart(sent.now, sent.snd_nxt);
        }
    }

    fn on_delivery(&mut self, ack: &Ack, window: &Window) -> Option<Step> {
        self.srtt = ack.srtt;
        if self.stopped || self.config.rests_in_recovery && ack.phase.is_reducing() {
            return None;
        }
        if let Some(drain) = &mut self.drain {
            drain.on_delivered(ack.delivered);
            return None;
        }
        let measurement = self.measure(ack).filter(|measurement| measurement.hit)?;
        let reason = ExitReason::Search {
            norm_permille: measurement.norm_permille,
            threshold_permille: self.config.threshold(),
            current: measurement.current,
            previous: measurement.previous,
        };
        self.stopped |= self.is_sticky() && !self.config.passive;
        self.act(ack.now, window, reason)
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let Some(drain) = &mut self.drain else {
            let holds = self.lacks_bins && self.config.few_bins == FewBins::Hold;
            return Step::Grow(if holds { Bytes::ZERO } else { ack.delivered });
        };
        let step = drain.step(ack, window);
        if matches!(step, Step::Exit { .. }) {
            self.drain = None;
            self.reset(true);
        }
        step
    }

    fn on_congestion(&mut self, _congestion: &Congestion) {
        self.stopped |= self.is_sticky();
    }

    fn restart(&mut self, _now: Instant, _snd_nxt: u64) {
        if self.stopped {
            return;
        }
        self.reset(true);
        self.drain = None;
    }

    fn passive_decision(&self) -> Option<SlowStartExit> {
        if self.config.passive {
            self.decision
        } else {
            None
        }
    }
}
