//! The simulated TCP as a stack: a [`Sender`] and a [`Receiver`] behind the socket calls of a
//! script.
//!
//! Assumes one connection, whose application reads only when the script does. The send buffer never
//! limits, and no RST exists.

use std::collections::VecDeque;

mod agreement;
mod wire;

use congestion::{Algorithm, Phase};
use packetdrill::{Call, Ecn, Info, Packet, Script, Sent, Settings, SocketOption, Stack};
use tcp::segment::AckSegment;
use tcp::{Receiver, Sender, Tick};
use units::{Bytes, Duration, Instant};

use agreement::Peer;

/// The segment size that the host advertises: 1500 bytes of IPv4.
const MSS: u16 = 1460;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: i64 = 0x7fff_ffff;
/// The simulated TCP.
#[derive(Debug)]
pub struct Simulated {
    now: Instant,
    tick: Tick,
    settings: Settings,
    algorithm: Algorithm,
    receive_buffer: Option<u32>,
    /// The segments of which the peer's longer packets were merged.
    merged: Option<u16>,
    is_prompt: bool,
    written: u64,
    is_closed: bool,
    listener: Option<i64>,
    fd: Option<i64>,
    stage: Stage,
    sender: Sender,
    receiver: Receiver,
    /// What the two ends agreed on.
    peer: Peer,
    /// The last acknowledgment, which segments repeat that report nothing new.
    last: AckSegment,
    sent: VecDeque<Sent>,
    highest: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Closed,
    Listening,
    SynSent(Instant),
    SynReceived,
    Established,
}

impl Simulated {
    /// A host with the settings of `script` and `algorithm`; `None` is what the script names. Its
    /// timers count in ticks of `tick`, the first of which begins at time zero; zero makes them exact.
    ///
    /// # Errors
    /// The script names a congestion control that does not exist here.
    pub fn new(
        script: &Script,
        algorithm: Option<&Algorithm>,
        tick: Duration,
    ) -> Result<Self, String> {
        let tick = Tick::with_phase(tick, Duration::ZERO);
        let settings = script.settings.clone();
        let algorithm = match algorithm {
            Some(algorithm) => *algorithm,
            None => named(settings.get("tcp_congestion_control").unwrap_or("cubic"))?,
        };
        let config = Self::sender_config(&settings, &algorithm, &Peer::default(), tick);
        let receiver = Self::receiver_config(&settings, None, script.mss, tick);
        Ok(Self {
            now: Instant::ZERO,
            tick,
            settings,
            algorithm,
            receive_buffer: None,
            merged: script.mss,
            is_prompt: false,
            written: 0,
            is_closed: false,
            listener: None,
            fd: None,
            stage: Stage::Closed,
            sender: Sender::new(config),
            receiver: Receiver::new(receiver),
            peer: Peer::default(),
            last: AckSegment::default(),
            sent: VecDeque::new(),
            highest: 0,
        })
    }

    fn establish(&mut self, third: &AckSegment, rtt: Option<Duration>, retransmitted: u32) {
        self.stage = Stage::Established;
        self.receiver.hold();
        self.sender.accept(self.now, third, rtt, retransmitted);
        if self.written > 0 {
            self.sender.write(self.now, self.written);
        }
    }

    /// The peer's SYN-ACK answers the SYN of `since`.
    fn connect(&mut self, packet: &Packet, since: Instant) {
        let retransmitted = self.sender.stats().syn_retransmitted;
        self.agree(packet);
        let answer = self.acknowledgment(packet);
        let rtt = (retransmitted == 0).then(|| self.now - since);
        let third = self.receiver.connect(self.now, &answer, rtt);
        self.establish(
            &answer,
            rtt,
            u32::try_from(retransmitted).unwrap_or(u32::MAX),
        );
        self.last = third;
        self.push_ack(&third);
    }

    fn transmit(&mut self) {
        let now = self.now;
        match self.stage {
            Stage::Closed | Stage::Listening => return,
            Stage::SynSent(_) => {
                while self.sender.poll_transmit(now).is_some() {
                    self.push_syn(None);
                }
                return;
            }
            Stage::SynReceived => {}
            Stage::Established => {
                while let Some(segment) = self.sender.poll_transmit(now) {
                    let ack = self.receiver.take_ack(now);
                    if segment.len > 0 {
                        self.receiver.on_data_sent(now);
                    }
                    if segment.fin {
                        self.receiver.on_fin_sent();
                    }
                    self.push_data(&segment, ack);
                }
            }
        }
        while let Some(ack) = self.receiver.poll_ack(now) {
            self.last = ack;
            if ack.syn {
                self.push_syn(Some(&ack));
            } else {
                self.push_ack(&ack);
            }
        }
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        let sender = match self.stage {
            Stage::SynSent(_) | Stage::Established => self.sender.poll_timeout(),
            _ => None,
        };
        [sender, self.receiver.poll_timeout()]
            .into_iter()
            .flatten()
            .min()
    }

