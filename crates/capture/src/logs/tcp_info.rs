//! M-Lab's archives of `tcp_info`: one JSON line per snapshot of a socket.
//!
//! Format: `ArchivedRecord` in the repository m-lab/tcp-info (`netlink/archival-record.go`). The
//! first line has `Metadata`. Each other line has `Timestamp`, `RawIDM` (the kernel's
//! `inet_diag_msg`, in base64) and `Attributes` (an array by `INET_DIAG_*`, in base64). Attribute 2
//! is the kernel's `struct tcp_info` (`include/uapi/linux/tcp.h`), 4 the name of the algorithm.
//! Older kernels have shorter structures; fields beyond the end are absent.

use std::io::BufRead;
use std::net::Ipv6Addr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::lines::Lines;
use super::{LogSummary, Owner, Sample};
use crate::ReadError;

#[derive(Deserialize)]
struct Record {
    #[serde(rename = "Timestamp")]
    timestamp: String,
    #[serde(rename = "RawIDM")]
    socket: Option<String>,
    #[serde(rename = "Attributes", default)]
    attributes: Vec<Option<String>>,
}

const INET_DIAG_INFO: usize = 2;
const INET_DIAG_CONG: usize = 4;

/// `TCP_INFINITE_SSTHRESH`.
const INFINITE: u64 = 0x7fff_ffff;

/// `enum tcp_ca_state`: Recovery and Loss.
const RECOVERY: u8 = 3;

pub fn read(
    reader: impl BufRead,
    take: &mut dyn FnMut(&Owner, &Sample),
) -> Result<LogSummary, ReadError> {
    let mut lines = Lines::new(reader, b'\n');
    let mut summary = LogSummary::default();
    let mut owner = Owner::default();
    while let Some(line) = lines.next()? {
        if line.trim().is_empty() {
            continue;
        }
        let record: Record = match serde_json::from_str(&line) {
            Ok(record) => record,
            Err(_) if lines.is_open() => {
                lines.cut();
                break;
            }
            Err(error) => return Err(lines.invalid(format!("no record of tcp-info: {error}"))),
        };
        let Some(info) = record
            .attributes
            .get(INET_DIAG_INFO)
            .and_then(Option::as_ref)
        else {
            summary.skipped += 1;
            continue;
        };
        let decode = |text: &String| STANDARD.decode(text);
        let Ok(info) = decode(info) else {
            return Err(lines.invalid("the tcp_info is no base64"));
        };
        if let Some(name) = record.socket.as_ref().and_then(|text| decode(text).ok()) {
            owner.name = socket_name(&name).unwrap_or_default();
        }
        let algorithm = record
            .attributes
            .get(INET_DIAG_CONG)
            .and_then(Option::as_ref);
        if let Some(algorithm) = algorithm.and_then(|text| decode(text).ok()) {
            let name = String::from_utf8_lossy(&algorithm);
            let name = name.trim_end_matches('\0');
            owner.algorithm = (!name.is_empty()).then(|| name.to_owned());
        }
        let Some(at) = unix_nanos(&record.timestamp) else {
            let text = &record.timestamp;
            return Err(lines.invalid(format!("`{text}` is no time in the form of RFC 3339")));
        };
        let Some(mut sample) = sample(&info) else {
            summary.skipped += 1;
            continue;
        };
        sample.at = at;
        summary.samples += 1;
        take(&owner, &sample);
    }
    summary.ending = lines.ending;
    Ok(summary)
}

/// Reads `struct tcp_info`; `None` if not even the window is there.
fn sample(info: &[u8]) -> Option<Sample> {
    let byte = |at: usize| info.get(at).copied();
    let word = |at: usize| {
        let bytes = info.get(at..at + 4)?;
        Some(u64::from(u32::from_le_bytes(bytes.try_into().ok()?)))
    };
    let long = |at: usize| Some(u64::from_le_bytes(info.get(at..at + 8)?.try_into().ok()?));
    let micros = |value: u64| value.saturating_mul(1000);
    let mss = word(16)?.max(1);
    let segments = |value: u64| value.saturating_mul(mss);
    let (unacked, sacked, lost, retrans) = (word(24)?, word(28)?, word(32)?, word(36)?);
    let in_flight = (unacked + retrans).saturating_sub(sacked + lost);
    let ssthresh = word(76)?;
    Some(Sample {
        at: 0,
        mss: Some(mss),
        cwnd: Some(segments(word(80)?)),
        ssthresh: Some(if ssthresh >= INFINITE {
            u64::MAX
        } else {
            segments(ssthresh)
        }),
        in_flight: Some(segments(in_flight)),
        receive_window: word(228),
        latest_rtt: None,
        smoothed_rtt: word(68).map(micros).filter(|rtt| *rtt > 0),
        min_rtt: word(148)
            .filter(|rtt| *rtt < u64::from(u32::MAX))
            .map(micros),
        acked: long(120),
        retransmitted: word(100),
        lost: Some(lost),
        in_recovery: byte(1).map(|state| state >= RECOVERY),
        marked: word(196),
        app_limited: byte(7).map(|bits| bits & 1 == 1),
        not_sent: word(144),
        busy: long(168).map(micros),
        receiver_limited: long(176).map(micros),
        buffer_limited: long(184).map(micros),
        pacing_rate: long(104)
            .filter(|rate| *rate < u64::MAX)
            .map(|rate| rate.saturating_mul(8)),
        delivery_rate: long(160).map(|rate| rate.saturating_mul(8)),
    })
}

