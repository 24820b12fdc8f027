//! Oracle: slow start that leaves at the capacity of the path, which a simulator tells it.
//!
//! No real sender can do this. It is the reference with which the exit of another start-up is
//! compared: the same growth, without an exit that is too early or too late. The window doubles each
//! round trip as in [`Standard`] slow start, and slow start ends
//!
//! - when the path holds its BDP and [`HEADROOM`] segments more, which keep the bottleneck busy: one
//!   in service, two that wait for a delayed ACK, and one for the parts of segments that a window in
//!   whole segments cannot have. The window stops growing when it has this size, and slow start ends
//!   when the data in flight fills it, at most a base RTT later: an earlier end of pacing would
//!   send what is missing as one burst. Window and threshold are then exactly this;
//! - or when the bottleneck has been busy for a base RTT and has carried a BDP of its mean rate in this
//!   time, as on a path that others fill. The window stays as it is.
//!
//! The BDP is the product of the payload rate of the bottleneck, as a mean over the base RTT from now
//! on, and of the smoothed RTT less the delay of the queue at the bottleneck, but not less than the
//! base RTT. A base RTT in which the bottleneck carries less than an eighth of its mean rate is an
//! outage: the next one without one counts instead. So on a varying path the BDP is that of the moment
//! or that after an outage, and delays outside of the bottleneck count
//! (such as the wait for a grant in a return link). Segments leave at the rate of the bottleneck, not faster:
//! they would only wait there. So its slow start builds no queue in front of a bottleneck that it
//! has to itself, whatever the size of the buffer.
//!
//! With `jump=true` the window is that large from the first segment on. This is the reference for
//! the growth of a start-up together with its exit.
//!
//! Assumes that the transport implements [`KnowsPath`]. Without a word about the path it is standard
//! slow start, as on a path without a bottleneck.
//!
//! # Deviations
//! - The knowledge comes with the ACKs, so on a varying path it is as old as the last ACK, and at
//!   most a sixteenth of the base RTT older.
//! - The BDP is that of the whole path: the oracle does not know what of it others will take, or
//!   leave, later. With other traffic it is therefore not the fastest possible start-up.
//! - It sets no window above the initial one before the first ACK unless `jump=true`, and it never
//!   reduces the initial window.
//! - On a shared medium, whose rate depends on who sends, the BDP is that of the medium's mean rate.

use units::{Bytes, Duration, Instant, Rate};

use crate::{Ack, Criterion, KnownPath, KnowsPath, Needs, Pace, Startup, Step, Unit, Window};
use crate::{options, settings};

#[cfg(doc)]
use super::Standard;

/// Segments above the BDP.
pub const HEADROOM: u64 = 4;

/// The window holds what the path carries.
static CAPACITY: Criterion = Criterion::above("capacity", Unit::Bytes);

/// The bottleneck is busy, so others use what the window does not.
static BUSY: Criterion = Criterion::above("busy", Unit::Time);

settings! {
    /// Configuration of [`Oracle`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OracleConfig {
        /// Whether the window holds the BDP from the first segment on.
        jump: bool {
            name: "jump",
            default: "false",
            help: "true: the window holds the BDP from the first segment on, which is the reference \
                   for growth and exit together",
            read: |value| options::boolean(value),
        }
    }
}

/// The oracle.
#[derive(Clone, Debug)]
pub struct Oracle {
    config: OracleConfig,
    path: Option<KnownPath>,
    has_jumped: bool,
    /// When the window first had its size, if it has.
    grown: Option<Instant>,
}

impl Oracle {
    /// A start-up for a new connection.
    #[must_use]
    pub const fn new(config: OracleConfig, _now: Instant, _snd_nxt: u64) -> Self {
        Self {
            config,
            path: None,
            has_jumped: false,
            grown: None,
        }
    }

    /// The BDP, and the window to leave with; `None` while the path is unknown or has no bottleneck.
    fn target(&self, srtt: Duration, smss: Bytes) -> Option<(Bytes, Bytes)> {
        let path = self.path.filter(|path| path.rate < Rate::MAX)?;
        let rtt = srtt.saturating_sub(path.queue_delay).max(path.base_rtt);
        let bdp = path.rate.bytes_in(rtt);
        let smss = smss.max(Bytes::new(1));
        let segments = bdp.get().div_ceil(smss.get());
        Some((bdp, smss * (segments + HEADROOM)))
    }
}

impl Startup for Oracle {
    fn needs(&self) -> Needs {
        Needs::PACING
    }

    fn knows_path(&mut self) -> Option<&mut dyn KnowsPath> {
        Some(self)
    }

    fn on_ack(&mut self, ack: &Ack, window: &Window) -> Step {
        let (Some(path), Some((bdp, target))) = (self.path, self.target(ack.srtt, window.smss))
        else {
            return Step::Grow(ack.delivered);
        };
        if window.cwnd + ack.delivered >= target {
            let grown = *self.grown.get_or_insert(ack.now);
            let sent = ack.in_flight + ack.delivered + window.smss * HEADROOM;
            if sent < target && ack.now.saturating_since(grown) < path.base_rtt {
                return Step::Set(target);
            }
            return Step::Exit {
                cwnd: target,
                ssthresh: target,
                reason: CAPACITY.met(target, bdp),
            };
        }
        self.grown = None;
        if path.busy_for >= path.base_rtt {
            return Step::Exit {
                cwnd: window.cwnd,
                ssthresh: window.cwnd,
                reason: BUSY.met(path.busy_for, path.base_rtt),
            };
        }
        Step::Grow(ack.delivered)
    }

    fn pacing(&self) -> Option<Pace> {
        let rate = self.path?.rate;
        (rate < Rate::MAX).then(|| Pace::at(rate))
    }
}

impl KnowsPath for Oracle {
    fn on_path(&mut self, path: &KnownPath, window: &Window) -> Option<Step> {
        self.path = Some(*path);
        let is_first = self.config.jump && !core::mem::replace(&mut self.has_jumped, true);
        let (_, target) = self.target(path.base_rtt, window.smss)?;
        (is_first && target > window.cwnd).then_some(Step::Set(target))
    }
}
