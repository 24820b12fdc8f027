//! Reads pcap and pcapng, block by block.
//!
//! `pcap-parser` splits the file; this module keeps the interfaces of the current section, converts
//! times to nanoseconds, and counts. pcap: micro- and nanoseconds, both byte orders, and
//! Kuznetzov's variant. pcapng: several sections and interfaces, `if_tsresol` and `if_tsoffset`,
//! and the numbers of dropped packets in `isb_ifdrop`, `isb_osdrop` and `epb_dropcount`.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use pcap_parser::{
    Block, InterfaceDescriptionBlock, OptionCode, PcapBlockOwned, PcapError, PcapNGOption,
    create_reader,
};

use crate::error::is_in_stream;
use crate::{Ending, LARGEST_BLOCK, ReadError};

/// Initial size of the buffer: more than the largest packet of common snap lengths.
const BUFFER: usize = 1 << 20;

/// Largest number of interfaces of a section; a damaged file cannot ask for more memory.
const MOST_INTERFACES: usize = 65_536;

/// Codes of options (draft-ietf-opsawg-pcapng, sections 4.2, 4.3 and 4.6).
const IF_TSOFFSET: u16 = 14;
const EPB_DROPCOUNT: u16 = 4;
const ISB_IFDROP: u16 = 5;
const ISB_OSDROP: u16 = 7;

/// A value of the registry "Link-Layer Header Types" of the tcpdump group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkType(pub u16);

/// The file format.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// pcap.
    #[default]
    Pcap,
    /// pcapng.
    PcapNg,
}

/// A captured packet.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// Nanoseconds since the Unix epoch.
    pub at: i64,
    /// The interface, counted over all sections from 0.
    pub interface: u32,
    /// What `bytes` begin with.
    pub link: LinkType,
    /// Length of the packet on the link, in bytes.
    pub length: u32,
    /// Its first bytes, up to the snap length.
    pub bytes: &'a [u8],
}

/// What a capture contained.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PacketSummary {
    /// Its format.
    pub format: Format,
    /// Packets passed on.
    pub packets: u64,
    /// Packets that are not passed on: they have no time (pcapng's Simple Packet Blocks), or their
    /// interface is not described.
    pub skipped: u64,
    /// Packets with fewer bytes captured than were on the link.
    pub truncated: u64,
    /// Packets dropped during the capture, as the file reports them.
    pub dropped: u64,
    /// Sections (1 in a pcap file).
    pub sections: u32,
    /// Interfaces of all sections (1 in a pcap file).
    pub interfaces: u32,
    /// How the file ended.
    pub ending: Ending,
}

#[derive(Clone, Copy)]
struct Interface {
    link: LinkType,
    resolution: u64,
    /// Nanoseconds.
    offset: i128,
    /// Reported by `isb_ifdrop` and `isb_osdrop`, which are totals.
    dropped: u64,
    /// Reported by `epb_dropcount`, which are increments.
    dropped_before: u64,
}

/// Passes the bytes on, and turns an error into an end; `pcap-parser` does not keep errors.
struct Watched<R> {
    inner: R,
    error: Arc<Mutex<Option<io::Error>>>,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.inner.read(buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    return Ok(0);
                }
                Ok(read) => return Ok(read),
            }
        }
    }
}

/// The state of a file that is read.
#[derive(Default)]
struct Section {
    interfaces: Vec<Interface>,
    /// Interfaces of earlier sections.
    before: u32,
    /// Fractions of a second per unit of a pcap file's times.
    nanos_per_unit: i64,
}

