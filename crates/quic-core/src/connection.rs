//! The events of a QUIC stack, as the algorithms read them.

use congestion::rate_sample::{Newest, RateEstimator};
use congestion::{
    Ack, Algorithm, AnyCongestionControl, BuildContext, Congestion, CongestionControl,
    CongestionKind, Established, Lost, Pace, PathMemory, Phase, Sent, SlowStartExit, Window,
};
use units::{Bytes, Duration, Instant, Rate};

use crate::capabilities::{Capabilities, Unsupported};
use crate::flight::{Flight, Packet};

/// `kMinimumWindow` of RFC 9002, appendix B.1, in datagrams.
const MIN_WINDOW: u64 = 2;

/// A new connection.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Setup {
    /// The congestion control.
    pub algorithm: Algorithm,
    /// When the connection begins.
    pub now: Instant,
    /// UDP payload of a full datagram: the segment size of the algorithms.
    pub datagram: Bytes,
    /// The window that it begins with.
    pub initial_window: Bytes,
    /// Seed of the algorithm's random numbers.
    pub seed: u64,
}

impl Setup {
    /// A connection with the initial window of RFC 9002, section 7.2, and its time begins now.
    #[must_use]
    pub fn new(algorithm: Algorithm, datagram: Bytes) -> Self {
        Self {
            algorithm,
            now: Instant::ZERO,
            datagram,
            initial_window: initial_window(datagram),
            seed: 0,
        }
    }
}

/// RFC 9002, section 7.2: ten datagrams, limited to the larger of 14,720 bytes and two datagrams.
#[must_use]
pub fn initial_window(datagram: Bytes) -> Bytes {
    (datagram * 10).min(Bytes::new(14_720).max(datagram * MIN_WINDOW))
}

/// The ACK frame that is being handled.
#[derive(Clone, Copy, Debug, Default)]
struct Batch {
    acked: Bytes,
    /// Send time of the newest packet that it acknowledged, and what is known of that packet.
    newest: Option<(Instant, Option<Packet>)>,
}

/// The congestion control of one connection, notified as a QUIC stack notifies its own.
///
/// The order of events is that of RFC 9002, appendix A: for an ACK frame [`Self::on_acked`] for each
/// packet and then [`Self::on_batch_end`]; losses that the frame revealed follow, as
/// [`Self::on_lost`] for each packet where the stack reports them and [`Self::on_congestion`] for
/// all of them.
#[derive(Clone, Debug)]
pub struct Core {
    control: AnyCongestionControl,
    datagram: Bytes,
    /// It counts losses in `Ack::newly_lost`, and records of packets contain them.
    attributes_losses: bool,
    watches_losses: bool,
    is_paced: bool,
    phase: Phase,
    /// A reduction began then: losses of what was sent until then belong to it, also those that are
    /// found after it has ended (RFC 9002, appendix B.6).
    reduced_at: Option<Instant>,
    is_established: bool,
    now: Instant,
    /// Bytes sent, bytes acknowledged or lost, and bytes lost.
    sent: u64,
    resolved: u64,
    lost: Bytes,
    newly_lost: Bytes,
    in_flight: Bytes,
    last_sent: Option<Instant>,
    srtt: Duration,
    min_rtt: Duration,
    rate: RateEstimator,
    flight: Flight,
    batch: Batch,
    /// Acknowledged bytes that are not yet a whole datagram.
    rest: Bytes,
}

impl Core {
    /// The congestion control of a new connection of a stack with these `capabilities`.
    ///
    /// # Errors
    /// The algorithm needs more than the stack offers.
    pub fn new(setup: Setup, capabilities: &Capabilities) -> Result<Self, Unsupported> {
        capabilities.check(&setup.algorithm)?;
        let datagram = setup.datagram.max(Bytes::new(1));
        let control = setup.algorithm.build(BuildContext {
            now: setup.now,
            smss: datagram,
            initial_window: setup.initial_window.max(datagram * MIN_WINDOW),
            seed: setup.seed,
            handshake_rtt: None,
        });
        Ok(Self {
            attributes_losses: setup.algorithm.needs().loss_attribution,
            watches_losses: control.watches_losses(),
            control,
            datagram,
            is_paced: capabilities.paces,
            phase: Phase::Open,
            reduced_at: None,
            is_established: false,
            now: setup.now,
            sent: 0,
            resolved: 0,
            lost: Bytes::ZERO,
            newly_lost: Bytes::ZERO,
            in_flight: Bytes::ZERO,
            last_sent: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::from_nanos(u64::MAX),
            rate: RateEstimator::default(),
            flight: Flight::default(),
            batch: Batch::default(),
            rest: Bytes::ZERO,
        })
    }

