//! Files of connection vectors, as the traffic generator Tmix reads them.
//!
//! Sources: Weigle et al. 2006; the ns manual, chapter "Tmix", sections "Original Connection Vector
//! Format" and "Alternate Connection Vector Format"; the line `m` comes from the traces of the
//! Common TCP Evaluation Suite (draft-irtf-iccrg-tcpeval-01). No code was copied.
//!
//! # Common to both formats
//!
//! A file is text, one item per line. Blank lines and the rest of a line after `#` are comments. A
//! connection begins with a line that names its kind and has header lines next, in any order:
//!
//! ```text
//! m MSS MSS          maximum segment size of initiator and acceptor, bytes
//! w WINDOW WINDOW    receive window of initiator and acceptor, bytes
//! r RTT              smallest RTT, microseconds
//! l LOSS LOSS        loss probability towards the acceptor and towards the initiator
//! ```
//!
//! All times are whole microseconds.
//!
//! # Original format
//!
//! ```text
//! SEQ start epochs group id          CONC start units-of-initiator units-of-acceptor group id
//! > bytes    the initiator sends     c> bytes   the initiator sends
//! < bytes    the acceptor sends      c< bytes   the acceptor sends
//! t time     a wait                  t> time    the initiator waits
//!                                    t< time    the acceptor waits
//! ```
//!
//! In a sequential connection the place of a wait gives its meaning. Between units of different
//! sides, the second side waits since it received the first unit. Between units of the same side,
//! that side waits since it sent the first one. At the end, the last sender waits since it sent,
//! and closes. In a concurrent connection each side waits since it sent its own previous unit, and
//! its last wait comes before its FIN. There must be a wait between two units of a side or of an
//! exchange. If the last wait is missing, the side closes at once.
//!
//! # Alternate format
//!
//! ```text
//! S start epochs group id            C start units-of-initiator units-of-acceptor group id
//! I send-wait receive-wait bytes     the initiator waits and sends
//! A send-wait receive-wait bytes     the acceptor waits and sends
//! ```
//!
//! One of the two waits is positive: the first counts since the side sent its previous unit, the
//! second since it received the other side's. Both are zero only for a first unit, so a wait of
//! zero from the original format becomes one microsecond. Zero bytes are a FIN.
//!
//! # Deviations
//!
//! - The number of epochs must fit. Two units of a side in a row count as one half of an epoch or
//!   as two epochs, because no source says which ([`crate::Exchange::epochs`]).
//! - A file that ends too early is refused if its last line has no end, or if the last connection
//!   has too few epochs or units. The format does not show that a file has lost whole connections,
//!   or the end of its last epoch.
//! - In the alternate format the kind of wait must be the one that the original format would give:
//!   `send-wait` after the side's own unit, `receive-wait` after the other side's.

mod body;
mod error;
mod line;
mod reader;
mod writer;

pub use error::{Problem, TmixError};
pub use reader::Reader;
pub use writer::{ConvertError, WriteError, Writer, convert};

/// A format of connection vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// `SEQ` and `CONC`.
    Original,
    /// `S` and `C`.
    Alternate,
}
