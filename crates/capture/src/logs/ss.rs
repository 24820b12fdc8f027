//! Logs made of the output of `ss -tin` (iproute2), with a line of the time before each output.
//!
//! A time is seconds since the Unix epoch (`date +%s.%N`) or a date in UTC (`date -u --iso-8601=ns`
//! or the form of RFC 3339); a `#` may precede it. A socket has two lines: state, queues and
//! addresses, and an indented line of `key:value` pairs. With `-O` both are on one line.

use std::io::BufRead;

use super::lines::Lines;
use super::tcp_info::unix_nanos;
use super::{LogSummary, Owner, Sample};
use crate::ReadError;

pub fn read(
    reader: impl BufRead,
    take: &mut dyn FnMut(&Owner, &Sample),
) -> Result<LogSummary, ReadError> {
    let mut lines = Lines::new(reader, b'\n');
    let mut summary = LogSummary::default();
    let mut now = None;
    let mut owner = None;
    while let Some(line) = lines.next()? {
        if let Some(at) = time(&line) {
            now = Some(at);
            owner = None;
            continue;
        }
        if let Some(name) = socket(&line) {
            owner = Some(name);
        }
        if !line.contains("cwnd:") {
            summary.skipped += 1;
            continue;
        }
        let Some(at) = now else {
            return Err(lines.invalid(
                "no time precedes this socket; write `date +%s.%N` before each output of ss -tin",
            ));
        };
        let Some(name) = &owner else {
            return Err(lines.invalid("no line with the addresses precedes this socket"));
        };
        let mut sample = match sample(&line) {
            Ok(sample) => sample,
            Err(_) if lines.is_open() => {
                lines.cut();
                break;
            }
            Err(reason) => return Err(lines.invalid(reason)),
        };
        sample.at = at;
        let algorithm = algorithm(&line);
        summary.samples += 1;
        take(
            &Owner {
                name: name.clone(),
                algorithm,
            },
            &sample,
        );
    }
    summary.ending = lines.ending;
    Ok(summary)
}

/// The time, if the line has nothing else.
fn time(line: &str) -> Option<i64> {
    let line = line
        .trim()
        .trim_start_matches(['#', '['])
        .trim_end_matches(']')
        .trim();
    if let Some(at) = unix_nanos(line) {
        return Some(at);
    }
    // GNU date separates the fraction with a comma in its ISO format.
    if line.contains(',')
        && let Some(at) = unix_nanos(&line.replace(',', "."))
    {
        return Some(at);
    }
    let (seconds, fraction) = line.split_once('.').unwrap_or((line, ""));
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if seconds.len() < 9 || !is_number(seconds) || !is_number(fraction) {
        return None;
    }
    let seconds: i64 = seconds.parse().ok()?;
    let nanos: i64 = format!("{fraction:0<9.9}").parse().ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(nanos)
}

/// The addresses of a line that has any.
fn socket(line: &str) -> Option<String> {
    let mut words = line.split_whitespace();
    let state = words.next()?;
    let is_state = state
        .bytes()
        .all(|byte| byte.is_ascii_uppercase() || byte == b'-');
    if line.starts_with(char::is_whitespace) || !is_state {
        return None;
    }
    // Both queues, then both addresses.
    let addresses: Vec<&str> = words
        .filter(|word| word.contains(':') && !word.contains('('))
        .take(2)
        .collect();
    match addresses[..] {
        [local, peer] => Some(format!("{local} > {peer}")),
        _ => None,
    }
}

/// The algorithm is the word before `wscale` or `rto`.
fn algorithm(line: &str) -> Option<String> {
    let mut before = None;
    for word in line.split_whitespace() {
        if word.starts_with("wscale:") || word.starts_with("rto:") {
            return before;
        }
        let is_name = word
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let is_flag = matches!(word, "ts" | "sack" | "ecn" | "ecnseen" | "fastopen");
        before = (is_name && !is_flag && !word.bytes().all(|byte| byte.is_ascii_digit()))
            .then(|| word.to_owned());
    }
    None
}

fn number(text: &str) -> Option<f64> {
    let number: f64 = text.parse().ok()?;
    (number.is_finite() && number >= 0.0).then_some(number)
}

/// `31.5Mbps` in bits per second.
fn rate(text: &str) -> Option<u64> {
    let text = text.strip_suffix("bps")?;
    let (digits, factor) = match text.as_bytes().last()? {
        b'K' => (&text[..text.len() - 1], 1e3),
        b'M' => (&text[..text.len() - 1], 1e6),
        b'G' => (&text[..text.len() - 1], 1e9),
        b'T' => (&text[..text.len() - 1], 1e12),
        _ => (text, 1.0),
    };
    Some((number(digits)? * factor) as u64)
}

