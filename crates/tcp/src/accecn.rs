//! Accurate ECN (RFC 9768): the agreement in the handshake, and the count of marked packets in the
//! ACE field of each ACK.
//!
//! The receiver counts the data segments that arrive with CE (`r.cep`), and puts the count's last
//! three bits where the flags AE, CWR and ECE are. The sender adds up what is new.
//!
//! ## Deviations
//!
//! - The flags of the handshake are not carried in packets: the agreement follows from what the two
//!   ends are configured to know.
//! - ACKs carry no AccECN option (section 3.2.3). A receiver may omit it; the sender then takes the
//!   safest likely count where an ACK covers more segments than the field can count.
//! - SYNs and ACKs are never ECN-capable here, so that no mark on them is reported.

/// What a host offers in a SYN or answers in a SYN-ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EcnSupport {
    /// None.
    Off,
    /// That of RFC 3168: one bit of feedback per round trip.
    Classic,
    /// That of RFC 9768.
    Accurate,
}

/// The flags AE, CWR and ECE, as a number of three bits.
pub type EcnFlags = u8;

/// The flags of a SYN of a client with this support (RFC 9768, section 3.1.1).
#[must_use]
pub const fn syn_flags(client: EcnSupport) -> EcnFlags {
    match client {
        EcnSupport::Off => 0b000,
        EcnSupport::Classic => 0b011,
        EcnSupport::Accurate => 0b111,
    }
}

/// The flags of the SYN-ACK with which a server of this support answers a SYN that arrived without
/// an ECN codepoint, and what the server then uses (table 2; section 3.1.3 for unknown flags).
#[must_use]
pub const fn syn_ack_flags(server: EcnSupport, syn: EcnFlags) -> (EcnFlags, EcnSupport) {
    match (server, syn & 0b111) {
        (EcnSupport::Off, _) | (_, 0b000) => (0b000, EcnSupport::Off),
        (EcnSupport::Accurate | EcnSupport::Classic, 0b011) => (0b001, EcnSupport::Classic),
        // A server of RFC 3168 sees CWR and ECE in a SYN, and no AE.
        (EcnSupport::Classic, flags) if flags & 0b011 == 0b011 => (0b001, EcnSupport::Classic),
        (EcnSupport::Classic, _) => (0b000, EcnSupport::Off),
        (EcnSupport::Accurate, _) => (0b010, EcnSupport::Accurate),
    }
}

/// What a client uses after this answer to its SYN (table 2).
#[must_use]
pub const fn client_uses(client: EcnSupport, syn_ack: EcnFlags) -> EcnSupport {
    match (client, syn_ack & 0b111) {
        // A server that returns all flags reflects them, and knows none.
        (EcnSupport::Off, _) | (_, 0b000 | 0b111) => EcnSupport::Off,
        (_, 0b001) | (EcnSupport::Classic, 0b101) => EcnSupport::Classic,
        (EcnSupport::Classic, _) => EcnSupport::Off,
        // 0b101 is reserved, and means AccECN too (section 3.1.3).
        (EcnSupport::Accurate, _) => EcnSupport::Accurate,
    }
}

/// What two hosts agree on.
#[must_use]
pub const fn agreement(client: EcnSupport, server: EcnSupport) -> EcnSupport {
    let (answer, _) = syn_ack_flags(server, syn_flags(client));
    client_uses(client, answer)
}

/// Both counters begin here, so that a field of zero reveals a middlebox (section 3.2.1).
const INITIAL: u8 = 5;
/// The field has three bits.
const FIELD: u8 = 0b111;
/// Marks after which an ACK may wait no longer (section 3.2.2.5.1: `n`).
const MARKS_PER_ACK: u8 = 2;

/// The receiver's count of marked packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkCounter {
    count: u8,
    /// Marks since the last ACK.
    unreported: u8,
    /// Whether the packet before was marked.
    follows_mark: bool,
}

impl MarkCounter {
    pub(crate) const fn new() -> Self {
        Self {
            count: INITIAL,
            unreported: 0,
            follows_mark: false,
        }
    }

    /// A packet arrives with CE. Whether an ACK must leave at once: the packet before had no mark, or
    /// there are two marks since the last ACK (section 3.2.2.5.1).
    pub(crate) const fn on_mark(&mut self) -> bool {
        self.count = self.count.wrapping_add(1);
        self.unreported = self.unreported.saturating_add(1);
        let follows_mark = core::mem::replace(&mut self.follows_mark, true);
        !follows_mark || self.unreported >= MARKS_PER_ACK
    }

    /// A packet arrives without CE.
    pub(crate) const fn on_unmarked(&mut self) {
        self.follows_mark = false;
    }

    /// The ACE field of the ACK that leaves now.
    pub(crate) const fn report(&mut self) -> u8 {
        self.unreported = 0;
        self.count & FIELD
    }
}

