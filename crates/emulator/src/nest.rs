//! An emulation inside an emulation, like Mahimahi's nested shells: delays add up, the smallest
//! rate limits, and a client reaches the servers of all enclosing emulations.
//!
//! The far end of the inner path is the enclosing host itself, which forwards packets. It gets one
//! more TUN device, and only the near end is a new namespace. Addresses encode the nesting, so that
//! routes alone suffice: every host routes 10.77.0.0/16 towards its own path, and an enclosing host
//! routes the address block of an inner emulation into that emulation. The outermost emulation has
//! the first four addresses of 10.77.0.0/16; each level takes three more bits:
//!
//! | level | block | places in it |
//! | --- | --- | --- |
//! | 0 | 10.77.0.0/16 | 10.77.32.0/19, 10.77.64.0/19, ... |
//! | 1 | 10.77.32.0/19 | 10.77.36.0/22, 10.77.40.0/22, ... |
//!
//! and so on to level 4. The kernel arbitrates the places: place `k` is a device named
//! `slowstart<k>`, and it is free again when its emulator is gone, however that ended.

use std::net::Ipv4Addr;

use crate::device::{self, Device};
use crate::error::EmulatorError;
use crate::routes::{Metrics, Routes};

/// All addresses of all emulations.
pub(crate) const ALL: (Ipv4Addr, u8) = (Ipv4Addr::new(10, 77, 0, 0), 16);

/// Address bits per level, and the number of levels, with four addresses left at the last.
const BITS: u8 = 3;
const LEVELS: u8 = 4;

/// A block of addresses; its first two hosts are the near and the far end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    network: u32,
    level: u8,
}

impl Block {
    /// The block of the emulation whose host has `address`.
    fn of(address: Ipv4Addr) -> Option<Self> {
        let network = u32::from(address) & !3;
        if network >> 16 != u32::from(ALL.0) >> 16 {
            return None;
        }
        // A place is never zero, so the lowest set bit gives the depth.
        let used = 16 - (network & 0xffff).trailing_zeros().min(16) as u8;
        let level = used.div_ceil(BITS);
        (level <= LEVELS).then_some(Self { network, level })
    }

    const fn length(self) -> u8 {
        16 + BITS * self.level
    }

    fn prefix(self) -> (Ipv4Addr, u8) {
        (Ipv4Addr::from(self.network), self.length())
    }

    /// The block at `place`, counted from one.
    fn inner(self, place: u32) -> Option<Self> {
        let level = self.level + 1;
        let inner = |shift| Self {
            network: self.network | place << shift,
            level,
        };
        (level <= LEVELS).then(|| inner(16 - u32::from(BITS * level)))
    }

    fn ends(self) -> [Ipv4Addr; 2] {
        [1, 2].map(|host| Ipv4Addr::from(self.network + host))
    }
}

/// The far end of an inner path, which is the enclosing host.
#[derive(Debug)]
pub(crate) struct FarEnd {
    /// Addresses of the near and the far end.
    pub(crate) addresses: [Ipv4Addr; 2],
    pub(crate) device: Device,
}

/// Creates the far end of an inner path in the calling thread's namespace; `None` where that is not
/// a host of an emulation.
pub(crate) fn far_end() -> Result<Option<FarEnd>, EmulatorError> {
    let Some(own) = device::address(device::NAME) else {
        return Ok(None);
    };
    let Some(enclosing) = Block::of(own) else {
        return Ok(None);
    };
    // The two hosts of a path use different places.
    let places = if own == enclosing.ends()[0] {
        1..=4
    } else {
        5..=7
    };
    for place in places {
        let Some(block) = enclosing.inner(place) else {
            return Err(EmulatorError::Invalid(format!(
                "an emulation can be nested at most {LEVELS} levels deep"
            )));
        };
        let addresses = block.ends();
        let name = format!("{}{place}", device::STEM);
        let Some(device) = Device::make_if_free(name, addresses[1])? else {
            continue;
        };
        route(&device, block.prefix())?;
        forward()?;
        return Ok(Some(FarEnd { addresses, device }));
    }
    Err(EmulatorError::Invalid(
        "this emulation already contains as many others as it can".to_owned(),
    ))
}

/// Packets to `prefix` leave the namespace of the calling thread by `device`.
pub(crate) fn route(device: &Device, prefix: (Ipv4Addr, u8)) -> Result<(), EmulatorError> {
    Routes::open()
        .and_then(|mut routes| routes.send_to(prefix, &device.name, Metrics::default()))
        .map_err(EmulatorError::system("setting a route"))
}

/// Makes the host forward packets that are not its own.
fn forward() -> Result<(), EmulatorError> {
    const KEY: &str = "/proc/sys/net/ipv4/ip_forward";
    // Writing it resets other settings, so it is written once.
    if std::fs::read_to_string(KEY).is_ok_and(|value| value.trim() == "1") {
        return Ok(());
    }
    std::fs::write(KEY, "1").map_err(EmulatorError::system(KEY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> Ipv4Addr {
        text.parse().expect("an address")
    }

    #[test]
    fn blocks_are_found_by_either_host_and_do_not_overlap() {
        let outermost = Block::of(address("10.77.0.1")).expect("a block");
        assert_eq!(outermost.prefix(), ALL);
        let mut level = vec![outermost];
        let mut count = 0;
        while let Some(block) = level.pop() {
            count += 1;
            for end in block.ends() {
                assert_eq!(Block::of(end), Some(block), "{end}");
            }
            let inner: Vec<Block> = (1..=7).filter_map(|place| block.inner(place)).collect();
            assert_eq!(inner.is_empty(), block.level == LEVELS);
            for one in &inner {
                let mask = u32::MAX << (32 - block.length());
                assert_eq!(one.network & mask, block.network);
                // It contains neither the hosts of the enclosing path nor a sibling's block.
                let mask = u32::MAX << (32 - one.length());
                assert_ne!(block.network & mask, one.network);
                let there = inner
                    .iter()
                    .filter(|other| other.network & mask == one.network);
                assert_eq!(there.count(), 1);
            }
            level.extend(inner);
        }
        assert_eq!(count, 1 + 7 + 49 + 343 + 2401);
        assert_eq!(Block::of(address("10.78.0.1")), None);
        assert_eq!(Block::of(address("10.77.0.9")), None);
    }
}
