//! What a stack lets a congestion controller do, and the refusal of what needs more.

use alloc::boxed::Box;
use core::fmt;

use congestion::{Algorithm, Requirements};

/// What a controller may say about the times at which packets leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// Nothing: the stack derives a pace from the window.
    Fixed,
    /// A rate.
    Rate,
    /// The departure time of the next packet.
    Departure,
}

/// What a stack offers to a congestion controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// The stack's name and the version of its interface, as messages write it: `quinn 0.11`.
    pub stack: &'static str,
    /// What a controller sets of the pace.
    pub pacing: Pacing,
    /// Whether it paces where the controller sets no pace, as RFC 9002, section 7.7 recommends.
    pub paces: bool,
    /// Whether it reports with each acknowledged packet when that packet left, not only a sample of
    /// the round-trip time.
    pub send_times: bool,
    /// Whether it reports each lost packet.
    pub lost_packets: bool,
    /// Whether it reports the end of the handshake, and its round-trip time, before data leaves.
    pub handshake: bool,
}

/// A stack does not offer what an algorithm needs.
#[derive(Clone, Debug, PartialEq)]
pub struct Unsupported {
    algorithm: Box<Algorithm>,
    stack: &'static str,
    missing: &'static str,
}

impl Capabilities {
    /// Whether `algorithm` runs in this stack as published.
    ///
    /// # Errors
    /// The first thing that it needs and the stack does not offer.
    pub fn check(&self, algorithm: &Algorithm) -> Result<(), Unsupported> {
        self.missing(algorithm.needs()).map_or(Ok(()), |missing| {
            Err(Unsupported {
                algorithm: Box::new(*algorithm),
                stack: self.stack,
                missing,
            })
        })
    }

    /// What the stack lacks, as the end of a sentence that begins with its name.
    const fn missing(&self, needs: Requirements) -> Option<&'static str> {
        if needs.routers {
            Some("carries nothing for the routers of the path")
        } else if needs.known_path {
            Some("does not know the capacity of the path, as the simulator does")
        } else if needs.copies {
            Some("retransmits only what it declared lost")
        } else if needs.pacing && matches!(self.pacing, Pacing::Fixed) {
            Some("lets no controller set the pace")
        } else if needs.unpaced && self.paces {
            Some("sends nothing unpaced")
        } else if needs.rate_samples && !self.send_times {
            Some("does not report when an acknowledged packet left")
        } else if needs.handshake_rtt && !self.handshake {
            Some("does not report the round-trip time of the handshake before data leaves")
        } else if needs.marks {
            Some("sends ECT(0), and does not report how many packets of an ACK frame were marked")
        } else if needs.memory {
            Some("passes on nothing that earlier connections measured")
        } else if needs.loss_attribution && !self.lost_packets {
            Some("does not report which packets were lost")
        } else {
            None
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            algorithm,
            stack,
            missing,
        } = self;
        write!(f, "{stack} {missing}: {algorithm} needs it")
    }
}

impl core::error::Error for Unsupported {}
