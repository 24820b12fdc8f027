//! Reads the text of a vector. A message names the word that is wrong.

mod events;

use units::{Bytes, Duration, Instant, Rate};

use crate::Error;
use crate::algorithm;
use crate::flight::Flight;
use crate::vector::{Event, Expected, Header, Kind, Norm, Pace, Timed, Vector};

/// The format that this reads.
const FORMAT: &str = "1";
/// Largest number that a vector holds: every language has integers up to here.
const LARGEST: u64 = 1 << 53;
/// Largest initial window and segment.
const LARGEST_WINDOW: u64 = 1 << 40;

const STATES: &[&str] = &["slow-start", "css", "drain", "avoidance", "recovery", "cwr"];
const EXITS: &[&str] = &[
    "none",
    "ack-train",
    "delay",
    "bandwidth",
    "css-rounds",
    "search",
    "full-pipe",
    "ssthresh",
    "loss",
    "ecn",
    "timeout",
];

/// A word and where it stands.
#[derive(Clone, Copy)]
struct Word<'a> {
    text: &'a str,
    line: usize,
    column: usize,
}

/// The words of a line, without its comment.
fn words(line: usize, text: &str) -> Vec<Word<'_>> {
    let text = text.split('#').next().unwrap_or_default();
    let mut words = Vec::new();
    let mut start = None;
    for (index, letter) in text.char_indices().chain([(text.len(), ' ')]) {
        match (letter.is_whitespace(), start) {
            (false, None) => start = Some(index),
            (true, Some(from)) => {
                words.push(Word {
                    text: &text[from..index],
                    line,
                    column: text[..from].chars().count() + 1,
                });
                start = None;
            }
            _ => {}
        }
    }
    words
}

struct Reader<'a> {
    file: &'a str,
    smss: Option<Bytes>,
    nanos_per_tick: Option<u64>,
}

type Parsed<T> = Result<T, Error>;

impl Reader<'_> {
    fn fail<T>(&self, word: Word<'_>, message: impl Into<String>) -> Parsed<T> {
        Err(Error::at(self.file, word.line, word.column, message))
    }

    fn number(&self, word: Word<'_>, text: &str) -> Parsed<u64> {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        match text.parse::<u64>() {
            Ok(number) if digits && number <= LARGEST => Ok(number),
            _ if digits => self.fail(word, format!("`{text}` is too large; the largest is 2^53")),
            _ => self.fail(word, format!("`{text}` is not a whole number")),
        }
    }

    /// Bytes, or segments when it ends in `s`.
    fn bytes(&self, word: Word<'_>, text: &str) -> Parsed<u64> {
        let Some(segments) = text.strip_suffix('s') else {
            return self.number(word, text);
        };
        let Some(smss) = self.smss else {
            return self.fail(
                word,
                "segments are counted before `smss` says how large one is",
            );
        };
        match self.number(word, segments)?.checked_mul(smss.get()) {
            Some(bytes) if bytes <= LARGEST => Ok(bytes),
            _ => self.fail(
                word,
                format!("`{text}` is too large; the largest is 2^53 bytes"),
            ),
        }
    }

    fn nanos(&self, word: Word<'_>, text: &str) -> Parsed<u64> {
        let nanos_per_tick = self.nanos_per_tick.unwrap_or(1);
        match self.number(word, text)?.checked_mul(nanos_per_tick) {
            Some(nanos) if nanos <= LARGEST => Ok(nanos),
            _ => self.fail(
                word,
                format!("`{text}` is too late; the longest time is 2^53 ns"),
            ),
        }
    }

    fn word<'w>(&self, words: &[Word<'w>], index: usize, what: &str) -> Parsed<Word<'w>> {
        match (words.get(index), words.last()) {
            (Some(word), _) => Ok(*word),
            (None, Some(last)) => {
                let column = last.column + last.text.chars().count();
                Err(Error::at(
                    self.file,
                    last.line,
                    column,
                    format!("{what} is missing"),
                ))
            }
            (None, None) => Err(Error::whole(self.file, format!("{what} is missing"))),
        }
    }

    fn nothing_after(&self, words: &[Word<'_>], count: usize) -> Parsed<()> {
        match words.get(count) {
            Some(word) => self.fail(*word, format!("`{}` is one word too many", word.text)),
            None => Ok(()),
        }
    }
}

