//! Writes the packets of simulated flows as the captures of their hosts.
//!
//! The simulator counts payload from zero and has no addresses, so this module chooses them: flow i
//! leaves 10.77.0.1 from port 49152 + i for 10.77.0.2, port 5001, its run begins on 2000-01-01 at
//! 00:00 UTC, and both ends begin with fixed sequence numbers. Only headers are captured; payload
//! is zero. A SYN has the options MSS, SACK permitted, timestamps and window scale, and each later
//! segment has timestamps. The window scale is the smallest that holds every advertised window.

use std::io::{self, Write};

use etherparse::{IpNumber, Ipv4Header, TcpHeader, TcpOptionElement};
use measure::{PacketKind, PacketRecord, PacketTrace, Vantage};
use units::Instant;

use crate::Writer;

/// 2000-01-01T00:00:00Z in nanoseconds since the Unix epoch.
pub(crate) const BEGIN: u64 = 946_684_800_000_000_000;

/// Bytes kept of each packet: IPv4 and TCP headers with all options.
const SNAP_LENGTH: u32 = 100;

/// Initial sequence numbers of the sender and of the receiver.
const ISS: u32 = 1_000_000_000;
const IRS: u32 = 2_000_000_000;

/// The window that the sender of data advertises, in units of its scale.
const OWN_WINDOW: u16 = 512;

static ZEROS: [u8; 65_536] = [0; 65_536];

/// A comment for the first packet that the sender sees at or after a time.
#[derive(Clone, Debug)]
pub struct Remark {
    /// The flow.
    pub flow: u32,
    /// The time in the run.
    pub at: Instant,
    /// The text.
    pub text: String,
}

/// Adds what a point between the hosts sees, before the bottleneck and a quarter of the handshake's
/// RTT away from the sender: data passes it so much after it left, and ACKs so much before they
/// arrive.
pub fn add_middle(traces: &mut [PacketTrace]) {
    for trace in traces {
        let sender = |record: &&PacketRecord| record.seen_by == Vantage::Sender;
        // The SYN that was answered may be an earlier one; the shift is then the smaller one.
        let (mut syn, mut answer) = (None, None);
        for record in trace.packets.iter().filter(sender) {
            match record.kind {
                PacketKind::Syn => syn = Some(record),
                PacketKind::SynAck => {
                    answer = Some(record);
                    break;
                }
                _ => {}
            }
        }
        let (Some(syn), Some(answer)) = (syn, answer) else {
            continue;
        };
        let shift = answer.at.saturating_since(syn.at) / 4;
        let seen: Vec<PacketRecord> = trace
            .packets
            .iter()
            .filter(sender)
            .map(|record| PacketRecord {
                at: match record.kind {
                    PacketKind::SynAck | PacketKind::Ack => record.at - shift,
                    _ => record.at + shift,
                },
                seen_by: Vantage::Middle,
                ..*record
            })
            .collect();
        trace.packets.extend(seen);
        trace.packets.sort_by_key(|record| record.at);
    }
}

/// Begins a capture with an interface for each vantage.
pub(crate) fn begin<W: Write>(
    writer: W,
    comment: &str,
    vantages: &[Vantage],
    snap_length: u32,
) -> io::Result<Writer<W>> {
    let mut writer = Writer::new(writer, comment)?;
    for vantage in vantages {
        let (name, text) = match vantage {
            Vantage::Sender => ("sender", "the host that sends the data"),
            Vantage::Receiver => ("receiver", "the host that receives the data"),
            Vantage::Middle => ("middle", "a point between both hosts"),
        };
        writer.add_interface(name, text, snap_length)?;
    }
    Ok(writer)
}

/// What the packets of one flow have in common.
struct Flow<'a> {
    trace: &'a PacketTrace,
    shift: u8,
    /// The offset at which the stream ends, once its FIN with payload has been sent or received.
    end: [Option<u64>; 2],
    /// The timestamp of the last SYN-ACK.
    syn_ack: u32,
    remark: Option<&'a Remark>,
}

