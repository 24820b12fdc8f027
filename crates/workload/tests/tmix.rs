//! Files of connection vectors: the examples of the formats, what is refused and where, and random
//! vectors that are written and read back.

use proptest::collection::vec;
use proptest::prelude::*;
use units::{Bytes, Duration, Instant};
use workload::tmix::{Format, Problem, Reader, TmixError, WriteError, Writer, convert};
use workload::{
    Close, Connection, Exchange, Headers, MAX_UNIT, Script, Side, Turn, Unit, Unsound, suite,
};

const ORIGINAL: &str = "\
# an example of this project
SEQ 250000 2 7 1001        # t=0.25 s, 2 epochs
m 1460 1460
w 65535 65535
r 98000
l 0.000000 0.000000
> 410                      # request 1
t 12000                    # the acceptor works 12 ms
< 14600                    # response 1 (10 segments)
t 500000                   # the user thinks 0.5 s
> 380
t 8000
< 2920
t 300000                   # the acceptor sent last: it waits 0.3 s, then FIN
CONC 900000 2 1 7 1002
m 536 536
w 32768 65535
r 54000
l 0.000000 0.002000
c> 1000
t> 40000
c> 1500
t> 1000
c< 20000
t< 500
";

const ALTERNATE: &str = "\
# an example of this project
S 250000 2 7 1001
m 1460 1460
w 65535 65535
r 98000
l 0.000000 0.000000
I 0 0 410
A 0 12000 14600
I 0 500000 380
A 0 8000 2920
A 300000 0 0
C 900000 2 1 7 1002
m 536 536
w 32768 65535
r 54000
l 0.000000 0.002000
I 0 0 1000
I 40000 0 1500
A 0 0 20000
I 1000 0 0
A 500 0 0
";

fn read(text: &str) -> Result<Vec<Connection>, TmixError> {
    Reader::new("example", text.as_bytes())?.collect()
}

fn write(connections: &[Connection], format: Format) -> Result<String, WriteError> {
    let mut writer = Writer::new(Vec::new(), format);
    for connection in connections {
        writer.connection(connection)?;
    }
    let bytes = writer.finish().expect("memory takes everything");
    Ok(String::from_utf8(bytes).expect("text"))
}

fn example() -> Vec<Connection> {
    use Side::{Acceptor, Initiator};
    let turn = |side, micros, bytes| Turn {
        side,
        wait: Duration::from_micros(micros),
        bytes: Bytes::new(bytes),
    };
    let unit = |micros, bytes| Unit {
        wait: Duration::from_micros(micros),
        bytes: Bytes::new(bytes),
    };
    let first = Connection {
        start: Instant::from_millis(250),
        id: 1001,
        group: 7,
        headers: Headers {
            mss: Some([1460; 2]),
            windows: Some([65_535; 2]),
            min_rtt: Some(Duration::from_millis(98)),
            loss: Some([0.0; 2]),
        },
        exchange: Exchange::Sequential {
            turns: vec![
                turn(Initiator, 0, 410),
                turn(Acceptor, 12_000, 14_600),
                turn(Initiator, 500_000, 380),
                turn(Acceptor, 8_000, 2_920),
            ],
            close: Close {
                side: Acceptor,
                wait: Duration::from_millis(300),
            },
        },
    };
    let second = Connection {
        start: Instant::from_millis(900),
        id: 1002,
        group: 7,
        headers: Headers {
            mss: Some([536; 2]),
            windows: Some([32_768, 65_535]),
            min_rtt: Some(Duration::from_millis(54)),
            loss: Some([0.0, 0.002]),
        },
        exchange: Exchange::Concurrent([
            Script {
                units: vec![unit(0, 1_000), unit(40_000, 1_500)],
                close: Duration::from_millis(1),
            },
            Script {
                units: vec![unit(0, 20_000)],
                close: Duration::from_micros(500),
            },
        ]),
    };
    vec![first, second]
}

#[test]
fn both_formats_of_the_example_say_the_same() {
    assert_eq!(read(ORIGINAL).expect("original"), example());
    assert_eq!(read(ALTERNATE).expect("alternate"), example());
    let reader = Reader::new("example", ORIGINAL.as_bytes()).expect("original");
    assert_eq!(reader.format(), Some(Format::Original));
    assert_eq!(reader.comments(), ["an example of this project"]);
}