#[derive(Default)]
struct Draft {
    title: Option<String>,
    source: Option<String>,
    form: Option<String>,
    parts: [Option<String>; 4],
    initial_window: Option<Bytes>,
    pacing: Option<bool>,
    pacing_rate: Option<Rate>,
}

/// Reads a vector.
pub fn parse(file: &str, text: &str) -> Parsed<Vector> {
    let mut reader = Reader {
        file,
        smss: None,
        nanos_per_tick: None,
    };
    let mut lines = text
        .lines()
        .enumerate()
        .map(|(index, text)| (index + 1, text, words(index + 1, text)))
        .filter(|(_, _, words)| !words.is_empty());
    let Some((_, _, first)) = lines.next() else {
        return Err(Error::whole(
            file,
            "is empty; a vector begins with `vector 1`",
        ));
    };
    if first[0].text != "vector" {
        return reader.fail(first[0], "a vector begins with `vector 1`");
    }
    let version = reader.word(&first, 1, "the number of the format")?;
    if version.text != FORMAT {
        return reader.fail(
            version,
            format!("format {} is not known; this is format 1", version.text),
        );
    }
    reader.nothing_after(&first, 2)?;
    let mut draft = Draft::default();
    let mut seen: Vec<&str> = Vec::new();
    let header = loop {
        let Some((_, text, words)) = lines.next() else {
            return Err(Error::whole(file, "ends before its `timeline`"));
        };
        let key = words[0];
        if key.text == "timeline" {
            reader.nothing_after(&words, 1)?;
            break finish(&reader, draft, key)?;
        }
        if seen.contains(&key.text) {
            return reader.fail(key, format!("`{}` is stated twice", key.text));
        }
        seen.push(key.text);
        header_line(&mut reader, &mut draft, text, &words)?;
    };
    let mut flight = Flight::new(&header);
    let mut expected = Expected {
        cwnd: header.initial_window,
        ssthresh: Bytes::MAX,
        state: STATES[0],
        exit: EXITS[0],
        norm: None,
        pace: None,
    };
    let mut timeline = Vec::new();
    for (line, text, words) in lines {
        let arrow = words.iter().position(|word| word.text == "=>");
        let (said, wanted) = words.split_at(arrow.unwrap_or(words.len()));
        let event = event(&reader, said)?;
        if let Err(impossible) = flight.apply(&event) {
            let word = reader.word(said, 1, "the event")?;
            return reader.fail(word, format!("this cannot happen: {impossible}"));
        }
        expected.norm = None;
        expected.pace = None;
        if let Some((arrow, wanted)) = wanted.split_first() {
            if wanted.is_empty() {
                return reader.fail(*arrow, "nothing follows `=>`");
            }
            expect(&reader, wanted, &mut expected)?;
        }
        let text = text.split('#').next().unwrap_or_default();
        let text = text.split("=>").next().unwrap_or_default().trim();
        timeline.push(Timed {
            line,
            text: text.to_owned(),
            event,
            expected: expected.clone(),
        });
    }
    if timeline.is_empty() {
        return Err(Error::whole(
            file,
            "has a `timeline` in which nothing happens",
        ));
    }
    Ok(Vector {
        file: file.to_owned(),
        header,
        timeline,
    })
}

