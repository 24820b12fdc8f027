//! The simulated TCP as a stack: a [`Sender`] and a [`Receiver`] behind the socket calls of a
//! script.
//!
//! Assumes one connection, whose application reads only when the script does. The send buffer never
//! limits, and no RST exists.

use std::collections::VecDeque;

use congestion::{Algorithm, Phase};
use tcp::segment::{AckSegment, DataSegment, SackBlocks};
use tcp::{
    AckPolicy, Autotuning, LossDetection, Receiver, ReceiverConfig, Sender, SenderConfig, Tick,
};
use units::{Bytes, Duration, Instant};

use super::judge::{Sent, Stack};
use super::script::{Call, Script, SocketOption};
use super::{Ecn, Flags, Info, Options, Packet, Settings, Timestamps};

/// The segment size that the host advertises: 1500 bytes of IPv4.
const MSS: u16 = 1460;
/// Bytes of the timestamps option in each segment, with padding.
const TIMESTAMPS_SIZE: u32 = 12;
/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: i64 = 0x7fff_ffff;
/// Largest unpaced burst in bytes (`GSO_MAX_SIZE`).
const BURST: u32 = 65_536;

/// The simulated TCP.
#[derive(Debug)]
pub struct Simulated {
    now: Instant,
    tick: Tick,
    settings: Settings,
    algorithm: Algorithm,
    receive_buffer: Option<u32>,
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

/// What the handshake agreed on.
#[derive(Clone, Copy, Debug, Default)]
struct Peer {
    mss: u32,
    sack: bool,
    timestamps: bool,
    /// Shifts of the window that the peer advertises, and of ours.
    scales: Option<(u8, u8)>,
    ecn: bool,
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
        let receiver = Self::receiver_config(&settings, None, true, tick);
        Ok(Self {
            now: Instant::ZERO,
            tick,
            settings,
            algorithm,
            receive_buffer: None,
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

    fn sender_config(
        settings: &Settings,
        algorithm: &Algorithm,
        peer: &Peer,
        tick: Tick,
    ) -> SenderConfig {
        let option_bytes = if peer.timestamps { TIMESTAMPS_SIZE } else { 0 };
        let smss = peer
            .mss
            .min(u32::from(MSS))
            .saturating_sub(option_bytes)
            .max(1);
        // A large divisor turns the deferral of bursts off, as a device without TSO does.
        let defers = settings.tso && settings.number("tcp_tso_win_divisor").unwrap_or(3) < 10;
        SenderConfig {
            algorithm: *algorithm,
            smss,
            initial_window: 10,
            pacing: settings.fq,
            tso_segments: if defers { (BURST / smss).max(2) } else { 1 },
            restart_after_idle: settings.number("tcp_slow_start_after_idle") != Some(0),
            rto_min: Duration::from_millis(200),
            ecn: peer.ecn,
            sack: peer.sack,
            impatient: false,
            small_queue: None,
            loss_detection: LossDetection::default(),
            byte_counting: true,
            seed: 1,
            tick,
        }
    }

    fn receiver_config(
        settings: &Settings,
        buffer: Option<u32>,
        sack: bool,
        tick: Tick,
    ) -> ReceiverConfig {
        // Before a segment has shown its memory, 65 of 256 bytes are payload
        // (`TCP_DEFAULT_SCALING_RATIO`).
        let window = |memory: u64| memory * 65 / 256;
        let (receive_buffer, initial, autotuning) = match buffer {
            // The kernel doubles SO_RCVBUF.
            Some(bytes) => {
                let space = window(2 * u64::from(bytes));
                (u64::from(bytes), space, Autotuning::Off)
            }
            None => (
                settings.part("tcp_rmem", 2).unwrap_or(6 << 20),
                window(settings.part("tcp_rmem", 1).unwrap_or(131_072)).max(65_535),
                Autotuning::Current,
            ),
        };
        ReceiverConfig {
            receive_buffer: Bytes::new(receive_buffer),
            initial_window: Bytes::new(initial.min(65_535)),
            autotuning,
            ack_policy: AckPolicy::Delayed,
            sack,
            tick,
        }
    }

    /// Takes what the peer's SYN or SYN-ACK offers.
    fn agree(&mut self, packet: &Packet) {
        let none = Options::default();
        let offer = packet.options.as_ref().unwrap_or(&none);
        let is_on = |name: &str| self.settings.number(name) != Some(0);
        let buffer = match self.receive_buffer {
            Some(bytes) => u64::from(bytes),
            None => self.settings.part("tcp_rmem", 2).unwrap_or(6 << 20),
        };
        let shift = (buffer.max(1).ilog2() as u8).saturating_sub(15).min(14);
        let scales = is_on("tcp_window_scaling")
            .then_some(())
            .and(offer.window_scale);
        let ecn = match self.settings.number("tcp_ecn") {
            Some(1) => true,
            Some(2) => !packet.flags.ack,
            _ => false,
        };
        self.peer = Peer {
            mss: u32::from(offer.mss.unwrap_or(536)),
            sack: is_on("tcp_sack") && offer.sack_permitted,
            timestamps: is_on("tcp_timestamps") && offer.timestamps.is_some(),
            scales: scales.map(|peer| (peer, shift)),
            ecn: ecn && packet.flags.ece,
        };
        let config = Self::sender_config(&self.settings, &self.algorithm, &self.peer, self.tick);
        self.sender = Sender::new(config);
        if self.is_prompt {
            self.sender.send_promptly();
        }
        let receiver = Self::receiver_config(
            &self.settings,
            self.receive_buffer,
            self.peer.sack,
            self.tick,
        );
        self.receiver = Receiver::new(receiver);
    }

    /// The acknowledgment in a packet of the peer.
    fn acknowledgment(&self, packet: &Packet) -> AckSegment {
        let ack = packet.ack.saturating_sub(1);
        let shift = match self.peer.scales {
            Some((peer, _)) if !packet.flags.syn => peer,
            _ => 0,
        };
        let mut sack = SackBlocks::default();
        if self.peer.sack {
            for (start, end) in packet.options.iter().flat_map(|options| &options.sack) {
                sack.push(ack, start.saturating_sub(1), end.saturating_sub(1));
            }
        }
        let stamps = self.stamps(packet);
        AckSegment {
            // A FIN on the last byte takes no sequence number here.
            ack: if self.is_closed {
                ack.min(self.sender.snd_nxt())
            } else {
                ack
            },
            window: packet.window.unwrap_or(0) << shift,
            ts_val: stamps.val,
            ts_ecr: stamps.ecr,
            sack,
            syn: packet.flags.syn,
            ece: packet.flags.ece,
        }
    }

    fn stamps(&self, packet: &Packet) -> Timestamps {
        let none = Timestamps { val: 0, ecr: 0 };
        let offered = packet
            .options
            .as_ref()
            .and_then(|options| options.timestamps);
        offered.filter(|_| self.peer.timestamps).unwrap_or(none)
    }

    fn segment(&self, packet: &Packet) -> DataSegment {
        let stamps = self.stamps(packet);
        DataSegment {
            seq: packet.seq.saturating_sub(1),
            len: packet.len,
            ts_val: stamps.val,
            ts_ecr: stamps.ecr,
            syn: packet.flags.syn,
            fin: packet.flags.fin,
            psh: packet.flags.psh,
            cwr: packet.flags.cwr && self.peer.ecn,
            retransmission: false,
        }
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

    fn push(&mut self, packet: Packet) {
        let at = self.now;
        self.sent.push_back(Sent { at, packet });
    }

    /// A SYN, or the SYN-ACK of `answer`.
    fn push_syn(&mut self, answer: Option<&AckSegment>) {
        let is_on = |name: &str| self.settings.number(name) != Some(0);
        let own_shift = {
            let buffer = match self.receive_buffer {
                Some(bytes) => u64::from(bytes),
                None => self.settings.part("tcp_rmem", 2).unwrap_or(6 << 20),
            };
            (buffer.max(1).ilog2() as u8).saturating_sub(15).min(14)
        };
        let (sack, stamps, shift, ecn) = match answer {
            Some(_) => {
                let shift = self.peer.scales.map(|(_, own)| own);
                (self.peer.sack, self.peer.timestamps, shift, self.peer.ecn)
            }
            None => (
                is_on("tcp_sack"),
                is_on("tcp_timestamps"),
                is_on("tcp_window_scaling").then_some(own_shift),
                self.settings.number("tcp_ecn") == Some(1),
            ),
        };
        let window = answer.map_or(65_535, |answer| answer.window);
        let packet = Packet {
            ecn: Some(Ecn::NotEct),
            flags: Flags {
                syn: true,
                ack: answer.is_some(),
                ece: ecn,
                cwr: ecn && answer.is_none(),
                ..Flags::default()
            },
            seq: 0,
            len: 0,
            ack: u64::from(answer.is_some()),
            window: Some(window.min(65_535)),
            options: Some(Options {
                mss: Some(MSS),
                window_scale: shift,
                sack_permitted: sack,
                sack: Vec::new(),
                timestamps: stamps.then(|| Timestamps {
                    val: answer.map_or((self.now.as_millis() as u32) + 1, |it| it.ts_val),
                    ecr: answer.map_or(0, |it| it.ts_ecr),
                }),
            }),
        };
        self.push(packet);
    }

    fn push_ack(&mut self, ack: &AckSegment) {
        let seq = self.sender.snd_nxt() + 1;
        let stamp = (ack.ts_val, ack.ts_ecr);
        let packet = self.packet(ack, seq, 0, stamp);
        self.push(packet);
    }

    fn push_data(&mut self, segment: &DataSegment, ack: Option<AckSegment>) {
        let repeats = AckSegment {
            sack: SackBlocks::default(),
            ..self.last
        };
        let ack = ack.unwrap_or(repeats);
        self.last = ack;
        let stamp = (segment.ts_val, segment.ts_ecr);
        // A probe of a closed window has an old sequence number.
        let is_probe = segment.len == 0 && !segment.fin;
        let seq = segment.seq + u64::from(!is_probe);
        let mut packet = self.packet(&ack, seq, segment.len, stamp);
        packet.flags.fin = segment.fin;
        packet.flags.psh = segment.psh;
        packet.flags.cwr = segment.cwr;
        let is_new = segment.end() > self.highest;
        // RFC 3168, section 6.1.5: retransmissions are not ECN-capable.
        if self.peer.ecn && segment.len > 0 && is_new {
            packet.ecn = Some(Ecn::Ect0);
        }
        self.highest = self.highest.max(segment.end());
        self.push(packet);
    }

    fn packet(&self, ack: &AckSegment, seq: u64, len: u32, stamp: (u32, u32)) -> Packet {
        let shift = self.peer.scales.map_or(0, |(_, own)| own);
        let sack = ack
            .sack
            .iter(ack.ack)
            .map(|(start, end)| (start + 1, end + 1));
        Packet {
            ecn: Some(Ecn::NotEct),
            flags: Flags {
                ack: true,
                ece: ack.ece,
                ..Flags::default()
            },
            seq,
            len,
            ack: ack.ack + 1 + u64::from(self.fin_rode(ack)),
            window: Some((ack.window >> shift).min(65_535)),
            options: Some(Options {
                sack: sack.collect(),
                timestamps: self.peer.timestamps.then_some(Timestamps {
                    val: stamp.0,
                    ecr: stamp.1,
                }),
                ..Options::default()
            }),
        }
    }

    /// Whether `ack` acknowledges a FIN of the peer that came with data: it took no sequence number.
    fn fin_rode(&self, ack: &AckSegment) -> bool {
        self.receiver.has_ended() && ack.ack == self.receiver.received().get() && ack.ack > 0
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
