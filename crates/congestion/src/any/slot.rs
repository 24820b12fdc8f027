//! The congestion control of one connection, as its transport holds it.
//!
//! The states of all algorithms differ in size by a factor of ten. A transport that held an
//! [`AnyCongestionControl`] would make every connection as large as the largest algorithm.
//! [`ControlSlot`] stores the common ones itself. The transport stores the others (`L`, for example
//! a box): this crate allocates nothing.
//!
//! A common one is built once, when the connection is established. Until then it reports
//! its initial state. The others are built for the handshake, in which routers may be asked, and
//! again in the same place. Such a one may be watched by others, so that one transfer shows what each
//! of several start-ups decides that act on nothing ([`Algorithm::acts_as`]).

use core::ops::DerefMut;

use units::feedback::Feedback;
use units::{Bytes, Duration, Instant, Rate};

use super::parse::Parts;
use super::{
    Algorithm, AnyCongestionControl, AnyRecovery, AvoidanceConfig, BuildContext, MonolithicConfig,
    StartupConfig,
};
use crate::avoidance::{CubicLinux, Reno};
use crate::classic::initial;
use crate::monolithic::{rcp, xcp};
use crate::parts::hooks::{forward, show};
use crate::parts::{avoidance_hooks, congestion_control_hooks, startup_hooks};
use crate::startup::{HyStart, Standard};
use crate::{
    Ack, AsksRouters, Avoidance, Classic, Congestion, CongestionControl, Decision, Established,
    JumpStarts, KnownPath, KnowsPath, Lost, Needs, OrdinaryAck, Pace, PathMemory, Resumption, Sent,
    SlowStartExit, Startup, SteersSending, Step, Window,
};

/// A start-up of a common congestion control.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of the parts")]
pub enum CommonStartup {
    HyStart(HyStart),
    Standard(Standard),
}

impl Startup for CommonStartup {
    startup_hooks!(forward!(HyStart Standard));
}

/// An avoidance of a common congestion control.
#[derive(Clone, Debug)]
#[allow(missing_docs, reason = "the names of the parts")]
pub enum CommonAvoidance {
    Cubic(CubicLinux),
    Reno(Reno),
}

impl Avoidance for CommonAvoidance {
    avoidance_hooks!(forward!(Cubic Reno));
}

/// A common congestion control.
type Common = Classic<CommonStartup, CommonAvoidance, AnyRecovery>;

/// The congestion control of a connection, large ones in `L`.
#[derive(Clone, Debug)]
#[allow(
    clippy::large_enum_variant,
    reason = "the common case lies in the connection"
)]
pub enum ControlSlot<L> {
    /// A common one.
    Common(Common),
    /// Any other.
    Other(Other<L>),
    /// A common one before its connection is established.
    Waiting(Waiting),
}

/// A congestion control that is not common, and the algorithm that builds it again.
#[derive(Clone, Debug)]
pub struct Other<L> {
    parts: Parts,
    control: L,
}

/// Where a transport holds a congestion control that is not common.
pub trait Hold: DerefMut<Target = AnyCongestionControl> {
    /// Others that every hook calls, too, and whose answers have no effect.
    fn watchers(&mut self) -> &mut [AnyCongestionControl] {
        &mut []
    }
}

impl<L: Hold> CongestionControl for Other<L> {
    congestion_control_hooks!(show!());
}

/// A common congestion control that is still to be built.
#[derive(Clone, Debug)]
pub struct Waiting {
    parts: Parts,
    /// The window that it will begin with.
    window: Window,
}

/// Nothing is sent or acknowledged yet.
impl CongestionControl for Waiting {
    fn window(&self) -> Window {
        self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn on_sent(&mut self, _sent: &Sent) {}

    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_congestion(&mut self, _congestion: &Congestion) {}

    fn undo(&mut self, _now: Instant) {}

    fn reduces_by_deliveries(&self) -> bool {
        true
    }

    fn paces_first_segments(&self) -> bool {
        true
    }

    fn slow_start_exit(&self) -> Option<SlowStartExit> {
        None
    }
}

impl<L: Hold> ControlSlot<L> {
    /// What a connection holds before it is established. `hold` takes a congestion control that is
    /// not common.
    pub fn new(
        algorithm: &Algorithm,
        context: &BuildContext,
        hold: impl FnOnce(AnyCongestionControl) -> L,
    ) -> Self {
        let parts = algorithm.parts;
        if parts.is_common() {
            return Self::Waiting(Waiting {
                parts,
                window: initial(context.initial_window, context.smss),
            });
        }
        Self::Other(Other {
            parts,
            control: hold(parts.build(context)),
        })
    }