fn sample(line: &str) -> Result<Sample, String> {
    let mut sample = Sample {
        ssthresh: Some(u64::MAX),
        app_limited: Some(false),
        ..Sample::default()
    };
    let (mut cwnd, mut ssthresh, mut mss) = (None, None, None);
    let (mut unacked, mut sacked, mut lost, mut retrans) = (0, 0, 0, 0);
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        let (key, value) = word.split_once(':').unwrap_or((word, ""));
        let wrong = || format!("`{word}` has an invalid value");
        let count = || value.parse::<u64>().map_err(|_| wrong());
        // Milliseconds, with or without their unit; `busy:12ms`, `rwnd_limited:5ms(3.1%)`.
        let millis = || {
            let digits = value.split(['m', '(']).next().unwrap_or_default();
            number(digits).map(|ms| (ms * 1e6) as u64).ok_or_else(wrong)
        };
        match key {
            "cwnd" => cwnd = Some(count()?),
            "ssthresh" => ssthresh = Some(count()?),
            "mss" => mss = Some(count()?),
            "unacked" => unacked = count()?,
            "sacked" => sacked = count()?,
            "lost" => lost = count()?,
            "retrans" => {
                let (now, total) = value.split_once('/').ok_or_else(wrong)?;
                retrans = now.parse().map_err(|_| wrong())?;
                sample.retransmitted = Some(total.parse().map_err(|_| wrong())?);
            }
            "rtt" => {
                let smoothed = value.split('/').next().unwrap_or_default();
                let ms = number(smoothed).ok_or_else(wrong)?;
                sample.smoothed_rtt = Some((ms * 1e6) as u64);
            }
            "minrtt" => sample.min_rtt = Some(millis()?),
            "bytes_acked" => sample.acked = Some(count()?),
            "notsent" => sample.not_sent = Some(count()?),
            "busy" => sample.busy = Some(millis()?),
            "rwnd_limited" => sample.receiver_limited = Some(millis()?),
            "sndbuf_limited" => sample.buffer_limited = Some(millis()?),
            "delivered_ce" => sample.marked = Some(count()?),
            "snd_wnd" => sample.receive_window = Some(count()?),
            "app_limited" => sample.app_limited = Some(true),
            "pacing_rate" => sample.pacing_rate = words.next().and_then(rate),
            "delivery_rate" => sample.delivery_rate = words.next().and_then(rate),
            _ => {}
        }
    }
    let mss = mss.unwrap_or(1448_u64);
    let bytes = |segments: u64| segments.saturating_mul(mss);
    sample.mss = Some(mss);
    sample.cwnd = cwnd.map(bytes);
    // ss omits what is zero or not set.
    sample.ssthresh = Some(ssthresh.map_or(u64::MAX, bytes));
    let gone = u64::saturating_add(sacked, lost);
    sample.in_flight = Some(bytes(
        u64::saturating_add(unacked, retrans).saturating_sub(gone),
    ));
    sample.lost = Some(lost);
    sample.retransmitted = sample.retransmitted.or(Some(0));
    sample.receiver_limited = sample.receiver_limited.or(sample.busy.map(|_| 0));
    sample.buffer_limited = sample.buffer_limited.or(sample.busy.map(|_| 0));
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "1700000000.250\nState Recv-Q Send-Q Local Address:Port Peer Address:Port\n\
        ESTAB 0 904960 10.77.0.1:47066 10.77.0.2:5001\n\
        \t cubic wscale:7,7 rto:260 rtt:59.9/0.5 mss:1448 pmtu:1500 rcvmss:536 advmss:1448 cwnd:38 \
        ssthresh:19 bytes_sent:2000 bytes_retrans:1448 bytes_acked:1000 segs_out:9 send 7.3Mbps \
        pacing_rate 14.7Mbps delivery_rate 6.5Mbps busy:420ms rwnd_limited:100ms(23.8%) \
        unacked:30 retrans:1/2 lost:1 sacked:4 notsent:90 minrtt:50.25\n";

    #[test]
    fn a_socket_is_read_with_its_time() {
        let mut found = Vec::new();
        let summary = read(LOG.as_bytes(), &mut |owner, sample| {
            found.push((owner.clone(), sample.clone()));
        })
        .expect("a log");
        assert_eq!(summary.samples, 1);
        let (owner, sample) = &found[0];
        assert_eq!(owner.name, "10.77.0.1:47066 > 10.77.0.2:5001");
        assert_eq!(owner.algorithm.as_deref(), Some("cubic"));
        assert_eq!(sample.at, 1_700_000_000_250_000_000);
        assert_eq!(sample.cwnd, Some(38 * 1448));
        assert_eq!(sample.ssthresh, Some(19 * 1448));
        assert_eq!(sample.in_flight, Some((30 + 1 - 4 - 1) * 1448));
        assert_eq!(sample.min_rtt, Some(50_250_000));
        assert_eq!(sample.receiver_limited, Some(100_000_000));
        assert_eq!(sample.delivery_rate, Some(6_500_000));
        assert_eq!(sample.retransmitted, Some(2));
    }

    #[test]
    fn a_log_without_times_is_refused_with_its_line() {
        let without = LOG.split_once('\n').expect("lines").1;
        let error = read(without.as_bytes(), &mut |_, _| {}).expect_err("no time");
        assert!(
            error.to_string().starts_with("line 3: no time precedes"),
            "{error}"
        );
    }
}