    fn check(&self, fd: i64) -> Result<(), String> {
        if self.fd == Some(fd) {
            Ok(())
        } else {
            Err(format!(
                "not in scope: socket {fd} has no connection (one is simulated)"
            ))
        }
    }

    fn read(&mut self, len: u64) -> Result<i64, String> {
        let got = self.receiver.read(self.now, len).get();
        self.transmit();
        if got > 0 || len == 0 || self.receiver.has_ended() {
            Ok(got as i64)
        } else {
            Err("EAGAIN".into())
        }
    }
}

/// The congestion control that a kernel's name stands for.
fn named(name: &str) -> Result<Algorithm, String> {
    Algorithm::parse(name)
        .map_err(|_| format!("not in scope: the congestion control {name} (-a names another)"))
}

impl Stack for Simulated {
    fn name(&self) -> &str {
        "simulated"
    }

    fn now(&mut self) -> Instant {
        self.now
    }

    fn wait(
        &mut self,
        until: Instant,
        stops: bool,
        sent: &mut VecDeque<Sent>,
    ) -> Result<(), String> {
        loop {
            sent.append(&mut self.sent);
            if stops && !sent.is_empty() {
                return Ok(());
            }
            let Some(due) = self.next_timer().filter(|due| *due <= until) else {
                break;
            };
            self.now = self.now.max(due);
            if self.stage != Stage::SynReceived {
                self.sender.handle_timeout(self.now);
            }
            self.receiver.handle_timeout(self.now);
            self.transmit();
        }
        self.now = self.now.max(until);
        Ok(())
    }

    fn inject(&mut self, packet: &Packet) -> Result<(), String> {
        if packet.flags.rst {
            return Err("not in scope: the simulated TCP knows no RST".into());
        }
        match self.stage {
            Stage::Closed => return Err("a packet arrives before there is a socket".into()),
            Stage::Listening if packet.flags.syn && !packet.flags.ack => {
                if packet.len > 0 {
                    return Err("not in scope: data in a SYN".into());
                }
                self.agree(packet);
                self.stage = Stage::SynReceived;
                self.receiver.listen();
                let segment = self.segment(packet);
                self.receiver.handle_data(self.now, &segment, false);
            }
            Stage::Listening => return Err("not in scope: RST for a packet without SYN".into()),
            Stage::SynSent(since) if packet.flags.syn && packet.flags.ack => {
                self.connect(packet, since);
            }
            Stage::SynSent(_) => return Err("not in scope: simultaneous open".into()),
            Stage::SynReceived if packet.flags.syn => {
                let segment = self.segment(packet);
                self.receiver.handle_data(self.now, &segment, false);
            }
            Stage::SynReceived if packet.flags.ack && packet.ack >= 1 => {
                let third = self.acknowledgment(packet);
                let (rtt, retransmitted) = self.receiver.complete_handshake(self.now);
                self.establish(&third, rtt, retransmitted);
                self.take_data(packet);
            }
            Stage::SynReceived => {}
            Stage::Established => self.take(packet),
        }
        self.transmit();
        Ok(())
    }

    fn call(&mut self, call: &Call, expected: i64) -> Result<Result<i64, String>, String> {
        match call {
            Call::Socket => return Ok(Ok(expected)),
            Call::Bind { .. } | Call::Fcntl { .. } => {}
            Call::Listen { fd } => {
                self.listener = Some(*fd);
                self.stage = Stage::Listening;
            }
            Call::Accept { fd } => {
                if self.listener != Some(*fd) || self.fd.is_some() {
                    return Err("not in scope: this simulates one connection".into());
                }
                if self.stage != Stage::Established {
                    return Ok(Err("EAGAIN".into()));
                }
                self.fd = Some(expected);
                return Ok(Ok(expected));
            }
            Call::Connect { fd } => {
                if self.stage != Stage::Closed {
                    return Err("not in scope: this simulates one connection".into());
                }
                self.fd = Some(*fd);
                self.stage = Stage::SynSent(self.now);
                self.sender.open(self.now);
                self.transmit();
                return Ok(Err("EINPROGRESS".into()));
            }
            Call::SetOption { option, .. } => self.set_option(option)?,
            Call::Write { fd, len } => {
                self.check(*fd)?;
                if self.is_closed {
                    return Ok(Err("EPIPE".into()));
                }
                self.written += len;
                if self.stage == Stage::Established {
                    self.sender.write(self.now, *len);
                    self.transmit();
                }
                return Ok(Ok(*len as i64));
            }
            Call::Read { fd, len } => {
                self.check(*fd)?;
                return Ok(self.read(*len));
            }
            Call::Close { fd } if Some(*fd) == self.listener => self.listener = None,
            Call::Close { fd } | Call::Shutdown { fd } => {
                self.check(*fd)?;
                let unread = self.receiver.received() - self.receiver.delivered();
                if matches!(call, Call::Close { .. }) && unread > Bytes::ZERO {
                    return Err("not in scope: RST after a close with unread data".into());
                }
                self.is_closed = true;
                self.sender.close();
                self.transmit();
            }
        }
        Ok(Ok(0))
    }

