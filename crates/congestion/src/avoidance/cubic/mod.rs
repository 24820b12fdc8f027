//! CUBIC, as Linux computes it (the default) and as RFC 9438 states it (`rfc9438=true`).
//!
//! After a loss the window follows a cubic curve of time: fast toward the window of that loss, flat
//! around it, and faster beyond. Ha, Rhee and Xu, "CUBIC: a new TCP-friendly high-speed TCP
//! variant", ACM SIGOPS 42(5), 2008; RFC 9438.
//!
//! The adjustments of Bruhn et al. for low delay over cellular links are options of its start-up:
//! `cubic+hystart:skip_rounds=1,delay_min=8ms`.

mod linux;
mod rfc9438;

pub use linux::CubicLinux;
pub use rfc9438::CubicRfc9438;

use core::num::NonZeroU16;

use units::{Bytes, Instant};

use super::{HZ, read_hz};
use crate::{Ack, Avoidance, Congestion, Window};
use crate::{options, settings};

/// Which of Linux's CUBICs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CubicVersion {
    /// That of Linux 6.x.
    #[default]
    Linux,
    /// 2.1, of Linux 2.6.22 to 2.6.24: a reduction leaves 0.8 of the window.
    V2_1,
    /// 2.0, of Linux 2.6.18.2 to 2.6.20: as 2.1, and slow start ends at 100 segments.
    V2_0,
    /// 2.0 of Linux 2.6.18 and 2.6.18.1, whose curve grows too slowly.
    V2_6_18,
}

impl CubicVersion {
    /// Whether it is one of Linux 2.6.
    const fn is_old(self) -> bool {
        !matches!(self, Self::Linux)
    }
}

settings! {
    /// Settings of [`Cubic`].
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct CubicConfig {
        /// Ticks per second of the kernel (`HZ`): 250 on Debian.
        hz: u16 {
            name: "hz",
            default: HZ.default,
            help: HZ.help,
            read: read_hz,
        }

        /// Whether a flow that lost below its last maximum gives way (`fast_convergence`).
        fast_convergence: bool {
            name: "fast_convergence",
            default: "true",
            help: "whether a flow that lost below its last maximum gives way",
            read: options::boolean,
        }

        /// Whether the window is at least Reno's (`tcp_friendliness`).
        tcp_friendliness: bool {
            name: "tcp_friendliness",
            default: "true",
            help: "whether the window is at least Reno's",
            read: options::boolean,
        }

        /// Whether the arithmetic is RFC 9438's.
        rfc9438: bool {
            name: "rfc9438",
            default: "false",
            help: "whether the arithmetic is RFC 9438's instead of Linux's",
            read: options::boolean,
        }

        /// Which of Linux's, where it is not RFC 9438's.
        version: CubicVersion {
            name: "version",
            default: "linux",
            help: "which of Linux's: `linux` (6.x); `2.1` (2.6.24: a reduction leaves 0.8 of the \
                   window); `2.0` (2.6.20: and slow start ends at 100 segments); `2.6.18` (and a \
                   slower curve)",
            read: |value| {
                let versions = [
                    ("linux", CubicVersion::Linux),
                    ("2.1", CubicVersion::V2_1),
                    ("2.0", CubicVersion::V2_0),
                    ("2.6.18", CubicVersion::V2_6_18),
                ];
                options::choice(value, &versions, "linux, 2.1, 2.0 or 2.6.18")
            },
        }

        /// The first slow-start threshold in segments (`initial_ssthresh`): the version's if `None`,
        /// and no threshold if it is the largest number.
        initial_ssthresh: Option<NonZeroU16> {
            name: "initial_ssthresh",
            default: "version",
            help: "first slow-start threshold: segments from 1 to 65534, `none`, or `version` (100 \
                   segments in 2.0 and 2.6.18, else none)",
            read: |value| match value {
                "version" => Ok(None),
                "none" => Ok(Some(NonZeroU16::MAX)),
                _ => {
                    let expected = "segments from 1 to 65534, none or version";
                    let segments = options::integer(value, 1, 65_534, expected)?;
                    Ok(NonZeroU16::new(segments))
                }
            },
        }
    }
}

/// CUBIC in one of its two forms.
#[derive(Clone, Debug)]
pub enum Cubic {
    /// As Linux computes it.
    Linux(CubicLinux),
    /// As the RFC states it.
    Rfc9438(CubicRfc9438),
}

impl Cubic {
    /// A new connection.
    #[must_use]
    pub fn new(config: CubicConfig) -> Self {
        if config.rfc9438 {
            Self::Rfc9438(CubicRfc9438::new(config))
        } else {
            Self::Linux(CubicLinux::new(config))
        }
    }
}

impl Avoidance for Cubic {
    #[inline]
    fn on_delivery(&mut self, ack: &Ack, window: &Window) {
        match self {
            Self::Linux(cubic) => cubic.on_delivery(ack, window),
            Self::Rfc9438(cubic) => cubic.on_delivery(ack, window),
        }
    }

    #[inline]
    fn on_ack(&mut self, acked: Bytes, ack: &Ack, window: &Window) -> Bytes {
        match self {
            Self::Linux(cubic) => cubic.on_ack(acked, ack, window),
            Self::Rfc9438(cubic) => cubic.on_ack(acked, ack, window),
        }
    }

    fn on_congestion(&mut self, congestion: &Congestion, window: &Window) -> Bytes {
        match self {
            Self::Linux(cubic) => cubic.on_congestion(congestion, window),
            Self::Rfc9438(cubic) => cubic.on_congestion(congestion, window),
        }
    }

    fn initial_threshold(&self) -> Option<u64> {
        match self {
            Self::Linux(cubic) => cubic.initial_threshold(),
            Self::Rfc9438(cubic) => cubic.initial_threshold(),
        }
    }

    fn on_timeout(&mut self) {
        match self {
            Self::Linux(cubic) => cubic.on_timeout(),
            Self::Rfc9438(cubic) => cubic.on_timeout(),
        }
    }

    fn on_mtu(&mut self, from: Bytes, to: Bytes) {
        match self {
            Self::Linux(cubic) => cubic.on_mtu(from, to),
            Self::Rfc9438(cubic) => cubic.on_mtu(from, to),
        }
    }

    fn on_idle(&mut self, now: Instant, idle_since: Instant) {
        match self {
            Self::Linux(cubic) => cubic.on_idle(now, idle_since),
            Self::Rfc9438(cubic) => cubic.on_idle(now, idle_since),
        }
    }

    #[inline]
    fn epoch(&self) -> Option<Instant> {
        match self {
            Self::Linux(cubic) => cubic.epoch(),
            Self::Rfc9438(cubic) => cubic.epoch(),
        }
    }
}

/// The largest integer whose cube is at most `value`, for values below 2^126.
pub(super) fn cube_root(value: u128) -> u64 {
    let mut root: u64 = 0;
    for bit in (0..42).rev() {
        let candidate = root | (1 << bit);
        if u128::from(candidate).pow(3) <= value {
            root = candidate;
        }
    }
    root
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cube_root_is_exact() {
        for root in [0_u64, 1, 2, 3, 1_000, 2_642_245, 4_000_000_000_000] {
            let cube = u128::from(root).pow(3);
            assert_eq!(cube_root(cube), root);
            if root > 0 {
                assert_eq!(cube_root(cube + 1), root);
                assert_eq!(cube_root(cube - 1), root - 1);
            }
        }
    }
}
