//! Reorders packets into the order in which the sender saw them.
//!
//! At the sender, the capture has that order already. Elsewhere, an ACK passes the capture before
//! the sender has it. The timestamps of data show which ACKs the sender had: `TSecr` is the `TSval`
//! of the latest ACK that it processed (RFC 7323, section 4). Without timestamps, an ACK is held for
//! the RTT between the capture and the sender, as the handshake shows it.

use std::collections::VecDeque;

use crate::report::Vantage;

/// A segment of the data's sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Data {
    /// Offset of its first byte.
    pub start: i64,
    /// Payload bytes.
    pub length: u32,
    /// FIN.
    pub fin: bool,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
}

/// A segment of the receiver, with its acknowledgment.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ack {
    /// Next byte expected, as an offset.
    pub ack: i64,
    /// Window in bytes.
    pub window: u64,
    /// SACK blocks as offsets.
    pub sack: [Option<(i64, i64)>; 4],
    /// ECE.
    pub ece: bool,
    /// Whether it carries no data, SYN or FIN.
    pub is_pure: bool,
    /// Timestamp value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// When it passed the capture.
    pub seen: i64,
}

/// An event in the sender's order.
#[derive(Clone, Copy, Debug)]
pub enum Event {
    /// It sends.
    Data(Data),
    /// It receives.
    Ack(Ack),
}

/// Most ACKs that wait for the data that answers them.
const MOST_HELD: usize = 65_536;

/// ACKs on their way to the sender.
#[derive(Clone, Debug, Default)]
pub struct View {
    held: VecDeque<(i64, Ack)>,
    /// RTT between the capture and the sender, in nanoseconds.
    pub to_sender: i64,
}

/// Whether a timestamp is at or after another (RFC 7323, section 5.2).
const fn is_since(later: u32, earlier: u32) -> bool {
    later.wrapping_sub(earlier) < 1 << 31
}

impl View {
    /// Passes a packet on: at once at the sender, else ACKs when the sender has them.
    pub fn take(
        &mut self,
        vantage: Vantage,
        at: i64,
        event: Event,
        pass: &mut impl FnMut(i64, Event),
    ) {
        if matches!(vantage, Vantage::Sender | Vantage::Unknown | Vantage::Log) {
            return pass(at, event);
        }
        match event {
            Event::Ack(ack) => {
                if self.held.len() >= MOST_HELD
                    && let Some((_, oldest)) = self.held.pop_front()
                {
                    pass(at, Event::Ack(oldest));
                }
                self.held.push_back((at, ack));
            }
            Event::Data(data) => {
                let echo = data.timestamps.map(|(_, echo)| echo);
                while let Some(&(seen, ack)) = self.held.front() {
                    let has_it = match (echo, ack.timestamps) {
                        // It does not distinguish ACKs of one tick: the window, full
                        // segments and the delay decide.
                        (Some(echo), Some((value, _))) if value == echo => {
                            at - seen >= self.to_sender
                        }
                        (Some(echo), Some((value, _))) => is_since(echo, value),
                        _ => at - seen >= self.to_sender,
                    };
                    if !has_it {
                        break;
                    }
                    self.held.pop_front();
                    pass(at, Event::Ack(ack));
                }
                pass(at, event);
            }
        }
    }

    /// Passes the rest on.
    pub fn finish(&mut self, pass: &mut impl FnMut(i64, Event)) {
        for (at, ack) in self.held.drain(..) {
            pass(at + self.to_sender, Event::Ack(ack));
        }
    }
}
