//! Connections in which both sides send: two halves, coupled by the path and by ACKs that ride on
//! data.

#![expect(clippy::unwrap_used, reason = "a test may fail")]

#[path = "duplex/conversation.rs"]
mod conversation;
#[path = "duplex/segments.rs"]
mod segments;
#[path = "duplex/support.rs"]
mod support;
