//! What a vector can be run against.

use congestion::{AnyCongestionControl, AnyStartup, CongestionControl};

/// A phase within slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Ordinary growth.
    Ordinary,
    /// HyStart++'s conservative slow start.
    Conservative,
    /// SEARCH 4.0 lets the queue drain.
    Drain,
}

/// A congestion control that also says what a vector asks beyond the window.
pub trait Subject: CongestionControl {
    /// The phase within slow start.
    fn mode(&self) -> Mode;

    /// SEARCH's last test, in thousandths.
    fn norm_permille(&self) -> Option<i64>;
}

impl Subject for AnyCongestionControl {
    fn mode(&self) -> Mode {
        match self {
            Self::Classic(classic) => match classic.startup() {
                AnyStartup::HyStartPlusPlus(part) if part.is_conservative() => Mode::Conservative,
                AnyStartup::Search(part) if part.is_draining() => Mode::Drain,
                _ => Mode::Ordinary,
            },
            _ => Mode::Ordinary,
        }
    }

    fn norm_permille(&self) -> Option<i64> {
        match self {
            Self::Classic(classic) => match classic.startup() {
                AnyStartup::Search(part) => part.measurement().map(|test| test.norm_permille),
                _ => None,
            },
            _ => None,
        }
    }
}