    /// The connection is established: builds its congestion control.
    pub fn establish(&mut self, context: &BuildContext) {
        match self {
            Self::Other(other) => *other.control = other.parts.build(context),
            Self::Waiting(Waiting { parts, .. }) => {
                if let Some(control) = parts.build_common(context) {
                    *self = Self::Common(control);
                }
            }
            Self::Common(_) => {}
        }
    }

    /// [`CongestionControl::on_delivery`] and then [`CongestionControl::on_ack`] in one step, for a
    /// common congestion control above slow start. Returns by how much the window has grown, its only
    /// change. `None`, and nothing changes, for others: call both.
    ///
    /// It is exact because HyStart and standard slow start observe nothing above slow start, and
    /// CUBIC and Reno read nothing else of an ACK.
    #[inline(always)]
    pub fn on_ordinary_ack(&mut self, ack: &OrdinaryAck) -> Option<Bytes> {
        let Self::Common(control) = self else {
            return None;
        };
        control.on_ordinary_ack(|avoidance, window| match avoidance {
            CommonAvoidance::Cubic(cubic) => cubic.on_ordinary_ack(ack, window),
            CommonAvoidance::Reno(reno) => Some(reno.on_ordinary_ack(ack, window)),
        })
    }

    /// Where a congestion control that is not common lies.
    pub const fn other(&mut self) -> Option<&mut L> {
        match self {
            Self::Other(other) => Some(&mut other.control),
            _ => None,
        }
    }

    /// The connection is over: where a congestion control that is not common lies, for the next
    /// one.
    pub fn take_other(&mut self) -> Option<L> {
        let Self::Other(Other { parts, control }) = self else {
            return None;
        };
        let (parts, window) = (*parts, control.window());
        match core::mem::replace(self, Self::Waiting(Waiting { parts, window })) {
            Self::Other(other) => Some(other.control),
            _ => None,
        }
    }
}

impl<L: Hold> CongestionControl for ControlSlot<L> {
    congestion_control_hooks!(forward!(Common Other Waiting));
}

impl Parts {
    /// Whether it is common: small, never asks routers, and begins with the connection's initial
    /// window.
    const fn is_common(&self) -> bool {
        match self {
            Self::Classic {
                avoidance,
                startup: StartupConfig::HyStart(_) | StartupConfig::Standard(_),
                foreign,
                ..
            } if foreign.is_empty() => match avoidance {
                AvoidanceConfig::Cubic(config) => !config.rfc9438,
                AvoidanceConfig::Reno(_) => true,
                _ => false,
            },
            _ => false,
        }
    }

    /// The congestion control of a new connection, if it is common.
    fn build_common(&self, context: &BuildContext) -> Option<Common> {
        let Self::Classic {
            avoidance,
            startup,
            recovery,
            ..
        } = *self
        else {
            return None;
        };
        let startup = match startup {
            StartupConfig::HyStart(config) => {
                CommonStartup::HyStart(HyStart::new(config, context.now, 0))
            }
            StartupConfig::Standard(config) => {
                CommonStartup::Standard(Standard::new(config, context.now, 0))
            }
            _ => return None,
        };
        let avoidance = match avoidance {
            AvoidanceConfig::Cubic(config) => CommonAvoidance::Cubic(CubicLinux::new(config)),
            AvoidanceConfig::Reno(config) => CommonAvoidance::Reno(Reno::new(config)),
            _ => return None,
        };
        Some(Classic::new(
            startup,
            avoidance,
            recovery.build(),
            context.smss,
            context.initial_window,
        ))
    }
}

impl Algorithm {
    /// Bytes that every data packet carries for the routers of the path; see
    /// [`CongestionControl::header_bytes`].
    #[must_use]
    pub const fn header_bytes(&self) -> Option<u32> {
        match self.parts {
            Parts::Monolithic(MonolithicConfig::Xcp(_)) => Some(xcp::HEADER),
            Parts::Monolithic(MonolithicConfig::Rcp(_)) => Some(rcp::HEADER),
            _ => None,
        }
    }

    /// Whether its congestion controls draw random numbers from [`BuildContext::seed`], or their
    /// transport does for them.
    #[must_use]
    pub const fn draws(&self) -> bool {
        !self.parts.is_common()
    }
}

#[cfg(test)]
mod tests {
    use std::boxed::Box;
    use std::format;
    use std::string::String;
    use std::vec::Vec;

    use super::*;
    use crate::{PARTS, PartKind};

    type Boxed = ControlSlot<Box<AnyCongestionControl>>;

    impl Hold for Box<AnyCongestionControl> {}

    /// Each part within algorithms that have it.
    fn algorithms() -> Vec<Algorithm> {
        let names = PARTS.iter().flat_map(|part| match part.kind {
            PartKind::Startup => [
                format!("cubic+{}", part.name),
                format!("reno+{}", part.name),
            ],
            PartKind::Avoidance => [
                format!("{}+standard", part.name),
                format!("{}+hystart", part.name),
            ],
            PartKind::Recovery => [
                format!("cubic+hystart+{}", part.name),
                format!("reno+standard+{}", part.name),
            ],
            PartKind::Monolithic => [part.name, part.name].map(Into::into),
        });
        names.map(|name| name.parse().expect("a name")).collect()
    }