#[test]
fn a_file_converts_into_the_other_format() {
    let reader = Reader::new("example", ORIGINAL.as_bytes()).expect("original");
    let converted = convert(reader, Vec::new(), Format::Alternate).expect("converts");
    let plain = |text: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let before = |line: &str| line.split('#').next().unwrap_or_default().trim().to_owned();
        lines.map(before).collect()
    };
    let converted = String::from_utf8(converted).expect("text");
    // FINs come behind the units of both sides, as in the example.
    assert_eq!(converted, ALTERNATE);
    let reader = Reader::new("example", ALTERNATE.as_bytes()).expect("alternate");
    let back = convert(reader, Vec::new(), Format::Original).expect("converts");
    let back = String::from_utf8(back).expect("text");
    assert_eq!(plain(&back), plain(ORIGINAL));
}

#[test]
fn a_scale_moves_starts_and_nothing_else() {
    let mut scaled = example();
    for connection in &mut scaled {
        suite::scale(connection, 2.0);
    }
    let starts = scaled.iter().map(|connection| connection.start);
    assert!(starts.eq([Instant::from_millis(500), Instant::from_millis(1_800)]));
    for (scaled, original) in scaled.iter().zip(example()) {
        assert_eq!(scaled.exchange, original.exchange);
    }
}

#[test]
fn the_place_of_a_wait_gives_its_meaning() {
    // Two units of the acceptor in a row, then a close by the initiator.
    let text = "SEQ 0 2 1 1\n> 1\nt 2\n< 3\nt 4\n< 5\nt 6\n> 7\nt 8\n";
    let connections = read(text).expect("a file");
    let alternate = write(&connections, Format::Alternate).expect("written");
    let expected = "S 0 2 1 1\nI 0 0 1\nA 0 2 3\nA 4 0 5\nI 0 6 7\nI 8 0 0\n";
    assert_eq!(alternate, expected);
    assert_eq!(read(expected).expect("a file"), connections);
}

#[test]
fn a_missing_fin_comes_at_once() {
    for text in [
        "SEQ 0 1 1 1\n> 1\nt 5\n< 1\n",
        "S 0 1 1 1\nI 0 0 1\nA 0 5 1\n",
    ] {
        let connections = read(text).expect("a file");
        let Exchange::Sequential { close, .. } = connections[0].exchange else {
            panic!("sequential");
        };
        assert_eq!((close.side, close.wait), (Side::Acceptor, Duration::ZERO));
    }
}

#[test]
fn a_wait_of_zero_becomes_a_microsecond_in_the_alternate_format() {
    let connections = read("SEQ 0 1 1 1\n> 1\nt 0\n< 1\nt 0\n").expect("a file");
    let written = write(&connections, Format::Alternate).expect("written");
    assert_eq!(written, "S 0 1 1 1\nI 0 0 1\nA 0 1 1\n");
}

#[test]
fn only_the_alternate_format_says_that_the_receiver_closes() {
    let text = "S 0 1 1 9\nI 0 0 1\nA 0 5 1\nI 0 7 0\n";
    let connections = read(text).expect("a file");
    assert_eq!(
        write(&connections, Format::Alternate).expect("written"),
        text
    );
    let refused = write(&connections, Format::Original).expect_err("refused");
    assert!(matches!(refused, WriteError::ReceiverCloses { id: 9 }));
}

#[test]
fn comments_and_blank_lines_are_skipped() {
    let text = "\n#\n  \nSEQ 0 1 1 1 # here\n\n# there\n> 1#\r\n\n";
    assert_eq!(read(text).expect("a file").len(), 1);
    assert_eq!(read("").expect("a file"), []);
    assert_eq!(read("# nothing\n").expect("a file"), []);
}

