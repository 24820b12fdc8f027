//! The packets of a QUIC sender in a qlog: sent, acknowledged, lost.
//!
//! Names of events and fields: draft-ietf-quic-qlog-quic-events, and its versions up to 0.3 in
//! qlog's own namespaces (`transport:packet_sent`, `recovery:packet_lost`). Stacks differ: some log
//! no frames, some only the number or the size of a packet at another place. What is not there is
//! left out, and a packet without a number is no packet.

use serde_json::Value;

/// Most ranges of an ACK frame that count.
const MOST_RANGES: usize = 1_024;

/// What happened to the packets of a sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// A packet left: its number, its bytes, and whether it asks for an acknowledgment.
    Sent(u64, u32, bool),
    /// An ACK frame arrived, with these ranges of numbers, both ends included.
    Acked(Vec<(u64, u64)>),
    /// A packet was declared lost.
    Lost(u64),
    /// The bytes in flight, as the stack counts them.
    InFlight(u64),
    /// A packet of the handshake left: its packet number space, its number, and its bytes.
    HandshakeSent(Space, u64, u32),
    /// A packet of the handshake arrived: its packet number space, and the ranges of its ACK frames.
    HandshakeReceived(Space, Vec<(u64, u64)>),
}

/// The packet number spaces of a handshake (RFC 9000, section 12.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Space {
    /// That of Initial packets.
    Initial,
    /// That of Handshake packets.
    Handshake,
}

fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

/// The first of these keys that holds a number.
fn first(data: &Value, keys: &[[&str; 2]]) -> Option<u64> {
    keys.iter().find_map(|[outer, inner]| {
        let inside = if outer.is_empty() {
            Some(data)
        } else {
            data.get(outer)
        };
        number(inside?.get(inner)?)
    })
}

/// The packet number space of a packet of the handshake; `None` for that of the application.
fn of_handshake(data: &Value) -> Option<Space> {
    let header = data.get("header");
    let kind = header.and_then(|header| header.get("packet_type"));
    match kind
        .or_else(|| data.get("packet_type"))
        .and_then(Value::as_str)?
    {
        "1RTT" | "1rtt" | "one_rtt" | "onertt" | "0RTT" | "0rtt" => None,
        "initial" | "Initial" => Some(Space::Initial),
        _ => Some(Space::Handshake),
    }
}

fn frames(data: &Value) -> Option<&Vec<Value>> {
    data.get("frames").and_then(Value::as_array)
}

fn kind(frame: &Value) -> &str {
    frame
        .get("frame_type")
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Packets smaller than this carry an ACK alone, where the log has no frames.
const LEAST_ELICITING: u64 = 60;

fn sent(data: &Value) -> Option<PacketEvent> {
    let bytes = first(
        data,
        &[
            ["raw", "length"],
            ["header", "packet_size"],
            ["header", "length"],
            ["", "packet_size"],
        ],
    )
    .unwrap_or(0);
    let size = u32::try_from(bytes).unwrap_or(u32::MAX);
    let number = first(data, &[["header", "packet_number"], ["", "packet_number"]]);
    if let Some(space) = of_handshake(data) {
        return Some(PacketEvent::HandshakeSent(space, number.unwrap_or(0), size));
    }
    let number = number?;
    let elicits = match frames(data) {
        Some(frames) => frames
            .iter()
            .any(|frame| !matches!(kind(frame), "ack" | "padding" | "connection_close" | "")),
        None => bytes >= LEAST_ELICITING,
    };
    Some(PacketEvent::Sent(number, size, elicits))
}

/// The ranges of the ACK frames of a packet; `[a, b]` or `[a]` each.
fn acked(data: &Value) -> Option<PacketEvent> {
    let mut ranges = Vec::new();
    let space = of_handshake(data);
    let listed = match (frames(data), space) {
        (Some(frames), _) => frames.as_slice(),
        (None, Some(_)) => &[],
        (None, None) => return None,
    };
    for frame in listed.iter().filter(|frame| kind(frame) == "ack") {
        let listed = frame.get("acked_ranges").and_then(Value::as_array);
        for range in listed.into_iter().flatten().take(MOST_RANGES) {
            let ends = range.as_array().map(Vec::as_slice).unwrap_or_default();
            let (Some(low), Some(high)) =
                (ends.first().and_then(number), ends.last().and_then(number))
            else {
                continue;
            };
            ranges.push((low.min(high), low.max(high)));
        }
    }
    match space {
        Some(space) => Some(PacketEvent::HandshakeReceived(space, ranges)),
        None => (!ranges.is_empty()).then_some(PacketEvent::Acked(ranges)),
    }
}

/// The packets of an event called `name`, without its namespace.
pub fn of_event(name: &str, data: &Value) -> Option<PacketEvent> {
    match name {
        "packet_sent" => sent(data),
        "packet_received" => acked(data),
        "packets_acked" => {
            let numbers = data.get("packet_numbers")?.as_array()?;
            let ranges = numbers.iter().filter_map(number).take(MOST_RANGES);
            Some(PacketEvent::Acked(ranges.map(|it| (it, it)).collect()))
        }
        "packet_lost" if of_handshake(data).is_none() => {
            let keys = [["header", "packet_number"], ["", "packet_number"]];
            first(data, &keys).map(PacketEvent::Lost)
        }
        "metrics_updated" => first(data, &[["", "bytes_in_flight"]]).map(PacketEvent::InFlight),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(name: &str, json: &str) -> Option<PacketEvent> {
        of_event(name, &serde_json::from_str(json).expect("JSON"))
    }

    #[test]
    fn the_forms_of_the_versions_mean_the_same() {
        let forms = [
            r#"{"header":{"packet_type":"1RTT","packet_number":7},"raw":{"length":1200},"frames":[{"frame_type":"stream"}]}"#,
            r#"{"packet_type":"1RTT","header":{"packet_number":"7","packet_size":1200}}"#,
            r#"{"header":{"packet_type":"1RTT","packet_number":7,"length":1200}}"#,
        ];
        for form in forms {
            assert_eq!(
                read("packet_sent", form),
                Some(PacketEvent::Sent(7, 1200, true))
            );
        }
        let ack = r#"{"frames":[{"frame_type":"ack","acked_ranges":[[3,5],["9"],[2,1]]}]}"#;
        assert_eq!(
            read("packet_received", ack),
            Some(PacketEvent::Acked(vec![(3, 5), (9, 9), (1, 2)]))
        );
    }

    #[test]
    fn what_is_no_packet_of_the_application_is_left_out() {
        let pure = r#"{"header":{"packet_number":7},"frames":[{"frame_type":"ack"}]}"#;
        assert_eq!(
            read("packet_sent", pure),
            Some(PacketEvent::Sent(7, 0, false))
        );
        let initial =
            r#"{"header":{"packet_type":"initial","packet_number":7},"raw":{"length":1200}}"#;
        assert_eq!(
            read("packet_sent", initial),
            Some(PacketEvent::HandshakeSent(Space::Initial, 7, 1200))
        );
        let answer = r#"{"header":{"packet_type":"handshake"},"frames":[{"frame_type":"ack","acked_ranges":[[0,1]]}]}"#;
        assert_eq!(
            read("packet_received", answer),
            Some(PacketEvent::HandshakeReceived(
                Space::Handshake,
                vec![(0, 1)]
            ))
        );
        assert_eq!(read("packet_lost", initial), None);
        assert_eq!(read("packet_sent", "[]"), None);
        assert_eq!(
            read(
                "packet_received",
                r#"{"frames":[{"frame_type":"ack","acked_ranges":[[],3]}]}"#
            ),
            None
        );
    }
}
