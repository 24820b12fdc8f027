//! The stream that the application writes, and Nagle's rule for partial segments: RFC 1122, section
//! 4.2.3.4, in Minshall's form as in Linux (`tcp_nagle_check`, `snd_sml`).
//!
//! Assumes that the stream only grows until it is closed.

/// What the application has written.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Stream {
    end: u64,
    is_closed: bool,
    /// End of the last partial segment (`snd_sml`).
    small_end: u64,
}

impl Stream {
    /// Adds `bytes`; `u64::MAX` never ends.
    pub(crate) fn write(&mut self, bytes: u64) {
        self.end = self.end.saturating_add(bytes);
    }

    pub(crate) fn close(&mut self) {
        self.is_closed = true;
    }

    /// One past the last byte written.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.end
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
        !self.is_closed && self.small_end > snd_una
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
        stream.close();
        assert!(!stream.nagle_holds(0));
        assert!(stream.ends_at(200) && !stream.ends_at(100));
    }

    #[test]
    fn an_endless_stream_stays_endless() {
        let mut stream = Stream::default();
        stream.write(1);
        stream.write(u64::MAX);
        assert_eq!(stream.end(), u64::MAX);
    }
}
