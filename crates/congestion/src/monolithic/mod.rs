//! Congestion controls that combine start-up, avoidance and recovery.

pub mod bbr;
pub mod bbr3;
pub mod bbrp;
pub mod c4;
mod filter;
mod random;
pub mod rcp;
pub mod xcp;

pub use bbr::{Bbr, BbrConfig};
pub use bbr3::{Bbr3, Bbr3Config};
pub use bbrp::BbrpConfig;
pub use c4::{C4, C4Config};
pub use rcp::{Rcp, RcpConfig};
pub use xcp::{Xcp, XcpConfig};

use crate::avoidance::{Reno, RenoConfig};
use crate::recovery::{Prr, PrrConfig};
use crate::startup::{Standard, StandardConfig};
use crate::{BuildContext, Classic};

/// What XCP and RCP fall back to on a path without router support: the standard.
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
