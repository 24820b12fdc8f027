//! Files within tar archives, as streams. M-Lab delivers its logs in `.tgz` files of many members.
//!
//! The crate `tar` reads the headers. Its own iterator borrows the archive, which readers on other
//! threads cannot; so the members are split here. Format: POSIX.1-2017, "ustar Interchange Format"
//! and "pax Header Block"; GNU tar for the names of type `L`.

use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, PoisonError};

use tar::{EntryType, Header, PaxExtensions};

use crate::open::Begun;
use crate::{Ending, Input, ReadError};

/// Bytes of a block.
const BLOCK: u64 = 512;

/// Longest name, and longest extended header, in bytes.
const LONGEST_NAME: u64 = 64 << 10;

/// What a file contains: one log or capture, or an archive of them.
pub enum Contents {
    /// A log or a capture.
    One(Input),
    /// An archive, also one behind gzip or Zstandard.
    Archive(Archive),
}

/// An archive, whose members are read in their order.
pub struct Archive {
    stream: Arc<Mutex<Stream>>,
}

/// The bytes of the archive, and how many of the present member are left.
struct Stream {
    reader: Box<dyn BufRead + Send>,
    left: u64,
    /// Bytes read so far.
    offset: u64,
}

/// The present member.
struct Member {
    stream: Arc<Mutex<Stream>>,
}

impl Read for Member {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        stream.read(buffer)
    }
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let wanted = buffer
            .len()
            .min(usize::try_from(self.left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.reader.read(&mut buffer[..wanted])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.left -= read as u64;
        self.offset += read as u64;
        Ok(read)
    }
}

impl Stream {
    /// Skips what is left of the present member, and `padding` bytes.
    fn skip(&mut self, padding: u64) -> io::Result<()> {
        self.left += padding;
        io::copy(self, &mut io::sink()).map(drop)
    }

    /// Reads the next `size` bytes, and the padding of their last block.
    fn text(&mut self, size: u64) -> io::Result<Vec<u8>> {
        if size > LONGEST_NAME {
            return Err(io::ErrorKind::InvalidData.into());
        }
        self.left = size;
        let mut bytes = Vec::new();
        self.read_to_end(&mut bytes)?;
        self.skip(padding(size))?;
        Ok(bytes)
    }

    /// The next header; `None` at the end of the archive.
    fn header(&mut self) -> io::Result<Option<Header>> {
        let mut block = [0; BLOCK as usize];
        if self.reader.fill_buf()?.is_empty() {
            return Ok(None); // without the two empty blocks that should be there
        }
        self.left = BLOCK;
        self.read_exact(&mut block)?;
        if block.iter().all(|byte| *byte == 0) {
            return Ok(None);
        }
        let header = Header::from_byte_slice(&block);
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        let field: u32 = block[148..156].iter().map(|byte| u32::from(*byte)).sum();
        // The field of the checksum counts as eight spaces.
        if header.cksum()? != sum - field + 8 * 32 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        Ok(Some(header.clone()))
    }
}

/// Bytes between the end of a member and the next block.
const fn padding(size: u64) -> u64 {
    size.next_multiple_of(BLOCK) - size
}

/// Opens a stream of bytes.
///
/// # Errors
/// As [`crate::open`].
pub fn from_reader(reader: impl Read + Send + 'static) -> Result<Contents, ReadError> {
    let begun = Begun::new(reader)?;
    if begun.start().get(257..262) == Some(b"ustar") {
        let stream = Stream {
            reader: begun.into_reader(),
            left: 0,
            offset: 0,
        };
        return Ok(Contents::Archive(Archive {
            stream: Arc::new(Mutex::new(stream)),
        }));
    }
    begun.input().map(Contents::One)
}

impl Archive {
    /// Opens each regular file in turn and passes it on with its name. Returns how the archive ended.
    ///
    /// # Errors
    /// Those of the file system. A damaged archive is an [`Ending`].
    pub fn each(
        self,
        mut take: impl FnMut(&str, Result<Input, ReadError>),
    ) -> Result<Ending, ReadError> {
        let stream = || self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let at = stream().offset;
            let next = stream().next_member();
            match next {
                Ok(None) => return Ok(Ending::Whole),
                Ok(Some((name, size))) => {
                    stream().left = size;
                    let member = Member {
                        stream: Arc::clone(&self.stream),
                    };
                    take(&name, Begun::new(member).and_then(Begun::input));
                    let skipped = stream().skip(padding(size));
                    if let Err(error) = skipped {
                        return ending(error, at);
                    }
                }
                Err(error) => return ending(error, at),
            }
        }
    }
}