fn header_line(
    reader: &mut Reader<'_>,
    draft: &mut Draft,
    text: &str,
    words: &[Word<'_>],
) -> Parsed<()> {
    let key = words[0];
    let sentence = || {
        let text = text.split('#').next().unwrap_or_default().trim();
        text[key.text.len()..].trim().to_owned()
    };
    let value = reader.word(words, 1, &format!("the value of `{}`", key.text))?;
    match key.text {
        "title" => draft.title = Some(sentence()),
        "source" => draft.source = Some(sentence()),
        "form" => draft.form = Some(sentence()),
        "smss" => {
            let smss = reader.number(value, value.text)?;
            if !(1..=65_535).contains(&smss) {
                return reader.fail(value, "a segment has 1 to 65535 bytes");
            }
            reader.smss = Some(Bytes::new(smss));
            reader.nothing_after(words, 2)?;
        }
        "initial-window" => {
            let window = reader.bytes(value, value.text)?;
            let smss = reader.smss.map_or(1, Bytes::get);
            if !(smss..=LARGEST_WINDOW).contains(&window) {
                return reader.fail(value, "an initial window has one segment to 2^40 bytes");
            }
            draft.initial_window = Some(Bytes::new(window));
            reader.nothing_after(words, 2)?;
        }
        "clock" => {
            reader.nanos_per_tick = Some(match value.text {
                "ns" => 1,
                "us" => 1_000,
                "ms" => 1_000_000,
                _ => return reader.fail(value, "a clock counts ns, us or ms"),
            });
            reader.nothing_after(words, 2)?;
        }
        "pacing" => {
            draft.pacing = Some(match value.text {
                "on" => true,
                "off" => false,
                _ => return reader.fail(value, "pacing is on or off"),
            });
            if let Some(rate) = words.get(2) {
                let Some(text) = rate.text.strip_prefix("rate=") else {
                    return reader.fail(*rate, "only rate=BYTES_PER_SECOND may follow");
                };
                let rate = reader.number(*rate, text)?;
                draft.pacing_rate = Some(Rate::from_bytes_per_sec(rate));
            }
            reader.nothing_after(words, 3)?;
        }
        part if algorithm::PARTS.contains(&part) => {
            let options: Vec<&str> = words[2..].iter().map(|word| word.text).collect();
            match algorithm::describe(part, value.text, &options) {
                Ok(description) => {
                    let place = algorithm::PARTS.iter().position(|known| *known == part);
                    draft.parts[place.unwrap_or_default()] = Some(description);
                }
                Err((word, message)) => return reader.fail(words[word + 1], message),
            }
        }
        _ => {
            return reader.fail(
                key,
                format!(
                    "unknown key `{}`; known are title, source, form, slow-start, avoidance, recovery, whole, smss, initial-window, clock, pacing and timeline",
                    key.text
                ),
            );
        }
    }
    Ok(())
}

fn finish(reader: &Reader<'_>, draft: Draft, timeline: Word<'_>) -> Parsed<Header> {
    let missing = |key: &str| {
        Error::at(
            reader.file,
            timeline.line,
            timeline.column,
            format!("`{key}` must be stated before the timeline"),
        )
    };
    let [startup, avoidance, recovery, whole] = draft.parts;
    let algorithm = match whole {
        Some(whole) if startup.is_none() && avoidance.is_none() && recovery.is_none() => whole,
        Some(_) => {
            return reader.fail(
                timeline,
                "a `whole` has neither `slow-start`, `avoidance` nor `recovery`",
            );
        }
        None => {
            let startup = startup.ok_or_else(|| missing("slow-start"))?;
            let avoidance = avoidance.ok_or_else(|| missing("avoidance"))?;
            let recovery = recovery.unwrap_or_else(|| "prr".to_owned());
            format!("{avoidance}+{startup}+{recovery}")
        }
    };
    reader.nanos_per_tick.ok_or_else(|| missing("clock"))?;
    Ok(Header {
        title: draft.title.ok_or_else(|| missing("title"))?,
        source: draft.source.ok_or_else(|| missing("source"))?,
        form: draft.form.ok_or_else(|| missing("form"))?,
        algorithm,
        smss: reader.smss.ok_or_else(|| missing("smss"))?,
        initial_window: draft
            .initial_window
            .ok_or_else(|| missing("initial-window"))?,
        paced: draft.pacing.unwrap_or(false),
        pacing_rate: draft.pacing_rate,
    })
}

fn event(reader: &Reader<'_>, words: &[Word<'_>]) -> Parsed<Event> {
    let Some(time) = words.first() else {
        return Err(Error::whole(
            reader.file,
            "has a line with an expectation alone",
        ));
    };
    let now = Instant::from_nanos(reader.nanos(*time, time.text)?);
    let verb = reader.word(words, 1, "the event")?;
    let amount = |what: &str| -> Parsed<Bytes> {
        let word = reader.word(words, 2, what)?;
        reader.nothing_after(words, 3)?;
        match reader.bytes(word, word.text)? {
            0 => reader.fail(word, format!("{what} cannot be 0")),
            bytes => Ok(Bytes::new(bytes)),
        }
    };
    let kind = match verb.text {
        "send" => Kind::Send {
            size: amount("how much is sent")?,
        },
        "resend" => Kind::Resend {
            size: amount("how much is resent")?,
        },
        "mark" => {
            reader.nothing_after(words, 2)?;
            Kind::Mark
        }
        "timeout" => {
            reader.nothing_after(words, 2)?;
            Kind::Timeout
        }
        "restart" => {
            let word = reader.word(words, 2, "rto=TIME")?;
            reader.nothing_after(words, 3)?;
            match word.text.strip_prefix("rto=") {
                Some(text) => Kind::Restart {
                    rto: Duration::from_nanos(reader.nanos(word, text)?),
                },
                None => return reader.fail(word, "a restart says rto=TIME"),
            }
        }
        "ack" => events::ack(reader, words)?,
        "drop" => events::dropped(reader, words)?,
        "established" => events::established(reader, words)?,
        other => {
            return reader.fail(
                verb,
                format!("unknown event `{other}`; known are established, send, resend, ack, drop, mark, timeout and restart"),
            );
        }
    };
    Ok(Event { now, kind })
}