/// Writes the packets that `vantages` see to one pcapng file with an interface for each.
///
/// # Errors
/// Errors of `writer`.
pub fn write<W: Write>(
    writer: W,
    comment: &str,
    traces: &[PacketTrace],
    vantages: &[Vantage],
    remarks: &[Remark],
) -> io::Result<W> {
    let mut writer = begin(writer, comment, vantages, SNAP_LENGTH)?;
    let mut flows: Vec<Flow<'_>> = traces
        .iter()
        .map(|trace| Flow {
            trace,
            shift: shift_of(trace),
            end: [None; 2],
            syn_ack: 0,
            remark: remarks.iter().find(|remark| remark.flow == trace.flow),
        })
        .collect();
    // All flows in the order of time; each is in order already.
    let mut next = vec![0; flows.len()];
    loop {
        let heads = flows.iter().zip(&next).enumerate();
        let soonest = heads
            .filter_map(|(index, (flow, &at))| Some((flow.trace.packets.get(at)?.at, index)))
            .min();
        let Some((_, index)) = soonest else {
            return writer.finish();
        };
        let flow = &mut flows[index];
        let record = flow.trace.packets[next[index]];
        next[index] += 1;
        let bytes = flow.bytes(&record);
        let length = bytes.len() as u32 + payload(&record);
        let interface = vantages.iter().position(|each| *each == record.seen_by);
        if let Some(interface) = interface {
            let mut text = None;
            if record.seen_by == Vantage::Sender
                && let Some(remark) = flow.remark.filter(|remark| record.at >= remark.at)
            {
                text = Some(remark.text.as_str());
                flow.remark = None;
            }
            let at = BEGIN + record.at.as_nanos();
            writer.packet(interface as u32, at, length, &bytes, text)?;
        }
    }
}

/// Payload bytes of a packet.
fn payload(record: &PacketRecord) -> u32 {
    match record.kind {
        PacketKind::Data => record.amount.min(65_000),
        _ => 0,
    }
}

/// The smallest window scale for the largest advertised window (RFC 7323: at most 14).
fn shift_of(trace: &PacketTrace) -> u8 {
    let acks = trace.packets.iter();
    let acks = acks.filter(|record| matches!(record.kind, PacketKind::Ack | PacketKind::SynAck));
    let most = acks.map(|record| record.amount).max().unwrap_or(0);
    (0..14)
        .find(|shift| most >> shift <= u32::from(u16::MAX))
        .unwrap_or(14)
        .max(7)
}

