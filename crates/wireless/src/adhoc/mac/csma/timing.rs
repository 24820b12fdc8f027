//! Times and lengths of IEEE 802.15.4-2015 at 2.4 GHz (O-QPSK): 62,500 symbols of 4 bits per
//! second.

use units::Duration;

/// One symbol: 4 bits.
pub const SYMBOL: Duration = Duration::from_micros(16);
/// Bytes in front of a PSDU: 4 of preamble, the start-of-frame delimiter, and the length.
pub const PHY_HEADER: u32 = 6;
/// The longest PSDU (aMaxPhyPacketSize), in bytes.
pub const MAX_PSDU: u32 = 127;
/// Bytes of an acknowledgement's PSDU: frame control 2, sequence number 1, checksum 2.
pub const ACK_PSDU: u32 = 5;
/// The longest PSDU that a short space may follow (aMaxSifsFrameSize), in bytes.
pub const MAX_SIFS_PSDU: u32 = 18;

/// A backoff period (aUnitBackoffPeriod).
pub const BACKOFF_PERIOD: Duration = symbols(20);
/// Clear channel assessment (phyCcaDuration).
pub const CCA: Duration = symbols(8);
/// From reception to transmission or back (aTurnaroundTime).
pub const TURNAROUND: Duration = symbols(12);
/// From the end of a frame until its sender gives up the acknowledgement (macAckWaitDuration): a
/// backoff period, a turnaround, the synchronization header of 10 symbols, and 6 bytes.
pub const ACK_WAIT: Duration = symbols(54);
/// The short space after a frame or its acknowledgement (macSifsPeriod).
pub const SIFS: Duration = symbols(12);
/// The long one (macLifsPeriod).
pub const LIFS: Duration = symbols(40);
/// The shortest superframe (aBaseSuperframeDuration): 16 slots of 60 symbols.
pub const BASE_SUPERFRAME: Duration = symbols(960);

/// So many symbols.
#[must_use]
pub const fn symbols(count: u64) -> Duration {
    Duration::from_nanos(count * SYMBOL.as_nanos())
}

/// Airtime of a frame with a PSDU of `psdu` bytes.
#[must_use]
pub const fn airtime(psdu: u32) -> Duration {
    symbols(2 * (PHY_HEADER + psdu) as u64)
}

/// The space after a frame with a PSDU of `psdu` bytes.
#[must_use]
pub const fn space(psdu: u32) -> Duration {
    if psdu <= MAX_SIFS_PSDU { SIFS } else { LIFS }
}
