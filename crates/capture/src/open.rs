//! Opens a file of any supported format, compressed or not.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::{ReadError, zstandard};

/// The formats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// pcap or pcapng.
    Packets,
    /// M-Lab's archive of `tcp_info` snapshots: JSON lines.
    TcpInfo,
    /// The output of `ss -tin`, with a line of the time before each.
    Ss,
    /// Lines of ftrace with the event `tcp:tcp_probe`.
    TcpProbe,
    /// One JSON document with all events.
    Qlog,
    /// qlog as a sequence of JSON texts (RFC 7464), or as JSON lines.
    QlogSequence,
}

/// A file whose format is known.
pub struct Input {
    /// Its format.
    pub kind: Kind,
    /// Its contents after decompression.
    pub reader: Box<dyn BufRead + Send>,
}

/// Bytes in which the format shows.
const START: usize = 8192;

/// Bytes that are decompressed at once.
const CHUNK: usize = 256 << 10;

/// Opens `file`. Only regular files are read, so that no pipe makes this wait.
///
/// # Errors
/// [`ReadError::Io`], and [`ReadError::Unknown`] for any other format.
pub fn open(file: &Path) -> Result<Input, ReadError> {
    from_reader(regular_file(file)?)
}

/// Opens a regular file. Opening a named pipe would wait for its writer, so the kind of file is
/// checked first.
///
/// # Errors
/// [`ReadError::Io`].
pub fn regular_file(file: &Path) -> Result<File, ReadError> {
    let metadata = std::fs::metadata(file)?;
    if !metadata.is_file() {
        let kind = if metadata.is_dir() {
            "this is a folder, not a file"
        } else {
            "not a regular file"
        };
        return Err(io::Error::other(kind).into());
    }
    Ok(File::open(file)?)
}

/// The same for a stream of bytes.
///
/// # Errors
/// As [`open`].
pub fn from_reader(reader: impl Read + Send + 'static) -> Result<Input, ReadError> {
    Begun::new(reader)?.input()
}

/// A stream after decompression, of which the first bytes are known.
pub(crate) struct Begun {
    start: Vec<u8>,
    reader: Box<dyn BufRead + Send>,
}

impl Begun {
    /// Decompresses the stream, and reads its first bytes.
    pub(crate) fn new(reader: impl Read + Send + 'static) -> Result<Self, ReadError> {
        let mut reader: Box<dyn BufRead + Send> = Box::new(BufReader::with_capacity(CHUNK, reader));
        // A compressed file may be compressed once more, but hardly three times.
        for _ in 0..2 {
            let start = reader.fill_buf()?;
            if start.starts_with(&[0x1f, 0x8b]) {
                let decoder = flate2::bufread::MultiGzDecoder::new(reader);
                reader = Box::new(BufReader::with_capacity(CHUNK, decoder));
            } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
                let decoder = zstandard::Decoder::new(reader);
                reader = Box::new(BufReader::with_capacity(CHUNK, decoder));
            } else {
                break;
            }
        }
        // The first read of a pipe or of a decompressor may be short.
        let mut start = Vec::with_capacity(START);
        while start.len() < START {
            match reader.fill_buf() {
                Ok([]) => break,
                Ok(bytes) => {
                    let taken = bytes.len().min(START - start.len());
                    start.extend_from_slice(&bytes[..taken]);
                    reader.consume(taken);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if crate::error::is_in_stream(&error) => {
                    reader = Box::new(BufReader::new(Failing(Some(error))));
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self { start, reader })
    }

    /// The first bytes, [`START`] of them unless the stream is shorter.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start
    }

    /// The whole stream.
    pub(crate) fn into_reader(self) -> Box<dyn BufRead + Send> {
        Box::new(io::Cursor::new(self.start).chain(self.reader))
    }

    /// The stream as a file of a known format.
    pub(crate) fn input(self) -> Result<Input, ReadError> {
        let kind = kind_of(&self.start).ok_or(ReadError::Unknown)?;
        let reader = self.into_reader();
        Ok(Input { kind, reader })
    }
}

/// A stream that fails at once, then ends.
struct Failing(Option<io::Error>);

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.take().map_or(Ok(0), Err)
    }
}

fn kind_of(start: &[u8]) -> Option<Kind> {
    let magic: Option<[u8; 4]> = start.get(..4).and_then(|bytes| bytes.try_into().ok());
    if let Some(magic) = magic {
        let either = [u32::from_le_bytes(magic), u32::from_be_bytes(magic)];
        // pcapng, pcap in microseconds, in nanoseconds, and Kuznetzov's variant.
        let known = [0x0a0d_0d0a, 0xa1b2_c3d4, 0xa1b2_3c4d, 0xa1b2_cd34];
        if known.iter().any(|known| either.contains(known)) {
            return Some(Kind::Packets);
        }
    }
    let text = String::from_utf8_lossy(start);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    let has = |word: &str| text.contains(word);
    if text.starts_with('\u{1e}') {
        return Some(Kind::QlogSequence);
    }
    if text.starts_with('{') {
        let first = text.lines().next().unwrap_or_default();
        let is_line = first.len() < text.len() && first.trim_end().ends_with('}');
        if first.contains("\"Metadata\"") || first.contains("\"RawIDM\"") {
            return Some(Kind::TcpInfo);
        }
        let is_qlog = has("\"qlog_version\"") || has("\"qlog_format\"") || has("\"file_schema\"");
        return match (is_qlog, is_line && !first.contains("\"traces\"")) {
            (true, true) => Some(Kind::QlogSequence),
            (true, false) => Some(Kind::Qlog),
            (false, _) => None,
        };
    }
    if has("tcp_probe:") {
        return Some(Kind::TcpProbe);
    }
    (has("cwnd:") || has("State") && has("Recv-Q")).then_some(Kind::Ss)
}
