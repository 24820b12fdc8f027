//! Congestion controls that are start-up, avoidance and recovery at once.

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
