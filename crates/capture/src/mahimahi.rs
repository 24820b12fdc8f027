//! Packets of the simulator as a log of Mahimahi's `mm-link` (Netravali et al., "Mahimahi: Accurate
//! Record-and-Replay for HTTP", USENIX ATC 2015).
//!
//! Lines are `ms + bytes` (a packet leaves the sender), `ms # bytes` (a delivery opportunity), `ms -
//! bytes delay` (the receiver has it, with its delay above the smallest of the run in milliseconds)
//! and `ms d packets bytes` (the packet never arrived; the time is that of its departure). Only
//! opportunities that were used are known. A packet counts four bytes more than its IP length, for
//! the header of a TUN device.

use std::collections::{BTreeMap, VecDeque};
use std::io::{self, Write};

use measure::{PacketKind, PacketRecord, PacketTrace, Vantage};

/// IPv4 and TCP headers with timestamps, and Mahimahi's four bytes.
const HEADERS: u32 = 20 + 32 + 4;

enum Event {
    Arrival,
    Delivery(u64),
    Drop,
}

/// Writes the data packets of all flows; returns how many left their senders.
///
/// # Errors
/// Errors of `writer`.
pub fn write(mut writer: impl Write, traces: &[PacketTrace]) -> io::Result<usize> {
    let mut events = Vec::new();
    let mut count = 0;
    for trace in traces {
        let data = trace.packets.iter();
        let data = data.filter(|record| record.kind == PacketKind::Data);
        let (sent, received): (Vec<&PacketRecord>, Vec<&PacketRecord>) =
            data.partition(|record| record.seen_by == Vantage::Sender);
        count += sent.len();
        let key = |record: &PacketRecord| (record.offset, record.timestamps);
        let mut arrivals: BTreeMap<_, VecDeque<u64>> = BTreeMap::new();
        for record in &received {
            let times = arrivals.entry(key(record)).or_default();
            times.push_back(record.at.as_nanos());
        }
        for record in sent {
            let (at, size) = (record.at.as_nanos(), record.amount + HEADERS);
            events.push((at, 0, size, Event::Arrival));
            let arrived = arrivals.get_mut(&key(record));
            match arrived.and_then(VecDeque::pop_front) {
                Some(arrived) => {
                    events.push((
                        arrived,
                        1,
                        size,
                        Event::Delivery(arrived.saturating_sub(at)),
                    ));
                }
                None => events.push((at, 2, size, Event::Drop)),
            }
        }
    }
    let delays = events.iter().filter_map(|event| match event.3 {
        Event::Delivery(delay) => Some(delay),
        _ => None,
    });
    let least = delays.min().unwrap_or(0);
    events.sort_by_key(|event| (event.0, event.1));
    writeln!(writer, "# mahimahi mm-link slowstart [export]")?;
    writeln!(writer, "# command line: slowstart export")?;
    writeln!(writer, "# queue: infinite")?;
    writeln!(writer, "# init timestamp: 0")?;
    writeln!(writer, "# base timestamp: 0")?;
    for (at, _, size, event) in events {
        let millis = at / 1_000_000;
        match event {
            Event::Arrival => writeln!(writer, "{millis} + {size}")?,
            Event::Delivery(delay) => {
                writeln!(writer, "{millis} # {size}")?;
                let delay = (delay - least) / 1_000_000;
                writeln!(writer, "{millis} - {size} {delay}")?;
            }
            Event::Drop => writeln!(writer, "{millis} d 1 {size}")?,
        }
    }
    writer.flush()?;
    Ok(count)
}