/// The addresses of `inet_diag_sockid`, which follows four bytes of `inet_diag_msg`.
fn socket_name(message: &[u8]) -> Option<String> {
    let family = *message.first()?;
    let port = |at: usize| {
        let bytes = message.get(at..at + 2)?;
        Some(u16::from_be_bytes(bytes.try_into().ok()?))
    };
    let address = |at: usize| {
        let bytes: [u8; 16] = message.get(at..at + 16)?.try_into().ok()?;
        // AF_INET has four bytes; AF_INET6 may have a mapped IPv4 address.
        if family == 2 {
            return Some(std::net::IpAddr::from([
                bytes[0], bytes[1], bytes[2], bytes[3],
            ]));
        }
        Some(Ipv6Addr::from(bytes).to_canonical())
    };
    let source = std::net::SocketAddr::new(address(8)?, port(4)?);
    let destination = std::net::SocketAddr::new(address(24)?, port(6)?);
    Some(format!("{source} > {destination}"))
}

/// Nanoseconds since the Unix epoch of a time in UTC, as `2019-07-01T00:00:12.092Z`.
pub fn unix_nanos(text: &str) -> Option<i64> {
    let text = text.trim();
    let (date, time) = text.split_once(['T', ' '])?;
    let time = time
        .strip_suffix('Z')
        .or_else(|| time.strip_suffix("+00:00"))?;
    let mut date = date.splitn(3, '-').map(|part| part.parse::<i64>().ok());
    let (year, month, day) = (date.next()??, date.next()??, date.next()??);
    let mut clock = time.splitn(3, ':');
    let hour: i64 = clock.next()?.parse().ok()?;
    let minute: i64 = clock.next()?.parse().ok()?;
    let (second, fraction) = match clock.next()? {
        second if second.contains('.') => second.split_once('.')?,
        second => (second, ""),
    };
    let second: i64 = second.parse().ok()?;
    let digits = format!("{:0<9.9}", fraction);
    let nanos: i64 = digits.parse().ok()?;
    let in_range =
        (1..=12).contains(&month) && (1..=31).contains(&day) && (1..=2262).contains(&year);
    if !in_range || hour > 24 || minute > 59 || second > 60 || nanos < 0 {
        return None;
    }
    // Days since 1970-01-01 of the Gregorian calendar, counted in years that begin in March.
    let (shifted, from_march) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * shifted + shifted / 4 - shifted / 100
        + shifted / 400
        + (153 * from_march + 2) / 5
        + day
        - 1
        - 719_468;
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_utc_count_from_1970() {
        assert_eq!(unix_nanos("1970-01-01T00:00:00Z"), Some(0));
        let at = unix_nanos("2019-07-01T00:00:12.092Z");
        assert_eq!(at, Some(1_561_939_212_092_000_000));
        assert_eq!(
            unix_nanos("2024-02-29T23:59:59.5Z"),
            Some(1_709_251_199_500_000_000)
        );
        for wrong in [
            "",
            "today",
            "2019-13-01T00:00:00Z",
            "2019-07-01",
            "2019-07-01T00:00:00+02:00",
        ] {
            assert_eq!(unix_nanos(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_shorter_structure_has_fewer_fields() {
        let mut info = vec![0; 104];
        info[16] = 100; // snd_mss
        info[80] = 10; // snd_cwnd
        info[76..80].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        let sample = sample(&info).expect("a window");
        assert_eq!((sample.cwnd, sample.ssthresh), (Some(1000), Some(u64::MAX)));
        assert_eq!((sample.acked, sample.receiver_limited), (None, None));
        assert!(super::sample(&info[..40]).is_none());
    }
}
