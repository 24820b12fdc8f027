//! The stream that the application writes, and Nagle's rule for partial segments: RFC 1122, section
//! 4.2.3.4, in Minshall's form as in Linux (`tcp_nagle_check`, `snd_sml`).
//!
//! Assumes that the stream only grows until it is closed.

/// What the application has written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    end: u64,
    is_closed: bool,
    /// Sequence numbers that the FIN takes: 1 if it leaves alone, 0 if it rides on the last bytes.
    fin_len: u8,
    /// Partial segments never wait (`TCP_NODELAY`).
    is_prompt: bool,
    /// End of the last partial segment (`snd_sml`).
    small_end: u64,
}

impl Stream {
    /// Adds `bytes`; `u64::MAX` never ends.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
    }

    /// Ends the stream, of which everything below `sent` has left. If that is all of it, the FIN
    /// leaves alone and takes a sequence number. Returns whether it does.
    pub(crate) const fn close(&mut self, sent: u64) -> bool {
        let leaves_alone = !self.is_closed && sent == self.end && self.end < u64::MAX;
        self.is_closed = true;
        if leaves_alone {
            self.fin_len = 1;
            self.end += 1;
        }
        leaves_alone
    }

    /// Partial segments leave at once from now on.
    pub(crate) const fn send_promptly(&mut self) {
        self.is_prompt = true;
    }

    /// One past the last sequence number: the last byte written, or a FIN that leaves alone.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.end
    }

    /// One past the last byte written.
    #[inline]
    pub(crate) const fn written(&self) -> u64 {
        self.end - self.fin_len as u64
    }

    /// Whether the FIN leaves alone.
    pub(crate) const fn has_bare_fin(&self) -> bool {
        self.fin_len > 0
    }

    /// How many of the sequence numbers below `end` are the FIN's.
    #[inline]
    pub(crate) const fn fin_below(&self, end: u64) -> u32 {
        if end == self.end {
            self.fin_len as u32
        } else {
            0
        }
    }

    #[inline]
    pub(crate) const fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether a segment that ends at `end` carries the FIN.
    #[inline]
    pub(crate) const fn ends_at(&self, end: u64) -> bool {
        self.is_closed && end == self.end
    }

    /// A partial segment that ends at `end` was sent.
    #[inline]
    pub(crate) fn on_small_segment(&mut self, end: u64) {
        self.small_end = end;
    }

    /// Whether a partial segment has to wait: an earlier one is not yet acknowledged (`snd_una`),
    /// and the application may write more.
    pub(crate) const fn nagle_holds(&self, snd_una: u64) -> bool {
        !self.is_closed && self.nagle_holds_part(snd_una)
    }

    /// The same for a part of a segment that is not the last: the end of the stream exempts only the
    /// last.
    pub(crate) const fn nagle_holds_part(&self, snd_una: u64) -> bool {
        !self.is_prompt && self.small_end > snd_una
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_small_segment_is_in_flight_unless_the_stream_ends() {
        let mut stream = Stream::default();
        stream.write(100);
        assert!(!stream.nagle_holds(0));
        stream.on_small_segment(100);
        stream.write(100);
        assert!(stream.nagle_holds(0) && !stream.nagle_holds(100));
        assert!(!stream.ends_at(200));
        assert!(!stream.close(100));
        assert!(!stream.nagle_holds(0));
        assert!(stream.ends_at(200) && !stream.ends_at(100));
        assert_eq!((stream.written(), stream.fin_below(200)), (200, 0));
    }

    #[test]
    fn a_prompt_stream_never_waits() {
        let mut stream = Stream::default();
        stream.write(100);
        stream.on_small_segment(100);
        assert!(stream.nagle_holds(0));
        stream.send_promptly();
        assert!(!stream.nagle_holds(0));
    }

    #[test]
    fn a_fin_takes_a_sequence_number_if_it_leaves_alone() {
        let mut stream = Stream::default();
        stream.write(100);
        assert!(stream.close(100) && !stream.close(101));
        assert_eq!((stream.end(), stream.written()), (101, 100));
        assert!(stream.ends_at(101) && !stream.ends_at(100));
        assert_eq!((stream.fin_below(101), stream.fin_below(100)), (1, 0));
    }

    #[test]
    fn an_endless_stream_stays_endless() {
        let mut stream = Stream::default();
        stream.write(1);
        stream.write(u64::MAX);
        assert_eq!(stream.end(), u64::MAX);
    }
}
