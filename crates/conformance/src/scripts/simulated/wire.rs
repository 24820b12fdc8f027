//! Between the packets of a script and the segments of the simulated TCP. In a script, the SYN and
//! the FIN take a sequence number each; data starts at 1.

use packetdrill::{Ecn, Flags, Options, Packet, Sent, Timestamps};
use tcp::Receiver;
use tcp::segment::{AckSegment, DataSegment, SackBlocks};

use super::{MSS, Simulated};

impl Simulated {
    /// The acknowledgment in a packet of the peer.
    pub(super) fn acknowledgment(&self, packet: &Packet) -> AckSegment {
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
            ace: 0,
        }
    }

    pub(super) fn stamps(&self, packet: &Packet) -> Timestamps {
        let none = Timestamps { val: 0, ecr: 0 };
        let offered = packet
            .options
            .as_ref()
            .and_then(|options| options.timestamps);
        offered.filter(|_| self.peer.timestamps).unwrap_or(none)
    }

    pub(super) fn segment(&self, packet: &Packet) -> DataSegment {
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

    pub(super) fn push(&mut self, packet: Packet) {
        let at = self.now;
        self.sent.push_back(Sent { at, packet });
    }

    /// A SYN, or the SYN-ACK of `answer`.
    pub(super) fn push_syn(&mut self, answer: Option<&AckSegment>) {
        let is_on = |name: &str| self.settings.number(name) != Some(0);
        let own = Receiver::new(self.own_receiver());
        let (sack, stamps, shift, ecn) = match answer {
            Some(_) => {
                let shift = self.peer.scales.map(|(_, own)| own);
                (self.peer.sack, self.peer.timestamps, shift, self.peer.ecn)
            }
            None => (
                is_on("tcp_sack"),
                is_on("tcp_timestamps"),
                is_on("tcp_window_scaling").then_some(own.window_shift()),
                self.settings.number("tcp_ecn") == Some(1),
            ),
        };
        let window = answer.map_or(own.window(), |answer| answer.window);
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

    pub(super) fn push_ack(&mut self, ack: &AckSegment) {
        let seq = self.sender.snd_nxt() + 1;
        let stamp = (ack.ts_val, ack.ts_ecr);
        let packet = self.packet(ack, seq, 0, stamp);
        self.push(packet);
    }

    pub(super) fn push_data(&mut self, segment: &DataSegment, ack: Option<AckSegment>) {
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

    pub(super) fn packet(&self, ack: &AckSegment, seq: u64, len: u32, stamp: (u32, u32)) -> Packet {
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
    pub(super) fn fin_rode(&self, ack: &AckSegment) -> bool {
        self.receiver.has_ended() && ack.ack == self.receiver.received().get() && ack.ack > 0
    }
}