#[test]
fn errors_name_the_line_and_the_mistake() {
    for (text, expected) in [
        (
            "SEQ 0 2 7 5\n> 1\nt 1\n< 1\n",
            "f:1: the file ends early: connection 5 announces 2 epochs but has 1",
        ),
        (
            "SEQ 0 1 7 5\n> 1\nt 1\n< 1\nt 1\n> 1\nSEQ 0 1 7 6\n",
            "f:1: connection 5 announces 1 epochs but has 2",
        ),
        (
            "CONC 0 1 2 7 5\nc> 1\nc< 1\n",
            "f:1: the file ends early: connection 5 announces 2 data units of the \
             acceptor but has 1",
        ),
        (
            "CONC 0 1 0 7 5\nc> 1\nt> 1\nc> 1\n",
            "f:1: connection 5 announces 1 data units of the initiator but has 2",
        ),
        (
            "SEQ 0 1 7 5\n> 1\nt 1\n< 14",
            "f:4: the last line has no line end: the file is cut, or needs a line end there",
        ),
        (
            "SEQ 0 1 7 5\n> 18446744073709551616\n",
            "f:2: a whole number of bytes is too large: at most 1000000000000000",
        ),
        (
            "SEQ 18446744073709552 1 7 5\n> 1\n",
            "f:1: a start time in microseconds is too large: at most 18446744073709551",
        ),
        (
            "SEQ 0 1 7\n> 1\n",
            "f:1: expected the identifier of the connection, found the end of the line",
        ),
        (
            "SEQ 0 1 7 5 9\n> 1\n",
            "f:1: expected the end of the line, found \"9\"",
        ),
        (
            "SEQ 0 -1 7 5\n> 1\n",
            "f:1: expected a number of epochs, found \"-1\"",
        ),
        (
            "\n> 1\n",
            "f:2: expected a line SEQ, CONC, S or C, found \">\"",
        ),
        (
            "SEQ 0 1 7 5\n? 1\n",
            "f:2: expected a line >, <, t, m, w, r, l, SEQ or CONC, found \"?\"",
        ),
        (
            "SEQ 0 1 7 5\n> 1\n> 1\n",
            "f:3: two data units need a line with a wait between them",
        ),
        (
            "CONC 0 2 0 7 5\nc> 1\nc> 1\n",
            "f:3: two data units need a line with a wait between them",
        ),
        (
            "SEQ 0 1 7 5\n> 1\nt 1\nt 1\n",
            "f:4: two waits need a data unit between them",
        ),
        (
            "SEQ 0 1 7 5\nt 1\n> 1\n",
            "f:2: a side waits before its first data unit",
        ),
        ("SEQ 0 1 7 5\n> 0\n", "f:2: a data unit has 0 bytes"),
        (
            "SEQ 0 0 7 5\n",
            "f:1: the connection has no data in either direction",
        ),
        (
            "SEQ 0 1 7 5\nm 1 1\nm 1 1\n> 1\n",
            "f:3: the connection already has a line m",
        ),
        (
            "SEQ 0 1 7 5\n> 1\nw 1 1\n",
            "f:3: the line w must come before the first data unit",
        ),
        (
            "SEQ 0 1 7 5\nl 0.1 1.1\n> 1\n",
            "f:2: expected a probability from 0 to 1, found \"1.1\"",
        ),
        (
            "SEQ 0 1 7 5\nw 4294967296 1\n> 1\n",
            "f:2: a window in bytes is too large: at most 4294967295",
        ),
        (
            "SEQ 0 1 7 5\n> 1\nS 0 1 7 6\n",
            "f:3: the file began in the other format: SEQ and CONC do not mix with S and C",
        ),
        (
            "S 0 1 7 5\nI 0 0 1\nA 1 1 1\n",
            "f:3: only one of the two waits can be positive",
        ),
        (
            "S 0 1 7 5\nI 0 0 1\nA 1 0 1\n",
            "f:3: this unit follows the other side's, so its receive wait must be \
             positive and its send wait 0",
        ),
        (
            "S 0 1 7 5\nI 0 0 1\nI 0 0 1\n",
            "f:3: this unit follows one of the same side, so its send wait must be \
             positive and its receive wait 0",
        ),
        (
            "S 0 1 7 5\nI 3 0 1\n",
            "f:2: a side waits before its first data unit",
        ),
        (
            "S 0 1 7 5\nI 0 0 1\nI 4 0 0\nA 0 1 1\n",
            "f:4: this side has already sent its FIN",
        ),
        (
            "C 0 1 1 7 5\nI 0 0 1\nI 4 0 0\nA 0 0 1\nI 1 0 1\n",
            "f:5: this side has already sent its FIN",
        ),
        (
            "C 0 0 1 7 5\nI 4 0 0\nA 0 0 1\n",
            "f:2: a side without data waits before its FIN",
        ),
    ] {
        let error =
            Reader::new("f", text.as_bytes()).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        assert_eq!(error.expect_err(text).to_string(), expected, "{text}");
    }
}

