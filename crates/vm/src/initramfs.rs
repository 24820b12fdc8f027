//! The machine's files: a cpio archive of the form "newc", as the kernel unpacks it
//! (Documentation/driver-api/early-userspace/buffer-format.rst). Each entry has a header of ASCII
//! hexadecimal numbers, the name with a terminating zero, and the content, each padded to four
//! bytes.

use std::io::{self, Write};

/// File types and modes (stat(2)).
const FOLDER: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// An archive under construction.
pub(crate) struct Archive<W> {
    to: W,
    count: u32,
}

impl<W: Write> Archive<W> {
    pub(crate) const fn new(to: W) -> Self {
        Self { to, count: 0 }
    }

    pub(crate) fn folder(&mut self, name: &str) -> io::Result<()> {
        self.entry(name, FOLDER, (0, 0), &[])
    }

    pub(crate) fn program(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, PROGRAM, (0, 0), content)
    }

    pub(crate) fn file(&mut self, name: &str, content: &[u8]) -> io::Result<()> {
        self.entry(name, FILE, (0, 0), content)
    }

    pub(crate) fn character_device(&mut self, name: &str, device: (u32, u32)) -> io::Result<()> {
        self.entry(name, CHARACTER_DEVICE, device, &[])
    }

    /// Ends the archive.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.entry("TRAILER!!!", 0, (0, 0), &[])?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn entry(
        &mut self,
        name: &str,
        mode: u32,
        (major, minor): (u32, u32),
        content: &[u8],
    ) -> io::Result<()> {
        self.count += 1;
        let too_large = |_| io::Error::from(io::ErrorKind::FileTooLarge);
        let size = u32::try_from(content.len()).map_err(too_large)?;
        let length = name.len() as u32 + 1;
        // inode, mode, user, group, links, time, size, device (major, minor), represented device
        // (major, minor), length of the name, checksum.
        let header = [
            self.count, mode, 0, 0, 1, 0, size, 0, 0, major, minor, length, 0,
        ];
        write!(self.to, "070701")?;
        for number in header {
            write!(self.to, "{number:08X}")?;
        }
        self.to.write_all(name.as_bytes())?;
        self.fill(6 + 8 * header.len() + name.len(), true)?;
        self.to.write_all(content)?;
        self.fill(content.len(), false)
    }

    /// Pads with zeros to a multiple of four, with at least one zero after a name.
    fn fill(&mut self, written: usize, at_least_one: bool) -> io::Result<()> {
        let end = (written + usize::from(at_least_one)).next_multiple_of(4);
        self.to.write_all(&[0; 8][..end - written])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_has_the_format_that_the_kernel_reads() {
        let mut archive = Archive::new(Vec::new());
        archive.file("ab", b"12345").unwrap();
        let bytes = archive.finish().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        // A header of 110 bytes, "ab" and a zero make 113, padded to 116; five bytes make 121,
        // padded to 124.
        assert!(text.starts_with("07070100000001000081A4"));
        assert_eq!(&bytes[110..124], b"ab\0\0\0\x0012345\0\0\0");
        assert_eq!(&bytes[124..130], b"070701");
        assert_eq!(&bytes[234..245], b"TRAILER!!!\0");
        assert_eq!(bytes.len() % 4, 0);
    }
}