/// Reads a capture and passes each packet to `take`, in the order of the file.
///
/// # Errors
/// [`ReadError::Unknown`] if it is no capture, and [`ReadError::Io`].
pub fn read(
    reader: impl BufRead + Send,
    mut take: impl FnMut(&Frame<'_>),
) -> Result<PacketSummary, ReadError> {
    let error = Arc::new(Mutex::new(None));
    let mut reader = Watched {
        inner: reader,
        error: Arc::clone(&error),
    };
    // `create_reader` reads once: give it enough for the first block.
    let mut start = Vec::new();
    (&mut reader)
        .take(BUFFER as u64 / 2)
        .read_to_end(&mut start)?;
    let reader = io::Cursor::new(start).chain(reader);
    let mut summary = PacketSummary::default();
    let mut blocks = match create_reader(BUFFER, reader) {
        Ok(blocks) => blocks,
        Err(PcapError::Incomplete(_)) => {
            summary.ending = Ending::Cut(0);
            return Ok(summary);
        }
        Err(_) => return Err(ReadError::Unknown),
    };
    let mut capacity = BUFFER;
    let mut section = Section::default();
    summary.ending = loop {
        match blocks.next() {
            Ok((offset, block)) => {
                section.take(block, &mut summary, &mut take);
                if offset == 0 {
                    break Ending::Damaged(blocks.consumed() as u64);
                }
                blocks.consume(offset);
            }
            Err(PcapError::Eof) => break Ending::Whole,
            Err(PcapError::UnexpectedEof) => break Ending::Cut(blocks.consumed() as u64),
            Err(PcapError::Incomplete(_)) => {
                if blocks.refill().is_err() {
                    break Ending::Cut(blocks.consumed() as u64);
                }
            }
            Err(PcapError::BufferTooSmall) => {
                capacity *= 2;
                if capacity > 2 * LARGEST_BLOCK || !blocks.grow(capacity) {
                    break Ending::Damaged(blocks.consumed() as u64);
                }
                if blocks.refill().is_err() {
                    break Ending::Cut(blocks.consumed() as u64);
                }
            }
            Err(_) => break Ending::Damaged(blocks.consumed() as u64),
        }
    };
    section.close(&mut summary);
    let error = error.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(error) = error {
        if !is_in_stream(&error) {
            return Err(error.into());
        }
        // The compressed stream is cut, even if that is between two packets.
        if summary.ending == Ending::Whole {
            summary.ending = Ending::Cut(blocks.consumed() as u64);
        }
    }
    Ok(summary)
}

impl Section {
    fn take(
        &mut self,
        block: PcapBlockOwned<'_>,
        summary: &mut PacketSummary,
        take: &mut impl FnMut(&Frame<'_>),
    ) {
        match block {
            PcapBlockOwned::LegacyHeader(header) => {
                self.nanos_per_unit = if header.is_nanosecond_precision() {
                    1
                } else {
                    1000
                };
                // The upper bits are the length of the frame check sequence.
                self.interfaces.push(Interface {
                    link: LinkType((header.network.0 & 0xffff) as u16),
                    resolution: 0,
                    offset: 0,
                    dropped: 0,
                    dropped_before: 0,
                });
                (summary.sections, summary.interfaces) = (1, 1);
            }
            PcapBlockOwned::Legacy(block) => {
                let seconds = i64::from(block.ts_sec) * 1_000_000_000;
                let at = seconds + i64::from(block.ts_usec) * self.nanos_per_unit;
                let link = self.interfaces[0].link;
                pass(
                    summary,
                    take,
                    &Frame {
                        at,
                        interface: 0,
                        link,
                        length: block.origlen.max(block.caplen),
                        bytes: block.data,
                    },
                );
            }
            PcapBlockOwned::NG(block) => self.take_block(&block, summary, take),
        }
    }

    fn take_block(
        &mut self,
        block: &Block<'_>,
        summary: &mut PacketSummary,
        take: &mut impl FnMut(&Frame<'_>),
    ) {
        match block {
            Block::SectionHeader(_) => {
                self.close(summary);
                self.before = summary.interfaces;
                summary.format = Format::PcapNg;
                summary.sections += 1;
            }
            Block::InterfaceDescription(block) if self.interfaces.len() < MOST_INTERFACES => {
                self.interfaces.push(Interface {
                    link: LinkType((block.linktype.0 & 0xffff) as u16),
                    resolution: resolution(block.if_tsresol),
                    offset: offset(block),
                    dropped: 0,
                    dropped_before: 0,
                });
                summary.interfaces += 1;
            }
            Block::EnhancedPacket(block) => {
                let Some(interface) = self.interfaces.get_mut(block.if_id as usize) else {
                    summary.skipped += 1;
                    return;
                };
                let lost = wide(&block.options, EPB_DROPCOUNT, block.block_type).unwrap_or(0);
                interface.dropped_before = interface.dropped_before.saturating_add(lost);
                let Some(at) = interface.time(block.ts_high, block.ts_low) else {
                    summary.skipped += 1;
                    return;
                };
                let captured = block.data.len().min(block.caplen as usize);
                pass(
                    summary,
                    take,
                    &Frame {
                        at,
                        interface: self.before + block.if_id,
                        link: interface.link,
                        length: block.origlen.max(block.caplen),
                        bytes: &block.data[..captured],
                    },
                );
            }
            Block::SimplePacket(_) => summary.skipped += 1,
            Block::InterfaceStatistics(block) => {
                if let Some(interface) = self.interfaces.get_mut(block.if_id as usize) {
                    let counts = [ISB_IFDROP, ISB_OSDROP];
                    let total = counts
                        .into_iter()
                        .filter_map(|code| wide(&block.options, code, block.block_type));
                    interface.dropped = total.fold(0, u64::saturating_add);
                }
            }
            _ => {}
        }
    }

    /// Ends a section: adds its drops to the totals.
    fn close(&mut self, summary: &mut PacketSummary) {
        for interface in self.interfaces.drain(..) {
            // Both count the same packets, if both are there.
            let dropped = interface.dropped.max(interface.dropped_before);
            summary.dropped = summary.dropped.saturating_add(dropped);
        }
    }
}

/// Units per second; 0 for more than a u64 holds. `ts_resolution` of pcap-parser 0.17 knows no powers
/// of two.
fn resolution(code: u8) -> u64 {
    let exponent = u32::from(code & 0x7f);
    if code & 0x80 == 0 {
        10_u64.checked_pow(exponent).unwrap_or(0)
    } else {
        1_u64.checked_shl(exponent).unwrap_or(0)
    }
}

/// The value of an option of 64 bits. pcap-parser 0.17 reads those as little-endian in any section,
/// and types of blocks too: a type above 2^16 is that of a big-endian section.
fn wide(options: &[PcapNGOption<'_>], code: u16, block_type: u32) -> Option<u64> {
    let option = options
        .iter()
        .find(|option| option.code == OptionCode(code))?;
    let bytes = <[u8; 8]>::try_from(option.value()).ok()?;
    Some(if block_type > 0xffff {
        u64::from_be_bytes(bytes)
    } else {
        u64::from_le_bytes(bytes)
    })
}

/// Nanoseconds to add to the times of an interface; the option has signed seconds.
fn offset(block: &InterfaceDescriptionBlock<'_>) -> i128 {
    let seconds = wide(&block.options, IF_TSOFFSET, block.block_type).unwrap_or(0);
    i128::from(seconds as i64) * 1_000_000_000
}

fn pass(summary: &mut PacketSummary, take: &mut impl FnMut(&Frame<'_>), frame: &Frame<'_>) {
    summary.packets += 1;
    summary.truncated += u64::from(frame.bytes.len() < frame.length as usize);
    take(frame);
}

impl Interface {
    /// Nanoseconds since the Unix epoch; `None` if they have more than 64 bits.
    fn time(&self, high: u32, low: u32) -> Option<i64> {
        let units = i128::from(high) << 32 | i128::from(low);
        let nanos = match self.resolution {
            0 => return None,
            1_000_000_000 => units,
            1_000_000 => units * 1000,
            resolution => units * 1_000_000_000 / i128::from(resolution),
        };
        i64::try_from(nanos + self.offset).ok()
    }
}
