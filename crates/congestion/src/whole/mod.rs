//! Congestion controls that are start-up, avoidance and recovery at once.

/// The calls that a congestion control with an `ordinary` one in it hands on to that one, whoever steers.
macro_rules! handed_to_ordinary {
    () => {
        fn on_established(&mut self, start: &Established) {
            self.ordinary.on_established(start);
        }

        fn on_sent(&mut self, sent: &Sent) {
            self.ordinary.on_sent(sent);
        }

        fn on_idle_restart(
            &mut self,
            now: Instant,
            idle: Duration,
            rto: Duration,
            initial_window: Bytes,
            snd_nxt: u64,
        ) {
            self.ordinary
                .on_idle_restart(now, idle, rto, initial_window, snd_nxt);
        }

        fn on_window_unused(&mut self, now: Instant, used: Bytes, initial_window: Bytes) {
            self.ordinary.on_window_unused(now, used, initial_window);
        }

        fn slow_start_exit(&self) -> Option<SlowStartExit> {
            self.ordinary.slow_start_exit()
        }
    };
}

pub mod bbr;
pub mod bbr3;
pub mod bbrp;
mod filter;
mod random;
pub mod rcp;
pub mod xcp;

pub use bbr::{Bbr, BbrConfig};
pub use bbr3::{Bbr3, Bbr3Config};
pub use bbrp::BbrpConfig;
pub use rcp::{Rcp, RcpConfig};
pub use xcp::{Xcp, XcpConfig};

use crate::avoidance::{Reno, RenoConfig};
use crate::recovery::{Prr, PrrConfig};
use crate::startup::{Standard, StandardConfig};
use crate::{BuildContext, Classic};

/// What a congestion control that needs routers does on a path that has none which help: the plain
/// standard.
type Ordinary = Classic<Standard, Reno, Prr>;

fn ordinary(context: &BuildContext) -> Ordinary {
    Classic::new(
        Standard::new(StandardConfig::default(), context.now, 0),
        Reno::new(RenoConfig::default()),
        Prr::new(PrrConfig::default()),
        context.smss,
        context.initial_window,
    )
}
