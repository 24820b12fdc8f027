//! Writes packets to pcapng files, for Wireshark and similar tools.
//!
//! Packets are bare IP (link type RAW, 101), as a TUN device delivers them. Times are nanoseconds
//! since the Unix epoch (`if_tsresol` 9).

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriter};
use pcap_file::{DataLink, Endianness, PcapError};

/// `if_tsresol` of nanoseconds: ten to the minus nine.
const NANOSECONDS: u8 = 9;

/// Writes one pcapng section.
pub struct Writer<W: Write> {
    inner: PcapNgWriter<W>,
    snap_lengths: Vec<u32>,
}

impl<W: Write> Writer<W> {
    /// Begins a section. `comment` describes the capture.
    ///
    /// # Errors
    /// Errors of `writer`.
    pub fn new(writer: W, comment: &str) -> io::Result<Self> {
        let section = SectionHeaderBlock {
            endianness: Endianness::Little,
            options: vec![
                SectionHeaderOption::Comment(Cow::Owned(comment.to_owned())),
                SectionHeaderOption::UserApplication(Cow::Borrowed(concat!(
                    "slowstart ",
                    env!("CARGO_PKG_VERSION")
                ))),
            ],
            ..SectionHeaderBlock::default()
        };
        Ok(Self {
            inner: PcapNgWriter::with_section_header(writer, section).map_err(into_io)?,
            snap_lengths: Vec::new(),
        })
    }

    /// Declares an interface whose packets are truncated to `snap_length` bytes. Returns its
    /// number.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn add_interface(
        &mut self,
        name: &str,
        description: &str,
        snap_length: u32,
    ) -> io::Result<u32> {
        let block = InterfaceDescriptionBlock {
            linktype: DataLink::RAW,
            snaplen: snap_length,
            options: vec![
                InterfaceDescriptionOption::IfName(Cow::Borrowed(name)),
                InterfaceDescriptionOption::IfDescription(Cow::Borrowed(description)),
                InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
            ],
        };
        self.inner
            .write_block(&block.into_block())
            .map_err(into_io)?;
        self.snap_lengths.push(snap_length);
        Ok(self.snap_lengths.len() as u32 - 1)
    }

    /// Writes a packet that passed `interface` at `unix_nanos` nanoseconds since the Unix epoch.
    /// `bytes` may be a prefix of the packet of `original_length` bytes.
    ///
    /// # Errors
    /// Errors of the writer, and an undeclared `interface`.
    pub fn packet(
        &mut self,
        interface: u32,
        unix_nanos: u64,
        original_length: u32,
        bytes: &[u8],
        comment: Option<&str>,
    ) -> io::Result<()> {
        let kept = match self.snap_lengths.get(interface as usize) {
            Some(&snap_length) => bytes.len().min(snap_length as usize),
            None => return Err(io::Error::other("packet on an undeclared interface")),
        };
        let block = EnhancedPacketBlock {
            interface_id: interface,
            timestamp: Duration::from_nanos(unix_nanos),
            original_len: original_length,
            data: Cow::Borrowed(&bytes[..kept]),
            options: comment
                .map(|text| EnhancedPacketOption::Comment(Cow::Borrowed(text)))
                .into_iter()
                .collect(),
        };
        self.inner
            .write_block(&block.into_block())
            .map_err(into_io)?;
        Ok(())
    }

    /// Flushes the buffer and returns the writer.
    ///
    /// # Errors
    /// Errors of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.inner.get_mut().flush()?;
        Ok(self.inner.into_inner())
    }
}

fn into_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
