//! What an algorithm reads or decides besides the ordinary. The transport skips values that the
//! algorithm does not use.

/// What a congestion control or a start-up needs of the transport. An avoidance or a recovery needs
/// none of this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    /// It reads delivery-rate samples ([`Ack::rate`](crate::Ack::rate)).
    pub rate_samples: bool,
    /// It reads [`Ack::pacing_rate`](crate::Ack::pacing_rate), in slow start only if it is a
    /// start-up.
    pub pacing_rate: bool,
    /// It requires pacing at times, or a rate or a start time for it.
    pub pacing: bool,
    /// It sends copies at times.
    pub copies: bool,
    /// It is notified of each segment that leaves ([`Startup::on_sent`](crate::Startup::on_sent)).
    pub sent: bool,
    /// It reads the handshake's round-trip time before anything is sent
    /// ([`Established::rtt`](crate::Established::rtt)).
    pub handshake_rtt: bool,
    /// It reads what earlier connections left
    /// ([`Established::memory`](crate::Established::memory)).
    pub memory: bool,
    /// It counts what was lost in its jump ([`Ack::newly_lost`](crate::Ack::newly_lost)).
    pub losses: bool,
    /// It draws random numbers from [`BuildContext::seed`](crate::BuildContext::seed), or its
    /// transport draws them for it: two runs may differ in nothing else.
    pub draws: bool,
    /// It does nothing of its own where the transport paces ([`Ack::paced`](crate::Ack::paced)).
    pub unpaced: bool,
    /// It reads how much of what an ACK delivered was marked
    /// ([`Avoidance::on_marks`](crate::Avoidance::on_marks)), and is another algorithm without.
    pub marks: bool,
}

impl Needs {
    /// Nothing.
    pub const NONE: Self = Self {
        rate_samples: false,
        pacing_rate: false,
        pacing: false,
        copies: false,
        sent: false,
        handshake_rtt: false,
        memory: false,
        losses: false,
        draws: false,
        unpaced: false,
        marks: false,
    };
    /// Everything.
    pub const ALL: Self = Self {
        rate_samples: true,
        pacing_rate: true,
        pacing: true,
        copies: true,
        sent: true,
        handshake_rtt: true,
        memory: true,
        losses: true,
        draws: true,
        unpaced: true,
        marks: true,
    };
    /// Pacing alone.
    pub const PACING: Self = Self {
        pacing: true,
        ..Self::NONE
    };
}