#[test]
fn bytes_that_are_no_text_and_endless_lines_are_refused() {
    let problem = |bytes: &[u8]| Reader::new("f", bytes).expect_err("refused").problem;
    assert_eq!(problem(b"SEQ \xff\n"), Problem::NotText);
    assert_eq!(problem(&vec![b'#'; 1 << 20]), Problem::LongLine);
}

#[test]
fn a_reader_ends_after_an_error_and_writers_refuse_what_means_nothing() {
    let text = "SEQ 0 1 7 5\n> 1\n> 1\nSEQ 0 1 7 6\n> 1\n";
    let mut reader = Reader::new("f", text.as_bytes()).expect("a first line");
    assert!(reader.next().is_some_and(|first| first.is_err()));
    assert!(reader.next().is_none());
    let mut silent = example().remove(0);
    silent.exchange = Exchange::Concurrent(Default::default());
    let refused = write(&[silent], Format::Original).expect_err("refused");
    let WriteError::Unsound { id: 1001, reason } = refused else {
        panic!("{refused}");
    };
    assert_eq!(reason, Unsound::Silent);
}

#[test]
fn a_long_file_streams() {
    /// A file of a million connections that exists only line by line.
    struct Endless(u32, Vec<u8>);
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            if self.1.is_empty() && self.0 < 100_000 {
                self.0 += 1;
                self.1 = format!("SEQ {0} 1 1 {0}\n> 400\nt 10\n< 9000\n", self.0).into();
            }
            let count = self.1.len().min(buffer.len());
            buffer[..count].copy_from_slice(&self.1[..count]);
            self.1.drain(..count);
            Ok(count)
        }
    }
    let input = std::io::BufReader::new(Endless(0, Vec::new()));
    let reader = Reader::new("f", input).expect("a file");
    let ids = reader.map(|connection| connection.expect("a connection").id);
    assert!(ids.eq(1..=100_000));
}

fn wait() -> impl Strategy<Value = Duration> {
    prop_oneof![1u64..10, 1u64..10_000_000, Just(u64::MAX / 1000)].prop_map(Duration::from_micros)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![1u64..10, 1u64..100_000, Just(MAX_UNIT.get())].prop_map(Bytes::new)
}

fn side() -> impl Strategy<Value = Side> {
    prop_oneof![Just(Side::Initiator), Just(Side::Acceptor)]
}

fn sequential() -> impl Strategy<Value = Exchange> {
    let turn = (side(), wait(), bytes()).prop_map(|(side, wait, bytes)| Turn { side, wait, bytes });
    (vec(turn, 1..12), prop_oneof![Just(Duration::ZERO), wait()]).prop_map(|(mut turns, wait)| {
        turns[0].wait = Duration::ZERO;
        Exchange::sequential(turns, wait)
    })
}

fn script() -> impl Strategy<Value = Script> {
    let unit = (wait(), bytes()).prop_map(|(wait, bytes)| Unit { wait, bytes });
    (vec(unit, 0..6), prop_oneof![Just(Duration::ZERO), wait()]).prop_map(|(mut units, close)| {
        if let Some(first) = units.first_mut() {
            first.wait = Duration::ZERO;
        }
        let close = if units.is_empty() {
            Duration::ZERO
        } else {
            close
        };
        Script { units, close }
    })
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let concurrent = (script(), script())
        .prop_filter("silent", |(one, other)| {
            !(one.units.is_empty() && other.units.is_empty())
        })
        .prop_map(|(one, other)| Exchange::Concurrent([one, other]));
    prop_oneof![sequential(), concurrent]
}