    /// The handshake is over and took `rtt`; nothing but the handshake was sent. A stack that does
    /// not report this leaves it to the first ACK frame.
    pub fn on_handshake(&mut self, now: Instant, rtt: Duration) {
        if !core::mem::replace(&mut self.is_established, true) {
            self.control.on_established(&Established {
                now,
                rtt: Some(rtt),
                queued: Bytes::MAX,
                receive_window: Bytes::MAX,
                memory: PathMemory::default(),
            });
        }
    }

    /// A packet of `size` left, or all packets of one transmission, where the stack reports them as
    /// one. `number` is its packet number, where the stack gives it.
    pub fn on_sent(&mut self, now: Instant, size: Bytes, number: Option<u64>) {
        let packet = self.on_packet_sent(now, size);
        self.flight.push(packet, number);
    }

    /// A packet of `size` left, of a stack that keeps what this returns with the packet: in place of
    /// [`Self::on_sent`], before [`Self::on_packet_acked`] and [`Self::on_packet_lost`].
    pub fn on_packet_sent(&mut self, now: Instant, size: Bytes) -> Packet {
        self.now = now;
        let is_idle = self.in_flight.is_zero();
        let before = self.in_flight;
        let stamp = self.rate.on_sent(now, is_idle);
        self.sent = self.sent.saturating_add(size.get());
        self.in_flight += size;
        let idle_since = self.last_sent.filter(|_| is_idle);
        self.last_sent = Some(now);
        self.control.on_sent(&Sent {
            now,
            size,
            in_flight: before,
            snd_nxt: self.sent,
            retransmission: false,
            idle_since,
            app_limited: stamp.app_limited,
        });
        Packet {
            sent: now,
            stamp,
            end: self.sent,
            size,
            tx_in_flight: self.in_flight,
            lost: self.lost,
        }
    }

    /// The ACK frame acknowledges `size` that were sent at `sent`.
    pub fn on_acked(&mut self, now: Instant, sent: Instant, size: Bytes, number: Option<u64>) {
        let packet = self.flight.acknowledge(sent, number, size);
        self.acknowledge(now, sent, size, packet);
    }

    /// The ACK frame acknowledges `size`, of which `newest` left last.
    pub fn on_packet_acked(&mut self, now: Instant, newest: &Packet, size: Bytes) {
        self.acknowledge(now, newest.sent, size, Some(*newest));
    }

    fn acknowledge(&mut self, now: Instant, sent: Instant, size: Bytes, packet: Option<Packet>) {
        self.now = now;
        self.rate.on_delivered(now, size);
        self.batch.acked += size;
        self.resolved = self.resolved.saturating_add(size.get());
        if self.batch.newest.is_none_or(|(newest, _)| sent >= newest) {
            self.batch.newest = Some((sent, packet));
        }
    }

    /// The ACK frame ends. `in_flight` is without what it acknowledged, and before what it shows to
    /// be lost. `app_limited` says that the application, not the window, limited the sender.
    pub fn on_batch_end(&mut self, now: Instant, in_flight: Bytes, app_limited: bool) {
        self.now = now;
        let Batch { acked, newest } = core::mem::take(&mut self.batch);
        let Some((sent, packet)) = newest else {
            return;
        };
        let rtt = now.saturating_since(sent);
        self.measure(rtt);
        self.on_handshake(now, rtt);
        if self.reduced_at.is_some_and(|since| sent > since) {
            self.leave_reduction();
        }
        self.in_flight = in_flight;
        // Whole datagrams; see the contract of `congestion`.
        let whole = self.datagram * (self.rest + acked).segments(self.datagram);
        self.rest = self.rest + acked - whole;
        let newest = packet.map(|packet| Newest {
            stamp: packet.stamp,
            sent,
            tx_in_flight: self.attributed(packet.tx_in_flight),
            lost: self.attributed(packet.lost),
        });
        let pacing_rate = self.control.pacing_rate();
        let mut ack = Ack {
            now,
            delivered: whole,
            newly_lost: Bytes::ZERO,
            prior_in_flight: in_flight + acked,
            in_flight,
            snd_una: self.resolved,
            snd_nxt: self.sent,
            advanced: true,
            bytes_sent: self.sent,
            latest_rtt: Some(rtt),
            srtt: self.srtt,
            min_rtt: self.min_rtt,
            rate: self
                .rate
                .sample(now, newest, self.min_rtt, self.lost, false),
            cwnd_limited: !app_limited,
            app_limited,
            phase: self.phase,
            paced: self.is_paced,
            pacing_rate: pacing_rate.unwrap_or(Rate::MAX),
        };
        if app_limited {
            self.rate.on_app_limited(in_flight);
        }
        self.control.on_delivery(&ack);
        ack.newly_lost = core::mem::take(&mut self.newly_lost);
        self.control.on_ack(&ack);
    }