fn expect(reader: &Reader<'_>, words: &[Word<'_>], expected: &mut Expected) -> Parsed<()> {
    let one_of = |word: Word<'_>, text: &str, known: &[&'static str]| match known
        .iter()
        .find(|known| **known == text)
    {
        Some(known) => Ok(*known),
        None => reader.fail(word, format!("`{text}` is none of {}", known.join(", "))),
    };
    let size = |word: Word<'_>, text: &str| {
        if text == "inf" {
            Ok(Bytes::MAX)
        } else {
            reader.bytes(word, text).map(Bytes::new)
        }
    };
    for &word in words {
        match word.text.split_once('=') {
            Some(("cwnd", text)) => expected.cwnd = Bytes::new(reader.bytes(word, text)?),
            Some(("ssthresh", text)) => expected.ssthresh = size(word, text)?,
            Some(("state", text)) => expected.state = one_of(word, text, STATES)?,
            Some(("exit", text)) => expected.exit = one_of(word, text, EXITS)?,
            Some(("norm", text)) => expected.norm = Some(norm(reader, word, text)?),
            Some(("pace", "none")) => expected.pace = Some(Pace::None),
            Some(("pace", text)) => {
                expected.pace = Some(Pace::BytesPerSecond(reader.number(word, text)?));
            }
            _ => {
                return reader.fail(
                    word,
                    format!(
                        "`{}` cannot be expected; cwnd, ssthresh, state, exit, norm and pace can",
                        word.text
                    ),
                );
            }
        }
    }
    Ok(())
}

/// `none`, whole percent (`37%`) or thousandths (`0.375`), possibly negative.
fn norm(reader: &Reader<'_>, word: Word<'_>, text: &str) -> Parsed<Norm> {
    if text == "none" {
        return Ok(Norm::None);
    }
    let (negative, size) = match text.strip_prefix('-') {
        Some(size) => (true, size),
        None => (false, text),
    };
    let sign = |size: u64| {
        let size = i64::try_from(size).unwrap_or(i64::MAX);
        if negative { -size } else { size }
    };
    if let Some(percent) = size.strip_suffix('%') {
        return Ok(Norm::Percent(sign(reader.number(word, percent)?)));
    }
    match size.split_once('.') {
        Some((whole, part)) if part.len() == 3 && whole.len() <= 9 => {
            let whole = reader.number(word, whole)?;
            let part = reader.number(word, part)?;
            Ok(Norm::Permille(sign(whole * 1_000 + part)))
        }
        _ => reader.fail(
            word,
            format!(
                "`{text}` is no norm; write none, whole percent (37%) or three decimals (0.375)"
            ),
        ),
    }
}
