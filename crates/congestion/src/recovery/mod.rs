//! Recovery: the window while a reduction is in progress.

mod newreno;
mod plain;
mod prr;
mod rate_halving;

pub use newreno::{NewReno, NewRenoConfig};
pub use plain::{Plain, PlainConfig};
pub use prr::{Prr, PrrConfig, PrrForm};
pub use rate_halving::{RateHalving, RateHalvingConfig};