fn connection() -> impl Strategy<Value = Connection> {
    let pair = || proptest::option::of([any::<u32>(), any::<u32>()]);
    let probability = || prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64, Just(0.002)];
    let headers = (
        pair(),
        pair(),
        proptest::option::of(wait()),
        proptest::option::of([probability(), probability()]),
    );
    (
        0..u64::MAX / 1000,
        any::<u64>(),
        any::<u64>(),
        headers,
        exchange(),
    )
        .prop_map(
            |(micros, id, group, (mss, windows, min_rtt, loss), exchange)| Connection {
                start: Instant::from_micros(micros),
                id,
                group,
                headers: Headers {
                    mss,
                    windows,
                    min_rtt,
                    loss,
                },
                exchange,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn what_is_written_reads_back_in_both_formats(connections in vec(connection(), 0..6)) {
        for format in [Format::Original, Format::Alternate] {
            let text = write(&connections, format).expect("written");
            prop_assert_eq!(&read(&text).expect(&text), &connections, "{}", text);
        }
        let original = write(&connections, Format::Original).expect("written");
        let reader = Reader::new("f", original.as_bytes()).expect("a file");
        let alternate = convert(reader, Vec::new(), Format::Alternate).expect("converted");
        let direct = write(&connections, Format::Alternate).expect("written");
        prop_assert_eq!(String::from_utf8(alternate).expect("text"), direct);
    }

    /// Cuts a file anywhere. Inside a line it is refused; at a line's end it is, or the result is a
    /// beginning: all connections but the last are whole.
    #[test]
    fn a_cut_file_is_refused_or_a_beginning(
        connections in vec(connection(), 1..4),
        place in any::<prop::sample::Index>(),
    ) {
        let text = write(&connections, Format::Original).expect("written");
        let cut = &text[..place.index(text.len())];
        let found = read(cut);
        prop_assert!(found.is_err() || cut.is_empty() || cut.ends_with('\n'));
        let found = found.unwrap_or_default();
        prop_assert!(found.len() <= connections.len());
        for (place, (one, written)) in found.iter().zip(&connections).enumerate() {
            if place + 1 < found.len() {
                prop_assert_eq!(one, written);
            }
            // Concurrent units are counted, so that only the epochs of a sequential exchange can
            // lose their end.
            if matches!(one.exchange, Exchange::Concurrent(_)) {
                prop_assert_eq!(one.payload(), written.payload());
            }
            let units = written.exchange.units();
            prop_assert!(one.exchange.units().zip(units).all(|(one, written)| one == written));
        }
    }

    /// Random edits of the examples: the reader returns, and what it reads can be written.
    #[test]
    fn no_bytes_panic_or_loop(
        edits in vec((any::<prop::sample::Index>(), any::<u8>(), 0usize..6), 1..12),
        alternate in any::<bool>(),
    ) {
        const WORDS: [&str; 6] = ["", "0", "18446744073709551616", "\n", "SEQ 0 1 1 1\n", " t 1\n"];
        let mut bytes = if alternate { ALTERNATE } else { ORIGINAL }.as_bytes().to_vec();
        for (place, byte, word) in edits {
            let place = place.index(bytes.len().max(1)).min(bytes.len());
            match byte % 4 {
                0 if place < bytes.len() => bytes[place] = byte,
                1 => drop(bytes.splice(place..(place + 3).min(bytes.len()), [])),
                2 => drop(bytes.splice(place..place, WORDS[word].bytes())),
                _ => {
                    let end = (place + usize::from(byte)).min(bytes.len());
                    let copy = bytes[place..end].to_vec();
                    bytes.splice(place..place, copy);
                }
            }
        }
        let Ok(reader) = Reader::new("f", &bytes[..]) else { return Ok(()) };
        let mut count = 0;
        for connection in reader {
            count += 1;
            prop_assert!(count <= bytes.len());
            let Ok(connection) = connection else { continue };
            prop_assert_eq!(connection.check(), Ok(()));
            prop_assert!(write(std::slice::from_ref(&connection), Format::Alternate).is_ok());
        }
    }

    #[test]
    fn arbitrary_bytes_do_not_panic(bytes in vec(any::<u8>(), 0..400)) {
        if let Ok(reader) = Reader::new("f", &bytes[..]) {
            let _ = reader.count();
        }
    }
}
