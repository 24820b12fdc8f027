//! A packet as scripts write it: sequence numbers count from the initial ones.

use std::fmt;

/// The ECN field of the IP header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    NotEct,
    /// ECT(0).
    Ect0,
    /// ECT(1).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// The two bits.
    #[must_use]
    pub const fn bits(self) -> u8 {
        match self {
            Self::NotEct => 0,
            Self::Ect1 => 1,
            Self::Ect0 => 2,
            Self::Ce => 3,
        }
    }

    /// From the two lowest bits of `bits`.
    #[must_use]
    pub const fn of(bits: u8) -> Self {
        match bits & 3 {
            0 => Self::NotEct,
            1 => Self::Ect1,
            2 => Self::Ect0,
            _ => Self::Ce,
        }
    }
}

/// The flags of the TCP header.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of RFC 9293 and RFC 3168")]
pub struct Flags {
    pub fin: bool,
    pub syn: bool,
    pub rst: bool,
    pub psh: bool,
    pub ack: bool,
    pub ece: bool,
    pub cwr: bool,
}

impl Flags {
    /// As in the TCP header.
    #[must_use]
    pub const fn bits(self) -> u8 {
        self.fin as u8
            | (self.syn as u8) << 1
            | (self.rst as u8) << 2
            | (self.psh as u8) << 3
            | (self.ack as u8) << 4
            | (self.ece as u8) << 6
            | (self.cwr as u8) << 7
    }

    /// From the TCP header.
    #[must_use]
    pub const fn of(bits: u8) -> Self {
        Self {
            fin: bits & 1 != 0,
            syn: bits & 2 != 0,
            rst: bits & 4 != 0,
            psh: bits & 8 != 0,
            ack: bits & 16 != 0,
            ece: bits & 64 != 0,
            cwr: bits & 128 != 0,
        }
    }
}

impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (set, letter) in [
            (self.syn, 'S'),
            (self.fin, 'F'),
            (self.rst, 'R'),
            (self.psh, 'P'),
            (self.ece, 'E'),
            (self.cwr, 'W'),
            (self.ack, '.'),
        ] {
            if set {
                write!(f, "{letter}")?;
            }
        }
        Ok(())
    }
}

/// The timestamps option (RFC 7323).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// TSval.
    pub val: u32,
    /// TSecr.
    pub ecr: u32,
}

/// TCP options. Padding is not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size.
    pub mss: Option<u16>,
    /// Shift of the window scale.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// SACK blocks, in order.
    pub sack: Vec<(u64, u64)>,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
}

impl fmt::Display for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts = Vec::new();
        parts.extend(self.mss.map(|mss| format!("mss {mss}")));
        if self.sack_permitted {
            parts.push("sackOK".into());
        }
        parts.extend(
            self.timestamps
                .map(|stamps| format!("TS val {} ecr {}", stamps.val, stamps.ecr)),
        );
        parts.extend(self.window_scale.map(|shift| format!("wscale {shift}")));
        if !self.sack.is_empty() {
            let blocks: Vec<_> = self
                .sack
                .iter()
                .map(|(start, end)| format!("{start}:{end}"))
                .collect();
            parts.push(format!("sack {}", blocks.join(" ")));
        }
        if !parts.is_empty() {
            write!(f, "<{}>", parts.join(","))?;
        }
        Ok(())
    }
}

/// A TCP packet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packet {
    /// `None`: any, or for an injected packet none.
    pub ecn: Option<Ecn>,
    /// Flags.
    pub flags: Flags,
    /// First sequence number, relative to that of the SYN.
    pub seq: u64,
    /// Bytes of payload.
    pub len: u32,
    /// Acknowledgment number, relative to that of the SYN of the other side.
    pub ack: u64,
    /// The window field as it is in the header, not scaled. `None`: any.
    pub window: Option<u32>,
    /// `None`: any.
    pub options: Option<Options>,
}

impl Packet {
    /// One past the last byte of payload.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64
    }
}

impl fmt::Display for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ecn {
            Some(Ecn::NotEct) => write!(f, "[noecn] ")?,
            Some(Ecn::Ect0) => write!(f, "[ect0] ")?,
            Some(Ecn::Ect1) => write!(f, "[ect1] ")?,
            Some(Ecn::Ce) => write!(f, "[ce] ")?,
            None => {}
        }
        let (seq, end, len) = (self.seq, self.end(), self.len);
        write!(f, "{} {seq}:{end}({len})", self.flags)?;
        if self.flags.ack {
            write!(f, " ack {}", self.ack)?;
        }
        if let Some(window) = self.window {
            write!(f, " win {window}")?;
        }
        match &self.options {
            Some(options) if *options != Options::default() => write!(f, " {options}"),
            Some(_) => Ok(()),
            None => write!(f, " <...>"),
        }
    }
}
