//! The books of a sender that follows a vector: offsets, what is in flight, the phase, and SRTT.
//!
//! They are kept as RFC 6675 counts the pipe and RFC 6298 smooths round-trip times, so that a vector
//! states only facts of the wire. Data that an ACK newly delivers is taken to be what was resent,
//! before what was sent once.

use congestion::rate_sample::RateSample;
use congestion::{Ack, Established, Lost, PathMemory, Phase};
use units::{Bytes, Duration, Instant, Rate};

use crate::vector::{Event, Header, Kind};

/// What a congestion control learns of an event.
#[derive(Clone, Copy, Debug)]
#[allow(clippy::large_enum_variant, reason = "one at a time, on the stack")]
pub(crate) enum Facts {
    /// The connection is established.
    Established(Established),
    /// Data left, in segments.
    Sent {
        /// How much.
        size: Bytes,
        /// In flight before it.
        in_flight: Bytes,
        /// Next new offset before it.
        snd_nxt: u64,
        /// It was declared lost before.
        retransmission: bool,
        /// When nothing was in flight: the time of the send before.
        idle_since: Option<Instant>,
    },
    /// An ACK.
    Acked {
        /// The ACK before losses are marked.
        delivery: Ack,
        /// The ACK after it.
        ack: Ack,
        /// It begins fast recovery.
        begins: bool,
        /// It ends fast recovery or a reduction.
        ends: bool,
        /// The phase before it.
        before: Phase,
    },
    /// A segment is declared lost.
    Dropped(Lost),
    /// A mark begins a reduction.
    Marked {
        /// In flight.
        in_flight: Bytes,
        /// The phase before.
        before: Phase,
    },
    /// Everything in flight was declared lost.
    TimedOut {
        /// The phase before.
        before: Phase,
        /// False when the timer expires again for the same data.
        first: bool,
    },
    /// Sending resumes after a pause.
    Restarted {
        /// How long nothing was sent.
        idle: Duration,
        /// The retransmission timeout.
        rto: Duration,
    },
}

/// The books.
#[derive(Clone, Debug)]
pub struct Flight {
    now: Instant,
    snd_una: u64,
    snd_nxt: u64,
    sacked: Bytes,
    /// Declared lost and not delivered since.
    lost: Bytes,
    /// Resent and not delivered since.
    resent: Bytes,
    bytes_sent: u64,
    last_sent: Instant,
    phase: Phase,
    /// The episode ends when this offset is acknowledged.
    recover: u64,
    srtt: Option<Duration>,
    min_rtt: Option<Duration>,
    smss: Bytes,
    /// Declared lost so far.
    lost_ever: Bytes,
    paced: bool,
    pacing_rate: Rate,
}

/// How many segments one event may send.
const MOST_SEGMENTS: u64 = 1 << 16;

/// Why an event cannot happen.
pub type Impossible = String;

impl Flight {
    /// Nothing sent yet.
    #[must_use]
    pub fn new(header: &Header) -> Self {
        Self {
            now: Instant::ZERO,
            snd_una: 0,
            snd_nxt: 0,
            sacked: Bytes::ZERO,
            lost: Bytes::ZERO,
            resent: Bytes::ZERO,
            bytes_sent: 0,
            last_sent: Instant::ZERO,
            phase: Phase::Open,
            recover: 0,
            srtt: None,
            min_rtt: None,
            smss: header.smss,
            lost_ever: Bytes::ZERO,
            paced: header.paced,
            pacing_rate: header.pacing_rate.unwrap_or(Rate::MAX),
        }
    }

    /// The phase of the sender.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// First unacknowledged offset.
    #[must_use]
    pub const fn snd_una(&self) -> u64 {
        self.snd_una
    }

    /// Selectively acknowledged above that.
    #[must_use]
    pub const fn sacked(&self) -> Bytes {
        self.sacked
    }

    /// Declared lost, not resent and not delivered since.
    #[must_use]
    pub const fn waiting(&self) -> Bytes {
        self.lost.saturating_sub(self.resent)
    }

    /// Next new offset.
    #[must_use]
    pub const fn snd_nxt(&self) -> u64 {
        self.snd_nxt
    }

    /// In flight: sent, and neither delivered nor declared lost.
    #[must_use]
    pub fn in_flight(&self) -> Bytes {
        let outstanding = Bytes::new(self.snd_nxt - self.snd_una);
        let gone = self.sacked + self.lost;
        outstanding.saturating_sub(gone) + self.resent
    }

