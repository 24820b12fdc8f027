//! The sender under scripted peers and over random paths.

#[path = "sender/property.rs"]
mod property;
#[path = "sender/support.rs"]
mod support;
