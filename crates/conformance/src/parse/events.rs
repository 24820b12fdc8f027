//! Events of a timeline that have words of their own: the beginning, ACKs and drops.

use units::feedback::Feedback;
use units::{Bytes, Duration, Rate};

use super::{Parsed, Reader, Word};
use crate::vector::{Kind, Sampled};

/// Bytes per second, with headers.
fn rate(reader: &Reader<'_>, word: Word<'_>, text: &str) -> Parsed<Rate> {
    Ok(Rate::from_bytes_per_sec(reader.number(word, text)?))
}

/// Feedback from routers: the `rate` of RCP or the `feedback` of XCP; `none` if one gave none.
fn router_feedback(reader: &Reader<'_>, word: Word<'_>, key: &str, text: &str) -> Parsed<Feedback> {
    let is_rate = key == "rate";
    if text == "none" {
        return Ok(if is_rate {
            Feedback::RcpEcho { rate: None }
        } else {
            Feedback::XcpEcho { delta: None }
        });
    }
    if is_rate {
        let rate = Some(rate(reader, word, text)?);
        return Ok(Feedback::RcpEcho { rate });
    }
    let (sign, size) = text.strip_prefix('-').map_or((1, text), |size| (-1, size));
    // No number of a vector is above 2^53.
    let size = i64::try_from(reader.number(word, size)?).unwrap_or(i64::MAX);
    Ok(Feedback::XcpEcho {
        delta: Some(sign * size),
    })
}

pub(super) fn established(reader: &Reader<'_>, words: &[Word<'_>]) -> Parsed<Kind> {
    let (mut rtt, mut queued, mut receive_window) = (None, Bytes::MAX, Bytes::MAX);
    let (mut approved, mut feedback) = (None, None);
    for word in &words[2..] {
        match word.text.split_once('=') {
            Some(("rtt", text)) => rtt = Some(Duration::from_nanos(reader.nanos(*word, text)?)),
            Some(("queued", text)) => queued = Bytes::new(reader.bytes(*word, text)?),
            Some(("window", text)) => receive_window = Bytes::new(reader.bytes(*word, text)?),
            Some(("approved", text)) => approved = Some(rate(reader, *word, text)?),
            Some((key @ ("rate" | "feedback"), text)) => {
                feedback = Some(router_feedback(reader, *word, key, text)?);
            }
            _ => {
                return reader.fail(
                    *word,
                    format!("the beginning cannot say `{}`; it may say rtt=TIME, queued=BYTES, window=BYTES, approved=RATE, rate=RATE and feedback=RATE", word.text),
                );
            }
        }
    }
    Ok(Kind::Established {
        rtt,
        queued,
        receive_window,
        approved,
        feedback,
    })
}

pub(super) fn dropped(reader: &Reader<'_>, words: &[Word<'_>]) -> Parsed<Kind> {
    const EXPECTED: &str = "tx=BYTES gone=BYTES delivered=BYTES";
    let from = reader.word(words, 2, "where the segment begins")?;
    let mut said = [0; 3];
    for (place, key) in ["tx", "gone", "delivered"].into_iter().enumerate() {
        let word = reader.word(words, 3 + place, EXPECTED)?;
        said[place] = match word.text.split_once('=') {
            Some((found, text)) if found == key => reader.bytes(word, text)?,
            _ => return reader.fail(word, format!("a drop says {EXPECTED}")),
        };
    }
    reader.nothing_after(words, 6)?;
    let [tx_in_flight, gone, delivered] = said.map(Bytes::new);
    Ok(Kind::Drop {
        from: reader.bytes(from, from.text)?,
        tx_in_flight,
        gone,
        delivered,
    })
}

/// `BYTES/TIME` of a delivery-rate sample.
fn sampled(reader: &Reader<'_>, word: Word<'_>, text: &str) -> Parsed<Sampled> {
    let Some((delivered, interval)) = text.split_once('/') else {
        return reader.fail(word, "a sample is BYTES/TIME");
    };
    let interval = reader.nanos(word, interval)?;
    if interval == 0 {
        return reader.fail(word, "a sample takes time");
    }
    Ok(Sampled {
        delivered: Bytes::new(reader.bytes(word, delivered)?),
        interval: Duration::from_nanos(interval),
        prior: Bytes::ZERO,
        tx_in_flight: Bytes::ZERO,
        gone: Bytes::ZERO,
    })
}

pub(super) fn ack(reader: &Reader<'_>, words: &[Word<'_>]) -> Parsed<Kind> {
    let word = reader.word(words, 2, "the cumulative acknowledgment")?;
    let cumulative = reader.bytes(word, word.text)?;
    let (mut sacked, mut lost, mut rtt) = (0, 0, None);
    let (mut window_limited, mut app_limited) = (true, false);
    let (mut sample, mut feedback): (Option<Sampled>, _) = (None, None);
    for word in &words[3..] {
        match (word.text.split_once('='), &mut sample) {
            (Some(("sample", text)), _) => sample = Some(sampled(reader, *word, text)?),
            (Some(("prior", text)), Some(sample)) => {
                sample.prior = Bytes::new(reader.bytes(*word, text)?);
            }
            (Some(("tx", text)), Some(sample)) => {
                sample.tx_in_flight = Bytes::new(reader.bytes(*word, text)?);
            }
            (Some(("gone", text)), Some(sample)) => {
                sample.gone = Bytes::new(reader.bytes(*word, text)?);
            }
            (Some(("sacked", text)), _) => sacked = reader.bytes(*word, text)?,
            (Some(("lost", text)), _) => lost = reader.bytes(*word, text)?,
            (Some(("rtt", text)), _) => {
                rtt = Some(Duration::from_nanos(reader.nanos(*word, text)?))
            }
            (Some((key @ ("rate" | "feedback"), text)), _) => {
                feedback = Some(router_feedback(reader, *word, key, text)?);
            }
            (None, _) if word.text == "not-window-limited" => window_limited = false,
            (None, _) if word.text == "app-limited" => app_limited = true,
            _ => {
                return reader.fail(
                    *word,
                    format!("an ACK cannot say `{}`; it may say sacked=BYTES, lost=BYTES, rtt=TIME, not-window-limited, app-limited, rate=RATE, feedback=RATE and sample=BYTES/TIME, after which prior=BYTES, tx=BYTES and gone=BYTES", word.text),
                );
            }
        }
    }
    Ok(Kind::Ack {
        cumulative,
        sacked: Bytes::new(sacked),
        lost: Bytes::new(lost),
        rtt,
        window_limited,
        app_limited,
        sample,
        feedback,
    })
}
