//! Recovery: the window while a reduction is in progress.

mod plain;
mod prr;

pub use plain::{Plain, PlainConfig};
pub use prr::{Prr, PrrConfig, PrrForm};
