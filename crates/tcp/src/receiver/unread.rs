//! What the application has read, at once or later: unread data stays in the receive buffer and
//! reduces the window (RFC 9293, section 3.8.6; RFC 1122, section 4.2.3.3; Linux 6.18
//! `tcp_recvmsg`, `tcp_cleanup_rbuf` and `__tcp_select_window`).
//!
//! The right edge of the window never moves left. Linux rounds what is left of the window up to the
//! unit of the window scale with each ACK, so that the edge may creep beyond the buffer. A segment
//! that ends beyond it is refused while data is unread (`tcp_sequence`). The window is zero if the free space is below a segment or a sixteenth
//! of the buffer. While data stays unread, the second full segment is acknowledged at once only if
//! that opens the window; otherwise the delayed-ACK timer does it, or the application when it reads.
//! A read acknowledges what is left of this, and reports the window if it at least doubles.

use units::{Bytes, Instant};

use super::{DataSegment, Receiver, headers, span};

impl Receiver {
    /// The application does not read at once from now on: data stays in the receive buffer until
    /// [`Self::read`].
    pub const fn hold(&mut self) {
        if self.reads_at_once() {
            self.read_up_to = self.end_of_data();
            self.is_clear = false;
        }
    }

    /// The application reads up to `bytes` at `now`. Returns how much it got. Call
    /// [`Self::poll_ack`] afterwards: the window may have opened. Does nothing if the application
    /// reads at once.
    pub fn read(&mut self, now: Instant, bytes: u64) -> Bytes {
        let bytes = bytes.min(self.unread());
        if bytes == 0 {
            return Bytes::ZERO;
        }
        self.read_up_to += bytes;
        self.buffers.read(self.read_up_to);
        if self.end <= self.rcv_nxt && self.finished_at == Instant::MAX {
            self.note_end(now);
        }
        let (beyond, rcv_nxt) = (&self.beyond, self.rcv_nxt);
        self.window.on_late_read(
            now,
            self.read_up_to,
            rcv_nxt,
            u64::from(self.rcv_mss),
            || span(beyond, rcv_nxt),
        );
        let is_late = self.unacknowledged() > u64::from(self.rcv_mss);
        self.pending.now |= is_late && self.pending.scheduled;
        self.decide_after_read();
        Bytes::new(bytes)
    }

    /// Bytes delivered to the application: all that was received in order, or what the application
    /// has read.
    #[must_use]
    pub const fn delivered(&self) -> Bytes {
        Bytes::new(self.end_of_data() - self.unread())
    }

    /// Bytes received in order, read or not.
    #[must_use]
    pub const fn received(&self) -> Bytes {
        Bytes::new(self.end_of_data())
    }

    /// When the last byte of a finished stream was delivered to the application, and the FIN.
    #[must_use]
    pub fn finished_at(&self) -> Option<Instant> {
        (self.finished_at != Instant::MAX).then_some(self.finished_at)
    }

    /// Whether the stream has ended: all of it has arrived, and the FIN, read or not.
    #[must_use]
    pub const fn has_ended(&self) -> bool {
        self.end <= self.rcv_nxt
    }

    /// Received in order and not read.
    #[inline]
    pub(super) const fn unread(&self) -> u64 {
        self.end_of_data().saturating_sub(self.read_up_to)
    }

    /// Memory of the packets in the buffer.
    #[inline]
    pub(super) const fn held_memory(&self) -> u64 {
        self.buffers.total()
    }

    /// The memory of the packet of `segment`.
    pub(super) fn memory_of(&self, segment: &DataSegment) -> u64 {
        let len = u64::from(segment.len);
        self.window.memory_of(len, headers(segment.ts_val))
    }

    /// `segment` is in order, takes `memory`, and waits for the application.
    pub(super) fn queue_unread(&mut self, segment: &DataSegment, memory: u64) {
        let len = u64::from(segment.len);
        let tail_room = self.window.tail_room(memory, len, headers(segment.ts_val));
        self.buffers.queue(segment.end(), len, memory, tail_room);
    }

    #[inline]
    pub(super) const fn reads_at_once(&self) -> bool {
        self.read_up_to == u64::MAX
    }

    /// Unread data fills the window.
    pub(super) const fn is_full(&self) -> bool {
        !self.reads_at_once() && self.window.remaining(self.rcv_nxt) == 0
    }

    /// One past the last byte received in order, without the FIN.
    #[inline]
    const fn end_of_data(&self) -> u64 {
        let fin = self.has_bare_fin && self.end <= self.rcv_nxt;
        self.rcv_nxt - fin as u64
    }

    /// The stream has ended: notes when the application got all of it.
    pub(super) const fn note_end(&mut self, now: Instant) {
        if self.unread() == 0 {
            self.finished_at = now;
        }
    }

    /// Whether an ACK would not reduce the window, because the application has read the data.
    pub(super) fn may_advance_edge(&mut self) -> bool {
        if self.reads_at_once() {
            return true;
        }
        let held = self.held_memory();
        if self.window.is_crowded(held) {
            self.quick = 0;
        }
        let candidate = self.window.candidate(self.rcv_mss, held);
        candidate >= self.window.advertised()
    }
}
