//! IEEE 802.15.4.
mod backoff;
mod config;
mod error;
mod superframe;
mod timing;

pub use config::CsmaConfig;
