//! Zstandard (RFC 8878): the frames of a stream, one after the other, each with its checksum.

use std::error::Error;
use std::io::{self, BufRead, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

/// The largest window of a frame: what `zstd` itself accepts, of the 2 GiB that a frame may ask for.
const LARGEST_WINDOW: u64 = 128 << 20;

/// Decompresses a stream.
pub(crate) struct Decoder<R> {
    source: R,
    frame: FrameDecoder,
    /// Whether a frame has begun, and not all of it has been read.
    inside: bool,
}

impl<R: BufRead> Decoder<R> {
    pub(crate) fn new(source: R) -> Self {
        let mut frame = FrameDecoder::new();
        frame.set_max_window_size(LARGEST_WINDOW);
        Self {
            source,
            frame,
            inside: false,
        }
    }

    /// Begins the next frame, or passes over one without data (section 3.1.2).
    fn begin(&mut self) -> io::Result<()> {
        match self.frame.init(&mut self.source) {
            Ok(()) => self.inside = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut self.source.by_ref().take(length), &mut io::sink())?;
                if skipped < length {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            Err(error) => return Err(cause(error)),
        }
        Ok(())
    }

    /// Compares the checksum of a frame that has been read, if it has one, with that of its data.
    fn end(&mut self) -> io::Result<()> {
        self.inside = false;
        let stated = self.frame.get_checksum_from_data();
        if stated.is_some() && stated != self.frame.get_calculated_checksum() {
            return Err(io::Error::other("the checksum of a frame is wrong"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Decoder<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            if self.inside {
                while self.frame.can_collect() == 0 && !self.frame.is_finished() {
                    self.frame
                        .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                        .map_err(cause)?;
                }
                let read = self.frame.read(into)?;
                if read > 0 {
                    return Ok(read);
                }
                self.end()?;
            } else if self.source.fill_buf()?.is_empty() {
                return Ok(0);
            } else {
                self.begin()?;
            }
        }
    }
}

/// The error of the disk behind an error of the decoder; otherwise what is wrong with the stream.
fn cause(error: FrameDecoderError) -> io::Error {
    let mut behind = error.source();
    while let Some(each) = behind {
        if let Some(number) = each
            .downcast_ref::<io::Error>()
            .and_then(io::Error::raw_os_error)
        {
            return io::Error::from_raw_os_error(number);
        }
        behind = each.source();
    }
    io::Error::other(match error {
        FrameDecoderError::DictNotProvided { .. } => {
            "it was compressed by zstd with a dictionary, which slowstart cannot read"
        }
        FrameDecoderError::WindowSizeTooBig { .. } => {
            "it was compressed by zstd with a window above 128 MiB: compress it without --long"
        }
        _ => "its zstd compression is cut or damaged",
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Frame headers by RFC 8878, section 3.1.1.1.
    #[test]
    fn what_is_wrong_is_said_in_words() {
        for (header, words) in [
            // A dictionary with an ID of one byte; a window of 2^(10 + 18) bytes; a reserved block.
            (&[0x01, 0, 7][..], "with a dictionary"),
            (&[0x00, 18 << 3], "a window above 128 MiB"),
            (&[0x00, 0, 0x07, 0, 0], "cut or damaged"),
            (&[0x00], "cut or damaged"),
        ] {
            let stream = [&[0x28, 0xb5, 0x2f, 0xfd], header].concat();
            let error = Decoder::new(&stream[..])
                .read(&mut [0; 8])
                .expect_err("an error");
            assert!(error.to_string().contains(words), "{header:x?}: {error}");
        }
    }
}