    /// Packet `number` of `size` is declared lost. Only for stacks that report each.
    pub fn on_lost(&mut self, now: Instant, size: Bytes, number: u64) {
        let packet = self.flight.lose(number);
        self.lose(now, size, packet);
    }

    /// This packet is declared lost. [`Self::on_congestion`] follows.
    pub fn on_packet_lost(&mut self, now: Instant, packet: &Packet) {
        self.lose(now, packet.size, Some(*packet));
    }

    fn lose(&mut self, now: Instant, size: Bytes, packet: Option<Packet>) {
        self.now = now;
        self.lost += size;
        if self.attributes_losses {
            self.newly_lost += size;
        }
        if let Some(packet) = packet.filter(|_| self.watches_losses) {
            self.control.on_lost(&Lost {
                now,
                size,
                seq: packet.end.saturating_sub(packet.size.get()),
                end: packet.end,
                delivered: self.rate.delivered(),
                tx_in_flight: packet.tx_in_flight,
                lost: self.lost.saturating_sub(packet.lost),
                app_limited: packet.stamp.app_limited,
            });
        }
    }

    /// `size` in flight will neither be acknowledged nor declared lost: keys were discarded
    /// (RFC 9002, section 6.4), or a probe of the path's MTU did not arrive.
    pub fn on_discarded(&mut self, size: Bytes) {
        self.in_flight = self.in_flight.saturating_sub(size);
        self.resolved = self.resolved.saturating_add(size.get());
    }

    /// Congestion was detected: `lost` bytes are no longer in flight, of which the newest left at
    /// `newest_sent`. For an ECN mark, nothing is lost and `newest_sent` is the newest packet that
    /// was acknowledged. Persistent congestion is [`CongestionKind::Timeout`].
    pub fn on_congestion(
        &mut self,
        now: Instant,
        newest_sent: Instant,
        kind: CongestionKind,
        lost: Bytes,
    ) {
        self.now = now;
        self.in_flight = self.in_flight.saturating_sub(lost);
        self.resolved = self.resolved.saturating_add(lost.get());
        let is_timeout = kind == CongestionKind::Timeout;
        // RFC 9002, section 7.3.2: one reduction in a recovery period.
        if !is_timeout && self.reduced_at.is_some_and(|since| newest_sent <= since) {
            return;
        }
        self.leave_reduction();
        self.control.on_congestion(&Congestion {
            now,
            kind,
            phase: self.phase,
            // Section 7.6.2: persistent congestion leaves the minimum window.
            in_flight: if is_timeout {
                self.datagram * (MIN_WINDOW - 1)
            } else {
                self.in_flight
            },
            snd_nxt: self.sent,
            first_of_window: true,
        });
        self.phase = match kind {
            CongestionKind::Loss => Phase::Recovery,
            CongestionKind::Ecn => Phase::Cwr,
            CongestionKind::Timeout => Phase::Loss,
        };
        self.reduced_at = Some(now);
    }

    /// The packets whose loss began the last reduction arrived after all.
    pub fn on_spurious(&mut self) {
        self.control.undo(self.now);
        self.phase = Phase::Open;
        self.reduced_at = None;
    }

    /// A full datagram now carries `datagram` bytes.
    pub fn on_mtu(&mut self, datagram: Bytes) {
        self.datagram = datagram.max(Bytes::new(1));
        self.control.on_mtu(self.now, self.datagram);
    }

    /// Window and threshold now; the window is at least two datagrams (RFC 9002, section 7.2).
    #[must_use]
    pub fn window(&self) -> Window {
        let mut window = self.control.window();
        window.cwnd = window.cwnd.max(self.datagram * MIN_WINDOW);
        window
    }

    /// The pace, where the algorithm sets one; `None` leaves it to the stack.
    #[must_use]
    pub fn pace(&self) -> Option<Pace> {
        self.control.pacing_rate().map(|rate| Pace {
            rate,
            not_before: self.control.pacing_start(),
        })
    }

    /// The end of the first slow start, once it has happened.
    #[must_use]
    pub fn slow_start_exit(&self) -> Option<SlowStartExit> {
        self.control.slow_start_exit()
    }

    /// RFC 9002, section 5.3, without the receiver's delay.
    fn measure(&mut self, rtt: Duration) {
        self.min_rtt = self.min_rtt.min(rtt);
        self.srtt = if self.srtt.is_zero() {
            rtt
        } else {
            self.srtt.mul_div(7, 8) + rtt / 8
        };
    }

    fn leave_reduction(&mut self) {
        if self.phase.is_reducing() {
            self.control.on_recovery_exit(self.now);
        }
        self.phase = Phase::Open;
    }

    fn attributed(&self, size: Bytes) -> Bytes {
        if self.attributes_losses {
            size
        } else {
            Bytes::ZERO
        }
    }
}
