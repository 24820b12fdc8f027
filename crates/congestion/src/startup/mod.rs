//! Start-up: finding the capacity of an unknown path.
//!
//! Each part is one file with a state that implements [`Startup`](crate::Startup) and a
//! configuration whose fields are options ([`Options`](crate::options::Options)). Every part is
//! created by `X::new(config, now, snd_nxt)` when the connection is established.

pub mod abc;
pub mod best;
pub mod careful_resume;
mod dispersion;
pub mod fbe;
pub mod forecast;
pub mod halfback;
pub mod hystart;
pub mod hystart_pp;
pub mod initial_start;
pub mod jump_start;
pub mod limited;
pub mod oracle;
pub mod packet_pair;
pub mod quick_start;
pub mod rapid_start;
pub mod search;
pub mod standard;
pub mod stateful;
pub mod suss;

pub use abc::{Abc, AbcConfig, Abcss, AbcssConfig};
pub use best::{Best, BestConfig};
pub use careful_resume::{CarefulResume, CarefulResumeConfig};
pub use fbe::{Fbe, FbeConfig};
pub use forecast::{Forecast, ForecastConfig};
pub use halfback::{Halfback, HalfbackConfig};
pub use hystart::{HyStart, HyStartConfig};
pub use hystart_pp::{HyStartPlusPlus, HyStartPlusPlusConfig};
pub use initial_start::{InitialStart, InitialStartConfig};
pub use jump_start::{JumpStart, JumpStartConfig};
pub use limited::{Limited, LimitedConfig};
pub use oracle::{Oracle, OracleConfig};
pub use packet_pair::{PacketPair, PacketPairConfig};
pub use quick_start::{QuickStart, QuickStartConfig};
pub use rapid_start::{RapidStart, RapidStartConfig};
pub use search::{Search, SearchConfig};
pub use standard::{Standard, StandardConfig};
pub use stateful::{Stateful, StatefulConfig};
pub use suss::{Suss, SussConfig};