    fn info(&mut self) -> Result<Info, String> {
        if self.stage != Stage::Established {
            return Ok(Info::new());
        }
        let sender = &self.sender;
        let window = sender.window();
        let smss = window.smss.get().max(1);
        let segments = |bytes: Bytes| {
            if bytes == Bytes::MAX {
                INFINITE
            } else {
                (bytes.get() / smss) as i64
            }
        };
        let micros = |time: Option<Duration>| time.map_or(0, |time| time.as_micros() as i64);
        let state = match sender.phase() {
            Phase::Open => 0,
            Phase::Disorder => 1,
            Phase::Cwr => 2,
            Phase::Recovery => 3,
            Phase::Loss => 4,
        };
        Ok(vec![
            ("tcpi_ca_state", state),
            ("tcpi_snd_cwnd", segments(window.cwnd)),
            ("tcpi_snd_ssthresh", segments(window.ssthresh)),
            ("tcpi_unacked", i64::from(sender.segments_out())),
            ("tcpi_sacked", i64::from(sender.segments_sacked_out())),
            ("tcpi_lost", i64::from(sender.segments_lost_out())),
            ("tcpi_retrans", i64::from(sender.segments_retrans_out())),
            (
                "tcpi_total_retrans",
                sender.stats().segments_retransmitted as i64,
            ),
            ("tcpi_reordering", i64::from(sender.reordering())),
            ("tcpi_reord_seen", i64::from(sender.reordering_seen())),
            ("tcpi_rtt", micros(sender.srtt())),
            ("tcpi_min_rtt", micros(sender.min_rtt())),
            ("tcpi_rto", micros(Some(sender.rto()))),
            ("tcpi_snd_mss", smss as i64),
            ("tcpi_rcv_mss", i64::from(self.receiver.segment_size())),
            // The SYN counts.
            ("tcpi_delivered", segments(sender.delivered()) + 1),
            ("tcpi_dsack_dups", sender.stats().dsacks as i64),
        ])
    }
}

impl Simulated {
    fn take(&mut self, packet: &Packet) {
        if packet.flags.syn {
            // The SYN-ACK again: the third segment was lost.
            let answer = self.acknowledgment(packet);
            if packet.flags.ack {
                self.last = self.receiver.connect(self.now, &answer, None);
                let last = self.last;
                self.push_ack(&last);
            }
            return;
        }
        if packet.flags.ack {
            let ack = self.acknowledgment(packet);
            if packet.len > 0 || packet.flags.fin {
                self.sender.handle_ack_with_data(self.now, &ack);
            } else {
                self.sender.handle_ack(self.now, &ack);
            }
        }
        self.take_data(packet);
    }

    fn take_data(&mut self, packet: &Packet) {
        // A bare ACK of an old sequence number is answered as an old segment is.
        let is_old = packet.seq.saturating_sub(1) < self.receiver.received().get();
        if packet.len > 0 || packet.flags.fin || (is_old && !self.receiver.has_ended()) {
            let segment = self.segment(packet);
            let is_marked = packet.ecn == Some(Ecn::Ce) && self.peer.ecn;
            self.receiver.handle_data(self.now, &segment, is_marked);
        }
    }

    fn set_option(&mut self, option: &SocketOption) -> Result<(), String> {
        let is_open = matches!(self.stage, Stage::Established | Stage::SynReceived);
        match option {
            SocketOption::Indifferent | SocketOption::SendBuffer(_) => {}
            SocketOption::ReceiveBuffer(_) if is_open => {
                return Err("not in scope: SO_RCVBUF of an open connection".into());
            }
            SocketOption::ReceiveBuffer(bytes) => self.receive_buffer = Some(*bytes),
            SocketOption::NoDelay(true) => {
                self.is_prompt = true;
                self.sender.send_promptly();
            }
            SocketOption::NoDelay(false) => {}
            SocketOption::Congestion(_) if is_open => {
                return Err("not in scope: TCP_CONGESTION of an open connection".into());
            }
            SocketOption::Congestion(name) => self.algorithm = named(name)?,
        }
        Ok(())
    }
}