/// How an archive ends that cannot be read on.
fn ending(error: io::Error, at: u64) -> Result<Ending, ReadError> {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => Ok(Ending::Cut(at)),
        _ if crate::error::is_in_stream(&error) => Ok(Ending::Damaged(at)),
        _ => Err(error.into()),
    }
}

impl Stream {
    /// Name and size of the next regular file; `None` at the end.
    fn next_member(&mut self) -> io::Result<Option<(String, u64)>> {
        let (mut long, mut wide) = (None, None);
        while let Some(header) = self.header()? {
            let size = header.entry_size()?;
            match header.entry_type() {
                EntryType::GNULongName => {
                    let name = self.text(size)?;
                    let end = name.iter().position(|byte| *byte == 0);
                    long = Some(name[..end.unwrap_or(name.len())].to_vec());
                }
                EntryType::XHeader => {
                    let records = self.text(size)?;
                    for record in PaxExtensions::new(&records).flatten() {
                        match record.key_bytes() {
                            b"path" => long = Some(record.value_bytes().to_vec()),
                            b"size" => wide = record.value().ok().and_then(|it| it.parse().ok()),
                            _ => {}
                        }
                    }
                }
                EntryType::Regular | EntryType::Continuous => {
                    let name = long.unwrap_or_else(|| header.path_bytes().into_owned());
                    let name = String::from_utf8_lossy(&name).into_owned();
                    return Ok(Some((name, wide.unwrap_or(size))));
                }
                _ => {
                    self.left = size;
                    self.skip(padding(size))?;
                    (long, wide) = (None, None);
                }
            }
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        let mut add = |name: &str, bytes: &[u8]| {
            let mut header = Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            builder
                .append_data(&mut header, name, bytes)
                .expect("a member");
        };
        add("ss.txt", b"1.5\nESTAB 0 0 10.0.0.1:1 10.0.0.2:2 cwnd:10\n");
        // Longer than the 100 bytes of the field: a name of type L.
        add(&format!("{}/unknown", "folder".repeat(20)), b"words");
        add("last.log", b"ESTAB cwnd:10 ssthresh:7\n");
        builder.into_inner().expect("an archive")
    }

    fn names(bytes: Vec<u8>) -> (Vec<(String, bool)>, Ending) {
        let contents = from_reader(io::Cursor::new(bytes)).expect("a file");
        let Contents::Archive(archive) = contents else {
            panic!("it is an archive");
        };
        let mut names = Vec::new();
        let ending = archive.each(|name, input| names.push((name.to_owned(), input.is_ok())));
        (names, ending.expect("an ending"))
    }

    #[test]
    fn members_are_passed_on_with_their_names() {
        let (found, ending) = names(archive());
        assert_eq!(ending, Ending::Whole);
        let long = format!("{}/unknown", "folder".repeat(20));
        let expected = [("ss.txt", true), (&long, false), ("last.log", true)];
        assert_eq!(
            found,
            expected.map(|(name, known)| (name.to_owned(), known))
        );
    }

    #[test]
    fn a_cut_or_damaged_archive_is_read_up_to_there() {
        let bytes = archive();
        let (found, ending) = names(bytes[..bytes.len() - 1536].to_vec());
        assert_eq!((found.len(), ending), (3, Ending::Cut(3072)));
        let mut damaged = bytes;
        damaged[1024 + 10] ^= 1; // in the header of the second member's name
        let (found, ending) = names(damaged);
        assert_eq!((found.len(), ending), (1, Ending::Damaged(1024)));
    }

    #[test]
    fn a_log_is_no_archive() {
        let bytes = b"ESTAB cwnd:10 ssthresh:7\n".to_vec();
        let contents = from_reader(io::Cursor::new(bytes)).expect("a file");
        assert!(matches!(contents, Contents::One(_)));
    }
}