impl Flow<'_> {
    fn bytes(&mut self, record: &PacketRecord) -> Vec<u8> {
        let millis = (record.at.as_nanos() / 1_000_000) as u32;
        let is_data = matches!(
            record.kind,
            PacketKind::Syn | PacketKind::ThirdAck | PacketKind::Data
        );
        let hosts = [[10, 77, 0, 1], [10, 77, 0, 2]];
        let ports = [49_152 + (self.trace.flow % 16_384) as u16, 5001];
        let (from, to) = if is_data { (0, 1) } else { (1, 0) };
        let mut header = TcpHeader::new(ports[from], ports[to], 0, 0);
        let mut options = Vec::new();
        let (mut val, mut ecr) = record.timestamps;
        match record.kind {
            PacketKind::Syn => {
                header.syn = true;
                header.sequence_number = ISS;
                header.window_size = 64_240;
                options.extend(self.syn_options());
                // An ECN-capable sender asks with both flags (RFC 3168, section 6.1.1).
                (header.ece, header.cwr) = (record.ece, record.cwr);
            }
            PacketKind::SynAck => {
                header.syn = true;
                header.ack = true;
                header.sequence_number = IRS;
                header.acknowledgment_number = ISS.wrapping_add(1);
                header.window_size = u16::try_from(record.amount).unwrap_or(u16::MAX);
                header.ece = record.ece;
                self.syn_ack = val;
                options.extend(self.syn_options());
            }
            PacketKind::ThirdAck => {
                header.ack = true;
                header.sequence_number = ISS.wrapping_add(1);
                header.acknowledgment_number = IRS.wrapping_add(1);
                header.window_size = OWN_WINDOW;
                (val, ecr) = (millis, self.syn_ack);
            }
            PacketKind::Data => {
                header.ack = true;
                header.sequence_number = wire(record.offset);
                header.acknowledgment_number = IRS.wrapping_add(1);
                header.window_size = OWN_WINDOW;
                (header.fin, header.psh, header.cwr) = (record.fin, record.psh, record.cwr);
                if record.fin && record.amount > 0 {
                    let end = record.offset + u64::from(record.amount);
                    self.end[(record.seen_by == Vantage::Receiver) as usize] = Some(end);
                }
            }
            PacketKind::Ack => {
                header.ack = true;
                header.sequence_number = IRS.wrapping_add(1);
                header.acknowledgment_number = wire(record.offset);
                // The simulator's FIN with payload takes no sequence number; TCP's takes one.
                if self.end[1].is_some_and(|end| record.offset >= end) {
                    header.acknowledgment_number = header.acknowledgment_number.wrapping_add(1);
                }
                header.window_size = u16::try_from(record.amount >> self.shift).unwrap_or(u16::MAX);
                header.ece = record.ece;
            }
        }
        options.push(TcpOptionElement::Timestamp(val, ecr));
        let mut blocks = record.sack.iter().filter(|block| block.1 > block.0);
        if let Some(first) = blocks.next() {
            let both = |block: &(u64, u64)| (wire(block.0), wire(block.1));
            let mut others = [None; 3];
            for (place, block) in others.iter_mut().zip(blocks) {
                *place = Some(both(block));
            }
            options.push(TcpOptionElement::Noop);
            options.push(TcpOptionElement::Noop);
            options.push(TcpOptionElement::SelectiveAcknowledgement(
                both(first),
                others,
            ));
        }
        // At most 40 bytes: 12 of timestamps, and 28 of SACK or 8 of a SYN.
        let _ = header.set_options(&options);
        let payload = &ZEROS[..payload(record) as usize];
        let tcp = header.header_len() + payload.len();
        let mut ip = Ipv4Header::new(
            u16::try_from(tcp).unwrap_or(u16::MAX - 20),
            64,
            IpNumber::TCP,
            hosts[from],
            hosts[to],
        )
        .unwrap_or_default();
        ip.dont_fragment = true;
        let code = match record.ecn {
            (false, _) => 0,
            (true, false) => 2,
            (true, true) => 3,
        };
        ip.ecn = etherparse::IpEcn::try_new(code).unwrap_or_default();
        ip.header_checksum = ip.calc_header_checksum();
        header.checksum = header
            .calc_checksum_ipv4_raw(hosts[from], hosts[to], payload)
            .unwrap_or(0);
        let mut bytes = ip.to_bytes().to_vec();
        bytes.extend_from_slice(&header.to_bytes());
        bytes
    }

    fn syn_options(&self) -> [TcpOptionElement; 4] {
        // The option counts without the 12 bytes of timestamps (RFC 6691).
        let mss = self.trace.smss.get() + 12;
        [
            TcpOptionElement::MaximumSegmentSize(u16::try_from(mss).unwrap_or(u16::MAX)),
            TcpOptionElement::SelectiveAcknowledgementPermitted,
            TcpOptionElement::Noop,
            TcpOptionElement::WindowScale(self.shift),
        ]
    }
}

/// The sequence number of a payload offset.
const fn wire(offset: u64) -> u32 {
    ISS.wrapping_add(1).wrapping_add(offset as u32)
}
