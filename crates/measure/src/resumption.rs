//! What a connection made of what earlier ones over the path had saved.

use serde::{Deserialize, Serialize};

/// The phases of RFC 9959 in one connection. Times are seconds since its SYN; null for a phase that
/// did not begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ResumptionResult {
    /// The saved window.
    pub saved_cwnd_bytes: u64,
    /// The saved RTT.
    pub saved_rtt_ms: f64,
    /// How long both had been stored; null for values that the algorithm's options give.
    pub age_s: Option<f64>,
    /// Observing: until the initial window is acknowledged.
    pub reconnaissance_s: Option<f64>,
    /// The jump.
    pub unvalidated_s: Option<f64>,
    /// Waiting for the acknowledgment of what the jump sent.
    pub validating_s: Option<f64>,
    /// The response to congestion in what the jump sent.
    pub safe_retreat_s: Option<f64>,
    /// The window of the jump; null without one.
    pub jump_cwnd_bytes: Option<u64>,
    /// When ordinary congestion control began; null if the connection ended before.
    pub normal_s: Option<f64>,
    /// How the use of the saved state ended: validated, unused, retreated, other-rtt, no-gain or
    /// congested; null if the connection ended before.
    pub end: Option<String>,
}
