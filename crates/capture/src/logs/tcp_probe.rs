//! Lines of ftrace with the event `tcp:tcp_probe` (Linux, `include/trace/events/tcp.h`).
//!
//! The event fires for each segment that a socket receives, before the congestion control sees it.
//! It has no segment size, so the largest payload seen so far on the connection counts as one.

use std::collections::BTreeMap;
use std::io::BufRead;

use super::lines::Lines;
use super::{LogSummary, Owner, Sample};
use crate::ReadError;

/// Usual payload of a full segment with timestamps, until a larger one is seen.
const DEFAULT: u64 = 1448;

/// Largest number of connections whose segment size is kept.
const MOST: usize = 65_536;

pub fn read(
    reader: impl BufRead,
    take: &mut dyn FnMut(&Owner, &Sample),
) -> Result<LogSummary, ReadError> {
    let mut lines = Lines::new(reader, b'\n');
    let mut summary = LogSummary::default();
    let mut sizes: BTreeMap<String, u64> = BTreeMap::new();
    while let Some(line) = lines.next()? {
        let Some((before, fields)) = line.split_once("tcp_probe:") else {
            summary.skipped += 1;
            continue;
        };
        let Some(at) = time(before) else {
            return Err(lines.invalid("no time in seconds precedes `tcp_probe:`"));
        };
        let (owner, mut sample, size) = match event(fields) {
            Ok(event) => event,
            Err(_) if lines.is_open() => {
                lines.cut();
                break;
            }
            Err(reason) => return Err(lines.invalid(reason)),
        };
        if sizes.len() >= MOST && !sizes.contains_key(&owner.name) {
            summary.skipped += 1;
            continue;
        }
        let mss = sizes.entry(owner.name.clone()).or_insert(DEFAULT);
        *mss = size
            .filter(|size| *size <= 9216)
            .map_or(*mss, |size| size.max(*mss));
        let bytes = |segments: u64| segments.saturating_mul(*mss);
        sample.at = at;
        sample.mss = Some(*mss);
        sample.cwnd = sample.cwnd.map(bytes);
        sample.ssthresh = sample.ssthresh.map(|value| match value {
            0x7fff_ffff.. => u64::MAX,
            value => bytes(value),
        });
        summary.samples += 1;
        take(&owner, &sample);
    }
    summary.ending = lines.ending;
    Ok(summary)
}

/// The seconds since boot, the last word before the event's name.
fn time(before: &str) -> Option<i64> {
    let word = before.split_whitespace().last()?.trim_end_matches(':');
    let (seconds, fraction) = word.split_once('.')?;
    let seconds: i64 = seconds.parse().ok()?;
    let nanos: i64 = format!("{fraction:0<9.9}").parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

fn event(fields: &str) -> Result<(Owner, Sample, Option<u64>), String> {
    let mut owner = Owner::default();
    let mut sample = Sample::default();
    let (mut source, mut destination, mut size) = ("", "", None);
    let (mut next, mut oldest) = (None, None);
    for word in fields.split_whitespace() {
        let Some((key, value)) = word.split_once('=') else {
            continue;
        };
        let number = || {
            match value.strip_prefix("0x") {
                Some(digits) => u64::from_str_radix(digits, 16),
                None => value.parse(),
            }
            .map_err(|_| format!("`{word}` has an invalid value"))
        };
        match key {
            "src" => source = value,
            "dest" => destination = value,
            "data_len" => size = Some(number()?),
            "snd_nxt" => next = Some(number()?),
            "snd_una" => oldest = Some(number()?),
            "snd_cwnd" => sample.cwnd = Some(number()?),
            "ssthresh" => sample.ssthresh = Some(number()?),
            "snd_wnd" => sample.receive_window = Some(number()?),
            // Microseconds.
            "srtt" => sample.smoothed_rtt = Some(number()?.saturating_mul(1000)),
            _ => {}
        }
    }
    if sample.cwnd.is_none() || source.is_empty() || destination.is_empty() {
        return Err("the event has no src, dest or snd_cwnd".to_owned());
    }
    // Sequence numbers have 32 bits.
    if let (Some(next), Some(oldest)) = (next, oldest) {
        sample.in_flight = Some(u64::from((next as u32).wrapping_sub(oldest as u32)));
    }
    owner.name = format!("{source} > {destination}");
    Ok((owner, sample, size))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_with_its_time_and_flight() {
        let line = "<idle>-0 [001] ..s1.  812.250001: tcp_probe: family=AF_INET \
            src=10.77.0.1:5001 dest=10.77.0.2:40000 mark=0x0 data_len=0 snd_nxt=0xffffffff \
            snd_una=0xfffffb4f snd_cwnd=10 ssthresh=2147483647 snd_wnd=65535 srtt=50123 \
            rcv_wnd=64256 sock_cookie=1\n";
        let mut found = Vec::new();
        let summary = read(line.as_bytes(), &mut |owner, sample| {
            found.push((owner.name.clone(), sample.clone()));
        })
        .expect("an event");
        assert_eq!(summary.samples, 1);
        let (name, sample) = &found[0];
        assert_eq!(name, "10.77.0.1:5001 > 10.77.0.2:40000");
        assert_eq!(sample.at, 812_250_001_000);
        assert_eq!(
            (sample.cwnd, sample.ssthresh),
            (Some(14_480), Some(u64::MAX))
        );
        assert_eq!(sample.in_flight, Some(0x4b0));
        assert_eq!(sample.smoothed_rtt, Some(50_123_000));
    }
}