/// The sender's count of marked packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MarkReader {
    count: u8,
}

impl MarkReader {
    pub(crate) const fn new() -> Self {
        Self { count: INITIAL }
    }

    /// How many packets an ACK reports as marked that delivers `delivered` segments (appendix A.1
    /// and A.2.1): the least that the field permits, or, where it may have wrapped, the most.
    pub(crate) const fn read(&mut self, field: u8, delivered: u32) -> u32 {
        let least = field.wrapping_sub(self.count) & FIELD;
        let mut marked = least as u32;
        if delivered > FIELD as u32 && delivered > marked {
            marked = delivered - (delivered - marked) % (FIELD as u32 + 1);
        }
        self.count = self.count.wrapping_add(marked as u8);
        if marked < delivered {
            marked
        } else {
            delivered
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9768, table 2, for SYNs and SYN-ACKs without an ECN codepoint.
    #[test]
    fn the_agreement_is_that_of_the_table() {
        use EcnSupport::{Accurate, Classic, Off};
        for (client, server, agreed) in [
            (Accurate, Accurate, Accurate),
            (Accurate, Classic, Classic),
            (Accurate, Off, Off),
            (Classic, Accurate, Classic),
            (Classic, Classic, Classic),
            (Classic, Off, Off),
            (Off, Accurate, Off),
            (Off, Classic, Off),
        ] {
            assert_eq!(agreement(client, server), agreed, "{client:?} {server:?}");
            let (_, used) = syn_ack_flags(server, syn_flags(client));
            assert_eq!(used, agreed, "the server: {client:?} {server:?}");
        }
        // The SYN-ACK tells how the SYN arrived: Not-ECT, ECT(1), ECT(0), CE.
        for answer in [0b010, 0b011, 0b100, 0b110] {
            assert_eq!(client_uses(Accurate, answer), Accurate);
        }
        // A combination of the future (section 3.1.3), and a server that reflects the flags.
        assert_eq!(client_uses(Accurate, 0b101), Accurate);
        assert_eq!(client_uses(Accurate, 0b111), Off);
        // Flags of the future (section 3.1.3).
        for syn in [0b001, 0b010, 0b100, 0b101, 0b110] {
            assert_eq!(syn_ack_flags(Accurate, syn), (0b010, Accurate));
        }
    }

    #[test]
    fn the_field_counts_modulo_eight() {
        let (mut receiver, mut sender) = (MarkCounter::new(), MarkReader::new());
        assert_eq!(receiver.report(), 5);
        assert_eq!(sender.read(5, 2), 0);
        let mut marked = 0;
        for round in 0..20 {
            for _ in 0..round % 4 {
                receiver.on_mark();
            }
            marked += sender.read(receiver.report(), 4);
        }
        assert_eq!(marked, 5 * (1 + 2 + 3));
    }

    #[test]
    fn an_ack_for_many_segments_is_read_safely() {
        // Ten segments and no change of the field: eight may have been marked (appendix A.2.1).
        assert_eq!(MarkReader::new().read(5, 10), 8);
        assert_eq!(MarkReader::new().read(7, 10), 10);
        assert_eq!(MarkReader::new().read(7, 7), 2);
        // A count that exceeds what arrived is bounded.
        assert_eq!(MarkReader::new().read(4, 2), 2);
    }

    /// Every count that a field permits, in place of the formulas of appendix A: the least of them,
    /// or the most if the segments delivered could have marked all eight values of the field.
    #[test]
    fn every_field_is_read_as_the_counts_that_it_permits() {
        for count in 0..=FIELD {
            for field in 0..=FIELD {
                for delivered in 0..=40 {
                    let mut reader = MarkReader { count };
                    let marked = reader.read(field, delivered);
                    let permits =
                        |marked: &u32| (u32::from(count) + marked) % 8 == u32::from(field);
                    let permitted = (0..=delivered).filter(permits);
                    let expected = if delivered < 8 {
                        permitted.min()
                    } else {
                        permitted.max()
                    };
                    // A field that no count explains reports all of them.
                    assert_eq!(
                        marked,
                        expected.unwrap_or(delivered),
                        "{count} {field} {delivered}"
                    );
                    assert_eq!(
                        reader.count & FIELD,
                        field,
                        "in step: {count} {field} {delivered}"
                    );
                }
            }
        }
    }

    #[test]
    fn the_first_mark_and_every_second_one_are_reported_at_once() {
        let mut counter = MarkCounter::new();
        assert!(counter.on_mark());
        counter.report();
        assert!(!counter.on_mark());
        assert!(counter.on_mark());
        counter.report();
        counter.on_unmarked();
        assert!(counter.on_mark(), "a packet without a mark came between");
    }
}