    /// Books an event.
    ///
    /// # Errors
    /// What makes it impossible.
    pub(crate) fn apply(&mut self, event: &Event) -> Result<Facts, Impossible> {
        if event.now < self.now {
            return Err("time runs backward".to_owned());
        }
        self.now = event.now;
        match event.kind {
            Kind::Established {
                rtt,
                queued,
                receive_window,
                approved,
                ..
            } => {
                if approved.is_some() && rtt.is_none() {
                    return Err("a rate is approved for no round trip".to_owned());
                }
                if self.bytes_sent > 0 {
                    return Err("data left before the connection was established".to_owned());
                }
                Ok(Facts::Established(Established {
                    now: self.now,
                    rtt,
                    queued,
                    receive_window,
                    memory: PathMemory::default(),
                }))
            }
            Kind::Send { size } => self.send(size, false),
            Kind::Resend { size } => {
                if self.resent + size > self.lost {
                    return Err("more is resent than was declared lost".to_owned());
                }
                self.send(size, true)
            }
            Kind::Ack { .. } => self.ack(&event.kind),
            Kind::Drop {
                from,
                tx_in_flight,
                gone,
                delivered,
            } => {
                if from < self.snd_una || from >= self.snd_nxt {
                    return Err("a segment is lost that is not outstanding".to_owned());
                }
                Ok(Facts::Dropped(Lost {
                    now: self.now,
                    size: self.smss,
                    seq: from,
                    end: from + self.smss.get(),
                    delivered,
                    tx_in_flight,
                    lost: gone,
                    app_limited: false,
                }))
            }
            Kind::Mark => {
                let before = self.phase;
                if before == Phase::Open {
                    self.phase = Phase::Cwr;
                    self.recover = self.snd_nxt;
                }
                Ok(Facts::Marked {
                    in_flight: self.in_flight(),
                    before,
                })
            }
            Kind::Timeout => {
                let before = self.phase;
                let first = before != Phase::Loss;
                self.lost = Bytes::new(self.snd_nxt - self.snd_una).saturating_sub(self.sacked);
                self.resent = Bytes::ZERO;
                self.phase = Phase::Loss;
                if first {
                    self.recover = self.snd_nxt;
                }
                Ok(Facts::TimedOut { before, first })
            }
            Kind::Restart { rto } => Ok(Facts::Restarted {
                idle: self.now.saturating_since(self.last_sent),
                rto,
            }),
        }
    }

    fn send(&mut self, size: Bytes, retransmission: bool) -> Result<Facts, Impossible> {
        // The subject hears of each segment: a vector must not keep it busy for hours.
        if size.get().div_ceil(self.smss.get()) > MOST_SEGMENTS {
            return Err(format!("more than {MOST_SEGMENTS} segments leave at once"));
        }
        let in_flight = self.in_flight();
        let facts = Facts::Sent {
            size,
            in_flight,
            snd_nxt: self.snd_nxt,
            retransmission,
            idle_since: (self.snd_una == self.snd_nxt && self.snd_nxt > 0)
                .then_some(self.last_sent),
        };
        if retransmission {
            self.resent += size;
        } else {
            self.snd_nxt += size.get();
        }
        self.bytes_sent += size.get();
        self.last_sent = self.now;
        Ok(facts)
    }

    fn ack(&mut self, kind: &Kind) -> Result<Facts, Impossible> {
        let &Kind::Ack {
            cumulative,
            sacked,
            lost,
            rtt,
            window_limited,
            app_limited,
            sample,
            feedback: _,
        } = kind
        else {
            return Err("no ACK".to_owned());
        };
        if cumulative < self.snd_una {
            return Err("the cumulative acknowledgment goes back".to_owned());
        }
        if cumulative > self.snd_nxt {
            return Err("it acknowledges what was never sent".to_owned());
        }
        if sacked.get() > self.snd_nxt - cumulative {
            return Err("it SACKs more than is outstanding".to_owned());
        }
        let known = self.snd_una + self.sacked.get();
        let Some(delivered) = (cumulative + sacked.get()).checked_sub(known) else {
            return Err("it takes back what was SACKed before".to_owned());
        };
        let delivered = Bytes::new(delivered);
        let prior_in_flight = self.in_flight();
        let advanced = cumulative > self.snd_una;
        let again = self.resent.min(delivered);
        self.resent -= again;
        self.lost = self.lost.saturating_sub(again);
        self.snd_una = cumulative;
        self.sacked = sacked;
        self.lost = self
            .lost
            .min(Bytes::new(self.snd_nxt - cumulative).saturating_sub(sacked));
        self.resent = self.resent.min(self.lost);
        if let Some(sample) = rtt {
            self.srtt = Some(
                self.srtt
                    .map_or(sample, |srtt| srtt - srtt / 8 + sample / 8),
            );
            self.min_rtt = Some(self.min_rtt.map_or(sample, |least| least.min(sample)));
        }
        let delivery = Ack {
            now: self.now,
            delivered,
            newly_lost: Bytes::ZERO,
            prior_in_flight,
            in_flight: self.in_flight(),
            snd_una: self.snd_una,
            snd_nxt: self.snd_nxt,
            advanced,
            bytes_sent: self.bytes_sent,
            latest_rtt: rtt,
            srtt: self.srtt.unwrap_or_default(),
            min_rtt: self.min_rtt.unwrap_or_default(),
            rate: None,
            cwnd_limited: window_limited,
            app_limited,
            phase: self.phase,
            paced: self.paced,
            pacing_rate: self.pacing_rate,
        };
        let before = self.phase;
        let reducing = before != Phase::Open;
        let ends = reducing && cumulative >= self.recover && lost.is_zero();
        if lost > self.in_flight().saturating_sub(self.resent) {
            return Err("more is declared lost than is in flight".to_owned());
        }
        self.lost += lost;
        self.lost_ever += lost;
        let rate = sample.map(|sample| RateSample {
            delivered: sample.delivered,
            interval: sample.interval,
            prior_delivered: sample.prior,
            total_delivered: Bytes::new(cumulative) + sacked,
            total_lost: self.lost_ever,
            tx_in_flight: sample.tx_in_flight,
            lost: sample.gone,
            app_limited,
            ack_delayed: false,
        });
        let begins = !lost.is_zero() && matches!(before, Phase::Open | Phase::Cwr);
        if ends {
            self.phase = Phase::Open;
        } else if begins {
            self.phase = Phase::Recovery;
            self.recover = self.snd_nxt;
        }
        let ack = Ack {
            newly_lost: lost,
            in_flight: self.in_flight(),
            phase: self.phase,
            rate,
            ..delivery
        };
        Ok(Facts::Acked {
            delivery,
            ack,
            begins,
            ends,
            before,
        })
    }
}