    fn context(now: u64) -> BuildContext {
        BuildContext {
            now: Instant::from_millis(now),
            smss: Bytes::new(1000),
            initial_window: Bytes::new(10_500),
            seed: 7,
            handshake_rtt: None,
        }
    }

    #[test]
    fn common_ones_lie_in_the_connection_and_take_less_than_500_bytes() {
        assert!(size_of::<Boxed>() <= 376, "{}", size_of::<Boxed>());
        let is_common = |name: &str| {
            let algorithm: Algorithm = name.parse().expect("a name");
            matches!(
                Boxed::new(&algorithm, &context(0), Box::new),
                ControlSlot::Waiting(_)
            )
        };
        for name in [
            "cubic",
            "cubic+standard",
            "reno",
            "reno+hystart",
            "cubic+hystart+plain",
        ] {
            assert!(is_common(name), "{name}");
        }
        for name in [
            "vegas",
            "cubic:rfc9438=true",
            "cubic+search",
            "bbr",
            "hybla",
            "cubic+quick-start",
            "xcp",
        ] {
            assert!(!is_common(name), "{name}");
        }
    }

    /// What a connection holds answers as the congestion control that it stands for.
    #[test]
    fn a_control_in_a_slot_begins_as_if_it_were_built() {
        for algorithm in algorithms() {
            let mut built = algorithm.build(context(0));
            let mut slot = Boxed::new(&algorithm, &context(0), Box::new);
            assert_eq!(algorithm.header_bytes(), built.header_bytes());
            for established in [false, true] {
                assert_eq!(slot.window(), built.window(), "{algorithm}");
                assert_eq!(slot.header_bytes(), built.header_bytes(), "{algorithm}");
                assert_eq!(slot.feedback(), built.feedback(), "{algorithm}");
                assert_eq!(slot.requires_pacing(), built.requires_pacing());
                assert_eq!(slot.pacing_rate(), built.pacing_rate(), "{algorithm}");
                assert_eq!(slot.pacing_start(), built.pacing_start(), "{algorithm}");
                assert_eq!(slot.steers_sending(), built.steers_sending());
                assert_eq!(slot.sends_copies(), built.sends_copies());
                assert_eq!(slot.watches_losses(), built.watches_losses());
                assert_eq!(slot.paces_first_segments(), built.paces_first_segments());
                assert_eq!(slot.reduces_by_deliveries(), built.reduces_by_deliveries());
                assert_eq!(slot.least_burst_segments(), built.least_burst_segments());
                assert_eq!(slot.slow_start_exit(), None);
                assert_eq!(slot.passive_decision(), None);
                let queued = Bytes::new(1_000_000);
                assert_eq!(slot.requested_rate(queued), built.requested_rate(queued));
                let (mut one, mut other) = (PathMemory::default(), PathMemory::default());
                slot.on_close(Instant::ZERO, &mut one);
                built.on_close(Instant::ZERO, &mut other);
                assert_eq!(one, other, "{algorithm}");
                if established {
                    break;
                }
                slot.establish(&context(100));
                built = algorithm.build(context(100));
                assert!(!matches!(slot, ControlSlot::Waiting(_)), "{algorithm}");
            }
            // The same state in the same fields. In place, CUBIC has no form to name.
            let inner = match &slot {
                ControlSlot::Common(control) => format!("Classic({control:?})"),
                ControlSlot::Other(other) => format!("{:?}", other.control),
                ControlSlot::Waiting(_) => unreachable!("it is established"),
            };
            let plain = |text: String| text.replace("Linux(", "").replace(')', "");
            assert_eq!(plain(inner), plain(format!("{built:?}")), "{algorithm}");
        }
    }

    #[test]
    fn only_algorithms_that_draw_depend_on_the_seed() {
        for algorithm in algorithms().iter().filter(|algorithm| !algorithm.draws()) {
            let other = BuildContext {
                seed: 8,
                ..context(0)
            };
            let (one, other) = (algorithm.build(context(0)), algorithm.build(other));
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "{algorithm}");
        }
    }

    /// A part that keeps the seed says that it draws; otherwise commands would make one run of it
    /// in place of many.
    #[test]
    fn what_keeps_the_seed_says_that_it_draws() {
        for algorithm in algorithms() {
            let [one, other] = [7, 8].map(|seed| {
                let control = algorithm.build(BuildContext { seed, ..context(0) });
                format!("{control:?}")
            });
            assert!(one == other || algorithm.needs().draws, "{algorithm}");
        }
    }
}
